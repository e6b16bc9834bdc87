//! What is too much is refused with its count and its limit.

use crate::dataset::Case;
use crate::writers;
use serde_json::Value;
use trueup_ingest::Ingest;

/// An input of one row with that many columns.
fn wide(columns: usize) -> (Vec<String>, Vec<String>) {
    let names = (4..columns).map(|column| format!("column-{column}"));
    let header: Vec<String> =
        ["account", "opportunityId", "type", "date"].into_iter().map(str::to_owned).chain(names).collect();
    let mut row = ["a", "1", "sold", "2025-01-01"].map(str::to_owned).to_vec();
    row.resize(columns, "x".to_owned());
    (header, row)
}

/// The same row in every format, and the message with which it is refused.
fn in_every_format(columns: usize, give: impl Fn(Ingest) -> Ingest) -> [Result<u64, String>; 3] {
    let case = Case::new();
    let (header, row) = wide(columns);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let rows = [row];
    let table = (header.as_slice(), rows.as_slice());
    writers::csv(table, &case.path("wide.csv"));
    writers::ndjson(table, &case.path("wide.ndjson"));
    writers::parquet(table, 100, &case.path("wide.parquet"));
    ["csv", "ndjson", "parquet"].map(|format| {
        let path = case.path(&format!("wide.{format}"));
        match give(Ingest::into(case.path(format)).events(path)).run(&()) {
            Ok(summary) => Ok(summary.events.taken),
            Err(error) => {
                assert!(error.is_data() && !case.path(format).exists(), "{error}");
                Err(error.to_string().replace(case.path("").to_str().unwrap(), ""))
            }
        }
    })
}

#[test]
fn an_input_of_too_many_columns_is_refused_with_their_count() {
    assert_eq!(in_every_format(2_000, |ingest| ingest), [Ok(1), Ok(1), Ok(1)]);
    let advice = "leave some out, or raise `--max-columns`";
    assert_eq!(
        in_every_format(2_001, |ingest| ingest),
        [
            Err(format!("wide.csv: the file has 2001 columns, but at most 2000 are taken; {advice}")),
            Err(format!("wide.ndjson: the file has more than 2000 columns, and no more are taken; {advice}")),
            Err(format!("wide.parquet: the file has 2001 columns, but at most 2000 are taken; {advice}")),
        ]
    );
    assert_eq!(in_every_format(2_001, |ingest| ingest.max_columns(2_001)), [Ok(1), Ok(1), Ok(1)]);
}

/// NDJSON of objects, each with a name of its own.
fn sparse(objects: usize) -> String {
    let object = |at: usize| {
        format!(
            "{{\"account\":\"a\",\"opportunityId\":{at},\"type\":\"sold\",\"date\":\"2025-01-01\",\"name-{at}\":1}}\n"
        )
    };
    (0..objects).map(object).collect()
}

#[test]
fn names_that_objects_have_one_by_one_count_together() {
    let case = Case::new();
    let path = case.file("a.ndjson", sparse(300));
    // Blocks of a few objects each.
    let ingest = case.ingest().events(&path).batch_rows(10);
    let error = ingest.clone().max_columns(200).run(&()).unwrap_err().to_string();
    assert!(error.contains("a.ndjson: the file has more than 200 columns"), "{error}");
    assert_eq!(ingest.max_columns(304).run(&()).unwrap().events.taken, 300);
}

#[test]
fn rows_before_the_column_too_many_are_judged_before_it() {
    let case = Case::new();
    let fault = "{\"account\":\"a\",\"opportunityId\":1,\"type\":\"x\",\"date\":\"2025-01-01\"}\n";
    let path = case.file("a.ndjson", format!("{fault}{}", sparse(300)));
    let error = case.ingest().events(path).max_columns(200).run(&()).unwrap_err().to_string();
    assert!(error.contains("a.ndjson, line 1, column `type`"), "{error}");
}

