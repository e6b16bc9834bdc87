//! The measures that a query aggregates from events, and their places in the state of a group.

use crate::dictionary::{Measure, MeasureKind, StagePair};
use crate::model::Stage;
use serde::{Deserialize, Serialize};

/// The measures that a query aggregates from events, and the place of each.
///
/// For the metrics `leads` and `soldRevenue`, `counts` is `[Leads]`, `money` is `[SoldRevenue]`, and `revenues` is
/// `Some(0)` for the state sold and `None` for the other states.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Measure>", into = "Vec<Measure>")]
pub(crate) struct MeasureLayout {
    /// Counts of rows, of the customers of rows, and of state rows.
    counts: Vec<Measure>,
    /// Sums of money.
    money: Vec<Measure>,
    /// Whether distinct agents are counted.
    pub(crate) agents: bool,
    /// Durations between stages.
    durations: Vec<DurationLayout>,
    /// By the code of a state, the place in `money` of the revenue of customers in that state; `None` if the query does
    /// not need it.
    pub(crate) revenues: [Option<usize>; Stage::ALL.len()],
}

/// What a query aggregates of the durations between two stages: their number and their sum at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DurationLayout {
    pub(crate) pair: StagePair,
    /// Whether the durations of each number of days are counted, for percentiles.
    pub(crate) by_day: bool,
}

impl MeasureLayout {
    /// Gives each measure a place, in the order given. Measures of spend get none.
    pub(crate) fn new(measures: &[Measure]) -> Self {
        let mut layout = Self::default();
        for measure in measures {
            match measure.kind() {
                MeasureKind::Rows | MeasureKind::StateRows => layout.add_count(*measure),
                MeasureKind::RowMoney | MeasureKind::StateMoney => layout.money.push(*measure),
                MeasureKind::StateDistinct => layout.agents = true,
                MeasureKind::Durations => layout.add_durations(*measure),
                MeasureKind::SpendMoney | MeasureKind::SpendCount => {}
            }
        }
        for (state, measure) in [
            (Stage::Estimated, Measure::EstimatedRevenue),
            (Stage::Sold, Measure::SoldRevenue),
            (Stage::Closed, Measure::ClosedRevenue),
        ] {
            layout.revenues[usize::from(state.code())] = layout.money_place(measure);
        }
        layout
    }

    fn add_count(&mut self, measure: Measure) {
        if !self.counts.contains(&measure) {
            self.counts.push(measure);
        }
    }

    fn add_durations(&mut self, measure: Measure) {
        let pair = match measure {
            Measure::Reached(pair) | Measure::Days(pair) | Measure::DayCounts(pair) => pair,
            // The customers without a duration are the population without the customers that have one.
            Measure::NotReached(pair) => {
                self.add_count(pair.population());
                pair
            }
            _ => return,
        };
        let by_day = matches!(measure, Measure::DayCounts(_));
        match self.durations.iter_mut().find(|durations| durations.pair == pair) {
            Some(durations) => durations.by_day |= by_day,
            None => self.durations.push(DurationLayout { pair, by_day }),
        }
    }

    /// Returns the durations, in the order of their places.
    pub(crate) fn durations(&self) -> &[DurationLayout] {
        &self.durations
    }

    /// Returns the place of the durations of a pair, if the query needs them.
    pub(crate) fn duration_place(&self, pair: StagePair) -> Option<usize> {
        self.durations.iter().position(|durations| durations.pair == pair)
    }

    /// Returns the counts, in the order of their places.
    pub(crate) fn counts(&self) -> &[Measure] {
        &self.counts
    }

    /// Returns the sums of money, in the order of their places.
    pub(crate) fn money(&self) -> &[Measure] {
        &self.money
    }

    /// Returns the place of a count, if the query needs it.
    pub(crate) fn count_place(&self, measure: Measure) -> Option<usize> {
        self.counts.iter().position(|count| *count == measure)
    }

    /// Returns the place of a sum of money, if the query needs it.
    pub(crate) fn money_place(&self, measure: Measure) -> Option<usize> {
        self.money.iter().position(|sum| *sum == measure)
    }

    /// Returns whether the query needs a count or a sum.
    pub(crate) fn has(&self, measure: Measure) -> bool {
        self.counts.contains(&measure) || self.money.contains(&measure)
    }

    /// Returns whether any requested count depends on a conversion's grade.
    pub(crate) fn needs_grades(&self) -> bool {
        let graded = [
            Measure::GradedConversions,
            Measure::BookedConversions,
            Measure::BookableUnbookedConversions,
            Measure::UnbookableConversions,
        ];
        graded.into_iter().any(|measure| self.has(measure))
    }

    /// Returns whether any requested count depends on a customer's status.
    pub(crate) fn needs_statuses(&self) -> bool {
        self.has(Measure::MatchedCustomers) || self.has(Measure::UnmatchedCustomers)
    }

    /// Returns whether any requested measure depends on the states of customers.
    pub(crate) fn needs_states(&self) -> bool {
        let of_state = |measure: &Measure| matches!(measure.kind(), MeasureKind::StateRows | MeasureKind::StateMoney);
        self.agents || self.counts.iter().chain(&self.money).any(of_state)
    }
}

impl From<Vec<Measure>> for MeasureLayout {
    fn from(measures: Vec<Measure>) -> Self {
        Self::new(&measures)
    }
}

impl From<MeasureLayout> for Vec<Measure> {
    fn from(layout: MeasureLayout) -> Self {
        let agents = layout.agents.then_some(Measure::OpportunityAgents);
        let durations = layout.durations.iter().map(|DurationLayout { pair, by_day }| match by_day {
            true => Measure::DayCounts(*pair),
            false => Measure::Reached(*pair),
        });
        layout.counts.into_iter().chain(layout.money).chain(agents).chain(durations).collect()
    }
}
