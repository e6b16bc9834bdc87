use super::*;

const COMPUTED: &str = "accountKey accountName adjustedType typeIsLast opportunityStartDate firstBooked firstEstimated \
    firstSold firstClosed firstCanceled opportunityBooked week month";

const METRICS: &str = "eventCount conversions leads soldLeads closedLeads opportunityCount customers matchedCustomers \
    unmatchedCustomers payingCustomers bookedCustomers canceledCustomers opportunityAgents estimatedRevenue soldRevenue \
    closedRevenue revenuePotential spend campaignSpend cost clicks impressions gradedConversions bookableConversions \
    bookedConversions bookableUnbookedConversions unbookableConversions percentConversionsGraded conversionQuality \
    avgConversionsPerLead avgCostPerConversion avgCostPerLead avgCostPerPayingCustomer avgCostPerBookedCustomer avgTicket \
    bookRate matchRate payingCustomerRate customerCancelRate cancelRate roasPotential roasClosed stepBookRate \
    stepEstimateRate stepSoldRate stepCloseRate";

#[test]
fn computed_fields_and_metrics_are_ignored() {
    for name in COMPUTED.split(' ').chain(METRICS.split_whitespace()).filter(|name| !name.is_empty()) {
        assert!(is_ignored_event_column(name), "{name}");
    }
    assert!(is_ignored_event_column("trueup.customer"));
}

#[test]
fn stored_fields_and_unknown_names_are_kept() {
    let stored =
        LEADING.into_iter().chain(["campaign", "customerStatus", "conversionDetailedLabel", "zip", "myOwn", ""]);
    for name in stored {
        assert!(!is_ignored_event_column(name), "{name}");
    }
}

#[test]
fn extra_columns_are_sorted_by_name_without_duplicates() {
    let schema = stored_event_schema(["zip", "Zip", "campaign", "zip"]);
    assert_eq!(extra_columns(&schema).collect::<Vec<_>>(), ["Zip", "campaign", "zip"]);
    assert_eq!(schema.fields().len(), LEADING.len() + 3);
}

#[test]
fn duplicate_names_and_nested_columns_are_refused() {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let twice = Schema::new(vec![text("zip"), text("zip")]);
    assert_eq!(check_columns(&twice, &LEADING), Err(SchemaFault::DuplicateColumn { column: "zip".to_owned() }));
    let list = DataType::List(Arc::new(text("item")));
    let nested = Schema::new(vec![text("account"), Field::new("tags", list.clone(), true)]);
    let fault = check_columns(&nested, &LEADING).unwrap_err();
    assert_eq!(fault, SchemaFault::Nested { column: "tags".to_owned(), data_type: list });
    assert!(fault.to_string().starts_with("expected single values in column `tags`, but found nested ones"));
}
