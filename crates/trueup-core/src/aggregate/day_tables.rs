//! The days of a query's range: which sub-range, date, week and month each belongs to.

use crate::dictionary::{Computed, SpendColumn};
use crate::plan::{Origin, Plan, RowPredicate};
use crate::scan::TextDictionary;
use crate::{Day, TextList};
use std::sync::Arc;

/// Stands for the sub-range of a day outside the range; there are fewer.
pub(crate) const OUTSIDE: u32 = u32::MAX;

/// Tables by day of the range, counted from its start.
#[derive(Debug)]
pub(crate) struct DayTables {
    start: u16,
    end: u16,
    /// Per day, its sub-range and the last day of that; behind them, what stands for all days outside the range.
    sub_ranges: Vec<(u32, u16)>,
    /// Only what the query reads.
    dates: Option<DayTable>,
    weeks: Option<DayTable>,
    months: Option<DayTable>,
}

/// A text for each day of the range; days that share it share its code.
#[derive(Debug)]
pub(crate) struct DayTable {
    pub(crate) codes: Vec<u32>,
    pub(crate) texts: TextDictionary,
}

impl DayTable {
    fn new(days: impl Iterator<Item = Day>, text: impl Fn(Day) -> String) -> Self {
        let mut texts = TextList::default();
        let mut codes = Vec::new();
        for day in days {
            let text = text(day);
            if texts.len().checked_sub(1).is_none_or(|last| texts[last] != *text) {
                texts.push(&text);
            }
            codes.push(u32::try_from(texts.len()).unwrap_or(u32::MAX).saturating_sub(1));
        }
        Self { codes, texts: Arc::new(texts) }
    }
}

impl DayTables {
    pub(crate) fn new(plan: &Plan) -> Self {
        let (start, end) = (plan.range.start.number(), plan.range.end.number());
        let tests = plan.row_condition.iter().flat_map(|condition| condition.leaves());
        let dimensions: Vec<_> = plan.dimensions.iter().chain(tests.filter_map(RowPredicate::dimension)).collect();
        let table = |computed: Computed, text: fn(Day) -> String| {
            let read = dimensions.iter().any(|dimension| dimension.origin == Origin::Computed(computed));
            read.then(|| DayTable::new((start..=end).map(Day::from_number), text))
        };
        let mut sub_ranges = Vec::with_capacity(plan.range.days() as usize + 1);
        for (number, part) in (0_u32..).zip(&plan.sub_ranges) {
            sub_ranges.resize(sub_ranges.len() + part.days() as usize, (number, part.end.number()));
        }
        sub_ranges.push((OUTSIDE, start.saturating_sub(1)));
        Self {
            start,
            end,
            sub_ranges,
            dates: table(Computed::Date, |day| day.to_string()),
            weeks: table(Computed::Week, |day| day.monday().to_string()),
            months: table(Computed::Month, Day::month),
        }
    }

    /// The number of the sub-range that holds a day, and its last day; or [`OUTSIDE`] and the last day before the range.
    #[inline]
    pub(crate) fn sub_range(&self, day: u16) -> (u32, u16) {
        // Days before the range are far behind its end here.
        let behind = self.sub_ranges.len() - 1;
        self.sub_ranges[usize::from(day.wrapping_sub(self.start)).min(behind)]
    }

    /// The number of the range's last day.
    pub(crate) const fn end(&self) -> u16 {
        self.end
    }

    /// How many days after the range's start a day of the range is.
    #[inline]
    pub(crate) fn offset(&self, day: u16) -> usize {
        usize::from(day - self.start)
    }

    /// The texts of `date`, `week` or `month`, if the query reads them.
    pub(crate) const fn table(&self, computed: Computed) -> Option<&DayTable> {
        match computed {
            Computed::Date => self.dates.as_ref(),
            Computed::Week => self.weeks.as_ref(),
            Computed::Month => self.months.as_ref(),
            _ => None,
        }
    }

    /// The same for the spend table's columns.
    pub(crate) const fn spend_table(&self, column: SpendColumn) -> Option<&DayTable> {
        match column {
            SpendColumn::Date => self.table(Computed::Date),
            SpendColumn::Week => self.table(Computed::Week),
            SpendColumn::Month => self.table(Computed::Month),
            _ => None,
        }
    }
}
