use super::*;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Numbers in no order.
fn mixed(count: usize) -> Vec<usize> {
    (0..count).map(|number| number * 7_919 % count).collect()
}

#[test]
fn numbers_of_any_count_come_in_order() {
    for count in [0, 1, RUN, RUN + 1, 2 * RUN, 3 * RUN + 5, 10 * RUN + 1] {
        let by_tens = |a: usize, b: usize| (b / 10).cmp(&(a / 10));
        let sorted = sort(mixed(count), &Interrupt::default(), by_tens);
        assert!(sorted.as_ref().is_ok_and(|sorted| sorted.is_sorted_by_key(|number| std::cmp::Reverse(number / 10))));
        let mut all = sorted.unwrap_or_default();
        all.sort_unstable();
        let mut expected = mixed(count);
        expected.sort_unstable();
        assert_eq!(all, expected);
    }
}

#[test]
fn it_ends_soon_after_it_is_told_to() {
    let runs = 16;
    // While runs are sorted, and while they are merged.
    for told in [1_000, runs * RUN * 14 + runs * RUN * 3] {
        let (interrupt, compared) = (Interrupt::default(), AtomicUsize::new(0));
        let sorted = sort(mixed(runs * RUN), &interrupt, |a, b| {
            if compared.fetch_add(1, Relaxed) == told {
                interrupt.cancel();
            }
            a.cmp(&b)
        });
        assert_eq!(sorted, Err(Interruption::Canceled));
        // Each thread may finish the run that it is at.
        let late = compared.load(Relaxed) - told;
        assert!(late <= rayon::current_num_threads() * RUN * 20, "{late}");
    }
}

#[test]
fn numbers_of_one_rank_stay_in_their_order() {
    let numbers: Vec<u32> = (0..3 * 8_192 + 5).map(|number| number * 7_919 % 20_000).collect();
    let mut expected = numbers.clone();
    expected.sort_by_key(|number| number % 300);
    let interrupt = Interrupt::default();
    assert_eq!(sort_by_rank(&numbers, 300, &interrupt, |number| number % 300), Ok(expected));
    assert_eq!(sort_by_rank(&[], 0, &interrupt, |number| number), Ok(Vec::new()));
    let ranked = AtomicUsize::new(0);
    let sorted = sort_by_rank(&numbers, 300, &interrupt, |number| {
        if ranked.fetch_add(1, Relaxed) == STEP {
            interrupt.cancel();
        }
        number % 300
    });
    assert_eq!((sorted, ranked.into_inner()), (Err(Interruption::Canceled), 2 * STEP));
}

#[test]
fn what_is_made_ends_soon_too() {
    let (interrupt, mut made) = (Interrupt::default(), 0);
    let numbers = mixed(4 * STEP);
    let all = map_interruptible(&numbers, &interrupt, |number| {
        made += 1;
        if made == STEP + 1 {
            interrupt.cancel();
        }
        number
    });
    assert_eq!((all, made), (Err(Interruption::Canceled), 2 * STEP));
    assert_eq!(map_interruptible(&numbers, &Interrupt::default(), |number| number), Ok(numbers.clone()));
}

#[test]
fn numbers_come_in_order_of_their_bits() {
    let numbers =
        |bits: u32| (0..20_000_u64).map(move |number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits));
    for bits in [1, 10, 11, 12, 23, 64] {
        for lowest in [0, bits / 3] {
            let mut expected: Vec<u64> = numbers(bits).collect();
            let sorted = sort_by_bits(expected.clone(), lowest..bits, &Interrupt::default());
            expected.sort_by_key(|number| number >> lowest);
            assert_eq!(sorted, Ok(expected), "{lowest} to {bits}");
        }
    }
    assert_eq!(sort_by_bits(vec![2, 1], 7..7, &Interrupt::default()), Ok(vec![2, 1]));
}
