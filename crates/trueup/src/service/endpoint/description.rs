//! The types that describe an endpoint and its parameters. The service routes by them, and OpenAPI and `GET /api` list
//! them.

use super::super::Service;
use super::super::error::ServiceError;
use super::super::memory::UserMemory;
use super::super::negotiation::AnswerFormat;
use super::super::request::Parameters;
use super::super::response::Answer;
use super::super::snapshot::Snapshot;
use crate::Interrupt;
use crate::access::{LoginScope, Scope};
use crate::dictionary::Field;
pub(crate) use crate::request::{Parameter, ValueType};
use std::sync::Arc;

/// An endpoint of an organization.
pub(crate) struct Endpoint {
    /// The last segment of the path, for example `events`.
    pub(crate) name: &'static str,
    /// What it returns, in a few words.
    pub(crate) summary: &'static str,
    /// Its parameters, in the order in which they are listed.
    pub(crate) parameters: &'static [Parameter],
    /// Parameters that trueup has in addition to those of the service whose answers it mirrors. `GET /api` does not
    /// list them.
    pub(crate) additions: &'static [&'static [Parameter]],
    /// What parameters of any other name do.
    pub(crate) other_parameters: OtherParameters,
    /// Which fields of the dictionary it supports; `None` if it takes no fields of the dictionary.
    pub(crate) fields: Option<fn(&Field) -> bool>,
    /// What else a caller should know.
    pub(crate) notes: &'static str,
    pub(in crate::service) answer: fn(&Service, &RequestContext<'_>) -> Result<Answer, ServiceError>,
}

/// An authorized request to an endpoint.
pub(in crate::service) struct RequestContext<'a> {
    /// The dataset that the request sees.
    pub(in crate::service) snapshot: Arc<Snapshot>,
    /// All that the login may read.
    pub(in crate::service) reach: &'a LoginScope,
    /// The accounts that this request reads.
    pub(in crate::service) scope: Scope,
    pub(in crate::service) parameters: &'a Parameters,
    /// The memory of the login's user.
    pub(in crate::service) memory: UserMemory<'a>,
    /// Ends the request early.
    pub(in crate::service) interrupt: &'a Interrupt,
    /// The form in which an answer with rows is sent.
    pub(in crate::service) format: AnswerFormat,
}

/// What the parameters do that an endpoint does not list.
pub(crate) enum OtherParameters {
    /// They are ignored.
    Ignored,
    /// Each filters on the field of its name. The text says which values it takes.
    AnyField(&'static str),
    /// Each filters on the dimension of its name, if the endpoint supports that dimension. The text says which values
    /// it takes.
    Dimensions(&'static str),
}

/// One account; a parameter of every endpoint.
pub(super) const ACCOUNT: Parameter = Parameter::new(
    "account",
    ValueType::Name,
    "The key of an account of the organization. The answer covers only this account and those in `accounts`.",
    "north",
);

/// Several accounts; a parameter of every endpoint.
pub(super) const ACCOUNTS: Parameter = Parameter::new(
    "accounts",
    ValueType::Names,
    "Keys of accounts of the organization. The answer covers only these accounts and the one in `account`.",
    "north,south",
);
