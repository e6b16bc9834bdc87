//! The dimensions, with their sources and definitions.

use super::FieldGroup::{Account, Attribution, Conversion, Customer, Funnel, LeadGrading, Time};
use super::entry::{computed, stored};
use super::{Computed, Field, SpendColumn};

/// The dimensions, by table.
pub(super) static TABLES: [&[Field]; 7] = [ACCOUNT, TIME, FUNNEL, ATTRIBUTION, CONVERSION, CUSTOMER, LEAD_GRADING];

/// The stages, in the order in which a customer passes through them.
const STAGES: &[&str] = &["lead-originated", "booked", "estimated", "sold", "closed", "canceled"];
/// The grades of conversions and customers.
const GRADES: &[&str] = &["Bookable - Booked", "Bookable - Didn't Book", "Unbookable"];

/// Ends the definition of every dimension of lead grading.
macro_rules! graded_only {
    () => {
        " Empty if there is none, and for accounts without lead grading."
    };
}

/// The account.
static ACCOUNT: &[Field] = &[
    computed(Account, "account", "Account", Computed::Account)
        .in_spend(SpendColumn::Account)
        .means("The key of the account that the event or the spend belongs to. Never empty."),
    computed(Account, "accountKey", "Account Key", Computed::Account)
        .in_spend(SpendColumn::Account)
        .means("The same key as `account`, under its longer name. Never empty."),
    computed(Account, "accountName", "Account Name", Computed::AccountName)
        .in_spend(SpendColumn::AccountName)
        .means("The name of the account for people; its key if it has no name, so never empty."),
    computed(Account, "currency", "Currency", Computed::Currency)
        .in_spend(SpendColumn::Currency)
        .means("The currency of the account's amounts, by its code of ISO 4217. Empty if the account states none."),
];

/// The time of the event.
static TIME: &[Field] = &[
    computed(Time, "date", "Date", Computed::Date).day().in_spend(SpendColumn::Date).means(
        "The calendar day of the event in the account's time zone, or the day of the spend, as YYYY-MM-DD. Never empty.",
    ),
    computed(Time, "week", "Week", Computed::Week)
        .day()
        .in_spend(SpendColumn::Week)
        .means("The Monday of the week that the date falls in, as YYYY-MM-DD. Never empty."),
    computed(Time, "month", "Month", Computed::Month)
        .in_spend(SpendColumn::Month)
        .means("The calendar month that the date falls in, as YYYY-MM. Never empty."),
    computed(Time, "dateTime", "Date and Time", Computed::DateTime).timestamp().means(
        "The point in time of the event, RFC 3339 in UTC, to the microsecond. Empty if only the day is known.",
    ),
    stored(Time, "createdDateTime", "Created Date and Time").timestamp().means(
        "The point in time at which the source system recorded the event, RFC 3339 in UTC. Empty if it does not say.",
    ),
];

/// The event, and the progress of its customer through the funnel.
static FUNNEL: &[Field] = &[
    computed(Funnel, "type", "Event Type", Computed::Type)
        .values(STAGES)
        .means("The funnel stage that the event stands for. Never empty on an event."),
    computed(Funnel, "adjustedType", "Adjusted Type", Computed::AdjustedType).values(STAGES).means(
        "The customer's state in the range, the same on all its events there: the furthest stage among events that no \
         later cancellation undid, where completed work cannot be undone; canceled if nothing else is left. Never \
         empty on an event.",
    ),
    computed(Funnel, "typeIsLast", "Is State Event", Computed::TypeIsLast).boolean().means(
        "Whether the event is its customer's state event: the last live event of the furthest stage. True on exactly \
         one event for a customer and range. Never empty on an event.",
    ),
    computed(Funnel, "opportunityStartDate", "Opportunity Start Date", Computed::OpportunityStartDate).day().means(
        "The day of the customer's first event of all, even before the range, as YYYY-MM-DD. Never empty on an event.",
    ),
    computed(Funnel, "firstBooked", "First Booked Date", Computed::FirstBooked)
        .day()
        .means("The day of the customer's earliest booking of all, as YYYY-MM-DD. Empty if it is never booked."),
    computed(Funnel, "firstEstimated", "First Estimated Date", Computed::FirstEstimated)
        .day()
        .means("The day of the customer's earliest estimate of all, as YYYY-MM-DD. Empty if it never has one."),
    computed(Funnel, "firstSold", "First Sold Date", Computed::FirstSold)
        .day()
        .means("The day of the customer's earliest sale of all, as YYYY-MM-DD. Empty if it is never sold anything."),
    computed(Funnel, "firstClosed", "First Closed Date", Computed::FirstClosed)
        .day()
        .means("The day on which work for the customer was first completed, as YYYY-MM-DD. Empty if it never is."),
    computed(Funnel, "firstCanceled", "First Canceled Date", Computed::FirstCanceled)
        .day()
        .means("The day of the customer's earliest cancellation of all, as YYYY-MM-DD. Empty if it never cancels."),
    computed(Funnel, "opportunityBooked", "Opportunity Booked", Computed::OpportunityBooked)
        .boolean()
        .means("Whether the customer is booked at any time, before, in or after the range. Never empty on an event."),
    computed(Funnel, "eventId", "Event ID", Computed::EventId)
        .means("The event's own identifier, which no other event of the account has. Empty if it has none."),
    stored(Funnel, "sourceId", "Source ID")
        .means("The identifier of the event's record in the system that it came from. Empty if unknown."),
    stored(Funnel, "source", "Source")
        .means("The system that reported the event, such as call tracking or a booking calendar. Empty if unknown."),
    stored(Funnel, "detail", "Detail").means("Free words of the source on what took place. Empty if it has none."),
    stored(Funnel, "agent", "Agent")
        .means("The person of the business who handled the event, such as who took the call. Empty if unknown."),
    stored(Funnel, "technician", "Technician")
        .means("The person who was sent to do the work that the event is about. Empty if unknown, or nobody was."),
];

