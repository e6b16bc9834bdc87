//! Compares the rows of an answer with the benchmarks of their segments.

use super::data::AccountKind;
use super::{
    BenchmarkData, BenchmarkDimension, BenchmarkMetric, BenchmarkPeriod, BenchmarkQuery, BenchmarkSelection, Privacy,
    Series,
};
use crate::dataset::Dataset;
use crate::error::{Error, QueryError};
use crate::finish::{Column, ExtendedQuery, ResultTable, StringColumn, change, exact_fraction, relative_change};
use crate::query::{AccountFilter, Attribution, DateRange, EventsQuery, Filter, Interval, Operand, Predicate};
use crate::{Day, Execution, Interrupt, Shown};
use num_bigint::BigInt;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A query whose answer is compared with benchmarks: each metric that has one gets further columns. A metric that the
/// dataset defines has the benchmark of the built-in metric that it repeats: a ratio of the same amounts.
///
/// | column | value |
/// |---|---|
/// | `m` | the value of the row |
/// | `m.benchmark` | the pooled figure of the row's segment, as a [benchmark row](super::BenchmarkRow) shows it |
/// | `m.difference` | `m` minus `m.benchmark` |
/// | `m.ratio` | `m.difference` divided by `m.benchmark`; null if that is 0 |
///
/// # Which benchmark a row has
/// Rows may be grouped by the dimensions of benchmarks, and by `account`. The benchmark of a row is that of its segment
/// for the accounts of the query or, if rows are grouped by `account`, for the account of the row alone. Filters of the
/// query on dimensions apply to the benchmark, too. Benchmarks of metrics that are made of money are those of the
/// currency of these accounts; if they have several, there are none. A benchmark that is withheld, or that nobody has a
/// value for, is null, and so are its difference and ratio. These two are also null where the denominator of the row is
/// 0, because such a row has no value, although `m` is 0. Both are computed from the exact value of the row and the
/// published figure, and rounded once.
///
/// # Totals
/// Totals are compared with the benchmark of all segments.
///
/// ```
/// use trueup_core::Value;
/// use trueup_core::benchmarks::BenchmarkComparison;
/// use trueup_core::dataset::{Dataset, Tables};
/// use trueup_core::query::EventsQuery;
///
/// let dataset = Dataset::from_tables(&Tables::default())?;
/// let query = EventsQuery::new(["bookRate"], "2025-01-01".parse()?, "2025-01-31".parse()?).accounts(["north"]);
/// let comparison = BenchmarkComparison::new(&query)?;
/// comparison.period("2025-03-15".parse()?)?;
/// let answer = comparison.run(&dataset, &Default::default())?;
/// assert_eq!(answer.value(0, "bookRate.benchmark"), Some(Value::Null));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BenchmarkComparison {
    /// The query, each of whose metrics that has benchmarks is extended by them.
    extended: ExtendedQuery<BenchmarkMetric>,
    selection: BenchmarkSelection,
    scope: BTreeSet<String>,
    is_by_account: bool,
}

/// Why a query cannot be compared with benchmarks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotBenchmarked {
    /// The query has an interval.
    #[error("a comparison with benchmarks is of one month, and not of each {0} of a range; leave the interval out")]
    Interval(Interval),
    /// The query is one of a cohort.
    #[error("benchmarks are of the events of a month, and not of a cohort of leads; leave the cohort out")]
    Cohort,
    /// The query takes attribution dimensions from other events.
    #[error(
        "benchmarks are by the attribution that is recorded, and not by the one of `{0}`; leave the attribution out"
    )]
    Attribution(Attribution),
    /// The query compares two ranges.
    #[error("an answer is compared either with another range or with benchmarks; leave one of the two out")]
    TwoRanges,
    /// The query reads all accounts.
    #[error("benchmarks compare some accounts with others; name the accounts")]
    AllAccounts,
    /// No field is a metric that has benchmarks.
    #[error(
        "none of the metrics has benchmarks; metrics with benchmarks are {}{}",
        BenchmarkMetric::all_names(),
        if *.is_defined { ", and metrics that the dataset defines as a ratio of the same amounts: other figures are not checked for \
        what they could reveal" } else { "" }
    )]
    NoMetric {
        /// Whether the dataset defines one of the metrics.
        is_defined: bool,
    },
    /// A field is a dimension that benchmarks do not have.
    #[error(
        "there are no benchmarks by `{}`, but by `{ACCOUNT}`, {}",
        Shown(.0), BenchmarkDimension::all_names()
    )]
    Dimension(String),
    /// A filter is one that benchmarks do not have.
    #[error(
        "benchmarks cannot have the filter on `{}`; they can be filtered on one value of each of {}",
        Shown(.0), BenchmarkDimension::all_names()
    )]
    Filter(String),
    /// The days are not those of the benchmarks.
    #[error(
        "benchmarks are of one calendar month: all of it, the current month up to today, or the month before up to the same \
         day; found {0}"
    )]
    Days(DateRange),
}

