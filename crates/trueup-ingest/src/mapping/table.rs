//! A table of a mapping: planned from its declaration, and made from the rows of its first input.

use super::canonical::{ColumnType, stage_names};
use super::cells::{RowView, StringCells};
use super::column::{ColumnPlan, ColumnPlanner};
use super::columns::{ColumnRef, KnownColumns};
use super::conditions::{Condition, FirstTexts};
use super::credit::FirstTouchCredit;
use super::declaration::{
    Conditions, Constant, ConvertDeclaration, CurrencyKey, EventTableDeclaration, TableDeclaration, ValueSource,
};
use super::faults::{ColumnSite, NotNormalCells, PickedFaults, row_faults};
use super::inputs::{OpenedInput, Reading};
use super::money::{MoneyPlan, RowCurrencies};
use super::rows::{RowPlan, find_input};
use super::spread::{Period, SpreadPlan, dates_of_days, rows_of_days, spread_column, spread_type};
use super::times::{ClockRule, KnownAccounts};
use super::values::NamedMaps;
use crate::IngestError;
use crate::amounts::RowAmounts;
use crate::error::{ErrorKind, InputLocation, MappingFault, OfMapping};
use crate::report::NotNormalValue;
use crate::source::{DecodedBatch, MappedOutcomes, RawRows, ReadLimits, RowMapper};
use crate::table::Table;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::filter::filter;
use hashbrown::HashSet;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use trueup_core::dataset::{ControlTotals, ConvertedAmounts, InputProtocol};
use trueup_core::model::{ACCOUNT, Currency, RECORD_COLUMN};

/// Plans the tables of a mapping over its inputs.
pub(super) struct TablePlanner<'a> {
    pub(super) reading: Reading<'a>,
    pub(super) maps: &'a NamedMaps,
    /// The rule of clock times for which the mapping has no `time_zone`.
    pub(super) clock: &'a ClockRule,
    pub(super) inputs: &'a BTreeMap<String, OpenedInput>,
    /// The first-touch credit, which tables of events apply; `None` if the mapping gives none.
    pub(super) credit: Option<&'a Arc<FirstTouchCredit>>,
    pub(super) accounts: &'a Arc<KnownAccounts>,
    /// The input of the rates of a conversion.
    pub(super) rates: &'a dyn Fn(&ConvertDeclaration) -> String,
}

/// A canonical table, made from the rows of an input.
pub(super) struct TableMapper {
    /// The table in messages: the mapping, and the kind of the table.
    shown: PathBuf,
    table: Table,
    /// The mapping and the key of the table, or of its stage, in protocols.
    mapped_by: String,
    rows: Arc<RowPlan>,
    /// The columns, each with its canonical name.
    columns: Vec<(String, ColumnPlan)>,
    dates: Dates,
    /// The conditions of a stage.
    conditions: Vec<Condition>,
    /// What divides the rows over days; `None` if each row has a date of its own.
    spread: Option<SpreadPlan>,
    /// What the amounts are in, and what they become; `None` if the mapping does not say it.
    money: Option<Arc<MoneyPlan>>,
    credit: Option<Arc<FirstTouchCredit>>,
    schema: SchemaRef,
}

/// What is required of the dates of a row.
enum Dates {
    /// Nothing: the table has no dates.
    None,
    /// A row without a date is left out.
    Skip,
    /// A row without a date is a fault of this column.
    Refuse(ColumnSite),
}

