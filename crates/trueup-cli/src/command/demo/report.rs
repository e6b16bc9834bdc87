//! What `trueup demo` prints: how the marketing of the demo performed, and commands to try next.

use super::access::{self, BENCHMARK_METRICS, BenchmarkExample, GROUP, USER};
use super::monthly_report::MonthlyReport;
use crate::exit::Failure;
use crate::output::OutputWriter;
use crate::output::table::{self, Heading, Screen};
use std::cmp::Reverse;
use std::io::{self, Write};
use std::path::Path;
use trueup::access::SecretKey;
use trueup::query::{DateRange, EventsQuery, Interval};
use trueup::{Column, Dataset, Day, ResultTable, StringColumn, Value, Values, dictionary};
use trueup_report::months_before;
use trueup_report::number::readable_at;
use trueup_report::shell_word;

/// The metrics of every table.
const METRICS: [&str; 6] = ["leads", "bookRate", "spend", "avgCostPerLead", "closedRevenue", "roasClosed"];

/// Number of months in the last table.
const MONTHS: u32 = 12;

/// Writes the metrics of `window`, the same by channel, and the same for each of the last [`MONTHS`] months.
pub(super) fn write_figures(dataset: &Dataset, window: DateRange, out: &mut OutputWriter) -> Result<(), Failure> {
    let DateRange { start, end } = window;
    let whole = dataset.query(&EventsQuery::new(METRICS, start, end))?;
    let by_channel = ["attributionChannel"].into_iter().chain(METRICS);
    let channels = dataset.query(&EventsQuery::new(by_channel, start, end))?;
    let first = months_before(end, MONTHS - 1).map_or(Day::MIN, |month| month.start);
    let months = by_month(&dataset.query(&EventsQuery::new(METRICS, first, end).interval(Interval::Month))?)?;
    write_tables(window, &whole, &channels, &months, out).map_err(Failure::fault)
}

fn write_tables(
    window: DateRange,
    whole: &ResultTable,
    channels: &ResultTable,
    months: &ResultTable,
    out: &mut OutputWriter,
) -> io::Result<()> {
    writeln!(out, "\nThe last {} days, {} to {}\n", window.days(), window.start, window.end)?;
    for column in whole.columns() {
        let title = dictionary::field(&column.name).map_or(column.name.as_str(), |field| field.display_name);
        writeln!(out, "  {title:28}{:>16}", readable_at(column, 0))?;
    }
    writeln!(out, "\nThe same by channel, most leads first\n")?;
    let screen = Screen::of(out);
    let mut order: Vec<usize> = (0..channels.len()).collect();
    order.sort_by_key(|row| Reverse(leads(channels, *row)));
    table::write_rows(channels, &order, Heading::DisplayName, screen, out.styled())?;
    writeln!(out, "\nMonth by month\n")?;
    let order: Vec<usize> = (0..months.len()).collect();
    table::write_rows(months, &order, Heading::DisplayName, screen, out.styled())
}

fn leads(channels: &ResultTable, row: usize) -> u64 {
    match channels.value(row, "leads") {
        Some(Value::Count(leads)) => leads,
        _ => 0,
    }
}

/// Replaces the start and end of each sub-range by its month.
fn by_month(answer: &ResultTable) -> Result<ResultTable, Failure> {
    let mut columns = Vec::new();
    for column in answer.columns().iter().filter(|column| column.name != "end") {
        columns.push(match &column.values {
            Values::Days(days) => {
                let months = days.iter().map(|day| day.month()).collect();
                let months = StringColumn::new((0..).take(days.len()).collect(), months);
                let months = months.ok_or_else(|| Failure::fault("a month of the report has no name"))?;
                Column { name: "month".to_owned(), values: Values::Strings(months) }
            }
            _ => column.clone(),
        });
    }
    Ok(ResultTable::from_columns(columns))
}

/// What the examples of requests to the service need.
pub(super) struct ServiceExamples {
    /// A key of the demo's user; `None` if the user has been removed.
    key: Option<SecretKey>,
    /// `None` if the demo is too small for benchmarks, or the user has been removed.
    benchmark: Option<BenchmarkExample>,
}

impl ServiceExamples {
    /// Creates a new key for the user of the demo, and finds an account with benchmarks.
    pub(super) fn new(dataset: &Dataset, dir: &Path, end: Day) -> Result<Self, Failure> {
        let key = access::new_key(dir, dataset)?;
        Ok(Self { key, benchmark: access::benchmark_example(dataset, dir, end)? })
    }
}