/// The dimension that benchmarks do not have, but which decides whose benchmarks a row has.
const ACCOUNT: &str = "account";

/// What the name of a column has after the name of its metric.
const SUFFIXES: [&str; 3] = [".benchmark", ".difference", ".ratio"];

impl From<NotBenchmarked> for QueryError {
    fn from(fault: NotBenchmarked) -> Self {
        Self::NotBenchmarked(Box::new(fault))
    }
}

impl BenchmarkComparison {
    /// Returns the comparison of a query. The query must [know](EventsQuery::definitions) the definitions of its
    /// dataset; otherwise, the metrics that the dataset defines are not recognized as metrics.
    ///
    /// # Errors
    /// A fault that [`EventsQuery::check`] finds, a [`NotBenchmarked`], or a column to sort by that the answer does not
    /// have.
    pub fn new(query: &EventsQuery) -> Result<Self, QueryError> {
        EventsQuery { sort: Vec::new(), limit: None, ..query.clone() }.check()?;
        if query.compare.is_some() {
            return Err(NotBenchmarked::TwoRanges.into());
        }
        if query.interval != Interval::Total {
            return Err(NotBenchmarked::Interval(query.interval).into());
        }
        if query.cohort.is_some() {
            return Err(NotBenchmarked::Cohort.into());
        }
        if query.attribution != Attribution::Recorded {
            return Err(NotBenchmarked::Attribution(query.attribution).into());
        }
        let AccountFilter::Only(scope) = &query.accounts else { return Err(NotBenchmarked::AllAccounts.into()) };
        let extended = ExtendedQuery::new(query, &SUFFIXES, |name| {
            let defined = || BenchmarkMetric::of_formula(&query.definitions.metric(name)?.formula);
            BenchmarkMetric::from_name(name).or_else(defined)
        });
        let metrics: Vec<BenchmarkMetric> = extended.extensions().copied().collect();
        if metrics.is_empty() {
            let is_defined = extended.names().any(|name| query.definitions.metric(name).is_some());
            return Err(NotBenchmarked::NoMetric { is_defined }.into());
        }
        let mut dimensions = Vec::new();
        for name in extended.names().filter(|name| !query.is_metric(name) && *name != ACCOUNT) {
            let dimension = BenchmarkDimension::from_name(name);
            dimensions.push(dimension.ok_or_else(|| NotBenchmarked::Dimension(name.clone()))?);
        }
        let selection = BenchmarkSelection::new(metrics, dimensions);
        let selection = filters(query)?
            .into_iter()
            .fold(selection, |selection, (dimension, text)| selection.filter(dimension, text));
        extended.check_columns()?;
        let is_by_account = extended.names().any(|name| name == ACCOUNT);
        Ok(Self { extended, selection, scope: scope.clone(), is_by_account })
    }

    /// Returns the query that [`finish`](Self::finish) needs the answer of.
    #[must_use]
    pub const fn query(&self) -> &EventsQuery {
        self.extended.query()
    }

    /// Returns the number of columns of the finished answer.
    #[must_use]
    pub fn width(&self) -> usize {
        self.extended.column_names().len()
    }

    /// Returns the period of the benchmarks.
    ///
    /// # Errors
    /// The days are none of the periods that [`BenchmarkPeriod::read`] returns.
    pub fn period(&self, today: Day) -> Result<BenchmarkPeriod, QueryError> {
        let range = self.query().range;
        BenchmarkPeriod::of_range(range, today).ok_or_else(|| NotBenchmarked::Days(range).into())
    }

    /// Returns `m` for the name of a column `m.benchmark` or `m.difference`; `None` for any other name.
    #[must_use]
    pub fn metric_of(column: &str) -> Option<&str> {
        let [benchmark, difference, _] = SUFFIXES;
        column.strip_suffix(benchmark).or_else(|| column.strip_suffix(difference))
    }

