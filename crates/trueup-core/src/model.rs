//! The model of the data: what the tables may contain, how it is stored, and the order of a customer's events.
//!
//! | file | holds |
//! |---|---|
//! | `held` | the tables that are held as a whole: what describes one, and the reader of its rows |
//! | `account` | the accounts |
//! | `currency` | currencies |
//! | `columns` | the columns of the tables, and the checks of a given schema |
//! | `fault` | faults of tables, rows and values |
//! | `instant` | points in time |
//! | `plain_column`, `amount` | readers of values from columns of any type |
//! | `normalize`, `spend` | normalizers of events and spend into the stored form |
//! | `targets` | the targets of metrics |
//! | `customers` | the reader of a list of customers |
//! | `stored_events`, `order` | the keys of stored events, operations on batches of them, and their order |

mod account;
mod amount;
mod columns;
mod currency;
mod customers;
mod fault;
mod held;
mod instant;
mod normalize;
mod order;
mod plain_column;
mod spend;
mod stored_events;
mod targets;
#[cfg(test)]
mod tests;
mod zone;

pub use account::{ACCOUNT_COLUMNS, Account, Accounts};
pub use amount::{amount_from_text, readable_amounts};
pub use columns::{
    ACCOUNT, CHANNEL, CUSTOMER_COLUMN, DATE, DATE_COMPUTED, DATE_GIVEN, DATE_SOURCE_COLUMN, DATE_TIME, EVENT_ID,
    OPPORTUNITY_ID, OWN_PREFIX, RECORD_COLUMN, SOURCE, SPEND_AMOUNTS, TOTAL, TYPE, extra_columns, is_dimension_type,
    is_ignored_event_column, is_leading_column, is_own_column, stored_event_schema,
};
pub use currency::{Currency, ParseCurrencyError};
pub use customers::read_customers;
pub use fault::{CellFault, Reason, SchemaFault, TableFault};
pub use held::{HeldColumn, HeldRow, HeldRows, HeldTable};
pub use instant::{ClockTime, ClockZone, GivenTime, ParseClockZoneError, UtcMicros, format_date_time};
pub use normalize::{EventNormalizer, Normalized};
pub use order::{EventOrder, QuarterSpan, SortedEvents, order_events, sort_events};
pub use plain_column::day_from_text;
pub use spend::{
    SPEND_COLUMNS, SpendNormalizer, SpendOrder, concat_spend, sort_spend, spend_quarters, stored_spend_schema,
};
pub use stored_events::{EventKeys, LatestRows, concat_events, keep_latest};
pub use targets::{TARGET_COLUMNS, TARGET_DIMENSIONS, TargetKey, Targets};
pub use zone::{UnknownZone, Zone, tzdata_release};

pub use crate::stage::Stage;

pub(crate) use columns::SPEND_MEASURES;
pub(crate) use instant::{MICROS_PER_DAY, MICROS_PER_SECOND};
pub(crate) use spend::SPEND_TEXTS;
