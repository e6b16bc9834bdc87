//! The facade of trueup: filters as the service spells them, and answers as it writes them.
//!
//! A service that links trueup needs this crate alone: the types of a query and of its answer are those of the engine.
//!
//! ```
//! use trueup::query::{EventsQuery, Interval};
//!
//! let mut query = EventsQuery::new(["attributionChannel", "leads"], "2025-01-01".parse()?, "2025-06-30".parse()?)
//!     .interval(Interval::Month);
//! let parameters = [("campaign".to_owned(), r#"["regex", "drain", "i"]"#.to_owned())];
//! if let Some(filter) = trueup::filter::from_parameters(&parameters)? {
//!     query = query.filter(filter);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod filter;
pub mod json;

pub use trueup_core::{
    ATTRIBUTION_WINDOW_DAYS, Column, Dataset, DatasetError, Day, Error, Execution, Explanation, QueryError,
    ResultTable, Row, Texts, Value, Values, day, dictionary, money, query,
};
