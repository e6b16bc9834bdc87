//! What keeps a distributed ingest from being published. The dataset then stays as it was.

use crate::case::{Case, Row, answers, into, leftovers, random_rows, source, stage, stage_all};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use trueup_core::dataset::manifest_file;
use trueup_core::definitions::Definitions;
use trueup_core::model::tzdata_release;
use trueup_ingest::{Define, ErrorKind, Ingest, IngestError, StageFault, StagePlan, Staged, part_of};

/// A dataset with a version, and the rows of the next one.
fn begun() -> (Case, PathBuf, Vec<Row>) {
    let case = Case::new();
    let dataset = case.path("dataset");
    into(&dataset).events(source(&random_rows(200, 1))).run().unwrap();
    (case, dataset, random_rows(100, 2))
}

fn fault(error: &IngestError) -> &StageFault {
    match error.kind() {
        ErrorKind::Stage(fault) => fault,
        other => unreachable!("{other}"),
    }
}

/// Checks that a commit of changed parts is refused, and that it changes nothing.
fn refused(change: impl FnOnce(&Path, &mut Vec<Staged>, &[Row])) -> String {
    let (_case, dataset, rows) = begun();
    let before = answers(&dataset);
    let ingest = into(&dataset).begin_staged(4, None).unwrap();
    let mut staged = stage_all(&dataset, &ingest, &rows);
    change(&dataset, &mut staged, &rows);
    let error = ingest.commit(staged).unwrap_err();
    assert!(error.is_data() && !error.is_usage() && !error.may_be_published(), "{error}");
    assert_eq!(manifest_file::versions(&dataset).unwrap(), [1]);
    assert_eq!((leftovers(&dataset), answers(&dataset)), (Vec::new(), before));
    fault(&error).to_string().replace(dataset.to_str().unwrap(), "")
}

#[test]
fn parts_that_are_missing_or_there_twice_are_refused() {
    assert_eq!(refused(|_, staged, _| drop(staged.remove(1))), "1 of 4 parts is missing: 2");
    assert_eq!(refused(|_, staged, _| staged.truncate(1)), "3 of 4 parts are missing: 0, 1, 2");
    assert_eq!(refused(|_, staged, _| staged.clear()), "4 of 4 parts are missing: 0, 1, 2, 3");
    let twice = refused(|_, staged, _| staged.push(staged[0].clone()));
    assert_eq!(twice, "part 3 is there twice; hand back what one attempt has staged, and not that of another");
    // If one part is missing and another is there twice, their number is still right.
    assert!(refused(|_, staged, _| staged[0] = staged[2].clone()).starts_with("part 1 is there twice"));
}

#[test]
fn parts_of_another_ingest_are_refused() {
    let (_case, other, rows) = begun();
    let ingest = into(&other).begin_staged(4, None).unwrap();
    let foreign = stage_all(&other, &ingest, &rows);
    let text = refused(|_, staged, _| staged[2] = foreign[2].clone());
    assert!(text.starts_with("part 1 was staged for another ingest ("), "{text}");
}

#[test]
fn parts_of_another_plan_of_the_same_ingest_are_refused() {
    let text = refused(|dataset, staged, rows| {
        // As if a process had read a plan with other accounts.
        let record = fs::read_dir(dataset).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let id = record.filter_map(|name| name.strip_prefix(".trueup-pending-").map(str::to_owned)).next().unwrap();
        let begun = into(&dataset.with_extension("other"));
        let plan = begun.begin_staged(4, None).unwrap().plan().to_json().unwrap();
        let mut plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
        let manifest = manifest_file::read_latest(dataset).unwrap().unwrap();
        plan["ingest"] = id.into();
        plan["version"] = 2.into();
        plan["base"] = identity(&manifest).into();
        plan["rewritten"] = serde_json::Value::Array(Vec::new());
        let plan = StagePlan::from_json(&plan.to_string()).unwrap();
        staged[0] = stage(dataset, &plan, 3, rows).unwrap();
    });
    assert!(text.starts_with("part 3 was staged with another plan of this ingest; begin the ingest again"), "{text}");
}

#[test]
fn a_plan_without_a_version_is_refused() {
    let case = Case::new();
    let dataset = case.path("dataset");
    let ingest = into(&dataset).begin_staged(1, None).unwrap();
    let mut plan: serde_json::Value = serde_json::from_str(&ingest.plan().to_json().unwrap()).unwrap();
    plan["version"] = 0.into();
    let plan = StagePlan::from_json(&plan.to_string()).unwrap();
    let error = stage(&dataset, &plan, 0, &random_rows(10, 2)).unwrap_err();
    assert_eq!(fault(&error), &StageFault::NotPlan("it makes no version".to_owned()));
}

