use super::calendar::weekday;
use super::dice::Dice;
use super::event::{Event, LocalTime, Stage};
use super::ticket;

/// One job of a customer, from the booking to the last invoice.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServiceJob {
    /// The account's level of prices, in thousandths.
    pub(super) level: u32,
    /// Whether the job software knows the customer; if not, nothing is heard of the job after its booking.
    pub(super) known: bool,
    pub(super) returning: bool,
}

impl ServiceJob {
    /// Adds the job's events. `called`: the customer called at `first`; if not, it was booked at that very moment.
    /// Gives the day of the last invoice, if the job came so far.
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

    /// The visit of a booking. A few are canceled before it, and some of those are booked again.
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

    /// The estimates of a visit and the sale, if there is one, with its price in cents.
    fn sale(self, dice: &mut Dice, visit: LocalTime, events: &mut Vec<Event>) -> Option<(LocalTime, u64)> {
        let price = ticket::price(dice, self.level);
        let goes = dice.chance(480);
        // Small work is done at once, without an estimate.
        let options = if dice.chance(120) { 0 } else { dice.table(&[(700, 1), (220, 2), (80, 3)]) };
        let mut offer = if goes { price } else { ticket::better(dice, price) };
        for option in 0..options {
            events.push(self.event(Stage::Estimated, visit.plus_minutes(20 + 10 * option), Some(offer)));
            offer = ticket::better(dice, offer);
        }
        if !goes {
            if dice.chance(60) {
                let at = later(dice, visit, 1, 20);
                events.push(self.event(Stage::Canceled, at, None));
            }
            return None;
        }
        let thought = dice.table(&[(580, 0), (260, 4), (160, 14)]);
        let sold = later(dice, visit.plus_minutes(50), 0, thought);
        events.push(self.event(Stage::Sold, sold, Some(price)));
        Some((sold, price))
    }

    /// Invoices are closed two to four weeks after the work; change orders are in them.
    fn invoices(self, dice: &mut Dice, work: i32, price: u64, events: &mut Vec<Event>) -> i32 {
        let cents = if dice.chance(150) { ticket::changed(dice, price) } else { price };
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

/// Most are booked while they are on the line.
fn booking(dice: &mut Dice, first: LocalTime) -> LocalTime {
    match dice.table(&[(640, 0), (160, 1), (100, 2), (70, 7), (30, 21)]) {
        0 => first.plus_minutes(dice.between(3, 25)),
        lag => later(dice, first, 1, lag),
    }
}

/// Some days later, in office hours; half an hour later, if that is the same day.
fn later(dice: &mut Dice, from: LocalTime, least: u32, most: u32) -> LocalTime {
    let days = dice.between(least, most);
    if days == 0 {
        return from.plus_minutes(30);
    }
    LocalTime { day: from.day.saturating_add_unsigned(days), second: dice.between(8 * 3_600, 17 * 3_600) }
}

/// Hardly any crew works on a Sunday.
fn workday(dice: &mut Dice, day: i32) -> i32 {
    if weekday(day) == 6 && dice.chance(850) { day + 1 } else { day }
}
