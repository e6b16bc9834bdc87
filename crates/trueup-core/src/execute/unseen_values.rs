//! Finds the values in a query's filters that no event has: most are typing errors, which the query itself would answer
//! with zeros.

#[cfg(test)]
mod tests;

use super::Execution;
use crate::Shown;
use crate::dataset::Dataset;
use crate::dictionary::{self, FieldKind, ValueFormat};
use crate::error::{Error, QueryError};
use crate::finish::{ResultTable, Value};
use crate::query::{
    AccountFilter, DateRange, EventsQuery, Filter, Interval, Operand, Predicate, TextPredicate, is_result_metric,
};
use crate::similar::most_similar;
use std::fmt;

/// The most values of a field among which similar ones are looked for.
const MAX_CANDIDATES: usize = 100_000;
/// The most frequent values that are shown if none is similar.
const MAX_FREQUENT: usize = 5;
/// The most values of a field whose frequent ones say something; a field with more of them identifies things.
const MAX_VALUES_WITH_FREQUENT: usize = 1_000;

/// A value that a filter compares a dimension with, although no row of the dataset has it. Its
/// [`Display`](fmt::Display) is a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnseenValue {
    /// The dimension.
    pub field: String,
    /// The value as it is in the filter.
    pub value: String,
    /// The values of the dimension that are most similar, at most three; empty if none is.
    pub similar: Vec<String>,
    /// If no value is similar: the most frequent values that are not empty, at most five. Empty if the dimension has
    /// too many values.
    pub frequent: Vec<String>,
}

impl fmt::Display for UnseenValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |values: &[String], join: &str| {
            values.iter().map(|value| format!("`{}`", Shown(value))).collect::<Vec<_>>().join(join)
        };
        write!(f, "no event of the dataset has the value `{}` in `{}`", Shown(&self.value), Shown(&self.field))?;
        if !self.similar.is_empty() {
            write!(f, "; did you mean {}?", listed(&self.similar, " or "))
        } else if self.frequent.is_empty() {
            Ok(())
        } else {
            write!(f, "; frequent values are {}", listed(&self.frequent, ", "))
        }
    }
}

impl Dataset {
    /// Returns the values that a query's filters compare a dimension with for being equal or not, but that no event or
    /// spend of the dataset has, on any day and in any account.
    ///
    /// Left out are the empty text, the fields that are unknown, and the possible values of a field that the dictionary
    /// lists: it may well be that nothing was canceled. Reads the columns of these dimensions, first for the query's
    /// days and accounts, and further only for values that are not found there.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn unseen_values(&self, query: &EventsQuery, execution: &Execution) -> Result<Vec<UnseenValue>, Error> {
        let Some(days) = self.date_range() else { return Ok(Vec::new()) };
        query.check()?;
        let mut unseen = Vec::new();
        for Tested { field, mut operands } in tested_values(query) {
            if dictionary::field(field).is_none() && !self.columns().contains(field) {
                continue;
            }
            for (range, accounts) in [(query.range, &query.accounts), (days, &AccountFilter::All)] {
                if !operands.is_empty() {
                    let table = self.run(&values_query(field, range, accounts, &operands), execution.clone())?;
                    operands.retain(|operand| !has_value(&table, field, operand));
                }
            }
            if operands.is_empty() {
                continue;
            }
            let known = self.known_values(field, days, execution)?;
            unseen.extend(operands.into_iter().map(|operand| {
                let value = match operand {
                    Operand::Text(text) => text.clone(),
                    Operand::Number(number) => number.to_string(),
                };
                let texts = known.iter().map(String::as_str);
                let similar: Vec<String> = most_similar(&value, texts).into_iter().map(str::to_owned).collect();
                let is_shown = similar.is_empty() && known.len() <= MAX_VALUES_WITH_FREQUENT;
                let frequent = known.iter().take(if is_shown { MAX_FREQUENT } else { 0 }).cloned().collect();
                UnseenValue { field: field.to_owned(), value, similar, frequent }
            }));
        }
        Ok(unseen)
    }

    /// Returns the values of a field that are not empty, the most frequent first; none if there are more than
    /// [`MAX_CANDIDATES`].
    fn known_values(&self, field: &str, days: DateRange, execution: &Execution) -> Result<Vec<String>, Error> {
        let query = values_query(field, days, &AccountFilter::All, &[]);
        let table = match self.run(&query, Execution { max_rows: Some(MAX_CANDIDATES), ..execution.clone() }) {
            Err(Error::Query(QueryError::TooManyRows { .. })) => return Ok(Vec::new()),
            other => other?,
        };
        let mut counted: Vec<(u64, &str)> = Vec::new();
        for row in table.rows() {
            if let (Some(Value::Text(text)), Some(Value::Count(count))) = (row.get(field), row.get("eventCount"))
                && !text.is_empty()
            {
                counted.push((count, text));
            }
        }
        // Rows are in the order of the values, which a stable sort keeps for values of equal frequency.
        counted.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
        Ok(counted.into_iter().map(|(_, text)| text.to_owned()).collect())
    }
}

/// The values that a filter compares a dimension with for being equal or not, each once.
struct Tested<'q> {
    field: &'q str,
    operands: Vec<&'q Operand>,
}

fn tested_values(query: &EventsQuery) -> Vec<Tested<'_>> {
    let mut tested: Vec<Tested<'_>> = Vec::new();
    for (name, predicate) in query.conditions() {
        let (Predicate::Equals(operand) | Predicate::NotEquals(operand)) = predicate else { continue };
        if name == "total" || is_result_metric(name) || is_listed(name, operand) {
            continue;
        }
        match tested.iter_mut().find(|tested| tested.field == name) {
            Some(tested) if tested.operands.contains(&operand) => (),
            Some(tested) => tested.operands.push(operand),
            None => tested.push(Tested { field: name, operands: vec![operand] }),
        }
    }
    tested
}

/// Returns whether a field may have a value whatever the data: the empty text, or one that the dictionary lists.
fn is_listed(field: &str, operand: &Operand) -> bool {
    let Operand::Text(text) = operand else { return false };
    let listed = dictionary::field(field).is_some_and(|field| {
        let is_boolean = field.format == ValueFormat::Boolean && matches!(text.as_str(), "true" | "false");
        is_boolean || field.values.contains(&text.as_str())
    });
    text.is_empty() || listed
}

/// Returns a query for the values of a field that equal one of `operands`, or for all if there are none.
fn values_query(field: &str, range: DateRange, accounts: &AccountFilter, operands: &[&Operand]) -> EventsQuery {
    let is_in_spend = match dictionary::field(field).map(|field| &field.kind) {
        Some(FieldKind::Dimension(dimension)) => dimension.spend.is_some(),
        _ => false,
    };
    // With a metric of spend, a value that only spend has gets a row too.
    let fields = [field, "eventCount"].into_iter().chain(is_in_spend.then_some("spend"));
    let mut query = EventsQuery::new(fields, range.start, range.end).interval(Interval::Total).allow_long_total();
    if let AccountFilter::Only(keys) = accounts {
        query = query.accounts(keys);
    }
    if operands.is_empty() {
        return query;
    }
    let equals = |operand: &&Operand| Filter::field(field, Predicate::Equals((*operand).clone()));
    query.filter(Filter::Any(operands.iter().map(equals).collect()))
}

/// Returns whether a row of the table has a value that equals `operand`.
fn has_value(table: &ResultTable, field: &str, operand: &Operand) -> bool {
    let equals = TextPredicate::Equals(operand.clone());
    table.rows().any(|row| matches!(row.get(field), Some(Value::Text(text)) if equals.holds(text)))
}
