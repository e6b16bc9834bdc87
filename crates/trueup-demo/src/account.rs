use std::sync::Arc;

use super::campaign::{Campaign, campaigns};
use super::dice::Dice;
use super::fee::Fee;
use super::market::{CITIES, City, INDUSTRIES, Industry};
use super::names::{CompanyNames, crew};

/// An account, and all that is drawn once for it.
#[derive(Debug)]
pub(super) struct Account {
    pub(super) key: String,
    pub(super) name: String,
    pub(super) industry: &'static Industry,
    pub(super) city: &'static City,
    /// Seconds ahead of UTC on each day of the calendar.
    pub(super) offsets: Arc<Vec<i64>>,
    pub(super) lead_grading: bool,
    /// Its job software knows the date of sales and invoices, not their time.
    pub(super) dates_only: bool,
    /// Its part in all customers.
    pub(super) size: u32,
    /// The month in which it came aboard, counted from the first.
    pub(super) opens: usize,
    /// In thousandths: the main line's part in leads, leads that are booked, the average job against the industry's.
    pub(super) main_line: u32,
    pub(super) booking: u32,
    pub(super) ticket: u32,
    pub(super) campaigns: Vec<Campaign>,
    pub(super) fee: Fee,
    /// The channel whose spend is known as a whole only, not by campaign.
    pub(super) unsplit: Option<&'static str>,
    pub(super) agents: Vec<String>,
    pub(super) technicians: Vec<String>,
    pub(super) zips: Vec<String>,
}

impl Account {
    /// Where the account of this index works.
    pub(super) fn home(index: usize) -> &'static City {
        // The step has no factor in common with the list, so that neighbours differ and all are used.
        &CITIES[index * 5 % CITIES.len()]
    }

    pub(super) fn new(
        dice: &mut Dice,
        register: &mut CompanyNames,
        index: usize,
        months: usize,
        offsets: Arc<Vec<i64>>,
    ) -> Self {
        let industry = INDUSTRIES[index % INDUSTRIES.len()];
        let city = Self::home(index);
        let (key, name) = register.company(dice, index, industry, city);
        let size = dice.between(100, 260) + if dice.chance(250) { dice.between(50, 400) } else { 0 };
        Self {
            key,
            name,
            industry,
            city,
            offsets,
            // Fixed places rather than draws, so that a dozen accounts have some of each kind.
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

fn zips(dice: &mut Dice, city: &City) -> Vec<String> {
    let mut ends: Vec<u32> = (0..100).collect();
    dice.shuffle(&mut ends);
    ends.iter().take(24).map(|end| format!("{}{end:02}", city.zip)).collect()
}
