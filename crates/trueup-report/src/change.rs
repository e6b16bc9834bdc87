//! What changed between two ranges, and why, in sentences, for others than reports.

use crate::figure::AnswerRow;
use crate::question::Answer;
use crate::sentences::{self, GroupNoun};
use trueup::ResultTable;

/// The answer to a query that compares two ranges, by one dimension and with totals.
#[derive(Debug)]
pub struct Change(Answer);

/// A dimension whose groups explain a change.
#[derive(Clone, Copy, Debug)]
pub struct Across<'a> {
    /// The dimension.
    pub dimension: &'a str,
    /// The most groups that a sentence names. The others are added up, unless there is only one.
    pub named: usize,
    /// Returns a value of the dimension as readers see it.
    pub label: fn(&str) -> String,
}

impl Change {
    /// Returns the change that an answer shows.
    #[must_use]
    pub const fn new(answer: ResultTable) -> Self {
        Self(Answer::alone(answer))
    }

    /// Says how a metric changed from one range to another, and whether that is better; `earlier` and `now` are their
    /// names.
    #[must_use]
    pub fn sentence(&self, metric: &str, earlier: &str, now: &str) -> String {
        sentences::change(metric, &self.0, AnswerRow::Totals, earlier, now).to_string()
    }

    /// Says what [`sentence`](Self::sentence) says, without whether that is better: for ranges of which one lacks days.
    #[must_use]
    pub fn sentence_without_verdict(&self, metric: &str, earlier: &str, now: &str) -> String {
        let sentence = self.sentence(metric, earlier, now);
        let verdicts = [sentences::BETTER, sentences::WORSE];
        let fact = verdicts.into_iter().find_map(|verdict| sentence.strip_suffix(verdict));
        fact.map(|fact| format!("{fact}.")).unwrap_or(sentence)
    }

    /// Says what the groups of a dimension contribute to the change of a metric. The contributions add up to it; those
    /// to a ratio have a part by the rate and a part by the mix. `None` if there is only one group, no group changed,
    /// or the change of a ratio cannot be split.
    #[must_use]
    pub fn contributions(&self, metric: &str, across: Across<'_>) -> Option<String> {
        let Across { dimension, named, label } = across;
        let (noun, nouns) = (format!("`{dimension}`"), format!("values of `{dimension}`"));
        let group = GroupNoun { dimension, noun: &noun, nouns: &nouns, named, label };
        sentences::contributions(metric, &self.0, group).map(|text| text.to_string())
    }
}
