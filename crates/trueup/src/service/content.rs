//! What an answer holds before it is sent.

use super::error::ServiceError;
use crate::ResultTable;
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
    Rows(ResultTable),
    Text(String),
}

impl Content {
    pub(super) const fn new(answer: Answer) -> Self {
        Self { status: 200, headers: Vec::new(), answer }
    }

    /// The answer that a caller is given instead.
    pub(super) fn of_error(error: &ServiceError) -> Self {
        #[derive(Serialize)]
        struct Told<'a> {
            error: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            code: Option<&'a str>,
        }
        let told = error.told();
        // Texts always serialize; the empty object is no answer that is ever given.
        let text =
            serde_json::to_string(&Told { error: &told.words, code: told.code }).unwrap_or_else(|_| "{}".to_owned());
        let headers = match error {
            ServiceError::MethodNotAllowed { .. } => vec![("Allow", Cow::Borrowed("GET"))],
            ServiceError::RateLimited { retry_after_seconds }
            | ServiceError::BenchmarksGathering { retry_after_seconds } => {
                vec![("Retry-After", Cow::Owned(retry_after_seconds.to_string()))]
            }
            _ => Vec::new(),
        };
        Self { status: told.status, headers, answer: Answer::Text(text) }
    }
}
