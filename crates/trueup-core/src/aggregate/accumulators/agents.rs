//! Distinct agents per group.

use super::{
    Accumulator, ArrowColumns, BoundAccumulator, CountedEvent, EventAccumulator, ExplainedRow, StateRows, column,
    invalid,
};
use crate::aggregate::context::QueryContext;
use crate::aggregate::group::{CodeMap, Interner, NewTexts};
use crate::aggregate::types::{GroupSlot, INTERRUPT_CHECK_GROUPS};
use crate::dictionary::{AGENT_COLUMN, Measure};
use crate::memory::{column_bytes_while_adding, table_bytes_while_adding};
use crate::plan::MeasureLayout;
use crate::scan::{EventColumns, TextColumn};
use crate::{Code, Interrupt, Interruption, Shown};
use arrow_array::builder::{ListBuilder, StringDictionaryBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{RecordBatch, StringArray};
use arrow_schema::ArrowError;
use hashbrown::HashSet;

/// The Arrow column of agents.
const AGENTS: &str = "agents";

/// The distinct agents of each group.
#[derive(Clone, Debug, Default)]
pub(crate) struct DistinctAgents {
    /// Whether the query counts agents.
    is_needed: bool,
    /// Slots of groups, each with the code of one of its agents.
    pairs: HashSet<(GroupSlot, u32)>,
    /// The agents by code.
    names: Interner,
    /// By slot, the number of agents; empty if the query counts none.
    numbers: Vec<u32>,
}

/// The agents of state rows, bound to the columns of a row group.
#[derive(Debug)]
pub(crate) struct AgentColumn<'a> {
    column: &'a TextColumn,
    code_map: CodeMap,
    /// By the code of an agent, the slot that it was last added to, so that repetitions are not looked up.
    last_slots: Vec<GroupSlot>,
    /// The codes of the state rows.
    codes: Vec<u32>,
}

impl DistinctAgents {
    /// Adds an agent to a slot, unless it has the agent.
    fn insert(&mut self, slot: GroupSlot, agent: u32) {
        if self.pairs.insert((slot, agent)) {
            self.numbers[slot.index()] += 1;
        }
    }
}

impl Accumulator for DistinctAgents {
    fn holds(measure: Measure) -> bool {
        measure == Measure::OpportunityAgents
    }

    fn new(layout: &MeasureLayout) -> Self {
        Self { is_needed: layout.has(Measure::OpportunityAgents), ..Self::default() }
    }

    fn bytes(&self) -> usize {
        self.pairs.allocation_size() + self.names.bytes() + self.numbers.capacity() * size_of::<u32>()
    }

    fn grow(&mut self, slots: usize) {
        if self.is_needed {
            self.numbers.resize(slots, 0);
        }
    }

    fn merge(&mut self, other: Self, slots: &[GroupSlot], interrupt: &Interrupt) -> Result<(), Interruption> {
        let codes = self.names.merge(other.names, interrupt)?;
        // As `extend` does: some of the pairs may be known.
        self.pairs.reserve(other.pairs.len().div_ceil(2));
        for (at, (slot, code)) in other.pairs.iter().enumerate() {
            if at.is_multiple_of(INTERRUPT_CHECK_GROUPS) {
                interrupt.check()?;
            }
            self.insert(slots[slot.group()], codes[*code as usize]);
        }
        Ok(())
    }

    fn to_arrow(&self, groups: usize, columns: &mut ArrowColumns) -> Result<(), ArrowError> {
        if !self.is_needed {
            return Ok(());
        }
        let mut by_slot: Vec<(GroupSlot, &str)> =
            self.pairs.iter().map(|(slot, code)| (*slot, &self.names.texts()[*code as usize])).collect();
        by_slot.sort_unstable();
        let mut by_slot = by_slot.into_iter().peekable();
        let mut agents = ListBuilder::new(StringDictionaryBuilder::<UInt32Type>::new());
        for slot in GroupSlot::first(groups) {
            while let Some((_, agent)) = by_slot.next_if(|(of, _)| *of == slot) {
                agents.values().append(agent)?;
            }
            agents.append(true);
        }
        columns.push(AGENTS.to_owned(), agents.finish());
        Ok(())
    }

