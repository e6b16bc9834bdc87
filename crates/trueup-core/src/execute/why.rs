//! Explains one row of an answer: the events, customers and rows of spend behind its numbers.
//!
//! | file, in call order | what it does |
//! |---|---|
//! | `lines` | collects the lines per row group, and drops lines that are not listed |
//! | `change` | says who accounts for a change between two ranges: classifies customers, agents and campaigns |
//! | `table` | reads the ids of the listed events, orders the lines, and makes a table of them |
//!
//! What a line adds, and by which rule, is what the accumulators of [`aggregate`](crate::aggregate) say. The row is
//! computed twice: by a query for it alone, as every answer is, and line by line. Both must agree. The row of a
//! comparison is taken from the whole answer, because the other rows decide whether a range shows spend in it.
//!
//! A row group holds whole customers. A customer is therefore classified where its row group is read, without a join of
//! the two ranges.

mod change;
mod lines;
mod table;

use super::row_groups::{AnyRowGroup, RowGroupSet, SelectedRowGroups};
use super::{Execution, execute_in_pool, in_pool, needed_last_event};
use crate::aggregate::{AggregationMemo, QueryContext, is_sum};
use crate::dataset::Dataset;
use crate::dictionary::Measure;
use crate::error::{Error, QueryError};
use crate::finish::{ResultTable, SumFormula, Value};
use crate::memory::MemoryLease;
use crate::plan::{MetricRef, Plan};
use crate::query::{AnswerRow, ComparedColumn, DateRange, EventsQuery, WhyQuery, WhyRowFault};
use change::{ComparedRange, Subject, measure_change, ratio_classes};
use lines::{Asked, Lines, Listing};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;

pub use change::{ChangeClass, MeasureChange, MeasureClass, MetricChange, RatioClass};

/// A metric that says whether the row has events.
const EVENTS: &str = "eventCount";

/// Why the numbers of one row of an answer are what they are.
///
/// Each metric is a sum of measures, or one such sum divided by another; a metric that users define may also subtract
/// measures. Each measure has lines that add up to it: an event that it counts, a customer, counted on its state event,
/// or a row of spend. The metrics that follow from the lines have been compared with the answer.
///
/// Of a query that compares, the change is explained: each measure has the customers that make it, in four
/// [classes](ChangeClass), and lines of both ranges that add up to the change.
#[derive(Clone, Debug)]
pub struct Why {
    /// The days of the row.
    pub range: DateRange,
    /// The days of the earlier range, if the query compares.
    pub previous: Option<DateRange>,
    /// The dimensions of the query, each with its value in the row; null is the empty text.
    pub row: Vec<(String, String)>,
    /// The metrics, in the order of the query.
    pub metrics: Vec<ExplainedMetric>,
    /// The measures of the metrics, each once, in the order of the formulas.
    pub measures: Vec<ExplainedMeasure>,
    lines: ResultTable,
}

/// A metric of the row, and its value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExplainedMetric {
    /// The name of the metric.
    pub name: String,
    /// The formula, such as `bookedCustomers / customers`.
    pub formula: String,
    /// The value, which is that of the answer.
    pub value: Value<'static>,
    /// Whether the metric is a ratio whose denominator is 0. Its value is 0 then.
    pub is_over_nothing: bool,
    /// How it changed, if the query compares.
    pub change: Option<MetricChange>,
}

impl ExplainedMetric {
    /// Returns the earlier value and the change, null where there is no number: a ratio over nothing, and a change to
    /// or from one. `None` if the query does not compare.
    #[must_use]
    pub fn compared(&self) -> Option<[Value<'static>; 2]> {
        let MetricChange { previous, is_previous_over_nothing, change, .. } = self.change.as_ref()?;
        Some(match (is_previous_over_nothing, self.is_over_nothing) {
            (true, _) => [Value::Null; 2],
            (false, true) => [*previous, Value::Null],
            (false, false) => [*previous, *change],
        })
    }
}

