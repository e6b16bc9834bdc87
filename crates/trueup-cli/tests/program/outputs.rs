//! Files that the program writes: never over an input, never into a dataset, over another file only with `--force`, and
//! complete or not at all.
#![cfg(unix)]

use crate::workspace::{EVENTS_CSV, RANGE, Workspace};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;
use std::thread;
use std::time::Duration;

const OLD: &str = "an older file";

/// Returns every file of the dataset with its bytes.
fn dataset(workspace: &Workspace) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    for folder in ["ds", "ds/events", "ds/spend", "ds/accounts"] {
        for entry in workspace.path(folder).read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                files.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort_unstable();
    files
}

#[test]
fn an_existing_file_is_replaced_only_with_force() {
    let workspace = Workspace::with_dataset();
    workspace.write("out.csv", OLD);
    let message = workspace.query("leads", &["-o", "out.csv"]).failed(1);
    assert_eq!(message, "error: `out.csv` is already there; name another file, or pass `--force` to replace it\n");
    assert_eq!(fs::read_to_string(workspace.path("out.csv")).unwrap(), OLD);
    workspace.query("leads", &["-o", "out.csv", "--force"]).succeeded();
    assert_eq!(fs::read_to_string(workspace.path("out.csv")).unwrap(), "leads\n3\n");
    // A symbolic link stays, and its target is replaced.
    symlink("out.csv", workspace.path("link.csv")).unwrap();
    workspace.query("eventCount", &["-o", "link.csv"]).failed(1);
    workspace.query("eventCount", &["-o", "link.csv", "--force"]).succeeded();
    assert!(workspace.path("link.csv").is_symlink());
    assert_eq!(fs::read_to_string(workspace.path("out.csv")).unwrap(), "eventCount\n5\n");
    assert_eq!(workspace.names(), ["accounts.csv", "ds", "events.csv", "link.csv", "out.csv", "spend.csv"]);
}

#[test]
fn no_result_is_written_into_a_dataset() {
    let workspace = Workspace::with_dataset();
    workspace.run(&["ingest", "events.csv", "--into", "other"]).succeeded();
    let before = dataset(&workspace);
    fs::hard_link(workspace.event_file(), workspace.path("hard.parquet")).unwrap();
    symlink(workspace.event_file(), workspace.path("soft.parquet")).unwrap();
    symlink("ds", workspace.path("alias")).unwrap();
    fs::create_dir(workspace.path("ds/notes")).unwrap();
    let manifest = "ds/manifest-00000001.json";
    for output in [
        manifest,
        "./ds/../ds/manifest-00000001.json",
        "alias/manifest-00000001.json",
        "hard.parquet",
        "soft.parquet",
        "ds/out.csv",
        "ds/events/out.csv",
        "ds/notes/out.csv",
        "alias/events/out.csv",
        "other/out.csv",
        "other/events/out.csv",
    ] {
        for force in [&["--format", "csv"][..], &["--format", "csv", "--force"]] {
            let message = workspace.query("leads", &[&["-o", output], force].concat()).failed(1);
            assert!(message.contains(&format!("`{output}` belongs to the dataset")), "{message}");
        }
    }
    assert_eq!(dataset(&workspace), before);
    assert!(!workspace.path("other/out.csv").exists() && !workspace.path("other/events/out.csv").exists());
    let message = workspace.run(&["demo", "ds/demo", "--events", "2000"]).failed(1);
    assert!(message.contains("`ds/demo` belongs to the dataset"), "{message}");
}

#[test]
fn no_batch_replaces_its_jobs_file_or_its_dataset() {
    let workspace = Workspace::with_dataset();
    let jobs = |output: &str| {
        format!(
            "dataset = 'ds'\n[[query]]\noutput = '{output}'\nformat = 'csv'\nfields = 'leads'\n\
             start = 2025-01-01\nend = 2025-03-31\n"
        )
    };
    workspace.write("jobs.toml", &jobs("jobs.toml"));
    let message = workspace.run(&["batch", "jobs.toml", "--into", ".", "--force"]).failed(1);
    assert!(message.contains("`./jobs.toml` is the input `jobs.toml`"), "{message}");
    workspace.write("jobs.toml", &jobs("other.toml"));
    for make in [
        |workspace: &Workspace| fs::hard_link(workspace.path("jobs.toml"), workspace.path("other.toml")),
        |workspace: &Workspace| symlink("jobs.toml", workspace.path("other.toml")),
    ] {
        make(&workspace).unwrap();
        let message = workspace.run(&["batch", "jobs.toml", "--into", "./ds/..", "--force"]).failed(1);
        assert!(message.contains("is the input `jobs.toml`"), "{message}");
        fs::remove_file(workspace.path("other.toml")).unwrap();
    }
    assert_eq!(fs::read_to_string(workspace.path("jobs.toml")).unwrap(), jobs("other.toml"));
    let before = dataset(&workspace);
    for folder in ["ds", "ds/events", "ds/answers", "./ds/../ds"] {
        let message = workspace.run(&["batch", "jobs.toml", "--into", folder, "--force"]).failed(1);
        assert!(message.contains("belongs to the dataset `./ds`") || message.contains("dataset `ds`"), "{message}");
    }
    assert_eq!(dataset(&workspace), before);
    assert!(!workspace.path("ds/answers").exists());
}

