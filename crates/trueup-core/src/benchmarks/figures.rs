//! What the benchmarks of one range are made of.

use super::BenchmarkDimension;
use super::metric::{AccountAmounts, AmountMetric};
use super::names::SortedTexts;
use crate::dataset::Dataset;
use crate::error::Error;
use crate::model::Account;
use crate::query::{DateRange, EventsQuery};
use crate::{Execution, ResultTable, Texts, Values};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The accounts' exact amounts in one range of days, from which every benchmark of that range is answered.
///
/// All that is counted or summed over events adds up over the four dimensions, so amounts are held for each combination of them
/// that occurs, and the amounts of any other grouping are sums of these. Spend is held by the dimensions that it carries.
///
/// ```
/// use std::collections::BTreeSet;
/// use trueup_core::benchmarks::{BenchmarkData, BenchmarkPeriod, Privacy, BenchmarkQuery, BenchmarkSelection};
/// use trueup_core::dataset::{Dataset, Tables};
///
/// let dataset = Dataset::from_tables(&Tables::default())?;
/// let january = BenchmarkPeriod::read(Some("2025-01"), "2025-03-15".parse()?)?;
/// let figures = BenchmarkData::gather(&dataset, january.range, &Default::default())?;
/// let own = BTreeSet::from(["north".to_owned()]);
/// let question =
///     BenchmarkQuery { selection: &BenchmarkSelection::default(), scope: &own, reach: &own, privacy: Privacy::default() };
/// // There is nobody to compare with.
/// assert!(figures.answer(&question).is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct BenchmarkData {
    pub(super) range: DateRange,
    /// The industries of all accounts that have one.
    pub(super) industries: BTreeMap<String, Arc<str>>,
    pub(super) accounts: SortedTexts,
    /// The texts of each dimension.
    pub(super) texts: [SortedTexts; 4],
    pub(super) events: Vec<EventAmounts>,
    pub(super) spend: Vec<SpendAmounts>,
}

/// An account's customers with one combination of the dimensions.
#[derive(Debug)]
pub(super) struct EventAmounts {
    pub(super) account: usize,
    /// A code per dimension.
    pub(super) segment: [usize; 4],
    /// Spend, which events know nothing of, is 0.
    pub(super) amounts: AccountAmounts,
}

/// An account's spend with one combination of the dimensions that spend carries.
#[derive(Debug)]
pub(super) struct SpendAmounts {
    pub(super) account: usize,
    /// A code per dimension of [`BenchmarkDimension::CARRIED`].
    pub(super) segment: [usize; 2],
    /// Millionths.
    pub(super) spend: i128,
}

impl BenchmarkData {
    /// Reads what the benchmarks of `range` are made of, for all accounts of the dataset. A limit on rows does not apply.
    ///
    /// # Errors
    /// A file does not read, the range ends before it starts, or `execution` is interrupted.
    pub fn gather(dataset: &Dataset, range: DateRange, execution: &Execution) -> Result<Self, Error> {
        let run = |dimensions: &[BenchmarkDimension], is_spend: bool| {
            let names = dimensions.iter().map(|dimension| dimension.name());
            let amounts = amounts(is_spend).map(AmountMetric::name);
            let fields = ["account"].into_iter().chain(names).chain(amounts);
            let query = EventsQuery::new(fields, range.start, range.end).allow_long_total();
            dataset.run(&query, Execution { max_rows: None, ..execution.clone() })
        };
        let (events, spend) = (run(&BenchmarkDimension::ALL, false)?, run(&BenchmarkDimension::CARRIED, true)?);
        let (events, spend) = (AnswerColumns::of(&events), AnswerColumns::of(&spend));
        let accounts = SortedTexts::of(&[events.keys[0], spend.keys[0]]);
        // The first dimensions of all are those that spend carries.
        let texts = BenchmarkDimension::ALL.map(|dimension| {
            let key = dimension.place() + 1;
            SortedTexts::of(&events.keys.get(key).into_iter().chain(spend.keys.get(key)).copied().collect::<Vec<_>>())
        });
        let codes = |columns: &AnswerColumns<'_>| -> Vec<Vec<usize>> {
            let names = [&accounts].into_iter().chain(&texts);
            names.zip(&columns.keys).map(|(names, column)| names.codes(column)).collect()
        };
        let (event_codes, spend_codes) = (codes(&events), codes(&spend));
        let events = (0..event_codes[0].len()).map(|row| {
            let mut held = [0; AmountMetric::ALL.len()];
            for (amount, values) in amounts(false).zip(&events.amounts) {
                held[amount as usize] = exact(values, row);
            }
            let segment = std::array::from_fn(|place| event_codes[place + 1][row]);
            EventAmounts { account: event_codes[0][row], segment, amounts: held }
        });
        let spend = (0..spend_codes[0].len()).map(|row| SpendAmounts {
            account: spend_codes[0][row],
            segment: std::array::from_fn(|place| spend_codes[place + 1][row]),
            spend: exact(spend.amounts[0], row),
        });
        let industry = |account: &Account| Some((account.key.clone(), Arc::from(account.industry.as_deref()?)));
        Ok(Self {
            range,
            industries: dataset.accounts().iter().filter_map(industry).collect(),
            events: events.collect(),
            spend: spend.filter(|figures| figures.spend != 0).collect(),
            accounts,
            texts,
        })
    }

    /// The days that the figures are of.
    #[must_use]
    pub const fn range(&self) -> DateRange {
        self.range
    }
}

/// The amounts that come from the spend table, or those that come from events, in order.
fn amounts(is_spend: bool) -> impl Iterator<Item = AmountMetric> {
    AmountMetric::ALL.into_iter().filter(move |amount| amount.is_spend() == is_spend)
}

/// The columns of an answer: accounts and dimensions, then amounts, each in the order of the query.
struct AnswerColumns<'a> {
    keys: Vec<&'a Texts>,
    amounts: Vec<&'a Values>,
}

impl<'a> AnswerColumns<'a> {
    fn of(table: &'a ResultTable) -> Self {
        let (mut keys, mut amounts) = (Vec::new(), Vec::new());
        for column in table.columns() {
            match &column.values {
                Values::Texts(texts) => keys.push(texts),
                values => amounts.push(values),
            }
        }
        Self { keys, amounts }
    }
}

/// A whole number: of things, or of millionths.
fn exact(values: &Values, row: usize) -> i128 {
    match values {
        Values::Counts(counts) => i128::from(counts[row]),
        Values::Money(amounts) => amounts[row],
        // No amount is of these kinds.
        Values::Days(_) | Values::Texts(_) | Values::Ratios(_) => 0,
    }
}
