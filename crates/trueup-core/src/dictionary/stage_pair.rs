//! Pairs of stages. Metrics show the days between them.

use super::Measure;
use crate::stage::Stage;
use serde::{Deserialize, Serialize};

/// The measures of a pair of stages, each as its name in formulas and its definition.
#[derive(Debug)]
pub(super) struct PairTexts {
    pub(super) reached: (&'static str, &'static str),
    pub(super) not_reached: (&'static str, &'static str),
    pub(super) days: (&'static str, &'static str),
    pub(super) day_counts: (&'static str, &'static str),
}

/// Declares the pairs: each with its stages, and these in words.
macro_rules! pairs {
    ($(#[$meta:meta])* $($pair:ident = $first:ident to $second:ident, $words:literal;)+) => {
        $(#[$meta])*
        pub enum StagePair {
            $(
                #[doc = concat!("From ", $words, ".")]
                $pair,
            )+
        }

        impl StagePair {
            /// All pairs, in order.
            pub const ALL: [Self; [$($words),+].len()] = [$(Self::$pair),+];

            /// Returns the two stages. A lead has the stage lead-originated.
            #[must_use]
            pub const fn stages(self) -> (Stage, Stage) {
                match self {
                    $(Self::$pair => (Stage::$first, Stage::$second),)+
                }
            }

            pub(super) const fn texts(self) -> &'static PairTexts {
                match self {
                    $(Self::$pair => &PairTexts {
                        reached: (
                            concat!("reached", stringify!($pair)),
                            concat!("Customers with a duration from ", $words, "."),
                        ),
                        not_reached: (
                            concat!("notReached", stringify!($pair)),
                            concat!("Customers at the first of these stages without a duration from ", $words, "."),
                        ),
                        days: (
                            concat!("days", stringify!($pair)),
                            concat!("Sum of the durations from ", $words, ", in days."),
                        ),
                        day_counts: (
                            concat!("dayCounts", stringify!($pair)),
                            concat!("Number of durations from ", $words, ", by days."),
                        ),
                    },)+
                }
            }
        }
    };
}

pairs! {
    /// Two stages. Metrics show the days from the first to the second.
    ///
    /// A customer's *duration* is the days from its first event of the first stage to its earliest event of the second
    /// stage on that day or later. A customer without such events has no duration. In the pairs that begin with lead,
    /// only [leads](Measure::Leads) have durations, and these begin with the lead's first event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "camelCase")]
    LeadToBooked = LeadOriginated to Booked, "lead to booked";
    LeadToEstimated = LeadOriginated to Estimated, "lead to estimated";
    LeadToSold = LeadOriginated to Sold, "lead to sold";
    LeadToClosed = LeadOriginated to Closed, "lead to closed";
    BookedToEstimated = Booked to Estimated, "booked to estimated";
    BookedToSold = Booked to Sold, "booked to sold";
    BookedToClosed = Booked to Closed, "booked to closed";
    EstimatedToSold = Estimated to Sold, "estimated to sold";
    EstimatedToClosed = Estimated to Closed, "estimated to closed";
    SoldToClosed = Sold to Closed, "sold to closed";
}

impl StagePair {
    /// Returns the measure that counts the customers at the first stage: those of [`Measure::Reached`] and those of
    /// [`Measure::NotReached`] together.
    #[must_use]
    pub const fn population(self) -> Measure {
        match self.stages().0 {
            Stage::Booked => Measure::FirstBooked,
            Stage::Estimated => Measure::FirstEstimated,
            Stage::Sold => Measure::FirstSold,
            // No pair begins with another stage.
            Stage::LeadOriginated | Stage::Closed | Stage::Canceled => Measure::Leads,
        }
    }
}
