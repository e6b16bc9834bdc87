//! The dimensions that benchmarks can be grouped by and filtered on.

use std::fmt;

/// A dimension of benchmarks; nothing else filters them either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BenchmarkDimension {
    /// `attributionCategory`; spend carries it.
    AttributionCategory,
    /// `attributionChannel`; spend carries it.
    AttributionChannel,
    /// `customerStatus`; it does not split spend.
    CustomerStatus,
    /// `normalizedBusinessUnit`; it does not split spend.
    NormalizedBusinessUnit,
}

impl BenchmarkDimension {
    /// Every dimension of benchmarks.
    pub const ALL: [Self; 4] =
        [Self::AttributionCategory, Self::AttributionChannel, Self::CustomerStatus, Self::NormalizedBusinessUnit];

    /// Those that spend carries, which are the first of all.
    pub(super) const CARRIED: [Self; 2] = [Self::AttributionCategory, Self::AttributionChannel];

    /// The name of its field.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AttributionCategory => "attributionCategory",
            Self::AttributionChannel => "attributionChannel",
            Self::CustomerStatus => "customerStatus",
            Self::NormalizedBusinessUnit => "normalizedBusinessUnit",
        }
    }

    /// The dimension whose field has that name, if benchmarks know it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dimension| dimension.name() == name)
    }

    /// Where it stands among all.
    pub(super) const fn place(self) -> usize {
        self as usize
    }
}

impl fmt::Display for BenchmarkDimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
