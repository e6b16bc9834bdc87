//! The columns of the spend table that a query reads.

use super::DimensionRef;
use crate::dictionary::{Measure, SpendColumn};
use std::collections::BTreeSet;

/// Columns beyond account and date, which every query that needs spend reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SpendProjection(BTreeSet<&'static str>);

/// The columns that decide whether spend that no event stands beside gets a row.
const AMOUNTS: [&str; 4] = ["adSpend", "managementFee", "clicks", "impressions"];

impl SpendProjection {
    /// Every column.
    pub(crate) fn all() -> Self {
        Self(AMOUNTS.into_iter().chain(crate::model::SPEND_TEXTS).collect())
    }

    /// The columns for `measures`, of which there is one at least, with dimensions, blank ones too, and filtered by `tested`.
    pub(super) fn new<'a>(
        measures: &[Measure],
        dimensions: impl Iterator<Item = &'a DimensionRef>,
        tested: impl Iterator<Item = &'a DimensionRef>,
    ) -> Self {
        let mut columns: BTreeSet<&'static str> = BTreeSet::new();
        for measure in measures {
            columns.extend(match measure {
                Measure::AdSpend => &["adSpend"][..],
                Measure::ManagementFee => &["managementFee"],
                Measure::CampaignSpend => &["adSpend", "managementFee", "campaign"],
                Measure::Clicks => &["clicks"],
                Measure::Impressions => &["impressions"],
                _ => &[],
            });
        }
        let mut dimensions = dimensions.peekable();
        if dimensions.peek().is_some() {
            columns.extend(AMOUNTS);
        }
        columns.extend(dimensions.chain(tested).filter_map(|dimension| text(dimension.spend?)));
        Self(columns)
    }

    /// Whether the column is read.
    pub(crate) fn reads(&self, column: &str) -> bool {
        self.0.contains(column)
    }

    /// This without the columns named.
    pub(crate) fn without(&self, columns: impl Iterator<Item = &'static str>) -> Self {
        let columns: BTreeSet<&str> = columns.collect();
        Self(self.0.difference(&columns).copied().collect())
    }

    /// The names of the columns, with those that every query reads if they are wanted.
    pub(crate) fn columns(&self, with_basic: bool) -> Vec<&'static str> {
        let basic: &[&str] = if with_basic { &["account", "date"] } else { &[] };
        basic.iter().copied().chain(self.0.iter().copied()).collect()
    }
}

const fn text(column: SpendColumn) -> Option<&'static str> {
    match column {
        SpendColumn::AttributionCategory => Some("attributionCategory"),
        SpendColumn::AttributionChannel => Some("attributionChannel"),
        SpendColumn::Campaign => Some("campaign"),
        SpendColumn::Account
        | SpendColumn::AccountName
        | SpendColumn::Date
        | SpendColumn::Week
        | SpendColumn::Month => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(measures: &[Measure], grouped: &[&str], tested: &[&str]) -> Vec<&'static str> {
        let resolve = |names: &[&str]| -> Vec<DimensionRef> {
            names.iter().map(|name| DimensionRef::new(name, &BTreeSet::new())).collect()
        };
        SpendProjection::new(measures, resolve(grouped).iter(), resolve(tested).iter()).0.into_iter().collect()
    }

    #[test]
    fn only_what_is_asked_for_is_read() {
        assert_eq!(columns(&[Measure::Clicks], &[], &[]), ["clicks"]);
        assert_eq!(columns(&[Measure::AdSpend], &[], &["campaign", "zip", "date"]), ["adSpend", "campaign"]);
        assert_eq!(columns(&[Measure::CampaignSpend], &[], &[]), ["adSpend", "campaign", "managementFee"]);
        // Whether spend alone gets a row hangs on every amount.
        assert_eq!(columns(&[Measure::AdSpend], &["zip"], &[]), ["adSpend", "clicks", "impressions", "managementFee"]);
        assert_eq!(SpendProjection::all().columns(true).len(), 9);
    }
}