    /// Answers the query for a caller who sees the accounts that it names, and no others. The row limit of `execution`
    /// applies to the answer.
    ///
    /// # Errors
    /// Those of [`Dataset::run`] and of [`BenchmarkData::gather`].
    pub fn run(&self, dataset: &Dataset, execution: &Execution) -> Result<ResultTable, Error> {
        let answer = dataset.run(self.query(), execution.clone())?;
        let data = BenchmarkData::gather(dataset, self.query().range, execution)?;
        self.finish(answer, &data, &self.scope, Privacy::default(), &execution.interrupt)
    }

    /// Turns the answer of [`query`](Self::query) into that of the comparison. `reach` has the keys of all accounts
    /// that the caller may see, and `privacy` says when a benchmark is shown, as in a [`BenchmarkQuery`].
    ///
    /// # Errors
    /// `data` covers other days than the query, the interrupt fires, or there is no room for the columns.
    pub fn finish(
        &self,
        answer: ResultTable,
        data: &BenchmarkData,
        reach: &BTreeSet<String>,
        privacy: Privacy,
        interrupt: &Interrupt,
    ) -> Result<ResultTable, Error> {
        let range = self.query().range;
        if data.range() != range {
            return Err(QueryError::from(NotBenchmarked::Days(range)).into());
        }
        let reach: BTreeSet<String> = reach | &self.scope;
        let benchmarks = Benchmarks { data, selection: &self.selection, reach: &reach, privacy };
        let of_all = BenchmarkSelection::new(self.selection.metrics().iter().copied(), []);
        let filters = self.selection.filters().iter();
        let of_all = filters.fold(of_all, |all, (dimension, text)| all.filter(*dimension, text));
        self.extended.finish(answer, interrupt, |table, is_totals| {
            let found = if is_totals {
                Benchmarks { selection: &of_all, ..benchmarks }.of_segments(table, &self.scope, interrupt)?
            } else if self.is_by_account {
                benchmarks.by_account(table, interrupt)?
            } else {
                benchmarks.of_segments(table, &self.scope, interrupt)?
            };
            self.columns(table, &found, interrupt)
        })
    }

    /// Returns the columns of the comparison, given the benchmarks of each metric by row.
    fn columns(
        &self,
        answer: &ResultTable,
        benchmarks: &[Vec<Option<f64>>],
        interrupt: &Interrupt,
    ) -> Result<Vec<Column>, Error> {
        self.extended.columns(answer, |_, values, metric| {
            interrupt.check()?;
            // The selection has each metric.
            let at = self.selection.metrics().iter().position(|selected| selected == metric).unwrap_or_default();
            let compared =
                |(row, benchmark): (usize, &Option<f64>)| Some([decimal((*benchmark)?), exact_fraction(values, row)?]);
            let compared: Vec<_> = benchmarks[at].iter().enumerate().map(compared).collect();
            let difference = compared.iter().map(|pair| Some(change(pair.as_ref()?, [1, 1]))).collect();
            let relative = compared.iter().map(|pair| relative_change(pair.as_ref()?)).collect();
            Ok([benchmarks[at].clone(), difference, relative])
        })
    }
}

/// Returns the filters of a query on the dimensions of benchmarks. Conditions on metrics only choose rows.
fn filters(query: &EventsQuery) -> Result<BTreeMap<BenchmarkDimension, String>, NotBenchmarked> {
    let chooses_rows = |name: &str| name != "total" && query.is_metric(name);
    let mut filters = BTreeMap::new();
    // A loop instead of recursion, because the depth of the filter is not checked yet.
    let mut open: Vec<&Filter> = query.filter.iter().collect();
    while let Some(filter) = open.pop() {
        match filter {
            Filter::All(parts) => open.extend(parts),
            Filter::Field { name, .. } if chooses_rows(name) => {}
            Filter::Field { name, predicate } => {
                let text = match predicate {
                    Predicate::Equals(Operand::Text(text)) => Some(text.as_str()),
                    Predicate::Empty => Some(""),
                    _ => None,
                };
                let filter = BenchmarkDimension::from_name(name).zip(text);
                let (dimension, text) = filter.ok_or_else(|| NotBenchmarked::Filter(name.clone()))?;
                if filters.insert(dimension, text.to_owned()).is_some_and(|before| before != text) {
                    return Err(NotBenchmarked::Filter(name.clone()));
                }
            }
            Filter::Any(_) | Filter::Not(_) => {
                let names = EventsQuery { filter: Some(filter.clone()), fields: Vec::new(), ..query.clone() };
                if let Some(name) = names.names().into_iter().find(|name| !chooses_rows(name)) {
                    return Err(NotBenchmarked::Filter(name.to_owned()));
                }
            }
        }
    }
    Ok(filters)
}

