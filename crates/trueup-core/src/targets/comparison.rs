//! Adds the targets to a finished answer.

use super::NotTargeted;
use super::cells::{Rule, TargetIndex};
use super::note::NullTargets;
use super::rows::{RowCells, ScopeAccount, TargetedMetric};
use super::selection::Selection;
use crate::dataset::Dataset;
use crate::dictionary::{self, Additivity, Formula};
use crate::error::{Error, QueryError};
use crate::finish::{Column, ExtendedQuery, ResultTable, exact_fraction, nearest_quotient};
use crate::model::Targets;
use crate::plan::MetricRef;
use crate::query::{AccountFilter, EventsQuery};
use crate::{Execution, Interrupt};
use num_bigint::BigInt;
use std::collections::BTreeSet;
use std::mem::discriminant;
use std::sync::Arc;

/// A query whose answer shows targets: each metric that has one, for any account of the query in any month, gets two
/// further columns.
///
/// | column | value |
/// |---|---|
/// | `m` | the value of the row |
/// | `m.target` | its target; null if it has none |
/// | `m.pace` | `m` divided by `m.target`; null if there is none, or if it or the denominator of `m` is 0 |
///
/// # Which target a row has
/// A row is made of *cells*: one for each of its accounts, each month of its days, and each combination of the values
/// of [`TARGET_DIMENSIONS`](crate::model::TARGET_DIMENSIONS) that its group and the filters name. A cell has the target
/// that is set for exactly this account, month, metric and these values, with none where the row is of all values. A
/// row has a target only if each of its cells has one:
///
/// - The target of an amount, which is a metric that adds up across the dimensions of spend, is the sum over the cells,
///   each with the share of its month that the days of the row have.
/// - The target of a ratio or of a percentile is that of all cells, if theirs are equal. It does not depend on days.
/// - The target of a count of distinct values is that of a single cell whose whole month the row has.
///
/// Rows that are grouped by other dimensions, or selected by other conditions than equality with one or several texts,
/// are parts of targets, and have none. So have rows of money of accounts with different currencies. The
/// [notes](ResultTable::notes) of the answer say why targets are null. Conditions on metrics only choose rows.
///
/// Targets are exact sums of fractions; they and the quotients are rounded once.
///
/// ```
/// use trueup_core::dataset::{Dataset, Tables};
/// use trueup_core::query::EventsQuery;
/// use trueup_core::targets::TargetComparison;
///
/// let dataset = Dataset::from_tables(&Tables::default())?;
/// let query = EventsQuery::new(["spend"], "2025-01-01".parse()?, "2025-01-31".parse()?);
/// let refused = TargetComparison::new(&query, &dataset).unwrap_err().to_string();
/// assert_eq!(refused, "none of the metrics has a target, and nor has any other metric of these accounts");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TargetComparison {
    /// The query, each of whose metrics that has a target for some account is extended by it.
    extended: ExtendedQuery<TargetedMetric>,
    selection: Selection,
    accounts: Vec<ScopeAccount>,
    targets: Arc<Targets>,
}

/// The number of rows between two checks of the interrupt.
const CHECK_ROWS: usize = 1 << 10;

/// A column that targets add for a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetColumn {
    /// `m.target`
    Target,
    /// `m.pace`
    Pace,
}

impl TargetColumn {
    const ALL: [Self; 2] = [Self::Target, Self::Pace];
    const SUFFIXES: [&'static str; 2] = [Self::Target.suffix(), Self::Pace.suffix()];

    const fn suffix(self) -> &'static str {
        match self {
            Self::Target => ".target",
            Self::Pace => ".pace",
        }
    }

    /// Splits the name of such a column into that of its metric, and what it shows; `None` for any other name.
    ///
    /// ```
    /// use trueup_core::targets::TargetColumn;
    ///
    /// assert_eq!(TargetColumn::split("spend.pace"), Some(("spend", TargetColumn::Pace)));
    /// assert_eq!(TargetColumn::split("spend"), None);
    /// ```
    #[must_use]
    pub fn split(column: &str) -> Option<(&str, Self)> {
        Self::ALL.into_iter().find_map(|part| Some((column.strip_suffix(part.suffix())?, part)))
    }
}

