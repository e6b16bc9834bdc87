//! The marketing channels, and the campaigns of an account.

use super::dice::Dice;
use super::market::{City, Industry};

/// A campaign of an account.
#[derive(Debug)]
pub(super) struct Campaign {
    pub(super) name: String,
    /// The column `attributionDetail`: ad group, list or placement; empty for a channel without clicks.
    pub(super) detail: String,
    pub(super) channel: &'static Channel,
    /// Weight among the leads that do not come through the main line; 0 for the main line.
    pub(super) weight: u32,
    /// The campaign runs from the month with index `opens` (inclusive) to `closes` (exclusive).
    pub(super) opens: usize,
    pub(super) closes: usize,
    /// Ad spend per lead in cents, which differs between accounts.
    pub(super) lead_cents: u32,
}

/// Index of the main line in the campaigns of an account.
pub(super) const MAIN_LINE_INDEX: usize = 0;

const OFFERS: [&str; 6] = ["$79 Tune-Up", "$50 Off", "0% Financing", "Free Estimate", "Spring > Save", "Same Day"];
const STATIONS: [&str; 4] = ["KZPX", "WQRD", "KBLT", "WNDO"];

/// Draws the campaigns of an account: first the main line, then others by descending weight. A few bring most leads,
/// and the tail is long.
pub(super) fn campaigns(dice: &mut Dice, industry: &Industry, city: &City, months: usize) -> Vec<Campaign> {
    let count = dice.between(10, 40) + dice.below(21);
    // Cost per lead relative to other accounts, in thousandths.
    let thrift = dice.between(920, 1_080);
    let mut campaigns = vec![Campaign {
        name: "Main Line".to_owned(),
        detail: String::new(),
        channel: &MAIN_LINE,
        weight: 0,
        opens: 0,
        closes: months,
        lead_cents: 0,
    }];
    let shares: Vec<(u32, &'static Channel)> = CHANNELS.iter().map(|channel| (channel.share, channel)).collect();
    for rank in 1..count {
        // The first campaign of every account is paid search.
        let channel = if rank == 1 { &CHANNELS[0] } else { dice.table(&shares) };
        let name = name(dice, channel, industry, city);
        let detail = if channel.click_cents > 0 { detail(dice, industry) } else { String::new() };
        let (opens, closes) = running_months(dice, rank, months);
        campaigns.push(Campaign {
            name: distinct(&campaigns, name),
            detail,
            channel,
            weight: 60_000 / (rank + 1),
            opens,
            closes,
            lead_cents: channel.lead_cents * thrift / 1_000 * dice.between(950, 1_050) / 1_000,
        });
    }
    campaigns
}

/// Draws a name in the style of the channel.
fn name(dice: &mut Dice, channel: &Channel, industry: &Industry, city: &City) -> String {
    let service = dice.pick(&industry.services);
    let city = city.name;
    match channel.name {
        "Paid Search" => match dice.below(3) {
            0 => format!("[{city}] {service}"),
            1 => format!("Search | {service} | {city}"),
            _ => format!("PPC {service} - Brand"),
        },
        "Local Services Ads" => format!("LSA - {service}"),
        "Paid Social" => format!("FB {service} {}", dice.pick(&OFFERS)),
        "Display" => format!("Retargeting {service}"),
        "Direct Mail" => format!("Mailer {} {}", dice.pick(&OFFERS), dice.between(1, 12)),
        "Radio" => format!("Radio {} {service}", dice.pick(&STATIONS)),
        "Lead Aggregators" => format!("Angi {service}"),
        "Organic Search" => format!("Website {service}"),
        "Google Business Profile" => format!("GBP {city} {service}"),
        other => format!("{other} {service}"),
    }
}

fn detail(dice: &mut Dice, industry: &Industry) -> String {
    format!("{} {}", dice.pick(&industry.services), dice.pick(&["Exact", "Phrase", "Broad", "Lookalike"]))
}

/// Appends a number to a name that another of the campaigns has.
fn distinct(campaigns: &[Campaign], name: String) -> String {
    let mut candidate = name.clone();
    let mut edition = 1;
    while campaigns.iter().any(|campaign| campaign.name == candidate) {
        edition += 1;
        candidate = format!("{name} #{edition}");
    }
    candidate
}

/// Draws the first month of a campaign and the month after its last, both as indexes. The four campaigns with the
/// largest weights run in all months; about a third of the others start later or end earlier.
fn running_months(dice: &mut Dice, rank: u32, months: usize) -> (usize, usize) {
    if rank <= 4 || !dice.chance(330) {
        return (0, months);
    }
    let turn = dice.index(months);
    if dice.chance(500) { (turn, months) } else { (0, turn + 1) }
}

/// A marketing channel: what a lead costs, and how often it is booked.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) category: &'static str,
    pub(super) name: &'static str,
    /// Category and channel in one text, as conversions have it.
    pub(super) path: &'static str,
    /// The column `source`: the platform that leads come from.
    pub(super) source: &'static str,
    /// Share of the campaigns that belong to this channel, in thousandths.
    pub(super) share: u32,
    /// Ad spend per lead in cents; 0 for an unpaid channel.
    pub(super) lead_cents: u32,
    /// Ad spend per click in cents; 0 for a channel without clicks.
    pub(super) click_cents: u32,
    /// Share of its leads that are booked, relative to the share of the account, in thousandths.
    pub(super) booking: u32,
    /// Whether spend is billed at the start of a month rather than daily.
    pub(super) monthly: bool,
    /// Whether an agency manages the channel for a fee.
    pub(super) managed: bool,
}

