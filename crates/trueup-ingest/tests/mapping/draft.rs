//! Drafts of mappings: what is recognized, what is asked, and that an answered draft can be ingested.

use crate::case::{Case, lines};
use crate::documented::example;
use crate::sheets::workbook;
use arrow_array::{ArrayRef, RecordBatch, StringArray, TimestampMicrosecondArray};
use parquet::arrow::ArrowWriter;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use trueup_ingest::mapping::{DraftOptions, draft};

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
    draft(&paths, &DraftOptions::default()).unwrap().text
}

/// Answers questions of a draft: removes the `#` of each line that begins with one of the answers, and the list of open
/// questions.
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
        (&["1.234,50", "7"][..], "\ntotal = { column = \"amount\", decimal_mark = \",\" }"),
        (&["1,234.50"], "\ntotal = { column = \"amount\", decimal_mark = \".\" }"),
        (&["$1,234", "$5.50"], "\ntotal = { column = \"amount\", decimal_mark = \".\" }"),
        (&["(1,294.13)", "1,294.13-", "CA$5"], "\ntotal = { column = \"amount\", decimal_mark = \".\" }"),
        (&["1 473,99 $", "12,50 €"], "\ntotal = { column = \"amount\", decimal_mark = \",\" }"),
        (&["-5", "1234.5"], "\ntotal = \"amount\""),
        (&["12,5"], "\ntotal = { column = \"amount\", decimal_mark = \",\" }"),
        (&["1,234"], "#total = { column = \"amount\", decimal_mark = \",\" }"),
        (&["1.234"], "#total = { column = \"amount\", decimal_mark = \",\" }"),
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
        "adSpend = \"Cost\"",
        "clicks = \"Clicks\"",
    ] {
        assert!(draft.contains(&format!("\n{line}")), "{draft}");
    }
    assert!(!draft.contains("open_questions"), "{draft}");
    let case = Case::new(&draft).file(files[0].0, files[0].1);
    assert_eq!(crate::case::column(&case.spend(), "adSpend"), ["1.50"]);
}

/// Spend has days alone.
#[test]
fn times_of_spend_are_read_as_days_or_asked_about() {
    let header = "Day,Account ID,Campaign,Cost";
    let clock = format!("{header}\n2026-01-02 23:30,acme,Drains,$1.50\n");
    let draft = drafted(&[("ads.csv", &clock)]);
    assert!(!draft.contains("dateTime") && !draft.contains("open_questions"), "{draft}");
    let case = Case::new(&draft).file("ads.csv", &clock);
    assert_eq!(crate::case::column(&case.spend(), "date"), ["2026-01-02"]);
    let points = format!("{header}\n2026-01-02T23:30:00Z,acme,Drains,$1.50\n");
    let draft = drafted(&[("ads.csv", &points)]);
    assert!(!draft.contains("dateTime") && draft.contains("whose day depends on the time zone"), "{draft}");
}

/// Names that need quotes in TOML, arrays in NDJSON, and files that say nothing.
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
    assert!(draft.contains("# The column \"tags\" cannot be used: it holds arrays, objects or bytes."), "{draft}");
    assert!(draft.contains("date = \"created at\""), "{draft}");
    assert!(draft.contains("what are the rows of \"empty.csv\"?"), "{draft}");
    assert!(toml::from_str::<toml::Table>(&draft).is_ok(), "{draft}");
}

#[test]
fn line_ends_in_names_and_values_stay_in_their_lines() {
    let rows = "\"lead\nid\",date,\"the \"\"lead's\"\" status\"\n1,\"01/02/2026\n10:00\",\"was\nsold\"\n";
    let files = [("a.csv", rows)];
    let draft = drafted(&files);
    for line in [
        "opportunityId = \"lead\\u000Aid\"  # by its name; 1 distinct value such as `1`",
        "#date = { column = \"date\", format = \"%m/%d/%Y %H:%M\" }  # `01/02/2026\\u000A10:00`: month before day",
        "column = \"the \\\"lead's\\\" status\"  # by its values",
        "\"was\\u000Asold\" = \"sold\"  # 1 row",
    ] {
        assert!(draft.contains(&format!("\n{line}\n")), "{draft}");
    }
    let mapping = answered(&draft, &["account = { value", "date = { column = \"date\", format = \"%m/%d/%Y"]);
    assert_eq!(events(&mapping, &files), "account,date,opportunityId,type\n...,2026-01-02,1,sold\n");
}

/// A mapping takes a `.txt` file without `format` for CSV.
#[test]
fn a_format_that_the_name_does_not_say_is_stated() {
    let files = [("log.export", "{\"lead_id\":\"7\",\"date\":\"2026-01-02\",\"status\":\"Sold\"}\n")];
    let draft = drafted(&files);
    assert!(draft.contains("file = \"log.export\"\nformat = \"ndjson\"\n"), "{draft}");
    let mapping = answered(&draft, &["account = { value"]);
    assert_eq!(events(&mapping, &files), "account,date,opportunityId,type\n...,2026-01-02,7,sold\n");
    let csv = drafted(&[("log.txt", "lead_id,date,status\n7,2026-01-02,Sold\n")]);
    assert!(!csv.contains("format = "), "{csv}");
}

#[test]
fn columns_that_several_joined_files_have_are_named_with_their_input() {
    let log = ("log.csv", "id,date,status,branch_id\nj1,2025-01-31,Sold,b1\nj2,2025-02-01,Canceled,b2\n");
    let of_team =
        ("log.csv", "id,date,status,branch_id,team\nj1,2025-01-31,Sold,b1,t1\nj2,2025-02-01,Canceled,b2,t2\n");
    let branches = ("branches.csv", "id,account\nb1,oak\nb2,elm\n");
    let by_team = ("branches.csv", "id,account,team\nb1,oak,t1\nb2,elm,t1\n");
    let teams = ("teams.csv", "team,account\nt1,north\nt2,south\n");
    for (files, on, account) in [
        (&[log, branches][..], "on = { branch_id = \"id\" }", "account = \"account\""),
        (&[of_team, by_team, teams], "on = { \"log.team\" = \"team\" }", "account = \"branches.account\""),
    ] {
        let draft = drafted(files);
        assert!(draft.contains(on) && draft.contains("\nopportunityId = \"log.id\"  # by its name"), "{draft}");
        let mapping = answered(&draft, &[account]);
        let expected = "account,date,opportunityId,type\noak,2025-01-31,j1,sold\nelm,2025-02-01,j2,canceled\n";
        assert_eq!(events(&mapping, files), expected);
    }
}

