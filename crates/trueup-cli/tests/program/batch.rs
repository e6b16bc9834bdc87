//! `trueup batch` writes the results of `trueup query` into files.

use crate::workspace::{Run, Workspace};

const JOBS_TOML: &str = r#"
dataset = "../ds"

[defaults]
fields = ["attributionChannel", "leads", "spend"]
start = 2025-01-01
end = "2025-03-31"
format = "csv"

[[query]]
name = "channels"

[[query]]
name = "months"
output = "by month.json"
fields = "leads, bookRate"
interval = "month"
account = "acme"

[[query]]
output = "drains"
format = "ndjson"
where = ['campaign=["regex", "drain", "i"]', "attributionChannel=Direct"]

[[query]]
name = "year"
end = 2025-12-31
allow-long-total = true
filter = '{"leads": ["gte", 2]}'
account = ["acme", "beta"]

[[query]]
output = "all.parquet"
"#;

fn batch(workspace: &Workspace, jobs: &str) -> Run {
    std::fs::create_dir_all(workspace.path("jobs")).unwrap();
    workspace.write("jobs/jobs.toml", jobs);
    workspace.run(&["batch", "jobs/jobs.toml", "--into", "out/answers"])
}

fn files(workspace: &Workspace) -> Vec<String> {
    let Ok(entries) = workspace.path("out/answers").read_dir() else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn each_file_equals_the_result_of_query() {
    let workspace = Workspace::with_dataset();
    let stdout = batch(&workspace, JOBS_TOML).succeeded();
    assert_eq!(
        stdout,
        "channels.csv: 2 rows\nby month.json: 3 rows\ndrains: 1 row\nyear.csv: 1 row\nall.parquet: 2 rows\n"
    );
    assert_eq!(files(&workspace), ["all.parquet", "by month.json", "channels.csv", "drains", "year.csv"]);
    let fields = "attributionChannel,leads,spend";
    let queries: [(&str, &str, &[&str]); 5] = [
        ("channels.csv", fields, &["--format", "csv"]),
        ("by month.json", "leads,bookRate", &["--interval", "month", "--account", "acme", "--format", "json"]),
        (
            "drains",
            fields,
            &[
                "--where",
                r#"campaign=["regex", "drain", "i"]"#,
                "--where",
                "attributionChannel=Direct",
                "--format=ndjson",
            ],
        ),
        ("year.csv", fields, &["--filter", r#"{"leads": ["gte", 2]}"#, "--format", "csv"]),
        ("all.parquet", fields, &[]),
    ];
    for (file, fields, more) in queries {
        workspace.query(fields, &[more, ["-o", "expected.parquet", "--force"].as_slice()].concat()).succeeded();
        let read = |name: &str| std::fs::read(workspace.path(name)).unwrap();
        assert_eq!(read(&format!("out/answers/{file}")), read("expected.parquet"), "{file}");
    }
}

#[test]
fn existing_files_are_replaced_only_with_force() {
    let workspace = Workspace::with_dataset();
    std::fs::create_dir_all(workspace.path("out/answers")).unwrap();
    workspace.write("out/answers/year.csv", "old");
    let message = batch(&workspace, JOBS_TOML).failed(1);
    assert_eq!(
        message,
        "error: query `year`: `out/answers/year.csv` is already there; name another file, or pass `--force` to replace it\n\
         error: 1 of 5 queries cannot be run, so none was\n"
    );
    assert_eq!(files(&workspace), ["year.csv"]);
    let read = || std::fs::read_to_string(workspace.path("out/answers/year.csv")).unwrap();
    assert_eq!(read(), "old");
    workspace.run(&["batch", "jobs/jobs.toml", "--into", "out/answers", "--force"]).succeeded();
    assert!(read().starts_with("attribution"));
    assert_eq!(files(&workspace).len(), 5);
}

#[cfg(unix)]
#[test]
fn files_have_the_usual_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let workspace = Workspace::with_dataset();
    batch(&workspace, JOBS_TOML).succeeded();
    let mode = |name: &str| workspace.path(name).metadata().unwrap().permissions().mode();
    assert_eq!(mode("out/answers/channels.csv"), mode("events.csv"));
}

#[test]
fn all_queries_are_checked_before_the_first_runs() {
    let workspace = Workspace::with_dataset();
    let more = r#"
[[query]]
name = "long"
end = 2025-12-31

[[query]]
name = "who"
account = "gamma"

[[query]]
name = "when"
start = "2025-02-30"

[[query]]
name = "how"
where = "campaign"

[[query]]
name = "what"
fields = "zip"

[[query]]
name = "CHANNELS"

[[query]]
name = "../up"

[[query]]
output = "x.ods"

[[query]]
fields = "leads"

[[query]]
name = "kind"
format = "xml"

[[query]]
name = "often"
interval = "year"
"#;
    let message = batch(&workspace, &format!("{JOBS_TOML}{more}")).failed(1);
    let lines: Vec<&str> = message.lines().collect();
    for (line, words) in lines.iter().zip([
        "query `long`: ",
        "query `who`: the dataset has no account `gamma`",
        "query `when`: `start`: expected a date as YYYY-MM-DD",
        "query `how`: `where`: expected an operator (`=`, `!=`, ",
        "query `what`: expected at least one metric",
        "query `CHANNELS`: `CHANNELS.csv` is written by query `channels` too",
        "query `../up`: expected the name of a file",
        "query `x.ods`: expected a file that ends in",
        "query 14: the key `name` is missing",
        "query `kind`: expected a format (`table`, `json`",
        "query `often`: `interval`: expected an interval",
        "11 of 16 queries cannot be run, so none was",
    ]) {
        assert!(line.starts_with("error: ") && line.contains(words), "{line}\n{words}");
    }
    assert_eq!(lines.len(), 12, "{message}");
    assert_eq!(files(&workspace), [""; 0]);
}

#[test]
fn invalid_jobs_files_are_refused() {
    let workspace = Workspace::with_dataset();
    let failed = |jobs: &str| {
        let message = batch(&workspace, jobs).failed(1);
        assert_eq!(message.lines().count(), 1, "{message}");
        message
    };
    assert!(failed("dataset = '../ds'").contains("no `[[query]]`"));
    assert!(failed("dataset = '../ds'\n[[query]]\nfeilds = 'leads'").contains("`feilds`"));
    assert!(failed("dataset = '../ds'\n[[query]]\nstart = 7").contains("expected a date"));
    assert!(failed("dataset = '../ds'\n[[query]]\naccount = 7").contains("expected a text or a list of texts"));
    assert!(failed("[[query]]").contains("`dataset`"));
    assert!(failed("dataset = 'none'\n[[query]]").contains("none"));
    assert!(failed("dataset = '../ds'\nas-of = 7\n[[query]]").contains('7'));
    assert!(failed("dataset = '../ds'\n[[query]]\nend = 2025-02-30").contains("line 3"));
    assert!(failed("what").contains("jobs.toml"));
    assert!(workspace.run(&["batch", "no.toml", "--into", "out"]).failed(1).contains("no.toml"));
    workspace.run(&["batch", "jobs/jobs.toml"]).failed(2);
}

#[test]
fn a_folder_in_place_of_an_output_is_reported_before_the_first_query_runs() {
    let workspace = Workspace::with_dataset();
    std::fs::create_dir_all(workspace.path("out/answers/by month.json")).unwrap();
    let message = batch(&workspace, JOBS_TOML).failed(1);
    assert!(message.starts_with("error: query `months`: ") && message.contains("by month.json"), "{message}");
    assert_eq!(files(&workspace), ["by month.json"]);
}

/// The shell sets a size limit that the second file exceeds.
#[cfg(unix)]
#[test]
fn a_failing_job_is_named_and_leaves_no_file() {
    let workspace = Workspace::with_dataset();
    let days = "[[query]]\nname = \"days\"\nfields = \"leads\"\ninterval = \"day\"\nstart = 1990-01-01\n";
    std::fs::create_dir_all(workspace.path("jobs")).unwrap();
    let months = "[[query]]\nname = \"months\"";
    workspace.write("jobs/jobs.toml", &JOBS_TOML.replace(months, &format!("{days}\n{months}")));
    let run = workspace.shell("ulimit -f 16; exec trueup batch jobs/jobs.toml --into out/answers");
    assert_eq!((run.code, run.stdout.as_str()), (1, "channels.csv: 2 rows\n"), "{run:?}");
    assert!(run.stderr.starts_with("error: query `days`: `out/answers/days.csv`: "), "{run:?}");
    assert_eq!(files(&workspace), ["channels.csv"]);
}

#[test]
fn unknown_names_are_refused_unless_they_are_allowed() {
    let workspace = Workspace::with_dataset();
    let odd = format!("{JOBS_TOML}[[query]]\nname = \"odd\"\nfields = \"colour,leads\"\n");
    let message = batch(&workspace, &odd).failed(1);
    assert!(message.starts_with("error: query `odd`: neither") && message.contains("`colour`; "), "{message}");
    assert!(files(&workspace).is_empty());
    let run = batch(&workspace, &format!("{odd}allow-unknown = true\n"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.starts_with("warning: query `odd`: neither") && run.stderr.lines().count() == 1, "{run:?}");
    workspace.write("jobs/jobs.toml", &odd);
    let run = workspace.run(&["batch", "jobs/jobs.toml", "--into", "all", "--allow-unknown"]);
    assert!(run.code == 0 && run.stderr.starts_with("warning: query `odd`: neither"), "{run:?}");
}

#[test]
fn a_value_that_no_event_has_makes_the_batch_fail_unless_it_is_allowed() {
    let workspace = Workspace::with_dataset();
    let odd = format!("{JOBS_TOML}where = 'zip=123'\n");
    let warning = "warning: query `all.parquet`: no event and no spend of the dataset has the value `123` in `zip`";
    // All files are written, but the exit code says that an answer may be wrong.
    let run = batch(&workspace, &odd);
    assert_eq!((run.code, run.stdout.lines().count(), files(&workspace).len()), (1, 5, 5), "{run:?}");
    let error = "error: a filter has a value that no event and no spend has; `--allow-unknown` allows it\n";
    assert!(run.stderr.starts_with(warning) && run.stderr.ends_with(error), "{run:?}");
    for more in [["--into", "all", "--allow-unknown"], ["--into", "strict", "--strict"]] {
        let run = workspace.run(&[["batch", "jobs/jobs.toml"].as_slice(), &more].concat());
        match more[2] {
            "--strict" => assert!(run.failed(1).starts_with("error: query `all.parquet`: no event and no spend of ")),
            _ => assert!(run.code == 0 && run.stderr.starts_with(warning), "{run:?}"),
        }
    }
    assert!(!workspace.path("strict").exists());
}

#[test]
fn the_help_lists_the_keys_of_a_query() {
    let help = Workspace::new().run(&["batch", "--help"]).succeeded();
    let (_, keys) = help.split_once("The keys of a query are options of `trueup query`:").unwrap();
    let (keys, _) = keys.split_once("A query also has").unwrap();
    let listed: Vec<&str> = keys.split(|character: char| !character.is_alphabetic() && character != '-').collect();
    for parameter in &trueup::request::PARAMETERS {
        assert!(listed.contains(&parameter.name), "{}", parameter.name);
    }
}
