//! The tables say what the specification says. This file is the specification: it lists every field once more, by hand,
//! so that an edit of a table is noticed.

use super::*;
use crate::model::Stage;
use std::collections::{BTreeMap, BTreeSet};

/// Every metric of the specification with its formula, in the spelling of the specification.
const METRICS: &str = "
    eventCount = Rows
    conversions = Conversions
    leads = Leads
    soldLeads = SoldLeads
    closedLeads = ClosedLeads
    opportunityCount = Opportunities
    total = Total
    customers = Customers
    matchedCustomers = MatchedCustomers
    unmatchedCustomers = UnmatchedCustomers
    payingCustomers = PayingCustomers
    bookedCustomers = BookedCustomers
    canceledCustomers = CanceledCustomers
    opportunityAgents = OpportunityAgents
    estimatedRevenue = EstimatedRevenue
    soldRevenue = SoldRevenue
    closedRevenue = ClosedRevenue
    revenuePotential = EstimatedRevenue + SoldRevenue + ClosedRevenue
    spend = AdSpend + ManagementFee
    campaignSpend = CampaignSpend
    cost = AdSpend
    clicks = Clicks
    impressions = Impressions
    gradedConversions = GradedConversions
    bookableConversions = BookedConversions + BookableUnbookedConversions
    bookedConversions = BookedConversions
    bookableUnbookedConversions = BookableUnbookedConversions
    unbookableConversions = UnbookableConversions
    percentConversionsGraded = GradedConversions / Conversions
    conversionQuality = BookedConversions + BookableUnbookedConversions / GradedConversions
    avgConversionsPerLead = Conversions / Leads
    avgCostPerConversion = AdSpend + ManagementFee / Conversions
    avgCostPerLead = AdSpend + ManagementFee / Leads
    avgCostPerPayingCustomer = AdSpend + ManagementFee / PayingCustomers
    avgCostPerBookedCustomer = AdSpend + ManagementFee / BookedCustomers
    avgTicket = SoldRevenue + ClosedRevenue / PayingCustomers
    bookRate = BookedCustomers / Customers
    matchRate = MatchedCustomers / Customers
    payingCustomerRate = PayingCustomers / Customers
    customerCancelRate = CanceledCustomers / Customers
    cancelRate = CanceledAfterBooking / BookedCustomers
    roasPotential = EstimatedRevenue + SoldRevenue + ClosedRevenue / AdSpend + ManagementFee
    roasClosed = ClosedRevenue / AdSpend + ManagementFee
    stepBookRate = BookedLeads / Leads
    stepEstimateRate = FirstBookedEstimated / FirstBooked
    stepSoldRate = FirstEstimatedSold / FirstEstimated
    stepCloseRate = FirstSoldClosed / FirstSold
";

const COMPUTED: &str = "
    account accountKey accountName currency adjustedType typeIsLast opportunityStartDate firstBooked firstEstimated
    firstSold firstClosed firstCanceled opportunityBooked date week month dateTime type opportunityId eventId
";

const STORED: &str = "
    campaign attributionCategory attributionChannel attributionDetail opportunityJobCampaign attributionDropDate
    conversionAttribution conversionCategory conversionChannel conversionCampaign conversionType conversionDropDate source
    agent detail opportunitySource opportunityType customerStatus businessUnit normalizedBusinessUnit opportunityAgent
    customerName technician zip sourceId opportunitySourceId customerEmail customerPhone createdDateTime
";

const LEAD_GRADING: &str = "
    conversionDetailedLabel conversionIntent conversionReasonUnbookable conversionReasonLost conversionOutOfServiceAreaZip
    conversionNotOfferedServiceRequested conversionNeedsManagementReview conversionPlannedFollowUpSubcategory
    conversionVersion conversionOriginalDetailedLabel conversionOriginalIntent conversionOriginalReasonUnbookable
    conversionOriginalReasonLost opportunityDetailedLabel opportunityReasonUnbookable opportunityReasonLost
    opportunityIntent conversionTranscript conversionCallOrChatSummary recordingPlayer opportunityTranscript
";

fn names(text: &str) -> BTreeSet<&str> {
    text.split_whitespace().collect()
}

fn named(keep: impl Fn(&Field) -> bool) -> BTreeSet<&'static str> {
    fields().filter(|field| keep(field)).map(|field| field.name).collect()
}

fn metrics() -> impl Iterator<Item = (&'static Field, &'static Metric)> {
    fields().filter_map(|field| metric(field.name))
}

fn dimensions() -> impl Iterator<Item = (&'static Field, &'static Dimension)> {
    fields().filter_map(|field| match &field.kind {
        FieldKind::Dimension(dimension) => Some((field, dimension)),
        FieldKind::Metric(_) => None,
    })
}

