//! Grades of conversions and customers. All of these are empty for accounts without lead grading.

use super::super::Field;
use super::super::FieldGroup::LeadGrading;
use super::super::entry::stored;

const LABELS: &[&str] = &["Bookable - Booked", "Bookable - Didn't Book", "Unbookable"];

/// What the definition of every one of these ends with.
macro_rules! subscribers_only {
    () => {
        " Empty if there is none, and for accounts without lead grading."
    };
}

pub(super) static FIELDS: &[Field] = &[
    stored(LeadGrading, "conversionDetailedLabel", "Conversion Detailed Label").values(LABELS).means(concat!(
        "The grade of the conversion: bookable and booked, bookable but not booked, or unbookable.",
        subscribers_only!()
    )),
    stored(LeadGrading, "conversionIntent", "Conversion Intent")
        .means(concat!("What the person behind the conversion wanted.", subscribers_only!())),
    stored(LeadGrading, "conversionReasonUnbookable", "Conversion Reason Unbookable")
        .means(concat!("Why nobody could have booked the conversion.", subscribers_only!())),
    stored(LeadGrading, "conversionReasonLost", "Conversion Reason Lost")
        .means(concat!("Why a conversion that was bookable was not booked.", subscribers_only!())),
    stored(LeadGrading, "conversionOutOfServiceAreaZip", "Conversion Out of Service Area ZIP").means(concat!(
        "The postal code asked for in the conversion, if it lies outside the area served.",
        subscribers_only!()
    )),
    stored(LeadGrading, "conversionNotOfferedServiceRequested", "Conversion Not Offered Service Requested").means(
        concat!("The service asked for in the conversion, if the business does not offer it.", subscribers_only!()),
    ),
    stored(LeadGrading, "conversionNeedsManagementReview", "Conversion Needs Management Review")
        .boolean()
        .means(concat!("Whether somebody in charge should look at the conversion.", subscribers_only!())),
    stored(LeadGrading, "conversionPlannedFollowUpSubcategory", "Conversion Planned Follow-Up Subcategory")
        .means(concat!("What was agreed in the conversion as the next contact, in finer kinds.", subscribers_only!())),
    stored(LeadGrading, "conversionVersion", "Conversion Version")
        .means(concat!("The version of the rules by which the conversion was graded.", subscribers_only!())),
    stored(LeadGrading, "conversionOriginalDetailedLabel", "Conversion Original Detailed Label")
        .values(LABELS)
        .means(concat!("The grade that the conversion had before anybody corrected it.", subscribers_only!())),
    stored(LeadGrading, "conversionOriginalIntent", "Conversion Original Intent").means(concat!(
        "What the person behind the conversion was taken to want before anybody corrected it.",
        subscribers_only!()
    )),
    stored(LeadGrading, "conversionOriginalReasonUnbookable", "Conversion Original Reason Unbookable").means(concat!(
        "Why the conversion was held to be unbookable before anybody corrected it.",
        subscribers_only!()
    )),
    stored(LeadGrading, "conversionOriginalReasonLost", "Conversion Original Reason Lost")
        .means(concat!("Why the conversion was held to be lost before anybody corrected it.", subscribers_only!())),
    stored(LeadGrading, "opportunityDetailedLabel", "Opportunity Detailed Label").values(LABELS).means(concat!(
        "The grade of the customer, from all its conversions: bookable and booked, bookable but not booked, or \
         unbookable.",
        subscribers_only!()
    )),
    stored(LeadGrading, "opportunityReasonUnbookable", "Opportunity Reason Unbookable")
        .means(concat!("Why nobody could have booked the customer.", subscribers_only!())),
    stored(LeadGrading, "opportunityReasonLost", "Opportunity Reason Lost")
        .means(concat!("Why a customer that was bookable was not booked.", subscribers_only!())),
    stored(LeadGrading, "opportunityIntent", "Opportunity Intent")
        .means(concat!("What the customer wanted, from all its conversions.", subscribers_only!())),
    stored(LeadGrading, "conversionTranscript", "Conversion Transcript")
        .means(concat!("The words spoken or written in the conversion.", subscribers_only!())),
    stored(LeadGrading, "conversionCallOrChatSummary", "Conversion Call or Chat Summary")
        .means(concat!("A short account of what was said in the conversion.", subscribers_only!())),
    stored(LeadGrading, "recordingPlayer", "Recording Player")
        .means(concat!("The address at which the recording of the call can be heard.", subscribers_only!())),
    stored(LeadGrading, "opportunityTranscript", "Opportunity Transcript")
        .means(concat!("The words of all the customer's conversions, one after the other.", subscribers_only!())),
];
