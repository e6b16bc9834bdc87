//! Compiles a column of a canonical table to an expression over the inputs.

use super::canonical::ColumnType;
use super::declaration::{Unmapped, ValueSource};
use super::error::{ColumnSite, KeyFault};
use super::expressions::{ColumnValue, Days, Micros, each_row, instants_of_clock_times};
use super::join::{KnownColumn, KnownColumns, TablePlanner};
use super::origin::ValueOrigin;
use super::values::{
    TextRules, ValueReader, clock_time_to_instant, read_amount, read_count, read_day, read_day_of_parts, read_instant,
    read_stage, read_truth,
};
use chrono_tz::Tz;
use polars::prelude::*;

/// A column that polars can compute.
pub(super) struct CompiledColumn {
    pub(super) expr: Expr,
    /// The rows that stay, if the column's map leaves rows out.
    pub(super) only: Option<Expr>,
}

/// Compiles the columns of a table.
pub(super) struct ColumnCompiler<'a> {
    pub(super) planner: &'a TablePlanner<'a>,
    pub(super) known: &'a KnownColumns,
}

impl ColumnCompiler<'_> {
    /// Compiles a source to a column of the given type.
    pub(super) fn compile(
        &self,
        source: &ValueSource,
        column_type: ColumnType,
        key: &str,
    ) -> Result<CompiledColumn, KeyFault> {
        let reader = ValueReader::new(column_type, source, key)?;
        match ValueOrigin::new(source, column_type, key)? {
            ValueOrigin::Value(value) => Ok(CompiledColumn { expr: constant(&value.0, &reader, key)?, only: None }),
            ValueOrigin::Parts(parts) => self.compile_parts(parts, key),
            ValueOrigin::Column(name) => {
                let known = self.known.find(name, key)?;
                let rules = TextRules::new(source, self.planner.maps, key)?;
                match self.compile_native(known, column_type, &reader, &rules, key)? {
                    Some(expr) => Ok(CompiledColumn { expr, only: None }),
                    None => Ok(self.compile_text(known.text(key)?, known, &reader, rules, key)),
                }
            }
            ValueOrigin::Columns(names, separator) => {
                let known = names.iter().map(|name| self.known.find(name, key)).collect::<Result<Vec<_>, _>>()?;
                let mut texts = known.iter().map(|known| known.text(key));
                // `ValueOrigin::new` has checked that there is one.
                let first = texts.next().ok_or_else(|| KeyFault::new(key, "expected at least one column"))??;
                let joined =
                    texts.try_fold(filled(first), |joined, text| Ok(joined + lit(separator) + filled(text?)))?;
                let rules = TextRules::new(source, self.planner.maps, key)?;
                Ok(self.compile_text(joined, known[0], &reader, rules, key))
            }
        }
    }

    /// Compiles a Parquet column that needs no reading. `None` if it has to be read as text.
    fn compile_native(
        &self,
        known: &KnownColumn,
        column_type: ColumnType,
        reader: &ValueReader,
        rules: &TextRules,
        key: &str,
    ) -> Result<Option<Expr>, KeyFault> {
        let dtype = &known.dtype;
        if let (DataType::Datetime(_, zone), ValueReader::Day(_) | ValueReader::Instant(..)) = (dtype, reader) {
            return self.compile_timestamp(known, zone.as_ref(), reader, key).map(Some);
        }
        let as_it_is = match column_type {
            ColumnType::Dimension => !dtype.is_string() && !dtype.is_nested(),
            ColumnType::Amount => dtype.is_primitive_numeric() || dtype.is_decimal(),
            ColumnType::Count => dtype.is_integer(),
            ColumnType::Truth => dtype.is_bool(),
            ColumnType::Day => dtype.is_date(),
            ColumnType::Key | ColumnType::Stage | ColumnType::Instant | ColumnType::Text => false,
        };
        Ok((as_it_is && rules.is_plain()).then(|| known.expr()))
    }

    /// Compiles a day or an instant from a column of timestamps.
    fn compile_timestamp(
        &self,
        known: &KnownColumn,
        zone: Option<&TimeZone>,
        reader: &ValueReader,
        key: &str,
    ) -> Result<Expr, KeyFault> {
        let site = self.planner.site(key, &known.name);
        match (reader, zone) {
            (ValueReader::Instant(_, local), None) => {
                let local = local.unwrap_or(Tz::UTC);
                Ok(instants_of_clock_times(known.expr(), known.location(), site, move |time| {
                    clock_time_to_instant(time, local)
                }))
            }
            (ValueReader::Instant(_, None), Some(_)) => Ok(known.expr().cast(Micros::dtype())),
            (ValueReader::Instant(_, Some(_)), Some(zone)) => {
                let reason = format!("the column `{}` already has the time zone {zone:?}", known.name);
                Err(KeyFault::new(format!("{key}.time_zone"), reason))
            }
            (_, None) => Ok(known.expr().cast(DataType::Date)),
            (_, Some(_)) => {
                let reason = "a timestamp with a time zone is no date; \
                              leave `date` out, and it is computed from `dateTime` in the account's time zone";
                Err(KeyFault::new(key, reason).with_value(&known.name))
            }
        }
    }

    /// Compiles a column of texts that are changed and then read.
    fn compile_text(
        &self,
        text: Expr,
        known: &KnownColumn,
        reader: &ValueReader,
        rules: TextRules,
        key: &str,
    ) -> CompiledColumn {
        let skips = rules.unmapped == Unmapped::Skip;
        let only = skips.then(|| {
            let rules = rules.clone();
            let read = move |texts: &[Option<&str>]| Ok(Some(!rules.skips(texts[0])));
            each_row::<bool>(vec![text.clone()], known.location(), self.planner.site(key, &known.name), read)
        });
        let texts = TextCells { text, location: known.location(), site: self.planner.site(key, &known.name), rules };
        let expr = match reader.clone() {
            ValueReader::Text => texts.read(|text| Ok(text.to_owned())),
            ValueReader::Key => texts.read_required(|text| Ok(text.to_owned())),
            ValueReader::Stage => texts.read_required(|text| read_stage(text).map(str::to_owned)),
            ValueReader::Amount => texts.read(|text| read_amount(text).map(str::to_owned)),
            ValueReader::Count => texts.read(read_count),
            ValueReader::Truth => texts.read(read_truth),
            ValueReader::Day(format) => texts.read(move |text| read_day(text, format.as_ref()).map(Days)),
            ValueReader::Instant(format, zone) => {
                let zone = zone.unwrap_or(Tz::UTC);
                texts.read(move |text| read_instant(text, format.as_ref(), zone).map(Micros))
            }
        };
        CompiledColumn { expr, only }
    }

    /// Compiles a date from year, month and day. There is no date if every part that is a column is empty.
    fn compile_parts(&self, parts: [(&'static str, &ValueSource); 3], key: &str) -> Result<CompiledColumn, KeyFault> {
        let mut texts = Vec::new();
        let mut site: Option<(Expr, ColumnSite)> = None;
        for (name, part) in parts {
            let key = format!("{key}.{name}");
            let text = self.compile(part, ColumnType::Text, &key)?;
            texts.push(text.expr);
            if let (None, Some(column)) = (&site, &part.column) {
                let known = self.known.find(column, &key)?;
                site = Some((known.location(), self.planner.site(&key, &known.name)));
            }
        }
        let (location, site) = site.ok_or_else(|| KeyFault::new(key, "at least one of the parts must be a column"))?;
        let constant = parts.map(|(_, part)| part.value.is_some());
        let expr = each_row::<Days>(texts, location, site, move |texts| {
            let found = [0, 1, 2].map(|at| texts.get(at).copied().flatten().filter(|text| !text.is_empty()));
            if let [Some(year), Some(month), Some(day)] = found {
                return read_day_of_parts(year, month, day).map(|day| Some(Days(day)));
            }
            // A constant year does not make a date if the other cells are empty.
            let empty = found.iter().zip(constant).all(|(text, constant)| constant || text.is_none());
            if empty { Ok(None) } else { Err("expected year, month and day, or none of them".to_owned()) }
        });
        Ok(CompiledColumn { expr, only: None })
    }
}

/// A column of texts, and the rules that change them.
struct TextCells {
    text: Expr,
    location: Expr,
    site: ColumnSite,
    rules: TextRules,
}

impl TextCells {
    /// Reads every text. An empty one is no value.
    fn read<T: ColumnValue + 'static>(self, read: impl Fn(&str) -> Result<T, String> + Send + Sync + 'static) -> Expr {
        let rules = self.rules;
        each_row(vec![self.text], self.location, self.site, move |texts| {
            rules.apply(texts[0])?.map(|text| read(&text)).transpose()
        })
    }

    /// Reads every text. An empty one is a fault.
    fn read_required<T: ColumnValue + 'static>(
        self,
        read: impl Fn(&str) -> Result<T, String> + Send + Sync + 'static,
    ) -> Expr {
        let rules = self.rules;
        each_row(vec![self.text], self.location, self.site, move |texts| match rules.apply(texts[0])? {
            Some(text) => read(&text).map(Some),
            None => Err("expected a value".to_owned()),
        })
    }
}

/// Replaces an empty text by null, so that a text joined from it is null too.
fn filled(text: Expr) -> Expr {
    when(text.clone().neq(lit(""))).then(text).otherwise(lit(NULL))
}

/// Compiles a column with the same value in every row.
fn constant(value: &str, reader: &ValueReader, key: &str) -> Result<Expr, KeyFault> {
    let refused = |reason: String| KeyFault::new(key, reason).with_value(value);
    reader.check(value).map_err(refused)?;
    Ok(match reader {
        ValueReader::Day(format) => {
            let days = read_day(value, format.as_ref()).map_err(refused)?;
            lit(days).cast(DataType::Date)
        }
        ValueReader::Instant(format, zone) => {
            let micros = read_instant(value, format.as_ref(), zone.unwrap_or(Tz::UTC)).map_err(refused)?;
            lit(micros).cast(Micros::dtype())
        }
        ValueReader::Count => lit(read_count(value).map_err(refused)?),
        ValueReader::Truth => lit(read_truth(value).map_err(refused)?),
        ValueReader::Key if value.is_empty() => return Err(refused("expected a value".to_owned())),
        ValueReader::Key | ValueReader::Stage | ValueReader::Amount | ValueReader::Text => lit(value.to_owned()),
    })
}
