//! `export`: all rows of a question in a file, inside of one folder.

use super::query::grid;
use crate::answer::Answer;
use crate::question::{DETAILS, INTERVAL, Question, ROWS, SUBJECT, TARGETS};
use crate::schema::{Argument, Group, Kind};
use crate::toolbox::{Call, Tool};
use crate::{Fault, notes};
use std::io::{BufWriter, Write};
use std::path::{Component, Path, PathBuf};
use trueup::{ResultTable, Shown, csv, json};
use trueup_ingest::{OutputFile, Outputs};

/// The rows that an answer shows of a file.
const FIRST_ROWS: usize = 5;

static ARGUMENTS: [Argument; 2] = [
    Argument::new("format", Kind::OneOf(&["csv", "json", "ndjson", "parquet"]), "The format of the file.").required(),
    Argument::new("file", Kind::Text, "The name of a new file, such as `leads.csv`, without a folder.").required(),
];

pub(crate) static TOOL: Tool = Tool {
    name: "export",
    title: "Export",
    description: "Writes all rows of a question to a new file in the folder of the server, never over another file. Other arguments as in \
                  `query`.",
    groups: &[
        Group { arguments: &ARGUMENTS, is_described: true },
        Group { arguments: &SUBJECT, is_described: false },
        Group { arguments: &INTERVAL, is_described: false },
        Group { arguments: &DETAILS, is_described: false },
        Group { arguments: &ROWS, is_described: false },
        Group { arguments: &TARGETS, is_described: false },
    ],
    run,
};

fn run(call: &Call<'_>) -> Result<Answer, Fault> {
    let Some(folder) = &call.toolbox.settings.export_dir else {
        return Err(Fault::new(
            "no-exports",
            "this server writes no files",
            "ask with `query`, or tell the person who runs the server to start it with `--export-dir`",
        ));
    };
    let (format, name) =
        (call.arguments.text("format").unwrap_or_default(), call.arguments.text("file").unwrap_or_default());
    let path = inside(folder, name, format)?;
    let question = Question::read(call, None)?;
    let outputs = call.toolbox.settings.folder.iter().fold(Outputs::new(false), Outputs::dataset);
    let refused = |error: &dyn std::fmt::Display| {
        tracing::info!("{error}");
        Fault::new(
            "not-written",
            format!("`{}` cannot be written", Shown(name)),
            "choose another name that no file has",
        )
    };
    outputs.check(&path).map_err(|error| refused(&error))?;
    let table = question.run(call)?;
    let mut draft = question.draft(call, &question.metrics.join(", "))?;
    notes::numbers(&mut draft, &question, call, &table)?;
    let file = outputs.create(&path).map_err(|error| refused(&error))?;
    let shown = if call.arguments.value("limit").is_some() { question.limit } else { usize::MAX };
    if shown < table.len() {
        draft.note("`limit` is for answers: the file has all rows");
    }
    let with_totals = table.clone().with_totals_row();
    let file = write(&with_totals, format, file).map_err(|error| refused(&error))?;
    file.keep().map_err(|error| refused(&error))?;
    let (rows, columns) = (with_totals.len(), with_totals.columns().len());
    draft.head.push(format!("wrote {} with {rows} rows and {columns} columns; the first rows:", path.display()));
    draft.data.insert("path".to_owned(), path.display().to_string().into());
    draft.data.insert("fileRows".to_owned(), rows.into());
    draft.data.insert("fileColumns".to_owned(), columns.into());
    let mut grid = grid(&question, table);
    grid.rows.truncate(FIRST_ROWS);
    grid.more = "the file has them";
    draft.grid = Some(grid);
    question.end(&mut draft);
    Ok(draft.finish())
}

/// Returns the path of a new file in a folder. The name may have nothing that leads out of it.
fn inside(folder: &Path, name: &str, format: &str) -> Result<PathBuf, Fault> {
    let refused = || {
        let message =
            format!("`file`: expected the name of a file that ends in `.{format}`, but found `{}`", Shown(name));
        Fault::new("invalid-file", message, "give a name without a folder").example(r#"{"file": "leads.csv"}"#)
    };
    let mut parts = Path::new(name).components();
    let is_plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name)
        && name.chars().all(|char| char.is_alphanumeric() || " ._-()".contains(char))
        && !name.starts_with('.')
        && name.strip_suffix(format).is_some_and(|stem| stem.len() > 1 && stem.ends_with('.'));
    let folder = folder.canonicalize().map_err(|_| {
        Fault::new("no-exports", "the folder for exports does not exist", "tell the person who runs the server")
    })?;
    if is_plain { Ok(folder.join(name)) } else { Err(refused()) }
}

/// Writes a table, and returns the file.
fn write(table: &ResultTable, format: &str, file: OutputFile) -> std::io::Result<OutputFile> {
    let mut out = BufWriter::new(file);
    match format {
        "csv" => csv::write_rows(table, &mut out)?,
        "json" => json::write_rows(table, &mut out)?,
        "ndjson" => json::write_ndjson(table, &mut out)?,
        _ => table.write_parquet(&mut out, |_| Ok::<_, std::io::Error>(()))?,
    }
    out.flush()?;
    out.into_inner().map_err(std::io::IntoInnerError::into_error)
}
