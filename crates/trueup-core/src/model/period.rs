//! Customers apart by time.

use crate::Day;

/// Where in time a customer's events lie, roughly. A row group holds customers of one period, so that its days are few.
///
/// They are ordered by their first quarters, then by their last; [`Far`](Self::Far) is behind all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QuarterSpan {
    /// Within one calendar quarter, or from one into the next; quarters are counted from that of 1970-01-01.
    Near {
        /// The quarter of the first event.
        first: u16,
        /// The quarter of the last event.
        last: u16,
    },
    /// Over more than that. Such customers are few, and would stretch the days of any row group that they were in.
    Far,
}

impl QuarterSpan {
    /// The period of a customer with events from `first` to `last`.
    #[must_use]
    pub fn of(first: Day, last: Day) -> Self {
        let (first, last) = (first.quarter(), last.quarter());
        if last > first.saturating_add(1) { Self::Far } else { Self::Near { first, last } }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn periods_are_of_one_quarter_or_two_that_follow_each_other() {
        let period = |first: &str, last: &str| QuarterSpan::of(first.parse().unwrap(), last.parse().unwrap());
        let near = |first, last| QuarterSpan::Near { first, last };
        assert_eq!(period("1970-01-01", "1970-03-31"), near(0, 0));
        assert_eq!(period("1970-03-31", "1970-04-01"), near(0, 1));
        assert_eq!(period("1970-01-01", "1970-06-30"), near(0, 1));
        assert_eq!(period("1970-03-31", "1970-07-01"), QuarterSpan::Far);
        assert_eq!(period("2024-12-31", "2025-01-01"), near(219, 220));
        assert_eq!(QuarterSpan::of(Day::MAX, Day::MAX), near(717, 717));
        assert!(near(0, 0) < near(0, 1) && near(0, 1) < near(1, 1) && near(717, 717) < QuarterSpan::Far);
    }
}