#[test]
fn two_files_that_one_input_would_read_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["a/log.csv", "b/log.csv", "c/log.csv.gz"].map(|name| folder.path().join(name));
    for path in &paths {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "lead_id,date,status\n7,2026-01-02,Sold\n").unwrap();
    }
    let [a, b, c] = &paths;
    for (files, refused, other) in [([a, b], a, b), ([a, c], c, a), ([c, a], c, a)] {
        assert_eq!(
            draft(&files.map(Clone::clone), &DraftOptions::default()).unwrap_err().to_string(),
            format!(
                "`{}`: a mapping tells files apart by their names, so that the input of `{}` reads this file, too; leave this file \
                 out of the draft if both have the same columns, or else rename one",
                refused.display(),
                other.display()
            )
        );
    }
}

/// A point in time is no date.
#[test]
fn several_columns_of_times_are_offered_as_what_they_hold() {
    let log = |times: [&str; 2]| {
        let [created, updated] = times;
        format!("account,lead_id,created_at,updated_at,status\noak,7,{created},{updated},sold\n")
    };
    let zoned = log(["2025-01-10T23:00:00-05:00", "2025-01-11T09:00:00Z"]);
    let files = [("log.csv", &*zoned)];
    let draft = drafted(&files);
    let question = "Which is the date of the row?\n#dateTime = \"created_at\"  # `2025-01-10T23:00:00-05:00`\n\
                    #dateTime = \"updated_at\"  # `2025-01-11T09:00:00Z`\n";
    assert!(draft.contains(question), "{draft}");
    let mapping = answered(&draft, &["dateTime = \"created_at\""]);
    assert!(events(&mapping, &files).contains("2025-01-11T04:00:00Z"), "{mapping}");
    // One of the two has no offset.
    let both = drafted(&[("log.csv", &log(["2025-01-10", "2025-01-11T09:00:00Z"]))]);
    assert!(both.contains("\n#date = \"created_at\"  #") && both.contains("\n#dateTime = \"updated_at\"  #"), "{both}");
    // Spend has days alone.
    let spend = |created: &str| {
        let row = format!("{created},2026-01-02T23:30:00Z,acme,$1.50");
        drafted(&[("ads.csv", &format!("created_at,updated_at,Account ID,Cost\n{row}\n"))])
    };
    let day = spend("2026-01-02");
    assert!(day.contains("Which is the date of the row?\n#date = \"created_at\"  # `2026-01-02`\n"), "{day}");
    assert!(!day.contains("updated_at\"  #"), "{day}");
    let points = spend("2026-01-02T23:00:00Z");
    assert!(points.contains("Which is the date of the row?\n#date = \"...\"  # each column holds points"), "{points}");
}

#[test]
fn the_times_of_a_stage_that_is_open_are_no_dates() {
    let draft = drafted(&[("jobs.csv", "id,sold_on,moved\n7,2025-02-03,2025-02-04T09:00:00Z\n")]);
    assert!(draft.contains("\n#sold = { dateTime = \"moved\" }\n"), "{draft}");
}

#[test]
fn an_amount_of_a_stage_without_a_date_is_named() {
    let rows = "account,customer_id,called,sold_on,sale_date,paid\noak,7,2025-01-31,3 Feb 2025,4 Feb 2025,1800\n";
    let draft = drafted(&[("jobs.csv", rows)]);
    assert!(draft.contains("\n# Not used: \"paid\". "), "{draft}");
    for line in [
        "#sold = { date = { column = \"sold_on\", format = \"%d %b %Y\" } }  # `3 Feb 2025`: day before month",
        "#sold = { date = { column = \"sale_date\", format = \"%d %b %Y\" } }  # `4 Feb 2025`: day before month",
    ] {
        assert!(draft.contains(&format!("\n{line}\n")), "{draft}");
    }
}

#[test]
fn a_sampled_key_without_a_row_is_counted() {
    let log = ("log.csv", "id,date,status,branch\nj1,2025-01-31,Sold,b1\nj2,2025-02-01,Canceled,b2\n");
    let draft = drafted(&[log, ("branches.csv", "branch,account\nb1,oak\n")]);
    assert!(draft.contains("# Joined to \"branches\": 1 sampled key has no row: "), "{draft}");
}

#[test]
fn several_amounts_of_a_stage_are_a_question() {
    let rows = "id,called,sold_on,sale,sale_price,invoiced\n7,2025-01-31,2025-02-03,1800,1750,2025-02-10\n";
    let files = [("jobs.csv", rows)];
    let draft = drafted(&files);
    let question = "which is right for sold?\n#sold = { date = \"sold_on\", total = \"sale\" }  # `1800`\n\
                    #sold = { date = \"sold_on\", total = \"sale_price\" }  # `1750`\n";
    assert!(draft.contains(question), "{draft}");
    let mapping = answered(&draft, &["account = { value", "sold = { date = \"sold_on\", total = \"sale_price\""]);
    assert!(events(&mapping, &files).contains("...,2025-02-03,7,1750,sold\n"), "{mapping}");
}

/// Returns a log: a header, ten sound rows, and a row with the given date, phone number and amount.
fn log(date: &str, phone: &str, amount: &str) -> String {
    let row = |day: u32| format!("Ann Lee,555-{day},01/{:02}/2026,\"${day},000.00\",Signed,no\n", day + 12);
    let rows: String = (1..=10).map(row).collect();
    let faulty = format!("Bob Roe,{phone},{date},\"{amount}\",Signed,yes\n");
    format!("Customer,Phone,Date,Amount,Status,Canceled\n{rows}{faulty}")
}

