//! Warnings and errors where a number would otherwise look plausible and be wrong.

use crate::dataset::Case;

const HEADER: &str = "account,opportunityId,type,date,eventId,campaign";

#[test]
fn equal_events_without_an_id_are_counted_with_a_warning() {
    let case = Case::new();
    let rows = "a,1,sold,2025-01-01,,x\na,1,booked,2025-01-01,,x\na,1,sold,2025-01-01,e,x\na,2,sold,2025-01-01,,x\n";
    assert_eq!(case.events("1.csv", &format!("{HEADER}\n{rows}")).warnings, [""; 0]);
    // An equal event of another customer, of another campaign, and one with an id that comes again are no repetitions.
    let more = "a,1,sold,2025-01-01,,y\na,3,sold,2025-01-01,,x\na,1,sold,2025-01-01,e,x\n";
    assert_eq!(case.events("2.csv", &format!("{HEADER}\n{more}")).warnings, [""; 0]);
    let once = case.events("3.csv", &format!("{HEADER}\na,2,sold,2025-01-01,,x\n")).warnings;
    assert_eq!(
        once,
        [
            "1 event without an `eventId` is equal to another event of the same customer in every column, and it counts in addition; \
          if the same events were ingested twice, ingest all events with an `eventId` into a new dataset"
        ]
    );
    let again = case.events("4.csv", &format!("{HEADER}\n{rows}b,1,sold,2025-01-01,,x\n")).warnings;
    assert_eq!(
        again,
        [
            "4 events without an `eventId` are equal to another event of the same customer in every column, and they count in \
          addition; if the same events were ingested twice, ingest all events with an `eventId` into a new dataset"
        ]
    );
    assert_eq!(case.stored_events().iter().filter(|row| row.starts_with("a|2|")).count(), 3);
}

/// A day may be given, or computed from the point in time. The column `trueup.dateSource` says which, and decides the
/// order of rows before `zip` does.
#[test]
fn equal_events_give_a_warning_wherever_their_day_comes_from() {
    let rows = ["2025-01-31,2025-01-31T10:00:00Z,1", "2025-01-31,2025-01-31T10:00:00Z,2", ",2025-01-31T10:00:00Z,1"];
    for dimension in ["a", "zip"] {
        let case = Case::new();
        let rows: String = rows.iter().map(|row| format!("acme,1,booked,{row}\n")).collect();
        let text = format!("account,opportunityId,type,date,dateTime,{dimension}\n{rows}");
        let warnings = case.events("1.csv", &text).warnings;
        assert_eq!(warnings.len(), 1, "{dimension}: {warnings:?}");
        assert!(warnings[0].starts_with("1 event without an `eventId` is equal to another event"), "{warnings:?}");
    }
}

/// The lead moves to another customer, and the rest of the history does not.
#[test]
fn events_that_move_to_another_customer_are_counted_and_named() {
    let header = "account,opportunityId,type,date,eventId";
    // With little memory, the rows are divided on disk.
    for memory in [1 << 30, 1] {
        let case = Case::new();
        let rows = |customer: &str| -> String {
            (10..60).map(|id| format!("a,{customer}{id},lead-originated,2025-01-01,l{id}\n")).collect()
        };
        let others = "a,mail10,closed,2025-01-03,c1\na,3,booked,2025-01-01,e3\nb,mail10,sold,2025-01-01,l10\n";
        let first = case.events("1.csv", &format!("{header}\n{}{others}", rows("mail")));
        assert_eq!((first.warnings, first.protocol["events"].reassigned), (vec![], 0));
        // The same customer with another stage is no change.
        let later = case.file("2.csv", format!("{header}\n{}a,3,sold,2025-01-02,e3\n", rows("phone")));
        let summary = case.ingest().events(later).memory(memory).run().unwrap();
        assert_eq!(
            summary.warnings,
            [
                "50 stored events were replaced by events of other customers: `mail10` of `a` became `phone10`, `mail11` of `a` became \
                 `phone11`, `mail12` of `a` became `phone12`, and others. Events that this ingest does not replace stay with the \
                 earlier customer, so that one person may count as two; to move them, ingest the files that have them again, or \
                 patch their `opportunityId`"
            ]
        );
        let protocol = &summary.protocol["events"];
        assert_eq!((protocol.reassigned, protocol.all_replaced().rows), (50, 51), "memory {memory}");
        let again = case.events("3.csv", &format!("{header}\n{}", rows("phone")));
        assert_eq!((again.warnings, again.protocol["events"].reassigned), (vec![], 0));
    }
}

#[test]
fn amounts_in_another_column_than_total_give_a_warning() {
    let case = Case::new();
    let warned = |text: &str| {
        let path = case.file("a.csv", text);
        let summary = case.ingest().events(path).run().unwrap();
        std::fs::remove_dir_all(case.dataset()).unwrap();
        summary.warnings.iter().map(|warning| warning.replace(case.path("").to_str().unwrap(), "")).collect::<Vec<_>>()
    };
    let header = "account,opportunityId,type,date";
    assert_eq!(
        warned(&format!(
            "{header},jobRevenue,List_Price,zip\na,1,sold,2025-01-01,1840.50,2000,02134\na,2,sold,2025-01-01,,,\n"
        )),
        [
            "`a.csv`: there is no column `total`, so that these events have no amounts and all revenue is 0; if the amounts are in \
          `List_Price` or `jobRevenue`, name that column `total`"
        ]
    );
    assert_eq!(warned(&format!("{header},total,revenue\na,1,sold,2025-01-01,5,5\n")), [""; 0]);
    assert_eq!(warned(&format!("{header},priceRange\na,1,sold,2025-01-01,5\na,2,sold,2025-01-01,high\n")), [""; 0]);
    assert_eq!(warned(&format!("{header},amount\na,1,sold,2025-01-01,\n")), [""; 0]);
}

