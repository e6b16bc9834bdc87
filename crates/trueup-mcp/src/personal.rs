//! The columns that are personal: names, phones and e-mails of customers, transcripts and recordings, and columns of
//! one's own with such names.

use crate::Fault;
use trueup::{Dataset, Shown};

/// What the names of personal columns contain, in lower case and without anything but letters and digits.
const PERSONAL: [&str; 16] = [
    "phone",
    "mobile",
    "email",
    "transcript",
    "recording",
    "callorchatsummary",
    "customername",
    "callername",
    "contactname",
    "clientname",
    "personname",
    "firstname",
    "lastname",
    "fullname",
    "streetaddress",
    "birth",
];

/// Returns whether a column is personal by its name.
fn is_personal_name(name: &str) -> bool {
    let plain: String = name.to_lowercase().chars().filter(|char| char.is_alphanumeric()).collect();
    PERSONAL.iter().any(|part| plain.contains(part))
}

/// Returns whether a field is personal: by its name, or by that of the dimension that it is derived from.
pub(crate) fn is_personal(dataset: &Dataset, name: &str) -> bool {
    if dataset.is_metric(name) {
        return false;
    }
    let from = dataset.definitions().dimension(name).map(|dimension| dimension.from.as_str());
    is_personal_name(name) || from.is_some_and(is_personal_name)
}

/// Refuses personal fields.
pub(crate) fn refuse<'a>(dataset: &Dataset, names: impl IntoIterator<Item = &'a str>) -> Result<(), Fault> {
    let Some(name) = names.into_iter().find(|name| is_personal(dataset, name)) else { return Ok(()) };
    Err(Fault::new(
        "personal-field",
        format!("`{}` is personal: neither its values nor conditions on it are answered", Shown(name)),
        "ask without it; `opportunityId` tells customers apart. Whoever runs the server can start it with `--allow-personal`",
    ))
}

#[cfg(test)]
mod tests {
    use super::is_personal_name;

    #[test]
    fn personal_columns_are_known_by_their_names() {
        for name in
            ["customerName", "customerPhone", "customer_email", "Caller E-Mail", "First Name", "conversionTranscript"]
        {
            assert!(is_personal_name(name), "{name}");
        }
        for name in ["campaign", "accountName", "opportunityId", "zip", "conversionChannel", "agent"] {
            assert!(!is_personal_name(name), "{name}");
        }
    }
}
