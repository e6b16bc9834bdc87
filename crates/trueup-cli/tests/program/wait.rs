//! Commands that write to the same dataset wait for one another with `--wait`.
#![cfg(target_os = "linux")]

use crate::terminal::shown;
use crate::workspace::{RANGE, Workspace};
use std::fs::File;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const HEADER: &str = "account,opportunityId,type,date,eventId,total\n";

/// Returns a file of a lead and a sale that no other file has.
fn events(number: usize) -> String {
    let row = |kind, id, total| format!("acme,{number},{kind},2025-01-{:02},{number}-{id},{total}\n", number + 1);
    HEADER.to_owned() + &row("lead-originated", 1, "") + &row("sold", 2, "100.50")
}

#[test]
fn ten_ingests_into_one_dataset_all_land() {
    let workspace = Workspace::new();
    let names: Vec<String> = (0..10).map(|number| format!("{number}.csv")).collect();
    for (number, name) in names.iter().enumerate() {
        workspace.write(name, &events(number));
    }
    let start = |name: &String| -> Child {
        let mut command = workspace.command();
        command.args(["ingest", name, "--into", "ds", "--wait", "5m"]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let running: Vec<Child> = names.iter().map(start).collect();
    for child in running {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    }
    let mut whole = vec!["ingest"];
    whole.extend(names.iter().map(String::as_str));
    workspace.run(&[&whole[..], &["--into", "whole"]].concat()).succeeded();
    let answer = |dataset: &str| {
        let fields = ["query", dataset, "--fields", "opportunityId,type,eventCount,total", "--format", "csv"];
        workspace.run(&[&fields[..], &RANGE].concat()).succeeded()
    };
    assert_eq!(answer("ds"), answer("whole"));
    assert!(!workspace.names().iter().any(|name| name.starts_with('.')));
}

#[test]
fn a_command_says_that_it_waits_and_how_to_wait() {
    let workspace = Workspace::with_dataset();
    workspace.write("more.csv", &events(3));
    let folder = File::open(workspace.path("ds")).unwrap();
    folder.lock().unwrap();
    for arguments in [
        &["ingest", "more.csv", "--into", "ds"][..],
        &["define", "ds", "--remove"],
        &["vacuum", "ds"],
        &["compact", "ds", "--all"],
        &["forget", "ds", "--account", "acme", "--customer", "3"],
    ] {
        let error = workspace.run(arguments).failed(1);
        let expected =
            "error: another command is writing to `ds`; try again when it is done, or wait for it with `--wait 30s`\n";
        assert_eq!(error, expected);
        let begun = Instant::now();
        let error = workspace.run(&[arguments, &["--wait", "1s"]].concat()).failed(1);
        assert_eq!(error, "error: another command is writing to `ds`; it was not done after a wait of 1s\n");
        assert!(begun.elapsed() >= Duration::from_secs(1));
    }
    let text = shown(&workspace, "trueup expire ds --keep-last 1 --wait 2s");
    assert!(text.contains("waiting for another writer ") && text.contains("not done after a wait of 2s"), "{text:?}");
    let error = workspace.run(&["vacuum", "ds", "--wait", "soon"]).failed(2);
    assert!(error.contains("expected a time such as `30s`, `5m` or `1h`, but found `soon`"), "{error}");
}

#[test]
fn a_signal_ends_the_wait() {
    let workspace = Workspace::with_dataset();
    workspace.write("more.csv", &events(3));
    let folder = File::open(workspace.path("ds")).unwrap();
    folder.lock().unwrap();
    let before = workspace.shell("find . | sort").succeeded();
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        let mut command = workspace.command();
        command.args(["ingest", "more.csv", "--into", "ds", "--wait", "1h"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A signal that comes before the program hears it would end the program without a message.
        sleep(Duration::from_secs(2));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(message, "error: the ingest was canceled, and nothing was ingested\n");
        assert_eq!(workspace.shell("find . | sort").succeeded(), before);
    }
}
