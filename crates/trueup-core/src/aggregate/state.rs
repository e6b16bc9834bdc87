//! State per group: columns indexed by the group's number.

use crate::dictionary::{Measure, MeasureKind};
use hashbrown::HashSet;

/// Facts of a row, one bit each; a count of rows is the number of rows with its bit.
pub(crate) type Facts = u32;

/// Which measures a query gathers from events, and where each is held.
#[derive(Clone, Debug, Default)]
pub(crate) struct MeasureLayout {
    /// Counts of rows and state rows.
    pub(crate) counts: Vec<Measure>,
    /// Sums of money.
    pub(crate) money: Vec<Measure>,
    /// Whether distinct agents are gathered.
    pub(crate) agents: bool,
}

impl MeasureLayout {
    pub(crate) fn new(measures: &[Measure]) -> Self {
        let mut layout = Self::default();
        for measure in measures {
            match measure.kind() {
                MeasureKind::Rows | MeasureKind::StateRows => layout.counts.push(*measure),
                MeasureKind::RowMoney | MeasureKind::StateMoney => layout.money.push(*measure),
                MeasureKind::StateDistinct => layout.agents = true,
                MeasureKind::SpendMoney | MeasureKind::SpendCount => {}
            }
        }
        layout
    }

    /// Where a sum of money is held, if it is gathered.
    pub(crate) fn money_place(&self, measure: Measure) -> Option<usize> {
        self.money.iter().position(|held| *held == measure)
    }

    /// Where a count is held, if it is gathered.
    pub(crate) fn count_place(&self, measure: Measure) -> Option<usize> {
        self.counts.iter().position(|held| *held == measure)
    }

    /// Whether any of `measures` is gathered.
    pub(crate) fn needs(&self, measures: &[Measure]) -> bool {
        measures.iter().any(|measure| self.counts.contains(measure) || self.money.contains(measure))
    }
}

// Every measure that counts rows has a bit; the last of them is the last that stands before the sums of money.
const _: () = assert!((Measure::CanceledAfterBooking as u32) < Facts::BITS);

/// The bit of a measure that counts rows.
pub(crate) const fn fact(measure: Measure) -> Facts {
    1 << measure as u32
}

/// What has been gathered per group.
#[derive(Debug, Default)]
pub(crate) struct State {
    counts: Vec<u64>,
    money: Vec<i128>,
    /// Group and code of an agent.
    pub(crate) agents: HashSet<(u32, u32)>,
    /// Shift of each count's fact.
    shifts: Vec<u32>,
    money_width: usize,
}

impl State {
    pub(crate) fn new(layout: &MeasureLayout) -> Self {
        Self {
            shifts: layout.counts.iter().map(|measure| *measure as u32).collect(),
            money_width: layout.money.len(),
            ..Self::default()
        }
    }

    /// Makes room for groups below `groups`.
    pub(crate) fn grow(&mut self, groups: usize) {
        self.counts.resize(groups * self.shifts.len(), 0);
        self.money.resize(groups * self.money_width, 0);
    }

    /// Counts one row.
    pub(crate) fn count(&mut self, group: usize, facts: Facts) {
        let width = self.shifts.len();
        for (count, shift) in self.counts[group * width..(group + 1) * width].iter_mut().zip(&self.shifts) {
            *count += u64::from(facts >> shift & 1);
        }
    }

    /// Adds money to the sum at `place` of the layout.
    pub(crate) fn add_money(&mut self, group: usize, place: usize, micros: i128) {
        self.money[group * self.money_width + place] += micros;
    }

    /// Adds another state's group to one of this; agents apart.
    pub(crate) fn merge(&mut self, group: usize, other: &Self, from: usize) {
        let (width, money_width) = (self.shifts.len(), self.money_width);
        let into = &mut self.counts[group * width..(group + 1) * width];
        into.iter_mut().zip(&other.counts[from * width..]).for_each(|(into, count)| *into += count);
        let into = &mut self.money[group * money_width..(group + 1) * money_width];
        into.iter_mut().zip(&other.money[from * money_width..]).for_each(|(into, sum)| *into += sum);
    }

    /// The count at `place` of the layout.
    pub(crate) fn count_at(&self, group: usize, place: usize) -> u64 {
        self.counts[group * self.shifts.len() + place]
    }

    /// The sum at `place` of the layout.
    pub(crate) fn money_at(&self, group: usize, place: usize) -> i128 {
        self.money[group * self.money_width + place]
    }
}
