//! The exports of products that a draft knows: a file of data for each product, which says by which columns an export
//! is recognized, and what its columns mean.
//!
//! A *role* is a column of an export under the name that the file of the product uses for it. `columns` lists the names
//! that files may give to it, the best one first; a role that is not listed has its own name. In a name, `*` stands for
//! any characters, and letter case does not count.

use super::declaration::OneOrMore;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;
use trueup_core::Shown;

/// The files of the products, by the names of their templates.
const FILES: [(&str, &str); 11] = [
    ("google-ads", include_str!("known_exports/google-ads.toml")),
    ("meta", include_str!("known_exports/meta.toml")),
    ("callrail", include_str!("known_exports/callrail.toml")),
    ("servicetitan", include_str!("known_exports/servicetitan.toml")),
    ("housecall", include_str!("known_exports/housecall.toml")),
    ("hubspot", include_str!("known_exports/hubspot.toml")),
    ("salesforce", include_str!("known_exports/salesforce.toml")),
    ("quickbooks", include_str!("known_exports/quickbooks.toml")),
    ("jobber", include_str!("known_exports/jobber.toml")),
    ("facebook-leads", include_str!("known_exports/facebook-leads.toml")),
    ("gohighlevel", include_str!("known_exports/gohighlevel.toml")),
];

/// All products, in the order of [`FILES`]. A test reads every file.
static PRODUCTS: LazyLock<Vec<Product>> = LazyLock::new(|| {
    let product = |(template, text)| Some(Product { template, ..toml::from_str(text).ok()? });
    FILES.into_iter().filter_map(product).collect()
});

/// Returns the products whose exports are known.
pub(super) fn products() -> &'static [Product] {
    &PRODUCTS
}

/// A template, from which the draft of a mapping starts: it knows the exports of a product.
///
/// ```
/// use trueup_ingest::mapping::Template;
///
/// let template: Template = "google-ads".parse()?;
/// assert_eq!(template.product(), "Google Ads");
/// assert!(Template::all().any(|other| other == template));
/// assert!("google".parse::<Template>().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Template(&'static str);

impl Template {
    /// Returns all templates.
    pub fn all() -> impl Iterator<Item = Self> {
        FILES.iter().map(|(name, _)| Self(name))
    }

    /// Returns the name, such as `google-ads`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.0
    }

    /// Returns the name of the product, such as `Google Ads`.
    #[must_use]
    pub fn product(self) -> &'static str {
        products().iter().find(|product| product.template == self.0).map_or(self.0, |product| &product.product)
    }
}

impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Template({})", self.0)
    }
}

/// The name of a template that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected one of {}, but found `{}`", FILES.map(|(name, _)| name).join(", "), Shown(.name))]
pub struct ParseTemplateError {
    name: String,
}

impl FromStr for Template {
    type Err = ParseTemplateError;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::all().find(|template| template.0 == name).ok_or_else(|| ParseTemplateError { name: name.to_owned() })
    }
}

/// The exports of a product.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Product {
    /// The name of its template.
    #[serde(skip)]
    pub(super) template: &'static str,
    /// Its name, such as `Google Ads`.
    pub(super) product: String,
    /// The first one that fits a file counts.
    pub(super) export: Vec<KnownExport>,
}

/// An export, and the table that its rows become.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KnownExport {
    /// What it is, such as `a campaign report by day`.
    pub(super) what: String,
    /// What a row is, as a sentence.
    pub(super) rows: String,
    pub(super) table: ExportTable,
    /// What another export of the product is that has these rows, too. Next to such a file they make no table.
    pub(super) held_by: Option<String>,
    /// Names of columns. A file that has all names of one of these lists is recognized.
    pub(super) known_by: Vec<Vec<String>>,
    /// The roles without which the table cannot be made; of a list of roles, one is enough.
    pub(super) needs: Vec<Roles>,
    /// The names of roles.
    #[serde(default)]
    pub(super) columns: BTreeMap<String, Vec<String>>,
    /// How to get a role that is missing, by its name.
    #[serde(default)]
    pub(super) hints: BTreeMap<String, String>,
    /// The roles that may be the account.
    #[serde(default)]
    pub(super) account: Vec<String>,
    /// Events only: what identifies the customer.
    pub(super) customer: Option<CustomerRoles>,
    /// Whether rows with fewer cells than the header are no rows.
    #[serde(default)]
    pub(super) has_footer: bool,
    /// Cells that mean no value.
    #[serde(default)]
    pub(super) empty: Vec<String>,
    /// Whether rows whose first cell begins with `Total` are no rows.
    #[serde(default)]
    pub(super) has_totals: bool,
    /// The rows that are of use.
    #[serde(default, rename = "where")]
    pub(super) only: ExportConditions,
    /// The rows that are of no use.
    #[serde(default)]
    pub(super) unless: ExportConditions,
    /// Questions about rows that may be of no use.
    #[serde(default)]
    pub(super) ask: Vec<RowsQuestion>,
    /// The columns of the table, besides account and customer.
    pub(super) lines: Vec<ColumnLine>,
    /// Spend only: the period of a row, in place of a `date`.
    pub(super) spread: Option<ExportSpread>,
    /// Events only: the stage of every row.
    pub(super) stage: Option<String>,
    /// Events only: the stages of a row.
    #[serde(default)]
    pub(super) stages: Vec<StageLine>,
    /// Events only: the names of columns that hold the date of a stage, which only the user knows.
    pub(super) other_stages: Option<String>,
}

