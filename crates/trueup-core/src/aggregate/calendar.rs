//! The days of a query's range: which sub-range, date, week and month each belongs to.

use crate::Day;
use crate::dictionary::Computed;
use crate::plan::Plan;
use std::sync::Arc;

/// Tables by day of the range, counted from its start.
#[derive(Debug)]
pub(crate) struct Calendar {
    start: u16,
    sub_ranges: Vec<u32>,
    dates: DayTable,
    weeks: DayTable,
    months: DayTable,
}

/// A text for each day of the range; days that share it share its code.
#[derive(Clone, Debug, Default)]
pub(crate) struct DayTable {
    pub(crate) codes: Vec<u32>,
    pub(crate) texts: Vec<Arc<str>>,
}

impl DayTable {
    fn push(&mut self, text: String) {
        if self.texts.last().is_none_or(|last| **last != *text) {
            self.texts.push(Arc::from(text));
        }
        self.codes.push(u32::try_from(self.texts.len()).unwrap_or(u32::MAX).saturating_sub(1));
    }
}

impl Calendar {
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut calendar = Self {
            start: plan.range.start.number(),
            sub_ranges: Vec::new(),
            dates: DayTable::default(),
            weeks: DayTable::default(),
            months: DayTable::default(),
        };
        for (number, part) in (0_u32..).zip(&plan.sub_ranges) {
            for day in (part.start.number()..=part.end.number()).map(Day::from_number) {
                calendar.sub_ranges.push(number);
                calendar.dates.push(day.to_string());
                calendar.weeks.push(day.monday().to_string());
                calendar.months.push(day.month());
            }
        }
        calendar
    }

    /// The number of the sub-range that holds a day of the range.
    pub(crate) fn sub_range(&self, day: u16) -> u32 {
        self.sub_ranges[usize::from(day - self.start)]
    }

    /// How many days after the range's start a day of the range is.
    pub(crate) fn offset(&self, day: u16) -> usize {
        usize::from(day - self.start)
    }

    /// The texts of `date`, `week` or `month`.
    pub(crate) const fn table(&self, computed: Computed) -> Option<&DayTable> {
        match computed {
            Computed::Date => Some(&self.dates),
            Computed::Week => Some(&self.weeks),
            Computed::Month => Some(&self.months),
            _ => None,
        }
    }
}
