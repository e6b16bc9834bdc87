//! What a login reaches: the cases of section 3 of the contract of the service (see `docs/compat.md`), and random
//! directories compared with the naive definition.

use super::naive::RandomDirectory;
use super::{account, both, build_tree, listing, organization, reach_of, resolved};
use proptest::prelude::*;
use trueup_access::{Directory, DirectorySettings, MemoryDirectory, Organization, OutOfReach, SqliteDirectory};

#[test]
fn a_grant_covers_everything_below_it_and_nothing_else() {
    both(|directory| {
        let tree = [("group", None), ("west", Some("group")), ("east", Some("group")), ("rival", None)];
        build_tree(directory, &tree, &[("w2", "west"), ("w1", "west"), ("e", "east"), ("w1", "east"), ("r", "rival")]);
        directory.add_user("u").unwrap();
        directory.grant("u", &organization("group")).unwrap();
        let reach = reach_of(directory, "u");
        assert_eq!(listing(&reach), ["east: e w1", "group: e w1 w2", "west: w1 w2"]);
        assert_eq!(resolved(&reach, "west").unwrap(), ["w1", "w2"]);
        assert_eq!(resolved(&reach, "w2").unwrap(), ["w2"]);
        for out in ["rival", "r", "", "GROUP", "group "] {
            assert_eq!(resolved(&reach, out), None, "{out:?}");
        }
    });
}

#[test]
fn an_umbrella_reaches_what_is_below_it_but_is_never_listed() {
    both(|directory| {
        directory.add_organization(&Organization::new("platform").as_umbrella()).unwrap();
        build_tree(directory, &[("acme", Some("platform"))], &[("a", "acme"), ("solo", "platform")]);
        directory.add_user("u").unwrap();
        directory.grant("u", &organization("platform")).unwrap();
        let reach = reach_of(directory, "u");
        assert_eq!(listing(&reach), ["acme: a", "solo: solo"]);
        assert_eq!(resolved(&reach, "platform"), None);
        assert_eq!(resolved(&reach, "solo").unwrap(), ["solo"]);
        assert_eq!(reach.accounts().accounts().collect::<Vec<_>>(), ["a", "solo"]);
    });
}

#[test]
fn an_account_outside_all_listed_organizations_is_listed_by_itself() {
    both(|directory| {
        build_tree(directory, &[("acme", None), ("other", None)], &[("a", "acme"), ("b", "acme"), ("c", "other")]);
        directory.add_user("u").unwrap();
        for grant in [organization("acme"), account("a"), account("c")] {
            directory.grant("u", &grant).unwrap();
        }
        let reach = reach_of(directory, "u");
        assert_eq!(listing(&reach), ["acme: a b", "c: c"]);
        assert_eq!(resolved(&reach, "other"), None);
    });
}

#[test]
fn a_login_that_reaches_one_account_lists_only_that_account() {
    both(|directory| {
        build_tree(directory, &[("group", None), ("acme", Some("group")), ("void", Some("group"))], &[("a", "acme")]);
        directory.add_user("u").unwrap();
        directory.grant("u", &organization("group")).unwrap();
        let reach = reach_of(directory, "u");
        assert_eq!(listing(&reach), ["a: a"]);
        assert_eq!(resolved(&reach, "a").unwrap(), ["a"]);
        assert_eq!(resolved(&reach, "group").unwrap(), ["a"]);
        assert_eq!(resolved(&reach, "void").unwrap(), Vec::<String>::new());
    });
}

#[test]
fn a_name_of_an_organization_and_an_account_means_the_organization_if_it_is_in_reach() {
    both(|directory| {
        build_tree(directory, &[("x", None), ("y", None)], &[("1", "x"), ("2", "x"), ("x", "y"), ("y", "x")]);
        for user in ["both", "account-only"] {
            directory.add_user(user).unwrap();
            directory.grant(user, &account("x")).unwrap();
            directory.grant(user, &account("1")).unwrap();
        }
        directory.grant("both", &organization("x")).unwrap();
        assert_eq!(resolved(&reach_of(directory, "both"), "x").unwrap(), ["1", "2", "y"]);
        // The organization `x` is out of reach, so the name means the account.
        assert_eq!(resolved(&reach_of(directory, "account-only"), "x").unwrap(), ["x"]);
        // The organization `y` is out of reach, and the account `y` is in reach.
        assert_eq!(resolved(&reach_of(directory, "both"), "y").unwrap(), ["y"]);
    });
}