/// Returns the identity of a version, as the plan has it.
fn identity(manifest: &trueup_core::dataset::manifest::Manifest) -> String {
    let lines = manifest
        .tables()
        .into_iter()
        .flat_map(|(table, files)| files.iter().map(move |file| format!("{table} {} {}\n", file.path, file.blake3)));
    trueup_core::dataset::manifest::checksum(lines.collect::<String>())
}

#[test]
fn bytes_that_have_changed_are_refused() {
    let (_case, dataset, rows) = begun();
    let ingest = into(&dataset).begin_staged(2, None).unwrap();
    let bytes = stage(&dataset, ingest.plan(), 0, &rows).unwrap().to_bytes().unwrap();
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let error = Staged::from_bytes(&changed).unwrap_err();
        assert_eq!(fault(&error), &StageFault::Altered, "byte {at}");
    }
    for length in [0, 10, bytes.len() - 1] {
        assert!(Staged::from_bytes(&bytes[..length]).is_err());
    }
    assert!(StagePlan::from_json("{}").unwrap_err().to_string().starts_with("the text is not the plan"));
}

#[test]
fn files_that_are_missing_or_have_changed_in_length_are_refused() {
    let change = |dataset: &Path, change: fn(&Path)| {
        let record = fs::read_dir(dataset).unwrap().map(|entry| entry.unwrap().path());
        let record = record.filter(|path| path.to_str().unwrap().contains(".trueup-pending-")).collect::<Vec<_>>();
        let attempt = fs::read_dir(&record[0]).unwrap().map(|entry| entry.unwrap().path());
        let attempt = attempt.filter(|path| path.join("events").exists()).min().unwrap();
        change(&fs::read_dir(attempt.join("events")).unwrap().next().unwrap().unwrap().path());
    };
    let gone = refused(|dataset, _, _| change(dataset, |file| fs::remove_file(file).unwrap()));
    assert!(gone.contains(" is not there; every process must reach the dataset at the same place"), "{gone}");
    let cut = refused(|dataset, _, _| {
        change(dataset, |file| {
            let length = file.metadata().unwrap().len();
            fs::File::options().write(true).open(file).unwrap().set_len(length - 1).unwrap();
        });
    });
    assert!(cut.contains(" bytes instead of "), "{cut}");
}

#[test]
fn rows_that_belong_elsewhere_are_refused() {
    let (_case, dataset, rows) = begun();
    let account = rows[0][0].clone();
    let own = part_of(&account, 5);
    let ingest = into(&dataset).begin_staged(5, Some(BTreeSet::from([account.clone()]))).unwrap();
    let stage_rows = |part: u32, rows: &[Row]| Ingest::into(&dataset).events(source(rows)).stage(ingest.plan(), part);
    let of_account = rows.iter().filter(|row| row[0] == account).cloned().collect::<Vec<_>>();
    let error = stage_rows((own + 1) % 5, &of_account).unwrap_err();
    let expected = StageFault::OtherPart { account, part: (own + 1) % 5, belongs: own };
    assert_eq!(fault(&error), &expected);
    // An account that the ingest was not planned with: its stored rows would stay in a file that is kept.
    let other = rows.iter().find(|row| row[0] != of_account[0][0]).unwrap();
    let error = stage_rows(part_of(&other[0], 5), std::slice::from_ref(other)).unwrap_err();
    assert_eq!(fault(&error), &StageFault::Unplanned(other[0].clone()));
    assert_eq!(fault(&stage_rows(5, &[]).unwrap_err()), &StageFault::NoPart { part: 5, last: 4 });
    // The attempts have left nothing.
    drop(ingest);
    assert_eq!(leftovers(&dataset), Vec::<String>::new());
}

#[test]
fn a_row_that_breaks_a_rule_is_shown() {
    let (_case, dataset, _) = begun();
    let ingest = into(&dataset).begin_staged(1, None).unwrap();
    let row: Row = ["a1", "7", "bought", "2025-01-05", "", "e", "", "c"].map(str::to_owned);
    let mut rows = vec![row.clone(), row];
    rows[1][2] = "sold".to_owned();
    rows[1][3] = "soon".to_owned();
    let error = stage(&dataset, ingest.plan(), 0, &rows).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("part 0 of 1: `events`, record batch 0, row 0 "), "{text}");
    assert!(text.contains("but found `bought`; 1 more row breaks a rule; the row: account = `a1`, opportunityId = `7`, type = `bought`"), "{text}");
    assert_eq!(error.row().unwrap().1.value(), Some("bought"));
    assert!(error.is_data() && error.rejected_rows().unwrap().rows() == 2);
    assert_eq!(manifest_file::versions(&dataset).unwrap(), [1]);
}

