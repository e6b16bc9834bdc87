//! A terminal receives tables that fit its width, and no control characters from data, files or arguments. Files and
//! pipes receive every byte, every row and every text in full.
#![cfg(target_os = "linux")]

use crate::workspace::{RANGE, Workspace};

/// An escape sequence that sets the title, a C1 control character, and a character that reverses the direction of text.
const NASTY: &str = "a\u{1b}]0;x\u{7}b\u{9b}2Jc\u{202e}d";

fn workspace() -> Workspace {
    let (workspace, _) = Workspace::with_directory();
    let name = format!("{NASTY}.csv");
    let row = format!("acme,9,lead-originated,2025-01-03,e9,{NASTY},x\n");
    workspace.write(&name, &format!("account,opportunityId,type,date,eventId,campaign,{NASTY}\n{row}"));
    workspace.write("nasty-accounts.csv", &format!("account,accountName,timeZone\nacme,{NASTY},America/Denver\n"));
    let run = workspace.run(&["ingest", &name, "--into", "ds", "--accounts", "nasty-accounts.csv"]);
    assert_eq!(run.code, 0, "{run:?}");
    workspace
}

/// Runs the command in a terminal and returns what the terminal receives.
#[track_caller]
pub(crate) fn shown(workspace: &Workspace, command: &str) -> String {
    shown_on(workspace, "xterm", command)
}

fn shown_on(workspace: &Workspace, terminal: &str, command: &str) -> String {
    let quoted = command.replace('\'', r"'\''");
    let run = workspace.shell(&format!("TERM={terminal} script -qefc '{quoted}' /dev/null < /dev/null"));
    run.stdout
}

/// Runs the command in a terminal that shows no progress, which would come between the lines on a busy machine.
#[track_caller]
fn shown_plainly(workspace: &Workspace, command: &str) -> String {
    shown_on(workspace, "dumb", command)
}

/// Asserts that the text has replacement characters, and no control characters of the data.
#[track_caller]
fn assert_printable(command: &str, text: &str) {
    // The escape sequences of trueup itself: bold, colors, and reset.
    let own = ["\u{1b}[1m", "\u{1b}[0m", "\u{1b}[1;31m", "\u{1b}[1;33m"];
    let plain = own.iter().fold(text.to_owned(), |text, code| text.replace(code, "")).replace("\r\n", "\n");
    assert!(plain.contains('\u{fffd}'), "{command}: {text:?}");
    let control =
        plain.chars().find(|char| char.is_control() && !matches!(char, '\n' | '\t') || matches!(char, '\u{202e}'));
    assert_eq!(control, None, "{command}: {text:?}");
}

#[test]
fn no_control_character_of_the_data_reaches_a_terminal() {
    let workspace = workspace();
    let range = RANGE.join(" ");
    let key = workspace.key("anna");
    for command in [
        format!("trueup query ds --fields campaign,account,leads {range}"),
        format!("trueup query ds --fields campaign,leads {range} --format csv"),
        format!("trueup query ds --fields campaign,leads {range} --format json"),
        format!("trueup query ds --fields campaign,leads {range} --format ndjson"),
        format!("trueup query ds --fields campaign,leads {range} --format csv -o /dev/tty"),
        format!("trueup query ds --fields '{NASTY}',leads {range}"),
        format!("trueup query ds --fields 'q{NASTY}',leads {range}"),
        format!("trueup query ds --fields leads {range} --filter '{NASTY}'"),
        format!("trueup query ds --fields leads {range} --account '{NASTY}'"),
        format!("trueup query ds --fields leads {range} --interval '{NASTY}'"),
        format!("trueup query '{NASTY}' --fields leads {range}"),
        format!("trueup query ds --fields leads {range} '{NASTY}'"),
        format!("trueup explain ds --fields '{NASTY}',leads {range} --where 'campaign={NASTY}'"),
        "trueup inspect ds".to_owned(),
        format!("trueup get ds '/api/west/events?fields=campaign,leads&start=2025-01-01&end=2025-03-31' --key {key}"),
        format!("trueup get ds '/api/{NASTY}/events' --key {key}"),
        format!("trueup get ds /api --gzip --body-only --key {key}"),
        format!("trueup users add ds 'u{NASTY}'"),
        "trueup users list ds".to_owned(),
        "trueup users list ds --format csv".to_owned(),
    ] {
        assert_printable(&command, &shown_plainly(&workspace, &command));
    }
}