/// A measure, with what its lines add up to.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ExplainedMeasure {
    /// The measure.
    pub measure: Measure,
    /// The number of its lines, whether listed or not.
    pub lines: u64,
    /// The number of lines that are listed.
    pub listed: u64,
    /// What all its lines in the range of the row add up to: a count, or money.
    pub sum: Value<'static>,
    /// How it changed, if the query compares.
    pub change: Option<MeasureChange>,
}

impl Why {
    /// Returns the lines that are listed: the lines of each measure, in the order of [`measures`](Self::measures).
    ///
    /// | column | value |
    /// |---|---|
    /// | `measure` | the name of the measure |
    /// | `account` | the account |
    /// | `opportunityId` | the customer; empty for spend |
    /// | `eventId` | the event that counts; empty for spend, and for an event without an id |
    /// | `date` | the day of the event or of the spend |
    /// | `type` | the stage of the event; empty for spend |
    /// | `count` | what the line adds to a count; 0 if it adds money |
    /// | `amount` | what the line adds to a sum of money; 0 if it adds to a count |
    /// | `rule` | the rule by which the line counts |
    ///
    /// The column `count` is absent if every measure is money, and `amount` is absent if none is.
    ///
    /// Of a query that compares, the lines of each measure are in the order of [`ChangeClass`], and two columns follow
    /// `measure`: `class`, and `range`, which is `current` or `previous`. Lines of the earlier range subtract what they
    /// add there, so that the lines add up to the change. All rows of spend of a campaign in a range are one line, on
    /// the day of the first one.
    #[must_use]
    pub const fn lines(&self) -> &ResultTable {
        &self.lines
    }

    /// Returns the lines that are listed.
    #[must_use]
    pub fn into_lines(self) -> ResultTable {
        self.lines
    }

    /// Returns the number of all lines, whether listed or not.
    #[must_use]
    pub fn total_lines(&self) -> u64 {
        self.measures.iter().map(|measure| measure.lines).sum()
    }
}

impl Dataset {
    /// Explains one row of the answer to a query.
    ///
    /// # Errors
    /// The query or the question has a fault, the answer has no such row, a file cannot be read, threads cannot be
    /// started, or a limit or the interrupt of `execution` ends the execution.
    ///
    /// ```
    /// use trueup_core::dataset::{Dataset, Tables};
    /// use trueup_core::query::{EventsQuery, WhyQuery};
    /// use trueup_core::{Execution, Value};
    ///
    /// let dataset = Dataset::from_tables(&Tables::default())?;
    /// let query = EventsQuery::new(["bookRate"], "2025-01-01".parse()?, "2025-01-31".parse()?);
    /// let why = dataset.why(&WhyQuery::new(query), Execution::default())?;
    /// assert_eq!(why.metrics[0].formula, "bookedCustomers / customers");
    /// assert_eq!((why.metrics[0].value, why.total_lines()), (Value::Ratio(0.0), 0));
    /// assert!(why.metrics[0].is_over_nothing);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn why(&self, why: &WhyQuery, execution: Execution) -> Result<Why, Error> {
        let whole = self.plan_answer(why.query())?;
        let row = why.row(self.definitions())?;
        let plan_of = |range| self.plan(&EventsQuery { range, ..row.query.clone() });
        let plan = plan_of(row.query.range)?;
        let comparison = whole.comparison.as_ref();
        let previous = comparison.map(|comparison| plan_of(comparison.earlier.range)).transpose()?;
        let listing = Listing { order: why.order, limit: why.limit };
        let plans = [previous.as_ref(), Some(&plan)];
        let question = Question { dataset: self, whole: &whole, row: &row, plan: &plan, plans, listing };
        in_pool(&execution, || question.answer(why.query(), &execution))
    }
}

/// A question, planned.
struct Question<'a> {
    dataset: &'a Dataset,
    /// The plan of the whole query.
    whole: &'a Plan,
    row: &'a AnswerRow,
    /// The plan of the query for the row alone.
    plan: &'a Plan,
    /// The plans of the query for the row alone in both ranges, the earlier one first if there is one.
    plans: [Option<&'a Plan>; 2],
    listing: Listing,
}

