//! The result table: the answer to a query, as columns of equal length.

use super::exact_values::ExactValues;
use crate::definitions::Definitions;
use crate::memory::MemoryLease;
use crate::query::{ComparedColumn, DateRange, ROW_TYPE};
use crate::{Day, NoRoom, StringList, money};
use hashbrown::HashMap;
use std::sync::Arc;

/// The answer to a query: finished rows, column by column, in the order of the query's fields.
///
/// With an interval other than `total` the first two columns are `start` and `end`. Rows are ordered by sub-range and
/// then by each dimension in turn, byte by byte, unless the query [sorts](crate::query::EventsQuery::sort) them.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultTable {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: usize,
    /// One row with the columns of this table, if the query asks for totals.
    pub(crate) totals: Option<Box<Self>>,
    /// Whether the last row has the totals.
    pub(crate) has_totals_row: bool,
    pub(crate) unknown_fields: Vec<String>,
    /// What readers should know of null values.
    pub(crate) notes: Vec<String>,
    /// The definitions that fields of the query may refer to.
    pub(crate) definitions: Definitions,
    pub(crate) memory: TableMemory,
}

/// The memory of a table, counted towards a reservation until the last clone of the table is dropped. It does not
/// affect whether tables are equal.
#[derive(Clone, Debug, Default)]
pub(crate) struct TableMemory(Option<Arc<MemoryLease>>);

impl TableMemory {
    /// Counts another number of bytes, unless the table has clones.
    pub(crate) fn set(&mut self, bytes: usize) -> Result<(), NoRoom> {
        self.0.as_mut().and_then(Arc::get_mut).map_or(Ok(()), |share| share.set(|| bytes))
    }
}

impl PartialEq for TableMemory {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Memory that is reserved in addition to that of a table. Dropping it gives the memory back.
#[derive(Debug)]
pub struct ExtraMemory {
    _share: Option<MemoryLease>,
}

/// One column of a result table.
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// `start`, `end`, or the field's name, in a comparison or a difference also with a suffix such as `.change`;
    /// `rowType` after [`ResultTable::with_totals_row`], and `status` in a difference.
    pub name: String,
    /// The values, one per row.
    pub values: Values,
}

/// The values of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Days, such as the first or the last one of the row's sub-range.
    Days(Vec<Day>),
    /// A dimension's texts; null is the empty text.
    Strings(StringColumn),
    /// Counts.
    Counts(Vec<u64>),
    /// Money in millionths of a currency unit.
    Money(Vec<i128>),
    /// Quotients. Money divided by a count is in currency units.
    Ratios(Ratios),
    /// Whole numbers that may be negative, such as the change of a count.
    Integers(Vec<i64>),
    /// Numbers; `None` in rows that have none, such as the ratio of a change to nothing. No number is infinite or a
    /// negative zero.
    Numbers(Vec<Option<f64>>),
}

/// The quotients of a column. A quotient whose denominator is 0 is called *over nothing*, and has the value 0.
///
/// ```
/// use trueup_core::Ratios;
///
/// let rates: Ratios = [Some(0.5), Some(0.0), None].into_iter().collect();
/// assert_eq!(rates.iter().collect::<Vec<f64>>(), [0.5, 0.0, 0.0]);
/// assert_eq!((rates.get(1), rates.get(2)), (Some(0.0), None));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ratios {
    /// The quotients; a quotient over nothing is [`OVER_NOTHING`].
    values: Vec<f64>,
    /// The same quotients before they were rounded, if the query [asks for
    /// them](crate::query::EventsQuery::exact_ratios).
    exact: Option<Box<ExactValues>>,
}

/// Stands for a quotient over nothing. No other quotient is a negative zero, because [`Ratios`] adds 0 to each.
const OVER_NOTHING: f64 = -0.0;

/// The texts of a column. Each distinct text is held once. Clones share all memory.
#[derive(Clone, Debug, PartialEq)]
pub struct StringColumn {
    /// For each row, the index of its text in the dictionary.
    pub(crate) codes: Arc<[u32]>,
    /// The distinct texts.
    pub(crate) dictionary: Arc<StringList>,
}

