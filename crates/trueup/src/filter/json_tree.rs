//! JSON as the filter language needs it: numbers are doubles, objects keep the order of their keys and repeated keys.

use super::error::{FilterPath, InvalidFilter, ParseFault};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;
use trueup_core::Shown;
use trueup_core::query::MAX_FILTER_DEPTH;

/// Levels of lists and objects that are read, at least as many as the deepest filter has: a list for each level of
/// depth, and an object around the innermost list.
const MAX_LEVELS: usize = MAX_FILTER_DEPTH + 2;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum JsonTree {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<JsonTree>),
    /// Members in the order in which they are written, including repeated keys.
    Object(Vec<(String, JsonTree)>),
    /// A list or object that is deeper than any filter. Its contents are not kept.
    TooDeep,
}

/// Returns whether the text is a JSON array of any depth.
pub(super) fn is_list(text: &str) -> bool {
    let starts = text.trim_start_matches([' ', '\t', '\n', '\r']).starts_with('[');
    starts && serde_json::from_str::<IgnoredAny>(text).is_ok() && is_text(text)
}

/// Returns whether every escape `\uXXXX` in well-formed JSON is a character, or half of a pair of surrogates. This is
/// checked here because `IgnoredAny` does not decode strings.
fn is_text(json: &str) -> bool {
    let mut rest = json;
    while let Some((_, escape)) = rest.split_once('\\') {
        let Some(unit) = code_unit(escape) else {
            // Any other escape is one character long; the character may be a backslash.
            rest = escape.get(1..).unwrap_or_default();
            continue;
        };
        rest = escape.get(5..).unwrap_or_default();
        if (0xd800..0xdc00).contains(&unit) {
            let Some(0xdc00..0xe000) = rest.strip_prefix('\\').and_then(code_unit) else { return false };
            rest = rest.get(6..).unwrap_or_default();
        } else if char::from_u32(unit).is_none() {
            return false;
        }
    }
    true
}

/// Returns the number in an escape that starts with `uXXXX`; `None` for any other escape.
fn code_unit(escape: &str) -> Option<u32> {
    u32::from_str_radix(escape.strip_prefix('u')?.get(..4)?, 16).ok()
}

/// Parses the value of a parameter.
pub(super) fn parse(text: &str, path: &FilterPath<'_>) -> Result<JsonTree, InvalidFilter> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let tree = Level(MAX_LEVELS).deserialize(&mut reader).and_then(|tree| reader.end().map(|()| tree));
    tree.map_err(|error| ParseFault::NotJson { text: text.to_owned(), reason: error.to_string() }.at(path))
}

impl JsonTree {
    /// Returns the value for a message, in backticks or in words.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Null => "`null`".to_owned(),
            Self::Bool(value) => format!("`{value}`"),
            Self::Number(value) => format!("`{}`", ryu_js::Buffer::new().format(*value)),
            Self::Text(text) => format!("`{}`", Shown(text)),
            Self::List(_) => "a list".to_owned(),
            Self::Object(_) => "an object".to_owned(),
            Self::TooDeep => "a deeply nested value".to_owned(),
        }
    }
}

/// Reads a value, with the number of levels left. At 0, lists and objects are skipped without recursion.
#[derive(Clone, Copy)]
struct Level(usize);

impl Level {
    /// Returns the level inside a list or object here; `None` if none is left.
    fn below(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = JsonTree;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<JsonTree, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = JsonTree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<JsonTree, E> {
        Ok(JsonTree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<JsonTree, E> {
        Ok(JsonTree::Bool(value))
    }

    #[expect(clippy::cast_precision_loss, reason = "a number of the filter language is a double")]
    fn visit_i64<E>(self, value: i64) -> Result<JsonTree, E> {
        Ok(JsonTree::Number(value as f64))
    }

    #[expect(clippy::cast_precision_loss, reason = "a number of the filter language is a double")]
    fn visit_u64<E>(self, value: u64) -> Result<JsonTree, E> {
        Ok(JsonTree::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<JsonTree, E> {
        Ok(JsonTree::Number(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<JsonTree, E> {
        Ok(JsonTree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<JsonTree, A::Error> {
        let Some(below) = self.below() else {
            while entries.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(JsonTree::TooDeep);
        };
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element_seed(below)? {
            list.push(entry);
        }
        Ok(JsonTree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<JsonTree, A::Error> {
        let Some(below) = self.below() else {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(JsonTree::TooDeep);
        };
        let mut object = Vec::new();
        while let Some(key) = entries.next_key()? {
            object.push((key, entries.next_value_seed(below)?));
        }
        Ok(JsonTree::Object(object))
    }
}
