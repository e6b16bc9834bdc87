//! The control total of a partial result: what it covers, and what its sums add up to.

use super::PartialError;
use crate::aggregate::PartialResult;
use crate::execute::row_groups::{RowGroupSet, SelectedRowGroups};
use crate::{Error, Interrupt};
use serde::{Deserialize, Serialize};

/// What a partial result covers, counted where it was aggregated, and carried along through every merge.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ControlTotal {
    /// The row groups that were read.
    pub(crate) row_groups: RowGroupSet,
    /// The number of rows in these row groups.
    pub(crate) rows: u64,
    /// For each counter and each sum of the partial result, its sum over all groups. `None` until the result is merged
    /// or sent, because groups that never leave their thread need no check. In JSON each sum is a text: JSON has no
    /// integers of 128 bits.
    #[serde(with = "texts")]
    sums: Option<Vec<i128>>,
}

/// The partial result of a plan over some of its row groups.
#[derive(Debug)]
pub(crate) struct CoveredResult {
    pub(crate) result: PartialResult,
    pub(crate) control: ControlTotal,
}

impl ControlTotal {
    /// Returns the control total of a result that has just been aggregated from `rows` rows.
    pub(crate) const fn new(row_groups: RowGroupSet, rows: u64) -> Self {
        Self { row_groups, rows, sums: None }
    }

    /// Adds the control total of another partial result of the same plan.
    fn add(&mut self, other: &Self) -> Result<(), PartialError> {
        let row_groups = self.row_groups.union(&other.row_groups);
        self.row_groups = row_groups.map_err(|row_group| PartialError::Repeated { row_group })?;
        self.rows = self.rows.saturating_add(other.rows);
        let sums = self.sums.iter_mut().flatten().zip(other.sums.iter().flatten());
        sums.for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
        Ok(())
    }

    /// Checks that the sums of a partial result are those of the control total, if it has any.
    pub(crate) fn check_sums(&self, result: &PartialResult) -> Result<(), PartialError> {
        match &self.sums {
            Some(sums) if *sums != result.sums() => Err(PartialError::ControlTotal),
            _ => Ok(()),
        }
    }

    /// Checks that every planned row group is covered, and no other, with all of its rows.
    fn check_cover(&self, planned: &SelectedRowGroups<'_>) -> Result<(), PartialError> {
        let expected = planned.set();
        if let Some(row_group) = self.row_groups.difference(&expected).iter().next() {
            return Err(PartialError::Unplanned { row_group });
        }
        let missing = expected.difference(&self.row_groups);
        if missing.len() > 0 {
            return Err(PartialError::Missing { row_groups: missing.iter().collect(), planned: expected.len() });
        }
        match planned.rows() {
            rows if rows == self.rows => Ok(()),
            expected => Err(PartialError::Rows { expected, found: self.rows }),
        }
    }
}

impl CoveredResult {
    /// Sets the sums of the control total from the groups, if it has none. Call this before the groups are merged or
    /// sent.
    pub(crate) fn add_up(&mut self) {
        self.control.sums.get_or_insert_with(|| self.result.sums());
    }

    /// Adds another partial result of the same plan, which must cover other row groups.
    pub(crate) fn merge(&mut self, mut other: Self, interrupt: &Interrupt) -> Result<(), Error> {
        self.add_up();
        other.add_up();
        self.control.add(&other.control)?;
        Ok(self.result.merge(other.result, interrupt)?)
    }

    /// Returns the merged result, if it covers every planned row group exactly once and adds up to its control total.
    pub(crate) fn checked(self, planned: &SelectedRowGroups<'_>) -> Result<PartialResult, PartialError> {
        self.control.check_cover(planned)?;
        self.control.check_sums(&self.result)?;
        Ok(self.result)
    }
}

/// Integers as decimal texts.
mod texts {
    use serde::{Deserialize, Deserializer, Serializer, de};

    pub(super) fn serialize<S: Serializer>(numbers: &Option<Vec<i128>>, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(numbers.iter().flatten().map(i128::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<i128>>, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        texts.iter().map(|text| text.parse().map_err(de::Error::custom)).collect::<Result<_, _>>().map(Some)
    }
}