/// The marketing that is credited with the customer.
static ATTRIBUTION: &[Field] = &[
    stored(Attribution, "attributionCategory", "Attribution Category")
        .in_spend(SpendColumn::AttributionCategory)
        .benchmark()
        .means(
            "The broadest kind of marketing credited with the customer, such as advertising or referral. Empty if \
             nothing is credited.",
        ),
    stored(Attribution, "attributionChannel", "Attribution Channel")
        .in_spend(SpendColumn::AttributionChannel)
        .benchmark()
        .means(
            "The channel credited with the customer, such as paid search or direct mail. Empty if nothing is credited.",
        ),
    stored(Attribution, "campaign", "Campaign").in_spend(SpendColumn::Campaign).means(
        "The campaign credited with the customer; spend is split by it. Empty if no campaign is credited, or the spend \
         is for none.",
    ),
    stored(Attribution, "attributionDetail", "Attribution Detail").means(
        "What narrows the credited marketing down further, such as a keyword or a mailing. Empty if nothing is known.",
    ),
    stored(Attribution, "attributionDropDate", "Attribution Drop Date")
        .day()
        .means("The day on which the credited mailing was sent out, as YYYY-MM-DD. Empty if no mailing is credited."),
    stored(Attribution, "opportunityJobCampaign", "Opportunity Job Campaign").means(
        "The campaign that the business's own records name on the customer's job, which may differ from the credited \
         one. Empty if they name none.",
    ),
];

/// The marketing that brought in a single conversion, regardless of what is credited with the customer.
static CONVERSION: &[Field] = &[
    stored(Conversion, "conversionType", "Conversion Type")
        .means("How the conversion reached the business, such as a call, a form or a chat. Empty on other events."),
    stored(Conversion, "conversionAttribution", "Conversion Attribution").means(
        "The marketing that brought this one conversion, in the words of its source. Empty if unknown, and on other \
         events.",
    ),
    stored(Conversion, "conversionCategory", "Conversion Category").means(
        "The broadest kind of marketing that brought this one conversion. Empty if unknown, and on other events.",
    ),
    stored(Conversion, "conversionChannel", "Conversion Channel")
        .means("The channel that brought this one conversion. Empty if unknown, and on other events."),
    stored(Conversion, "conversionCampaign", "Conversion Campaign")
        .means("The campaign that brought this one conversion. Empty if there is none, and on other events."),
    stored(Conversion, "conversionDropDate", "Conversion Drop Date").day().means(
        "The day on which the mailing that brought this one conversion was sent out, as YYYY-MM-DD. Empty if it was no \
         mailing, and on other events.",
    ),
];

/// The customer.
static CUSTOMER: &[Field] = &[
    computed(Customer, "opportunityId", "Opportunity ID", Computed::OpportunityId).means(
        "The identifier of the customer, which no other customer of the account has; with it a row is one customer's \
         path. Never empty on an event.",
    ),
    stored(Customer, "opportunitySourceId", "Opportunity Source ID")
        .means("The identifier of the customer in the business's own records. Empty if it was not found there."),
    stored(Customer, "opportunitySource", "Opportunity Source")
        .means("The system in which the customer was first recorded. Empty if unknown."),
    stored(Customer, "opportunityType", "Opportunity Type")
        .means("The kind of work that the customer asks for, in the words of the business. Empty if unknown."),
    stored(Customer, "opportunityAgent", "Opportunity Agent")
        .means("The person of the business who is in charge of the customer. Empty if nobody is named."),
    stored(Customer, "customerStatus", "Customer Status").benchmark().means(
        "How the business knew the customer at the event, such as new or existing; `Unmatched` if it was not found in \
         the records. Empty counts as not found.",
    ),
    stored(Customer, "businessUnit", "Business Unit")
        .means("The part of the business that serves the customer, as the business names it. Empty if unknown."),
    stored(Customer, "normalizedBusinessUnit", "Normalized Business Unit").benchmark().means(
        "The part of the business that serves the customer, in names that are alike for all accounts. Empty if unknown.",
    ),
    stored(Customer, "customerName", "Customer Name").means("The name of the customer. Empty if unknown."),
    stored(Customer, "customerEmail", "Customer Email").means("The e-mail address of the customer. Empty if unknown."),
    stored(Customer, "customerPhone", "Customer Phone")
        .means("The telephone number of the customer, as recorded. Empty if unknown."),
    stored(Customer, "zip", "ZIP Code")
        .means("The postal code of the place where the work is wanted, as recorded. Empty if unknown."),
];