#[test]
fn binary_formats_are_not_written_to_a_terminal() {
    let workspace = Workspace::with_dataset();
    let range = RANGE.join(" ");
    for output in ["", " -o /dev/tty"] {
        let command = format!("trueup query ds --fields leads {range} --format parquet{output}");
        let output = shown(&workspace, &command);
        assert!(output.contains("expected a file for this format"), "{output}");
    }
}

#[test]
fn files_and_pipes_receive_every_byte() {
    let workspace = workspace();
    for format in ["csv", "json", "ndjson"] {
        let text = workspace.query("campaign,leads", &["--format", format, "-o", "out"]).succeeded();
        assert_eq!(text, "");
        let text = workspace.query("campaign,leads", &["--format", format]).succeeded();
        assert_eq!(std::fs::read_to_string(workspace.path("out")).unwrap(), text);
        std::fs::remove_file(workspace.path("out")).unwrap();
        // JSON escapes only what it must.
        let whole = if format == "csv" {
            NASTY.to_owned()
        } else {
            NASTY.replace('\u{1b}', "\\u001b").replace('\u{7}', "\\u0007")
        };
        assert!(text.contains(&whole), "{text:?}");
    }
}

/// Runs the command in a terminal of `columns` columns and returns the lines that it shows, without bold type.
fn lines(workspace: &Workspace, columns: usize, command: &str) -> Vec<String> {
    let text = shown_plainly(workspace, &format!("stty rows 24 cols {columns} && {command}"));
    let plain = text.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
    let lines: Vec<String> = plain.lines().map(|line| line.trim_end_matches('\r').to_owned()).collect();
    let widest = lines.iter().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= columns, "{columns} columns, {widest} used:\n{plain}");
    lines
}

#[test]
fn tables_fit_terminals_of_any_width() {
    let workspace = Workspace::with_dataset();
    let long = format!("{}of the year", "Drain cleaning ".repeat(8));
    let row = format!("acme,9,lead-originated,2025-01-03,e9,,Paid Search,{long},\n");
    workspace.write(
        "long.csv",
        &format!("account,opportunityId,type,date,eventId,total,attributionChannel,campaign,zip\n{row}"),
    );
    workspace.run(&["ingest", "long.csv", "--into", "ds"]).succeeded();
    let range = RANGE.join(" ");
    let query = format!("trueup query ds --fields campaign,attributionChannel,leads,spend,bookRate,roasClosed {range}");

    let narrow = lines(&workspace, 60, &query);
    assert!(narrow[0].starts_with("campaign    attributi…  leads   spend  bookRate  roasClosed"), "{narrow:#?}");
    let middle = lines(&workspace, 100, &query);
    assert!(middle.iter().any(|line| line.starts_with("Drain cleaning Drain") && line.contains('…')), "{middle:#?}");
    let wide = lines(&workspace, 200, &query);
    assert!(wide.iter().any(|line| line.starts_with(&long)), "{wide:#?}");
    assert!(wide.iter().all(|line| !line.contains('…')), "{wide:#?}");

    // More columns than a narrow terminal can have: one block per row.
    let query = query.replace("roasClosed", "roasClosed,closedRevenue,conversions,avgCostPerLead");
    let narrow = lines(&workspace, 60, &query);
    assert_eq!(narrow[0], format!("─ row 1 of 4 {}", "─".repeat(47)));
    assert_eq!(narrow[1], "campaign            (none)");
    assert!(
        narrow.iter().any(|line| line.starts_with("campaign            Drain") && line.ends_with('…')),
        "{narrow:#?}"
    );
    assert!(lines(&workspace, 200, &query)[0].starts_with("campaign  "));
    let totals = lines(&workspace, 60, &format!("{query} --totals"));
    assert_eq!(totals.iter().filter(|line| line.contains(" of 4 ─")).count(), 4, "{totals:#?}");
    assert!(totals.contains(&format!("─ total {}", "─".repeat(52))), "{totals:#?}");

    // A pipe gets every text in full.
    let piped = shown(&workspace, &format!("stty rows 24 cols 60 && {query} | cat"));
    assert!(piped.contains(&long) && !piped.contains('…'), "{piped}");
}

