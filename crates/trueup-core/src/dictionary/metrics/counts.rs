//! Events, conversions, leads and customers.

use super::super::Field;
use super::super::FieldGroup::{Conversion, Customer, Funnel};
use super::super::Measure as M;
use super::super::entry::count;

pub(super) static FIELDS: &[Field] = &[
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
        "The number of different people named as the agent on the state events of customers. Events without an agent \
         name nobody. One agent may appear in many groups, so groups do not add up. 0 if there is none.",
    ),
];
