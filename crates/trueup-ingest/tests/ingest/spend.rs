//! Spend is restated day by day.

use crate::dataset::Case;

#[test]
fn a_batch_restates_the_days_that_it_has_rows_of() {
    let case = Case::new();
    let spend = |name: &str, text: &str| {
        let path = case.file(name, format!("account,date,campaign,adSpend,clicks\n{text}"));
        case.ingest().spend(path).run(&()).unwrap()
    };
    spend("1.csv", "b,2025-01-01,x,1,1\na,2025-01-02,y,2,\na,2025-01-01,x,3.5,4\na,2025-01-01,z,4,5\n");
    let summary = spend("2.csv", "a,2025-01-01,x,9,\na,2025-01-03,,7,\n");
    assert_eq!((summary.spend.taken, summary.spend.replaced), (2, 2));
    assert_eq!(
        case.stored_spend(),
        [
            "a|2025-01-01|||x|9.000000|||",
            "a|2025-01-02|||y|2.000000|||",
            "a|2025-01-03||||7.000000|||",
            "b|2025-01-01|||x|1.000000||1|",
        ]
    );
    assert!(!spend("3.csv", "a,2025-01-01,x,9,\na,2025-01-03,,7,\n").changed, "the latest batch again");
    assert!(
        spend("4.csv", "b,2025-01-01,x,1,1\na,2025-01-02,y,2,\na,2025-01-01,x,3.5,4\na,2025-01-01,z,4,5\n").changed
    );
    assert_eq!(case.stored_spend().len(), 5);
}

#[test]
fn spend_beyond_the_memory_is_stored_alike() {
    let mut first = "account,date,adSpend,campaign\n".to_owned();
    let mut second = first.clone();
    // Days of two years in no order.
    for row in 0..60_000_usize {
        let day = row * 7_919 % 720;
        let (year, month, day) = (2024 + day / 360, 1 + day / 30 % 12, 1 + day % 28);
        let rows = if row % 50 == 0 { &mut second } else { &mut first };
        let campaign = format!("campaign {} {}", row % 997, "of a long name ".repeat(30));
        *rows += &format!("account {},{year}-{month:02}-{day:02},{}.{:02},{campaign}\n", row % 31, row % 77, row % 100);
    }
    let stored = |memory: usize| {
        let case = Case::new();
        let ingest = |name, text: &String| {
            let ingest = case.ingest().memory(memory).row_group_rows(700);
            ingest.spend(case.file(name, text)).run(&()).unwrap().spend
        };
        let counts = (ingest("1.csv", &first), ingest("2.csv", &second));
        let files = case.manifest().spend;
        let sums: Vec<_> = files.into_iter().map(|file| (file.rows, file.sha256)).collect();
        (counts, sums, case.stored_spend())
    };
    let (counts, sums, rows) = stored(1 << 30);
    assert!(counts.1.replaced > 0 && rows.len() > 30_000, "{counts:?}");
    // A table of spend may take 16 MiB whatever the memory; each quarter is below, and all are above.
    assert_eq!(stored(1 << 20), (counts, sums, rows));
}
