//! What each event adds to the measures of one group, for itself or for its customer.
//!
//! The filter of the plan selects the events of the group, so that steps 1 and 2 of [`aggregate`](super) find its rows.
//! What a row counts for follows from the same facts as in step 4.

use super::context::QueryContext;
use super::count::{next_of_pair, state_revenue};
use super::event_rows::for_each_batch;
use super::facts::{Facts, facts_of_state, grade_facts, has_fact, open_lead_facts, row_facts, status_facts};
use super::segment::{LeadHistories, SegmentBatch, SegmentCache, SegmentOutcome};
use crate::dictionary::{Measure, MeasureKind};
use crate::model::Stage;
use crate::plan::{AGENT_COLUMN, GRADE_COLUMN, STATUS_COLUMN};
use crate::scan::{EventColumns, TextColumn, stage};
use crate::{Code, Interrupt, Interruption};

/// What an event adds to a measure, for itself or for its customer. An event stands for its customer if it is the state
/// event or, for [`Measure::Opportunities`], the customer's first event in the group.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contribution {
    /// The index of the event in the row group.
    pub(crate) event: u32,
    /// The index of the customer in the row group.
    pub(crate) customer: u32,
    /// The index of the customer's first event in the sub-range.
    pub(crate) first: u32,
    /// The number of events of the customer in the sub-range.
    pub(crate) length: u32,
    /// What is added: a number, or money in millionths.
    pub(crate) adds: i128,
}

/// The contributions of the events of a row group.
#[derive(Debug)]
pub(crate) struct Contributions {
    /// The number of events that pass the filter.
    pub(crate) rows: u64,
    /// The contributions to each measure in the order of the rows. Each state event with an agent contributes to
    /// [`Measure::OpportunityAgents`], which counts one of the events of each agent.
    pub(crate) by_measure: Vec<Vec<Contribution>>,
}

/// The columns of a row group by which rows count.
struct CountedColumns<'a> {
    columns: &'a EventColumns,
    grades: Option<&'a TextColumn>,
    statuses: Option<&'a TextColumn>,
    agents: Option<&'a TextColumn>,
    /// For each account, whether it has lead grading.
    graded: Vec<bool>,
    /// The last day whose leads have a window that is over; negative if there is none.
    open_after_day: i64,
}

impl Contributions {
    /// Returns what the events of a row group contribute to `measures`, none of which is one of spend. They must be
    /// among the measures that the plan aggregates, so that their columns are read.
    ///
    /// # Errors
    /// The interrupt ends the query.
    pub(crate) fn new(
        context: &QueryContext<'_>,
        columns: &EventColumns,
        measures: &[Measure],
        interrupt: &Interrupt,
    ) -> Result<Self, Interruption> {
        let selected = context.selected(columns.customers.account_keys());
        let blocks = context.blocks(columns, &selected);
        let leads = LeadHistories::select(context.plan, columns, blocks.clone());
        let leads = leads.as_ref();
        let columns = leads.map_or(columns, LeadHistories::columns);
        let layout = &context.plan.layout;
        let counted = CountedColumns {
            columns,
            grades: columns.text(GRADE_COLUMN).filter(|_| layout.needs_grades()),
            statuses: columns.text(STATUS_COLUMN).filter(|_| layout.needs_statuses()),
            agents: columns.text(AGENT_COLUMN).filter(|_| layout.agents),
            graded: context.graded(columns.customers.account_keys()),
            open_after_day: context.open_after_day,
        };
        let mut found = Self { rows: 0, by_measure: vec![Vec::new(); measures.len()] };
        let mut add = |batch: &SegmentBatch, cache: &SegmentCache| {
            found.add(&counted, measures, batch, cache);
            Ok(())
        };
        for_each_batch(context, columns, leads, blocks, interrupt, &mut add)?;
        Ok(found)
    }

