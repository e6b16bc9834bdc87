//! The origin of a column's values. The source of a column must name exactly one.

use super::canonical::ColumnType;
use super::check::expect;
use super::declaration::{Constant, ValueSource};
use super::template::{TemplatePart, template_parts};
use crate::error::MappingFault;

/// The origin of a column's values.
#[derive(Clone, Debug)]
pub(super) enum ValueOrigin<'a> {
    /// A column of the inputs.
    Column(&'a str),
    /// Texts and columns in one text. Not empty, and has a column.
    Template(Vec<TemplatePart<'a>>),
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
            + usize::from(source.template.is_some())
            + usize::from(source.value.is_some())
            + usize::from(parts_given > 0);
        let reason = "expected one of `column`, `columns`, `template`, `value`, or `year` with `month` and `day`";
        expect(given == 1, key, reason)?;
        let may_separate = source.separator.is_none() || source.columns.is_some();
        expect(may_separate, format!("{key}.separator"), "only a source with `columns` can have this key")?;
        if let Some(columns) = &source.columns {
            expect(!columns.is_empty(), format!("{key}.columns"), "expected at least one column")?;
            let separator = TemplatePart::Text(source.separator.as_deref().unwrap_or_default());
            let mut parts: Vec<TemplatePart<'a>> = Vec::with_capacity(columns.len() * 2);
            for column in columns {
                parts.extend([TemplatePart::Column(column), separator.clone()]);
            }
            parts.pop();
            return Ok(Self::Template(parts));
        }
        if let Some(template) = &source.template {
            let parts = template_parts(template);
            let fault = |reason| MappingFault::new(format!("{key}.template"), reason).with_value(template);
            return Ok(Self::Template(parts.map_err(fault)?));
        }
        if let Some(column) = &source.column {
            return Ok(Self::Column(column));
        }
        let changes_text = source.extract.is_some()
            || source.otherwise.is_some()
            || source.normalize.is_some()
            || source.trim.is_some()
            || source.remove.is_some()
            || source.map.is_some()
            || source.unmapped.is_some()
            || source.default.is_some()
            || source.decimal_mark.is_some();
        let reason = "`extract`, `otherwise`, `remove`, `trim`, `decimal_mark`, `map`, `unmapped`, `normalize` and `default` go \
                      with `column`, `columns` or `template`";
        expect(!changes_text, key, reason)?;
        if let Some(value) = &source.value {
            return Ok(Self::Value(value));
        }
        expect(column_type == ColumnType::Day, key, "only `date` can be made of `year`, `month` and `day`")?;
        expect(source.format.is_none(), format!("{key}.format"), "a date of three parts cannot have a format")?;
        let mut found = [("", source); 3];
        for (slot, (name, part)) in found.iter_mut().zip(parts) {
            let part = part
                .as_deref()
                .ok_or_else(|| MappingFault::new(key, "a date in parts needs all of `year`, `month` and `day`"))?;
            let key = format!("{key}.{name}");
            let has_parts = matches!(Self::new(part, ColumnType::Text, &key)?, Self::Parts(_));
            expect(!has_parts, key.as_str(), "a part cannot have parts")?;
            expect(part.normalize.is_none(), format!("{key}.normalize"), "a part of a date is a number")?;
            *slot = (name, part);
        }
        Ok(Self::Parts(found))
    }
}
