//! Checks that the documents of the service say what the service does.
//!
//! | file | compares |
//! |---|---|
//! | `api_page` | the codes, limits and fields of `docs/api.md` with the code |
//! | `runnable_code` | the Rust code of `docs/api.md`, and the examples of this crate, with what they assert |
//! | `compat` | the tests that `docs/compat.md` and `docs/reliability.md` name with the tests that exist |
//! | `openapi` | `docs/openapi.json` with the code, the rules of OpenAPI, and the goldens |
//! | `answers` | answers with the schemas of `docs/openapi.json`, and what `GET /api` lists with what can be queried |
//!
//! `platform` is the service that the tests query.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod answers;
mod api_page;
mod compat;
mod openapi;
#[path = "../service/platform.rs"]
#[expect(dead_code, reason = "the tests of the service use the rest")]
mod platform;
mod runnable_code;

use std::path::PathBuf;

/// Returns a path below the root of the repository.
fn at(path: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", path].iter().collect()
}

/// Returns the texts in quotation marks that look like an error code: lower case, with a hyphen.
fn quoted_codes(source: &str) -> impl Iterator<Item = &str> {
    let is_code =
        |text: &&str| text.contains('-') && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    source.split('"').skip(1).step_by(2).filter(is_code)
}

/// A golden of the service, in parts that the documents have, too.
struct Golden {
    /// The name of the file, with its extension.
    file: String,
    /// The sentence that the golden shows, and where that sentence is.
    title: String,
    method: String,
    /// The path without the query and without a slash at its end.
    path: String,
    status: String,
    /// The error code, if the expected part of the body has one.
    code: Option<String>,
    /// The body, if the golden has the whole of it.
    body: Option<String>,
}

/// Returns every golden of the service.
fn goldens() -> Vec<Golden> {
    platform::goldens().into_iter().map(parts).collect()
}

fn parts(golden: platform::Golden) -> Golden {
    let platform::Golden { file, title, head, expected } = golden;
    let (method, target) = head.lines().next().unwrap().split_once(' ').unwrap();
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    // If the golden has parts of the body, the code is in the last line that has one.
    let bodies = expected.lines().filter(|line| line.starts_with("= ") || line.starts_with("~ "));
    let mut codes =
        bodies.filter_map(|line| line.split_once(r#""code":""#)).map(|(_, after)| after.split('"').next().unwrap());
    Golden {
        file: format!("{file}.http"),
        title,
        method: method.to_owned(),
        path: path.strip_suffix('/').unwrap_or(path).to_owned(),
        status: expected.lines().next().unwrap().to_owned(),
        code: codes.next_back().map(str::to_owned),
        body: expected.lines().find_map(|line| line.strip_prefix("= ")).map(str::to_owned),
    }
}
