//! `GET /api`: the organizations that the credentials reach, the endpoints, and the dictionary.

use super::super::Service;
use super::super::error::ServiceError;
use super::super::response::Answer;
use super::super::snapshot::Snapshot;
use super::ENDPOINTS;
use super::description::Endpoint;
use crate::access::{Login, LoginScope};
use crate::dictionary::{self, Field, FieldGroup, FieldKind};
use serde::{Serialize, Serializer};

/// Answers with all that the login may see.
pub(in crate::service) fn answer(
    service: &Service,
    snapshot: &Snapshot,
    login: &Login,
) -> Result<Answer, ServiceError> {
    let reach = service.directory.reach(login)?;
    let fields = VisibleFields { grading: is_graded(snapshot, &reach) };
    let listed = reach.organizations();
    let access = AccessBody {
        user: login.user(),
        organizations: listed
            .iter()
            .map(|listed| OrganizationEntry {
                organization: listed.id(),
                accounts: listed.accounts().accounts().collect(),
            })
            .collect(),
        endpoints: ENDPOINTS.iter().map(|endpoint| endpoint_entry(endpoint, fields)).collect(),
        dictionary: fields,
    };
    let text = serde_json::to_string(&access).map_err(std::io::Error::from)?;
    Answer::text(text, &service.memory)
}

/// Returns whether an account in reach subscribes to lead grading.
fn is_graded(snapshot: &Snapshot, reach: &LoginScope) -> bool {
    let accounts = snapshot.dataset.accounts();
    reach.accounts().accounts().any(|key| accounts.lead_grading(key))
}

// The order of the fields of these types is the order of the keys in the answer.

#[derive(Serialize)]
struct AccessBody<'a> {
    user: &'a str,
    organizations: Vec<OrganizationEntry<'a>>,
    endpoints: Vec<EndpointEntry>,
    dictionary: VisibleFields,
}

#[derive(Serialize)]
struct OrganizationEntry<'a> {
    organization: &'a str,
    accounts: Vec<&'a str>,
}

#[derive(Serialize)]
struct EndpointEntry {
    endpoint: &'static str,
    path: String,
    parameters: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<Vec<&'static str>>,
    notes: &'static str,
}

fn endpoint_entry(endpoint: &Endpoint, shown: VisibleFields) -> EndpointEntry {
    let names = |metrics: bool| {
        let knows = endpoint.fields?;
        let wanted = |field: &&Field| matches!(field.kind, FieldKind::Metric(_)) == metrics && knows(field);
        Some(shown.iter().filter(wanted).map(|field| field.name).collect())
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

/// The fields of the dictionary that the caller sees.
#[derive(Clone, Copy)]
struct VisibleFields {
    /// Whether the fields of lead grading are among them.
    grading: bool,
}

impl VisibleFields {
    fn iter(self) -> impl Iterator<Item = &'static Field> {
        dictionary::fields().filter(move |field| self.grading || field.group != FieldGroup::LeadGrading)
    }
}

impl Serialize for VisibleFields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter().map(|field| (field.name, DictionaryEntry::new(field))))
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DictionaryEntry {
    display_name: &'static str,
    definition: &'static str,
    r#type: &'static str,
    format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    benchmarkable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    benchmark_dimension: Option<bool>,
    #[serde(rename = "possible values", skip_serializing_if = "<[_]>::is_empty")]
    possible_values: &'static [&'static str],
}

impl DictionaryEntry {
    fn new(field: &'static Field) -> Self {
        let is_metric = matches!(field.kind, FieldKind::Metric(_));
        Self {
            display_name: field.display_name,
            definition: field.definition,
            r#type: if is_metric { "metric" } else { "dimension" },
            format: field.format.name(),
            benchmarkable: (is_metric && field.benchmark).then_some(true),
            benchmark_dimension: (!is_metric && field.benchmark).then_some(true),
            possible_values: field.values,
        }
    }
}