#[test]
fn spend_given_as_accounts_is_refused() {
    let case = Case::new();
    let refused = |name: &str, text: &str| {
        let error = case.ingest().accounts(case.file(name, text)).run().unwrap_err();
        assert!(error.is_data() && !case.dataset().exists());
        error.to_string().replace(case.path("").to_str().unwrap(), "")
    };
    assert_eq!(
        refused("spend.csv", "account,date,adSpend\na,2025-01-01,10\n"),
        "`spend.csv`: expected accounts, but found spend, with the columns `account`, `date`, `adSpend`; give the file as `--spend`"
    );
    assert_eq!(
        refused("spend.ndjson", "{\"account\":\"a\",\"clicks\":3}\n"),
        "`spend.ndjson`: expected accounts, but found spend, with the columns `account`, `clicks`; give the file as `--spend`"
    );
    let accounts = case.file("accounts.csv", "account,industry,clicks\na,plumbing,3\n");
    assert_eq!(case.ingest().accounts(accounts).run().unwrap().accounts.taken, 1);
}

/// January's export again, after February's has restated what both have.
#[test]
fn a_file_that_is_older_than_what_it_replaces_is_named() {
    let spend = |amount: u32| format!("account,date,adSpend\na,2025-01-01,{amount}\n");
    let events = |total: u32| format!("{HEADER},total\na,1,sold,2025-01-01,e,x,{total}\n");
    for (table, rows) in [("spend", [1, 2].map(spend)), ("events", [1, 2].map(events))] {
        let case = Case::new();
        let files: Vec<_> = ["1.csv", "2.csv"].iter().zip(&rows).map(|(name, text)| case.file(name, text)).collect();
        let warned = |given: &[usize]| {
            let add = |ingest: trueup_ingest::Ingest, at: &usize| match table {
                "spend" => ingest.spend(&files[*at]),
                _ => ingest.events(&files[*at]),
            };
            given.iter().fold(case.ingest(), add).run().unwrap().warnings
        };
        // Nothing newer is replaced. Spend of one ingest adds up, whatever its order.
        let both: &[usize] = if table == "spend" { &[1] } else { &[0, 1] };
        for given in [&[0][..], &[0], &[1], both] {
            assert_eq!(warned(given), [""; 0], "{table} {given:?}");
        }
        std::fs::remove_dir_all(case.dataset()).unwrap();
        assert_eq!([warned(&[0]), warned(&[1])], [[""; 0]; 2]);
        let expected = format!(
            "{table} of files that were ingested before may have replaced newer ones, which a later version had from other files: \
             `1.csv`, of version 1, before version 2; `trueup restore DATASET --to 2` undoes this ingest"
        );
        assert_eq!(warned(&[0]), [expected]);
    }
}

fn spelled(column: &str, values: &str) -> String {
    format!(
        "values of `{column}` differ only in case or blanks, and count as different values: {values}. If they mean the same, give \
         them one spelling, such as by `map` in a mapping, and ingest them again"
    )
}

/// A table would show two rows that look the same, of which one has the leads and the other one the spend.
#[test]
fn values_that_differ_only_in_case_or_blanks_are_named() {
    let case = Case::new();
    let header = "account,opportunityId,type,date,eventId,campaign,attributionChannel";
    let rows = "a,x,sold,2025-01-01,1,Brand,Google Ads\na,X,sold,2025-01-01,2,Brand ,google ads\n\
                a,y,sold,2025-01-01,3,Brands,GOOGLE  ADS\na,z,sold,2025-01-01,Y,,Yelp\nb,z,sold,2025-01-01,y,,\n";
    let warned = case.events("1.csv", &format!("{header}\n{rows}")).warnings;
    let channels = spelled("attributionChannel", "`GOOGLE  ADS`, `Google Ads` and `google ads`");
    assert_eq!(warned, [channels, spelled("campaign", "`Brand` and `Brand `")]);
    // Events that have none of the values in question.
    assert_eq!(case.events("2.csv", &format!("{header}\nb,w,sold,2025-01-01,4,Other,Direct\n")).warnings, [""; 0]);
    // Spend against stored events, and then against stored spend.
    let spend = |account: &str, channel: &str| {
        let row = format!("account,date,adSpend,attributionChannel\n{account},2025-01-01,1,{channel}\n");
        case.ingest().spend(case.file(&format!("{account}.csv"), row)).run().unwrap().warnings
    };
    assert_eq!(
        spend("A", "yelp"),
        [spelled("account", "`A` and `a`"), spelled("attributionChannel", "`Yelp` and `yelp`")]
    );
    assert_eq!(spend("b", "YELP"), [spelled("attributionChannel", "`YELP`, `Yelp` and `yelp`")]);
}

#[test]
fn a_spelling_that_was_corrected_is_not_named_any_more() {
    let case = Case::new();
    let header = "account,opportunityId,type,date,eventId,attributionChannel";
    let rows = "a,1,sold,2025-01-01,1,yelp\na,2,sold,2025-01-01,2,Direct\na,3,sold,2025-01-01,3,Direct\n";
    assert_eq!(case.events("1.csv", &format!("{header}\n{rows}")).warnings, [""; 0]);
    // The file of version 1 stays, with a row that is superseded.
    assert_eq!(case.events("2.csv", &format!("{header}\na,1,sold,2025-01-01,1,Yelp\n")).warnings, [""; 0]);
    let path = case.file("spend.csv", "account,date,adSpend,attributionChannel\na,2025-01-01,1,direct\n");
    let warned = case.ingest().spend(path).run().unwrap().warnings;
    assert_eq!(warned, [spelled("attributionChannel", "`Direct` and `direct`")]);
}
