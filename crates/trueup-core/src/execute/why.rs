//! Explains one row of an answer: the events, customers and rows of spend behind its numbers.
//!
//! | file, in call order | what it does |
//! |---|---|
//! | `lines` | collects the lines per row group, and drops lines that are not listed |
//! | `table` | reads the ids of the listed events, orders the lines, and makes a table of them |
//!
//! What a line adds, and by which rule, is what the accumulators of [`aggregate`](crate::aggregate) say. The row is
//! computed twice: by a query for it alone, as every answer is, and line by line. Both must agree.

mod lines;
mod table;

use super::row_groups::{AnyRowGroup, SelectedRowGroups};
use super::{Execution, execute_in_pool, in_pool, last_event_day};
use crate::aggregate::{AggregationMemo, QueryContext, is_sum};
use crate::dataset::Dataset;
use crate::dictionary::Measure;
use crate::error::{Error, QueryError};
use crate::finish::{ResultTable, SumFormula, Value};
use crate::memory::MemoryLease;
use crate::plan::{MetricRef, Plan};
use crate::query::{AnswerRow, DateRange, EventsQuery, WhyQuery, WhyRowFault};
use lines::{Lines, Listing, MeasureLines};
use rayon::prelude::*;
use std::sync::atomic::AtomicU64;

/// A metric that says whether the row has events.
const EVENTS: &str = "eventCount";

/// Why the numbers of one row of an answer are what they are.
///
/// Each metric is a sum of measures, or one such sum divided by another; a metric that users define may also subtract
/// measures. Each measure has lines that add up to it: an event that it counts, a customer, counted on its state event,
/// or a row of spend. The metrics that follow from the lines have been compared with the answer.
#[derive(Clone, Debug)]
pub struct Why {
    /// The days of the row.
    pub range: DateRange,
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
    /// What all its lines add up to: a count, or money.
    pub sum: Value<'static>,
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
        let plan = self.plan(&row.query)?;
        let listing = Listing { order: why.order, limit: why.limit };
        let question = Question { dataset: self, whole: &whole, row: &row, plan: &plan, listing };
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
    listing: Listing,
}

impl Question<'_> {
    fn answer(&self, query: &EventsQuery, execution: &Execution) -> Result<Why, Error> {
        let Self { dataset, row, plan, listing, .. } = *self;
        let metrics = self.metrics()?;
        let mut measures: Vec<Measure> = Vec::new();
        for measure in metrics.iter().flat_map(MetricRef::measures) {
            if !measures.contains(&measure) {
                measures.push(measure);
            }
        }
        let (answer, _) = execute_in_pool(dataset, plan, execution)?;
        let at = self.find(&answer).ok_or_else(|| self.no_such_row())?;
        let row_groups = SelectedRowGroups::new(dataset, plan, execution.pruning);
        let last_event = if measures.contains(&Measure::OpenLeads) {
            last_event_day(dataset, &plan.accounts, &execution.interrupt)?
        } else {
            None
        };
        let memo = AggregationMemo::new(plan);
        let mut context = QueryContext::new(plan, dataset.accounts(), &memo.increments);
        if let Some(day) = last_event {
            context = context.with_last_event(day);
        }
        let lines = collect(&context, &row_groups, &measures, listing, execution)?;
        if lines.rows == 0 && self.is_taken_by_others(query, execution)? {
            return Err(self.no_such_row());
        }
        let metrics = metrics.iter().map(|metric| {
            let name = metric.name();
            let value = value_of(metric, &measures, &lines.measures)?;
            let expected = answer.value(at, name);
            if expected != Some(value) {
                let shown = |value: Option<Value<'_>>| {
                    let number = value.and_then(Value::as_f64);
                    number.map_or_else(|| "nothing".to_owned(), |number| number.to_string())
                };
                let [found, expected] = [Some(value), expected].map(shown);
                return Err(Error::Unbalanced { metric: name.to_owned(), found, expected });
            }
            let formula = match metric {
                MetricRef::BuiltIn(_, formula) => formula.to_string(),
                MetricRef::Defined(metric) => metric.formula.to_string(),
            };
            let is_over_nothing = answer.column(name).is_some_and(|column| column.is_over_nothing(at));
            Ok(ExplainedMetric { name: name.to_owned(), formula, value, is_over_nothing })
        });
        let metrics = metrics.collect::<Result<_, Error>>()?;
        let sums = measures.iter().zip(&lines.measures).map(|(measure, lines)| {
            let sum = amount(measure.is_money(), lines.sum, measure.name())?;
            let listed = listing.limit.map_or(lines.count, |limit| lines.count.min(limit as u64));
            Ok(ExplainedMeasure { measure: *measure, lines: lines.count, listed, sum })
        });
        let sums = sums.collect::<Result<_, Error>>()?;
        let not_split = plan.dimensions.iter().chain(&plan.blank).filter(|dimension| dimension.spend.is_none());
        let not_split: Vec<&str> = not_split.map(|dimension| dimension.name.as_str()).collect();
        let details = table::Details { plan, measures: &measures, listing, last_event, not_split: &not_split };
        let lines = details.table(lines, execution)?;
        Ok(Why { range: plan.range, row: row.values.clone(), metrics, measures: sums, lines })
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

    /// Returns whether the answer to the whole query has no row with these values, given that the row has no events:
    /// spend without events makes a row only if no row with events shows it.
    fn is_taken_by_others(&self, query: &EventsQuery, execution: &Execution) -> Result<bool, Error> {
        if self.whole.dimensions.iter().all(|dimension| dimension.spend.is_some()) {
            return Ok(false);
        }
        let has_spend = |name: &str| {
            let of_plan = |dimension: &&crate::plan::DimensionRef| dimension.name == name;
            self.whole.dimensions.iter().find(of_plan).is_some_and(|dimension| dimension.spend.is_some())
        };
        let values = self.row.values.iter().filter(|(name, _)| has_spend(name));
        let others = query.metric_with(EVENTS, self.plan.range, values);
        // Conditions on metrics would hide the events.
        let plan = Plan { having: None, ..self.dataset.plan(&others)? };
        let (answer, _) = execute_in_pool(self.dataset, &plan, execution)?;
        Ok(answer.value(0, EVENTS).is_some_and(|events| events != Value::Count(0)))
    }
}

