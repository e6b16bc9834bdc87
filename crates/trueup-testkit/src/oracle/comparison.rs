//! Section 14: the answer for a range, compared with the answer for an earlier one.

use std::collections::BTreeSet;

use super::answer::{AnswerContext, GroupValues, ResultRow, RowValue};
use super::definitions::Definitions;
use super::fraction::Fraction;
use super::metric::MetricValue;
use super::order::sorted_json;
use super::request::{Refusal, Request};
use super::tables::Tables;
use super::values::ExactAmount;
use chrono::{Datelike, Days, Months, NaiveDate};

/// The range that a request is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// As many days or, for whole months, as many months, directly before.
    PreviousPeriod,
    /// The same range one year earlier.
    PreviousYear,
    /// The first and the last day.
    Range(NaiveDate, NaiveDate),
}

/// Returns the exact JSON array that answers a request with the interval `total`, compared with an earlier range,
/// sorted by columns and limited as in [`sorted_answer`](super::sorted_answer).
///
/// # Errors
/// As [`answer_with`](super::answer_with).
pub fn compared(
    tables: &Tables,
    request: &Request,
    definitions: &Definitions,
    earlier: Earlier,
    keys: &[(String, bool)],
    limit: Option<usize>,
) -> Result<String, Refusal> {
    Ok(sorted_json(compared_rows(tables, request, definitions, earlier, true)?, keys, limit))
}

/// Returns the totals of a comparison as a JSON array of one row, as [`totals`](super::totals) returns those
/// of an answer.
///
/// # Errors
/// As [`answer_with`](super::answer_with), except that the names of dimensions are not checked.
pub fn compared_totals(
    tables: &Tables,
    request: &Request,
    definitions: &Definitions,
    earlier: Earlier,
) -> Result<String, Refusal> {
    let fields = request.fields.iter().filter(|field| definitions.is_metric(field)).cloned().collect();
    let rows = compared_rows(tables, &Request { fields, ..request.clone() }, definitions, earlier, false)?;
    Ok(sorted_json(rows, &[], None))
}

/// Returns the rows of a comparison by their dimension values. `with_having` says whether conditions on metrics drop
/// rows.
fn compared_rows(
    tables: &Tables,
    request: &Request,
    definitions: &Definitions,
    earlier: Earlier,
    with_having: bool,
) -> Result<Vec<ResultRow>, Refusal> {
    let context = AnswerContext::new(tables, request, definitions)?;
    let now = context.group_values(request.start, request.end);
    let (start, end) = earlier.range(request.start, request.end);
    let before = context.group_values(start, end);

    // "joins the two by group; a group that only one of them has appears with 0 for the other, spend included."
    let absent = context.absent();
    let keys: BTreeSet<&Vec<String>> = now.keys().chain(before.keys()).collect();
    let groups: Vec<(&Vec<String>, [&GroupValues; 2])> =
        keys.into_iter().map(|key| (key, [&before, &now].map(|range| range.get(key).unwrap_or(&absent)))).collect();

    let dimensions: Vec<&str> = context.dimensions().collect();
    let mut rows = Vec::new();
    // "A filter on a metric decides on `m`, the value of the range asked for."
    for (key, [before, now]) in groups.iter().filter(|(_, [_, now])| !with_having || context.having(now)) {
        let columns = |metric: &str| {
            let values = [before, now].map(|range| range.value(metric));
            let mut columns = columns_of_all_metrics(metric, values);
            if is_ratio(metric, absent.value(metric)) {
                // "Effects refer to all groups before filters on metrics".
                let all: Vec<[MetricValue; 2]> =
                    groups.iter().map(|(_, ranges)| ranges.map(|range| range.value(metric))).collect();
                let effects = if definitions.adds_up(metric, &dimensions) { effects(values, &all) } else { None };
                let (rate, mix) = effects.unzip();
                columns.push((format!("{metric}.rateEffect"), derived(rate)));
                columns.push((format!("{metric}.mixEffect"), derived(mix)));
            }
            columns
        };
        rows.push(ResultRow::new(context.row_values(None, key, columns)));
    }
    Ok(rows)
}

impl Earlier {
    /// Returns the first and the last day of the earlier range. "`previous-period`: the same number of days directly
    /// before, or, if the range is whole calendar months, the same number of whole months before. `previous-year`: both
    /// dates one year earlier (29 February becomes 28)."
    #[must_use]
    pub fn range(self, start: NaiveDate, end: NaiveDate) -> (NaiveDate, NaiveDate) {
        let day_after = end.checked_add_days(Days::new(1)).unwrap_or(NaiveDate::MAX);
        let back = |day: NaiveDate, months| day.checked_sub_months(Months::new(months)).unwrap_or(NaiveDate::MIN);
        let days_back = |day: NaiveDate, days| day.checked_sub_days(Days::new(days)).unwrap_or(NaiveDate::MIN);
        match self {
            Self::Range(start, end) => (start, end),
            Self::PreviousYear => (back(start, 12), back(end, 12)),
            Self::PreviousPeriod if start.day() == 1 && day_after.day() == 1 => {
                let month = |day: NaiveDate| i64::from(day.year()) * 12 + i64::from(day.month0());
                let months = u32::try_from(month(day_after) - month(start)).unwrap_or(0);
                (back(start, months), days_back(start, 1))
            }
            Self::PreviousPeriod => {
                let days = day_after.signed_duration_since(start).num_days().unsigned_abs();
                (days_back(start, days), days_back(start, 1))
            }
        }
    }
}