/// The columns of a table by name, each with its source and the key of that source.
pub(super) type ValueSources<'a> = BTreeMap<&'a str, (&'a ValueSource, String)>;

/// The columns of a table, and what a stage has besides.
pub(super) struct TableSources<'a> {
    /// The key of the table, or of its stage.
    key: String,
    sources: ValueSources<'a>,
    /// The conditions of a stage; `None` if the table is long. A stage skips rows without a date.
    stage: Option<[&'a Conditions; 2]>,
}

impl<'a> TableSources<'a> {
    pub(super) fn long(key: &str, sources: ValueSources<'a>) -> Self {
        Self { key: key.to_owned(), sources, stage: None }
    }
}

impl TablePlanner<'_> {
    /// Plans a table of spend, accounts or targets.
    pub(super) fn table(&self, target: Table, table: &TableDeclaration, at: usize) -> Result<TableMapper, IngestError> {
        let key = format!("{}[{at}]", target.name());
        let columns = table.columns.iter();
        let columns = columns.map(|(name, source)| (name.as_str(), (source, format!("{key}.columns.{name}"))));
        let currency = table.currency.as_ref().filter(|_| target == Table::Accounts);
        let currency = currency.map(CurrencyKey::source);
        let currency = currency.as_ref().map(|source| ("currency", (source, format!("{key}.currency"))));
        let sources = columns.chain(currency).collect();
        let mut made = self.plan(target, table, &key, vec![TableSources::long(&key, sources)])?;
        made.pop().ok_or_else(|| {
            let source = Box::new(ArrowError::ComputeError("no table was planned".to_owned()));
            ErrorKind::Internal { action: "plan a table of the mapping", source }.into()
        })
    }

    /// Plans the tables of events of one declaration: one table if it is long, one per stage if it is wide.
    pub(super) fn events(&self, table: &EventTableDeclaration, at: usize) -> Result<Vec<TableMapper>, IngestError> {
        let key = format!("events[{at}]");
        let own = |name: &String| ValueSource { column: Some(name.clone()), ..ValueSource::default() };
        let kept: Vec<(&str, ValueSource)> = table.keep.iter().map(|name| (name.as_str(), own(name))).collect();
        let mut common: ValueSources<'_> =
            kept.iter().map(|(name, source)| (*name, (source, format!("{key}.keep")))).collect();
        let columns = table.columns.iter();
        common.extend(columns.map(|(name, source)| (name.as_str(), (source, format!("{key}.columns.{name}")))));
        common.extend(table.record().map(|record| (RECORD_COLUMN, (record, format!("{key}.record")))));
        if table.stages.is_empty() {
            return self.plan(Table::Events, &table.table(), &key, vec![TableSources::long(&key, common)]);
        }
        let of_stage = |stage: &str| ValueSource { value: Some(Constant(stage.to_owned())), ..ValueSource::default() };
        let stages = stage_names();
        let sources = stages.map(of_stage);
        // The events of a row have one id each. With the same id, each would replace the one before.
        let ids = stages.map(|stage| {
            let (id, key) = common.get("eventId")?;
            Some((ValueSource { ending: format!("-{stage}"), ..(*id).clone() }, key.clone()))
        });
        let declared = stages.iter().zip(&sources).zip(&ids).filter_map(|((stage, source), id)| {
            let key = format!("{key}.stages.{stage}");
            let mut all = common.clone();
            all.extend(id.iter().map(|(id, key)| ("eventId", (id, key.clone()))));
            all.insert("type", (source, key.clone()));
            let declared = table.stages.get(*stage)?;
            let columns = declared.columns.iter();
            all.extend(columns.map(|(name, source)| (name.as_str(), (source, format!("{key}.{name}")))));
            let stage = Some([&declared.only, &declared.unless]);
            Some(TableSources { key, sources: all, stage })
        });
        self.plan(Table::Events, &table.table(), &key, declared.collect())
    }

    /// Plans tables of the same rows.
    pub(super) fn plan(
        &self,
        target: Table,
        table: &TableDeclaration,
        key: &str,
        tables: Vec<TableSources<'_>>,
    ) -> Result<Vec<TableMapper>, IngestError> {
        let (mut rows, known) = RowPlan::new(table, self.inputs, key, self.reading)?;
        let mut planned = Vec::new();
        for TableSources { key, sources, stage } in &tables {
            let columns = self.plan_columns(target, sources, &known, &mut rows, stage.is_some());
            let (columns, dates) = columns.of_mapping(self.reading.mapping)?;
            let conditions = match stage {
                Some(conditions) => rows.plan_conditions(*conditions, &known, key),
                None => Ok(Vec::new()),
            };
            planned.push((key.clone(), columns, dates, conditions.of_mapping(self.reading.mapping)?));
        }
        let mut spread = None;
        if let Some(declared) = &table.spread {
            let mut planner = ColumnPlanner { maps: self.maps, clock: self.clock, known: &known, rows: &mut rows };
            let plan = SpreadPlan::new(declared, &mut planner, &format!("{key}.spread"));
            spread = Some(plan.of_mapping(self.reading.mapping)?);
        }
        let money = self.plan_money(target, table, key, &known, &mut rows)?.map(Arc::new);
        let rows = Arc::new(rows.finish(self.reading)?);
        let credit = self.credit.filter(|_| target == Table::Events);
        let mapping = self.reading.name;
        let named = if self.reading.is_stored { Path::new(mapping) } else { self.reading.mapping };
        let shown = PathBuf::from(format!("{} [[{}]]", named.display(), target.name()));
        let mut mapper =
            |(key, columns, dates, conditions): (String, Vec<(String, ColumnPlan)>, Dates, Vec<Condition>)| {
                let data_type = |name: &str, plan: &ColumnPlan| {
                    let column_type = target.column_type(name);
                    let divided = spread.as_ref().and_then(|_| spread_type(column_type));
                    let converted = money.as_ref().and_then(|money| money.converted_type(column_type));
                    converted.or(divided).unwrap_or_else(|| plan.data_type.clone())
                };
                let fields = columns.iter().map(|(name, plan)| Field::new(name, data_type(name, plan), true));
                let mut fields: Vec<Field> = fields.collect();
                fields.extend(spread.as_ref().map(|_| Field::new("date", DataType::Date32, true)));
                let copied = credit.map_or(&[][..], |credit| &credit.columns).iter();
                let added: Vec<&String> = copied.filter(|name| columns.iter().all(|(own, _)| own != *name)).collect();
                fields.extend(added.into_iter().map(|name| Field::new(name, DataType::Utf8, true)));
                let (schema, credit) = (Arc::new(Schema::new(fields)), credit.cloned());
                let (shown, rows, spread, money) = (shown.clone(), rows.clone(), spread.take(), money.clone());
                let (table, mapped_by) = (target, format!("{mapping} {key}"));
                TableMapper { shown, table, mapped_by, rows, columns, dates, conditions, spread, money, credit, schema }
            };
        Ok(planned.into_iter().map(&mut mapper).collect())
    }

    /// Plans what the amounts of a table are in, and what they become.
    fn plan_money(
        &self,
        target: Table,
        table: &TableDeclaration,
        key: &str,
        known: &KnownColumns,
        rows: &mut RowPlan,
    ) -> Result<Option<MoneyPlan>, IngestError> {
        let currency = table.currency.as_ref().filter(|_| target != Table::Accounts);
        let Some(currency) = currency.map(CurrencyKey::source) else { return Ok(None) };
        let rates = match &table.convert {
            None => None,
            Some(convert) => {
                let key = format!("{key}.convert.rates");
                let opened = find_input(&(self.rates)(convert), self.inputs, &key).of_mapping(self.reading.mapping)?;
                Some((convert, opened, opened.held_rows(self.reading)?))
            }
        };
        let convert = rates.as_ref().map(|(convert, opened, held)| (*convert, *opened, held.as_ref()));
        let mut planner = ColumnPlanner { maps: self.maps, clock: self.clock, known, rows };
        let money = MoneyPlan::new(&currency, convert, &mut planner, self.accounts, key);
        money.of_mapping(self.reading.mapping).map(Some)
    }

    /// Plans the columns of a table, and what is required of its dates.
    fn plan_columns(
        &self,
        target: Table,
        sources: &ValueSources<'_>,
        known: &KnownColumns,
        rows: &mut RowPlan,
        skips_undated: bool,
    ) -> Result<(Vec<(String, ColumnPlan)>, Dates), MappingFault> {
        let mut planner = ColumnPlanner { maps: self.maps, clock: self.clock, known, rows };
        let mut columns = Vec::new();
        for (name, (source, key)) in sources {
            let is_copied = self.credit.is_some_and(|credit| credit.columns.iter().any(|copied| copied == name));
            let column_type = match target.column_type(name) {
                // Credit copies the column between tables, so it is text in each of them.
                ColumnType::Dimension if is_copied => ColumnType::Text,
                column_type => column_type,
            };
            columns.push(((*name).to_owned(), planner.plan(source, column_type, key)?));
        }
        let date = ["date", "dateTime"].iter().find_map(|name| sources.get(name));
        let dates = match date {
            None => Dates::None,
            Some(_) if skips_undated => Dates::Skip,
            Some((source, key)) => {
                let column = source.column.clone().unwrap_or_else(|| "date".to_owned());
                Dates::Refuse(ColumnSite { key: key.clone(), column, at: ColumnRef::FIRST })
            }
        };
        Ok((columns, dates))
    }
}

