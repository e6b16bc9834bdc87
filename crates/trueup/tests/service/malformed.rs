//! Whatever is sent, an answer comes back, and it is JSON.

use crate::platform::Platform;
use proptest::prelude::*;
use std::sync::LazyLock;
use trueup::service::Request;

static PLATFORM: LazyLock<Platform> = LazyLock::new(Platform::new);

/// Texts that are nearly requests.
fn paths() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "/",
        "api",
        "acme",
        "events",
        "insights",
        "?",
        "&",
        "=",
        "%",
        "%2",
        "%FF",
        "%00",
        "+",
        "fields",
        "leads",
        "campaign",
        "start",
        "end",
        "2025-01-01",
        "2025-01-31",
        "interval",
        "day",
        "account",
        "accounts",
        "north",
        "filter",
        "[\"or\",",
        "[",
        "]",
        "{",
        "}",
        "\"",
        "\\u0041",
        "\\ud800",
        ",",
        "é",
        "\u{0}",
        "/api/acme/events?fields=leads&",
        "start=2025-01-01&end=2025-01-31&",
        "/api/acme/insights?",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_request_is_answered(
        method in prop::sample::select(vec!["GET", "GET", "GET", "POST", "", "get", "GET "]),
        path in paths(),
        known in any::<bool>(),
        encoding in prop::option::of("[a-z*;=,q0-9. ]{0,12}"),
        cookie in prop::option::of(any::<String>()),
    ) {
        let user = if known { "<root>" } else { "tu_guess" };
        let response = PLATFORM.ask(&Request {
            method: method.to_owned(),
            path_and_query: path,
            authorization: Some(PLATFORM.secret(user)),
            accept_encoding: encoding,
            cookie,
            ..Request::default()
        });
        prop_assert!([200, 400, 401, 404, 405].contains(&response.status), "{}", response.status);
        for (name, value) in &response.headers {
            prop_assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{name}: {value:?}");
        }
        if response.header("Content-Encoding").is_none() {
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&response.body).is_ok());
        }
    }
}
