//! One measurement at a time, when another program asks for it: so that it can take turns with whatever it compares us with.

use super::suite::BenchQuery;
use super::target::BenchTarget;
use super::timings::milliseconds;
use crate::exit::Failure;
use crate::output::OutputWriter;
use serde::Serialize;
use serde_json::value::RawValue;
use std::io::{BufRead, Write};
use trueup::json;
use trueup_core::Shown;

/// What is written for a line that asks for a time.
#[derive(Serialize)]
struct TimeResponse<'a> {
    name: &'a str,
    milliseconds: f64,
    rows: usize,
}

/// What is written for a line that asks for an answer.
#[derive(Serialize)]
struct AnswerResponse<'a> {
    name: &'a str,
    rows: Box<RawValue>,
}

/// Answers each line of `lines` before the next is read.
pub(super) fn answer(cases: &[BenchQuery], subject: &BenchTarget, lines: impl BufRead) -> Result<(), Failure> {
    let mut sink = OutputWriter::stdout();
    for line in lines.lines() {
        let line = line.map_err(Failure::fault)?;
        if !line.trim().is_empty() {
            let written = carry_out(&line, cases, subject, &mut sink);
            // The program that asked waits for the line.
            sink.finish(written)?;
        }
    }
    Ok(())
}

fn carry_out(line: &str, cases: &[BenchQuery], subject: &BenchTarget, sink: &mut OutputWriter) -> Result<(), Failure> {
    let (name, what) = line.trim().rsplit_once(' ').unwrap_or((line, ""));
    let case = named(cases, name)?;
    let query = case.query()?;
    match what {
        "question" => write(case, sink),
        "hot" | "cold" => {
            let (time, answer) = if what == "hot" { subject.hot(&query)? } else { subject.cold(&query)? };
            write(&TimeResponse { name, milliseconds: milliseconds(time), rows: answer.len() }, sink)
        }
        "answer" => {
            let mut rows = Vec::new();
            json::write_rows(&subject.hot(&query)?.1, &mut rows).map_err(Failure::fault)?;
            let rows = RawValue::from_string(String::from_utf8(rows).map_err(Failure::fault)?);
            write(&AnswerResponse { name, rows: rows.map_err(Failure::fault)? }, sink)
        }
        _ => Err(Failure::request(format!(
            "expected a line `NAME hot`, `NAME cold`, `NAME answer` or `NAME question`, but found `{}`",
            Shown(line)
        ))),
    }
}

/// The case of that name.
pub(super) fn named<'a>(cases: &'a [BenchQuery], name: &str) -> Result<&'a BenchQuery, Failure> {
    cases.iter().find(|case| case.name == name).ok_or_else(|| {
        let names: Vec<&str> = cases.iter().map(|case| case.name).collect();
        Failure::request(format!("expected one of the queries {}, but found `{}`", names.join(", "), Shown(name)))
    })
}

fn write(value: &impl Serialize, sink: &mut OutputWriter) -> Result<(), Failure> {
    serde_json::to_writer(&mut *sink, value).map_err(Failure::fault)?;
    writeln!(sink).map_err(Failure::fault)
}
