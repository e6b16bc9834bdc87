//! `--sort`, `--limit` and `--totals` of `trueup query`, `batch` and `explain`, in every format.

use crate::workspace::{RANGE, Workspace};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, UInt64Type};

const FIELDS: &str = "attributionChannel,leads,spend,bookRate";

#[test]
fn rows_are_sorted_and_limited() {
    let workspace = Workspace::with_dataset();
    let rows = |more: &[&str]| {
        let fields = "date,leads,spend,bookRate";
        let csv = workspace.query(fields, &[&["--format", "csv"], more].concat()).succeeded();
        csv.lines().skip(1).map(|row| row.split(',').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let unsorted = ["2025-01-03", "2025-01-04", "2025-01-05", "2025-01-20", "2025-02-01"];
    assert_eq!(rows(&[]), unsorted);
    // Only the first day has spend. Equal rows stay in the order of the unsorted answer.
    let by_spend = ["2025-01-04", "2025-01-05", "2025-01-20", "2025-02-01", "2025-01-03"];
    assert_eq!(rows(&["--sort", "spend"]), by_spend);
    let by_leads = ["2025-01-03", "2025-01-05", "2025-02-01", "2025-01-04", "2025-01-20"];
    assert_eq!(rows(&["--sort", "leads:desc"]), by_leads);
    assert_eq!(rows(&["--sort", "date:desc", "--limit", "2"]), ["2025-02-01", "2025-01-20"]);
    // Rows without a customer have no book rate: they come last, in the order of the unsorted answer.
    let last = ["2025-01-03", "2025-01-04"];
    for direction in ["bookRate", "bookRate:asc", "bookRate:desc"] {
        assert_eq!(rows(&["--sort", direction])[3..], last, "{direction}");
    }
    assert_eq!(rows(&["--sort", "leads:desc,date:desc", "--limit", "9"])[..2], ["2025-02-01", "2025-01-05"]);
    assert_eq!(rows(&["--sort", "leads:desc", "--sort", "date:desc"])[..2], ["2025-02-01", "2025-01-05"]);
    assert_eq!(rows(&["--limit", "0"]), [""; 0]);
    assert_eq!(rows(&["--interval", "month", "--sort", "start:desc"])[0], "2025-02-01");
}

#[test]
fn totals_are_marked_in_every_format() {
    let workspace = Workspace::with_dataset();
    let totals = |format| workspace.query(FIELDS, &["--totals", "--format", format]).succeeded();
    assert_eq!(
        totals("csv"),
        "rowType,attributionChannel,leads,spend,bookRate\n\
         group,Direct,2,0,0\n\
         group,Paid Search,1,110.5,1\n\
         total,,3,110.5,0.3333333333333333\n"
    );
    let rows = [
        r#"{"rowType":"group","attributionChannel":"Direct","leads":2,"spend":0,"bookRate":0}"#,
        r#"{"rowType":"group","attributionChannel":"Paid Search","leads":1,"spend":110.5,"bookRate":1}"#,
        r#"{"rowType":"total","attributionChannel":"","leads":3,"spend":110.5,"bookRate":0.3333333333333333}"#,
    ];
    assert_eq!(totals("json"), format!("[{}]", rows.join(",")));
    assert_eq!(totals("ndjson"), format!("{}\n", rows.join("\n")));
    for name in ["out.parquet", "out.arrow"] {
        workspace.query(FIELDS, &["--totals", "-o", name]).succeeded();
    }
    let open = |name| std::fs::File::open(workspace.path(name)).unwrap();
    let parquet = parquet::arrow::arrow_reader::ParquetRecordBatchReader::try_new(open("out.parquet"), 100).unwrap();
    let parquet: Vec<_> = parquet.map(Result::unwrap).collect();
    let arrow: Vec<_> =
        arrow_ipc::reader::FileReader::try_new(open("out.arrow"), None).unwrap().map(Result::unwrap).collect();
    let types: Vec<&str> = parquet[0].column(0).as_string::<i32>().iter().flatten().collect();
    assert_eq!(types, ["group", "group", "total"]);
    for batch in [&parquet[0], &arrow[0]] {
        assert_eq!(batch.column(2).as_primitive::<UInt64Type>().values()[..], [2, 1, 3]);
        assert_eq!(batch.column(3).as_primitive::<Decimal128Type>().values()[..], [0, 110_500_000, 110_500_000]);
        assert_eq!(batch.column(4).as_primitive::<Float64Type>().value(2), 1.0 / 3.0);
    }
    let limited = workspace.query(FIELDS, &["--totals", "--limit", "1", "--sort", "spend:desc"]);
    assert_eq!(
        limited.succeeded(),
        "\
attributionChannel  leads   spend  bookRate
───────────────────────────────────────────
Paid Search             1  110.50    100.0%
───────────────────────────────────────────
total                   3  110.50     33.3%
"
    );
}

/// Each of four days has one distinct customer of the account, but the account has only two: totals are computed and
/// not added up.
#[test]
fn totals_cover_the_whole_range() {
    let workspace = Workspace::with_dataset();
    let arguments = ["--interval", "month", "--totals", "--format", "csv", "--filter", r#"{"leads": ["gte", 2]}"#];
    assert_eq!(
        workspace.query("leads,opportunityCount", &arguments).succeeded(),
        "rowType,start,end,leads,opportunityCount\n\
         group,2025-01-01,2025-01-31,2,2\n\
         total,2025-01-01,2025-03-31,3,3\n"
    );
    let days = ["--interval", "day", "--account", "acme", "--totals", "--format", "csv"];
    let csv = workspace.query("opportunityCount", &days).succeeded();
    let counts: Vec<u32> = csv.lines().skip(1).map(|row| row.rsplit(',').next().unwrap().parse().unwrap()).collect();
    let (total, days) = counts.split_last().unwrap();
    assert_eq!((*total, days.iter().sum::<u32>()), (2, 4));
}

#[test]
fn faulty_sorts_and_totals_are_refused() {
    let workspace = Workspace::with_dataset();
    assert_eq!(
        workspace.query("campaign,leads", &["--sort", "leads:down"]).failed(1),
        "error: expected to sort by a column of the answer (`campaign`, `leads`), with `:asc` or `:desc` after it or \
         neither, but found `leads:down`\n"
    );
    let message = workspace.query("leads", &["--sort", "-leads"]).failed(1);
    assert!(message.contains("with `:asc` or `:desc` after it or neither, but found `-leads`"), "{message}");
    workspace.query("leads", &["--limit", "-1"]).failed(2);
    let message = workspace.query("rowType,leads", &["--totals"]).failed(1);
    assert!(message.contains("`rowType`"), "{message}");
    let days = ["--start", "2025-01-01", "--end", "2025-12-31"];
    let year = [&["query", "ds", "--fields", "leads", "--interval", "month", "--totals"][..], &days].concat();
    assert_eq!(
        workspace.run(&year).failed(1),
        "error: the totals would span 365 days, exceeding the 90-day attribution window; leave them out, or shorten the \
         range, or lift the limit with `--allow-long-total`\n"
    );
    workspace.run(&[year.as_slice(), &["--allow-long-total"]].concat()).succeeded();
}

#[test]
fn batch_and_explain_take_the_same_options() {
    let workspace = Workspace::with_dataset();
    let job = "dataset = \"ds\"\n[defaults]\ntotals = true\n[[query]]\noutput = \"out.csv\"\nrange = \"90d\"\n\
               fields = \"date,leads\"\nsort = [\"leads:desc\", \"date:desc\"]\nlimit = 2\n";
    workspace.write("jobs.toml", job);
    let batch = workspace.run(&["batch", "jobs.toml", "--into", "out", "--today", "2025-03-31"]);
    assert_eq!(batch.succeeded(), "out.csv: 3 rows\n");
    let options = ["--sort", "leads:desc,date:desc", "--limit", "2", "--totals"];
    let expected = workspace.query("date,leads", &[&options, ["--format", "csv"].as_slice()].concat()).succeeded();
    assert_eq!(std::fs::read_to_string(workspace.path("out/out.csv")).unwrap(), expected);
    let explain: Vec<&str> =
        ["explain", "ds", "--fields", "date,leads"].into_iter().chain(RANGE).chain(options).collect();
    let plan = workspace.run(&explain).succeeded();
    for line in ["sort         leads:desc, date:desc\n", "limit        2\n", "totals       read once more"] {
        assert!(plan.contains(line), "{plan}");
    }
}
