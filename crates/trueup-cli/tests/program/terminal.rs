//! A terminal receives no control characters from data, files or arguments. Files and pipes receive every byte.
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
fn shown(workspace: &Workspace, command: &str) -> String {
    let quoted = command.replace('\'', r"'\''");
    let run = workspace.shell(&format!("TERM=xterm script -qefc '{quoted}' /dev/null < /dev/null"));
    run.stdout
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
        assert_printable(&command, &shown(&workspace, &command));
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
