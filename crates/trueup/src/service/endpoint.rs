//! The endpoints: what each takes, and how it answers.

pub(crate) mod access;
mod benchmarks;
pub(crate) mod description;
mod events;
pub(in crate::service) mod insights;

use description::Endpoint;

/// The endpoints of an organization, in the order in which they are listed.
pub(crate) static ENDPOINTS: [Endpoint; 3] = [events::ENDPOINT, benchmarks::ENDPOINT, insights::ENDPOINT];

/// Returns the endpoint of that name.
pub(super) fn find(name: &str) -> Option<&'static Endpoint> {
    ENDPOINTS.iter().find(|endpoint| endpoint.name == name)
}
