//! The measures that a query aggregates from events, and the places of counts and sums of money.

use crate::dictionary::{Measure, MeasureKind};
use crate::model::Stage;
use serde::{Deserialize, Serialize};

/// The measures that a query aggregates from events. Accumulators find theirs among them.
///
/// For the metrics `leads` and `soldRevenue`, `counts` is `[Leads]`, `money` is `[SoldRevenue]`, and `revenues` is
/// `Some(0)` for the state sold and `None` for the other states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Measure>", into = "Vec<Measure>")]
pub(crate) struct MeasureLayout {
    /// All measures, each once.
    measures: Vec<Measure>,
    /// Counts of rows, of the customers of rows, and of state rows.
    counts: Vec<Measure>,
    /// Sums of money.
    money: Vec<Measure>,
    /// By the code of a state, the place in `money` of the revenue of customers in that state; `None` if the query does
    /// not need it.
    pub(crate) revenues: [Option<usize>; Stage::ALL.len()],
}

impl MeasureLayout {
    /// Gives each count and each sum of money a place, in the order given. None of `measures` is one of spend.
    pub(crate) fn new(measures: &[Measure]) -> Self {
        let mut layout = Self::default();
        for (measure, _) in measures.iter().flat_map(|measure| measure.terms()) {
            if !layout.has(measure) {
                layout.measures.push(measure);
            }
        }
        for measure in &layout.measures {
            match measure.kind() {
                MeasureKind::Rows | MeasureKind::StateRows => layout.counts.push(*measure),
                MeasureKind::RowMoney | MeasureKind::StateMoney => {
                    if let Some(state) = measure.revenue_state() {
                        layout.revenues[usize::from(state.code())] = Some(layout.money.len());
                    }
                    layout.money.push(*measure);
                }
                _ => {}
            }
        }
        layout
    }

    /// Returns all measures, each once.
    pub(crate) fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// Returns the counts, in the order of their places.
    pub(crate) fn counts(&self) -> &[Measure] {
        &self.counts
    }

    /// Returns the sums of money, in the order of their places.
    pub(crate) fn money(&self) -> &[Measure] {
        &self.money
    }

    /// Returns whether the query needs a measure.
    pub(crate) fn has(&self, measure: Measure) -> bool {
        self.measures.contains(&measure)
    }

    /// Returns whether any measure depends on the states of customers.
    pub(crate) fn needs_states(&self) -> bool {
        self.measures.iter().any(|measure| measure.is_of_states())
    }
}

impl From<Vec<Measure>> for MeasureLayout {
    fn from(measures: Vec<Measure>) -> Self {
        Self::new(&measures)
    }
}

impl From<MeasureLayout> for Vec<Measure> {
    fn from(layout: MeasureLayout) -> Self {
        layout.measures
    }
}
