//! The columns that the keys of a table can name.

use super::inputs::{InputColumn, OpenedInput};
use crate::error::MappingFault;
use arrow_schema::DataType;

/// A column of the inputs of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ColumnRef {
    /// 0 for the input whose rows become rows of the table, else the number of the join, counted from 1.
    pub(super) input: usize,
    /// The column's index in [`OpenedInput::columns`](super::inputs::OpenedInput::columns).
    pub(super) column: usize,
}

impl ColumnRef {
    /// A column of the first input, for the location of its rows.
    pub(super) const FIRST: Self = Self { input: 0, column: 0 };
}

/// A column that keys can name.
#[derive(Clone, Debug)]
pub(super) struct KnownColumn {
    pub(super) at: ColumnRef,
    /// The name of its input in this table.
    pub(super) alias: String,
    pub(super) name: String,
    pub(super) data_type: DataType,
    /// Whether it is the key of a join whose other side has a key of the same name. The plain name then means the
    /// column of the other side.
    is_shadowed: bool,
    /// Whether its input has no files, so that no file shows that the input has this column.
    is_assumed: bool,
}

/// The columns that the keys of a table can name.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownColumns {
    columns: Vec<KnownColumn>,
    /// Lines that may be headers of the inputs, in words.
    header_hints: Vec<String>,
}

/// Returns the columns of an input as columns that keys can name.
fn known_columns(
    alias: &str,
    input: usize,
    columns: &[InputColumn],
    is_assumed: bool,
) -> impl Iterator<Item = KnownColumn> {
    columns.iter().enumerate().map(move |(column, found)| KnownColumn {
        at: ColumnRef { input, column },
        alias: alias.to_owned(),
        name: found.name.clone(),
        data_type: found.data_type.clone(),
        is_shadowed: false,
        is_assumed,
    })
}

impl KnownColumns {
    /// Returns the columns of an input that is called `alias` in this table.
    pub(super) fn new(alias: &str, input: usize, opened: &OpenedInput) -> Self {
        let known = known_columns(alias, input, &opened.columns, opened.is_missing);
        Self { columns: known.collect(), header_hints: opened.header_hint.iter().cloned().collect() }
    }

    /// Returns the columns of an input alone.
    pub(super) fn of_columns(alias: &str, columns: &[InputColumn]) -> Self {
        Self { columns: known_columns(alias, 0, columns, false).collect(), header_hints: Vec::new() }
    }

    /// Returns the columns of stored events. Only a name with `alias` means one of them, because files often have
    /// columns of the same names.
    pub(super) fn of_stored(alias: &str, input: usize, columns: &[InputColumn]) -> Self {
        let known = known_columns(alias, input, columns, false);
        let columns = known.map(|known| KnownColumn { is_shadowed: true, ..known });
        Self { columns: columns.collect(), header_hints: Vec::new() }
    }

    /// Adds the columns of a joined input. `shared` are the keys that have the same name on both sides.
    pub(super) fn join(&mut self, other: Self, shared: &[String]) {
        self.header_hints.extend(other.header_hints);
        self.columns.extend(other.columns.into_iter().map(|known| {
            let is_shadowed = known.is_shadowed || shared.contains(&known.name);
            KnownColumn { is_shadowed, ..known }
        }));
    }

    /// Finds the column that a key calls `name` or `input.name`.
    pub(super) fn find(&self, name: &str, key: &str) -> Result<&KnownColumn, MappingFault> {
        let named = self.columns.iter().filter(|known| known.name == name && !known.is_shadowed);
        let (assumed, plain): (Vec<&KnownColumn>, Vec<&KnownColumn>) = named.partition(|known| known.is_assumed);
        if let [one] = plain[..] {
            return Ok(one);
        }
        if plain.len() > 1 {
            let names: Vec<String> = plain.iter().map(|known| format!("`{}.{}`", known.alias, known.name)).collect();
            let reason = format!("more than one input has this column; name one of {}", names.join(", "));
            return Err(MappingFault::new(key, reason).with_value(name));
        }
        let exact = name
            .split_once('.')
            .and_then(|(alias, column)| self.columns.iter().find(|known| known.alias == alias && known.name == column));
        exact.or_else(|| assumed.first().copied()).ok_or_else(|| {
            let found = self.columns.iter().filter(|known| !known.is_assumed);
            let names: Vec<&str> = found.map(|known| known.name.as_str()).collect();
            let hints: String = self.header_hints.iter().map(|hint| format!("; {hint}")).collect();
            let reason = format!("no input has this column; the columns are: {}{hints}", names.join(", "));
            MappingFault::new(key, reason).with_value(name)
        })
    }
}

impl KnownColumn {
    /// Checks that the values can be read as text. Returns the column.
    pub(super) fn text(&self, key: &str) -> Result<ColumnRef, MappingFault> {
        let found = &self.data_type;
        let reads = found.is_string()
            || found.is_integer()
            || found.is_floating()
            || found.is_decimal()
            || matches!(found, DataType::Boolean | DataType::Date32 | DataType::Date64 | DataType::Null);
        if reads {
            return Ok(self.at);
        }
        let reason = format!("a column of type {found} cannot be read as text");
        Err(MappingFault::new(key, reason).with_value(&self.name))
    }
}
