//! An answer: compact text for a model, and the same rows as data. Both are cut to the characters that they may have,
//! by leaving out rows.

use crate::cell::{Cell, cut, visible};
use serde_json::{Map, Value, json};
use trueup::{ResultTable, Values};

/// The most characters of an answer, as text and as data each.
pub const MAX_CHARACTERS: usize = 4_000;

/// The most notes of an answer, and the most characters of one.
const MAX_NOTES: usize = 10;
const MAX_NOTE: usize = 260;
/// The most characters of a line that is neither a row nor a note.
const MAX_LINE: usize = 700;
/// The most characters of the names of rows that are left out, as text and as data each: those of all built-in metrics
/// take 2,100, and there is room for a few rows.
const MAX_NAMES: usize = 2_600;

/// What a caller does to see more rows of a question.
pub(crate) const MORE_ROWS: &str = "raise `limit`, narrow with `where`, name fewer metrics, or `export`";
/// What is of no use if more rows would not fit.
const MORE: &str = "raise `limit`, ";

/// The answer to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Compact text. Texts of the data are in double quotes.
    pub text: String,
    /// The same as data.
    pub data: Value,
}

/// An answer before it is cut.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// Lines before the rows.
    pub(crate) head: Vec<String>,
    pub(crate) grid: Option<Grid>,
    pub(crate) notes: Vec<String>,
    /// Lines at the end.
    pub(crate) tail: Vec<String>,
    /// What the answer has as data, apart from rows and notes.
    pub(crate) data: Map<String, Value>,
}

/// The rows of an answer.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    pub(crate) columns: Vec<String>,
    pub(crate) rows: Vec<Vec<Cell>>,
    pub(crate) totals: Option<Vec<Cell>>,
    /// The rows that there are, of which `rows` are the first.
    pub(crate) all: AllRows,
    /// What a caller does to see the rows that are left out.
    pub(crate) more: &'static str,
}

/// The rows that an answer could have.
#[derive(Debug)]
pub(crate) enum AllRows {
    /// This number of rows.
    Count(usize),
    /// Those with these names. An answer has the names of the rows that are left out.
    Named(Vec<Cell>),
    /// Those of a table, in which the values of some columns may be added up.
    Table { table: Box<ResultTable>, is_additive: Vec<bool> },
}

impl Default for AllRows {
    fn default() -> Self {
        Self::Count(0)
    }
}

impl Grid {
    /// Returns rows that are all there are.
    pub(crate) fn new(columns: &[&str], rows: Vec<Vec<Cell>>, all: usize, more: &'static str) -> Self {
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        Self { columns, rows, totals: None, all: AllRows::Count(all), more }
    }

    /// Returns the number of rows after the first `shown`.
    fn left_out(&self, shown: usize) -> usize {
        let all = match &self.all {
            AllRows::Count(count) => *count,
            AllRows::Named(names) => names.len(),
            AllRows::Table { table, .. } => table.len(),
        };
        all.saturating_sub(shown)
    }

    /// Returns the names of the rows after the first `shown`, as many as there is room for.
    fn names(&self, shown: usize) -> &[Cell] {
        let AllRows::Named(names) = &self.all else { return &[] };
        let names = names.get(shown..).unwrap_or_default();
        let mut characters = 0;
        let fit = names.iter().take_while(|name| {
            // As data, a name has quotes and a comma.
            characters += name.text.chars().count() + 3;
            characters <= MAX_NAMES
        });
        names.get(..fit.count()).unwrap_or_default()
    }

    /// Returns what the rows after the first `shown` hold together, for the columns that may be added up.
    pub(crate) fn held(&self, shown: usize) -> Vec<(String, Cell)> {
        let AllRows::Table { table, is_additive } = &self.all else { return Vec::new() };
        let columns = table.columns().iter().zip(is_additive).filter(|(_, is_additive)| **is_additive);
        let sums = columns.filter_map(|(column, _)| {
            let rest = shown..table.len();
            let sum = match &column.values {
                Values::Counts(counts) => trueup::Value::Count(counts.get(rest)?.iter().sum()),
                Values::Money(amounts) => trueup::Value::Money(amounts.get(rest)?.iter().sum()),
                Values::Integers(integers) => trueup::Value::Integer(integers.get(rest)?.iter().sum()),
                _ => return None,
            };
            Some((column.name.clone(), Cell::number(&trueup::definitions::Definitions::default(), &column.name, sum)))
        });
        sums.collect()
    }
}

