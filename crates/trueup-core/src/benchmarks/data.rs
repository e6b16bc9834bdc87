//! The amounts that the benchmarks of one range of days are computed from.

use super::BenchmarkDimension;
use super::cells::{EVENT_WORKING_BYTES, SPEND_WORKING_BYTES, SegmentCodes};
use super::fields::{AccountAmounts, AmountMetric};
use super::lattice::Lattice;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::model::{Account, Currency};
use crate::query::{DateRange, EventsQuery};
use crate::{Code, Execution, ResultTable, StringColumn, Values};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

/// The exact amounts of all accounts in one range of days, from which every benchmark of that range is answered.
///
/// Counts and sums over events add up across the four dimensions of benchmarks. So the data holds one entry for each
/// account and combination of their values, and sums entries to answer any other grouping. Spend is held for each
/// account and combination of the dimensions that spend has.
///
/// # Example: a dataset without accounts to compare with
/// ```
/// use std::collections::BTreeSet;
/// use trueup_core::benchmarks::{BenchmarkData, BenchmarkPeriod, BenchmarkQuery, BenchmarkSelection, Privacy};
/// use trueup_core::dataset::{Dataset, Tables};
///
/// let dataset = Dataset::from_tables(&Tables::default())?;
/// let january = BenchmarkPeriod::read(Some("2025-01"), "2025-03-15".parse()?)?;
/// let data = BenchmarkData::gather(&dataset, january.range, &Default::default())?;
/// let own = BTreeSet::from(["north".to_owned()]);
/// let selection = BenchmarkSelection::default();
/// let query = BenchmarkQuery { selection: &selection, scope: &own, reach: &own, privacy: Privacy::default() };
/// assert!(data.answer(&query).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BenchmarkData {
    /// The days that the amounts cover.
    pub(super) range: DateRange,
    /// The kind of each account that the account table describes, by account key.
    pub(super) kinds: BTreeMap<String, AccountKind>,
    /// The keys of the accounts with events or spend.
    pub(super) accounts: SortedTexts,
    /// The texts of each dimension.
    pub(super) texts: [SortedTexts; 4],
    /// The combinations of the dimensions that events have, in the order of their codes.
    pub(super) combinations: Vec<SegmentCodes>,
    /// In the order of accounts.
    pub(super) events: Vec<EventAmounts>,
    pub(super) spend: Vec<SpendAmounts>,
    /// What is published to the callers that asked last, the newest last.
    pub(super) lattices: Mutex<VecDeque<Arc<Lattice>>>,
}

/// What decides which accounts an account is compared with.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct AccountKind {
    pub(super) industry: Option<Arc<str>>,
    /// The currency of its amounts; `None` if it states none.
    pub(super) currency: Option<Currency>,
}

/// The amounts of one account for one combination of the dimensions.
#[derive(Debug)]
pub(super) struct EventAmounts {
    /// The code of the account.
    pub(super) account: Code,
    /// The index of the combination of the dimensions.
    pub(super) combination: u32,
    /// The amounts of the events. Spend is 0, because events do not have it.
    pub(super) amounts: AccountAmounts,
}

/// The spend of one account for one combination of the dimensions that spend has.
#[derive(Debug)]
pub(super) struct SpendAmounts {
    /// The code of the account.
    pub(super) account: Code,
    /// The code of the value of each dimension of [`BenchmarkDimension::IN_SPEND`].
    pub(super) segment: [Code; 2],
    /// Money in millionths.
    pub(super) spend: i128,
}

