//! A column of a canonical table: planned from its source, and read from picked rows.

use super::canonical::ColumnType;
use super::cells::{PickedTexts, RowView};
use super::columns::{ColumnRef, KnownColumn, KnownColumns};
use super::declaration::{Constant, Unmapped, ValueSource};
use super::error::KeyFault;
use super::faults::{ColumnSite, PickedFaults};
use super::origin::ValueOrigin;
use super::rows::RowPlan;
use super::timestamps::{clock_times, days_of_timestamps, instants_of_timestamps};
use super::values::{
    NamedMaps, TextRules, ValueReader, read_count, read_day, read_day_of_parts, read_instant, read_truth,
};
use arrow_array::builder::StringBuilder;
use arrow_array::types::{ArrowPrimitiveType, Date32Type, Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Int32Array, PrimitiveArray, StringArray, TimestampMicrosecondArray,
    UInt32Array,
};
use arrow_schema::{ArrowError, DataType, TimeUnit};
use arrow_select::take::take;
use chrono_tz::Tz;
use hashbrown::HashMap;
use std::borrow::Cow;
use std::sync::Arc;

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
    /// A Parquet column whose values need no reading.
    AsItIs,
    /// Timestamps without a time zone, whose time of day is ignored.
    DaysOfTimestamps,
    /// Timestamps with a time zone.
    Timestamps,
    /// Timestamps without a time zone, which are clock times of this zone.
    ClockTimes(Tz),
    Texts(Box<TextCells>),
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

enum TextOrigin {
    Column(ColumnRef),
    /// The joined texts of several columns, and the text between them.
    Columns(Vec<ColumnRef>, String),
}

