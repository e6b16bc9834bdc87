//! Examples of the errors of the service: at least one for each code, and for each error without a code.

use crate::access::{OutOfReach, Refusal};
use crate::benchmarks::{BenchmarkDimension, BenchmarkFault, BenchmarkPeriod};
use crate::query::{ParseComparisonRangeError, UnknownInterval, WhyRowFault};
use crate::request::NotCompared;
use crate::service::{InvalidQuery, Limits, MissingRange, ServiceError, Upstream};
use crate::{ATTRIBUTION_WINDOW_DAYS, Day, Interruption, filter};

/// An error, and where it occurs. Its status, code and text come from the table of errors.
pub(super) struct ErrorExample {
    /// The name of the example.
    pub(super) name: &'static str,
    /// The error.
    pub(super) error: ServiceError,
    /// The operations that may answer with it; none if no operation does.
    pub(super) at: &'static [&'static str],
    /// When it occurs.
    pub(super) when: &'static str,
    /// A header of the response: name, type of the value, and description.
    pub(super) header: Option<(&'static str, &'static str, &'static str)>,
}

const EVENTS: &[&str] = &["events"];
const BENCHMARKS: &[&str] = &["benchmarks"];
const INSIGHTS: &[&str] = &["insights"];
const RANGED: &[&str] = &["events", "insights"];
const BENCHMARKED: &[&str] = &["events", "benchmarks"];
const ACCESS: &[&str] = &["access"];
const ORGANIZATION: &[&str] = &["events", "benchmarks", "insights"];
const ALL: &[&str] = &["access", "events", "benchmarks", "insights"];
const NOWHERE: &[&str] = &[];

/// The header of responses 401.
const CHALLENGE: (&str, &str, &str) =
    ("WWW-Authenticate", "string", "`ApiKey`: the header `Authorization` is the key alone.");

/// Returns every example, in the order in which a request is checked.
pub(super) fn error_examples() -> Vec<ErrorExample> {
    let mut examples = path_and_credentials();
    examples.extend(parameters());
    examples.extend(filters());
    examples.extend(benchmarks());
    examples.extend(sizes());
    examples.extend(rows());
    examples.extend(execution());
    examples
}

const fn example(
    name: &'static str,
    error: ServiceError,
    at: &'static [&'static str],
    when: &'static str,
) -> ErrorExample {
    ErrorExample { name, error, at, when, header: None }
}

fn path_and_credentials() -> Vec<ErrorExample> {
    let text = str::to_owned;
    let method = ServiceError::MethodNotAllowed { method: text("POST") };
    let limited = ServiceError::RateLimited { retry_after_seconds: 2_700 };
    let out_of_reach = OutOfReach { account: text("elsewhere") };
    vec![
        ErrorExample {
            header: Some(("Allow", "string", "`GET`.")),
            ..example("method-not-allowed", method, NOWHERE, "The method is not GET.")
        },
        example(
            "not-found",
            ServiceError::NotFound { path: text("/api/acme/reports") },
            NOWHERE,
            "No endpoint has this path.",
        ),
        ErrorExample {
            header: Some(CHALLENGE),
            ..example(
                "unauthorized",
                ServiceError::Unauthorized(Refusal::Missing),
                ORGANIZATION,
                "The key is missing, wrong, inactive or revoked, or it is an organization key; such keys are retired.",
            )
        },
        ErrorExample {
            header: Some(CHALLENGE),
            ..example(
                "signed-out",
                ServiceError::SignedOut(Refusal::Missing),
                ACCESS,
                "Neither a key nor a session is valid.",
            )
        },
        ErrorExample {
            header: Some(("Retry-After", "integer", "Whole seconds until the next clock hour.")),
            ..example("rate-limited", limited, ALL, "The user has sent as many requests as an hour allows.")
        },
        example(
            "inaccessible-organization",
            ServiceError::InaccessibleOrganization { segment: text("elsewhere") },
            ORGANIZATION,
            "The path names no organization and no account that the key may access, whether it exists or not.",
        ),
        example(
            "inaccessible-accounts",
            ServiceError::InaccessibleAccounts(out_of_reach),
            ORGANIZATION,
            "`account` or `accounts` names an account outside the organization or outside the access of the key.",
        ),
    ]
}

fn parameters() -> Vec<ErrorExample> {
    let text = str::to_owned;
    let repeated = InvalidQuery::Repeated { parameter: "start", first: text("2025-01-01"), second: text("2025-02-01") };
    let not_utf8 = InvalidQuery::NotUtf8 { parameter: text("campaign=%FF") };
    let day = Day::from_number;
    vec![
        example("missing-fields", ServiceError::MissingFields, EVENTS, "`fields` is missing or has no name."),
        example(
            "missing-range",
            ServiceError::MissingRange(MissingRange::Needed("start")),
            EVENTS,
            "`start` or `end` is missing or empty.",
        ),
        example(
            "missing-range",
            ServiceError::MissingRange(MissingRange::Unpaired("end")),
            INSIGHTS,
            "`start` is given without `end`, or the reverse.",
        ),
        example("missing-metric", ServiceError::MissingMetric, EVENTS, "None of the fields is a metric."),
        example(
            "invalid-query",
            ServiceError::InvalidQuery(repeated),
            ORGANIZATION,
            "A parameter that takes one value is given twice with different values.",
        ),
        example(
            "invalid-query-value",
            ServiceError::InvalidQuery(InvalidQuery::Value {
                parameter: "compare",
                fault: NotCompared::from(ParseComparisonRangeError(text("last"))).to_string(),
            }),
            EVENTS,
            "`cohort`, `within`, `compare`, `why` or `lines` has a value that it does not take, or one that does not go with the \
             others.",
        ),
        example(
            "invalid-query-encoding",
            ServiceError::InvalidQuery(not_utf8),
            ORGANIZATION,
            "The decoded query is not UTF-8.",
        ),
        example(
            "invalid-fields",
            ServiceError::ReservedField { name: text("start") },
            EVENTS,
            "A field is named `start` or `end`, or is one that only a cohort has.",
        ),
        example(
            "unknown-interval",
            ServiceError::UnknownInterval(UnknownInterval(text("year"))),
            EVENTS,
            "There is no interval of that name.",
        ),
        example(
            "invalid-date",
            ServiceError::InvalidDate { parameter: "start", text: text("01/31/2025") },
            RANGED,
            "`start` or `end` is not a calendar date.",
        ),
        example(
            "date-out-of-range",
            ServiceError::DateOutOfRange { parameter: "start", text: text("1969-12-31") },
            RANGED,
            "`start` or `end` is outside the dates that data can have.",
        ),
        example(
            "invalid-range",
            ServiceError::ReversedRange { start: day(20_120), end: day(20_089) },
            RANGED,
            "`end` is before `start`.",
        ),
    ]
}

