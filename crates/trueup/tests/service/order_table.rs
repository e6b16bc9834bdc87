//! The order in which CONTRACT sections 1 and 2 report the faults of a request, as data. Each fault sets places of a
//! request; one request cannot have two faults that set the same place.

/// A fault that a request can have.
pub(crate) struct Fault {
    pub(crate) name: &'static str,
    /// The status and the code that report it.
    pub(crate) status: u16,
    pub(crate) code: Option<&'static str>,
    /// The values that it puts at places.
    pub(crate) sets: &'static [(Place, &'static str)],
}

/// The places of a request, of its user, and of the service, at which a fault can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Method,
    /// The last segment of the path.
    Endpoint,
    /// Whether the user is inactive.
    Key,
    /// Whether the user has used up the hourly limit.
    Hour,
    Organization,
    Account,
    /// The values of `Metric`, `Dimension` and `Reserved` that are not empty make up `fields`.
    Metric,
    Dimension,
    Reserved,
    Start,
    End,
    Interval,
    Month,
    /// These four places hold parameters as they are written in the query.
    Stray,
    Again,
    Filter,
    Expression,
    /// Which limit is small, or what fails while the query runs. The faults at this place have no order among
    /// themselves, so a request has one of them.
    Execution,
    /// Whether the limit on accounts times sub-ranges is small. That fault is reported before the query runs.
    Size,
}

const fn fault(name: &'static str, status: u16, code: &'static str, sets: &'static [(Place, &'static str)]) -> Fault {
    Fault { name, status, code: Some(code), sets }
}

const METHOD: Fault = fault("method", 405, "method-not-allowed", &[(Place::Method, "POST")]);
const PATH: Fault = fault("path", 404, "not-found", &[(Place::Endpoint, "forecasts")]);
const KEY: Fault = fault("credentials", 401, "unauthorized", &[(Place::Key, "off")]);
const HOUR: Fault = fault("hourly limit", 429, "rate-limited", &[(Place::Hour, "used up")]);
const ORGANIZATION: Fault = fault("organization", 404, "inaccessible-organization", &[(Place::Organization, "rival")]);
const ACCOUNTS: Fault = fault("accounts", 404, "inaccessible-accounts", &[(Place::Account, "rival-1")]);
const NOT_UTF8: Fault = fault("not UTF-8", 400, "invalid-query", &[(Place::Stray, "campaign=%FF")]);
const DATE: Fault = fault("not a date", 400, "invalid-date", &[(Place::Start, "2025-02-30")]);
const REVERSED: Fault =
    fault("reversed", 400, "invalid-range", &[(Place::Start, "2025-06-01"), (Place::End, "2025-01-31")]);
const TWICE: Fault = fault("start twice", 400, "invalid-query", &[(Place::Again, "start=2025-01-02")]);
const DAMAGED: Fault = fault("damaged", 502, "upstream-failed", &[(Place::Execution, "damaged")]);

const DEADLINE: Fault = fault("deadline", 504, "timeout", &[(Place::Execution, "deadline")]);

/// The faults of a request for events, in the order of the contract.
pub(crate) const EVENTS: [Fault; 21] = [
    METHOD,
    PATH,
    KEY,
    HOUR,
    ORGANIZATION,
    ACCOUNTS,
    fault("no fields", 400, "missing-fields", &[(Place::Metric, ""), (Place::Dimension, ""), (Place::Reserved, "")]),
    fault("no end", 400, "missing-range", &[(Place::End, "")]),
    fault("no metric", 400, "missing-metric", &[(Place::Metric, "campaign")]),
    NOT_UTF8,
    TWICE,
    fault("reserved field", 400, "invalid-fields", &[(Place::Reserved, "start")]),
    fault("not an interval", 400, "unknown-interval", &[(Place::Interval, "fortnight")]),
    DATE,
    REVERSED,
    fault("not a filter", 400, "invalid-filter", &[(Place::Filter, "campaign=[%22nope%22]")]),
    Fault {
        name: "over 90 days",
        status: 400,
        code: None,
        sets: &[(Place::Start, "2025-01-01"), (Place::End, "2025-04-01")],
    },
    fault("intervals", 400, "too-many-intervals", &[(Place::Size, "small")]),
    fault("rows", 400, "too-many-rows", &[(Place::Dimension, "date"), (Place::Execution, "rows")]),
    DAMAGED,
    DEADLINE,
];

/// The faults of a request for insights.
pub(crate) const INSIGHTS: [Fault; 14] = [
    METHOD,
    PATH,
    KEY,
    HOUR,
    ORGANIZATION,
    ACCOUNTS,
    fault("start alone", 400, "missing-range", &[(Place::End, "")]),
    NOT_UTF8,
    TWICE,
    DATE,
    REVERSED,
    Fault { name: "documents", status: 400, code: None, sets: &[(Place::Execution, "documents")] },
    DAMAGED,
    DEADLINE,
];

/// The faults of a request for benchmarks.
pub(crate) const BENCHMARKS: [Fault; 15] = [
    METHOD,
    PATH,
    KEY,
    HOUR,
    ORGANIZATION,
    ACCOUNTS,
    fault("no metric", 400, "missing-metric", &[(Place::Metric, "attributionChannel")]),
    NOT_UTF8,
    fault("month twice", 400, "invalid-query", &[(Place::Again, "month=2024-01")]),
    fault("not a month", 400, "invalid-month", &[(Place::Month, "2024-13")]),
    fault("month to come", 400, "future-month", &[(Place::Month, "2031-01")]),
    fault("field", 400, "not-benchmarkable", &[(Place::Dimension, "crew")]),
    fault("filter", 400, "not-benchmarkable", &[(Place::Filter, "crew=12")]),
    fault("expression", 400, "not-benchmarkable", &[(Place::Expression, "customerStatus=[%22eq%22,%22x%22]")]),
    DAMAGED,
];

/// Every status and code of CONTRACT section 2. An error without a code has a part of its text instead.
pub(crate) const OUTCOMES: [(u16, &str); 27] = [
    (400, "missing-fields"),
    (400, "missing-range"),
    (400, "missing-metric"),
    (400, "invalid-query"),
    (400, "invalid-fields"),
    (400, "unknown-interval"),
    (400, "invalid-date"),
    (400, "invalid-range"),
    (400, "invalid-filter"),
    (400, "too-many-intervals"),
    (400, "too-many-rows"),
    (400, "invalid-month"),
    (400, "future-month"),
    (400, "not-benchmarkable"),
    (401, "unauthorized"),
    (404, "inaccessible-organization"),
    (404, "inaccessible-accounts"),
    (404, "not-found"),
    (405, "method-not-allowed"),
    (429, "rate-limited"),
    (502, "upstream-failed"),
    (503, "benchmarks-gathering"),
    (504, "timeout"),
    // The three errors without a code.
    (400, "90-day attribution window"),
    (400, "insight documents match"),
    (401, "Sign in or use an API key"),
    // Success.
    (200, ""),
];
