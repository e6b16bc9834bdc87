//! The answer to a question, and the arguments of `why` for its numbers.

use crate::document::{Span, Text};
use crate::figure::{AnswerRow, Figure, sign};
use crate::question::Answer;
use serde::Serialize;
use std::collections::BTreeMap;
use trueup::Value;
use trueup::query::{ComparedColumn, DateRange};

/// The answer to a question, and what `why` has to know of the question.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) answer: Answer,
    /// The dimension that rows are grouped by.
    pub(super) dimension: Option<&'static str>,
    /// The days that the answer is compared with.
    pub(super) earlier: Option<DateRange>,
    /// The window of a cohort, in days.
    pub(super) within: Option<u32>,
}

/// The arguments of a call of `why`.
#[derive(Debug, Serialize)]
pub(super) struct WhyArguments {
    metrics: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by: Vec<&'static str>,
    days: DateRange,
    accounts: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    row: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cohort: Option<String>,
}

impl Asked {
    /// Returns the name of a group as people read it; `None` for the group of what has no name.
    pub(super) fn name(&self, row: AnswerRow) -> Option<String> {
        let name = self.answer.text(row, self.dimension?);
        (!name.is_empty()).then(|| crate::sentences::label(name))
    }

    /// Returns a number of a comparison as a double; 0 if there is none.
    pub(super) fn number(&self, row: AnswerRow, metric: &str, part: ComparedColumn) -> f64 {
        self.value(row, metric, part).as_f64().unwrap_or_default()
    }

    /// Returns a number of a comparison.
    pub(super) fn value(&self, row: AnswerRow, metric: &str, part: ComparedColumn) -> Value<'static> {
        self.answer.value(row, &format!("{metric}{}", part.suffix()))
    }

    /// Returns a number of a comparison with its sign.
    pub(super) fn signed(&self, row: AnswerRow, metric: &str, part: ComparedColumn) -> Figure {
        let source = format!("{}/{row}/{metric}{}", self.answer.number, part.suffix());
        Figure::signed(metric, part, self.value(row, metric, part), source)
    }

    /// Returns what a group has of a metric, as a part of what the whole has.
    pub(super) fn part_of_all(&self, row: AnswerRow, metric: &str, part: ComparedColumn) -> f64 {
        let all = self.number(AnswerRow::Totals, metric, part);
        if all > 0.0 { self.number(row, metric, part).abs() / all } else { 0.0 }
    }

    /// Returns whether the days themselves have the row: that of the whole always, that of a group if anything
    /// happened.
    fn has_row(&self, row: AnswerRow, part: ComparedColumn) -> bool {
        let any = |metric: &&str| sign(self.value(row, metric, part)) != 0;
        self.dimension.is_none() || row == AnswerRow::Totals || ["customers", "spend"].iter().any(any)
    }

    fn call(&self, row: AnswerRow, account: &str, days: DateRange) -> WhyArguments {
        let group = self.dimension.filter(|_| row != AnswerRow::Totals);
        let value = |dimension| (dimension, self.answer.text(row, dimension).to_owned());
        WhyArguments {
            metrics: Vec::new(),
            by: group.into_iter().collect(),
            days,
            accounts: vec![account.to_owned()],
            row: group.into_iter().map(value).collect(),
            cohort: self.within.map(|days| format!("{days}d")),
        }
    }
}

/// Returns the arguments for all numbers of texts about the days `range` of an account. A number of others has none,
/// and neither has a sum over the groups that a sentence does not name.
pub(super) fn arguments(texts: &[&Text], asked: &[Asked], account: &str, range: DateRange) -> Vec<WhyArguments> {
    let mut calls: Vec<WhyArguments> = Vec::new();
    for span in texts.iter().flat_map(|text| &text.0) {
        let Span::Figure(figure) = span else { continue };
        let mut place = figure.source.splitn(3, '/');
        let (Some(question), Some(row), Some(columns)) = (place.next(), place.next(), place.next()) else { continue };
        let Some(asked) = asked.iter().find(|asked| asked.answer.number.to_string() == question) else { continue };
        let row = match row.parse() {
            Ok(row) => AnswerRow::Group(row),
            Err(_) if row == AnswerRow::Totals.to_string() => AnswerRow::Totals,
            Err(_) => continue,
        };
        for column in columns.split('+') {
            let (metric, part) = column.split_once('.').unwrap_or((column, ""));
            let now = (part != "previous").then_some((range, ComparedColumn::Current));
            let before = asked.earlier.filter(|_| !part.is_empty()).map(|days| (days, ComparedColumn::Previous));
            for (days, _) in now.into_iter().chain(before).filter(|(_, part)| asked.has_row(row, *part)) {
                add(&mut calls, metric, asked.call(row, account, days));
            }
        }
    }
    calls
}

/// Adds a metric to the call whose other arguments are the same.
fn add(calls: &mut Vec<WhyArguments>, metric: &str, call: WhyArguments) {
    let is_same = |other: &&mut WhyArguments| {
        (&other.by, other.days, &other.row, &other.cohort) == (&call.by, call.days, &call.row, &call.cohort)
    };
    match calls.iter_mut().find(is_same) {
        Some(other) if other.metrics.iter().any(|known| known == metric) => {}
        Some(other) => other.metrics.push(metric.to_owned()),
        None => calls.push(WhyArguments { metrics: vec![metric.to_owned()], ..call }),
    }
}
