//! `trueup demo`: the dataset, the report and the suggested commands.

use crate::workspace::{Run, RunningServer, Workspace};
use std::process::Command;
use std::time::SystemTime;
use trueup::Day;

fn demo(workspace: &Workspace, more: &[&str]) -> Run {
    workspace
        .run(&[&["demo", "my demo", "--events", "4000", "--accounts", "3", "--until", "2026-06-30"], more].concat())
}

#[test]
fn the_demo_reports_and_its_suggested_commands_work() {
    let workspace = Workspace::new();
    let first = demo(&workspace, &[]);
    assert_eq!(first.code, 0, "{first:?}");
    assert!(first.stderr.contains("created the demo dataset `my demo`"), "{first:?}");
    for part in ["The last 90 days", "Book Rate", "by channel", "Direct", "Month by month", "2026-06", "Try next"] {
        assert!(first.stdout.contains(part), "`{part}` is missing:\n{}", first.stdout);
    }
    assert!(first.stdout.ends_with('\n') && !first.stdout.ends_with("\n\n"), "{}", first.stdout);
    // No temporary files are left next to the dataset and its report.
    assert_eq!(workspace.names(), ["my demo", "my demo-report.html"]);
    assert!(first.stderr.contains("wrote the report about 2026-06 to `my demo-report.html`"), "{first:?}");
    assert!(first.stdout.contains("The report about 2026-06 is `my demo-report.html`"), "{}", first.stdout);
    assert!(workspace.run(&["verify", "my demo"]).succeeded().contains("is whole"));

    let again = demo(&workspace, &[]);
    assert!(again.code == 0 && again.stderr.contains("already holds this demo"), "{again:?}");
    assert!(again.stderr.contains("`my demo-report.html` already has the report"), "{again:?}");
    // A key is shown only once, so the user gets a new one.
    let keyless = |run: &Run| run.stdout.replace(&key(run), "KEY");
    assert_eq!(keyless(&again), keyless(&first));
    assert_ne!(key(&again), key(&first));

    let program = env!("CARGO_BIN_EXE_trueup");
    let (key, text) = (key(&again), again.stdout);
    let commands: Vec<&str> =
        text.lines().map(str::trim).filter(|line| line.starts_with(program) && line.contains("'my demo'")).collect();
    assert_eq!(commands.len(), 11, "{text}");
    let shell = |command: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(workspace.path("")).env("TRUEUP_KEY", &key);
        shell
    };
    for command in commands.iter().filter(|command| !command.contains(" serve ")) {
        let run = shell(command).output().unwrap();
        // Creating another demo is reported on stderr.
        let is_silent = run.stderr.is_empty() || command.contains(" demo ");
        assert!(run.status.success() && is_silent && !run.stdout.is_empty(), "{command}: {run:?}");
    }
    let serve = commands.iter().find(|command| command.contains(" serve ")).unwrap();
    let server = RunningServer::start(shell(&format!("exec {serve} --listen 127.0.0.1:0")));
    let curl = text.lines().find(|line| line.contains("curl")).unwrap();
    let path = curl.split("http://127.0.0.1:8080").nth(1).unwrap().trim_end_matches('\'');
    let (head, body) = server.get(path, &key);
    assert!(head.starts_with("HTTP/1.1 200 ") && body.contains("\"account\":") && curl.contains(&key), "{head} {body}");
    assert_eq!(server.stop("-TERM").0.code(), Some(0));
}

/// Returns the key that a demo prints.
fn key(run: &Run) -> String {
    let mut words = run.stdout.split("export TRUEUP_KEY=");
    words.nth(1).unwrap().lines().next().unwrap().to_owned()
}

