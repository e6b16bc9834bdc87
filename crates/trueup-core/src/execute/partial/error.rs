//! Why partial results are refused.

use crate::Shown;

/// Why a split, a partial result or a merge is refused. What is refused never enters an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartialError {
    /// A split or a partial result is of another dataset, or of another version of it.
    #[error(
        "expected a split or a partial result of {expected}, but found one of {found}; open the version that planned \
         the splits, or plan them again and run all of them"
    )]
    OtherDataset {
        /// The dataset that was expected, by its version.
        expected: String,
        /// The dataset that was found.
        found: String,
    },
    /// A split or a partial result is of another query.
    #[error("the split or the partial result is of another query; plan the splits of this query, and run those")]
    OtherQuery,
    /// A split or a partial result was made by a program that defines metrics differently.
    #[error(
        "the split or the partial result was made with version {found} of the semantics, but this program has version \
         {expected}; run the same program everywhere"
    )]
    OtherSemantics {
        /// The version of this program.
        expected: u32,
        /// The version found.
        found: u32,
    },
    /// Two partial results cover the same row group.
    #[error("row group {row_group} is covered twice; merge the partial result of each split once")]
    Repeated {
        /// The number of the row group.
        row_group: u32,
    },
    /// Row groups that the query reads are not covered.
    #[error(
        "{} of {planned} row groups {} not covered ({}); run the splits that contain {}, and merge their results",
        row_groups.len(), if row_groups.len() == 1 { "is" } else { "are" }, listed(row_groups),
        if row_groups.len() == 1 { "it" } else { "them" }
    )]
    Missing {
        /// The numbers of the row groups that are not covered.
        row_groups: Vec<u32>,
        /// The number of row groups that the query reads.
        planned: usize,
    },
    /// A row group is covered that the query does not read, or that the dataset does not have.
    #[error("row group {row_group} is not one that the query reads; plan the splits of this query, and run those")]
    Unplanned {
        /// The number of the row group.
        row_group: u32,
    },
    /// The covered row groups have another number of rows than the dataset says.
    #[error(
        "the partial results cover {found} rows, but the dataset has {expected} in these row groups; \
         run the splits again"
    )]
    Rows {
        /// The number of rows in the dataset.
        expected: u64,
        /// The number of rows covered.
        found: u64,
    },
    /// The groups do not add up to what was counted when they were aggregated.
    #[error("the groups of the partial result do not add up to its control total; run its split again")]
    ControlTotal,
    /// The bytes of a partial result have changed, or the bytes are no partial result.
    #[error("the bytes are not those of a partial result ({}); run its split again", Shown(.reason))]
    Damaged {
        /// What is wrong with the bytes.
        reason: String,
    },
    /// A partial result cannot be written as bytes, because a sum is too long.
    #[error("the partial result cannot be written as bytes ({}); ask for fewer events per group", Shown(.reason))]
    NotWritable {
        /// What the writer found.
        reason: String,
    },
}

/// Returns the first numbers of a list, and how many more there are.
fn listed(numbers: &[u32]) -> String {
    const SHOWN: usize = 5;
    let first: Vec<String> = numbers.iter().take(SHOWN).map(u32::to_string).collect();
    let rest = if numbers.len() > SHOWN { format!(" and {} more", numbers.len() - SHOWN) } else { String::new() };
    let noun = if numbers.len() == 1 { "number" } else { "numbers" };
    format!("{noun} {}{rest}", first.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_row_group_is_missing_and_several_are() {
        let message =
            |row_groups: &[u32]| PartialError::Missing { row_groups: row_groups.into(), planned: 9 }.to_string();
        assert_eq!(
            message(&[2]),
            "1 of 9 row groups is not covered (number 2); run the splits that contain it, and merge their results"
        );
        assert_eq!(
            message(&[0, 1, 2, 3, 5, 8]),
            "6 of 9 row groups are not covered (numbers 0, 1, 2, 3, 5 and 1 more); run the splits that contain them, \
             and merge their results"
        );
    }
}
