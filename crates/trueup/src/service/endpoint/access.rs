//! `GET /api`: the organizations that the credentials reach, the endpoints, and the dictionary.

use super::super::Service;
use super::super::error::ServiceError;
use super::super::request::Parameters;
use super::super::response::Answer;
use super::super::snapshot::Snapshot;
use super::ENDPOINTS;
use super::description::{Endpoint, OtherParameters};
use crate::access::{Login, LoginScope};
use crate::definitions::{DefinedDimension, DefinedMetric, Definitions};
use crate::dictionary::{self, Direction, Field, FieldGroup, FieldKind};
use crate::field::FieldDescription;
use crate::query::DateRange;
use crate::{Execution, Interrupt};
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;

/// The parameter of the request. With any value but [`WHOLE_DICTIONARY`] it is ignored, as every other parameter is.
pub(crate) const DICTIONARY: &str = "dictionary";
/// The value for a dictionary of all fields, with the metrics of cohorts and of days between stages.
pub(crate) const WHOLE_DICTIONARY: &str = "all";

/// Answers with all that the login may see.
pub(in crate::service) fn answer(
    service: &Service,
    snapshot: &Snapshot,
    login: &Login,
    parameters: &Parameters,
    interrupt: &Interrupt,
) -> Result<Answer, ServiceError> {
    let reach = service.directory.reach(login)?;
    let grading = is_graded(snapshot, &reach);
    let definitions = snapshot.dataset.definitions();
    let is_whole = parameters.first(DICTIONARY) == Some(WHOLE_DICTIONARY);
    let targeted = if is_whole { targeted(snapshot, &reach) } else { BTreeSet::new() };
    let fields = VisibleFields { grading, is_whole: false, definitions, targeted: &targeted };
    let memory = service.memory.for_user(login.user());
    let days = if is_whole {
        let execution = Execution { interrupt: interrupt.clone(), ..Execution::default() };
        let keys = || reach.accounts().accounts();
        let days = |execution| snapshot.dataset.days_of(keys(), &execution);
        memory.run(&execution, &service.limits, days).map_err(ServiceError::query)?
    } else {
        None
    };
    let listed = reach.organizations();
    let access = AccessBody {
        user: login.user(),
        organizations: listed
            .iter()
            .map(|listed| OrganizationEntry {
                organization: listed.id(),
                accounts: listed.accounts().accounts().collect(),
                currency: if is_whole { currency(snapshot, listed.accounts().accounts()) } else { None },
            })
            .collect(),
        endpoints: ENDPOINTS.iter().map(|endpoint| endpoint_entry(endpoint, fields)).collect(),
        dictionary: VisibleFields { is_whole, ..fields },
        days,
    };
    Answer::text(&memory, |out| Ok(serde_json::to_writer(out, &access)?))
}

/// Returns whether an account in reach subscribes to lead grading.
fn is_graded(snapshot: &Snapshot, reach: &LoginScope) -> bool {
    let accounts = snapshot.dataset.accounts();
    reach.accounts().accounts().any(|key| accounts.lead_grading(key))
}

/// Returns the metrics that have a target for an account in reach.
fn targeted<'a>(snapshot: &'a Snapshot, reach: &LoginScope) -> BTreeSet<&'a str> {
    let accounts: BTreeSet<&str> = reach.accounts().accounts().collect();
    let targets = snapshot.dataset.targets().iter().map(|(key, _)| key);
    targets.filter(|key| accounts.contains(&*key.account)).map(|key| key.metric.as_str()).collect()
}

// The order of the fields of these types is the order of the keys in the answer.

#[derive(Serialize)]
struct AccessBody<'a> {
    user: &'a str,
    organizations: Vec<OrganizationEntry<'a>>,
    endpoints: Vec<EndpointEntry<'a>>,
    dictionary: VisibleFields<'a>,
    /// The first and the last day of the data of the accounts; only with the whole dictionary, and absent without data.
    #[serde(skip_serializing_if = "Option::is_none")]
    days: Option<DateRange>,
}

#[derive(Serialize)]
struct OrganizationEntry<'a> {
    organization: &'a str,
    accounts: Vec<&'a str>,
    /// The currency of all of its accounts; only with the whole dictionary, and absent if they have no single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<String>,
}

#[derive(Serialize)]
struct EndpointEntry<'a> {
    endpoint: &'static str,
    path: String,
    parameters: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<Vec<&'a str>>,
    notes: &'static str,
}

fn endpoint_entry<'a>(endpoint: &Endpoint, shown: VisibleFields<'a>) -> EndpointEntry<'a> {
    let names = |metrics: bool| {
        let knows = endpoint.fields?;
        let wanted = |field: &&Field| matches!(field.kind, FieldKind::Metric(_)) == metrics && knows(field);
        let mut names: Vec<&'a str> = shown.iter().filter(wanted).map(|field| field.name).collect();
        if matches!(endpoint.other_parameters, OtherParameters::AnyField(_)) {
            let (metric_names, dimension_names) = (shown.metrics(), shown.dimensions());
            names.extend(metric_names.filter(|_| metrics).map(|metric| &*metric.name));
            names.extend(dimension_names.filter(|_| !metrics).map(|dimension| &*dimension.name));
        }
        Some(names)
    };
    EndpointEntry {
        endpoint: endpoint.name,
        path: format!("/api/{{organization}}/{}", endpoint.name),
        parameters: endpoint.parameters.iter().map(|parameter| parameter.name).collect(),
        metrics: names(true),
        dimensions: names(false),
        notes: endpoint.notes,
    }
}

