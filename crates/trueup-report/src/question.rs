//! The questions of a report. Each is a query, and a command of the program that asks the same.

use crate::ReportError;
use crate::figure::{AnswerRow, Figure};
use crate::shell_word::shell_word;
use trueup::benchmarks::Month;
use trueup::filter::TypedCondition;
use trueup::query::{Attribution, CohortWindow, ComparisonRange, DateRange, Interval, NamedRange, SortKey};
use trueup::request::{ComparedWith, QueryRequest, Today, ValueType};
use trueup::{Dataset, Execution, ResultTable, Value};

/// One query.
#[derive(Clone, Debug)]
pub(crate) struct Question(QueryRequest);

/// The answer to a question.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The number of the question in the report, from 1.
    pub(crate) number: usize,
    table: ResultTable,
}

/// Asks questions, numbers them, and remembers what they are.
pub(crate) struct Questions<'a> {
    dataset: &'a Dataset,
    execution: Execution,
    /// The attribution of every question.
    attribution: Attribution,
    /// The command for each question, in order.
    pub(crate) commands: Vec<String>,
}

impl Question {
    pub(crate) fn new(accounts: &[String], fields: impl IntoIterator<Item = &'static str>, range: DateRange) -> Self {
        let month = Month::of(range.start);
        let month = NamedRange::month(&month.to_string()).ok().filter(|_| month.days() == Some(range));
        Self(QueryRequest {
            fields: fields.into_iter().map(str::to_owned).collect(),
            accounts: (!accounts.is_empty()).then(|| accounts.to_vec()),
            start: month.is_none().then_some(range.start),
            end: month.is_none().then_some(range.end),
            month,
            ..QueryRequest::default()
        })
    }

    pub(crate) fn by_month(self) -> Self {
        Self(QueryRequest { interval: Interval::Month, ..self.0 })
    }

    pub(crate) fn within(self, days: u32) -> Self {
        Self(QueryRequest { cohort: true, within: Some(CohortWindow::Days(days)), ..self.0 })
    }

    pub(crate) fn compare(self, earlier: Option<ComparisonRange>) -> Self {
        Self(QueryRequest { compare: earlier.map(ComparedWith::Earlier), ..self.0 })
    }

    /// Leaves out some values of a dimension.
    pub(crate) fn without(self, dimension: &'static str, values: Vec<String>) -> Self {
        Self(QueryRequest { conditions: vec![TypedCondition::not_in(dimension, values)], ..self.0 })
    }

    pub(crate) fn sort(self, columns: &[&'static str]) -> Self {
        Self(QueryRequest { sort: columns.iter().copied().map(SortKey::from).collect(), ..self.0 })
    }

    pub(crate) fn targets(self) -> Self {
        Self(QueryRequest { targets: true, ..self.0 })
    }

    pub(crate) fn totals(self) -> Self {
        Self(QueryRequest { totals: true, ..self.0 })
    }
}

/// Returns the command that asks a question of a dataset, which the command calls `DATASET`.
///
/// ```
/// use trueup::request::QueryRequest;
///
/// let request = QueryRequest {
///     fields: vec!["campaign".to_owned(), "leads".to_owned()],
///     month: Some("2026-05".parse()?),
///     conditions: vec!["leads >= 5".parse()?],
///     ..QueryRequest::default()
/// };
/// let command = "trueup query DATASET --fields campaign,leads --month 2026-05 --where 'leads >= 5'";
/// assert_eq!(trueup_report::query_command(&request), command);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn query_command(request: &QueryRequest) -> String {
    let mut words = vec!["trueup query DATASET".to_owned()];
    for (parameter, texts) in request.texts() {
        let option = format!("--{}", parameter.name);
        match parameter.value {
            ValueType::Flag => words.push(option),
            ValueType::Names => words.extend([option, shell_word(&texts.join(","))]),
            _ => words.extend(texts.iter().flat_map(|text| [option.clone(), shell_word(text)])),
        }
    }
    words.join(" ")
}

impl<'a> Questions<'a> {
    pub(crate) fn new(dataset: &'a Dataset, execution: Execution, attribution: Attribution) -> Self {
        Self { dataset, execution, attribution, commands: Vec::new() }
    }

    /// Asks a question.
    pub(crate) fn ask(&mut self, question: &Question) -> Result<Answer, ReportError> {
        let request = QueryRequest { attribution: self.attribution, ..question.0.clone() };
        let table = request.prepare(self.dataset, &Today::now())?.run(self.dataset, self.execution.clone())?;
        self.commands.push(query_command(&request));
        Ok(Answer { number: self.commands.len(), table })
    }
}

impl Answer {
    /// Returns the answer to a question outside of a report.
    pub(crate) const fn alone(table: ResultTable) -> Self {
        Self { number: 0, table }
    }

    /// Returns why targets are null.
    pub(crate) fn notes(&self) -> &[String] {
        self.table.notes()
    }

    /// Returns the groups, in order.
    pub(crate) fn groups(&self) -> impl Iterator<Item = AnswerRow> + use<> {
        (0..self.table.len()).map(AnswerRow::Group)
    }

    /// Returns the text of a dimension in a group.
    pub(crate) fn text(&self, row: AnswerRow, column: &str) -> &str {
        match self.stored(row, column) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    /// Returns the first day of the sub-range of a group.
    pub(crate) fn start(&self, row: AnswerRow) -> Option<trueup::Day> {
        match self.stored(row, "start") {
            Some(Value::Day(day)) => Some(day),
            _ => None,
        }
    }

    /// Returns a number; [`Value::Null`] for a ratio whose denominator is 0.
    pub(crate) fn value(&self, row: AnswerRow, column: &str) -> Value<'static> {
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
    pub(crate) fn figure(&self, row: AnswerRow, column: &str) -> Figure {
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
