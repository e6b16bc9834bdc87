//! The columns of the tables, and the checks of a given schema.

use super::fault::SchemaFault;
use crate::dictionary::{self, DimensionSource, FieldKind};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The beginning of the names of the event columns that trueup itself writes. The name of no other event column may
/// begin with it.
pub const OWN_PREFIX: &str = "trueup.";
/// The column of an event file that numbers its customers, from 0, in file order. It is not a field.
pub const CUSTOMER_COLUMN: &str = "trueup.customer";
/// The column of an event file that says what the day of an event with a `dateTime` comes from: the text
/// [`DATE_GIVEN`] or [`DATE_COMPUTED`], or null for an event without a `dateTime`. It is not a field.
pub const DATE_SOURCE_COLUMN: &str = "trueup.dateSource";
/// A value of [`DATE_SOURCE_COLUMN`]: the day of the event was given, next to its `dateTime`.
pub const DATE_GIVEN: &str = "date";
/// A value of [`DATE_SOURCE_COLUMN`]: the day of the event was computed from its `dateTime`, because no day was given.
pub const DATE_COMPUTED: &str = "dateTime";
/// The column of an event file that says which record of its source an event belongs to; null for none. The events of a
/// record are replaced together. It is not a field.
pub const RECORD_COLUMN: &str = "trueup.record";
/// The column of account keys.
pub const ACCOUNT: &str = "account";
/// The column of customer ids. An id identifies a customer in its account.
pub const OPPORTUNITY_ID: &str = "opportunityId";
/// The column of stages.
pub const TYPE: &str = "type";
/// The column of days.
pub const DATE: &str = "date";
/// The column of points in time.
pub const DATE_TIME: &str = "dateTime";
/// The column of event ids. An id identifies an event in its account.
pub const EVENT_ID: &str = "eventId";
/// The column of the amounts of events.
pub const TOTAL: &str = dictionary::TOTAL_COLUMN;

/// The column that says who reported a row, such as the name of an ad platform; null is the empty source. In events it
/// is a dimension, in spend it is none.
pub const SOURCE: &str = "source";
/// The column of the channel that a row is attributed to.
pub const CHANNEL: &str = "attributionChannel";

/// The columns of spend with amounts of money.
pub const SPEND_AMOUNTS: [&str; 2] = ["adSpend", "managementFee"];
/// The columns of spend with counts.
pub(super) const SPEND_COUNTS: [&str; 2] = ["clicks", "impressions"];
/// The columns of spend that are summed.
pub(crate) const SPEND_MEASURES: [&str; 4] = [SPEND_AMOUNTS[0], SPEND_AMOUNTS[1], SPEND_COUNTS[0], SPEND_COUNTS[1]];

/// The leading columns of stored events, in order.
pub(super) const LEADING: [&str; 7] = [ACCOUNT, OPPORTUNITY_ID, TYPE, DATE, DATE_TIME, EVENT_ID, TOTAL];

/// Returns whether trueup itself writes an event column of that name.
#[must_use]
pub fn is_own_column(name: &str) -> bool {
    [CUSTOMER_COLUMN, DATE_SOURCE_COLUMN, RECORD_COLUMN].contains(&name)
}

/// Returns whether ingest ignores an event column of that name. It does so in two cases: the field is a metric or
/// computed, and the column is not a [leading one](is_leading_column); or trueup [itself writes](is_own_column) the
/// column.
#[must_use]
pub fn is_ignored_event_column(name: &str) -> bool {
    let computed = |field: &dictionary::Field| match &field.kind {
        FieldKind::Metric(_) => true,
        FieldKind::Dimension(dimension) => matches!(dimension.source, DimensionSource::Computed(_)),
    };
    is_own_column(name) || (!is_leading_column(name) && dictionary::field(name).is_some_and(computed))
}

