//! The lines behind the numbers of one row: collected per row group, and cut to the ones that are listed.

use super::change::{ChangeClass, ComparedRange, Subject, SubjectTotals, Tallies, Tally};
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

/// What is asked about the row groups.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    /// What finds the rows of each range, the earlier one first. There is no earlier one if only a number is explained,
    /// and not its change.
    pub(super) contexts: [Option<&'a QueryContext<'a>>; 2],
    pub(super) measures: &'a [Measure],
    pub(super) listing: Listing,
    /// The measures by which customers are classified, first each alone; `None` if only a number is explained.
    pub(super) subjects: Option<&'a [Subject]>,
}

/// The lines behind some measures. Lines that are certainly beyond the limit of the listing are left out.
#[derive(Debug, Default)]
pub(super) struct Lines<'a> {
    /// The number of events in the row of the answer, in each range.
    pub(super) rows: [u64; 2],
    /// The row groups of the event lines.
    pub(super) row_groups: Vec<LineRowGroup<'a>>,
    /// The lines by measure. The lines of a change are apart for each class that is listed; all others are of the first
    /// class.
    pub(super) measures: Vec<MeasureLines>,
    /// Who accounts for a change, by subject; empty if only a number is explained.
    pub(super) changes: Vec<SubjectTotals>,
    /// The memory of the lines, by row group.
    pub(super) shares: Vec<MemoryLease>,
}

/// A row group of events that has lines.
#[derive(Debug)]
pub(super) struct LineRowGroup<'a> {
    pub(super) row_group: &'a RowGroup<EventColumns>,
    customers: Arc<CustomerIndex>,
}

/// The lines of a measure, or of one class of the customers behind its change.
#[derive(Debug, Default)]
pub(super) struct MeasureLines {
    /// The number of all lines.
    pub(super) count: u64,
    /// What all lines of a number add up to: a number, or money in millionths.
    sum: i128,
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
    pub(super) range: ComparedRange,
    /// What orders the line: an amount, and a day.
    key: (i128, u16),
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

/// A row of spend or, of a change, all rows of a campaign in one range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SpendLine {
    pub(super) range: ComparedRange,
    /// What orders the line: an amount, and a day.
    key: (i128, u16),
    /// The number of rows.
    pub(super) rows: u64,
    /// The day of the first row.
    pub(super) day: u16,
    pub(super) account: String,
    /// Category, channel and campaign.
    pub(super) texts: [String; 3],
    pub(super) adds: i128,
}

impl Listing {
    /// Returns how many of some lines are listed.
    pub(super) fn listed(self, lines: u64) -> u64 {
        self.limit.map_or(lines, |limit| lines.min(limit as u64))
    }

    /// Compares two lines by their keys.
    fn compare(self, one: (i128, u16), other: (i128, u16)) -> Ordering {
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
        let by_place = || self.campaign().cmp(&other.campaign()).then(self.range.cmp(&other.range));
        listing.compare(self.key, other.key).then_with(by_place).then_with(|| self.adds.cmp(&other.adds))
    }

    /// Returns the account, the category, the channel and the campaign.
    fn campaign(&self) -> (&str, &[String; 3]) {
        (&self.account, &self.texts)
    }
}

impl<'a> Asked<'a> {
    /// Returns the classes whose lines are apart.
    pub(super) const fn classes(&self) -> &'static [ChangeClass] {
        match self.subjects {
            Some(_) => &ChangeClass::LISTED,
            None => &[ChangeClass::Current],
        }
    }

    /// Returns each range with what finds its rows.
    fn ranges(&self) -> impl Iterator<Item = (ComparedRange, &'a QueryContext<'a>)> {
        ComparedRange::ALL.into_iter().zip(self.contexts).filter_map(|(range, context)| Some((range, context?)))
    }
}

impl<'a> Lines<'a> {
    /// Returns empty lists of lines.
    pub(super) fn none(asked: &Asked<'_>) -> Self {
        let lists = asked.measures.len() * asked.classes().len();
        let subjects = asked.subjects.unwrap_or_default();
        Self {
            measures: std::iter::repeat_with(MeasureLines::default).take(lists).collect(),
            changes: subjects.iter().map(Subject::totals).collect(),
            ..Self::default()
        }
    }

