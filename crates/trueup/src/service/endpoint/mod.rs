//! The endpoints: what each takes, and how it answers.

pub(super) mod access;
mod dates;
mod events;
mod insights;
mod sections;

use super::Service;
use super::content::Content;
use super::error::ServiceError;
use super::parameters::Parameters;
use crate::Interrupt;
use crate::access::Scope;
use crate::dictionary::Field;

/// What an endpoint is asked.
pub(super) struct Asked<'a> {
    /// The accounts that it may read.
    pub(super) scope: Scope,
    pub(super) parameters: &'a Parameters,
    /// Ends the request early.
    pub(super) interrupt: &'a Interrupt,
}

/// An endpoint of an organization.
pub(super) struct Endpoint {
    /// The last segment of its path.
    pub(super) name: &'static str,
    /// The names of its parameters.
    pub(super) parameters: &'static [&'static str],
    /// Which fields it knows; `None` if it is not asked for fields of the dictionary.
    pub(super) fields: Option<fn(&Field) -> bool>,
    /// What a caller should know besides.
    pub(super) notes: &'static str,
    pub(super) answer: fn(&Service, &Asked<'_>) -> Result<Content, ServiceError>,
}

/// All of them, in the order in which they are listed.
pub(super) static ENDPOINTS: [Endpoint; 2] = [events::ENDPOINT, insights::ENDPOINT];
