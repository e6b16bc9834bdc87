//! Requests of any shape: each is answered with JSON.

use crate::platform::Platform;
use proptest::prelude::*;
use std::sync::LazyLock;
use trueup::service::Request;
use trueup_testkit::exhaustive::cases;

static PLATFORM: LazyLock<Platform> = LazyLock::new(Platform::new);

/// Paths with queries that are almost well-formed.
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
    #![proptest_config(ProptestConfig { failure_persistence: None, ..cases(512) })]

    #[test]
    fn any_request_is_answered_with_json(
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

#[test]
fn a_long_value_is_shortened_in_the_error() {
    let long = "x".repeat(5_000);
    let events = "/api/acme/events?fields=leads&start=2025-01-01&end=2025-01-31";
    for path in [
        format!("/api/{long}/events"),
        format!("{events}&account={long}"),
        format!("/api/acme/events?fields=leads&start={long}&end=2025-01-31"),
        format!("{events}&start={long}"),
        format!("{events}&interval={long}"),
        format!("{events}&leads={long}"),
        format!("{events}&filter={long}"),
        format!("{events}&campaign=[\"{long}\"]"),
        format!("{events}&campaign=[\"regex\",\"%28{}\"]", &long[..900]),
        format!("{events}&filter={{\"campaign\":[\"eq\",\"a\",{{\"{long}\":1}}]}}"),
        format!("{events}&{long}=[\"eq\"]"),
        format!("/api/acme/benchmarks?month={long}"),
        format!("/api/acme/benchmarks?fields={long}"),
    ] {
        let response = PLATFORM.get("root", &path);
        let body = String::from_utf8(response.body).unwrap();
        assert!(matches!(response.status, 400 | 404) && body.len() < 1_500, "{path}\n{body}");
        let cut = body.contains(" characters)");
        assert!(cut || !body.contains("xxxx"), "{path}\n{body}");
    }
}

#[test]
fn bad_values_of_attributions_cohorts_and_comparisons_name_the_parameter() {
    for (query, error) in [
        (
            "attribution=middle",
            "`attribution`: expected the attribution `recorded`, `first` or `last`, but found `middle`",
        ),
        ("attribution=", "`attribution`: expected the attribution `recorded`, `first` or `last`, but found ``"),
        ("cohort=yes", "`cohort`: expected `true` or `false`, but found `yes`"),
        ("cohort=true", "`cohort`: needs `within`, such as `90d`"),
        ("within=90d", "`within`: needs `cohort`, such as `true`"),
        ("cohort=true&within=90", "`within`: expected a number of days such as `90d`, or `all`, but found `90`"),
        (
            "compare=2025-01-02..2025-01-01",
            "`compare`: `2025-01-02..2025-01-01`: the range to compare with ends on 2025-01-01, before it starts on \
             2025-01-02",
        ),
        (
            "compare=previous-year&interval=month",
            "`compare`: `previous-year`: a comparison has one row per group, and none per month; leave the interval out, or \
             compare each month by itself",
        ),
        (
            "compare=",
            "`compare`: expected `previous-period`, `previous-year`, or two days from 1970-01-01 to 2149-06-06 such as \
             `2025-01-01..2025-01-31`, but found ``; `benchmarks` compares with other accounts",
        ),
        (
            "compare=previous-year&compare=previous-period",
            "`compare` is given twice, as `previous-year` and as \
          `previous-period`; give it once",
        ),
    ] {
        let path = format!("/api/acme/events?fields=leads&start=2025-02-01&end=2025-02-28&{query}");
        let response = PLATFORM.get("anna", &path);
        let body: serde_json::Value = serde_json::from_slice(&response.body).unwrap();
        assert_eq!(response.status, 400, "{query}");
        assert_eq!(body, serde_json::json!({"error": error, "code": "invalid-query"}), "{query}");
    }
}

/// The words by which clients of the service recognize a limit of size, and split their question.
const SIZE_WORDS: [&str; 7] = ["too many", "too much", "reduce", "narrow", "rows", "documents", "limit"];

/// Checks that an error which is not about size has no word of size, neither in its text nor in the bytes of its body.
fn check_words(path: &str, status: u16, body: &[u8]) {
    let json: serde_json::Value = serde_json::from_slice(body).unwrap();
    let code = json["code"].as_str();
    let is_about_size = status == 400 && matches!(code, None | Some("too-many-intervals" | "too-many-rows"));
    if status == 200 || is_about_size {
        return;
    }
    let text = json["error"].as_str().unwrap().to_lowercase();
    let bytes = String::from_utf8_lossy(body).to_lowercase();
    // The code of a 429 is `rate-limited`.
    let bytes = bytes.split("\"code\":").next().unwrap();
    for word in SIZE_WORDS {
        assert!(!text.contains(word) && !bytes.contains(word), "{path}: {status}\n{bytes}");
    }
}

#[test]
fn no_error_but_one_about_size_has_a_word_of_size_whatever_it_repeats() {
    let events = "/api/acme/events?fields=campaign,leads&start=2025-01-01&end=2025-01-31";
    let hostile = SIZE_WORDS.map(str::to_owned).into_iter();
    let hostile = hostile.chain(SIZE_WORDS.map(str::to_uppercase));
    let hostile =
        hostile.chain(["Burrows", "\rows", "\narrow", "\u{1d}ocuments", "\toomany limits"].map(str::to_owned));
    for value in hostile.map(|value| value.bytes().map(|byte| format!("%{byte:02X}")).collect::<String>()) {
        for path in [
            format!("/api/{value}/events"),
            format!("/{value}"),
            format!("{events}&account={value}"),
            format!("/api/acme/events?fields=leads&start={value}&end=2025-01-31"),
            format!("{events}&start={value}"),
            format!("{events}&interval={value}"),
            format!("{events}&interval=total&interval={value}"),
            format!("{events}&leads={value}"),
            format!("{events}&filter={value}"),
            format!("{events}&campaign=[\"{value}\"]"),
            format!("{events}&campaign=[\"eq\",\"a\",{{\"{value}\":1}}]"),
            format!("{events}&campaign=[\"regex\",\"%28{value}\"]"),
            format!("{events}&campaign=[\"regex\",\"a\",\"{value}\"]"),
            format!("{events}&filter={{\"{value}\":[\"near\"]}}"),
            format!("{events}&filter=[\"or\",{{\"leads\":1}},{{\"{value}\":\"a\"}}]"),
            format!("{events}&{value}=[\"eq\"]"),
            format!("{events}&{value}=%FF"),
            format!("{events}&compare={value}"),
            format!("{events}&cohort={value}"),
            format!("{events}&cohort=true&within={value}"),
            format!("{events}&why={value}&row=campaign=Drains"),
            format!("{events}&why=leads&row={value}"),
            format!("{events}&why=leads&row=campaign={value}"),
            format!("{events}&why=leads&row=campaign=Drains&row={value}=1"),
            format!("{events}&why=leads&row=campaign=Drains&lines={value}"),
            format!("{events}&why=leads&row=campaign=Drains&lines=1&lines={value}"),
            format!("/api/acme/events?fields={value},leads&start=2025-01-01&end=2025-01-31&why=leads&row=campaign=a"),
            format!("/api/acme/benchmarks?month={value}"),
            format!("/api/acme/benchmarks?fields={value}"),
            format!("/api/acme/benchmarks?fields=bookRate&{value}=1"),
            format!("/api/acme/benchmarks?fields=bookRate&customerStatus=[\"ne\",\"{value}\"]"),
            format!("/api/acme/insights?start={value}"),
        ] {
            let response = PLATFORM.get("root", &path);
            check_words(&path, response.status, &response.body);
        }
    }
    let method =
        Request { method: "LIMIT".to_owned(), accept_encoding: Some("identity".to_owned()), ..Request::get("/api") };
    let response = PLATFORM.ask(&method);
    check_words("LIMIT /api", response.status, &response.body);
    for (name, path) in [("start", "start"), ("end", "end"), ("openLeads", "openLeads")] {
        let path = format!("/api/acme/events?fields=leads,{path}&start=2025-01-01&end=2025-01-31");
        let response = PLATFORM.get("root", &path);
        assert_eq!(response.status, 400, "{name}");
        check_words(&path, response.status, &response.body);
    }
    for user in ["busy", "dora", "eve", "retired"] {
        let response = PLATFORM.get(user, events);
        assert!(matches!(response.status, 401 | 429), "{user}");
        check_words(events, response.status, &response.body);
    }
}
