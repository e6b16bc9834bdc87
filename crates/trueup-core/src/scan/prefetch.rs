//! Columns are asked of the memory some time before they are read. Those of a dataset do not fit into the caches of a processor, and the
//! loops over them read too many at once, and go on too soon to the next customers, for it to foresee where.

use super::{Amounts, Codes, EventColumns, Projection, TextColumn};

use std::ops::Range;

/// The columns of a split that a query reads.
#[derive(Debug)]
pub(crate) struct Prefetch<'a> {
    split: &'a EventColumns,
    /// Whether events are read one by one.
    events: bool,
    texts: Vec<&'a TextColumn>,
    totals: Option<&'a Amounts>,
}

impl<'a> Prefetch<'a> {
    pub(crate) fn new(split: &'a EventColumns, projection: &Projection, events: bool) -> Self {
        Self {
            split,
            events,
            texts: projection.texts.iter().filter_map(|name| split.text(name)).collect(),
            totals: split.totals.as_deref().filter(|_| projection.totals),
        }
    }

    /// Asks for what is read of consecutive customers.
    pub(crate) fn fetch(&self, customers: &Range<usize>) {
        let Self { split, texts, totals, .. } = self;
        let events = split.customers.events_of(customers);
        fetch(split.customers.ends(customers));
        fetch(&split.histories.pattern_ids()[customers.clone()]);
        if self.events {
            fetch(&split.histories.events()[events.clone()]);
        }
        fetch(&split.days[events.clone()]);
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

/// Bytes that come from memory at once.
#[cfg(target_arch = "x86_64")]
const LINE: usize = 64;

#[cfg(target_arch = "x86_64")]
#[inline]
fn fetch<T>(values: &[T]) {
    values.iter().step_by(LINE / size_of::<T>()).for_each(safe_arch::prefetch_t0);
}

/// Other processors are left to foresee what they can.
#[cfg(not(target_arch = "x86_64"))]
const fn fetch<T>(_: &[T]) {}