#[test]
fn a_faulty_value_among_ten_hides_neither_dates_nor_amounts() {
    let draft = drafted(&[("a.csv", &log("02/30/2026", "555-11", "$1O,000.00"))]);
    for line in [
        "date = { column = \"Date\", format = \"%m/%d/%Y\" }  # `01/13/2026`, `01/14/2026`, `01/15/2026`, ...; fits every \
         sampled value but `02/30/2026`, which the ingest refuses",
        "total = { column = \"Amount\", decimal_mark = \".\" }  # by its name; `$1,000.00`, `$2,000.00`, `$3,000.00`, ...; fits every \
         sampled value but `$1O,000.00`, which the ingest refuses",
    ] {
        assert!(draft.contains(&format!("\n{line}\n")), "{draft}");
    }
    // Two of eleven are too many.
    let two = log("02/30/2026", "555-11", "$9,000.00").replace("01/13/2026", "soon");
    assert!(drafted(&[("a.csv", &two)]).contains("They have no dates"), "{two}");
    let two = log("01/30/2026", "555-11", "call").replace("$1,000.00", "ask");
    assert!(drafted(&[("a.csv", &two)]).contains("is named like an amount, but its values are not"), "{two}");
}

#[test]
fn names_are_not_taken_for_ids() {
    let draft = drafted(&[("a.csv", &log("01/30/2026", "", "$9,000.00"))]);
    for line in [
        "# QUESTION 3: no column is certainly the id of the customer. Which is it?",
        "#opportunityId = \"Customer\"  # 2 distinct values such as `Ann Lee`, `Bob Roe`; two people may have the same name",
        "#opportunityId = \"Phone\"  # 10 distinct values such as `555-1`, `555-2`, `555-3`, ...; empty on 1 row",
    ] {
        assert!(draft.contains(&format!("\n{line}\n")), "{draft}");
    }
    assert!(!draft.contains("#opportunityId = \"Status\""), "{draft}");
    assert!(draft.contains("# QUESTION 2: no column is certainly the key of the account"), "{draft}");
    assert!(draft.contains("#[[accounts]]\n#columns = { account = { value = \"...\" }"), "{draft}");
}

#[test]
fn rows_that_are_marked_as_canceled_are_asked_about() {
    let file = ("a.csv", &*log("01/30/2026", "555-11", "$9,000.00"));
    let draft = drafted(&[file]);
    assert!(draft.contains("# QUESTION 1: \"Canceled\" is `yes` on 1 row. Are these cancellations"), "{draft}");
    let signed = "type = { column = \"Status\", map = { \"Signed\" = \"sold\" } }";
    let mapping = answered(&draft, &["unless = ", "account = ", "opportunityId = \"Phone\"", signed]);
    assert_eq!(events(&mapping, &[file]).lines().count(), 11);
    let canceled = mapping.replace("unless", "where").replace(signed, "type = { value = \"canceled\" }");
    let expected = "account,date,opportunityId,total,type\n...,2026-01-30,555-11,9000.00,canceled\n";
    assert_eq!(events(&canceled, &[file]), expected);
}

#[test]
fn channels_that_have_other_names_in_spend_are_asked_about() {
    let crm = "lead_id,date,status,source,campaign\n1,2026-01-02,won,Google,Drains\n";
    let draft = |network: &str| {
        let ads = format!("Day,Network,Campaign,Cost\n2026-01-02,{network},Drains,5\n");
        drafted(&[("crm.csv", crm), ("ads.csv", &ads)])
    };
    let asked = draft("Google Ads");
    for line in [
        "# QUESTION 3: \"Network\" and \"source\" of \"crm.csv\" have no value in common: `Google Ads`, but `Google`. A row of a \
         report has leads and spend only where the values are equal. Which values mean the same?",
        "#attributionChannel = { column = \"Network\", map = { \"Google Ads\" = \"...\" } }",
        "#attributionChannel = \"Network\"  # none of them",
        "campaign = \"Campaign\"  # by its name; `Drains`",
    ] {
        assert!(asked.contains(&format!("\n{line}\n")), "{asked}");
    }
    assert!(draft("Google").contains("\nattributionChannel = \"Network\"  # by its name; `Google`\n"));
    // Two files of events need no channel in common.
    let both = drafted(&[("crm.csv", crm), ("more.csv", &crm.replace("Google", "Yelp"))]);
    assert!(!both.contains("no value in common"), "{both}");
}

#[test]
fn files_are_drafted_as_they_are_to_be_read() {
    let foreign = |name: &str| PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/foreign").join(name);
    let refusal = draft(&[foreign("windows-1252.csv")], &DraftOptions::default()).unwrap_err().to_string();
    assert!(refusal.ends_with("say `--encoding windows-1252`"), "{refusal}");
    let (encoding, sheet) = (Some("latin1".parse().unwrap()), Some("Jobs".to_owned()));
    let options = DraftOptions { encoding, sheet, ..DraftOptions::default() };
    let folder = tempfile::tempdir().unwrap();
    let accents = "lead_id,date,status\nPeña,2026-01-02,Sold\n";
    let others = [("utf8.csv", accents.to_owned()), ("marked.csv", format!("\u{feff}{accents}"))];
    let others = others.map(|(name, text)| {
        std::fs::write(folder.path().join(name), text).unwrap();
        folder.path().join(name)
    });
    let files = [foreign("windows-1252.csv"), foreign("events.xlsx"), foreign("zstd.parquet")];
    let drafted = draft(&[&files[..], &others].concat(), &options).unwrap().text;
    // What is UTF-8 is read as such: the option is for the other files of the draft.
    assert_eq!(drafted.matches("encoding = ").count(), 1, "{drafted}");
    assert!(drafted.contains("such as `Peña`") && !drafted.contains('\u{c3}'), "{drafted}");
    for input in [
        "[input.windows-1252]\nfile = \"windows-1252.csv\"\noptional = true\nencoding = \"windows-1252\"\n\n",
        "[input.events]\nfile = \"events.xlsx\"\noptional = true\nsheet = \"Jobs\"\n",
        "[input.zstd]\nfile = \"zstd.parquet\"\noptional = true\n\n",
    ] {
        assert!(drafted.contains(input), "{drafted}");
    }
    let none = DraftOptions { sheet: Some("None".to_owned()), ..DraftOptions::default() };
    assert!(draft(&[foreign("events.xlsx")], &none).unwrap_err().to_string().contains("no sheet `None`"));
}

