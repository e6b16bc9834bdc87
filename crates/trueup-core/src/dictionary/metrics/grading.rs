//! How conversions were graded. All of these are 0 for accounts without lead grading.

use super::super::Field;
use super::super::FieldGroup::LeadGrading;
use super::super::Measure as M;
use super::super::entry::{count, share};

const BOOKABLE: &[M] = &[M::BookedConversions, M::BookableUnbookedConversions];

pub(super) static FIELDS: &[Field] = &[
    count(LeadGrading, "gradedConversions", "Graded Conversions", &[M::GradedConversions]).higher().means(
        "The number of conversions that were graded, whatever the grade. 0 if there is none, and for accounts without \
         lead grading.",
    ),
    count(LeadGrading, "bookableConversions", "Bookable Conversions", BOOKABLE).higher().means(
        "The number of conversions graded as bookable, whether they were booked or not. 0 if there is none, and for \
         accounts without lead grading.",
    ),
    count(LeadGrading, "bookedConversions", "Booked Conversions", &[M::BookedConversions]).higher().means(
        "The number of conversions graded as bookable and booked. 0 if there is none, and for accounts without lead \
         grading.",
    ),
    count(
        LeadGrading,
        "bookableUnbookedConversions",
        "Bookable Unbooked Conversions",
        &[M::BookableUnbookedConversions],
    )
    .lower()
    .means(
        "The number of conversions graded as bookable that were not booked: work that was lost on the call. 0 if there \
         is none, and for accounts without lead grading.",
    ),
    count(LeadGrading, "unbookableConversions", "Unbookable Conversions", &[M::UnbookableConversions]).lower().means(
        "The number of conversions graded as ones that nobody could have booked. 0 if there is none, and for accounts \
         without lead grading.",
    ),
    share(
        LeadGrading,
        "percentConversionsGraded",
        "Percent of Conversions Graded",
        &[M::GradedConversions],
        &[M::Conversions],
    )
    .higher()
    .means(
        "The share of conversions that were graded, as a fraction. 0 without conversions, and for accounts without lead \
         grading.",
    ),
    share(LeadGrading, "conversionQuality", "Conversion Quality", BOOKABLE, &[M::GradedConversions]).higher().means(
        "The share of graded conversions that were bookable, as a fraction. 0 without graded conversions, and for \
         accounts without lead grading.",
    ),
];
