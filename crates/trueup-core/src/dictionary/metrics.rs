//! The metrics, with their formulas and definitions, and the measures that the formulas are over.
//!
//! The definition of a metric is what users read in the service and the program. `docs/metrics.md` explains each
//! metric with numbers that were computed by hand.

use self::Measure as M;
use super::Field;
use super::FieldGroup::{Conversion, Customer, Funnel, LeadGrading, Revenue, Spend};
use super::entry::{count, money, money_per, multiple, share};
use super::measure::{AGENT_COLUMN, GRADE_COLUMN, STATUS_COLUMN, TOTAL_COLUMN, measures};

// Each measure with its kind, its name in formulas, its definition, and the stored columns that it reads.
measures! {
    // Counts of rows.
    Rows: Rows, "rows", "Events.";
    Conversions: Rows, "conversions", "Events of stage lead-originated.";
    Leads: Rows, "leads", "Events that are the first event of their customer's history and a conversion.";
    SoldLeads: Rows, "soldLeads", "Leads whose customer has a sold event anywhere in its history.";
    ClosedLeads: Rows, "closedLeads", "Leads whose customer has a closed event anywhere in its history.";
    BookedLeads: Rows, "bookedLeads", "Leads whose customer has a booked event anywhere in its history.";
    GradedConversions: Rows, "gradedConversions", "Conversions with a grade.", reads [GRADE_COLUMN];
    BookedConversions: Rows, "bookedConversions", "Conversions graded as booked.", reads [GRADE_COLUMN];
    BookableUnbookedConversions: Rows, "bookableUnbookedConversions",
        "Conversions graded as bookable, but not booked.", reads [GRADE_COLUMN];
    UnbookableConversions: Rows, "unbookableConversions", "Conversions graded as unbookable.", reads [GRADE_COLUMN];
    FirstBooked: Rows, "firstBooked", "Events that are the earliest booked event of their customer's history.";
    FirstBookedEstimated: Rows, "firstBookedEstimated",
        "Those of `firstBooked` whose customer has an estimated event anywhere in its history.";
    FirstEstimated: Rows, "firstEstimated", "Events that are the earliest estimated event of their customer's history.";
    FirstEstimatedSold: Rows, "firstEstimatedSold",
        "Those of `firstEstimated` whose customer has a sold event anywhere in its history.";
    FirstSold: Rows, "firstSold", "Events that are the earliest sold event of their customer's history.";
    FirstSoldClosed: Rows, "firstSoldClosed",
        "Those of `firstSold` whose customer has a closed event anywhere in its history.";
    OpenLeads: Rows, "openLeads",
        "Leads of a cohort whose window ends after the last event of the accounts that are read.";
    // Counts of state rows.
    Customers: StateRows, "customers", "Customers, each counted once, on its state event.";
    MatchedCustomers: StateRows, "matchedCustomers",
        "Customers whose state event has a customer status other than `Unmatched`.", reads [STATUS_COLUMN];
    UnmatchedCustomers: StateRows, "unmatchedCustomers",
        "Customers whose state event has the customer status `Unmatched` or none.", reads [STATUS_COLUMN];
    PayingCustomers: StateRows, "payingCustomers", "Customers in state sold or closed.";
    BookedCustomers: StateRows, "bookedCustomers", "Customers with a booked event in the sub-range.";
    CanceledCustomers: StateRows, "canceledCustomers", "Customers with a canceled event in the sub-range.";
    CanceledAfterBooking: StateRows, "canceledAfterBooking",
        "Customers with a canceled event later than their earliest booked event of the sub-range.";
    // A count of the customers of all rows. A customer with rows in two groups is one of both.
    Opportunities: Rows, "opportunities", "Distinct customers of the events.", adds_up NOWHERE;
    // Sums of money.
    Total: RowMoney, "total", "Sum of `total` over events.", reads [TOTAL_COLUMN];
    EstimatedRevenue: StateMoney, "estimatedRevenue",
        "Sum over customers in state estimated: the average amount of their live estimates that have an \
         amount.", reads [TOTAL_COLUMN];
    SoldRevenue: StateMoney, "soldRevenue",
        "Sum over customers in state sold: the amounts of their live sales.", reads [TOTAL_COLUMN];
    ClosedRevenue: StateMoney, "closedRevenue",
        "Sum over customers in state closed: the amounts of their closed events in the \
         sub-range.", reads [TOTAL_COLUMN];
    // Sets.
    OpportunityAgents: StateDistinct, "opportunityAgents",
        "Distinct non-empty opportunity agents of state events.", reads [AGENT_COLUMN];
    // Spend.
    AdSpend: SpendMoney, "adSpend", "The ad spend of spend rows.", reads ["adSpend"];
    ManagementFee: SpendMoney, "managementFee", "The management fees of spend rows.", reads ["managementFee"];
    CampaignSpend: SpendMoney, "campaignSpend",
        "Ad spend and management fees of spend rows with a campaign.", reads ["adSpend", "managementFee", "campaign"];
    Clicks: SpendCount, "clicks", "The clicks of spend rows.", reads ["clicks"];
    Impressions: SpendCount, "impressions", "The impressions of spend rows.", reads ["impressions"];
}

