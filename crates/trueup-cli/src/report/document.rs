//! A report as plain data: sections of sentences, tables and charts. Texts of the data are in it as they are; the
//! formats escape every text.

use super::figure::Figure;

/// A whole report.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) title: String,
    /// What the report is about, as names and values.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) sections: Vec<Section>,
    /// The commands that answer the questions of the report, in their order.
    pub(super) commands: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Section {
    /// A name that is unique in the report.
    pub(super) id: &'static str,
    pub(super) heading: &'static str,
    pub(super) blocks: Vec<Block>,
}

#[derive(Debug)]
pub(super) enum Block {
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
pub(super) struct Text(pub(super) Vec<Span>);

#[derive(Clone, Debug)]
pub(super) enum Span {
    Plain(String),
    Figure(Figure),
}

#[derive(Debug)]
pub(super) struct Table {
    pub(super) caption: String,
    /// The headings of the columns. The first column names the rows.
    pub(super) headings: Vec<String>,
    pub(super) rows: Vec<TableRow>,
}

#[derive(Debug)]
pub(super) struct TableRow {
    pub(super) name: String,
    pub(super) cells: Vec<Cell>,
    pub(super) is_total: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) figure: Figure,
    /// The change of the figure, shown below it.
    pub(super) change: Option<Figure>,
    /// How dark the cell is, from 0 to [`Cell::SHADES`]; `None` for a cell of a table without shades.
    pub(super) shade: Option<u8>,
    /// Whether the number may still change, because days are missing.
    pub(super) is_open: bool,
}

#[derive(Debug)]
pub(super) struct Chart {
    pub(super) title: String,
    /// What the chart shows, in words.
    pub(super) description: String,
    pub(super) shape: Shape,
}

#[derive(Debug)]
pub(super) enum Shape {
    /// Horizontal bars from top to bottom. Each may have the bar of earlier days below it.
    Bars(Vec<Bar>),
    /// One line over time, with the name of each point.
    Line(Vec<(String, Figure)>),
    /// The spread of a metric over accounts.
    Spread(Box<Spread>),
}

/// The spread of a metric over accounts.
#[derive(Debug)]
pub(super) struct Spread {
    /// The 10th, 25th, 50th, 75th and 90th percentile.
    pub(super) quantiles: [Figure; 5],
    /// The figure of the accounts of the report.
    pub(super) own: Figure,
}

#[derive(Debug)]
pub(super) struct Bar {
    pub(super) name: String,
    pub(super) figure: Figure,
    pub(super) earlier: Option<Figure>,
}

impl Text {
    pub(super) fn of(text: impl Into<String>) -> Self {
        Self(vec![Span::Plain(text.into())])
    }

    /// Appends a text.
    pub(super) fn text(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Plain(text.into()));
        self
    }

    /// Appends a number.
    pub(super) fn figure(mut self, figure: Figure) -> Self {
        self.0.push(Span::Figure(figure));
        self
    }

    /// Appends another text.
    pub(super) fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Joins texts as a list in a sentence: `a`, `a and b`, `a, b and c`.
    pub(super) fn list(items: Vec<Self>) -> Self {
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

impl Cell {
    /// The darkest shade.
    pub(super) const SHADES: u8 = 9;

    pub(super) fn new(figure: Figure) -> Self {
        Self { figure, change: None, shade: None, is_open: false }
    }

    /// Shows the change below the figure.
    pub(super) fn with_change(self, change: Option<Figure>) -> Self {
        Self { change, ..self }
    }
}
