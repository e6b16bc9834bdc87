//! What is grouped and filtered: rows, or whole segments where all their rows have the same values.

use super::rows::{Rows, Segment};

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Grain {
    Row,
    Segment,
}

/// Units, column by column.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units<'a> {
    pub(crate) grain: Grain,
    /// The event in the split; of a segment, its first.
    pub(crate) events: &'a [u32],
    /// The customer in the split.
    pub(crate) customers: &'a [u32],
    rows: &'a Rows,
}

/// The first events of segments, and their customers.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    events: Vec<u32>,
    customers: Vec<u32>,
}

impl<'a> Units<'a> {
    /// The rows themselves, or their segments, whose heads are put into `heads`.
    pub(crate) fn new(grain: Grain, rows: &'a Rows, heads: &'a mut Heads) -> Self {
        match grain {
            Grain::Row => Self { grain, events: &rows.events, customers: &rows.customers, rows },
            Grain::Segment => {
                let firsts = || rows.found.all.iter().map(|segment| segment.first as usize);
                heads.events.clear();
                heads.events.extend(firsts().map(|row| rows.events[row]));
                heads.customers.clear();
                heads.customers.extend(firsts().map(|row| rows.customers[row]));
                Self { grain, events: &heads.events, customers: &heads.customers, rows }
            }
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// The segment of each unit.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &'a Segment> {
        let (all, rows) = (&self.rows.found.all, &self.rows.segments);
        let is_row = self.grain == Grain::Row;
        (0..self.len()).map(move |unit| if is_row { &all[rows[unit] as usize] } else { &all[unit] })
    }
}
