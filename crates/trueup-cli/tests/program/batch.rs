//! `trueup batch`: the answers of `trueup query`, in files.

use crate::place::{Place, Run};

const JOBS: &str = r#"
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

fn batch(place: &Place, jobs: &str) -> Run {
    std::fs::create_dir_all(place.path("jobs")).unwrap();
    place.write("jobs/jobs.toml", jobs);
    place.run(&["batch", "jobs/jobs.toml", "--into", "out/answers"])
}

fn files(place: &Place) -> Vec<String> {
    let Ok(entries) = place.path("out/answers").read_dir() else { return Vec::new() };
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

#[test]
fn each_file_is_what_query_answers() {
    let place = Place::with_dataset();
    let said = batch(&place, JOBS).succeeded();
    assert_eq!(
        said,
        "channels.csv: 2 rows\nby month.json: 3 rows\ndrains: 1 row\nyear.csv: 1 row\nall.parquet: 2 rows\n"
    );
    assert_eq!(files(&place), ["all.parquet", "by month.json", "channels.csv", "drains", "year.csv"]);
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
        place.query(fields, &[more, ["-o", "expected.parquet", "--force"].as_slice()].concat()).succeeded();
        let read = |name: &str| std::fs::read(place.path(name)).unwrap();
        assert_eq!(read(&format!("out/answers/{file}")), read("expected.parquet"), "{file}");
    }
}

#[test]
fn files_that_are_there_are_replaced_only_if_asked_for() {
    let place = Place::with_dataset();
    std::fs::create_dir_all(place.path("out/answers")).unwrap();
    place.write("out/answers/year.csv", "old");
    let message = batch(&place, JOBS).failed(1);
    assert_eq!(
        message,
        "error: query `year`: `out/answers/year.csv` is already there; name another file, or pass `--force` to replace it\n\
         error: of 5 queries 1 cannot be run, so that none was\n"
    );
    assert_eq!(files(&place), ["year.csv"]);
    let read = || std::fs::read_to_string(place.path("out/answers/year.csv")).unwrap();
    assert_eq!(read(), "old");
    place.run(&["batch", "jobs/jobs.toml", "--into", "out/answers", "--force"]).succeeded();
    assert!(read().starts_with("attribution"));
    assert_eq!(files(&place).len(), 5);
}

#[cfg(unix)]
#[test]
fn files_are_readable_as_any_other() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::with_dataset();
    batch(&place, JOBS).succeeded();
    let mode = |name: &str| place.path(name).metadata().unwrap().permissions().mode();
    assert_eq!(mode("out/answers/channels.csv"), mode("events.csv"));
}

#[test]
fn all_are_checked_before_the_first_runs() {
    let place = Place::with_dataset();
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
output = "x.xlsx"

[[query]]
fields = "leads"

[[query]]
name = "kind"
format = "xml"

[[query]]
name = "often"
interval = "year"
"#;
    let message = batch(&place, &format!("{JOBS}{more}")).failed(1);
    let lines: Vec<&str> = message.lines().collect();
    for (line, words) in lines.iter().zip([
        "query `long`: ",
        "query `who`: the dataset has no account `gamma`",
        "query `when`: expected a date as YYYY-MM-DD",
        "query `how`: expected `field=value`, but found `campaign`",
        "query `what`: expected at least one metric",
        "query `CHANNELS`: `CHANNELS.csv` is written by query `channels` too",
        "query `../up`: expected the name of a file",
        "query `x.xlsx`: expected a file that ends in",
        "query 14: the key `name` is missing",
        "query `kind`: expected a format (`table`, `json`",
        "query `often`: expected an interval",
        "of 16 queries 11 cannot be run, so that none was",
    ]) {
        assert!(line.starts_with("error: ") && line.contains(words), "{line}\n{words}");
    }
    assert_eq!(lines.len(), 12, "{message}");
    assert_eq!(files(&place), [""; 0]);
}

#[test]
fn files_that_are_no_jobs() {
    let place = Place::with_dataset();
    let failed = |jobs: &str| {
        let message = batch(&place, jobs).failed(1);
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
    assert!(place.run(&["batch", "no.toml", "--into", "out"]).failed(1).contains("no.toml"));
    place.run(&["batch", "jobs/jobs.toml"]).failed(2);
}

#[test]
fn a_folder_of_the_name_of_a_file_is_seen_before_the_first_query_runs() {
    let place = Place::with_dataset();
    std::fs::create_dir_all(place.path("out/answers/by month.json")).unwrap();
    let message = batch(&place, JOBS).failed(1);
    assert!(message.starts_with("error: query `months`: ") && message.contains("by month.json"), "{message}");
    assert_eq!(files(&place), ["by month.json"]);
}

/// The second file is too large for the limit that the shell sets.
#[cfg(unix)]
#[test]
fn a_job_that_fails_names_itself_and_leaves_no_file() {
    let place = Place::with_dataset();
    let days = "[[query]]\nname = \"days\"\nfields = \"leads\"\ninterval = \"day\"\nstart = 1990-01-01\n";
    std::fs::create_dir_all(place.path("jobs")).unwrap();
    let months = "[[query]]\nname = \"months\"";
    place.write("jobs/jobs.toml", &JOBS.replace(months, &format!("{days}\n{months}")));
    let run = place.shell("ulimit -f 16; exec trueup batch jobs/jobs.toml --into out/answers");
    assert_eq!((run.code, run.stdout.as_str()), (1, "channels.csv: 2 rows\n"), "{run:?}");
    assert!(run.stderr.starts_with("error: query `days`: `out/answers/days.csv`: "), "{run:?}");
    assert_eq!(files(&place), ["channels.csv"]);
}

#[test]
fn unknown_fields_are_warned_of() {
    let place = Place::with_dataset();
    let run = batch(&place, &format!("{JOBS}[[query]]\nname = \"odd\"\nfields = \"colour,leads\"\n"));
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stderr.starts_with("warning: query `odd`: neither") && run.stderr.lines().count() == 1, "{run:?}");
}
