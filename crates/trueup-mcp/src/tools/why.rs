//! `why`: what the numbers of one row are made of.

use crate::answer::{Answer, Grid};
use crate::cell::{Cell, quoted};
use crate::question::{DETAILS, INTERVAL, Question, SUBJECT};
use crate::schema::{Argument, Group, Kind};
use crate::toolbox::{Call, Tool};
use crate::{Fault, notes};
use serde_json::{Value as Json, json};
use trueup::query::{LineOrder, WhyQuery};

static ARGUMENTS: [Argument; 3] = [
    Argument::new("row", Kind::Row, "The row: the value of each dimension of `by` and, with an interval, `start`."),
    Argument::new("metric", Kind::Text, "The metric to explain; by default all of `metrics`."),
    Argument::new(
        "limit",
        Kind::Count { default: 20, most: 200 },
        "The most lines of each measure, the largest first.",
    ),
];

pub(crate) static TOOL: Tool = Tool {
    name: "why",
    title: "Why",
    description: "Why a number of a row is what it is: value, formula, the sums that it is made of, and their first lines (events, customers, \
                  spend), each with the rule by which it counts. All lines add up to the number. Other arguments as in `query`.",
    groups: &[
        Group { arguments: &SUBJECT, is_described: false },
        Group { arguments: &ARGUMENTS, is_described: true },
        Group { arguments: &INTERVAL, is_described: false },
        Group { arguments: &DETAILS, is_described: false },
    ],
    run,
};

fn run(call: &Call<'_>) -> Result<Answer, Fault> {
    let question = Question::read(call, None)?;
    let mut why = WhyQuery::new(question.prepared.events().clone()).order(LineOrder::Largest).limit(question.limit);
    if let Some(Json::Object(row)) = call.arguments.value("row") {
        for (name, value) in row {
            let Json::String(value) = value else {
                let message = format!("`row`: expected a text for `{name}`, but found `{value}`");
                return Err(Fault::new("invalid-argument", message, "give values as texts, as `query` shows them"));
            };
            why = why.value(name, value);
        }
    }
    if let Some(metric) = call.arguments.text("metric") {
        why = why.metric(metric);
    }
    let answer = question.dataset.why(&why, call.execution.clone())?;
    let definitions = question.dataset.definitions();
    let row = answer.row.iter().map(|(name, value)| format!("{name} {}", quoted(value)));
    let row = row.collect::<Vec<_>>().join(", ");
    let mut draft = question.draft(call, "why")?;
    notes::ungraded(&mut draft, &question);
    draft.head.push(format!(
        "row: {}{} to {}",
        if row.is_empty() { row } else { row + ", " },
        answer.range.start,
        answer.range.end
    ));
    let mut metrics = Vec::new();
    for metric in &answer.metrics {
        let cell = if metric.is_over_nothing {
            draft.note(format!("{} is null: the denominator of {} is 0", metric.name, metric.formula));
            Cell::null()
        } else {
            Cell::number(definitions, &metric.name, metric.value)
        };
        draft.head.push(format!("{} = {} = {}", metric.name, metric.formula, cell.text));
        metrics.push(json!({ "name": metric.name, "formula": metric.formula, "value": cell.value }));
    }
    let mut sums = Vec::new();
    for measure in &answer.measures {
        let name = if matches!(measure.sum, trueup::Value::Money(_)) { "total" } else { "eventCount" };
        let sum = Cell::number(definitions, name, measure.sum);
        draft.head.push(format!("{} = {}: {} lines", measure.measure.name(), sum.text, measure.lines));
        sums.push(json!({ "measure": measure.measure.name(), "sum": sum.value, "lines": measure.lines }));
    }
    draft.data.insert("metrics".to_owned(), metrics.into());
    draft.data.insert("measures".to_owned(), sums.into());
    let lines = answer.lines();
    let columns: Vec<&str> = lines.columns().iter().map(|column| column.name.as_str()).collect();
    let rows = (0..lines.len()).map(|row| crate::cell::row(definitions, lines, row)).collect();
    let all = usize::try_from(answer.total_lines()).unwrap_or(usize::MAX);
    draft.grid =
        Some(Grid::new(&columns, rows, all, "the sums are of all lines; narrow with `where` or name one `metric`"));
    Ok(draft.finish())
}