impl Question<'_> {
    fn answer(&self, query: &EventsQuery, execution: &Execution) -> Result<Why, Error> {
        let Self { dataset, row, plan, plans, listing, .. } = *self;
        let [previous, _] = plans;
        let metrics = self.metrics()?;
        let mut measures: Vec<Measure> = Vec::new();
        for measure in metrics.iter().flat_map(MetricRef::measures) {
            if !measures.contains(&measure) {
                measures.push(measure);
            }
        }
        let (answer, _) = if previous.is_some() {
            let every_row = Plan { limit: None, totals: None, ..self.whole.clone() };
            execute_in_pool(dataset, &every_row, execution)?
        } else {
            execute_in_pool(dataset, plan, execution)?
        };
        let at = self.find(&answer).ok_or_else(|| self.no_such_row())?;
        let row_groups = self.row_groups(execution);
        let last_event = needed_last_event(dataset, plan, execution)?;
        let memos = plans.map(|plan| plan.map(AggregationMemo::new));
        let [of_previous, of_current] = &memos;
        let [of_previous, of_current] = [(previous, of_previous), (Some(plan), of_current)].map(|(plan, memo)| {
            let (plan, memo) = plan.zip(memo.as_ref())?;
            Some(QueryContext::new(plan, dataset.accounts(), &memo.increments, last_event))
        });
        let (subjects, ratios) = Subject::all(&metrics, &measures);
        let asked = Asked {
            contexts: [of_previous.as_ref(), of_current.as_ref()],
            measures: &measures,
            listing,
            subjects: previous.map(|_| subjects.as_slice()),
        };
        let mut lines = collect(&asked, &row_groups, execution)?;
        for (range, plan) in ComparedRange::ALL.into_iter().zip(plans) {
            let Some(plan) = plan.filter(|_| lines.rows[range as usize] == 0) else { continue };
            if !self.has_row_of_spend(query, plan.range, execution)? {
                if previous.is_none() {
                    return Err(self.no_such_row());
                }
                // The answer has no such row for this range, so that it shows no spend.
                lines.drop_spend(range);
            }
        }
        lines.finish(&asked);
        let explained = metrics.iter().enumerate().map(|(place, metric)| {
            let name = metric.name();
            let value = balanced(metric, &measures, &lines, ComparedRange::Current, (&answer, at))?;
            let formula = match metric {
                MetricRef::BuiltIn(_, formula) => formula.to_string(),
                MetricRef::Defined(metric) => metric.formula.to_string(),
            };
            let is_over_nothing = |name: &str| answer.column(name).is_some_and(|column| column.is_over_nothing(at));
            let change = match previous {
                None => None,
                Some(_) => {
                    let column = |part: ComparedColumn| format!("{name}{}", part.suffix());
                    let ratio = ratios.iter().position(|ratio| *ratio == place).map(|ratio| measures.len() + ratio);
                    let classes = ratio.map(|subject| {
                        let has_effects = !(self.whole.mixes_currencies && metric.is_of_money());
                        ratio_classes(metric, &measures, &subjects[subject], &lines.changes[subject], has_effects)
                    });
                    Some(MetricChange {
                        previous: balanced(metric, &measures, &lines, ComparedRange::Previous, (&answer, at))?,
                        is_previous_over_nothing: is_over_nothing(&column(ComparedColumn::Previous)),
                        change: number(answer.value(at, &column(ComparedColumn::Change))),
                        classes: classes.unwrap_or_default(),
                    })
                }
            };
            Ok(ExplainedMetric {
                name: name.to_owned(),
                formula,
                value,
                is_over_nothing: is_over_nothing(name),
                change,
            })
        });
        let explained = explained.collect::<Result<_, Error>>()?;
        let sums = measures.iter().enumerate().map(|(place, measure)| {
            let sum = amount(measure.is_money(), lines.total(place, ComparedRange::Current), measure.name())?;
            let change = previous.map(|_| measure_change(place, &lines, &asked)).transpose()?;
            let lists = asked.classes().iter().map(|class| lines.count(&asked, place, *class));
            let (count, listed) =
                lists.fold((0, 0), |(all, shown), count| (all + count, shown + listing.listed(count)));
            Ok(ExplainedMeasure { measure: *measure, lines: count, listed, sum, change })
        });
        let sums = sums.collect::<Result<_, Error>>()?;
        let not_split = plan.dimensions.iter().chain(&plan.blank).filter(|dimension| dimension.spend.is_none());
        let not_split: Vec<&str> = not_split.map(|dimension| dimension.name.as_str()).collect();
        let is_change = previous.is_some();
        let details =
            table::Details { plan, measures: &measures, is_change, listing, last_event, not_split: &not_split };
        let lines = details.table(lines, execution)?;
        let (range, previous) = (plan.range, previous.map(|plan| plan.range));
        Ok(Why { range, previous, row: row.values.clone(), metrics: explained, measures: sums, lines })
    }

    /// Returns the row groups that the plan of either range reads.
    fn row_groups(&self, execution: &Execution) -> SelectedRowGroups<'_> {
        let selected = |plan: &Plan| SelectedRowGroups::new(self.dataset, plan, execution.pruning).set();
        let sets: Vec<RowGroupSet> = self.plans.into_iter().flatten().map(selected).collect();
        let numbers: BTreeSet<u32> = sets.iter().flat_map(RowGroupSet::iter).collect();
        SelectedRowGroups::of_set(self.dataset, &numbers.into_iter().collect())
    }

    /// Returns the metrics to explain.
    fn metrics(&self) -> Result<Vec<MetricRef>, QueryError> {
        let find = |name: &String| MetricRef::find(name, self.dataset.definitions());
        let metrics: Vec<MetricRef> = self.row.metrics.iter().filter_map(find).collect();
        let not_a_sum = metrics.iter().find_map(|metric| match metric {
            MetricRef::BuiltIn(name, _) if !metric.measures().all(is_sum) => Some(*name),
            _ => None,
        });
        not_a_sum.map_or(Ok(metrics), |metric| Err(WhyRowFault::NotASum { metric }.into()))
    }

    /// Returns the place of the row in the answer to the query for it alone.
    fn find(&self, answer: &ResultTable) -> Option<usize> {
        let is_row = |at: &usize| {
            let is_value = |(name, value): &(String, String)| {
                answer.value(*at, name).is_some_and(|found| found == Value::Text(value))
            };
            self.row.values.iter().all(is_value)
        };
        (0..answer.len()).find(is_row)
    }

    fn no_such_row(&self) -> Error {
        let values = self.row.values.iter().map(|(name, value)| format!("{name} = `{}`", crate::Shown(value)));
        let DateRange { start, end } = self.plan.range;
        let row = values.chain([format!("days from {start} to {end}")]).collect::<Vec<_>>().join(", ");
        Error::Query(WhyRowFault::NoSuchRow { row }.into())
    }

    /// Returns whether spend may make this row in a range, given that the row has no events there. Spend without events
    /// makes a row only if no row with events shows it, and the row is empty in dimensions that spend does not have.
    fn has_row_of_spend(&self, query: &EventsQuery, range: DateRange, execution: &Execution) -> Result<bool, Error> {
        if self.whole.dimensions.iter().all(|dimension| dimension.spend.is_some()) {
            return Ok(true);
        }
        let has_spend = |name: &str| {
            let of_plan = |dimension: &&crate::plan::DimensionRef| dimension.name == name;
            self.whole.dimensions.iter().find(of_plan).is_some_and(|dimension| dimension.spend.is_some())
        };
        let (values, others): (Vec<_>, Vec<_>) = self.row.values.iter().partition(|(name, _)| has_spend(name));
        if others.iter().any(|(_, value)| !value.is_empty()) {
            return Ok(false);
        }
        let others = query.metric_with(EVENTS, range, values.into_iter());
        // Conditions on metrics would hide the events.
        let plan = Plan { having: None, ..self.dataset.plan(&others)? };
        let (answer, _) = execute_in_pool(self.dataset, &plan, execution)?;
        Ok(answer.value(0, EVENTS).is_none_or(|events| events == Value::Count(0)))
    }
}

