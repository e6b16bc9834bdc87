//! Money earned, or in sight.

use super::super::Field;
use super::super::FieldGroup::Revenue;
use super::super::Measure as M;
use super::super::entry::{money, money_per};

pub(super) static FIELDS: &[Field] = &[
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
