//! Money spent, what it bought, and what it earned.

use super::super::Field;
use super::super::FieldGroup::Spend;
use super::super::Measure as M;
use super::super::entry::{count, money, money_per, multiple};
use super::not_split;

const SPEND: &[M] = &[M::AdSpend, M::ManagementFee];

pub(super) static FIELDS: &[Field] = &[
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
