//! Where row groups and files of events begin.

/// How events are cut into row groups and files. It looks at nothing but the order of the customers, so that the same events always
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

/// What a customer begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    Nothing,
    Group,
    File,
}

/// What the open file and row group hold.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Filled {
    pub(crate) group: usize,
    pub(crate) file: usize,
}

impl Layout {
    /// What the next customer, with so many rows, begins.
    pub(crate) fn next(self, filled: Filled, rows: usize, new_account: bool) -> Begins {
        let full = if new_account { self.file_rows } else { self.file_rows.saturating_mul(LARGEST_FILE) };
        if filled.file > 0 && filled.file >= full {
            return Begins::File;
        }
        // A row group of few accounts can be skipped by queries about others, so it ends early where an account does.
        let early = new_account && filled.group >= self.group_rows.div_ceil(2);
        if filled.group > 0 && (early || filled.group + rows > self.group_rows) {
            return Begins::Group;
        }
        Begins::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_and_files_end_with_accounts_where_they_can() {
        let layout = Layout { group_rows: 10, file_rows: 20 };
        let next = |group, file, rows, new_account| layout.next(Filled { group, file }, rows, new_account);
        assert_eq!(next(0, 0, 99, true), Begins::Nothing);
        assert_eq!(next(8, 8, 2, false), Begins::Nothing);
        assert_eq!(next(8, 8, 3, false), Begins::Group);
        assert_eq!(next(4, 4, 1, true), Begins::Nothing);
        assert_eq!(next(5, 5, 1, true), Begins::Group);
        assert_eq!(next(5, 20, 1, true), Begins::File);
        assert_eq!(next(5, 79, 1, false), Begins::Nothing);
        assert_eq!(next(5, 80, 1, false), Begins::File);
    }
}
