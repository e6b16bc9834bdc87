use super::super::bits::number_at;
use super::*;
use proptest::prelude::*;

#[test]
fn a_code_beyond_the_dictionary_is_an_error() {
    // A run of four times the code 3, and the codes 0 to 3 one by one.
    for (encoded, width) in [(&[0b1000_u8, 3][..], 2), (&[0b11, 0b1110_0100, 0], 2)] {
        let mut into = Vec::new();
        assert_eq!(decode_hybrid(encoded, width, 4, &['a', 'b', 'c', 'd'], &mut into), Ok(()));
        for table in [&['a', 'b', 'c'][..], &[]] {
            assert!(decode_hybrid(encoded, width, 4, table, &mut into).is_err(), "{encoded:?}");
        }
    }
}

#[test]
fn bits_are_runs_and_groups_of_eight() {
    // A run of two times the bit 1, and a group of which five bits count.
    assert_eq!(decode_bits(&[0b100, 1, 0b11, 0b1110_0101], 7), Ok([1, 1, 1, 0, 1, 0, 0].map(|bit| bit == 1).into()));
    assert_eq!(decode_bits(&[0b100, 2], 2), Err(NOT_IN_DICTIONARY));
    assert_eq!(decode_bits(&[0b100, 1], 3), Err(ENDS_EARLY));
}

#[test]
fn an_empty_run_and_too_wide_codes_are_errors() {
    assert_eq!(decode_hybrid(&[0, 0], 1, 1, &['a'], &mut Vec::new()), Err(EMPTY_RUN));
    assert_eq!(decode_hybrid(&[3, 0, 0, 0, 0, 0], 33, 1, &['a'], &mut Vec::new()), Err(TOO_WIDE));
}

/// Decodes numbers of any width.
fn decode(bytes: &[u8], width: u8, count: usize) -> Vec<u32> {
    let mut runs = HybridRuns::new(bytes, width, count).unwrap();
    let mut numbers = Vec::new();
    while let Some(run) = runs.next().unwrap() {
        match run {
            HybridRun::Repeated { number, count } => numbers.extend(std::iter::repeat_n(number, count)),
            HybridRun::Packed { bytes, count } => numbers.extend((0..count).map(|at| number_at(bytes, width, at))),
        }
    }
    assert!(runs.bytes.is_empty());
    numbers.into_iter().map(|number| u32::try_from(number).unwrap()).collect()
}

proptest! {
    #[test]
    fn encoded_numbers_decode_to_the_same_numbers(
        width in 0..=32_u8,
        runs in prop::collection::vec((any::<u32>(), prop_oneof![1..4_usize, 6..40_usize]), 0..60),
    ) {
        let low = |number: u32| u32::try_from(u64::from(number) & ((1_u64 << width) - 1)).unwrap_or(0);
        let numbers: Vec<u32> =
            runs.iter().flat_map(|(number, times)| std::iter::repeat_n(low(*number), *times)).collect();
        let mut bytes = Vec::new();
        encode_hybrid(&numbers, width, &mut bytes);
        prop_assert_eq!(decode(&bytes, width, numbers.len()), numbers);
    }
}
