//! Events of any canonical table in the form in which they are stored.

use super::account::Accounts;
use super::amount::read_amounts;
use super::calendar::{read_days, read_instants};
use super::columns::{
    ACCOUNT, DATE, DATE_TIME, EVENT_ID, LEADING, Meaning, OPPORTUNITY_ID, TOTAL, TYPE, check_columns, check_same, find,
    is_ignored_event_column, is_leading_column, names, require, stored_event_schema,
};
use super::dates::{Dates, Zones};
use super::fault::{CellFault, Reason, RowFaults, SchemaFault, too_many_rows};
use super::keys::{check_accounts, is_sound, read_ids, refuse_empty};
use super::render::PlainColumn;
use super::stage::Stage;
use arrow_array::cast::AsArray;
use arrow_array::iterator::ArrayIter;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayAccessor, ArrayRef, BooleanArray, RecordBatch, StringArray, TypedDictionaryArray, new_null_array,
};
use arrow_schema::{ArrowError, DataType, FieldRef, Schema, SchemaRef};
use arrow_select::filter::filter;
use std::sync::Arc;

/// Rows in the form in which they are stored, and the rows that break a rule. Each given row is in one of the two.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalized {
    /// The rows that keep the rules, in the order given.
    pub batch: RecordBatch,
    /// For each of them, its row in the batch that was given.
    pub rows: Vec<u32>,
    /// One fault for each row that was left out, by row: the first rule that it breaks.
    pub faults: Vec<CellFault>,
}

impl Normalized {
    /// Sets the rows with faults aside. `schema` may forbid nulls that only such rows have.
    pub(super) fn new(schema: SchemaRef, columns: Vec<ArrayRef>, faults: RowFaults) -> Result<Self, ArrowError> {
        let given = columns.first().map_or(0, |column| column.len());
        let len = u32::try_from(given).map_err(|_| too_many_rows(given))?;
        if faults.is_empty() {
            return Ok(Self {
                batch: RecordBatch::try_new(schema, columns)?,
                rows: (0..len).collect(),
                faults: Vec::new(),
            });
        }
        let kept: Vec<bool> = (0..given).map(|row| !faults.has(row)).collect();
        let rows = (0..len).zip(&kept).filter(|(_, kept)| **kept).map(|(row, _)| row).collect();
        let kept = BooleanArray::from(kept);
        let columns = columns.iter().map(|column| filter(column, &kept)).collect::<Result<_, _>>()?;
        Ok(Self { batch: RecordBatch::try_new(schema, columns)?, rows, faults: faults.into_faults() })
    }
}

/// Brings batches of one canonical schema into the stored form of events.
///
/// Every column beside those that have a meaning becomes text: booleans `true` and `false`, integers in decimal, floats as
/// ECMAScript writes them, dates and timestamps as the dimensions `date` and `dateTime`; null and the empty text are null.
#[derive(Clone, Debug)]
pub struct EventNormalizer {
    given: Schema,
    stored: SchemaRef,
    account: usize,
    opportunity_id: usize,
    stage: usize,
    date: Option<usize>,
    date_time: Option<usize>,
    event_id: Option<usize>,
    total: Option<usize>,
    /// Where the other columns of `stored` come from, in its order.
    extra: Vec<usize>,
    ignored: Vec<String>,
    zones: Zones,
    keeps_codes: bool,
}

impl EventNormalizer {
    /// For batches with the columns of `given`. The accounts' time zones decide the dates of events that have none.
    ///
    /// # Errors
    /// A required column is absent, a name occurs twice or differs in letter case alone from that of a column with a meaning, or a
    /// column has a type that it cannot be read from.
    pub fn new(given: &Schema, accounts: &Accounts) -> Result<Self, SchemaFault> {
        check_columns(given, &LEADING)?;
        let account = require(given, ACCOUNT, Meaning::Id)?;
        let opportunity_id = require(given, OPPORTUNITY_ID, Meaning::Id)?;
        let stage = require(given, TYPE, Meaning::Text)?;
        let date = find(given, DATE, Meaning::Date)?;
        let date_time = find(given, DATE_TIME, Meaning::DateTime)?;
        if date.is_none() && date_time.is_none() {
            return Err(SchemaFault::NoDate { found: names(given) });
        }
        let mut ignored = Vec::new();
        let mut extra = Vec::new();
        for (at, field) in given.fields().iter().enumerate() {
            let name = field.name().as_str();
            if is_leading_column(name) {
                continue;
            }
            if is_ignored_event_column(name) {
                ignored.push(name.to_owned());
            } else {
                Meaning::Dimension.check(field)?;
                extra.push((name, at));
            }
        }
        extra.sort_unstable();
        Ok(Self {
            given: given.clone(),
            stored: stored_event_schema(extra.iter().map(|(name, _)| *name)),
            account,
            opportunity_id,
            stage,
            date,
            date_time,
            event_id: find(given, EVENT_ID, Meaning::Id)?,
            total: find(given, TOTAL, Meaning::Amount)?,
            extra: extra.into_iter().map(|(_, at)| at).collect(),
            ignored,
            zones: Zones::of(accounts),
            keeps_codes: false,
        })
    }

