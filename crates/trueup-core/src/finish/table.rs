//! The answer to a query: columns of equal length.

use crate::memory::Share;
use crate::{Day, NoRoom, TextList, money};
use std::sync::Arc;

/// The finished rows of a query, column by column, in the order in which the query named its fields.
///
/// With an interval other than `total` the first two columns are `start` and `end`.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultTable {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: usize,
    pub(crate) unknown_fields: Vec<String>,
    pub(crate) memory: TableMemory,
}

/// What a table takes of a budget of memory; tables are equal whatever that is.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableMemory(Option<Arc<Share>>);

impl TableMemory {
    pub(crate) fn new(share: Share) -> Self {
        Self(Some(Arc::new(share)))
    }
}

impl PartialEq for TableMemory {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Memory that is used along with a table, given back when it is dropped.
#[derive(Debug)]
pub struct ExtraMemory {
    _share: Option<Share>,
}

/// One column of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// `start`, `end`, or the field's name.
    pub name: String,
    /// Its values, one per row.
    pub values: Values,
}

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// The first or last day of the row's sub-range.
    Days(Vec<Day>),
    /// A dimension's texts; null is the empty text.
    Texts(Texts),
    /// A count.
    Counts(Vec<u64>),
    /// Money in millionths of a currency unit.
    Money(Vec<i128>),
    /// A ratio, or money per thing in currency units; 0 where the denominator is 0.
    Ratios(Vec<f64>),
}

/// Texts by row, each distinct one held once. A clone is cheap.
#[derive(Clone, Debug, PartialEq)]
pub struct Texts {
    /// Where each row's text stands in the dictionary; every code does stand there.
    pub(crate) codes: Arc<[u32]>,
    /// The distinct texts.
    pub(crate) dictionary: Arc<TextList>,
}

/// One value of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A day.
    Day(Day),
    /// A dimension's text.
    Text(&'a str),
    /// A count.
    Count(u64),
    /// Money in millionths of a currency unit.
    Money(i128),
    /// A ratio, or money per thing in currency units.
    Ratio(f64),
}

impl Value<'_> {
    /// The number as a double, money in currency units; `None` for texts and days.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Self::Day(_) | Self::Text(_) => None,
            #[expect(clippy::cast_precision_loss, reason = "a count is rendered as a double, correctly rounded")]
            Self::Count(count) => Some(count as f64),
            Self::Money(micros) => Some(money::to_f64(micros)),
            Self::Ratio(ratio) => Some(ratio),
        }
    }
}

impl Texts {
    /// The texts of rows: `codes` says for each row where its text stands in `dictionary`. `None` if some code stands
    /// for no text.
    #[must_use]
    pub fn new(codes: Vec<u32>, dictionary: TextList) -> Option<Self> {
        let is_whole = codes.iter().all(|code| (*code as usize) < dictionary.len());
        is_whole.then(|| Self { codes: codes.into(), dictionary: Arc::new(dictionary) })
    }

    /// The empty text on each of so many rows; it is the only text, unless it is not met. Clones share all that they
    /// hold.
    pub(crate) fn blank(rows: usize, is_met: bool) -> Self {
        let dictionary = is_met.then_some("").into_iter().collect();
        Self { codes: std::iter::repeat_n(0, rows).collect(), dictionary: Arc::new(dictionary) }
    }

    /// For each row, where its text stands in [`Texts::dictionary`].
    #[must_use]
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The distinct texts; there may be some that no row has.
    #[must_use]
    pub fn dictionary(&self) -> &TextList {
        &self.dictionary
    }

    /// The text of a row, or the empty text past the last row.
    #[must_use]
    pub fn get(&self, row: usize) -> &str {
        self.codes.get(row).and_then(|code| self.dictionary.get(*code as usize)).unwrap_or_default()
    }
}