fn written(formula: Formula) -> String {
    let sum = |measures: &[Measure]| measures.iter().map(|m| format!("{m:?}")).collect::<Vec<_>>().join(" + ");
    match formula {
        Formula::Amount(measures) => sum(measures),
        Formula::Ratio { numerator, denominator } => format!("{} / {}", sum(numerator), sum(denominator)),
        Formula::Percentile { pair, percent } => format!("p{percent} {pair:?}"),
    }
}

#[test]
fn names_are_unique_and_found() {
    let unique = |text: fn(&Field) -> &str| all_fields().map(text).collect::<BTreeSet<_>>().len();
    assert_eq!(unique(|field| field.name), all_fields().count());
    assert_eq!(unique(|field| field.display_name), all_fields().count());
    for field in all_fields() {
        assert_eq!(super::field(field.name), Some(field));
    }
    assert!(super::field("").is_none());
    assert!(super::field("start").is_none() && super::field("end").is_none());
    assert!(metric("account").is_none());
}

#[test]
fn metrics_and_formulas_match_the_specification() {
    let specified: BTreeMap<&str, String> = METRICS
        .lines()
        .filter_map(|line| line.trim().split_once(" = "))
        .map(|(name, formula)| (name, formula.to_owned()))
        .collect();
    let actual: BTreeMap<&str, String> =
        metrics().map(|(field, metric)| (field.name, written(metric.formula))).collect();
    assert_eq!(actual, specified);
}

#[test]
fn each_pair_of_stages_has_five_metrics() {
    const PAIRS: &str = "LeadToBooked LeadToEstimated LeadToSold LeadToClosed BookedToEstimated BookedToSold \
         BookedToClosed EstimatedToSold EstimatedToClosed SoldToClosed";
    let expected: Vec<(String, String)> = PAIRS
        .split(' ')
        .flat_map(|pair| {
            [
                (format!("reached{pair}"), format!("Reached({pair})")),
                (format!("notReached{pair}"), format!("NotReached({pair})")),
                (format!("avgDays{pair}"), format!("Days({pair}) / Reached({pair})")),
                (format!("medianDays{pair}"), format!("p50 {pair}")),
                (format!("p90Days{pair}"), format!("p90 {pair}")),
            ]
        })
        .collect();
    let found: Vec<(String, String)> = duration_fields()
        .filter_map(|field| metric(field.name))
        .map(|(field, metric)| (field.name.to_owned(), written(metric.formula)))
        .collect();
    assert_eq!(found, expected);
    assert!(duration_fields().all(|field| fields().all(|other| other.name != field.name)));
    for (field, metric) in duration_fields().filter_map(|field| metric(field.name)) {
        let count = |direction| (Unit::Count, ValueFormat::Number, direction, Additivity::EVERYWHERE);
        let expected = if field.name.starts_with("reached") {
            count(Direction::Higher)
        } else if field.name.starts_with("notReached") {
            count(Direction::Lower)
        } else {
            (Unit::Days, ValueFormat::Decimal, Direction::Lower, Additivity::NOWHERE)
        };
        assert_eq!((metric.unit, field.format, metric.direction, metric.additivity), expected, "{}", field.name);
    }
    for pair in StagePair::ALL {
        let named = |stage: Stage| match stage {
            Stage::LeadOriginated => "Lead".to_owned(),
            other => format!("{other:?}"),
        };
        let (first, second) = pair.stages();
        assert_eq!(format!("{pair:?}"), format!("{}To{}", named(first), named(second)));
        for (measure, prefix) in [
            (Measure::Reached(pair), "reached"),
            (Measure::NotReached(pair), "notReached"),
            (Measure::Days(pair), "days"),
            (Measure::DayCounts(pair), "dayCounts"),
        ] {
            assert_eq!(measure.name(), format!("{prefix}{pair:?}"));
        }
    }
    assert_eq!(
        metric("p90DaysSoldToClosed").unwrap().1.formula.to_string(),
        "90th percentile of dayCountsSoldToClosed"
    );
}

#[test]
fn cohorts_have_one_more_metric() {
    let known: Vec<_> =
        cohort_fields().map(|field| (field.name, written(metric(field.name).unwrap().1.formula))).collect();
    assert_eq!(known, [("openLeads", "OpenLeads".to_owned())]);
    assert!(fields().all(|field| cohort_metric(field.name).is_none()));
    assert!(cohort_fields().all(|field| super::field(field.name) == Some(field)));
}

#[test]
fn dimensions_match_the_specification() {
    let computed: BTreeSet<_> =
        dimensions().filter(|(_, d)| d.source != DimensionSource::Stored).map(|(field, _)| field.name).collect();
    let stored: BTreeSet<_> =
        dimensions().filter(|(_, d)| d.source == DimensionSource::Stored).map(|(field, _)| field.name).collect();
    assert_eq!(computed, names(COMPUTED));
    assert_eq!(stored, names(STORED).union(&names(LEAD_GRADING)).copied().collect());
}