    fn add_arrow(&mut self, batch: &RecordBatch, slots: &[GroupSlot]) -> Result<(), ArrowError> {
        if !self.is_needed {
            return Ok(());
        }
        let lists = column(batch, AGENTS)?.as_list_opt::<i32>().ok_or_else(|| invalid(AGENTS))?;
        for (slot, agents) in slots.iter().zip(lists.iter()) {
            let agents = agents.ok_or_else(|| invalid(AGENTS))?;
            let agents = agents.as_dictionary_opt::<UInt32Type>().ok_or_else(|| invalid(AGENTS))?;
            let names = agents.downcast_dict::<StringArray>().ok_or_else(|| invalid(AGENTS))?;
            for agent in names.into_iter().flatten() {
                let code = self.names.code(agent);
                self.insert(*slot, code);
            }
        }
        Ok(())
    }

    fn value(&self, _measure: Measure) -> Option<impl Fn(GroupSlot) -> i128> {
        self.is_needed.then_some(|slot: GroupSlot| i128::from(self.numbers[slot.index()]))
    }
}

impl EventAccumulator for DistinctAgents {
    type Bound<'a> = AgentColumn<'a>;

    /// Returns `None` if the query does not need agents, or the row group has none.
    fn bind<'a>(context: &'a QueryContext<'a>, columns: &'a EventColumns) -> Option<AgentColumn<'a>> {
        let is_needed = context.plan.layout.has(Measure::OpportunityAgents);
        let column = columns.text(AGENT_COLUMN).filter(|_| is_needed)?;
        Some(AgentColumn {
            column,
            code_map: CodeMap::default(),
            last_slots: vec![GroupSlot::NONE; column.dictionary().len()],
            codes: Vec::new(),
        })
    }

    fn bytes_while_adding(&self, units: usize, groups: usize, bound: Option<&AgentColumn<'_>>) -> usize {
        let (pairs, entry) = (&self.pairs, size_of::<(GroupSlot, u32)>());
        let names = bound.map_or_else(NewTexts::default, |agents| agents.new_names(units));
        table_bytes_while_adding(pairs.len(), pairs.capacity(), pairs.allocation_size(), units, entry)
            + self.names.bytes_while_adding(names)
            + column_bytes_while_adding(&self.numbers, if self.is_needed { groups } else { 0 })
    }

    /// Another customer may have the same agent.
    fn is_subtractable(layout: &MeasureLayout) -> bool {
        !layout.has(Measure::OpportunityAgents)
    }

    fn subtract(&mut self, other: Self, _slots: &[GroupSlot], _interrupt: &Interrupt) -> Result<(), Interruption> {
        debug_assert!(other.pairs.is_empty(), "agents are not subtractable");
        Ok(())
    }

    fn rule(_measure: Measure, event: &CountedEvent<'_>) -> String {
        event.state()
    }
}

/// Returns the rule by which a measure counts a customer for its agent, who has this number of customers.
pub(crate) fn agent_rule(agent: &str, customers: u64) -> String {
    match customers {
        1 => format!("agent `{}`, on the state event of this customer", Shown(agent)),
        _ => format!(
            "agent `{}`, on the state events of {customers} customers, of which this is the first",
            Shown(agent)
        ),
    }
}

impl AgentColumn<'_> {
    /// Returns the names that may be new among `units` units.
    fn new_names(&self, units: usize) -> NewTexts {
        self.code_map.new_texts(units, self.column.dictionary())
    }
}

impl BoundAccumulator for AgentColumn<'_> {
    type State = DistinctAgents;

    fn reads_state_events(&self) -> bool {
        true
    }

    /// Adds the agents of state rows. The empty text is no agent.
    fn add_state_rows(&mut self, rows: &StateRows<'_>, agents: &mut DistinctAgents) {
        self.codes.clear();
        self.column.gather(&rows.segments.customers, rows.events, &mut self.codes);
        for (slot, code) in rows.slots.iter().zip(&self.codes) {
            let last_slot = &mut self.last_slots[*code as usize];
            if *code != 0 && *last_slot != *slot {
                *last_slot = *slot;
                let shared = self.code_map.shared_code(*code, self.column.dictionary(), &mut agents.names);
                agents.insert(*slot, shared);
            }
        }
    }

    fn explain(&self, row: &ExplainedRow<'_>, _measure: Measure) -> Option<i128> {
        let has_agent = self.column.code(row.customer, row.event) != Code::EMPTY;
        (row.state.is_some() && has_agent).then_some(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canceled_query_merges_no_agents() {
        let slot = GroupSlot::last_of(1);
        // The merge of the names checks the interrupt too, unless there are none.
        let other = DistinctAgents { pairs: HashSet::from_iter([(slot, 0)]), ..DistinctAgents::default() };
        let mut agents = DistinctAgents::default();
        let interrupt = Interrupt::default();
        interrupt.cancel();
        assert_eq!(agents.merge(other, &[slot], &interrupt), Err(Interruption::Canceled));
        assert!(agents.pairs.is_empty());
    }
}
