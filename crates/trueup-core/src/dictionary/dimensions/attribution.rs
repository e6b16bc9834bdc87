//! The marketing that is credited with the customer.

use super::super::Field;
use super::super::FieldGroup::Attribution;
use super::super::SpendColumn;
use super::super::entry::stored;

pub(super) static FIELDS: &[Field] = &[
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
