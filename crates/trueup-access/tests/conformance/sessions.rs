//! Opening, closing and expiring sessions.

use super::{NOW, both};
use trueup_access::{Error, Refusal, SecretKey};

#[test]
fn a_session_lasts_until_it_expires() {
    both(|directory| {
        directory.add_user("u").unwrap();
        let token = directory.open_session("u", NOW, NOW.plus_seconds(10)).unwrap();
        let at = |seconds| directory.session(Some(&token), NOW.plus_seconds(seconds)).unwrap();
        assert_eq!(at(0).unwrap().user(), "u");
        assert!(at(9).is_ok());
        assert_eq!(at(10), Err(Refusal::Expired { user: "u".into() }));
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
        assert_eq!(directory.session(Some(&old), later).unwrap(), Err(Refusal::Expired { user: "u".into() }));
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
