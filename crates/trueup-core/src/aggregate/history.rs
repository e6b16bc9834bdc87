//! What a customer's whole history says, whatever range is asked.

use crate::scan::{Split, stage};

/// Where a customer's events of each stage begin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct History {
    first: [Option<usize>; stage::COUNT],
    last_canceled: Option<usize>,
}

impl History {
    /// Reads all events of a customer.
    pub(crate) fn of(split: &Split, customer: usize) -> Self {
        let mut history = Self::default();
        let events = split.runs.events(customer);
        let start = events.start;
        for (event, code) in (start..).zip(&split.stages[events]) {
            history.first[usize::from(*code)].get_or_insert(event);
            if *code == stage::CANCELED {
                history.last_canceled = Some(event);
            }
        }
        history
    }

    /// Whether the customer ever has an event of the stage.
    pub(crate) const fn ever(&self, stage: u8) -> bool {
        self.first[stage as usize].is_some()
    }

    /// The customer's first event of the stage.
    pub(crate) const fn first(&self, stage: u8) -> Option<usize> {
        self.first[stage as usize]
    }

    /// Whether the customer has a canceled event later in its order than `event`.
    pub(crate) fn canceled_after(&self, event: usize) -> bool {
        self.last_canceled.is_some_and(|canceled| canceled > event)
    }
}
