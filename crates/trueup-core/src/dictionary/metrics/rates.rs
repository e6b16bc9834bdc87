//! Shares of customers and of leads, and steps of the funnel.

use super::super::Field;
use super::super::FieldGroup::{Conversion, Customer, Funnel};
use super::super::Measure as M;
use super::super::entry::{multiple, share};

pub(super) static FIELDS: &[Field] = &[
    multiple(Conversion, "avgConversionsPerLead", "Average Conversions per Lead", &[M::Conversions], &[M::Leads])
        .means("The number of conversions for one lead. 0 without leads."),
    share(Funnel, "bookRate", "Book Rate", &[M::BookedCustomers], &[M::Customers])
        .higher()
        .benchmark()
        .means("Booked customers over customers, as a fraction. 0 without customers."),
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
        "The share of leads that are booked at any time, before or after the end of the range, as a fraction. 0 without \
         leads.",
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
