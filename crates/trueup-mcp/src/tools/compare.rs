//! `compare`: metrics of two ranges, and how they changed.

use crate::answer::{AllRows, Answer, Draft, Grid, MORE_ROWS};
use crate::cell::Cell;
use crate::question::{DETAILS, Days, Question, ROWS, SUBJECT, month_before};
use crate::schema::{Argument, Group, Kind};
use crate::toolbox::{Call, Tool};
use crate::{Fault, notes};
use serde_json::Value as Json;
use trueup::query::{ComparedColumn, ComparisonRange, DateRange};
use trueup::request::ComparedWith;
use trueup::{ResultTable, Value};
use trueup_report::Verdict;

/// The range that an answer is compared with.
pub(crate) static WITH: [Argument; 1] = [Argument::new(
    "with",
    Kind::Pattern("^(previous-(period|month|year)|[0-9]{4}-[0-9]{2}-[0-9]{2}\\.\\.[0-9]{4}-[0-9]{2}-[0-9]{2})$"),
    "`previous-period` (default), `previous-month`, `previous-year` or START..END.",
)];

pub(crate) static TOOL: Tool = Tool {
    name: "compare",
    title: "Compare",
    description: "As `query` without `interval`, compared with an earlier range. For each metric m: m, m.previous, m.change, m.ratio \
                  (m.change / m.previous), m.direction and, for ratios, m.rateEffect (because the row's own ratio changed) and m.mixEffect \
                  (because its weight changed), which add up to the change of the whole.",
    groups: &[
        Group { arguments: &SUBJECT, is_described: false },
        Group { arguments: &WITH, is_described: true },
        Group { arguments: &DETAILS, is_described: false },
        Group { arguments: &ROWS, is_described: false },
    ],
    run,
};

/// The range that a call compares with by default.
pub(crate) const DEFAULT: &str = "previous-period";

/// Returns the range that a call compares with.
pub(crate) fn earlier(call: &Call<'_>) -> Result<ComparedWith, Fault> {
    let text = call.arguments.text("with").unwrap_or(DEFAULT);
    if text == "previous-month" {
        let today = call.toolbox.today();
        let range = Days::read(call.arguments.value("days").unwrap_or(&Json::Null), today)?.range(today)?;
        let before = month_before(range).ok_or_else(|| {
            Fault::new("invalid-days", format!("no month is before {}", range.start), "name another range")
        })?;
        return Ok(ComparedWith::Earlier(ComparisonRange::Range(before)));
    }
    let earlier: ComparisonRange = text.parse().map_err(|error: trueup::query::ParseComparisonRangeError| {
        let fix = if text == "benchmarks" {
            "the tool `benchmarks` compares with other accounts"
        } else {
            "name an earlier range, such as `previous-month`, which is the same days of the month before"
        };
        Fault::new("invalid-argument", format!("`with`: {error}"), fix).example(r#"{"with": "previous-year"}"#)
    })?;
    Ok(ComparedWith::Earlier(earlier))
}

fn run(call: &Call<'_>) -> Result<Answer, Fault> {
    let compared = earlier(call)?;
    let question = Question::read(call, Some(compared))?;
    let table = question.run(call)?;
    let mut draft = question.draft(call, &question.metrics.join(", "))?;
    if let Some(before) = question.earlier()? {
        say_compared(&mut draft, before);
    }
    notes::numbers(&mut draft, &question, call, &table)?;
    let grid = grid(&question, table, notes::can_be_judged(&question, call)?);
    notes::kept_rows(&mut draft, &question, &grid);
    draft.grid = Some(grid);
    question.end(&mut draft);
    Ok(draft.finish())
}

/// Says what a range is compared with.
pub(crate) fn say_compared(draft: &mut Draft, before: DateRange) {
    draft.head.push(format!("compared with {before}"));
    let days = serde_json::json!({ "start": before.start.to_string(), "end": before.end.to_string() });
    draft.data.insert("comparedWith".to_owned(), days);
}

/// Returns the rows, with a column of directions after that of each change.
fn grid(question: &Question, table: ResultTable, is_judged: bool) -> Grid {
    let definitions = question.dataset.definitions();
    let changed = |name: &str| match ComparedColumn::split_with(name, definitions) {
        Some((metric, ComparedColumn::Change)) => Some(metric.to_owned()),
        _ => None,
    };
    let mut columns = Vec::new();
    for column in table.columns() {
        columns.push(column.name.clone());
        columns.extend(changed(&column.name).map(|metric| format!("{metric}.direction")));
    }
    let cells = |table: &ResultTable, row: usize| {
        let mut cells = Vec::new();
        for column in table.columns() {
            // A change to or from nothing is not a number.
            let metric = changed(&column.name);
            let has_both = metric.as_deref().is_none_or(|metric| has_both(table, metric, row));
            let cell = if has_both { Cell::of(definitions, column, row) } else { Cell::null() };
            cells.push(cell);
            if let Some(metric) = metric {
                let change = column.value(row).filter(|_| has_both);
                cells.push(change.map_or_else(Cell::null, |change| direction(question, &metric, change, is_judged)));
            }
        }
        cells
    };
    let rows = (0..table.len().min(question.limit)).map(|row| cells(&table, row)).collect();
    let is_additive =
        table.columns().iter().map(|column| match ComparedColumn::split_with(&column.name, definitions) {
            Some((metric, ComparedColumn::Current | ComparedColumn::Previous | ComparedColumn::Change)) => {
                notes::adds_up(question, metric)
            }
            _ => false,
        });
    Grid {
        columns,
        rows,
        totals: table.totals().map(|totals| cells(totals, 0)),
        all: AllRows::Table { is_additive: is_additive.collect(), table: Box::new(table) },
        more: MORE_ROWS,
    }
}

/// Returns whether a metric has a value in both ranges.
pub(crate) fn has_both(table: &ResultTable, metric: &str, row: usize) -> bool {
    let has = |part: ComparedColumn| {
        let column = table.column(&format!("{metric}{}", part.suffix()));
        column.is_none_or(|column| !column.is_over_nothing(row) && column.value(row) != Some(Value::Null))
    };
    has(ComparedColumn::Current) && has(ComparedColumn::Previous)
}

/// Returns the direction of a change and, if it is judged, whether it is for the better.
fn direction(question: &Question, metric: &str, change: Value<'_>, is_judged: bool) -> Cell {
    let number = change.as_f64().unwrap_or_default();
    if number == 0.0 {
        return Cell::word("same");
    }
    let side = if number > 0.0 { "up" } else { "down" };
    let metric = notes::metric(question, metric).filter(|_| is_judged);
    let verdict = metric.map(|metric| Verdict::new(metric.direction, change));
    Cell::word(match verdict {
        Some(Verdict::Better) => format!("{side}, better"),
        Some(Verdict::Worse) => format!("{side}, worse"),
        _ => side.to_owned(),
    })
}
