//! The report of `trueup demo`: how the marketing of the demo performed.

use crate::exit::Failure;
use crate::output::OutputWriter;
use crate::output::number::readable;
use crate::output::table::{self, Heading, Screen};
use std::cmp::Reverse;
use std::io::{self, Write};
use trueup::query::{DateRange, EventsQuery, Interval};
use trueup::{Column, Dataset, Day, ResultTable, Texts, Value, Values, dictionary};

/// The metrics of the report.
const METRICS: [&str; 6] = ["leads", "bookRate", "spend", "avgCostPerLead", "closedRevenue", "roasClosed"];

/// Number of months in the last table.
const MONTHS: u32 = 12;

/// Writes the report: the metrics of `window`, the same by channel, and the last months.
pub(super) fn write(dataset: &Dataset, window: DateRange, out: &mut OutputWriter) -> Result<(), Failure> {
    let DateRange { start, end } = window;
    let whole = dataset.query(&EventsQuery::new(METRICS, start, end))?;
    let by_channel = ["attributionChannel"].into_iter().chain(METRICS);
    let channels = dataset.query(&EventsQuery::new(by_channel, start, end))?;
    let first = months_before(end, MONTHS);
    let months = by_month(&dataset.query(&EventsQuery::new(METRICS, first, end).interval(Interval::Month))?)?;
    write_report(window, &whole, &channels, &months, out).map_err(Failure::fault)
}

fn write_report(
    window: DateRange,
    whole: &ResultTable,
    channels: &ResultTable,
    months: &ResultTable,
    out: &mut OutputWriter,
) -> io::Result<()> {
    writeln!(out, "\nThe last {} days, {} to {}\n", window.days(), window.start, window.end)?;
    for (name, value) in whole.rows().flat_map(|row| row.values().collect::<Vec<_>>()) {
        let title = dictionary::field(name).map_or(name, |field| field.display_name);
        writeln!(out, "  {title:28}{:>16}", readable(name, value))?;
    }
    writeln!(out, "\nThe same by channel, most leads first\n")?;
    let screen = Screen::of(out);
    let mut order: Vec<usize> = (0..channels.len()).collect();
    order.sort_by_key(|row| Reverse(leads(channels, *row)));
    table::write_rows(channels, &order, Heading::DisplayName, screen, out.styled())?;
    writeln!(out, "\nMonth by month\n")?;
    let order: Vec<usize> = (0..months.len()).collect();
    table::write_rows(months, &order, Heading::DisplayName, screen, out.styled())
}

fn leads(channels: &ResultTable, row: usize) -> u64 {
    match channels.value(row, "leads") {
        Some(Value::Count(leads)) => leads,
        _ => 0,
    }
}

/// Returns the first day of a range of `months` calendar months that ends in the month of `end`.
fn months_before(end: Day, months: u32) -> Day {
    let mut day = end;
    for _ in 0..months {
        let month = day.month();
        while day > Day::MIN && day.month() == month {
            day = Day::from_number(day.number() - 1);
        }
    }
    if day == Day::MIN { day } else { day.next().unwrap_or(day) }
}

/// Replaces the start and end of each sub-range by its month.
fn by_month(answer: &ResultTable) -> Result<ResultTable, Failure> {
    let mut columns = Vec::new();
    for column in answer.columns().iter().filter(|column| column.name != "end") {
        columns.push(match &column.values {
            Values::Days(days) => {
                let months = days.iter().map(|day| day.month()).collect();
                let months = Texts::new((0..).take(days.len()).collect(), months);
                let months = months.ok_or_else(|| Failure::fault("a month of the report has no name"))?;
                Column { name: "month".to_owned(), values: Values::Texts(months) }
            }
            _ => column.clone(),
        });
    }
    Ok(ResultTable::from_columns(columns))
}
