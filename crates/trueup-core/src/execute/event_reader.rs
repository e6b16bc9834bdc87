//! Reads events with their computed fields, as Arrow.

use super::partial::PlannedQuery;
use super::row_groups::{RowGroupSet, SelectedRowGroups};
use super::{AnyRowGroup, Execution, Split};
use crate::Day;
use crate::aggregate::{EncodedDimension, EventRows, QueryContext};
use crate::dataset::{Dataset, StartedReads};
use crate::dictionary::Computed;
use crate::error::{Error, QueryError};
use crate::finish::MAX_TEXT_BYTES;
use crate::plan::{DimensionRef, Origin, Output, Plan};
use crate::query::{EventsQuery, Interval};
use crate::scan::{EventColumns, NO_VALUE};
use arrow_array::types::Date32Type;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// The most events of a batch.
const BATCH_EVENTS: usize = 8_192;

/// The metric that events have a value for.
const TOTAL: &str = "total";

/// Reads the events of a split: the rows that its query aggregates, with their computed fields, in batches.
///
/// An event is read if it lies in the range and its account is selected, and if it passes the conditions on dimensions
/// and on `total`. Of a cohort, the events of its leads up to the end of their windows are read instead of the events
/// in the range. The state of a customer is that of the sub-range, and does not depend on these conditions.
///
/// # Columns
/// The columns are `start` and `end`, if the query has an interval, and the fields of the query in their order. Of the
/// metrics, only `total` has a value on an event.
///
/// | field | type |
/// |---|---|
/// | `start`, `end`, `date`, `week`, and the dates of a customer's first events | `Date32`; null if there is none |
/// | `dateTime` | `Timestamp(Microsecond, UTC)`; null if only the day is known |
/// | `typeIsLast`, `opportunityBooked` | `Boolean` |
/// | `total` | `Decimal128(19, 6)`, in currency units; null if the event has no amount |
/// | any other dimension | `Utf8`; no value is the empty text |
///
/// # Errors
/// A batch is an error if a file cannot be read, or if the interrupt ends the reading. The batches after an error may
/// lack events, so that a caller should stop at the first one.
///
/// ```
/// use std::num::NonZeroUsize;
/// use trueup_core::dataset::{Dataset, Tables};
/// use trueup_core::query::EventsQuery;
/// use trueup_core::{EventReader, Execution};
///
/// let dataset = Dataset::from_tables(&Tables::default())?;
/// let query = EventsQuery::new(["adjustedType", "total"], "2025-01-01".parse()?, "2025-01-31".parse()?);
/// for split in dataset.plan_splits(&query, NonZeroUsize::MIN)? {
///     let reader = EventReader::new(&dataset, &query, &split, Execution::default())?;
///     assert_eq!(reader.schema().fields().len(), 2);
///     assert_eq!(reader.count(), 0);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EventReader<D> {
    dataset: D,
    planned: Arc<PlannedQuery>,
    execution: Execution,
    schema: SchemaRef,
    /// The row groups that are left.
    row_groups: std::vec::IntoIter<u32>,
    current: Option<RowGroupEvents>,
}

/// The events of a row group that are read, and how many of them are returned already.
#[derive(Debug)]
struct RowGroupEvents {
    columns: Arc<EventColumns>,
    rows: EventRows,
    returned: usize,
}

/// What a column of events holds.
#[derive(Clone, Copy, Debug)]
enum EventColumn {
    Start,
    End,
    Text(usize),
    /// The texts of the dimension are days.
    Day(usize),
    /// The texts of the dimension are `false` and `true`.
    Flag(usize),
    DateTime,
    Blank,
    Total,
}

impl<D: Deref<Target = Dataset>> EventReader<D> {
    /// Returns a reader of the events of a split. The dataset must be the one that planned the split, opened in any
    /// process. No row group is read yet. Of the options of `execution`, only the interrupt applies.
    ///
    /// # Errors
    /// The query has a fault, or asks for what events do not have: a metric other than `total`, a condition on another
    /// metric, an order, a limit, totals or a comparison; or the split is of another query, dataset or version, or of a
    /// program that defines metrics differently.
    pub fn new(dataset: D, query: &EventsQuery, split: &Split, execution: Execution) -> Result<Self, Error> {
        let planned = dataset.plan_of_split(query, split)?;
        check(query, &planned.plan)?;
        let columns = columns(&planned.plan).into_iter();
        let schema = Schema::new(columns.map(|(name, column)| column.field(name)).collect::<Vec<_>>());
        let row_groups: Vec<u32> = split.row_groups().iter().collect();
        Ok(Self {
            dataset,
            planned,
            execution,
            schema: Arc::new(schema),
            row_groups: row_groups.into_iter(),
            current: None,
        })
    }