#[test]
fn each_computed_dimension_reads_its_own_source() {
    for (field, dimension) in dimensions() {
        if let DimensionSource::Computed(computed) = dimension.source {
            let source = format!("{computed:?}");
            let expected = if field.name == "accountKey" { "account" } else { field.name };
            assert_eq!(source.to_lowercase(), expected.to_lowercase());
        }
    }
}

#[test]
fn exactly_these_fields_belong_to_lead_grading() {
    let graded = |field: &Field| field.group == FieldGroup::LeadGrading;
    assert_eq!(named(|field| graded(field) && matches!(field.kind, FieldKind::Dimension(_))), names(LEAD_GRADING));
    assert_eq!(names(LEAD_GRADING).len(), 21);
    assert_eq!(
        named(|field| graded(field) && matches!(field.kind, FieldKind::Metric(_))),
        names(
            "gradedConversions bookableConversions bookedConversions bookableUnbookedConversions unbookableConversions \
             percentConversionsGraded conversionQuality"
        )
    );
}

#[test]
fn exactly_these_fields_have_benchmarks() {
    assert_eq!(
        named(|field| field.benchmark && matches!(field.kind, FieldKind::Metric(_))),
        names(
            "bookRate matchRate payingCustomerRate customerCancelRate avgTicket avgCostPerLead avgCostPerPayingCustomer \
             avgCostPerBookedCustomer roasPotential roasClosed"
        )
    );
    assert_eq!(
        named(|field| field.benchmark && matches!(field.kind, FieldKind::Dimension(_))),
        names("attributionCategory attributionChannel customerStatus normalizedBusinessUnit")
    );
}

#[test]
fn spend_has_exactly_these_dimensions() {
    let carried: BTreeMap<_, _> =
        dimensions().filter_map(|(field, d)| d.spend.map(|column| (field.name, column))).collect();
    let specified = [
        ("account", SpendColumn::Account),
        ("accountKey", SpendColumn::Account),
        ("accountName", SpendColumn::AccountName),
        ("currency", SpendColumn::Currency),
        ("date", SpendColumn::Date),
        ("week", SpendColumn::Week),
        ("month", SpendColumn::Month),
        ("attributionCategory", SpendColumn::AttributionCategory),
        ("attributionChannel", SpendColumn::AttributionChannel),
        ("campaign", SpendColumn::Campaign),
    ];
    assert_eq!(carried, BTreeMap::from(specified));
}

#[test]
fn each_definition_is_a_distinct_sentence() {
    let mut definitions = BTreeMap::new();
    for field in all_fields() {
        assert!(field.definition.ends_with('.') && field.definition.len() > 30, "{}", field.name);
        assert!(!field.definition.contains("  ") && !field.definition.contains('\n'), "{}", field.name);
        assert_eq!(definitions.insert(field.definition, field.name), None, "{}", field.name);
        for word in field.display_name.split([' ', '-']) {
            let small = ["on", "of", "per", "and", "or", "to"].contains(&word);
            assert!(small || word.starts_with(|c: char| c.is_ascii_uppercase()), "{}", field.display_name);
        }
    }
}

#[test]
fn definitions_state_the_value_shown_if_there_is_none() {
    for field in all_fields() {
        let said = match field.kind {
            FieldKind::Metric(_) => field.definition.contains("0 ") || field.definition.contains(" 0."),
            FieldKind::Dimension(_) => field.definition.contains("mpty"),
        };
        assert!(said, "{}", field.name);
    }
}

#[test]
fn definitions_of_spend_say_that_some_dimensions_do_not_split_it() {
    for (field, metric) in metrics() {
        let spends = metric.formula.measures().any(Measure::is_spend);
        assert_eq!(field.definition.contains("does not split"), spends, "{}", field.name);
        assert_eq!(field.group == FieldGroup::Spend, spends, "{}", field.name);
    }
}

