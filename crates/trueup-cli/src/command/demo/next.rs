//! The commands that `trueup demo` suggests; each can be copied and run.

use super::access::{self, BENCHMARK_METRICS, BenchmarkExample, GROUP, USER};
use crate::exit::Failure;
use std::io::{self, Write};
use std::path::Path;
use trueup::access::SecretKey;
use trueup::query::DateRange;
use trueup::{Dataset, Day};

/// What the examples of requests to the service need.
pub(super) struct ServiceExamples {
    /// A key of the demo's user; `None` if the user has been removed.
    key: Option<SecretKey>,
    /// `None` if the demo is too small for benchmarks.
    benchmark: Option<BenchmarkExample>,
}

impl ServiceExamples {
    /// Creates a new key for the user of the demo, and finds an account with benchmarks.
    pub(super) fn new(dataset: &Dataset, dir: &Path, end: Day) -> Result<Self, Failure> {
        let key = access::new_key(dir, dataset)?;
        Ok(Self { key, benchmark: access::benchmark_example(dataset, dir, end)? })
    }
}

/// Writes commands for the dataset `dir`.
pub(super) fn write(
    dataset: &Dataset,
    dir: &Path,
    window: DateRange,
    examples: &ServiceExamples,
    out: &mut impl Write,
) -> io::Result<()> {
    let program = program();
    let dir = quoted(&dir.display().to_string());
    let range = format!("--start {} --end {}", window.start, window.end);
    let account = dataset.accounts().iter().next().map(|account| quoted(&account.key));
    let account = account.map_or_else(String::new, |key| format!(" --account {key}"));
    // A command without a comment belongs to the comment before it.
    let commands = [
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
            writeln!(out, "\n  # Benchmarks need more accounts, because they are never based on few")?;
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
    std::env::args().next().map_or_else(|| "trueup".to_owned(), |name| quoted(&name))
}

/// Quotes a word for a POSIX shell, if necessary.
fn quoted(word: &str) -> String {
    let plain = |char: char| char.is_ascii_alphanumeric() || "-_./:+@%".contains(char);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_are_quoted_if_a_shell_would_change_them() {
        assert_eq!(quoted("target/trueup-demo"), "target/trueup-demo");
        assert_eq!(quoted("my demo"), "'my demo'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
