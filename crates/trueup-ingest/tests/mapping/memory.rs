//! What a mapping holds in memory, and which columns it decodes.

use crate::case::{Case, column};
use crate::files::parquet;
use crate::values::events_with;
use arrow_array::{ArrayRef, BinaryArray, Int64Array, StringArray};
use parquet::file::reader::{FileReader, SerializedFileReader};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::{env, fs};
use trueup_ingest::{ErrorKind, Ingest};

const MIB: usize = 1 << 20;

const JOINED: &str = r#"
[input.log]
file = "log.csv"
[input.people]
file = "people-*.csv"
[[events]]
from = "log"
join = [{ input = "people", on = "id", unmatched = "refuse" }]
columns = { account = { value = "x" }, opportunityId = "id", type = { value = "sold" }, date = "day", agent = "name" }
"#;

/// Returns a file of people, with about 100 bytes per row.
fn people(rows: std::ops::Range<usize>) -> String {
    let mut text = "id,name\n".to_owned();
    for id in rows {
        writeln!(text, "{id},{id:090}").unwrap();
    }
    text
}

#[test]
fn joined_inputs_that_do_not_fit_in_memory_are_refused() {
    let case = Case::new(JOINED)
        .file("log.csv", "id,day\n7,2025-01-01\n119999,2025-01-02\n")
        .file("people-1.csv", people(0..1_000))
        .file("people-2.csv", people(1_000..120_000));
    let error = case.ingest().memory(48 * MIB).run().unwrap_err();
    assert!(error.is_data());
    let ErrorKind::LargeJoin { path, bytes, limit } = error.kind() else { panic!("{error}") };
    assert_eq!((path, *limit), (&case.path("people-2.csv"), 16 * MIB));
    // Each row has two texts with their ends, and its location.
    assert!((15 * MIB..60 * MIB).contains(bytes), "{bytes}");
    let expected = format!(
        "the mapping joins `people-2.csv` and holds its rows in memory: with them, joined inputs take at least {bytes} bytes, but \
         they may take at most 16777216 in this memory; raise `--memory`"
    );
    assert_eq!(
        error.to_string().replace(&format!("{}/", case.path("").display().to_string().trim_end_matches('/')), ""),
        expected
    );
    assert_eq!(case.ingest().memory(400 * MIB).run().unwrap().events.taken, 2);
}

/// The environment variable that gives the process of [`peak`] the folder of its case.
const FOLDER: &str = "TRUEUP_TEST_MAPPING";

/// Ingests the files of a case with 32 MiB of memory in a separate process. Returns the number of events, or 0 if the
/// ingest is refused, and the peak memory of the process in bytes.
fn peak(case: &Case) -> (u64, usize) {
    let mut child = Command::new(env::current_exe().unwrap());
    child.args(["--exact", "memory::child", "--ignored", "--nocapture"]).env(FOLDER, case.path(""));
    let output = String::from_utf8(child.output().unwrap().stdout).unwrap();
    let number = |name: &str| {
        let line = output.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{output}"));
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap()
    };
    (u64::try_from(number("taken:")).unwrap(), number("VmHWM:") << 10)
}

/// Not a test: the process that [`peak`] starts.
#[test]
#[ignore = "run by another test in a separate process"]
fn child() {
    let Some(folder) = env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let ingest = Ingest::into(folder.join("dataset")).mapping(folder.join("mapping.toml")).threads(2);
    let ingest = ingest.events(folder.join("log.csv")).events(folder.join("people-1.csv")).memory(32 * MIB);
    println!("\ntaken: {}", ingest.run().map_or(0, |summary| summary.events.taken));
    println!("\n{}", fs::read_to_string("/proc/self/status").unwrap());
}