#[test]
fn a_login_without_grants_lists_nothing_but_granted_empty_organizations_are_listed() {
    both(|directory| {
        build_tree(directory, &[("void", None), ("acme", None)], &[("a", "acme"), ("b", "acme")]);
        directory.add_user("u").unwrap();
        assert!(listing(&reach_of(directory, "u")).is_empty());
        directory.grant("u", &organization("void")).unwrap();
        assert_eq!(listing(&reach_of(directory, "u")), ["void: "]);
        directory.grant("u", &organization("acme")).unwrap();
        assert_eq!(listing(&reach_of(directory, "u")), ["acme: a b", "void: "]);
    });
}

#[test]
fn a_scope_narrows_only_to_its_own_accounts() {
    both(|directory| {
        build_tree(directory, &[("acme", None), ("other", None)], &[("a", "acme"), ("b", "acme"), ("c", "other")]);
        directory.add_user("u").unwrap();
        directory.grant("u", &organization("acme")).unwrap();
        directory.grant("u", &organization("other")).unwrap();
        let reach = reach_of(directory, "u");
        let scope = reach.resolve("acme").unwrap();
        let narrowed = scope.narrow(["b", "a", "b"]).unwrap();
        assert_eq!(narrowed, scope);
        // The account is in reach, but not in the organization of the scope.
        assert_eq!(scope.narrow(["a", "c"]), Err(OutOfReach { account: "c".into() }));
        assert_eq!(scope.narrow(["acme"]), Err(OutOfReach { account: "acme".into() }));
        assert!(scope.narrow([]).unwrap().is_empty());
        assert!(scope.contains("a") && !scope.contains("c"));
        assert_eq!(reach.accounts().narrow(["c"]).unwrap(), reach.resolve("other").unwrap());
    });
}

/// Checks that the listing, the accounts in reach and the scope of every name are those of the definition.
fn check_definition(directory: &dyn Directory, random: &RandomDirectory) {
    random.add_to(directory);
    let reach = reach_of(directory, "u");
    assert_eq!(listing(&reach), random.listing());
    assert_eq!(reach.accounts().accounts().collect::<Vec<_>>(), random.accounts_in_reach());
    for segment in random.segments() {
        let expected = random.resolve(segment);
        assert_eq!(
            resolved(&reach, segment),
            expected.map(|keys| keys.into_iter().map(Into::into).collect()),
            "{segment}"
        );
    }
}

/// Checks that changes to organizations and accounts out of reach change nothing for a login.
fn check_changes_out_of_reach(directory: &dyn Directory, random: &RandomDirectory) {
    let before = reach_of(directory, "u");
    directory.add_account("new").unwrap();
    for (organization, accounts) in random.out_of_reach() {
        for account in accounts.into_iter().chain(["new"]) {
            directory.place_account(account, organization).unwrap();
        }
        directory.add_organization(&Organization::new(format!("{organization}-sub")).under(organization)).unwrap();
        directory.set_umbrella(organization, true).unwrap();
    }
    directory.add_organization(&Organization::new("another")).unwrap();
    let after = reach_of(directory, "u");
    assert_eq!(listing(&before), listing(&after));
    assert_eq!(before.accounts(), after.accounts());
    for segment in random.segments().chain(["another", "new"]) {
        assert_eq!(resolved(&before, segment), resolved(&after, segment), "{segment}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn reach_in_memory_equals_the_definition(random: RandomDirectory) {
        let directory = MemoryDirectory::new(DirectorySettings::default()).unwrap();
        check_definition(&directory, &random);
        check_changes_out_of_reach(&directory, &random);
    }
}

proptest! {
    // Fewer cases than in memory, because each change is synced to disk.
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn reach_in_a_file_equals_the_definition(random: RandomDirectory) {
        let folder = tempfile::tempdir().unwrap();
        let directory = SqliteDirectory::open(folder.path().join("directory.sqlite"), DirectorySettings::default()).unwrap();
        check_definition(&directory, &random);
        check_changes_out_of_reach(&directory, &random);
    }
}
