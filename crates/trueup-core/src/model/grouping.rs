//! Rows that share a key, numbered.

use hashbrown::HashTable;

/// Which group each row belongs to. Groups are numbered from 0 in the order of their first rows.
pub(super) struct Grouping {
    /// The group of each row.
    pub(super) of_row: Vec<u32>,
    /// The first row of each group.
    pub(super) first_row: Vec<u32>,
}

impl Grouping {
    /// Groups `rows` rows by a key that is known by its hash and by whether two rows share it.
    pub(super) fn of(rows: u32, hash: impl Fn(usize) -> u64, same: impl Fn(usize, usize) -> bool) -> Self {
        let mut first_row: Vec<u32> = Vec::new();
        let mut of_row: Vec<u32> = Vec::with_capacity(rows as usize);
        let mut table: HashTable<(u32, u32)> = HashTable::with_capacity(rows as usize);
        let mut next = 0;
        for row in 0..rows {
            // Rows of one key often follow each other.
            if let Some(group) = of_row.last().filter(|_| same(row as usize - 1, row as usize)) {
                of_row.push(*group);
                continue;
            }
            let entry = table.entry(
                hash(row as usize),
                |(_, first)| same(*first as usize, row as usize),
                |(_, first)| hash(*first as usize),
            );
            let (group, _) = *entry
                .or_insert_with(|| {
                    first_row.push(row);
                    next += 1;
                    (next - 1, row)
                })
                .get();
            of_row.push(group);
        }
        Self { of_row, first_row }
    }

    /// The rows of each group: those of group `g` are `rows[starts[g]..starts[g + 1]]`, in row order.
    pub(super) fn rows(&self) -> GroupedRows {
        let mut starts = vec![0_u32; self.first_row.len() + 1];
        for group in &self.of_row {
            starts[*group as usize + 1] += 1;
        }
        for group in 1..starts.len() {
            starts[group] += starts[group - 1];
        }
        let mut next = starts.clone();
        let mut rows = vec![0_u32; self.of_row.len()];
        for (row, group) in (0_u32..).zip(&self.of_row) {
            let at = &mut next[*group as usize];
            rows[*at as usize] = row;
            *at += 1;
        }
        GroupedRows { starts, rows }
    }
}

/// The rows of all groups, group by group.
pub(super) struct GroupedRows {
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl GroupedRows {
    pub(super) fn of_group(&self, group: u32) -> &[u32] {
        let (start, end) = (self.starts[group as usize], self.starts[group as usize + 1]);
        &self.rows[start as usize..end as usize]
    }
}
