//! What may be asked: typed requests that know names, not columns.

mod events;
mod filter;
mod interval;

pub use events::{Accounts, EventsQuery};
pub use filter::{Comparison, Filter, Operand, Test};
pub use interval::{DateRange, Interval, UnknownInterval};
