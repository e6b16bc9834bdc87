//! Random queries for laws, grouped by any dimensions and filtered on events only, and the exact numbers of their
//! answers by group.

use crate::run::{self, ask, dataset};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use trueup_core::dataset::Dataset;
use trueup_core::dictionary::{self, Field, FieldKind, Formula, Measure, Metric};
use trueup_core::query::{EventsQuery, Filter, Interval};
use trueup_core::{Execution, ResultTable, Value};
use trueup_testkit::cases::case;
use trueup_testkit::oracle::{Request, Tables};

/// Events per row group: few, so that most cases have several row groups.
const ROW_GROUP_ROWS: usize = 7;

/// A dataset without rows, which shows whether a query is accepted.
static NOTHING: LazyLock<Dataset> = LazyLock::new(|| dataset(&Tables::default(), ROW_GROUP_ROWS));

/// Tables and a request, whose metrics a law chooses.
#[derive(Debug)]
pub(super) struct LawCase {
    pub(super) tables: Tables,
    pub(super) request: Request,
    /// Stored, computed and unknown dimensions.
    pub(super) dimensions: Vec<String>,
    /// A filter on dimensions and on `total` only. A filter on a metric removes finished rows, so the others need not
    /// add up.
    pub(super) filter: Option<Filter>,
    dataset: Dataset,
}

/// Generates cases. Dimensions come from the request, and up to two more from the dictionary.
pub(super) fn law_case() -> impl Strategy<Value = LawCase> {
    let known: Vec<&str> = dimensions().map(|field| field.name).collect();
    let further = proptest::collection::vec(proptest::sample::select(known), 0..=2);
    (case(), further).prop_map(|((tables, request), further)| LawCase::new(tables, request, &further))
}

impl LawCase {
    fn new(tables: Tables, request: Request, further: &[&str]) -> Self {
        let mut dimensions: Vec<String> = Vec::new();
        for name in request.fields.iter().map(String::as_str).chain(further.iter().copied()) {
            let taken = ["start", "end"].contains(&name) || dimensions.iter().any(|taken| taken == name);
            if !taken && dictionary::metric(name).is_none() {
                dimensions.push(name.to_owned());
            }
        }
        let accepted = |filter: &Filter| {
            let query =
                EventsQuery::new(["leads"], run::day(request.start), run::day(request.start)).allow_unknown(true);
            is_on_events(filter) && NOTHING.query(&query.filter(filter.clone())).is_ok()
        };
        let filter = run::filter(&request).ok().flatten().filter(accepted);
        let dataset = dataset(&tables, ROW_GROUP_ROWS);
        Self { tables, request, dimensions, filter, dataset }
    }

    /// Returns the same case without refunds.
    pub(super) fn without_refunds(mut self) -> Self {
        for row in &mut self.tables.spend {
            row.ad_spend = row.ad_spend.map(i64::abs);
            row.management_fee = row.management_fee.map(i64::abs);
        }
        self.dataset = dataset(&self.tables, ROW_GROUP_ROWS);
        self
    }

    /// Returns the query for some fields, with the filter of the case.
    pub(super) fn query<'a>(&self, fields: impl IntoIterator<Item = &'a str>) -> EventsQuery {
        match &self.filter {
            Some(filter) => self.unfiltered(fields).filter(filter.clone()),
            None => self.unfiltered(fields),
        }
    }

    /// Returns the query for some fields, without a filter.
    pub(super) fn unfiltered<'a>(&self, fields: impl IntoIterator<Item = &'a str>) -> EventsQuery {
        let fields = fields.into_iter().map(str::to_owned).collect();
        run::unfiltered(&Request { fields, ..self.request.clone() }).unwrap()
    }

    pub(super) fn interval(&self) -> Interval {
        self.request.interval.parse().unwrap()
    }

    pub(super) fn ask(&self, query: &EventsQuery) -> ResultTable {
        ask(&self.dataset, query, Execution::default()).unwrap()
    }

    /// Returns the dimensions, followed by the metrics.
    pub(super) fn fields<'a>(&'a self, metrics: &'a [&'a str]) -> impl Iterator<Item = &'a str> {
        self.dimensions.iter().map(String::as_str).chain(metrics.iter().copied())
    }

    /// Returns the accounts of the request.
    pub(super) fn scope(&self) -> BTreeSet<String> {
        match &self.request.accounts {
            Some(accounts) => accounts.iter().cloned().collect(),
            None => self.tables.account_keys(),
        }
    }

    /// Returns whether spend has every dimension of the request.
    pub(super) fn has_only_spend_dimensions(&self) -> bool {
        self.dimensions.iter().all(|dimension| spend_has(dimension))
    }

    /// Returns whether there are refunds, so that a row's spend can be 0 although its parts are not.
    pub(super) fn has_refunds(&self) -> bool {
        let amounts = self.tables.spend.iter().flat_map(|row| [row.ad_spend, row.management_fee]);
        amounts.flatten().any(|micros| micros < 0)
    }
}

/// Returns whether a filter is decided on events: it names only dimensions and `total`.
fn is_on_events(filter: &Filter) -> bool {
    names(filter).into_iter().all(|name| name == "total" || dictionary::metric(name).is_none())
}

