//! What a caller with a valid key may cost the service: requests that are short to write and long, or large, to answer.

use crate::platform::{Platform, Received, Rival};
use std::fmt::Write as _;
use trueup::access::DirectorySettings;
use trueup::query::MAX_PATTERNS_BYTES;
use trueup::service::{Limits, Request};

const EVENTS: &str = "/api/acme/events?fields=leads&start=2025-01-01&end=2025-03-31";

fn with(limits: Limits) -> Platform {
    Platform::with(&Rival::default(), DirectorySettings::default(), |builder| builder.limits(limits))
}

fn text(response: &Received) -> &str {
    std::str::from_utf8(&response.body).unwrap()
}

#[test]
fn regular_expressions_have_a_bound_for_the_whole_request() {
    let patterns = (0..900).fold(String::new(), |mut list, number| {
        write!(list, r#",["regex","{number}\\w{{20}}"]"#).unwrap();
        list
    });
    let response = Platform::new().get("anna", &format!(r#"{EVENTS}&campaign=["or"{patterns}]"#));
    assert_eq!(response.status, 400);
    let body = text(&response);
    assert!(body.starts_with(r#"{"error":"`campaign["#) && body.ends_with(r#""code":"invalid-filter"}"#), "{body}");
    assert!(body.contains(&format!("more than {MAX_PATTERNS_BYTES} bytes")), "{body}");
}

#[test]
fn one_regular_expression_asked_for_again_and_again_is_one() {
    let pattern = r#",["regex","\\w{20}"]"#.repeat(900);
    let response = Platform::new().get("anna", &format!(r#"{EVENTS}&campaign=["or"{pattern}]"#));
    assert_eq!((response.status, text(&response)), (200, r#"[{"leads":0}]"#));
}

#[test]
fn a_request_that_has_ended_compiles_nothing() {
    let platform = Platform::new();
    // An expression that does not compile would be told if it were tried.
    let asked = |path: String| Request { authorization: Some(platform.secret("<anna>")), ..Request::get(path) };
    let request = asked(format!(r#"{EVENTS}&campaign=["regex","(a"]"#));
    assert_eq!(platform.ask(&request).status, 400);
    request.interrupt.cancel();
    assert_eq!(platform.ask(&request).status, 504);
}

#[test]
fn an_answer_of_many_columns_may_have_few_rows() {
    // Three campaigns and the empty one have events.
    let path = "/api/acme/events?fields=campaign,leads,spend&start=2025-01-01&end=2025-03-31";
    let rows = text(&Platform::new().get("anna", path)).matches("\"campaign\"").count();
    let platform = with(Limits { cells: 3 * rows, ..Limits::default() });
    assert_eq!(platform.get("anna", path).status, 200);
    // The same field again is no column, an unknown one is.
    assert_eq!(platform.get("anna", &path.replace("campaign,", "campaign,campaign,")).status, 200);
    let response = platform.get("anna", &path.replace("campaign,", "campaign,nobodysField,"));
    assert_eq!(response.status, 400);
    let told = format!("more than {} of 4 columns, and the limit is {} values; reduce", 3 * rows / 4, 3 * rows);
    let body = text(&response);
    assert!(body.contains(&told) && body.ends_with(r#""code":"too-many-rows"}"#), "{body}");
}

#[test]
fn the_header_of_unknown_fields_has_a_bound() {
    let names = (0..2_000).map(|number| format!("x{number}")).collect::<Vec<_>>().join(",");
    let response = Platform::new().get("anna", &EVENTS.replace("leads", &format!("leads,{names}")));
    assert_eq!(response.status, 200);
    let header = response.header("trueup-unknown-fields").unwrap();
    assert!(header.len() <= 4_096 && header.starts_with("x0, x1, ") && header.ends_with(", ..."), "{header}");
    // The answer has them all.
    assert!(text(&response).ends_with(r#""x1999":""}]"#));
}
