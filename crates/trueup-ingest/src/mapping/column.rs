//! A column of a canonical table, planned from its source. `read.rs` reads it from picked rows.

mod read;

use super::canonical::ColumnType;
use super::columns::{ColumnRef, KnownColumn, KnownColumns};
use super::dates::read_day;
use super::declaration::{Alternative, Constant, ValueSource};
use super::faults::ColumnSite;
use super::origin::ValueOrigin;
use super::rows::RowPlan;
use super::template::TemplatePart;
use super::times::ClockRule;
use super::values::{Cleaning, NamedMaps, TextRules, ValueReader, read_constant_time, read_count, read_truth};
use crate::error::MappingFault;
use crate::source::coded_text;
use arrow_array::types::{Date32Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, DictionaryArray, PrimitiveArray, TimestampMicrosecondArray};
use arrow_schema::{DataType, TimeUnit};
use std::sync::Arc;
use trueup_core::model::is_dimension_type;

/// A column of a canonical table.
pub(super) struct ColumnPlan {
    pub(super) site: ColumnSite,
    pub(super) data_type: DataType,
    cells: CellPlan,
}

/// Where the cells of a column come from.
enum CellPlan {
    /// The same value in every row; an array with one row.
    Constant(ArrayRef),
    /// A column of Parquet or of record batches whose values need no reading.
    AsItIs,
    /// Timestamps without a time zone, whose time of day is ignored.
    DaysOfTimestamps,
    /// Timestamps with a time zone.
    Timestamps,
    /// Timestamps without a time zone.
    ClockTimes(ClockRule),
    /// Texts, or values that are read as texts.
    Strings(Box<TextCells>),
    /// Year, month and day of a date.
    Parts([DatePart; 3]),
}

/// A part of a date.
enum DatePart {
    Constant(String),
    Column(ColumnSite, Box<TextCells>),
}

/// Texts that are changed and then read.
struct TextCells {
    origin: TextOrigin,
    rules: TextRules,
    reader: ValueReader,
}

/// Where the texts of a column come from.
enum TextOrigin {
    Column(ColumnRef),
    /// Texts and columns in one text, or one column for which another one stands in.
    Composed(ComposedText),
}

/// A text that is made of several.
struct ComposedText {
    parts: Vec<TextPart>,
    /// How the text of each column is changed before it becomes a part.
    cleaning: Cleaning,
    /// What takes the place of a missing text, in the order in which it is tried.
    otherwise: Vec<TextAlternative>,
}

/// What takes the place of a missing text.
enum TextAlternative {
    Column(ColumnRef),
    /// A source with rules of its own.
    Source(Box<TextCells>),
}

impl TextCells {
    /// Returns whether values are brought to one spelling each, or some of them.
    fn normalizes(&self) -> bool {
        let of_source = |alternative: &TextAlternative| match alternative {
            TextAlternative::Column(_) => false,
            TextAlternative::Source(cells) => cells.normalizes(),
        };
        self.rules.normalizes()
            || matches!(&self.origin, TextOrigin::Composed(composed) if composed.otherwise.iter().any(of_source))
    }

    /// Returns whether values recur because a map makes them.
    fn has_codes(&self) -> bool {
        self.rules.has_map() && !self.normalizes()
    }
}

/// A part of a text.
enum TextPart {
    Text(String),
    Column(ColumnRef),
}

/// Plans the columns of a table.
pub(super) struct ColumnPlanner<'a> {
    pub(super) maps: &'a NamedMaps,
    /// The rule of clock times whose source has no `time_zone`.
    pub(super) clock: &'a ClockRule,
    pub(super) known: &'a KnownColumns,
    pub(super) rows: &'a mut RowPlan,
}

