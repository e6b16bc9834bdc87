//! The single conversion: what brought in this call or form, whatever is credited with the customer.

use super::super::Field;
use super::super::FieldGroup::Conversion;
use super::super::entry::stored;

pub(super) static FIELDS: &[Field] = &[
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
