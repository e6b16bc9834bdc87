//! `trueup why`: the customers, events and rows of spend behind the numbers of one row of an answer.

use super::output_args::OutputArgs;
use super::query::DatasetQueryArgs;
use crate::exit::Failure;
use crate::output::{Format, Narrowing, write_lines};
use crate::progress::{self, Step};
use clap::Args;
use std::fmt::Write as _;
use trueup::definitions::Definitions;
use trueup::query::{EventsQuery, Filter, LineOrder, RowValues, SortKey, WhyQuery, WhyRowFault};
use trueup::{Dataset, Error, QueryError, UnseenValue, Value, Why};
use trueup_report::ExplainedChange;
use trueup_report::number::{NOTHING, counted, readable, readable_with};

/// The rule is the answer to why: the columns that only tell lines apart go first.
const NARROWING: Narrowing = Narrowing { optional: &["eventId", "account"], wraps_last: true };

/// The most lines of a measure that a table lists, unless an option says otherwise.
const TABLE_LINES: usize = 100;

const EXAMPLES: &str = "\
Examples:
  trueup why my-data --fields campaign,bookRate --month 2025-01 --row campaign=Drains
  trueup why my-data --fields closedRevenue --month 2025-01 --sort amount:desc --limit 10
  trueup why my-data --fields campaign,leads,spend --year 2025 --interval month \\
      --row start=2025-03-01 --row campaign=Drains --metric spend -o drains.csv
  trueup why my-data --fields campaign,bookRate --month 2025-02 --compare previous-period \\
      --row campaign=Drains --sort amount:desc";

/// Show the events, customers and spend behind the numbers of one row of an answer
///
/// Except for a percentile, which cannot be explained, a metric is a sum of measures, or one such sum over another.
/// Each line is what a measure counts once: an event, a customer (shown on its state event) or a row of spend. The line
/// says what it adds, and by which rule. The lines of a measure add up to it, and the measures make up the number in
/// the answer, which the command checks.
///
/// With `--compare` it is the change of the row that is explained: which customers only one of the ranges counts, and
/// which ones both count differently. Lines of the earlier range subtract, so that the lines add up to the change.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("sort", |arg| arg.help(
        "Order of the lines of each measure: date, date:desc, or amount:desc and count:desc for the largest first (with \
         --compare, the largest change). By default the first day comes first"
    ).value_name("COLUMN[:desc]")),
    mut_arg("limit", |arg| arg.help(
        "List at most LINES lines of each measure, with --compare of each class of a measure. The sums are of all lines. \
         By default a table lists 100, and every other format lists all"
    ).value_name("LINES")),
    mut_arg("format", |arg| arg.help("Format of the lines; by default the one for the ending of FILE, or a table, which begins with the sums")),
    mut_arg("all", |arg| arg.help("List all lines in a table, and show them all on a terminal")),
    mut_arg("output", |arg| arg.help(
        "Write the lines to this file instead of stdout. The file appears once it is complete, and must not exist yet"
    )),
    mut_arg("compare", |arg| arg.help(
        "Explain how the row changed since an earlier range: `previous-period`, `previous-year`, or two days as START..END"
    )),
    mut_arg("targets", |arg| arg.hide(true)),
    mut_arg("totals", |arg| arg.hide(true)),
)]
pub(crate) struct WhyCommand {
    #[command(flatten)]
    args: DatasetQueryArgs,

    /// The row: 'dimension=value' for each dimension of the query and, with an interval, start=DATE. Repeat the option,
    /// or paste a row of the answer as JSON. Without dimensions and interval there is one row, which needs no option
    #[arg(long = "row", value_name = "FIELD=VALUE")]
    row: Vec<RowValues>,

    /// Explain only this metric of the query; repeat the option, or separate names by commas
    #[arg(long = "metric", value_name = "NAME", value_delimiter = ',')]
    metrics: Vec<String>,

    #[command(flatten)]
    output: OutputArgs,
}

impl WhyCommand {
    pub(super) fn run(mut self) -> Result<(), Failure> {
        let format = self.output.check(&self.args.dataset)?;
        let order = line_order(&std::mem::take(&mut self.args.options.0.sort))?;
        let limit =
            self.args.options.0.limit.take().or((format == Format::Table && !self.output.all).then_some(TABLE_LINES));
        if self.args.options.0.totals {
            return Err(Failure::usage(
                "`trueup why` explains one row and has no `--totals`; leave out the dimensions to explain the row of the \
                 whole range",
            ));
        }
        let dataset = self.args.open_dataset()?;
        self.args.options.0.of_events_alone()?;
        let query = self.args.prepare(&dataset)?;
        let why = self.explain(&dataset, query.events(), order, limit)?;
        let mut out = self.output.writer(&self.args.dataset)?;
        if format == Format::Table {
            write_lines(&summary(&why, dataset.definitions()), &mut out).map_err(Failure::fault)?;
        }
        self.output.write_narrowed(why.lines(), format, NARROWING, out)
    }