#[test]
fn errors_in_the_cells_of_a_sheet_are_asked_about() {
    let jobs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/foreign/jobs.xlsx");
    let drafted = draft(std::slice::from_ref(&jobs), &DraftOptions::default()).unwrap().text;
    assert!(
        drafted.contains(
            "# QUESTION 1: cells hold the errors \"#N/A\". Do they mean no value? The ingest refuses other errors.\n\
             #empty = [\"#N/A\"]\n"
        ),
        "{drafted}"
    );
    assert!(!drafted.contains("cannot be used"), "{drafted}");
    let mapping = answered(&drafted, &["empty = ", "account = { value"]);
    assert!(Case::new(&mapping).file_at(jobs).run().is_ok());
}

#[test]
fn spend_is_recognized_by_the_words_of_its_names() {
    for (header, column) in [
        ("cost_date,source,campaign,cost_amount,currency", "cost_amount"),
        ("Day,Source,Campaign name,Amount spent (USD),Cost per result", "Amount spent (USD)"),
    ] {
        let draft = drafted(&[("costs.csv", &format!("{header}\n2026-06-01,avito,panels,4500.00,1\n"))]);
        assert!(draft.contains("[[spend]]") && draft.contains(&format!("\nadSpend = \"{column}\"")), "{draft}");
    }
    // The stage that was left is not the one that was reached.
    let draft = drafted(&[(
        "log.csv",
        "deal_id,old_stage,new_stage,changed_at\n1,New,Won,2026-06-01\n1,New,Lost,2026-06-02\n",
    )]);
    assert!(draft.contains("[events.columns.type]\ncolumn = \"new_stage\""), "{draft}");
}

/// An export of deals: each row has the days of its creation and its closing, and its last stage alone.
#[test]
fn a_row_that_seems_to_be_a_customer_is_a_question() {
    let stages = ["Won", "Lost", "", "Contacted"];
    let row = |at: usize| {
        let (stage, day) = (stages[at % 4], at + 10);
        format!(
            "D{at},{day}.03.2025 09:15,{stage},{},\"€ 1.{day}0,00\",{at}00\n",
            if at.is_multiple_of(2) { "28.03.2025" } else { "" }
        )
    };
    let rows: String = (0..12).map(row).collect();
    let draft = drafted(&[(
        "deals.csv",
        &format!("Deal ID,Created Time,Stage,Closing Date,Offer Total Amount,Paid so far\n{rows}"),
    )]);
    for line in [
        "\"Stage\" is empty on 3 rows. The ingest refuses such rows unless this line leaves them out. Should it?\n#unless = { Stage = \"\" }\n",
        "no two rows have the same \"Deal ID\", so that each row seems to be a customer with its last stage",
        "\n#where = { Stage = \"Won\" }  # in a copy for `sold`; 3 rows\n#where = { Stage = \"Lost\" }  # in a copy for `canceled`; 3 rows\n",
        "QUESTION 5: no column is certainly the amount of the event. Which is it, if any?\n#total = { column = \"Offer Total Amount\", \
         decimal_mark = \",\" }  # ",
        "\n#total = \"Paid so far\"  # ",
    ] {
        assert!(draft.contains(line), "{line}\n{draft}");
    }
    // A log has several rows of a customer.
    let log = drafted(&[(
        "log.csv",
        &format!("Deal ID,Created Time,Stage,Closing Date\n{}", "7,2025-03-01,Won,2025-03-02\n".repeat(12)),
    )]);
    assert!(!log.contains("seems to be a customer"), "{log}");
}

#[test]
fn a_file_whose_rows_are_all_malformed_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, expected) in [
        (
            "a.csv",
            "lead_id,date,status\n1,2\n",
            "line 2: expected 3 cells as in the header, but found 2; if such lines are no rows, as below the last one, write \
             `short_rows = \"skip\"` for this input",
        ),
        ("a.ndjson", "{\"id\": 1, \"id\": 2}\n", "line 1: expected each member once, but found `id` twice"),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let refusal = draft(std::slice::from_ref(&path), &DraftOptions::default()).unwrap_err();
        assert_eq!(refusal.to_string(), format!("`{}`: {expected}", path.display()));
    }
}

#[test]
fn a_sample_ends_among_malformed_rows() {
    let text = format!("lead_id,date,status\n1,2026-01-02,sold\n{}", "1\n".repeat(20_000));
    let draft = drafted(&[("a.csv", &text)]);
    assert!(draft.contains("# The first row was read for this draft.\n"), "{draft}");
}

#[test]
fn times_in_a_time_zone_are_drafted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.parquet");
    let times = TimestampMicrosecondArray::from(vec![1_767_348_000_000_000]).with_timezone("UTC");
    let text = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text])) };
    let columns = [("lead_id", text("7")), ("date", Arc::new(times)), ("status", text("sold"))];
    let rows = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), rows.schema(), None).unwrap();
    writer.write(&rows).unwrap();
    writer.close().unwrap();
    let draft = draft(&[path], &DraftOptions::default()).unwrap().text;
    let line = "dateTime = \"date\"  # fits every sampled value, such as `2026-01-02T10:00:00Z`";
    assert!(draft.contains(line), "{draft}");
}

#[test]
fn each_answer_names_the_values_that_do_not_fit_it() {
    let rows: String = (1..=9).map(|at| format!("{at};0{at}/02/2026;sold;{at},234\n")).collect();
    let odd = "10;13/01/2026;sold;12,5\n11;01/13/2026;sold;1.5\n";
    let draft = drafted(&[("a.csv", &format!("lead_id;date;status;amount\n{rows}{odd}"))]);
    let fits = |value: &str| format!("fits every sampled value but `{value}`, which the ingest refuses");
    let (first, last) = (fits("13/01/2026"), fits("01/13/2026"));
    for lines in [
        format!(
            "which format do the dates of \"date\" have?\n\
             #date = {{ column = \"date\", format = \"%m/%d/%Y\" }}  # `01/02/2026`: month before day; {first}\n\
             #date = {{ column = \"date\", format = \"%d/%m/%Y\" }}  # `01/02/2026`: day before month; {last}\n"
        ),
        format!(
            "#total = {{ column = \"amount\", decimal_mark = \".\" }}  # the point is the decimal mark; {}\n\
             #total = {{ column = \"amount\", decimal_mark = \",\" }}  # the comma is the decimal mark; {}\n",
            fits("12,5"),
            fits("1.5")
        ),
    ] {
        assert!(draft.contains(&lines), "{lines}\n{draft}");
    }
}

