use super::dice::Dice;

/// How an account pays the agency that runs its managed channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fee {
    /// It runs them itself.
    None,
    /// A share of the month's budget in thousandths, channel by channel, on the first of the month.
    Monthly(u32),
    /// The same, a part of it every day.
    Daily(u32),
    /// A retainer of that many thousandths of the managed budgets, booked on no channel at all.
    Retainer(u32),
}

impl Fee {
    pub(super) fn draw(dice: &mut Dice, index: usize) -> Self {
        let share = dice.between(90, 150);
        // Fixed places rather than draws, so that a dozen accounts have some of each kind.
        match index % 5 {
            0 | 3 => Self::Monthly(share),
            1 => Self::Daily(share),
            2 => Self::Retainer(share),
            _ => Self::None,
        }
    }
}