/// One value of a result table.
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
    /// A quotient; 0 where the denominator is 0. Money divided by a count is in currency units.
    Ratio(f64),
    /// A whole number that may be negative.
    Integer(i64),
    /// A number, in a column in which other rows may have [`Null`](Self::Null).
    Number(f64),
    /// There is no number.
    Null,
}

impl Value<'_> {
    /// Converts a number to a double, money in currency units. Returns `None` for texts, days and null.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        match self {
            Self::Day(_) | Self::Text(_) | Self::Null => None,
            #[expect(clippy::cast_precision_loss, reason = "a count is rendered as a double, correctly rounded")]
            Self::Count(count) => Some(count as f64),
            Self::Money(micros) => Some(money::to_f64(micros)),
            Self::Ratio(number) | Self::Number(number) => Some(number),
            #[expect(clippy::cast_precision_loss, reason = "rendered as a double, correctly rounded")]
            Self::Integer(integer) => Some(integer as f64),
        }
    }
}

impl StringColumn {
    /// Returns the texts of rows. `codes` has for each row the index of its text in `dictionary`. Returns `None` if an
    /// index is beyond the dictionary.
    #[must_use]
    pub fn new(codes: Vec<u32>, dictionary: StringList) -> Option<Self> {
        let are_valid = codes.iter().all(|code| (*code as usize) < dictionary.len());
        are_valid.then(|| Self { codes: codes.into(), dictionary: Arc::new(dictionary) })
    }

    /// Returns the empty text for each of `rows` rows. The dictionary has the empty text if `has_text` is set, and is
    /// empty otherwise; there must be no rows then.
    pub(crate) fn blank(rows: usize, has_text: bool) -> Self {
        let dictionary = has_text.then_some("").into_iter().collect();
        Self { codes: std::iter::repeat_n(0, rows).collect(), dictionary: Arc::new(dictionary) }
    }

    /// Appends the empty text.
    fn push_empty(&mut self) {
        let dictionary = Arc::make_mut(&mut self.dictionary);
        let empty = (0_u32..).zip(dictionary.iter()).find(|(_, text)| text.is_empty()).map(|(code, _)| code);
        let code = empty.unwrap_or_else(|| {
            dictionary.push("");
            u32::try_from(dictionary.len() - 1).unwrap_or(u32::MAX)
        });
        self.codes = self.codes.iter().copied().chain([code]).collect();
    }

    /// Returns for each row the index of its text in [`StringColumn::dictionary`].
    #[must_use]
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// Returns the distinct texts. Some of them may occur in no row.
    #[must_use]
    pub fn dictionary(&self) -> &StringList {
        &self.dictionary
    }

    /// Returns the text of a row, or the empty text after the last row.
    #[must_use]
    pub fn get(&self, row: usize) -> &str {
        self.codes.get(row).and_then(|code| self.dictionary.get(*code as usize)).unwrap_or_default()
    }
}

/// Makes a column of texts, in whose dictionary each text is once.
#[derive(Default)]
pub(crate) struct StringColumnBuilder {
    codes: Vec<u32>,
    dictionary: StringList,
    known: HashMap<String, u32>,
}

impl StringColumnBuilder {
    pub(crate) fn push(&mut self, text: &str) {
        let next = u32::try_from(self.dictionary.len()).unwrap_or(u32::MAX);
        let code = *self.known.entry_ref(text).or_insert(next);
        if code == next {
            self.dictionary.push(text);
        }
        self.codes.push(code);
    }

    pub(crate) fn texts(self) -> Values {
        Values::Strings(StringColumn { codes: self.codes.into(), dictionary: Arc::new(self.dictionary) })
    }
}

impl FromIterator<Option<f64>> for Ratios {
    /// Collects quotients; `None` is a quotient over nothing.
    fn from_iter<I: IntoIterator<Item = Option<f64>>>(quotients: I) -> Self {
        let mut ratios = Self::default();
        ratios.extend(quotients);
        ratios
    }
}

impl Extend<Option<f64>> for Ratios {
    fn extend<I: IntoIterator<Item = Option<f64>>>(&mut self, quotients: I) {
        // Nobody knows the fractions behind the new quotients.
        self.exact = None;
        // Adding 0 turns a negative zero into zero.
        self.values.extend(quotients.into_iter().map(|quotient| quotient.map_or(OVER_NOTHING, |value| value + 0.0)));
    }
}

