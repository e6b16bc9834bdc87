#![expect(clippy::unwrap_used, reason = "tests")]

use super::{MemoryBudget, NoRoom, Share};
use crate::Interrupt;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

#[test]
fn one_takes_half_of_what_others_leave() {
    let budget = MemoryBudget::new(1_000);
    let no_room = |bytes| NoRoom { bytes, limit: 1_000 };
    assert_eq!(budget.reserve(501).unwrap_err(), no_room(501));
    let mut held = Vec::new();
    for bytes in [500, 250, 125, 62, 31, 16, 8, 4, 2, 1] {
        assert_eq!(budget.reserve(bytes + 1).unwrap_err(), no_room(bytes + 1));
        held.push(budget.reserve(bytes).unwrap());
    }
    assert_eq!((budget.held(), budget.peak()), (999, 999));
    assert!(budget.reserve(1).is_err() && budget.reserve(0).is_ok());
    assert!(no_room(501).is_too_large() && !no_room(500).is_too_large());
    held.remove(0);
    assert_eq!((budget.held(), budget.peak(), budget.reserve(250).is_ok()), (499, 999, true));
    held.clear();
    assert_eq!(budget.held(), 0);
}

#[test]
fn shares_use_what_is_reserved_before_more() {
    let budget = MemoryBudget::new(1_000);
    let reservation = Arc::new(budget.reserve(100).unwrap());
    let [mut one, mut other] = [(); 2].map(|()| Share::new(Some(reservation.clone())));
    one.set(|| 60).unwrap();
    other.set(|| 40).unwrap();
    assert_eq!(budget.held(), 100);
    other.set(|| 440).unwrap();
    assert_eq!(budget.held(), 500);
    assert_eq!(one.set(|| 61).unwrap_err(), NoRoom { bytes: 501, limit: 1_000 });
    drop(other);
    assert_eq!(budget.held(), 500);
    one.set(|| 300).unwrap();
    one.settle();
    let more = one.more(100).unwrap();
    assert_eq!(budget.held(), 400);
    drop((more, one));
    assert_eq!(Arc::into_inner(reservation).map(|reservation| reservation.bytes()), Some(400));
    assert_eq!(budget.held(), 0);
}

#[test]
fn what_counts_nothing_has_room_for_all() {
    let mut share = Share::new(None);
    share.set(|| usize::MAX).unwrap();
    share.more(usize::MAX).unwrap();
}

#[test]
fn who_waits_is_served_once_there_is_room() {
    let budget = MemoryBudget::new(1_000);
    let interrupt = Interrupt::default();
    let held = budget.reserve(400).unwrap();
    assert!(budget.reserve_within(400, &Interrupt::after(Duration::ZERO)).is_err());
    thread::scope(|scope| {
        let waits = scope.spawn(|| budget.reserve_within(400, &interrupt).map(|reserved| reserved.bytes()));
        thread::sleep(Duration::from_millis(50));
        drop(held);
        assert_eq!(waits.join().unwrap(), Ok(400));
        // What never fits is not waited for, and neither is anything once the request has ended.
        assert!(budget.reserve_within(501, &interrupt).is_err());
        let _held = budget.reserve(400).unwrap();
        let waits = scope.spawn(|| budget.reserve_within(400, &interrupt).is_err());
        interrupt.cancel();
        assert!(waits.join().unwrap());
    });
}
