//! Turns the columns of row groups into one partial result per thread, customer by customer.
//!
//! A batch of segments goes through four steps, each of which takes the results of the previous one. A filter on
//! dimensions that are the same on all events of a customer drops customers before step 1.
//!
//! ```text
//! columns of a row group
//!    | 1 segment splits each customer's events at sub-range borders, and classifies the segments
//!    v
//! segments
//!    | 2 filter  drops segments, or expands them to rows and drops rows
//!    v
//! segments or rows
//!    | 3 group   finds the slot of the group of each unit
//!    v
//! slots
//!    | 4 count   adds counts, money, agents and durations to the state of the groups
//!    v
//! partial result, which is merged with those of other threads
//! ```
//!
//! Terms of this folder:
//!
//! | term | meaning |
//! |---|---|
//! | unit | what is filtered or grouped: a row, a segment or a customer |
//! | class | the segments with the same event flags and the same outcome |
//! | outcome | the state that a customer reaches in a segment, and what its state row counts for |
//! | fact | what one row counts for, as one bit per measure |
//! | increment | what one row or segment adds to the counters of its group |
//! | kind | the number by which an increment is looked up: event flags, facts, a class, or the code of a text |
//! | quad | four counters that are added together |
//! | shared code | the number of a text in a partial result; a dictionary code is its number in one row group |
//! | dense key | a small number for a combination of sub-range and codes, which is an index into an array |
//!
//! | file, in the order of the calls | what it does |
//! |---|---|
//! | `types`, `facts`, `context` | what all steps share: slots and counters, what a row counts for, the query |
//! | `memo` | what the splits of a query share in one process |
//! | `event_aggregator` | leads each batch of a row group through the steps |
//! | `segment` with `lead_histories`, `splitter`, `outcome`, `segment_cache` | step 1 |
//! | `key_encoder` with `local_time` | encodes the values of a dimension, for filters and for groups |
//! | `filter` | step 2 |
//! | `group` with `local_group_cache`, `interner`, `group_table` | step 3 |
//! | `count` with `histogram` | step 4: hands batches to the accumulators |
//! | `accumulators` | the state of groups, one file per kind of state |
//! | `spend` | steps 2 and 3 for the spend table, in one file |
//! | `partial_result` with `shape` | collects and merges |
//! | `group_columns` | turns the groups of a partial result into Arrow columns, and back |
//! | `event_rows` | takes steps 1 and 2 alone, and keeps the rows: events with their computed fields |
//! | `explain` | takes steps 1 and 2 for one group, and keeps what each row adds to its measures |
//!
//! Some code exists for speed alone: without it, a slower path gives the same result. docs/design.md lists these fast
//! paths with what each gains.

mod accumulators;
mod context;
mod count;
mod event_aggregator;
mod event_rows;
mod explain;
mod facts;
mod filter;
mod group;
mod group_columns;
mod key_encoder;
mod local_time;
mod memo;
mod partial_result;
mod segment;
mod shape;
mod spend;
mod types;

pub(crate) use accumulators::{
    AddValues, CountedEvent, DayCount, GroupState, PairDurations, Spend, agent_rule, is_sum, rule,
};
pub(crate) use context::QueryContext;
pub(crate) use event_aggregator::EventAggregator;
pub(crate) use event_rows::{EncodedDimension, EventRows};
pub(crate) use explain::{Contribution, Contributions};
pub(crate) use group_columns::GroupColumns;
pub(crate) use memo::AggregationMemo;
pub(crate) use partial_result::PartialResult;
pub(crate) use shape::ResultShape;
pub(crate) use spend::{aggregate_spend, spend_rows};
pub(crate) use types::GroupSlot;
