//! Section 3: the sub-ranges.

use chrono::{Datelike, NaiveDate};

use super::render::monday;
use super::request::Refusal;

/// "`interval` cuts the range into sub-ranges: `total` one, `month` calendar months, `week` weeks from Monday to Sunday,
/// `day` days; the first and last are clipped to the range." Found by walking over every day of the range.
pub(super) fn sub_ranges(
    start: NaiveDate,
    end: NaiveDate,
    interval: &str,
) -> Result<Vec<(NaiveDate, NaiveDate)>, Refusal> {
    let same: fn(NaiveDate, NaiveDate) -> bool = match interval {
        "total" => |_, _| true,
        "month" => |a, b| (a.year(), a.month()) == (b.year(), b.month()),
        "week" => |a, b| monday(a) == monday(b),
        "day" => |a, b| a == b,
        unknown => return Err(Refusal::UnknownInterval(unknown.to_owned())),
    };
    if end < start {
        return Err(Refusal::InvalidRange);
    }
    let mut sub_ranges: Vec<(NaiveDate, NaiveDate)> = Vec::new();
    for day in start.iter_days().take_while(|day| *day <= end) {
        match sub_ranges.last_mut() {
            Some((first, last)) if same(*first, day) => *last = day,
            _ => sub_ranges.push((day, day)),
        }
    }
    Ok(sub_ranges)
}
