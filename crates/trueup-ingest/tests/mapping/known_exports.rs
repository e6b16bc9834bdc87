//! Exports of known products: which are recognized and by what, and that the draft of each, once its questions are
//! answered, makes the numbers that a person computes from the file.

use crate::case::{Case, Row};
use std::collections::BTreeMap;
use std::path::PathBuf;
use trueup_core::query::EventsQuery;
use trueup_core::{Dataset, Value};
use trueup_ingest::mapping::{DraftOptions, MappingDraft, Template, draft};

/// Returns the path of an export.
fn export(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/exports").join(name)
}

fn drafted(names: &[&str]) -> MappingDraft {
    let files: Vec<PathBuf> = names.iter().map(|name| export(name)).collect();
    draft(&files, &DraftOptions::default()).unwrap()
}

/// Answers a draft: removes the `#` of every line that begins with one of the answers, and the list of open questions.
/// Each answer has to be that of a line. The account is `oak`.
fn answered(draft: &MappingDraft, answers: &[&str]) -> String {
    let answers = || answers.iter().chain(&["account = { value"]);
    for answer in answers() {
        assert!(draft.text.contains(&format!("\n#{answer}")), "{answer}\n{}", draft.text);
    }
    let line = |line: &str| match line.strip_prefix('#') {
        Some(rest) if answers().any(|answer| rest.starts_with(answer)) => rest.replace("...", "oak"),
        _ if line.starts_with("open_questions") => String::new(),
        _ => line.to_owned(),
    };
    draft.text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Returns the number of events of each stage, and the sum of their amounts in hundredths.
fn by_stage(rows: &[Row]) -> Vec<(String, usize, i64)> {
    let mut stages: BTreeMap<&str, (usize, i64)> = BTreeMap::new();
    for row in rows {
        let (count, sum) = stages.entry(row["type"].as_str()).or_default();
        *count += 1;
        let total = row.get("total").map_or("", String::as_str);
        let (whole, fraction) = total.split_once('.').unwrap_or((total, "0"));
        let digits = format!("{}{:0<2}", whole.trim_start_matches('-'), fraction);
        let cents: i64 = if total.is_empty() { 0 } else { digits.parse().unwrap() };
        *sum += if total.starts_with('-') { -cents } else { cents };
    }
    stages.into_iter().map(|(stage, (count, sum))| (stage.to_owned(), count, sum)).collect()
}

/// Ingests the files of a draft, and returns the metrics of a range, in millionths if they are money.
fn answers(case: &Case, metrics: &[&str], (start, end): (&str, &str)) -> Vec<i128> {
    case.ingest().run().unwrap();
    let fields: Vec<&str> = metrics.to_vec();
    let query = EventsQuery::new(fields, start.parse().unwrap(), end.parse().unwrap());
    let table = Dataset::open(case.path("dataset")).unwrap().query(&query).unwrap();
    let value = |metric: &&str| match table.value(0, metric) {
        Some(Value::Money(money)) => money,
        Some(Value::Count(count)) => i128::from(count),
        other => panic!("{metric}: {other:?}"),
    };
    metrics.iter().map(value).collect()
}

/// An export, its answers, and what a person computes from it.
struct Known {
    file: &'static str,
    /// What it is recognized as.
    export: &'static str,
    questions: usize,
    answers: &'static [&'static str],
    /// The events by stage, with the sum of their amounts in hundredths.
    stages: &'static [(&'static str, usize, i64)],
    range: (&'static str, &'static str),
    metrics: &'static [(&'static str, i128)],
}

const MARCH: (&str, &str) = ("2026-03-01", "2026-03-31");

