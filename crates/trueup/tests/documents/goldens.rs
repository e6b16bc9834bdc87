//! Reads the goldens of the service for the tests that compare documents with them.

use crate::at;
use std::fs;

/// One request and the expected response.
pub(crate) struct Golden {
    pub(crate) file: String,
    /// The sentence that it shows, and where that sentence is.
    pub(crate) title: String,
    pub(crate) method: String,
    /// The path without the query.
    pub(crate) path: String,
    pub(crate) status: String,
    /// The error code, if the expected part of the body has one.
    pub(crate) code: Option<String>,
    /// The body, if the golden has the whole of it.
    pub(crate) body: Option<String>,
}

/// Returns every golden of the service.
pub(crate) fn all() -> Vec<Golden> {
    let mut goldens = Vec::new();
    for folder in ["goldens", "failing"] {
        for entry in fs::read_dir(at("crates/trueup/tests/service/testdata").join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let text = format!("\n{}", fs::read_to_string(&path).unwrap());
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            goldens.extend(text.split("\n# ").skip(1).map(|case| golden(&file, case)));
        }
    }
    goldens
}

fn golden(file: &str, case: &str) -> Golden {
    let (title, rest) = case.split_once('\n').unwrap();
    let (head, expected) = rest.split_once("\n\n").unwrap_or_else(|| panic!("{file}: {title}"));
    let (method, target) = head.lines().next().unwrap().split_once(' ').unwrap();
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    // If the golden has parts of the body, the code is in the last line that has one.
    let bodies = expected.lines().filter(|line| line.starts_with("= ") || line.starts_with("~ "));
    let mut codes =
        bodies.filter_map(|line| line.split_once(r#""code":""#)).map(|(_, after)| after.split('"').next().unwrap());
    Golden {
        file: file.to_owned(),
        title: title.to_owned(),
        method: method.to_owned(),
        path: path.strip_suffix('/').unwrap_or(path).to_owned(),
        status: expected.lines().next().unwrap().to_owned(),
        code: codes.next_back().map(str::to_owned),
        body: expected.lines().find_map(|line| line.strip_prefix("= ")).map(str::to_owned),
    }
}