    /// Collects the lines of a row group of events.
    pub(super) fn of_events(
        asked: &Asked<'_>,
        row_group: &'a RowGroup<EventColumns>,
        interrupt: &Interrupt,
        mut share: MemoryLease,
    ) -> Result<Self, Error> {
        let mut lines = Self::none(asked);
        // The plans of both ranges read the same columns.
        let Some((_, context)) = asked.ranges().next() else { return Ok(lines) };
        let columns = row_group.read_until(&context.plan.projection, StartedReads::default(), interrupt)?;
        if context.plan.cohort.is_some() {
            row_group.check_last_day(&columns)?;
        }
        let mut by_range = [Vec::new(), Vec::new()];
        for (range, context) in asked.ranges() {
            let found = Contributions::new(context, &columns, asked.measures, interrupt)?;
            lines.rows[range as usize] = found.rows;
            by_range[range as usize] = found.by_measure;
        }
        let counted: usize = by_range.iter().flatten().map(Vec::len).sum();
        let line_bytes = counted * (size_of::<Contribution>() + size_of::<EventLine>());
        share.set(|| line_bytes)?;
        if counted == 0 {
            return Ok(lines);
        }
        let day = |event: u32| columns.days[event as usize];
        let line = |range, counted: Contribution| {
            let key = (counted.adds, day(counted.event));
            EventLine { row_group: 0, range, key, counted }
        };
        if let Some(place) = asked.measures.iter().position(|measure| *measure == Measure::OpportunityAgents) {
            for (range, by_measure) in ComparedRange::ALL.into_iter().zip(&mut by_range) {
                let Some(counted) = by_measure.get_mut(place).map(std::mem::take) else { continue };
                let of_agents = lines.list(asked, place, ChangeClass::only_in(range));
                counted.into_iter().for_each(|counted| of_agents.add_agent(line(range, counted), &columns));
            }
        }
        let tallies = match asked.subjects {
            Some(subjects) => {
                let mut tallies = Tallies::new(&by_range, asked.measures.len());
                share.set(|| line_bytes + tallies.bytes())?;
                tallies.add_up(&by_range, day);
                tallies.add_to(subjects, &mut lines.changes);
                Some(tallies)
            }
            None => None,
        };
        for (range, by_measure) in ComparedRange::ALL.into_iter().zip(by_range) {
            for (place, contributions) in by_measure.into_iter().enumerate() {
                for counted in contributions {
                    let mut line = line(range, counted);
                    let mut class = ChangeClass::Current;
                    if let Some(tallies) = &tallies {
                        let tally = tallies.tally(counted.customer, place);
                        match ChangeClass::of(std::iter::once(tally)) {
                            None | Some(ChangeClass::Unchanged) => continue,
                            Some(listed) => class = listed,
                        }
                        line.key = tally.key(asked.listing.order);
                    }
                    let list = lines.list(asked, place, class);
                    list.count += 1;
                    list.sum += counted.adds;
                    list.events.push(line);
                }
            }
        }
        let customers = columns.customers.clone();
        lines.row_groups.push(LineRowGroup { row_group, customers });
        lines.cut(asked.listing);
        let kept: usize = lines.measures.iter().map(|measure| measure.events.len() + measure.agents.len()).sum();
        share.set(|| kept * size_of::<EventLine>() + columns.customers.bytes())?;
        lines.shares.push(share);
        Ok(lines)
    }

    /// Collects the lines of a row group of spend. Those of a change are not classified yet.
    pub(super) fn of_spend(
        asked: &Asked<'_>,
        row_group: &RowGroup<SpendColumns>,
        interrupt: &Interrupt,
        mut share: MemoryLease,
    ) -> Result<Self, Error> {
        let columns = row_group.read_until(&SpendProjection::all(), StartedReads::default(), interrupt)?;
        let mut lines = Self::none(asked);
        for (range, context) in asked.ranges() {
            let rows = spend_rows(context, &columns, interrupt)?;
            for (place, measure) in asked.measures.iter().enumerate() {
                let list = lines.list(asked, place, ChangeClass::Current);
                let added = Spend::explain(&columns, *measure, &rows);
                for (row, adds) in rows.iter().zip(added).filter(|(_, adds)| *adds != 0) {
                    list.count += 1;
                    list.sum += adds;
                    list.spend.push(spend_line(&columns, *row as usize, range, adds));
                }
            }
        }
        lines.shorten(asked);
        share.set(|| lines.measures.iter().flat_map(|measure| &measure.spend).map(SpendLine::bytes).sum())?;
        lines.shares.push(share);
        Ok(lines)
    }

    /// Returns the lines of a class of a measure.
    fn list(&mut self, asked: &Asked<'_>, place: usize, class: ChangeClass) -> &mut MeasureLines {
        &mut self.measures[place * asked.classes().len() + class as usize]
    }

    /// Returns the number of lines of a class of a measure.
    pub(super) fn count(&self, asked: &Asked<'_>, place: usize, class: ChangeClass) -> u64 {
        self.measures[place * asked.classes().len() + class as usize].count
    }

    /// Returns what a measure is in a range.
    pub(super) fn total(&self, place: usize, range: ComparedRange) -> i128 {
        match self.changes.get(place) {
            Some(totals) => totals.iter().map(|class| class.sums[0][range as usize]).sum(),
            None => self.measures[place].sum,
        }
    }

    /// Adds the lines of another row group.
    pub(super) fn merge(&mut self, other: Self, asked: &Asked<'_>) {
        for (into, from) in self.rows.iter_mut().zip(other.rows) {
            *into += from;
        }
        for (into, from) in self.changes.iter_mut().flatten().zip(other.changes.iter().flatten()) {
            into.merge(from);
        }
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
        self.shorten(asked);
    }

