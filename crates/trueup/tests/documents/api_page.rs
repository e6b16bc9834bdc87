//! Compares `docs/api.md` with the code: error codes, limits and fields. A test of `trueup-cli` runs its commands.

use crate::openapi::codes;
use crate::{at, quoted_codes};
use std::fs;
use trueup::service::Limits;

fn page() -> String {
    fs::read_to_string(at("docs/api.md")).unwrap()
}

#[test]
fn every_code_of_the_service_is_on_the_page() {
    let page = page();
    let missing: Vec<String> = codes().into_iter().filter(|code| !page.contains(&format!("`{code}`"))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn codes_of_the_server_are_on_the_page() {
    let server = fs::read_to_string(at("crates/trueup-server/src/http_error.rs")).unwrap();
    let (page, mut looked_at) = (page(), 0);
    for code in quoted_codes(&server).filter(|text| *text != "no-store") {
        assert!(page.contains(&format!("`{code}`")), "{code}");
        looked_at += 1;
    }
    assert!(looked_at >= 3, "{looked_at}");
}

#[test]
fn the_limits_on_the_page_match_the_code() {
    let Limits { account_intervals, rows, cells, documents, deadline, .. } = Limits::default();
    let figures = [
        ("one range, or one interval of it", format!("{} days", trueup::ATTRIBUTION_WINDOW_DAYS)),
        ("accounts × intervals of an events request", thousands(account_intervals)),
        ("rows of an events answer, before filters on metrics", thousands(rows)),
        ("rows × columns of an events answer, before filters on metrics", thousands(cells)),
        (
            "compiled size of all regular expressions of a request",
            format!("{} MiB", trueup::query::MAX_PATTERNS_BYTES >> 20),
        ),
        ("documents of an insights answer", thousands(documents)),
        ("duration of a request", format!("{} seconds", deadline.as_secs())),
    ];
    let page = page();
    for (limit, figure) in figures {
        assert!(page.contains(&format!("| {limit} | {figure} |")), "{limit}: {figure}");
    }
    let settings = fs::read_to_string(at("crates/trueup-server/src/settings.rs")).unwrap();
    assert!(settings.contains("max_url_bytes: 32 * 1024") && page.contains("| path and query of a request | 32 KiB |"));
}

#[test]
fn the_fields_on_the_page_are_in_the_dictionary() {
    let page = page();
    let lists = page.split("fields=").skip(1).map(|after| after.split(['&', ' ', '\n', '"']).next().unwrap());
    let mut looked_at = 0;
    // The split leaves out the list of the Python program, which is in quotation marks. Sections of insights are not
    // fields.
    for name in lists.filter(|list| !list.contains("action_items")).flat_map(|list| list.split(',')) {
        let known = name.is_empty() || trueup::dictionary::field(name).is_some();
        assert!(known, "{name}");
        looked_at += usize::from(!name.is_empty());
    }
    assert!(looked_at > 15, "{looked_at}");
}

/// Returns a number with a comma between thousands.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(",")
}
