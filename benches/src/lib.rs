//! Data that the benchmarks share.
