//! Inputs that differ in spelling or columns, and what is stored of them.

use crate::dataset::Case;
use std::path::PathBuf;
use trueup_ingest::Ingest;

#[test]
fn a_header_without_rows_is_accepted() {
    let case = Case::new();
    let summary = case.events("empty.csv", "account,opportunityId,type,date\n");
    assert_eq!((summary.changed, summary.events.taken), (true, 0));
    assert_eq!(case.manifest().events, []);
}

#[test]
fn computed_columns_are_ignored_with_a_warning() {
    let case = Case::new();
    let summary =
        case.events("a.csv", "account,opportunityId,type,date,week,leads,zip\na,1,sold,2025-01-01,x,1,02134\n");
    let path = case.path("a.csv");
    let ignored = |column: &str, why: &str| format!("`{}`: column `{column}` is ignored: {why}", path.display());
    assert_eq!(
        summary.warnings,
        [ignored("week", "trueup computes its values"), ignored("leads", "it has the name of a metric")]
    );
    assert_eq!(case.stored_events(), ["a|1|sold|2025-01-01||||02134"]);
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let case = Case::new();
    let csv = case.file("a.csv", "\u{feff}account,opportunityId,type,date\r\na,1,sold,2025-01-01\r\n");
    let json = case
        .file("b.json", "\u{feff}{\"account\":\"a\",\"opportunityId\":2,\"type\":\"sold\",\"date\":\"2025-01-01\"}");
    case.ingest().events(csv).events(json).run().unwrap();
    assert_eq!(case.stored_events(), ["a|1|sold|2025-01-01|||", "a|2|sold|2025-01-01|||"]);
}

#[test]
fn totals_keep_all_their_digits() {
    let case = Case::new();
    let header = "account,opportunityId,type,date,total\n";
    case.events("1.csv", &format!("{header}a,1,sold,2025-01-01,9000000000000\na,2,sold,2025-01-01,-0.000001\n"));
    case.events("2.csv", &format!("{header}a,3,sold,2025-01-01,1\n"));
    case.events("3.csv", &format!("{header}b,1,sold,2025-01-01,999999999999.999999\n"));
    assert_eq!(
        case.stored_events(),
        [
            "a|1|sold|2025-01-01|||9000000000000.000000",
            "a|2|sold|2025-01-01|||-0.000001",
            "a|3|sold|2025-01-01|||1.000000",
            "b|1|sold|2025-01-01|||999999999999.999999",
        ]
    );
}

/// Returns the message that refuses an input. It begins with the name of the file, in backticks.
fn refused(name: &str, text: &str, give: impl FnOnce(Ingest, PathBuf) -> Ingest) -> String {
    let case = Case::new();
    let error = give(case.ingest(), case.file(name, text)).run().unwrap_err();
    assert!(error.is_data() && !case.dataset().exists(), "{error}");
    error.to_string().replace(case.path("").to_str().unwrap(), "")
}

fn refused_spend(name: &str, text: &str) -> String {
    refused(name, text, |ingest, path| ingest.spend(path))
}

#[test]
fn a_column_in_another_letter_case_is_refused_in_every_table() {
    let expected = |name: &str, meant: &str, given: &str| {
        format!("`{name}`: expected the column `{meant}` in this very spelling, but found `{given}`")
    };
    assert_eq!(
        refused_spend("a.csv", "account,date,adspend,channel\na,2025-01-01,10,x\n"),
        expected("a.csv", "adSpend", "adspend")
    );
    let late = "{\"account\":\"a\",\"date\":\"2025-01-01\",\"adSpend\":1}\n{\"account\":\"a\",\"date\":\"2025-01-01\",\"Clicks\":1}\n";
    assert_eq!(refused_spend("a.ndjson", late), expected("a.ndjson", "clicks", "Clicks"));
    assert_eq!(
        refused("a.csv", "account,timezone\na,UTC\n", |ingest, path| ingest.accounts(path)),
        expected("a.csv", "timeZone", "timezone")
    );
    for (meant, given) in [("opportunityId", "opportunityid"), ("total", "Total"), ("eventId", "EventID")] {
        let header = format!("account,opportunityId,type,date,{given}\n").replacen(&format!("{meant},"), "", 1);
        let message = refused("a.csv", &header, |ingest, path| ingest.events(path));
        assert_eq!(message, expected("a.csv", meant, given));
    }
}

#[test]
fn unknown_columns_of_spend_and_accounts_are_ignored_with_a_warning() {
    let case = Case::new();
    let spend = case.file("spend.csv", "account,date,adSpend,channel\na,2025-01-01,10,x\n");
    let accounts = case.file("accounts.csv", "account,region\na,south\n");
    let more = case.file("more.ndjson", "{\"account\":\"b\"}\n{\"account\":\"c\",\"region\":\"north\"}\n");
    let ingest = case.ingest().spend(&spend).accounts(&accounts).accounts(&more);
    let warned = |path: &PathBuf, column: &str, table: &str, columns: &str| {
        let path = path.display();
        format!("`{path}`: column `{column}` is ignored: the {table} table has no column `{column}`; it has {columns}")
    };
    let known = "`account`, `accountName`, `industry`, `timeZone`, `leadGrading`, `currency`";
    assert_eq!(
        ingest.run().unwrap().warnings,
        [
            warned(&accounts, "region", "accounts", known),
            warned(&more, "region", "accounts", known),
            warned(
                &spend,
                "channel",
                "spend",
                "`account`, `date`, `source`, `attributionCategory`, `attributionChannel`, `campaign`, `adSpend`, `managementFee`, \
                 `clicks`, `impressions`"
            ),
        ]
    );
    assert_eq!(case.stored_spend(), ["a|2025-01-01|||||10.000000|||"]);
}

#[test]
fn spend_without_a_column_to_sum_is_refused() {
    let expected =
        "expected a column `adSpend`, `managementFee`, `clicks` or `impressions`, but found `account`, `date`";
    let hint = "if it is a file of another shape, `trueup mapping draft FILE` drafts a mapping of it";
    assert_eq!(
        refused_spend("a.csv", "account,date,cost\na,2025-01-01,10\n"),
        format!("`a.csv`: {expected}, `cost`; {hint}")
    );
    assert_eq!(refused_spend("a.csv", "account,date\na,2025-01-01\n"), format!("`a.csv`: {expected}; {hint}"));
    let line = "{\"account\":\"a\",\"date\":\"2025-01-01\",\"cost\":10}\n";
    assert_eq!(refused_spend("a.ndjson", line), format!("`a.ndjson`: {expected}, `cost`; {hint}"));
}

/// More lines than a chunk has if a batch has ten rows.
const BARE: usize = 500;

#[test]
fn a_part_of_an_input_may_lack_the_columns_to_sum() {
    let case = Case::new();
    let bare = "{\"account\":\"a\",\"date\":\"2025-01-01\"}\n".repeat(BARE);
    let path = case.file("a.ndjson", format!("{bare}{{\"account\":\"a\",\"date\":\"2025-01-02\",\"clicks\":3}}\n"));
    let summary = case.ingest().spend(path).batch_rows(10).run().unwrap();
    assert_eq!((summary.spend.taken, summary.warnings.len()), (u64::try_from(BARE).unwrap() + 1, 0));
    assert_eq!(case.ingest().spend(case.file("blank.ndjson", "\n\n")).run().unwrap().spend.taken, 0);
}
