//! JSON whose members keep the order in which they were added.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::{fmt, iter};

/// A JSON value.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub(super) enum JsonValue {
    Bool(bool),
    Count(usize),
    Text(Cow<'static, str>),
    List(Vec<Self>),
    Object(#[serde(serialize_with = "write_members", deserialize_with = "read_members")] Vec<Member>),
}

/// A member of an object.
type Member = (Cow<'static, str>, JsonValue);

/// Returns an object of these members.
pub(super) fn object<N: Into<Cow<'static, str>>>(members: impl IntoIterator<Item = (N, JsonValue)>) -> JsonValue {
    JsonValue::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

/// Returns a list of texts.
pub(super) fn texts(names: impl IntoIterator<Item = impl Into<JsonValue>>) -> JsonValue {
    JsonValue::List(names.into_iter().map(Into::into).collect())
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

    /// Puts the part of a name in place of each text that is `@` and the name. The member `@` of an object gives way to
    /// the members of its value.
    #[must_use]
    pub(super) fn fill(self, part: fn(&str) -> Self) -> Self {
        match self {
            Self::Text(text) => match text.strip_prefix('@') {
                Some(name) => part(name),
                None => Self::Text(text),
            },
            Self::List(list) => Self::List(list.into_iter().map(|value| value.fill(part)).collect()),
            Self::Object(members) => Self::Object(
                members
                    .into_iter()
                    .flat_map(|(name, value)| match value.fill(part) {
                        Self::Object(members) if name == "@" => members,
                        value => vec![(name, value)],
                    })
                    .collect(),
            ),
            value => value,
        }
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

fn write_members<S: Serializer>(members: &[Member], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(members.iter().map(|(name, value)| (name, value)))
}

fn read_members<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Member>, D::Error> {
    struct MembersVisitor;
    impl<'de> Visitor<'de> for MembersVisitor {
        type Value = Vec<Member>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Vec<Member>, A::Error> {
            iter::from_fn(|| members.next_entry().transpose()).collect()
        }
    }
    deserializer.deserialize_map(MembersVisitor)
}

impl fmt::Display for JsonValue {
    /// Writes indented JSON that ends with a line break.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?;
        writeln!(f, "{text}")
    }
}