#[test]
fn no_file_of_rejects_replaces_an_input_or_goes_into_a_dataset() {
    let workspace = Workspace::new();
    workspace.write("events.csv", EVENTS_CSV);
    workspace.write("spend.csv", "account,date,adSpend\n");
    fs::hard_link(workspace.path("events.csv"), workspace.path("hard.csv")).unwrap();
    symlink("spend.csv", workspace.path("soft.csv")).unwrap();
    fs::create_dir(workspace.path("folder")).unwrap();
    let ingest = |rejects: &str, more: &[&str]| {
        let arguments = ["ingest", "events.csv", "--spend", "spend.csv", "--into", "ds", "--rejects", rejects];
        workspace.run(&[&arguments, more].concat())
    };
    for rejects in ["events.csv", "./folder/../events.csv", "hard.csv", "spend.csv", "soft.csv"] {
        let message = ingest(rejects, &["--force"]).failed(1);
        assert!(message.contains(&format!("`{rejects}` is the input `")), "{message}");
    }
    for rejects in ["ds/rejects.ndjson", "ds/events/rejects.ndjson", "./folder/../ds/rejects.ndjson"] {
        let message = ingest(rejects, &["--force"]).failed(1);
        assert!(message.contains(&format!("`{rejects}` belongs to the dataset")), "{message}");
    }
    workspace.write("old.ndjson", OLD);
    assert!(ingest("old.ndjson", &[]).failed(1).contains("`--force`"));
    assert!(ingest("folder", &["--force"]).failed(1).contains("`folder` is a folder"));
    // All of this is found before anything is created.
    assert_eq!(workspace.names(), ["events.csv", "folder", "hard.csv", "old.ndjson", "soft.csv", "spend.csv"]);
    assert_eq!(fs::read_to_string(workspace.path("events.csv")).unwrap(), EVENTS_CSV);
    assert_eq!(fs::read_to_string(workspace.path("old.ndjson")).unwrap(), OLD);
    assert_eq!(ingest("old.ndjson", &["--force"]).code, 0);
    assert_eq!(fs::read_to_string(workspace.path("old.ndjson")).unwrap(), "");
}

#[test]
fn devices_and_pipes_are_written_and_folders_refused() {
    let workspace = Workspace::with_dataset();
    workspace.query("leads", &["-o", "/dev/null", "--format", "csv"]).succeeded();
    assert_eq!(workspace.query("leads", &["-o", "/dev/stdout", "--format", "csv"]).succeeded(), "leads\n3\n");
    let range = RANGE.join(" ");
    let query = format!("trueup query ds --fields leads {range} --format csv");
    // Stdout is a file with contents: they stay, and the result is appended.
    let run = workspace.shell(&format!("echo first > kept; {query} -o /dev/stdout >> kept; cat kept"));
    assert_eq!(run.succeeded(), "first\nleads\n3\n");
    let run = workspace.shell(&format!("mkfifo pipe; cat pipe > read & {query} -o pipe; wait; cat read; test -p pipe"));
    assert_eq!(run.succeeded(), "leads\n3\n");
    let message = workspace.query("leads", &["-o", "/dev/full", "--format", "csv"]).failed(1);
    assert!(message.starts_with("error: `/dev/full`: ") && message.contains("No space"), "{message}");
    symlink("nowhere", workspace.path("dangling.csv")).unwrap();
    let message = workspace.query("leads", &["-o", "dangling.csv", "--force"]).failed(1);
    assert!(message.contains("`dangling.csv` is a symbolic link"), "{message}");
    for folder in [".", "..", "/"] {
        let message = workspace.query("leads", &["-o", folder, "--force"]).failed(1);
        assert!(message.contains(&format!("`{folder}` is a folder")), "{message}");
    }
    assert!(!workspace.path("nowhere").exists());
}