#[test]
#[cfg(unix)]
fn a_pipe_is_refused_because_a_second_pass_would_wait_forever() {
    use std::os::fd::AsRawFd as _;

    let folder = tempfile::tempdir().unwrap();
    let named = folder.path().join("jobs.csv");
    assert!(std::process::Command::new("mkfifo").arg(&named).status().unwrap().success());
    // As a shell gives the output of a command.
    let (output, _input) = std::io::pipe().unwrap();
    let unnamed = PathBuf::from(format!("/dev/fd/{}", output.as_raw_fd()));
    for pipe in [named, unnamed] {
        let refusal = draft(std::slice::from_ref(&pipe), &DraftOptions::default()).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            format!(
                "`{}`: a draft reads a file more than once, which a pipe does not allow; write its content to a file first",
                pipe.display()
            )
        );
    }
}

/// A header below title lines is found, and lines with fewer cells are asked about.
#[test]
fn lines_that_are_no_rows_are_drafted() {
    let text = "Campaign report\n\"January 1, 2026 - January 2, 2026\"\nDay,Campaign,Cost,Clicks\n2026-01-01,x,1.5,1\n2026-01-02,y,2.5,2\nTotal\n";
    let draft = drafted(&[("ads.csv", text)]);
    assert!(draft.contains("file = \"ads.csv\"\nheader_row = 3  # the lines before it are titles\n"), "{draft}");
    let question = "line 6 has fewer cells than the header. Are such lines no rows, as below the last one?\n#short_rows = \"skip\"";
    assert!(draft.contains(question), "{draft}");
    assert!(draft.contains("[[spend]]") && draft.contains("adSpend = \"Cost\""), "{draft}");
}

/// The sum of the numbers of leads was once the revenue of a month.
#[test]
fn numbers_phones_and_ids_are_no_money() {
    let header =
        "Customer ID,Lead #,Lead created,Invoice No,Estimate ID,Closed on,Sold phone,Sold hours,Closed total,Sold on";
    let draft = drafted(&[(
        "jobs.csv",
        &format!("{header}\n7,91953,2025-01-31,12,9,2025-02-10,3122620111,3,\"1,800.00\",2025-02-03\n"),
    )]);
    for line in [
        "lead-originated = { date = \"Lead created\" }  # by the names of its columns",
        "sold = { date = \"Sold on\" }  # by the names of its columns",
        "closed = { date = \"Closed on\", total = { column = \"Closed total\", decimal_mark = \".\" } }  # by the names of its columns",
    ] {
        assert!(draft.contains(&format!("\n{line}\n")), "{line}\n{draft}");
    }
    // Neither a name nor a mark says whether these are amounts.
    let open =
        |value: &str| drafted(&[("jobs.csv", &format!("id,called,quoted,quote\n7,2025-01-31,2025-02-03,{value}\n"))]);
    let draft = open("1800");
    let question = "which is right for estimated?\n#estimated = { date = \"quoted\", total = \"quote\" }  # `1800`\n\
                    #estimated = { date = \"quoted\" }  # if these are numbers, and no amounts\n";
    assert!(draft.contains(question), "{draft}");
    for value in ["$1800", "1800.50"] {
        assert!(
            open(value).contains("\nestimated = { date = \"quoted\", total = \"quote\" }  # by"),
            "{}",
            open(value)
        );
    }
}

/// `actions:lead` in a column of results is no stage.
#[test]
fn spend_next_to_clicks_is_spend_whatever_its_results_are_called() {
    let rows = "2026-03-01,Drains,5,actions:lead,5.00,10\n2026-03-02,Brand,2,actions:lead,1.50,3\n";
    let draft =
        drafted(&[("ads.csv", &format!("Day,Campaign,Results,Result indicator,Amount spent,Link clicks\n{rows}"))]);
    assert!(draft.contains("[[spend]]") && draft.contains("\nadSpend = \"Amount spent\""), "{draft}");
}

#[test]
fn a_call_that_may_not_count_is_asked_about() {
    let log =
        "phone,date,status\n1,2026-03-01,Answered Call\n2,2026-03-02,Abandoned Call\n3,2026-03-02,Answered Call\n";
    let draft = drafted(&[("calls.csv", log)]);
    for line in
        ["\"Answered Call\" = \"lead-originated\"  # 2 rows", "#\"Abandoned Call\" = \"lead-originated\"  # 1 row"]
    {
        assert!(draft.contains(&format!("\n{line}\n")), "{draft}");
    }
    assert!(draft.contains("some values are not certainly stages"), "{draft}");
}

#[test]
fn what_identifies_a_customer_best_comes_first() {
    let row = |at: usize, phone: &str| format!("Drain {at},{at}0.50,{phone},A-{at},City {at},2026-03-0{at},won\n");
    let rows = [row(1, "312-1"), row(2, "312-2"), row(3, "Anonymous"), row(4, "Anonymous")].concat();
    let draft = drafted(&[("log.csv", &format!("Title,Sale price,Phone,File #,City,Day,Status\n{rows}"))]);
    let answers: Vec<&str> = draft.lines().filter_map(|line| line.strip_prefix("#opportunityId = ")).collect();
    assert_eq!(
        answers,
        [
            "\"Phone\"  # 3 distinct values such as `312-1`, `312-2`, `Anonymous`; `Anonymous` on 2 rows would be one customer",
            "\"File #\"  # 4 distinct values such as `A-1`, `A-2`, `A-3`, ...",
            "\"Title\"  # 4 distinct values such as `Drain 1`, `Drain 2`, `Drain 3`, ...; two people may have the same name",
            "\"City\"  # 4 distinct values such as `City 1`, `City 2`, `City 3`, ...; two people may have the same name",
        ]
    );
}

/// An address has the spelling of addresses under a phone number, too, and an id stays as it is.
#[test]
fn what_takes_the_place_of_a_customer_has_keys_of_its_own() {
    let contacts = ["602-555-2620,C@x.com", "602-555-2621,", "602-555-2622,", ",a@x.com", ",b@x.com", ","];
    let rows: String =
        (1..).zip(contacts).map(|(at, contact)| format!("{contact},A-{at},2026-03-0{at},won\n")).collect();
    let draft = drafted(&[("log.csv", &format!("Contact Phone,Contact Email,File #,Day,Status\n{rows}"))]);
    for answer in [
        "{ column = \"Contact Phone\", normalize = \"phone\", region = \"US\", otherwise = [{ column = \"Contact Email\", normalize = \
         \"email\" }, { column = \"File #\" }] }  # 3 distinct values such as `602-555-2620`, `602-555-2621`, `602-555-2622`; on 3 \
         rows, \"Contact Email\" or \"File #\" takes its place",
        "{ column = \"Contact Email\", normalize = \"email\", otherwise = [{ column = \"Contact Phone\", normalize = \"phone\", region = \
         \"US\" }, { column = \"File #\" }] }",
    ] {
        assert!(draft.contains(&format!("\n#opportunityId = {answer}")), "{answer}\n{draft}");
    }
}

