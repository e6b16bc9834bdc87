//! Filter expressions on one field (section 8), as JSON texts.

use proptest::prelude::*;
use proptest::sample::select;

use super::pools::{OPERANDS, value};

/// A JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Any expression on a dimension whose values are those of the pool; not always an array.
pub(super) fn on_text(pool: &'static [&'static str]) -> BoxedStrategy<String> {
    let word = || value(pool).prop_map(quoted);
    let number = || select(&OPERANDS[..]).prop_map(str::to_owned);
    let scalar = || {
        prop_oneof![
            6 => word(),
            2 => number(),
            1 => select(vec!["null", "true", "false"]).prop_map(str::to_owned),
        ]
    };
    let equality = (select(vec!["eq", "ne"]), scalar()).prop_map(operation);
    let order = (select(vec!["gt", "gte", "lt", "lte"]), prop_oneof![3 => word(), 1 => number()]).prop_map(operation);
    let pattern = prop_oneof![
        2 => select(vec!["", "^$", "e", "^[a-c]", "\\d+$", ".", "X|é", "a b", "^line$", "k.b"]).prop_map(str::to_owned),
        1 => select(pool).prop_map(regex::escape),
    ];
    let flags = prop_oneof![2 => Just(None), 1 => select(vec!["", "i", "m", "s", "u", "x", "ims"]).prop_map(Some)];
    let matching = (pattern, flags).prop_map(|(pattern, flags)| match flags {
        None => format!("[\"regex\",{}]", quoted(&pattern)),
        Some(flags) => format!("[\"regex\", {}, {}]", quoted(&pattern), quoted(flags)),
    });
    let emptiness = select(vec!["[\"empty\"]", "[\"notEmpty\"]"]).prop_map(str::to_owned);
    // Most rows pass these.
    let generous = prop_oneof![
        2 => word().prop_map(|text| format!("[\"ne\",{text}]")),
        1 => word().prop_map(|text| format!("[\"not\", {text}]")),
        2 => proptest::collection::vec(word(), 3..=6).prop_map(|texts| format!("[\"or\", {}]", texts.join(","))),
    ];
    joined(prop_oneof![2 => scalar(), 2 => equality, 3 => order, 2 => matching, 2 => emptiness, 5 => generous].boxed())
}

/// Any expression on `total` or a metric; not always an array.
pub(super) fn on_number() -> BoxedStrategy<String> {
    let number = || {
        prop_oneof![
            3 => select(&OPERANDS[..]).prop_map(str::to_owned),
            1 => select(vec!["\"0\"", "\"1\"", "\"-7.50\"", "\"0.5\"", "\"007\""]).prop_map(str::to_owned),
        ]
    };
    let operators = vec!["gt", "gte", "lt", "lte", "eq", "ne"];
    let comparison = (select(operators), number()).prop_map(operation);
    let generous = select(vec!["[\"gte\",0]", "[\"gte\", \"-1\"]", "[\"ne\",0.5]", "[\"lt\",1e15]"]);
    joined(prop_oneof![1 => number(), 3 => comparison, 2 => generous.prop_map(str::to_owned)].boxed())
}

fn operation((operator, operand): (&str, String)) -> String {
    format!("[\"{operator}\",{operand}]")
}

/// The leaf, or such leaves under `or`, `and` and `not`, a few deep.
pub(super) fn joined(leaf: BoxedStrategy<String>) -> BoxedStrategy<String> {
    let join = |inner: BoxedStrategy<String>| {
        let several = (select(vec!["or", "and"]), proptest::collection::vec(inner.clone(), 1..=3));
        prop_oneof![
            2 => several.prop_map(|(operator, parts)| format!("[\"{operator}\", {}]", parts.join(", "))),
            1 => inner.prop_map(|part| format!("[\"not\",{part}]")),
        ]
    };
    prop_oneof![2 => leaf.clone(), 1 => leaf.prop_recursive(3, 8, 3, join)].boxed()
}
