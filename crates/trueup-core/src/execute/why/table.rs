//! The lines that are listed, as a table.

use super::change::{ChangeClass, ComparedRange, signed};
use super::lines::{AgentLines, EventLine, LineRowGroup, Lines, Listing, MeasureLines, SpendLine, compare_events};
use crate::Day;
use crate::aggregate::{CountedEvent, Spend, agent_rule, rule};
use crate::dataset::StartedReads;
use crate::dictionary::Measure;
use crate::error::{Error, QueryError};
use crate::execute::Execution;
use crate::finish::{Column, ResultTable, StringColumnBuilder, Value, Values};
use crate::memory::MemoryLease;
use crate::model::{ACCOUNT, DATE, EVENT_ID, OPPORTUNITY_ID, TYPE};
use crate::plan::Plan;
use crate::query::LineOrder;
use crate::scan::{EventColumns, TableColumns};
use hashbrown::HashMap;
use rayon::prelude::*;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The column of what lines add to counts.
const COUNT: &str = "count";

/// What the table needs besides the lines.
pub(super) struct Details<'a> {
    pub(super) plan: &'a Plan,
    pub(super) measures: &'a [Measure],
    /// Whether the lines are those of a change.
    pub(super) is_change: bool,
    pub(super) listing: Listing,
    /// The last day of the events, if a measure depends on it.
    pub(super) last_event: Option<Day>,
    /// The dimensions of the query that spend does not have.
    pub(super) not_split: &'a [&'a str],
}

/// The row groups of the lines, with the ids of customers and events where lines are listed.
struct Identified<'a> {
    row_groups: Vec<LineRowGroup<'a>>,
    with_ids: Vec<Option<ColumnsWithIds>>,
}

/// The columns of a row group with the ids of customers and events.
struct ColumnsWithIds {
    columns: Arc<EventColumns>,
    /// The memory of the columns, which are kept until the table is made.
    _share: MemoryLease,
}

/// The columns of the table.
#[derive(Default)]
struct LineColumns {
    measures: StringColumnBuilder,
    /// The classes and ranges of the lines of a change.
    classes: StringColumnBuilder,
    ranges: StringColumnBuilder,
    accounts: StringColumnBuilder,
    customers: StringColumnBuilder,
    events: StringColumnBuilder,
    days: Vec<Day>,
    stages: StringColumnBuilder,
    /// What is not money; negative where it lessens a change.
    counts: Vec<i64>,
    amounts: Vec<i128>,
    rules: StringColumnBuilder,
}

/// The lines of a measure or, of a change, of one of its classes.
#[derive(Clone, Copy)]
struct LineList {
    measure: Measure,
    class: Option<ChangeClass>,
}

/// A line of the table without its measure and class.
struct Line<'a> {
    range: ComparedRange,
    account: &'a str,
    customer: &'a str,
    event: &'a str,
    day: u16,
    stage: &'a str,
    adds: i128,
    rule: String,
}

