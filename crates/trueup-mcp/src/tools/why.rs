//! `why`: what the numbers of one row are made of, or who made them change.

use super::compare::{WITH, earlier, say_compared};
use crate::answer::{Answer, Grid};
use crate::cell::{Cell, quoted};
use crate::question::{DETAILS, INTERVAL, Question, SUBJECT};
use crate::schema::{Argument, Group, Kind};
use crate::toolbox::{Call, Tool};
use crate::{Fault, notes};
use serde_json::{Value as Json, json};
use trueup::definitions::Definitions;
use trueup::query::{LineOrder, WhyQuery};
use trueup::{ExplainedMeasure, ExplainedMetric, MetricChange, Value};
use trueup_report::ExplainedChange;

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
                  spend), each with the rule by which it counts. All lines add up to the number. With `with`, as in `compare`, the customers \
                  who made it change, and their rate and mix effects. Other arguments as in `query`.",
    groups: &[
        Group { arguments: &SUBJECT, is_described: false },
        Group { arguments: &ARGUMENTS, is_described: true },
        Group { arguments: &WITH, is_described: false },
        Group { arguments: &INTERVAL, is_described: false },
        Group { arguments: &DETAILS, is_described: false },
    ],
    run,
};

fn run(call: &Call<'_>) -> Result<Answer, Fault> {
    let compared = call.arguments.text("with").map(|_| earlier(call)).transpose()?;
    let question = Question::read(call, compared)?;
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
    let why = call.arguments.text("metric").into_iter().fold(why, WhyQuery::metric);
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
    if let Some(before) = answer.previous {
        say_compared(&mut draft, before);
    }
    let mut metrics = Vec::new();
    for metric in &answer.metrics {
        let cell = if metric.is_over_nothing {
            draft.note(format!("{} is null: the denominator of {} is 0", metric.name, metric.formula));
            Cell::null()
        } else {
            Cell::number(definitions, &metric.name, metric.value)
        };
        let (change, classes) = changed(ExplainedChange::of_metric(definitions, metric));
        // A metric that shows one sum alone is mostly named as the sum is.
        let formula = if metric.formula == metric.name { String::new() } else { format!(" = {}", metric.formula) };
        draft.head.push(format!("{}{formula} = {}{change}", metric.name, cell.text));
        draft.head.extend(classes);
        let mut data = json!({ "name": metric.name, "formula": metric.formula, "value": cell.value });
        add_metric_change(&mut data, metric, definitions);
        metrics.push(data);
    }
    let mut sums = Vec::new();
    for measure in &answer.measures {
        let name = if matches!(measure.sum, trueup::Value::Money(_)) { "total" } else { "eventCount" };
        let sum = Cell::number(definitions, name, measure.sum);
        let (change, classes) = changed(ExplainedChange::of_measure(measure));
        draft.head.push(format!("{} = {}: {} lines{change}", measure.measure.name(), sum.text, measure.lines));
        draft.head.extend(classes);
        let mut data = json!({ "measure": measure.measure.name(), "sum": sum.value, "lines": measure.lines });
        add_measure_change(&mut data, measure, definitions);
        sums.push(data);
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

/// Returns how a number changed, and a line for each class of customers; nothing if nothing is compared.
fn changed(change: Option<ExplainedChange>) -> (String, Vec<String>) {
    let Some(ExplainedChange { change, classes }) = change else { return (String::new(), Vec::new()) };
    (format!("; {change}"), classes.iter().map(|class| format!("  {class}")).collect())
}

/// Adds to the data of a metric how it changed. Classes of nobody are left out.
fn add_metric_change(data: &mut Json, metric: &ExplainedMetric, definitions: &Definitions) {
    let (Some(MetricChange { classes, .. }), Some(compared)) = (&metric.change, metric.compared()) else { return };
    let number = |value: Value<'_>| Cell::number(definitions, &metric.name, value).value;
    [data["previous"], data["change"]] = compared.map(number);
    let classes = classes.iter().filter(|class| class.customers > 0).map(|class| {
        json!({
            "class": class.class.name(), "customers": class.customers, "previous": number(class.previous),
            "value": number(class.current), "rateEffect": number(class.rate_effect), "mixEffect": number(class.mix_effect),
        })
    });
    data["classes"] = classes.collect();
}

/// Adds to the data of a measure how it changed. Classes of nobody are left out.
fn add_measure_change(data: &mut Json, measure: &ExplainedMeasure, definitions: &Definitions) {
    let Some(change) = &measure.change else { return };
    let number = |value: Value<'_>| Cell::number(definitions, "total", value).value;
    data["previous"] = number(change.previous);
    data["change"] = number(change.change);
    let classes = change.classes.iter().filter(|class| class.counted > 0).map(|class| {
        json!({ "class": class.class.name(), "counted": class.counted, "change": number(class.change), "lines": class.lines })
    });
    data["classes"] = classes.collect();
}
