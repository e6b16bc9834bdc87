//! Which files are exports of known products, and which of their columns have which role.

use super::sample::FileSample;
use crate::mapping::inputs::is_match;
use crate::mapping::known_exports::{ExportConditions, KnownExport, Product, Roles, Template, products};
use regex::Regex;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use trueup_core::Shown;

/// An export that a file is.
pub(super) struct FoundExport {
    pub(super) product: &'static Product,
    pub(super) export: &'static KnownExport,
    /// The columns of the file by which it was recognized; empty if the user has named the template.
    pub(super) known_by: Vec<String>,
    /// Whether another file has the same rows, as [`KnownExport::held_by`] says.
    pub(super) is_held: bool,
    /// The column of each role that the file has.
    columns: BTreeMap<&'static str, String>,
}

/// An export that a file seems to be, but for roles that it lacks.
pub(super) struct LackingExport {
    product: &'static Product,
    export: &'static KnownExport,
    missing: Vec<&'static Roles>,
}

/// What is known of a file.
pub(super) enum Recognition {
    Found(FoundExport),
    Lacking(LackingExport),
    None,
}

impl Recognition {
    pub(super) const fn found(&self) -> Option<&FoundExport> {
        match self {
            Self::Found(found) => Some(found),
            Self::Lacking(_) | Self::None => None,
        }
    }
}

/// Returns what is known of each file. Of the templates that the user has named, each must fit a file.
///
/// # Errors
/// A template fits no file, or a file lacks columns of its export. The number is that of the file, and the text is the
/// reason.
pub(super) fn recognitions(
    samples: &[FileSample],
    templates: &[Template],
) -> Result<Vec<Recognition>, (usize, String)> {
    let named: Vec<&'static Product> =
        products().iter().filter(|product| templates.iter().any(|it| it.name() == product.template)).collect();
    let mut found = Vec::new();
    for (at, sample) in samples.iter().enumerate() {
        let names: Vec<&str> = sample.columns.iter().map(|column| column.name.as_str()).collect();
        let mut recognition = recognized(&names);
        if !matches!(recognition, Recognition::Found(_))
            && let Some(fitting) = named.iter().copied().find_map(|product| fitting(product, &names))
        {
            recognition = Recognition::Found(fitting);
        }
        if let Recognition::Lacking(lacking) = &recognition
            && named.iter().any(|product| product.template == lacking.product.template)
        {
            return Err((at, lacking.reason(&names)));
        }
        found.push(recognition);
    }
    for product in named {
        let is_used = |it: &Recognition| it.found().is_some_and(|found| found.product.template == product.template);
        if found.iter().any(is_used) {
            continue;
        }
        let names =
            |sample: &FileSample| -> Vec<String> { sample.columns.iter().map(|column| column.name.clone()).collect() };
        let closest = samples.iter().map(names).enumerate().flat_map(|(at, names)| {
            product.export.iter().map(move |export| (at, LackingExport::new(product, export, &names), names.clone()))
        });
        if let Some((at, lacking, names)) = closest.min_by_key(|(_, lacking, _)| lacking.missing.len()) {
            return Err((at, lacking.reason(&names.iter().map(String::as_str).collect::<Vec<_>>())));
        }
    }
    let all: Vec<(&str, &str)> =
        found.iter().filter_map(Recognition::found).map(|it| (it.product.template, it.export.what.as_str())).collect();
    for recognition in &mut found {
        if let Recognition::Found(it) = recognition {
            it.is_held =
                it.export.held_by.as_ref().is_some_and(|what| all.contains(&(it.product.template, what.as_str())));
        }
    }
    Ok(found)
}

/// Returns whether a file with these columns is recognized.
pub(super) fn is_known(names: &[&str]) -> bool {
    !matches!(recognized(names), Recognition::None)
}

/// Returns the names, without patterns, by which files are recognized.
pub(super) fn known_names() -> BTreeSet<String> {
    let exports = products().iter().flat_map(|product| &product.export);
    let names = exports.flat_map(|export| export.known_by.iter().flatten().chain(export.columns.values().flatten()));
    names.filter(|name| !name.contains('*')).cloned().collect()
}