/// Grades of conversions and customers. All of these are empty for accounts without lead grading.
static LEAD_GRADING: &[Field] = &[
    stored(LeadGrading, "conversionDetailedLabel", "Conversion Detailed Label").values(GRADES).means(concat!(
        "The grade of the conversion: bookable and booked, bookable but not booked, or unbookable.",
        graded_only!()
    )),
    stored(LeadGrading, "conversionIntent", "Conversion Intent")
        .means(concat!("What the person behind the conversion wanted.", graded_only!())),
    stored(LeadGrading, "conversionReasonUnbookable", "Conversion Reason Unbookable")
        .means(concat!("Why nobody could have booked the conversion.", graded_only!())),
    stored(LeadGrading, "conversionReasonLost", "Conversion Reason Lost")
        .means(concat!("Why a conversion that was bookable was not booked.", graded_only!())),
    stored(LeadGrading, "conversionOutOfServiceAreaZip", "Conversion Out of Service Area ZIP").means(concat!(
        "The postal code asked for in the conversion, if it lies outside the area served.",
        graded_only!()
    )),
    stored(LeadGrading, "conversionNotOfferedServiceRequested", "Conversion Not Offered Service Requested")
        .means(concat!("The service asked for in the conversion, if the business does not offer it.", graded_only!())),
    stored(LeadGrading, "conversionNeedsManagementReview", "Conversion Needs Management Review")
        .boolean()
        .means(concat!("Whether somebody in charge should look at the conversion.", graded_only!())),
    stored(LeadGrading, "conversionPlannedFollowUpSubcategory", "Conversion Planned Follow-Up Subcategory")
        .means(concat!("What was agreed in the conversion as the next contact, in finer kinds.", graded_only!())),
    stored(LeadGrading, "conversionVersion", "Conversion Version")
        .means(concat!("The version of the rules by which the conversion was graded.", graded_only!())),
    stored(LeadGrading, "conversionOriginalDetailedLabel", "Conversion Original Detailed Label")
        .values(GRADES)
        .means(concat!("The grade that the conversion had before anybody corrected it.", graded_only!())),
    stored(LeadGrading, "conversionOriginalIntent", "Conversion Original Intent").means(concat!(
        "What the person behind the conversion was taken to want before anybody corrected it.",
        graded_only!()
    )),
    stored(LeadGrading, "conversionOriginalReasonUnbookable", "Conversion Original Reason Unbookable")
        .means(concat!("Why the conversion was held to be unbookable before anybody corrected it.", graded_only!())),
    stored(LeadGrading, "conversionOriginalReasonLost", "Conversion Original Reason Lost")
        .means(concat!("Why the conversion was held to be lost before anybody corrected it.", graded_only!())),
    stored(LeadGrading, "opportunityDetailedLabel", "Opportunity Detailed Label").values(GRADES).means(concat!(
        "The grade of the customer, from all its conversions: bookable and booked, bookable but not booked, or \
         unbookable.",
        graded_only!()
    )),
    stored(LeadGrading, "opportunityReasonUnbookable", "Opportunity Reason Unbookable")
        .means(concat!("Why nobody could have booked the customer.", graded_only!())),
    stored(LeadGrading, "opportunityReasonLost", "Opportunity Reason Lost")
        .means(concat!("Why a customer that was bookable was not booked.", graded_only!())),
    stored(LeadGrading, "opportunityIntent", "Opportunity Intent")
        .means(concat!("What the customer wanted, from all its conversions.", graded_only!())),
    stored(LeadGrading, "conversionTranscript", "Conversion Transcript")
        .means(concat!("The words spoken or written in the conversion.", graded_only!())),
    stored(LeadGrading, "conversionCallOrChatSummary", "Conversion Call or Chat Summary")
        .means(concat!("A short account of what was said in the conversion.", graded_only!())),
    stored(LeadGrading, "recordingPlayer", "Recording Player")
        .means(concat!("The address at which the recording of the call can be heard.", graded_only!())),
    stored(LeadGrading, "opportunityTranscript", "Opportunity Transcript")
        .means(concat!("The words of all the customer's conversions, one after the other.", graded_only!())),
];