/// Returns the fields that a filter names.
pub(super) fn names(filter: &Filter) -> Vec<&str> {
    match filter {
        Filter::All(parts) | Filter::Any(parts) => parts.iter().flat_map(names).collect(),
        Filter::Not(part) => names(part),
        Filter::Field { name, .. } => vec![name],
    }
}

/// Returns every metric of the dictionary that needs no cohort.
pub(super) fn metrics() -> impl Iterator<Item = (&'static Field, &'static Metric)> {
    dictionary::fields().chain(dictionary::duration_fields()).filter_map(|field| match &field.kind {
        FieldKind::Metric(metric) => Some((field, metric)),
        FieldKind::Dimension(_) => None,
    })
}

/// Returns the counts and sums whose measures all satisfy `of`.
pub(super) fn amounts(of: impl Fn(Measure) -> bool) -> Vec<&'static str> {
    let chosen = metrics().filter(|(_, metric)| match metric.formula {
        Formula::Amount(_) => metric.formula.measures().all(&of),
        Formula::Ratio { .. } | Formula::Percentile { .. } => false,
    });
    chosen.map(|(field, _)| field.name).collect()
}

fn dimensions() -> impl Iterator<Item = &'static Field> {
    dictionary::fields().filter(|field| matches!(field.kind, FieldKind::Dimension(_)))
}

/// Returns the dimensions that spend has.
pub(super) fn spend_dimensions() -> Vec<&'static str> {
    dimensions().map(|field| field.name).filter(|name| spend_has(name)).collect()
}

/// Returns whether spend has a dimension.
pub(super) fn spend_has(name: &str) -> bool {
    let field = dictionary::field(name);
    field.is_some_and(|field| matches!(&field.kind, FieldKind::Dimension(dimension) if dimension.spend.is_some()))
}

/// The first day of the sub-range, empty if there is a single one, and the values of the dimensions.
pub(super) type Key = (String, Vec<String>);

/// The counts of each group, and its money in millionths. A group without a row has zeros, because spend without events
/// has no row if it is 0.
#[derive(Debug)]
pub(super) struct Figures {
    metrics: Vec<String>,
    pub(super) groups: BTreeMap<Key, Vec<i128>>,
}

impl Figures {
    /// Reads the numbers of an answer. Panics if a metric is a ratio, which has no exact number.
    pub(super) fn new<D: AsRef<str>>(table: &ResultTable, dimensions: &[D], metrics: &[&str]) -> Self {
        let number = |row: usize, metric: &str| match table.value(row, metric) {
            Some(Value::Count(count)) => i128::from(count),
            Some(Value::Money(micros)) => micros,
            other => panic!("{metric}: {other:?}"),
        };
        let row = |row| {
            let figures = metrics.iter().map(|metric| number(row, metric)).collect();
            (key(table, row, dimensions), figures)
        };
        Self {
            metrics: metrics.iter().map(|metric| (*metric).to_owned()).collect(),
            groups: (0..table.len()).map(row).collect(),
        }
    }

    /// Maps each group to another one, and sums the groups that become the same.
    pub(super) fn regrouped(self, to: impl Fn(Key) -> Key) -> Self {
        let mut groups = BTreeMap::new();
        for (key, figures) in self.groups {
            add(groups.entry(to(key)).or_default(), &figures);
        }
        Self { groups, ..self }
    }

    /// Returns the sums of both.
    pub(super) fn plus(mut self, other: &Self) -> Self {
        for (key, figures) in &other.groups {
            add(self.groups.entry(key.clone()).or_default(), figures);
        }
        self
    }

    /// Returns the numbers of a group, in the order of the metrics.
    pub(super) fn of(&self, key: &Key) -> Vec<i128> {
        self.groups.get(key).cloned().unwrap_or_else(|| vec![0; self.metrics.len()])
    }

    fn keys<'a>(&'a self, other: &'a Self) -> BTreeSet<&'a Key> {
        self.groups.keys().chain(other.groups.keys()).collect()
    }

    pub(super) fn check_equal(&self, other: &Self) -> Result<(), TestCaseError> {
        self.check(other, |a, b| a == b)
    }

    pub(super) fn check_at_most(&self, other: &Self) -> Result<(), TestCaseError> {
        self.check(other, |a, b| a <= b)
    }

    fn check(&self, other: &Self, holds: impl Fn(i128, i128) -> bool) -> Result<(), TestCaseError> {
        for key in self.keys(other) {
            for (metric, (a, b)) in self.metrics.iter().zip(self.of(key).into_iter().zip(other.of(key))) {
                prop_assert!(holds(a, b), "{} of {:?}: {} against {}", metric, key, a, b);
            }
        }
        Ok(())
    }
}

/// Returns the group of a row.
pub(super) fn key<D: AsRef<str>>(table: &ResultTable, row: usize, dimensions: &[D]) -> Key {
    let start = match table.value(row, "start") {
        Some(Value::Day(day)) => day.to_string(),
        _ => String::new(),
    };
    let text = |dimension: &D| match table.value(row, dimension.as_ref()) {
        Some(Value::Text(text)) => text.to_owned(),
        other => panic!("{}: {other:?}", dimension.as_ref()),
    };
    (start, dimensions.iter().map(text).collect())
}

fn add(sums: &mut Vec<i128>, figures: &[i128]) {
    sums.resize(figures.len(), 0);
    sums.iter_mut().zip(figures).for_each(|(sum, figure)| *sum += figure);
}