impl RowMapper for TableMapper {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn shown(&self) -> &Path {
        &self.shown
    }

    fn table(&self) -> String {
        self.mapped_by.clone()
    }

    fn warnings(&self) -> Vec<String> {
        let of_stage = self.conditions.iter().filter_map(Condition::warning);
        self.rows.warnings().into_iter().chain(of_stage).collect()
    }

    fn map(&self, raw: &mut RawRows, limits: ReadLimits) -> Result<DecodedBatch, ArrowError> {
        let batch = &raw.decoded.batch;
        let texts = self.rows.texts_of(batch)?;
        // Most periods are months, so that a batch has about as many rows as any other.
        let limit = if self.spread.is_some() { (limits.rows / 31).max(1) } else { limits.rows };
        let (mut picked, mut left_out, end, mut raw_faults) = self.rows.pick(&texts, raw.done, batch.num_rows(), limit);
        // The rows that a join refuses.
        let mut refused = self.rows.unjoined(raw_faults.iter().map(|(row, _)| *row));
        // A view borrows `picked`, which loses rows between the uses.
        macro_rules! view {
            () => {
                RowView { plan: &self.rows, batch, texts: &texts, picked: &picked }
            };
        }
        for (name, plan) in self.columns.iter().filter(|(_, plan)| plan.skips_rows()) {
            let kept = plan.kept_rows(&view!());
            left_out.take(&mut picked, &kept, &format!("value of {name} that the map does not have"));
        }
        if !self.conditions.is_empty() {
            let kept = self.kept_rows(&view!());
            left_out.take(&mut picked, &kept, "conditions of the stage");
        }
        let accounts = self.accounts(&view!())?;
        let mut faults = PickedFaults::default();
        let mut made: Vec<Option<ArrayRef>> = vec![None; self.columns.len()];
        for (slot, (_, plan)) in made.iter_mut().zip(&self.columns).filter(|(_, (name, _))| is_date(name)) {
            *slot = Some(plan.read(&view!(), &accounts, &mut faults)?);
        }
        if !matches!(self.dates, Dates::None) {
            let mut dated = vec![false; picked.len()];
            for dates in made.iter().flatten() {
                dated.iter_mut().enumerate().for_each(|(row, dated)| *dated |= dates.is_valid(row) || faults.has(row));
            }
            if let Dates::Refuse(site) = &self.dates {
                for row in (0..dated.len()).filter(|row| !dated[*row]) {
                    faults.add(row, site.fault(&view!(), row, String::new(), "expected a date".to_owned()));
                }
            } else if dated.contains(&false) {
                left_out.take(&mut picked, &dated, "no date");
                faults.keep(&dated);
                let dated = BooleanArray::from(dated);
                for dates in made.iter_mut().flatten() {
                    *dates = filter(dates, &dated)?;
                }
            }
        }
        for (slot, (_, plan)) in made.iter_mut().zip(&self.columns).filter(|(slot, _)| slot.is_none()) {
            *slot = Some(plan.read(&view!(), &StringCells::Absent, &mut faults)?);
        }
        let mut columns: Vec<ArrayRef> = made.into_iter().flatten().collect();
        let mut periods = self.spread.as_ref().map(|spread| spread.periods(&view!(), &mut faults)).transpose()?;
        let mut currencies = match &self.money {
            Some(money) => self.check_money(money, &view!(), (&columns, periods.as_deref()), &mut faults)?,
            None => Vec::new(),
        };
        let NotNormalCells { count: not_normal, mut first } = std::mem::take(&mut faults.not_normal);
        first.sort_by_key(|(row, _)| *row);
        first.truncate(NotNormalValue::MAX);
        let location = |row: usize| raw.decoded.locations.in_file(picked.from[row] as usize);
        let first_not_normal = first.into_iter().map(|(row, fault)| fault.into_value(location(row))).collect();
        if !faults.is_empty() {
            let sound: Vec<bool> = (0..picked.len()).map(|row| !faults.has(row)).collect();
            if let Some(periods) = &mut periods {
                let mut sound = sound.iter();
                periods.retain(|_| sound.next() == Some(&true));
            }
            let mut is_sound = sound.iter();
            currencies.retain(|_| is_sound.next() == Some(&true));
            raw_faults.extend(std::mem::take(&mut faults).into_raw(&picked.from));
            refused.extend(&picked.split_off(&sound));
            let sound = BooleanArray::from(sound);
            columns = columns.iter().map(|column| filter(column, &sound)).collect::<Result<_, _>>()?;
        }
        let mut locations: Vec<InputLocation> =
            picked.from.iter().map(|row| raw.decoded.locations.in_file(*row as usize)).collect();
        let mut days_of: Vec<u32> = Vec::new();
        if let Some(periods) = periods {
            let periods: Vec<Period> = periods.into_iter().flatten().collect();
            debug_assert_eq!(periods.len(), picked.len(), "a row without a period has a fault");
            let types = self.columns.iter().map(|(name, _)| Table::Spend.column_type(name));
            columns = columns
                .iter()
                .zip(types)
                .map(|(column, column_type)| spread_column(column, column_type, &periods))
                .collect::<Result<_, _>>()?;
            columns.push(dates_of_days(&periods));
            days_of = rows_of_days(&periods);
            locations = days_of.iter().map(|row| locations[*row as usize]).collect();
        }
        let mut converted = Vec::new();
        if let Some(money) = &self.money {
            if self.spread.is_some() {
                currencies = days_of.iter().map(|row| currencies[*row as usize]).collect();
            }
            self.convert(money, &mut columns, &currencies, &mut converted)?;
        }
        let mut mapped = self.batch(columns, locations.len())?;
        if let Some(credit) = &self.credit {
            mapped = credit.apply(&mapped)?;
        }
        let amounts = |picked| self.amounts(&RowView { plan: &self.rows, batch, texts: &texts, picked });
        let of_refused = amounts(&refused)?;
        let refused = (0..).zip(&refused.from).map(|(at, row)| (*row as usize, of_refused.of(at))).collect();
        let row_faults = row_faults(raw_faults, &refused, raw, limits);
        let left_out = left_out.with_amounts(&amounts(&left_out.rows)?);
        let mut joined = if self.rows.has_many() {
            let taken = amounts(&picked)?;
            let taken = (0..).zip(&picked.from).map(|(at, row)| (*row as usize, taken.of(at)));
            let faults = row_faults.iter().map(|(row, fault)| (*row, fault.totals.unwrap_or_default()));
            beyond_first(taken.chain(left_out.iter().map(|(row, _, totals)| (*row, *totals))).chain(faults))
        } else {
            ControlTotals::default()
        };
        // The days of a period have together what its row has.
        joined.rows += (mapped.num_rows() - picked.len()) as u64;
        let mut outcomes = InputProtocol { joined, converted, not_normal, ..InputProtocol::default() };
        left_out.iter().for_each(|(_, cause, totals)| outcomes.leave_out(cause, *totals));
        let row_faults = row_faults.into_iter().map(|(_, fault)| fault).collect();
        let outcomes = MappedOutcomes { protocol: outcomes, first_not_normal };
        Ok(raw.finish(end, mapped, locations, row_faults, Box::new(outcomes)))
    }
}

