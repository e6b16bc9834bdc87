use super::*;
use std::collections::BTreeSet;

/// Returns the histories of customers with these stages.
fn histories(customers: &[Vec<u8>]) -> StageHistories {
    let mut offsets = vec![0];
    for stages in customers {
        offsets.push(offsets.last().unwrap() + u32::try_from(stages.len()).unwrap());
    }
    StageHistories::new(customers.concat(), &offsets)
}

#[test]
fn every_short_history_has_a_pattern_of_its_stages() {
    let (mut all, mut last) = (BTreeSet::new(), vec![Vec::new()]);
    for _ in 0..StagePattern::MAX_EVENTS {
        last = last.iter().flat_map(|stages| (0..6).map(|stage| [&**stages, &[stage]].concat())).collect();
        for stages in &last {
            let mut packed = [0; PACKED];
            packed[..stages.len()].copy_from_slice(stages);
            let pattern = StagePattern::new(u64::from_le_bytes(packed), stages.len());
            assert_eq!(pattern.stages(), *stages);
            all.insert(pattern.index());
        }
    }
    assert_eq!((all.len(), all.last()), (StagePattern::COUNT - 1, Some(&(StagePattern::COUNT - 1))));
}

/// Returns the pattern of each customer.
fn patterns(histories: &StageHistories) -> Vec<StagePattern> {
    histories.pattern_ids().iter().map(|id| histories.pattern(*id)).collect()
}

#[test]
fn customers_of_one_pattern_share_its_id() {
    let customers: Vec<Vec<u8>> = vec![vec![0, 1], vec![5], vec![0, 1], vec![0; 7], vec![5; 6], vec![5]];
    let histories = histories(&customers);
    assert_eq!(histories.pattern_ids(), [1, 2, 1, 0, 3, 2].map(PatternId));
    for (pattern, stages) in patterns(&histories).iter().zip(customers).filter(|(_, stages)| stages.len() < 7) {
        assert_eq!(pattern.stages(), stages);
    }
}

#[test]
fn patterns_found_after_all_ids_are_in_use_have_no_id() {
    let of_length = |stages: Vec<Vec<u8>>| -> Vec<Vec<u8>> {
        stages.iter().flat_map(|stages| (0..6).map(|stage| [&**stages, &[stage]].concat())).collect()
    };
    // 216 patterns of three events, then 1,296 of four.
    let three = (0..3).fold(vec![Vec::new()], |stages, _| of_length(stages));
    let customers = [three.clone(), of_length(three.clone()), three].concat();
    let histories = histories(&customers);
    assert_eq!(histories.patterns.len(), 256);
    for (place, (pattern, stages)) in patterns(&histories).iter().zip(&customers).enumerate() {
        let has_id = !(255..216 + 1_296).contains(&place);
        assert_eq!(pattern.stages(), if has_id { stages.clone() } else { Vec::new() }, "{place}");
    }
}

#[test]
fn a_cut_history_is_the_history_of_its_first_events() {
    // Each customer is cut to each length, next to customers that are not. The fourth keeps a long history.
    let customers: Vec<Vec<u8>> =
        vec![vec![0, 1, 5], vec![0, 1, 0, 3, 2, 4], vec![0], (0..9).map(|at| at % 6).collect(), vec![0, 1]];
    let whole = histories(&customers);
    let mut start = 0;
    for (customer, stages) in customers.iter().enumerate() {
        for kept in 1..stages.len() {
            let mut cutter = HistoryCutter::new(&whole);
            cutter.cut(customer, start..start + stages.len(), kept);
            let cut = cutter.finish();
            let mut expected = customers.clone();
            expected[customer].truncate(kept);
            let expected = histories(&expected);
            assert_eq!(patterns(&cut), patterns(&expected), "{customer} {kept}");
            let mut bits = cut.events().as_bytes().to_vec();
            let dropped = bits.drain(start + kept..start + stages.len());
            assert!(dropped.eq(vec![stage::BEYOND; stages.len() - kept]));
            assert_eq!(bits, expected.events().as_bytes(), "{customer} {kept}");
        }
        start += stages.len();
    }
}

#[test]
fn long_histories_have_no_pattern() {
    let patterns = patterns(&histories(&[vec![0; 7], vec![1], vec![5; 40], vec![5; 6]]));
    let known: Vec<_> = patterns.iter().map(|pattern| pattern.is_some()).collect();
    assert_eq!(known, [false, true, false, true]);
}

#[test]
fn first_events_are_marked() {
    let histories = histories(&[vec![0, 1, 0, 5]]);
    let events = histories.events();
    assert_eq!(events.iter().map(|event| event.stage()).collect::<Vec<_>>(), [0, 1, 0, 5]);
    assert_eq!(events.iter().map(|event| event.is_first()).collect::<Vec<_>>(), [true, false, false, false]);
    let first_of_stage: Vec<_> = events.iter().map(|event| event.is_first_of_stage()).collect();
    assert_eq!(first_of_stage, [true, true, false, true]);
}

#[test]
fn events_know_which_stages_their_customer_reaches() {
    // Event 4 is estimated after the customer was sold.
    let histories = histories(&[vec![0, 1, 0, 3, 2], vec![3, 4], vec![0, 4]]);
    let reaches = |event: usize, stage| histories.events().get(event).reaches(stage);
    let lead = [stage::BOOKED, stage::ESTIMATED, stage::SOLD, stage::CLOSED].map(|stage| reaches(0, stage));
    assert_eq!(lead, [true, false, true, false]);
    assert_eq!([stage::BOOKED, stage::SOLD].map(|stage| reaches(2, stage)), [false, false], "a second conversion");
    assert!(reaches(1, stage::ESTIMATED) && reaches(4, stage::SOLD) && !reaches(3, stage::CLOSED));
    assert!(reaches(5, stage::CLOSED) && !reaches(5, stage::SOLD));
    assert!(reaches(7, stage::CLOSED) && !reaches(7, stage::BOOKED));
}