/// Collects the lines of the row groups in parallel.
fn collect<'a>(
    asked: &Asked<'_>,
    row_groups: &SelectedRowGroups<'a>,
    execution: &Execution,
) -> Result<Lines<'a>, Error> {
    row_groups.read_footers(&execution.interrupt)?;
    let read_rows = AtomicU64::new(0);
    let of_row_group = |at: usize| {
        execution.interrupt.check()?;
        let Some((_, row_group)) = row_groups.get(at) else { return Ok(Lines::none(asked)) };
        let share = MemoryLease::new(execution.memory.clone());
        let lines = match row_group {
            AnyRowGroup::Events(row_group) => Lines::of_events(asked, row_group, &execution.interrupt, share)?,
            AnyRowGroup::Spend(row_group) => Lines::of_spend(asked, row_group, &execution.interrupt, share)?,
        };
        execution.report(&read_rows, row_group.rows(), row_groups.rows());
        Ok::<_, Error>(lines)
    };
    let found =
        (0..row_groups.len()).into_par_iter().with_max_len(1).map(of_row_group).collect::<Result<Vec<_>, _>>()?;
    let mut all = Lines::none(asked);
    for lines in found {
        all.merge(lines, asked);
    }
    Ok(all)
}

/// Returns the value of a metric in a range that the lines make up, which must be that of a row of the answer.
fn balanced(
    metric: &MetricRef,
    measures: &[Measure],
    lines: &Lines<'_>,
    range: ComparedRange,
    (answer, at): (&ResultTable, usize),
) -> Result<Value<'static>, Error> {
    let value = value_of(metric, |measure| {
        let place = measures.iter().position(|other| *other == measure);
        place.map_or(0, |place| lines.total(place, range))
    })?;
    let part = match range {
        ComparedRange::Previous => ComparedColumn::Previous,
        ComparedRange::Current => ComparedColumn::Current,
    };
    let expected = answer.value(at, &format!("{}{}", metric.name(), part.suffix()));
    if expected == Some(value) {
        return Ok(value);
    }
    let shown = |value: Option<Value<'_>>| {
        let number = value.and_then(Value::as_f64);
        number.map_or_else(|| "nothing".to_owned(), |number| number.to_string())
    };
    let [found, expected] = [Some(value), expected].map(shown);
    Err(Error::Unbalanced { metric: metric.name().to_owned(), found, expected })
}

