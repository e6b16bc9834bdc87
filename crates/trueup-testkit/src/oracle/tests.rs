use std::collections::BTreeMap;

use chrono::NaiveDate;

use super::json::{Json, parse};
use super::values::{ExactAmount, average, decimal_number, ecmascript, json_string, timestamp};
use super::{
    AccountRow, Attribution, COMPUTED_FIELDS, Cell, Earlier, EventRow, GRADING_FIELDS, METRICS, Refusal, Request,
    SpendRow, Tables, Window, answer, compared,
};

fn day(text: &str) -> NaiveDate {
    text.parse().unwrap()
}

fn event(customer: &str, kind: &str, date: &str, units: Option<i64>) -> EventRow {
    EventRow {
        account: "a".to_owned(),
        opportunity_id: customer.to_owned(),
        kind: kind.to_owned(),
        date: Some(day(date)),
        date_time: None,
        event_id: None,
        total: units.map(|units| units * 1_000_000),
        other: BTreeMap::new(),
    }
}

fn with(mut event: EventRow, column: &str, text: &str) -> EventRow {
    event.other.insert(column.to_owned(), Cell::Text(text.to_owned()));
    event
}

fn spend(date: &str, campaign: Option<&str>, units: i64) -> SpendRow {
    SpendRow {
        account: "a".to_owned(),
        date: day(date),
        attribution_category: None,
        attribution_channel: None,
        campaign: campaign.map(str::to_owned),
        ad_spend: Some(units * 1_000_000),
        management_fee: None,
        clicks: None,
        impressions: None,
    }
}

fn january(fields: &str) -> Request {
    Request {
        fields: fields.split(',').map(str::to_owned).collect(),
        start: day("2025-01-01"),
        end: day("2025-01-31"),
        interval: "total".to_owned(),
        accounts: None,
        filters: Vec::new(),
        filter: Vec::new(),
        cohort: None,
        attribution: Attribution::Recorded,
    }
}

fn filtered(fields: &str, field: &str, value: &str) -> Request {
    let filters = vec![(field.to_owned(), value.to_owned())];
    Request { filters, ..january(fields) }
}

fn across(fields: &str, filter: &str) -> Request {
    Request { filter: vec![filter.to_owned()], ..january(fields) }
}

fn events(events: Vec<EventRow>) -> Tables {
    Tables { events, ..Tables::default() }
}

#[test]
fn no_name_is_both_a_metric_and_computed_or_of_lead_grading() {
    let mut names = [&METRICS[..], &COMPUTED_FIELDS[..], &GRADING_FIELDS[..]].concat();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), METRICS.len() + COMPUTED_FIELDS.len() + GRADING_FIELDS.len());
}

