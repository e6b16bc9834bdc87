//! Where row groups and files of events begin.

/// How events are cut into row groups and files. It looks at nothing but the customers in their order, so that the same events always
/// make the same files, unless their texts are so long that the memory decides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// The rows that a row group should have; more only if one customer alone has more.
    pub(crate) group_rows: usize,
    /// The rows after which a file ends where the account does.
    pub(crate) file_rows: usize,
    /// The bytes of memory that a row group should have; more only if one customer alone has more.
    pub(crate) group_bytes: usize,
    /// The bytes of memory after which a file ends, for the rows of its row groups that are not whole.
    pub(crate) open_bytes: usize,
}

/// Column chunks after which a file ends: until it does, the description of each is held.
const MOST_CHUNKS: usize = 1 << 16;

/// The rows after which a file ends even within an account, in units of those after which it ends with one.
const LARGEST_FILE: usize = 4;

impl Layout {
    /// Whether a file that holds so many rows ends before the next customer.
    pub(super) fn ends_file(self, filled: usize, new_account: bool) -> bool {
        let full = if new_account { self.file_rows } else { self.file_rows.saturating_mul(LARGEST_FILE) };
        filled > 0 && filled >= full
    }

    /// Whether a file ends before the next customer because of the bytes that its open row groups hold, or of the column chunks that it
    /// has.
    pub(super) fn is_too_large(self, open_bytes: usize, chunks: usize) -> bool {
        open_bytes >= self.open_bytes || chunks >= MOST_CHUNKS
    }

    /// Whether a row group ends before the next customer; of both, rows and bytes.
    pub(super) fn ends_group(self, filled: (usize, usize), next: (usize, usize), new_account: bool) -> bool {
        // A row group of few accounts can be skipped by queries about others, so it ends early where an account does.
        let early = new_account && filled.0 >= self.group_rows.div_ceil(2);
        filled.0 > 0 && (early || filled.0 + next.0 > self.group_rows || filled.1 + next.1 > self.group_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_files_end_with_accounts_where_they_can() {
        let layout = Layout { group_rows: 10, file_rows: 20, group_bytes: 100, open_bytes: 200 };
        assert!(!layout.ends_group((0, 0), (99, 999), true));
        assert!(!layout.ends_group((8, 8), (2, 2), false));
        assert!(layout.ends_group((8, 8), (3, 3), false));
        assert!(!layout.ends_group((4, 4), (1, 1), true));
        assert!(layout.ends_group((5, 5), (1, 1), true));
        assert!(!layout.ends_group((5, 5), (1, 1), false));
        assert!(!layout.ends_group((1, 60), (1, 40), false));
        assert!(layout.ends_group((1, 60), (1, 41), false));

        assert!(!layout.is_too_large(199, MOST_CHUNKS - 1));
        assert!(layout.is_too_large(200, 0) && layout.is_too_large(0, MOST_CHUNKS));
        assert!(!layout.ends_file(0, true));
        assert!(!layout.ends_file(19, true));
        assert!(layout.ends_file(20, true));
        assert!(!layout.ends_file(79, false));
        assert!(layout.ends_file(80, false));
        assert!(!Layout { file_rows: 0, ..layout }.ends_file(0, true));
    }
}
