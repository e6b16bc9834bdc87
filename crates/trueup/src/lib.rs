//! The facade of trueup: the crate that a service links to open a dataset, query it, and write its answers.
//!
//! | to | use |
//! |---|---|
//! | open a dataset and query it | [`Dataset`], [`query::EventsQuery`] |
//! | ask as people do: ranges by name, typed conditions, benchmarks | [`request::QueryRequest`] |
//! | ask why a number is what it is | [`query::WhyQuery`], [`Why`] |
//! | run a query on several processes | [`Split`], [`Partial`] |
//! | describe a metric or a dimension | [`field`] |
//! | read filters from a query string | [`filter`] |
//! | write an answer as JSON or CSV | [`json`], [`csv`] |
//! | answer requests of the HTTP API, without a network | `service::Service`, with the feature `service` |
//! | decide who may see what | `access`, with the feature `service` |
//! | list the versions of a dataset, and check their files | [`versions`] |
//! | name types of Arrow, such as that of a record batch | [`arrow`] |
//!
//! Datasets are made by the program's command `ingest`, or by the module `ingest`, which a feature adds.
//!
//! | feature | adds |
//! |---|---|
//! | `arrow` | datasets in memory, from Arrow record batches; `EventReader`, which returns events as record batches |
//! | `ingest` | the module `ingest`: files, readers and Arrow record batches into datasets on disk |
//! | `ingest-stream` | the same from asynchronous streams of record batches |
//! | `object-store` | datasets at `s3://`, `gs://`, `az://` and `http(s)://`; `BlockCache`, which keeps what was read |
//! | `polars` | answers as polars data frames |
//! | `service` | the modules `service`, which answers requests of the HTTP API, `openapi` and `access` |
//!
//! No feature is on by default.
//!
//! # Threads
//! Queries and ingests run on the pool of rayon in which they are called, which is by default that of the process.
//! [`Execution::pool`] takes another one.
//!
//! # Panics
//! Faults of requests, data, files and stores are errors. The library counts on unwinding where a panic of another
//! crate, or one by mistake, must not end more than its own work. In a program that is built with `panic = "abort"`, it
//! ends the program instead:
//!
//! - Parquet's reader panics on some damaged files. A file of a dataset reaches it only if its bytes have the checksums
//!   of the manifest, so this is about inputs of an ingest, and about datasets that somebody has forged.
//! - The same holds for [`Partial::from_bytes`] of bytes that are damaged.
//! - A panic while benchmarks are computed is an error of the requests that wait for them.
//! - `trueup-server` answers 500 to a request that panics.
//!
//! An ingest that ends so is like one that was killed: the dataset stays as it was, and the next ingest removes what is
//! left. Leave `panic = "abort"` out of a program that ingests Parquet files of strangers, or that runs a service.
//!
//! ```
//! use trueup::query::{EventsQuery, Interval};
//! use trueup::{Dataset, Value, filter, json};
//! # let folder = tempfile::tempdir()?;
//! # let (path, events) = (folder.path().join("dataset"), folder.path().join("events.csv"));
//! # std::fs::write(&events, "account,opportunityId,type,date,attributionChannel,campaign\n\
//! #     acme,1,lead-originated,2025-01-03,Paid Search,Spring Drain Sale\n")?;
//! # trueup_ingest::Ingest::into(&path).events(&events).run()?;
//!
//! let dataset = Dataset::open(&path)?;
//! let query = EventsQuery::new(["attributionChannel", "leads"], "2025-01-01".parse()?, "2025-06-30".parse()?)
//!     .interval(Interval::Month);
//! let parameters = [("campaign".to_owned(), r#"["regex", "drain", "i"]"#.to_owned())];
//! let answer = dataset.query(&filter::apply(query, &parameters)?)?;
//! assert_eq!(answer.value(0, "leads"), Some(Value::Count(1)));
//!
//! let mut body = Vec::new();
//! json::write_rows(&answer, &mut body)?;
//! assert_eq!(body, br#"[{"start":"2025-01-01","end":"2025-01-31","attributionChannel":"Paid Search","leads":1}]"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod arrow;
pub mod csv;
pub mod field;
pub mod filter;
pub mod json;
#[cfg(feature = "service")]
pub mod openapi;
pub mod request;
#[cfg(feature = "service")]
pub mod service;
pub mod versions;

/// Who may see what: directories of users and keys, and scopes, which only authorization makes.
#[cfg(feature = "service")]
pub use trueup_access as access;
#[cfg(feature = "arrow")]
pub use trueup_core::EventReader;
/// The metrics, dimensions and periods of benchmarks, and the rows of an answer.
pub use trueup_core::benchmarks;
#[cfg(feature = "arrow")]
pub use trueup_core::dataset::Tables;
#[cfg(feature = "object-store")]
pub use trueup_core::dataset::{BlockCache, set_block_cache};
pub use trueup_core::dataset::{ColumnCacheCounts, Insight, Insights, ResultCacheCounts, is_url, without_credentials};
pub use trueup_core::model::tzdata_release;
pub use trueup_core::{
    ATTRIBUTION_WINDOW_DAYS, ChangeClass, Column, Dataset, DatasetError, Day, EmptyRange, Error, Execution,
    ExplainedDimension, ExplainedMeasure, ExplainedMetric, ExplainedRange, Explanation, ExtraMemory, Interrupt,
    Interruption, MeasureChange, MeasureClass, MemoryBudget, MetricChange, MixedCurrencies, NoRoom, NotComparable,
    ParquetProgress, Partial, PartialError, QueryError, QueryProgress, RatioClass, Ratios, Reservation, ResultTable,
    Row, RowGroupCounts, RunStatistics, Shown, Split, StringColumn, StringList, UnknownField, UnseenValue, Value,
    ValueSearch, Values, Why, day, definitions, dictionary, message_with_causes, money, most_similar, query, targets,
    words,
};
/// Files, readers and record batches into a dataset: [`Ingest`](ingest::Ingest) is the entry.
#[cfg(feature = "ingest")]
pub use trueup_ingest as ingest;
