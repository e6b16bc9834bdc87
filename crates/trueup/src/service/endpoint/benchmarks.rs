//! `GET /api/{organization}/benchmarks`: anonymous figures of an industry for one month.

use super::super::Service;
use super::super::benchmark_cache::{UsedData, WaitLimit};
use super::super::error::{BenchmarkJobError, ServiceError, Upstream};
use super::super::memory::UserMemory;
use super::super::request::Parameters;
use super::super::response::Answer;
use super::super::snapshot::Snapshot;
use super::description::{ACCOUNT, ACCOUNTS, Endpoint, OtherParameters, Parameter, RequestContext, ValueType};
use crate::access::{LoginScope, Scope};
use crate::benchmarks::{
    self, BenchmarkData, BenchmarkDimension, BenchmarkFault, BenchmarkPeriod, BenchmarkQuery, BenchmarkRow,
    BenchmarkSelection,
};
use crate::query::Filter;
use crate::{Day, Error, Interrupt, filter, request};
use std::io::{self, Write};

pub(super) const ENDPOINT: Endpoint = Endpoint {
    name: "benchmarks",
    summary: "Anonymous figures of an industry for one month",
    parameters: &[
        Parameter::new(
            "fields",
            ValueType::Names,
            "Metrics that have benchmarks, and dimensions to group by. By default all of these metrics.",
            "bookRate,roasClosed,attributionChannel",
        ),
        Parameter::new(
            "month",
            ValueType::Month,
            "The month as `YYYY-MM`, or `previous-mtd` for the previous month up to the same day. By default the current month \
             to date. Several, separated by commas, are answered together: each row then begins with its month.",
            "2025-01",
        ),
        ACCOUNT,
        ACCOUNTS,
    ],
    additions: &[&[request::REMAINING]],
    other_parameters: OtherParameters::Dimensions(
        "A filter on the dimension of that name: its value must equal the given text. An expression is \
         refused.",
    ),
    fields: Some(|field| field.benchmark),
    notes: "How the accounts in the industries of those asked for stand in one calendar month: for each segment the series \
            benchmark (the pooled figure), then p10, p25, p50, p75 and p90 of the accounts. fields defaults to every metric \
            listed here, month to the current month, to date; previous-mtd is the month before up to the same day. A parameter \
            named as one of the dimensions listed here filters on one value. A figure that could reveal something \
            about a single account is null, and a segment without any figure is left out. Metrics made of money compare accounts of \
            the currency of those asked for, and are null if these have several. 503 while the figures of a \
            month are still being gathered.",
    answer,
};

/// The most months of one request: each is computed by itself, and a chart has no use for more.
const MAX_MONTHS: usize = 36;

/// The parameters that take one value.
const SINGLE: [&str; 1] = ["month"];

/// Seconds after which a caller should retry while data is being computed.
const RETRY_AFTER_SECONDS: u32 = 2;

impl Service {
    /// Returns the benchmarks of a period for the industries of the accounts in scope, ordered by the values of the
    /// dimensions (byte by byte), then by series.
    ///
    /// `reach` is all that the caller may read. A figure of too few accounts outside it, or one of which a single
    /// account makes up too much, is `None`, and so are others that would leave such a figure when they are subtracted
    /// from a figure of more segments. A metric that is made of money compares accounts of the currency of those in
    /// scope, and is `None` if these have several. A segment without any figure is absent. No account is named, but a
    /// percentile may equal the figure of one unnamed account, rounded, and the difference between two versions may
    /// show the part of an account that joined or left. There are no rows if the period is before the first or after
    /// the last day of the dataset.
    ///
    /// # Errors
    /// The data is not there within the limits, or could not be computed, for example because it found no memory.
    ///
    /// ```
    /// use std::error::Error;
    /// use trueup::Day;
    /// use trueup::access::LoginScope;
    /// use trueup::benchmarks::{BenchmarkMetric, BenchmarkPeriod, BenchmarkRow, BenchmarkSelection, Series};
    /// use trueup::service::Service;
    ///
    /// /// Returns the median book rate of the industry, if enough accounts contribute to it.
    /// fn median(service: &Service, reach: &LoginScope, today: Day) -> Result<Option<f64>, Box<dyn Error>> {
    ///     let period = BenchmarkPeriod::read(Some("2025-01"), today)?;
    ///     let selection = BenchmarkSelection::new([BenchmarkMetric::BookRate], []);
    ///     let rows = service.benchmarks(reach, reach.accounts(), &selection, period)?;
    ///     Ok(rows.iter().find(|row| row.series == Series::P50).and_then(|row| row.metrics[0]))
    /// }
    /// ```
    pub fn benchmarks(
        &self,
        reach: &LoginScope,
        scope: &Scope,
        selection: &BenchmarkSelection,
        period: BenchmarkPeriod,
    ) -> Result<Vec<BenchmarkRow>, ServiceError> {
        let interrupt = Interrupt::after(self.limits.deadline);
        self.benchmarks_within(
            &self.snapshot(),
            reach,
            scope,
            (period, selection),
            &self.memory.for_program(),
            &interrupt,
        )
    }

    /// Returns how many times the service began to compute the data of a whole or partial month, for the current
    /// dataset.
    ///
    /// Each whole month is computed once, unless a computation fails.
    #[must_use]
    pub fn benchmark_jobs(&self) -> u64 {
        self.snapshot().benchmarks.started()
    }

