//! A column of a canonical table, as an expression over the inputs.

use super::cell;
use super::declaration::{Unmapped, ValueSource};
use super::error::KeyFault;
use super::fault::{CellSite, FirstFault};
use super::field::ColumnType;
use super::origin::ValueOrigin;
use super::reading::{NamedMaps, TextRules, ValueReader};
use super::rows::{ColumnValue, Days, Micros, each_row, local_times};
use super::scope::{KnownColumn, KnownColumns};
use chrono_tz::Tz;
use polars::prelude::*;

/// A column ready to be computed.
pub(super) struct CompiledColumn {
    pub(super) expr: Expr,
    /// The rows that stay, if the column leaves some out.
    pub(super) only: Option<Expr>,
}

/// What a column is compiled with.
pub(super) struct ColumnCompiler<'a> {
    pub(super) scope: &'a KnownColumns,
    pub(super) maps: &'a NamedMaps,
    pub(super) faults: &'a FirstFault,
}

impl ColumnCompiler<'_> {
    /// A source as a column of the given field.
    pub(super) fn compile(
        &self,
        source: &ValueSource,
        field: ColumnType,
        key: &str,
    ) -> Result<CompiledColumn, KeyFault> {
        let reading = ValueReader::new(field, source, key)?;
        match ValueOrigin::new(source, field, key)? {
            ValueOrigin::Value(value) => Ok(CompiledColumn { expr: constant(&value.0, &reading, key)?, only: None }),
            ValueOrigin::Parts(parts) => self.parts(parts, key),
            ValueOrigin::Column(name) => {
                let known = self.scope.find(name, key)?;
                let wording = TextRules::new(source, self.maps, key)?;
                match self.native(known, field, &reading, &wording, key)? {
                    Some(expr) => Ok(CompiledColumn { expr, only: None }),
                    None => Ok(self.worded(known.text(key)?, known, &reading, wording, key)),
                }
            }
            ValueOrigin::Columns(names, separator) => {
                let known = names.iter().map(|name| self.scope.find(name, key)).collect::<Result<Vec<_>, _>>()?;
                let mut texts = known.iter().map(|known| known.text(key));
                // An origin of columns has at least one.
                let first = texts.next().ok_or_else(|| KeyFault::new(key, "expected at least one column"))??;
                let strung =
                    texts.try_fold(filled(first), |strung, text| Ok(strung + lit(separator) + filled(text?)))?;
                let wording = TextRules::new(source, self.maps, key)?;
                Ok(self.worded(strung, known[0], &reading, wording, key))
            }
        }
    }

    /// A column of another type than text that can be taken as it is.
    fn native(
        &self,
        known: &KnownColumn,
        field: ColumnType,
        reading: &ValueReader,
        wording: &TextRules,
        key: &str,
    ) -> Result<Option<Expr>, KeyFault> {
        let dtype = &known.dtype;
        if let (DataType::Datetime(_, zone), ValueReader::Day(_) | ValueReader::Instant(..)) = (dtype, reading) {
            return self.timestamp(known, zone.as_ref(), reading, key).map(Some);
        }
        let as_it_is = match field {
            ColumnType::Dimension => !dtype.is_string() && !dtype.is_nested(),
            ColumnType::Amount => dtype.is_primitive_numeric() || dtype.is_decimal(),
            ColumnType::Count => dtype.is_integer(),
            ColumnType::Truth => dtype.is_bool(),
            ColumnType::Day => dtype.is_date(),
            ColumnType::Key | ColumnType::Stage | ColumnType::Instant | ColumnType::Text => false,
        };
        Ok((as_it_is && wording.is_plain()).then(|| known.expr()))
    }

    /// A day or an instant from a column of timestamps.
    fn timestamp(
        &self,
        known: &KnownColumn,
        zone: Option<&TimeZone>,
        reading: &ValueReader,
        key: &str,
    ) -> Result<Expr, KeyFault> {
        let site = self.site(key, &known.name);
        match (reading, zone) {
            (ValueReader::Instant(_, local), None) => {
                let local = local.unwrap_or(Tz::UTC);
                Ok(local_times(known.expr(), known.place(), site, move |time| cell::instant_of(time, local)))
            }
            (ValueReader::Instant(_, None), Some(_)) => Ok(known.expr().cast(Micros::dtype())),
            (ValueReader::Instant(_, Some(_)), Some(zone)) => {
                let reason = format!("the column `{}` already has the time zone {zone:?}", known.name);
                Err(KeyFault::new(format!("{key}.time_zone"), reason))
            }
            (_, None) => Ok(known.expr().cast(DataType::Date)),
            (_, Some(_)) => {
                let reason = "a timestamp with a time zone has no date of its own; \
                              leave `date` out, and it is made of `dateTime` in the account's time zone";
                Err(KeyFault::new(key, reason).with_value(&known.name))
            }
        }
    }

    /// Texts, put right and read.
    fn worded(
        &self,
        text: Expr,
        known: &KnownColumn,
        reading: &ValueReader,
        wording: TextRules,
        key: &str,
    ) -> CompiledColumn {
        let skips = wording.unmapped == Unmapped::Skip;
        let only = skips.then(|| {
            let wording = wording.clone();
            let read = move |texts: &[Option<&str>]| Ok(Some(!wording.skips(texts[0])));
            each_row::<bool>(vec![text.clone()], known.place(), self.site(key, &known.name), read)
        });
        let rows = TextColumn { text, place: known.place(), site: self.site(key, &known.name), wording };
        let expr = match reading.clone() {
            ValueReader::Text => rows.read(|text| Ok(text.to_owned())),
            ValueReader::Key => rows.demand(|text| Ok(text.to_owned())),
            ValueReader::Stage => rows.demand(|text| cell::stage(text).map(str::to_owned)),
            ValueReader::Amount => rows.read(|text| cell::amount(text).map(str::to_owned)),
            ValueReader::Count => rows.read(cell::count),
            ValueReader::Truth => rows.read(cell::truth),
            ValueReader::Day(format) => rows.read(move |text| cell::day(text, format.as_ref()).map(Days)),
            ValueReader::Instant(format, zone) => {
                let zone = zone.unwrap_or(Tz::UTC);
                rows.read(move |text| cell::instant(text, format.as_ref(), zone).map(Micros))
            }
        };
        CompiledColumn { expr, only }
    }

    /// A date of year, month and day; all that are columns empty: no date.
    fn parts(&self, parts: [(&'static str, &ValueSource); 3], key: &str) -> Result<CompiledColumn, KeyFault> {
        let mut texts = Vec::new();
        let mut site: Option<(Expr, CellSite)> = None;
        for (name, part) in parts {
            let key = format!("{key}.{name}");
            let text = self.compile(part, ColumnType::Text, &key)?;
            texts.push(text.expr);
            if let (None, Some(column)) = (&site, &part.column) {
                let known = self.scope.find(column, &key)?;
                site = Some((known.place(), self.site(&key, &known.name)));
            }
        }
        let (place, site) = site.ok_or_else(|| KeyFault::new(key, "one of the parts has to be a column"))?;
        let constant = parts.map(|(_, part)| part.value.is_some());
        let expr = each_row::<Days>(texts, place, site, move |texts| {
            let found = [0, 1, 2].map(|at| texts.get(at).copied().flatten().filter(|text| !text.is_empty()));
            if let [Some(year), Some(month), Some(day)] = found {
                return cell::day_of_parts(year, month, day).map(|day| Some(Days(day)));
            }
            // A year that is the same on every row does not make a date of two empty cells.
            let empty = found.iter().zip(constant).all(|(text, constant)| constant || text.is_none());
            if empty { Ok(None) } else { Err("expected year, month and day, or none of them".to_owned()) }
        });
        Ok(CompiledColumn { expr, only: None })
    }

    pub(super) fn site(&self, key: &str, column: &str) -> CellSite {
        CellSite { faults: self.faults.clone(), key: key.to_owned(), column: column.to_owned() }
    }
}

/// Texts of a column, and what is done to them.
struct TextColumn {
    text: Expr,
    place: Expr,
    site: CellSite,
    wording: TextRules,
}

impl TextColumn {
    /// No text is no value.
    fn read<T: ColumnValue + 'static>(self, read: impl Fn(&str) -> Result<T, String> + Send + Sync + 'static) -> Expr {
        let wording = self.wording;
        each_row(vec![self.text], self.place, self.site, move |texts| {
            wording.apply(texts[0])?.map(|text| read(&text)).transpose()
        })
    }

    /// No text is a fault.
    fn demand<T: ColumnValue + 'static>(
        self,
        read: impl Fn(&str) -> Result<T, String> + Send + Sync + 'static,
    ) -> Expr {
        let wording = self.wording;
        each_row(vec![self.text], self.place, self.site, move |texts| match wording.apply(texts[0])? {
            Some(text) => read(&text).map(Some),
            None => Err("expected a value".to_owned()),
        })
    }
}

/// No value for an empty text, so that a text strung together of it is none either.
fn filled(text: Expr) -> Expr {
    when(text.clone().neq(lit(""))).then(text).otherwise(lit(NULL))
}

/// The same value on every row.
fn constant(value: &str, reading: &ValueReader, key: &str) -> Result<Expr, KeyFault> {
    let refused = |reason: String| KeyFault::new(key, reason).with_value(value);
    reading.check(value).map_err(refused)?;
    Ok(match reading {
        ValueReader::Day(format) => {
            let days = cell::day(value, format.as_ref()).map_err(refused)?;
            lit(days).cast(DataType::Date)
        }
        ValueReader::Instant(format, zone) => {
            let micros = cell::instant(value, format.as_ref(), zone.unwrap_or(Tz::UTC)).map_err(refused)?;
            lit(micros).cast(Micros::dtype())
        }
        ValueReader::Count => lit(cell::count(value).map_err(refused)?),
        ValueReader::Truth => lit(cell::truth(value).map_err(refused)?),
        ValueReader::Key if value.is_empty() => return Err(refused("expected a value".to_owned())),
        ValueReader::Key | ValueReader::Stage | ValueReader::Amount | ValueReader::Text => lit(value.to_owned()),
    })
}
