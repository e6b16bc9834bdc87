//! `what_changed`: how one metric changed, and what made it change, in sentences.

use super::compare::{DEFAULT, WITH, earlier, has_both};
use crate::answer::{Answer, Grid};
use crate::cell::{Cell, data_text, quoted};
use crate::question::{Days, Question, dataset};
use crate::schema::{Argument, Group, Kind};
use crate::toolbox::{Call, Tool};
use crate::{Fault, notes};
use serde_json::{Value as Json, json};
use std::cmp::Ordering;
use trueup::query::ComparedColumn;
use trueup::request::QueryRequest;
use trueup::{ResultTable, Value};
use trueup_report::{Across, Change};

/// The dimensions that explain a change, unless the call names others.
const ACROSS: [&str; 2] = ["attributionChannel", "campaign"];
/// The most dimensions of a call.
const MAX_ACROSS: usize = 5;

static ARGUMENTS: [Argument; 5] = [
    Argument::new("metric", Kind::Text, "One metric.").required(),
    Argument::new("days", Kind::Days, "As in `query`.").required(),
    Argument::new(
        "across",
        Kind::Names,
        "Dimensions whose values explain the change; by default `attributionChannel` and `campaign`.",
    ),
    Argument::new("top", Kind::Count { default: 3, most: 10 }, "The values to name per dimension."),
    Argument::of_parameter("accounts", "account"),
];

pub(crate) static TOOL: Tool = Tool {
    name: "what_changed",
    title: "What changed",
    description: "How a metric changed against an earlier range, and which values of dimensions made it change, in sentences with numbers. Their \
                  contributions add up to the change; each has the arguments of `why`.",
    groups: &[Group { arguments: &ARGUMENTS, is_described: true }, Group { arguments: &WITH, is_described: false }],
    run,
};

fn run(call: &Call<'_>) -> Result<Answer, Fault> {
    let metric = call.arguments.text("metric").unwrap_or_default().to_owned();
    let days = call.arguments.value("days").cloned().unwrap_or_default();
    let across = call.arguments.texts("across").filter(|across| !across.is_empty());
    let across = across.unwrap_or_else(|| ACROSS.map(str::to_owned).to_vec());
    if across.len() > MAX_ACROSS {
        let message = format!("`across` has {} dimensions, but at most {MAX_ACROSS} are answered", across.len());
        return Err(Fault::new("invalid-argument", message, "name fewer dimensions"));
    }
    let (top, compared) = (call.arguments.count("top"), earlier(call)?);
    let mut draft = None;
    let columns = ["across", "value", "before", "now", "change", "rateEffect", "mixEffect"];
    let (mut rows, mut whys) = (Vec::new(), Vec::new());
    let mut shows_null = false;
    for dimension in across {
        let rest = QueryRequest { compare: Some(compared), totals: true, ..QueryRequest::default() };
        let question = Question::new(
            call,
            dataset(call)?,
            vec![metric.clone()],
            vec![dimension.clone()],
            Days::read(&days, call.toolbox.today())?,
            rest,
        )?;
        let table = question.run(call)?;
        let largest = largest(&question, &table, &metric, top);
        for row in &largest {
            let cells = cells(&question, &table, &metric, *row);
            shows_null |= cells.iter().take(2).any(|cell| cell.value.is_null());
            let value = match table.value(*row, &dimension) {
                Some(Value::Text(text)) => text,
                _ => "",
            };
            rows.push([vec![Cell::word(dimension.clone()), Cell::text(value)], cells].concat());
            let mut why = json!({
                "metrics": [metric], "by": [dimension], "days": days, "with": call.arguments.text("with").unwrap_or(DEFAULT),
                "row": { dimension.clone(): data_text(value) },
            });
            if let Some(accounts) = call.arguments.texts("accounts") {
                why["accounts"] = accounts.into();
            }
            whys.push(why);
        }
        let draft = match &mut draft {
            Some(draft) => draft,
            none => {
                let mut begun = question.draft(call, &format!("what changed in {metric}"))?;
                notes::numbers(&mut begun, &question, call, &table)?;
                begun.notes.retain(|note| !note.starts_with("do not add up"));
                if let Some(empty) = notes::empty_range(&question, call)? {
                    // Its zeros are no numbers that anything changed from or to.
                    begun.head.push(format!("{metric}: no change to explain, because {empty} has no data"));
                    begun.data.insert("why".to_owned(), json!([]));
                    begun.grid = Some(Grid::new(&columns, Vec::new(), 0, ""));
                    return Ok(begun.finish());
                }
                let range = question.range();
                let before = question.earlier()?.unwrap_or(range);
                let (range, before) = (range.to_string(), before.to_string());
                let change = Change::new(table.clone());
                let sentence = if notes::can_be_judged(&question, call)? {
                    change.sentence(&metric, &before, &range)
                } else {
                    change.sentence_without_verdict(&metric, &before, &range)
                };
                let now = whole(&question, &table, &metric);
                shows_null |= now == "null";
                begun.head.push(format!("{metric} is {now}. {sentence}"));
                none.insert(begun)
            }
        };
        let across = Across { dimension: &dimension, named: top, label: quoted };
        draft.head.push(
            Change::new(table)
                .contributions(&metric, across)
                .unwrap_or_else(|| format!("By `{dimension}`: no value of it explains the change.")),
        );
    }
    let mut draft = draft.unwrap_or_default();
    draft.notes.retain(|note| shows_null || !note.starts_with(notes::OF_NULL));
    let count = rows.len();
    if let Some(why) = whys.first() {
        draft.tail.push(format!("why of the first row: {why}"));
    }
    draft.data.insert("why".to_owned(), Json::Array(whys));
    draft.grid = Some(Grid::new(&columns, rows, count, "name fewer dimensions in `across`"));
    Ok(draft.finish())
}

