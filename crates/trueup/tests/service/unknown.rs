//! Names that the accounts asked for do not know, however often and by whomever they were asked for before.

use crate::platform::{Platform, Rival};
use trueup::access::DirectorySettings;

const ASKED: [(&str, &str, bool); 6] = [
    ("anna", "west", false),
    ("anna", "acme", true),
    ("anna", "north", true),
    ("anna", "acme-west", false),
    ("root", "solo", false),
    ("anna", "acme", true),
];

fn platform() -> Platform {
    Platform::with(&Rival { column: true, ..Rival::default() }, DirectorySettings::default(), |builder| builder)
}

/// Whether `column` is known to the accounts that are asked for.
fn knows(platform: &Platform, user: &str, organization: &str, column: &str) -> bool {
    let query = format!("fields={column},leads&start=2025-01-01&end=2025-03-31");
    let response = platform.get(user, &format!("/api/{organization}/events?{query}"));
    assert_eq!(response.status, 200);
    response.header("trueup-unknown-fields").is_none()
}

#[test]
fn known_columns_depend_only_on_the_requested_accounts() {
    for turn in 0..ASKED.len() {
        let platform = platform();
        for (user, organization, known) in ASKED.into_iter().cycle().skip(turn).take(2 * ASKED.len()) {
            assert_eq!(knows(&platform, user, organization, "crew"), known, "{organization}");
            assert!(!knows(&platform, user, organization, "rivalColumn"), "{organization}");
        }
        assert!(knows(&platform, "rita", "rival", "rivalColumn") && !knows(&platform, "rita", "rival", "crew"));
        assert!(!knows(&platform, "anna", "acme", "rivalColumn"));
    }
}