impl PartialEq for Ratios {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|row| self.get(row) == other.get(row))
    }
}

impl Ratios {
    /// Returns an empty list with room for `rows` quotients.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self { values: Vec::with_capacity(rows), exact: None }
    }

    /// Keeps the quotients as they were before they were rounded.
    pub(super) fn keep_exact(&mut self, exact: ExactValues) {
        debug_assert_eq!(exact.numerators.len(), self.len(), "one fraction per quotient");
        self.exact = Some(Box::new(exact));
    }

    /// Returns the exact quotients, if they were kept.
    pub(super) fn exact(&self) -> Option<&ExactValues> {
        self.exact.as_deref()
    }

    /// Appends the quotients of another column. Both are exact, or none is.
    fn append(&mut self, others: Self) {
        self.values.reserve_exact(others.len());
        self.values.extend(others.values);
        self.exact = self.exact.take().zip(others.exact).map(|(mut exact, others)| {
            exact.append(*others);
            exact
        });
    }

    /// Returns the number of bytes held.
    fn bytes(&self) -> usize {
        self.values.capacity() * size_of::<f64>() + self.exact.as_ref().map_or(0, |exact| exact.bytes())
    }

    /// Returns the quotient of a row; `None` if it is over nothing, and after the last row.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<f64> {
        self.values.get(row).copied().filter(|value| value.to_bits() != OVER_NOTHING.to_bits())
    }

    /// Returns the value of every row in order; 0 for a quotient over nothing.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = f64> {
        self.values.iter().map(|value| value + 0.0)
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl Column {
    /// Returns the value of a row, or `None` after the last row.
    #[must_use]
    pub fn value(&self, row: usize) -> Option<Value<'_>> {
        match &self.values {
            Values::Days(days) => days.get(row).copied().map(Value::Day),
            Values::Strings(texts) => (row < texts.codes.len()).then(|| Value::Text(texts.get(row))),
            Values::Counts(counts) => counts.get(row).copied().map(Value::Count),
            Values::Money(amounts) => amounts.get(row).copied().map(Value::Money),
            Values::Ratios(ratios) => (row < ratios.len()).then(|| Value::Ratio(ratios.get(row).unwrap_or_default())),
            Values::Integers(integers) => integers.get(row).copied().map(Value::Integer),
            Values::Numbers(numbers) => numbers.get(row).map(|number| number.map_or(Value::Null, Value::Number)),
        }
    }

    /// Returns whether the value of a row is a quotient over nothing (see [`Ratios`]); `false` after the last row.
    #[must_use]
    pub fn is_over_nothing(&self, row: usize) -> bool {
        matches!(&self.values, Values::Ratios(ratios) if row < ratios.len() && ratios.get(row).is_none())
    }
}

impl Values {
    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Days(days) => days.len(),
            Self::Strings(texts) => texts.codes.len(),
            Self::Counts(counts) => counts.len(),
            Self::Money(amounts) => amounts.len(),
            Self::Ratios(ratios) => ratios.len(),
            Self::Integers(integers) => integers.len(),
            Self::Numbers(numbers) => numbers.len(),
        }
    }

    /// Returns whether there are no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the totals of the same column. Texts are empty in totals.
    fn append_totals(&mut self, totals: Self) {
        fn append<T>(values: &mut Vec<T>, total: Vec<T>) {
            // A vector that grows by itself would double.
            values.reserve_exact(total.len());
            values.extend(total);
        }
        match (self, totals) {
            (Self::Days(days), Self::Days(total)) => append(days, total),
            (Self::Counts(counts), Self::Counts(total)) => append(counts, total),
            (Self::Money(amounts), Self::Money(total)) => append(amounts, total),
            (Self::Ratios(ratios), Self::Ratios(total)) => ratios.append(total),
            (Self::Integers(integers), Self::Integers(total)) => append(integers, total),
            (Self::Numbers(numbers), Self::Numbers(total)) => append(numbers, total),
            (Self::Strings(texts), _) => texts.push_empty(),
            // The two are columns of one field.
            _ => {}
        }
    }
}

