//! The customer.

use super::super::Computed;
use super::super::Field;
use super::super::FieldGroup::Customer;
use super::super::entry::{computed, stored};

pub(super) static FIELDS: &[Field] = &[
    computed(Customer, "opportunityId", "Opportunity ID", Computed::OpportunityId).means(
        "The identifier of the customer, which is its alone in the account; with it a row is one customer's path. Never \
         empty on an event.",
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
