//! The lines behind the numbers of one row: collected per row group, and cut to the ones that are listed.

use crate::Interrupt;
use crate::aggregate::{Contribution, Contributions, QueryContext, Spend, spend_rows};
use crate::dataset::{RowGroup, StartedReads};
use crate::dictionary::{AGENT_COLUMN, Measure};
use crate::error::Error;
use crate::memory::MemoryLease;
use crate::query::LineOrder;
use crate::scan::{CustomerIndex, EventColumns, SpendColumns, SpendProjection, SpendTextColumn};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The order of lines, and the most lines of a measure that are listed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Listing {
    pub(super) order: LineOrder,
    pub(super) limit: Option<usize>,
}

/// The lines behind some measures. Lines that are certainly beyond the limit of the listing are left out.
#[derive(Debug, Default)]
pub(super) struct Lines<'a> {
    /// The number of events in the row of the answer.
    pub(super) rows: u64,
    /// The row groups of the event lines.
    pub(super) row_groups: Vec<LineRowGroup<'a>>,
    /// The lines by measure.
    pub(super) measures: Vec<MeasureLines>,
    /// The memory of the lines, by row group.
    pub(super) shares: Vec<MemoryLease>,
}

/// A row group of events that has lines.
#[derive(Debug)]
pub(super) struct LineRowGroup<'a> {
    pub(super) row_group: &'a RowGroup<EventColumns>,
    customers: Arc<CustomerIndex>,
}

/// The lines of a measure.
#[derive(Debug, Default)]
pub(super) struct MeasureLines {
    /// The number of all lines.
    pub(super) count: u64,
    /// What all lines add up to: a number, or money in millionths.
    pub(super) sum: i128,
    pub(super) events: Vec<EventLine>,
    pub(super) spend: Vec<SpendLine>,
    /// The agents of state events. Each agent has one line.
    pub(super) agents: BTreeMap<String, AgentLines>,
}

/// An event, or the customer of a state event, that a measure counts.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventLine {
    /// The place of the row group in [`Lines::row_groups`].
    pub(super) row_group: usize,
    pub(super) day: u16,
    pub(super) counted: Contribution,
}

/// The customers of an agent.
#[derive(Debug, Default)]
pub(super) struct AgentLines {
    /// The number of customers.
    pub(super) customers: u64,
    /// The candidates for the agent's first line; the ids of the customers decide between them.
    pub(super) first: Vec<EventLine>,
}

/// A row of spend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpendLine {
    pub(super) day: u16,
    pub(super) account: String,
    /// Category, channel and campaign.
    pub(super) texts: [String; 3],
    pub(super) adds: i128,
}

impl Listing {
    /// Compares two lines by what they add and by their days.
    pub(super) fn compare(self, one: (i128, u16), other: (i128, u16)) -> Ordering {
        match self.order {
            LineOrder::Oldest => one.1.cmp(&other.1),
            LineOrder::Newest => other.1.cmp(&one.1),
            LineOrder::Largest => other.0.cmp(&one.0).then(one.1.cmp(&other.1)),
        }
    }

    /// Drops lines that are certainly beyond the limit. Lines that `compare` finds equal stay or go together.
    fn cut<T: Clone>(self, lines: &mut Vec<T>, compare: impl Fn(&T, &T) -> Ordering) {
        let Some(limit) = self.limit.filter(|limit| *limit < lines.len()) else { return };
        match limit.checked_sub(1) {
            Some(last) => {
                let last = lines.select_nth_unstable_by(last, &compare).1.clone();
                lines.retain(|line| compare(line, &last) != Ordering::Greater);
            }
            None => lines.clear(),
        }
    }
}

impl SpendLine {
    /// Returns the bytes held.
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.account.len() + self.texts.iter().map(String::len).sum::<usize>()
    }

    /// Compares two lines in the order of a listing. Lines that it finds equal are equal in every column.
    pub(super) fn compare(&self, other: &Self, listing: Listing) -> Ordering {
        let key = |line: &Self| (line.adds, line.day);
        let by_place = || (&self.account, &self.texts).cmp(&(&other.account, &other.texts));
        listing.compare(key(self), key(other)).then_with(by_place).then_with(|| self.adds.cmp(&other.adds))
    }
}

impl<'a> Lines<'a> {
    /// Returns an empty list of lines for each of `measures` measures.
    pub(super) fn none(measures: usize) -> Self {
        Self { measures: std::iter::repeat_with(MeasureLines::default).take(measures).collect(), ..Self::default() }
    }

    /// Collects the lines of a row group of events.
    pub(super) fn of_events(
        context: &QueryContext<'_>,
        row_group: &'a RowGroup<EventColumns>,
        measures: &[Measure],
        listing: Listing,
        interrupt: &Interrupt,
        mut share: MemoryLease,
    ) -> Result<Self, Error> {
        let columns = row_group.read_until(&context.plan.projection, StartedReads::default(), interrupt)?;
        if context.plan.cohort.is_some() {
            row_group.check_last_day(&columns)?;
        }
        let Contributions { rows, by_measure } = Contributions::new(context, &columns, measures, interrupt)?;
        let mut lines = Self { rows, ..Self::none(measures.len()) };
        let counted: usize = by_measure.iter().map(Vec::len).sum();
        share.set(|| counted * (size_of::<Contribution>() + size_of::<EventLine>()))?;
        if counted == 0 {
            return Ok(lines);
        }
        let line =
            |counted: Contribution| EventLine { row_group: 0, day: columns.days[counted.event as usize], counted };
        for ((measure, contributions), of_measure) in measures.iter().zip(by_measure).zip(&mut lines.measures) {
            let counted = contributions.into_iter().map(line);
            if *measure == Measure::OpportunityAgents {
                counted.for_each(|line| of_measure.add_agent(line, &columns));
            } else {
                of_measure.events = counted.collect();
                of_measure.count = of_measure.events.len() as u64;
                of_measure.sum = of_measure.events.iter().map(|line| line.counted.adds).sum();
            }
        }
        let customers = columns.customers.clone();
        lines.row_groups.push(LineRowGroup { row_group, customers });
        lines.cut(listing);
        let kept: usize = lines.measures.iter().map(|measure| measure.events.len() + measure.agents.len()).sum();
        share.set(|| kept * size_of::<EventLine>() + columns.customers.bytes())?;
        lines.shares.push(share);
        Ok(lines)
    }