impl Draft {
    /// Adds a note.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = cut(&note.into(), MAX_NOTE);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns the answer with as many rows as fit.
    pub(crate) fn finish(mut self) -> Answer {
        self.notes.truncate(MAX_NOTES);
        let mut shown = self.grid.as_ref().map_or(0, |grid| grid.rows.len());
        loop {
            let answer = self.render(shown);
            let longest = answer.text.chars().count().max(answer.data.to_string().chars().count());
            if longest <= MAX_CHARACTERS {
                return answer;
            }
            if shown == 0 {
                return answer.cut();
            }
            shown = (shown * MAX_CHARACTERS / longest).min(shown - 1);
        }
    }

    /// Returns the answer with the first `shown` rows.
    fn render(&self, shown: usize) -> Answer {
        let mut lines: Vec<String> = self.head.iter().map(|line| cut(line, MAX_LINE)).collect();
        let mut data = self.data.clone();
        if let Some(grid) = &self.grid {
            lines.push(grid.columns.join(" | "));
            let texts = |cells: &[Cell]| cells.iter().map(|cell| cell.text.as_str()).collect::<Vec<_>>().join(" | ");
            let values = |cells: &[Cell]| cells.iter().map(|cell| cell.value.clone()).collect::<Value>();
            let rows = grid.rows.get(..shown).unwrap_or_default();
            lines.extend(rows.iter().map(|row| texts(row)));
            data.insert("columns".to_owned(), grid.columns.clone().into());
            data.insert("rows".to_owned(), rows.iter().map(|row| values(row)).collect());
            if let Some(totals) = &grid.totals {
                // In a row, an empty text is the value of what has none; the totals are of all values.
                let texts = totals.iter().map(|cell| if cell.text == "\"\"" { "all" } else { cell.text.as_str() });
                lines.push(format!("total: {}", texts.collect::<Vec<_>>().join(" | ")));
                data.insert("totals".to_owned(), values(totals));
            }
            let left_out = grid.left_out(shown);
            if left_out > 0 {
                let held = grid.held(shown);
                let texts: Vec<String> = held.iter().map(|(name, cell)| format!("{name} {}", cell.text)).collect();
                let texts = if texts.is_empty() { String::new() } else { format!(", which hold {}", texts.join(", ")) };
                let more = match grid.more.strip_prefix(MORE).filter(|_| shown < grid.rows.len()) {
                    Some(others) => format!("an answer holds 4,000 characters: {others}"),
                    None => grid.more.to_owned(),
                };
                lines.push(format!("left out: {left_out} more rows{texts}; {more}"));
                let held: Map<String, Value> = held.into_iter().map(|(name, cell)| (name, cell.value)).collect();
                let mut rest = json!({ "rows": left_out, "hold": held });
                let names = grid.names(shown);
                if !names.is_empty() {
                    let mut texts: Vec<&str> = names.iter().map(|name| name.text.as_str()).collect();
                    texts.extend((names.len() < left_out).then_some("…"));
                    lines.push(format!("these are: {}", texts.join(", ")));
                    rest["names"] = names.iter().map(|name| name.value.clone()).collect();
                }
                data.insert("leftOut".to_owned(), rest);
            }
        }
        if !self.notes.is_empty() {
            lines.push("Notes:".to_owned());
            lines.extend(self.notes.iter().map(|note| format!("- {note}")));
            data.insert("notes".to_owned(), self.notes.clone().into());
        }
        lines.extend(self.tail.iter().map(|line| cut(line, MAX_LINE)));
        // Conditions, names of columns and notes have texts of others. None of these begins a line of its own.
        let lines: Vec<String> = lines.iter().map(|line| visible(line)).collect();
        Answer { text: lines.join("\n"), data: data.into() }
    }
}

impl Answer {
    /// Returns the answer without what does not fit although it has no rows.
    fn cut(mut self) -> Self {
        self.text = cut(&self.text, MAX_CHARACTERS - 1);
        // The longest members first; what is left are short ones.
        while let Value::Object(data) = &mut self.data
            && data.values().map(|value| value.to_string().chars().count()).sum::<usize>() > MAX_CHARACTERS / 2
        {
            let longest = data.iter().max_by_key(|(_, value)| value.to_string().len()).map(|(name, _)| name.clone());
            let Some(longest) = longest else { break };
            data.remove(&longest);
        }
        self
    }
}
