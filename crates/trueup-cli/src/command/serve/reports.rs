//! The door for reports at `/report`: the report of a month about the accounts that a key reaches, with the users, the
//! scopes, the limits and the log of the service. A browser without a key gets a page that asks for one.

use crate::command::branding::BrandingArgs;
use crate::exit::Failure;
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Bytes;
use std::fmt::Display;
use std::path::PathBuf;
use std::sync::Arc;
use trueup::query::{Attribution, NamedRange};
use trueup::service::{Body, Request as FacadeRequest, Response as FacadeResponse, Service, ServiceError, SignedIn};
use trueup::{Day, Error, Execution, Interrupt, Shown};
use trueup_report::{Branding, Report, ReportError, ReportFormat, ReportSpec};
use trueup_server::{CancelOnDrop, Door, DoorAnswer, DoorBody};
use url::form_urlencoded;

/// The page that asks for a key, and its script, which has a query of its own because a door has one path.
const SIGN_IN_PAGE: &str = include_str!("reports/sign-in.html");
const SIGN_IN_SCRIPT: &str = include_str!("reports/sign-in.js");
const SCRIPT_QUERY: &str = "script";

/// What a browser allows a report, and the page that asks for a key, whose policy the report that it shows inherits.
const REPORT_POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
                             form-action 'none'; frame-ancestors 'none'";
const SIGN_IN_POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'unsafe-inline'; \
                              img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The most sub-ranges of a question of a report: the months of its trend.
const SUB_RANGES: usize = 13;

/// The options of the door for reports.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// Also answer /report?month=YYYY-MM with the report of a month about the accounts of a key, as HTML. Each report
    /// is one request of the hour
    #[arg(long, help_heading = "Reports")]
    reports: bool,

    /// Name of whom reports are from
    #[arg(long, value_name = "NAME", help_heading = "Reports", requires = "reports")]
    report_from: Option<String>,

    /// Image above reports: a PNG, JPEG, GIF, WebP or SVG of at most 512 KiB
    #[arg(long, value_name = "FILE", help_heading = "Reports", requires = "reports")]
    report_logo: Option<PathBuf>,

    /// File with a comment on all reports, as `--comment` of `trueup report`
    #[arg(long, value_name = "FILE", help_heading = "Reports", requires = "reports")]
    report_comment: Option<PathBuf>,
}

impl ReportArgs {
    /// Returns the door of a service; `None` unless it is asked for.
    pub(super) fn door(&self, service: &Arc<Service>) -> Result<Option<Arc<dyn Door>>, Failure> {
        if !self.reports {
            return Ok(None);
        }
        let branding = BrandingArgs {
            from: self.report_from.clone(),
            logo: self.report_logo.clone(),
            comment: self.report_comment.clone(),
        };
        let reports = Arc::new(Reports { service: Arc::clone(service), branding: branding.read()? });
        Ok(Some(Arc::new(ReportDoor(reports))))
    }
}

/// The door for reports.
#[derive(Debug)]
struct ReportDoor(Arc<Reports>);

#[derive(Debug)]
struct Reports {
    service: Arc<Service>,
    branding: Branding,
}

/// Why a request has no report.
enum Refused {
    /// What the service refuses any request for.
    Service(ServiceError),
    /// What only a report is refused for.
    Report { status: u16, code: &'static str, message: String },
}

impl Refused {
    fn new(status: u16, code: &'static str, message: impl Into<String>) -> Self {
        Self::Report { status, code, message: message.into() }
    }

    /// Returns the response of a service.
    fn response(self, service: &Service) -> FacadeResponse {
        let identity = Some("identity");
        match self {
            Self::Service(error) => {
                let accept_encoding = identity.map(str::to_owned);
                service.refuse(&FacadeRequest { accept_encoding, ..FacadeRequest::get("/report") }, error)
            }
            Self::Report { status, code, message } => FacadeResponse::error(status, code, &message, identity),
        }
    }
}

impl From<ServiceError> for Refused {
    fn from(error: ServiceError) -> Self {
        Self::Service(error)
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        match error {
            Error::Interrupted(_) => Self::new(504, "timeout", "the report took too long; ask for fewer accounts"),
            Error::NoRoom(_) => Self::new(503, "overloaded", "there is no memory for the report now; ask again"),
            Error::Query(fault) => ServiceError::Query(fault).into(),
            other => {
                tracing::error!(cause = %trueup::message_with_causes(&other), "a report could not be made");
                Self::new(502, "upstream-failed", "the data cannot be read")
            }
        }
    }
}

impl Door for ReportDoor {
    fn path(&self) -> &str {
        "/report"
    }

    fn without_key(&self, request: &Parts) -> Option<Response<DoorBody>> {
        let accepts_html =
            request.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok()).is_some_and(|accept| {
                accept.split(',').any(|part| part.trim().to_ascii_lowercase().starts_with("text/html"))
            });
        match (request.method == Method::GET, request.uri.query()) {
            (true, Some(SCRIPT_QUERY)) => {
                let script = DoorBody::constant(SIGN_IN_SCRIPT);
                Some(answer(StatusCode::OK, "text/javascript; charset=utf-8", SIGN_IN_POLICY, script))
            }
            (true, _) if accepts_html => {
                let page = DoorBody::constant(SIGN_IN_PAGE);
                Some(answer(StatusCode::OK, "text/html; charset=utf-8", SIGN_IN_POLICY, page))
            }
            _ => None,
        }
    }

