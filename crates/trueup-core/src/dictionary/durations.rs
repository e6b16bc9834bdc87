//! The metrics of the days between two stages: five for each pair of stages.

use super::entry::{average_days, count, percentile_days};
use super::{Field, FieldGroup, Measure, StagePair};

/// Returns the metrics of a pair: how many customers at the first stage reach the second one, how many do not, and the
/// days from their first event of the first stage to the next one of the second.
macro_rules! metrics {
    ($pair:ident, $title:literal, $customers:literal, $first:literal, $reach:literal, $next:literal) => {{
        macro_rules! between {
            () => {
                concat!("the days from the ", $first, " of ", $customers, " to their first ", $next)
            };
        }
        const PAIR: StagePair = StagePair::$pair;
        &[
            count(
                FieldGroup::Funnel,
                concat!("reached", stringify!($pair)),
                concat!("Reached ", $title),
                &[Measure::Reached(PAIR)],
            )
            .higher()
            .means(concat!(
                "The number of ",
                $customers,
                " that ",
                $reach,
                " on the day of their ",
                $first,
                " or later, even after the end of the range. 0 if there is none."
            )),
            count(
                FieldGroup::Funnel,
                concat!("notReached", stringify!($pair)),
                concat!("Not Reached ", $title),
                &[Measure::NotReached(PAIR)],
            )
            .lower()
            .means(concat!(
                "The number of ",
                $customers,
                " that have no ",
                $next,
                " on the day of their ",
                $first,
                " or later. 0 if there is none."
            )),
            average_days(
                concat!("avgDays", stringify!($pair)),
                concat!("Average Days ", $title),
                &[Measure::Days(PAIR)],
                &[Measure::Reached(PAIR)],
            )
            .means(concat!(
                "The average of ",
                between!(),
                " on that day or later, over those with one. 0 if none has one."
            )),
            percentile_days(concat!("medianDays", stringify!($pair)), concat!("Median Days ", $title), PAIR, 50).means(
                concat!(
                    "The median of ",
                    between!(),
                    " on that day or later, over those with one: half of them took at most this long. 0 if none \
                     has one."
                ),
            ),
            percentile_days(concat!("p90Days", stringify!($pair)), concat!("P90 Days ", $title), PAIR, 90).means(
                concat!(
                    "The 90th percentile of ",
                    between!(),
                    " on that day or later, over those with one: nine in ten of them took at most this long. 0 if \
                     none has one."
                ),
            ),
        ]
    }};
}

/// The metrics, by pair.
pub(super) static TABLES: [&[Field]; 10] = [
    metrics!(LeadToBooked, "Lead to Booked", "leads", "first event", "are booked", "booking"),
    metrics!(LeadToEstimated, "Lead to Estimated", "leads", "first event", "have an estimate", "estimate"),
    metrics!(LeadToSold, "Lead to Sold", "leads", "first event", "are sold something", "sale"),
    metrics!(LeadToClosed, "Lead to Closed", "leads", "first event", "have work completed", "completed work"),
    metrics!(
        BookedToEstimated,
        "Booked to Estimated",
        "customers booked for the first time of all in the range",
        "first booking",
        "have an estimate",
        "estimate"
    ),
    metrics!(
        BookedToSold,
        "Booked to Sold",
        "customers booked for the first time of all in the range",
        "first booking",
        "are sold something",
        "sale"
    ),
    metrics!(
        BookedToClosed,
        "Booked to Closed",
        "customers booked for the first time of all in the range",
        "first booking",
        "have work completed",
        "completed work"
    ),
    metrics!(
        EstimatedToSold,
        "Estimated to Sold",
        "customers given their first estimate of all in the range",
        "first estimate",
        "are sold something",
        "sale"
    ),
    metrics!(
        EstimatedToClosed,
        "Estimated to Closed",
        "customers given their first estimate of all in the range",
        "first estimate",
        "have work completed",
        "completed work"
    ),
    metrics!(
        SoldToClosed,
        "Sold to Closed",
        "customers sold something for the first time of all in the range",
        "first sale",
        "have work completed",
        "completed work"
    ),
];