#[test]
fn too_many_dimensions_of_all_parts_together_are_refused() {
    let case = Case::new();
    let dataset = case.path("dataset");
    let account = |part: u32| (0..).map(|at| format!("a{at}")).find(|account| part_of(account, 2) == part).unwrap();
    let commit = |limit: usize| {
        let ingest = into(&dataset).max_columns(limit).begin_staged(2, None).unwrap();
        let stage = |part: u32| {
            let path = case.path(&format!("{part}.csv"));
            let header = (0..5).map(|at| format!("d{part}{at}")).collect::<Vec<_>>().join(",");
            let row = format!("{},1,booked,2025-01-02,1,1,1,1,1", account(part));
            fs::write(&path, format!("account,opportunityId,type,date,{header}\n{row}\n")).unwrap();
            Ingest::into(&dataset).events(path).stage(ingest.plan(), part).unwrap()
        };
        let staged = [stage(0), stage(1)];
        ingest.commit(staged)
    };
    let error = commit(9).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::ManyDimensions { count: 10, limit: 9 }), "{error}");
    assert_eq!(commit(10).unwrap().version, 1);
}

#[test]
fn a_column_with_the_name_of_a_definition_is_refused() {
    let (case, dataset, _) = begun();
    let own = "[[metric]]\nname = \"own\"\nnumerator = [\"leads\"]";
    Define::new(&dataset, &Definitions::parse(own).unwrap()).run().unwrap();
    let path = case.path("own.csv");
    fs::write(&path, "account,opportunityId,type,date,own\na,1,booked,2025-01-02,x\n").unwrap();
    let whole = into(&dataset).events(&path).run().unwrap_err();
    let ingest = into(&dataset).begin_staged(1, None).unwrap();
    let part = Ingest::into(&dataset).events(&path).stage(ingest.plan(), 0).unwrap_err();
    let ErrorKind::Part { error: part, .. } = part.kind() else { unreachable!("{part}") };
    for error in [&whole, part] {
        let is_named = |kind: &ErrorKind| matches!(kind, ErrorKind::DefinedColumn { path: found, column } if *found == path && column == "own");
        assert!(error.is_data() && is_named(error.kind()), "{error}");
    }
}

#[test]
fn what_the_parts_or_the_beginning_cannot_have_is_refused() {
    let (case, dataset, rows) = begun();
    let usage = |error: IngestError| {
        assert!(error.is_usage() && !error.is_data(), "{error}");
        error.to_string()
    };
    let begin = |ingest: Ingest, parts| usage(ingest.begin_staged(parts, None).unwrap_err());
    assert!(begin(into(&dataset).events(source(&rows)), 1).contains("and the events to its parts"));
    assert!(begin(into(&dataset).mapping("m.toml"), 1).contains("without a mapping"));
    assert!(begin(into(&dataset).rejects(case.path("rejects")), 1).contains("no file of rejects"));
    assert_eq!(begin(into(&dataset), 0), "expected 1 to 100000 parts, but found 0");
    let ingest = into(&dataset).begin_staged(1, None).unwrap();
    let stage = |part: Ingest, has_events: bool| {
        let part = if has_events { part.events(source(&rows)) } else { part };
        usage(part.stage(ingest.plan(), 0).unwrap_err())
    };
    assert!(stage(Ingest::into(&dataset).spend("spend.csv"), true).contains("has events alone"));
    assert!(stage(Ingest::into(&dataset).rejects("rejects"), true).contains("has no file of rejects"));
    assert!(stage(Ingest::into(&dataset), false).contains("there is nothing to ingest"));
}

#[test]
fn a_part_with_another_release_of_the_time_zone_database_is_refused() {
    let (_case, dataset, rows) = begun();
    let ingest = into(&dataset).begin_staged(2, None).unwrap();
    let plan = ingest.plan().to_json().unwrap().replace(tzdata_release(), "2025b");
    let plan = StagePlan::from_json(&plan).unwrap();
    let error = stage(&dataset, &plan, 0, &rows).unwrap_err();
    assert!(error.to_string().contains("planned with tzdata 2025b, but this part has"), "{error}");
}
