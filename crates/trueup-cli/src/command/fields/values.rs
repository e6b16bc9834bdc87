//! The values of a dimension in a dataset, with the number of events that carry each.

use crate::exit::Failure;
use crate::output::OutputWriter;
use crate::output::table::{self, Heading, Screen};
use crate::progress;
use std::cmp::Reverse;
use std::io::{self, Write};
use trueup::query::{DateRange, EventsQuery};
use trueup::{Column, Dataset, Day, Execution, ResultTable, StringColumn, Values, dictionary};
use trueup_report::number::counted;
use trueup_report::shell_word;

/// The metric that counts the events of a value.
const COUNT: &str = "eventCount";

/// The number of values in the description of a dimension.
const MOST_FREQUENT: usize = 10;

/// The values of a dimension, each with its number of events.
pub(super) struct ValueCounts<'a> {
    name: &'a str,
    /// The dimension and [`COUNT`], in the order of the dimension's texts.
    answer: ResultTable,
    /// The rows of the answer, the most frequent value first.
    order: Vec<usize>,
}

impl<'a> ValueCounts<'a> {
    /// Counts the events of every value over all days of the dataset.
    ///
    /// # Errors
    /// If `name` is a metric, or a file cannot be read.
    pub(super) fn of(dataset: &Dataset, name: &'a str) -> Result<Self, Failure> {
        if dictionary::metric(name).is_some() || dataset.definitions().metric(name).is_some() {
            return Err(Failure::request(format!("expected a dimension, but `{name}` is a metric")));
        }
        // A dataset without rows has no values on any day.
        let range = dataset.date_range().unwrap_or(DateRange { start: Day::MIN, end: Day::MIN });
        let query = EventsQuery::new([name, COUNT], range.start, range.end).allow_long_total();
        let answer = dataset.run(&query, progress::watched(Execution::default()))?;
        let mut order: Vec<usize> = (0..answer.len()).collect();
        // Equally frequent values stay in the order of their texts.
        order.sort_by_key(|row| Reverse(counts(&answer)[*row]));
        Ok(Self { name, answer, order })
    }

    /// Returns all values, the most frequent first.
    ///
    /// # Errors
    /// If the dimension is not a column of texts in the answer, which would be a bug.
    pub(super) fn table(&self) -> Result<ResultTable, Failure> {
        let texts = match self.answer.column(self.name).map(|column| &column.values) {
            Some(Values::Strings(texts)) => {
                let codes = self.order.iter().map(|row| texts.codes()[*row]).collect();
                StringColumn::new(codes, texts.dictionary().clone())
            }
            _ => None,
        };
        let texts = texts.ok_or_else(|| Failure::fault(format!("the column `{}` has no texts", self.name)))?;
        let counts = counts(&self.answer);
        let counts = self.order.iter().map(|row| counts[*row]).collect();
        Ok(ResultTable::from_columns(vec![
            Column { name: self.name.to_owned(), values: Values::Strings(texts) },
            Column { name: COUNT.to_owned(), values: Values::Counts(counts) },
        ]))
    }

    /// Writes the number of values and the most frequent of them, for people.
    pub(super) fn write_most_frequent(&self, out: &mut OutputWriter) -> io::Result<()> {
        let shown = &self.order[..self.order.len().min(MOST_FREQUENT)];
        let values = counted(self.order.len() as u64, "value");
        if shown.len() < self.order.len() {
            writeln!(out, "{values}, the most frequent first; `--values {}` lists all\n", shell_word(self.name))?;
        } else {
            writeln!(out, "{values}\n")?;
        }
        let screen = Screen::of(out);
        table::write_rows(&self.answer, shown, Heading::Name, screen, out.styled())
    }
}

/// Returns the number of events of each row.
fn counts(answer: &ResultTable) -> &[u64] {
    match answer.column(COUNT).map(|column| &column.values) {
        Some(Values::Counts(counts)) => counts,
        _ => &[],
    }
}