/// Collects the lines of the row groups in parallel.
fn collect<'a>(
    context: &QueryContext<'_>,
    row_groups: &SelectedRowGroups<'a>,
    measures: &[Measure],
    listing: Listing,
    execution: &Execution,
) -> Result<Lines<'a>, Error> {
    row_groups.read_footers(&execution.interrupt)?;
    let read_rows = AtomicU64::new(0);
    let of_row_group = |at: usize| {
        execution.interrupt.check()?;
        let Some((_, row_group)) = row_groups.get(at) else { return Ok(Lines::none(measures.len())) };
        let share = MemoryLease::new(execution.memory.clone());
        let lines = match row_group {
            AnyRowGroup::Events(row_group) => {
                Lines::of_events(context, row_group, measures, listing, &execution.interrupt, share)?
            }
            AnyRowGroup::Spend(row_group) => {
                Lines::of_spend(context, row_group, measures, listing, &execution.interrupt, share)?
            }
        };
        execution.report(&read_rows, row_group.rows(), row_groups.rows());
        Ok::<_, Error>(lines)
    };
    let found =
        (0..row_groups.len()).into_par_iter().with_max_len(1).map(of_row_group).collect::<Result<Vec<_>, _>>()?;
    let mut all = Lines::none(measures.len());
    for lines in found {
        all.merge(lines, listing);
    }
    for lines in &mut all.measures {
        lines.count_agents();
    }
    Ok(all)
}

/// Returns a total as the value of a metric.
fn amount(is_money: bool, total: i128, name: &str) -> Result<Value<'static>, Error> {
    if is_money {
        return Ok(Value::Money(total));
    }
    u64::try_from(total).map(Value::Count).map_err(|_| overflow(name))
}

fn overflow(name: &str) -> Error {
    QueryError::Overflow { name: name.to_owned() }.into()
}

/// Returns the value of a metric, given the lines of each measure.
fn value_of(metric: &MetricRef, measures: &[Measure], lines: &[MeasureLines]) -> Result<Value<'static>, Error> {
    let of = |measure: Measure| {
        measures.iter().zip(lines).find(|(other, _)| **other == measure).map_or(0, |(_, lines)| lines.sum)
    };
    match SumFormula::new(metric) {
        SumFormula::Amount(sum) if sum.is_signed && !sum.is_money => {
            i64::try_from(sum.total(of)).map(Value::Integer).map_err(|_| overflow(metric.name()))
        }
        SumFormula::Amount(sum) => amount(sum.is_money, sum.total(of), metric.name()),
        SumFormula::Ratio { numerator, denominator } => Ok(Value::Ratio(match denominator.total(of) {
            0 => 0.0,
            // Adding 0 turns a negative zero into zero.
            total => numerator.value(numerator.total(of)) / denominator.value(total) + 0.0,
        })),
        // A percentile is refused before.
        SumFormula::Percentile { .. } => Ok(Value::Ratio(0.0)),
    }
}
