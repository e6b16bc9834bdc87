//! The protocol of an ingest: what became of each row of its inputs, with control totals.

use crate::exit::Failure;
use crate::output::{self, Format, ResultTableBuilder};
use crate::terminal::printable;
use std::collections::BTreeMap;
use std::io::{self, Write};
use trueup::money::format_micros;
use trueup::versions::{ControlTotals, ConvertedAmounts, InputProtocol, ProtocolReport, ReplacedRows, TableProtocol};
use trueup_report::number::grouped;

/// What became of some rows, and what decided it.
struct Outcome {
    outcome: &'static str,
    by: String,
    totals: ControlTotals,
}

/// A row of the table of a protocol.
struct Line<'a> {
    table: &'a str,
    input: &'a str,
    mapped_by: &'a str,
    outcome: Outcome,
}

/// Returns what became of the rows of an input, besides the rows that were taken.
fn not_taken(input: &InputProtocol) -> Vec<Outcome> {
    let of = |outcome, by: &str, totals: &ControlTotals| Outcome { outcome, by: by.to_owned(), totals: *totals };
    let left_out = input.left_out.iter().map(|(cause, totals)| of("left out", cause, totals));
    let rejected = input.rejected.iter().map(|(rule, totals)| of("rejected", rule, totals));
    let joined = Some(of("added by joins and spread", "", &input.joined)).filter(|joined| joined.totals.rows > 0);
    let converted = input.converted.iter().flat_map(|converted| {
        let ConvertedAmounts { from, to, before, after, rates } = converted;
        [of("converted", &format!("{from} in the file"), before), of("converted", &in_words(to, rates), after)]
    });
    left_out.chain(rejected).chain(joined).chain(converted).collect()
}

/// Returns the lines of the file of an input that are no rows.
fn no_rows(input: &InputProtocol) -> impl Iterator<Item = Outcome> {
    let counts = input.skipped.counts().into_iter().filter(|(_, count)| *count > 0);
    counts.map(|(what, count)| Outcome {
        outcome: "no rows",
        by: what.to_owned(),
        totals: ControlTotals::of_rows(count),
    })
}

/// Returns the currency that amounts became, and the rates: all of them if they are few, or else the first and the
/// last.
fn in_words(to: &str, rates: &BTreeMap<String, String>) -> String {
    const SHOWN_RATES: usize = 3;
    let of = |(day, rate): (&String, &String)| format!("{rate} of {day}");
    let (first, last) = (rates.first_key_value().map(of), rates.last_key_value().map(of));
    match (first, last) {
        (Some(first), Some(last)) if rates.len() > SHOWN_RATES => {
            format!("{to} at {} rates, from {first} to {last}", rates.len())
        }
        _ => format!("{to} at {}", rates.iter().map(of).collect::<Vec<_>>().join(", ")),
    }
}

/// Returns the stored rows of a table that were replaced or removed.
fn stored(table: &TableProtocol) -> Vec<Outcome> {
    // Events have no channel.
    let has_channels = table.replaced.iter().any(|row| !row.channel.is_empty());
    let replaced = |row: &ReplacedRows| {
        let channel = if has_channels { format!(", {}", named(&row.channel, "channel")) } else { String::new() };
        format!("{}{channel}", named(&row.source, "source"))
    };
    let replaced =
        table.replaced.iter().map(|row| Outcome { outcome: "replaced", by: replaced(row), totals: row.totals });
    let reassigned = ControlTotals::of_rows(table.reassigned);
    let others = [("replaced", table.replaced_others), ("reassigned", reassigned), ("removed", table.removed)];
    let others = others.into_iter().filter(|(_, totals)| totals.rows > 0);
    replaced.chain(others.map(|(outcome, totals)| Outcome { outcome, by: String::new(), totals })).collect()
}

/// Returns the words for a source or a channel, which may be absent.
pub(super) fn named(name: &str, what: &str) -> String {
    if name.is_empty() { format!("no {what}") } else { format!("{what} `{}`", printable(name)) }
}

/// Returns rows, what became of them, and their amounts in words.
fn words(totals: &ControlTotals, outcome: &str) -> String {
    let mut words = format!("{} {outcome}", grouped(&totals.rows.to_string()));
    for (column, amount) in totals.amounts().into_iter().filter(|(_, amount)| *amount != 0) {
        words.push_str(&format!(", {column} {}", grouped(&format_micros(amount))));
    }
    if totals.without_amount > 0 {
        words.push_str(&format!(
            " ({} without an amount that can be read)",
            grouped(&totals.without_amount.to_string())
        ));
    }
    words
}

