//! Writes the charts of a report as SVG in HTML. Positions across are percentages and those down are pixels, so that a
//! chart takes the width of its place and its texts keep their size.

use crate::document::{Bar, Chart, Shape, Spread};
use crate::escaped::HtmlEscaped;
use crate::figure::Figure;
use std::io::{self, Write};

/// The height of a bar with its name above it, and the height of an earlier bar below it.
const BAR_HEIGHT: usize = 34;
const EARLIER_HEIGHT: usize = 8;

/// The top and the height of the area of a line.
const LINE_TOP: f64 = 22.0;
const LINE_HEIGHT: f64 = 64.0;

/// Writes one chart.
pub(crate) fn write(chart: &Chart, out: &mut impl Write) -> io::Result<()> {
    let class = match chart.shape {
        Shape::Bars(_) => "bars",
        Shape::Line(_) => "line",
        Shape::Spread(_) => "spread",
    };
    writeln!(out, "<figure class=\"{class}\">\n<figcaption>{}</figcaption>", HtmlEscaped(&chart.title))?;
    let height = match &chart.shape {
        Shape::Bars(bars) => bars.iter().map(bar_height).sum(),
        Shape::Line(_) => 108,
        Shape::Spread(_) => 52,
    };
    let label = HtmlEscaped(&chart.description);
    writeln!(out, "<svg role=\"img\" aria-label=\"{label}\" width=\"100%\" height=\"{height}\">")?;
    match &chart.shape {
        Shape::Bars(bars) => write_bars(bars, out)?,
        Shape::Line(points) => write_line(points, out)?,
        Shape::Spread(spread) => write_spread(spread, out)?,
    }
    writeln!(out, "</svg>\n</figure>")
}

fn bar_height(bar: &Bar) -> usize {
    BAR_HEIGHT + if bar.earlier.is_some() { EARLIER_HEIGHT } else { 0 }
}

fn write_bars(bars: &[Bar], out: &mut impl Write) -> io::Result<()> {
    let number = |figure: &Figure| figure.number().unwrap_or_default().max(0.0);
    let numbers = bars.iter().flat_map(|bar| [Some(&bar.figure), bar.earlier.as_ref()]).flatten();
    let highest = numbers.map(number).fold(0.0, f64::max);
    let width = |figure: &Figure| if highest > 0.0 { 100.0 * number(figure) / highest } else { 0.0 };
    let mut top = 0;
    for bar in bars {
        writeln!(
            out,
            "<text x=\"0\" y=\"{}\">{}</text><text x=\"100%\" y=\"{}\" class=\"end\">{}</text>",
            top + 13,
            HtmlEscaped(&bar.name),
            top + 13,
            HtmlEscaped(&bar.figure.shown)
        )?;
        let rect = |out: &mut dyn Write, class: &str, y: usize, height: usize, figure: &Figure| {
            writeln!(
                out,
                "<rect class=\"{class}\" x=\"0\" y=\"{y}\" width=\"{:.2}%\" height=\"{height}\"/>",
                width(figure)
            )
        };
        rect(out, "now", top + 18, 10, &bar.figure)?;
        if let Some(earlier) = &bar.earlier {
            rect(out, "earlier", top + 29, 5, earlier)?;
        }
        top += bar_height(bar);
    }
    Ok(())
}

