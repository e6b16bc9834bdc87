//! Drafts of mappings: what is recognized, what is asked, and that an answered draft can be ingested.

use crate::case::{Case, lines};
use crate::documented::example;
use std::path::PathBuf;
use trueup_ingest::mapping::draft;

/// Writes files to a folder, and drafts a mapping of them.
fn drafted(files: &[(&str, &str)]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = files
        .iter()
        .map(|(name, content)| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        })
        .collect();
    draft(&paths).unwrap()
}

/// Answers questions of a draft: removes the `#` of each line that begins with one of the answers.
fn answered(draft: &str, answers: &[&str]) -> String {
    let mut found = 0;
    let answer = |line: &str| {
        if line.starts_with("open_questions") {
            return String::new();
        }
        match line.strip_prefix('#').filter(|rest| answers.iter().any(|answer| rest.starts_with(answer))) {
            Some(rest) => {
                found += 1;
                rest.to_owned()
            }
            None => line.to_owned(),
        }
    };
    let text = draft.lines().map(answer).collect::<Vec<_>>().join("\n");
    assert_eq!(found, answers.len(), "{draft}");
    text
}

fn events(mapping: &str, files: &[(&str, &str)]) -> String {
    let case = files.iter().fold(Case::new(mapping), |case, (name, content)| case.file(name, content));
    let tables: Vec<String> = case.run().unwrap().events.iter().map(|path| lines(path).join("\n")).collect();
    tables.join("\n\n") + "\n"
}

#[test]
fn the_answered_draft_of_the_documented_log_makes_its_events() {
    let (files, expected) = example(0);
    let files: Vec<(&str, &str)> = files.iter().map(|(name, content)| (name.as_str(), content.as_str())).collect();
    let draft = drafted(&files);
    let refusal = files.iter().fold(Case::new(&draft), |case, (name, content)| case.file(name, content)).refusal();
    assert_eq!(
        refusal,
        "mapping `mapping.toml`, key `open_questions`, value `1, 2, 3, 4`: this draft has open questions; answer each \
         where it stands, and remove its number here"
    );
    assert!(draft.contains("join = [{ input = \"branches\", on = \"branch\", unmatched = \"refuse\" }]"), "{draft}");
    assert!(draft.contains("\"Appointment set\" = \"booked\"  # 1 row"), "{draft}");
    assert!(draft.contains("#\"Note added\" = \"?\"  # 1 row; no word of it means a stage"), "{draft}");
    let answers = [
        "account = \"key\"",
        "date = { column = \"when\", format = \"%m/%d/%Y %H:%M\" }",
        "dateTime = { column = \"when\", format = \"%m/%d/%Y %H:%M\"",
        "unmapped = \"skip\"",
        "[first_touch]",
        "copy = ",
    ];
    let mapping = answered(&draft, &answers).replace("America/New_York", "America/Chicago");
    assert_eq!(events(&mapping, &files), expected);
}

#[test]
fn the_answered_draft_of_the_documented_customers_makes_their_events() {
    let (files, expected) = example(1);
    let files: Vec<(&str, &str)> = files.iter().map(|(name, content)| (name.as_str(), content.as_str())).collect();
    let draft = drafted(&files);
    assert!(draft.contains("open_questions = [1]"), "{draft}");
    let mapping = answered(&draft, &["account = { value = \"...\" }"])
        .replace("value = \"...\"", "value = \"oakville-plumbing\"");
    assert_eq!(events(&mapping, &files), expected);
}

