//! What an answer holds before it is sent.

use super::error::ServiceError;
use crate::{ResultTable, json};
use serde::Serialize;
use std::borrow::Cow;
use std::io;

/// Status, headers of its own, and body of an answer.
pub(super) struct Content {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, Cow<'static, str>)>,
    pub(super) body: Body,
}

/// A body, written only when it is sent.
pub(super) enum Body {
    Rows(ResultTable),
    Text(String),
}

impl Body {
    pub(super) fn write(&self, out: &mut impl io::Write) -> io::Result<()> {
        match self {
            Self::Rows(table) => json::write_rows(table, out),
            Self::Text(text) => out.write_all(text.as_bytes()),
        }
    }
}

impl Content {
    pub(super) const fn new(body: Body) -> Self {
        Self { status: 200, headers: Vec::new(), body }
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
            ServiceError::RateLimited { retry_after_seconds } => {
                vec![("Retry-After", Cow::Owned(retry_after_seconds.to_string()))]
            }
            _ => Vec::new(),
        };
        Self { status: told.status, headers, body: Body::Text(text) }
    }
}
