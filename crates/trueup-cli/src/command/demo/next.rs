//! What to try after the report: commands that work as they stand.

use super::access::{self, GROUP, USER};
use super::benchmark::{self, BenchmarkExample, METRICS};
use crate::exit::Failure;
use std::io::{self, Write};
use std::path::Path;
use trueup::access::SecretKey;
use trueup_core::query::DateRange;
use trueup_core::{Dataset, Day};

/// What to ask of the service.
pub(super) struct ServiceExamples {
    /// The key of the demo's user; `None` if the user has been removed.
    key: Option<SecretKey>,
    comparison: Option<BenchmarkExample>,
}

impl ServiceExamples {
    /// A new key for the user of the demo, and what it can be used for.
    pub(super) fn of(dataset: &Dataset, dir: &Path, end: Day) -> Result<Self, Failure> {
        let key = access::key(dir, dataset)?;
        Ok(Self { key, comparison: benchmark::comparison(dataset, dir, end)? })
    }
}

/// Writes commands on the dataset `dir`.
pub(super) fn write(
    dataset: &Dataset,
    dir: &Path,
    window: DateRange,
    calls: &ServiceExamples,
    out: &mut impl Write,
) -> io::Result<()> {
    let program = program();
    let dir = quoted(&dir.display().to_string());
    let range = format!("--start {} --end {}", window.start, window.end);
    let account = dataset.accounts().iter().next().map(|account| quoted(&account.key));
    let account = account.map_or_else(String::new, |key| format!(" --account {key}"));
    let commands = [
        (
            "What each campaign of one account brings in",
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
            "Advertised campaigns that name a drain and have at least five leads",
            format!(
                "query {dir} --fields campaign,leads,avgTicket {range} --where 'campaign=[\"regex\", \"drain\", \"i\"]' \
                 --filter '{{\"attributionCategory\": \"Advertising\", \"leads\": [\"gte\", 5]}}'"
            ),
        ),
        (
            "What such a query reads, and how long it takes",
            format!("explain {dir} --fields attributionChannel,leads,spend {range} --analyze"),
        ),
        ("What the dataset holds, and whether it is whole", format!("inspect {dir}")),
        ("", format!("verify {dir}")),
    ];
    writeln!(out, "\nTry next")?;
    for (what, command) in commands {
        if !what.is_empty() {
            writeln!(out, "\n  # {what}")?;
        }
        writeln!(out, "  {program} {command}")?;
    }
    match &calls.key {
        Some(key) => write_calls(&program, &dir, key.reveal(), window, calls.comparison.as_ref(), out),
        None => Ok(()),
    }
}

/// Writes requests to the service, in this process and over HTTP.
fn write_calls(
    program: &str,
    dir: &str,
    key: &str,
    window: DateRange,
    comparison: Option<&BenchmarkExample>,
    out: &mut impl Write,
) -> io::Result<()> {
    let events = format!(
        "/api/{GROUP}/events?fields=account,leads,bookRate,roasClosed&start={}&end={}",
        window.start, window.end
    );
    writeln!(
        out,
        "\n  # The service shows each user what they may see; this is a key of {USER}, who sees half a dozen accounts"
    )?;
    writeln!(out, "  export TRUEUP_KEY={key}")?;
    writeln!(out, "  {program} get {dir} /api")?;
    writeln!(out, "  {program} get {dir} '{events}'")?;
    match comparison {
        Some(BenchmarkExample { account, month }) => {
            writeln!(out, "\n  # How one of them stands in its industry")?;
            let metrics = METRICS.join(",");
            writeln!(out, "  {program} get {dir} '/api/{account}/benchmarks?month={month}&fields={metrics}'")?;
        }
        None => {
            writeln!(out, "\n  # Benchmarks never stand on few accounts of others, so that they need a larger demo")?;
            writeln!(out, "  {program} demo {dir}-40 --accounts 40")?;
        }
    }
    writeln!(out, "\n  # The same over HTTP, until Ctrl-C; ask from another terminal")?;
    writeln!(out, "  {program} serve {dir}")?;
    writeln!(out, "  curl --compressed -H 'Authorization: {key}' 'http://127.0.0.1:8080{events}'")
}

/// How this program was called.
fn program() -> String {
    // Set by `cargo run`.
    if std::env::var_os("CARGO_MANIFEST_DIR").is_some() {
        let release = if cfg!(debug_assertions) { "" } else { " --release" };
        return format!("cargo run{release} --");
    }
    std::env::args().next().map_or_else(|| "trueup".to_owned(), |name| quoted(&name))
}

/// A word as a POSIX shell takes it.
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
    fn words_are_quoted_where_a_shell_would_split_them() {
        assert_eq!(quoted("target/trueup-demo"), "target/trueup-demo");
        assert_eq!(quoted("my demo"), "'my demo'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
