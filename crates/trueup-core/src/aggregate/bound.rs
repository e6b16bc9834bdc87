//! What a query is in one split.

use super::Context;
use super::coder::Coder;
use super::facts::{grade, matches};
use super::interner::Translation;
use super::mask::{BoundTest, Truth};
use super::merge::Merged;
use super::slots::Slots;
use super::state::{Lanes, by_bank};
use super::tally::Tally;
use super::units::{Grain, Units};
use crate::plan::{AGENT_COLUMN, Condition, LABEL_COLUMN, STATUS_COLUMN};
use crate::scan::{EventColumns, TextColumn, stage};
use std::ops::Range;

/// A query, bound to the columns of a split.
pub(crate) struct Bound<'a> {
    pub(crate) split: &'a EventColumns,
    /// What is grouped: rows or segments.
    pub(crate) grain: Grain,
    /// What the filter is held against: where segments are not grouped whole, they and their customers may still pass or fail so.
    pub(crate) filter_grain: Grain,
    pub(crate) coders: Vec<Coder<'a>>,
    pub(crate) translations: Vec<Translation>,
    /// `None` if too many combinations of codes are possible.
    pub(crate) slots: Option<Slots>,
    /// `None` where it is not worth it, and as long as [`Kinds`](super::kinds::Kinds) have not said what is counted.
    pub(crate) tally: Option<Tally>,
    pub(crate) condition: Option<Condition<BoundTest<'a>>>,
    /// `None` if no count hangs on grades, or the split has none.
    pub(crate) grades: Option<Grades<'a>>,
    /// `None` if no count hangs on statuses.
    pub(crate) statuses: Option<Statuses<'a>>,
    /// `None` if they are not gathered, or the split has none.
    pub(crate) agents: Option<Agents<'a>>,
}

/// The statuses of customers.
pub(crate) struct Statuses<'a> {
    /// `None` if all are empty.
    pub(crate) column: Option<&'a TextColumn>,
    /// Per bank, by the code of a status, what a state row with it adds.
    pub(crate) lanes: Vec<Vec<Lanes>>,
}

/// The agents of state rows.
pub(crate) struct Agents<'a> {
    pub(crate) column: &'a TextColumn,
    translation: Translation,
    /// By code, the slot in which it was met last.
    slots: Vec<u32>,
}

/// The grades of conversions.
pub(crate) struct Grades<'a> {
    column: &'a TextColumn,
    /// Per bank, by the code of a grade, what a conversion with it adds.
    pub(crate) lanes: Vec<Vec<Lanes>>,
    /// By the code of an account, whether its conversions are graded.
    accounts: Vec<bool>,
}

impl<'a> Bound<'a> {
    /// Binds a query to a split of which it reads so many customers.
    pub(crate) fn new(context: &'a Context<'a>, split: &'a EventColumns, customers: usize) -> Self {
        let layout = &context.layout;
        let dimensions = context.plan.dimensions.iter();
        let coders: Vec<_> = dimensions.map(|dimension| Coder::new(context, split, dimension)).collect();
        let condition = context.condition.as_ref();
        let condition = condition.map(|condition| condition.map(&mut |test| BoundTest::new(context, split, test)));
        let tests = condition.iter().flat_map(Condition::leaves);
        let filter_grain = tests.map(BoundTest::grain).min().unwrap_or(Grain::Customer);
        let grain = coders.iter().map(Coder::grain).fold(filter_grain.min(Grain::Segment), Grain::min);
        let grades = split.text(LABEL_COLUMN).filter(|_| layout.needs_grades());
        let grades = grades.map(|column| Grades {
            column,
            lanes: by_bank(layout, column.dictionary().iter().map(grade)),
            accounts: context.graded(split.customers.account_keys()),
        });
        let statuses = layout.needs_statuses().then(|| split.text(STATUS_COLUMN));
        let statuses = statuses.map(|column| {
            let empty = std::iter::once("");
            let others = column.into_iter().flat_map(|column| column.dictionary().iter().skip(1));
            Statuses { column, lanes: by_bank(layout, empty.chain(others).map(matches)) }
        });
        let agents = split.text(AGENT_COLUMN).filter(|_| layout.agents).map(|column| Agents {
            column,
            translation: Translation::default(),
            slots: vec![0; column.dictionary().len()],
        });
        let slots = Slots::new(context.plan.sub_ranges.len(), &coders, customers);
        Self {
            split,
            grain,
            filter_grain,
            slots,
            tally: None,
            translations: coders.iter().map(|_| Translation::default()).collect(),
            coders,
            condition,
            grades,
            statuses,
            agents,
        }
    }
}

impl Bound<'_> {
    /// Holds the filter, if there is one, against units.
    pub(crate) fn truths(&mut self, units: &Units<'_>) -> Option<Vec<Truth>> {
        let (split, mut codes) = (self.split, Vec::new());
        let mut test = |test: &mut BoundTest<'_>, truths: &mut Vec<Truth>| test.fill(split, units, &mut codes, truths);
        Some(self.condition.as_mut()?.evaluate(units.len(), &mut test))
    }

    /// The slot at a position; where too many are possible, positions are slots.
    #[inline]
    pub(crate) fn slot(&mut self, position: u32, merged: &mut Merged) -> u32 {
        let Self { slots, coders, translations, .. } = self;
        let Some(slots) = slots else { return position };
        slots.slot(position, |key| {
            for (place, (coder, translation)) in coders.iter().zip(translations).enumerate() {
                key[place + 1] = merged.shared(place, key[place + 1], coder.texts(), translation);
            }
            merged.slot(key)
        })
    }
}

impl Agents<'_> {
    /// Adds the agent of a code, if it is one, to a slot.
    #[inline]
    pub(crate) fn add(&mut self, slot: u32, code: u32, merged: &mut Merged) {
        let last = &mut self.slots[code as usize];
        if code != 0 && *last != slot {
            *last = slot;
            let agent = self.translation.code(code, self.column.dictionary(), &mut merged.agents);
            merged.state.agents.insert((slot - 1, agent));
        }
    }
}

impl Grades<'_> {
    /// Whether a grade is that of a customer, rather than of an event.
    pub(crate) const fn are_per_customer(&self) -> bool {
        self.column.is_per_customer()
    }

    /// Appends the slot and the code of the grade of each conversion among some events, which are of one group and one account, if
    /// conversions of that are graded. They are of one customer where grades [are](Self::are_per_customer).
    #[inline]
    pub(crate) fn gather(
        &self,
        split: &EventColumns,
        slot: u32,
        customer: usize,
        events: Range<usize>,
        graded: &mut Vec<(u32, u32)>,
    ) {
        if !self.accounts[split.customers.accounts().get(customer) as usize] {
            return;
        }
        let mut found = graded.len();
        graded.resize(found + events.len(), (0, 0));
        for (event, history) in events.clone().zip(&split.histories.events()[events]) {
            // What is no conversion is overwritten by what comes next: which events are is as good as random.
            graded[found] = (slot, self.column.code(customer, event));
            found += usize::from(history.stage() == stage::LEAD_ORIGINATED);
        }
        graded.truncate(found);
    }
}
