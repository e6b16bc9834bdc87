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