/// Returns a number of the answer; null if it has none.
const fn number(value: Option<Value<'_>>) -> Value<'static> {
    match value {
        Some(Value::Count(count)) => Value::Count(count),
        Some(Value::Integer(integer)) => Value::Integer(integer),
        Some(Value::Money(amount)) => Value::Money(amount),
        Some(Value::Ratio(number)) => Value::Ratio(number),
        Some(Value::Number(number)) => Value::Number(number),
        Some(Value::Day(_) | Value::Text(_) | Value::Null) | None => Value::Null,
    }
}

/// Returns a total as the value of a metric.
fn amount(is_money: bool, total: i128, name: &str) -> Result<Value<'static>, QueryError> {
    if is_money {
        return Ok(Value::Money(total));
    }
    u64::try_from(total).map(Value::Count).map_err(|_| overflow(name))
}

fn overflow(name: &str) -> QueryError {
    QueryError::Overflow { name: name.to_owned() }
}

/// Returns the value of a metric, given that of each measure.
fn value_of(metric: &MetricRef, of: impl Fn(Measure) -> i128) -> Result<Value<'static>, QueryError> {
    match SumFormula::new(metric) {
        SumFormula::Amount(sum) if sum.is_signed && !sum.is_money => {
            i64::try_from(sum.total(of)).map(Value::Integer).map_err(|_| overflow(metric.name()))
        }
        SumFormula::Amount(sum) => amount(sum.is_money, sum.total(of), metric.name()),
        SumFormula::Ratio { numerator, denominator } => {
            let ratio = numerator.over(numerator.total(&of), &denominator, denominator.total(&of));
            Ok(Value::Ratio(ratio.unwrap_or(0.0)))
        }
        // A percentile is refused before.
        SumFormula::Percentile { .. } => Ok(Value::Ratio(0.0)),
    }
}
