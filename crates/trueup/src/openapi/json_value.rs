//! JSON whose members keep the order in which they were added.

use serde::ser::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// A JSON value.
#[derive(Clone, Debug)]
pub(super) enum JsonValue {
    Bool(bool),
    Count(usize),
    Text(Cow<'static, str>),
    List(Vec<Self>),
    Object(Vec<(Cow<'static, str>, Self)>),
}

/// Returns an object of these members.
pub(super) fn object<N: Into<Cow<'static, str>>>(members: impl IntoIterator<Item = (N, JsonValue)>) -> JsonValue {
    JsonValue::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

/// Returns a list of texts.
pub(super) fn texts(names: impl IntoIterator<Item = impl Into<JsonValue>>) -> JsonValue {
    JsonValue::List(names.into_iter().map(Into::into).collect())
}

/// Returns the schema of a text that is one of these names.
pub(super) fn one_of(names: impl IntoIterator<Item = impl Into<JsonValue>>) -> JsonValue {
    object([("type", "string".into()), ("enum", texts(names))])
}

/// Returns a reference to a component.
pub(super) fn reference(kind: &str, name: &str) -> JsonValue {
    object([("$ref", format!("#/components/{kind}/{name}").into())])
}

impl JsonValue {
    /// Adds a member, if this is an object.
    #[must_use]
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Self>) -> Self {
        if let Self::Object(members) = &mut self {
            members.push((Cow::Borrowed(name), value.into()));
        }
        self
    }
}

impl From<&'static str> for JsonValue {
    fn from(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for JsonValue {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl From<bool> for JsonValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<usize> for JsonValue {
    fn from(value: usize) -> Self {
        Self::Count(value)
    }
}

impl From<Vec<Self>> for JsonValue {
    fn from(list: Vec<Self>) -> Self {
        Self::List(list)
    }
}

impl Serialize for JsonValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Count(value) => value.serialize(serializer),
            Self::Text(text) => serializer.serialize_str(text),
            Self::List(list) => serializer.collect_seq(list),
            Self::Object(members) => serializer.collect_map(members.iter().map(|(name, value)| (name, value))),
        }
    }
}

impl fmt::Display for JsonValue {
    /// Writes indented JSON that ends with a line break.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?;
        writeln!(f, "{text}")
    }
}
