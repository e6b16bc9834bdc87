//! What a query is in one split.

use super::Context;
use super::coder::Coder;
use super::facts::{grade, row_facts};
use super::interner::Translation;
use super::mask::BoundTest;
use super::units::Grain;
use crate::dictionary::Measure;
use crate::plan::{AGENT_COLUMN, Condition, LABEL_COLUMN, STATUS_COLUMN};
use crate::scan::{Histories, Split, TextColumn, stage};

/// A query, bound to the columns of a split.
pub(crate) struct Bound<'a> {
    pub(crate) split: &'a Split,
    /// What is grouped.
    pub(crate) grain: Grain,
    /// What the filter is held against: where segments are not grouped whole, they may still pass or fail so.
    pub(crate) filter_grain: Grain,
    pub(crate) coders: Vec<Coder<'a>>,
    pub(crate) translations: Vec<Translation>,
    pub(crate) condition: Option<Condition<BoundTest<'a>>>,
    /// `None` if no count hangs on grades, or the split has none.
    pub(crate) grades: Option<Grades<'a>>,
    /// The column of customer statuses, and by code whether it is matched.
    pub(crate) statuses: Option<(&'a TextColumn, Vec<bool>)>,
    pub(crate) agents: Option<(&'a TextColumn, Translation)>,
}

/// The grades of conversions.
pub(crate) struct Grades<'a> {
    column: &'a TextColumn,
    /// By the code of a grade, the facts of a conversion with it.
    facts: Vec<u16>,
    /// By the code of an account, whether its conversions are graded.
    accounts: Vec<bool>,
}

impl<'a> Bound<'a> {
    pub(crate) fn new(context: &'a Context<'a>, split: &'a Split) -> Self {
        let layout = &context.layout;
        let dimensions = context.plan.dimensions.iter();
        let coders: Vec<_> = dimensions.map(|dimension| Coder::new(context, split, dimension)).collect();
        let condition = context.condition.as_ref();
        let condition = condition.map(|condition| condition.map(&mut |test| BoundTest::new(context, split, test)));
        let of = |is_per_segment| if is_per_segment { Grain::Segment } else { Grain::Row };
        let filter_grain = of(condition.iter().flat_map(Condition::leaves).all(BoundTest::is_per_segment));
        let grain = of(filter_grain == Grain::Segment && coders.iter().all(Coder::is_per_segment));
        let graded = [
            Measure::GradedConversions,
            Measure::BookedConversions,
            Measure::BookableUnbookedConversions,
            Measure::UnbookableConversions,
        ];
        let grades = split.text(LABEL_COLUMN).filter(|_| graded.into_iter().any(|measure| layout.has(measure)));
        let grades = grades.map(|column| Grades {
            column,
            facts: column.dictionary().iter().map(|label| grade(label)).collect(),
            accounts: context.graded(split.runs.account_keys()),
        });
        let matched = [Measure::MatchedCustomers, Measure::UnmatchedCustomers];
        let statuses = split.text(STATUS_COLUMN).filter(|_| matched.into_iter().any(|measure| layout.has(measure)));
        let is_matched = |status: &str| !matches!(status, "" | "Unmatched");
        Self {
            split,
            grain,
            filter_grain,
            translations: coders.iter().map(|_| Translation::default()).collect(),
            coders,
            condition,
            grades,
            statuses: statuses
                .map(|column| (column, column.dictionary().iter().map(|status| is_matched(status)).collect())),
            agents: split.text(AGENT_COLUMN).filter(|_| layout.agents).map(|column| (column, Translation::default())),
        }
    }

    /// The facts of a row, its grade aside.
    #[inline]
    pub(crate) fn row_facts(&self, event: usize) -> u16 {
        row_facts(self.split.histories.events()[event])
    }

    /// Whether a row is a conversion of an account whose conversions are graded.
    #[inline]
    pub(crate) fn is_graded(&self, customer: usize, event: usize) -> bool {
        let is_conversion = Histories::stage(self.split.histories.events()[event]) == stage::LEAD_ORIGINATED;
        let account = self.split.runs.accounts().get(customer) as usize;
        is_conversion & self.grades.as_ref().is_some_and(|grades| grades.accounts[account])
    }

    /// The facts that a row has by its grade.
    #[inline]
    pub(crate) fn grade(&self, customer: usize, event: usize) -> u16 {
        match &self.grades {
            Some(grades) if self.is_graded(customer, event) => {
                grades.facts[grades.column.code(customer, event) as usize]
            }
            _ => 0,
        }
    }
}