    fn benchmarks_within(
        &self,
        snapshot: &Snapshot,
        reach: &LoginScope,
        scope: &Scope,
        (period, selection): (BenchmarkPeriod, &BenchmarkSelection),
        memory: &UserMemory<'_>,
        interrupt: &Interrupt,
    ) -> Result<Vec<BenchmarkRow>, ServiceError> {
        let data = self.benchmark_data(snapshot, period, interrupt)?;
        let _working = memory.reserve(data.working_bytes()).map_err(ServiceError::no_room)?;
        let [scope, reach] = [scope, reach.accounts()].map(|accounts| accounts.accounts().map(str::to_owned).collect());
        Ok(data.answer(&BenchmarkQuery { selection, scope: &scope, reach: &reach, privacy: self.privacy }))
    }

    /// Returns the data of a period, within the time that a request may wait for them.
    pub(super) fn benchmark_data(
        &self,
        snapshot: &Snapshot,
        period: BenchmarkPeriod,
        interrupt: &Interrupt,
    ) -> Result<UsedData, ServiceError> {
        // No account has a customer on days without rows.
        if !snapshot.overlaps(period.range) {
            return Ok(UsedData::unkept(BenchmarkData::empty(period.range)));
        }
        let limit = WaitLimit { wait: self.limits.benchmarks_wait, interrupt };
        let data = snapshot.benchmarks.data(period, &self.worker, &self.on_failure, &limit);
        let data = data.ok_or(ServiceError::BenchmarksGathering(RETRY_AFTER_SECONDS))?;
        data.map_err(|error| match *error {
            BenchmarkJobError::Query(Error::NoRoom(missing)) => ServiceError::no_room(missing),
            _ => ServiceError::Upstream(Upstream::Benchmarks(error)),
        })
    }
}

fn answer(service: &Service, context: &RequestContext<'_>) -> Result<Answer, ServiceError> {
    let (periods, selection) = query(context.parameters, service.clock.today())?;
    let RequestContext { snapshot, reach, scope, memory, interrupt, .. } = context;
    let answered = periods.iter().map(|period| {
        let rows = service.benchmarks_within(snapshot, reach, scope, (*period, &selection), memory, interrupt)?;
        Ok((*period, rows))
    });
    let answered = answered.collect::<Result<Vec<_>, ServiceError>>()?;
    Answer::text(memory, |out| write_rows(&selection, &answered, out))
}

/// Reads the query. Reports the first fault in this fixed order: no metric, a malformed query string, too many months,
/// then the month, the fields and the filters.
fn query(parameters: &Parameters, today: Day) -> Result<(Vec<BenchmarkPeriod>, BenchmarkSelection), ServiceError> {
    let fields: Vec<&str> = parameters.list("fields").collect();
    let named: Vec<&str> = ENDPOINT.parameters.iter().map(|parameter| parameter.name).collect();
    let filters = parameters.others(&named);
    let pairs: Vec<(&str, &str)> = filters.iter().map(|(name, value)| (&**name, &**value)).collect();
    let months: Vec<Option<&str>> =
        parameters.non_empty("month").map_or_else(|| vec![None], |months| months.split(',').map(Some).collect());
    let read = |month: Option<&str>| benchmarks::read(&fields, &pairs, month, today);
    let first = read(months.first().copied().flatten());
    // A missing metric is reported before a malformed parameter, every other fault after it.
    if !matches!(first, Err(BenchmarkFault::MissingMetric)) {
        parameters.check(SINGLE)?;
        if months.len() > MAX_MONTHS {
            return Err(ServiceError::TooManyMonths { count: months.len(), limit: MAX_MONTHS });
        }
    }
    let (_, selection) = first.map_err(ServiceError::Benchmarks)?;
    let periods = months.iter().map(|month| read(*month).map(|(period, _)| period));
    let periods = periods.collect::<Result<Vec<_>, _>>().map_err(ServiceError::Benchmarks)?;
    for (name, value) in pairs {
        if let Some(dimension) = BenchmarkDimension::from_name(name).filter(|_| !is_literal(name, value)) {
            return Err(ServiceError::BenchmarkExpression { dimension, expression: value.to_owned() });
        }
    }
    Ok((periods, selection))
}

/// Returns whether the filter language reads the value as the text itself, not as an expression.
fn is_literal(name: &str, value: &str) -> bool {
    filter::from_parameter(name, value).is_ok_and(|filter| filter == Filter::equals(name, value))
}

/// Writes the rows of all periods as one JSON array. Those of several periods begin with their month.
fn write_rows(
    selection: &BenchmarkSelection,
    answered: &[(BenchmarkPeriod, Vec<BenchmarkRow>)],
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(b"[")?;
    let rows = answered.iter().flat_map(|(period, rows)| rows.iter().map(move |row| (period.month, row)));
    for (place, (month, row)) in rows.enumerate() {
        out.write_all(if place > 0 { b",{" } else { b"{" })?;
        if answered.len() > 1 {
            write!(out, "\"month\":\"{month}\",")?;
        }
        write!(out, "\"series\":\"{}\",\"cohortAccounts\":{}", row.series, row.cohort_accounts)?;
        for (dimension, value) in selection.dimensions().iter().zip(&row.dimensions) {
            write!(out, ",\"{dimension}\":{}", serde_json::to_string(&**value)?)?;
        }
        for (metric, value) in selection.metrics().iter().zip(&row.metrics) {
            let mut number = ryu_js::Buffer::new();
            write!(out, ",\"{metric}\":{}", value.map_or("null", |value| number.format(value)))?;
        }
        out.write_all(b"}")?;
    }
    out.write_all(b"]")
}