    /// Drops lines that are certainly not listed, and makes one line of the rows of a campaign if a change is
    /// explained: its class and its place in the order depend on all of them.
    fn shorten(&mut self, asked: &Asked<'_>) {
        if asked.subjects.is_none() {
            return self.cut(asked.listing);
        }
        for lines in &mut self.measures {
            lines.add_up_campaigns();
        }
        let spend: Vec<_> = self.measures.iter_mut().map(|lines| std::mem::take(&mut lines.spend)).collect();
        self.cut(asked.listing);
        for (lines, spend) in self.measures.iter_mut().zip(spend) {
            lines.spend = spend;
        }
    }

    /// Leaves out the spend of a range.
    pub(super) fn drop_spend(&mut self, range: ComparedRange) {
        for MeasureLines { count, spend, .. } in &mut self.measures {
            for line in spend.extract_if(.., |line| line.range == range) {
                *count -= line.rows;
            }
        }
    }

    /// Ends the collection: counts agents, and classifies the agents and campaigns of a change.
    pub(super) fn finish(&mut self, asked: &Asked<'_>) {
        if asked.subjects.is_none() {
            self.measures.iter_mut().for_each(MeasureLines::count_agents);
            return;
        }
        let lists = self.measures.chunks_mut(ChangeClass::LISTED.len());
        for (lists, totals) in lists.zip(&mut self.changes) {
            classify_agents(lists, totals);
            classify_campaigns(lists, totals, asked.listing.order);
        }
        self.cut(asked.listing);
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

    /// Makes one line of the rows of each campaign in each range.
    fn add_up_campaigns(&mut self) {
        self.spend.sort_by(|one, other| one.campaign().cmp(&other.campaign()).then(one.range.cmp(&other.range)));
        self.spend.dedup_by(|next, kept| {
            let is_same = next.campaign() == kept.campaign() && next.range == kept.range;
            if is_same {
                kept.adds += next.adds;
                kept.rows += next.rows;
                kept.day = kept.day.min(next.day);
            }
            is_same
        });
    }

    /// Sets the number of lines, and their sum, to the number of agents, if the measure counts agents.
    fn count_agents(&mut self) {
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
    let account = |line: &EventLine| row_groups.get(line.row_group).map(|row_group| row_group.account(line));
    listing.compare(one.key, other.key).then_with(|| account(one).cmp(&account(other)))
}

/// Moves agents of both ranges out of the lists of both, because they change nothing, and counts all.
fn classify_agents(lists: &mut [MeasureLines], totals: &mut SubjectTotals) {
    let [current, previous, _] = lists else { return };
    let in_both = current.agents.keys().filter(|agent| previous.agents.contains_key(*agent));
    let both: Vec<String> = in_both.cloned().collect();
    for agent in &both {
        current.agents.remove(agent);
        previous.agents.remove(agent);
    }
    for (class, agents, ranges) in [
        (ChangeClass::Current, current.agents.len(), [0, 1]),
        (ChangeClass::Previous, previous.agents.len(), [1, 0]),
        (ChangeClass::Unchanged, both.len(), [1, 1]),
    ] {
        let totals = &mut totals[class as usize];
        let count = agents as u64;
        totals.counted += count;
        for (sum, times) in totals.sums.iter_mut().flatten().zip(ranges) {
            *sum += i128::from(count * times);
        }
    }
    current.count_agents();
    previous.count_agents();
}

/// Moves the campaigns of spend to the lists of their classes. All are in the first list.
fn classify_campaigns(lists: &mut [MeasureLines], totals: &mut SubjectTotals, order: LineOrder) {
    let Some(first) = lists.first_mut().filter(|list| !list.spend.is_empty()) else { return };
    let spend = std::mem::take(&mut first.spend);
    first.count = 0;
    for campaign in spend.chunk_by(|one, other| one.campaign() == other.campaign()) {
        let mut tally = Tally::default();
        for line in campaign {
            tally.add(line.range, line.adds, line.day);
        }
        let Some(class) = ChangeClass::of(std::iter::once(&tally)) else { continue };
        totals[class as usize].add(std::iter::once(&tally));
        if let Some(list) = lists.get_mut(class as usize) {
            let key = tally.key(order);
            list.count += campaign.len() as u64;
            list.spend.extend(campaign.iter().map(|line| SpendLine { key, ..line.clone() }));
        }
    }
}

fn spend_line(columns: &SpendColumns, row: usize, range: ComparedRange, adds: i128) -> SpendLine {
    let text = |column: &SpendTextColumn| column.texts[column.codes.get(row)].to_owned();
    let day = columns.days[row];
    SpendLine {
        range,
        key: (adds, day),
        rows: 1,
        day,
        account: text(&columns.accounts),
        texts: columns.texts.each_ref().map(|column| column.as_deref().map(text).unwrap_or_default()),
        adds,
    }
}
