//! What is asked, and why it may be refused.

use std::fmt;

use chrono::NaiveDate;

/// One events query.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Dimensions and metrics in the order of the result's keys; duplicates are dropped.
    pub fields: Vec<String>,
    /// First day, inclusive.
    pub start: NaiveDate,
    /// Last day, inclusive.
    pub end: NaiveDate,
    /// `total`, `month`, `week` or `day`.
    pub interval: String,
    /// The accounts in scope; `None` means all.
    pub accounts: Option<Vec<String>>,
    /// `<field>=<value>` pairs of the query string, decoded; a repeated field means either value.
    pub filters: Vec<(String, String)>,
    /// Values of the parameter `filter`, JSON texts; given twice means either.
    pub filter: Vec<String>,
}

/// Why a request has no answer. The texts are for people; only the kind is to be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// `invalid-filter` (section 8).
    InvalidFilter(String),
    /// `missing-metric`: no field is a metric.
    MissingMetric,
    /// `invalid-fields`: a field named `start` or `end` (section 9).
    InvalidFields(String),
    /// `unknown-interval`: none of the four of section 3.
    UnknownInterval(String),
    /// `invalid-range`: `end` before `start`.
    InvalidRange,
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidFilter(why) => write!(formatter, "invalid filter: {why}"),
            Self::MissingMetric => formatter.write_str("expected at least one metric among the fields"),
            Self::InvalidFields(field) => write!(formatter, "expected no field named `{field}`"),
            Self::UnknownInterval(interval) => {
                write!(formatter, "expected total, month, week or day as interval, but found `{interval}`")
            }
            Self::InvalidRange => formatter.write_str("expected an end that is not before the start"),
        }
    }
}

impl std::error::Error for Refusal {}
