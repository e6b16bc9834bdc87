//! Insight documents are kept as published.

use crate::dataset::Case;

fn stored(case: &Case) -> String {
    std::fs::read_to_string(case.dataset().join(&case.manifest().insights[0].path)).unwrap()
}

#[test]
fn documents_are_kept_byte_for_byte_by_account_and_date() {
    let case = Case::new();
    let (b, a) = (
        "{\"insight\": {\"z\": 1.0,  \"a\":[1e2]}, \"account\":\"b\",\"date\":\"2025-01-31\"}",
        "{\"account\":\"a\",\"date\":\"2025-02-28\",\"insight\":{\"\\u0061\":null}}",
    );
    let summary = case.ingest().insights(case.file("1.ndjson", format!("{b}\n\n{a}\r\n"))).run(&()).unwrap();
    assert_eq!(summary.insights.taken, 2);
    assert_eq!(stored(&case), format!("{a}\n{b}\n"));
    let later = "{\"account\":\"b\",\"date\":\"2025-01-31\",\"insight\":{}}";
    let summary = case.ingest().insights(case.file("2.ndjson", later)).run(&()).unwrap();
    assert_eq!(summary.insights.replaced, 1);
    assert_eq!(stored(&case), format!("{a}\n{later}\n"));
}

#[test]
fn what_is_no_document_is_refused() {
    let case = Case::new();
    for (line, place) in [
        ("{\"account\":\"a\",\"date\":\"2025-01-31\"}", "line 2: expected {\"account\", \"date\", \"insight\"}, but"),
        ("{\"account\":\"a\",\"date\":\"2025-1-31\",\"insight\":{}}", "line 2, column `date`: expected a date"),
        (
            "{\"account\":\"a/b\",\"date\":\"2025-01-31\",\"insight\":{}}",
            "line 2, column `account`: expected an account",
        ),
        ("{\"account\":\"a\",\"date\":\"2025-01-31\",\"insight\":[]}", "line 2, column `insight`: expected a document"),
    ] {
        let good = "{\"account\":\"a\",\"date\":\"2025-01-31\",\"insight\":{}}";
        let error = case.ingest().insights(case.file("bad.ndjson", format!("{good}\n{line}\n"))).run(&()).unwrap_err();
        assert!(error.to_string().contains(place), "{error}");
        assert!(!case.dataset().exists());
    }
}
