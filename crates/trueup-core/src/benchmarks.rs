//! Benchmarks: anonymous statistics of an industry for one month, computed over all accounts of a dataset. All accounts
//! of a dataset are called its platform.
//!
//! | file | step |
//! |---|---|
//! | `request` | reads the month, the metrics, the dimensions and the filters of a request |
//! | `fields` | lists the metrics and dimensions, and the amounts that each metric is the ratio of |
//! | `data` | [`BenchmarkData::gather`] reads the amounts of all accounts for a range of days, once |
//! | `answer` | [`BenchmarkData::answer`] shows what is published of the segments of a request |
//! | `cells` | selects the cohort, splits its amounts by segment, and says which accounts are pooled there |
//! | `lattice` | decides which segments are published, so that no subtraction of published ones shows a withheld one |
//! | `pool` | says which sums are safe, and pools and ranks the accounts of one segment in exact ratios |
//! | `comparison` | [`BenchmarkComparison`] compares the rows of an answer with the benchmarks of their segments |

mod answer;
mod cells;
mod comparison;
mod data;
mod fields;
mod lattice;
mod pool;
mod request;
#[cfg(test)]
mod tests;

pub use answer::{BenchmarkQuery, BenchmarkRow};
pub use comparison::{BenchmarkComparison, NotBenchmarked};
pub use data::BenchmarkData;
pub use fields::{BenchmarkDimension, BenchmarkMetric};
pub use pool::{Privacy, Series};
pub use request::{BenchmarkFault, BenchmarkPeriod, BenchmarkSelection, Month, read};
