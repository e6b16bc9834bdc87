//! A report as plain data: sections of sentences, tables and charts. Texts of the data are in it as they are; the
//! formats escape every text.

use crate::figure::Figure;
use std::fmt;
use std::sync::Arc;

/// A whole report.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) title: String,
    /// The logo of whom the report is from, as a `data:` URL.
    pub(crate) logo: Option<Arc<str>>,
    /// What the report is about, as names and values.
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) sections: Vec<Section>,
    /// The commands that answer the questions of the report, in their order.
    pub(crate) commands: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct Section {
    /// A name that is unique in the report.
    pub(crate) id: &'static str,
    pub(crate) heading: &'static str,
    pub(crate) blocks: Vec<Block>,
}

#[derive(Debug)]
pub(crate) enum Block {
    Heading(Text),
    Paragraph(Text),
    /// A remark that a reader must not miss.
    Warning(Text),
    List(Vec<Text>),
    Table(Table),
    Chart(Chart),
}

/// A text with numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text(pub(crate) Vec<Span>);

#[derive(Clone, Debug)]
pub(crate) enum Span {
    Plain(String),
    Strong(String),
    Emphasis(String),
    Figure(Figure),
}

#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) caption: String,
    /// The headings of the columns. The first column names the rows.
    pub(crate) headings: Vec<String>,
    pub(crate) rows: Vec<TableRow>,
}

#[derive(Debug)]
pub(crate) struct TableRow {
    pub(crate) name: String,
    pub(crate) cells: Vec<Cell>,
    pub(crate) is_total: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) figure: Figure,
    /// The change of the figure, shown below it.
    pub(crate) change: Option<Figure>,
    /// How dark the cell is, from 0 to [`Cell::SHADES`]; `None` for a cell of a table without shades.
    pub(crate) shade: Option<u8>,
    /// Whether the number may still change, because days are missing.
    pub(crate) is_open: bool,
}

#[derive(Debug)]
pub(crate) struct Chart {
    pub(crate) title: String,
    /// What the chart shows, in words.
    pub(crate) description: String,
    pub(crate) shape: Shape,
}

#[derive(Debug)]
pub(crate) enum Shape {
    /// Horizontal bars from top to bottom. Each may have the bar of earlier days below it.
    Bars(Vec<Bar>),
    /// One line over time, with the name of each point.
    Line(Vec<(String, Figure)>),
    /// The spread of a metric over accounts.
    Spread(Box<Spread>),
}

/// The spread of a metric over accounts.
#[derive(Debug)]
pub(crate) struct Spread {
    /// The 10th, 25th, 50th, 75th and 90th percentile.
    pub(crate) quantiles: [Figure; 5],
    /// The figure of the accounts of the report.
    pub(crate) own: Figure,
}

#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) figure: Figure,
    pub(crate) earlier: Option<Figure>,
}

impl Text {
    pub(crate) fn of(text: impl Into<String>) -> Self {
        Self(vec![Span::Plain(text.into())])
    }

    /// Appends a text.
    pub(crate) fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Plain(text.into()));
        self
    }

    /// Appends a number.
    pub(crate) fn figure(mut self, figure: Figure) -> Self {
        self.0.push(Span::Figure(figure));
        self
    }

    /// Appends another text.
    pub(crate) fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Joins texts as a list in a sentence: `a`, `a and b`, `a, b and c`.
    pub(crate) fn list(items: Vec<Self>) -> Self {
        let last = items.len().saturating_sub(1);
        items.into_iter().enumerate().fold(Self::default(), |text, (at, item)| {
            let text = match at {
                0 => text,
                at if at == last => text.text(" and "),
                _ => text.text(", "),
            };
            text.then(item)
        })
    }
}

/// Writes the text as it is, without any markup.
impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|span| match span {
            Span::Plain(text) | Span::Strong(text) | Span::Emphasis(text) => f.write_str(text),
            Span::Figure(figure) => f.write_str(&figure.shown),
        })
    }
}

impl Cell {
    /// The darkest shade.
    pub(crate) const SHADES: u8 = 9;

    pub(crate) fn new(figure: Figure) -> Self {
        Self { figure, change: None, shade: None, is_open: false }
    }

    /// Shows the change below the figure.
    pub(crate) fn with_change(self, change: Option<Figure>) -> Self {
        Self { change, ..self }
    }
}
