//! Dates as parameters.

use super::super::error::ServiceError;
use super::super::parameters::Parameters;
use crate::query::DateRange;

/// The value of a parameter that may be given empty, which is as if it were not given.
pub(super) fn given<'a>(parameters: &'a Parameters, name: &str) -> Option<&'a str> {
    parameters.first(name).filter(|text| !text.is_empty())
}

/// The range from one text to another.
pub(super) fn range(start: &str, end: &str) -> Result<DateRange, ServiceError> {
    let day = |parameter, text: &str| {
        text.parse().map_err(|_| ServiceError::InvalidDate { parameter, text: text.to_owned() })
    };
    let (start, end) = (day("start", start)?, day("end", end)?);
    if end < start { Err(ServiceError::ReversedRange { start, end }) } else { Ok(DateRange { start, end }) }
}