/// Writes the commands to try next on the dataset in the folder `dir`. Each can be copied and run.
pub(super) fn write_commands(
    dataset: &Dataset,
    dir: &Path,
    window: DateRange,
    written: &MonthlyReport,
    examples: &ServiceExamples,
    out: &mut impl Write,
) -> io::Result<()> {
    let program = program();
    let dir = shell_word(&dir.display().to_string());
    let range = format!("--start {} --end {}", window.start, window.end);
    let account = dataset.accounts().iter().next().map(|account| shell_word(&account.key));
    let account = account.map_or_else(String::new, |key| format!(" --account {key}"));
    let MonthlyReport { path, month } = written;
    let one_account =
        format!("The report about {month} is `{}`: open it in a browser. The same for one account", path.display());
    // A command without a comment belongs to the comment before it.
    let commands = [
        (one_account.as_str(), format!("report {dir} --month {month} --format md{account}")),
        (
            "What each campaign of one account earns",
            format!("query {dir} --fields campaign,leads,bookRate,avgCostPerLead,roasClosed {range}{account}"),
        ),
        (
            "Week by week, as JSON, for two channels",
            format!(
                "query {dir} --fields attributionChannel,leads,closedRevenue {range} --interval week \
                 --where 'attributionChannel=Paid Search' --where 'attributionChannel=Direct' --format json"
            ),
        ),
        (
            "Advertising campaigns with `drain` in their name and at least five leads",
            format!(
                "query {dir} --fields campaign,leads,avgTicket {range} --where 'campaign=[\"regex\", \"drain\", \"i\"]' \
                 --filter '{{\"attributionCategory\": \"Advertising\", \"leads\": [\"gte\", 5]}}'"
            ),
        ),
        (
            "What a query reads, and how long it takes",
            format!("explain {dir} --fields attributionChannel,leads,spend {range} --analyze"),
        ),
        ("What the dataset contains, and whether its files are undamaged", format!("inspect {dir}")),
        ("", format!("verify {dir}")),
    ];
    writeln!(out, "\nTry next")?;
    for (what, command) in commands {
        if !what.is_empty() {
            writeln!(out, "\n  # {what}")?;
        }
        writeln!(out, "  {program} {command}")?;
    }
    match &examples.key {
        Some(key) => write_requests(&program, &dir, key.reveal(), window, examples.benchmark.as_ref(), out),
        None => Ok(()),
    }
}

/// Writes requests to the service, in this process and over HTTP.
fn write_requests(
    program: &str,
    dir: &str,
    key: &str,
    window: DateRange,
    benchmark: Option<&BenchmarkExample>,
    out: &mut impl Write,
) -> io::Result<()> {
    let events = format!(
        "/api/{GROUP}/events?fields=account,leads,bookRate,roasClosed&start={}&end={}",
        window.start, window.end
    );
    writeln!(
        out,
        "\n  # The service shows a user only some accounts; this key belongs to {USER}, who may see up to six"
    )?;
    writeln!(out, "  export TRUEUP_KEY={key}")?;
    writeln!(out, "  {program} get {dir} /api")?;
    writeln!(out, "  {program} get {dir} '{events}'")?;
    match benchmark {
        Some(BenchmarkExample { account, month }) => {
            writeln!(out, "\n  # How one of these accounts compares with its industry")?;
            let metrics = BENCHMARK_METRICS.join(",");
            writeln!(out, "  {program} get {dir} '/api/{account}/benchmarks?month={month}&fields={metrics}'")?;
        }
        None => {
            writeln!(out, "\n  # Benchmarks need more accounts or more events: they are never based on few accounts")?;
            writeln!(out, "  {program} demo {dir}-40 --accounts 40")?;
        }
    }
    writeln!(
        out,
        "\n  # The same over HTTP; send requests from another terminal, and press Ctrl-C to stop the server"
    )?;
    writeln!(out, "  {program} serve {dir}")?;
    writeln!(out, "  curl --compressed -H 'Authorization: {key}' 'http://127.0.0.1:8080{events}'")
}

/// Returns how to call this program again.
fn program() -> String {
    // `cargo run` sets this variable.
    if std::env::var_os("CARGO_MANIFEST_DIR").is_some() {
        let release = if cfg!(debug_assertions) { "" } else { " --release" };
        return format!("cargo run{release} --");
    }
    crate::NAME.get().map_or_else(|| "trueup".to_owned(), |name| shell_word(&name.to_string_lossy()))
}