/// The metrics, by table.
pub(super) static TABLES: [&[Field]; 5] = [COUNTS, REVENUE, SPEND_METRICS, GRADING, RATES];

/// The metrics that only cohorts have.
pub(super) static COHORT: &[Field] = &[count(Funnel, "openLeads", "Open Leads", &[M::OpenLeads]).means(
    "Of the leads of a cohort, the number whose window is not over, because it ends after the last event of the \
     accounts that are read. What a row shows of them may still change. Only cohorts have it. 0 if the window of every \
     lead is over.",
)];

/// The measures whose sum is spend.
const SPEND: &[M] = &[M::AdSpend, M::ManagementFee];
/// The measures whose sum is the number of bookable conversions.
const BOOKABLE: &[M] = &[M::BookedConversions, M::BookableUnbookedConversions];

/// Ends the definition of every metric that is computed from spend.
macro_rules! not_split {
    () => {
        " A dimension that spend does not have does not split the spend: each of its values shows the whole."
    };
}

/// Counts of events, conversions, leads and customers.
static COUNTS: &[Field] = &[
    count(Funnel, "eventCount", "Events", &[M::Rows])
        .means("The number of events: every point of activity of any stage that the filter kept. 0 if there is none."),
    count(Conversion, "conversions", "Conversions", &[M::Conversions]).higher().means(
        "The number of conversions, which are events of stage lead-originated. A customer that calls twice has two. \
         0 if there is none.",
    ),
    count(Funnel, "leads", "Leads", &[M::Leads]).higher().means(
        "The number of new leads: customers whose first event of all is a conversion, counted on that first event, so \
         that each is counted once, on the day it came in. 0 if there is none.",
    ),
    count(Funnel, "soldLeads", "Sold Leads", &[M::SoldLeads]).higher().means(
        "The number of leads whose customer was sold something at any time, before, in or after the range. 0 if there \
         is none.",
    ),
    count(Funnel, "closedLeads", "Closed Leads", &[M::ClosedLeads]).higher().means(
        "The number of leads whose customer had work completed at any time, before, in or after the range. 0 if there \
         is none.",
    ),
    count(Customer, "opportunityCount", "Opportunities", &[M::Opportunities]).means(
        "The number of different customers that any of the events belong to. A customer with events in two groups is \
         counted in both, so groups do not add up to the whole; `customers` does. 0 if there is none.",
    ),
    count(Customer, "customers", "Customers", &[M::Customers]).higher().means(
        "The number of customers active in the range, each counted once, in the group of its state event: the last \
         live event of the furthest stage that it reached there. 0 if there is none.",
    ),
    count(Customer, "matchedCustomers", "Matched Customers", &[M::MatchedCustomers]).higher().means(
        "The number of customers that were found in the records of the business: their state event has a customer \
         status, and it is not `Unmatched`. 0 if there is none.",
    ),
    count(Customer, "unmatchedCustomers", "Unmatched Customers", &[M::UnmatchedCustomers]).lower().means(
        "The number of customers that were not found in the records of the business: the customer status of their \
         state event is `Unmatched` or empty. 0 if there is none.",
    ),
    count(Customer, "payingCustomers", "Paying Customers", &[M::PayingCustomers])
        .higher()
        .means("The number of customers whose state in the range is sold or closed. 0 if there is none."),
    count(Customer, "bookedCustomers", "Booked Customers", &[M::BookedCustomers]).higher().means(
        "The number of customers with a booked event in the range, whatever became of the booking. 0 if there is none.",
    ),
    count(Customer, "canceledCustomers", "Canceled Customers", &[M::CanceledCustomers]).lower().means(
        "The number of customers with a canceled event in the range, even if they booked again. 0 if there is none.",
    ),
    count(Customer, "opportunityAgents", "Opportunity Agents", &[M::OpportunityAgents]).means(
        "The number of different people named as the opportunity agent on the state events of customers. Events \
         without one name nobody. One agent may appear in many groups, so groups do not add up. 0 if there is none.",
    ),
];