/// The most inputs, and the most lines of an input, that an ingest shows of a table.
const SHOWN: usize = 20;

/// Writes of each input of which not every row was taken what became of its rows, and which stored rows were replaced
/// if sources or channels tell them apart.
pub(super) fn write_table(table: &TableProtocol, out: &mut impl Write) -> io::Result<()> {
    let inputs = table.inputs.iter().map(|input| (input, not_taken(input)));
    let incomplete: Vec<_> = inputs.filter(|(_, outcomes)| !outcomes.is_empty()).collect();
    for (input, outcomes) in incomplete.iter().take(SHOWN) {
        let mapped = input.mapped_by.as_ref().map_or_else(String::new, |table| format!(", by {}", printable(table)));
        writeln!(out, "         {}{mapped}", printable(&input.input))?;
        writeln!(out, "           {}", words(&input.read(), "read"))?;
        writeln!(out, "           {}", words(&input.taken, "taken"))?;
        write_outcomes(outcomes, "           ", out)?;
    }
    more(incomplete.len(), "inputs", "         ", out)?;
    let is_told_apart = table.replaced.iter().any(|row| !row.source.is_empty() || !row.channel.is_empty());
    let stored: Vec<Outcome> = stored(table).into_iter().filter(|it| is_told_apart && !it.by.is_empty()).collect();
    write_outcomes(&stored, "         ", out)
}

fn write_outcomes(outcomes: &[Outcome], indent: &str, out: &mut impl Write) -> io::Result<()> {
    for Outcome { outcome, by, totals } in outcomes.iter().take(SHOWN) {
        let by = if by.is_empty() { String::new() } else { format!(": {}", printable(by)) };
        writeln!(out, "{indent}{}{by}", words(totals, outcome))?;
    }
    more(outcomes.len(), "lines", indent, out)
}

fn more(count: usize, what: &str, indent: &str, out: &mut impl Write) -> io::Result<()> {
    match count.saturating_sub(SHOWN) {
        0 => Ok(()),
        more => {
            writeln!(out, "{indent}and {more} other {what}; `trueup versions DATASET --protocol VERSION` shows all")
        }
    }
}

/// Writes a protocol as one JSON object.
pub(super) fn write_json(version: u64, protocol: &BTreeMap<String, TableProtocol>) -> Result<(), Failure> {
    let report = ProtocolReport { version, protocol };
    output::print(|out| {
        serde_json::to_writer(&mut *out, &report)?;
        writeln!(out)
    })
}

/// Writes a protocol with all its lines: as one JSON object, or as a table with a row for each outcome.
pub(super) fn write(version: u64, protocol: &BTreeMap<String, TableProtocol>, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return write_json(version, protocol);
    }
    let mut lines: Vec<Line<'_>> = Vec::new();
    for (name, table) in protocol {
        for input in &table.inputs {
            let mapped_by = input.mapped_by.as_deref().unwrap_or_default();
            let all = [("read", input.read()), ("taken", input.taken)];
            let all = all.map(|(outcome, totals)| Outcome { outcome, by: String::new(), totals });
            let line = |outcome| Line { table: name, input: &input.input, mapped_by, outcome };
            lines.extend(all.into_iter().chain(not_taken(input)).chain(no_rows(input)).map(line));
        }
        let line = |outcome| Line { table: name, input: "", mapped_by: "", outcome };
        lines.extend(stored(table).into_iter().map(line));
    }
    let texts = |text: for<'l> fn(&'l Line<'_>) -> &'l str| lines.iter().map(move |line| text(line).to_owned());
    let amounts = |place: usize| lines.iter().map(move |line| line.outcome.totals.amounts()[place].1);
    let [total, ad_spend, fee] = ControlTotals::default().amounts().map(|(column, _)| column);
    ResultTableBuilder::default()
        .texts("table", texts(|line| line.table))
        .texts("input", texts(|line| line.input))
        .texts("mappedBy", texts(|line| line.mapped_by))
        .texts("outcome", texts(|line| line.outcome.outcome))
        .texts("by", texts(|line| &line.outcome.by))
        .counts("rows", lines.iter().map(|line| line.outcome.totals.rows))
        .money(total, amounts(0))
        .money(ad_spend, amounts(1))
        .money(fee, amounts(2))
        .counts("withoutAmount", lines.iter().map(|line| line.outcome.totals.without_amount))
        .write(format)
}
