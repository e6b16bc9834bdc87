//! From raw Parquet, CSV and NDJSON files to a sorted, verified dataset.