#[test]
fn empty_tables_give_one_row_of_zeros_without_dimensions_and_none_with() {
    let none = answer(&Tables::default(), &january("leads,avgTicket")).unwrap();
    assert_eq!(none, r#"[{"leads":0,"avgTicket":0}]"#);
    assert_eq!(answer(&Tables::default(), &january("leads,campaign")).unwrap(), "[]");
}

/// Returns three customers. c1: lead, booked, estimated at 100 and at 201. c2: lead and canceled. c3: closed with 50
/// and 25, then canceled.
fn three_customers() -> Tables {
    events(vec![
        with(event("c1", "lead-originated", "2025-01-02", None), "campaign", "x"),
        with(event("c1", "booked", "2025-01-03", None), "campaign", "x"),
        with(event("c1", "estimated", "2025-01-04", Some(100)), "campaign", "x"),
        with(event("c1", "estimated", "2025-01-05", Some(201)), "campaign", "x"),
        event("c2", "lead-originated", "2025-01-06", None),
        event("c2", "canceled", "2025-01-07", None),
        event("c3", "closed", "2025-01-08", Some(50)),
        event("c3", "closed", "2025-01-08", Some(25)),
        event("c3", "canceled", "2025-01-09", None),
    ])
}

#[test]
fn states_and_revenue_match_those_computed_by_hand() {
    let fields = "leads,customers,bookedCustomers,canceledCustomers,payingCustomers,estimatedRevenue,closedRevenue,\
                  revenuePotential,total,bookRate";
    // (100 + 201) / 2 = 150.5; 50 + 25 = 75; together 225.5; all totals 376; one of three customers booked.
    assert_eq!(
        answer(&three_customers(), &january(fields)).unwrap(),
        "[{\"leads\":2,\"customers\":3,\"bookedCustomers\":1,\"canceledCustomers\":2,\"payingCustomers\":1,\
         \"estimatedRevenue\":150.5,\"closedRevenue\":75,\"revenuePotential\":225.5,\"total\":376,\
         \"bookRate\":0.3333333333333333}]"
    );
    assert_eq!(
        answer(&three_customers(), &january("opportunityId,adjustedType,customers,opportunityId")).unwrap(),
        "[{\"opportunityId\":\"c1\",\"adjustedType\":\"estimated\",\"customers\":1},\
         {\"opportunityId\":\"c2\",\"adjustedType\":\"canceled\",\"customers\":1},\
         {\"opportunityId\":\"c3\",\"adjustedType\":\"closed\",\"customers\":1}]"
    );
}

#[test]
fn states_depend_on_the_sub_range_only_but_steps_on_the_whole_history() {
    let table = events(vec![
        event("c", "lead-originated", "2025-01-31", None),
        event("c", "booked", "2025-02-01", None),
        event("c", "canceled", "2025-03-01", None),
    ]);
    let request = Request {
        end: day("2025-02-28"),
        interval: "month".to_owned(),
        ..january("adjustedType,stepBookRate,cancelRate")
    };
    assert_eq!(
        answer(&table, &request).unwrap(),
        "[{\"start\":\"2025-01-01\",\"end\":\"2025-01-31\",\"adjustedType\":\"lead-originated\",\"stepBookRate\":1,\
         \"cancelRate\":0},\
         {\"start\":\"2025-02-01\",\"end\":\"2025-02-28\",\"adjustedType\":\"booked\",\"stepBookRate\":0,\"cancelRate\":1}]"
    );
}

#[test]
fn weeks_are_clipped_to_the_range() {
    let request = Request { end: day("2025-01-07"), interval: "week".to_owned(), ..january("leads") };
    // 2025-01-01 is a Wednesday.
    assert_eq!(
        answer(&Tables::default(), &request).unwrap(),
        "[{\"start\":\"2025-01-01\",\"end\":\"2025-01-05\",\"leads\":0},\
         {\"start\":\"2025-01-06\",\"end\":\"2025-01-07\",\"leads\":0}]"
    );
}

#[test]
fn the_last_row_of_an_id_wins_and_the_time_zone_decides_the_date() {
    let id = |mut event: EventRow| {
        event.event_id = Some("e".to_owned());
        event
    };
    let mut late = id(event("c2", "lead-originated", "2025-01-01", None));
    // 2025-01-02 03:00 UTC is 2025-01-01 in Chicago.
    (late.date, late.date_time) = (None, Some(1_735_786_800_000_000));
    let account = AccountRow { time_zone: "America/Chicago".to_owned(), ..AccountRow::defaults("a") };
    let table = Tables {
        events: vec![id(event("c1", "lead-originated", "2025-01-05", None)), late],
        accounts: vec![account],
        ..Tables::default()
    };
    assert_eq!(
        answer(&table, &january("opportunityId,date,dateTime,leads")).unwrap(),
        r#"[{"opportunityId":"c2","date":"2025-01-01","dateTime":"2025-01-02T03:00:00Z","leads":1}]"#
    );
}

#[test]
fn an_event_without_a_time_comes_first_if_it_is_a_lead_and_last_otherwise() {
    let mut booked = event("c", "booked", "2025-01-01", None);
    booked.date_time = Some(1_735_700_000_000_000);
    let table = events(vec![booked, event("c", "lead-originated", "2025-01-01", None)]);
    assert_eq!(answer(&table, &january("leads")).unwrap(), r#"[{"leads":1}]"#);
    let mut lead = event("d", "lead-originated", "2025-01-01", None);
    lead.date_time = Some(1_735_700_000_000_000);
    let table = events(vec![event("d", "booked", "2025-01-01", None), lead]);
    assert_eq!(answer(&table, &january("leads")).unwrap(), r#"[{"leads":1}]"#);
}

#[test]
fn spend_goes_to_its_campaign_or_to_the_empty_one() {
    let mut table = three_customers();
    table.spend = vec![
        spend("2025-01-10", Some("x"), 30),
        spend("2025-01-10", Some("y"), 7),
        spend("2025-01-11", None, 5),
        spend("2025-02-01", Some("x"), 1000),
    ];
    assert_eq!(
        answer(&table, &january("campaign,spend,leads,avgCostPerLead")).unwrap(),
        "[{\"campaign\":\"\",\"spend\":5,\"leads\":1,\"avgCostPerLead\":5},\
         {\"campaign\":\"x\",\"spend\":30,\"leads\":1,\"avgCostPerLead\":30},\
         {\"campaign\":\"y\",\"spend\":7,\"leads\":0,\"avgCostPerLead\":0}]"
    );
    // Spend does not carry the state, so every state shows all spend and no row is added.
    assert_eq!(
        answer(&table, &january("adjustedType,spend,campaignSpend")).unwrap(),
        "[{\"adjustedType\":\"canceled\",\"spend\":42,\"campaignSpend\":37},\
         {\"adjustedType\":\"closed\",\"spend\":42,\"campaignSpend\":37},\
         {\"adjustedType\":\"estimated\",\"spend\":42,\"campaignSpend\":37}]"
    );
    // Without a metric of spend there is no row for spend alone.
    assert_eq!(answer(&table, &filtered("campaign,leads", "campaign", "y")).unwrap(), "[]");
}

#[test]
fn a_filter_drops_spend_only_if_it_is_certainly_false() {
    let mut table = three_customers();
    table.spend = vec![spend("2025-01-10", Some("x"), 30), spend("2025-01-10", None, 5)];
    let spent = |filter: &str| answer(&table, &across("spend", filter)).unwrap();
    assert_eq!(spent(r#"{"type":"booked"}"#), r#"[{"spend":35}]"#);
    assert_eq!(spent(r#"{"type":"booked","campaign":"x"}"#), r#"[{"spend":30}]"#);
    assert_eq!(spent(r#"["or",{"type":"booked"},{"campaign":"x"}]"#), r#"[{"spend":35}]"#);
    assert_eq!(spent(r#"["not",["or",{"type":"booked"},{"campaign":"x"}]]"#), r#"[{"spend":5}]"#);
}

#[test]
fn lead_grading_is_empty_unless_the_account_subscribes() {
    let label =
        |label: &str| with(event(label, "lead-originated", "2025-01-02", None), "conversionDetailedLabel", label);
    let mut table = events(vec![label("Bookable - Booked"), label("Unbookable"), label("")]);
    let request = january("percentConversionsGraded,conversionQuality,unbookableConversions");
    assert_eq!(
        answer(&table, &request).unwrap(),
        r#"[{"percentConversionsGraded":0,"conversionQuality":0,"unbookableConversions":0}]"#
    );
    table.accounts = vec![AccountRow { lead_grading: true, ..AccountRow::defaults("a") }];
    assert_eq!(
        answer(&table, &request).unwrap(),
        r#"[{"percentConversionsGraded":0.6666666666666666,"conversionQuality":0.5,"unbookableConversions":1}]"#
    );
}

#[test]
fn filters_select_events() {
    let count = |field: &str, value: &str| {
        let text = answer(&three_customers(), &filtered("eventCount", field, value)).unwrap();
        text.trim_start_matches("[{\"eventCount\":").trim_end_matches("}]").parse::<u32>().unwrap()
    };
    assert_eq!(count("campaign", "x"), 4);
    assert_eq!(count("campaign", ""), 5);
    assert_eq!(count("campaign", r#"["ne","x"]"#), 5);
    assert_eq!(count("campaign", r#"["eq",null]"#), 5);
    assert_eq!(count("campaign", r#"["gt","w"]"#), 4);
    assert_eq!(count("campaign", "[x"), 0);
    assert_eq!(count("type", r#"["regex","^BOOK","i"]"#), 1);
    assert_eq!(count("type", r#"["or","booked",["not",["regex","e"]]]"#), 1);
    assert_eq!(count("total", r#"["gte",50]"#), 3);
    assert_eq!(count("total", r#"["ne",50]"#), 8);
    assert_eq!(count("total", "201"), 1);
    assert_eq!(count("typeIsLast", "true"), 3);
    let either = Request {
        filters: [("type", "booked"), ("type", "closed"), ("opportunityId", "c1")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
        ..january("eventCount")
    };
    assert_eq!(answer(&three_customers(), &either).unwrap(), r#"[{"eventCount":1}]"#);
}

#[test]
fn filters_select_rows_of_the_result() {
    let kept = |filter: &str| answer(&three_customers(), &across("opportunityId,leads", filter)).unwrap();
    assert_eq!(kept(r#"{"bookRate":["gt","0"]}"#), r#"[{"opportunityId":"c1","leads":1}]"#);
    // The denominator of avgTicket is 0 for c1 and c2, so neither the condition nor its negation is true for them.
    assert_eq!(kept(r#"{"avgTicket":["lt",75]}"#), "[]");
    assert_eq!(kept(r#"["not",{"avgTicket":["lt",75]}]"#), r#"[{"opportunityId":"c3","leads":0}]"#);
    assert_eq!(
        kept(r#"["and",{"leads":1},{"campaign":"x","eventCount":["gte",2]}]"#),
        r#"[{"opportunityId":"c1","leads":1}]"#
    );
    assert_eq!(answer(&Tables::default(), &filtered("leads", "leads", "1")).unwrap(), "[]");
}

#[test]
fn invalid_filters_are_refused() {
    let refused = |request: Request| {
        assert!(matches!(answer(&Tables::default(), &request), Err(Refusal::InvalidFilter(_))), "{request:?}");
    };
    for value in [
        "[]",
        "[1]",
        r#"["or"]"#,
        r#"["not","a","b"]"#,
        r#"["foo","a"]"#,
        r#"["eq"]"#,
        r#"["gt",true]"#,
        r#"["empty","a"]"#,
        r#"["regex","("]"#,
        r#"["regex","a","g"]"#,
        r#"["regex",1]"#,
        r#"["or",{"a":"b"}]"#,
        r#"[["eq","a"]]"#,
    ] {
        refused(filtered("leads", "campaign", value));
    }
    for value in ["x", "", "+1", r#"["empty"]"#, r#"["regex","1"]"#, r#"["eq",null]"#] {
        refused(filtered("leads", "leads", value));
        refused(filtered("leads", "total", value));
    }
    for filter in [
        "",
        "x",
        "[]",
        "{}",
        "1",
        r#"{"a":"b","a":"c"}"#,
        r#"["or",{}]"#,
        r#"["eq",{"a":"b"}]"#,
        r#"["or",{"a":"b"},"c"]"#,
        r#"["or",{"leads":1},{"campaign":"x"}]"#,
        r#"["not",{"leads":1,"total":2}]"#,
    ] {
        refused(across("leads", filter));
    }
    refused(Request {
        filter: vec![r#"{"leads":1}"#.to_owned(), r#"{"campaign":"x"}"#.to_owned()],
        ..january("leads")
    });
}

#[test]
fn the_size_of_filters_is_limited() {
    let nested = |depth: usize| format!("{}\"x\"{}", "[\"not\",".repeat(depth - 1), "]".repeat(depth - 1));
    let ask = |value: &str| answer(&Tables::default(), &filtered("leads", "campaign", value)).is_ok();
    assert!(ask(&nested(32)));
    assert!(!ask(&nested(33)));
    assert!(ask(&format!("[\"or\"{}]", ",\"x\"".repeat(1_000))));
    assert!(!ask(&format!("[\"or\"{}]", ",\"x\"".repeat(1_001))));
    assert!(ask(&format!("[\"regex\",\"{}\"]", "é".repeat(1_000))));
    assert!(!ask(&format!("[\"regex\",\"{}\"]", "é".repeat(1_001))));
    assert!(!ask(r#"["regex","\\w{999}"]"#));
    // The depth is limited per value, the number of operands per request.
    let both = |campaign: String, zip: String| {
        let filters =
            vec![("campaign".to_owned(), campaign.clone()), ("campaign".to_owned(), campaign), ("zip".to_owned(), zip)];
        answer(&Tables::default(), &Request { filters, ..january("leads") }).is_ok()
    };
    assert!(both(nested(32), nested(32)));
    assert!(!both(nested(32), nested(33)));
    let or = |operands: usize| format!("[\"or\"{}]", ",\"x\"".repeat(operands));
    assert!(both(or(400), or(200)));
    assert!(!both(or(400), or(201)));
}

#[test]
fn half_a_surrogate_pair_is_not_json() {
    assert_eq!(
        answer(&three_customers(), &filtered("eventCount", "campaign", r#"["eq","\ud800"]"#)).unwrap(),
        r#"[{"eventCount":0}]"#
    );
    let refused = answer(&three_customers(), &across("eventCount", r#"{"campaign":"\ud800"}"#));
    assert!(matches!(refused, Err(Refusal::InvalidFilter(_))));
}

#[test]
fn faults_are_reported_in_the_order_of_the_contract() {
    let nothing = Tables::default();
    assert_eq!(answer(&nothing, &january("campaign,start")), Err(Refusal::MissingMetric));
    assert_eq!(answer(&nothing, &january("leads,start")), Err(Refusal::InvalidFields("start".to_owned())));
    // The first of several faults is reported.
    let faulty = |fields: &str| Request { end: day("2024-12-31"), ..filtered(fields, "campaign", "[]") };
    assert_eq!(answer(&nothing, &faulty("campaign,start")), Err(Refusal::MissingMetric));
    assert_eq!(answer(&nothing, &faulty("leads,start")), Err(Refusal::InvalidFields("start".to_owned())));
    assert_eq!(answer(&nothing, &faulty("leads")), Err(Refusal::InvalidRange));
}

#[test]
fn numbers_are_exact_and_other_texts_are_no_decimal_numbers() {
    assert_eq!(average(&[1, 2]), 2);
    assert_eq!(average(&[-1, -2]), -2);
    assert_eq!(average(&[1, 1, 2]), 1);
    assert_eq!(ecmascript(ExactAmount::Money(9_007_199_254_740_993).double()), "9007199254.740993");
    assert_eq!(ecmascript(ExactAmount::Money(-1).double()), "-0.000001");
    assert_eq!(ecmascript(-0.0), "0");
    assert_eq!(decimal_number("007"), Some(7.0));
    for text in ["", "-", "1.", ".5", "1e3", "+1", " 1", "٣"] {
        assert_eq!(decimal_number(text), None, "{text}");
    }
}

#[test]
fn timestamps_and_json_strings_have_the_specified_form() {
    assert_eq!(timestamp(1_735_700_000_120_000), "2025-01-01T02:53:20.12Z");
    assert_eq!(timestamp(-1), "1969-12-31T23:59:59.999999Z");
    assert_eq!(json_string("a\"\\\n\u{1}\u{7f}é"), "\"a\\\"\\\\\\n\\u0001\u{7f}é\"");
}

#[test]
fn only_json_is_parsed() {
    assert_eq!(
        parse(" [ \"\\u00e9\\ud83d\\ude00\" , -1.5e1 ] "),
        Some(Json::List(vec![Json::Text("é😀".to_owned()), Json::Number(-15.0),]))
    );
    for text in
        ["[01]", "[1,]", "[1] 2", "[Va] Drain", "[\"a\nb\"]", "[\"\\ud800\"]", "[.5]", "[-]", "{a:1}", "[", "nul"]
    {
        assert_eq!(parse(text), None, "{text}");
    }
}

/// Returns three leads of January and a customer that is no lead. c1: booked on day 3, sold for 100 on day 30, canceled
/// on day 31. c2: booked on the first day, closed for 50 in March. c3: nothing more. c4: booked, then a conversion.
fn leads_of_january() -> Tables {
    events(vec![
        event("c1", "lead-originated", "2025-01-02", None),
        event("c1", "booked", "2025-01-05", None),
        event("c1", "sold", "2025-02-01", Some(100)),
        event("c1", "canceled", "2025-02-02", None),
        event("c2", "lead-originated", "2025-01-31", None),
        event("c2", "booked", "2025-01-31", None),
        event("c2", "closed", "2025-03-01", Some(50)),
        event("c3", "lead-originated", "2025-01-31", None),
        event("c4", "booked", "2025-01-10", None),
        event("c4", "lead-originated", "2025-01-11", None),
    ])
}

#[test]
fn a_cohort_counts_the_events_up_to_the_end_of_its_window() {
    let tables = Tables { spend: vec![spend("2025-01-15", None, 30)], ..leads_of_january() };
    let fields = "leads,openLeads,eventCount,payingCustomers,soldRevenue,closedRevenue,cancelRate,roasClosed,spend";
    let of = |window| answer(&tables, &Request { cohort: Some(window), ..january(fields) }).unwrap();
    let expected = |numbers: [&str; 9]| {
        let pairs = fields.split(',').zip(numbers).map(|(field, number)| format!("\"{field}\":{number}"));
        format!("[{{{}}}]", pairs.collect::<Vec<_>>().join(","))
    };
    // The last event is of 1 March. The windows of c2 and c3 are open from 30 days on, that of c1 from 59 days on.
    assert_eq!(of(Window::Days(0)), expected(["3", "0", "4", "0", "0", "0", "0", "0", "30"]));
    assert_eq!(of(Window::Days(28)), expected(["3", "0", "5", "0", "0", "0", "0", "0", "30"]));
    assert_eq!(of(Window::Days(29)), expected(["3", "0", "6", "1", "0", "50", "0", "1.6666666666666667", "30"]));
    assert_eq!(of(Window::Days(30)), expected(["3", "2", "7", "2", "100", "50", "0", "1.6666666666666667", "30"]));
    assert_eq!(of(Window::Days(31)), expected(["3", "2", "8", "1", "0", "50", "0.5", "1.6666666666666667", "30"]));
    assert_eq!(of(Window::Days(58)), of(Window::Days(31)));
    assert_eq!(of(Window::Days(59)), of(Window::All));
    assert_eq!(of(Window::All), expected(["3", "3", "8", "1", "0", "50", "0.5", "1.6666666666666667", "30"]));
}

#[test]
fn open_leads_need_cohort_mode() {
    let outside = Err(Refusal::OpenLeadsOutsideCohorts);
    assert_eq!(answer(&Tables::default(), &january("openLeads")), outside);
    assert_eq!(answer(&Tables::default(), &filtered("leads", "openLeads", "0")), outside);
}

#[test]
fn days_between_stages_match_those_computed_by_hand() {
    let fields = "reachedLeadToBooked,avgDaysLeadToBooked,medianDaysLeadToBooked,p90DaysLeadToBooked,\
                  reachedSoldToClosed,avgDaysSoldToClosed,p90DaysSoldToClosed,avgDaysLeadToClosed";
    // c1 took 3 days and c2 none; c4 is no lead. The 90th percentile lies at 0.9 of the way from 0 to 3.
    assert_eq!(
        answer(&leads_of_january(), &january(fields)).unwrap(),
        "[{\"reachedLeadToBooked\":2,\"avgDaysLeadToBooked\":1.5,\"medianDaysLeadToBooked\":1.5,\
         \"p90DaysLeadToBooked\":2.7,\"reachedSoldToClosed\":0,\"avgDaysSoldToClosed\":0,\"p90DaysSoldToClosed\":0,\
         \"avgDaysLeadToClosed\":29}]"
    );
    // A percentile without durations is unknown.
    assert_eq!(answer(&leads_of_january(), &filtered("leads", "p90DaysSoldToClosed", "0")).unwrap(), "[]");
    // In a cohort, nothing is reached after the window.
    let cohort = Request { cohort: Some(Window::Days(2)), ..january("reachedLeadToBooked,reachedLeadToClosed") };
    let answered = answer(&leads_of_january(), &cohort).unwrap();
    assert_eq!(answered, r#"[{"reachedLeadToBooked":1,"reachedLeadToClosed":0}]"#);
}

#[test]
fn earlier_ranges_follow_the_calendar() {
    let of = |earlier: Earlier, start, end| {
        let (start, end) = earlier.range(day(start), day(end));
        format!("{start} to {end}")
    };
    use Earlier::{PreviousPeriod, PreviousYear};
    assert_eq!(of(PreviousPeriod, "2025-03-01", "2025-03-31"), "2025-02-01 to 2025-02-28");
    assert_eq!(of(PreviousPeriod, "2025-01-01", "2025-02-28"), "2024-11-01 to 2024-12-31");
    assert_eq!(of(PreviousPeriod, "2025-03-01", "2025-03-30"), "2025-01-30 to 2025-02-28");
    assert_eq!(of(PreviousPeriod, "2025-03-08", "2025-03-14"), "2025-03-01 to 2025-03-07");
    assert_eq!(of(PreviousYear, "2024-02-29", "2024-03-10"), "2023-02-28 to 2023-03-10");
}

#[test]
fn a_comparison_joins_two_ranges_by_group() {
    // January: x has 2 leads of which 1 is booked, y has 1 booked lead. February: x has 1 booked lead, y has 3 leads of
    // which 1 is booked, w has 1 that is not.
    let lead = |customer: &str, date: &str, campaign: &str| {
        with(event(customer, "lead-originated", date, None), "campaign", campaign)
    };
    let booked =
        |customer: &str, date: &str, campaign: &str| with(event(customer, "booked", date, None), "campaign", campaign);
    let tables = events(vec![
        lead("c1", "2025-01-02", "x"),
        booked("c1", "2025-01-02", "x"),
        lead("c2", "2025-01-02", "x"),
        lead("c3", "2025-01-02", "y"),
        booked("c3", "2025-01-03", "y"),
        lead("c4", "2025-02-02", "x"),
        booked("c4", "2025-02-02", "x"),
        lead("c5", "2025-02-02", "y"),
        booked("c5", "2025-02-03", "y"),
        lead("c6", "2025-02-02", "y"),
        lead("c7", "2025-02-02", "y"),
        lead("c8", "2025-02-02", "w"),
    ]);
    let february = |fields| Request { start: day("2025-02-01"), end: day("2025-02-28"), ..january(fields) };
    // In all: 2 of 3, then 2 of 5, which is 4/15 less. Campaign x: its share of the customers goes from 2/3 to 1/5, its
    // book rate from 1/2 to 1, so the rate effect is 13/30 x 1/2 = 13/60, and the mix effect 1/5 - 1/3 - 13/60 -
    // (-7/15) x 8/15 = -91/900. Campaign w: no book rate before, so the rate effect is 0, and the mix effect
    // 0 - 1/5 x 8/15 = -8/75.
    let by_campaign =
        compared(&tables, &february("campaign,customers,bookRate"), Earlier::PreviousPeriod, &[], None).unwrap();
    assert_eq!(
        by_campaign,
        "[{\"campaign\":\"w\",\"customers\":1,\"customers.previous\":0,\"customers.change\":1,\"customers.ratio\":null,\
         \"bookRate\":0,\"bookRate.previous\":0,\"bookRate.change\":0,\"bookRate.ratio\":null,\
         \"bookRate.rateEffect\":0,\"bookRate.mixEffect\":-0.10666666666666667},\
         {\"campaign\":\"x\",\"customers\":1,\"customers.previous\":2,\"customers.change\":-1,\"customers.ratio\":-0.5,\
         \"bookRate\":1,\"bookRate.previous\":0.5,\"bookRate.change\":0.5,\"bookRate.ratio\":1,\
         \"bookRate.rateEffect\":0.21666666666666667,\"bookRate.mixEffect\":-0.10111111111111111},\
         {\"campaign\":\"y\",\"customers\":3,\"customers.previous\":1,\"customers.change\":2,\"customers.ratio\":2,\
         \"bookRate\":0.3333333333333333,\"bookRate.previous\":1,\"bookRate.change\":-0.6666666666666666,\
         \"bookRate.ratio\":-0.6666666666666666,\"bookRate.rateEffect\":-0.3111111111111111,\
         \"bookRate.mixEffect\":0.035555555555555556}]"
    );
    // Spend does not carry `zip`, so a ratio over spend has no effects; a percentile never has any.
    let fields = "zip,roasClosed,medianDaysLeadToBooked";
    assert_eq!(
        compared(&tables, &february(fields), Earlier::Range(day("2025-01-01"), day("2025-01-31")), &[], None).unwrap(),
        "[{\"zip\":\"\",\"roasClosed\":0,\"roasClosed.previous\":0,\"roasClosed.change\":0,\"roasClosed.ratio\":null,\
         \"roasClosed.rateEffect\":null,\"roasClosed.mixEffect\":null,\"medianDaysLeadToBooked\":0.5,\
         \"medianDaysLeadToBooked.previous\":0.5,\"medianDaysLeadToBooked.change\":0,\"medianDaysLeadToBooked.ratio\":0}]"
    );
}