const KNOWN: [Known; 17] = [
    Known {
        file: "google-ads.csv",
        export: "a campaign report by day of Google Ads (template `google-ads`, recognized by its columns `Campaign`, \
                 `Cost`, `Impr.`)",
        questions: 1,
        answers: &[],
        stages: &[],
        range: MARCH,
        // 1,172.45 + 54.20 + 165.10; 41 + 52 + 39; 1,204 + 410 + 1,180.
        metrics: &[("cost", 1_391_750_000), ("clicks", 132), ("impressions", 2_794)],
    },
    Known {
        file: "google-ads-monthly.csv",
        export: "a campaign report by month of Google Ads (template `google-ads`, recognized by its columns `Campaign`, \
                 `Cost`, `Impr.`, `Month`)",
        questions: 1,
        answers: &[],
        stages: &[],
        // A tenth of 31 days has 310; February has 10 a day.
        range: ("2026-01-29", "2026-02-02"),
        metrics: &[("cost", 320_000_000), ("clicks", 32)],
    },
    Known {
        file: "meta.csv",
        export: "a campaign report of Meta (template `meta`, recognized by its columns `Reporting starts`, `Reporting ends`, \
                 `Campaign name`, `Amount spent (USD)`)",
        questions: 1,
        answers: &[],
        stages: &[],
        range: MARCH,
        // 200 + 110.05; the first row holds the totals.
        metrics: &[("cost", 310_050_000), ("clicks", 93), ("impressions", 9_300)],
    },
    Known {
        file: "callrail.csv",
        export: "a call log of CallRail (template `callrail`, recognized by its columns `Call Status`, `Tracking Number`, \
                 `Start Time`)",
        questions: 3,
        answers: &["where = { \"First-Time Caller\"", "unless = { \"Call Status\" = \"Abandoned Call\""],
        // The call that was exported twice is read twice, and counts once.
        stages: &[("lead-originated", 4, 0)],
        range: MARCH,
        metrics: &[("leads", 3), ("conversions", 3), ("customers", 3)],
    },
    Known {
        file: "servicetitan-jobs.csv",
        export: "a job report of ServiceTitan (template `servicetitan`, recognized by its columns `Job #`, `Business Unit`, \
                 `Status`)",
        questions: 3,
        answers: &["lead-originated = ", "canceled = { date = { column = \"Scheduled Date\""],
        // 1,234.50 + 2,000; the last row holds the totals.
        stages: &[("booked", 4, 0), ("canceled", 1, 0), ("closed", 2, 323_450), ("lead-originated", 4, 0)],
        range: MARCH,
        metrics: &[("leads", 4), ("closedRevenue", 3_234_500_000), ("payingCustomers", 2), ("canceledCustomers", 1)],
    },
    Known {
        file: "servicetitan-estimates.csv",
        export: "an estimate report of ServiceTitan",
        questions: 1,
        answers: &[],
        // 1,900 + 4,250, of which 1,900 is sold.
        stages: &[("estimated", 2, 615_000), ("sold", 1, 190_000)],
        range: MARCH,
        metrics: &[("soldRevenue", 1_900_000_000), ("customers", 1)],
    },
    Known {
        file: "servicetitan-leads.csv",
        export: "a lead report of ServiceTitan",
        questions: 1,
        answers: &[],
        stages: &[("lead-originated", 2, 0)],
        range: MARCH,
        metrics: &[("leads", 2)],
    },
    Known {
        file: "housecall.csv",
        export: "a job list of Housecall Pro (template `housecall`, recognized by its columns `Job #`, `Job status`, `Job \
                 created date`)",
        questions: 3,
        answers: &["lead-originated = ", "canceled = { date = { column = \"Job scheduled start date\""],
        // Job 102 needs scheduling; 1,234.50 + 99.99.
        stages: &[("booked", 3, 0), ("canceled", 1, 0), ("closed", 2, 133_449), ("lead-originated", 4, 0)],
        range: MARCH,
        metrics: &[("leads", 4), ("closedRevenue", 1_334_490_000), ("canceledCustomers", 1)],
    },
    Known {
        file: "hubspot.csv",
        export: "deals with the dates of their stages of HubSpot",
        questions: 2,
        answers: &["sold = ", "closed = "],
        stages: &[
            ("booked", 3, 0),
            ("canceled", 1, 0),
            ("closed", 1, 1_250_000),
            ("estimated", 2, 1_730_050),
            ("lead-originated", 3, 0),
            ("sold", 1, 1_250_000),
        ],
        range: MARCH,
        // The deal that is sold is closed, too, and its revenue is that of its last stage.
        metrics: &[("leads", 3), ("closedRevenue", 12_500_000_000), ("canceledCustomers", 1)],
    },
    Known {
        file: "hubspot-stages.csv",
        export: "deals with their last stage of HubSpot",
        questions: 2,
        answers: &["sold = "],
        stages: &[("canceled", 1, 0), ("lead-originated", 3, 0), ("sold", 1, 1_250_000)],
        range: MARCH,
        metrics: &[("leads", 3), ("soldRevenue", 12_500_000_000), ("canceledCustomers", 1)],
    },
    Known {
        file: "salesforce.csv",
        export: "an opportunity report of Salesforce (template `salesforce`, recognized by its columns `Opportunity Name`, \
                 `Stage`, `Close Date`)",
        questions: 2,
        answers: &["closed = "],
        stages: &[("canceled", 1, 0), ("closed", 1, 1_250_000), ("lead-originated", 3, 0)],
        range: MARCH,
        metrics: &[("leads", 3), ("closedRevenue", 12_500_000_000), ("canceledCustomers", 1)],
    },
    Known {
        file: "quickbooks.csv",
        export: "a transaction list of QuickBooks (template `quickbooks`, recognized by its columns `Date`, `Transaction \
                 Type`, `Num`, `Amount`)",
        questions: 2,
        answers: &["unless = { Name = \"\" }"],
        // 1,234.50 + 2,000 - 150.25; the sale over the counter has no customer.
        stages: &[("closed", 3, 308_425)],
        range: MARCH,
        metrics: &[("closedRevenue", 3_084_250_000), ("payingCustomers", 2)],
    },
    Known {
        file: "jobber-jobs.csv",
        export: "a jobs report of Jobber (template `jobber`, recognized by its columns `Job #`, `Client name`, `Created \
                 date`)",
        questions: 2,
        answers: &[],
        // 1,234.50 + 450.
        stages: &[("booked", 3, 0), ("closed", 2, 168_450)],
        range: MARCH,
        metrics: &[("leads", 0), ("closedRevenue", 1_684_500_000), ("customers", 3)],
    },
    Known {
        file: "jobber-quotes.csv",
        export: "a quotes report of Jobber",
        questions: 1,
        answers: &[],
        // 1,234.50 + 4,850, of which 1,234.50 is approved.
        stages: &[("estimated", 2, 608_450), ("sold", 1, 123_450)],
        range: MARCH,
        metrics: &[("soldRevenue", 1_234_500_000), ("customers", 2)],
    },
    Known {
        file: "facebook-leads.csv",
        export: "leads of instant forms of Facebook Lead Ads (template `facebook-leads`, recognized by its columns `created_time`, \
                 `ad_id`, `form_id`, `platform`)",
        questions: 1,
        answers: &[],
        // Ana wrote twice, Carla has no number, and the last two rows are test leads.
        stages: &[("lead-originated", 4, 0)],
        range: MARCH,
        metrics: &[("conversions", 4), ("leads", 3), ("customers", 3)],
    },
    Known {
        file: "gohighlevel-opportunities.csv",
        export: "opportunities of GoHighLevel (template `gohighlevel`, recognized by its columns `Opportunity Name`, `stage`, `Lead \
                 Value`, `Created on`)",
        questions: 3,
        answers: &["closed = ", "canceled = "],
        // The stage `Appointment Booked` has no date; one opportunity is lost, and one abandoned.
        stages: &[("canceled", 2, 0), ("closed", 1, 680_000), ("lead-originated", 4, 0)],
        range: MARCH,
        metrics: &[("leads", 4), ("closedRevenue", 6_800_000_000), ("canceledCustomers", 2)],
    },
    Known {
        file: "gohighlevel-contacts.csv",
        export: "contacts of GoHighLevel",
        questions: 2,
        answers: &["lead-originated = "],
        stages: &[("lead-originated", 2, 0)],
        range: MARCH,
        metrics: &[("leads", 2)],
    },
];

