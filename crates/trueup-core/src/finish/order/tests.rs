use super::*;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Returns numbers in no order.
fn mixed(count: usize) -> Vec<usize> {
    (0..count).map(|number| number * 7_919 % count).collect()
}

#[test]
fn any_number_of_items_is_sorted() {
    for count in [0, 1, RUN_ITEMS, RUN_ITEMS + 1, 2 * RUN_ITEMS, 3 * RUN_ITEMS + 5, 10 * RUN_ITEMS + 1] {
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
fn a_sort_ends_soon_after_it_is_canceled() {
    let runs = 16;
    // Once while runs are sorted, once while they are merged.
    for canceled_after in [1_000, runs * RUN_ITEMS * 14 + runs * RUN_ITEMS * 3] {
        let (interrupt, compared) = (Interrupt::default(), AtomicUsize::new(0));
        let sorted = sort(mixed(runs * RUN_ITEMS), &interrupt, |a, b| {
            if compared.fetch_add(1, Relaxed) == canceled_after {
                interrupt.cancel();
            }
            a.cmp(&b)
        });
        assert_eq!(sorted, Err(Interruption::Canceled));
        // Each thread may finish its current run.
        let late = compared.load(Relaxed) - canceled_after;
        assert!(late <= rayon::current_num_threads() * RUN_ITEMS * 20, "{late}");
    }
}

#[test]
fn items_of_one_rank_keep_their_order() {
    let numbers: Vec<u32> = (0..3 * 8_192 + 5).map(|number| number * 7_919 % 20_000).collect();
    let mut expected = numbers.clone();
    expected.sort_by_key(|number| number % 300);
    let interrupt = Interrupt::default();
    assert_eq!(sort_by_rank(&numbers, 300, &interrupt, |number| number % 300), Ok(expected));
    assert_eq!(sort_by_rank(&[], 0, &interrupt, |number| number), Ok(Vec::new()));
    let ranked = AtomicUsize::new(0);
    let sorted = sort_by_rank(&numbers, 300, &interrupt, |number| {
        if ranked.fetch_add(1, Relaxed) == INTERRUPT_CHECK_ITEMS {
            interrupt.cancel();
        }
        number % 300
    });
    assert_eq!((sorted, ranked.into_inner()), (Err(Interruption::Canceled), 2 * INTERRUPT_CHECK_ITEMS));
}

#[test]
fn a_map_ends_soon_after_it_is_canceled() {
    let (interrupt, mut made) = (Interrupt::default(), 0);
    let numbers = mixed(4 * INTERRUPT_CHECK_ITEMS);
    let all = map_interruptible(&numbers, &interrupt, |number| {
        made += 1;
        if made == INTERRUPT_CHECK_ITEMS + 1 {
            interrupt.cancel();
        }
        number
    });
    assert_eq!((all, made), (Err(Interruption::Canceled), 2 * INTERRUPT_CHECK_ITEMS));
    assert_eq!(map_interruptible(&numbers, &Interrupt::default(), |number| number), Ok(numbers.clone()));
}

#[test]
fn numbers_are_sorted_by_their_bits() {
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
