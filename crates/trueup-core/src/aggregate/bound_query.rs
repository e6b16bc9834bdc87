//! What a query is in one split.

use super::QueryContext;
use super::facts::{grade, matches};
use super::group_state::{CounterQuad, by_bank};
use super::grouping_units::{Granularity, GroupingUnits};
use super::histogram::Histogram;
use super::interner::CodeMap;
use super::key_encoder::KeyEncoder;
use super::local_group_cache::LocalGroupCache;
use super::partial_result::PartialResult;
use super::predicate::{BoundPredicate, Ternary};
use crate::plan::{AGENT_COLUMN, Condition, LABEL_COLUMN, STATUS_COLUMN};
use crate::scan::{EventColumns, TextColumn, stage};
use std::ops::Range;

/// A query, bound to the columns of a split.
pub(crate) struct BoundQuery<'a> {
    pub(crate) split: &'a EventColumns,
    /// What is grouped: rows or segments.
    pub(crate) granularity: Granularity,
    /// What the filter is held against: where segments are not grouped whole, they and their customers may still pass or fail so.
    pub(crate) filter_granularity: Granularity,
    pub(crate) coders: Vec<KeyEncoder<'a>>,
    pub(crate) translations: Vec<CodeMap>,
    /// `None` if too many combinations of codes are possible.
    pub(crate) slots: Option<LocalGroupCache>,
    /// `None` where it is not worth it, and as long as [`SegmentCache`](super::segment_cache::SegmentCache) have not said what is counted.
    pub(crate) histogram: Option<Histogram>,
    pub(crate) condition: Option<Condition<BoundPredicate<'a>>>,
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
    pub(crate) lanes: Vec<Vec<CounterQuad>>,
}

/// The agents of state rows.
pub(crate) struct Agents<'a> {
    pub(crate) column: &'a TextColumn,
    translation: CodeMap,
    /// By code, the slot in which it was met last.
    slots: Vec<u32>,
}

/// The grades of conversions.
pub(crate) struct Grades<'a> {
    column: &'a TextColumn,
    /// Per bank, by the code of a grade, what a conversion with it adds.
    pub(crate) lanes: Vec<Vec<CounterQuad>>,
    /// By the code of an account, whether its conversions are graded.
    accounts: Vec<bool>,
}

impl<'a> BoundQuery<'a> {
    /// Binds a query to a split of which it reads so many customers.
    pub(crate) fn new(context: &'a QueryContext<'a>, split: &'a EventColumns, customers: usize) -> Self {
        let layout = &context.layout;
        let dimensions = context.plan.dimensions.iter();
        let coders: Vec<_> = dimensions.map(|dimension| KeyEncoder::new(context, split, dimension)).collect();
        let condition = context.condition.as_ref();
        let condition = condition.map(|condition| condition.map(&mut |test| BoundPredicate::new(context, split, test)));
        let tests = condition.iter().flat_map(Condition::leaves);
        let filter_granularity = tests.map(BoundPredicate::granularity).min().unwrap_or(Granularity::Customer);
        let granularity = coders
            .iter()
            .map(KeyEncoder::granularity)
            .fold(filter_granularity.min(Granularity::Segment), Granularity::min);
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
            translation: CodeMap::default(),
            slots: vec![0; column.dictionary().len()],
        });
        let slots = LocalGroupCache::new(context.plan.sub_ranges.len(), &coders, customers);
        Self {
            split,
            granularity,
            filter_granularity,
            slots,
            histogram: None,
            translations: coders.iter().map(|_| CodeMap::default()).collect(),
            coders,
            condition,
            grades,
            statuses,
            agents,
        }
    }
}

impl BoundQuery<'_> {
    /// Holds the filter, if there is one, against units.
    pub(crate) fn truths(&mut self, units: &GroupingUnits<'_>) -> Option<Vec<Ternary>> {
        let (split, mut codes) = (self.split, Vec::new());
        let mut test =
            |test: &mut BoundPredicate<'_>, truths: &mut Vec<Ternary>| test.fill(split, units, &mut codes, truths);
        Some(self.condition.as_mut()?.evaluate(units.len(), &mut test))
    }

    /// The slot at a position; where too many are possible, positions are slots.
    #[inline]
    pub(crate) fn slot(&mut self, position: u32, merged: &mut PartialResult) -> u32 {
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
    pub(crate) fn add(&mut self, slot: u32, code: u32, merged: &mut PartialResult) {
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
