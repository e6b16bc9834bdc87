//! A command that takes a while shows what it is doing, how far it is and how long it will take: on a terminal, and
//! nowhere else.
#![cfg(target_os = "linux")]

use crate::terminal::shown;
use crate::workspace::{EVENTS_URL, RANGE, Workspace};
use std::fs;
use std::time::Duration;
use trueup_testkit::object_server::{Fault, ObjectServer};

/// A store whose answers take long enough for the steps of a command to be shown.
struct SlowStore {
    workspace: Workspace,
    server: ObjectServer,
}

impl SlowStore {
    fn new() -> Self {
        Self::of(Workspace::with_dataset())
    }

    fn of(workspace: Workspace) -> Self {
        let server = ObjectServer::start(&workspace.path("")).unwrap();
        server.fail(|_| Some(Fault::Slow(Duration::from_millis(400))));
        Self { workspace, server }
    }

    /// Returns a command line on the store.
    fn command(&self, arguments: &str) -> String {
        let url = self.server.url();
        format!("AWS_ENDPOINT_URL={url} AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=SECRET trueup {arguments}")
    }
}

#[track_caller]
fn assert_in_order(text: &str, words: &[&str]) {
    let mut rest = text;
    for word in words {
        let at = rest.find(word);
        assert!(at.is_some(), "`{word}` is missing, or out of order: {text:?}");
        rest = &rest[at.unwrap_or(0) + word.len()..];
    }
}

#[test]
fn commands_on_a_slow_store_show_their_steps() {
    let store = SlowStore::new();
    let range = RANGE.join(" ");
    let jobs = "dataset = 's3://ds'\n[defaults]\nstart = 2025-01-01\nend = 2025-03-31\nformat = 'csv'\n\
        [[query]]\nname = 'by-campaign'\nfields = ['campaign', 'leads']\n[[query]]\nname = 'whole'\nfields = ['leads']\n";
    store.workspace.write("jobs.toml", jobs);
    let cases: [(&str, String, &[&str]); 14] = [
        (
            "query",
            format!("query s3://ds --fields campaign,leads {range}"),
            &["opening the dataset", "reading events", "campaign"],
        ),
        (
            "filter",
            format!("query s3://ds --fields leads {range} --where campaign=nothing"),
            &["opening the dataset", "checking values", "warning:", "leads"],
        ),
        (
            "explain",
            format!("explain s3://ds --fields leads {range} --analyze"),
            &["opening the dataset", "reading events"],
        ),
        (
            "why",
            format!("why s3://ds --fields leads,spend {range}"),
            &["opening the dataset", "reading events", " of ", "leads is 3"],
        ),
        ("values", "fields s3://ds --values campaign".to_owned(), &["reading events", " of ", "Spring Drain Sale"]),
        ("field", "fields s3://ds campaign".to_owned(), &["reading events", " of ", "Spring Drain Sale"]),
        ("inspect", "inspect s3://ds".to_owned(), &["opening the dataset", "finding accounts", "accounts"]),
        ("verify", "verify s3://ds".to_owned(), &["checking files", " of ", "left", "version 1"]),
        ("batch", "batch jobs.toml --into out".to_owned(), &["by-campaign", "by-campaign.csv", "whole", "whole.csv"]),
        ("bench", "bench s3://ds --query channel --repeat 1".to_owned(), &["channel", "cold"]),
        (
            "report",
            "report s3://ds --month 2025-02 -o report.html --force".to_owned(),
            &["opening the dataset", "asking the questions", " of "],
        ),
        ("diff", format!("diff s3://ds 1 1 --fields leads {range}"), &["opening the dataset", "reading events"]),
        ("versions", "versions s3://ds".to_owned(), &["reading manifests", "ingest"]),
        ("expire", "expire s3://ds --older-than 30d".to_owned(), &["reading manifests"]),
    ];
    for (name, arguments, words) in cases {
        let text = shown(&store.workspace, &store.command(&arguments));
        assert_in_order(&text, words);
        if name == "batch" {
            fs::remove_dir_all(store.workspace.path("out")).unwrap();
        }
        // Into a file, stderr gets no progress.
        let command = format!("{} 2> errors", store.command(&arguments));
        let text = shown(&store.workspace, &command);
        let errors = fs::read_to_string(store.workspace.path("errors")).unwrap();
        for word in ["opening", "reading events", "finding", "checking", "left", "\r", "\u{1b}"] {
            assert!(!errors.contains(word) && !text.contains("reading events"), "{name}: {errors:?} {text:?}");
        }
    }
}