impl ColumnPlanner<'_> {
    /// Plans a column of the given type.
    pub(super) fn plan(
        &mut self,
        source: &ValueSource,
        column_type: ColumnType,
        key: &str,
    ) -> Result<ColumnPlan, MappingFault> {
        let reader = ValueReader::new(column_type, source, self.clock, key)?;
        let of = |known: &KnownColumn| ColumnSite { key: key.to_owned(), column: known.name.clone(), at: known.at };
        let (site, data_type, cells) = match ValueOrigin::new(source, column_type, key)? {
            ValueOrigin::Value(value) => {
                let value = Constant(format!("{}{}", value.0, source.ending));
                let one = constant(&value, &reader, key)?;
                let site = ColumnSite { key: key.to_owned(), column: String::new(), at: ColumnRef::FIRST };
                (site, one.data_type().clone(), CellPlan::Constant(one))
            }
            ValueOrigin::Parts(parts) => {
                let parts = parts.map(|(name, part)| self.plan_part(part, &format!("{key}.{name}")));
                let [year, month, day] = parts;
                let parts = [year?, month?, day?];
                let site = parts.iter().find_map(DatePart::site).cloned();
                let site = site.ok_or_else(|| MappingFault::new(key, "at least one of the parts must be a column"))?;
                (site, DataType::Date32, CellPlan::Parts(parts))
            }
            ValueOrigin::Column(name) if source.otherwise.is_none() => {
                let known = self.known.find(name, key)?.clone();
                let rules = TextRules::new(source, self.maps, key)?;
                let (data_type, cells) = match native(&known, column_type, source, &reader, &rules, key)? {
                    Some(native) => native,
                    None => {
                        let origin = TextOrigin::Column(self.rows.add_text(known.text(key)?));
                        text_cells(origin, rules, reader)
                    }
                };
                (of(&known), data_type, cells)
            }
            ValueOrigin::Column(name) => self.plan_composed(source, &[TemplatePart::Column(name)], reader, key)?,
            ValueOrigin::Template(parts) => self.plan_composed(source, &parts, reader, key)?,
        };
        Ok(ColumnPlan { site, data_type, cells })
    }

    /// Plans a column of texts that are made of several.
    fn plan_composed(
        &mut self,
        source: &ValueSource,
        parts: &[TemplatePart<'_>],
        reader: ValueReader,
        key: &str,
    ) -> Result<(ColumnSite, DataType, CellPlan), MappingFault> {
        let (mut made, mut site) = (Vec::with_capacity(parts.len()), None);
        for part in parts {
            made.push(match part {
                TemplatePart::Text(text) => TextPart::Text((*text).to_owned()),
                TemplatePart::Column(name) => {
                    let known = self.known.find(name, key)?;
                    site.get_or_insert_with(|| (known.name.clone(), known.at));
                    TextPart::Column(self.rows.add_text(known.text(key)?))
                }
            });
        }
        let mut otherwise = Vec::new();
        for (key, alternative) in source.otherwise.iter().flat_map(|otherwise| otherwise.keyed(key)) {
            otherwise.push(match alternative {
                Alternative::Column(name) => {
                    TextAlternative::Column(self.rows.add_text(self.known.find(name, &key)?.text(&key)?))
                }
                Alternative::Source(source) => match self.plan(source, ColumnType::Text, &key)?.cells {
                    CellPlan::Strings(cells) => TextAlternative::Source(cells),
                    _ => {
                        return Err(MappingFault::new(key, "expected a source with `column`, `columns` or `template`"));
                    }
                },
            });
        }
        let rules = TextRules::new(source, self.maps, key)?;
        let composed = ComposedText { parts: made, cleaning: rules.cleaning.clone(), otherwise };
        let (data_type, cells) = text_cells(TextOrigin::Composed(composed), rules.of_clean_parts(), reader);
        let (column, at) = site.unwrap_or_else(|| (String::new(), ColumnRef::FIRST));
        Ok((ColumnSite { key: key.to_owned(), column, at }, data_type, cells))
    }

    fn plan_part(&mut self, part: &ValueSource, key: &str) -> Result<DatePart, MappingFault> {
        let plan = self.plan(part, ColumnType::Text, key)?;
        Ok(match plan.cells {
            CellPlan::Strings(cells) => DatePart::Column(plan.site, cells),
            _ => DatePart::Constant(part.value.as_ref().map_or_else(String::new, |value| value.0.clone())),
        })
    }
}

impl DatePart {
    fn site(&self) -> Option<&ColumnSite> {
        match self {
            Self::Constant(_) => None,
            Self::Column(site, _) => Some(site),
        }
    }
}

