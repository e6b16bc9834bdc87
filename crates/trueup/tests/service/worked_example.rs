//! The example that was computed by hand, queried through the service.

use crate::platform::Platform;
use serde_json::Value as Json;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

/// Percent-encodes every byte.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        write!(encoded, "%{byte:02X}").unwrap();
        encoded
    })
}

fn texts(list: &Json) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

#[test]
fn the_service_agrees_with_the_worked_example() {
    let platform = Platform::new();
    let folder: PathBuf =
        [env!("CARGO_MANIFEST_DIR"), "..", "..", "testdata", "worked-example", "expected"].iter().collect();
    let mut asked = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let query = serde_json::from_str::<Json>(&text).unwrap()["query"].clone();
        let mut path = format!("/api/acme/events?fields={}", encoded(&texts(&query["fields"]).join(",")));
        for name in ["start", "end", "interval", "filter"] {
            if let Some(text) = query.get(name) {
                write!(path, "&{name}={}", encoded(text.as_str().unwrap())).unwrap();
            }
        }
        if let Some(accounts) = query.get("accounts") {
            write!(path, "&accounts={}", encoded(&texts(accounts).join(","))).unwrap();
        }
        for pair in query.get("filters").map(|list| list.as_array().unwrap().as_slice()).unwrap_or_default() {
            write!(path, "&{}={}", pair[0].as_str().unwrap(), encoded(pair[1].as_str().unwrap())).unwrap();
        }
        let lines = text.lines().map(str::trim).skip_while(|line| *line != r#""rows": ["#).skip(1);
        let rows: Vec<&str> = lines.take_while(|line| *line != "]").map(|line| line.trim_end_matches(',')).collect();
        let response = platform.get("anna", &path);
        assert_eq!(String::from_utf8_lossy(&response.body), format!("[{}]", rows.join(",")), "{path}");
        asked += usize::from(response.status == 200);
    }
    assert!(asked > 20, "{asked}");
}
