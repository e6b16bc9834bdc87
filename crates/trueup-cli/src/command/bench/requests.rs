//! Measures one query at a time when another program requests it, so that the program can alternate with the engines
//! that it compares trueup with.

use super::measure::{BenchTarget, milliseconds};
use super::suite::BenchQuery;
use crate::exit::Failure;
use crate::output::OutputWriter;
use serde::Serialize;
use serde_json::value::RawValue;
use std::io::{BufRead, Write};
use trueup::json;
use trueup_core::Shown;

/// The response to `NAME hot` and `NAME cold`.
#[derive(Serialize)]
struct TimedResponse<'a> {
    name: &'a str,
    milliseconds: f64,
    rows: usize,
}

/// The response to `NAME answer`.
#[derive(Serialize)]
struct AnswerResponse<'a> {
    name: &'a str,
    rows: Box<RawValue>,
}

/// Answers each line of `lines` before it reads the next.
pub(super) fn answer(queries: &[BenchQuery], target: &BenchTarget, lines: impl BufRead) -> Result<(), Failure> {
    let mut out = OutputWriter::stdout();
    for line in lines.lines() {
        let line = line.map_err(Failure::fault)?;
        if !line.trim().is_empty() {
            let written = answer_line(&line, queries, target, &mut out);
            // Flushes, because the other program waits for the response.
            out.finish(written)?;
        }
    }
    Ok(())
}

fn answer_line(
    line: &str,
    queries: &[BenchQuery],
    target: &BenchTarget,
    out: &mut OutputWriter,
) -> Result<(), Failure> {
    let (name, what) = line.trim().rsplit_once(' ').unwrap_or((line, ""));
    let bench = find(queries, name)?;
    let query = bench.query()?;
    match what {
        "question" => write(bench, out),
        "hot" | "cold" => {
            let (time, answer) = if what == "hot" { target.hot(&query)? } else { target.cold(&query)? };
            write(&TimedResponse { name, milliseconds: milliseconds(time), rows: answer.len() }, out)
        }
        "answer" => {
            let mut rows = Vec::new();
            json::write_rows(&target.hot(&query)?.1, &mut rows).map_err(Failure::fault)?;
            let rows = RawValue::from_string(String::from_utf8(rows).map_err(Failure::fault)?);
            write(&AnswerResponse { name, rows: rows.map_err(Failure::fault)? }, out)
        }
        _ => Err(Failure::request(format!(
            "expected a line `NAME hot`, `NAME cold`, `NAME answer` or `NAME question`, but found `{}`",
            Shown(line)
        ))),
    }
}

/// Returns the query of a name.
pub(super) fn find<'a>(queries: &'a [BenchQuery], name: &str) -> Result<&'a BenchQuery, Failure> {
    queries.iter().find(|query| query.name == name).ok_or_else(|| {
        let names: Vec<&str> = queries.iter().map(|query| query.name).collect();
        Failure::request(format!("expected one of the queries {}, but found `{}`", names.join(", "), Shown(name)))
    })
}

fn write(value: &impl Serialize, out: &mut OutputWriter) -> Result<(), Failure> {
    serde_json::to_writer(&mut *out, value).map_err(Failure::fault)?;
    writeln!(out).map_err(Failure::fault)
}
