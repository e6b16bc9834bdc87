//! The industries and cities of accounts, and the names of companies and people.

use std::collections::HashSet;

use super::dice::Dice;

/// An industry: its services, seasons and prices.
#[derive(Debug)]
pub(super) struct Industry {
    pub(super) name: &'static str,
    /// Part of the account's key.
    pub(super) slug: &'static str,
    /// Second halves of company names.
    pub(super) trades: [&'static str; 4],
    /// Relative demand in each month, from January to December.
    pub(super) season: [u32; 12],
    /// Price level relative to all industries, in thousandths.
    pub(super) ticket: u32,
    pub(super) services: [&'static str; 8],
    /// Business units, as accounts name them and normalized.
    pub(super) units: [(&'static str, &'static str); 4],
}

/// The industries of ten consecutive accounts; the next ten have the same again.
pub(super) const INDUSTRIES: [&Industry; 10] =
    [&HVAC, &PLUMBING, &HVAC, &ELECTRICAL, &PLUMBING, &ROOFING, &HVAC, &PLUMBING, &ELECTRICAL, &HVAC];

static HVAC: Industry = Industry {
    name: "HVAC",
    slug: "hvac",
    trades: ["Heating & Air", "Air Conditioning", "Heating & Cooling", "Comfort Systems"],
    season: [118, 102, 76, 74, 100, 142, 158, 146, 98, 74, 86, 108],
    ticket: 1_080,
    services: [
        "AC Repair",
        "AC Install",
        "Furnace Repair",
        "Furnace Install",
        "Heat Pumps",
        "Ductless",
        "Tune-Up",
        "Air Quality",
    ],
    units: [
        ("HVAC - Service", "HVAC Service"),
        ("HVAC - Install", "HVAC Replacement"),
        ("HVAC - Maintenance", "HVAC Maintenance"),
        ("IAQ", "Indoor Air Quality"),
    ],
};

static PLUMBING: Industry = Industry {
    name: "Plumbing",
    slug: "plumbing",
    trades: ["Plumbing & Heating", "Plumbing", "Plumbing & Drain", "Rooter & Plumbing"],
    season: [122, 110, 100, 94, 92, 94, 98, 96, 90, 94, 104, 116],
    ticket: 930,
    services: [
        "Drain Cleaning",
        "Water Heaters",
        "Sewer Line",
        "Leak Repair",
        "Repipe",
        "Tankless",
        "Sump Pumps",
        "Fixtures",
    ],
    units: [
        ("Plumbing Service", "Plumbing Service"),
        ("Plumbing - Install", "Plumbing Replacement"),
        ("Drains", "Drain & Sewer"),
        ("Excavation", "Drain & Sewer"),
    ],
};

static ELECTRICAL: Industry = Industry {
    name: "Electrical",
    slug: "electric",
    trades: ["Electric", "Electrical Services", "Electric & Lighting", "Power & Electric"],
    season: [92, 88, 94, 96, 102, 112, 114, 108, 98, 98, 102, 116],
    ticket: 960,
    services: [
        "Panel Upgrade",
        "EV Chargers",
        "Generators",
        "Lighting",
        "Rewire",
        "Outlets",
        "Surge Protection",
        "Ceiling Fans",
    ],
    units: [
        ("Electrical - Service", "Electrical Service"),
        ("Electrical - Projects", "Electrical Replacement"),
        ("Generators", "Generators"),
        ("EV", "Electrical Replacement"),
    ],
};

static ROOFING: Industry = Industry {
    name: "Roofing",
    slug: "roofing",
    trades: ["Roofing", "Roofing & Gutters", "Roofing & Exteriors", "Roof Company"],
    season: [58, 60, 88, 116, 134, 132, 124, 120, 122, 116, 82, 58],
    ticket: 1_120,
    services: [
        "Roof Repair",
        "Roof Replacement",
        "Storm Damage",
        "Gutters",
        "Metal Roofs",
        "Flat Roofs",
        "Skylights",
        "Inspection",
    ],
    units: [
        ("Roof Repairs", "Roofing Service"),
        ("Roofing - Replacement", "Roofing Replacement"),
        ("Gutters", "Gutters & Exteriors"),
        ("Insurance Restoration", "Roofing Replacement"),
    ],
};

/// The city of an account.
#[derive(Debug)]
pub(super) struct City {
    pub(super) name: &'static str,
    /// Part of the account's key, if the rest of the key is taken.
    pub(super) slug: &'static str,
    /// The first three digits of its ZIP codes.
    pub(super) zip: &'static str,
    /// The name of its time zone.
    pub(super) zone: &'static str,
}

pub(super) const CITIES: [City; 16] = [
    city("Denver", "denver", "802", "America/Denver"),
    city("Charlotte", "charlotte", "282", "America/New_York"),
    city("Dallas", "dallas", "752", "America/Chicago"),
    city("Phoenix", "phoenix", "850", "America/Phoenix"),
    city("Boston", "boston", "021", "America/New_York"),
    city("Sacramento", "sacramento", "958", "America/Los_Angeles"),
    city("Nashville", "nashville", "372", "America/Chicago"),
    city("Tampa", "tampa", "336", "America/New_York"),
    city("Columbus", "columbus", "432", "America/New_York"),
    city("Seattle", "seattle", "981", "America/Los_Angeles"),
    city("Kansas City", "kansas-city", "641", "America/Chicago"),
    city("Salt Lake City", "salt-lake-city", "841", "America/Denver"),
    city("Richmond", "richmond", "232", "America/New_York"),
    city("Newark", "newark", "071", "America/New_York"),
    city("Indianapolis", "indianapolis", "462", "America/Indiana/Indianapolis"),
    city("Honolulu", "honolulu", "968", "Pacific/Honolulu"),
];

const fn city(name: &'static str, slug: &'static str, zip: &'static str, zone: &'static str) -> City {
    City { name, slug, zip, zone }
}

/// First halves of company names. The key of an account begins with what is before the bar, or with the whole name.
const COMPANIES: &str = "\
    Summit,Evergreen,Blue Ridge,Ironwood,Lakeside,Keystone,Cardinal,Patriot,Cascade,Harbor,Golden Gate,Redwood,\
    Pioneer,North Star,Liberty,O'Malley,Hartman| & Sons,Sunrise,Granite,Magnolia,Prairie,Delgado| Brothers,\
    Silver Creek,Titan,Beacon,Whitfield,Copperline,Stonebridge,Allied,Heritage,Maple Street,Falcon,Guardian,Kowalski,\
    Bay State,Frontier,Trident,Rivera,Crestview,Old Mill,Two Brothers,Premier,Sterling,Valley,Benchmark,\
    Nguyen| & Daughters,Hometown,Lone Star";

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
    companies: Vec<&'static str>,
    taken: HashSet<String>,
}

impl CompanyNames {
    pub(super) fn new(dice: &mut Dice) -> Self {
        let mut companies: Vec<&str> = COMPANIES.split(',').collect();
        dice.shuffle(&mut companies);
        Self { companies, taken: HashSet::new() }
    }

    /// Draws the key and the name of an account. If the key is taken, appends the city; if that key is taken too,
    /// appends a number.
    pub(super) fn draw(&mut self, dice: &mut Dice, index: usize, industry: &Industry, city: &City) -> (String, String) {
        let company = self.companies[index % self.companies.len()];
        let slug = company.split('|').next().unwrap_or_default().replace('\'', "").replace(' ', "-").to_lowercase();
        let trade = dice.pick(&industry.trades);
        let mut key = format!("{slug}-{}", industry.slug);
        let mut name = format!("{} {trade}", company.replace('|', ""));
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
