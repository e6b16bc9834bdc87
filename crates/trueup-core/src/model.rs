//! What the tables may contain, in which form they are stored, and how a customer's events are ordered.

mod account;
mod amount;
mod calendar;
mod columns;
mod concat;
mod count;
mod dates;
mod events;
mod fault;
mod grouping;
mod instant;
mod keys;
mod latest;
mod normalize;
mod order;
mod period;
mod render;
mod spend;
mod stage;
mod stored;

pub use account::{ACCOUNT_COLUMNS, Account, AccountRows, Accounts};
pub use amount::amount_from_text;
pub use columns::{
    ACCOUNT, CUSTOMER_COLUMN, DATE, DATE_TIME, EVENT_ID, OPPORTUNITY_ID, TOTAL, TYPE, extra_columns,
    is_ignored_event_column, is_leading_column, stored_event_schema,
};
pub use concat::concat_events;
pub use events::EventKeys;
pub use fault::{CellFault, Reason, SchemaFault, TableFault};
pub use instant::format_date_time;
pub use latest::keep_latest;
pub use normalize::{EventNormalizer, Normalized};
pub use order::{EventOrder, SortedEvents, order_events, sort_events};
pub use period::QuarterSpan;
pub use spend::{SPEND_COLUMNS, SpendNormalizer, concat_spend, sort_spend, spend_quarters, stored_spend_schema};
pub use stage::Stage;

pub(crate) use spend::SPEND_TEXTS;
