use super::channel::{CHANNELS, Channel, MAIN_LINE};
use super::dice::Dice;
use super::market::{City, Industry};

/// One campaign of one account.
#[derive(Debug)]
pub(super) struct Campaign {
    pub(super) name: String,
    /// Ad group, list or placement; empty where there is none.
    pub(super) detail: String,
    pub(super) channel: &'static Channel,
    /// Its part in the leads that are not of the main line. 0 for the main line, whose part is the account's.
    pub(super) weight: u32,
    /// The months in which it runs, counted from the first; `closes` is no longer one of them.
    pub(super) opens: usize,
    pub(super) closes: usize,
    /// Ad spend per lead in cents, with this account's own luck.
    pub(super) lead_cents: u32,
}

/// Where the main line stands among an account's campaigns.
pub(super) const MAIN: usize = 0;

const OFFERS: [&str; 6] = ["$79 Tune-Up", "$50 Off", "0% Financing", "Free Estimate", "Spring > Save", "Same Day"];
const STATIONS: [&str; 4] = ["KZPX", "WQRD", "KBLT", "WNDO"];

/// An account's campaigns, the main line first, then in falling order of weight: a few carry most, and the tail is long.
pub(super) fn campaigns(dice: &mut Dice, industry: &Industry, city: &City, months: usize) -> Vec<Campaign> {
    let count = dice.between(10, 40) + dice.below(21);
    // What an account pays for a lead, against others: 92 to 108 percent.
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
        // The first of all is paid search, wherever a company advertises at all.
        let channel = if rank == 1 { &CHANNELS[0] } else { dice.table(&shares) };
        let name = name(dice, channel, industry, city);
        let detail = if channel.click_cents > 0 { detail(dice, industry) } else { String::new() };
        let (opens, closes) = run(dice, rank, months);
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

fn distinct(campaigns: &[Campaign], name: String) -> String {
    let mut candidate = name.clone();
    let mut edition = 1;
    while campaigns.iter().any(|campaign| campaign.name == candidate) {
        edition += 1;
        candidate = format!("{name} #{edition}");
    }
    candidate
}

/// The months of a campaign. The strongest few run all the time; of the others one in three comes or goes.
fn run(dice: &mut Dice, rank: u32, months: usize) -> (usize, usize) {
    if rank <= 4 || !dice.chance(330) {
        return (0, months);
    }
    let turn = dice.index(months);
    if dice.chance(500) { (turn, months) } else { (0, turn + 1) }
}
