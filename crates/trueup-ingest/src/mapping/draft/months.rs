//! Columns that are a month each, such as `Mar 2026` and `Apr 2026`, or `Mar 2026 Budget` and `Mar 2026 Leads`.

use super::formats::AmountForm;
use super::sample::{ColumnSample, FileSample};
use super::text::quoted;
use crate::mapping::dates::{DateFormat, read_month};
use regex::Regex;

/// How months are written in names of columns, and the expression of such a text.
const FORMATS: [(&str, &str); 4] = [
    ("%b %Y", "[A-Z][a-z]{2} [0-9]{4}"),
    ("%B %Y", "[A-Z][a-z]+ [0-9]{4}"),
    ("%Y-%m", "[0-9]{4}-[0-9]{2}"),
    ("%m/%Y", "[0-9]{1,2}/[0-9]{4}"),
];

/// The columns that an input makes of those of months: the month, what its amount is, and the amount.
pub(super) const MONTH: &str = "month";
pub(super) const MEASURE: &str = "measure";
pub(super) const AMOUNT: &str = "amount";

/// The column of the names that have a month and a measure.
const NAME: &str = "column";

/// The columns of a file that are a month each.
pub(super) struct MonthColumns {
    /// How the months are written.
    pub(super) format: &'static str,
    /// The expression of a month.
    pattern: &'static str,
    /// The months, each as it is written and as `YYYY-MM`.
    pub(super) months: Vec<(String, String)>,
    /// What the names have besides a month; empty if they have nothing else.
    pub(super) measures: Vec<String>,
    /// The names of the columns.
    pub(super) names: Vec<String>,
}

impl MonthColumns {
    /// Returns the columns of a file that are a month each; `None` if there are not several.
    pub(super) fn of(sample: &FileSample) -> Option<Self> {
        let found = FORMATS.into_iter().filter_map(|(format, pattern)| Self::written(sample, format, pattern));
        // Of the formats that fit as many columns, the first one is the plainest.
        found.reduce(|best, other| if other.names.len() > best.names.len() { other } else { best })
    }

    fn written(sample: &FileSample, format: &'static str, pattern: &'static str) -> Option<Self> {
        let (expression, read) = (Regex::new(pattern).ok()?, DateFormat::new(format)?);
        let mut found = Self { format, pattern, months: Vec::new(), measures: Vec::new(), names: Vec::new() };
        let mut has_plain = false;
        for column in &sample.columns {
            let Some(at) = expression.find(&column.name) else { continue };
            let (first, _) = read_month(at.as_str(), Some(&read)).ok()?;
            if column.filled > 0 && AmountForm::of(column).is_none() {
                return None;
            }
            let (before, after) = (&column.name[..at.start()], &column.name[at.end()..]);
            let measure = format!("{before}{after}").trim().to_owned();
            has_plain |= measure.is_empty();
            if !measure.is_empty() && !found.measures.contains(&measure) {
                found.measures.push(measure);
            }
            let month = (at.as_str().to_owned(), first.month());
            if !found.months.contains(&month) {
                found.months.push(month);
            }
            found.names.push(column.name.clone());
        }
        let is_free = [MONTH, MEASURE, AMOUNT, NAME].iter().all(|name| !sample.has_column(name));
        // With and without a measure, the names are no table of months.
        let is_one = !has_plain || found.measures.is_empty();
        (found.months.len() > 1 && is_free && is_one).then_some(found)
    }

    /// Returns whether a column is one of the months.
    pub(super) fn has(&self, column: &ColumnSample) -> bool {
        self.names.contains(&column.name)
    }

    /// Returns the lines of the input that make rows of the columns.
    pub(super) fn input_lines(&self) -> Vec<String> {
        let unpivot = |pattern: &str, name: &str| {
            format!(
                "unpivot = {{ columns = {{ regex = {} }}, name = \"{name}\", value = \"{AMOUNT}\" }}",
                quoted(pattern)
            )
        };
        if self.measures.is_empty() {
            return vec![unpivot(&format!("^{}$", self.pattern), MONTH)];
        }
        let mut measures: Vec<String> = self.measures.iter().map(|measure| regex::escape(measure)).collect();
        measures.sort_by_key(|measure| std::cmp::Reverse(measure.len()));
        let extract = |pattern: &str| format!("{{ column = \"{NAME}\", extract = {} }}", quoted(pattern));
        let compute = format!(
            "compute = {{ {MONTH} = {}, {MEASURE} = {} }}",
            extract(self.pattern),
            extract(&measures.join("|"))
        );
        vec![unpivot(self.pattern, NAME), compute]
    }
}
