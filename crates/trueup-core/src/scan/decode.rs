//! TableColumns of a source to a split's narrow ones.

use super::Projection;
use super::source::{ColumnSource, Kind};
use super::text::coded;
use super::{
    Amounts, Codes, ColumnFault, CustomerIndex, EventColumns, NO_VALUE, StageHistories, TableColumns, TextColumn,
    TextDictionary,
};
use crate::model::{CUSTOMER_COLUMN, Stage};
use std::sync::Arc;

impl TableColumns for EventColumns {
    type Projection = Projection;

    fn missing(&self, projection: &Projection) -> Projection {
        Projection {
            texts: projection.texts.iter().filter(|name| !self.texts.contains_key(*name)).cloned().collect(),
            totals: projection.totals && self.totals.is_none(),
            date_times: projection.date_times && self.date_times.is_none(),
        }
    }

    fn bytes(&self) -> usize {
        let totals = self.totals.as_ref().map_or(0, |totals| totals.bytes());
        let date_times = self.date_times.as_ref().map_or(0, |times| size_of_val(&**times));
        let texts: usize = self.texts.values().flatten().map(|column| column.bytes()).sum();
        self.customers.bytes() + size_of_val(&*self.days) + self.histories.bytes() + totals + date_times + texts
    }

    fn names(projection: &Projection, is_first: bool) -> Vec<&str> {
        projection.columns(is_first)
    }

    /// The rows are whole customers in order.
    fn decode(source: &impl ColumnSource, projection: &Projection) -> Result<Self, ColumnFault> {
        let offsets = customers(source)?;
        let (accounts, account_keys) = accounts(source)?;
        let days = days(source)?;
        let stages = stages(source)?;
        let accounts = accounts
            .per_customer(&offsets)
            .ok_or_else(|| ColumnFault::new("account", "a customer has two accounts"))?;
        let customers = CustomerIndex::new(offsets, accounts, account_keys, &days)?;
        let histories = StageHistories::new(stages, &customers);
        let split = Self {
            customers: Arc::new(customers),
            days: days.into(),
            histories: Arc::new(histories),
            ..Self::default()
        };
        split.with(source, projection)
    }

    fn with(mut self, source: &impl ColumnSource, projection: &Projection) -> Result<Self, ColumnFault> {
        if projection.totals {
            self.totals = Some(Arc::new(amounts("total", source)?));
        }
        if projection.date_times {
            self.date_times = Some(date_times(source)?.into());
        }
        for name in &projection.texts {
            let decoded = source.has(name).then(|| TextColumn::decode(name, source, &self.customers).map(Arc::new));
            self.texts.insert(name.clone(), decoded.transpose()?);
        }
        Ok(self)
    }
}

/// Where each customer begins, and behind them the number of rows. Customers must be numbered one by one.
fn customers(source: &impl ColumnSource) -> Result<Vec<u32>, ColumnFault> {
    let fault = |fault| ColumnFault::new(CUSTOMER_COLUMN, fault);
    let numbers = customer_numbers(source)?;
    let rows = u32::try_from(numbers.len()).map_err(|_| fault("too many rows"))?;
    // Each row writes down where the next customer would begin, and moves on if one does: a branch would be guessed wrong too often.
    let mut offsets = vec![0; numbers.len() + 1];
    let mut begun = usize::from(rows > 0);
    let mut steps = 0;
    for (row, pair) in (1..).zip(numbers.windows(2)) {
        let step = pair[1].wrapping_sub(pair[0]).cast_unsigned();
        offsets[begun] = row;
        begun += usize::from(step == 1);
        steps |= step;
    }
    if steps > 1 {
        return Err(fault("customers are not numbered one by one"));
    }
    offsets.truncate(begun);
    offsets.push(rows);
    offsets.shrink_to_fit();
    Ok(offsets)
}

/// The number of each row's customer in its file.
pub(crate) fn customer_numbers(source: &impl ColumnSource) -> Result<Vec<i32>, ColumnFault> {
    let fault = |fault| ColumnFault::new(CUSTOMER_COLUMN, fault);
    let numbers = source.numbers(CUSTOMER_COLUMN, Kind::Customer, |number| {
        i32::try_from(number).map_err(|_| "a number is too large")
    })?;
    if numbers.rows.have_gaps() {
        return Err(fault("a number is missing"));
    }
    numbers.rows.expand(numbers.values, 0).map_err(fault)
}

/// The codes and texts of the `account` column, which is never empty.
pub(super) fn accounts(source: &impl ColumnSource) -> Result<(Codes, TextDictionary), ColumnFault> {
    let accounts = coded("account", source)?;
    // Null and the empty text are code 0.
    if accounts.0.contain(0) { Err(ColumnFault::new("account", "an account is missing")) } else { Ok(accounts) }
}

pub(super) fn days(source: &impl ColumnSource) -> Result<Vec<u16>, ColumnFault> {
    let days = source.numbers("date", Kind::Day, |day| u16::try_from(day).map_err(|_| "a date is out of range"))?;
    if days.rows.have_gaps() {
        return Err(ColumnFault::new("date", "a date is missing"));
    }
    days.rows.expand(days.values, 0).map_err(|fault| ColumnFault::new("date", fault))
}

fn stages(source: &impl ColumnSource) -> Result<Vec<u8>, ColumnFault> {
    const UNKNOWN: &str = "a stage is unknown";
    let names = source.texts("type")?;
    let fault = |fault| ColumnFault::new("type", fault);
    if names.rows.have_gaps() {
        return Err(fault(UNKNOWN));
    }
    let stage = |name: &&str| Stage::from_name(name).map(Stage::code);
    let stages: Option<Vec<u8>> = names.values.iter().map(stage).collect();
    names.rows.expand(stages.ok_or_else(|| fault(UNKNOWN))?, 0).map_err(fault)
}

pub(super) fn amounts(name: &str, source: &impl ColumnSource) -> Result<Amounts, ColumnFault> {
    Amounts::new(source.numbers(name, Kind::Amount, Ok)?).map_err(|fault| ColumnFault::new(name, fault))
}

fn date_times(source: &impl ColumnSource) -> Result<Vec<i64>, ColumnFault> {
    let in_range = |micros| if TIMES.contains(&micros) { Ok(micros) } else { Err("a point in time is out of range") };
    let times = source.numbers("dateTime", Kind::Time, in_range)?;
    times.rows.expand(times.values, NO_VALUE).map_err(|fault| ColumnFault::new("dateTime", fault))
}

/// Points in time, in microseconds, up to two days around the days that an event may have: one for a date that differs from that of the
/// point in time, one for the time zone.
const TIMES: std::ops::RangeInclusive<i64> = {
    const DAY: i64 = 86_400_000_000;
    -2 * DAY..=(u16::MAX as i64 + 3) * DAY
};