/// Jobs whose number is `Job #` are customers with their last stage as much as deals are.
#[test]
fn jobs_with_their_last_status_are_a_question() {
    let row = |at: usize| {
        let status = if at.is_multiple_of(2) { "Completed" } else { "Canceled" };
        format!("J{at},{at}/03/2026,{status},{}/03/2026\n", at + 10)
    };
    let rows: String = (10..21).map(row).collect();
    let draft = drafted(&[("jobs.csv", &format!("Job #,Created,Status,Completed on\n{rows}"))]);
    assert!(draft.contains("no two rows have the same \"Job #\", so that each row seems to be a customer"), "{draft}");
}

/// A comma in an amount separates no cells, and a count has no fraction.
#[test]
fn a_header_below_title_lines_has_the_separator_of_its_file() {
    let rows = "Nummer;Datum;Kunde;Betrag\n7;14.03.2026;M GmbH;1.234,50 €\n8;15.03.2026;S;(50,00 €)\n";
    let draft = drafted(&[("a.csv", &format!("\"Acme Heating\"\nSales\n\n{rows}"))]);
    for line in ["separator = \";\"", "header_row = 4  # the lines before it are titles"] {
        assert!(draft.contains(&format!("\n{line}\n")), "{draft}");
    }
    // Whatever the language of its name is, money identifies nobody.
    assert!(!draft.contains("opportunityId = \"Betrag\""), "{draft}");
    let spend = drafted(&[("b.csv", "Day,Account,Cost,Impr\n2026-03-01,oak,5.00,\"10,000\"\n")]);
    assert!(spend.contains("\nimpressions = \"Impr\"  # by its name; `10,000`\n"), "{spend}");
    assert!(!spend.contains("open_questions"), "{spend}");
}

/// Leads of a call tracker, and the jobs and invoices of another system, which has ids of its own.
#[test]
fn the_answers_about_customers_make_leads_and_jobs_meet() {
    let files = [
        (
            "leads.csv",
            "Lead ID,Account,Date Created,Lead Status,Contact Phone,Contact Email\n\
             481,Peña – GVL,2026-01-02,New,864-232-8207,a@x.com\n482,PENA GVL,2026-01-03,New,(828) 676-8643,b@x.com\n",
        ),
        (
            "jobs.csv",
            "Job #,Client,Primary Phone,Service Area,Created,Status,Job Total\n\
             61,Ann,+18642328207,\"Greenville, SC\",2026-01-05,Done,$0.00\n\
             62,Bob,828.676.8643,Greenville SC,2026-01-06,Canceled,$9.00\n",
        ),
        (
            "invoices.csv",
            "Invoice #,Job #,Client,Invoice Date,Status,Tax,Surcharge,Total\n\
             I1,61,Ann,2026-01-09,Paid,7,0.75,$107.50\nI2,61,Ann,2026-01-10,Paid,3,0.25,$50.00\n",
        ),
    ];
    let draft = drafted(&files);
    let customers: Vec<&str> = draft.lines().filter_map(|line| line.strip_prefix("#opportunityId = ")).collect();
    let names: Vec<&str> = customers.iter().map(|line| line.split("  # ").next().unwrap()).collect();
    let phone = |name: &str| format!("{{ column = \"{name}\", normalize = \"phone\", region = \"US\" }}");
    let mail = "{ column = \"Contact Email\", normalize = \"email\" }";
    let [of_leads, of_jobs] = ["Contact Phone", "Primary Phone"].map(phone);
    let expected = [
        &[of_leads.as_str(), mail, "\"Lead ID\""][..],
        &[&of_jobs, "\"Job #\"", "\"Client\"", "\"Service Area\""],
        &[&of_jobs, "\"Invoice #\""],
    ];
    assert_eq!(names, expected.concat(), "{draft}");
    for line in [
        "are `Peña – GVL` and `PENA GVL` of \"Account\" one account? The values differ only in case, blanks, punctuation or accents.",
        "# Joined to \"jobs\", whose rows say who the customer is: every sampled key has a row.\n\
         join = [{ input = \"jobs\", on = \"Job #\", unmatched = \"refuse\" }]\n",
        "#account = { column = \"Service Area\", map = { \"Greenville SC\" = \"Greenville, SC\" }, unmapped = \"keep\" }  # of \"jobs\": ",
    ] {
        assert!(draft.contains(line), "{line}\n{draft}");
    }
    let mapping = answered(
        &draft,
        &[
            "account = { column = \"Account\", map",
            "account = { column = \"Service Area\", map",
            "account = { column = \"Service Area\", map",
            "opportunityId = { column = \"Contact Phone\"",
            "opportunityId = { column = \"Primary Phone\"",
            "opportunityId = { column = \"Primary Phone\"",
            "type = { column = \"Lead Status\"",
            "type = { column = \"invoices.Status\"",
        ],
    );
    let made = "account,date,opportunityId,type\nPeña – GVL,2026-01-02,+18642328207,lead-originated\n\
                Peña – GVL,2026-01-03,+18286768643,lead-originated\n\n\
                account,date,opportunityId,type\n\"Greenville, SC\",2026-01-05,+18642328207,closed\n\
                \"Greenville, SC\",2026-01-06,+18286768643,canceled\n\n\
                account,date,opportunityId,total,type\n\"Greenville, SC\",2026-01-09,+18642328207,107.50,closed\n\
                \"Greenville, SC\",2026-01-10,+18642328207,50.00,closed\n";
    assert_eq!(events(&mapping, &files), made.replace('"', ""));
}

