//! The tables that are held in memory as a whole: accounts and targets. Each describes its columns and what a row adds
//! to it; how batches are read and checked is the same for all of them.

use super::amount::read_amounts;
use super::columns::{Meaning, find};
use super::fault::{CellFault, CellFaults, Reason, SchemaFault, TableFault};
use super::plain_column::{PlainColumn, read_account_keys, read_ids};
use arrow_array::{Array, ArrayRef, Decimal128Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, Schema};

/// A column of a table that is held as a whole.
#[derive(Clone, Copy)]
pub struct HeldColumn {
    pub(super) name: &'static str,
    /// What its values are, which decides the types that it can be read from.
    pub(super) meaning: Meaning,
}

impl HeldColumn {
    pub(super) const fn new(name: &'static str, meaning: Meaning) -> Self {
        Self { name, meaning }
    }
}

/// Returns the names of `N` columns.
pub(super) const fn names<const N: usize>(columns: &[HeldColumn]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = columns[at].name;
        at += 1;
    }
    names
}

/// Returns a batch of columns with names; `true` stands next to a column that may have nulls.
pub(super) fn batch_of<const N: usize>(
    names: [&'static str; N],
    columns: [(ArrayRef, bool); N],
) -> Result<RecordBatch, ArrowError> {
    let named = names.into_iter().zip(columns).map(|(name, (values, is_nullable))| (name, values, is_nullable));
    RecordBatch::try_from_iter_with_nullable(named)
}

/// The accepted and the rejected rows of a batch. Each row is accepted, or has a fault.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeldRows {
    /// The number of accepted rows.
    pub rows: usize,
    /// One fault per rejected row, by row.
    pub faults: Vec<CellFault>,
    /// The accepted rows that replaced a row that was there before.
    pub replaced: u64,
}

/// A table that is held in memory as a whole.
pub trait HeldTable: Clone + Default {
    /// The columns. The first one has the keys of accounts; batches may have others, which are ignored.
    const COLUMNS: &'static [HeldColumn];

    /// The number of columns that each row needs a value of, which come first.
    const REQUIRED: usize;

    /// Checks the names of the columns of a batch, and that the required ones are there.
    ///
    /// # Errors
    /// A column is missing or nested, or a name occurs twice or is another spelling of a known one.
    fn check_names(schema: &Schema) -> Result<(), SchemaFault>;

    /// Adds a row. Returns whether it replaces one that was there before. `is_metric` says which names are those of
    /// metrics.
    ///
    /// # Errors
    /// The column at fault, and what is wrong with its value.
    fn add(&mut self, row: &HeldRow<'_>, is_metric: &dyn Fn(&str) -> bool) -> Result<bool, (&'static str, Reason)>;

    /// Adds the rows of a `later` table, which replace rows with the same keys. Returns how many they replace.
    fn merge(&mut self, later: Self) -> u64;

    /// Returns the bytes of memory that the rows take, approximately.
    fn bytes(&self) -> usize;

    /// Returns the rows, by key, in the form that [`read`](Self::read) accepts.
    ///
    /// # Errors
    /// The rows are too large for one batch.
    fn to_batch(&self) -> Result<RecordBatch, ArrowError>;

    /// Reads a table from its batches, whatever its metrics are called.
    ///
    /// # Errors
    /// Returns an error if the columns are wrong, or the fault of the first bad row.
    fn from_batches(batches: &[RecordBatch]) -> Result<Self, TableFault> {
        let mut table = Self::default();
        for batch in batches {
            if let Some(fault) = table.read(batch, &|_| true)?.faults.into_iter().next() {
                return Err(fault.into());
            }
        }
        Ok(table)
    }

    /// Adds the rows of a batch, and rejects bad ones.
    ///
    /// # Errors
    /// The names of the columns are wrong, or a column has a type that its values cannot be read from.
    fn read(&mut self, batch: &RecordBatch, is_metric: &dyn Fn(&str) -> bool) -> Result<HeldRows, TableFault> {
        let schema = batch.schema_ref();
        Self::check_names(schema)?;
        let mut faults = CellFaults::default();
        let mut columns = Vec::new();
        for (number, HeldColumn { name, meaning }) in Self::COLUMNS.iter().enumerate() {
            let Some(at) = find(schema, name, *meaning)? else {
                columns.push(HeldValues::Absent);
                continue;
            };
            let column = PlainColumn::new(name, batch.column(at))?;
            columns.push(match meaning {
                Meaning::Amount => HeldValues::Amounts(read_amounts(&column, &mut faults)?),
                _ if number == 0 => HeldValues::Strings(read_account_keys(&column, &mut faults)?),
                _ if number < Self::REQUIRED => HeldValues::Strings(read_ids(&column, &mut faults)?),
                _ => HeldValues::Strings(column.texts(&mut faults)?),
            });
        }
        let mut read = HeldRows::default();
        for row in 0..batch.num_rows() {
            if faults.has(row) {
                continue;
            }
            let cells = HeldRow { columns: &columns, row };
            match self.add(&cells, is_metric) {
                Ok(replaces) => {
                    read.rows += 1;
                    read.replaced += u64::from(replaces);
                }
                Err((name, reason)) => {
                    let number = Self::COLUMNS.iter().position(|column| column.name == name);
                    faults.add(row, name, number.map_or("", |number| cells.string(number)), reason);
                }
            }
        }
        Ok(HeldRows { faults: faults.into_faults(), ..read })
    }
}

/// The values of a column of a batch.
enum HeldValues {
    /// The batch does not have the column.
    Absent,
    Strings(StringArray),
    Amounts(Decimal128Array),
}

/// A row of a batch, whose required strings are there. Columns are numbered as in [`HeldTable::COLUMNS`].
pub struct HeldRow<'a> {
    columns: &'a [HeldValues],
    row: usize,
}

impl<'a> HeldRow<'a> {
    /// Returns the string of a column; empty for a null, for an amount, and for a column that the batch does not have.
    pub(super) fn string(&self, number: usize) -> &'a str {
        match &self.columns[number] {
            HeldValues::Strings(strings) if strings.is_valid(self.row) => strings.value(self.row),
            _ => "",
        }
    }

    /// Returns the amount of a column in millionths of a currency unit; `None` if there is none.
    pub(super) fn amount(&self, number: usize) -> Option<i64> {
        match &self.columns[number] {
            // An amount has at most 64 bits.
            HeldValues::Amounts(amounts) if amounts.is_valid(self.row) => i64::try_from(amounts.value(self.row)).ok(),
            _ => None,
        }
    }
}