    fn explain(
        &self,
        dataset: &Dataset,
        query: &EventsQuery,
        order: LineOrder,
        limit: Option<usize>,
    ) -> Result<Why, Failure> {
        let question = self.row.iter().fold(WhyQuery::new(query.clone()).order(order), WhyQuery::values);
        let question = self.metrics.iter().fold(question, |question, metric| question.metric(metric.trim()));
        let question = limit.into_iter().fold(question, WhyQuery::limit);
        match dataset.why(&question, progress::watched(self.args.execution())) {
            Err(error @ Error::Query(QueryError::Row(WhyRowFault::NoSuchRow { .. }))) => {
                Err(Failure::request(format!("{error}{}", self.unseen(dataset, query)?)))
            }
            answer => Ok(answer?),
        }
    }

    /// Returns the end of the error about a row that the answer does not have: which of the values of the row no event
    /// and no spend has or, if all occur, how to list the rows.
    fn unseen(&self, dataset: &Dataset, query: &EventsQuery) -> Result<String, Failure> {
        let values = self.row.iter().flat_map(RowValues::iter).filter(|(name, _)| !matches!(*name, "start" | "end"));
        let query = values.fold(query.clone(), |query, (name, value)| query.filter(Filter::equals(name, value)));
        let step = Step::new("checking values");
        let unseen = dataset.unseen_values(&query, &self.args.execution())?;
        drop(step);
        Ok(match unseen.as_slice() {
            [] => "; the same options of `trueup query` list the rows".to_owned(),
            unseen => unseen.iter().fold(String::new(), |text, value: &UnseenValue| format!("{text}; {value}")),
        })
    }
}

/// Returns the order of lines.
fn line_order(keys: &[SortKey]) -> Result<LineOrder, Failure> {
    match keys {
        [] => Ok(LineOrder::Oldest),
        [key] => match key.to_string().as_str() {
            "date:asc" => Ok(LineOrder::Oldest),
            "date:desc" => Ok(LineOrder::Newest),
            "amount:desc" | "count:desc" => Ok(LineOrder::Largest),
            found => Err(Failure::usage(format!(
                "expected to sort lines by `date`, `date:desc`, `amount:desc` or `count:desc`, but found `{found}`"
            ))),
        },
        _ => Err(Failure::usage("expected one column to sort lines by")),
    }
}

/// Returns the numbers of the row, and what they are made of.
fn summary(why: &Why, definitions: &Definitions) -> String {
    let mut text = String::new();
    let row = why.row.iter().map(|(name, value)| format!("{name} `{value}`, "));
    let since = why.previous.map(|range| format!(", compared with {range}")).unwrap_or_default();
    let _ = writeln!(text, "{}{}{since}", row.collect::<String>(), why.range);
    for metric in &why.metrics {
        let value = if metric.is_over_nothing {
            NOTHING.to_owned()
        } else {
            readable_with(definitions, &metric.name, metric.value)
        };
        let (change, classes) = changed(ExplainedChange::of_metric(definitions, metric));
        let _ = writeln!(text, "{} is {value}{change}: {}{classes}", metric.name, metric.formula);
    }
    for measure in &why.measures {
        let (name, lines) = (measure.measure.name(), counted(measure.lines, "line"));
        let sum = match measure.sum {
            Value::Money(_) => readable("total", measure.sum),
            sum => readable("eventCount", sum),
        };
        let first = match measure.listed {
            listed if listed < measure.lines => format!(", {listed} of them listed"),
            _ => String::new(),
        };
        let (change, classes) = changed(ExplainedChange::of_measure(measure));
        let _ = writeln!(text, "{name} is {sum}{change}: {lines}{first}{classes}");
    }
    text.push('\n');
    text
}

/// Returns how a number changed, and a line for each class; empty texts if nothing is compared.
fn changed(change: Option<ExplainedChange>) -> (String, String) {
    let Some(ExplainedChange { change, classes }) = change else { return Default::default() };
    (format!(", {change}"), classes.iter().map(|class| format!("\n  {class}")).collect())
}