#[test]
fn accounts_and_customers_that_two_files_do_not_share_are_questions() {
    let leads = ("leads.csv", "account,customer_id,date,status\noak,7,2026-01-02,New\n");
    let jobs = |row: &str| format!("account,customer_id,date,status\n{row},2026-01-03,Done\n");
    let [same, other] = ["oak,7", "Oakville,C7"].map(jobs);
    assert!(!drafted(&[leads, ("jobs.csv", &same)]).contains("QUESTION"));
    let draft = drafted(&[leads, ("jobs.csv", &other)]);
    for line in [
        "\"account\" and \"account\" of \"leads.csv\" have no value in common: `Oakville`, but `oak`. ",
        "#account = { column = \"account\", map = { \"Oakville\" = \"...\" } }\n",
        "\"customer_id\" and \"customer_id\" of \"leads.csv\" have no value in common: `C7`, but `7`. A lead becomes revenue only ",
        "\n#opportunityId = \"customer_id\"  # 1 distinct value such as `C7`\n",
    ] {
        assert!(draft.contains(line), "{line}\n{draft}");
    }
}

/// A form that is complete is no work that is, and what is paid may be an advertisement.
#[test]
fn a_column_that_may_hold_no_stages_is_a_question() {
    let leads = "id,created_time,UTM Medium,Payment status,lead_status\n\
                 l:1,2026-03-01,paid,paid,complete\nl:2,2026-03-02,paid,paid,complete\n";
    let files = [("leads.csv", leads)];
    let draft = drafted(&files);
    let question = "is \"lead_status\" the stage of the event? It has the values `complete`, which may be those of a form or a payment. \
                    If not, which stage are these rows?\n\
                    #type = { column = \"lead_status\", map = { \"complete\" = \"closed\" } }  # it is\n\
                    #type = { value = \"lead-originated\" }\n";
    assert!(draft.contains(question), "{draft}");
    let mapping = answered(&draft, &["account = { value", "type = { value = \"lead-originated\""]);
    let expected =
        "account,date,opportunityId,type\n...,2026-03-01,l:1,lead-originated\n...,2026-03-02,l:2,lead-originated\n";
    assert_eq!(events(&mapping, &files), expected);
    let invoices = drafted(&[("a.csv", "Customer,Date,Status\n1,2026-03-01,Paid\n2,2026-03-02,Overdue\n")]);
    let answer = "#type = { column = \"Status\", map = { \"Paid\" = \"closed\" }, unmapped = \"skip\" }  # it is; rows with other \
                  values are left out\n";
    assert!(invoices.contains(answer), "{invoices}");
    // The name says what these are, whatever their values.
    let other = drafted(&[("a.csv", "id,date,UTM Medium,Payment status\n1,2026-03-01,booked,paid\n")]);
    assert!(other.contains("no column looks like the stage of the event"), "{other}");
}

/// A report of jobs: the last status, and a date for each stage that a job has reached.
#[test]
fn dates_that_are_named_like_stages_are_those_of_their_stages() {
    let rows = "J1,2026-03-01,2026-03-02,2026-03-05,Completed,$500.00\nJ2,2026-03-02,2026-03-04,,Cancelled,$0.00\n\
                J3,2026-03-03,,,Lead,\n";
    let jobs = format!("Job Number,Created,Approved Date,Completed Date,Milestone,Total\n{rows}");
    let files = [("jobs.csv", &*jobs)];
    let draft = drafted(&files);
    let canceled = "QUESTION 4: \"Milestone\" is \"Cancelled\" on 1 row, but no column is named like the day of a cancellation. Which is \
                    it?\n#canceled = { date = \"Created\", where = { Milestone = [\"Cancelled\"] } }  # `2026-03-01`";
    let closed = "which is right for closed?\n\
                  #closed = { date = \"Completed Date\", total = \"Total\" }  # `$500.00`, `$0.00`\n\
                  #closed = { date = \"Completed Date\" }  # without an amount\n";
    for text in [canceled, closed, "\nlead-originated = { date = \"Created\" }  # by the names of its columns\n"] {
        assert!(draft.contains(text), "{text}\n{draft}");
    }
    let answers = [
        "account = { value",
        "sold = { date = \"Approved Date\" }",
        "closed = { date = \"Completed Date\", total",
        "canceled = { date = \"Approved Date\"",
    ];
    let made = events(&answered(&draft, &answers), &files);
    let of_stage = |stage: &str| made.lines().filter(|line| line.ends_with(stage)).count();
    assert_eq!(["lead-originated", "sold", "closed", "canceled"].map(of_stage), [3, 2, 1, 1], "{made}");
}

#[test]
fn a_row_that_was_created_and_changed_is_no_event_of_a_log() {
    let draft = drafted(&[(
        "deals.csv",
        "Deal,Created on,Updated on,Stage\nA,2026-03-01,2026-03-09,New lead\nB,2026-03-02,2026-03-07,Won\n",
    )]);
    let question =
        "\"Updated on\" is when a row was last changed, so that each row seems to be a customer with its last stage";
    assert!(draft.contains(question) && draft.contains("\n#where = { Stage = \"Won\" }  # in a copy"), "{draft}");
}

/// The contacts of a customer system are its opportunities once more, and an invoice is the job.
#[test]
fn files_that_make_the_same_events_are_asked_about() {
    let jobs = "Job,Called,Completed on,Closed total\n7,2026-03-01,2026-03-05,$100\n";
    let contacts = "Contact ID,Created\nc1,2026-03-01\n";
    let invoices = "Customer,Date,Amount,Status\n7,2026-03-06,$100,Paid\n8,2026-03-06,$20,Sent\n";
    let all = drafted(&[("jobs.csv", jobs), ("contacts.csv", contacts), ("invoices.csv", invoices)]);
    for question in [
        ": \"jobs.csv\" and \"contacts.csv\" make conversions (`lead-originated`). If they are about the same people",
        ": \"jobs.csv\" and \"invoices.csv\" make `closed` events with amounts. If they are about the same work",
    ] {
        assert!(all.contains(question), "{question}\n{all}");
    }
    let one = drafted(&[("jobs.csv", jobs)]);
    assert!(!one.contains("about the same"), "{one}");
}

