use super::dice::Dice;

/// What a conversion turned out to be when somebody listened to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grade {
    pub(super) label: &'static str,
    pub(super) intent: &'static str,
    /// Only for what could not be booked.
    pub(super) reason: Option<&'static str>,
}

const REASONS: [(u32, &str); 6] = [
    (280, "Service Not Offered"),
    (220, "Out of Service Area"),
    (190, "Price Shopping"),
    (140, "Existing Job"),
    (100, "Wrong Number"),
    (70, "Solicitor"),
];

const INTENTS: [(u32, &str); 5] =
    [(420, "Repair"), (210, "Estimate"), (170, "Maintenance"), (130, "Installation"), (70, "Emergency")];

/// Grades a conversion of a customer who is or is not booked; some are never graded.
pub(super) fn grade(dice: &mut Dice, booked: bool) -> Option<Grade> {
    if !dice.chance(860) {
        return None;
    }
    let intent = dice.table(&INTENTS);
    let label = match (booked, dice.below(100)) {
        (true, 0..84) => "Bookable - Booked",
        (true, 84..94) | (false, 0..46) => "Bookable - Didn't Book",
        _ => "Unbookable",
    };
    let reason = (label == "Unbookable").then(|| dice.table(&REASONS));
    Some(Grade { label, intent, reason })
}