#[test]
fn rejects_and_the_summary_may_share_a_file() {
    let workspace = Workspace::new();
    let rows: String = (0..40).map(|row| format!("acme,{row},booked,never,{row}\n")).collect();
    workspace
        .write("events.csv", &format!("account,opportunityId,type,date,eventId\nacme,1,booked,2025-01-03,x\n{rows}"));
    let ingest = "trueup ingest events.csv --into ds --rejects /dev/stdout";
    for share in ["> out", ">> out", "> out 2>&1"] {
        let run = workspace.shell(&format!("rm -rf ds out; {ingest} {share} && cat out"));
        assert_eq!(run.code, 0, "{share}: {run:?}");
        let written = run.stdout;
        let rejects: Vec<&str> = written.lines().filter(|line| line.starts_with('{')).collect();
        assert_eq!(rejects.len(), 40, "{written}");
        assert!(rejects.iter().all(|line| line.ends_with('}')) && written.lines().count() > 40, "{written}");
    }
}

#[test]
fn files_get_the_usual_permissions() {
    let workspace = Workspace::with_dataset();
    let mode = |name: &str| workspace.path(name).metadata().unwrap().permissions().mode() & 0o777;
    let range = RANGE.join(" ");
    let query = format!("trueup query ds --fields leads {range}");
    workspace.shell(&format!("umask 027; {query} -o narrow.csv; umask 0; {query} -o wide.csv")).succeeded();
    assert_eq!((mode("narrow.csv"), mode("wide.csv")), (0o640, 0o666));
    // Replacing a file does not widen its permissions.
    fs::set_permissions(workspace.path("wide.csv"), fs::Permissions::from_mode(0o600)).unwrap();
    workspace.shell(&format!("umask 0; {query} -o wide.csv --force")).succeeded();
    assert_eq!(mode("wide.csv"), 0o600);
}

/// A limit on the size of files has the same effect as a full disk.
#[test]
fn a_failed_write_is_reported_and_leaves_nothing() {
    let workspace = Workspace::with_dataset();
    workspace.write("old.csv", OLD);
    let before = workspace.names();
    let query = "trueup query ds --fields leads,closedRevenue --start 1990-01-01 --end 2025-03-31 --interval day";
    for (output, format) in
        [("out.csv", "csv"), ("out.parquet", "parquet"), ("out.arrow", "arrow"), ("old.csv", "json")]
    {
        let run = workspace.shell(&format!("ulimit -f 4; exec {query} --format {format} --force -o {output}"));
        let message = run.failed(1);
        assert!(message.starts_with(&format!("error: `{output}`: ")) && message.contains("too large"), "{message}");
        assert_eq!(workspace.names(), before);
    }
    assert_eq!(fs::read_to_string(workspace.path("old.csv")).unwrap(), OLD);
}

#[test]
fn a_failed_ingest_leaves_no_file_of_rejects() {
    let workspace = Workspace::new();
    let rows: String = (0..4_000).map(|row| format!("acme,{row},booked,2025-01-03,{row},x{}\n", row * 7_919)).collect();
    workspace.write("events.csv", &format!("account,opportunityId,type,date,eventId,campaign\nacme,,x,y,z,\n{rows}"));
    let ingest = "exec trueup ingest events.csv --into ds --rejects rejects.ndjson";
    let message = workspace.shell(&format!("ulimit -f 4; {ingest}")).failed(1);
    assert!(message.contains("ds/events/") && message.contains("too large"), "{message}");
    assert_eq!(workspace.names(), ["events.csv"]);
    assert_eq!(workspace.shell(ingest).code, 0);
    assert_eq!(workspace.names(), ["ds", "events.csv", "rejects.ndjson"]);
}

#[test]
fn a_kill_at_any_moment_leaves_no_partial_file() {
    let workspace = Workspace::with_dataset();
    let query = |output: &str| {
        let mut command = workspace.command();
        command.args(["query", "ds", "--fields", "leads,closedRevenue,spend", "--interval", "day", "-o", output]);
        command.args(["--start", "1990-01-01", "--end", "2025-03-31", "--force"]);
        command
    };
    assert!(query("whole.csv").status().unwrap().success());
    let whole = fs::read(workspace.path("whole.csv")).unwrap();
    let before = workspace.names();
    let mut ended = 0;
    for (step, signal) in (0..60).zip(["KILL", "INT", "TERM", "HUP"].iter().cycle()) {
        let mut child = query("out.csv").spawn().unwrap();
        thread::sleep(Duration::from_millis(step * 4));
        let kill = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
        assert!(kill.unwrap().success());
        if child.wait().unwrap().success() {
            ended += 1;
        }
        if workspace.path("out.csv").exists() {
            assert_eq!(fs::read(workspace.path("out.csv")).unwrap(), whole);
            fs::remove_file(workspace.path("out.csv")).unwrap();
        }
        // On other systems a temporary file needs a name, and a kill leaves it.
        let mut names = workspace.names();
        if cfg!(not(target_os = "linux")) {
            names.retain(|name| !name.starts_with(".trueup-"));
        }
        assert_eq!(names, before);
    }
    assert!(ended < 60, "{ended}");
}