impl BenchmarkData {
    /// Reads the amounts of all accounts of the dataset with two queries, one over events and one over spend. The row
    /// limit of `execution` does not apply.
    ///
    /// # Errors
    /// Returns an error if a file cannot be read, if the range ends before it starts, or if the interrupt or the memory
    /// of `execution` ends a query.
    pub fn gather(dataset: &Dataset, range: DateRange, execution: &Execution) -> Result<Self, Error> {
        let run = |dimensions: &[BenchmarkDimension], is_spend: bool| {
            let names = dimensions.iter().map(|dimension| dimension.name());
            let amounts = amounts(is_spend).map(AmountMetric::name);
            let fields = ["account"].into_iter().chain(names).chain(amounts);
            let query = EventsQuery::new(fields, range.start, range.end).allow_long_total();
            dataset.run(&query, Execution { max_rows: None, ..execution.clone() })
        };
        let (events, spend) = (run(&BenchmarkDimension::ALL, false)?, run(&BenchmarkDimension::IN_SPEND, true)?);
        let (events, spend) = (ResultColumns::of(&events), ResultColumns::of(&spend));
        let accounts = SortedTexts::of(&[events.keys[0], spend.keys[0]]);
        // The dimensions in spend are the first ones of all, so that their key columns have the same index in both
        // tables.
        let texts = BenchmarkDimension::ALL.map(|dimension| {
            let key = dimension.index() + 1;
            SortedTexts::of(&events.keys.get(key).into_iter().chain(spend.keys.get(key)).copied().collect::<Vec<_>>())
        });
        let codes = |columns: &ResultColumns<'_>| -> Vec<Vec<Code>> {
            let dictionaries = [&accounts].into_iter().chain(&texts);
            dictionaries.zip(&columns.keys).map(|(texts, column)| texts.codes(column)).collect()
        };
        let (event_codes, spend_codes) = (codes(&events), codes(&spend));
        let segment = |row: usize| -> SegmentCodes { std::array::from_fn(|index| event_codes[index + 1][row]) };
        let mut combinations: Vec<SegmentCodes> = (0..event_codes[0].len()).map(segment).collect();
        combinations.sort_unstable();
        combinations.dedup();
        combinations.shrink_to_fit();
        let events = (0..event_codes[0].len()).map(|row| {
            let mut of_account = [0; AmountMetric::ALL.len()];
            for (amount, values) in amounts(false).zip(&events.amounts) {
                of_account[amount as usize] = values.integer(Some(row));
            }
            // Each combination is in the list, and a month has fewer than 2^32.
            let combination = combinations.binary_search(&segment(row)).unwrap_or_default();
            let combination = u32::try_from(combination).unwrap_or_default();
            EventAmounts { account: event_codes[0][row], combination, amounts: of_account }
        });
        let spend = (0..spend_codes[0].len()).map(|row| SpendAmounts {
            account: spend_codes[0][row],
            segment: std::array::from_fn(|index| spend_codes[index + 1][row]),
            spend: spend.amounts[0].integer(Some(row)),
        });
        let events: Vec<EventAmounts> = events.collect();
        // The first field orders the rows of a query.
        debug_assert!(events.is_sorted_by_key(|entry| entry.account));
        let kind = |account: &Account| AccountKind {
            industry: account.industry.as_deref().map(Arc::from),
            currency: account.currency,
        };
        Ok(Self {
            range,
            kinds: dataset.accounts().iter().map(|account| (account.key.clone(), kind(account))).collect(),
            combinations,
            events,
            spend: spend.filter(|entry| entry.spend != 0).collect(),
            accounts,
            texts,
            lattices: Mutex::default(),
        })
    }

    /// Returns the data of days without events and spend.
    #[must_use]
    pub fn empty(range: DateRange) -> Self {
        let (kinds, accounts) = (BTreeMap::new(), SortedTexts(Vec::new()));
        let texts = std::array::from_fn(|_| SortedTexts(Vec::new()));
        Self {
            range,
            kinds,
            accounts,
            texts,
            combinations: Vec::new(),
            events: Vec::new(),
            spend: Vec::new(),
            lattices: Mutex::default(),
        }
    }

    /// Returns the bytes that the data takes, with what is decided about it.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let texts = self.texts.iter().chain([&self.accounts]).map(SortedTexts::bytes).sum::<usize>();
        let kind = |(key, kind): (&String, &AccountKind)| {
            key.len() + kind.industry.as_ref().map_or(0, |text| text.len()) + size_of::<(String, AccountKind)>()
        };
        let kinds: usize = self.kinds.iter().map(kind).sum();
        let lattices = self.lattices.lock().unwrap_or_else(PoisonError::into_inner);
        let decided: usize = lattices.iter().map(|lattice| lattice.bytes()).sum();
        let amounts = self.events.capacity() * size_of::<EventAmounts>()
            + self.combinations.capacity() * size_of::<SegmentCodes>();
        amounts + self.spend.capacity() * size_of::<SpendAmounts>() + texts + kinds + decided
    }

    /// Returns the bytes that an [answer](Self::answer) takes at most while it is computed.
    #[must_use]
    pub const fn working_bytes(&self) -> usize {
        self.events.len() * EVENT_WORKING_BYTES + self.spend.len() * SPEND_WORKING_BYTES
    }

    /// Returns the days that the amounts cover.
    #[must_use]
    pub const fn range(&self) -> DateRange {
        self.range
    }
}

/// Returns the amounts from the spend table, or those from events, in order.
fn amounts(is_spend: bool) -> impl Iterator<Item = AmountMetric> {
    AmountMetric::ALL.into_iter().filter(move |amount| amount.is_spend() == is_spend)
}

/// The columns of a result table, in the order of the query: keys (the account, then dimensions) and amounts.
struct ResultColumns<'a> {
    keys: Vec<&'a StringColumn>,
    amounts: Vec<&'a Values>,
}

impl<'a> ResultColumns<'a> {
    fn of(table: &'a ResultTable) -> Self {
        let (mut keys, mut amounts) = (Vec::new(), Vec::new());
        for column in table.columns() {
            match &column.values {
                Values::Strings(texts) => keys.push(texts),
                values => amounts.push(values),
            }
        }
        Self { keys, amounts }
    }
}

/// Distinct texts, sorted byte by byte. The code of a text is its index.
#[derive(Debug)]
pub(super) struct SortedTexts(Vec<Arc<str>>);

impl SortedTexts {
    /// Merges the dictionaries of the columns.
    fn of(columns: &[&StringColumn]) -> Self {
        let texts: BTreeSet<&str> = columns.iter().flat_map(|texts| texts.dictionary().iter()).collect();
        Self(texts.into_iter().map(Arc::from).collect())
    }

    /// Returns the code of a text; `None` if it has none.
    pub(super) fn code(&self, text: &str) -> Option<Code> {
        let index = self.0.binary_search_by(|known| (**known).cmp(text)).ok()?;
        u32::try_from(index).ok().map(Code)
    }

    /// Returns the code of each row of a column, all of whose texts have one.
    fn codes(&self, column: &StringColumn) -> Vec<Code> {
        // Every text has a code, so the default is never used.
        let shared: Vec<Code> = column.dictionary().iter().map(|text| self.code(text).unwrap_or(Code(0))).collect();
        column.codes().iter().map(|code| shared[*code as usize]).collect()
    }

    /// Returns the bytes that the texts take.
    fn bytes(&self) -> usize {
        // Each text has two counts.
        let text = |text: &Arc<str>| text.len() + size_of::<Arc<str>>() + 2 * size_of::<usize>();
        self.0.iter().map(text).sum()
    }

    /// Returns the text of a code.
    pub(super) fn text(&self, code: Code) -> &Arc<str> {
        &self.0[code.index()]
    }

    /// Returns the texts in the order of their codes.
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|text| &**text)
    }
}
