//! Where row groups and files of events begin.

/// How events are cut into row groups and files. It looks at nothing but the customers in their order, so that the same events always
/// make the same files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    /// The rows that a row group should have; more only if one customer alone has more.
    pub(crate) group_rows: usize,
    /// The rows after which a file ends where the account does.
    pub(crate) file_rows: usize,
}

/// The rows after which a file ends even within an account, in units of those after which it ends with one.
const LARGEST_FILE: usize = 4;

impl Layout {
    /// Whether a file that holds so many rows ends before the next customer.
    pub(super) fn ends_file(self, filled: usize, new_account: bool) -> bool {
        let full = if new_account { self.file_rows } else { self.file_rows.saturating_mul(LARGEST_FILE) };
        filled > 0 && filled >= full
    }

    /// Whether a row group that holds so many rows ends before the next customer, which has `rows`.
    pub(super) fn ends_group(self, filled: usize, rows: usize, new_account: bool) -> bool {
        // A row group of few accounts can be skipped by queries about others, so it ends early where an account does.
        let early = new_account && filled >= self.group_rows.div_ceil(2);
        filled > 0 && (early || filled + rows > self.group_rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_files_end_with_accounts_where_they_can() {
        let layout = Layout { group_rows: 10, file_rows: 20 };
        assert!(!layout.ends_group(0, 99, true));
        assert!(!layout.ends_group(8, 2, false));
        assert!(layout.ends_group(8, 3, false));
        assert!(!layout.ends_group(4, 1, true));
        assert!(layout.ends_group(5, 1, true));
        assert!(!layout.ends_group(5, 1, false));

        assert!(!layout.ends_file(0, true));
        assert!(!layout.ends_file(19, true));
        assert!(layout.ends_file(20, true));
        assert!(!layout.ends_file(79, false));
        assert!(layout.ends_file(80, false));
        assert!(!Layout { file_rows: 0, ..layout }.ends_file(0, true));
    }
}