/// Money earned or expected.
static REVENUE: &[Field] = &[
    money(Revenue, "total", "Total", &[M::Total]).means(
        "The sum of the amounts on all events, in the currency of the data. Estimates, sales and invoices of one \
         customer are all in it; use the revenue metrics to count a customer's money once. An event without an amount \
         adds 0. As a filter it is the amount of the single event.",
    ),
    money(Revenue, "estimatedRevenue", "Estimated Revenue", &[M::EstimatedRevenue]).higher().means(
        "Money that may come from customers whose state is estimated, in the currency of the data: for each of them \
         the average amount of its estimates that still stand and have an amount. A customer without such an estimate \
         adds 0.",
    ),
    money(Revenue, "soldRevenue", "Sold Revenue", &[M::SoldRevenue]).higher().means(
        "Money agreed with customers whose state is sold, and whose work is not completed, in the currency of the \
         data: the amounts of their sales that still stand. A sale without an amount adds 0.",
    ),
    money(Revenue, "closedRevenue", "Closed Revenue", &[M::ClosedRevenue]).higher().means(
        "Money for completed work of customers whose state is closed, in the currency of the data: the amounts of \
         their closed events in the range. A closed event without an amount adds 0.",
    ),
    money(
        Revenue,
        "revenuePotential",
        "Revenue Potential",
        &[M::EstimatedRevenue, M::SoldRevenue, M::ClosedRevenue],
    )
    .higher()
    .means(
        "Estimated, sold and closed revenue together, in the currency of the data. Each customer adds to one of the \
         three, by its state. 0 if none of them has an amount.",
    ),
    money_per(Revenue, "avgTicket", "Average Ticket", &[M::SoldRevenue, M::ClosedRevenue], &[M::PayingCustomers])
        .higher()
        .benchmark()
        .means(
            "Sold and closed revenue for one paying customer, in the currency of the data. 0 without paying customers.",
        ),
];

/// Money spent, what it bought, and what it earned.
static SPEND_METRICS: &[Field] = &[
    money(Spend, "spend", "Spend", SPEND).means(concat!(
        "Ad spend and management fees, in the currency of the data. Grouped by campaign, each campaign has what was \
         spent on it, and the empty campaign has what was spent on none. A missing amount adds 0.",
        not_split!()
    )),
    money(Spend, "cost", "Cost", &[M::AdSpend]).means(concat!(
        "What was paid for advertising itself, without management fees, in the currency of the data. A missing amount \
         adds 0.",
        not_split!()
    )),
    money(Spend, "campaignSpend", "Campaign Spend", &[M::CampaignSpend]).means(concat!(
        "The part of spend, fees included, that names a campaign, in the currency of the data. 0 if no spend does.",
        not_split!()
    )),
    count(Spend, "clicks", "Clicks", &[M::Clicks])
        .higher()
        .means(concat!("The number of clicks on advertisements. A missing number adds 0.", not_split!())),
    count(Spend, "impressions", "Impressions", &[M::Impressions])
        .higher()
        .means(concat!("The number of times that advertisements were shown. A missing number adds 0.", not_split!())),
    money_per(Spend, "avgCostPerConversion", "Average Cost per Conversion", SPEND, &[M::Conversions])
        .lower()
        .means(concat!("Spend for one conversion, in the currency of the data. 0 without conversions.", not_split!())),
    money_per(Spend, "avgCostPerLead", "Average Cost per Lead", SPEND, &[M::Leads])
        .lower()
        .benchmark()
        .means(concat!("Spend for one lead, in the currency of the data. 0 without leads.", not_split!())),
    money_per(Spend, "avgCostPerPayingCustomer", "Average Cost per Paying Customer", SPEND, &[M::PayingCustomers])
        .lower()
        .benchmark()
        .means(concat!(
            "Spend for one paying customer, in the currency of the data. 0 without paying customers.",
            not_split!()
        )),
    money_per(Spend, "avgCostPerBookedCustomer", "Average Cost per Booked Customer", SPEND, &[M::BookedCustomers])
        .lower()
        .benchmark()
        .means(concat!(
            "Spend for one booked customer, in the currency of the data. 0 without booked customers.",
            not_split!()
        )),
    multiple(
        Spend,
        "roasPotential",
        "Potential Return on Ad Spend",
        &[M::EstimatedRevenue, M::SoldRevenue, M::ClosedRevenue],
        SPEND,
    )
    .higher()
    .benchmark()
    .means(concat!(
        "How many times spend comes back if every estimate and sale that stands is carried out: revenue potential over \
         spend. A plain number; 1 is as much earned as spent. 0 without spend.",
        not_split!()
    )),
    multiple(Spend, "roasClosed", "Closed Return on Ad Spend", &[M::ClosedRevenue], SPEND).higher().benchmark().means(
        concat!(
            "How many times spend came back as completed work: closed revenue over spend. A plain number; 1 is as much \
             earned as spent. 0 without spend.",
            not_split!()
        ),
    ),
];

