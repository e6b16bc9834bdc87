//! The histories of customers.

use super::account::Account;
use super::calendar::DemoCalendar;
use super::campaign::{MAIN_LINE_INDEX, WALK_IN};
use super::dice::Dice;
use super::event::{Conversion, CustomerProfile, Event, EventRow, LocalTime, Stage, grade};
use super::plan::{LEADS_PER_MILLE, LeadMix};
use super::service_job::ServiceJob;

/// A generator of the customers that begin in one month of one account.
#[derive(Debug)]
pub(super) struct HistoryGenerator<'a> {
    calendar: &'a DemoCalendar,
    account: &'a Account,
    /// Index of the account.
    index: usize,
    /// Index of the month.
    month: usize,
    mix: LeadMix,
}

impl<'a> HistoryGenerator<'a> {
    pub(super) fn new(calendar: &'a DemoCalendar, account: &'a Account, index: usize, month: usize) -> Self {
        Self { calendar, account, index, month, mix: LeadMix::new(account, month) }
    }

    /// Draws the whole history of a customer, in time order, up to the end of the calendar. `number` is that of
    /// [`CustomerProfile`].
    pub(super) fn draw(&self, dice: &mut Dice, number: u64) -> Vec<EventRow> {
        let campaign = dice.chance(LEADS_PER_MILLE).then(|| self.mix.draw(dice));
        let channel = campaign.map_or(&WALK_IN, |campaign| self.account.campaigns[campaign].channel);
        let booked = campaign.is_none() || dice.chance(self.account.booking * channel.booking / 1_000);
        let status = status(dice, booked, campaign.is_none());
        let first = LocalTime { day: self.calendar.months[self.month].draw_day(dice), second: call_time(dice) };

        let mut events = Vec::with_capacity(8);
        let kind = campaign.map(|campaign| self.conversions(dice, campaign, first, booked, &mut events));
        if booked {
            self.jobs(dice, campaign, first, status, &mut events);
        }
        events.retain(|event| event.at.day <= self.calendar.last);
        events.sort_by_key(|event| event.at);

        let customer = CustomerProfile {
            account: self.index,
            month: self.month,
            number,
            campaign,
            status,
            agent: dice.index(self.account.agents.len()),
            technician: dice.index(self.account.technicians.len()),
            unit: dice.table(&[(520, 0), (240, 1), (160, 2), (80, 3)]),
            zip: dice.chance(880).then(|| dice.index(self.account.zips.len())),
            source: match kind {
                None => "Walk-In",
                Some("Call" | "Text") => "Phone",
                Some(_) => "Web",
            },
            contact: kind.map(|kind| match kind {
                "Form" => "form",
                "Chat" => "chat",
                _ => "phone",
            }),
            job: dice.table(&[(560, "Service"), (180, "Install"), (160, "Estimate"), (100, "Maintenance")]),
        };
        events.into_iter().enumerate().map(|(nth, event)| EventRow { customer, event, nth }).collect()
    }

    /// Draws the conversion that creates the lead, and repeated ones. Returns the kind of the first.
    fn conversions(
        &self,
        dice: &mut Dice,
        campaign: usize,
        first: LocalTime,
        booked: bool,
        events: &mut Vec<Event>,
    ) -> &'static str {
        let conversion = self.conversion(dice, campaign, booked);
        events.push(lead(first, conversion));
        let repeats = dice.table(&[(795, 0), (135, 1), (50, 2), (20, 3)]);
        for _ in 0..repeats {
            let lag = dice.table(&[(300, 0), (250, 1), (200, 3), (150, 7), (100, 21)]);
            let at = if lag == 0 {
                first.plus_minutes(dice.between(5, 180))
            } else {
                LocalTime { day: first.day.saturating_add_unsigned(dice.between(1, lag)), second: call_time(dice) }
            };
            // Repeated contact often comes through the number on an invoice or the first search result.
            let again = match dice.below(20) {
                0..11 => campaign,
                11..17 => MAIN_LINE_INDEX,
                _ => self.mix.draw_other(dice),
            };
            events.push(lead(at, self.conversion(dice, again, booked)));
        }
        conversion.kind
    }

    /// Draws the jobs of a booked customer: the first, and sometimes further ones, each some months after the one
    /// before.
    fn jobs(&self, dice: &mut Dice, campaign: Option<usize>, first: LocalTime, status: &str, events: &mut Vec<Event>) {
        let level = self.account.industry.ticket * self.account.ticket / 1_000;
        let mut job = ServiceJob { level, known: status != UNMATCHED, returning: false };
        let mut closed = job.draw(dice, first, campaign.is_some(), events);
        while let Some(day) = closed
            && dice.chance(80)
        {
            job.returning = true;
            let at = LocalTime { day: day.saturating_add_unsigned(dice.between(40, 240)), second: call_time(dice) };
            let conversion = self.conversion(dice, campaign.unwrap_or(MAIN_LINE_INDEX), true);
            events.push(Event { returning: true, ..lead(at, conversion) });
            closed = job.draw(dice, at, true, events);
        }
    }

    fn conversion(&self, dice: &mut Dice, campaign: usize, booked: bool) -> Conversion {
        let kind = if campaign == MAIN_LINE_INDEX {
            dice.table(&[(940, "Call"), (60, "Text")])
        } else {
            dice.table(&[(720, "Call"), (190, "Form"), (60, "Chat"), (30, "Text")])
        };
        let grade = if self.account.lead_grading { grade(dice, booked) } else { None };
        Conversion { campaign, kind, grade }
    }
}

/// The status of a customer whom the account's job software does not know.
const UNMATCHED: &str = "Unmatched";

/// Draws the customer's status in the account's job software. Most customers who were not booked are unmatched, and so
/// are a few who were booked.
fn status(dice: &mut Dice, booked: bool, walk_in: bool) -> &'static str {
    match (booked, walk_in) {
        (_, true) => dice.table(&[(650, "Existing"), (350, "New")]),
        (true, false) => dice.table(&[(560, "New"), (340, "Existing"), (100, UNMATCHED)]),
        (false, false) => dice.table(&[(845, UNMATCHED), (100, "Existing"), (55, "New")]),
    }
}

/// Draws the time of a call in seconds since midnight: 6:30 to 20:30, mostly before noon.
fn call_time(dice: &mut Dice) -> u32 {
    let opening = 6 * 3_600 + 1_800;
    opening + dice.below(4 * 3_600) + if dice.chance(500) { dice.below(10 * 3_600) } else { dice.below(3 * 3_600) }
}

fn lead(at: LocalTime, conversion: Conversion) -> Event {
    Event { stage: Stage::LeadOriginated, at, cents: None, conversion: Some(conversion), returning: false }
}
