use super::{NON_FILTER_PARAMETERS, from_json, from_parameter, from_parameters};
use proptest::prelude::*;
use trueup_core::definitions::Definitions;
use trueup_core::query::ComparisonOperator::{Greater, GreaterOrEqual, Less, LessOrEqual};
use trueup_core::query::{ComparisonOperator, Filter, Operand, Predicate};

fn text(text: &str) -> Operand {
    Operand::Text(text.to_owned())
}

fn is(field: &str, operand: Operand) -> Filter {
    Filter::field(field, Predicate::Equals(operand))
}

/// Returns the parsed condition on `campaign`.
fn campaign(value: &str) -> Filter {
    from_parameter("campaign", value).unwrap()
}

fn compare(comparison: ComparisonOperator, operand: Operand) -> Filter {
    Filter::field("campaign", Predicate::Compare(comparison, operand))
}

/// Checks that a condition on `field` is refused at the place `at`, with a message that contains `words`.
#[track_caller]
fn refused(field: &str, value: &str, at: &str, words: &str) {
    let error = from_parameter(field, value).unwrap_err();
    assert_eq!(error.at(), at, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[track_caller]
fn refused_json(value: &str, at: &str, words: &str) {
    let error = from_json(value).unwrap_err();
    assert_eq!(error.at(), at, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn a_value_that_is_not_a_json_array_is_a_literal() {
    for value in [
        r#"["eq","\ud800"]"#,
        r#"["\ude00\ud83d"]"#,
        r#"["\ud83d\u0041"]"#,
        r#"["\ud83d\\ude00"]"#,
        "",
        " ",
        "a|b",
        "[Va] Drain",
        "$5 > $4",
        "null",
        "true",
        "12",
        "\"x\"",
        "{\"a\":1}",
        "[1,]",
        "[1] x",
        "é\u{0}",
    ] {
        assert_eq!(campaign(value), Filter::equals("campaign", value), "{value}");
    }
}

#[test]
fn a_pair_of_surrogates_is_one_character() {
    assert_eq!(campaign(r#"["eq","\uD83D\ude00 \u00e9 \\ud800"]"#), is("campaign", text("😀 é \\ud800")));
    // The same below the deepest level that is kept: the value is not JSON, so it is a literal.
    let deep = format!("{}\"\\ud800\"{}", "[".repeat(1_000), "]".repeat(1_000));
    assert_eq!(campaign(&deep), is("campaign", text(&deep)));
    refused_json(r#"{"zip": "\ud800"}"#, "filter", "expected JSON");
}

#[test]
fn a_scalar_in_an_expression_is_an_equality() {
    assert_eq!(
        campaign(r#" ["or", "x", null, true, false, 1.50, -3] "#),
        Filter::Any(vec![
            is("campaign", text("x")),
            is("campaign", text("")),
            is("campaign", text("true")),
            is("campaign", text("false")),
            is("campaign", Operand::Number(1.5)),
            is("campaign", Operand::Number(-3.0)),
        ])
    );
}

#[test]
fn or_and_and_not_join_expressions() {
    let (a, b) = (Filter::equals("campaign", "a"), Filter::equals("campaign", "b"));
    assert_eq!(campaign(r#"["or","a","b"]"#), Filter::Any(vec![a.clone(), b.clone()]));
    assert_eq!(campaign(r#"["and","a","b"]"#), Filter::All(vec![a.clone(), b.clone()]));
    assert_eq!(campaign(r#"["not","a"]"#), Filter::Not(Box::new(a.clone())));
    assert_eq!(
        campaign(r#"["not",["or","a",["and","a","b"]]]"#),
        Filter::Not(Box::new(Filter::Any(vec![a.clone(), Filter::All(vec![a.clone(), b])])))
    );
    // One operand is enough.
    assert_eq!(campaign(r#"["and","a"]"#), a);
    assert_eq!(campaign(r#"["or","a"]"#), Filter::Any(vec![a]));
}

#[test]
fn eq_and_ne_take_any_scalar() {
    assert_eq!(campaign(r#"["eq","x"]"#), is("campaign", text("x")));
    assert_eq!(campaign(r#"["eq",null]"#), is("campaign", text("")));
    assert_eq!(campaign(r#"["eq",true]"#), is("campaign", text("true")));
    assert_eq!(campaign(r#"["eq",12]"#), is("campaign", Operand::Number(12.0)));
    let not = |operand| Filter::field("campaign", Predicate::NotEquals(operand));
    assert_eq!(campaign(r#"["ne","x"]"#), not(text("x")));
    assert_eq!(campaign(r#"["ne",false]"#), not(text("false")));
    assert_eq!(campaign(r#"["ne",1e2]"#), not(Operand::Number(100.0)));
}

#[test]
fn comparisons_take_numbers_and_texts() {
    assert_eq!(campaign(r#"["gt",1]"#), compare(Greater, Operand::Number(1.0)));
    assert_eq!(campaign(r#"["gte","1"]"#), compare(GreaterOrEqual, text("1")));
    assert_eq!(campaign(r#"["lt",-0.5]"#), compare(Less, Operand::Number(-0.5)));
    assert_eq!(campaign(r#"["lte","z"]"#), compare(LessOrEqual, text("z")));
}

#[test]
fn regex_empty_and_not_empty_are_parsed() {
    let matches = |pattern: &str, flags: &str| {
        Filter::field("campaign", Predicate::Matches { pattern: pattern.to_owned(), flags: flags.to_owned() })
    };
    assert_eq!(campaign(r#"["regex","^dr.in"]"#), matches("^dr.in", ""));
    assert_eq!(campaign(r#"["regex","a b","imsux"]"#), matches("a b", "imsux"));
    assert_eq!(campaign(r#"["empty"]"#), Filter::field("campaign", Predicate::Empty));
    assert_eq!(campaign(r#"["notEmpty"]"#), Filter::field("campaign", Predicate::NotEmpty));
}

#[test]
fn conditions_across_fields_are_joined() {
    assert_eq!(
        from_json(r#"["or", {"attributionCategory": "Advertising"}, {"total": ["gte", 50000]}]"#).unwrap(),
        Filter::Any(vec![
            Filter::equals("attributionCategory", "Advertising"),
            Filter::field("total", Predicate::Compare(GreaterOrEqual, Operand::Number(50_000.0))),
        ])
    );
    assert_eq!(
        from_json(r#"["not", {"zip": "00123", "agent": ["or", null, 7]}]"#).unwrap(),
        Filter::Not(Box::new(Filter::All(vec![
            Filter::equals("zip", "00123"),
            Filter::Any(vec![is("agent", text("")), is("agent", Operand::Number(7.0))]),
        ])))
    );
    // A string in an object is never parsed as JSON again.
    assert_eq!(from_json(r#"{"campaign": "[\"or\"]"}"#).unwrap(), Filter::equals("campaign", r#"["or"]"#));
}

#[test]
fn repeated_parameters_are_joined_by_or_and_different_ones_by_and() {
    let parameters = |list: &[(&str, &str)]| {
        let owned: Vec<_> = list.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        from_parameters(&owned)
    };
    assert_eq!(parameters(&[]).unwrap(), None);
    assert_eq!(parameters(&[("zip", "1")]).unwrap(), Some(Filter::equals("zip", "1")));
    assert_eq!(
        parameters(&[("zip", "1"), ("agent", "a"), ("zip", "2"), ("filter", r#"{"detail":"d"}"#)]).unwrap(),
        Some(Filter::All(vec![
            Filter::Any(vec![Filter::equals("zip", "1"), Filter::equals("zip", "2")]),
            Filter::equals("agent", "a"),
            Filter::equals("detail", "d"),
        ]))
    );
    let error = parameters(&[("filter", r#"{"detail":"d"}"#), ("filter", r#"{"leads":["gt",5]}"#)]).unwrap_err();
    assert_eq!(error.at(), "filter");
    let many: Vec<_> = (0..1_001).map(|at| ("zip".to_owned(), at.to_string())).collect();
    assert!(from_parameters(&many[..1_000]).is_ok());
    assert_eq!(from_parameters(&many).unwrap_err().at(), "zip");
}

#[test]
fn metrics_and_total_are_compared_with_numbers_only() {
    for field in ["total", "leads", "bookRate"] {
        assert_eq!(from_parameter(field, "12.50").unwrap(), Filter::equals(field, "12.50"));
        from_parameter(field, r#"["or", 1, "2", ["ne", 3], ["gte", "4"]]"#).unwrap();
        refused(field, "x", field, "expected a number");
        refused(field, "", field, "expected a number");
        refused(field, r#"["eq", null]"#, &format!("{field}[1]"), "expected a number");
        refused(field, r#"["or", 1, true]"#, &format!("{field}[2]"), "`true`");
        refused(field, r#"["gt", "1e3"]"#, &format!("{field}[1]"), "`1e3`");
        for texts_only in [r#"["regex", "1"]"#, r#"["empty"]"#, r#"["notEmpty"]"#] {
            refused(field, texts_only, &format!("{field}[0]"), "number");
        }
    }
}

#[test]
fn metrics_and_dimensions_are_joined_only_by_and() {
    from_json(r#"["and", {"leads": ["gt", 5], "campaign": "x"}, ["and", {"total": 3}, {"spend": 1}]]"#).unwrap();
    // `total` is the amount of one event, so it filters events, as dimensions do.
    from_json(r#"["or", {"total": 1}, {"campaign": "x"}]"#).unwrap();
    from_json(r#"["not", ["or", {"leads": 1}, {"spend": 1}]]"#).unwrap();
    refused_json(r#"["and", {"zip": "1"}, ["or", {"leads": 1}, {"campaign": "x"}]]"#, "filter[2]", "`leads`");
    refused_json(r#"["not", {"leads": 1, "total": 2}]"#, "filter", "`total`");
    refused_json(r#"["or", ["and", {"leads": 1}, {"zip": "x"}]]"#, "filter", "`zip`");
}

#[test]
fn malformed_expressions_are_refused() {
    refused("campaign", "[]", "campaign", "expected an operator");
    refused("campaign", r#"["or", []]"#, "campaign[1]", "expected an operator");
    refused("campaign", r#"["like", "x"]"#, "campaign[0]", "`like`");
    refused("campaign", r#"["or", "a", ["a", "b"]]"#, "campaign[2][0]", "`a`");
    refused("campaign", "[1]", "campaign[0]", "`1`");
    refused("campaign", r#"["or"]"#, "campaign", "one or more operands");
    refused("campaign", r#"["and"]"#, "campaign", "one or more operands");
    refused("campaign", r#"["not"]"#, "campaign", "one operand");
    refused("campaign", r#"["not", "a", "b"]"#, "campaign", "found 2");
    for operator in ["eq", "ne", "gt", "gte", "lt", "lte"] {
        refused("campaign", &format!("[\"{operator}\"]"), "campaign", "found 0");
        refused("campaign", &format!("[\"{operator}\", 1, 2]"), "campaign", "found 2");
        refused("campaign", &format!("[\"{operator}\", [1]]"), "campaign[1]", "a list");
        refused("campaign", &format!("[\"{operator}\", {{\"a\": 1}}]"), "campaign[1]", "an object");
    }
    for operator in ["gt", "gte", "lt", "lte"] {
        refused("campaign", &format!("[\"{operator}\", null]"), "campaign[1]", "`null`");
        refused("campaign", &format!("[\"{operator}\", true]"), "campaign[1]", "`true`");
    }
    refused("campaign", r#"["empty", 1]"#, "campaign", "no operand");
    refused("campaign", r#"["notEmpty", "x"]"#, "campaign", "no operand");
    refused("campaign", r#"["or", {"zip": "1"}]"#, "campaign[1]", "an object");
}

#[test]
fn malformed_patterns_are_refused() {
    refused("campaign", r#"["regex"]"#, "campaign", "found 0");
    refused("campaign", r#"["regex", "a", "i", "m"]"#, "campaign", "found 3");
    refused("campaign", r#"["regex", 1]"#, "campaign[1]", "`1`");
    refused("campaign", r#"["regex", "a", true]"#, "campaign[2]", "`true`");
    refused("campaign", r#"["regex", "a", "ig"]"#, "campaign[2]", "`g`");
    refused("campaign", r#"["regex", "a("]"#, "campaign[1]", "does not compile");
    refused("campaign", r#"["regex", "(?=a)"]"#, "campaign[1]", "does not compile");
    refused("campaign", &format!(r#"["regex", "{}"]"#, "é".repeat(1_001)), "campaign[1]", "1001");
    from_parameter("campaign", &format!(r#"["regex", "{}"]"#, "é".repeat(1_000))).unwrap();
    refused("campaign", r#"["regex", "a\n("]"#, "campaign[1]", "`a (` does not compile: unclosed group");
    refused("campaign", r#"["regex", "(\\w{50}){50}"]"#, "campaign[1]", "does not compile");
}

#[test]
fn malformed_conditions_across_fields_are_refused() {
    refused_json("", "filter", "expected JSON");
    refused_json("{\"a\": 1", "filter", "expected JSON");
    refused_json("{\"a\": 1} x", "filter", "expected JSON");
    refused_json("{\"a\": 1e999}", "filter", "out of range");
    refused_json("\"x\"", "filter", "`x`");
    refused_json("null", "filter", "`null`");
    refused_json("[]", "filter", "expected an operator");
    refused_json("{}", "filter", "at least one field");
    refused_json(r#"["and", {"zip": "1"}, {}]"#, "filter[2]", "at least one field");
    refused_json(r#"["eq", "x"]"#, "filter[0]", "`eq`");
    refused_json(r#"["or", "x"]"#, "filter[1]", "`x`");
    refused_json(r#"["not", {"zip": "1"}, {"zip": "2"}]"#, "filter", "found 2");
    refused_json(r#"["or"]"#, "filter", "one or more operands");
    refused_json(r#"{"zip": {"eq": "1"}}"#, "filter.zip", "an object");
    refused_json(r#"{"zip": "1", "zip": "1"}"#, "filter.zip", "again");
    refused_json(r#"["or", {"a b": ["or", 1, []]}]"#, "filter[1][\"a b\"][2]", "expected an operator");
    refused_json(r#"["or", {"zip": "1"}, {"total": ["gte", "x"]}]"#, "filter[2].total[1]", "`x`");
}

/// Returns the condition in `levels` levels of `not`.
fn nested(levels: usize, condition: &str) -> String {
    format!("{}{condition}{}", "[\"not\",".repeat(levels), "]".repeat(levels))
}

#[test]
fn depth_has_a_limit() {
    for condition in ["\"x\"", "[\"eq\",\"x\"]"] {
        from_parameter("campaign", &nested(31, condition)).unwrap();
        let error = from_parameter("campaign", &nested(32, condition)).unwrap_err();
        assert!(error.to_string().contains("32"), "{error}");
    }
    from_json(&nested(31, r#"{"zip": ["eq", "1"]}"#)).unwrap();
    from_json(&nested(30, r#"{"zip": "1", "agent": "2"}"#)).unwrap();
    // An object of several fields is an `and`.
    assert!(from_json(&nested(31, r#"{"zip": "1", "agent": "2"}"#)).is_err());
    assert!(from_json(&nested(32, r#"{"zip": "1"}"#)).is_err());
    // Too deep for recursion, but still an array and not a literal.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(from_parameter("campaign", &deep).is_err());
    assert!(from_parameter("campaign", &nested(100_000, "1")).is_err());
    assert!(from_json(&nested(100_000, "1")).is_err());
}

#[test]
fn depth_is_counted_for_each_value_alone() {
    // The implicit joins of parameters and of their values add no depth.
    let parameter = |name: &str, value: String| (name.to_owned(), value);
    let deepest = || nested(31, "\"x\"");
    let filter = from_parameters(&[
        parameter("campaign", deepest()),
        parameter("campaign", deepest()),
        parameter("zip", "1".to_owned()),
        parameter("filter", nested(30, r#"{"zip": "1", "agent": "2"}"#)),
    ]);
    let (start, end) = (trueup_core::Day::MIN, trueup_core::Day::MIN);
    let query = trueup_core::query::EventsQuery::new(["leads"], start, end).filter(filter.unwrap().unwrap());
    let nothing = trueup_core::Dataset::from_tables(&trueup_core::dataset::Tables::default()).unwrap();
    assert!(nothing.query(&query).is_ok());
    let error = from_parameters(&[parameter("zip", "1".to_owned()), parameter("campaign", nested(32, "1"))]);
    let error = error.unwrap_err();
    assert_eq!(error.at(), format!("campaign{}", "[1]".repeat(31)));
}

#[test]
fn operands_have_a_limit() {
    let or = |operands: usize| format!("[\"or\"{}]", ",\"x\"".repeat(operands));
    from_parameter("campaign", &or(1_000)).unwrap();
    refused("campaign", &or(1_001), "campaign[1001]", "1000");
    // A join below the outermost one counts as an operand, so each pair counts as three.
    let pairs = |count: usize| format!("[\"or\"{}]", ",[\"and\",1,2]".repeat(count));
    from_parameter("campaign", &pairs(333)).unwrap();
    assert!(from_parameter("campaign", &pairs(334)).is_err());
    // Operands are counted over all parameters.
    let parameters = |zips| [("campaign".to_owned(), pairs(333)), ("zip".to_owned(), or(zips))];
    assert!(from_parameters(&parameters(1)).is_ok());
    assert_eq!(from_parameters(&parameters(2)).unwrap_err().at(), "zip[2]");
}

#[test]
fn no_definition_has_the_name_of_a_parameter_that_is_no_filter() {
    for name in NON_FILTER_PARAMETERS.into_iter().chain(["row", "lines"]) {
        let definition = format!("[[metric]]\nname = \"{name}\"\nnumerator = [\"leads\"]");
        assert!(Definitions::parse(&definition).is_err(), "{name}");
    }
}

proptest! {
    #[test]
    fn a_literal_is_the_whole_value(value in ".*") {
        let is_array = matches!(serde_json::from_str(&value), Ok(serde_json::Value::Array(_)));
        prop_assume!(!is_array);
        prop_assert_eq!(campaign(&value), Filter::equals("campaign", value));
    }

    #[test]
    fn a_value_in_brackets_is_an_array_or_a_literal(value in r#"\[["a-z\[\], \\{}:0-9]{0,12}\]?"#) {
        let is_array = matches!(serde_json::from_str(&value), Ok(serde_json::Value::Array(_)));
        let parsed = from_parameter("campaign", &value);
        prop_assert!(is_array || parsed == Ok(Filter::equals("campaign", value)));
    }

    #[test]
    fn a_text_is_unchanged_as_an_operand(value in any::<String>()) {
        let written = serde_json::to_string(&["eq", value.as_str()]).unwrap();
        prop_assert_eq!(campaign(&written), Filter::equals("campaign", value));
    }
}