impl Column {
    /// The value of a row; `None` past the last row.
    #[must_use]
    pub fn value(&self, row: usize) -> Option<Value<'_>> {
        match &self.values {
            Values::Days(days) => days.get(row).copied().map(Value::Day),
            Values::Texts(texts) => (row < texts.codes.len()).then(|| Value::Text(texts.get(row))),
            Values::Counts(counts) => counts.get(row).copied().map(Value::Count),
            Values::Money(amounts) => amounts.get(row).copied().map(Value::Money),
            Values::Ratios(ratios) => ratios.get(row).copied().map(Value::Ratio),
        }
    }
}

impl Values {
    /// The number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Days(days) => days.len(),
            Self::Texts(texts) => texts.codes.len(),
            Self::Counts(counts) => counts.len(),
            Self::Money(amounts) => amounts.len(),
            Self::Ratios(ratios) => ratios.len(),
        }
    }

    /// Whether there is no value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl ResultTable {
    /// The table of these columns; it has as many rows as the shortest of them.
    #[must_use]
    pub fn from_columns(columns: Vec<Column>) -> Self {
        let rows = columns.iter().map(|column| column.values.len()).min().unwrap_or(0);
        Self { columns, rows, unknown_fields: Vec::new(), memory: TableMemory::default() }
    }

    /// Bytes that the table takes. Those of texts that columns share count once.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let mut seen: Vec<(*const u32, *const TextList)> = Vec::new();
        let of_column = |column: &Column| {
            let values = match &column.values {
                Values::Days(days) => days.capacity() * size_of::<Day>(),
                Values::Counts(counts) => counts.capacity() * size_of::<u64>(),
                Values::Money(amounts) => amounts.capacity() * size_of::<i128>(),
                Values::Ratios(ratios) => ratios.capacity() * size_of::<f64>(),
                Values::Texts(texts) => {
                    let (codes, dictionary) = (texts.codes.as_ptr(), Arc::as_ptr(&texts.dictionary));
                    let codes_bytes =
                        if seen.iter().any(|seen| seen.0 == codes) { 0 } else { size_of_val(&*texts.codes) };
                    let is_new = !seen.iter().any(|seen| seen.1 == dictionary);
                    seen.push((codes, dictionary));
                    codes_bytes + if is_new { texts.dictionary.bytes() } else { 0 }
                }
            };
            values + column.name.capacity() + size_of::<Column>()
        };
        self.columns.iter().map(of_column).sum()
    }

    /// Counts more bytes where those of the table are counted, such as what is held to write it, if they are counted at
    /// all.
    ///
    /// # Errors
    /// The budget has no room for them.
    pub fn reserve_more(&self, bytes: usize) -> Result<ExtraMemory, NoRoom> {
        let share = self.memory.0.as_ref().map(|share| share.more(bytes)).transpose()?;
        Ok(ExtraMemory { _share: share })
    }

    /// The columns, in the order of the query.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The column of that name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The rows, in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.rows).map(|row| Row { table: self, row })
    }

    /// The value of the column `name` in a row, if there is such a column and row.
    #[must_use]
    pub fn value(&self, row: usize, name: &str) -> Option<Value<'_>> {
        self.column(name)?.value(row)
    }

    /// Names in the query's fields and filter that neither the dictionary nor the dataset knows; they read as the empty
    /// text.
    #[must_use]
    pub fn unknown_fields(&self) -> &[String] {
        &self.unknown_fields
    }

    /// The same answer for someone to whom these names are unknown, and no others.
    #[must_use]
    pub fn with_unknown_fields(self, unknown_fields: Vec<String>) -> Self {
        Self { unknown_fields, ..self }
    }
}

/// One row of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    table: &'a ResultTable,
    row: usize,
}

impl<'a> Row<'a> {
    /// The value of the column `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        self.table.value(self.row, name)
    }

    /// The row's names and values, in the order of the query.
    pub fn values(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        let row = self.row;
        self.table.columns.iter().filter_map(move |column| Some((column.name.as_str(), column.value(row)?)))
    }
}
