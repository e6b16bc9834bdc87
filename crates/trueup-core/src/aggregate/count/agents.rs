//! Distinct agents per group.

use crate::aggregate::context::QueryContext;
use crate::aggregate::group::{CodeMap, Interner, NewTexts};
use crate::aggregate::types::{GroupSlot, INTERRUPT_CHECK_GROUPS};
use crate::memory::table_bytes_while_adding;
use crate::plan::AGENT_COLUMN;
use crate::scan::{EventColumns, TextColumn};
use crate::{Interrupt, Interruption};
use hashbrown::HashSet;

/// The distinct agents of each group.
#[derive(Debug, Default)]
pub(crate) struct DistinctAgents {
    /// Slots of groups, each with the code of one of its agents.
    pairs: HashSet<(GroupSlot, u32)>,
    /// The agents by code.
    names: Interner,
}

/// The agents of state rows, bound to the columns of a row group.
#[derive(Debug)]
pub(super) struct AgentColumn<'a> {
    column: &'a TextColumn,
    code_map: CodeMap,
    /// By the code of an agent, the slot that it was last added to, so that repetitions are not looked up.
    last_slots: Vec<GroupSlot>,
    /// The codes of the state rows.
    codes: Vec<u32>,
}

impl DistinctAgents {
    /// Returns the number of bytes held.
    pub(super) fn bytes(&self) -> usize {
        self.pairs.allocation_size() + self.names.bytes()
    }

    /// Returns the number of bytes that may be held while the agents of `units` units are added.
    pub(super) fn bytes_while_adding(&self, units: usize, names: NewTexts) -> usize {
        let (pairs, entry) = (&self.pairs, size_of::<(GroupSlot, u32)>());
        table_bytes_while_adding(pairs.len(), pairs.capacity(), pairs.allocation_size(), units, entry)
            + self.names.bytes_while_adding(names)
    }

    /// Adds the agents of another state. `slots` has for each of its groups the slot here.
    pub(super) fn merge(
        &mut self,
        other: Self,
        slots: &[GroupSlot],
        interrupt: &Interrupt,
    ) -> Result<(), Interruption> {
        let codes = self.names.merge(other.names, interrupt)?;
        // As `extend` does: some of the pairs may be known.
        self.pairs.reserve(other.pairs.len().div_ceil(2));
        for (at, (slot, code)) in other.pairs.iter().enumerate() {
            if at.is_multiple_of(INTERRUPT_CHECK_GROUPS) {
                interrupt.check()?;
            }
            self.pairs.insert((slots[slot.group()], codes[*code as usize]));
        }
        Ok(())
    }

    /// Adds an agent to a group.
    pub(crate) fn insert(&mut self, slot: GroupSlot, agent: &str) {
        self.pairs.insert((slot, self.names.code(agent)));
    }

    /// Returns the agents of all groups, each with its group, in any order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        self.pairs.iter().map(|(slot, code)| (slot.group(), &self.names.texts()[*code as usize]))
    }

    /// Returns the group of each distinct agent of each group, in any order.
    pub(crate) fn groups(&self) -> impl Iterator<Item = usize> {
        self.pairs.iter().map(|(slot, _)| slot.group())
    }
}

impl<'a> AgentColumn<'a> {
    /// Returns `None` if the query does not need agents, or the row group has none.
    pub(super) fn bind(context: &QueryContext<'_>, columns: &'a EventColumns) -> Option<Self> {
        let column = columns.text(AGENT_COLUMN).filter(|_| context.plan.layout.agents)?;
        Some(Self {
            column,
            code_map: CodeMap::default(),
            last_slots: vec![GroupSlot::NONE; column.dictionary().len()],
            codes: Vec::new(),
        })
    }

    /// Returns the names that may be new among `units` units.
    pub(super) fn new_names(&self, units: usize) -> NewTexts {
        self.code_map.new_texts(units, self.column.dictionary())
    }

    /// Adds the agents of state rows, given as their customers, their events and their slots. The empty text is no
    /// agent.
    pub(super) fn add(&mut self, customers: &[u32], events: &[u32], slots: &[GroupSlot], agents: &mut DistinctAgents) {
        self.codes.clear();
        self.column.gather(customers, events, &mut self.codes);
        for (slot, code) in slots.iter().zip(&self.codes) {
            let last_slot = &mut self.last_slots[*code as usize];
            if *code != 0 && *last_slot != *slot {
                *last_slot = *slot;
                let shared = self.code_map.shared_code(*code, self.column.dictionary(), &mut agents.names);
                agents.pairs.insert((*slot, shared));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canceled_query_merges_no_agents() {
        let slot = GroupSlot::last_of(1);
        // The merge of the names checks the interrupt too, unless there are none.
        let other = DistinctAgents { pairs: HashSet::from_iter([(slot, 0)]), names: Interner::default() };
        let mut agents = DistinctAgents::default();
        let interrupt = Interrupt::default();
        interrupt.cancel();
        assert_eq!(agents.merge(other, &[slot], &interrupt), Err(Interruption::Canceled));
        assert_eq!(agents.groups().count(), 0);
    }
}
