//! Section 13: the days between two stages.

use super::metric::MetricValue;
use super::segment::EnrichedEvent;
use super::values::ExactAmount;

/// Two stages, each as its event type and as names of metrics spell it.
pub(super) type StagePair = [(&'static str, &'static str); 2];

const LEAD: (&str, &str) = ("lead-originated", "Lead");
const BOOKED: (&str, &str) = ("booked", "Booked");
const ESTIMATED: (&str, &str) = ("estimated", "Estimated");
const SOLD: (&str, &str) = ("sold", "Sold");
const CLOSED: (&str, &str) = ("closed", "Closed");

/// The pairs of section 13 and three more: each stage of the funnel with each later one.
const PAIRS: [StagePair; 10] = [
    [LEAD, BOOKED],
    [LEAD, ESTIMATED],
    [LEAD, SOLD],
    [LEAD, CLOSED],
    [BOOKED, ESTIMATED],
    [BOOKED, SOLD],
    [BOOKED, CLOSED],
    [ESTIMATED, SOLD],
    [ESTIMATED, CLOSED],
    [SOLD, CLOSED],
];

const PREFIXES: [&str; 5] = ["reached", "notReached", "avgDays", "medianDays", "p90Days"];

/// Returns the names of all metrics of days between stages, such as `avgDaysLeadToBooked`.
#[must_use]
pub fn duration_metrics() -> Vec<String> {
    let names = PAIRS.iter().flat_map(|pair| PREFIXES.map(|prefix| name(prefix, pair)));
    names.collect()
}

fn name(prefix: &str, [(_, from), (_, to)]: &StagePair) -> String {
    format!("{prefix}{from}To{to}")
}

/// Returns the prefix and the stages of a metric of days between stages; `None` for any other name.
pub(super) fn pair_of(metric: &str) -> Option<(&'static str, StagePair)> {
    let all = PAIRS.into_iter().flat_map(|pair| PREFIXES.map(|prefix| (prefix, pair)));
    let mut found = all.filter(|(prefix, pair)| name(prefix, pair) == metric);
    found.next()
}

/// Returns the value of a metric over the rows of a group; `None` if the metric is not of days between stages.
pub(super) fn value_of(metric: &str, rows: &[EnrichedEvent<'_>]) -> Option<MetricValue> {
    let (prefix, [(from, _), (to, _)]) = pair_of(metric)?;
    let population: Vec<&EnrichedEvent<'_>> = rows.iter().filter(|row| begins(row, from)).collect();
    let mut days: Vec<i128> = population.iter().filter_map(|row| duration(row, to)).collect();
    days.sort_unstable();
    let count = ExactAmount::Count;
    let reached: i128 = days.iter().map(|_| 1).sum();
    Some(match prefix {
        "reached" => MetricValue::Plain(count(reached)),
        "notReached" => {
            MetricValue::Plain(count(population.iter().filter(|row| duration(row, to).is_none()).map(|_| 1).sum()))
        }
        "avgDays" => MetricValue::Ratio(count(days.iter().sum()), count(reached)),
        "medianDays" => percentile(&days, 5),
        _ => percentile(&days, 9),
    })
}

/// Returns whether a row is the event with which a duration may begin: "customers whose first `from` event of all (for
/// lead: whose first event, if they are leads) lies in the sub-range and passes the filter, counted on that event".
pub(super) fn begins(row: &EnrichedEvent<'_>, from: &str) -> bool {
    match from {
        "lead-originated" => row.place == 0 && row.event().kind == from,
        _ => row.segment.customer.earliest(from) == Some(row.place),
    }
}

/// Returns the days that a customer took from an event with which a duration may begin: "A customer has a duration if
/// it has a `to` event on or after that day: the date of the earliest such event minus that day, in days." `None` if
/// there is no duration.
pub(super) fn duration(row: &EnrichedEvent<'_>, to: &str) -> Option<i128> {
    let day = row.event().date;
    let events = row.segment.customer.events.iter();
    let later = events.filter(|event| event.kind == to && event.date >= day).map(|event| event.date);
    Some(i128::from(later.min()?.signed_duration_since(day).num_days()))
}

/// Returns the percentile p = `tenths` / 10, of type 7 (Hyndman and Fan), of sorted days: the value at position
/// (n - 1) * p, between the two closest values in proportion. "Without durations these three are 0, and unknown in
/// filters, as ratios are."
fn percentile(days: &[i128], tenths: usize) -> MetricValue {
    let Some(last) = days.len().checked_sub(1) else {
        return MetricValue::Ratio(ExactAmount::Count(0), ExactAmount::Count(0));
    };
    let (below, rest) = (last * tenths / 10, last * tenths % 10);
    let above = days[(below + 1).min(last)];
    let rest = rest as i128;
    MetricValue::Ratio(ExactAmount::Count(days[below] * (10 - rest) + above * rest), ExactAmount::Count(10))
}