/// Finds the export that a file with these columns is: of one product, the first one of which it lacks nothing, and of
/// several products, the one that more of its columns say.
fn recognized(names: &[&str]) -> Recognition {
    let exports = products().iter().flat_map(|product| product.export.iter().map(move |export| (product, export)));
    let candidates = exports.filter_map(|(product, export)| {
        let known = |wanted: &Vec<String>| -> Option<Vec<String>> {
            wanted.iter().map(|name| Some(matching(name, names)?.to_owned())).collect()
        };
        let known_by = export.known_by.iter().filter_map(known).min_by_key(|names| Reverse(names.len()))?;
        Some((known_by, LackingExport::new(product, export, names)))
    });
    let mut best: Option<(Vec<String>, LackingExport)> = None;
    for (known_by, lacking) in candidates {
        let is_better = best.as_ref().is_none_or(|(other_names, other)| {
            let is_longer = known_by.len() > other_names.len();
            match (other.missing.is_empty(), lacking.missing.is_empty()) {
                (true, true) => is_longer && other.product.template != lacking.product.template,
                (true, false) => false,
                (false, true) => true,
                (false, false) => is_longer,
            }
        });
        if is_better {
            best = Some((known_by, lacking));
        }
    }
    match best {
        None => Recognition::None,
        Some((known_by, LackingExport { product, export, missing })) if missing.is_empty() => {
            Recognition::Found(FoundExport::new(product, export, known_by, names))
        }
        Some((_, lacking)) => Recognition::Lacking(lacking),
    }
}

/// Returns the first export of a product of which a file with these columns lacks nothing.
fn fitting(product: &'static Product, names: &[&str]) -> Option<FoundExport> {
    let mut exports = product.export.iter();
    let export = exports.find(|export| LackingExport::new(product, export, names).missing.is_empty())?;
    Some(FoundExport::new(product, export, Vec::new(), names))
}

/// Returns the first of some names that a pattern matches.
fn matching<'n>(pattern: &str, names: &[&'n str]) -> Option<&'n str> {
    let pattern = pattern.to_lowercase();
    names.iter().find(|name| is_match(&pattern, &name.trim().to_lowercase())).copied()
}

/// Returns the column that has a role.
fn column_of<'n>(export: &KnownExport, role: &str, names: &[&'n str]) -> Option<&'n str> {
    match export.columns.get(role) {
        Some(patterns) => patterns.iter().find_map(|pattern| matching(pattern, names)),
        None => matching(role, names),
    }
}

impl LackingExport {
    fn new(product: &'static Product, export: &'static KnownExport, names: &[impl AsRef<str>]) -> Self {
        let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        let is_missing = |roles: &&Roles| roles.texts().iter().all(|role| column_of(export, role, &names).is_none());
        Self { product, export, missing: export.needs.iter().filter(is_missing).collect() }
    }

    /// Returns what the file lacks, and how to get it.
    pub(super) fn lack(&self) -> String {
        let names = |role: &String| self.export.columns.get(role).cloned().unwrap_or_else(|| vec![role.clone()]);
        let alternatives = |roles: &&Roles| {
            let names: Vec<String> = roles.texts().iter().flat_map(names).map(|name| format!("`{name}`")).collect();
            names.join(" or ")
        };
        let missing: Vec<String> = self.missing.iter().map(alternatives).collect();
        let hints = self.missing.iter().flat_map(|roles| roles.texts()).filter_map(|role| self.export.hints.get(role));
        let mut hints: Vec<String> = hints.cloned().collect();
        hints.dedup();
        let hint = if hints.is_empty() { String::new() } else { format!("; {}", hints.join("; ")) };
        format!("no column {}{hint}", missing.join(", and none "))
    }

    /// Returns why the file is no such export.
    fn reason(&self, names: &[&str]) -> String {
        let found: Vec<String> = names.iter().map(|name| format!("`{}`", Shown(name))).collect();
        format!(
            "the template `{}` reads {} of {}, but this file has {}; its columns are {}",
            self.product.template,
            self.export.what,
            self.product.product,
            self.lack(),
            found.join(", ")
        )
    }

    /// Returns what the file seems to be, for a comment of the draft.
    pub(super) fn comment(&self) -> String {
        format!(
            "This seems to be {} of {}, but there is {}. The template `{}` is not used.",
            self.export.what,
            self.product.product,
            self.lack(),
            self.product.template
        )
    }
}

impl FoundExport {
    fn new(product: &'static Product, export: &'static KnownExport, known_by: Vec<String>, names: &[&str]) -> Self {
        let roles = roles(export);
        let columns = roles.into_iter().filter_map(|role| Some((role, column_of(export, role, names)?.to_owned())));
        Self { product, export, known_by, is_held: false, columns: columns.collect() }
    }