#[test]
fn a_dataset_does_not_outgrow_the_limit_by_many_ingests() {
    let case = Case::new();
    let input = |ingest: usize| {
        let names: Vec<String> = (0..40).map(|column| format!("column-{ingest}-{column}")).collect();
        let text = format!(
            "account,opportunityId,type,date,{}\na,1,sold,2025-01-01{}\n",
            names.join(","),
            ",x".repeat(names.len())
        );
        case.file(&format!("{ingest}.csv"), text)
    };
    let ingest = |at: usize| case.ingest().events(input(at)).max_columns(100).run(&());
    assert!(ingest(1).is_ok() && ingest(2).is_ok());
    let before = case.snapshot();
    assert_eq!(
        ingest(3).unwrap_err().to_string(),
        "the events of the dataset would have 120 dimensions, but at most 100 are taken; leave columns out, or raise \
         `--max-columns`"
    );
    assert_eq!(case.snapshot(), before);
}

#[test]
fn a_column_name_has_a_limit() {
    let case = Case::new();
    let name = "x".repeat(1_025);
    let path = case.file("a.csv", format!("account,opportunityId,type,date,{name}\n"));
    let error = case.ingest().events(path).run(&()).unwrap_err().to_string();
    assert!(error.ends_with("has 1025 bytes, but at most 1024 are taken"), "{error}");
}

#[test]
fn a_text_that_is_too_long_is_a_fault_of_its_row() {
    let case = Case::new();
    let header = ["account", "opportunityId", "type", "date", "note"];
    let row = |id: usize, bytes: usize| {
        vec!["a".to_owned(), id.to_string(), "sold".to_owned(), "2025-01-01".to_owned(), "n".repeat(bytes)]
    };
    let rows = [row(1, 1_000), row(2, 1_001), row(3, 5)];
    writers::csv((&header, &rows), &case.path("a.csv"));
    writers::ndjson((&header, &rows), &case.path("a.ndjson"));
    writers::parquet((&header, &rows), 100, &case.path("a.parquet"));
    let reason = "expected a text of at most 1000 bytes, but found one of 1001; `--max-text` raises the limit";
    for (format, place) in
        [("csv", "line 3"), ("ndjson", "line 2"), ("parquet", "row group 0, row 1 (both counted from 0)")]
    {
        let path = case.path(&format!("a.{format}"));
        let ingest = Ingest::into(case.path(format)).events(&path).max_text_bytes(1_000);
        let error = ingest.run(&()).unwrap_err();
        assert_eq!(error.to_string(), format!("{}, {place}, column `note`: {reason}", path.display()));
        let rejects = case.path(&format!("rejects-{format}.ndjson"));
        let summary = ingest.rejects(&rejects).run(&()).unwrap();
        assert_eq!((summary.events.taken, summary.events.rejected), (2, 1));
        let rejected: Value = serde_json::from_str(&std::fs::read_to_string(rejects).unwrap()).unwrap();
        assert_eq!((&rejected["reason"], &rejected["row"]["opportunityId"]), (&reason.into(), &"2".into()));
        assert_eq!((&rejected["value"], &rejected["row"]["note"]), (&"n".repeat(200).into(), &"n".repeat(200).into()));
    }
}

#[test]
fn texts_of_spend_and_accounts_have_the_limit_too() {
    let case = Case::new();
    let long = "n".repeat(101);
    let spend = case.file("spend.csv", format!("account,date,adSpend,campaign\na,2025-01-01,1,{long}\n"));
    let accounts = case.file("accounts.ndjson", format!("{{\"account\":\"a\",\"accountName\":\"{long}\"}}\n"));
    let ingest = case.ingest().max_text_bytes(100);
    let error = ingest.clone().spend(spend).run(&()).unwrap_err().to_string();
    assert!(error.contains("spend.csv, line 2, column `campaign`: expected a text of at most 100 bytes"), "{error}");
    let error = ingest.accounts(accounts).run(&()).unwrap_err().to_string();
    assert!(error.contains("accounts.ndjson, line 1, column `accountName`: expected a text of at most 100"), "{error}");
}
