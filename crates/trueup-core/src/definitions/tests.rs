use super::{
    Case, DefinedDimension, Definitions, DimensionDefinition, MAX_DEFINITIONS_BYTES, MetricDefinition, Otherwise,
};
use crate::Interrupt;
use crate::dictionary::{Additivity, Unit};
use crate::interrupt::InterruptChecks;
use std::collections::BTreeSet;

fn refused(text: &str) -> String {
    match Definitions::parse(text) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn metric(rest: &str) -> String {
    refused(&format!("# a comment\n\n[[metric]]\nname = \"own\"\n{rest}"))
}

fn dimension(rest: &str) -> String {
    refused(&format!("[[dimension]]\nname = \"own\"\n{rest}"))
}

#[test]
fn a_name_that_means_something_else_is_refused() {
    let named = |name: &str| refused(&format!("[[metric]]\nname = \"{name}\"\nnumerator = [\"leads\"]"));
    let rule = "expected a letter, and then letters, digits or `_`, without accents";
    for name in ["", "1st", "my metric", "leads.previous", "größe", "a,b"] {
        assert_eq!(named(name), format!("line 1, metric `{name}`, `name`: `{name}`: {rule}"));
    }
    assert!(named("leads").ends_with("`leads`: the dictionary has a field of this name; choose another one"));
    for name in ["start", "end", "filter", "interval", "rowType", "adSpend", "industry"] {
        assert!(named(name).contains("another meaning"), "{}", named(name));
    }
    let twice = "[[metric]]\nname = \"own\"\nnumerator = [\"leads\"]\n[[dimension]]\nname = \"own\"\nfrom = \"zip\"\ncases = []";
    assert_eq!(refused(twice), "line 4, dimension `own`, `name`: `own`: another definition has this name");
}

#[test]
fn a_sum_is_made_of_counts_or_of_money() {
    let at = "line 3, metric `own`, `numerator`: ";
    assert_eq!(
        metric("numerator = [\"bookRate\"]"),
        format!(
            "{at}`bookRate`: this is a ratio (bookedCustomers / customers), and ratios do not add up; use the counts and \
             amounts that it is made of"
        )
    );
    assert_eq!(metric("numerator = []"), format!("{at}expected the name of at least one metric"));
    assert_eq!(
        metric("numerator = [\"leads\", \"-spend\"]"),
        format!("{at}`-spend`: its unit is currency, but that of `leads` is count; a sum has one unit")
    );
    assert_eq!(
        metric("numerator = [\"leeds\"]"),
        format!("{at}`leeds`: the dictionary has no metric of this name (did you mean `leads`?)")
    );
    assert_eq!(
        metric("numerator = [\"own\"]"),
        format!("{at}`own`: a metric is made of built-in ones, and this one is defined here")
    );
    assert!(metric("numerator = [\"campaign\"]").ends_with("this is a dimension, but a sum is made of metrics"));
    assert!(metric("numerator = [\"leads\"]\ndenominator = []").contains("`denominator`: expected the name"));
    assert!(
        metric("numerator = [\"leads\"]\nformat = \"text\"").ends_with("expected number, currency, percent or decimal")
    );
    assert!(metric("numerator = [\"leads\"]\ndirection = \"left\"").ends_with("expected up, down or neutral"));
}

#[test]
fn a_text_that_is_no_definition_is_refused_with_its_place() {
    assert!(metric("numerator = \"leads\"").starts_with("line 5, column 13: "), "{}", metric("numerator = \"leads\""));
    assert!(refused("[[metrik]]").contains("metrik"));
    assert!(metric("numerator = [\"leads\"]\nwhere = \"x\"").contains("unknown field `where`"));
    assert!(refused(&"#".repeat(2 << 20)).contains("expected at most"));
    assert_eq!(refused(""), "accepted");
}

#[test]
fn a_dimension_has_cases_or_a_part() {
    let at = "line 1, dimension `own`, ";
    let case = |case: &str| dimension(&format!("from = \"campaign\"\ncases = [{{ value = \"x\", {case} }}]"));
    assert_eq!(dimension("from = \"zip\""), format!("{at}`cases`: expected `cases` or `part`, but found neither"));
    assert!(dimension("from = \"zip\"\npart = \"year\"").contains("expected a dimension of dates"));
    assert!(dimension("from = \"month\"\npart = \"year\"").contains("expected a dimension of dates"));
    assert!(dimension("from = \"date\"\npart = \"hour\"").ends_with("`date`: only `dateTime` has hours"));
    assert!(dimension("from = \"date\"\npart = \"day\"").ends_with("expected year, quarter, weekday or hour"));
    assert!(dimension("from = \"date\"\npart = \"year\"\ncases = []").ends_with("but found both"));
    assert!(dimension("from = \"date\"\npart = \"year\"\notherwise = \"x\"").contains("`otherwise`"));
    assert!(dimension("from = \"leads\"\ncases = []").contains("this is a metric"));
    assert!(dimension("from = \"\"\ncases = []").contains("expected the name of a dimension"));
    assert!(dimension("from = \"own\"\ncases = []").contains("not from another definition"));
    assert!(
        case("regex = \"(\"").starts_with(&format!("{at}`cases`: case 1: the regular expression `(` does not compile"))
    );
    assert!(case("regex = \"x\", flags = \"q\"").contains("expected flags among"));
    assert!(case(&format!("regex = \"{}\"", "x".repeat(1_001))).contains("1001 characters, but 1000 are allowed"));
    assert!(case("equals = [\"a\"], flags = \"i\"").contains("`flags` are those of a `regex`"));
    assert!(case("equals = []").contains("at least one text"));
    assert!(case("equals = [\"a\"], from = 1").contains("but found several"));
    assert!(case("from = 2, below = 2").contains("no number is at least"));
    assert!(case("from = nan").contains("finite numbers"));
    assert!(dimension("from = \"zip\"\ncases = []\notherwise = { keep = false }").contains("`{ keep = false }`"));
    assert!(dimension("from = \"zip\"\ncases = []\notherwise = 1").contains("expected a text, or `{ keep = true }`"));
}

#[test]
fn columns_of_the_dataset_decide_what_is_known() {
    let definitions = Definitions::parse(
        "[[metric]]\nname = \"own\"\nnumerator = [\"leads\"]\n[[dimension]]\nname = \"place\"\nfrom = \"crew\"\ncases = []",
    );
    let definitions = definitions.unwrap_or_default();
    let refused = |columns: &[&str]| {
        let columns: BTreeSet<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        definitions.check_columns(&columns).err().map(|error| error.to_string())
    };
    assert_eq!(refused(&["crew"]), None);
    assert_eq!(
        refused(&["crews"]).as_deref(),
        Some(
            "line 4, dimension `place`, `from`: `crew`: neither the dictionary nor the dataset has this dimension (did you \
             mean `crews`?)"
        )
    );
    let own = refused(&["crew", "own"]).unwrap_or_default();
    assert_eq!(own, "line 1, metric `own`, `name`: `own`: the events of the dataset have a column of this name");
    assert!(refused(&["crew", "place"]).is_some());
}

#[test]
fn additivity_and_unit_follow_from_the_parts() {
    let of = |numerator: &[&str], denominator: Option<&str>| {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let declared = MetricDefinition {
            name: "own".to_owned(),
            numerator: names(numerator),
            denominator: denominator.map(|name| names(&[name])),
            ..MetricDefinition::default()
        };
        let definitions = Definitions::new(vec![declared], Vec::new()).unwrap_or_default();
        definitions.metric("own").map(|metric| (metric.additivity, metric.unit, metric.formula.to_string()))
    };
    let some = |additivity, unit, formula: &str| Some((additivity, unit, formula.to_owned()));
    assert_eq!(of(&["leads", "-soldLeads"], None), some(Additivity::EVERYWHERE, Unit::Count, "leads - soldLeads"));
    assert_eq!(of(&["customers"], None), some(Additivity::DIMENSIONS, Unit::Count, "customers"));
    assert_eq!(of(&["-spend", "cost"], None), some(Additivity::SPEND, Unit::Currency, "-spend + cost"));
    assert_eq!(
        of(&["closedRevenue", "-spend"], None),
        some(Additivity::SPEND_DIMENSIONS, Unit::Currency, "closedRevenue - spend")
    );
    assert_eq!(of(&["opportunityAgents"], None), some(Additivity::NOWHERE, Unit::Count, "opportunityAgents"));
    let per_dollar = some(Additivity::NOWHERE, Unit::CountPerCurrency, "leads / spend");
    assert_eq!(of(&["leads"], Some("spend")), per_dollar);
    assert_eq!(of(&["spend"], Some("leads")).map(|(_, unit, _)| unit), Some(Unit::CurrencyPerCount));
    assert_eq!(of(&["sold"], None), None);
}

/// Returns the text of a dimension for a text of its source.
fn mapped_text(dimension: &DefinedDimension, text: &str) -> String {
    dimension.mapping.map(text, &mut InterruptChecks::new(&Interrupt::default())).unwrap().into_owned()
}

#[test]
fn the_first_case_that_holds_gives_the_text() {
    let case = |value: &str| Case { value: value.to_owned(), ..Case::default() };
    let equals = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect());
    let cases = vec![
        Case { regex: Some("^b".to_owned()), flags: Some("i".to_owned()), ..case("starts with b") },
        Case { equals: equals(&["Brand", "x", "10.5"]), ..case("listed") },
        Case { from: Some(10.0), below: Some(20.0), ..case("ten to twenty") },
        Case { below: Some(0.0), ..case("negative") },
        Case { regex: Some("x".to_owned()), ..case("has x") },
    ];
    let mapped = |otherwise: Option<Otherwise>, texts: &[&str]| {
        let declared = DimensionDefinition {
            name: "own".to_owned(),
            from: "campaign".to_owned(),
            cases: Some(cases.clone()),
            otherwise,
            ..DimensionDefinition::default()
        };
        let definitions = Definitions::new(Vec::new(), vec![declared]).unwrap_or_default();
        // What is written is read again.
        let again = Definitions::parse(definitions.text()).unwrap_or_default();
        let dimension = again.dimension("own").unwrap();
        texts.iter().map(|text| mapped_text(dimension, text)).collect::<Vec<_>>().join("|")
    };
    let texts = ["Brand", "x", "10.5", "10", "20", "-0.5", "0", "xx", "1e1", ""];
    let known = "starts with b|listed|listed|ten to twenty|";
    assert_eq!(mapped(None, &texts), format!("{known}|negative||has x||"));
    assert_eq!(mapped(Some(Otherwise::Text("?".to_owned())), &texts), format!("{known}?|negative|?|has x|?|?"));
    assert_eq!(mapped(Some(Otherwise::Keep { keep: true }), &texts), format!("{known}20|negative|0|has x|1e1|"));
}