/// The fields of the dictionary and of the definitions that the caller sees.
#[derive(Clone, Copy)]
struct VisibleFields<'a> {
    /// Whether the fields of lead grading are among them.
    grading: bool,
    /// Whether all fields of the dictionary are among them, not only the ones that it has always listed.
    is_whole: bool,
    definitions: &'a Definitions,
    /// The metrics that have targets.
    targeted: &'a BTreeSet<&'a str>,
}

impl<'a> VisibleFields<'a> {
    fn iter(self) -> impl Iterator<Item = &'static Field> {
        let more = dictionary::duration_fields().chain(dictionary::cohort_fields());
        let all = dictionary::fields().chain(more.filter(move |_| self.is_whole));
        all.filter(move |field| self.grading || field.group != FieldGroup::LeadGrading)
    }

    /// Returns the metrics that the dataset defines.
    fn metrics(self) -> impl Iterator<Item = &'a DefinedMetric> {
        self.definitions.metrics().filter(move |metric| metric.formula.metrics().all(|name| self.shows(name)))
    }

    /// Returns the dimensions that the dataset defines.
    fn dimensions(self) -> impl Iterator<Item = &'a DefinedDimension> {
        self.definitions.dimensions().filter(move |dimension| self.shows(&dimension.from))
    }

    /// Returns whether the caller sees a field from which a metric or a dimension is defined.
    fn shows(self, name: &str) -> bool {
        let is_grading = |field: &Field| field.group == FieldGroup::LeadGrading;
        self.grading || !dictionary::field(name).is_some_and(is_grading)
    }
}

impl Serialize for VisibleFields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metrics = self.metrics().map(|metric| &*metric.name);
        let dimensions = self.dimensions().map(|dimension| &*dimension.name);
        let names = self.iter().map(|field| field.name).chain(metrics).chain(dimensions);
        serializer.collect_map(
            names.map(|name| {
                (name, DictionaryEntry::new(FieldDescription::defined(name, Some(self.definitions)), *self))
            }),
        )
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DictionaryEntry<'a> {
    display_name: &'a str,
    definition: &'a str,
    r#type: &'static str,
    format: &'static str,
    /// Which values of a metric are better; only in the whole dictionary, and absent where neither are.
    #[serde(skip_serializing_if = "Option::is_none")]
    direction: Option<&'static str>,
    /// The formula of a metric; only in the whole dictionary.
    #[serde(skip_serializing_if = "Option::is_none")]
    formula: Option<String>,
    /// Across which groups the values of a metric add up; only in the whole dictionary.
    #[serde(skip_serializing_if = "Option::is_none")]
    adds_up: Option<&'static str>,
    /// What people call the field in other tools; only in the whole dictionary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    synonyms: Vec<&'static str>,
    /// Whether a metric is computed from spend; only in the whole dictionary, and absent where it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    uses_spend: Option<bool>,
    /// Whether spend has a dimension; only in the whole dictionary, and absent where it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    splits_spend: Option<bool>,
    /// Whether a metric has a target for an account in reach; only in the whole dictionary, and absent where it has
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    has_targets: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    benchmarkable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    benchmark_dimension: Option<bool>,
    #[serde(rename = "possible values", skip_serializing_if = "Vec::is_empty")]
    possible_values: Vec<&'a str>,
}

impl<'a> DictionaryEntry<'a> {
    fn new(field: FieldDescription<'a>, shown: VisibleFields<'_>) -> Self {
        let is_metric = field.is_metric();
        let whole = shown.is_whole.then_some(field);
        let metric = whole.and_then(|field| field.metric());
        let built_in = whole.and_then(|field| dictionary::field(field.name));
        let better = |direction: Direction| (direction != Direction::Neutral).then(|| direction.name());
        let uses_spend = metric.as_ref().is_some_and(|metric| metric.measures.iter().any(|measure| measure.is_spend()));
        let is_true = |holds: bool| holds.then_some(true);
        Self {
            display_name: field.display_name(),
            definition: field.definition(),
            r#type: field.kind(),
            format: field.format(),
            direction: metric.as_ref().and_then(|metric| better(metric.direction)),
            adds_up: metric.as_ref().map(|metric| metric.adds_up),
            formula: metric.map(|metric| metric.formula),
            synonyms: built_in.into_iter().flat_map(|field| dictionary::synonyms(field.name)).collect(),
            uses_spend: is_true(uses_spend),
            splits_spend: whole.and_then(|field| field.splits_spend()).filter(|is_split| *is_split),
            has_targets: is_true(whole.is_some_and(|field| shown.targeted.contains(field.name))),
            benchmarkable: is_true(is_metric && field.has_benchmarks()),
            benchmark_dimension: is_true(!is_metric && field.has_benchmarks()),
            possible_values: field.values(),
        }
    }
}

/// Returns the code of the currency that all accounts state; `None` if they state several, or one states none.
fn currency<'k>(snapshot: &Snapshot, mut accounts: impl Iterator<Item = &'k str>) -> Option<String> {
    let stated = |key: &str| snapshot.dataset.accounts().currency(key);
    let first = stated(accounts.next()?)?;
    accounts.all(|key| stated(key) == Some(first)).then(|| first.to_string())
}