    /// Returns the names and types of the columns.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Returns the next batch, which has at least one event; `None` after the last.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, Error> {
        loop {
            self.execution.interrupt.check()?;
            if let Some(current) = self.current.as_mut().filter(|current| current.returned < current.rows.events.len())
            {
                return current.next_batch(&self.planned.plan, &self.schema).map(Some);
            }
            let Some(number) = self.row_groups.next() else { return Ok(None) };
            self.current = self.read(number)?;
        }
    }

    /// Reads the events of a row group; `None` if the row group is one of spend.
    fn read(&self, number: u32) -> Result<Option<RowGroupEvents>, Error> {
        let PlannedQuery { plan, memos, .. } = &*self.planned;
        let row_groups = SelectedRowGroups::of_set(&self.dataset, &RowGroupSet::from_iter([number]));
        let Some((_, AnyRowGroup::Events(row_group))) = row_groups.get(0) else { return Ok(None) };
        let interrupt = &self.execution.interrupt;
        let columns = row_group.read_until(&plan.projection, StartedReads::default(), interrupt)?;
        if plan.cohort.is_some() {
            row_group.check_last_day(&columns)?;
        }
        let context = QueryContext::new(plan, self.dataset.accounts(), &memos[0].increments, None);
        let rows = EventRows::new(&context, &columns, interrupt)?;
        Ok(Some(RowGroupEvents { columns, rows, returned: 0 }))
    }
}

impl<D: Deref<Target = Dataset>> Iterator for EventReader<D> {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_batch().transpose()
    }
}

impl RowGroupEvents {
    fn next_batch(&mut self, plan: &Plan, schema: &SchemaRef) -> Result<RecordBatch, Error> {
        let left = self.returned..self.rows.events.len();
        let mut rows = left.start..left.end.min(left.start + BATCH_EVENTS);
        while rows.len() > 1 && self.rows.dimensions.iter().any(|of| of.bytes(&rows) > MAX_TEXT_BYTES) {
            rows.end = rows.start + rows.len() / 2;
        }
        self.returned = rows.end;
        let arrays = columns(plan).into_iter().map(|(_, column)| self.array(column, plan, rows.clone())).collect();
        // The arrays have the types of the schema, and as many rows as each other.
        RecordBatch::try_new(schema.clone(), arrays).map_err(|error| Error::NotArrow { reason: error.to_string() })
    }

    fn array(&self, column: EventColumn, plan: &Plan, rows: Range<usize>) -> ArrayRef {
        let events = self.rows.events[rows.clone()].iter().map(|event| *event as usize);
        let sub_ranges = self.rows.sub_ranges[rows.clone()].iter().map(|number| plan.sub_ranges[*number as usize]);
        let day = |day: Day| i32::from(day.number());
        match column {
            EventColumn::Start => Arc::new(Date32Array::from_iter_values(sub_ranges.map(|range| day(range.start)))),
            EventColumn::End => Arc::new(Date32Array::from_iter_values(sub_ranges.map(|range| day(range.end)))),
            EventColumn::Text(dimension) => {
                Arc::new(StringArray::from_iter_values(self.rows.dimensions[dimension].texts(rows)))
            }
            EventColumn::Day(dimension) => {
                let dimension = &self.rows.dimensions[dimension];
                // The week of the first `Day` begins before it.
                let days = dimension.texts.iter().map(|text| text.parse().ok().map(Date32Type::from_naive_date));
                let days: Vec<Option<i32>> = days.collect();
                Arc::new(dimension.codes[rows].iter().map(|code| days[*code as usize]).collect::<Date32Array>())
            }
            EventColumn::Flag(dimension) => {
                let flags = self.rows.dimensions[dimension].texts(rows).map(|text| Some(text == "true"));
                Arc::new(flags.collect::<BooleanArray>())
            }
            EventColumn::DateTime => {
                let times = self.columns.date_times.as_deref().unwrap_or_default();
                let times = events.map(|event| times.get(event).copied().filter(|micros| *micros != NO_VALUE));
                Arc::new(times.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
            }
            EventColumn::Blank => Arc::new(StringArray::from_iter_values(rows.map(|_| ""))),
            EventColumn::Total => {
                let totals = self.columns.totals.as_deref();
                let totals = events.map(|event| totals.and_then(|totals| totals.get(event)).map(i128::from));
                Arc::new(totals.collect::<Decimal128Array>().with_data_type(EventColumn::Total.data_type()))
            }
        }
    }
}

impl EncodedDimension {
    fn texts(&self, rows: Range<usize>) -> impl Iterator<Item = &str> {
        self.codes.get(rows).unwrap_or_default().iter().map(|code| &self.texts[*code as usize])
    }

