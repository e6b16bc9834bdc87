//! The crates of Arrow whose types this library takes and returns, in its own version: a program that names them from
//! here builds no second one.
//!
//! ```
//! use trueup::Dataset;
//! use trueup::arrow::array::{RecordBatch, UInt64Array};
//! use trueup::arrow::schema::{ArrowError, DataType};
//! use trueup::query::EventsQuery;
//! # let folder = tempfile::tempdir()?;
//! # let (path, events) = (folder.path().join("dataset"), folder.path().join("events.csv"));
//! # std::fs::write(&events, "account,opportunityId,type,date\nacme,1,lead-originated,2025-01-03\n")?;
//! # trueup_ingest::Ingest::into(&path).events(&events).run()?;
//!
//! let query = EventsQuery::new(["account", "leads"], "2025-01-01".parse()?, "2025-01-31".parse()?);
//! let answer: Result<RecordBatch, ArrowError> = Dataset::open(&path)?.query(&query)?.record_batch();
//! let leads = answer?.column_by_name("leads").cloned().ok_or("no such column")?;
//! assert_eq!(leads.data_type(), &DataType::UInt64);
//! assert_eq!(leads.as_any().downcast_ref::<UInt64Array>().map(|leads| leads.value(0)), Some(1));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use arrow_array as array;
pub use arrow_schema as schema;
