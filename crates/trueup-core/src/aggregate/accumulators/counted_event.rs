//! An event that a measure counts, with the history of its customer: what rules speak of.

use crate::aggregate::explain::Contribution;
use crate::aggregate::segment::SegmentOutcome;
use crate::model::{EVENT_ID, Stage};
use crate::query::CohortWindow;
use crate::scan::EventColumns;
use crate::{Day, Shown};
use std::ops::Range;

/// An event that a measure counts, or the state event of a customer that it counts.
#[derive(Debug)]
pub(crate) struct CountedEvent<'a> {
    /// The columns of the row group, with the ids of events.
    pub(super) columns: &'a EventColumns,
    customer: usize,
    /// The event itself.
    pub(super) event: usize,
    /// The events of the customer that exist for the query: all or, in a cohort, those up to the end of the window.
    pub(super) history: Range<usize>,
    /// The events of the sub-range among them.
    pub(super) segment: Range<usize>,
    pub(super) outcome: SegmentOutcome,
    pub(super) cohort: Option<CohortWindow>,
    /// The last day of the events, where a measure depends on it.
    pub(super) last_event: Option<Day>,
}

impl<'a> CountedEvent<'a> {
    pub(crate) fn new(
        columns: &'a EventColumns,
        counted: &Contribution,
        cohort: Option<CohortWindow>,
        last_event: Option<Day>,
    ) -> Self {
        let (customer, first) = (counted.customer as usize, counted.first as usize);
        let segment = first..first + counted.length as usize;
        let mut history = columns.customers.events(customer);
        if cohort.is_some() {
            history.end = segment.end;
        }
        let flags = columns.histories.events().slice(history.clone());
        let outcome = SegmentOutcome::new(flags, segment.start - history.start..segment.end - history.start);
        Self { columns, customer, event: counted.event as usize, history, segment, outcome, cohort, last_event }
    }

    /// Returns the id of the event; empty if it has none.
    pub(crate) fn event_id(&self) -> &'a str {
        self.id(self.event)
    }

    /// Returns the stage of the event.
    pub(crate) fn stage(&self) -> &'static str {
        self.stage_of(self.event).name()
    }

    /// Returns which event is the state event, and why.
    pub(crate) fn state(&self) -> String {
        let state = Stage::from_code(self.outcome.state).unwrap_or(Stage::Canceled);
        let canceled = self.last_canceled().map(|canceled| self.reference(canceled));
        let furthest = self.segment.clone().map(|event| self.stage_of(event)).filter(|stage| *stage != Stage::Canceled);
        match (state, canceled, furthest.max()) {
            (Stage::Canceled, Some(canceled), Some(furthest)) => {
                format!("state event: {}, but canceled by {canceled}", furthest.name())
            }
            (Stage::Canceled, _, _) => "state event: the last cancellation, with nothing else".to_owned(),
            (Stage::Closed, Some(canceled), _) => {
                format!("state event: the last closed event; {canceled} cancels nothing, because work is closed")
            }
            (Stage::Closed, None, _) => "state event: the last closed event".to_owned(),
            (state, Some(canceled), _) => {
                format!("state event: the last live {} event; {canceled} undid what came before it", state.name())
            }
            (state, None, _) => format!("state event: the last live {} event", state.name()),
        }
    }

    /// Returns the last cancellation in the sub-range.
    pub(super) fn last_canceled(&self) -> Option<usize> {
        self.segment.clone().rfind(|event| self.stage_of(*event) == Stage::Canceled)
    }

    /// Returns the first of some events that has a stage.
    pub(super) fn first(&self, mut events: Range<usize>, stage: Stage) -> Option<usize> {
        events.find(|event| self.stage_of(*event) == stage)
    }

    /// Returns the stage of an event of the history.
    pub(super) fn stage_of(&self, event: usize) -> Stage {
        // An event of the history has a stage.
        Stage::from_code(self.columns.histories.events().get(event).stage()).unwrap_or(Stage::Canceled)
    }

    fn id(&self, event: usize) -> &'a str {
        self.columns.text(EVENT_ID).map_or("", |ids| &ids.dictionary()[ids.code(self.customer, event)])
    }

    /// Returns the text of the counted event in a column.
    pub(super) fn text(&self, column: &str) -> &'a str {
        self.columns.text(column).map_or("", |texts| &texts.dictionary()[texts.code(self.customer, self.event)])
    }

    /// Returns the day of an event.
    pub(super) fn day(&self, event: usize) -> Day {
        Day::from_number(self.columns.days[event])
    }

    /// Names an event by its id and its day or, without an id, by its stage and its day.
    pub(super) fn reference(&self, event: usize) -> String {
        match self.id(event) {
            "" => format!("the {} event on {}", self.stage_of(event).name(), self.day(event)),
            id => format!("event {} on {}", Shown(id), self.day(event)),
        }
    }

    /// Names an event by its id or, without one, by its day.
    pub(super) fn short(&self, event: usize) -> String {
        match self.id(event) {
            "" => self.day(event).to_string(),
            id => Shown(id).to_string(),
        }
    }
}