impl TableMapper {
    /// Returns the checksums of what the dataset holds for joins of the table, by the keys of the joins.
    pub(super) fn stored_rows(&self) -> &BTreeMap<String, String> {
        self.rows.stored_rows()
    }

    /// Returns whether each picked row meets the conditions of the stage.
    fn kept_rows(&self, view: &RowView<'_>) -> Vec<bool> {
        let mut kept = vec![true; view.len()];
        for condition in &self.conditions {
            let (texts, mut others) = (view.texts(condition.column), FirstTexts::default());
            for (row, kept) in kept.iter_mut().enumerate() {
                *kept &= condition.is_met(texts.get(row).unwrap_or_default().trim(), &mut others);
            }
            condition.add(&others);
        }
        kept
    }

    /// Checks the currencies of picked rows, given their canonical columns and their periods. Returns what the amounts
    /// of each are converted from.
    fn check_money(
        &self,
        money: &MoneyPlan,
        view: &RowView<'_>,
        (columns, periods): (&[ArrayRef], Option<&[Option<Period>]>),
        faults: &mut PickedFaults,
    ) -> Result<RowCurrencies, ArrowError> {
        let column = |name: &str| self.columns.iter().position(|(own, _)| own == name).and_then(|at| columns.get(at));
        let accounts = StringCells::of(column(ACCOUNT))?;
        let days = match periods {
            Some(periods) => periods.iter().map(|period| period.map(Period::first)).collect(),
            None => money.days(&accounts, view.len(), column)?,
        };
        let amounts: Vec<&ArrayRef> = self.table.amounts().iter().filter_map(|name| column(name)).collect();
        let has_amount = |row: usize| amounts.iter().any(|amounts| amounts.is_valid(row));
        money.check(view, (&accounts, &days), has_amount, faults)
    }