impl Channel {
    pub(super) fn is_paid(&self) -> bool {
        self.lead_cents > 0
    }
}

/// What paid channels have in common.
const PAID: Channel = Channel {
    category: "Advertising",
    name: "",
    path: "",
    source: "",
    share: 0,
    lead_cents: 0,
    click_cents: 0,
    booking: 1_000,
    monthly: false,
    managed: false,
};

/// What channels have in common through which customers find the company by themselves.
const ORGANIC: Channel = Channel { category: "Organic", ..PAID };

/// What all other unpaid channels have in common.
const OTHER: Channel = Channel { category: "Other", ..PAID };

/// The main phone line, such as the number on the vans.
pub(super) static MAIN_LINE: Channel =
    Channel { name: "Direct", path: "Organic > Direct", source: "Main Line", booking: 1_030, ..ORGANIC };

/// The channel of customers who begin without a conversion.
pub(super) static WALK_IN: Channel = Channel { name: "Walk-In", path: "Other > Walk-In", source: "Walk-In", ..OTHER };

/// The channels of all campaigns except the main line.
pub(super) static CHANNELS: [Channel; 10] = [
    Channel {
        name: "Paid Search",
        path: "Advertising > Paid Search",
        source: "Google Ads",
        share: 300,
        lead_cents: 10_300,
        click_cents: 1_450,
        managed: true,
        ..PAID
    },
    Channel {
        name: "Local Services Ads",
        path: "Advertising > Local Services Ads",
        source: "Google LSA",
        share: 150,
        lead_cents: 6_900,
        booking: 1_150,
        ..PAID
    },
    Channel {
        name: "Paid Social",
        path: "Advertising > Paid Social",
        source: "Facebook",
        share: 110,
        lead_cents: 7_800,
        click_cents: 310,
        booking: 800,
        managed: true,
        ..PAID
    },
    Channel {
        name: "Display",
        path: "Advertising > Display",
        source: "Google Display",
        share: 60,
        lead_cents: 10_400,
        click_cents: 120,
        booking: 780,
        managed: true,
        ..PAID
    },
    Channel {
        name: "Direct Mail",
        path: "Advertising > Direct Mail",
        source: "Mailer",
        share: 70,
        lead_cents: 10_800,
        monthly: true,
        ..PAID
    },
    Channel {
        name: "Radio",
        path: "Advertising > Radio",
        source: "Radio",
        share: 40,
        lead_cents: 11_200,
        booking: 950,
        monthly: true,
        ..PAID
    },
    Channel {
        name: "Lead Aggregators",
        path: "Advertising > Lead Aggregators",
        source: "Angi",
        share: 70,
        lead_cents: 7_400,
        booking: 820,
        ..PAID
    },
    Channel {
        name: "Organic Search",
        path: "Organic > Organic Search",
        source: "Google",
        share: 90,
        booking: 1_000,
        ..ORGANIC
    },
    Channel {
        name: "Google Business Profile",
        path: "Organic > Google Business Profile",
        source: "Google",
        share: 70,
        booking: 1_060,
        ..ORGANIC
    },
    Channel { name: "Referral", path: "Other > Referral", source: "Referral", share: 40, booking: 1_180, ..OTHER },
];
