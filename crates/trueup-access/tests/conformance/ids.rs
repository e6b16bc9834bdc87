//! The errors for invalid, duplicate and unknown ids.

use super::{account, both, organization};
use trueup_access::{Entity, Error, Organization};

#[test]
fn empty_ids_are_refused() {
    both(|directory| {
        let empty = |result: Result<(), Error>, expected: Entity| {
            assert!(matches!(result, Err(Error::EmptyId(entity)) if entity == expected), "{expected}");
        };
        empty(directory.add_organization(&Organization::new("")), Entity::Organization);
        empty(directory.add_account(""), Entity::Account);
        empty(directory.add_user(""), Entity::User);
    });
}

#[test]
fn characters_that_a_request_cannot_carry_are_refused() {
    both(|directory| {
        for (key, expected) in [("a,b", ','), ("a/b", '/'), ("/,", '/'), (",", ',')] {
            let Err(Error::ForbiddenCharacter { character, id, .. }) = directory.add_account(key) else {
                panic!("{key}")
            };
            assert_eq!((character, id.as_str()), (expected, key));
        }
        let error = directory.add_organization(&Organization::new("a/b")).unwrap_err();
        assert_eq!(error.to_string(), "organization ids cannot contain `/`, but found `a/b`");
        directory.add_organization(&Organization::new("Smith, Jones & Co")).unwrap();
        directory.add_account("ünï çode 🦀 'quoted\"; --").unwrap();
        assert_eq!(directory.accounts().unwrap(), ["ünï çode 🦀 'quoted\"; --"]);
    });
}

#[test]
fn duplicates_are_refused() {
    both(|directory| {
        directory.add_organization(&Organization::new("x")).unwrap();
        directory.add_account("x").unwrap();
        directory.add_user("x").unwrap();
        let duplicate = |result: Result<(), Error>, words: &str| assert_eq!(result.unwrap_err().to_string(), words);
        duplicate(directory.add_organization(&Organization::new("x")), "organization `x` already exists");
        duplicate(directory.add_account("x"), "account `x` already exists");
        duplicate(directory.add_user("x"), "user `x` already exists");

        directory.place_account("x", "x").unwrap();
        duplicate(directory.place_account("x", "x"), "account `x` is already under organization `x`");
        directory.grant("x", &organization("x")).unwrap();
        duplicate(directory.grant("x", &organization("x")), "user `x` already has the grant of organization `x`");
        directory.grant("x", &account("x")).unwrap();
        duplicate(directory.grant("x", &account("x")), "user `x` already has the grant of account `x`");
    });
}

#[test]
fn unknown_ids_are_named() {
    both(|directory| {
        directory.add_organization(&Organization::new("o")).unwrap();
        directory.add_account("a").unwrap();
        directory.add_user("u").unwrap();
        let unknown = |result: Result<(), Error>, expected: Entity| {
            assert!(
                matches!(&result, Err(Error::Unknown { entity, id }) if *entity == expected && id == "?"),
                "{result:?}"
            );
        };
        unknown(directory.add_organization(&Organization::new("new").under("?")), Entity::Organization);
        unknown(directory.move_organization("?", None), Entity::Organization);
        unknown(directory.move_organization("o", Some("?")), Entity::Organization);
        unknown(directory.set_umbrella("?", true), Entity::Organization);
        unknown(directory.remove_organization("?"), Entity::Organization);
        unknown(directory.accounts_under("?").map(drop), Entity::Organization);
        unknown(directory.place_account("a", "?"), Entity::Organization);
        unknown(directory.unplace_account("a", "?"), Entity::Organization);
        unknown(directory.place_account("?", "o"), Entity::Account);
        unknown(directory.unplace_account("?", "o"), Entity::Account);
        unknown(directory.remove_account("?"), Entity::Account);
        unknown(directory.grant("u", &organization("?")), Entity::Organization);
        unknown(directory.grant("u", &account("?")), Entity::Account);
        unknown(directory.grant("?", &account("a")), Entity::User);
        unknown(directory.withdraw("?", &account("a")), Entity::User);
        unknown(directory.grants("?").map(drop), Entity::User);
        unknown(directory.set_active("?", true), Entity::User);
        unknown(directory.remove_user("?"), Entity::User);
        assert_eq!(directory.organizations().unwrap(), [Organization::new("o")]);
    });
}