#[test]
fn an_answered_draft_makes_the_numbers_of_the_file() {
    for Known { file, export: recognized, questions, answers: given, stages, range, metrics } in KNOWN {
        let draft = drafted(&[file]);
        let known: Vec<&str> = draft.known_exports.iter().map(|known| known.export.as_str()).collect();
        assert!(known.len() == 1 && known[0].starts_with(recognized), "{file}: {known:?}");
        assert!(draft.text.contains(&format!("\n# This is {}.\n", known[0])), "{file}\n{}", draft.text);
        assert_eq!(draft.open_questions, questions, "{file}\n{}", draft.text);
        let mapping = answered(&draft, given);
        let case = Case::new(&mapping).file_at(export(file));
        let found = by_stage(&case.events());
        let found: Vec<(&str, usize, i64)> =
            found.iter().map(|(stage, count, sum)| (stage.as_str(), *count, *sum)).collect();
        assert_eq!(found, stages, "{file}\n{mapping}");
        let names: Vec<&str> = metrics.iter().map(|(metric, _)| *metric).collect();
        let expected: Vec<i128> = metrics.iter().map(|(_, value)| *value).collect();
        assert_eq!(answers(&case, &names, range), expected, "{file}: {names:?}\n{mapping}");
    }
}

/// Writes files to a folder, and drafts a mapping of them.
fn drafted_of(files: &[(&str, Vec<u8>)], templates: &[&str]) -> Result<MappingDraft, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = |(name, content): &(&str, Vec<u8>)| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let files: Vec<PathBuf> = files.iter().map(path).collect();
    let templates = templates.iter().map(|name| name.parse().unwrap()).collect();
    let drafted = draft(&files, &DraftOptions { templates, ..DraftOptions::default() });
    drafted.map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(export(name)).unwrap()
}