/// Grades of conversions. All of these are 0 for accounts without lead grading.
static GRADING: &[Field] = &[
    count(LeadGrading, "gradedConversions", "Graded Conversions", &[M::GradedConversions]).higher().means(
        "The number of conversions that were graded, whatever the grade. 0 if there is none, and for accounts without \
         lead grading.",
    ),
    count(LeadGrading, "bookableConversions", "Bookable Conversions", BOOKABLE).higher().means(
        "The number of conversions graded as bookable, whether they were booked or not. 0 if there is none, and for \
         accounts without lead grading.",
    ),
    count(LeadGrading, "bookedConversions", "Booked Conversions", &[M::BookedConversions]).higher().means(
        "The number of conversions graded as bookable and booked. 0 if there is none, and for accounts without lead \
         grading.",
    ),
    count(
        LeadGrading,
        "bookableUnbookedConversions",
        "Bookable Unbooked Conversions",
        &[M::BookableUnbookedConversions],
    )
    .lower()
    .means(
        "The number of conversions graded as bookable that were not booked: work that was lost on the call. 0 if there \
         is none, and for accounts without lead grading.",
    ),
    count(LeadGrading, "unbookableConversions", "Unbookable Conversions", &[M::UnbookableConversions]).lower().means(
        "The number of conversions graded as ones that nobody could have booked. 0 if there is none, and for accounts \
         without lead grading.",
    ),
    share(
        LeadGrading,
        "percentConversionsGraded",
        "Percent of Conversions Graded",
        &[M::GradedConversions],
        &[M::Conversions],
    )
    .higher()
    .means(
        "The share of conversions that were graded, as a fraction. 0 without conversions, and for accounts without lead \
         grading.",
    ),
    share(LeadGrading, "conversionQuality", "Conversion Quality", BOOKABLE, &[M::GradedConversions]).higher().means(
        "The share of graded conversions that were bookable, as a fraction. 0 without graded conversions, and for \
         accounts without lead grading.",
    ),
];

/// Conversions per lead, shares of customers and of leads, and steps of the funnel.
static RATES: &[Field] = &[
    multiple(Conversion, "avgConversionsPerLead", "Average Conversions per Lead", &[M::Conversions], &[M::Leads])
        .means("The number of conversions for one lead. 0 without leads."),
    share(Funnel, "bookRate", "Book Rate", &[M::BookedCustomers], &[M::Customers])
        .higher()
        .benchmark()
        .means(
            "Booked customers over customers, as a fraction: of all who have an event in the range, the share with a booking \
             in the range. stepBookRate is of new leads only, whenever they are booked. 0 without customers.",
        ),
    share(Customer, "matchRate", "Match Rate", &[M::MatchedCustomers], &[M::Customers])
        .higher()
        .benchmark()
        .means("Matched customers over customers, as a fraction. 0 without customers."),
    share(Customer, "payingCustomerRate", "Paying Customer Rate", &[M::PayingCustomers], &[M::Customers])
        .higher()
        .benchmark()
        .means("Paying customers over customers, as a fraction. 0 without customers."),
    share(Customer, "customerCancelRate", "Customer Cancel Rate", &[M::CanceledCustomers], &[M::Customers])
        .lower()
        .benchmark()
        .means("Canceled customers over customers, as a fraction. 0 without customers."),
    share(Funnel, "cancelRate", "Cancel Rate", &[M::CanceledAfterBooking], &[M::BookedCustomers]).lower().means(
        "The share of booked customers that canceled at any time after their first booking in the range, even after \
         its end, as a fraction. 0 without booked customers.",
    ),
    share(Funnel, "stepBookRate", "Lead to Booked Rate", &[M::BookedLeads], &[M::Leads]).higher().means(
        "The share of leads that are booked at any time, before or after the end of the range, as a fraction. bookRate is \
         of all customers with an event in the range, and of bookings in the range. 0 without leads.",
    ),
    share(
        Funnel,
        "stepEstimateRate",
        "Booked to Estimated Rate",
        &[M::FirstBookedEstimated],
        &[M::FirstBooked],
    )
    .higher()
    .means(
        "Of customers booked for the first time of all in the range, the share that has an estimate at any time, as a \
         fraction. 0 if none was.",
    ),
    share(Funnel, "stepSoldRate", "Estimated to Sold Rate", &[M::FirstEstimatedSold], &[M::FirstEstimated])
        .higher()
        .means(
            "Of customers given their first estimate of all in the range, the share that is sold something at any time, \
             as a fraction. 0 if none was.",
        ),
    share(Funnel, "stepCloseRate", "Sold to Closed Rate", &[M::FirstSoldClosed], &[M::FirstSold]).higher().means(
        "Of customers sold something for the first time of all in the range, the share whose work is completed at any \
         time, as a fraction. 0 if none was.",
    ),
];
