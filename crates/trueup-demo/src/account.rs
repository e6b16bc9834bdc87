//! Accounts, and what is drawn once for each of them.

use std::sync::Arc;

use super::campaign::{Campaign, campaigns};
use super::dice::Dice;
use super::market::{CITIES, City, CompanyNames, INDUSTRIES, Industry, crew};

/// An account, with everything that is drawn once for it.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) key: String,
    pub(super) name: String,
    pub(super) industry: &'static Industry,
    pub(super) city: &'static City,
    /// Seconds ahead of UTC on each day of the calendar.
    pub(super) offsets: Arc<Vec<i64>>,
    pub(super) lead_grading: bool,
    /// Whether the software in which the account keeps its jobs records no time of day for sales and invoices.
    pub(super) dates_only: bool,
    /// Weight of the account when customers are divided among accounts.
    pub(super) size: u32,
    /// Index of the first month with customers.
    pub(super) opens: usize,
    /// Share of leads that come through the main line, in thousandths.
    pub(super) main_line: u32,
    /// Share of leads that are booked, in thousandths.
    pub(super) booking: u32,
    /// Price level relative to the industry, in thousandths.
    pub(super) ticket: u32,
    pub(super) campaigns: Vec<Campaign>,
    pub(super) fee: Fee,
    /// The channel whose spend is known only in total, not by campaign.
    pub(super) unsplit: Option<&'static str>,
    pub(super) agents: Vec<String>,
    pub(super) technicians: Vec<String>,
    /// The ZIP codes of its customers.
    pub(super) zips: Vec<String>,
}

impl Account {
    /// Returns the city of the account with this index.
    pub(super) fn home(index: usize) -> &'static City {
        // The step and the length of the list have no common factor, so all cities are used and neighbors differ.
        &CITIES[index * 5 % CITIES.len()]
    }

    /// Draws the account with this index. `offsets` are those of the time zone of its [`home`](Self::home).
    pub(super) fn new(
        dice: &mut Dice,
        companies: &mut CompanyNames,
        index: usize,
        months: usize,
        offsets: Arc<Vec<i64>>,
    ) -> Self {
        let industry = INDUSTRIES[index % INDUSTRIES.len()];
        let city = Self::home(index);
        let (key, name) = companies.draw(dice, index, industry, city);
        let size = dice.between(100, 260) + if dice.chance(250) { dice.between(50, 400) } else { 0 };
        Self {
            key,
            name,
            industry,
            city,
            offsets,
            // Determined by the index rather than drawn, so that a dozen accounts include some of each kind.
            lead_grading: matches!(index % 5, 1 | 3),
            dates_only: index % 4 == 2,
            size,
            opens: if index % 9 == 7 { dice.index(months.div_ceil(2)) } else { 0 },
            main_line: dice.between(430, 520),
            booking: dice.between(280, 355),
            ticket: dice.between(930, 1_070),
            campaigns: campaigns(dice, industry, city, months),
            fee: Fee::draw(dice, index),
            unsplit: match index % 6 {
                1 => Some("Paid Social"),
                4 => Some("Display"),
                _ => None,
            },
            agents: {
                let size = dice.index(8) + 3;
                crew(dice, size)
            },
            technicians: {
                let size = dice.index(20) + 6;
                crew(dice, size)
            },
            zips: zips(dice, city),
        }
    }
}

/// Draws distinct ZIP codes of a city.
fn zips(dice: &mut Dice, city: &City) -> Vec<String> {
    let mut ends: Vec<u32> = (0..100).collect();
    dice.shuffle(&mut ends);
    ends.iter().take(24).map(|end| format!("{}{end:02}", city.zip)).collect()
}

/// How an account pays the agency that manages its channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fee {
    /// The account has no agency.
    None,
    /// A share of the month's budget in thousandths, for each channel that the agency manages, on the first of the
    /// month.
    Monthly(u32),
    /// The same share, in daily parts.
    Daily(u32),
    /// The same share as one amount without a channel, on the first of the month.
    Retainer(u32),
}

impl Fee {
    fn draw(dice: &mut Dice, index: usize) -> Self {
        let share = dice.between(90, 150);
        // Determined by the index rather than drawn, so that a dozen accounts include some of each kind.
        match index % 5 {
            0 | 3 => Self::Monthly(share),
            1 => Self::Daily(share),
            2 => Self::Retainer(share),
            _ => Self::None,
        }
    }
}