/// A caller is the customer of the job, and the channel of the spend is one of the calls.
#[test]
fn exports_of_several_products_are_one_mapping() {
    let text = String::from_utf8(read("google-ads.csv")).unwrap();
    // As Google Ads writes "Excel .csv": UTF-16 with a byte order mark, and tabs.
    let rows: Vec<String> = text.lines().skip(2).map(|line| line.replace("\"1,", "1").replace("\"2,", "2")).collect();
    let tabs = format!(
        "Campaign report\n\"March 1, 2026 - March 3, 2026\"\n{}\n",
        rows.join("\n").replace('"', "").replace(',', "\t")
    );
    let utf16: Vec<u8> = "\u{feff}".encode_utf16().chain(tabs.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let files = [
        ("calls.csv", read("callrail.csv")),
        ("jobs.csv", read("servicetitan-jobs.csv")),
        ("Campaign report.csv", utf16),
        ("facebook.csv", read("meta.csv")),
    ];
    let draft = drafted_of(&files, &[]).unwrap();
    let products: Vec<&str> = draft
        .known_exports
        .iter()
        .map(|known| known.export.split(" of ").nth(1).unwrap().split(" (").next().unwrap())
        .collect();
    assert_eq!(products, ["CallRail", "ServiceTitan", "Google Ads", "Meta"]);
    // `Facebook` is a channel of calls, and so is `Google Ads`; the campaigns of Meta are none.
    let asked: Vec<&str> = draft.text.lines().filter(|line| line.contains("have no value in common")).collect();
    assert!(asked.len() == 1 && asked[0].contains("\"Campaign name\""), "{asked:?}");
    let given = [
        "where = { \"First-Time Caller\"",
        "unless = { \"Call Status\" = \"Abandoned Call\"",
        "[first_touch]",
        "copy = ",
    ];
    let mapping = answered(&draft, &given);
    let case = files.iter().fold(Case::new(&mapping), |case, (name, content)| case.file(name, content));
    // Ana, Ben and Carla called; Dev has a job and never did.
    let metrics = ["leads", "customers", "cost", "closedRevenue"];
    assert_eq!(answers(&case, &metrics, MARCH), [3, 4, 1_701_800_000, 3_234_500_000]);
    let (start, end) = (MARCH.0.parse().unwrap(), MARCH.1.parse().unwrap());
    let query = EventsQuery::new(["attributionChannel", "closedRevenue", "cost"], start, end);
    let table = Dataset::open(case.path("dataset")).unwrap().query(&query).unwrap();
    let row = (0..table.len()).find(|row| table.value(*row, "attributionChannel") == Some(Value::Text("Google Ads")));
    // Ana's job has the channel of her call.
    assert_eq!(table.value(row.unwrap(), "closedRevenue"), Some(Value::Money(1_234_500_000)));
}

#[test]
fn a_column_that_is_missing_is_named() {
    let report = "Campaign report\nCampaign,Currency code,Cost,Impr.\nDrains,USD,5.00,10\n";
    let file = || [("google.csv", report.as_bytes().to_vec())];
    assert_eq!(
        drafted_of(&file(), &["google-ads"]).unwrap_err(),
        "`google.csv`: the template `google-ads` reads a campaign report by day of Google Ads, but this file has no column `Day` or \
         `Date`; in Google Ads, choose Segment, Time, Day above the table before the download; its columns are `Campaign`, `Currency \
         code`, `Cost`, `Impr.`"
    );
    let draft = drafted_of(&file(), &[]).unwrap();
    assert!(draft.known_exports.is_empty());
    let comment = "# This seems to be a campaign report by day of Google Ads, but there is no column `Day` or `Date`; in Google Ads, choose \
                   Segment, Time, Day above the table before the download. The template `google-ads` is not used.\n";
    assert!(draft.text.contains(comment), "{}", draft.text);
    // A template fits one of the files at least.
    let other = [("a.csv", b"name,city\nx,y\n".to_vec()), ("b.csv", b"Start Time,name\n2026-03-01,x\n".to_vec())];
    let refusal = drafted_of(&other, &["callrail"]).unwrap_err();
    let expected = "`b.csv`: the template `callrail` reads a call log of CallRail, but this file has no column `Phone Number` or `Caller \
                    Number` or `Customer Phone Number`; its columns are `Start Time`, `name`";
    assert_eq!(refusal, expected);
    assert_eq!(
        "google".parse::<Template>().unwrap_err().to_string(),
        "expected one of google-ads, meta, callrail, servicetitan, housecall, hubspot, salesforce, quickbooks, jobber, facebook-leads, \
         gohighlevel, but found `google`"
    );
}

/// The header has other names than those by which Google's reports are recognized.
#[test]
fn a_template_reads_what_is_not_recognized() {
    let report = "Date,Campaign,Cost,Clicks\n2026-03-01,Drains,$5.00,3\n";
    let files = [("ads.csv", report.as_bytes().to_vec())];
    assert!(drafted_of(&files, &[]).unwrap().known_exports.is_empty());
    let draft = drafted_of(&files, &["google-ads"]).unwrap();
    assert_eq!(
        draft.known_exports[0].export,
        "a campaign report by day of Google Ads (template `google-ads`, as asked)"
    );
    assert!(draft.text.contains("\nattributionChannel = { value = \"Google Ads\" }\n"), "{}", draft.text);
    let case = Case::new(&answered(&draft, &[])).file("ads.csv", report);
    assert_eq!(answers(&case, &["cost", "clicks"], MARCH), [5_000_000, 3]);
}

/// Accents of Latin-1, semicolons, the decimal comma, days before months, and a canceled job of a later month.
#[test]
fn an_export_in_another_language_of_numbers_is_read() {
    let files = [export("housecall-french.csv")];
    let encoding = Some("latin1".parse().unwrap());
    let draft = draft(&files, &DraftOptions { encoding, ..DraftOptions::default() }).unwrap();
    for line in [
        "separator = \";\"",
        "encoding = \"windows-1252\"",
        "closed = { date = { column = \"Job completed date\", format = \"%d/%m/%Y\" }, total = { column = \"Job amount\", \
         decimal_mark = \",\" }, unless = { \"Job status\" = \"Canceled\" } }",
    ] {
        assert!(draft.text.contains(&format!("\n{line}")), "{line}\n{}", draft.text);
    }
    let [file] = files;
    let case = Case::new(&answered(&draft, &[])).file_at(file);
    // 1,473.99 + 26.01.
    assert_eq!(answers(&case, &["closedRevenue", "customers"], ("2026-02-01", "2026-02-28")), [1_500_000_000, 2]);
}

#[test]
fn one_column_decides_the_order_of_days_and_months_of_another() {
    let jobs = |completed: &str| {
        let text = format!(
            "Job #,Business Unit,Status,Customer ID,Created On,Completed On,Jobs Total Revenue\n\
             1,Plumbing,Completed,7,3/2/2026,{completed},\"$1,000\"\n"
        );
        drafted_of(&[("jobs.csv", text.into_bytes())], &[]).unwrap()
    };
    let decided = jobs("3/14/2026");
    let line = "\nbooked = { date = { column = \"Created On\", format = \"%m/%d/%Y\" } }";
    assert!(decided.text.contains(line), "{}", decided.text);
    // Both may be, and so is the amount a thousand or one.
    let open = jobs("3/4/2026");
    for answer in [
        "#booked = { date = { column = \"Created On\", format = \"%m/%d/%Y\" } }",
        "#booked = { date = { column = \"Created On\", format = \"%d/%m/%Y\" } }",
        "total = { column = \"Jobs Total Revenue\", decimal_mark = \".\" }, where",
        "total = { column = \"Jobs Total Revenue\", decimal_mark = \",\" }, where",
    ] {
        assert!(open.text.contains(answer), "{answer}\n{}", open.text);
    }
    assert!(open.text.contains("which is right for booked?"), "{}", open.text);
}

/// With the id, the second row would replace the first, and its amount would be missing.
#[test]
fn an_id_that_stands_for_different_rows_is_not_used() {
    let list = |second: &str| {
        let text = format!(
            "Date,Transaction Type,Num,Name,Amount\n03/14/2026,Invoice,1041,Ana,10.00\n03/14/2026,Invoice,{second}\n"
        );
        drafted_of(&[("list.csv", text.into_bytes())], &[]).unwrap().text
    };
    let id = "\neventId = { template = \"quickbooks {Transaction Type} {Num}\" }\n";
    assert!(list("1042,Ana,5.00").contains(id) && list("1041,Ana,10.00").contains(id));
    let shared = list("1041,Ana,5.00");
    assert!(!shared.contains("eventId ="), "{shared}");
    let reason =
        "# \"Transaction Type\" with \"Num\" cannot be the id of the event, because rows with the same value differ.\n";
    assert!(shared.contains(reason), "{shared}");
}

/// The first line has as many names as a header; the number of title lines changes from export to export.
#[test]
fn a_header_below_lines_like_headers_is_found() {
    let text = "March 1, 2026 - March 3, 2026\nCampaign report\nDay;Campaign;Cost;Impr.\n2026-03-01;Drains;5,50;10\n";
    let draft = drafted_of(&[("google.csv", text.as_bytes().to_vec())], &[]).unwrap();
    for line in
        ["separator = \";\"", "header_row = [\"Campaign\", \"Cost\", \"Impr.\"]  # the lines before it are titles"]
    {
        assert!(draft.text.contains(&format!("\n{line}\n")), "{}", draft.text);
    }
    let later = format!("{text}2026-03-02;Drains;1,50;3\n");
    let case = Case::new(&answered(&draft, &[])).file("google.csv", format!("All campaigns\n{later}"));
    assert_eq!(answers(&case, &["cost"], MARCH), [7_000_000]);
}

/// Customers with a name alone, and phone numbers of no known region.
#[test]
fn a_customer_without_an_id_is_a_question() {
    let jobs = |header: &str, value: &str| {
        let text =
            format!("Job #,Client name,{header}Created date,Closed date\n1,Ana Ruiz,{value}2026-03-02,2026-03-04\n");
        drafted_of(&[("jobs.csv", text.into_bytes())], &[]).unwrap().text
    };
    let named = jobs("", "");
    let answer = "#opportunityId = \"Client name\"  # `Ana Ruiz`; two people may have the same name\n";
    assert!(named.contains(answer), "{named}");
    let mail = jobs("Client email,", "ANA@example.com,");
    assert!(mail.contains("\nopportunityId = { column = \"Client email\", normalize = \"email\" }"), "{mail}");
    let british = jobs("Client phone,", "020 7946 0958,");
    assert!(british.contains("normalize = \"phone\", region = \"GB\" }  # "), "{british}");
    let unknown = jobs("Client phone,", "12,");
    assert!(unknown.contains("of which region are the phone numbers of \"Client phone\""), "{unknown}");
    assert!(
        unknown.contains("#opportunityId = { column = \"Client phone\", normalize = \"phone\", region = \"US\" }\n"),
        "{unknown}"
    );
}

/// A phone number, else an address, else the id of the deal, each in a spelling of its own: one person is one customer.
#[test]
fn what_identifies_a_customer_is_followed_by_what_takes_its_place() {
    let deals = "Record ID,Deal Name,Deal Stage,Close Date,Amount,Create Date,Phone Number,Email\n\
                 9001,Ruiz,Closed Won,2026-03-20 10:00,12500,2026-03-01 09:15,(602) 555-2620,ana@x.com\n\
                 9002,Cole,Closed Lost (price),2026-03-12 17:30,4800.50,2026-03-03 11:00,,Bob@X.com\n\
                 9003,Cole,Appointment Scheduled,,,2026-03-06 14:20,,bob@x.com\n\
                 9004,Diaz,Appointment Scheduled,,,2026-03-06 14:20,,\n";
    let draft = drafted_of(&[("deals.csv", deals.as_bytes().to_vec())], &[]).unwrap();
    let line = "\nopportunityId = { column = \"Phone Number\", normalize = \"phone\", region = \"US\", otherwise = [{ column = \"Email\", \
                normalize = \"email\" }, { column = \"Record ID\" }] }  # ";
    assert!(draft.text.contains(line), "{}", draft.text);
    assert!(draft.text.contains("; on 3 rows, \"Email\" or \"Record ID\" takes its place\n"), "{}", draft.text);
    let case = Case::new(&answered(&draft, &["sold = "])).file("deals.csv", deals);
    assert_eq!(answers(&case, &["conversions", "leads", "customers"], MARCH), [4, 3, 3]);
    assert_eq!(case.ingest().run().unwrap().events.not_normal, 0);
    // Every deal has an address, and no id takes its place.
    let mailed = deals.replace("14:20,,\n", "14:20,,d@x.com\n");
    let draft = drafted_of(&[("deals.csv", mailed.into_bytes())], &[]).unwrap();
    let line = "otherwise = { column = \"Email\", normalize = \"email\" } }  # ";
    assert!(draft.text.contains(line), "{}", draft.text);
}

/// A payment of QuickBooks has a name, and a call a number: no call becomes revenue.
#[test]
fn customers_that_are_identified_in_different_ways_are_named() {
    let comment = "# These files identify customers in different ways: \"callrail.csv\" by phone numbers, \"quickbooks.csv\" by ids of \
                   the product. One person is then a customer of each way, and no lead becomes revenue across them.\n";
    let both = drafted(&["callrail.csv", "quickbooks.csv"]).text;
    assert!(both.contains(comment), "{both}");
    assert!(!drafted(&["callrail.csv", "servicetitan-jobs.csv", "meta.csv"]).text.contains("in different ways"));
}

/// The contact of an opportunity is no second conversion.
#[test]
fn contacts_next_to_their_opportunities_make_no_table() {
    let draft = drafted(&["gohighlevel-contacts.csv", "gohighlevel-opportunities.csv"]);
    let comment = "# The contacts of \"gohighlevel-contacts.csv\" make no table: the opportunities have them, and they would count twice.\n";
    assert!(draft.text.contains(comment) && draft.text.matches("[[events]]").count() == 1, "{}", draft.text);
    let mapping = answered(&draft, &[]);
    let case = Case::new(&mapping).file_at(export("gohighlevel-contacts.csv"));
    let case = case.file_at(export("gohighlevel-opportunities.csv"));
    assert_eq!(answers(&case, &["leads", "conversions"], MARCH), [4, 4]);
}
