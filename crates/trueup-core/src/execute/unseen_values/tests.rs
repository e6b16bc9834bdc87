use super::UnseenValue;
use crate::dataset::{Dataset, Tables};
use crate::query::{ComparisonOperator, EventsQuery, Filter, Operand, Predicate};
use crate::{Day, Execution};
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use std::sync::Arc;

fn texts<const N: usize>(texts: [&str; N]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

/// Returns a dataset with four events on three days, and spend for a campaign that has no event. The accounts have
/// different currencies, because a search must not be refused for money that the query does not ask for.
fn dataset() -> Dataset {
    let events = RecordBatch::try_from_iter([
        ("account", texts(["a", "a", "a", "b"])),
        ("opportunityId", texts(["1", "2", "3", "4"])),
        ("type", texts(["lead-originated"; 4])),
        ("date", texts(["2025-01-01", "2025-01-02", "2025-06-01", "2025-06-01"])),
        ("attributionChannel", texts(["Paid Search", "Paid Search", "Direct", "Referral"])),
        ("zip", texts(["00123", "", "00124", "00125"])),
        ("start", texts(["9 am"; 4])),
    ]);
    let spend = RecordBatch::try_from_iter([
        ("account", texts(["a"])),
        ("date", texts(["2025-01-01"])),
        ("campaign", texts(["Drains"])),
        ("impressions", Arc::new(Int64Array::from(vec![1])) as ArrayRef),
    ]);
    let accounts = RecordBatch::try_from_iter([("account", texts(["a", "b"])), ("currency", texts(["USD", "CAD"]))]);
    let (events, spend, accounts) = (vec![events.unwrap()], vec![spend.unwrap()], vec![accounts.unwrap()]);
    let tables = Tables { events, spend, accounts, ..Tables::default() };
    Dataset::from_tables(&tables).unwrap()
}

fn unseen(filter: Filter) -> Vec<UnseenValue> {
    let day: Day = "2025-01-01".parse().unwrap();
    // A query of one day and one account; values of other days and accounts count, too.
    let query = EventsQuery::new(["leads"], day, day).accounts(["a"]).filter(filter).allow_unknown(true);
    let (dataset, execution) = (dataset(), Execution::default());
    let unseen = dataset.unseen_values(&query, &execution).unwrap();
    // The same with queries that somebody else answers.
    let search = dataset.search_values(&query, &execution).unwrap();
    let answered = search.finish(|query, max_rows| {
        dataset.run(query, Execution { max_rows: Some(max_rows), ..Execution::default() }).map(Some)
    });
    assert_eq!(answered.unwrap(), unseen);
    unseen
}

fn messages(filter: Filter) -> Vec<String> {
    unseen(filter).iter().map(UnseenValue::to_string).collect()
}

#[test]
fn a_value_that_some_event_or_spend_has_is_not_reported() {
    for value in ["Paid Search", "Direct", "Referral", ""] {
        assert_eq!(messages(Filter::equals("attributionChannel", value)), [""; 0], "{value}");
    }
    assert_eq!(messages(Filter::equals("campaign", "Drains")), [""; 0]);
    assert_eq!(messages(Filter::field("zip", Predicate::Equals(Operand::Number(123.0)))), [""; 0]);
    assert_eq!(messages(Filter::equals("account", "b").and(Filter::equals("date", "2025-06-01"))), [""; 0]);
}

#[test]
fn a_value_that_no_event_has_is_reported_with_similar_ones() {
    let message = "no event and no spend of the dataset has the value `paid search` in `attributionChannel`; did you \
                   mean `Paid Search`?";
    assert_eq!(messages(Filter::equals("attributionChannel", "paid search")), [message]);
    // In any place of the filter, for `not` and `ne` too, and each value once.
    let excluded = Predicate::NotEquals(Operand::Text("paid search".to_owned()));
    let both = Filter::Any(vec![Filter::field("attributionChannel", excluded), Filter::equals("zip", "00124")]);
    let filter = Filter::Not(Box::new(both)).and(Filter::equals("attributionChannel", "paid search"));
    assert_eq!(messages(filter), [message]);

    let found = unseen(Filter::equals("attributionChannel", "Billboard"));
    assert_eq!(found[0].similar, [""; 0]);
    assert!(found[0].to_string().ends_with("; frequent values are `Paid Search`, `Direct`, `Referral`"));
    let number = Filter::field("zip", Predicate::Equals(Operand::Number(9_999_999.0)));
    let message = "no event and no spend of the dataset has the value `9999999` in `zip`";
    assert!(messages(number)[0].starts_with(message));
    // No event has the column.
    let message = "no event and no spend of the dataset has the value `Ann` in `agent`";
    assert_eq!(messages(Filter::equals("agent", "Ann")), [message]);
}

#[test]
fn values_that_need_not_occur_are_not_reported() {
    let compared = Predicate::Compare(ComparisonOperator::Less, Operand::Text("2025-03-01".to_owned()));
    let matched = Predicate::Matches { pattern: "none".to_owned(), flags: String::new() };
    for filter in [
        Filter::equals("type", "canceled"),
        Filter::equals("typeIsLast", "false"),
        Filter::equals("conversionDetailedLabel", "Unbookable"),
        Filter::equals("leads", "7"),
        Filter::equals("total", "7"),
        Filter::equals("unknown", "x"),
        Filter::equals("start", "10 am"),
        Filter::field("date", compared),
        Filter::field("attributionChannel", matched),
    ] {
        assert_eq!(messages(filter.clone()), [""; 0], "{filter:?}");
    }
    // A value that the dictionary does not list is reported.
    assert_eq!(messages(Filter::equals("type", "cancelled")).len(), 1);
}

#[test]
fn a_search_asks_only_for_what_the_first_row_group_does_not_have() {
    let (dataset, day) = (dataset(), "2025-01-01".parse().unwrap());
    let asked = |value: &str, known: bool| {
        let query = EventsQuery::new(["leads"], day, day).filter(Filter::equals("attributionChannel", value));
        let search = dataset.search_values(&query, &Execution::default()).unwrap();
        let mut asked = 0;
        let found = search.finish(|query, _| {
            asked += 1;
            // The third query is for all values of the field, which are too many for an answer unless `known`.
            let is_search = asked < 3;
            if is_search || known { dataset.query(query).map(Some) } else { Ok(None) }
        });
        (asked, found.unwrap().pop())
    };
    assert_eq!(asked("Paid Search", true), (0, None));
    let (queries, found) = asked("Billboard", true);
    assert_eq!((queries, found.map(|value| value.frequent.len())), (3, Some(3)));
    let (queries, found) = asked("Billboard", false);
    assert_eq!((queries, found.map(|value| value.frequent.len())), (3, Some(0)));
}

#[test]
fn nothing_is_reported_of_a_dataset_without_rows() {
    let day: Day = "2025-01-01".parse().unwrap();
    let query = EventsQuery::new(["leads"], day, day).filter(Filter::equals("campaign", "x"));
    let empty = Dataset::from_tables(&Tables::default()).unwrap();
    assert_eq!(empty.unseen_values(&query, &Execution::default()).unwrap(), []);
}
