//! Changes of the tree of organizations, of the accounts under them, and of users and their grants.

use super::{NOW, account, both, build_tree, listing, organization, reach_of};
use trueup_access::{Error, Hourly, Organization, Refusal};

#[test]
fn an_organization_cannot_be_below_itself() {
    both(|directory| {
        build_tree(directory, &[("a", None), ("b", Some("a")), ("c", Some("b"))], &[]);
        for parent in ["a", "b", "c"] {
            let error = directory.move_organization("a", Some(parent)).unwrap_err();
            assert!(matches!(&error, Error::Cycle { organization, parent: p } if organization == "a" && p == parent));
        }
        let own = directory.add_organization(&Organization::new("d").under("d")).unwrap_err();
        assert!(matches!(own, Error::Cycle { .. }), "{own}");
        directory.move_organization("c", Some("a")).unwrap();
        directory.move_organization("b", Some("c")).unwrap();
        directory.move_organization("a", None).unwrap();
        let parents: Vec<_> = directory.organizations().unwrap().into_iter().map(|node| node.parent).collect();
        assert_eq!(parents, [None, Some("c".into()), Some("a".into())]);
    });
}

#[test]
fn moving_an_organization_moves_everything_below_it() {
    both(|directory| {
        build_tree(
            directory,
            &[("a", None), ("b", None), ("c", Some("a")), ("d", Some("c"))],
            &[("1", "d"), ("2", "b")],
        );
        directory.add_user("u").unwrap();
        directory.grant("u", &organization("b")).unwrap();
        assert_eq!(listing(&reach_of(directory, "u")), ["2: 2"]);
        directory.move_organization("c", Some("b")).unwrap();
        assert_eq!(listing(&reach_of(directory, "u")), ["b: 1 2", "c: 1", "d: 1"]);
    });
}

#[test]
fn removing_an_organization_removes_its_grants_but_not_its_accounts() {
    both(|directory| {
        build_tree(directory, &[("a", None), ("b", Some("a"))], &[("1", "b"), ("1", "a")]);
        directory.add_user("u").unwrap();
        directory.grant("u", &organization("b")).unwrap();
        assert!(matches!(directory.remove_organization("a"), Err(Error::HasChildren(id)) if id == "a"));
        directory.remove_organization("b").unwrap();
        assert!(directory.grants("u").unwrap().is_empty());
        assert!(reach_of(directory, "u").accounts().is_empty());
        assert_eq!(directory.accounts_under("a").unwrap(), ["1"]);
        // A new organization with the same id does not inherit the grant.
        build_tree(directory, &[("b", None)], &[("1", "b")]);
        assert!(reach_of(directory, "u").accounts().is_empty());
        directory.remove_organization("a").unwrap();
    });
}

#[test]
fn an_account_can_be_displaced_and_removed() {
    both(|directory| {
        build_tree(directory, &[("a", None), ("b", None)], &[("1", "a"), ("1", "b"), ("2", "a")]);
        directory.unplace_account("1", "a").unwrap();
        let error = directory.unplace_account("1", "a").unwrap_err();
        assert_eq!(error.to_string(), "account `1` is not directly under organization `a`");
        assert_eq!(directory.accounts_under("b").unwrap(), ["1"]);
        directory.remove_account("1").unwrap();
        assert!(directory.accounts_under("b").unwrap().is_empty());
        directory.add_account("1").unwrap();
        assert!(directory.accounts_under("b").unwrap().is_empty());
        assert_eq!(directory.accounts().unwrap(), ["1", "2"]);
    });
}

#[test]
fn an_umbrella_can_be_made_an_ordinary_organization() {
    both(|directory| {
        directory.add_organization(&Organization::new("p").as_umbrella()).unwrap();
        assert!(directory.organizations().unwrap()[0].umbrella);
        directory.set_umbrella("p", false).unwrap();
        assert!(!directory.organizations().unwrap()[0].umbrella);
    });
}

#[test]
fn grants_are_listed_and_withdrawn() {
    both(|directory| {
        build_tree(directory, &[("z", None), ("y", None)], &[("a", "y"), ("b", "y")]);
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
        let inactive = Err(Refusal::Inactive("u".into()));
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
        build_tree(directory, &[("o", None)], &[("a", "o"), ("b", "o")]);
        directory.add_user("u").unwrap();
        directory.add_user("other").unwrap();
        directory.grant("u", &organization("o")).unwrap();
        directory.grant("u", &account("a")).unwrap();
        let others = directory.create_key("other", NOW).unwrap();
        let key = directory.create_key("u", NOW).unwrap();
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
        assert!(directory.create_key("u", NOW).unwrap().id > key.id);
    });
}