    /// Collects the lines of a row group of spend.
    pub(super) fn of_spend(
        context: &QueryContext<'_>,
        row_group: &RowGroup<SpendColumns>,
        measures: &[Measure],
        listing: Listing,
        interrupt: &Interrupt,
        mut share: MemoryLease,
    ) -> Result<Self, Error> {
        let columns = row_group.read_until(&SpendProjection::all(), StartedReads::default(), interrupt)?;
        let mut lines = Self::none(measures.len());
        let rows = spend_rows(context, &columns, interrupt)?;
        for (measure, of_measure) in measures.iter().zip(&mut lines.measures) {
            let added = Spend::explain(&columns, *measure, &rows);
            for (row, adds) in rows.iter().zip(added).filter(|(_, adds)| *adds != 0) {
                of_measure.count += 1;
                of_measure.sum += adds;
                of_measure.spend.push(spend_line(&columns, *row as usize, adds));
            }
        }
        lines.cut(listing);
        share.set(|| lines.measures.iter().flat_map(|measure| &measure.spend).map(SpendLine::bytes).sum())?;
        lines.shares.push(share);
        Ok(lines)
    }

    /// Adds the lines of another row group.
    pub(super) fn merge(&mut self, other: Self, listing: Listing) {
        self.rows += other.rows;
        self.shares.extend(other.shares);
        let first = self.row_groups.len();
        self.row_groups.extend(other.row_groups);
        let moved = |line: EventLine| EventLine { row_group: line.row_group + first, ..line };
        for (into, from) in self.measures.iter_mut().zip(other.measures) {
            into.count += from.count;
            into.sum += from.sum;
            into.events.extend(from.events.into_iter().map(moved));
            into.spend.extend(from.spend);
            for (agent, lines) in from.agents {
                let agent = into.agents.entry(agent).or_default();
                agent.customers += lines.customers;
                agent.first.extend(lines.first.into_iter().map(moved));
            }
        }
        self.cut(listing);
    }

    /// Drops lines that are certainly not listed.
    fn cut(&mut self, listing: Listing) {
        let row_groups = &self.row_groups;
        let first = Listing { order: LineOrder::Oldest, limit: Some(1) };
        for measure in &mut self.measures {
            listing.cut(&mut measure.events, |one, other| compare_events(row_groups, listing, one, other));
            listing.cut(&mut measure.spend, |one, other| one.compare(other, listing));
            for agent in measure.agents.values_mut() {
                first.cut(&mut agent.first, |one, other| compare_events(row_groups, first, one, other));
            }
        }
    }
}

impl MeasureLines {
    /// Adds a state event to the customers of its agent.
    fn add_agent(&mut self, line: EventLine, columns: &EventColumns) {
        let Some(column) = columns.text(AGENT_COLUMN) else { return };
        let agent = &column.dictionary()[column.code(line.counted.customer as usize, line.counted.event as usize)];
        if !self.agents.contains_key(agent) {
            self.agents.insert(agent.to_owned(), AgentLines::default());
        }
        if let Some(agent) = self.agents.get_mut(agent) {
            agent.customers += 1;
            agent.first.push(line);
        }
    }

    /// Sets the number of lines, and their sum, to the number of agents, if the measure counts agents.
    pub(super) fn count_agents(&mut self) {
        if !self.agents.is_empty() {
            self.count = self.agents.len() as u64;
            self.sum = i128::from(self.count);
        }
    }
}

impl LineRowGroup<'_> {
    /// Returns the account of a line.
    pub(super) fn account(&self, line: &EventLine) -> &str {
        let Self { customers, .. } = self;
        &customers.account_keys()[customers.accounts().get(line.counted.customer as usize)]
    }
}

/// Compares two lines of events by all that orders them except the ids of their customers.
pub(super) fn compare_events(
    row_groups: &[LineRowGroup<'_>],
    listing: Listing,
    one: &EventLine,
    other: &EventLine,
) -> Ordering {
    let key = |line: &EventLine| (line.counted.adds, line.day);
    let account = |line: &EventLine| row_groups.get(line.row_group).map(|row_group| row_group.account(line));
    listing.compare(key(one), key(other)).then_with(|| account(one).cmp(&account(other)))
}

fn spend_line(columns: &SpendColumns, row: usize, adds: i128) -> SpendLine {
    let text = |column: &SpendTextColumn| column.texts[column.codes.get(row)].to_owned();
    SpendLine {
        day: columns.days[row],
        account: text(&columns.accounts),
        texts: columns.texts.each_ref().map(|column| column.as_deref().map(text).unwrap_or_default()),
        adds,
    }
}
