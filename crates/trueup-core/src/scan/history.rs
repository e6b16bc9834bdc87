//! The stages that events and customers reach.

use super::Runs;
use std::ops::Range;

/// Codes of the funnel's stages.
pub(crate) mod stage {
    use crate::model::Stage;

    pub(crate) const LEAD_ORIGINATED: u8 = Stage::LeadOriginated.code();
    pub(crate) const BOOKED: u8 = Stage::Booked.code();
    pub(crate) const ESTIMATED: u8 = Stage::Estimated.code();
    pub(crate) const SOLD: u8 = Stage::Sold.code();
    pub(crate) const CLOSED: u8 = Stage::Closed.code();
    pub(crate) const CANCELED: u8 = Stage::Canceled.code();
    /// How many stages there are; codes are below.
    pub(crate) const COUNT: usize = Stage::ALL.len();
}

/// What each event is in its customer's history, whatever range is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histories {
    /// Per event, the code of its stage and the flags below.
    events: Vec<u8>,
    /// Per customer, a bit by stage: those that occur.
    met: Vec<u8>,
}

impl Histories {
    /// The bits of an event that are its stage.
    const STAGE: u8 = 0b0111;
    /// The customer has no earlier event of the stage.
    const FIRST_OF_STAGE: u8 = 0b0_1000;
    /// The customer has no earlier event.
    const FIRST: u8 = 0b1_0000;
    /// How many values an event can have.
    pub(crate) const EVENT_VALUES: usize = 0b10_0000;

    /// `stages` are the codes of the events' stages.
    pub(crate) fn new(mut stages: Vec<u8>, runs: &Runs) -> Self {
        let mut met = Vec::with_capacity(runs.len());
        for customer in 0..runs.len() {
            let mut before = 0_u8;
            for event in &mut stages[runs.events(customer)] {
                let bit = 1 << *event;
                *event |= if before & bit == 0 { Self::FIRST_OF_STAGE } else { 0 };
                *event |= if before == 0 { Self::FIRST } else { 0 };
                before |= bit;
            }
            met.push(before);
        }
        Self { events: stages, met }
    }

    /// Per event, a value of which the functions below tell more.
    pub(crate) fn events(&self) -> &[u8] {
        &self.events
    }

    /// Per customer, a bit by stage: those that ever occur.
    pub(crate) fn met(&self) -> &[u8] {
        &self.met
    }

    /// The code of an event's stage.
    pub(crate) const fn stage(event: u8) -> u8 {
        event & Self::STAGE
    }

    /// Whether an event is its customer's first of its stage.
    pub(crate) const fn is_first_of_stage(event: u8) -> bool {
        event & Self::FIRST_OF_STAGE != 0
    }

    /// Whether an event is its customer's first.
    pub(crate) const fn is_first(event: u8) -> bool {
        event & Self::FIRST != 0
    }

    /// The first of a customer's events that has the stage.
    pub(crate) fn first(&self, customer: Range<usize>, stage: u8) -> Option<usize> {
        let start = customer.start;
        self.events[customer].iter().position(|event| Self::stage(*event) == stage).map(|at| start + at)
    }

    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.events.len() + self.met.len()
    }
}
