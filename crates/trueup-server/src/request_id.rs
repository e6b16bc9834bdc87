//! The name of a request in answers and logs.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const MAX_LENGTH: usize = 64;
/// As many letters and digits in a row may be a key or a session, which must not be logged; no usual id of a request has so many.
const SECRET_LENGTH: usize = 40;

/// Gives ids to requests.
#[derive(Debug, Default)]
pub(crate) struct RequestIds {
    /// Keyed by chance once per server: a keyed hash of a running number is as good as chance, and cannot fail.
    random: RandomState,
    next: AtomicU64,
}

impl RequestIds {
    /// The id that the caller gives, if it is one; otherwise a new one.
    pub(crate) fn of(&self, headers: &HeaderMap) -> String {
        let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok()).filter(|text| is_id(text));
        given.map_or_else(|| self.fresh(), str::to_owned)
    }

    fn fresh(&self) -> String {
        format!("{:016x}", self.random.hash_one(self.next.fetch_add(1, Ordering::Relaxed)))
    }
}

/// The header of an id.
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
    fn a_callers_id_is_kept_if_it_is_one() {
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
