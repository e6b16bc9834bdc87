//! The origin of a column's values. The source of a column must name exactly one.

use super::canonical::ColumnType;
use super::declaration::{Constant, ValueSource};
use crate::error::MappingFault;

/// The origin of a column's values.
#[derive(Clone, Copy, Debug)]
pub(super) enum ValueOrigin<'a> {
    /// A column of the inputs.
    Column(&'a str),
    /// The joined texts of several columns, and the text between them.
    Columns(&'a [String], &'a str),
    /// The same value on every row.
    Value(&'a Constant),
    /// A date in three parts.
    Parts([(&'static str, &'a ValueSource); 3]),
}

impl<'a> ValueOrigin<'a> {
    /// Returns the origin that a source names, and checks that the source has no key that does not fit.
    pub(super) fn new(source: &'a ValueSource, column_type: ColumnType, key: &str) -> Result<Self, MappingFault> {
        let parts = [("year", &source.year), ("month", &source.month), ("day", &source.day)];
        let parts_given = parts.iter().filter(|(_, part)| part.is_some()).count();
        let given = usize::from(source.column.is_some())
            + usize::from(source.columns.is_some())
            + usize::from(source.value.is_some())
            + usize::from(parts_given > 0);
        if given != 1 {
            let reason = "expected one of `column`, `columns`, `value`, or `year` with `month` and `day`";
            return Err(MappingFault::new(key, reason));
        }
        if source.separator.is_some() && source.columns.is_none() {
            return Err(MappingFault::new(
                format!("{key}.separator"),
                "only a source with `columns` can have this key",
            ));
        }
        if let Some(columns) = &source.columns {
            if columns.is_empty() {
                return Err(MappingFault::new(format!("{key}.columns"), "expected at least one column"));
            }
            return Ok(Self::Columns(columns, source.separator.as_deref().unwrap_or("")));
        }
        if let Some(column) = &source.column {
            return Ok(Self::Column(column));
        }
        let changes_text = source.remove.is_some()
            || source.map.is_some()
            || source.unmapped.is_some()
            || source.default.is_some()
            || source.decimal_mark.is_some();
        if changes_text {
            let reason = "`remove`, `decimal_mark`, `map`, `unmapped` and `default` go with `column` or `columns`";
            return Err(MappingFault::new(key, reason));
        }
        if let Some(value) = &source.value {
            return Ok(Self::Value(value));
        }
        if column_type != ColumnType::Day {
            return Err(MappingFault::new(key, "only `date` can be made of `year`, `month` and `day`"));
        }
        if source.format.is_some() {
            return Err(MappingFault::new(format!("{key}.format"), "a date of three parts cannot have a format"));
        }
        let mut found = [("", source); 3];
        for (slot, (name, part)) in found.iter_mut().zip(parts) {
            let part = part
                .as_deref()
                .ok_or_else(|| MappingFault::new(key, "a date in parts needs all of `year`, `month` and `day`"))?;
            if matches!(Self::new(part, ColumnType::Text, &format!("{key}.{name}"))?, Self::Parts(_)) {
                return Err(MappingFault::new(format!("{key}.{name}"), "a part cannot have parts"));
            }
            *slot = (name, part);
        }
        Ok(Self::Parts(found))
    }
}