#[test]
fn changes_of_a_slow_store_show_their_phases() {
    let store = SlowStore::new();
    let workspace = &store.workspace;
    workspace.write("more.csv", "account,opportunityId,type,date,eventId\nacme,2,booked,2025-01-06,e6\n");
    workspace.write("definitions.toml", "[[metric]]\nname = 'leadsWithoutSale'\nnumerator = ['leads', '-soldLeads']\n");
    let cases: [(&str, &[&str]); 4] = [
        ("ingest more.csv --into s3://ds", &["reading stored events", "uploading files", "version 2"]),
        ("define s3://ds definitions.toml", &["uploading files", "version 3", "leadsWithoutSale"]),
        ("compact s3://ds --all", &["reading stored events", "uploading files", "version 4"]),
        ("forget s3://ds --account acme --customer 2", &["finding customers", "uploading files", "version 5"]),
    ];
    for (arguments, words) in cases {
        assert_in_order(&shown(workspace, &store.command(arguments)), words);
    }
    let forget = format!("{} 2> errors", store.command("forget s3://ds --account acme --customer 1"));
    let text = shown(workspace, &forget);
    assert!(text.contains("version 6") && !text.contains("finding customers"), "{text:?}");
    assert_eq!(fs::read_to_string(workspace.path("errors")).unwrap(), "");
}

#[test]
fn a_request_on_a_slow_store_shows_that_it_is_being_answered() {
    let (workspace, key) = Workspace::with_directory();
    let store = SlowStore::of(workspace);
    let get = format!("get s3://ds {EVENTS_URL} --directory ds/directory.sqlite --body-only");
    let text = shown(&store.workspace, &format!("TRUEUP_KEY={key} {}", store.command(&get).replace('&', "\\&")));
    assert_in_order(&text, &["opening the dataset", "answering the request", "\"leads\""]);
}

#[test]
fn a_draft_of_a_mapping_shows_that_files_are_read() {
    let workspace = Workspace::new();
    let header: Vec<String> = (0..60).map(|column| format!("Column{column}")).collect();
    let row = vec!["2025-01-03"; header.len()].join(",") + "\n";
    let content = format!("{}\n{}", header.join(","), row.repeat(10_000));
    let files: Vec<String> = (0..12).map(|file| format!("{file}.csv")).collect();
    files.iter().for_each(|file| workspace.write(file, &content));
    let text = shown(&workspace, &format!("trueup mapping draft {}", files.join(" ")));
    assert_in_order(&text, &["reading files", "Column59"]);
}

#[test]
fn an_ingest_shows_its_phases_without_colors() {
    let workspace = Workspace::new();
    workspace.write("events.csv", "account,opportunityId,type,date\nacme,1,lead-originated,2025-01-03\n");
    let ingest =
        "(head -n 1 events.csv; sleep 1.5; tail -n 1 events.csv) | NO_COLOR=1 trueup ingest - --format csv --into made";
    let text = shown(&workspace, ingest);
    assert_in_order(&text, &["receiving inputs", "B", "version 1"]);
    // Erasing a line and moving the cursor are no colors.
    let codes = text.split("\u{1b}[").skip(1).filter_map(|code| code.chars().find(|char| char.is_ascii_alphabetic()));
    assert!(codes.into_iter().all(|code| code != 'm'), "{text:?}");
    let quiet = ingest.replace("made", "quiet") + " 2> errors";
    let text = shown(&workspace, &quiet);
    assert!(!text.contains("receiving") && text.contains("version 1"), "{text:?}");
    assert_eq!(fs::read_to_string(workspace.path("errors")).unwrap(), "");
}

#[test]
fn an_ingest_shows_how_far_it_is_in_one_large_file() {
    let workspace = Workspace::new();
    let rows = (0..400_000).map(|row| format!("acme,{row},lead-originated,2025-01-03,an event of {row}\n"));
    workspace
        .write("events.csv", &("account,opportunityId,type,date,eventId\n".to_owned() + &rows.collect::<String>()));
    let size = fs::metadata(workspace.path("events.csv")).unwrap().len();
    let text = shown(&workspace, "trueup ingest events.csv --into made --threads 1");
    let line = text.split('\r').find(|line| line.contains("reading events") && line.contains("left"));
    assert!(line.is_some(), "no line of a part of {size} bytes: {text:?}");
    assert_in_order(&text, &["reading events", " MiB of ", "left", "version 1"]);
}

#[test]
fn a_command_that_ends_at_once_shows_no_progress() {
    let workspace = Workspace::with_dataset();
    let text = shown(&workspace, "trueup inspect ds");
    assert!(text.contains("version") && !text.contains("opening"), "{text:?}");
}

#[test]
fn the_demo_shows_how_long_it_will_take() {
    let workspace = Workspace::new();
    let text = shown(&workspace, "trueup demo demo --accounts 20 --events 150000");
    assert_in_order(&text, &["generating events", " of 150,", "left", "writing events", " of ", "demo"]);
}
