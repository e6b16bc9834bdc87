//! Names of companies and people.

use std::collections::HashSet;

use super::dice::Dice;
use super::market::{City, Industry};

/// First halves of company names, each with the first half of the account's key.
const COMPANIES: [(&str, &str); 48] = [
    ("Summit", "summit"),
    ("Evergreen", "evergreen"),
    ("Blue Ridge", "blue-ridge"),
    ("Ironwood", "ironwood"),
    ("Lakeside", "lakeside"),
    ("Keystone", "keystone"),
    ("Cardinal", "cardinal"),
    ("Patriot", "patriot"),
    ("Cascade", "cascade"),
    ("Harbor", "harbor"),
    ("Golden Gate", "golden-gate"),
    ("Redwood", "redwood"),
    ("Pioneer", "pioneer"),
    ("North Star", "north-star"),
    ("Liberty", "liberty"),
    ("O'Malley", "omalley"),
    ("Hartman & Sons", "hartman"),
    ("Sunrise", "sunrise"),
    ("Granite", "granite"),
    ("Magnolia", "magnolia"),
    ("Prairie", "prairie"),
    ("Delgado Brothers", "delgado"),
    ("Silver Creek", "silver-creek"),
    ("Titan", "titan"),
    ("Beacon", "beacon"),
    ("Whitfield", "whitfield"),
    ("Copperline", "copperline"),
    ("Stonebridge", "stonebridge"),
    ("Allied", "allied"),
    ("Heritage", "heritage"),
    ("Maple Street", "maple-street"),
    ("Falcon", "falcon"),
    ("Guardian", "guardian"),
    ("Kowalski", "kowalski"),
    ("Bay State", "bay-state"),
    ("Frontier", "frontier"),
    ("Trident", "trident"),
    ("Rivera", "rivera"),
    ("Crestview", "crestview"),
    ("Old Mill", "old-mill"),
    ("Two Brothers", "two-brothers"),
    ("Premier", "premier"),
    ("Sterling", "sterling"),
    ("Valley", "valley"),
    ("Benchmark", "benchmark"),
    ("Nguyen & Daughters", "nguyen"),
    ("Hometown", "hometown"),
    ("Lone Star", "lone-star"),
];

/// Given names of people.
const GIVEN: [&str; 24] = [
    "Maria", "James", "Ashley", "Carlos", "Denise", "Tyler", "Latoya", "Kevin", "Priya", "Brandon", "Rosa", "Megan",
    "DeShawn", "Hannah", "Luis", "Tammy", "Omar", "Nicole", "Greg", "Yolanda", "Ethan", "Sofia", "Marcus", "Erin",
];
/// Family names of people.
const FAMILY: [&str; 20] = [
    "Alvarez", "Brooks", "Chen", "Dawson", "Evans", "Fischer", "Garcia", "Hughes", "Ibarra", "Johnson", "Kaplan",
    "Lopez", "Murphy", "Nolan", "Ortiz", "Patel", "Quinn", "Reyes", "Sanders", "Tran",
];

/// A generator of company names with unique keys.
#[derive(Debug)]
pub(super) struct CompanyNames {
    companies: Vec<(&'static str, &'static str)>,
    taken: HashSet<String>,
}

impl CompanyNames {
    pub(super) fn new(dice: &mut Dice) -> Self {
        let mut companies = COMPANIES.to_vec();
        dice.shuffle(&mut companies);
        Self { companies, taken: HashSet::new() }
    }

    /// Draws the key and the name of an account. If the key is taken, appends the city; if that key is taken too,
    /// appends a number.
    pub(super) fn draw(&mut self, dice: &mut Dice, index: usize, industry: &Industry, city: &City) -> (String, String) {
        let (company, slug) = self.companies[index % self.companies.len()];
        let trade = dice.pick(&industry.trades);
        let mut key = format!("{slug}-{}", industry.slug);
        let mut name = format!("{company} {trade}");
        if self.taken.contains(&key) {
            key = format!("{key}-{}", city.slug);
            name = format!("{name} of {}", city.name);
        }
        let (base_key, base_name) = (key.clone(), name.clone());
        let mut branch = 1;
        while !self.taken.insert(key.clone()) {
            branch += 1;
            key = format!("{base_key}-{branch}");
            name = format!("{base_name} ({branch})");
        }
        (key, name)
    }
}

/// Draws the distinct names of `size` people, at most 40.
pub(super) fn crew(dice: &mut Dice, size: usize) -> Vec<String> {
    let mut people: Vec<String> = Vec::with_capacity(size);
    // There are far more names than people, so a name that is not taken is soon drawn.
    while people.len() < size.min(40) {
        let person = format!("{} {}", dice.pick(&GIVEN), dice.pick(&FAMILY));
        if !people.contains(&person) {
            people.push(person);
        }
    }
    people
}
