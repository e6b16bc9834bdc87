//! The decoded columns of events.

use super::source::NumberKind;
use super::text::encode;
use super::{
    Amounts, AttributedText, Codes, ColumnFault, ColumnSource, CustomerBlock, CustomerIndex, EventProjection,
    FlagsSlice, NO_VALUE, StageHistories, TableColumns, TextColumn, TextDictionary,
};
use crate::attribution::Attribution;
use crate::model::{CUSTOMER_COLUMN, MICROS_PER_DAY, Stage};
use std::collections::BTreeMap;
use std::sync::Arc;
use trueup_parquet::LiveRows;

/// The fault of a deletion vector whose rows are not whole customers.
const PART_OF_CUSTOMER: &str = "a part of a customer is superseded";

/// The decoded columns of a row group of events: whole customers, in the order in which they are stored. Each column is
/// shared, so that queries that need different columns can hold the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventColumns {
    /// The rows of each customer.
    pub(crate) customers: Arc<CustomerIndex>,
    /// The customers that are left, in order. Others were superseded after the columns were decoded, and no query may
    /// count their events.
    pub(crate) blocks: Arc<[CustomerBlock]>,
    /// For each event, its day, in days since 1970-01-01. The days of a customer never decrease.
    pub(crate) days: Arc<[u16]>,
    /// The stages of events and customers.
    pub(crate) histories: Arc<StageHistories>,
    /// The amount of each event; `None` if it is not decoded.
    pub(crate) totals: Option<Arc<Amounts>>,
    /// For each event, microseconds since 1970 in UTC, or [`NO_VALUE`]; `None` if they are not decoded.
    pub(crate) date_times: Option<Arc<[i64]>>,
    /// The decoded text columns by name; `None` for a name that the file does not have.
    pub(crate) texts: BTreeMap<String, Option<Arc<TextColumn>>>,
    /// The text columns that were made by attributions; `None` for a column that the file does not have.
    pub(crate) attributed: BTreeMap<AttributedText, Option<Arc<TextColumn>>>,
}

impl TableColumns for EventColumns {
    type Projection = EventProjection;

    fn add_decoded(&self, projection: &mut EventProjection) {
        for name in self.texts.keys() {
            if !projection.texts.contains(name) {
                projection.texts.insert(name.clone());
            }
        }
        projection.attributed.extend(self.attributed.keys().cloned());
        projection.totals |= self.totals.is_some();
        projection.date_times |= self.date_times.is_some();
    }

    fn missing(&self, projection: &EventProjection) -> EventProjection {
        EventProjection {
            texts: projection.texts.iter().filter(|name| !self.texts.contains_key(*name)).cloned().collect(),
            attributed: projection
                .attributed
                .iter()
                .filter(|text| !self.attributed.contains_key(*text))
                .cloned()
                .collect(),
            totals: projection.totals && self.totals.is_none(),
            date_times: projection.date_times && self.date_times.is_none(),
        }
    }

    fn names(projection: &EventProjection, is_first: bool) -> Vec<&str> {
        projection.columns(is_first)
    }

    /// The rows must be whole customers in order.
    fn decode(source: &ColumnSource<'_>, projection: &EventProjection) -> Result<Self, ColumnFault> {
        let offsets = customer_offsets(source)?;
        let (accounts, account_keys) = accounts(source)?;
        let days = days(source)?;
        let stages = stages(source)?;
        let accounts = accounts
            .per_customer(&offsets)
            .ok_or_else(|| ColumnFault::new("account", "a customer has two accounts"))?;
        let histories = StageHistories::new(stages, &offsets);
        let customers = CustomerIndex::new(offsets, accounts, account_keys, &days)?;
        let columns = Self {
            blocks: customers.blocks(&days).into(),
            customers: Arc::new(customers),
            days: days.into(),
            histories: Arc::new(histories),
            ..Self::default()
        };
        columns.with(source, projection)
    }