#[test]
fn parts_of_dates_are_texts() {
    let part = |part: &str, from: &str, text: &str| {
        let text_of = format!("[[dimension]]\nname = \"own\"\nfrom = \"{from}\"\npart = \"{part}\"");
        let definitions = Definitions::parse(&text_of).unwrap_or_default();
        definitions.dimension("own").map(|dimension| mapped_text(dimension, text))
    };
    let is = |text: &str| Some(text.to_owned());
    assert_eq!(part("year", "date", "2026-05-17"), is("2026"));
    assert_eq!(part("quarter", "firstBooked", "2026-12-31"), is("2026-Q4"));
    assert_eq!(part("weekday", "date", "2026-05-17"), is("7"));
    assert_eq!(part("weekday", "week", "1969-12-29"), is("1"));
    assert_eq!(part("weekday", "firstBooked", ""), is(""));
    assert_eq!(part("year", "ownColumn", "May"), is(""));
}

#[test]
fn definitions_that_no_dataset_can_have_are_refused() {
    let definition = Some("a".repeat(MAX_DEFINITIONS_BYTES));
    let metric = MetricDefinition {
        name: "net".to_owned(),
        numerator: vec!["leads".to_owned()],
        definition,
        ..MetricDefinition::default()
    };
    let refused = Definitions::new(vec![metric], Vec::new()).unwrap_err().to_string();
    assert!(refused.starts_with("expected at most 1048576 bytes, but found "), "{refused}");
}
