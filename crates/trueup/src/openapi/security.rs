//! What credentials there are.

use super::node::{JsonValue, object};

/// The name of the scheme of keys.
const KEY: &str = "apiKey";
/// The name of the scheme of sessions.
const SESSION: &str = "session";

/// A user key is needed.
pub(super) fn by_key() -> JsonValue {
    needed(KEY)
}

/// A session is enough.
pub(super) fn by_session() -> JsonValue {
    needed(SESSION)
}

fn needed(scheme: &'static str) -> JsonValue {
    object([(scheme, Vec::new().into())])
}

pub(super) fn schemes() -> JsonValue {
    object([
        (
            KEY,
            scheme("header", "Authorization")
                .with("description", "A user API key, alone: no word such as Bearer before it."),
        ),
        (
            SESSION,
            scheme("cookie", "session")
                .with("description", "The token of a signed-in session, which counts on /api alone."),
        ),
    ])
}

fn scheme(place: &'static str, name: &'static str) -> JsonValue {
    object([("type", "apiKey".into()), ("in", place.into()), ("name", name.into())])
}