#[test]
fn a_date_is_open_only_as_long_as_both_formats_fit() {
    let draft = |dates: &[&str]| {
        let rows: String = dates.iter().map(|date| format!("1,{date},booked\n")).collect();
        drafted(&[("a.csv", &format!("lead_id,date,status\n{rows}"))])
    };
    let open = draft(&["01/02/2026", "03/04/2026"]);
    for line in [
        "#date = { column = \"date\", format = \"%m/%d/%Y\" }  # `01/02/2026`: month before day",
        "#date = { column = \"date\", format = \"%d/%m/%Y\" }  # `01/02/2026`: day before month",
    ] {
        assert!(open.contains(line), "{open}");
    }
    assert!(
        draft(&["01/02/2026", "13/02/2026"]).contains("\ndate = { column = \"date\", format = \"%d/%m/%Y\" }  # fits")
    );
    assert!(
        draft(&["01/02/2026", "02/13/2026"]).contains("\ndate = { column = \"date\", format = \"%m/%d/%Y\" }  # fits")
    );
    assert!(draft(&["2026-02-01"]).contains("\ndate = \"date\"  # fits"));
    assert!(draft(&["1 Feb 2026"]).contains("\ndate = { column = \"date\", format = \"%d %b %Y\" }"));
    let zoned = draft(&["2026-02-01T09:30:00+0100"]);
    assert!(zoned.contains("\ndateTime = { column = \"date\", format = \"%Y-%m-%dT%H:%M:%S%z\" }"), "{zoned}");
}

#[test]
fn an_amount_is_open_only_as_long_as_both_marks_fit() {
    let draft = |amounts: &[&str]| {
        let rows: String = amounts.iter().map(|amount| format!("1;2026-01-02;sold;{amount}\n")).collect();
        drafted(&[("a.csv", &format!("lead_id;date;status;amount\n{rows}"))])
    };
    for (amounts, expected) in [
        (&["1.234,50", "7"][..], "\ntotal = { column = \"amount\", remove = \".\", decimal_mark = \",\" }"),
        (&["1,234.50"], "\ntotal = { column = \"amount\", remove = \",\" }"),
        (&["$1,234", "$5.50"], "\ntotal = { column = \"amount\", remove = \"$,\" }"),
        (&["-5", "1234.5"], "\ntotal = \"amount\""),
        (&["12,5"], "\ntotal = { column = \"amount\", decimal_mark = \",\" }"),
        (&["1,234"], "#total = { column = \"amount\", decimal_mark = \",\" }"),
        (&["1.234"], "#total = { column = \"amount\", remove = \".\", decimal_mark = \",\" }"),
        (&["five"], "QUESTION 2: \"amount\" is named like an amount, but its values are not: `five`"),
    ] {
        let draft = draft(amounts);
        assert!(draft.contains(expected), "{amounts:?}\n{draft}");
        assert!(draft.contains("separator = \";\""), "{draft}");
    }
}

#[test]
fn spend_is_recognized() {
    let files = [("ads.csv", "Day,Account ID,Campaign,Cost,Clicks\n2026-01-02,acme,Drains,$1.50,3\n")];
    let draft = drafted(&files);
    for line in [
        "[[spend]]",
        "account = \"Account ID\"",
        "date = \"Day\"",
        "campaign = \"Campaign\"",
        "adSpend = { column = \"Cost\", remove = \"$\" }",
        "clicks = \"Clicks\"",
    ] {
        assert!(draft.contains(&format!("\n{line}")), "{draft}");
    }
    assert!(!draft.contains("open_questions"), "{draft}");
    let case = Case::new(&draft).file(files[0].0, files[0].1);
    assert_eq!(crate::case::column(&case.spend(), "adSpend"), ["1.50"]);
}

/// Names that need quotes in TOML, objects in NDJSON, and files that say nothing.
#[test]
fn odd_files_are_drafted() {
    let draft = drafted(&[
        (
            "my leads (1).ndjson",
            "{\"lead \\\"id\\\"\": 1, \"created at\": \"2026-01-02\", \"status\": \"won\", \"tags\": [1]}\n",
        ),
        ("empty.csv", "a,b\n"),
    ]);
    assert!(draft.contains("[input.my_leads__1_]\nfile = \"my leads (1).ndjson\""), "{draft}");
    assert!(draft.contains("# The column \"tags\" cannot be used: it holds lists, objects or bytes."), "{draft}");
    assert!(draft.contains("date = \"created at\""), "{draft}");
    assert!(draft.contains("what are the rows of \"empty.csv\"?"), "{draft}");
    assert!(toml::from_str::<toml::Table>(&draft).is_ok(), "{draft}");
}
