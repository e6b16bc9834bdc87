//! The rows of a stored row group that are left, where later rows have superseded others.

use std::ops::Range;

/// The rows of a row group that no deletion vector leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveRows {
    /// Ascending; neither empty nor adjacent.
    ranges: Vec<Range<usize>>,
}

impl LiveRows {
    /// Makes a set of rows from ranges that are ascending, and neither empty nor adjacent.
    #[must_use]
    pub const fn new(ranges: Vec<Range<usize>>) -> Self {
        Self { ranges }
    }

    /// Returns the ranges of the rows.
    #[must_use]
    pub fn ranges(&self) -> &[Range<usize>] {
        &self.ranges
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ranges.iter().map(Range::len).sum()
    }

    /// Returns the place of a row among all rows of the row group, given its place among the rows that are left.
    #[must_use]
    pub fn stored_row(&self, row: usize) -> Option<usize> {
        self.ranges.iter().cloned().flatten().nth(row)
    }

    /// Returns the rows as they are counted among `decoded`; `None` if some are not among them.
    #[must_use]
    pub fn among(&self, decoded: &Self) -> Option<Self> {
        let mut ranges: Vec<Range<usize>> = Vec::with_capacity(self.ranges.len());
        let mut all = decoded.ranges.iter().peekable();
        let mut before = 0;
        for rows in &self.ranges {
            while let Some(passed) = all.next_if(|range| range.end <= rows.start) {
                before += passed.len();
            }
            let around = all.peek().filter(|range| range.start <= rows.start && rows.end <= range.end)?;
            let start = before + (rows.start - around.start);
            match ranges.last_mut() {
                Some(last) if last.end == start => last.end += rows.len(),
                _ => ranges.push(start..start + rows.len()),
            }
        }
        Some(Self { ranges })
    }

    /// Returns the rows that another set lacks; `None` if the other set has a row that this one lacks.
    #[must_use]
    pub fn without(&self, other: &Self) -> Option<Self> {
        let mut ranges = Vec::new();
        let mut others = other.ranges.iter().peekable();
        for rows in &self.ranges {
            let mut start = rows.start;
            while let Some(other) = others.next_if(|other| other.start < rows.end) {
                if other.start < start || other.end > rows.end {
                    return None;
                }
                if start < other.start {
                    ranges.push(start..other.start);
                }
                start = other.end;
            }
            if start < rows.end {
                ranges.push(start..rows.end);
            }
        }
        others.next().is_none().then_some(Self { ranges })
    }

    /// Removes from `values`, which has a value for each stored row, the values of the rows that are not left.
    pub(crate) fn select<T: Copy>(&self, values: &mut Vec<T>) {
        let mut len = 0;
        for rows in &self.ranges {
            // A row group whose columns have different numbers of rows was refused when its pages were read.
            let rows = rows.start.min(values.len())..rows.end.min(values.len());
            let more = rows.len();
            values.copy_within(rows, len);
            len += more;
        }
        values.truncate(len);
        values.shrink_to_fit();
    }

    /// Returns the offsets of the groups of rows that are left, given those of all stored groups: group `i` has the
    /// rows from `offsets[i]` to `offsets[i + 1]`. `None` if only a part of a group is left.
    #[must_use]
    pub fn offsets(&self, offsets: &[u32]) -> Option<Vec<u32>> {
        let mut ranges = self.ranges.iter().peekable();
        let (mut left, mut len) = (vec![0], 0);
        for ends in offsets.windows(2) {
            let (start, end) = (ends[0] as usize, ends[1] as usize);
            while ranges.next_if(|range| range.end <= start).is_some() {}
            match ranges.peek() {
                Some(range) if range.start <= start && end <= range.end => {
                    len += ends[1] - ends[0];
                    left.push(len);
                }
                Some(range) if range.start < end => return None,
                _ => {}
            }
        }
        Some(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_groups_are_left() {
        let of = |ranges: &[(usize, usize)]| {
            LiveRows::new(ranges.iter().map(|(start, end)| *start..*end).collect()).offsets(&[0, 2, 3, 7])
        };
        assert_eq!(of(&[]), Some(vec![0]));
        assert_eq!(of(&[(0, 7)]), Some(vec![0, 2, 3, 7]));
        assert_eq!(of(&[(0, 2), (3, 7)]), Some(vec![0, 2, 6]));
        assert_eq!(of(&[(2, 3)]), Some(vec![0, 1]));
        for parts in [&[(0, 1)][..], &[(1, 3)], &[(2, 6)], &[(0, 2), (4, 7)], &[(0, 2), (3, 5), (6, 7)]] {
            assert_eq!(of(parts), None, "{parts:?}");
        }
    }

    /// Returns the rows for which `is_left` is true.
    fn live_rows(is_left: &[bool]) -> LiveRows {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for row in (0..is_left.len()).filter(|row| is_left[*row]) {
            match ranges.last_mut() {
                Some(last) if last.end == row => last.end += 1,
                _ => ranges.push(row..row + 1),
            }
        }
        LiveRows::new(ranges)
    }

    proptest! {
        #[test]
        fn rows_are_counted_among_decoded_ones(rows in prop::collection::vec(any::<(bool, bool)>(), 0..40)) {
            let decoded: Vec<bool> = rows.iter().map(|(is_decoded, _)| *is_decoded).collect();
            let left: Vec<bool> = rows.iter().map(|(is_decoded, is_left)| *is_decoded && *is_left).collect();
            let of_decoded: Vec<bool> = rows.iter().filter(|row| row.0).map(|row| row.1).collect();
            let among = live_rows(&left).among(&live_rows(&decoded)).unwrap();
            prop_assert_eq!(&among, &live_rows(&of_decoded));
            prop_assert_eq!(among.count(), of_decoded.iter().filter(|is_left| **is_left).count());
            let others: Vec<bool> = rows.iter().map(|row| row.1).collect();
            let is_within = rows.iter().all(|(is_decoded, is_left)| *is_decoded || !is_left);
            prop_assert_eq!(live_rows(&others).among(&live_rows(&decoded)).is_some(), is_within);
        }

        #[test]
        fn rows_without_others_are_the_rest(rows in prop::collection::vec(any::<(bool, bool)>(), 0..40)) {
            let all: Vec<bool> = rows.iter().map(|(is_left, _)| *is_left).collect();
            let some: Vec<bool> = rows.iter().map(|(is_left, is_later)| *is_left && *is_later).collect();
            let rest: Vec<bool> = rows.iter().map(|(is_left, is_later)| *is_left && !is_later).collect();
            prop_assert_eq!(live_rows(&all).without(&live_rows(&some)), Some(live_rows(&rest)));
            let others: Vec<bool> = rows.iter().map(|row| row.1).collect();
            let is_within = rows.iter().all(|(is_left, is_other)| *is_left || !is_other);
            prop_assert_eq!(live_rows(&all).without(&live_rows(&others)).is_some(), is_within);
        }

        #[test]
        fn the_values_of_other_rows_are_removed(is_left in prop::collection::vec(any::<bool>(), 0..40)) {
            let mut values: Vec<usize> = (0..is_left.len()).collect();
            let left = live_rows(&is_left);
            left.select(&mut values);
            let expected: Vec<usize> = (0..is_left.len()).filter(|row| is_left[*row]).collect();
            prop_assert_eq!(&values, &expected);
            prop_assert_eq!((0..left.count()).map_while(|row| left.stored_row(row)).collect::<Vec<_>>(), expected);
            prop_assert_eq!(left.stored_row(left.count()), None);
        }
    }
}
