//! What an answer holds before it is sent.

use super::Service;
use super::error::ServiceError;
use crate::json::JsonRows;
use crate::{ExtraMemory, Reservation, ResultTable};
use serde::Serialize;
use std::borrow::Cow;

/// Status, headers of its own, and body of an answer.
pub(super) struct Content {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, Cow<'static, str>)>,
    pub(super) answer: Answer,
}

/// What is answered, spelled only when it is sent.
pub(super) enum Answer {
    /// With what is held to write them.
    Rows(Box<JsonRows<ResultTable>>, ExtraMemory),
    /// With what counts it, if anything does.
    Text { text: String, _memory: Option<Reservation> },
}

/// Bytes that are held of an answer while it is written: chunks on their way, and the state of the compressor.
const WRITING: usize = 512 << 10;

impl Answer {
    /// The rows of a table.
    pub(super) fn rows(table: ResultTable) -> Result<Self, ServiceError> {
        // What is written at once is held by nobody.
        let writing = table.bytes().min(WRITING);
        let rows = JsonRows::array(table);
        let extra = rows.table().reserve_more(rows.bytes() + writing).map_err(ServiceError::no_room)?;
        Ok(Self::Rows(Box::new(rows), extra))
    }

    /// A text, counted against the budget of the service.
    pub(super) fn text(text: String, service: &Service) -> Result<Self, ServiceError> {
        let memory = service.memory.as_ref().map(|memory| memory.reserve(text.len())).transpose();
        Ok(Self::Text { text, _memory: memory.map_err(ServiceError::no_room)? })
    }
}

impl Content {
    pub(super) const fn new(answer: Answer) -> Self {
        Self { status: 200, headers: Vec::new(), answer }
    }

    /// The answer that a caller is given instead.
    pub(super) fn of_error(error: &ServiceError) -> Self {
        #[derive(Serialize)]
        struct ErrorBody<'a> {
            error: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            code: Option<&'a str>,
        }
        let row = error.row();
        // Texts always serialize; the empty object is no answer that is ever given.
        let text =
            serde_json::to_string(&ErrorBody { error: &row.words, code: row.code }).unwrap_or_else(|_| "{}".to_owned());
        let headers = match error {
            ServiceError::MethodNotAllowed { .. } => vec![("Allow", Cow::Borrowed("GET"))],
            ServiceError::RateLimited { retry_after_seconds }
            | ServiceError::BenchmarksGathering { retry_after_seconds }
            | ServiceError::Overloaded { retry_after_seconds } => {
                vec![("Retry-After", Cow::Owned(retry_after_seconds.to_string()))]
            }
            _ => Vec::new(),
        };
        Self { status: row.status, headers, answer: Answer::Text { text, _memory: None } }
    }
}
