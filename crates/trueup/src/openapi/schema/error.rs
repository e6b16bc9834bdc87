//! What is told instead of an answer.

use super::super::node::JsonValue;
use super::super::{one_of, refusal};
use super::{meant, members};
use std::collections::BTreeSet;

pub(super) fn schemas() -> Vec<(&'static str, JsonValue)> {
    let codes: BTreeSet<&'static str> = refusal::refusals().iter().filter_map(|refusal| refusal.error.code()).collect();
    let code = one_of(codes).with("description", "The name that programs know the error by; a few errors have none.");
    let words = meant("string", "What is wrong, which value, and what to do.");
    vec![("Error", members(&["error"], [("error", words), ("code", code)]))]
}
