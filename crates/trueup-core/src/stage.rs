//! The stages of the sales funnel.

use std::fmt;

/// The stage of an event in the sales funnel. In a history, events of the same moment are in the order of their stages.
///
/// ```
/// use trueup_core::model::Stage;
///
/// assert_eq!(Stage::from_name("lead-originated"), Some(Stage::LeadOriginated));
/// assert!(Stage::Booked < Stage::Sold);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Stage {
    /// A conversion: a person got in touch.
    LeadOriginated = 0,
    /// An appointment was booked.
    Booked = 1,
    /// An estimate was given.
    Estimated = 2,
    /// Work was sold.
    Sold = 3,
    /// Work was done and invoiced.
    Closed = 4,
    /// The earlier events were canceled.
    Canceled = 5,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 6] =
        [Self::LeadOriginated, Self::Booked, Self::Estimated, Self::Sold, Self::Closed, Self::Canceled];

    /// Returns the number of the stage in the order of stages, from 0.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the stage with that number; `None` if there is none.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Returns the name, as in the column `type`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeadOriginated => "lead-originated",
            Self::Booked => "booked",
            Self::Estimated => "estimated",
            Self::Sold => "sold",
            Self::Closed => "closed",
            Self::Canceled => "canceled",
        }
    }

    /// Returns the stage with exactly that name; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_round_trip() {
        for stage in Stage::ALL {
            assert_eq!(Stage::from_code(stage.code()), Some(stage));
            assert_eq!(Stage::from_name(stage.name()), Some(stage));
        }
        assert_eq!(Stage::from_code(6), None);
        assert_eq!(Stage::from_name("Booked"), None);
        assert_eq!(Stage::from_name(""), None);
    }
}
