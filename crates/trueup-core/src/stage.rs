//! The stages of the sales funnel.

use crate::named::named;

named! {
    /// The stage of an event in the sales funnel, with its name in the column `type`. In a history, events of the same
    /// moment are in the order of their stages.
    ///
    /// ```
    /// use trueup_core::model::Stage;
    ///
    /// assert_eq!(Stage::from_name("lead-originated"), Some(Stage::LeadOriginated));
    /// assert_eq!((Stage::from_code(5), Stage::from_code(6)), (Some(Stage::Canceled), None));
    /// assert!(Stage::Booked < Stage::Sold);
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[repr(u8)]
    pub enum Stage {
        /// A conversion: a person got in touch.
        LeadOriginated = "lead-originated",
        /// An appointment was booked.
        Booked = "booked",
        /// An estimate was given.
        Estimated = "estimated",
        /// Work was sold.
        Sold = "sold",
        /// Work was done and invoiced.
        Closed = "closed",
        /// The earlier events were canceled.
        Canceled = "canceled",
    }
}

impl Stage {
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

    /// Returns the stage with exactly that name; `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }
}