/// Plans the columns of a table.
pub(super) struct ColumnPlanner<'a> {
    pub(super) maps: &'a NamedMaps,
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
    ) -> Result<ColumnPlan, KeyFault> {
        let reader = ValueReader::new(column_type, source, key)?;
        let of = |known: &KnownColumn| ColumnSite { key: key.to_owned(), column: known.name.clone(), at: known.at };
        let (site, data_type, cells) = match ValueOrigin::new(source, column_type, key)? {
            ValueOrigin::Value(value) => {
                let one = constant(value, &reader, key)?;
                let site = ColumnSite { key: key.to_owned(), column: String::new(), at: ColumnRef::FIRST };
                (site, one.data_type().clone(), CellPlan::Constant(one))
            }
            ValueOrigin::Parts(parts) => {
                let parts = parts.map(|(name, part)| self.plan_part(part, &format!("{key}.{name}")));
                let [year, month, day] = parts;
                let parts = [year?, month?, day?];
                let site = parts.iter().find_map(DatePart::site).cloned();
                let site = site.ok_or_else(|| KeyFault::new(key, "at least one of the parts must be a column"))?;
                (site, DataType::Date32, CellPlan::Parts(parts))
            }
            ValueOrigin::Column(name) => {
                let known = self.known.find(name, key)?.clone();
                let rules = TextRules::new(source, self.maps, key)?;
                let (data_type, cells) = match native(&known, column_type, &reader, &rules, key)? {
                    Some(native) => native,
                    None => {
                        let origin = TextOrigin::Column(self.rows.add_text(known.text(key)?));
                        text_cells(origin, rules, reader)
                    }
                };
                (of(&known), data_type, cells)
            }
            ValueOrigin::Columns(names, separator) => {
                let known: Vec<&KnownColumn> =
                    names.iter().map(|name| self.known.find(name, key)).collect::<Result<_, _>>()?;
                let columns = known.iter().map(|known| Ok(self.rows.add_text(known.text(key)?)));
                let origin = TextOrigin::Columns(columns.collect::<Result<_, KeyFault>>()?, separator.to_owned());
                let (data_type, cells) = text_cells(origin, TextRules::new(source, self.maps, key)?, reader);
                (of(known[0]), data_type, cells)
            }
        };
        Ok(ColumnPlan { site, data_type, cells })
    }

    fn plan_part(&mut self, part: &ValueSource, key: &str) -> Result<DatePart, KeyFault> {
        let plan = self.plan(part, ColumnType::Text, key)?;
        Ok(match plan.cells {
            CellPlan::Texts(cells) => DatePart::Column(plan.site, cells),
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

/// Plans a Parquet column that needs no reading. `None` if it has to be read as text.
fn native(
    known: &KnownColumn,
    column_type: ColumnType,
    reader: &ValueReader,
    rules: &TextRules,
    key: &str,
) -> Result<Option<(DataType, CellPlan)>, KeyFault> {
    if !rules.is_plain() {
        return Ok(None);
    }
    let found = &known.data_type;
    if let DataType::Timestamp(_, zone) = found {
        return Ok(Some(match (reader, zone) {
            (ValueReader::Instant(_, local), None) => (instants(), CellPlan::ClockTimes(local.unwrap_or(Tz::UTC))),
            (ValueReader::Instant(_, None), Some(_)) => (instants(), CellPlan::Timestamps),
            (ValueReader::Instant(_, Some(_)), Some(zone)) => {
                let reason = format!("the column `{}` already has the time zone {zone}", known.name);
                return Err(KeyFault::new(format!("{key}.time_zone"), reason));
            }
            (ValueReader::Day(_), None) => (DataType::Date32, CellPlan::DaysOfTimestamps),
            (ValueReader::Day(_), Some(_)) => {
                let reason = "a timestamp with a time zone is no date; \
                              leave `date` out, and it is computed from `dateTime` in the account's time zone";
                return Err(KeyFault::new(key, reason).with_value(&known.name));
            }
            _ if column_type == ColumnType::Dimension => (found.clone(), CellPlan::AsItIs),
            _ => return Ok(None),
        }));
    }
    let as_it_is = match column_type {
        ColumnType::Dimension => !found.is_string() && !found.is_nested(),
        ColumnType::Amount => found.is_numeric(),
        ColumnType::Count => found.is_integer(),
        ColumnType::Truth => *found == DataType::Boolean,
        ColumnType::Day => matches!(found, DataType::Date32 | DataType::Date64),
        ColumnType::Key | ColumnType::Stage | ColumnType::Instant | ColumnType::Text => false,
    };
    Ok(as_it_is.then(|| (found.clone(), CellPlan::AsItIs)))
}

fn text_cells(origin: TextOrigin, rules: TextRules, reader: ValueReader) -> (DataType, CellPlan) {
    let data_type = match &reader {
        ValueReader::Stage => codes(),
        ValueReader::Key | ValueReader::Text | ValueReader::Amount if rules.has_map() => codes(),
        ValueReader::Key | ValueReader::Text | ValueReader::Amount => DataType::Utf8,
        ValueReader::Day(_) => DataType::Date32,
        ValueReader::Instant(..) => instants(),
        ValueReader::Count => DataType::Int64,
        ValueReader::Truth => DataType::Boolean,
    };
    (data_type, CellPlan::Texts(Box::new(TextCells { origin, rules, reader })))
}

/// Returns the type of texts that recur.
fn codes() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

/// Returns the type of points in time.
fn instants() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

/// Returns an array with one row that holds the value.
fn constant(value: &Constant, reader: &ValueReader, key: &str) -> Result<ArrayRef, KeyFault> {
    let text = value.0.as_str();
    let refused = |reason: String| KeyFault::new(key, reason).with_value(text);
    reader.check(text).map_err(refused)?;
    Ok(match reader {
        ValueReader::Day(format) => {
            let day = read_day(text, format.as_ref()).map_err(refused)?;
            Arc::new(PrimitiveArray::<Date32Type>::from(vec![day]))
        }
        ValueReader::Instant(format, zone) => {
            let instant = read_instant(text, format.as_ref(), zone.unwrap_or(Tz::UTC)).map_err(refused)?;
            Arc::new(TimestampMicrosecondArray::from(vec![instant]).with_timezone("UTC"))
        }
        ValueReader::Count => Arc::new(PrimitiveArray::<Int64Type>::from(vec![read_count(text).map_err(refused)?])),
        ValueReader::Truth => Arc::new(BooleanArray::from(vec![read_truth(text).map_err(refused)?])),
        ValueReader::Key if text.is_empty() => return Err(refused("expected a value".to_owned())),
        ValueReader::Key | ValueReader::Stage | ValueReader::Amount | ValueReader::Text => {
            let text = Some(text).filter(|text| !text.is_empty());
            Arc::new([text].into_iter().collect::<DictionaryArray<Int32Type>>())
        }
    })
}

impl ColumnPlan {
    /// Returns whether a value that the column's map does not have leaves its row out.
    pub(super) fn skips_rows(&self) -> bool {
        matches!(&self.cells, CellPlan::Texts(cells) if cells.rules.unmapped == Unmapped::Skip)
    }

    /// Returns whether each picked row stays, as far as this column's map says.
    pub(super) fn kept_rows(&self, view: &RowView<'_>) -> Vec<bool> {
        let CellPlan::Texts(cells) = &self.cells else { return vec![true; view.len()] };
        let texts = cells.origin.of(view);
        let mut memo = Memo::default();
        (0..view.len()).map(|row| memo.get(texts.get(row), |text| !cells.rules.skips(text))).collect()
    }

    /// Reads the column. A row whose value cannot be read is null and has a fault.
    pub(super) fn read(&self, view: &RowView<'_>, faults: &mut PickedFaults) -> Result<ArrayRef, ArrowError> {
        let as_it_is = || view.array(self.site.at, false);
        match &self.cells {
            CellPlan::Constant(one) => take(one, &UInt32Array::from(vec![0; view.len()]), None),
            CellPlan::AsItIs => as_it_is(),
            CellPlan::DaysOfTimestamps => days_of_timestamps(&as_it_is()?),
            CellPlan::Timestamps => instants_of_timestamps(&as_it_is()?),
            CellPlan::ClockTimes(zone) => clock_times(&as_it_is()?, *zone, |row, value, reason| {
                faults.add(row, self.site.fault(view, row, value, reason));
            }),
            CellPlan::Texts(cells) => cells.read(&self.site, view, faults),
            CellPlan::Parts(parts) => Ok(self.read_parts(parts, view, faults)),
        }
    }

    /// Reads dates in parts. There is no date if every part that is a column is empty.
    fn read_parts(&self, parts: &[DatePart; 3], view: &RowView<'_>, faults: &mut PickedFaults) -> ArrayRef {
        let origins = parts.each_ref().map(|part| match part {
            DatePart::Constant(_) => None,
            DatePart::Column(_, cells) => Some(cells.origin.of(view)),
        });
        let days = (0..view.len()).map(|row| {
            let mut found: [Option<Cow<'_, str>>; 3] = Default::default();
            for ((part, origin), slot) in parts.iter().zip(&origins).zip(&mut found) {
                *slot = match (part, origin) {
                    (DatePart::Constant(value), _) => Some(Cow::Borrowed(value.as_str())),
                    (DatePart::Column(site, cells), Some(origin)) => {
                        let text = origin.get(row);
                        match cells.rules.apply(text.as_deref()) {
                            Ok(value) => value.map(|value| Cow::Owned(value.into_owned())),
                            Err(reason) => {
                                let value = text.unwrap_or_default().into_owned();
                                faults.add(row, site.fault(view, row, value, reason));
                                return None;
                            }
                        }
                    }
                    (DatePart::Column(..), None) => None,
                };
            }
            let read = if let [Some(year), Some(month), Some(day)] = &found {
                read_day_of_parts(year, month, day).map(Some)
            } else {
                // A constant year does not make a date if the other cells are empty.
                let is_empty = |(part, text): (&DatePart, &Option<_>)| part.site().is_none() || text.is_none();
                let all_empty = parts.iter().zip(&found).all(is_empty);
                if all_empty { Ok(None) } else { Err("expected year, month and day, or none of them".to_owned()) }
            };
            read.unwrap_or_else(|reason| {
                let value: Vec<&str> = found.iter().flatten().map(AsRef::as_ref).collect();
                faults.add(row, self.site.fault(view, row, value.join(" "), reason));
                None
            })
        });
        Arc::new(days.collect::<PrimitiveArray<Date32Type>>())
    }
}

impl TextOrigin {
    fn of<'a>(&self, view: &RowView<'a>) -> OriginTexts<'a> {
        match self {
            Self::Column(at) => OriginTexts::Column(view.texts(*at)),
            Self::Columns(columns, separator) => {
                OriginTexts::Columns(columns.iter().map(|at| view.texts(*at)).collect(), separator.clone())
            }
        }
    }
}

/// The texts of an origin by picked row.
enum OriginTexts<'a> {
    Column(PickedTexts<'a>),
    Columns(Vec<PickedTexts<'a>>, String),
}

impl<'a> OriginTexts<'a> {
    /// Returns the text of a row; `None` if there is none, or if one of several is missing.
    fn get(&self, row: usize) -> Option<Cow<'a, str>> {
        match self {
            Self::Column(texts) => texts.get(row).map(Cow::Borrowed),
            Self::Columns(columns, separator) => {
                let texts: Option<Vec<&str>> = columns.iter().map(|texts| texts.get(row)).collect();
                Some(Cow::Owned(texts?.join(separator)))
            }
        }
    }
}

impl TextCells {
    fn read(&self, site: &ColumnSite, view: &RowView<'_>, faults: &mut PickedFaults) -> Result<ArrayRef, ArrowError> {
        Ok(match &self.reader {
            ValueReader::Key | ValueReader::Text | ValueReader::Amount => {
                return if self.rules.has_map() {
                    self.read_codes(site, view, faults)
                } else {
                    self.read_texts(site, view, faults)
                };
            }
            ValueReader::Stage => return self.read_codes(site, view, faults),
            ValueReader::Day(format) => {
                self.read_numbers::<Date32Type>(site, view, faults, |text| read_day(text, format.as_ref()))
            }
            ValueReader::Instant(format, zone) => {
                let zone = zone.unwrap_or(Tz::UTC);
                let read = |text: &str| read_instant(text, format.as_ref(), zone);
                let instants = self.read_all::<i64>(site, view, faults, read).into_iter();
                Arc::new(instants.collect::<PrimitiveArray<TimestampMicrosecondType>>().with_timezone("UTC"))
            }
            ValueReader::Count => self.read_numbers::<Int64Type>(site, view, faults, read_count),
            ValueReader::Truth => {
                Arc::new(self.read_all(site, view, faults, read_truth).into_iter().collect::<BooleanArray>())
            }
        })
    }

    fn read_numbers<T: ArrowPrimitiveType>(
        &self,
        site: &ColumnSite,
        view: &RowView<'_>,
        faults: &mut PickedFaults,
        read: impl Fn(&str) -> Result<T::Native, String>,
    ) -> ArrayRef
    where
        PrimitiveArray<T>: FromIterator<Option<T::Native>>,
    {
        Arc::new(self.read_all(site, view, faults, read).into_iter().collect::<PrimitiveArray<T>>())
    }

    /// Reads all rows. Equal texts are read once, as far as they recur.
    fn read_all<T: Copy>(
        &self,
        site: &ColumnSite,
        view: &RowView<'_>,
        faults: &mut PickedFaults,
        mut read: impl FnMut(&str) -> Result<T, String>,
    ) -> Vec<Option<T>> {
        let texts = self.origin.of(view);
        let mut memo = Memo::default();
        let mut read = |text: Option<&str>| match self.rules.apply(text)? {
            Some(text) => read(&text).map(Some),
            None => self.reader.read_nothing(),
        };
        let cells = (0..view.len()).map(|row| {
            let text = texts.get(row);
            memo.get(text.clone(), &mut read).unwrap_or_else(|reason| {
                faults.add(row, site.fault(view, row, text.unwrap_or_default().into_owned(), reason));
                None
            })
        });
        cells.collect()
    }

    /// Reads texts that recur, because a map or the stages make them.
    fn read_codes(
        &self,
        site: &ColumnSite,
        view: &RowView<'_>,
        faults: &mut PickedFaults,
    ) -> Result<ArrayRef, ArrowError> {
        let mut codes: HashMap<String, i32> = HashMap::new();
        let mut names = StringBuilder::new();
        let rows = self.read_all(site, view, faults, |text| {
            self.reader.check(text)?;
            if let Some(code) = codes.get(text) {
                return Ok(*code);
            }
            // There are at most as many codes as rows of a batch.
            let code = i32::try_from(codes.len()).unwrap_or(i32::MAX);
            codes.insert(text.to_owned(), code);
            names.append_value(text);
            Ok(code)
        });
        let rows: Int32Array = rows.into_iter().collect();
        Ok(Arc::new(DictionaryArray::try_new(rows, Arc::new(names.finish()))?))
    }

    /// Reads texts as they are, apart from the rules.
    fn read_texts(
        &self,
        site: &ColumnSite,
        view: &RowView<'_>,
        faults: &mut PickedFaults,
    ) -> Result<ArrayRef, ArrowError> {
        let texts = self.origin.of(view);
        let whole = match &self.origin {
            TextOrigin::Column(at) if self.rules.is_plain() => Some(view.array(*at, true)?),
            _ => None,
        };
        if whole.is_some() && self.reader.reads_everything() {
            return whole.map_or_else(|| Ok(Arc::new(StringArray::new_null(0)) as ArrayRef), Ok);
        }
        let mut made = StringBuilder::new();
        for row in 0..view.len() {
            let text = texts.get(row);
            let read = self.rules.apply(text.as_deref()).and_then(|changed| match changed {
                Some(changed) => self.reader.check(&changed).map(|()| Some(changed)),
                None => self.reader.read_nothing(),
            });
            let changed = match read {
                Ok(changed) => changed,
                Err(reason) => {
                    let value = text.as_deref().unwrap_or_default().to_owned();
                    faults.add(row, site.fault(view, row, value, reason));
                    None
                }
            };
            if whole.is_none() {
                made.append_option(changed);
            }
        }
        Ok(whole.unwrap_or_else(|| Arc::new(made.finish())))
    }
}

/// What texts were read as. It forgets them if they hardly recur.
struct Memo<'a, T> {
    known: HashMap<&'a str, T>,
    asked: usize,
}

/// Distinct texts that are remembered in any case.
const FEW_TEXTS: usize = 1 << 10;

/// Texts are remembered as long as there are this many times as many rows.
const ROWS_PER_TEXT: usize = 2;

impl<T> Default for Memo<'_, T> {
    fn default() -> Self {
        Self { known: HashMap::new(), asked: 0 }
    }
}

impl<'a, T: Clone> Memo<'a, T> {
    fn get(&mut self, text: Option<Cow<'a, str>>, mut read: impl FnMut(Option<&str>) -> T) -> T {
        let Some(Cow::Borrowed(text)) = text else { return read(text.as_deref()) };
        self.asked += 1;
        if let Some(known) = self.known.get(text) {
            return known.clone();
        }
        let value = read(Some(text));
        if self.known.len() < FEW_TEXTS.max(self.asked / ROWS_PER_TEXT) {
            self.known.insert(text, value.clone());
        }
        value
    }
}
