//! The section about benchmarks: where the accounts of the report stand among all accounts of their industries.

use crate::ReportError;
use crate::document::{Block, Cell, Chart, Section, Shape, Spread, Table, TableRow, Text};
use crate::figure::{AnswerRow, Figure, Verdict, display_name};
use crate::question::{Question, Questions};
use crate::sections::Subject;
use std::collections::BTreeSet;
use trueup::benchmarks::{
    BenchmarkData, BenchmarkMetric, BenchmarkQuery, BenchmarkRow, BenchmarkSelection, Privacy, Series,
};
use trueup::{Dataset, Execution, Value};

/// The number of significant digits of benchmarks.
const DIGITS: usize = 3;

/// Returns the section. It assumes a reader who may see only the accounts of the report, unless `reader` has the reach
/// of one, so that the privacy rules of the service apply to the figures of all others.
pub(crate) fn benchmarks(
    subject: &Subject<'_>,
    reader: Option<(&BTreeSet<String>, Privacy)>,
    dataset: &Dataset,
    execution: &Execution,
    questions: &mut Questions<'_>,
) -> Result<Section, ReportError> {
    let section = |blocks| Section { id: "benchmarks", heading: "Benchmarks", blocks };
    let none = |text: &str| Ok(section(vec![Block::Paragraph(Text::of(text))]));
    if subject.accounts.is_empty() {
        return none("Benchmarks compare accounts with others, and this report is about all of them.");
    }
    let selection = BenchmarkSelection::default();
    let scope: BTreeSet<String> = subject.accounts.iter().cloned().collect();
    let data = BenchmarkData::gather(dataset, subject.period.range, execution)?;
    let (reach, privacy) = reader.unwrap_or((&scope, Privacy::default()));
    let query = BenchmarkQuery { selection: &selection, scope: &scope, reach, privacy };
    let rows = data.answer(&query);
    let Some(pooled) = rows.first() else {
        return none("There are no benchmarks, because the dataset has too few other accounts to base them on.");
    };
    let own = questions.ask(&Question::new(
        subject.accounts,
        selection.metrics().iter().map(|metric| metric.name()),
        subject.period.range,
    ))?;
    let industries: BTreeSet<&str> =
        scope.iter().filter_map(|key| dataset.accounts().get(key)?.industry.as_deref()).collect();
    let lacks_industry =
        scope.iter().any(|key| dataset.accounts().get(key).is_none_or(|account| account.industry.is_none()));
    let among = if lacks_industry {
        "accounts of all industries".to_owned()
    } else {
        format!("accounts in {}", industries.into_iter().collect::<Vec<_>>().join(", "))
    };
    // Which currencies others have is nobody else's business.
    let is_known = |key: &str| reader.is_none_or(|(reach, _)| reach.contains(key));
    let accounts = dataset.accounts().iter().filter(|account| is_known(&account.key));
    let currencies: BTreeSet<_> = accounts.map(|account| account.currency).collect();
    let of_currency = if currencies.len() > 1 {
        " Amounts of money, and ratios of these, are compared with those of accounts of the same currency only."
    } else {
        ""
    };
    let mut blocks = vec![Block::Paragraph(Text::of(format!(
        "Compared with {} {among}, those of the report included.{of_currency} The figures are anonymous and rounded to {DIGITS} significant \
         digits; a dash is a figure that is withheld, because it could reveal that of a single account.",
        pooled.cohort_accounts
    )))];
    let (mut table_rows, mut sentences, mut charts) = (Vec::new(), Vec::new(), Vec::new());
    for (at, metric) in selection.metrics().iter().enumerate() {
        let figure = |row: &BenchmarkRow| figure(*metric, row.series, row.metrics.get(at).copied().flatten());
        let mine = own.figure(AnswerRow::Group(0), metric.name());
        let others: Vec<Figure> = rows.iter().map(figure).collect();
        let name = display_name(metric.name()).to_owned();
        sentences.extend(place(*metric, &mine, &rows, at).map(|(_, text)| text));
        if let [_, quantiles @ ..] = others.as_slice()
            && let Ok(quantiles) = <[Figure; 5]>::try_from(quantiles.to_vec())
            && quantiles.iter().chain([&mine]).all(|figure| figure.number().is_some())
        {
            let shown: Vec<String> =
                quantiles.iter().zip(PERCENTILES).map(|(figure, name)| format!("{name} {}", figure.shown)).collect();
            let description = format!("This report {}; among all accounts {}", mine.shown, shown.join(", "));
            charts.push(Block::Chart(Chart {
                title: name.clone(),
                description,
                shape: Shape::Spread(Box::new(Spread { quantiles, own: mine.clone() })),
            }));
        }
        let cells = [mine].into_iter().chain(others).map(Cell::new).collect();
        table_rows.push(TableRow { name, cells, is_total: false });
    }
    blocks.push(Block::List(sentences));
    blocks.extend(charts);
    let headings =
        ["Metric", "This report", "All together"].into_iter().chain(PERCENTILES).map(str::to_owned).collect();
    let caption = format!("{} and all accounts compared, by percentile", subject.period.name);
    blocks.push(Block::Table(Table { caption, headings, rows: table_rows }));
    Ok(section(blocks))
}

