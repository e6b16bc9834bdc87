//! Limits on what one request may cost: short requests that would take long, or whose answers would be large.

use crate::platform::{Platform, Received, Rival};
use std::fmt::Write as _;
use trueup::access::DirectorySettings;
use trueup::query::MAX_PATTERNS_BYTES;
use trueup::service::{Limits, Request};

const EVENTS: &str = "/api/acme/events?fields=leads&start=2025-01-01&end=2025-03-31";

fn limited(limits: Limits) -> Platform {
    Platform::with(&Rival::default(), DirectorySettings::default(), |builder| builder.limits(limits))
}

fn text(response: &Received) -> &str {
    std::str::from_utf8(&response.body).unwrap()
}

#[test]
fn regular_expressions_of_a_request_share_one_limit() {
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
fn a_repeated_regular_expression_counts_once() {
    let pattern = r#",["regex","\\w{20}"]"#.repeat(900);
    let response = Platform::new().get("anna", &format!(r#"{EVENTS}&campaign=["or"{pattern}]"#));
    assert_eq!((response.status, text(&response)), (200, r#"[{"leads":0}]"#));
}

#[test]
fn a_canceled_request_compiles_no_expression() {
    let platform = Platform::new();
    // This expression does not compile, which would be reported if the service tried.
    let asked = |path: String| Request { authorization: Some(platform.secret("<anna>")), ..Request::get(path) };
    let request = asked(format!(r#"{EVENTS}&campaign=["regex","(a"]"#));
    assert_eq!(platform.ask(&request).status, 400);
    request.interrupt.cancel();
    assert_eq!(platform.ask(&request).status, 504);
}

#[test]
fn the_limit_of_values_counts_rows_times_columns() {
    // The number of campaigns that have events, the empty one included.
    let path = "/api/acme/events?fields=campaign,leads,spend&start=2025-01-01&end=2025-03-31";
    let rows = text(&Platform::new().get("anna", path)).matches("\"campaign\"").count();
    let platform = limited(Limits { cells: 3 * rows, ..Limits::default() });
    assert_eq!(platform.get("anna", path).status, 200);
    // A repeated field adds no column; an unknown field does.
    assert_eq!(platform.get("anna", &path.replace("campaign,", "campaign,campaign,")).status, 200);
    let response = platform.get("anna", &path.replace("campaign,", "campaign,noSuchField,"));
    assert_eq!(response.status, 400);
    let expected = format!("more than {} of 4 columns, and the limit is {} values; reduce", 3 * rows / 4, 3 * rows);
    let body = text(&response);
    assert!(body.contains(&expected) && body.ends_with(r#""code":"too-many-rows"}"#), "{body}");
}

#[test]
fn the_header_of_unknown_fields_has_at_most_4_kib() {
    let names = (0..2_000).map(|number| format!("x{number}")).collect::<Vec<_>>().join(",");
    let response = Platform::new().get("anna", &EVENTS.replace("leads", &format!("leads,{names}")));
    assert_eq!(response.status, 200);
    let header = response.header("trueup-unknown-fields").unwrap();
    assert!(header.len() <= 4_096 && header.starts_with("x0, x1, ") && header.ends_with(", ..."), "{header}");
    // The body has all of them.
    assert!(text(&response).ends_with(r#""x1999":""}]"#));
}
