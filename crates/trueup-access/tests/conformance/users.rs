//! Users and their grants.

use super::{NOW, account, both, organization, plant};
use trueup_access::{Error, Hourly, Refusal};

#[test]
fn grants_are_listed_and_withdrawn() {
    both(|directory| {
        plant(directory, &[("z", None), ("y", None)], &[("a", "y"), ("b", "y")]);
        directory.add_user("u").unwrap();
        for grant in [account("b"), organization("z"), account("a"), organization("y")] {
            directory.grant("u", &grant).unwrap();
        }
        let all = [organization("y"), organization("z"), account("a"), account("b")];
        assert_eq!(directory.grants("u").unwrap(), all);
        directory.withdraw("u", &organization("y")).unwrap();
        directory.withdraw("u", &account("b")).unwrap();
        assert_eq!(directory.grants("u").unwrap(), [organization("z"), account("a")]);
        let error = directory.withdraw("u", &account("b")).unwrap_err();
        assert_eq!(error.to_string(), "user `u` does not have the grant of account `b`");
        assert!(matches!(directory.withdraw("u", &organization("nowhere")), Err(Error::NotGranted { .. })));
    });
}

#[test]
fn an_inactive_user_is_refused_until_active_again() {
    both(|directory| {
        directory.add_user("u").unwrap();
        let key = directory.create_key("u", NOW).unwrap().secret;
        let token = directory.open_session("u", NOW, NOW.plus_seconds(60)).unwrap();
        directory.set_active("u", false).unwrap();
        let inactive = Err(Refusal::Inactive { user: "u".into() });
        assert_eq!(directory.authenticate(Some(&key)).unwrap(), inactive);
        assert_eq!(directory.session(Some(&token), NOW).unwrap(), inactive);
        assert_eq!(directory.login("u").unwrap(), inactive);
        directory.set_active("u", true).unwrap();
        assert!(directory.authenticate(Some(&key)).unwrap().is_ok());
        assert!(directory.session(Some(&token), NOW).unwrap().is_ok());
    });
}

#[test]
fn a_user_added_again_inherits_nothing_from_the_removed_one() {
    both(|directory| {
        plant(directory, &[("o", None)], &[("a", "o"), ("b", "o")]);
        directory.add_user("u").unwrap();
        directory.add_user("other").unwrap();
        directory.grant("u", &organization("o")).unwrap();
        directory.grant("u", &account("a")).unwrap();
        let key = directory.create_key("u", NOW).unwrap();
        let others = directory.create_key("other", NOW).unwrap();
        let token = directory.open_session("u", NOW, NOW.plus_seconds(60)).unwrap();
        let login = directory.login("u").unwrap().unwrap();
        assert_eq!(directory.count(&login, NOW).unwrap(), Hourly::Allowed);

        directory.remove_user("u").unwrap();
        assert_eq!(directory.authenticate(Some(&key.secret)).unwrap(), Err(Refusal::Unknown));
        assert_eq!(directory.login("u").unwrap(), Err(Refusal::Unknown));
        assert!(matches!(directory.count(&login, NOW), Err(Error::Unknown { .. })));
        assert!(directory.reach(&login).unwrap().accounts().is_empty());

        directory.add_user("u").unwrap();
        assert!(directory.grants("u").unwrap().is_empty() && directory.keys("u").unwrap().is_empty());
        assert_eq!(directory.authenticate(Some(&key.secret)).unwrap(), Err(Refusal::Unknown));
        assert_eq!(directory.session(Some(&token), NOW).unwrap(), Err(Refusal::Unknown));
        assert!(directory.authenticate(Some(&others.secret)).unwrap().is_ok());
        // The number of a removed key is not used again.
        assert!(directory.create_key("u", NOW).unwrap().id > others.id);
    });
}
