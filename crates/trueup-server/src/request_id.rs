//! The id of a request in responses and logs.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

/// The header of the id.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest id that a client may give.
const MAX_LENGTH: usize = 64;

/// Number of letters and digits in a row from which an id may be a key or a session token, which must not be logged.
/// Usual ids are shorter.
const SECRET_LENGTH: usize = 40;

/// The generator of ids.
#[derive(Debug, Default)]
pub(crate) struct RequestIds {
    /// Random keys, drawn once per server. A keyed hash of a counter is as good as a random number, and cannot fail.
    random: RandomState,
    next: AtomicU64,
}

impl RequestIds {
    /// Returns the id that the client gives, if it is valid; otherwise a new one.
    pub(crate) fn of(&self, headers: &HeaderMap) -> String {
        let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok()).filter(|text| is_id(text));
        given.map_or_else(|| self.fresh(), str::to_owned)
    }

    fn fresh(&self) -> String {
        format!("{:016x}", self.random.hash_one(self.next.fetch_add(1, Ordering::Relaxed)))
    }
}

/// Converts an id to the value of a header.
pub(crate) fn header(id: &str) -> Option<HeaderValue> {
    HeaderValue::from_str(id).ok()
}

fn is_id(text: &str) -> bool {
    (1..=MAX_LENGTH).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && text.split(['-', '_', '.']).all(|part| part.len() < SECRET_LENGTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_id_of_a_client_is_kept() {
        let long = ["a-".repeat(32), "a-".repeat(33)];
        for id in ["a", "0af7651916cd43dd8448eb211c80319c", "2b1c7f0e-3a4d-4a6e-9a3b-0d9b8f5f6f10", "a_b.c-1", &long[0]]
        {
            assert!(is_id(id), "{id}");
        }
        let key = format!("tu_{}", "k".repeat(43));
        for id in ["", "a b", "a/b", "ü", "a\n", "a\"", &long[1], &key, &key[3..]] {
            assert!(!is_id(id), "{id}");
        }
    }

    #[test]
    fn new_ids_differ() {
        let ids = RequestIds::default();
        let (first, second) = (ids.of(&HeaderMap::new()), ids.of(&HeaderMap::new()));
        assert_ne!(first, second);
        assert!(is_id(&first) && first.len() == 16, "{first}");
    }
}