/// The table that the rows of an export become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ExportTable {
    Events,
    Spend,
}

/// A role, or several of which the first one counts that the file has.
pub(super) type Roles = OneOrMore;

/// Conditions on rows: for each role, the values that meet it. A value may have a `*`, for which the draft writes the
/// sampled values that it matches.
pub(super) type ExportConditions = BTreeMap<String, Vec<String>>;

/// The roles that identify a customer; the first one that the file has counts, in the order of the fields.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CustomerRoles {
    #[serde(default)]
    pub(super) phone: Vec<String>,
    /// The part of a cell that is the phone number, as a regular expression; the whole cell if absent.
    pub(super) phone_part: Option<String>,
    #[serde(default)]
    pub(super) email: Vec<String>,
    /// Ids, and names of which the product has each one once.
    #[serde(default)]
    pub(super) id: Vec<String>,
    /// Names, which two people may share.
    #[serde(default)]
    pub(super) name: Vec<String>,
}

/// A question about rows, which conditions answer. The draft asks it if a sampled row has one of the values.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowsQuestion {
    pub(super) question: String,
    #[serde(default, rename = "where")]
    pub(super) only: ExportConditions,
    #[serde(default)]
    pub(super) unless: ExportConditions,
}

/// A column of the table. Of several with one name, the first one counts whose roles the file has.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ColumnLine {
    /// The canonical column, or a dimension; `date` is `dateTime` if the file has points in time.
    pub(super) name: String,
    pub(super) from: Option<Roles>,
    /// The same text on every row.
    pub(super) value: Option<String>,
    /// A text with roles in braces.
    pub(super) template: Option<String>,
    /// The part of the role's text that counts.
    pub(super) extract: Option<String>,
    /// What is not evident.
    #[serde(default)]
    pub(super) note: String,
}

/// The period of a row of spend.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportSpread {
    pub(super) from: Option<String>,
    pub(super) to: Option<String>,
    pub(super) month: Option<String>,
}

/// A stage of a row. It is left out if the file has none of the roles of its date.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StageLine {
    pub(super) stage: String,
    pub(super) date: Roles,
    pub(super) total: Option<Roles>,
    #[serde(default, rename = "where")]
    pub(super) only: ExportConditions,
    #[serde(default)]
    pub(super) unless: ExportConditions,
    /// A question that this stage answers; lines with the same question are its answers.
    pub(super) ask: Option<String>,
    #[serde(default)]
    pub(super) note: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mapping::canonical::stage_names;
    use crate::mapping::template::template_columns;
    use crate::table::Table;

    #[test]
    fn every_file_is_read() {
        for (name, text) in FILES {
            let product: Result<Product, _> = toml::from_str(text);
            assert!(product.is_ok(), "{name}: {product:?}");
        }
        assert_eq!(products().len(), FILES.len());
    }

    #[test]
    fn what_an_export_says_is_of_its_table() {
        for export in products().iter().flat_map(|product| &product.export) {
            let what = &export.what;
            let is_events = export.table == ExportTable::Events;
            assert!(!export.known_by.is_empty() && export.known_by.iter().all(|names| names.len() > 1), "{what}");
            assert_eq!(is_events, export.customer.is_some(), "{what}");
            assert_eq!(is_events, export.stage.is_some() == export.stages.is_empty(), "{what}");
            let stages = export.stages.iter().map(|line| &line.stage).chain(&export.stage);
            assert!(stages.into_iter().all(|stage| stage_names().contains(&stage.as_str())), "{what}");
            let table = if is_events { Table::Events } else { Table::Spend };
            for line in &export.lines {
                let sources = [line.from.is_some(), line.value.is_some(), line.template.is_some()];
                assert_eq!(sources.into_iter().filter(|is| *is).count(), 1, "{what}: {}", line.name);
                assert!(
                    table.columns().is_none_or(|names| names.contains(&line.name.as_str())),
                    "{what}: {}",
                    line.name
                );
                if let Some(template) = &line.template {
                    assert!(template_columns(template).next().is_some(), "{what}: {template}");
                }
            }
            // One key can be written once.
            for asks in [|ask: &RowsQuestion| !ask.only.is_empty(), |ask: &RowsQuestion| !ask.unless.is_empty()] {
                assert!(export.ask.iter().filter(|ask| asks(ask)).count() <= 1, "{what}");
            }
        }
    }
}
