//! Software prefetch. A query reads some eight columns in short bursts, one customer block after the other. The
//! hardware prefetcher does not predict this, so each block is prefetched some blocks before it is read. docs/design.md
//! has the measurements under "Fast paths".

use super::{Amounts, Codes, EventColumns, EventProjection, TextColumn};
use std::ops::Range;

/// The columns of a row group that a query reads, without the points in time.
#[derive(Debug)]
pub(crate) struct Prefetch<'a> {
    columns: &'a EventColumns,
    /// Whether the query reads the flags of events one by one.
    events: bool,
    texts: Vec<&'a TextColumn>,
    totals: Option<&'a Amounts>,
}

impl<'a> Prefetch<'a> {
    /// Selects the columns of `projection`, and the flags of events if `events` is set.
    pub(crate) fn new(columns: &'a EventColumns, projection: &EventProjection, events: bool) -> Self {
        Self {
            columns,
            events,
            texts: projection
                .read_texts()
                .filter_map(|(name, attribution)| columns.text_by(name, attribution))
                .collect(),
            totals: columns.totals.as_deref().filter(|_| projection.totals),
        }
    }

    /// Prefetches the rows of consecutive customers.
    pub(crate) fn fetch(&self, customers: &Range<usize>) {
        let Self { columns, texts, totals, .. } = self;
        let events = columns.customers.events_of(customers);
        fetch(columns.customers.ends(customers));
        fetch(&columns.histories.pattern_ids()[customers.clone()]);
        if self.events {
            fetch(columns.histories.events().slice(events.clone()).as_bytes());
        }
        fetch(&columns.days[events.clone()]);
        for column in texts {
            let rows = if column.is_per_customer() { customers } else { &events };
            match column.codes() {
                Codes::Byte(codes) => fetch(&codes[rows.clone()]),
                Codes::Short(codes) => fetch(&codes[rows.clone()]),
                Codes::Word(codes) => fetch(&codes[rows.clone()]),
            }
        }
        match totals {
            Some(Amounts::Narrow { multiples, .. }) => fetch(&multiples[events]),
            Some(Amounts::Wide(micros)) => fetch(&micros[events]),
            None => {}
        }
    }
}

/// The bytes of a cache line.
#[cfg(target_arch = "x86_64")]
const CACHE_LINE: usize = 64;

#[cfg(target_arch = "x86_64")]
#[inline]
fn fetch<T>(values: &[T]) {
    values.iter().step_by(CACHE_LINE / size_of::<T>()).for_each(safe_arch::prefetch_t0);
}

/// Does nothing: there is no safe prefetch for other processors.
#[cfg(not(target_arch = "x86_64"))]
const fn fetch<T>(_: &[T]) {}