impl TargetComparison {
    /// Returns the query with the targets of a dataset.
    ///
    /// # Errors
    /// A fault that [`EventsQuery::check`] finds, a [`NotTargeted`], or a column to sort by that the answer does not
    /// have; or a file of the dataset cannot be read, to find out which accounts it has.
    pub fn new(query: &EventsQuery, dataset: &Dataset) -> Result<Self, Error> {
        let query = dataset.own_query(query);
        EventsQuery { sort: Vec::new(), limit: None, ..query.clone().into_owned() }.check()?;
        if query.compare.is_some() {
            return Err(QueryError::from(NotTargeted::Compared).into());
        }
        if query.cohort.is_some() {
            return Err(QueryError::from(NotTargeted::Cohort).into());
        }
        let of_scope = |key: &str| query.accounts.contains(key);
        let targets = dataset.shared_targets();
        let with_targets: BTreeSet<&str> = targets
            .iter()
            .filter(|(key, _)| of_scope(&key.account))
            .map(|(key, _)| key.metric.as_str())
            .filter(|name| query.is_metric(name))
            .collect();
        let extended = ExtendedQuery::new(&query, &TargetColumn::SUFFIXES, |name| {
            let metric = MetricRef::find(name, &query.definitions).filter(|_| with_targets.contains(name))?;
            let rule = rule(&metric, additivity(name, &query));
            Some(TargetedMetric { rule, is_of_money: metric.is_of_money() })
        });
        if extended.extensions().next().is_none() {
            let names = with_targets.into_iter().map(str::to_owned).collect();
            return Err(QueryError::from(NotTargeted::NoMetric(names)).into());
        }
        extended.check_columns()?;
        let selection = Selection::new(&query);
        let keys: BTreeSet<String> = match &query.accounts {
            AccountFilter::Only(keys) => keys.clone(),
            // Each row names its account, unless there are totals.
            AccountFilter::All if !query.totals && selection.has_account() => {
                targets.iter().map(|(key, _)| key.account.clone()).collect()
            }
            AccountFilter::All => dataset.account_keys()?,
        };
        let accounts = keys.into_iter().map(|key| ScopeAccount {
            name: dataset.accounts().name(&key).to_owned(),
            currency: dataset.accounts().currency(&key),
            key,
        });
        Ok(Self { extended, accounts: accounts.collect(), targets: targets.clone(), selection })
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

    /// Answers the query. The row limit of `execution` applies to the answer.
    ///
    /// # Errors
    /// Those of [`Dataset::run`].
    pub fn run(&self, dataset: &Dataset, execution: &Execution) -> Result<ResultTable, Error> {
        self.finish(dataset.run(self.query(), execution.clone())?, &execution.interrupt)
    }

    /// Turns the answer of [`query`](Self::query) into that with targets.
    ///
    /// # Errors
    /// The interrupt fires, or there is no room for the columns.
    pub fn finish(&self, answer: ResultTable, interrupt: &Interrupt) -> Result<ResultTable, Error> {
        let mut notes = Vec::new();
        let of_totals = self.selection.of_totals();
        let mut finished = self.extended.finish(answer, interrupt, |table, is_totals| {
            let mut found = Vec::new();
            let selection = if is_totals { &of_totals } else { &self.selection };
            let columns = self.columns(table, selection, &mut found, interrupt)?;
            notes.extend(found.into_iter().map(|note| if is_totals { format!("in the totals, {note}") } else { note }));
            Ok(columns)
        })?;
        finished.notes = notes;
        Ok(finished)
    }

    /// Returns the columns of the answer with those of targets, and adds why some are null to the notes.
    fn columns(
        &self,
        answer: &ResultTable,
        selection: &Selection,
        notes: &mut Vec<String>,
        interrupt: &Interrupt,
    ) -> Result<Vec<Column>, Error> {
        let range = self.query().range;
        let mut rows = match selection.parts() {
            Ok((groups, kept)) => Some(RowCells::new(answer, groups, kept, &self.accounts, range)),
            Err(divider) => {
                notes.push(divider.to_string());
                None
            }
        };
        self.extended.columns(answer, |name, values, metric| {
            let index = TargetIndex::new(&self.targets, name);
            let (mut targets, mut paces) = (vec![None; answer.len()], vec![None; answer.len()]);
            let mut without: Vec<NullTargets> = Vec::new();
            for row in 0..answer.len() {
                if row.is_multiple_of(CHECK_ROWS) {
                    interrupt.check()?;
                }
                let Some(rows) = &mut rows else { break };
                match rows.target(row, &index, *metric) {
                    Ok([above, below]) => {
                        targets[row] = Some(nearest_quotient(&above, &below));
                        let value = exact_fraction(values, row).filter(|_| above != BigInt::ZERO);
                        paces[row] = value.map(|[n, d]| nearest_quotient(&(n * below), &(d * above)));
                    }
                    Err(reason) => {
                        match without.iter_mut().find(|it| discriminant(&it.first) == discriminant(&reason)) {
                            Some(known) => known.rows += 1,
                            None => without.push(NullTargets {
                                metric: name.to_owned(),
                                rows: 1,
                                of_rows: answer.len(),
                                first: reason,
                            }),
                        }
                    }
                }
            }
            notes.extend(without.iter().map(ToString::to_string));
            Ok([targets, paces])
        })
    }
}

fn additivity(name: &str, query: &EventsQuery) -> Additivity {
    let defined = || query.definitions.metric(name).map(|metric| metric.additivity);
    let built_in = dictionary::metric(name).map(|(_, metric)| metric.additivity);
    built_in.or_else(defined).unwrap_or(Additivity::NOWHERE)
}

fn rule(metric: &MetricRef, additivity: Additivity) -> Rule {
    match metric.kind() {
        Formula::Amount(_) if additivity.across_spend_dimensions => Rule::Sum,
        Formula::Amount(_) => Rule::Whole,
        _ => Rule::Agree,
    }
}