/// Returns the value of the whole, as text.
fn whole(question: &Question, table: &ResultTable, metric: &str) -> String {
    let column = table.totals().and_then(|totals| totals.column(metric));
    column.map_or_else(|| "null".to_owned(), |column| Cell::of(question.dataset.definitions(), column, 0).text)
}

/// Returns what a row has in the columns of a metric.
fn cells(question: &Question, table: &ResultTable, metric: &str, row: usize) -> Vec<Cell> {
    let parts = [
        ComparedColumn::Previous,
        ComparedColumn::Current,
        ComparedColumn::Change,
        ComparedColumn::RateEffect,
        ComparedColumn::MixEffect,
    ];
    let cell = |part: ComparedColumn| {
        let column = table.column(&format!("{metric}{}", part.suffix()));
        let has_value = part != ComparedColumn::Change || has_both(table, metric, row);
        column
            .filter(|_| has_value)
            .map_or_else(Cell::null, |column| Cell::of(question.dataset.definitions(), column, row))
    };
    parts.into_iter().map(cell).collect()
}

/// Returns the rows that contribute most to a change, in the order of what they contribute.
fn largest(question: &Question, table: &ResultTable, metric: &str, top: usize) -> Vec<usize> {
    let number = |row: usize, part: ComparedColumn| {
        table.value(row, &format!("{metric}{}", part.suffix())).and_then(Value::as_f64)
    };
    let is_ratio = table.column(&format!("{metric}{}", ComparedColumn::RateEffect.suffix())).is_some();
    let contribution = |row: usize| {
        if is_ratio {
            let [rate, mix] = [ComparedColumn::RateEffect, ComparedColumn::MixEffect].map(|part| number(row, part));
            rate.unwrap_or_default() + mix.unwrap_or_default()
        } else {
            number(row, ComparedColumn::Change).unwrap_or_default()
        }
    };
    let mut rows: Vec<(usize, f64)> = (0..table.len()).map(|row| (row, contribution(row).abs())).collect();
    rows.retain(|(_, contribution)| *contribution > 0.0);
    rows.sort_by(|(_, a), (_, b)| b.partial_cmp(a).unwrap_or(Ordering::Equal));
    rows.into_iter().map(|(row, _)| row).take(top.min(question.limit)).collect()
}
