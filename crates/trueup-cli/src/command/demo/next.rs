//! What to try after the report: commands that work as they stand.

use std::io::{self, Write};
use std::path::Path;
use trueup_core::Dataset;
use trueup_core::query::DateRange;

/// Writes commands on the dataset `dir`.
pub(super) fn write(dataset: &Dataset, dir: &Path, window: DateRange, out: &mut impl Write) -> io::Result<()> {
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
    Ok(())
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
