//! Says why rows have no targets.

use super::cells::NoTarget;
use super::selection::Divider;
use crate::Shown;
use crate::model::TARGET_DIMENSIONS;
use std::fmt;

/// The rows without the target of a metric for the reason of the first of them, and of which kind that is.
pub(super) struct NullTargets {
    pub(super) metric: String,
    pub(super) rows: usize,
    pub(super) of_rows: usize,
    pub(super) first: NoTarget,
}

impl fmt::Display for NullTargets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { metric, rows, of_rows, first } = self;
        write!(f, "`{}.target` is null in {rows} of {of_rows} rows", Shown(metric))?;
        match first {
            NoTarget::Missing(key) => {
                write!(
                    f,
                    "; the first of them has no target of account `{}`, {}",
                    Shown(&key.account),
                    key.month.month()
                )?;
                for (name, value) in
                    TARGET_DIMENSIONS.iter().zip(&key.dimensions).filter(|(_, value)| !value.is_empty())
                {
                    write!(f, ", {name} `{}`", Shown(value))?;
                }
                f.write_str(": a row shows a target if each of its accounts, months and values has one")
            }
            NoTarget::NoAccount => f.write_str(", which are of no account"),
            NoTarget::Disagree => f.write_str(
                ": a ratio over several accounts, months or values has a target only if all of theirs are equal",
            ),
            NoTarget::NotWhole => f.write_str(
                ": distinct values do not add up, so that only whole months of one account have a target of them",
            ),
            NoTarget::Currencies => f.write_str(": targets in different currencies are never added up"),
        }
    }
}

impl fmt::Display for Divider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("targets are null: ")?;
        match self {
            Self::Group(name) if matches!(name.as_str(), "date" | "week" | "month") => {
                let interval = if name == "date" { "day" } else { name };
                write!(f, "rows grouped by `{name}` are parts of targets; the interval `{interval}` splits them, too")
            }
            Self::Group(name) => write!(f, "rows grouped by `{}` are parts of targets", Shown(name)),
            Self::Filter(name) => write!(f, "the filter on `{}` selects parts of targets", Shown(name)),
        }?;
        write!(f, "; whole targets are by account, {}, in equalities and groups", TARGET_DIMENSIONS.join(", "))
    }
}