/// Amounts of two currencies must not be added up.
#[test]
fn a_column_of_several_currencies_says_what_the_amounts_are_in() {
    let ads = |currency: &str| {
        format!("Day,Account,Cost,Currency code\n2026-03-01,oak,5.00,USD\n2026-03-01,elm,7.00,{currency}\n")
    };
    let files = [("ads.csv", &*ads("CAD"))];
    let draft = drafted(&files);
    assert!(draft.contains("\ncurrency = { column = \"Currency code\" }  # `USD`, `CAD`\n"), "{draft}");
    assert!(draft.contains("QUESTION 1: amounts are in `CAD` and `USD`. Which currency has each account?"), "{draft}");
    assert!(draft.contains("\n#[[accounts]]\n#currency = \"CAD\"\n#columns = { account = "), "{draft}");
    let ingested = |mapping: &str| Case::new(mapping).file("ads.csv", files[0].1).ingest().run();
    let mapping = answered(&draft, &[]);
    let refusal = ingested(&mapping).unwrap_err().to_string();
    assert!(refusal.contains("currency"), "{refusal}");
    let account = |currency: &str, key: &str| {
        format!("\n[[accounts]]\ncurrency = \"{currency}\"\ncolumns = {{ account = {{ value = \"{key}\" }} }}\n")
    };
    let summary = ingested(&(mapping + &account("CAD", "elm") + &account("USD", "oak"))).unwrap();
    assert_eq!(summary.spend.taken, 2);
    assert!(!drafted(&[("ads.csv", &ads("USD"))]).contains("currency = "));
}

#[test]
fn an_amount_with_and_without_tax_is_a_question() {
    let rows = "7,2026-03-01,Sold,$100.00,$8.25,$108.25\n8,2026-03-02,Invoiced,$20.00,$1.65,$21.65\n";
    let draft =
        drafted(&[("invoices.csv", &format!("Customer,Invoice Date,Status,Subtotal,Tax,Invoice Total\n{rows}"))]);
    let question = "there are amounts with and without \"Tax\". Which is the revenue?\n\
                    #total = \"Subtotal\"  # without tax; `$100.00`, `$20.00`\n\
                    #total = \"Invoice Total\"  # with tax; `$108.25`, `$21.65`\n";
    assert!(draft.contains(question), "{draft}");
}

/// The dates of a report of weeks are the first and the last day of each.
#[test]
fn the_spend_of_a_period_is_divided_over_its_days() {
    let rows = "x,09/01/2026,09/06/2026,oak,$6.00\ny,09/14/2026,09/20/2026,oak,$7.00\n";
    let report = format!("Campaign,Start Date,End Date,Account,Spend\n{rows}");
    let draft = drafted(&[("report.csv", &report)]);
    let line = "\nspread = { from = \"Start Date\", to = \"End Date\", format = \"%m/%d/%Y\" }  # ";
    assert!(draft.contains(line) && !draft.contains("open_questions"), "{draft}");
    assert_eq!(Case::new(&draft).file("report.csv", &report).spend().len(), 6 + 7);
    // A report by day has the period of the whole report, too.
    let days = report
        .replace("Campaign,", "Campaign,Day,")
        .replace("\nx,", "\nx,2026-09-01,")
        .replace("\ny,", "\ny,2026-09-14,");
    assert!(!drafted(&[("report.csv", &days)]).contains("spread"));
}

/// A sheet of budgets: months over two columns each, of which the first row with texts of their own is no header.
#[test]
fn months_that_are_columns_become_targets_or_spend() {
    let rows: &[&[&str]] = &[
        &["Budgets"],
        &["Client", "Channel", "Sep 2026", "", "Oct 2026", ""],
        &["", "", "Budget", "Lead goal", "Budget", "Lead goal"],
        &["oak", "Google Ads", "7000", "35", "7500", "37"],
    ];
    let sheet = workbook(rows, &["A2:A3", "B2:B3", "C2:D2", "E2:F2"]);
    let folder = Case::new("").file("budget.xlsx", &sheet);
    let draft = draft(&[folder.path("budget.xlsx")], &DraftOptions::default()).unwrap().text;
    for line in [
        "merged = true  # merged cells name the columns that they span",
        "header_row = 2  # the lines before it are titles",
        "unpivot = { columns = { regex = \"[A-Z][a-z]{2} [0-9]{4}\" }, name = \"column\", value = \"amount\" }",
        "compute = { month = { column = \"column\", extract = \"[A-Z][a-z]{2} [0-9]{4}\" }, measure = { column = \"column\", extract = \
         \"Lead goal|Budget\" } }",
        "#where = { measure = \"Budget\" }",
        "#spread = { month = \"month\", format = \"%b %Y\" }",
    ] {
        assert!(draft.contains(&format!("\n{line}\n")), "{line}\n{draft}");
    }
    let mut is_open = false;
    let targets = draft.lines().filter(|line| !line.starts_with("open_questions")).map(|line| {
        is_open = line == "#[[targets]]" || (is_open && line.starts_with('#') && !line.starts_with("#[["));
        if is_open { &line[1..] } else { line }
    });
    let mapping = targets.collect::<Vec<_>>().join("\n");
    let summary = Case::new(&mapping).file("budget.xlsx", &sheet).ingest().run().unwrap();
    assert_eq!(summary.targets.taken, 4, "{mapping}");
    let one = drafted(&[("fees.csv", "Client,Mar 2026,Apr 2026\noak,310,300\n")]);
    let line =
        "\nunpivot = { columns = { regex = \"^[A-Z][a-z]{2} [0-9]{4}$\" }, name = \"month\", value = \"amount\" }\n";
    assert!(one.contains(line) && one.contains("metric = { value = \"spend\" }"), "{one}");
}

/// The account of a deal is the company that buys.
#[test]
fn a_column_of_many_accounts_is_a_question() {
    let deals = |accounts: usize| {
        let row = |at: usize| format!("d{at},Company {},2026-03-01,won,North\n", at % accounts);
        drafted(&[(
            "deals.csv",
            &format!("deal_id,account,date,stage,office\n{}", (0..40).map(row).collect::<String>()),
        )])
    };
    let many = deals(21);
    for answer in [
        "#account = \"account\"  # `Company 0`, `Company 1`, `Company 2`, ...; 21 distinct values, unless these are customers of one \
         business\n",
        "#account = \"office\"  # `North`\n",
    ] {
        assert!(many.contains(answer), "{answer}\n{many}");
    }
    assert!(deals(20).contains("\naccount = \"account\"  # by its name"));
}
