//! Section 13: the days between two stages.

use super::metric::MetricValue;
use super::segment::EnrichedEvent;
use super::values::ExactAmount;

/// Two stages, each as its event type and as names of metrics spell it.
type StagePair = [(&'static str, &'static str); 2];

const LEAD: (&str, &str) = ("lead-originated", "Lead");
const BOOKED: (&str, &str) = ("booked", "Booked");
const ESTIMATED: (&str, &str) = ("estimated", "Estimated");
const SOLD: (&str, &str) = ("sold", "Sold");
const CLOSED: (&str, &str) = ("closed", "Closed");

/// "For each pair (from, to) of (lead, booked), (lead, estimated), (lead, sold), (lead, closed), (booked, estimated),
/// (estimated, sold), (sold, closed)".
const PAIRS: [StagePair; 7] = [
    [LEAD, BOOKED],
    [LEAD, ESTIMATED],
    [LEAD, SOLD],
    [LEAD, CLOSED],
    [BOOKED, ESTIMATED],
    [ESTIMATED, SOLD],
    [SOLD, CLOSED],
];

const PREFIXES: [&str; 4] = ["reached", "avgDays", "medianDays", "p90Days"];

/// Returns the names of all metrics of section 13, such as `avgDaysLeadToBooked`.
#[must_use]
pub fn duration_metrics() -> Vec<String> {
    let names = PAIRS.iter().flat_map(|pair| PREFIXES.map(|prefix| name(prefix, pair)));
    names.collect()
}

fn name(prefix: &str, [(_, from), (_, to)]: &StagePair) -> String {
    format!("{prefix}{from}To{to}")
}

/// Returns the prefix and the stages of a metric of section 13; `None` for any other name.
pub(super) fn pair_of(metric: &str) -> Option<(&'static str, StagePair)> {
    let all = PAIRS.into_iter().flat_map(|pair| PREFIXES.map(|prefix| (prefix, pair)));
    let mut found = all.filter(|(prefix, pair)| name(prefix, pair) == metric);
    found.next()
}

/// Returns the value of a metric over the rows of a group; `None` if the metric is not of section 13.
pub(super) fn value_of(metric: &str, rows: &[EnrichedEvent<'_>]) -> Option<MetricValue> {
    let (prefix, [(from, _), (to, _)]) = pair_of(metric)?;
    let mut days: Vec<i128> = rows.iter().filter_map(|row| duration(row, from, to)).collect();
    days.sort_unstable();
    let count = ExactAmount::Count;
    let reached: i128 = days.iter().map(|_| 1).sum();
    Some(match prefix {
        "reached" => MetricValue::Plain(count(reached)),
        "avgDays" => MetricValue::Ratio(count(days.iter().sum()), count(reached)),
        "medianDays" => percentile(&days, 5),
        _ => percentile(&days, 9),
    })
}

/// Returns the days that a customer took: "customers whose first `from` event of all (for lead: whose first event, if
/// they are leads) lies in the sub-range and passes the filter, counted on that event. A customer has a duration if it
/// has a `to` event on or after that day: the date of the earliest such event minus that day, in days." `None` if the
/// row is not that event, or if there is no duration.
fn duration(row: &EnrichedEvent<'_>, from: &str, to: &str) -> Option<i128> {
    let customer = row.segment.customer;
    let counts = match from {
        "lead-originated" => row.place == 0 && row.event().kind == from,
        _ => customer.earliest(from) == Some(row.place),
    };
    let day = row.event().date;
    let later = customer.events.iter().filter(|event| event.kind == to && event.date >= day).map(|event| event.date);
    let reached = later.min().filter(|_| counts)?;
    Some(i128::from(reached.signed_duration_since(day).num_days()))
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
