//! The days of a query: the sub-range of each day of the range, and the date, week and month of each day of an event
//! or a spend row that counts.

use super::{DimensionRef, Origin};
use crate::dictionary::{Computed, SpendColumn};
use crate::query::DateRange;
use crate::{Day, StringList};
use std::sync::Arc;

/// Lookup tables with an entry for each day. Those of texts end with the last day of an event that may count, which may
/// be after the range if the query is one of a cohort.
///
/// For the range from 2025-01-30 to 2025-02-02 with the interval `month`, `sub_ranges` has the sub-range 0 (last day
/// 2025-01-31) twice, the sub-range 1 (last day 2025-02-02) twice, and the entry for all days outside.
#[derive(Clone, Debug)]
pub(crate) struct DayTables {
    /// The first day of the range, in days since 1970-01-01.
    start: u16,
    /// The last day of the range, in days since 1970-01-01.
    end: u16,
    /// For each day, its sub-range and that sub-range's last day. The final entry is the one for days outside the
    /// range.
    sub_ranges: Vec<(u32, u16)>,
    /// `None` if the query does not read dates.
    dates: Option<DayTable>,
    /// `None` if the query does not read weeks.
    weeks: Option<DayTable>,
    /// `None` if the query does not read months.
    months: Option<DayTable>,
}

/// A text for each day from the start of the range. Days with the same text have the same code.
#[derive(Clone, Debug)]
pub(crate) struct DayTable {
    /// For each day, counted from the start of the range, the code of its text.
    pub(crate) codes: Vec<u32>,
    /// The texts by code.
    pub(crate) texts: Arc<StringList>,
}

impl DayTable {
    /// Makes the table of consecutive days from the text of each. Days with the same text must be consecutive.
    fn new(days: impl Iterator<Item = Day>, text: impl Fn(Day) -> String) -> Self {
        let mut texts = StringList::default();
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
    /// The sub-range of a day outside the range. No sub-range has this number, because there are fewer.
    pub(crate) const OUTSIDE: u32 = u32::MAX;

    /// Builds the tables of a range that consists of `sub_ranges`, with the texts that `dimensions` read. No event or
    /// spend row that counts is after both the range and the day `last`.
    pub(super) fn new<'a>(
        range: DateRange,
        last: Day,
        sub_ranges: &[DateRange],
        dimensions: impl Iterator<Item = &'a DimensionRef> + Clone,
    ) -> Self {
        let (start, end) = (range.start.number(), range.end.number());
        let last = last.number().max(end);
        let table = |computed: Computed, text: fn(Day) -> String| {
            let is_read = dimensions.clone().any(|dimension| dimension.origin == Origin::Computed(computed));
            is_read.then(|| DayTable::new((start..=last).map(Day::from_number), text))
        };
        let mut by_day = Vec::with_capacity(range.days() as usize + 1);
        for (number, sub_range) in (0_u32..).zip(sub_ranges) {
            by_day.resize(by_day.len() + sub_range.days() as usize, (number, sub_range.end.number()));
        }
        by_day.push((Self::OUTSIDE, 0));
        Self {
            start,
            end,
            sub_ranges: by_day,
            dates: table(Computed::Date, |day| day.to_string()),
            weeks: table(Computed::Week, |day| day.monday().to_string()),
            months: table(Computed::Month, Day::month),
        }
    }

    /// Returns the sub-range of a day and that sub-range's last day. A day outside the range is in
    /// [`OUTSIDE`](Self::OUTSIDE), whose last day has no meaning.
    #[inline]
    pub(crate) fn sub_range(&self, day: u16) -> (u32, u16) {
        // The offset of a day before the range wraps around to a number beyond the range.
        let outside = self.sub_ranges.len() - 1;
        self.sub_ranges[usize::from(day.wrapping_sub(self.start)).min(outside)]
    }

    /// Returns the last day of the range, in days since 1970-01-01.
    pub(crate) const fn end(&self) -> u16 {
        self.end
    }

    /// Returns the number of days between the start of the range and a day that is not before it.
    #[inline]
    pub(crate) fn offset(&self, day: u16) -> usize {
        usize::from(day - self.start)
    }

    /// Returns the texts of `date`, `week` or `month`, if the query reads them.
    pub(crate) const fn table(&self, computed: Computed) -> Option<&DayTable> {
        match computed {
            Computed::Date => self.dates.as_ref(),
            Computed::Week => self.weeks.as_ref(),
            Computed::Month => self.months.as_ref(),
            _ => None,
        }
    }

    /// Returns the texts of the spend table's `date`, `week` or `month`, if the query reads them.
    pub(crate) const fn spend_table(&self, column: SpendColumn) -> Option<&DayTable> {
        match column {
            SpendColumn::Date => self.table(Computed::Date),
            SpendColumn::Week => self.table(Computed::Week),
            SpendColumn::Month => self.table(Computed::Month),
            _ => None,
        }
    }
}
