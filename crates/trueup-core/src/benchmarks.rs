//! Benchmarks: anonymous statistics of an industry for one month, computed over all accounts of a dataset. All accounts
//! of a dataset are called its platform.
//!
//! | file | step |
//! |---|---|
//! | `request` | reads the month, the metrics, the dimensions and the filters of a request |
//! | `fields` | lists the metrics and dimensions, and the amounts that each metric is the ratio of |
//! | `data` | [`BenchmarkData::gather`] reads the amounts of all accounts for a range of days, once |
//! | `answer` | [`BenchmarkData::answer`] selects the cohort and splits its amounts by segment |
//! | `comparison` | [`BenchmarkComparison`] compares the rows of an answer with the benchmarks of their segments |
//! | `pool` | pools and ranks the accounts of one segment in exact ratios, and withholds what could reveal an account |

mod answer;
mod comparison;
mod data;
mod fields;
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