    /// Converts the amounts of rows. `currencies` are what they are converted from.
    fn convert(
        &self,
        money: &MoneyPlan,
        columns: &mut [ArrayRef],
        currencies: &RowCurrencies,
        converted: &mut Vec<ConvertedAmounts>,
    ) -> Result<(), ArrowError> {
        let names = || self.columns.iter().map(|(name, _)| name.as_str()).chain(["date"]);
        let days = {
            let column = |name: &str| names().position(|own| own == name).and_then(|at| columns.get(at));
            money.days(&StringCells::of(column(ACCOUNT))?, currencies.len(), column)?
        };
        let rows: Vec<(Option<Currency>, Option<i32>)> = currencies.iter().copied().zip(days).collect();
        for (name, column) in names().zip(columns).filter(|(name, _)| self.table.amounts().contains(name)) {
            *column = money.convert(name, column, &rows, converted)?;
        }
        money.count(currencies, converted);
        Ok(())
    }

    /// Returns the account of each picked row, if a column of times needs it.
    fn accounts(&self, view: &RowView<'_>) -> Result<StringCells, ArrowError> {
        let is_needed = self.columns.iter().any(|(_, plan)| plan.needs_accounts());
        let Some((_, plan)) = self.columns.iter().find(|(name, _)| is_needed && name == "account") else {
            return Ok(StringCells::Absent);
        };
        // The column is read again with the others, and its faults are kept then.
        StringCells::of(Some(&plan.read(view, &StringCells::Absent, &mut PickedFaults::default())?))
    }

