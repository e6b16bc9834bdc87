//! The columns of the two tables that a query needs.

use super::filter::RowPredicate;
use super::{DimensionRef, Origin};
use crate::dictionary::{Computed, Measure, SpendColumn, TOTAL_COLUMN};
use crate::model::SPEND_MEASURES;
use crate::scan::{EventProjection, SpendProjection};
use std::collections::BTreeSet;

/// Returns the event columns that dimensions, measures and tests of events read, in a dataset whose events have
/// `columns` in addition to the required ones.
pub(super) fn event_projection<'a>(
    dimensions: &[DimensionRef],
    measures: &[Measure],
    tests: impl Iterator<Item = &'a RowPredicate>,
    columns: &BTreeSet<String>,
) -> EventProjection {
    let mut projection = EventProjection::default();
    dimensions.iter().for_each(|dimension| add_dimension(&mut projection, dimension));
    measures.iter().for_each(|measure| add_measure(&mut projection, *measure, columns));
    for test in tests {
        match test {
            RowPredicate::Dimension(dimension, _) => add_dimension(&mut projection, dimension),
            RowPredicate::Total(_) => projection.totals = true,
        }
    }
    projection
}

fn add_dimension(projection: &mut EventProjection, dimension: &DimensionRef) {
    match dimension.origin {
        Origin::Stored | Origin::Computed(Computed::OpportunityId | Computed::EventId) => {
            projection.add_text(&dimension.source, dimension.attribution);
        }
        Origin::Computed(Computed::DateTime) => projection.date_times = true,
        Origin::Computed(_) | Origin::Absent => {}
    }
}

fn add_measure(projection: &mut EventProjection, measure: Measure, columns: &BTreeSet<String>) {
    for column in measure.columns() {
        if *column == TOTAL_COLUMN {
            projection.totals = true;
        } else if columns.contains(*column) {
            projection.texts.insert((*column).to_owned());
        }
    }
}

/// Returns the spend columns for `measures`, grouped by `dimensions` (blank ones included) and filtered by the
/// dimensions `tested`. A query that groups needs every number, because spend without events gets a row of the answer
/// only if one of its numbers is not 0.
pub(super) fn spend_projection<'a>(
    measures: &[Measure],
    dimensions: impl Iterator<Item = &'a DimensionRef>,
    tested: impl Iterator<Item = &'a DimensionRef>,
) -> SpendProjection {
    let mut columns: BTreeSet<&'static str> = measures.iter().flat_map(|measure| measure.columns()).copied().collect();
    let mut dimensions = dimensions.peekable();
    if dimensions.peek().is_some() {
        columns.extend(SPEND_MEASURES);
    }
    columns.extend(dimensions.chain(tested).filter_map(|dimension| text_column(dimension.spend?)));
    SpendProjection::new(columns)
}

/// Returns the stored text column of a dimension of spend; `None` if the dimension is computed from `account` or
/// `date`.
pub(crate) const fn text_column(column: SpendColumn) -> Option<&'static str> {
    match column {
        SpendColumn::AttributionCategory => Some("attributionCategory"),
        SpendColumn::AttributionChannel => Some("attributionChannel"),
        SpendColumn::Campaign => Some("campaign"),
        SpendColumn::Account
        | SpendColumn::AccountName
        | SpendColumn::Currency
        | SpendColumn::Date
        | SpendColumn::Week
        | SpendColumn::Month => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definitions::Definitions;
    use crate::query::Attribution;

    fn spend_columns(measures: &[Measure], grouped: &[&str], tested: &[&str]) -> Vec<&'static str> {
        let resolve = |names: &[&str]| -> Vec<DimensionRef> {
            names
                .iter()
                .map(|name| DimensionRef::new(name, &BTreeSet::new(), &Definitions::default(), Attribution::Recorded))
                .collect()
        };
        spend_projection(measures, resolve(grouped).iter(), resolve(tested).iter()).columns(false)
    }

    #[test]
    fn a_query_reads_only_the_spend_columns_that_it_needs() {
        assert_eq!(spend_columns(&[Measure::Clicks], &[], &[]), ["clicks"]);
        assert_eq!(spend_columns(&[Measure::AdSpend], &[], &["campaign", "zip", "date"]), ["adSpend", "campaign"]);
        assert_eq!(spend_columns(&[Measure::CampaignSpend], &[], &[]), ["adSpend", "campaign", "managementFee"]);
        assert_eq!(
            spend_columns(&[Measure::AdSpend], &["zip"], &[]),
            ["adSpend", "clicks", "impressions", "managementFee"]
        );
        assert_eq!(SpendProjection::all().columns(true).len(), 9);
    }
}
