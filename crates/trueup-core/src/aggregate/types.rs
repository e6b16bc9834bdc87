//! The few types that most steps of the aggregation share. This file depends on no other.

use std::ops::Add;

/// The place where the state of a group is held: the number of the group plus one.
///
/// Tables that are filled as groups appear start as all [`NONE`](Self::NONE), which is zeroed memory. Columns of state
/// have an entry at `NONE` too. Nothing but 0 is added to it, so that it stays 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub(crate) struct GroupSlot(u32);

impl GroupSlot {
    /// No group.
    pub(crate) const NONE: Self = Self(0);

    /// Returns the slot of the last of `groups` groups, or `NONE` if there is none.
    #[inline]
    pub(crate) const fn last_of(groups: u32) -> Self {
        Self(groups)
    }

    /// Returns the slot of a group.
    #[inline]
    pub(crate) const fn from_group(group: u32) -> Self {
        Self(group + 1)
    }

    /// Returns the slots of the first `groups` groups.
    pub(crate) fn first(groups: usize) -> impl Iterator<Item = Self> {
        (1..).take(groups).map(Self)
    }

    /// Returns the index in columns that have an entry for `NONE`.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the number of the group. The slot must not be `NONE`.
    #[inline]
    pub(crate) const fn group(self) -> usize {
        self.0 as usize - 1
    }
}

/// The units that a query filters or groups. A larger unit consists of whole smaller ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Granularity {
    Row,
    Segment,
    Customer,
}

/// The number of counters in a [`CounterQuad`].
pub(crate) const QUAD: usize = 4;

/// Four counters of one group, or what is added to them. Counters are held in fours because one vector instruction adds
/// to all four.
pub(crate) type CounterQuad = [u32; QUAD];

/// Adds to counters through a local copy that is stored as a whole, so that the compiler uses one vector addition. If
/// each counter were stored on its own, each would be added on its own.
#[inline]
pub(crate) fn add_quad<T: Copy + Add<Output = T>>(sums: &mut [T; QUAD], more: &[T; QUAD]) {
    let mut all = *sums;
    for counter in 0..QUAD {
        all[counter] = all[counter] + more[counter];
    }
    *sums = all;
}

/// The number of groups or texts that are processed between two checks of the interrupt.
pub(crate) const INTERRUPT_CHECK_GROUPS: usize = 1 << 13;

/// Writes the indexes of the items that pass to `indexes`, without branches that depend on whether an item passes.
pub(crate) fn select_indexes(indexes: &mut Vec<u32>, passes: impl ExactSizeIterator<Item = bool>) {
    indexes.resize(passes.len(), 0);
    let mut selected = 0;
    for (index, passes) in (0..).zip(passes) {
        indexes[selected] = index;
        selected += usize::from(passes);
    }
    indexes.truncate(selected);
}