    fn with(mut self, source: &ColumnSource<'_>, projection: &EventProjection) -> Result<Self, ColumnFault> {
        if projection.totals {
            self.totals = Some(Arc::new(amounts("total", source)?));
        }
        if projection.date_times {
            self.date_times = Some(date_times(source)?.into());
        }
        for name in &projection.texts {
            let decode = || -> Result<_, ColumnFault> {
                let (codes, dictionary) = codes(name, source)?;
                Ok(Arc::new(TextColumn::new(codes, dictionary, self.customers.offsets())))
            };
            let column = source.has(name).then(decode).transpose()?;
            self.texts.insert(name.clone(), column);
        }
        for text in &projection.attributed {
            debug_assert!(self.texts.contains_key(&text.name), "a column is attributed, but not read");
            let recorded = self.texts.get(&text.name).and_then(Option::as_ref);
            let attribute =
                |column| TextColumn::attribute(column, text.attribution, self.customers.offsets(), &self.histories);
            self.attributed.insert(text.clone(), recorded.map(attribute));
        }
        Ok(self)
    }

    fn leave_out(&self, left: &LiveRows) -> Result<Self, ColumnFault> {
        let blocks = self.customers.left_blocks(&self.blocks, left, &self.days);
        let blocks = blocks.ok_or_else(|| ColumnFault::new(CUSTOMER_COLUMN, PART_OF_CUSTOMER))?;
        Ok(Self { blocks: blocks.into(), ..self.clone() })
    }

    fn left_days(&self) -> Option<(u16, u16)> {
        let firsts = self.blocks.iter().map(|block| block.first_day);
        firsts.min().zip(self.blocks.iter().map(|block| block.last_day).max())
    }

    fn left_bytes(&self) -> usize {
        size_of_val(&*self.blocks)
    }

    fn bytes(&self) -> usize {
        let totals = self.totals.as_ref().map_or(0, |totals| totals.bytes());
        let date_times = self.date_times.as_ref().map_or(0, |times| size_of_val(&**times));
        let texts: usize = self.texts.values().flatten().map(|column| column.bytes()).sum();
        // A column shares its dictionary, and all of itself where the values of each customer are the same.
        let attributed = self.attributed.iter().filter_map(|(text, column)| {
            let (column, recorded) = (column.as_ref()?, self.texts.get(&text.name)?.as_ref()?);
            Some(if Arc::ptr_eq(column, recorded) { 0 } else { column.codes().bytes() })
        });
        let texts = texts + attributed.sum::<usize>();
        let days = size_of_val(&*self.days);
        self.customers.bytes() + self.left_bytes() + days + self.histories.bytes() + totals + date_times + texts
    }
}

impl EventColumns {
    /// Returns the events of a customer.
    pub(crate) fn history(&self, customer: usize) -> FlagsSlice<'_> {
        self.histories.events().slice(self.customers.events(customer))
    }

    /// Returns a text column as it is recorded, if it is decoded and the file has it. Its dictionary may hold texts of
    /// customers that are not left.
    pub(crate) fn text(&self, name: &str) -> Option<&TextColumn> {
        self.texts.get(name)?.as_deref()
    }

    /// Returns a text column by an attribution, if it is decoded and the file has it. Its dictionary may hold texts of
    /// customers that are not left, and texts that are recorded but credited with no event.
    pub(crate) fn text_by(&self, name: &str, attribution: Attribution) -> Option<&TextColumn> {
        match attribution {
            Attribution::Recorded => self.text(name),
            _ => self.attributed.get(&AttributedText { name: name.to_owned(), attribution })?.as_deref(),
        }
    }

    /// Returns the keys of the accounts that have a customer left; a key may occur more than once.
    pub(crate) fn present_accounts(&self) -> impl Iterator<Item = &str> {
        let firsts = self.blocks.chunk_by(|a, b| a.account == b.account).filter_map(|blocks| blocks.first());
        firsts.map(|block| &self.customers.account_keys()[block.account])
    }

    /// Returns the texts that the events that are left have in a column by an attribution, each once, and the empty
    /// text; none if the column is not decoded or the file does not have it.
    pub(crate) fn present_texts(&self, name: &str, attribution: Attribution) -> impl Iterator<Item = &str> {
        let column = self.text_by(name, attribution);
        let present = column.map(|column| (column, self.present_codes(column, attribution)));
        present.into_iter().flat_map(|(column, present)| {
            let texts = column.dictionary().iter().enumerate();
            texts.filter(move |(code, _)| present.as_ref().is_none_or(|present| present[*code])).map(|(_, text)| text)
        })
    }

    /// Returns for each code of a column whether it is that of the empty text or of an event that is left; `None` if
    /// each code is, because all customers are left and the values are recorded.
    fn present_codes(&self, column: &TextColumn, attribution: Attribution) -> Option<Vec<bool>> {
        let left = self.blocks.iter().map(|block| block.customers.len()).sum::<usize>();
        if attribution == Attribution::Recorded && left == self.customers.len() {
            return None;
        }
        let mut present = vec![false; column.dictionary().len()];
        present[0] = true;
        for customer in self.blocks.iter().flat_map(|block| block.customers.clone()) {
            for event in self.customers.events(customer) {
                present[column.code(customer, event).index()] = true;
            }
        }
        Some(present)
    }
}

