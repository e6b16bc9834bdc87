//! Where the rows are that share an event id although they are several events.

use crate::error::{InputLocation, RowFault, Rule};
use std::path::{Path, PathBuf};
use trueup_core::Shown;
use trueup_core::model::Reason;

/// The places of rows that share event ids, by the number of the id. The inputs are read twice: first their places are
/// collected, and then each row is rejected with the places of two rows that differ.
pub(crate) struct SharedIdPlaces {
    ids: Vec<IdPlaces>,
    is_known: bool,
}

/// The first row with an id, and the first one that differs from it.
#[derive(Default)]
struct IdPlaces {
    first: Option<EventPlace>,
    other: Option<EventPlace>,
}

/// An event and where its row is.
struct EventPlace {
    event: String,
    file: PathBuf,
    location: InputLocation,
}

impl SharedIdPlaces {
    /// Begins without places. `ids` is the number of ids.
    pub(crate) fn new(ids: usize) -> Self {
        Self { ids: std::iter::repeat_with(IdPlaces::default).take(ids).collect(), is_known: false }
    }

    /// Ends the collection of places: from now on, rows are rejected.
    pub(crate) fn into_known(self) -> Self {
        Self { is_known: true, ..self }
    }

    /// Takes a faulty row. Returns it with the places of the rows that share its id if these are known; `None` if the
    /// row is not to be rejected, because places are collected, or because its fault is another one.
    pub(crate) fn take(&mut self, file: &Path, fault: RowFault) -> Option<RowFault> {
        let Rule::Value(Reason::SharedId { id, event }) = &fault.rule else { return None };
        let places = self.ids.get_mut(*id)?;
        if self.is_known {
            let found = places.found(fault.value.as_deref().unwrap_or_default());
            return Some(RowFault { found, ..fault });
        }
        places.add(event, file, fault.location);
        None
    }
}

impl IdPlaces {
    fn add(&mut self, event: &str, file: &Path, location: InputLocation) {
        let place = || Some(EventPlace { event: event.to_owned(), file: file.to_owned(), location });
        match &self.first {
            None => self.first = place(),
            Some(first) if self.other.is_none() && first.event != event => self.other = place(),
            Some(_) => {}
        }
    }

    /// Returns what was found in place of one event, as the rest of the sentence that the rule begins.
    fn found(&self, id: &str) -> String {
        let place = |EventPlace { event, file, location }: &EventPlace| {
            format!("on {event} (`{}`, {location})", file.display())
        };
        let places: Vec<String> = [&self.first, &self.other].into_iter().flatten().map(place).collect();
        format!(", but found `{}` {}", Shown(id), places.join(" and "))
    }
}
