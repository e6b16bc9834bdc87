//! The account.

use super::super::Computed;
use super::super::Field;
use super::super::FieldGroup::Account;
use super::super::SpendColumn;
use super::super::entry::computed;

pub(super) static FIELDS: &[Field] = &[
    computed(Account, "account", "Account", Computed::Account)
        .in_spend(SpendColumn::Account)
        .means("The key of the account that the event or the spend belongs to. Never empty."),
    computed(Account, "accountKey", "Account Key", Computed::Account)
        .in_spend(SpendColumn::Account)
        .means("The same key as `account`, under its longer name. Never empty."),
    computed(Account, "accountName", "Account Name", Computed::AccountName)
        .in_spend(SpendColumn::AccountName)
        .means("The name of the account for people; its key if it has no name, so never empty."),
];