    /// Adds the contributions of the rows of a batch.
    fn add(&mut self, counted: &CountedColumns<'_>, measures: &[Measure], batch: &SegmentBatch, cache: &SegmentCache) {
        let SegmentBatch { segments, rows } = batch;
        self.rows += rows.events.len() as u64;
        let has_facts = |measure: &Measure| {
            matches!(measure.kind(), MeasureKind::Rows | MeasureKind::StateRows)
                || matches!(measure, Measure::NotReached(_))
        };
        let needs_facts = measures.iter().any(has_facts);
        let mut last_segment = None;
        for (event, segment) in rows.events.iter().zip(&rows.segments) {
            let at = *segment as usize;
            let outcome = cache.outcome(segments.classes[at]);
            let mut row = Row {
                facts: 0,
                contribution: Contribution {
                    event: *event,
                    customer: segments.customers[at],
                    first: segments.events[at],
                    length: segments.lengths[at],
                    adds: 1,
                },
                state: (*event == segments.events[at] + outcome.state_row).then_some(outcome),
                // There is one sub-range, so that a customer has one segment.
                is_first_of_customer: last_segment.replace(*segment) != Some(*segment),
            };
            if needs_facts {
                row.facts = counted.facts(&row);
            }
            for (measure, into) in measures.iter().zip(&mut self.by_measure) {
                if let Some(adds) = counted.adds(&row, *measure) {
                    into.push(Contribution { adds, ..row.contribution });
                }
            }
        }
    }
}

/// A row of the group.
struct Row<'a> {
    /// 0 unless a measure counts facts.
    facts: Facts,
    contribution: Contribution,
    /// What the customer's state event counts for; `None` if the row is another event.
    state: Option<&'a SegmentOutcome>,
    /// Whether no earlier event of the customer is in the group.
    is_first_of_customer: bool,
}

impl CountedColumns<'_> {
    /// Returns what a row adds to a measure; `None` if the measure does not count it.
    fn adds(&self, row: &Row<'_>, measure: Measure) -> Option<i128> {
        let Contribution { event, first, .. } = row.contribution;
        let amounts = || self.columns.totals.as_deref();
        match measure.kind() {
            MeasureKind::Rows if measure == Measure::Opportunities => row.is_first_of_customer.then_some(1),
            MeasureKind::Rows | MeasureKind::StateRows => has_fact(row.facts, measure).then_some(1),
            MeasureKind::RowMoney => amounts()?.get(event as usize).map(i128::from),
            MeasureKind::StateMoney => {
                let outcome = row.state.filter(|outcome| revenue_state(measure).code() == outcome.state)?;
                let rows = (first + outcome.first_live_row) as usize..(first + outcome.state_row) as usize + 1;
                let revenue = |amounts| state_revenue(amounts, self.columns.histories.events(), outcome.state, rows);
                Some(amounts().map_or(0, revenue))
            }
            MeasureKind::StateDistinct => {
                let customer = row.contribution.customer as usize;
                let agent = |column: &TextColumn| column.code(customer, event as usize) != Code::EMPTY;
                (row.state.is_some() && self.agents.is_some_and(agent)).then_some(1)
            }
            MeasureKind::Durations => {
                let (customer, event) = (row.contribution.customer as usize, event as usize);
                match measure {
                    Measure::Reached(pair) => next_of_pair(self.columns, customer, event, pair).map(|_| 1),
                    Measure::NotReached(pair) => {
                        let is_at_first = has_fact(row.facts, pair.population());
                        (is_at_first && next_of_pair(self.columns, customer, event, pair).is_none()).then_some(1)
                    }
                    Measure::Days(pair) => {
                        let next = next_of_pair(self.columns, customer, event, pair)?;
                        Some(i128::from(self.columns.days[next] - self.columns.days[event]))
                    }
                    _ => None,
                }
            }
            MeasureKind::SpendMoney | MeasureKind::SpendCount => None,
        }
    }

    /// Returns the facts of a row.
    fn facts(&self, row: &Row<'_>) -> Facts {
        let Contribution { event, customer, .. } = row.contribution;
        let (event, customer) = (event as usize, customer as usize);
        let flags = self.columns.histories.events().get(event);
        let text = |column: &TextColumn| column.code(customer, event);
        let mut facts = row_facts(flags);
        if flags.stage() == stage::LEAD_ORIGINATED
            && let Some(grades) = self.grades
            && self.graded[self.columns.customers.accounts().get(customer).index()]
        {
            facts |= grade_facts(&grades.dictionary()[text(grades)]);
        }
        // In a cohort every first event is a lead.
        if flags.is_first() && i64::from(self.columns.days[event]) > self.open_after_day {
            facts |= open_lead_facts();
        }
        if let Some(outcome) = row.state {
            let status = self.statuses.map_or("", |column| &column.dictionary()[text(column)]);
            facts |= facts_of_state(outcome.facts) | status_facts(status);
        }
        facts
    }
}

/// Returns the state of the customers that a measure of revenue counts.
pub(crate) const fn revenue_state(revenue: Measure) -> Stage {
    match revenue {
        Measure::EstimatedRevenue => Stage::Estimated,
        Measure::SoldRevenue => Stage::Sold,
        _ => Stage::Closed,
    }
}
