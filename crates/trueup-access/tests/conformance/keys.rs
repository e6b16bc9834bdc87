//! Keys, which are created, rotated, deleted and refused; and sessions, which are opened and closed, and which expire.

use super::{NOW, both};
use trueup_access::{Directory, Error, KeyEntry, Organization, Refusal, SecretKey};

fn user_of(directory: &dyn Directory, key: &SecretKey) -> Result<String, Refusal> {
    directory.authenticate(Some(key)).unwrap().map(|login| login.user().to_owned())
}

#[test]
fn a_user_may_have_several_keys() {
    both(|directory| {
        for user in ["anna", "bert"] {
            directory.add_user(user).unwrap();
        }
        let keys: Vec<_> = ["anna", "bert", "anna"].map(|user| directory.create_key(user, NOW).unwrap()).into();
        let users: Vec<_> = keys.iter().map(|key| user_of(directory, &key.secret).unwrap()).collect();
        assert_eq!(users, ["anna", "bert", "anna"]);
        let entry = |index: usize| KeyEntry { id: keys[index].id, created: NOW };
        assert_eq!(directory.keys("anna").unwrap(), [entry(0), entry(2)]);
        assert_eq!(directory.keys("bert").unwrap(), [entry(1)]);
        assert!(matches!(directory.create_key("carl", NOW), Err(Error::Unknown { .. })));
        assert!(matches!(directory.keys("carl"), Err(Error::Unknown { .. })));
    });
}

#[test]
fn only_the_exact_key_is_accepted() {
    both(|directory| {
        directory.add_user("u").unwrap();
        let key = directory.create_key("u", NOW).unwrap().secret;
        let text = key.reveal();
        assert_eq!(directory.authenticate(None).unwrap(), Err(Refusal::Missing));
        assert_eq!(directory.authenticate(Some(&SecretKey::new(""))).unwrap(), Err(Refusal::Missing));
        let wrong = [
            text[..text.len() - 1].to_owned(),
            format!("{text}0"),
            format!(" {text}"),
            format!("Bearer {text}"),
            text.to_uppercase(),
            text.to_lowercase(),
            "tu_".to_owned(),
            "' OR 1=1 --".to_owned(),
            "\0".to_owned(),
        ];
        for wrong in wrong {
            assert_eq!(user_of(directory, &SecretKey::new(&wrong)), Err(Refusal::Unknown), "{wrong:?}");
        }
        assert_eq!(user_of(directory, &SecretKey::new(text)), Ok("u".into()));
    });
}

#[test]
fn a_rotated_key_is_refused_and_the_new_one_is_accepted() {
    both(|directory| {
        directory.add_user("u").unwrap();
        let other = directory.create_key("u", NOW).unwrap();
        let first = directory.create_key("u", NOW).unwrap();
        let later = NOW.plus_seconds(5);
        let second = directory.rotate_key("u", first.id, later).unwrap();
        assert_ne!(first.secret.reveal(), second.secret.reveal());
        assert_eq!(user_of(directory, &first.secret), Err(Refusal::Revoked("u".into())));
        assert_eq!(user_of(directory, &second.secret), Ok("u".into()));
        assert_eq!(user_of(directory, &other.secret), Ok("u".into()));
        let listed = [KeyEntry { id: other.id, created: NOW }, KeyEntry { id: second.id, created: later }];
        assert_eq!(directory.keys("u").unwrap(), listed);
        let again = directory.rotate_key("u", first.id, later).unwrap_err();
        assert!(matches!(again, Error::UnknownKey { key, .. } if key == first.id));
        assert_eq!(directory.keys("u").unwrap(), listed);
    });
}

#[test]
fn a_deleted_key_is_refused() {
    both(|directory| {
        directory.add_user("u").unwrap();
        directory.add_user("v").unwrap();
        let key = directory.create_key("u", NOW).unwrap();
        // The key of another user is reported like an unknown one.
        assert!(matches!(directory.delete_key("v", key.id, NOW), Err(Error::UnknownKey { .. })));
        assert!(matches!(directory.rotate_key("v", key.id, NOW), Err(Error::UnknownKey { .. })));
        assert_eq!(user_of(directory, &key.secret), Ok("u".into()));
        directory.delete_key("u", key.id, NOW).unwrap();
        assert_eq!(user_of(directory, &key.secret), Err(Refusal::Revoked("u".into())));
        assert!(directory.keys("u").unwrap().is_empty());
        assert!(matches!(directory.delete_key("u", key.id, NOW), Err(Error::UnknownKey { .. })));
        assert!(matches!(directory.delete_key("w", key.id, NOW), Err(Error::Unknown { .. })));
        // The refusal of a revoked key does not depend on whether its user is active.
        directory.set_active("u", false).unwrap();
        assert_eq!(user_of(directory, &key.secret), Err(Refusal::Revoked("u".into())));
    });
}

