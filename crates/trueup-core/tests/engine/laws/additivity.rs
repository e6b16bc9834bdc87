//! Checks that metrics add up where the dictionary says so.

use super::figures::Figures;
use super::law_case::{LawCase, amounts, law_case, metrics, names, spend_has};
use proptest::prelude::*;
use trueup_core::dictionary::{Additivity, Measure};
use trueup_core::query::{Filter, Interval};

/// The dimensions that depend on a customer's state, and so on how the range is cut into sub-ranges.
const STATE_DIMENSIONS: [&str; 2] = ["adjustedType", "typeIsLast"];

fn adds_over(additivity: Additivity, dimensions: &[String]) -> bool {
    let (of_spend, other): (Vec<_>, Vec<_>) = dimensions.iter().partition(|name| spend_has(name));
    let adds_at_all = additivity.across_spend_dimensions || additivity.across_other_dimensions;
    adds_at_all
        && (of_spend.is_empty() || additivity.across_spend_dimensions)
        && (other.is_empty() || additivity.across_other_dimensions)
}

/// Returns the metrics that add up, without `campaignSpend` if there are refunds: a group without events has no row if
/// `spend`, `cost`, clicks and impressions are all 0, but with refunds its `campaignSpend` need not be 0.
fn additive(asked: &LawCase, adds: impl Fn(Additivity) -> bool) -> Vec<&'static str> {
    let with_refunds =
        if asked.has_refunds() { amounts(|measure| measure == Measure::CampaignSpend) } else { Vec::new() };
    let names = metrics().filter(|(_, metric)| adds(metric.additivity)).map(|(field, _)| field.name);
    names.filter(|name| !with_refunds.contains(name)).collect()
}

fn depends_on_states(filter: &Filter) -> bool {
    names(filter).into_iter().any(|name| STATE_DIMENSIONS.contains(&name))
}

proptest! {
    #![proptest_config(super::config())]

    /// The sum may be over one dimension, over some, or over all.
    #[test]
    fn additive_metrics_add_up_over_dimensions((asked, kept) in (law_case(), any::<[bool; 16]>())) {
        let metrics = additive(&asked, |additivity| adds_over(additivity, &asked.dimensions));
        let kept: Vec<bool> = kept.into_iter().cycle().take(asked.dimensions.len()).collect();
        let coarse: Vec<&str> =
            asked.dimensions.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(name, _)| name.as_str()).collect();
        let whole = asked.ask(&asked.query(coarse.iter().copied().chain(metrics.iter().copied())));
        let parts = asked.ask(&asked.query(asked.fields(&metrics)));
        let parts = Figures::new(&parts, &asked.dimensions, &metrics).regrouped(|(start, values)| {
            (start, values.into_iter().zip(&kept).filter(|(_, kept)| **kept).map(|(value, _)| value).collect())
        });
        parts.check_equal(&Figures::new(&whole, &coarse, &metrics))?;
    }

    #[test]
    fn additive_metrics_add_up_over_sub_ranges(mut asked in law_case()) {
        asked.dimensions.retain(|name| !STATE_DIMENSIONS.contains(&name.as_str()));
        asked.filter = asked.filter.take().filter(|filter| !depends_on_states(filter));
        let adds = |additivity: Additivity| additivity.across_intervals && adds_over(additivity, &asked.dimensions);
        let metrics = additive(&asked, adds);
        let query = asked.query(asked.fields(&metrics));
        let whole = asked.ask(&query.clone().interval(Interval::Total));
        for interval in [Interval::Month, Interval::Week, Interval::Day] {
            let parts = asked.ask(&query.clone().interval(interval));
            let parts = Figures::new(&parts, &asked.dimensions, &metrics)
                .regrouped(|(_, values)| (String::new(), values));
            parts.check_equal(&Figures::new(&whole, &asked.dimensions, &metrics))?;
        }
    }
}
