//! A job of a customer: its events from the booking to the last invoice, and its price.

use super::calendar::weekday;
use super::dice::Dice;
use super::event::{Event, LocalTime, Stage};

/// A job of a customer.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServiceJob {
    /// Price level of the account, in thousandths.
    pub(super) level: u32,
    /// Whether the account's job software knows the customer. If not, nothing but a cancellation can follow the
    /// booking.
    pub(super) known: bool,
    /// Whether the customer had a job before.
    pub(super) returning: bool,
}

impl ServiceJob {
    /// Draws the job and appends its events. If `called`, the customer called at `first` and is booked later; otherwise
    /// the booking is at `first`. Returns the day of the last invoice, if there is one.
    pub(super) fn draw(self, dice: &mut Dice, first: LocalTime, called: bool, events: &mut Vec<Event>) -> Option<i32> {
        let booked = if called { booking(dice, first) } else { first };
        events.push(self.event(Stage::Booked, booked, None));
        if !self.known {
            if dice.chance(120) {
                let at = later(dice, booked, 0, 5);
                events.push(self.event(Stage::Canceled, at, None));
            }
            return None;
        }
        let visit = self.visit(dice, booked, events)?;
        let (sold, price) = self.sale(dice, visit, events)?;
        if dice.chance(40) {
            let at = later(dice, sold, 0, 7);
            events.push(self.event(Stage::Canceled, at, None));
            return None;
        }
        if dice.chance(50) {
            return None;
        }
        let wait = dice.table(&[(500, 0), (300, 4), (200, 12)]);
        let start = later(dice, sold, 0, wait);
        let work = workday(dice, start.day);
        Some(self.invoices(dice, work, price, events))
    }

    /// Draws the time of the visit; `None` if the job is canceled before. Some canceled jobs are booked again.
    fn visit(self, dice: &mut Dice, mut booked: LocalTime, events: &mut Vec<Event>) -> Option<LocalTime> {
        if dice.chance(110) {
            let canceled = later(dice, booked, 0, 3);
            events.push(self.event(Stage::Canceled, canceled, None));
            if !dice.chance(300) {
                return None;
            }
            booked = later(dice, canceled, 1, 10);
            events.push(self.event(Stage::Booked, booked, None));
        }
        let wait = dice.table(&[(330, 0), (320, 1), (230, 3), (120, 7)]);
        let asked = later(dice, booked, 0, wait);
        let day = workday(dice, asked.day);
        let arrival = LocalTime { day, second: dice.between(8 * 3_600, 16 * 3_600) };
        Some(arrival.max(booked.plus_minutes(60)))
    }

    /// Draws the estimates of a visit, and the sale with its price in cents, if there is one.
    fn sale(self, dice: &mut Dice, visit: LocalTime, events: &mut Vec<Event>) -> Option<(LocalTime, u64)> {
        let price = price(dice, self.level);
        let is_sold = dice.chance(480);
        // Some visits bring no estimate: the job is sold at once, or not at all.
        let options = if dice.chance(120) { 0 } else { dice.table(&[(700, 1), (220, 2), (80, 3)]) };
        let mut offer = if is_sold { price } else { better_price(dice, price) };
        for option in 0..options {
            events.push(self.event(Stage::Estimated, visit.plus_minutes(20 + 10 * option), Some(offer)));
            offer = better_price(dice, offer);
        }
        if !is_sold {
            if dice.chance(60) {
                let at = later(dice, visit, 1, 20);
                events.push(self.event(Stage::Canceled, at, None));
            }
            return None;
        }
        let thinking_days = dice.table(&[(580, 0), (260, 4), (160, 14)]);
        let sold = later(dice, visit.plus_minutes(50), 0, thinking_days);
        events.push(self.event(Stage::Sold, sold, Some(price)));
        Some((sold, price))
    }

    /// Draws the invoices: sometimes a deposit, and always the rest, two to four weeks after the work. Together they
    /// are the price, or the price after a change order. Returns the day of the last invoice.
    fn invoices(self, dice: &mut Dice, work: i32, price: u64, events: &mut Vec<Event>) -> i32 {
        let cents = if dice.chance(150) { changed_price(dice, price) } else { price };
        let last = LocalTime {
            day: work.saturating_add_unsigned(dice.between(14, 28)),
            second: dice.between(9 * 3_600, 18 * 3_600),
        };
        let deposit = if dice.chance(80) { cents * 3 / 10 } else { 0 };
        if deposit > 0 {
            let first = LocalTime { day: work.saturating_add_unsigned(14), second: 9 * 3_600 };
            events.push(self.event(Stage::Closed, first.min(last), Some(deposit)));
        }
        events.push(self.event(Stage::Closed, last, Some(cents - deposit)));
        last.day
    }

    fn event(self, stage: Stage, at: LocalTime, cents: Option<u64>) -> Event {
        Event { stage, at, cents, conversion: None, returning: self.returning }
    }
}

/// Draws the time of the booking. Most customers are booked during their call.
fn booking(dice: &mut Dice, first: LocalTime) -> LocalTime {
    match dice.table(&[(640, 0), (160, 1), (100, 2), (70, 7), (30, 21)]) {
        0 => first.plus_minutes(dice.between(3, 25)),
        lag => later(dice, first, 1, lag),
    }
}

/// Draws a time `least` to `most` days later, in office hours; on the same day, half an hour later.
fn later(dice: &mut Dice, from: LocalTime, least: u32, most: u32) -> LocalTime {
    let days = dice.between(least, most);
    if days == 0 {
        return from.plus_minutes(30);
    }
    LocalTime { day: from.day.saturating_add_unsigned(days), second: dice.between(8 * 3_600, 17 * 3_600) }
}

/// Moves most Sundays to the next day, because few crews work on Sundays.
fn workday(dice: &mut Dice, day: i32) -> i32 {
    if weekday(day) == 6 && dice.chance(850) { day + 1 } else { day }
}

/// The size of a job. There are many repairs, and few replacements, which bring most of the revenue.
#[derive(Debug, Clone, Copy)]
enum TicketSize {
    Repair,
    Upgrade,
    Replacement,
}

/// Draws the price of a job in cents: about 2,200 dollars on average, times `level` thousandths.
fn price(dice: &mut Dice, level: u32) -> u64 {
    let size = dice.table(&[(640, TicketSize::Repair), (250, TicketSize::Upgrade), (110, TicketSize::Replacement)]);
    let dollars = match size {
        TicketSize::Repair => dice.between(120, 520) + dice.below(400),
        TicketSize::Upgrade => dice.between(800, 2_400) + dice.below(1_400),
        TicketSize::Replacement => dice.between(5_000, 12_000) + dice.below(6_000),
    };
    round_price(u64::from(dollars) * 100 * u64::from(level) / 1_000, dice)
}

/// Draws a price after a change order: 88 to 118 percent.
fn changed_price(dice: &mut Dice, cents: u64) -> u64 {
    let to = dice.between(88, 118);
    round_price(cents * u64::from(to) / 100, dice)
}

/// Draws the price of a better option of an estimate: 115 to 190 percent.
fn better_price(dice: &mut Dice, cents: u64) -> u64 {
    let to = dice.between(115, 190);
    round_price(cents * u64::from(to) / 100, dice)
}

/// Gives a price whole dollars, 95 cents, or any cents, as with taxes and parts.
fn round_price(cents: u64, dice: &mut Dice) -> u64 {
    let dollars = cents / 100 * 100;
    match dice.below(10) {
        0..=5 => dollars,
        6 | 7 => dollars + 95,
        _ => dollars + u64::from(dice.below(100)),
    }
}