impl Details<'_> {
    /// Reads the ids of the events of the lines, orders the lines, and makes the table.
    pub(super) fn table(&self, lines: Lines<'_>, execution: &Execution) -> Result<ResultTable, Error> {
        let Lines { row_groups, measures, shares, .. } = lines;
        let identified = Identified { with_ids: self.read_ids(&row_groups, &measures, execution)?, row_groups };
        let mut columns = LineColumns::default();
        for (list, lines) in self.lists().zip(measures) {
            execution.interrupt.check()?;
            let MeasureLines { events, spend, agents, .. } = lines;
            self.push_events(list, events, agents, &identified, &mut columns)?;
            self.push_spend(list, spend, &mut columns)?;
        }
        let table = columns.table(self)?;
        let mut share = MemoryLease::new(execution.memory.clone());
        share.set(|| table.bytes())?;
        // From here on the lines take no memory.
        drop((identified, shares));
        Ok(table.counted(share)?)
    }

    /// Returns the lists of lines, in order.
    fn lists(&self) -> impl Iterator<Item = LineList> {
        let classes = if self.is_change { ChangeClass::LISTED.map(Some).to_vec() } else { vec![None] };
        let of_measure = move |measure: &Measure| {
            let measure = *measure;
            classes.clone().into_iter().map(move |class| LineList { measure, class })
        };
        self.measures.iter().flat_map(of_measure)
    }

    /// Appends the lines of events of a list.
    fn push_events(
        &self,
        list: LineList,
        mut lines: Vec<EventLine>,
        agents: BTreeMap<String, AgentLines>,
        identified: &Identified<'_>,
        columns: &mut LineColumns,
    ) -> Result<(), Error> {
        let mut rules = HashMap::new();
        for (agent, AgentLines { customers, first }) in agents {
            let oldest = Listing { order: LineOrder::Oldest, limit: None };
            if let Some(first) = first.into_iter().min_by(|one, other| identified.compare(oldest, one, other)) {
                // No two agents have the same state event.
                rules.insert((first.row_group, first.counted.event), agent_rule(&agent, customers));
                lines.push(first);
            }
        }
        lines.sort_by(|one, other| identified.compare(self.listing, one, other));
        lines.truncate(self.listing.limit.unwrap_or(usize::MAX));
        for line in &lines {
            let Some((row_group, ids)) = identified.of(line) else { continue };
            let event = CountedEvent::new(ids, &line.counted, self.plan.cohort, self.last_event);
            let mut rule = rule(list.measure, &event);
            if let Some(agent) = rules.remove(&(line.row_group, line.counted.event)) {
                rule = format!("{rule}; {agent}");
            }
            let line = Line {
                range: line.range,
                account: row_group.account(line),
                customer: customer_id(ids, line),
                event: event.event_id(),
                day: ids.days[line.counted.event as usize],
                stage: event.stage(),
                adds: line.counted.adds,
                rule,
            };
            columns.push(list, &line)?;
        }
        Ok(())
    }

    /// Appends the lines of spend of a list.
    fn push_spend(&self, list: LineList, mut lines: Vec<SpendLine>, columns: &mut LineColumns) -> Result<(), Error> {
        lines.sort_by(|one, other| one.compare(other, self.listing));
        lines.truncate(self.listing.limit.unwrap_or(usize::MAX));
        for line in &lines {
            let SpendLine { range, rows, day, account, texts, adds, .. } = line;
            let mut rule = Spend::rule(list.measure, texts, self.not_split);
            if *rows > 1 {
                rule += &format!("; the sum of {rows} rows of spend");
            }
            let (range, day, adds) = (*range, *day, *adds);
            columns.push(list, &Line { range, account, customer: "", event: "", day, stage: "", adds, rule })?;
        }
        Ok(())
    }

    /// Returns for each row group that has a line its columns with the ids of customers and events.
    fn read_ids(
        &self,
        row_groups: &[LineRowGroup<'_>],
        measures: &[MeasureLines],
        execution: &Execution,
    ) -> Result<Vec<Option<ColumnsWithIds>>, Error> {
        let mut projection = self.plan.projection.clone();
        projection.texts.extend([OPPORTUNITY_ID, EVENT_ID].map(str::to_owned));
        let mut is_listed = vec![false; row_groups.len()];
        let agents = measures.iter().flat_map(|measure| measure.agents.values()).flat_map(|agent| &agent.first);
        for line in measures.iter().flat_map(|measure| &measure.events).chain(agents) {
            if let Some(is_listed) = is_listed.get_mut(line.row_group) {
                *is_listed = true;
            }
        }
        let read = |row_group: &LineRowGroup<'_>| {
            let columns = row_group.row_group.read_until(&projection, StartedReads::default(), &execution.interrupt)?;
            let mut share = MemoryLease::new(execution.memory.clone());
            // The columns of a table in memory belong to the dataset.
            share.set(|| row_group.row_group.file().map_or(0, |_| columns.bytes()))?;
            Ok(ColumnsWithIds { columns, _share: share })
        };
        let read = |(row_group, is_listed)| if is_listed { read(row_group).map(Some) } else { Ok(None) };
        row_groups.par_iter().zip(is_listed).map(read).collect()
    }
}

