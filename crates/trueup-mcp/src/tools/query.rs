//! `query`: metrics by dimensions.

use crate::answer::{AllRows, Answer, Grid, MORE_ROWS};
use crate::question::{DETAILS, INTERVAL, Question, ROWS, SUBJECT, TARGETS};
use crate::schema::Group;
use crate::toolbox::{Call, Tool};
use crate::{Fault, notes};
use trueup::ResultTable;

pub(crate) static TOOL: Tool = Tool {
    name: "query",
    title: "Query",
    description: "Metrics by dimensions, exactly. Rows, totals, what is left out, notes, and the same question as a command.",
    groups: &[
        Group { arguments: &SUBJECT, is_described: true },
        Group { arguments: &INTERVAL, is_described: true },
        Group { arguments: &DETAILS, is_described: true },
        Group { arguments: &ROWS, is_described: true },
        Group { arguments: &TARGETS, is_described: true },
    ],
    run,
};

fn run(call: &Call<'_>) -> Result<Answer, Fault> {
    let question = Question::read(call, None)?;
    let table = question.run(call)?;
    let mut draft = question.draft(call, &question.metrics.join(", "))?;
    notes::numbers(&mut draft, &question, call, &table)?;
    let grid = grid(&question, table);
    notes::kept_rows(&mut draft, &question, &grid);
    draft.grid = Some(grid);
    question.end(&mut draft);
    Ok(draft.finish())
}

/// Returns the rows of an answer.
pub(crate) fn grid(question: &Question, table: ResultTable) -> Grid {
    let definitions = question.dataset.definitions();
    let is_additive = table.columns().iter().map(|column| notes::adds_up(question, &column.name)).collect();
    Grid {
        columns: table.columns().iter().map(|column| column.name.clone()).collect(),
        rows: question.rows(&table),
        totals: table.totals().map(|totals| crate::cell::row(definitions, totals, 0)),
        all: AllRows::Table { table: Box::new(table), is_additive },
        more: MORE_ROWS,
    }
}