fn filters() -> Vec<ErrorExample> {
    let fault = filter::from_parameter("campaign", r#"["or", ["near", "drain"]]"#).err();
    let refused = fault.map(|fault| {
        example(
            "invalid-filter",
            ServiceError::InvalidFilter(fault),
            EVENTS,
            "A parameter is not a filter. The error names the parameter and the place in its expression.",
        )
    });
    refused.into_iter().collect()
}

fn benchmarks() -> Vec<ErrorExample> {
    let fault = ServiceError::Benchmarks;
    let months = [
        ("invalid-month", "January", "`month` is not a month, or is outside the months that data can have."),
        ("future-month", "2025-02", "The month has not begun."),
    ];
    let today = Day::from_number(20_119);
    let refused = months.into_iter().filter_map(|(name, text, when)| {
        BenchmarkPeriod::read(Some(text), today).err().map(|error| example(name, fault(error), BENCHMARKS, when))
    });
    let expression = ServiceError::BenchmarkExpression {
        dimension: BenchmarkDimension::CustomerStatus,
        expression: r#"["ne", "New Customer"]"#.to_owned(),
    };
    let others = [
        example("missing-metric", fault(BenchmarkFault::MissingMetric), BENCHMARKS, "None of the fields is a metric."),
        example(
            "not-benchmarkable",
            fault(BenchmarkFault::Field { name: "leads".to_owned() }),
            BENCHMARKS,
            "A field has no benchmarks, or a filter is not on a dimension of benchmarks.",
        ),
        example(
            "not-benchmarkable-filter",
            expression,
            BENCHMARKS,
            "A filter is an expression; only one value is allowed.",
        ),
    ];
    refused.chain(others).collect()
}

fn sizes() -> Vec<ErrorExample> {
    let Limits { account_intervals, rows, documents, .. } = Limits::default();
    let year = 365;
    vec![
        example(
            "attribution-window",
            ServiceError::SpanTooLong { days: ATTRIBUTION_WINDOW_DAYS + 1, limit: ATTRIBUTION_WINDOW_DAYS },
            EVENTS,
            "With `interval=total` and without `cohort=true`, the range is longer than the attribution window.",
        ),
        example(
            "too-many-intervals",
            ServiceError::TooManyIntervals { accounts: 100, sub_ranges: year, limit: account_intervals },
            EVENTS,
            "Accounts times sub-ranges exceed the limit.",
        ),
        example(
            "too-many-rows",
            ServiceError::TooManyRows { limit: rows },
            EVENTS,
            "The answer would have more rows than the limit, counted before filters on metrics.",
        ),
        example(
            "too-much-memory",
            ServiceError::TooMuchMemory { limit: 1 << 30 },
            ALL,
            "The query or its answer would take more memory than one query may take.",
        ),
        example(
            "too-many-documents",
            ServiceError::TooManyDocuments { matched: documents + 50, limit: documents },
            INSIGHTS,
            "More documents match than the limit.",
        ),
    ]
}

fn rows() -> Vec<ErrorExample> {
    let row = "campaign = `Boilers`, days from 2025-01-01 to 2025-03-31".to_owned();
    vec![example(
        "invalid-row",
        ServiceError::Row(WhyRowFault::NoSuchRow { row }),
        EVENTS,
        "With `why`, `row` is not known by the dimensions of `fields`, or the answer has no such row.",
    )]
}

fn execution() -> Vec<ErrorExample> {
    let failed = Upstream::Write(std::io::ErrorKind::Other.into());
    let gathering = ServiceError::BenchmarksGathering { retry_after_seconds: 2 };
    vec![
        example(
            "upstream-failed",
            ServiceError::Upstream(failed),
            ALL,
            "The data are unreadable or damaged. The cause is in the log of the operator.",
        ),
        ErrorExample {
            header: Some(("Retry-After", "integer", "Whole seconds after which to retry.")),
            ..example(
                "overloaded",
                ServiceError::Overloaded { retry_after_seconds: 5 },
                ALL,
                "Other queries and answers hold the memory that the request needs; retry shortly.",
            )
        },
        ErrorExample {
            header: Some(("Retry-After", "integer", "Whole seconds after which to retry.")),
            ..example(
                "benchmarks-gathering",
                gathering,
                BENCHMARKED,
                "With `compare=benchmarks`, or at the endpoint of benchmarks: the figures of the month are still being \
                 gathered; retry shortly.",
            )
        },
        example("timeout", ServiceError::Timeout(Interruption::Deadline), ALL, "The request took longer than it may."),
    ]
}
