//! The questions of a report. Each is a query, and a command of the program that asks the same.

use super::figure::{AnswerRow, Figure};
use crate::exit::Failure;
use crate::output::shell_word::shell_word;
use trueup::benchmarks::Month;
use trueup::query::{DateRange, Earlier, EventsQuery, Filter, Interval, Within};
use trueup::{Dataset, Execution, ResultTable, Value};

/// One query.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// The keys of the accounts; none for all.
    accounts: Vec<String>,
    fields: Vec<&'static str>,
    range: DateRange,
    interval: Interval,
    within: Option<Within>,
    compare: Option<Earlier>,
    /// A dimension, and its values that are left out.
    without: Option<(&'static str, Vec<String>)>,
    /// The columns to sort by.
    sort: Vec<&'static str>,
    totals: bool,
}

/// The answer to a question.
#[derive(Debug)]
pub(super) struct Answer {
    /// The number of the question in the report, from 1.
    pub(super) number: usize,
    table: ResultTable,
}

/// Asks questions, numbers them, and remembers what they are.
pub(super) struct Questions<'a> {
    dataset: &'a Dataset,
    execution: Execution,
    /// The command for each question, in order.
    pub(super) commands: Vec<String>,
}

impl Question {
    pub(super) fn new(accounts: &[String], fields: impl IntoIterator<Item = &'static str>, range: DateRange) -> Self {
        Self {
            accounts: accounts.to_vec(),
            fields: fields.into_iter().collect(),
            range,
            interval: Interval::Total,
            within: None,
            compare: None,
            without: None,
            sort: Vec::new(),
            totals: false,
        }
    }

    pub(super) fn by_month(self) -> Self {
        Self { interval: Interval::Month, ..self }
    }

    pub(super) fn within(self, days: u32) -> Self {
        Self { within: Some(Within::Days(days)), ..self }
    }

    pub(super) fn compare(self, earlier: Option<Earlier>) -> Self {
        Self { compare: earlier, ..self }
    }

    /// Leaves out some values of a dimension.
    pub(super) fn without(self, dimension: &'static str, values: Vec<String>) -> Self {
        Self { without: Some((dimension, values)), ..self }
    }

    pub(super) fn sort(self, columns: &[&'static str]) -> Self {
        Self { sort: columns.to_vec(), ..self }
    }

    pub(super) fn totals(self) -> Self {
        Self { totals: true, ..self }
    }

    fn query(&self) -> EventsQuery {
        let DateRange { start, end } = self.range;
        let mut query = EventsQuery::new(self.fields.iter().copied(), start, end).interval(self.interval);
        if !self.accounts.is_empty() {
            query = query.accounts(&self.accounts);
        }
        if let Some(within) = self.within {
            query = query.cohort(within);
        }
        if let Some(earlier) = self.compare {
            query = query.compare(earlier);
        }
        if let Some((dimension, values)) = &self.without {
            let any = values.iter().map(|value| Filter::equals(*dimension, value.as_str())).collect();
            query = query.filter(Filter::Not(Box::new(Filter::Any(any))));
        }
        query = self.sort.iter().fold(query, |query, column| query.sort(*column));
        if self.totals { query.totals() } else { query }
    }

    /// Returns the command that asks the question of a dataset, which the command calls `DATASET`.
    fn command(&self) -> String {
        let mut words = vec!["trueup query DATASET --fields".to_owned(), self.fields.join(",")];
        if Month::of(self.range.start).days() == Some(self.range) {
            words.push(format!("--month {}", self.range.start.month()));
        } else {
            words.push(format!("--start {} --end {}", self.range.start, self.range.end));
        }
        if self.interval != Interval::Total {
            words.push(format!("--interval {}", self.interval));
        }
        if let Some(within) = self.within {
            words.push(format!("--cohort --within {within}"));
        }
        if let Some(earlier) = self.compare {
            words.push(format!("--compare {earlier}"));
        }
        for key in &self.accounts {
            words.push(format!("--account {}", shell_word(key)));
        }
        if let Some((dimension, values)) = &self.without {
            let values: Vec<String> = values.iter().map(|value| format!("'{}'", value.replace('\'', "''"))).collect();
            words.push(format!("--where {}", shell_word(&format!("{dimension} not in ({})", values.join(", ")))));
        }
        words.extend(self.sort.iter().map(|column| format!("--sort {}", shell_word(column))));
        words.extend(self.totals.then(|| "--totals".to_owned()));
        words.join(" ")
    }
}

impl<'a> Questions<'a> {
    pub(super) fn new(dataset: &'a Dataset, execution: Execution) -> Self {
        Self { dataset, execution, commands: Vec::new() }
    }

    /// Asks a question.
    pub(super) fn ask(&mut self, question: &Question) -> Result<Answer, Failure> {
        let table = self.dataset.run(&question.query(), self.execution.clone())?;
        self.commands.push(question.command());
        Ok(Answer { number: self.commands.len(), table })
    }
}

impl Answer {
    /// Returns the groups, in order.
    pub(super) fn groups(&self) -> impl Iterator<Item = AnswerRow> + use<> {
        (0..self.table.len()).map(AnswerRow::Group)
    }

    /// Returns the text of a dimension in a group.
    pub(super) fn text(&self, row: AnswerRow, column: &str) -> &str {
        match self.stored(row, column) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    /// Returns the first day of the sub-range of a group.
    pub(super) fn start(&self, row: AnswerRow) -> Option<trueup::Day> {
        match self.stored(row, "start") {
            Some(Value::Day(day)) => Some(day),
            _ => None,
        }
    }

    /// Returns a number; [`Value::Null`] for a ratio whose denominator is 0.
    pub(super) fn value(&self, row: AnswerRow, column: &str) -> Value<'static> {
        match self.stored(row, column) {
            Some(Value::Count(count)) => Value::Count(count),
            Some(Value::Money(micros)) => Value::Money(micros),
            Some(Value::Integer(integer)) => Value::Integer(integer),
            Some(Value::Number(number)) => Value::Number(number),
            Some(Value::Ratio(ratio)) if !self.is_over_nothing(row, column) => Value::Ratio(ratio),
            _ => Value::Null,
        }
    }

    /// Returns a number with the place that it comes from.
    pub(super) fn figure(&self, row: AnswerRow, column: &str) -> Figure {
        Figure::new(column, self.value(row, column), format!("{}/{row}/{column}", self.number))
    }

    fn stored(&self, row: AnswerRow, column: &str) -> Option<Value<'_>> {
        match row {
            AnswerRow::Group(row) => self.table.value(row, column),
            AnswerRow::Totals => self.table.totals()?.value(0, column),
        }
    }

    fn is_over_nothing(&self, row: AnswerRow, column: &str) -> bool {
        let (table, row) = match row {
            AnswerRow::Group(row) => (Some(&self.table), row),
            AnswerRow::Totals => (self.table.totals(), 0),
        };
        table.and_then(|table| table.column(column)).is_some_and(|column| column.is_over_nothing(row))
    }
}
