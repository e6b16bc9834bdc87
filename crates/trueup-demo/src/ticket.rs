use super::dice::Dice;

/// The size of a job in cents, before the account's own level: many repairs, fewer replacements, which bring most of the money.
#[derive(Debug, Clone, Copy)]
enum TicketSize {
    Repair,
    Upgrade,
    Replacement,
}

/// A job's price in cents, around 2,100 dollars times `level` thousandths.
pub(super) fn price(dice: &mut Dice, level: u32) -> u64 {
    let size = dice.table(&[(640, TicketSize::Repair), (250, TicketSize::Upgrade), (110, TicketSize::Replacement)]);
    let dollars = match size {
        TicketSize::Repair => dice.between(120, 520) + dice.below(400),
        TicketSize::Upgrade => dice.between(800, 2_400) + dice.below(1_400),
        TicketSize::Replacement => dice.between(5_000, 12_000) + dice.below(6_000),
    };
    round(u64::from(dollars) * 100 * u64::from(level) / 1_000, dice)
}

/// A price changed by a change order: 88 to 118 percent.
pub(super) fn changed(dice: &mut Dice, cents: u64) -> u64 {
    let to = dice.between(88, 118);
    round(cents * u64::from(to) / 100, dice)
}

/// What else could be had, next to a price: a better option on an estimate.
pub(super) fn better(dice: &mut Dice, cents: u64) -> u64 {
    let to = dice.between(115, 190);
    round(cents * u64::from(to) / 100, dice)
}

/// Prices end in whole dollars, in 95 cents, or, with taxes and parts, anywhere.
fn round(cents: u64, dice: &mut Dice) -> u64 {
    let dollars = cents / 100 * 100;
    match dice.below(10) {
        0..=5 => dollars,
        6 | 7 => dollars + 95,
        _ => dollars + u64::from(dice.below(100)),
    }
}
