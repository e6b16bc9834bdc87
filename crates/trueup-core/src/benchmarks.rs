//! Anonymous figures of an industry for one month: how the ten benchmark metrics stand across the accounts of a platform.
//!
//! [`BenchmarkData::gather`] reads a dataset once for one range of days. [`BenchmarkData::answer`] then answers any question about that range
//! from what was gathered: it picks the cohort, pools it, ranks its accounts, and withholds whatever could tell of a single one.

mod answer;
mod cohort;
mod dimension;
mod fault;
mod figures;
mod fraction;
mod metric;
mod month;
mod names;
mod pool;
mod privacy;
mod selection;

pub use answer::{BenchmarkQuery, BenchmarkRow};
pub use dimension::BenchmarkDimension;
pub use fault::BenchmarkFault;
pub use figures::BenchmarkData;
pub use metric::BenchmarkMetric;
pub use month::{BenchmarkPeriod, Month};
pub use pool::Series;
pub use privacy::Privacy;
pub use selection::{BenchmarkSelection, read};