/// With as many accounts as there are by default, the demo suggests a benchmarks request, and its answer has
/// percentiles. The demo also has insights and targets.
#[test]
fn the_demo_has_benchmarks_insights_and_targets() {
    let workspace = Workspace::new();
    let run = workspace.run(&["demo", "large", "--events", "40000", "--until", "2026-06-30"]);
    let line = run.stdout.lines().find(|line| line.contains("/benchmarks?")).unwrap_or_default();
    let path = line.split('\'').nth(1).unwrap();
    let get = workspace.get(Some(&key(&run)), &["large", path, "--body-only"]);
    assert!(get.code == 0 && get.stdout.contains(r#""series":"p50""#), "{get:?}");
    let get = workspace.get(Some(&key(&run)), &["large", "/api/demo-group/insights", "--body-only"]);
    let documents: Vec<serde_json::Value> = serde_json::from_str(&get.stdout).unwrap();
    assert_eq!(documents.len(), 6);
    for document in &documents {
        let insight = &document["insight"];
        let facts = [&document["date"], &insight["drafted_by"], &insight["period"]];
        assert_eq!(facts, ["2026-06-30", "rules", "June 2026"], "{document}");
    }
    let asked = ["query", "large", "--fields", "leads,spend", "--month", "2026-06", "--targets", "--format", "json"];
    let answer: serde_json::Value = serde_json::from_str(&workspace.run(&asked).succeeded()).unwrap();
    for metric in ["leads", "spend"] {
        // The targets are a little more than what the plan expects.
        let pace = answer[0][format!("{metric}.pace")].as_f64().unwrap();
        assert!((0.7..1.1).contains(&pace), "{metric} {pace}");
    }
}

#[test]
fn the_user_of_a_demo_sees_some_of_its_accounts() {
    let workspace = Workspace::new();
    let run = workspace.run(&["demo", "ds", "--events", "2000", "--accounts", "8"]);
    let access = |key: &str| {
        let get = workspace.get(Some(key), &["ds", "/api", "--body-only"]);
        serde_json::from_str::<serde_json::Value>(&get.stdout).unwrap()
    };
    let seen = access(&key(&run));
    let held: Vec<(&str, usize)> = seen["organizations"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["organization"].as_str().unwrap(), node["accounts"].as_array().unwrap().len()))
        .collect();
    assert_eq!(held, [("demo-group", 6), ("demo-group-east", 3), ("demo-group-west", 3)]);
    // If the user has been removed, the report has no key. If the directory is missing, it is created again.
    workspace.change(&["users", "remove", "ds", "demo@example.com"]);
    let again = workspace.run(&["demo", "ds", "--events", "2000", "--accounts", "8"]);
    assert!(again.code == 0 && !again.stdout.contains("TRUEUP_KEY"), "{again:?}");
    std::fs::remove_file(workspace.path("ds/directory.sqlite")).unwrap();
    let again = workspace.run(&["demo", "ds", "--events", "2000", "--accounts", "8"]);
    assert_eq!(access(&key(&again)), seen);
}

#[test]
fn the_seed_determines_the_data() {
    let workspace = Workspace::new();
    let report = |dir: &str, seed: &str| {
        let run = workspace.run(&["demo", dir, "--events", "2000", "--accounts", "2", "--seed", seed]);
        assert_eq!(run.code, 0, "{run:?}");
        run.stdout.split("Try next").next().unwrap().to_owned()
    };
    assert_eq!(report("a", "1"), report("b", "1"));
    assert_ne!(report("a", "1"), report("c", "2"));
}

#[test]
fn the_demo_ends_yesterday_or_on_a_given_day() {
    let workspace = Workspace::new();
    let demo = |dir: &str, more: &[&str]| {
        workspace.run(&[&["demo", dir, "--events", "2000", "--accounts", "2"], more].concat())
    };
    let run = demo("may", &["--until", "2026-05-20"]);
    assert!(run.code == 0 && run.stderr.contains("wrote the report about 2026-04 to"), "{run:?}");
    assert!(run.stdout.contains("The last 90 days, 2026-02-20 to 2026-05-20"), "{}", run.stdout);
    // Without a day, the demo that is there is meant.
    let again = demo("may", &[]);
    assert!(again.stderr.contains("`may` already holds this demo, until 2026-05-20; delete"), "{again:?}");
    assert!(demo("may", &["--until", "2026-05-21"]).failed(1).contains("does not hold this demo"));
    assert!(demo("old", &["--until", "1971-05-21"]).failed(2).contains("the 24 months begin with 1969-06-01"));

    let today = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() / 86_400;
    let before = today();
    let run = demo("new", &[]);
    let yesterdays = (before..=today()).map(|day| Day::from_number(u16::try_from(day - 1).unwrap()));
    assert!(yesterdays.into_iter().any(|day| run.stdout.contains(&format!(" to {day}\n"))), "{}", run.stdout);
}

#[test]
fn the_folder_of_the_demo_may_be_empty_but_needs_a_name() {
    let workspace = Workspace::new();
    let message = workspace.run(&["demo", "."]).failed(2);
    assert!(message.contains("`.`: expected the name of a folder to create"), "{message}");
    assert!(workspace.names().is_empty());

    std::fs::create_dir(workspace.path("q")).unwrap();
    let run = workspace.run(&["demo", "q/.", "--events", "2000", "--accounts", "2"]);
    assert!(run.code == 0 && run.stderr.contains("created the demo dataset `q`"), "{run:?}");
    assert_eq!(workspace.names(), ["q", "q-report.html"]);
    assert!(run.stdout.contains(" demo q-40 --accounts 40\n"), "{}", run.stdout);
}

#[cfg(unix)]
#[test]
fn the_folder_of_the_demo_may_be_a_link() {
    let workspace = Workspace::new();
    std::fs::create_dir_all(workspace.path("far/empty")).unwrap();
    std::os::unix::fs::symlink("far/empty", workspace.path("near")).unwrap();
    let run = workspace.run(&["demo", "near", "--events", "2000", "--accounts", "2"]);
    assert!(run.code == 0 && run.stderr.contains("created the demo dataset `near`"), "{run:?}");
    assert_eq!(workspace.names(), ["far", "near", "near-report.html"]);
    assert!(workspace.path("near").is_symlink());
    assert!(workspace.run(&["verify", "far/empty"]).succeeded().contains("is whole"));
}

#[test]
fn the_demo_does_not_touch_other_folders() {
    let workspace = Workspace::with_dataset();
    let message = workspace.run(&["demo", "ds", "--events", "2000"]).failed(1);
    assert!(message.contains("`ds`"), "{message}");
    std::fs::create_dir(workspace.path("full")).unwrap();
    workspace.write("full/notes.txt", "mine");
    workspace.run(&["demo", "full", "--events", "2000"]).failed(1);
    workspace.run(&["demo", "x", "--events", "0"]).failed(2);
    workspace.run(&["demo", "x", "--accounts", "1000000"]).failed(2);
    assert!(!workspace.path("x").exists());
}
