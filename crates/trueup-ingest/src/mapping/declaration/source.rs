//! Where the values of a column come from.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;

/// Where the values of a column come from, and what is done to them before they are read.
///
/// A bare text is short for the column of that name; a bare whole number is itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(in crate::mapping) struct ValueSource {
    pub(in crate::mapping) column: Option<String>,
    /// Columns whose texts are strung together; one of them empty: no value.
    pub(in crate::mapping) columns: Option<Vec<String>>,
    pub(in crate::mapping) separator: Option<String>,
    pub(in crate::mapping) value: Option<Constant>,
    pub(in crate::mapping) year: Option<Box<ValueSource>>,
    pub(in crate::mapping) month: Option<Box<ValueSource>>,
    pub(in crate::mapping) day: Option<Box<ValueSource>>,
    pub(in crate::mapping) remove: Option<String>,
    pub(in crate::mapping) decimal_mark: Option<char>,
    pub(in crate::mapping) map: Option<ValueMap>,
    pub(in crate::mapping) unmapped: Option<Unmapped>,
    pub(in crate::mapping) default: Option<Constant>,
    pub(in crate::mapping) format: Option<String>,
    pub(in crate::mapping) time_zone: Option<String>,
}

impl<'de> Deserialize<'de> for ValueSource {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ValueSource;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a column's name, a whole number, or a table such as { column = \"...\" } or { value = \"...\" }",
                )
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<ValueSource, E> {
                Ok(ValueSource { column: Some(name.to_owned()), ..ValueSource::default() })
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<ValueSource, E> {
                Ok(ValueSource { value: Some(Constant(number.to_string())), ..ValueSource::default() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ValueSource, A::Error> {
                // The derived function of that name, not the trait's.
                ValueSource::deserialize(MapAccessDeserializer::new(map))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// A value of the mapping itself, as text. No number with a point: amounts are written as text, so that they stay exact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mapping) struct Constant(pub(in crate::mapping) String);

impl<'de> Deserialize<'de> for Constant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = Constant;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, a whole number, true or false (write other numbers and dates as text)")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Constant, E> {
                Ok(Constant(text.to_owned()))
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<Constant, E> {
                Ok(Constant(number.to_string()))
            }

            fn visit_bool<E: Error>(self, truth: bool) -> Result<Constant, E> {
                Ok(Constant(truth.to_string()))
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}

/// What values are called here and what they are called there.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected the name of a [map], or a table of values")]
pub(in crate::mapping) enum ValueMap {
    Named(String),
    Inline(BTreeMap<String, Constant>),
}

/// What becomes of a value that the map does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::mapping) enum Unmapped {
    /// It is an error.
    #[default]
    Refuse,
    /// It stays as it is.
    Keep,
    /// There is no value.
    Empty,
    /// Its row is left out.
    Skip,
}