    /// Reads the amounts of rows as far as they can be read.
    fn amounts(&self, view: &RowView<'_>) -> Result<RowAmounts, ArrowError> {
        let mut amounts = RowAmounts::default();
        if view.len() == 0 {
            return Ok(amounts);
        }
        for name in self.table.amounts() {
            let Some((_, plan)) = self.columns.iter().find(|(column, _)| column == name) else { continue };
            let mut faults = PickedFaults::default();
            let column = plan.read(view, &StringCells::Absent, &mut faults)?;
            amounts.add(name, &column, |row| faults.has(row));
        }
        Ok(amounts)
    }

    /// Returns the canonical columns as a batch, which may have rows even without columns.
    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch, ArrowError> {
        let names = self.columns.iter().map(|(name, _)| name.as_str()).chain(["date"]);
        let fields = names.zip(&columns).map(|(name, array)| Field::new(name, array.data_type().clone(), true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        RecordBatch::try_new_with_options(schema, columns, &RecordBatchOptions::new().with_row_count(Some(rows)))
    }
}

/// Returns the totals of the rows beyond the first that were made of one row of a batch, given the row of each.
fn beyond_first(made: impl Iterator<Item = (usize, ControlTotals)>) -> ControlTotals {
    let mut seen = HashSet::new();
    made.filter(|(row, _)| !seen.insert(*row)).map(|(_, totals)| totals).sum()
}

fn is_date(column: &str) -> bool {
    matches!(column, "date" | "dateTime")
}
