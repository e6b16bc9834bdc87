//! Pairs of stages. Metrics show the days between them.

use super::Measure;
use crate::stage::Stage;
use serde::{Deserialize, Serialize};

/// Two stages. Metrics show the days from the first to the second.
///
/// A customer's *duration* is the days from its first event of the first stage to its earliest event of the second
/// stage on that day or later. A customer without such events has no duration. In the pairs that begin with lead, only
/// [leads](Measure::Leads) have durations, and these begin with the lead's first event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StagePair {
    /// From lead to booked.
    LeadToBooked,
    /// From lead to estimated.
    LeadToEstimated,
    /// From lead to sold.
    LeadToSold,
    /// From lead to closed.
    LeadToClosed,
    /// From booked to estimated.
    BookedToEstimated,
    /// From booked to sold.
    BookedToSold,
    /// From booked to closed.
    BookedToClosed,
    /// From estimated to sold.
    EstimatedToSold,
    /// From estimated to closed.
    EstimatedToClosed,
    /// From sold to closed.
    SoldToClosed,
}

/// The measures of a pair of stages, each as its name in formulas and its definition.
#[derive(Debug)]
pub(super) struct PairTexts {
    pub(super) reached: (&'static str, &'static str),
    pub(super) not_reached: (&'static str, &'static str),
    pub(super) days: (&'static str, &'static str),
    pub(super) day_counts: (&'static str, &'static str),
}

macro_rules! texts {
    ($pair:literal, $stages:literal) => {
        &PairTexts {
            reached: (concat!("reached", $pair), concat!("Customers with a duration from ", $stages, ".")),
            not_reached: (
                concat!("notReached", $pair),
                concat!("Customers at the first of these stages without a duration from ", $stages, "."),
            ),
            days: (concat!("days", $pair), concat!("Sum of the durations from ", $stages, ", in days.")),
            day_counts: (concat!("dayCounts", $pair), concat!("Number of durations from ", $stages, ", by days.")),
        }
    };
}

impl StagePair {
    /// All pairs, in order.
    pub const ALL: [Self; 10] = [
        Self::LeadToBooked,
        Self::LeadToEstimated,
        Self::LeadToSold,
        Self::LeadToClosed,
        Self::BookedToEstimated,
        Self::BookedToSold,
        Self::BookedToClosed,
        Self::EstimatedToSold,
        Self::EstimatedToClosed,
        Self::SoldToClosed,
    ];

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

    /// Returns the two stages. A lead has the stage lead-originated.
    #[must_use]
    pub const fn stages(self) -> (Stage, Stage) {
        match self {
            Self::LeadToBooked => (Stage::LeadOriginated, Stage::Booked),
            Self::LeadToEstimated => (Stage::LeadOriginated, Stage::Estimated),
            Self::LeadToSold => (Stage::LeadOriginated, Stage::Sold),
            Self::LeadToClosed => (Stage::LeadOriginated, Stage::Closed),
            Self::BookedToEstimated => (Stage::Booked, Stage::Estimated),
            Self::BookedToSold => (Stage::Booked, Stage::Sold),
            Self::BookedToClosed => (Stage::Booked, Stage::Closed),
            Self::EstimatedToSold => (Stage::Estimated, Stage::Sold),
            Self::EstimatedToClosed => (Stage::Estimated, Stage::Closed),
            Self::SoldToClosed => (Stage::Sold, Stage::Closed),
        }
    }

    pub(super) const fn texts(self) -> &'static PairTexts {
        match self {
            Self::LeadToBooked => texts!("LeadToBooked", "lead to booked"),
            Self::LeadToEstimated => texts!("LeadToEstimated", "lead to estimated"),
            Self::LeadToSold => texts!("LeadToSold", "lead to sold"),
            Self::LeadToClosed => texts!("LeadToClosed", "lead to closed"),
            Self::BookedToEstimated => texts!("BookedToEstimated", "booked to estimated"),
            Self::BookedToSold => texts!("BookedToSold", "booked to sold"),
            Self::BookedToClosed => texts!("BookedToClosed", "booked to closed"),
            Self::EstimatedToSold => texts!("EstimatedToSold", "estimated to sold"),
            Self::EstimatedToClosed => texts!("EstimatedToClosed", "estimated to closed"),
            Self::SoldToClosed => texts!("SoldToClosed", "sold to closed"),
        }
    }
}
