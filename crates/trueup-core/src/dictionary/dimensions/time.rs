//! When the event took place.

use super::super::Computed;
use super::super::Field;
use super::super::FieldGroup::Time;
use super::super::SpendColumn;
use super::super::entry::{computed, stored};

pub(super) static FIELDS: &[Field] = &[
    computed(Time, "date", "Date", Computed::Date).day().in_spend(SpendColumn::Date).means(
        "The calendar day of the event in the account's time zone, or the day of the spend, as YYYY-MM-DD. Never empty.",
    ),
    computed(Time, "week", "Week", Computed::Week)
        .day()
        .in_spend(SpendColumn::Week)
        .means("The Monday of the week that the date falls in, as YYYY-MM-DD. Never empty."),
    computed(Time, "month", "Month", Computed::Month)
        .in_spend(SpendColumn::Month)
        .means("The calendar month that the date falls in, as YYYY-MM. Never empty."),
    computed(Time, "dateTime", "Date and Time", Computed::DateTime).timestamp().means(
        "The point in time of the event, RFC 3339 in UTC, to the microsecond. Empty if only the day is known.",
    ),
    stored(Time, "createdDateTime", "Created Date and Time").timestamp().means(
        "The point in time at which the source system recorded the event, RFC 3339 in UTC. Empty if it does not say.",
    ),
];
