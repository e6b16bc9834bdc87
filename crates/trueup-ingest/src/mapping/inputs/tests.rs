use super::is_match;

#[test]
fn a_star_matches_any_characters_and_a_question_mark_one() {
    for (pattern, name) in [
        ("a.csv", "a.csv"),
        ("*.csv", "a.csv"),
        ("jobs-*-?.csv", "jobs-2025-01-b.csv"),
        ("*", ""),
        ("a*b*c", "axxbyybc"),
    ] {
        assert!(is_match(pattern, name), "{pattern} {name}");
    }
    for (pattern, name) in [("a.csv", "b.csv"), ("*.csv", "a.parquet"), ("?.csv", ".csv"), ("a*b", "ab.csv"), ("", "a")]
    {
        assert!(!is_match(pattern, name), "{pattern} {name}");
    }
}