    /// Returns the number of bytes of the texts of rows.
    fn bytes(&self, rows: &Range<usize>) -> usize {
        self.texts(rows.clone()).map(str::len).sum()
    }
}

impl EventColumn {
    fn data_type(self) -> DataType {
        match self {
            Self::Start | Self::End | Self::Day(_) => DataType::Date32,
            Self::Text(_) | Self::Blank => DataType::Utf8,
            Self::Flag(_) => DataType::Boolean,
            Self::DateTime => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            // An amount has at most 13 digits before the point.
            Self::Total => DataType::Decimal128(19, 6),
        }
    }

    fn field(self, name: &str) -> Field {
        Field::new(name, self.data_type(), matches!(self, Self::Day(_) | Self::DateTime | Self::Total))
    }
}

/// Returns the columns of events in the order of the query, by name.
fn columns(plan: &Plan) -> Vec<(&str, EventColumn)> {
    let sub_range = [("start", EventColumn::Start), ("end", EventColumn::End)];
    let sub_range = sub_range.into_iter().filter(|_| plan.interval != Interval::Total);
    let field = |output: &Output| match output {
        &Output::Dimension(at) => (&*plan.dimensions[at].name, dimension_column(&plan.dimensions[at], at)),
        &Output::Blank(at) => (&*plan.blank[at].name, EventColumn::Blank),
        Output::Metric(_) => (TOTAL, EventColumn::Total),
    };
    sub_range.chain(plan.output.iter().map(field)).collect()
}

/// Returns the column of the dimension at an index of the plan.
const fn dimension_column(dimension: &DimensionRef, at: usize) -> EventColumn {
    if dimension.mapping.is_some() {
        return EventColumn::Text(at);
    }
    match dimension.origin {
        Origin::Computed(
            Computed::Date
            | Computed::Week
            | Computed::OpportunityStartDate
            | Computed::FirstBooked
            | Computed::FirstEstimated
            | Computed::FirstSold
            | Computed::FirstClosed
            | Computed::FirstCanceled,
        ) => EventColumn::Day(at),
        Origin::Computed(Computed::TypeIsLast | Computed::OpportunityBooked) => EventColumn::Flag(at),
        Origin::Computed(Computed::DateTime) => EventColumn::DateTime,
        Origin::Computed(_) | Origin::Stored | Origin::Absent => EventColumn::Text(at),
    }
}

/// Checks that a query asks for nothing that events do not have.
pub(super) fn check(query: &EventsQuery, plan: &Plan) -> Result<(), QueryError> {
    let metric = plan.output.iter().find_map(|output| match output {
        Output::Metric(metric) if metric.name() != TOTAL => Some(format!("the metric `{}`", metric.name())),
        _ => None,
    });
    let parts = [
        (plan.having.is_some(), "a condition on a metric"),
        (!query.sort.is_empty(), "an order"),
        (query.limit.is_some(), "a limit"),
        (query.totals, "totals"),
        (query.compare.is_some(), "a comparison"),
    ];
    let part = || parts.into_iter().find_map(|(is_asked, part)| is_asked.then(|| part.to_owned()));
    metric.or_else(part).map_or(Ok(()), |part| Err(QueryError::NotOfEvents { part }))
}
