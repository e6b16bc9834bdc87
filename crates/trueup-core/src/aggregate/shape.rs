//! What a partial result consists of: enough to read and merge it without the plan.

use crate::plan::{MeasureLayout, Plan};
use serde::{Deserialize, Serialize};

/// What a partial result consists of. Partial results of one plan have the same shape.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ResultShape {
    /// The number of sub-ranges.
    pub(crate) sub_ranges: usize,
    /// The dimensions, in the order of the query.
    pub(crate) dimensions: Vec<ShapeDimension>,
    /// The measures that are aggregated from events.
    pub(crate) layout: MeasureLayout,
}

/// A dimension of a partial result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ShapeDimension {
    pub(crate) name: String,
    /// Whether spend is grouped by it too.
    pub(crate) has_spend: bool,
}

impl ResultShape {
    /// Returns the shape of the partial results of a plan.
    pub(crate) fn new(plan: &Plan) -> Self {
        let dimensions = plan
            .dimensions
            .iter()
            .map(|dimension| ShapeDimension { name: dimension.name.clone(), has_spend: dimension.spend.is_some() });
        Self { sub_ranges: plan.sub_ranges.len(), dimensions: dimensions.collect(), layout: plan.layout.clone() }
    }

    /// Returns the places of the dimensions that spend is grouped by.
    pub(crate) fn spend_dimensions(&self) -> impl Iterator<Item = usize> + '_ {
        (0..).zip(&self.dimensions).filter_map(|(place, dimension)| dimension.has_spend.then_some(place))
    }
}
