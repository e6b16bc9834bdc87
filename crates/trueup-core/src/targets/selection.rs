//! What of the targets the groups and the filters of a query select.

use crate::model::TARGET_DIMENSIONS;
use crate::query::{EventsQuery, Filter, Operand, Predicate};
use std::collections::BTreeSet;

/// A field by which a query can select whole targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selector {
    AccountKey,
    AccountName,
    /// One of [`TARGET_DIMENSIONS`], by its place.
    Dimension(usize),
}

impl Selector {
    fn of(name: &str) -> Option<Self> {
        match name {
            "account" | "accountKey" => Some(Self::AccountKey),
            "accountName" => Some(Self::AccountName),
            _ => TARGET_DIMENSIONS.iter().position(|known| *known == name).map(Self::Dimension),
        }
    }
}

/// A field that selects parts of targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Divider {
    /// A dimension by which rows are grouped.
    Group(String),
    /// A field of a filter.
    Filter(String),
}

/// The dimensions that rows are grouped by.
pub(super) type Groups = Vec<(String, Selector)>;

/// The values that filters keep of what a target is for.
pub(super) type Kept = Vec<(Selector, BTreeSet<String>)>;

/// What the groups and the filters of a query select. An error is the name of the first field that divides targets.
#[derive(Clone, Debug)]
pub(super) struct Selection {
    groups: Result<Groups, String>,
    kept: Result<Kept, String>,
}

impl Selection {
    pub(super) fn new(query: &EventsQuery) -> Self {
        let dimensions = query.fields.iter().filter(|name| !query.is_metric(name));
        let selector = |name: &String| Some((name.clone(), Selector::of(name)?));
        let groups = dimensions.map(|name| selector(name).ok_or_else(|| name.clone())).collect();
        Self { groups, kept: kept(query) }
    }

    /// Returns what selects the whole answer, as its totals are of it.
    pub(super) fn of_totals(&self) -> Self {
        Self { groups: Ok(Vec::new()), kept: self.kept.clone() }
    }

    /// Returns whether each row has the key of its account.
    pub(super) fn has_account(&self) -> bool {
        self.groups.as_ref().is_ok_and(|groups| groups.iter().any(|(_, selector)| *selector == Selector::AccountKey))
    }

    /// Returns the dimensions that rows are grouped by, and the values that filters keep.
    ///
    /// # Errors
    /// Rows are parts of targets.
    pub(super) fn parts(&self) -> Result<(&Groups, &Kept), Divider> {
        let groups = self.groups.as_ref().map_err(|name| Divider::Group(name.clone()))?;
        Ok((groups, self.kept.as_ref().map_err(|name| Divider::Filter(name.clone()))?))
    }
}

/// Returns the values that the filters of a query keep, or the name of the first field that is not kept by whole
/// values. Conditions on metrics only choose rows.
fn kept(query: &EventsQuery) -> Result<Kept, String> {
    let chooses_rows = |name: &str| name != "total" && query.is_metric(name);
    let mut kept = Vec::new();
    // A loop instead of recursion, because the depth of the filter is not checked yet.
    let mut open: Vec<&Filter> = query.filter.iter().collect();
    while let Some(filter) = open.pop() {
        let alternatives = match filter {
            Filter::All(parts) => {
                open.extend(parts);
                continue;
            }
            Filter::Any(parts) => parts.as_slice(),
            Filter::Field { .. } | Filter::Not(_) => std::slice::from_ref(filter),
        };
        let names = EventsQuery { filter: Some(filter.clone()), fields: Vec::new(), ..query.clone() };
        let Some(name) = names.names().into_iter().find(|name| !chooses_rows(name)).map(str::to_owned) else {
            continue;
        };
        let values = alternatives.iter().map(|part| match part {
            Filter::Field { name: other, predicate } if *other == name => match predicate {
                Predicate::Equals(Operand::Text(text)) => Some(text.clone()),
                Predicate::Empty => Some(String::new()),
                _ => None,
            },
            _ => None,
        });
        let values: Option<BTreeSet<String>> = values.collect();
        kept.push(Selector::of(&name).zip(values).ok_or(name)?);
    }
    Ok(kept)
}
