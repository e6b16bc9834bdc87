//! Checks that the documents of the service say what the service does.
//!
//! | file | compares |
//! |---|---|
//! | `api_page` | the codes, limits and fields of `docs/api.md` with the code |
//! | `api_page_rust` | the Rust code of `docs/api.md` with a copy that runs |
//! | `compat` | the tests that `docs/compat.md` and `docs/reliability.md` name with the tests that exist |
//! | `openapi` | `docs/openapi.json` with the code, the rules of OpenAPI, and the goldens |
//! | `schema` | answers with the schemas of `docs/openapi.json` |
//! | `access_listing` | what `GET /api` lists with what can be queried |
//! | `runnable_examples` | the examples of this crate with what they assert |
//!
//! `goldens` reads the goldens of the service; `platform` is the service that the tests query.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod access_listing;
mod api_page;
mod api_page_rust;
mod compat;
mod goldens;
mod openapi;
#[path = "../service/platform.rs"]
#[expect(dead_code, reason = "the tests of the service use the rest")]
mod platform;
mod runnable_examples;
mod schema;

use std::path::PathBuf;

/// A path below the root of the repository.
fn at(path: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", path].iter().collect()
}