#[test]
fn retired_organization_keys_are_recognized_and_refused() {
    both(|directory| {
        directory.add_organization(&Organization::new("o")).unwrap();
        directory.add_user("u").unwrap();
        let live = directory.create_key("u", NOW).unwrap().secret;
        let key = SecretKey::new("org_of_old");
        assert_eq!(user_of(directory, &key), Err(Refusal::Unknown));
        directory.retire_organization_key("o", &key).unwrap();
        assert_eq!(user_of(directory, &key), Err(Refusal::OrganizationKey("o".into())));

        assert!(matches!(directory.retire_organization_key("?", &key), Err(Error::Unknown { .. })));
        for taken in [&key, &live, &SecretKey::new("")] {
            assert!(matches!(directory.retire_organization_key("o", taken), Err(Error::KeyTaken(_))));
        }
        assert_eq!(user_of(directory, &live), Ok("u".into()));
        directory.remove_organization("o").unwrap();
        assert_eq!(user_of(directory, &key), Err(Refusal::Unknown));
    });
}

#[test]
fn no_error_or_refusal_shows_a_key() {
    both(|directory| {
        directory.add_organization(&Organization::new("o")).unwrap();
        directory.add_user("u").unwrap();
        let key = directory.create_key("u", NOW).unwrap();
        let taken = directory.retire_organization_key("o", &key.secret).unwrap_err();
        directory.delete_key("u", key.id, NOW).unwrap();
        let refusal = directory.authenticate(Some(&key.secret)).unwrap().unwrap_err();
        let gone = directory.delete_key("u", key.id, NOW).unwrap_err();
        let shown = format!("{taken} {taken:?} {refusal} {refusal:?} {gone} {gone:?} {key:?}");
        let secret = key.secret.reveal().strip_prefix("tu_").unwrap();
        assert!(!shown.contains(&secret[..8]), "{shown}");
    });
}

#[test]
fn a_session_lasts_until_it_expires() {
    both(|directory| {
        directory.add_user("u").unwrap();
        let token = directory.open_session("u", NOW, NOW.plus_seconds(10)).unwrap();
        let at = |seconds| directory.session(Some(&token), NOW.plus_seconds(seconds)).unwrap();
        assert_eq!(at(0).unwrap().user(), "u");
        assert!(at(9).is_ok());
        assert_eq!(at(10), Err(Refusal::Expired("u".into())));
        assert_eq!(directory.session(None, NOW).unwrap(), Err(Refusal::Missing));
        assert_eq!(directory.session(Some(&SecretKey::new("")), NOW).unwrap(), Err(Refusal::Missing));
        assert_eq!(directory.session(Some(&SecretKey::new("guess")), NOW).unwrap(), Err(Refusal::Unknown));
        assert!(matches!(directory.open_session("v", NOW, NOW), Err(Error::Unknown { .. })));
    });
}

#[test]
fn closing_a_session_leaves_the_others_open() {
    both(|directory| {
        directory.add_user("u").unwrap();
        let open = || directory.open_session("u", NOW, NOW.plus_seconds(10)).unwrap();
        let (one, two) = (open(), open());
        assert_ne!(one.reveal(), two.reveal());
        directory.close_session(&one).unwrap();
        directory.close_session(&one).unwrap();
        assert_eq!(directory.session(Some(&one), NOW).unwrap(), Err(Refusal::Unknown));
        assert!(directory.session(Some(&two), NOW).unwrap().is_ok());
    });
}

#[test]
fn opening_a_session_removes_expired_ones() {
    both(|directory| {
        directory.add_user("u").unwrap();
        let old = directory.open_session("u", NOW, NOW.plus_seconds(10)).unwrap();
        let later = NOW.plus_seconds(10);
        assert_eq!(directory.session(Some(&old), later).unwrap(), Err(Refusal::Expired("u".into())));
        directory.open_session("u", later, later.plus_seconds(10)).unwrap();
        assert_eq!(directory.session(Some(&old), later).unwrap(), Err(Refusal::Unknown));
    });
}

#[test]
fn a_token_is_not_accepted_as_a_key_nor_a_key_as_a_token() {
    both(|directory| {
        directory.add_user("u").unwrap();
        let key = directory.create_key("u", NOW).unwrap().secret;
        let token = directory.open_session("u", NOW, NOW.plus_seconds(10)).unwrap();
        assert_eq!(directory.authenticate(Some(&token)).unwrap(), Err(Refusal::Unknown));
        assert_eq!(directory.session(Some(&key), NOW).unwrap(), Err(Refusal::Unknown));
    });
}