/// An ingest with 32 MiB takes at most a fifth more and 200 MiB, whether the joined rows fit or not.
#[test]
#[cfg(target_os = "linux")]
fn joined_inputs_stay_within_the_memory() {
    let mut log = "id,day\n".to_owned();
    (0..200_000).for_each(|id| writeln!(log, "{},2025-01-01", id % 20_000).unwrap());
    let case = |rows| Case::new(JOINED).file("log.csv", &log).file("people-1.csv", people(0..rows));
    for (rows, taken) in [(20_000, 200_000), (1_500_000, 0)] {
        let (found, peak) = peak(&case(rows));
        println!("{rows} joined rows took {} MiB", peak / MIB);
        assert!(found == taken && peak <= 32 * MIB / 5 * 6 + 200 * MIB, "{rows}: {found}, {} MiB", peak / MIB);
    }
}

/// The keys of a join take memory even if its rows take little.
#[test]
fn keys_of_joins_count_as_memory() {
    let mut rows = "id,name\n".to_owned();
    for id in 0..200_000 {
        writeln!(rows, "{id},").unwrap();
    }
    let case = Case::new(JOINED).file("log.csv", "id,day\n7,2025-01-01\n").file("people-1.csv", rows);
    let error = case.ingest().memory(48 * MIB).run().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::LargeJoin { .. }), "{error}");
    assert_eq!(case.ingest().memory(256 * MIB).run().unwrap().events.taken, 1);
}

#[test]
fn first_conversions_that_do_not_fit_in_memory_are_refused() {
    let mapping =
        events_with("date = { value = \"2025-01-01\" }\nsource = \"s\"\n[first_touch]\ncopy = [\"source\"]\n");
    let mut rows = "id,s\n".to_owned();
    for id in 0..120_000 {
        writeln!(rows, "{id},web").unwrap();
    }
    let case = Case::new(&mapping).file("a.csv", rows);
    let error = case.ingest().memory(16 * MIB).run().unwrap_err();
    let expected = "the inputs that the mapping joins, and the first conversions of the customers, take ";
    assert!(error.is_data() && error.to_string().starts_with(expected), "{error}");
    assert!(error.to_string().ends_with("at most 16777216 in this memory; raise `--memory`"), "{error}");
    assert_eq!(case.ingest().memory(256 * MIB).run().unwrap().events.taken, 120_000);
}

/// Other columns may hold anything, and may even be damaged.
#[test]
fn only_the_columns_that_a_mapping_names_are_decoded() {
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..1_000));
    let names: ArrayRef = Arc::new(StringArray::from_iter_values((0..1_000).map(|id| format!("name {id}"))));
    let photos: ArrayRef = Arc::new(BinaryArray::from_iter_values((0..1_000).map(|id| format!("photo {id}"))));
    let mut bytes = parquet([("photo", photos), ("id", ids), ("name", names)]);
    let file = SerializedFileReader::new(bytes::Bytes::from(bytes.clone())).unwrap();
    let photo = file.metadata().row_group(0).column(0).byte_range();
    let (first, length) = (usize::try_from(photo.0).unwrap(), usize::try_from(photo.1).unwrap());
    bytes[first..first + length].fill(0xff);
    let case = |columns: &str| {
        let mapping = events_with(&format!("date = {{ value = \"2025-01-01\" }}\n{columns}"));
        Case::new(&mapping.replace("a.csv", "a.parquet")).file("a.parquet", &bytes)
    };
    let rows = case("agent = \"name\"").events();
    assert_eq!(
        (rows.len(), rows[999]["opportunityId"].as_str(), rows[999]["agent"].as_str()),
        (1_000, "999", "name 999")
    );
    assert!(case("agent = \"photo\"").refusal().contains("a column of type Binary cannot be read as text"));
    // A mapping may name no column at all.
    let mapping = events_with("date = { value = \"2025-01-01\" }").replace("\"id\"", "{ value = \"one\" }");
    let rows = Case::new(&mapping.replace("a.csv", "a.parquet")).file("a.parquet", &bytes).events();
    assert_eq!(column(&rows, "opportunityId"), vec!["one"; 1_000]);
}