/// Plans a column of Parquet or of record batches whose values have the canonical type, or get it without being read as
/// text. `None` if they have to be read as text.
fn native(
    known: &KnownColumn,
    column_type: ColumnType,
    source: &ValueSource,
    reader: &ValueReader,
    rules: &TextRules,
    key: &str,
) -> Result<Option<(DataType, CellPlan)>, MappingFault> {
    if !rules.is_plain() {
        return Ok(None);
    }
    let found = &known.data_type;
    if let DataType::Timestamp(_, zone) = found {
        return Ok(Some(match (reader, zone) {
            (ValueReader::Instant(_, clock), None) => (instants(), CellPlan::ClockTimes(clock.clone())),
            (ValueReader::Instant(..), Some(zone)) if source.time_zone.is_some() => {
                let reason = format!("the column `{}` already has the time zone {zone}", known.name);
                return Err(MappingFault::new(format!("{key}.time_zone"), reason));
            }
            (ValueReader::Instant(..), Some(_)) => (instants(), CellPlan::Timestamps),
            (ValueReader::Day(_), None) => (DataType::Date32, CellPlan::DaysOfTimestamps),
            (ValueReader::Day(_), Some(_)) => {
                let reason = "a timestamp with a time zone is no date; \
                              leave `date` out, and it is computed from `dateTime` in the account's time zone";
                return Err(MappingFault::new(key, reason).with_value(&known.name));
            }
            _ if column_type == ColumnType::Dimension => (found.clone(), CellPlan::AsItIs),
            _ => return Ok(None),
        }));
    }
    let as_it_is = match column_type {
        ColumnType::Dimension => !found.is_string() && is_dimension_type(found),
        ColumnType::Amount => found.is_numeric(),
        ColumnType::Count => found.is_integer(),
        ColumnType::Truth => *found == DataType::Boolean,
        ColumnType::Day => matches!(found, DataType::Date32 | DataType::Date64),
        ColumnType::Key | ColumnType::Stage | ColumnType::Instant | ColumnType::Text => false,
    };
    Ok(as_it_is.then(|| (found.clone(), CellPlan::AsItIs)))
}

/// Plans a column that is read from texts. Returns its type, too.
fn text_cells(origin: TextOrigin, rules: TextRules, reader: ValueReader) -> (DataType, CellPlan) {
    let cells = TextCells { origin, rules, reader };
    let data_type = match &cells.reader {
        ValueReader::Stage => coded_text(),
        ValueReader::Key | ValueReader::Text if cells.has_codes() => coded_text(),
        ValueReader::Key | ValueReader::Text | ValueReader::Amount(_) => DataType::Utf8,
        ValueReader::Day(_) => DataType::Date32,
        ValueReader::Instant(..) => instants(),
        ValueReader::Count(_) => DataType::Int64,
        ValueReader::Truth => DataType::Boolean,
    };
    (data_type, CellPlan::Strings(Box::new(cells)))
}

/// Returns the type of points in time.
fn instants() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// Returns an array with one row that holds the value.
fn constant(value: &Constant, reader: &ValueReader, key: &str) -> Result<ArrayRef, MappingFault> {
    let text = value.0.as_str();
    let refused = |reason: String| MappingFault::new(key, reason).with_value(text);
    reader.check(text).map_err(refused)?;
    Ok(match reader {
        ValueReader::Day(format) => {
            let day = read_day(text, format.as_ref()).map_err(refused)?;
            Arc::new(PrimitiveArray::<Date32Type>::from(vec![day]))
        }
        ValueReader::Instant(format, clock) => {
            let instant = read_constant_time(text, format.as_ref(), clock).map_err(refused)?;
            Arc::new(TimestampMicrosecondArray::from(vec![instant]).with_timezone("UTC"))
        }
        ValueReader::Count(_) => Arc::new(PrimitiveArray::<Int64Type>::from(vec![read_count(text).map_err(refused)?])),
        ValueReader::Truth => Arc::new(BooleanArray::from(vec![read_truth(text).map_err(refused)?])),
        ValueReader::Key if text.is_empty() => return Err(refused("expected a value".to_owned())),
        ValueReader::Key | ValueReader::Stage | ValueReader::Amount(_) | ValueReader::Text => {
            let text = Some(text).filter(|text| !text.is_empty());
            Arc::new([text].into_iter().collect::<DictionaryArray<Int32Type>>())
        }
    })
}
