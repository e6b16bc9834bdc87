//! Published insight documents.

use super::super::Service;
use super::super::content::{Answer, Content};
use super::super::error::{MissingRange, ServiceError, Upstream};
use super::super::parameters::Parameters;
use super::super::snapshot::Snapshot;
use super::parameter::{ACCOUNT, ACCOUNTS, OtherParameters, Parameter, ValueType};
use super::{Endpoint, RequestContext, dates, sections};
use crate::access::Scope;
use crate::query::{AccountFilter, DateRange};
use crate::{Insight, Interrupt};
use std::collections::HashSet;

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "insights",
    summary: "Published insight documents",
    parameters: &[
        ACCOUNT,
        ACCOUNTS,
        Parameter::new("start", ValueType::Date, "The first day of publication; goes with `end`.", "2025-01-01"),
        Parameter::new(
            "end",
            ValueType::Date,
            "The last day of publication, which is included; goes with `start`.",
            "2025-03-31",
        ),
        Parameter::new(
            "fields",
            ValueType::Names,
            "Sections of the document. Without it the whole document is returned; a section that a document does not carry is \
             passed over.",
            "period,action_items",
        ),
    ],
    filters: OtherParameters::Ignored,
    fields: None,
    notes: "Without start and end: the most recent insight of each account; with both: every insight published in that range. \
            fields names sections of the document; without it the whole document is returned. At most 200 documents.",
    answer,
};

/// The parameters that have one value.
const SINGLE: [&str; 2] = ["start", "end"];

impl Service {
    /// The insight documents of the accounts in scope that were published in a range, or without one the most recent of each
    /// account; by account, then date.
    ///
    /// # Errors
    /// More match than the limits allow, it takes too long, or the dataset fails.
    pub fn insights(&self, scope: &Scope, range: Option<DateRange>) -> Result<Vec<Insight>, ServiceError> {
        self.insights_of(&self.snapshot(), scope, range, &Interrupt::after(self.limits.deadline))
    }

    fn insights_of(
        &self,
        snapshot: &Snapshot,
        scope: &Scope,
        range: Option<DateRange>,
        interrupt: &Interrupt,
    ) -> Result<Vec<Insight>, ServiceError> {
        let limit = self.limits.documents;
        let accounts = AccountFilter::Only(scope.accounts().map(str::to_owned).collect());
        let found = snapshot.dataset.insights(&accounts, range, limit, interrupt).map_err(ServiceError::query)?;
        if found.matched > limit {
            return Err(ServiceError::TooManyDocuments { matched: found.matched, limit });
        }
        Ok(found.documents)
    }
}

fn answer(service: &Service, context: &RequestContext<'_>) -> Result<Content, ServiceError> {
    let range = range(context.parameters)?;
    let wanted: HashSet<&str> = context.parameters.list("fields").collect();
    let mut text = String::from("[");
    for insight in service.insights_of(&context.snapshot, &context.scope, range, context.interrupt)? {
        if text.len() > 1 {
            text.push(',');
        }
        write(&insight, &wanted, &mut text).map_err(|source| {
            let (account, date) = (insight.account.clone(), insight.date);
            ServiceError::Upstream(Upstream::Document { account, date, source })
        })?;
    }
    text.push(']');
    Ok(Content::new(Answer::text(text, service)?))
}

fn write(insight: &Insight, wanted: &HashSet<&str>, text: &mut String) -> Result<(), serde_json::Error> {
    text.push_str("{\"account\":");
    text.push_str(&serde_json::to_string(&insight.account)?);
    text.push_str(",\"date\":\"");
    text.push_str(&insight.date.to_string());
    text.push_str("\",\"insight\":");
    if wanted.is_empty() {
        text.push_str(&insight.document);
    } else {
        sections::write(&insight.document, wanted, text)?;
    }
    text.push('}');
    Ok(())
}

/// The range that the parameters state, refused for the first fault in the order of the contract.
fn range(parameters: &Parameters) -> Result<Option<DateRange>, ServiceError> {
    let unpaired = |name| ServiceError::MissingRange(MissingRange::Unpaired(name));
    let pair = match (dates::given(parameters, "start"), dates::given(parameters, "end")) {
        (Some(start), Some(end)) => Some((start, end)),
        (None, None) => None,
        (None, Some(_)) => return Err(unpaired("start")),
        (Some(_), None) => return Err(unpaired("end")),
    };
    parameters.check(&SINGLE)?;
    pair.map(|(start, end)| dates::range(start, end)).transpose()
}