#[test]
fn reports_fit_terminals_of_any_width() {
    let (workspace, _) = Workspace::with_directory();
    let range = RANGE.join(" ");
    let whole = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    for command in [
        "trueup fields",
        "trueup fields bookRate",
        "trueup fields avgCostPerLead",
        "trueup fields ds attributionChannel",
        "trueup fields ds --values campaign",
        "trueup inspect ds",
        "trueup verify ds",
        "trueup users list ds",
        &format!(
            "trueup explain ds --fields attributionChannel,campaign,zip,leads,spend,roasClosed,avgTicket {range} --analyze"
        ),
    ] {
        for columns in [60, 100, 200] {
            lines(&workspace, columns, command);
        }
    }
    // A line goes on below its text, and a pipe gets it as it is.
    let narrow = lines(&workspace, 60, "trueup fields bookRate");
    let definition = narrow.iter().skip(2).take_while(|line| !line.is_empty()).map(String::as_str);
    let definition = definition.collect::<Vec<_>>().join(" ");
    assert!(narrow.iter().any(|line| line.starts_with("               ")), "{narrow:#?}");
    let piped = shown(&workspace, "stty rows 24 cols 60 && trueup fields bookRate | cat");
    assert!(piped.lines().any(|line| whole(line) == definition), "{piped}");
}

#[test]
fn a_terminal_shows_the_first_and_last_rows_and_all_on_request() {
    let workspace = Workspace::with_dataset();
    let query = format!("trueup query ds --fields leads --interval day {}", RANGE.join(" "));
    let brief = lines(&workspace, 100, &query);
    assert_eq!(brief.len(), 2 + 20 + 1 + 20, "{brief:#?}");
    assert_eq!(brief[22], "… 50 more rows; `--all` shows them");
    assert!(brief[2].starts_with("2025-01-01") && brief[42].starts_with("2025-03-31"), "{brief:#?}");
    assert_eq!(lines(&workspace, 100, &format!("{query} --all")).len(), 2 + 90);
    assert_eq!(lines(&workspace, 100, &format!("{query} | cat")).len(), 2 + 90);
    assert_eq!(lines(&workspace, 100, &format!("{query} --format csv")).len(), 1 + 90);
}

/// The table is longer than a pipe can hold, so that the program writes while nobody reads.
#[test]
fn a_reader_that_closes_the_pipe_after_100_bytes_ends_the_query() {
    let workspace = Workspace::with_dataset();
    for format in ["table", "csv", "json", "ndjson"] {
        let query = "trueup query ds --fields leads,spend --start 1970-01-01 --end 2148-12-31 --interval day";
        let script =
            format!("{query} --format {format} | head -c 100 > /dev/null; echo \"codes ${{PIPESTATUS[*]}}\" >&2");
        let run: crate::workspace::Run = workspace.command_of("bash").args(["-c", &script]).output().unwrap().into();
        assert_eq!((run.code, run.stderr.as_str()), (0, "codes 0 0\n"), "{format}: {run:?}");
    }
}
