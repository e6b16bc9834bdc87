//! The event columns that a query reads.

use super::{DimensionRef, Origin, RowTest};
use crate::dataset::manifest::CUSTOMER_COLUMN;
use crate::dictionary::{Computed, Measure};
use std::collections::BTreeSet;

/// The stored column of grades.
pub(crate) const LABEL_COLUMN: &str = "conversionDetailedLabel";
/// The stored column of the customer's status.
pub(crate) const STATUS_COLUMN: &str = "customerStatus";
/// The stored column of the agent.
pub(crate) const AGENT_COLUMN: &str = "opportunityAgent";

/// Columns beyond customer, account, stage and date, which every query reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Projection {
    /// Text columns by name.
    pub(crate) texts: BTreeSet<String>,
    /// The column `total`.
    pub(crate) totals: bool,
    /// The column `dateTime`.
    pub(crate) date_times: bool,
}

impl Projection {
    /// The names of the columns, with those that every query reads if they are wanted.
    pub(crate) fn columns(&self, with_basic: bool) -> Vec<&str> {
        const BASIC: [&str; 4] = ["account", CUSTOMER_COLUMN, "type", "date"];
        let mut columns = if with_basic { BASIC.to_vec() } else { Vec::new() };
        columns.extend(self.totals.then_some("total"));
        columns.extend(self.date_times.then_some("dateTime"));
        columns.extend(self.texts.iter().map(String::as_str));
        columns
    }

    pub(super) fn add_dimension(&mut self, dimension: &DimensionRef) {
        match dimension.origin {
            Origin::Stored | Origin::Computed(Computed::OpportunityId | Computed::EventId) => {
                self.texts.insert(dimension.name.clone());
            }
            Origin::Computed(Computed::DateTime) => self.date_times = true,
            Origin::Computed(_) | Origin::Absent => {}
        }
    }

    pub(super) fn add_measure(&mut self, measure: Measure, columns: &BTreeSet<String>) {
        let text = match measure {
            Measure::Total | Measure::EstimatedRevenue | Measure::SoldRevenue | Measure::ClosedRevenue => {
                self.totals = true;
                return;
            }
            Measure::GradedConversions
            | Measure::BookedConversions
            | Measure::BookableUnbookedConversions
            | Measure::UnbookableConversions => LABEL_COLUMN,
            Measure::MatchedCustomers | Measure::UnmatchedCustomers => STATUS_COLUMN,
            Measure::OpportunityAgents => AGENT_COLUMN,
            _ => return,
        };
        if columns.contains(text) {
            self.texts.insert(text.to_owned());
        }
    }

    pub(super) fn add_row_test(&mut self, test: &RowTest) {
        match test {
            RowTest::Dimension(dimension, _) => self.add_dimension(dimension),
            RowTest::Total(_) => self.totals = true,
        }
    }
}
