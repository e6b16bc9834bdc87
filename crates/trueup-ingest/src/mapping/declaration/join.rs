//! How an input's rows find those of another.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Another input whose columns are added.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::mapping) struct Join {
    pub(in crate::mapping) input: String,
    /// The name under which its columns are known; that of the input if left out.
    #[serde(rename = "as")]
    pub(in crate::mapping) alias: Option<String>,
    pub(in crate::mapping) on: On,
    pub(in crate::mapping) unmatched: Unmatched,
    /// Whether a row may find more than one and is then repeated.
    #[serde(default)]
    pub(in crate::mapping) many: bool,
}

impl Join {
    pub(in crate::mapping) fn alias(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.input)
    }
}

/// The columns that have to be alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "expected a column, a list of columns, or a table of columns here and there")]
pub(in crate::mapping) enum On {
    Same(String),
    AllSame(Vec<String>),
    /// From the column so far to that of the joined input.
    Pairs(BTreeMap<String, String>),
}

impl On {
    pub(in crate::mapping) fn pairs(&self) -> Vec<(&str, &str)> {
        match self {
            Self::Same(name) => vec![(name, name)],
            Self::AllSame(names) => names.iter().map(|name| (name.as_str(), name.as_str())).collect(),
            Self::Pairs(pairs) => pairs.iter().map(|(here, there)| (here.as_str(), there.as_str())).collect(),
        }
    }
}

/// What becomes of a row that finds none in the joined input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::mapping) enum Unmatched {
    /// It stays, the joined columns empty.
    Keep,
    /// It is left out.
    Drop,
    /// It is an error.
    Refuse,
}