/// The benchmarks of a selection.
#[derive(Clone, Copy)]
struct Benchmarks<'a> {
    data: &'a BenchmarkData,
    selection: &'a BenchmarkSelection,
    reach: &'a BTreeSet<String>,
    privacy: Privacy,
}

/// The pooled figure of each metric, by the texts of a segment.
type Segments = HashMap<Vec<String>, Vec<Option<f64>>>;

impl<'a> Benchmarks<'a> {
    /// Returns the benchmarks for the accounts in scope.
    fn segments(self, scope: &BTreeSet<String>) -> Segments {
        let Self { data, selection, reach, privacy } = self;
        let rows = data.answer(&BenchmarkQuery { selection, scope, reach, privacy }).into_iter();
        let pooled = rows.filter(|row| row.series == Series::Benchmark);
        pooled.map(|row| (row.dimensions.iter().map(|text| text.to_string()).collect(), row.metrics)).collect()
    }

    /// Returns for each metric the benchmark of each row of an answer.
    fn of_segments(
        self,
        answer: &ResultTable,
        scope: &BTreeSet<String>,
        interrupt: &Interrupt,
    ) -> Result<Vec<Vec<Option<f64>>>, Error> {
        let segments = self.segments(scope);
        self.of_rows(answer, interrupt, |_, segment| segments.get(segment).cloned())
    }

    /// Returns for each metric the benchmark of each row of an answer by account. Benchmarks of accounts of one
    /// industry and currency are the same.
    fn by_account(self, answer: &ResultTable, interrupt: &Interrupt) -> Result<Vec<Vec<Option<f64>>>, Error> {
        let mut by_kind: HashMap<Option<&'a AccountKind>, Segments> = HashMap::new();
        let accounts = answer.texts(ACCOUNT);
        self.of_rows(answer, interrupt, |row, segment| {
            let account = accounts.map_or("", |accounts| accounts.get(row));
            let segments = || self.segments(&BTreeSet::from([account.to_owned()]));
            by_kind.entry(self.data.kinds.get(account)).or_insert_with(segments).get(segment).cloned()
        })
    }

    /// Returns for each metric what `find` returns for the number and the segment of each row.
    fn of_rows(
        self,
        answer: &ResultTable,
        interrupt: &Interrupt,
        mut find: impl FnMut(usize, &Vec<String>) -> Option<Vec<Option<f64>>>,
    ) -> Result<Vec<Vec<Option<f64>>>, Error> {
        const CHECK_ROWS: usize = 1 << 10;
        let dimensions = self.selection.dimensions().iter();
        let dimensions: Vec<_> = dimensions.map(|dimension| answer.texts(dimension.name())).collect();
        let mut of_metrics = vec![Vec::with_capacity(answer.len()); self.selection.metrics().len()];
        for row in 0..answer.len() {
            if row.is_multiple_of(CHECK_ROWS) {
                interrupt.check()?;
            }
            // A dimension that no table has is empty on every row.
            let text =
                |texts: &Option<&StringColumn>| texts.map_or_else(String::new, |texts| texts.get(row).to_owned());
            let found = find(row, &dimensions.iter().map(text).collect()).unwrap_or_default();
            for (at, benchmarks) in of_metrics.iter_mut().enumerate() {
                benchmarks.push(found.get(at).copied().flatten());
            }
        }
        Ok(of_metrics)
    }
}

/// Returns the decimal number that a benchmark is published as: the shortest one that is read as this double.
fn decimal(number: f64) -> [BigInt; 2] {
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let fraction = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let digits: BigInt = digits.replace('.', "").parse().unwrap_or_default();
    let exponent = exponent.parse().unwrap_or(0_i32) - i32::try_from(fraction).unwrap_or(0);
    let power = BigInt::from(10).pow(exponent.unsigned_abs());
    if exponent < 0 { [digits, power] } else { [digits * power, BigInt::from(1)] }
}