    /// Returns the column that has a role.
    pub(super) fn column(&self, role: &str) -> Option<&str> {
        self.columns.get(role).map(String::as_str)
    }

    /// Returns the columns that have one of some roles.
    pub(super) fn columns<'r>(&'r self, roles: &'r [String]) -> impl Iterator<Item = &'r str> {
        roles.iter().filter_map(|role| self.column(role))
    }

    /// Returns what the file was taken for, and by what.
    pub(super) fn sentence(&self) -> String {
        let Self { product, export, known_by, .. } = self;
        let by = match known_by.as_slice() {
            [] => "as asked".to_owned(),
            names => {
                let names: Vec<String> = names.iter().map(|name| format!("`{}`", Shown(name))).collect();
                format!("recognized by its columns {}", names.join(", "))
            }
        };
        format!("{} of {} (template `{}`, {by})", export.what, product.product, product.template)
    }

    /// Returns conditions with the columns of the file in place of roles, and the values of the sample in place of
    /// patterns. Conditions on roles that the file lacks are left out.
    pub(super) fn conditions(&self, conditions: &ExportConditions, sample: &FileSample) -> Vec<(String, Vec<String>)> {
        let resolved = conditions.iter().filter_map(|(role, wanted)| {
            let column = self.column(role)?;
            let mut values: Vec<String> = wanted.iter().filter(|value| !value.contains('*')).cloned().collect();
            let patterns: Vec<String> =
                wanted.iter().filter(|value| value.contains('*')).map(|value| value.to_lowercase()).collect();
            let sampled = sample.column(column).into_iter().flat_map(|column| column.texts());
            for text in sampled.filter(|text| patterns.iter().any(|it| is_match(it, &text.to_lowercase()))) {
                if !values.iter().any(|value| value == text) {
                    values.push(text.to_owned());
                }
            }
            // A pattern that nothing matches leaves no value.
            (!values.is_empty()).then(|| (column.to_owned(), values))
        });
        resolved.collect()
    }
}

/// Returns all roles of an export.
fn roles(export: &'static KnownExport) -> BTreeSet<&'static str> {
    let mut roles: BTreeSet<&'static str> = export.columns.keys().map(String::as_str).collect();
    roles.extend(export.needs.iter().flat_map(Roles::texts).chain(&export.account).map(String::as_str));
    let customer = export.customer.iter();
    roles.extend(customer.flat_map(|it| [&it.phone, &it.email, &it.id, &it.name]).flatten().map(String::as_str));
    let asked = export.ask.iter().flat_map(|ask| [&ask.only, &ask.unless]);
    let of_stages = export.stages.iter().flat_map(|line| [&line.only, &line.unless]);
    let conditions = asked.chain(of_stages).chain([&export.only, &export.unless]);
    roles.extend(conditions.flat_map(BTreeMap::keys).map(String::as_str));
    let lines = export.lines.iter().filter_map(|line| line.from.as_ref());
    let stages = export.stages.iter().flat_map(|line| [Some(&line.date), line.total.as_ref()]).flatten();
    roles.extend(lines.chain(stages).flat_map(Roles::texts).map(String::as_str));
    roles.extend(export.lines.iter().filter_map(|line| line.template.as_deref()).flat_map(template_roles));
    let spread = export.spread.iter().flat_map(|spread| [&spread.from, &spread.to, &spread.month]).flatten();
    roles.extend(spread.map(String::as_str));
    roles
}

/// Returns the roles that a template of an id names.
fn template_roles(template: &'static str) -> impl Iterator<Item = &'static str> {
    crate::mapping::template::template_columns(template)
}

/// A condition on the rows of a sample.
pub(super) struct RowCondition {
    pub(super) column: String,
    pub(super) test: RowTest,
    /// Whether rows that pass the test stay, or the others.
    pub(super) stays: bool,
}

/// What a row needs in a column.
pub(super) enum RowTest {
    /// One of these values; the empty one is no value.
    OneOf(Vec<String>),
    Matches(Regex),
}

impl RowTest {
    pub(super) fn passes(&self, text: &str) -> bool {
        match self {
            Self::OneOf(values) => values.iter().any(|value| value == text),
            Self::Matches(pattern) => pattern.is_match(text),
        }
    }
}