/// Decodes where each customer that is left begins; the number of rows comes last. All customers, left or not, must be
/// numbered one by one.
fn customer_offsets(source: &ColumnSource<'_>) -> Result<Vec<u32>, ColumnFault> {
    let fault = |fault| ColumnFault::new(CUSTOMER_COLUMN, fault);
    let numbers = customer_numbers(source)?;
    let rows = u32::try_from(numbers.len()).map_err(|_| fault("too many rows"))?;
    // Each row writes its number as the offset of the next customer, and keeps it only if a customer begins there,
    // because a branch would often be mispredicted.
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
    let mut offsets = match source.left() {
        Some(left) => left.offsets(&offsets).ok_or_else(|| fault(PART_OF_CUSTOMER))?,
        None => offsets,
    };
    offsets.shrink_to_fit();
    Ok(offsets)
}

/// Decodes for each row, left or not, the number of its customer in the file.
pub(crate) fn customer_numbers(source: &ColumnSource<'_>) -> Result<Vec<i32>, ColumnFault> {
    let fault = |fault| ColumnFault::new(CUSTOMER_COLUMN, fault);
    let numbers = source.numbers(CUSTOMER_COLUMN, NumberKind::Customer, |number| {
        i32::try_from(number).map_err(|_| "a number is too large")
    })?;
    if numbers.rows.have_gaps() {
        return Err(fault("a number is missing"));
    }
    numbers.rows.expand(numbers.values, 0).map_err(fault)
}

/// Decodes the column `account`, which is never empty.
pub(super) fn accounts(source: &ColumnSource<'_>) -> Result<(Codes, TextDictionary), ColumnFault> {
    let accounts = codes("account", source)?;
    // Null and the empty text are code 0.
    if accounts.0.contain(0) { Err(ColumnFault::new("account", "an account is missing")) } else { Ok(accounts) }
}

/// Decodes a text column to a code for each row, and the texts by code.
pub(super) fn codes(name: &str, source: &ColumnSource<'_>) -> Result<(Codes, TextDictionary), ColumnFault> {
    encode(source.texts(name)?).map_err(|fault| ColumnFault::new(name, fault))
}

/// Decodes the column `date`, which is never empty.
pub(super) fn days(source: &ColumnSource<'_>) -> Result<Vec<u16>, ColumnFault> {
    let days =
        source.numbers("date", NumberKind::Day, |day| u16::try_from(day).map_err(|_| "a date is out of range"))?;
    if days.rows.have_gaps() {
        return Err(ColumnFault::new("date", "a date is missing"));
    }
    days.rows.expand(days.values, 0).map_err(|fault| ColumnFault::new("date", fault))
}

/// Decodes the column `type` to the codes of stages.
fn stages(source: &ColumnSource<'_>) -> Result<Vec<u8>, ColumnFault> {
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

/// Decodes a column of amounts.
pub(super) fn amounts(name: &str, source: &ColumnSource<'_>) -> Result<Amounts, ColumnFault> {
    Amounts::new(source.numbers(name, NumberKind::Amount, Ok)?).map_err(|fault| ColumnFault::new(name, fault))
}

fn date_times(source: &ColumnSource<'_>) -> Result<Vec<i64>, ColumnFault> {
    let in_range = |micros| if TIMES.contains(&micros) { Ok(micros) } else { Err("a point in time is out of range") };
    let times = source.numbers("dateTime", NumberKind::Time, in_range)?;
    times.rows.expand(times.values, NO_VALUE).map_err(|fault| ColumnFault::new("dateTime", fault))
}

/// The points in time that an event may have, in microseconds since 1970 in UTC: from two days before the first
/// [`Day`](crate::Day) to two days after the last. One of these days is for a date that differs from the local date of
/// the point in time, the other for the time zone.
const TIMES: std::ops::RangeInclusive<i64> = -2 * MICROS_PER_DAY..=(u16::MAX as i64 + 3) * MICROS_PER_DAY;
