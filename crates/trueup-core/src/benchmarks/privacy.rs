//! What has to hold of a figure before it is shown.

/// When a figure tells of an industry and not of an account.
///
/// ```
/// use trueup_core::benchmarks::Privacy;
///
/// assert_eq!(Privacy::default(), Privacy::of_accounts(10));
/// assert_eq!(Privacy::of_accounts(1), Privacy::of_accounts(Privacy::FEWEST_ACCOUNTS));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Privacy {
    accounts: usize,
    share: u8,
}

impl Privacy {
    /// No setting shows a figure with fewer accounts of others behind it.
    pub const FEWEST_ACCOUNTS: usize = 5;
    /// No setting shows a figure where one account of others holds more than this percentage of what they hold together.
    pub const LARGEST_SHARE: u8 = 25;

    /// At least so many accounts outside the caller's reach stand behind each figure, and never fewer than
    /// [`Privacy::FEWEST_ACCOUNTS`].
    #[must_use]
    pub const fn of_accounts(accounts: usize) -> Self {
        let accounts = if accounts < Self::FEWEST_ACCOUNTS { Self::FEWEST_ACCOUNTS } else { accounts };
        Self { accounts, share: Self::LARGEST_SHARE }
    }

    /// No account outside the caller's reach holds more than `percent` of what all such accounts hold together, and never more than
    /// [`Privacy::LARGEST_SHARE`].
    #[must_use]
    pub const fn of_share(mut self, percent: u8) -> Self {
        self.share = if percent > Self::LARGEST_SHARE { Self::LARGEST_SHARE } else { percent };
        self
    }

    /// Whether so many accounts of others are enough.
    pub(super) const fn is_enough(self, accounts: usize) -> bool {
        accounts >= self.accounts
    }

    /// Whether an account's part of what accounts hold together is too large. Signs are ignored: where debits and credits cancel
    /// out, a part may be larger than the whole.
    pub(super) const fn dominates(self, part: i128, together: i128) -> bool {
        part.unsigned_abs() * 100 > together.unsigned_abs() * self.share as u128
    }
}

impl Default for Privacy {
    fn default() -> Self {
        Self::of_accounts(10)
    }
}
