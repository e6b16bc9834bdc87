//! The endpoints: what each takes, and how it answers.

pub(crate) mod access;
mod benchmarks;
mod dates;
mod events;
mod insights;
pub(crate) mod parameter;
mod sections;

use super::Service;
use super::content::Content;
use super::error::ServiceError;
use super::parameters::Parameters;
use super::snapshot::Snapshot;
use crate::Interrupt;
use crate::access::{LoginScope, Scope};
use crate::dictionary::Field;
use parameter::{OtherParameters, Parameter};
use std::sync::Arc;

/// What an endpoint answers from.
pub(super) struct RequestContext<'a> {
    /// The dataset that it is about.
    pub(super) snapshot: Arc<Snapshot>,
    /// All that the caller reaches.
    pub(super) reach: &'a LoginScope,
    /// The accounts that it may read.
    pub(super) scope: Scope,
    pub(super) parameters: &'a Parameters,
    /// Ends the request early.
    pub(super) interrupt: &'a Interrupt,
}

/// An endpoint of an organization.
pub(crate) struct Endpoint {
    /// The last segment of its path.
    pub(crate) name: &'static str,
    /// What it gives, in a few words.
    pub(crate) summary: &'static str,
    /// Its parameters, in the order in which they are listed.
    pub(crate) parameters: &'static [Parameter],
    /// What parameters of other names do.
    pub(crate) filters: OtherParameters,
    /// Which fields it knows; `None` if it is not asked for fields of the dictionary.
    pub(crate) fields: Option<fn(&Field) -> bool>,
    /// What a caller should know besides.
    pub(crate) notes: &'static str,
    pub(super) answer: fn(&Service, &RequestContext<'_>) -> Result<Content, ServiceError>,
}

/// All of them, in the order in which they are listed.
pub(crate) static ENDPOINTS: [Endpoint; 3] = [events::ENDPOINT, benchmarks::ENDPOINT, insights::ENDPOINT];
