//! The contract of the service, section 5: sorted and limited answers, and totals.

use std::cmp::Ordering;

use super::answer::{ResultRow, RowValue, result_rows};
use super::definitions::Definitions;
use super::metric::MetricValue;
use super::request::{Refusal, Request};
use super::tables::Tables;
use super::values::ExactAmount;

/// Returns the exact JSON array of a sorted and limited answer. Each key is a column, and whether larger values come
/// first.
///
/// # Errors
/// As [`answer_with`](super::answer_with).
pub fn sorted_answer(
    tables: &Tables,
    request: &Request,
    definitions: &Definitions,
    keys: &[(String, bool)],
    limit: Option<usize>,
) -> Result<String, Refusal> {
    Ok(sorted_json(result_rows(tables, request, definitions, true)?, keys, limit))
}

/// Returns sorted and limited rows as a JSON array.
pub(super) fn sorted_json(mut rows: Vec<ResultRow>, keys: &[(String, bool)], limit: Option<usize>) -> String {
    // A stable sort: equal rows stay in the order of the unsorted answer.
    rows.sort_by(|a, b| {
        let by_key = keys.iter().map(|(column, descending)| compare(a, b, column, *descending));
        by_key.fold(Ordering::Equal, Ordering::then)
    });
    rows.truncate(limit.unwrap_or(usize::MAX));
    let rows: Vec<String> = rows.into_iter().map(|row| row.json).collect();
    format!("[{}]", rows.join(","))
}

/// Returns the totals of an answer as a JSON array of one row with the metrics of the request: the same query
/// without dimensions, over the whole range, and without the conditions on finished rows.
///
/// # Errors
/// As [`answer_with`](super::answer_with), except that the interval and the names of dimensions are not checked.
pub fn totals(tables: &Tables, request: &Request, definitions: &Definitions) -> Result<String, Refusal> {
    let fields = request.fields.iter().filter(|field| definitions.is_metric(field)).cloned().collect();
    let whole = Request { fields, interval: "total".to_owned(), ..request.clone() };
    let rows: Vec<String> = result_rows(tables, &whole, definitions, false)?.into_iter().map(|row| row.json).collect();
    Ok(format!("[{}]", rows.join(",")))
}

/// Compares two rows by one column. Rows without a value come last in both directions.
fn compare(a: &ResultRow, b: &ResultRow, column: &str, descending: bool) -> Ordering {
    let [a, b] = [a, b].map(|row| row.values.iter().find(|(name, _)| name == column).map(|(_, value)| value));
    let (Some(a), Some(b)) = (a, b) else { return Ordering::Equal };
    let by_value = match (a, b) {
        (RowValue::Text(a), RowValue::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (RowValue::Metric(a), RowValue::Metric(b)) => compare_metrics(*a, *b),
        (RowValue::Derived(Some(a)), RowValue::Derived(Some(b))) => a.partial_cmp(b).unwrap_or(Ordering::Equal),
        _ => Ordering::Equal,
    };
    match (has_value(a), has_value(b)) {
        (true, true) if descending => by_value.reverse(),
        (true, true) => by_value,
        (a, b) => b.cmp(&a),
    }
}

fn has_value(value: &RowValue) -> bool {
    match value {
        RowValue::Text(text) => !text.is_empty(),
        RowValue::Metric(value) => value.is_known(),
        RowValue::Derived(number) => number.is_some(),
    }
}

fn compare_metrics(a: MetricValue, b: MetricValue) -> Ordering {
    use ExactAmount::{Count, Money};
    match (a, b) {
        (MetricValue::Plain(Count(a) | Money(a)), MetricValue::Plain(Count(b) | Money(b))) => a.cmp(&b),
        // Both are known, so neither is NaN.
        (a, b) => a.double().partial_cmp(&b.double()).unwrap_or(Ordering::Equal),
    }
}
