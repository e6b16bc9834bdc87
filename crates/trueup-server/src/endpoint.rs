//! The names of endpoints in the log and in the metrics, which never contain what a client sent.

/// The names of all endpoints.
pub(crate) const ENDPOINTS: [&str; 12] = [
    "access",
    "events",
    "benchmarks",
    "insights",
    "explorer",
    "mcp",
    "report",
    "openapi",
    "health",
    "ready",
    "metrics",
    NO_ENDPOINT,
];

/// The name for paths of no endpoint.
pub(crate) const NO_ENDPOINT: &str = "none";

/// Returns the name of the endpoint of a path; [`NO_ENDPOINT`] for any other path.
pub(crate) fn endpoint_name(path: &str) -> &'static str {
    let segments: Vec<&str> = path.strip_suffix('/').unwrap_or(path).split('/').collect();
    match segments.as_slice() {
        ["", "health"] => "health",
        ["", "ready"] => "ready",
        ["", "metrics"] => "metrics",
        ["", "explore"] | ["", "explore", _] => "explorer",
        ["", "mcp"] => "mcp",
        ["", "report"] => "report",
        ["", "openapi.json"] => "openapi",
        ["", "api"] => "access",
        ["", "api", _, "events"] => "events",
        ["", "api", _, "benchmarks"] => "benchmarks",
        ["", "api", _, "insights"] => "insights",
        _ => NO_ENDPOINT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_an_endpoint_does_not_contain_its_path() {
        for (path, name) in [
            ("/api", "access"),
            ("/api/", "access"),
            ("/api/acme/events", "events"),
            ("/api/acme/events/", "events"),
            ("/api/acme/tu_secret", "none"),
            ("/tu_secret", "none"),
            ("/health", "health"),
            ("/explore/page.js", "explorer"),
            ("", "none"),
        ] {
            assert_eq!(endpoint_name(path), name, "{path}");
        }
    }
}
