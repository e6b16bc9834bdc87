use super::{Test, TypedCondition, is_like_a_number};
use crate::filter::{apply_typed, from_parameter};
use crate::query::ComparisonOperator::{Greater, GreaterOrEqual, Less, LessOrEqual};
use crate::query::{EventsQuery, Filter, Operand, Predicate};
use proptest::prelude::*;

fn parse(text: &str) -> TypedCondition {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn filter(text: &str) -> Filter {
    parse(text).filter().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Each typed form, and a JSON expression that has the same meaning.
const FORMS: [(&str, &str, &str); 27] = [
    ("attributionChannel != Direct", "attributionChannel", r#"["ne", "Direct"]"#),
    ("attributionChannel = 'Paid Search'", "attributionChannel", "Paid Search"),
    ("campaign = '[\"or\", \"a\"]'", "campaign", r#"["eq", "[\"or\", \"a\"]"]"#),
    ("campaign != ''", "campaign", r#"["ne", ""]"#),
    ("campaign != O'Brien", "campaign", r#"["ne", "O'Brien"]"#),
    ("campaign != 'O''Brien''s Drains'", "campaign", r#"["ne", "O'Brien's Drains"]"#),
    ("zip = 00123", "zip", "00123"),
    ("zip != 00123", "zip", r#"["ne", "00123"]"#),
    ("total >= 500", "total", r#"["gte", 500]"#),
    ("total>=500", "total", r#"["gte", 500]"#),
    ("total > -0.5", "total", r#"["gt", -0.5]"#),
    ("leads < 5", "leads", r#"["lt", 5]"#),
    ("leads <= '5'", "leads", r#"["lte", "5"]"#),
    ("zip < '00200'", "zip", r#"["lt", "00200"]"#),
    ("date >= 2026-01-05", "date", r#"["gte", "2026-01-05"]"#),
    ("agent > M", "agent", r#"["gt", "M"]"#),
    ("campaign ~ ^(Spring|Fall)$", "campaign", r#"["regex", "^(Spring|Fall)$"]"#),
    ("campaign ~* drain", "campaign", r#"["regex", "drain", "i"]"#),
    ("campaign ~* 'spring drain'", "campaign", r#"["regex", "spring drain", "i"]"#),
    ("campaign in (A, 'B C',D)", "campaign", r#"["or", "A", "B C", "D"]"#),
    ("campaign IN(A)", "campaign", r#"["or", "A"]"#),
    ("campaign not in (A, B)", "campaign", r#"["not", ["or", "A", "B"]]"#),
    ("campaign Not  In ( 'A, B' )", "campaign", r#"["not", ["or", "A, B"]]"#),
    ("zip is empty", "zip", r#"["empty"]"#),
    ("zip IS NOT EMPTY", "zip", r#"["notEmpty"]"#),
    ("  zip\tis empty ", "zip", r#"["empty"]"#),
    ("\"Lead Source\" != Web", "Lead Source", r#"["ne", "Web"]"#),
];

#[test]
fn each_form_means_what_its_json_form_means() {
    for (typed, field, json) in FORMS {
        assert_eq!(Ok(filter(typed)), from_parameter(field, json), "{typed}");
    }
}

#[test]
fn a_value_directly_after_the_sign_is_taken_whole() {
    for (text, field, value) in [
        ("campaign=[Va] Drain", "campaign", "[Va] Drain"),
        ("campaign=a != b", "campaign", "a != b"),
        ("campaign= 'x' ", "campaign", " 'x' "),
        ("campaign==x", "campaign", "=x"),
        ("campaign=", "campaign", ""),
        ("campaign=[\"regex\", \"drain\", \"i\"]", "campaign", "[\"regex\", \"drain\", \"i\"]"),
        ("Lead Source=Web", "Lead Source", "Web"),
        ("\"a=b\"=c", "a=b", "c"),
        ("\"a\"\"b\"=c", "a\"b", "c"),
        ("share (%)=5 = x", "share (%)", "5 = x"),
        ("größe=ä", "größe", "ä"),
    ] {
        assert_eq!(Ok(filter(text)), from_parameter(field, value), "{text}");
    }
    let across = r#"{"zip": "1"}"#;
    assert_eq!(filter(&format!("filter={across}")), crate::filter::from_json(across).unwrap());
}

#[test]
fn only_equalities_on_one_field_are_alternatives() {
    let day = "2025-01-01".parse().unwrap();
    let query = || EventsQuery::new(["leads"], day, day);
    let conditions = ["zip=1", "total > 1", "zip = 2", "total < 9", "zip != 3", "zip in (4, 5)"].map(parse);
    let typed = apply_typed(query(), &conditions, Some(r#"{"leads": 1}"#)).unwrap();
    let field = |name: &str, json: &str| from_parameter(name, json).unwrap();
    let any = |values: [&str; 2]| Filter::Any(values.map(|value| Filter::equals("zip", value)).to_vec());
    let parts = vec![
        any(["1", "2"]),
        field("total", "[\"gt\", 1]"),
        field("total", "[\"lt\", 9]"),
        field("zip", "[\"ne\", \"3\"]"),
        any(["4", "5"]),
        field("leads", "[\"eq\", 1]"),
    ];
    assert_eq!(typed, query().filter(Filter::All(parts)));
}

#[test]
fn a_fault_is_shown_at_its_place() {
    for (text, marked, words) in [
        ("", "", "expected the name of a field, but found nothing"),
        ("=x", "=x", "expected the name of a field, but found `=x`"),
        ("campaign", "", "is not empty`), but found nothing"),
        ("campaign like drain", "like", "but found `like`; write `~` and a regular expression"),
        ("campaign like a=b", "like", "write `~`"),
        ("total => 500", "=>", "write `>=`"),
        ("zip == 5", "==", "write `=`"),
        ("zip is null", "is", "write `is empty` or `is not empty`"),
        ("zip not 5", "not", "write `not in`"),
        ("total >= ", "", "expected a value; the empty text is '', but found nothing"),
        ("campaign ~", "", "expected a regular expression"),
        ("attributionChannel != Paid Search", "Paid Search", "a value with blanks needs quotes: 'Paid Search'"),
        ("attributionChannel != 'Paid Search", "'Paid Search", "expected a closing ', but found nothing"),
        ("\"Lead Source != Web", "\"Lead Source != Web", "expected a closing \""),
        ("campaign = \"A B\"", "\"A", "expected a value in single quotes"),
        ("total >= 500 and zip = 1", "and", "expected the end, but found `and`; conditions are given one by one"),
        ("zip is empty or x", "or", "conditions are given one by one"),
        ("campaign = 'A' B", "B", "expected the end, but found `B`"),
        ("total >= $1,200.00", "$1,200.00", "expected a decimal number such as 500 or 0.5, but found `$1,200.00`"),
        ("total >= 1e3", "1e3", "expected a decimal number"),
        ("total >= .5", ".5", "expected a decimal number"),
        ("campaign in A", "A", "expected values in parentheses, such as `(A, 'B C')`, but found `A`"),
        ("campaign in (", "", "expected a value; the empty text is '', but found nothing"),
        ("campaign in ()", ")", "expected a value"),
        ("campaign in (A, )", ")", "expected a value"),
        ("campaign in (A", "", "expected `,` or `)`, but found nothing"),
        ("campaign in (A, Paid Search, B)", "Paid Search", "a value with blanks or signs needs quotes"),
        ("campaign in (A) B", "B", "expected the end"),
        ("größe like ä", "like", "write `~`"),
    ] {
        let error = text.parse::<TypedCondition>().unwrap_err();
        assert_eq!(&text[error.place.clone()], marked, "{text}: {error}");
        let message = error.to_string();
        assert!(message.contains(words), "{text}: {message}");
        let lines: Vec<&str> = message.lines().collect();
        let marks = format!("  | {}{}", " ".repeat(error.column() - 1), "^".repeat(marked.chars().count().max(1)));
        assert_eq!(lines[1..], ["  |", &format!("  | {text}"), &marks], "{text}");
    }
}

#[test]
fn a_long_text_is_shown_around_the_fault() {
    let error = format!("{}\t like x", "y".repeat(3_000)).parse::<TypedCondition>().unwrap_err();
    assert_eq!(error.column(), 3_003);
    let message = error.to_string();
    let lines: Vec<&str> = message.lines().collect();
    let before = " ".repeat(50);
    assert_eq!(lines[2..], [format!("  | {}  like x", "y".repeat(48)), format!("  | {before}^^^^")]);
}

#[test]
fn marks_are_below_wide_characters_as_a_terminal_shows_them() {
    for (text, indent, marks) in [
        ("城市 like 北京", 5, 4),
        ("城市 != 北京 上海", 8, 9),
        ("zip is 🚿", 4, 2),
        // An accent of its own takes no column.
        ("re\u{301}gion like x", 7, 4),
    ] {
        let message = text.parse::<TypedCondition>().unwrap_err().to_string();
        let lines: Vec<&str> = message.lines().collect();
        let expected = format!("  | {}{}", " ".repeat(indent), "^".repeat(marks));
        assert_eq!(lines[2..], [&format!("  | {text}"), &expected], "{message}");
    }
    let message = format!("{} like x", "城".repeat(3_000)).parse::<TypedCondition>().unwrap_err().to_string();
    let lines: Vec<&str> = message.lines().collect();
    // A wide character that would be cut is left out.
    let before = format!("{} ", "城".repeat(24));
    assert_eq!(lines[2..], [format!("  | {before}like x"), format!("  | {}^^^^", " ".repeat(49))]);
}

#[test]
fn a_value_that_does_not_suit_its_field_is_refused() {
    for (text, words) in [
        ("total >= many", "`total`: expected a number to compare with, but found `many`"),
        ("leads is empty", "`leads`: regex, empty and notEmpty test texts"),
        ("bookRate in (0.5, half)", "`bookRate`: expected a number to compare with, but found `half`"),
        ("campaign ~ (", "`campaign`: the regular expression `(` does not compile"),
    ] {
        let refused = parse(text).filter().unwrap_err().to_string();
        assert!(refused.starts_with(words), "{text}: {refused}");
    }
}

#[test]
fn spellings_of_numbers_are_recognized() {
    for text in ["500", "-0.5", ".5", "1e3", "$1,200.00", "12%", "+5", "1_000"] {
        assert!(is_like_a_number(text), "{text}");
    }
    for text in ["2026-01-05", "2026-01", "M", "", "-", "nan", "inf", "10:30", "7-11", "9b"] {
        assert!(!is_like_a_number(text), "{text}");
    }
}

/// Returns texts with blanks, quotes, signs, and what looks like an operator or a number.
fn text() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "in", "is empty", "not", "and", "500", "00123", "1e3", "$5", "'", "''", "\"", "[\"or\"]", "=", ">= ", "(",
        "a,b", "ä b",
    ];
    prop_oneof![
        proptest::sample::select(WORDS).prop_map(str::to_owned),
        "[a-zA-Z0-9 ='\"(),~<>!*.\t-]{0,8}",
        "\\PC{0,6}"
    ]
}

fn condition() -> impl Strategy<Value = TypedCondition> {
    let operand = || text().prop_map(Operand::Text);
    let comparison = proptest::sample::select(&[Greater, GreaterOrEqual, Less, LessOrEqual][..]);
    let number = (-1e15..1e15f64).prop_map(Operand::Number);
    let predicate = prop_oneof![
        operand().prop_map(Predicate::Equals),
        operand().prop_map(Predicate::NotEquals),
        (comparison, prop_oneof![operand(), number])
            .prop_map(|(comparison, operand)| Predicate::Compare(comparison, operand)),
        (text(), any::<bool>()).prop_map(|(pattern, fold)| Predicate::Matches {
            pattern,
            flags: if fold { "i".to_owned() } else { String::new() }
        }),
        Just(Predicate::Empty),
        Just(Predicate::NotEmpty),
    ];
    let list = (proptest::collection::vec(text(), 1..4), any::<bool>());
    let test = prop_oneof![
        text().prop_map(Test::Parameter),
        predicate.prop_map(Test::Predicate),
        list.prop_map(|(values, negated)| Test::In { values, negated }),
    ];
    let field = prop_oneof![Just("campaign".to_owned()), text()];
    (field, test).prop_map(|(field, test)| TypedCondition { field, test })
}

proptest! {
    #[test]
    fn a_condition_is_printed_so_that_it_parses_to_itself(condition in condition()) {
        let printed = condition.to_string();
        prop_assert_eq!(printed.parse::<TypedCondition>(), Ok(condition), "{}", printed);
    }

    #[test]
    fn no_text_makes_the_parser_panic_or_mark_a_place_outside(text in "\\PC{0,24}|[a-z =<>!~'\"(),]{0,24}") {
        if let Err(error) = text.parse::<TypedCondition>() {
            prop_assert!(error.place.start <= error.place.end && error.place.end <= text.len());
            prop_assert!(text.is_char_boundary(error.place.start) && text.is_char_boundary(error.place.end));
            prop_assert!(error.to_string().lines().count() == 4);
        }
    }
}