    fn answer(&self, caller: SignedIn, request: Request<Full<Bytes>>) -> DoorAnswer<'_> {
        let reports = Arc::clone(&self.0);
        let interrupt = CancelOnDrop(Interrupt::after(reports.service.limits().deadline));
        let work = interrupt.0.clone();
        Box::pin(async move {
            let made = tokio::task::spawn_blocking(move || {
                if request.method() != Method::GET {
                    return Err(Refused::new(405, "method-not-allowed", "a report is asked for with GET"));
                }
                reports.make(&caller, request.uri().query().unwrap_or_default(), &work)
            });
            let made = made.await.unwrap_or_else(|_| Err(Refused::new(500, "internal-error", "the report failed")));
            drop(interrupt);
            match made {
                Ok(html) => answer(StatusCode::OK, "text/html; charset=utf-8", REPORT_POLICY, html.into()),
                Err(refused) => {
                    let refused = refused.response(&self.0.service);
                    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                    let wait = refused.header(header::RETRY_AFTER.as_str()).map(HeaderValue::from_str);
                    let body = refused.body.into();
                    let mut response = answer(status, "application/json; charset=utf-8", REPORT_POLICY, body);
                    response.headers_mut().extend(wait.and_then(Result::ok).map(|wait| (header::RETRY_AFTER, wait)));
                    response
                }
            }
        })
    }
}

impl Reports {
    /// Makes the report that a query string asks for, as HTML whose memory is reserved.
    fn make(&self, caller: &SignedIn, query: &str, interrupt: &Interrupt) -> Result<Body, Refused> {
        let service = &self.service;
        service.count(caller)?;
        let asked = Asked::read(query)?;
        let (reach, dataset) = (&caller.reach, service.dataset());
        let scope = match &asked.organization {
            Some(segment) => {
                reach.resolve(segment).ok_or_else(|| ServiceError::InaccessibleOrganization(segment.clone()))?
            }
            None => reach.accounts().clone(),
        };
        let scope = match asked.accounts.as_slice() {
            [] => scope,
            keys => scope.narrow(keys.iter().map(String::as_str)).map_err(ServiceError::InaccessibleAccounts)?,
        };
        let limit = service.limits().account_intervals;
        if scope.len().saturating_mul(SUB_RANGES) > limit {
            let (accounts, sub_ranges) = (scope.len(), SUB_RANGES);
            return Err(ServiceError::TooManyIntervals { accounts, sub_ranges, limit }.into());
        }
        // The directory may have accounts that have no data yet.
        let mut keys: Vec<String> = scope.accounts().map(str::to_owned).collect();
        let missing: Vec<String> =
            dataset.missing_accounts(&keys).map_err(Error::from)?.into_iter().map(str::to_owned).collect();
        keys.retain(|key| !missing.contains(key));
        if keys.is_empty() {
            return Err(Refused::new(404, "no-data", "these accounts have neither events nor spend"));
        }
        let budget = service.memory_budget().map(|budget| budget.for_user(caller.user()));
        let memory = budget.map(|budget| budget.reserve(0)).transpose().map_err(Error::from)?;
        let execution = Execution {
            memory: memory.map(Arc::new),
            max_rows: Some(service.limits().rows),
            interrupt: interrupt.clone(),
            ..Execution::default()
        };
        let reach = reach.accounts().accounts().map(str::to_owned).collect();
        let month = asked.month.days(Day::MIN).map_err(|fault| invalid("month", fault))?;
        let spec = ReportSpec::new(&keys, month, asked.through)
            .attribution(asked.attribution)
            .for_reader(reach, service.privacy())
            .branded(self.branding.clone());
        let report = Report::ask(&dataset, &spec, &execution, || ()).map_err(|error| match error {
            ReportError::Engine(error) => Refused::from(error),
            other => invalid("month", other),
        })?;
        // What the questions took is free; the report alone counts from here on.
        drop(execution);
        let html = service.answer_memory(caller).body(|mut html| report.write(ReportFormat::Html, &mut html));
        html.map_err(Refused::from)
    }
}

/// What a query string asks for.
struct Asked {
    month: NamedRange,
    through: Option<Day>,
    attribution: Attribution,
    organization: Option<String>,
    accounts: Vec<String>,
}

impl Asked {
    fn read(query: &str) -> Result<Self, Refused> {
        let (mut month, mut through, mut organization, mut accounts) = (None, None, None, Vec::new());
        let mut attribution = Attribution::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match &*name {
                "month" => month = Some(NamedRange::month(&value).map_err(|fault| invalid("month", fault))?),
                "through" => through = Some(value.parse::<Day>().map_err(|fault| invalid("through", fault))?),
                "attribution" => attribution = value.parse().map_err(|fault| invalid("attribution", fault))?,
                "organization" => organization = Some(value.into_owned()),
                "account" => accounts.push(value.into_owned()),
                "accounts" => accounts.extend(value.split(',').map(|key| key.trim().to_owned())),
                other => {
                    let message = format!(
                        "expected `month`, `through`, `attribution`, `organization`, `account` or `accounts`, but found `{}`",
                        Shown(other)
                    );
                    return Err(Refused::new(400, "invalid-query", message));
                }
            }
        }
        accounts.retain(|key| !key.is_empty());
        let month = month.ok_or_else(|| invalid("month", "is missing; give a month such as `2026-05`"))?;
        Ok(Self { month, through, attribution, organization, accounts })
    }
}

fn invalid(parameter: &str, fault: impl Display) -> Refused {
    Refused::new(400, "invalid-query", format!("`{parameter}`: {fault}"))
}

fn answer(status: StatusCode, content_type: &'static str, policy: &'static str, body: DoorBody) -> Response<DoorBody> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = [
        (header::CONTENT_TYPE, content_type),
        (header::CACHE_CONTROL, "no-store"),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    let headers = headers.map(|(name, value)| (name, HeaderValue::from_static(value)));
    response.headers_mut().extend(headers);
    response
}