impl ResultTable {
    /// Returns a table of columns. It has as many rows as the shortest column.
    #[must_use]
    pub fn from_columns(columns: Vec<Column>) -> Self {
        let rows = columns.iter().map(|column| column.values.len()).min().unwrap_or(0);
        Self {
            columns,
            rows,
            totals: None,
            has_totals_row: false,
            unknown_fields: Vec::new(),
            notes: Vec::new(),
            definitions: Definitions::default(),
            memory: TableMemory::default(),
        }
    }

    /// Counts the table's memory towards the reservation of `share`, and gives back the bytes that the query has
    /// reserved and does not use.
    pub(crate) fn counted(mut self, mut share: MemoryLease) -> Result<Self, NoRoom> {
        share.set(|| self.bytes())?;
        share.settle();
        self.memory = TableMemory(Some(Arc::new(share)));
        Ok(self)
    }

    /// Returns the number of bytes that the table takes, without its totals. Texts that columns share count once.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let mut seen: Vec<(*const u32, *const StringList)> = Vec::new();
        let of_column = |column: &Column| {
            let values = match &column.values {
                Values::Days(days) => days.capacity() * size_of::<Day>(),
                Values::Counts(counts) => counts.capacity() * size_of::<u64>(),
                Values::Money(amounts) => amounts.capacity() * size_of::<i128>(),
                Values::Ratios(ratios) => ratios.bytes(),
                Values::Integers(integers) => integers.capacity() * size_of::<i64>(),
                Values::Numbers(numbers) => numbers.capacity() * size_of::<Option<f64>>(),
                Values::Strings(texts) => {
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

    /// Reserves `bytes` more bytes where the table's memory is counted, for example for a buffer to write it. If the
    /// table's memory is not counted, these bytes are not counted either.
    ///
    /// # Errors
    /// The bytes do not fit into the budget.
    pub fn reserve_more(&self, bytes: usize) -> Result<ExtraMemory, NoRoom> {
        let share = self.memory.0.as_ref().map(|share| share.more(bytes)).transpose()?;
        Ok(ExtraMemory { _share: share })
    }

    /// Returns the columns, in the order of the query.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the column with a name, or `None` if there is no such column.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Returns for each column the two of which one that is [over nothing](Column::is_over_nothing) in a row leaves
    /// people nothing to read there: the column itself, twice, or, for a change and its ratio in a comparison, the
    /// values of the metric in both ranges. JSON, Parquet and Arrow have a number there, to which such a value is 0.
    ///
    /// ```
    /// use trueup_core::{Column, ResultTable, Values};
    ///
    /// let ratios = |value: Option<f64>| Values::Ratios([value].into_iter().collect());
    /// let column = |name: &str, values| Column { name: name.to_owned(), values };
    /// let answer = ResultTable::from_columns(vec![
    ///     column("bookRate", ratios(Some(0.5))),
    ///     column("bookRate.previous", ratios(None)),
    ///     column("bookRate.change", Values::Numbers(vec![Some(0.5)])),
    /// ]);
    /// let shown = answer.deciding_columns().into_iter().map(|two| !two.iter().any(|one| one.is_over_nothing(0)));
    /// assert_eq!(shown.collect::<Vec<bool>>(), [true, false, false]);
    /// ```
    #[must_use]
    pub fn deciding_columns(&self) -> Vec<[&Column; 2]> {
        let of_change = |column: &Column| {
            let (metric, part) = ComparedColumn::split_with(&column.name, &self.definitions)?;
            let is_change = matches!(part, ComparedColumn::Change | ComparedColumn::Ratio);
            let previous = format!("{metric}{}", ComparedColumn::Previous.suffix());
            is_change.then(|| Some([self.column(metric)?, self.column(&previous)?])).flatten()
        };
        self.columns.iter().map(|column| of_change(column).unwrap_or([column, column])).collect()
    }

    /// Returns the texts of a column; `None` if it has none, or there is no such column.
    pub(crate) fn texts(&self, name: &str) -> Option<&StringColumn> {
        match &self.column(name)?.values {
            Values::Strings(texts) => Some(texts),
            _ => None,
        }
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Returns whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns the rows, in order.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row<'_>> {
        (0..self.rows).map(|row| Row { table: self, row })
    }

    /// Returns the value of the column `name` in a row, or `None` if there is no such column or row.
    #[must_use]
    pub fn value(&self, row: usize, name: &str) -> Option<Value<'_>> {
        self.column(name)?.value(row)
    }

    /// Returns the totals, if the query [asks for them](crate::query::EventsQuery::totals): a table of one row, which
    /// has the columns of this table. Dimensions are empty in it, and `start` and `end` are those of the whole range.
    /// The totals are not among [`rows`](Self::rows), nor in a record batch or data frame of this table.
    ///
    /// ```
    /// use trueup_core::dataset::{Dataset, Tables};
    /// use trueup_core::query::EventsQuery;
    /// use trueup_core::Value;
    ///
    /// let dataset = Dataset::from_tables(&Tables::default())?;
    /// let query = EventsQuery::new(["campaign", "leads"], "2025-01-01".parse()?, "2025-01-31".parse()?).totals();
    /// let answer = dataset.query(&query)?;
    /// let total = answer.totals().and_then(|totals| totals.value(0, "leads"));
    /// assert_eq!((answer.len(), total), (0, Some(Value::Count(0))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn totals(&self) -> Option<&Self> {
        self.totals.as_deref()
    }

    /// Returns the same answer with its totals as the last row, after a first column `rowType` that is `group` in every
    /// other row and `total` in this one. An answer without totals stays as it is.
    #[must_use]
    pub fn with_totals_row(mut self) -> Self {
        let Some(totals) = self.totals.take() else { return self };
        for (column, total) in self.columns.iter_mut().zip(totals.columns) {
            column.values.append_totals(total.values);
        }
        let codes = std::iter::repeat_n(0, self.rows).chain([1]).collect();
        let types = StringColumn { codes, dictionary: Arc::new(["group", "total"].into_iter().collect()) };
        self.columns.insert(0, Column { name: ROW_TYPE.to_owned(), values: Values::Strings(types) });
        self.rows += 1;
        self.has_totals_row = true;
        self
    }

    /// Returns the row of the totals, if [`with_totals_row`](Self::with_totals_row) has added it.
    #[must_use]
    pub fn totals_row(&self) -> Option<usize> {
        self.has_totals_row.then(|| self.rows.saturating_sub(1))
    }

    /// Makes one row of finished metrics the totals of this table. `range` is the range of the query.
    pub(crate) fn set_totals(&mut self, metrics: Self, range: DateRange) {
        let mut metrics = metrics.columns.into_iter();
        let mut total = |column: &Column| match &column.values {
            Values::Days(_) if column.name == "start" => Some(Values::Days(vec![range.start])),
            Values::Days(_) => Some(Values::Days(vec![range.end])),
            Values::Strings(_) => Some(Values::Strings(StringColumn::blank(1, true))),
            // The fields of the totals are the metrics of this table, in its order.
            Values::Counts(_) | Values::Money(_) | Values::Ratios(_) | Values::Integers(_) | Values::Numbers(_) => {
                metrics.next().map(|column| column.values)
            }
        };
        let mut columns = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            columns.extend(total(column).map(|values| Column { name: column.name.clone(), values }));
        }
        self.totals = Some(Box::new(Self::from_columns(columns)));
    }

    /// Returns the names in the query's fields and filter that neither the dictionary nor the dataset knows. Their
    /// values are the empty text on every row.
    #[must_use]
    pub fn unknown_fields(&self) -> &[String] {
        &self.unknown_fields
    }

    /// Returns why values are null that readers may expect, each reason in a sentence; none unless the answer has
    /// [targets](crate::targets::TargetComparison).
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns the definitions of the dataset. A column may show a field that only they define, not the dictionary.
    #[must_use]
    pub const fn definitions(&self) -> &Definitions {
        &self.definitions
    }

    /// Returns the same answer with other unknown names, for a reader to whom exactly these are unknown.
    #[must_use]
    pub fn with_unknown_fields(self, unknown_fields: Vec<String>) -> Self {
        Self { unknown_fields, ..self }
    }
}

/// One row of a result table.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    table: &'a ResultTable,
    row: usize,
}

impl<'a> Row<'a> {
    /// Returns the value of the column `name`, or `None` if there is no such column.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        self.table.value(self.row, name)
    }

    /// Returns the names of the columns and the row's values, in the order of the query.
    pub fn values(&self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        let row = self.row;
        self.table.columns.iter().filter_map(move |column| Some((column.name.as_str(), column.value(row)?)))
    }
}
