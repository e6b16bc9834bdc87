//! Writes a report as Markdown, with the tables of GitHub. It has no charts, because the tables have the same numbers.

use crate::document::{Block, Cell, Document, Section, Span, Table, Text};
use std::fmt;
use std::io::{self, Write};

/// The characters that have a meaning in Markdown, or in the HTML that it may contain.
const SPECIAL: &str = r"\`*_{}[]<>#|~&!$@";

/// Writes a report.
pub(crate) fn write(document: &Document, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "# {}\n", MarkdownEscaped(&document.title))?;
    for (name, value) in &document.facts {
        writeln!(out, "- {name}: {}", MarkdownEscaped(value))?;
    }
    for Section { heading, blocks, .. } in &document.sections {
        writeln!(out, "\n## {heading}")?;
        blocks.iter().try_for_each(|block| write_block(block, out))?;
    }
    writeln!(out, "\n## Where the numbers come from\n")?;
    writeln!(
        out,
        "Each number is from one of these questions, except the figures of other accounts in the benchmarks, and is rounded for reading. `DATASET` is the dataset.\n"
    )?;
    for (number, command) in (1..).zip(&document.commands) {
        let fence = fence(command);
        writeln!(out, "{number}. {fence} {} {fence}", command.replace(['\n', '\r'], " "))?;
    }
    Ok(())
}

/// Returns backquotes that a text does not contain.
fn fence(text: &str) -> String {
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest + 1)
}

fn write_block(block: &Block, out: &mut impl Write) -> io::Result<()> {
    match block {
        Block::Heading(text) => writeln!(out, "\n### {}", Markdown(text)),
        Block::Paragraph(text) => writeln!(out, "\n{}", Markdown(text)),
        Block::Warning(text) => writeln!(out, "\n> **Note.** {}", Markdown(text)),
        Block::List(items) => {
            writeln!(out)?;
            items.iter().try_for_each(|item| writeln!(out, "- {}", Markdown(item)))
        }
        Block::Table(table) => write_table(table, out),
        Block::Chart(_) => Ok(()),
    }
}

fn write_table(table: &Table, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "\n{}:\n", MarkdownEscaped(&table.caption))?;
    for heading in &table.headings {
        write!(out, "| {} ", MarkdownEscaped(heading))?;
    }
    writeln!(out, "|")?;
    writeln!(out, "|---|{}", "---:|".repeat(table.headings.len().saturating_sub(1)))?;
    for row in &table.rows {
        let strong = if row.is_total { "**" } else { "" };
        write!(out, "| {strong}{}{strong} ", MarkdownEscaped(&row.name))?;
        for Cell { figure, change, is_open, .. } in &row.cells {
            write!(out, "| {}{}", MarkdownEscaped(&figure.shown), if *is_open { "\\*" } else { "" })?;
            if let Some(change) = change {
                write!(out, " ({})", MarkdownEscaped(&change.shown))?;
            }
            write!(out, " ")?;
        }
        writeln!(out, "|")?;
    }
    Ok(())
}

/// A text with numbers.
struct Markdown<'a>(&'a Text);

impl fmt::Display for Markdown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.iter().try_for_each(|span| match span {
            Span::Plain(text) => MarkdownEscaped(text).fmt(f),
            Span::Strong(text) => write!(f, "**{}**", MarkdownEscaped(text)),
            Span::Emphasis(text) => write!(f, "*{}*", MarkdownEscaped(text)),
            Span::Figure(figure) => MarkdownEscaped(&figure.shown).fmt(f),
        })
    }
}

/// A text of the data, with the characters escaped that have a meaning in Markdown.
struct MarkdownEscaped<'a>(&'a str);

impl fmt::Display for MarkdownEscaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = [' '; 2];
        for char in self.0.chars() {
            match char {
                '\n' | '\r' => f.write_str(" ")?,
                // A URL or the name of a host would become a link.
                '/' if before[1] == ':' => f.write_str("&#47;")?,
                '.' if before.map(|char| char.to_ascii_lowercase()) == ['w', 'w'] => f.write_str("\\.")?,
                char if SPECIAL.contains(char) => write!(f, "\\{char}")?,
                char => write!(f, "{char}")?,
            }
            before = [before[1], char];
        }
        Ok(())
    }
}
