//! The dimensions, by what they belong to.

mod account;
mod attribution;
mod conversion;
mod customer;
mod funnel;
mod grading;
mod time;

use super::Field;

/// The dimensions, table by table.
pub(super) static TABLES: [&[Field]; 7] = [
    account::FIELDS,
    time::FIELDS,
    funnel::FIELDS,
    attribution::FIELDS,
    conversion::FIELDS,
    customer::FIELDS,
    grading::FIELDS,
];