    /// Leaves texts that are given as dictionaries with keys of 32 bits as they are, in the columns `account`, `type` and the
    /// dimensions: batches have that type there, and all else is as before. A dictionary may then hold texts that no row has.
    #[must_use]
    pub fn keeping_codes(mut self) -> Self {
        self.keeps_codes = true;
        let codes = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let origins =
            [(0, self.account), (2, self.stage)].into_iter().chain((LEADING.len()..).zip(self.extra.iter().copied()));
        let mut fields: Vec<FieldRef> = self.stored.fields().iter().cloned().collect();
        for (at, origin) in origins {
            if *self.given.field(origin).data_type() == codes {
                fields[at] = Arc::new(fields[at].as_ref().clone().with_data_type(codes.clone()));
            }
        }
        self.stored = Arc::new(Schema::new(fields));
        self
    }

    /// The columns that are not taken, because their names are those of computed fields or metrics, in the order given.
    #[must_use]
    pub fn ignored_columns(&self) -> &[String] {
        &self.ignored
    }

    /// The columns of the batches that are made.
    #[must_use]
    pub fn stored_schema(&self) -> &SchemaRef {
        &self.stored
    }

    /// The rows of `batch` in stored form; rows that break a rule are set aside.
    ///
    /// # Errors
    /// The batch has other columns than the normalizer was made for, or is too large.
    pub fn normalize(&self, batch: &RecordBatch) -> Result<Normalized, ArrowError> {
        check_same(&self.given, batch)?;
        let cells = |at: usize| PlainColumn::new(self.given.field(at).name(), batch.column(at));
        let mut faults = RowFaults::default();
        let accounts = self.texts(batch, self.account, &mut faults)?;
        refuse_empty(&accounts, ACCOUNT, &mut faults);
        match coded(&accounts) {
            Some(keys) if keys.values().iter().flatten().all(is_sound) => {}
            Some(keys) => check_accounts(keys, ACCOUNT, &mut faults),
            None => check_accounts(accounts.as_string::<i32>(), ACCOUNT, &mut faults),
        }
        let opportunities = read_ids(&cells(self.opportunity_id)?, &mut faults)?;
        let stages = self.texts(batch, self.stage, &mut faults)?;
        match coded(&stages) {
            // Every text a stage and every row a text: no row needs to be looked at.
            Some(names) if stages.null_count() == 0 && are_stages(names.values()) => {}
            Some(names) => check_stages(names, &mut faults),
            None => check_stages(stages.as_string::<i32>(), &mut faults),
        }
        let dates = Dates {
            days: self.date.map(|at| read_days(&cells(at)?, &mut faults)).transpose()?,
            instants: self.date_time.map(|at| read_instants(&cells(at)?, &mut faults)).transpose()?,
        };
        let date = match coded(&accounts) {
            Some(keys) => dates.resolve(keys, &self.zones, &mut faults),
            None => dates.resolve(accounts.as_string::<i32>(), &self.zones, &mut faults),
        };
        let date_time = dates.into_date_times(batch.num_rows());
        let mut columns: Vec<ArrayRef> =
            vec![accounts, Arc::new(opportunities), stages, Arc::new(date), Arc::new(date_time)];
        let absent = |at: usize| new_null_array(self.stored.field(at).data_type(), batch.num_rows());
        columns.push(match self.event_id {
            Some(at) => Arc::new(cells(at)?.texts(&mut faults)?),
            None => absent(columns.len()),
        });
        columns.push(match self.total {
            Some(at) => Arc::new(read_amounts(&cells(at)?, &mut faults)?),
            None => absent(columns.len()),
        });
        for at in &self.extra {
            columns.push(self.texts(batch, *at, &mut faults)?);
        }
        Normalized::new(self.stored.clone(), columns, faults)
    }

    /// The texts of a column: as keys into distinct ones, if it is given so and that is wanted.
    fn texts(&self, batch: &RecordBatch, at: usize, faults: &mut RowFaults) -> Result<ArrayRef, ArrowError> {
        if self.keeps_codes
            && let Some(coded) = PlainColumn::coded(batch.column(at))
        {
            return Ok(Arc::new(coded));
        }
        Ok(Arc::new(PlainColumn::new(self.given.field(at).name(), batch.column(at))?.texts(faults)?))
    }
}

/// The texts behind the keys of a column, if it has such.
fn coded(column: &ArrayRef) -> Option<TypedDictionaryArray<'_, Int32Type, StringArray>> {
    column.as_dictionary_opt::<Int32Type>()?.downcast_dict()
}

fn are_stages(names: &StringArray) -> bool {
    names.iter().all(|name| name.and_then(Stage::from_name).is_some())
}

fn check_stages<'a>(names: impl ArrayAccessor<Item = &'a str>, faults: &mut RowFaults) {
    let mut last = "";
    for (row, name) in ArrayIter::new(names).enumerate() {
        let name = name.unwrap_or_default();
        if name != last || name.is_empty() {
            if Stage::from_name(name).is_none() {
                faults.add(row, TYPE, name, Reason::Stage);
                continue;
            }
            last = name;
        }
    }
}

#[cfg(test)]
mod tests;