#[test]
fn listed_values_match_formats() {
    const STAGES: [&str; 6] = ["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];
    for field in fields() {
        assert_eq!(field.format == ValueFormat::Boolean, field.values == ["true", "false"], "{}", field.name);
    }
    for name in ["type", "adjustedType"] {
        assert_eq!(field(name).unwrap().values, STAGES);
    }
    let grades = ["Bookable - Booked", "Bookable - Didn't Book", "Unbookable"];
    assert_eq!(field("conversionDetailedLabel").unwrap().values, grades);
}

#[test]
fn units_and_formats_fit_formulas() {
    let money = |measures: &[Measure]| {
        let kinds: BTreeSet<bool> = measures.iter().map(|measure| measure.is_money()).collect();
        assert_eq!(kinds.len(), 1, "the measures of a sum have different units");
        kinds.contains(&true)
    };
    for (field, metric) in metrics() {
        let unit = match metric.formula {
            Formula::Amount(measures) if money(measures) => Unit::Currency,
            Formula::Amount(_) => Unit::Count,
            Formula::Ratio { numerator, denominator } => match (money(numerator), money(denominator)) {
                (true, false) => Unit::CurrencyPerCount,
                (true, true) | (false, false) => Unit::Ratio,
                (false, true) => panic!("a count divided by money: {}", field.name),
            },
            Formula::Percentile { .. } => Unit::Days,
        };
        assert_eq!(metric.unit, unit, "{}", field.name);
        let fits: &[ValueFormat] = match unit {
            Unit::Count => &[ValueFormat::Number],
            Unit::Currency | Unit::CurrencyPerCount => &[ValueFormat::Currency],
            Unit::Ratio => &[ValueFormat::Percent, ValueFormat::Decimal],
            Unit::Days | Unit::CountPerCurrency => &[ValueFormat::Decimal],
        };
        assert!(fits.contains(&field.format), "{}", field.name);
    }
    let multiples: BTreeSet<_> =
        metrics().filter(|(field, _)| field.format == ValueFormat::Decimal).map(|(field, _)| field.name).collect();
    assert_eq!(multiples, names("avgConversionsPerLead roasPotential roasClosed"));
}

#[test]
fn exactly_these_metrics_add_up() {
    let adding = |additivity: Additivity| -> BTreeSet<&str> {
        metrics().filter(|(_, metric)| metric.additivity == additivity).map(|(field, _)| field.name).collect()
    };
    assert_eq!(
        adding(Additivity::EVERYWHERE),
        names(
            "eventCount conversions leads soldLeads closedLeads total gradedConversions bookableConversions \
             bookedConversions bookableUnbookedConversions unbookableConversions"
        )
    );
    assert_eq!(
        adding(Additivity::DIMENSIONS),
        names(
            "customers matchedCustomers unmatchedCustomers payingCustomers bookedCustomers canceledCustomers \
             estimatedRevenue soldRevenue closedRevenue revenuePotential"
        )
    );
    assert_eq!(adding(Additivity::SPEND), names("spend campaignSpend cost clicks impressions"));
    let ratios = named(|field| matches!(&field.kind, FieldKind::Metric(Metric { formula: Formula::Ratio { .. }, .. })));
    assert_eq!(adding(Additivity::NOWHERE), &ratios | &names("opportunityCount opportunityAgents"));
}

#[test]
fn exactly_these_metrics_are_better_if_lower_or_neither() {
    let of = |direction: Direction| -> BTreeSet<&str> {
        metrics().filter(|(_, metric)| metric.direction == direction).map(|(field, _)| field.name).collect()
    };
    assert_eq!(
        of(Direction::Lower),
        names(
            "unmatchedCustomers canceledCustomers bookableUnbookedConversions unbookableConversions avgCostPerConversion \
             avgCostPerLead avgCostPerPayingCustomer avgCostPerBookedCustomer customerCancelRate cancelRate"
        )
    );
    assert_eq!(
        of(Direction::Neutral),
        names("eventCount opportunityCount opportunityAgents total spend campaignSpend cost avgConversionsPerLead")
    );
}

#[test]
fn a_synonym_is_no_field_and_means_fields() {
    let spelled = |name: &str| name.to_lowercase().replace(' ', "");
    let mut seen: BTreeSet<String> = fields().map(|field| spelled(field.name)).collect();
    for (synonym, meant) in synonyms::SYNONYMS {
        assert!(seen.insert(spelled(synonym)), "{synonym} is a field, or occurs twice");
        assert!(!meant.is_empty() && meant.iter().all(|name| field(name).is_some()), "{synonym}: {meant:?}");
        assert_eq!(similar_names(synonym, &BTreeSet::new()), *meant, "{synonym}");
    }
}

#[test]
fn names_of_other_tools_lead_to_fields() {
    let columns = BTreeSet::from(["crewName".to_owned(), "Channel".to_owned()]);
    let similar = |name| similar_names(name, &columns);
    assert_eq!(similar("roas"), ["roasClosed", "roasPotential"]);
    assert_eq!(similar("ROAS"), similar("roas"));
    for name in ["cpl", "costPerLead", "avg_cost_per_lead", "Cost per Lead", "leadCost", "avgCostPerLaed"] {
        assert_eq!(similar(name), ["avgCostPerLead"], "{name}");
    }
    // A column that is spelled alike, and the fields that the name is a synonym of.
    assert_eq!(similar("channel"), ["Channel", "attributionChannel", "conversionChannel"]);
    assert_eq!(similar("chanel"), ["attributionChannel", "conversionChannel"]);
    assert_eq!(similar("name_of_crew"), ["crewName"]);
    assert_eq!(similar("cpm"), [""; 0]);
}
