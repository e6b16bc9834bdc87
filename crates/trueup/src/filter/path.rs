//! Where in a parameter a condition stands.

use std::fmt;

/// A place in a parameter's expression, such as `filter[1].total[2]`; it lives as long as the parser stands there.
#[derive(Clone, Copy, Debug)]
pub(super) struct FilterPath<'a> {
    parent: Option<&'a FilterPath<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    Name(&'a str),
    Index(usize),
}

impl<'a> FilterPath<'a> {
    pub(super) fn parameter(name: &'a str) -> Self {
        Self { parent: None, step: Step::Name(name) }
    }

    /// The entry `index` of the list here.
    pub(super) fn entry(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index) }
    }

    /// The value of `key` in the object here.
    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Name(key) }
    }
}

impl fmt::Display for FilterPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.parent, self.step) {
            (None, Step::Name(name)) => f.write_str(name),
            (parent, step) => {
                if let Some(parent) = parent {
                    parent.fmt(f)?;
                }
                match step {
                    Step::Index(index) => write!(f, "[{index}]"),
                    Step::Name(name) if is_plain(name) => write!(f, ".{name}"),
                    Step::Name(name) => write!(f, "[{name:?}]"),
                }
            }
        }
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || char == '_')
}
