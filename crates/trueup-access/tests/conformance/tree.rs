//! Changes of the tree of organizations, and of the accounts under them.

use super::{both, listing, organization, plant, reach_of};
use trueup_access::{Error, Organization};

#[test]
fn an_organization_cannot_be_below_itself() {
    both(|directory| {
        plant(directory, &[("a", None), ("b", Some("a")), ("c", Some("b"))], &[]);
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
        plant(directory, &[("a", None), ("b", None), ("c", Some("a")), ("d", Some("c"))], &[("1", "d"), ("2", "b")]);
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
        plant(directory, &[("a", None), ("b", Some("a"))], &[("1", "b"), ("1", "a")]);
        directory.add_user("u").unwrap();
        directory.grant("u", &organization("b")).unwrap();
        assert!(matches!(directory.remove_organization("a"), Err(Error::HasChildren { id }) if id == "a"));
        directory.remove_organization("b").unwrap();
        assert!(directory.grants("u").unwrap().is_empty());
        assert!(reach_of(directory, "u").accounts().is_empty());
        assert_eq!(directory.accounts_under("a").unwrap(), ["1"]);
        // A new organization with the same id does not inherit the grant.
        plant(directory, &[("b", None)], &[("1", "b")]);
        assert!(reach_of(directory, "u").accounts().is_empty());
        directory.remove_organization("a").unwrap();
    });
}

#[test]
fn an_account_can_be_displaced_and_removed() {
    both(|directory| {
        plant(directory, &[("a", None), ("b", None)], &[("1", "a"), ("1", "b"), ("2", "a")]);
        directory.displace_account("1", "a").unwrap();
        let error = directory.displace_account("1", "a").unwrap_err();
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
