//! Writes a report as one HTML file, which needs no other file, no script and no network.

use crate::chart;
use crate::document::{Block, Cell, Document, Section, Span, Table, TableRow, Text};
use crate::escaped::HtmlEscaped;
use crate::figure::{Figure, Verdict};
use std::fmt;
use std::io::{self, Write};

/// The style sheet, for light and dark screens, narrow ones, and paper.
const STYLE: &str = include_str!("report.css");

/// Forbids everything but the style sheet of the file itself, in case a text ever passed for markup.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Writes a report.
pub(crate) fn write(document: &Document, out: &mut impl Write) -> io::Result<()> {
    let title = HtmlEscaped(&document.title);
    writeln!(out, "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">")?;
    let images = if document.logo.is_some() { "; img-src data:" } else { "" };
    writeln!(out, "<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}{images}\">")?;
    writeln!(out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">")?;
    writeln!(out, "<meta name=\"color-scheme\" content=\"light dark\">")?;
    writeln!(out, "<title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>")?;
    if let Some(logo) = &document.logo {
        writeln!(out, "<img class=\"logo\" src=\"{}\" alt=\"\">", HtmlEscaped(logo))?;
    }
    writeln!(out, "<h1>{title}</h1>\n<dl>")?;
    for (name, value) in &document.facts {
        writeln!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", HtmlEscaped(value))?;
    }
    writeln!(out, "</dl>\n<nav aria-label=\"Sections\">")?;
    for Section { id, heading, .. } in &document.sections {
        writeln!(out, "<a href=\"#{id}\">{heading}</a>")?;
    }
    writeln!(out, "</nav>\n</header>\n<main>")?;
    for section in &document.sections {
        write_section(section, out)?;
    }
    writeln!(out, "<section aria-labelledby=\"questions\">\n<h2 id=\"questions\">Where the numbers come from</h2>")?;
    writeln!(
        out,
        "<p>Each number is from one of these questions, except the figures of other accounts in the benchmarks, and is rounded for reading. <code>DATASET</code> is the dataset.</p>\n<ol>"
    )?;
    for command in &document.commands {
        writeln!(out, "<li><code>{}</code></li>", HtmlEscaped(command))?;
    }
    writeln!(out, "</ol>\n</section>\n</main>\n</body>\n</html>")
}

fn write_section(section: &Section, out: &mut impl Write) -> io::Result<()> {
    let Section { id, heading, blocks } = section;
    writeln!(out, "<section aria-labelledby=\"{id}\">\n<h2 id=\"{id}\">{heading}</h2>")?;
    let mut blocks = blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        match block {
            Block::Heading(text) => writeln!(out, "<h3>{}</h3>", Html(text))?,
            Block::Paragraph(text) => writeln!(out, "<p>{}</p>", Html(text))?,
            Block::Warning(text) => writeln!(out, "<p class=\"warning\">{}</p>", Html(text))?,
            Block::List(items) => {
                writeln!(out, "<ul>")?;
                items.iter().try_for_each(|item| writeln!(out, "<li>{}</li>", Html(item)))?;
                writeln!(out, "</ul>")?;
            }
            Block::Table(table) => write_table(table, out)?,
            Block::Chart(first) => {
                // Charts in a row share a grid.
                writeln!(out, "<div class=\"charts\">")?;
                chart::write(first, out)?;
                while let Some(Block::Chart(next)) = blocks.next_if(|block| matches!(block, Block::Chart(_))) {
                    chart::write(next, out)?;
                }
                writeln!(out, "</div>")?;
            }
        }
    }
    writeln!(out, "</section>")
}

fn write_table(table: &Table, out: &mut impl Write) -> io::Result<()> {
    let caption = HtmlEscaped(&table.caption);
    writeln!(out, "<div class=\"table\" role=\"region\" tabindex=\"0\" aria-label=\"{caption}\">")?;
    writeln!(out, "<table>\n<caption>{caption}</caption>\n<thead><tr>")?;
    for heading in &table.headings {
        write!(out, "<th scope=\"col\">{}</th>", HtmlEscaped(heading))?;
    }
    writeln!(out, "</tr></thead>\n<tbody>")?;
    for TableRow { name, cells, is_total } in &table.rows {
        let class = if *is_total { " class=\"total\"" } else { "" };
        write!(out, "<tr{class}><th scope=\"row\">{}</th>", HtmlEscaped(name))?;
        cells.iter().try_for_each(|cell| write_cell(cell, out))?;
        writeln!(out, "</tr>")?;
    }
    writeln!(out, "</tbody>\n</table>\n</div>")
}

fn write_cell(cell: &Cell, out: &mut impl Write) -> io::Result<()> {
    match cell.shade {
        Some(shade) => write!(out, "<td class=\"shade{shade}\">")?,
        None => write!(out, "<td>")?,
    }
    write!(out, "{}{}", Number(&cell.figure), if cell.is_open { "*" } else { "" })?;
    if let Some(change) = &cell.change {
        write!(out, "<small>{}</small>", Number(change))?;
    }
    write!(out, "</td>")
}

/// A text as HTML.
struct Html<'a>(&'a Text);

impl fmt::Display for Html<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.0.iter().try_for_each(|span| match span {
            Span::Plain(text) => HtmlEscaped(text).fmt(f),
            Span::Strong(text) => write!(f, "<strong>{}</strong>", HtmlEscaped(text)),
            Span::Emphasis(text) => write!(f, "<em>{}</em>", HtmlEscaped(text)),
            Span::Figure(figure) => Number(figure).fmt(f),
        })
    }
}

/// A number, with its exact value and the place that it comes from.
struct Number<'a>(&'a Figure);

impl fmt::Display for Number<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Figure { shown, exact, source, verdict } = self.0;
        if exact.is_empty() {
            return HtmlEscaped(shown).fmt(f);
        }
        let class = match verdict {
            Verdict::Better => " class=\"better\"",
            Verdict::Worse => " class=\"worse\"",
            Verdict::Neither => "",
        };
        write!(f, "<data value=\"{exact}\" data-from=\"{source}\"{class}>{}</data>", HtmlEscaped(shown))
    }
}