/// Writes a line with a mark for each point. The highest number and the last one are written above it.
fn write_line(points: &[(String, Figure)], out: &mut impl Write) -> io::Result<()> {
    let numbers = || points.iter().filter_map(|(_, figure)| figure.number());
    let (lowest, highest) = (numbers().fold(0.0, f64::min), numbers().fold(0.0, f64::max));
    let spread = if highest > lowest { highest - lowest } else { 1.0 };
    let last = points.len().saturating_sub(1).max(1);
    #[expect(clippy::cast_precision_loss, reason = "a few months")]
    let x = |at: usize| 2.0 + 96.0 * at as f64 / last as f64;
    let y = |number: f64| LINE_TOP + LINE_HEIGHT * (highest - number) / spread;
    let base = y(0.0);
    writeln!(out, "<line class=\"base\" x1=\"0\" x2=\"100%\" y1=\"{base:.1}\" y2=\"{base:.1}\"/>")?;
    let placed: Vec<Option<(f64, f64)>> =
        points.iter().enumerate().map(|(at, (_, figure))| Some((x(at), y(figure.number()?)))).collect();
    for pair in placed.windows(2) {
        // A month without a number interrupts the line.
        if let [Some((x1, y1)), Some((x2, y2))] = pair {
            writeln!(out, "<line class=\"now\" x1=\"{x1:.2}%\" x2=\"{x2:.2}%\" y1=\"{y1:.1}\" y2=\"{y2:.1}\"/>")?;
        }
    }
    for (point, (name, figure)) in placed.iter().zip(points) {
        if let Some((x, y)) = point {
            let title = HtmlEscaped(&figure.shown);
            writeln!(
                out,
                "<circle class=\"now\" cx=\"{x:.2}%\" cy=\"{y:.1}\" r=\"3\"><title>{name} {title}</title></circle>"
            )?;
        }
    }
    let highest = points.iter().find(|(_, figure)| figure.number() == Some(highest));
    if let Some((_, figure)) = highest {
        writeln!(out, "<text x=\"0\" y=\"12\">highest {}</text>", HtmlEscaped(&figure.shown))?;
    }
    if let (Some((first, _)), Some((name, figure))) = (points.first(), points.last()) {
        writeln!(out, "<text x=\"100%\" y=\"12\" class=\"end\">last {}</text>", HtmlEscaped(&figure.shown))?;
        let bottom = LINE_TOP + LINE_HEIGHT + 18.0;
        writeln!(out, "<text x=\"0\" y=\"{bottom}\">{first}</text>")?;
        if points.len() > 1 {
            writeln!(out, "<text x=\"100%\" y=\"{bottom}\" class=\"end\">{name}</text>")?;
        }
    }
    Ok(())
}

/// Writes the range from the 10th to the 90th percentile, the middle half darker, the median, and a mark for the
/// accounts of the report.
fn write_spread(spread: &Spread, out: &mut impl Write) -> io::Result<()> {
    let Spread { quantiles, own } = spread;
    let number = |figure: &Figure| figure.number().unwrap_or_default();
    let all = || quantiles.iter().chain([own]).map(number);
    let (lowest, highest) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let spread = if highest > lowest { highest - lowest } else { 1.0 };
    let x = |figure: &Figure| 2.0 + 96.0 * (number(figure) - lowest) / spread;
    let [p10, p25, p50, p75, p90] = quantiles;
    for (class, from, to) in [("earlier", p10, p90), ("middle", p25, p75)] {
        let width = x(to) - x(from);
        writeln!(out, "<rect class=\"{class}\" x=\"{:.2}%\" y=\"20\" width=\"{width:.2}%\" height=\"12\"/>", x(from))?;
    }
    let median = x(p50);
    writeln!(out, "<line class=\"median\" x1=\"{median:.2}%\" x2=\"{median:.2}%\" y1=\"17\" y2=\"35\"/>")?;
    writeln!(out, "<circle class=\"now\" cx=\"{:.2}%\" cy=\"26\" r=\"6\"/>", x(own))?;
    writeln!(out, "<text x=\"0\" y=\"12\">this report {}</text>", HtmlEscaped(&own.shown))?;
    writeln!(out, "<text x=\"100%\" y=\"12\" class=\"end\">median {}</text>", HtmlEscaped(&p50.shown))?;
    writeln!(out, "<text x=\"0\" y=\"48\">10th {}</text>", HtmlEscaped(&p10.shown))?;
    writeln!(out, "<text x=\"100%\" y=\"48\" class=\"end\">90th {}</text>", HtmlEscaped(&p90.shown))
}