/// The names of the percentiles, in the order of rows.
const PERCENTILES: [&str; 5] = ["10th", "25th", "Median", "75th", "90th"];

fn figure(metric: BenchmarkMetric, series: Series, value: Option<f64>) -> Figure {
    let value = value.map_or(Value::Null, Value::Ratio);
    Figure::new(metric.name(), value, format!("benchmarks/{series}/{metric}"))
}

/// Returns where the accounts of the report stand, also in words; `None` if they or the others have no value.
pub(crate) fn place(
    metric: BenchmarkMetric,
    mine: &Figure,
    rows: &[BenchmarkRow],
    at: usize,
) -> Option<(Standing, Text)> {
    let series = |series| value_of(rows, series, at);
    let (median, standing) = (series(Series::P50)?, standing(metric, mine.number()?, series)?);
    let text = Text::of(format!("{}: ", display_name(metric.name()))).figure(mine.clone());
    let text = text.text(format!(", {} (median ", standing.band)).figure(figure(metric, Series::P50, Some(median)));
    let text = text.text(match standing.verdict {
        Verdict::Better => "), which is better than the median.",
        Verdict::Worse => "), which is worse than the median.",
        Verdict::Neither => ").",
    });
    Some((standing, text))
}

/// Returns the value of a series for the metric at a place of the selection; `None` if there is none.
pub fn value_of<'r>(rows: impl IntoIterator<Item = &'r BenchmarkRow>, series: Series, at: usize) -> Option<f64> {
    rows.into_iter().find(|row| row.series == series)?.metrics.get(at).copied().flatten()
}

/// Where a value is among those of all accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The percentiles that the value is between, in words.
    pub band: &'static str,
    /// Whether the value is better than the median.
    pub verdict: Verdict,
}

/// Returns where a value of a metric is among those of all accounts, whose percentiles `series` returns; `None` if one
/// of them that is needed has no value.
pub fn standing(metric: BenchmarkMetric, value: f64, series: impl Fn(Series) -> Option<f64>) -> Option<Standing> {
    // Rounding never swaps two numbers, so a number that is higher after rounding was higher before.
    let (median, number) = (series(Series::P50)?, rounded(value));
    let [p10, p25, p75, p90] = [Series::P10, Series::P25, Series::P75, Series::P90].map(series);
    let band = match number {
        number if number > p90? => "above the 90th percentile",
        number if number > p75? => "between the 75th and the 90th percentile",
        number if number > median => "between the median and the 75th percentile",
        number if number < p10? => "below the 10th percentile",
        number if number < p25? => "between the 10th and the 25th percentile",
        number if number < median => "between the 25th percentile and the median",
        _ => "at the median",
    };
    Some(Standing { band, verdict: Verdict::of(metric.name(), Value::Number(number - median)) })
}

/// Rounds to the significant digits of benchmarks.
fn rounded(number: f64) -> f64 {
    format!("{number:.*e}", DIGITS - 1).parse().unwrap_or(number)
}
