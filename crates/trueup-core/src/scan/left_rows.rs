//! The rows of a stored row group that are left, where later rows have superseded others.

use std::ops::Range;

/// The rows of a row group that no deletion vector leaves out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LeftRows {
    /// Ascending; neither empty nor adjacent.
    ranges: Vec<Range<usize>>,
}

impl LeftRows {
    /// Makes a set of rows from ranges that are ascending, and neither empty nor adjacent.
    pub(crate) const fn new(ranges: Vec<Range<usize>>) -> Self {
        Self { ranges }
    }

    /// Removes from `values`, which has a value for each stored row, the values of the rows that are not left.
    pub(super) fn select<T: Copy>(&self, values: &mut Vec<T>) {
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

    /// Returns the offsets of the customers that are left, given those of all stored customers: customer `i` has the
    /// rows from `offsets[i]` to `offsets[i + 1]`. `None` if only a part of a customer is left.
    pub(super) fn offsets(&self, offsets: &[u32]) -> Option<Vec<u32>> {
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
    fn whole_customers_are_left() {
        let of = |ranges: &[(usize, usize)]| {
            LeftRows::new(ranges.iter().map(|(start, end)| *start..*end).collect()).offsets(&[0, 2, 3, 7])
        };
        assert_eq!(of(&[]), Some(vec![0]));
        assert_eq!(of(&[(0, 7)]), Some(vec![0, 2, 3, 7]));
        assert_eq!(of(&[(0, 2), (3, 7)]), Some(vec![0, 2, 6]));
        assert_eq!(of(&[(2, 3)]), Some(vec![0, 1]));
        for parts in [&[(0, 1)][..], &[(1, 3)], &[(2, 6)], &[(0, 2), (4, 7)], &[(0, 2), (3, 5), (6, 7)]] {
            assert_eq!(of(parts), None, "{parts:?}");
        }
    }

    proptest! {
        #[test]
        fn the_values_of_other_rows_are_removed(is_left in prop::collection::vec(any::<bool>(), 0..40)) {
            let mut ranges: Vec<Range<usize>> = Vec::new();
            for row in (0..is_left.len()).filter(|row| is_left[*row]) {
                match ranges.last_mut() {
                    Some(last) if last.end == row => last.end += 1,
                    _ => ranges.push(row..row + 1),
                }
            }
            let mut values: Vec<usize> = (0..is_left.len()).collect();
            LeftRows::new(ranges).select(&mut values);
            let expected: Vec<usize> = (0..is_left.len()).filter(|row| is_left[*row]).collect();
            prop_assert_eq!(values, expected);
        }
    }
}
