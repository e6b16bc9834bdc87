//! The change of a number, as `why` explains it: by the customers of each class.

use crate::number::{ColumnStyle, counted, readable, readable_with};
use trueup::definitions::Definitions;
use trueup::{ExplainedMeasure, ExplainedMetric, Value};

/// How a number changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedChange {
    /// The earlier value and the change, as in `before 50.0%, change +30.00 pp`.
    pub change: String,
    /// What each class of customers, agents or campaigns has to do with it. A class of nobody is left out.
    pub classes: Vec<String>,
}

impl ExplainedChange {
    /// Returns how a metric changed, with the classes of a ratio over customers; `None` if it is not compared.
    #[must_use]
    pub fn of_metric(definitions: &Definitions, metric: &ExplainedMetric) -> Option<Self> {
        let of = metric.change.as_ref()?;
        let name = &metric.name;
        let readable = |value| readable_with(definitions, name, value);
        let [previous, change] = metric.compared()?;
        let change = format!("before {}, change {}", readable(previous), signed(definitions, name, change));
        let classes = of.classes.iter().filter(|class| class.customers > 0).map(|class| {
            let [previous, current] = [class.previous, class.current].map(readable);
            let [rate, mix] = [class.rate_effect, class.mix_effect].map(|effect| signed(definitions, name, effect));
            let (name, customers) = (class.class.name(), counted(class.customers, "customer"));
            format!("{name}: {customers}, before {previous}, now {current}, rate effect {rate}, mix effect {mix}")
        });
        Some(Self { change, classes: classes.collect() })
    }

    /// Returns how a measure changed; `None` if it is not compared.
    #[must_use]
    pub fn of_measure(measure: &ExplainedMeasure) -> Option<Self> {
        let of = measure.change.as_ref()?;
        // A metric whose numbers look like those of the measure.
        let like = if matches!(measure.sum, Value::Money(_)) { "total" } else { "eventCount" };
        let signed = |value| signed(&Definitions::default(), like, value);
        let change = format!("before {}, change {}", readable(like, of.previous), signed(of.change));
        let classes = of.classes.iter().filter(|class| class.counted > 0);
        let classes = classes.map(|class| {
            format!("{}: {}, {}", class.class.name(), signed(class.change), counted(class.counted, of.unit))
        });
        Some(Self { change, classes: classes.collect() })
    }
}

/// Formats a change or an effect of a metric.
fn signed(definitions: &Definitions, metric: &str, value: Value<'_>) -> String {
    let mut text = String::new();
    ColumnStyle::of(definitions, &format!("{metric}.change")).push(&mut text, value);
    text
}