/// Returns the columns that every metric has: "`m`, `m.previous`, `m.change` (`m` minus `m.previous`), `m.ratio`
/// (`m.change` over `m.previous`; null if that is 0)". Differences and ratios are exact, and rounded once.
fn columns_of_all_metrics(metric: &str, values: [MetricValue; 2]) -> Vec<(String, RowValue)> {
    use ExactAmount::{Count, Money};
    use MetricValue::Plain;
    let exact = values.map(exact);
    let change = change(&exact);
    let of_change = match values {
        // An amount, so that sorting compares its exact value.
        [Plain(Count(before)), Plain(Count(now))] => RowValue::Metric(Plain(Count(now - before))),
        [Plain(Money(before)), Plain(Money(now))] => RowValue::Metric(Plain(Money(now - before))),
        _ => derived(Some(change.clone())),
    };
    let ratio = if exact[0].is_zero() { None } else { Some(&change / &exact[0]) };
    vec![
        (metric.to_owned(), RowValue::Metric(values[1])),
        (format!("{metric}.previous"), RowValue::Metric(values[0])),
        (format!("{metric}.change"), of_change),
        (format!("{metric}.ratio"), derived(ratio)),
    ]
}

fn derived(fraction: Option<Fraction>) -> RowValue {
    RowValue::Derived(fraction.as_ref().map(Fraction::double))
}

/// Returns whether a metric has effects: "for ratio metrics also `m.rateEffect` and `m.mixEffect`. Percentiles have no
/// effects."
fn is_ratio(metric: &str, value: MetricValue) -> bool {
    let is_percentile = metric.starts_with("medianDays") || metric.starts_with("p90Days");
    matches!(value, MetricValue::Ratio(..)) && !is_percentile
}

/// Returns the rate effect and the mix effect of a group, given the values of all groups in both ranges, the earlier
/// one first. `None` "where D of all is 0 in either range".
fn effects(group: [MetricValue; 2], all: &[[MetricValue; 2]]) -> Option<(Fraction, Fraction)> {
    // "For a ratio metric R = N / D [...], let w be D of the group over D of all, means and changes be over the two
    // ranges".
    let [n, d] = [group.map(numerator), group.map(denominator)];
    let sum = |part: fn(MetricValue) -> Fraction| {
        [0, 1].map(|range| all.iter().map(|values| part(values[range])).fold(zero(), |sum, more| &sum + &more))
    };
    let [n_of_all, d_of_all] = [sum(numerator), sum(denominator)];
    if d_of_all.iter().any(Fraction::is_zero) {
        return None;
    }
    let divided = |n: &[Fraction; 2], d: &[Fraction; 2]| [0, 1].map(|range| &n[range] / &d[range]);
    let w = divided(&d, &d_of_all);
    // "and R of a group be taken from the other range where its D is 0 (0 if it is 0 in both)".
    let own = [0, 1].map(|range| if d[range].is_zero() { None } else { Some(&n[range] / &d[range]) });
    let r = [0, 1].map(|range| own[range].clone().or_else(|| own[1 - range].clone()).unwrap_or_else(zero));
    let r_of_all = divided(&n_of_all, &d_of_all);
    // "`m.rateEffect` = mean(w) x change(R of the group), and `m.mixEffect` = change(N of the group / D of all) -
    // `m.rateEffect` - change(w) x mean(R of all)."
    let rate = &mean(&w) * &change(&r);
    let mix = &(&change(&divided(&n, &d_of_all)) - &rate) - &(&change(&w) * &mean(&r_of_all));
    Some((rate, mix))
}

fn mean([before, now]: &[Fraction; 2]) -> Fraction {
    &(before + now) / &Fraction::new(2.into(), 1.into())
}

fn change([before, now]: &[Fraction; 2]) -> Fraction {
    now - before
}

fn zero() -> Fraction {
    Fraction::of(ExactAmount::Count(0))
}

/// Returns the exact value: "A ratio with denominator 0 is 0."
fn exact(value: MetricValue) -> Fraction {
    let divisor = denominator(value);
    if divisor.is_zero() { zero() } else { &numerator(value) / &divisor }
}

/// Returns the numerator of a ratio, or else the value.
fn numerator(value: MetricValue) -> Fraction {
    match value {
        MetricValue::Plain(amount) | MetricValue::Ratio(amount, _) => Fraction::of(amount),
    }
}

/// Returns the denominator of a ratio, or else 1.
fn denominator(value: MetricValue) -> Fraction {
    match value {
        MetricValue::Plain(_) => Fraction::of(ExactAmount::Count(1)),
        MetricValue::Ratio(_, amount) => Fraction::of(amount),
    }
}
