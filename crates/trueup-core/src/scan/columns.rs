//! What parts of all tables have in common.

use super::{ColumnFault, ColumnSource};

/// Decoded columns of a part.
pub(crate) trait TableColumns: Clone + Send + Sync + 'static {
    type Projection: Default + PartialEq;

    /// What of `projection` is not decoded.
    fn missing(&self, projection: &Self::Projection) -> Self::Projection;

    /// The columns of `projection` by name, with those that are always decoded if nothing is yet.
    fn names(projection: &Self::Projection, is_first: bool) -> Vec<&str>;

    fn decode(source: &impl ColumnSource, projection: &Self::Projection) -> Result<Self, ColumnFault>;

    /// These and further columns of the same rows.
    fn with(self, source: &impl ColumnSource, projection: &Self::Projection) -> Result<Self, ColumnFault>;

    /// Bytes held.
    fn bytes(&self) -> usize;
}