/// Returns the schema of stored events: the leading columns, then the `extra` columns by name, without duplicates.
///
/// `account`, `opportunityId`, `type` and `date` are never null. Texts are never empty, because the empty text is
/// stored as null. Days are `Date32`, points in time are microseconds in UTC, amounts are in currency units with six
/// decimal places, and all other columns are texts.
#[must_use]
pub fn stored_event_schema<'a>(extra: impl IntoIterator<Item = &'a str>) -> SchemaRef {
    let mut fields = vec![
        Field::new(ACCOUNT, DataType::Utf8, false),
        Field::new(OPPORTUNITY_ID, DataType::Utf8, false),
        Field::new(TYPE, DataType::Utf8, false),
        Field::new(DATE, DataType::Date32, false),
        Field::new(DATE_TIME, DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
        Field::new(EVENT_ID, DataType::Utf8, true),
        amount_field(TOTAL),
    ];
    let extra: BTreeSet<&str> = extra.into_iter().collect();
    fields.extend(extra.into_iter().map(|name| Field::new(name, DataType::Utf8, true)));
    Arc::new(Schema::new(fields))
}

/// Returns the field of a nullable column of amounts.
pub(super) fn amount_field(name: &str) -> Field {
    Field::new(name, DataType::Decimal128(super::amount::STORED.0, super::amount::STORED.1), true)
}

/// Returns whether stored events always have a column of that name.
#[must_use]
pub fn is_leading_column(name: &str) -> bool {
    LEADING.contains(&name)
}

/// Returns the names of the extra columns of stored events: all but the [leading ones](is_leading_column), which stored
/// events always have.
pub fn extra_columns(stored: &Schema) -> impl Iterator<Item = &str> {
    stored.fields().iter().map(|field| field.name().as_str()).filter(|name| !is_leading_column(name))
}

/// The meaning of a column, which decides the types that it can be read from.
#[derive(Clone, Copy)]
pub(super) enum Meaning {
    Text,
    Id,
    Date,
    DateTime,
    Amount,
    Count,
    Boolean,
    Dimension,
}

impl Meaning {
    const fn expected(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Id => "text or whole numbers",
            Self::Date => "dates",
            Self::DateTime => "points in time",
            Self::Amount => "amounts",
            Self::Count => "whole numbers",
            Self::Boolean => "booleans",
            Self::Dimension => "text, booleans, numbers, dates or points in time",
        }
    }

    fn reads(self, data_type: &DataType) -> bool {
        use DataType as D;
        match data_type {
            D::Dictionary(_, values) => self.reads(values),
            D::Null | D::Utf8 | D::LargeUtf8 | D::Utf8View => true,
            D::Boolean => matches!(self, Self::Boolean | Self::Dimension),
            integer if integer.is_integer() => {
                matches!(self, Self::Id | Self::Amount | Self::Count | Self::Dimension)
            }
            // Tools without nullable integers write counts as floats.
            float if float.is_floating() => matches!(self, Self::Amount | Self::Count | Self::Dimension),
            decimal if decimal.is_decimal() => matches!(self, Self::Amount | Self::Count | Self::Dimension),
            D::Date32 | D::Date64 => matches!(self, Self::Date | Self::Dimension),
            D::Timestamp(..) => matches!(self, Self::Date | Self::DateTime | Self::Dimension),
            _ => false,
        }
    }

    /// Checks the type of a column.
    pub(super) fn check(self, field: &Field) -> Result<(), SchemaFault> {
        if self.reads(field.data_type()) {
            return Ok(());
        }
        let data_type = field.data_type().clone();
        Err(SchemaFault::WrongType { column: field.name().clone(), expected: self.expected(), data_type })
    }
}

/// Returns whether the values of a type can be those of a dimension.
#[must_use]
pub fn is_dimension_type(data_type: &DataType) -> bool {
    Meaning::Dimension.reads(data_type)
}

/// Rejects duplicate names, [other spellings](is_spelling_of) of a `known` name, and nested columns.
///
/// A column named `adspend` or `total ` would otherwise be ignored or be a dimension, and its amounts would be missing
/// from every sum.
pub(super) fn check_columns(schema: &Schema, known: &[&'static str]) -> Result<(), SchemaFault> {
    let mut names = BTreeSet::new();
    for field in schema.fields() {
        let (column, data_type) = (field.name().clone(), field.data_type());
        if let Some(meant) = known.iter().find(|known| column != **known && is_spelling_of(&column, known)) {
            return Err(SchemaFault::OtherSpelling { column, meant });
        }
        if data_type.is_nested() {
            return Err(SchemaFault::Nested { column, data_type: data_type.clone() });
        }
        if !names.insert(field.name()) {
            return Err(SchemaFault::DuplicateColumn { column });
        }
    }
    Ok(())
}

/// Returns the index of the column `name`, if there is one, after checking its type.
pub(super) fn find(schema: &Schema, name: &str, meaning: Meaning) -> Result<Option<usize>, SchemaFault> {
    let Some((at, field)) = schema.fields().find(name) else { return Ok(None) };
    meaning.check(field)?;
    Ok(Some(at))
}

/// Returns the index of the required column `name`, after checking its type.
pub(super) fn require(
    schema: &Schema,
    name: &'static [&'static str; 1],
    meaning: Meaning,
) -> Result<usize, SchemaFault> {
    let missing = || SchemaFault::MissingColumns { columns: vec![name], found: names(schema) };
    find(schema, name[0], meaning)?.ok_or_else(missing)
}

/// Returns whether people read `column` as the name `known`: it differs at most in letter case, in blanks at its ends,
/// and in invisible characters.
fn is_spelling_of(column: &str, known: &str) -> bool {
    // What a message in a terminal has to escape, other than quotes and the backslash, is invisible.
    let is_visible = |char: &char| matches!(char, '"' | '\'' | '\\') || char.escape_debug().len() == 1;
    let visible: String = column.chars().filter(is_visible).collect();
    visible.trim().eq_ignore_ascii_case(known)
}

/// Checks that a table has its required columns, each under one of its names and in any spelling.
///
/// Call it before [`check_columns`], because the spelling of a column matters only in a table of this kind.
pub(super) fn require_all(schema: &Schema, required: &[&'static [&'static str]]) -> Result<(), SchemaFault> {
    let has = |name: &&str| schema.fields().iter().any(|field| is_spelling_of(field.name(), name));
    let is_missing = |columns: &&&[&str]| !columns.iter().any(has);
    let columns: Vec<_> = required.iter().filter(is_missing).copied().collect();
    if columns.is_empty() { Ok(()) } else { Err(SchemaFault::MissingColumns { columns, found: names(schema) }) }
}

/// Returns the names of all columns.
pub(super) fn names(schema: &Schema) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// Checks that a batch has the columns that its normalizer was made for.
pub(super) fn check_same_columns(expected: &Schema, batch: &RecordBatch) -> Result<(), ArrowError> {
    let found = batch.schema_ref();
    let same = expected.fields().len() == found.fields().len()
        && expected
            .fields()
            .iter()
            .zip(found.fields())
            .all(|(expected, found)| expected.name() == found.name() && expected.data_type() == found.data_type());
    if same {
        return Ok(());
    }
    Err(ArrowError::SchemaError(format!("expected a batch with the columns {expected}, but found {found}")))
}