impl<'a> Identified<'a> {
    /// Returns the row group of a line, and its columns with ids.
    fn of(&self, line: &EventLine) -> Option<(&LineRowGroup<'a>, &EventColumns)> {
        Some((self.row_groups.get(line.row_group)?, &self.with_ids.get(line.row_group)?.as_ref()?.columns))
    }

    /// Compares two lines. Those of a customer are in the order of the ranges and of its history.
    fn compare(&self, listing: Listing, one: &EventLine, other: &EventLine) -> Ordering {
        let by_customer = || self.place(one).cmp(&self.place(other));
        compare_events(&self.row_groups, listing, one, other).then_with(by_customer)
    }

    /// Returns the id of the customer of a line, its range, and the place of its event.
    fn place(&self, line: &EventLine) -> Option<(&str, ComparedRange, u32)> {
        self.of(line).map(|(_, ids)| (customer_id(ids, line), line.range, line.counted.event))
    }
}

/// Returns the id of the customer of a line.
fn customer_id<'a>(columns: &'a EventColumns, line: &EventLine) -> &'a str {
    let (customer, event) = (line.counted.customer as usize, line.counted.event as usize);
    columns.text(OPPORTUNITY_ID).map_or("", |ids| &ids.dictionary()[ids.code(customer, event)])
}

impl LineColumns {
    fn push(&mut self, list: LineList, line: &Line<'_>) -> Result<(), Error> {
        let LineList { measure, class } = list;
        self.measures.push(measure.name());
        let mut adds = line.adds;
        if let Some(class) = class {
            self.classes.push(class.name());
            self.ranges.push(line.range.name());
            adds = line.range.signed(adds);
        }
        self.accounts.push(line.account);
        self.customers.push(line.customer);
        self.events.push(line.event);
        self.days.push(Day::from_number(line.day));
        self.stages.push(line.stage);
        let (count, amount) = match signed(measure, adds)? {
            Value::Integer(count) => (count, 0),
            _ => (0, adds),
        };
        self.counts.push(count);
        self.amounts.push(amount);
        self.rules.push(&line.rule);
        Ok(())
    }

    fn table(self, details: &Details<'_>) -> Result<ResultTable, QueryError> {
        let (measures, is_change) = (details.measures, details.is_change);
        let has_money = measures.iter().any(|measure| measure.is_money());
        let has_counts = measures.iter().any(|measure| !measure.is_money());
        let counts = if is_change {
            Values::Integers(self.counts)
        } else {
            let overflow = |_| QueryError::Overflow { name: COUNT.to_owned() };
            let counts = self.counts.into_iter().map(|count| u64::try_from(count).map_err(overflow));
            Values::Counts(counts.collect::<Result<_, _>>()?)
        };
        let columns = [
            ("measure", Some(self.measures.texts())),
            ("class", is_change.then(|| self.classes.texts())),
            ("range", is_change.then(|| self.ranges.texts())),
            (ACCOUNT, Some(self.accounts.texts())),
            (OPPORTUNITY_ID, Some(self.customers.texts())),
            (EVENT_ID, Some(self.events.texts())),
            (DATE, Some(Values::Days(self.days))),
            (TYPE, Some(self.stages.texts())),
            (COUNT, has_counts.then_some(counts)),
            ("amount", has_money.then_some(Values::Money(self.amounts))),
            ("rule", Some(self.rules.texts())),
        ];
        let columns =
            columns.into_iter().filter_map(|(name, values)| Some(Column { name: name.to_owned(), values: values? }));
        Ok(ResultTable::from_columns(columns.collect()))
    }
}
