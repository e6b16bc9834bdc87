use super::*;

fn rounded(above: i128, below: i128) -> f64 {
    Fraction::new(above, below, 1).unwrap().rounded()
}

#[test]
fn three_digits_are_kept_half_away_from_zero() {
    assert_eq!(rounded(2, 3), 0.667);
    assert_eq!(rounded(1, 3), 0.333);
    assert_eq!(rounded(-2, 3), -0.667);
    assert_eq!(rounded(2, -3), -0.667);
    assert_eq!(rounded(-2, -3), 0.667);
    assert_eq!(rounded(12_345, 10_000), 1.23);
    assert_eq!(rounded(12_350, 10_000), 1.24);
    assert_eq!(rounded(-12_350, 10_000), -1.24);
    assert_eq!(rounded(12_349_999, 10_000_000), 1.23);
    // As doubles, 1.005 and 0.1115 lie below the half.
    assert_eq!(rounded(1_005, 1_000), 1.01);
    assert_eq!(rounded(1_115, 10_000), 0.112);
}

#[test]
fn rounding_may_carry_and_works_for_large_and_small_numbers() {
    assert_eq!(rounded(9_995, 10_000), 1.0);
    assert_eq!(rounded(9_994, 10_000), 0.999);
    assert_eq!(rounded(999_500, 1), 1_000_000.0);
    assert_eq!(rounded(123_456, 1), 123_000.0);
    assert_eq!(rounded(7, 1), 7.0);
    assert_eq!(rounded(1, 1_000_000), 1e-6);
    assert_eq!(rounded(0, -5), 0.0);
    assert!(rounded(0, -5).is_sign_positive());
}

#[test]
fn a_ratio_with_the_denominator_0_is_none() {
    assert_eq!(Fraction::new(1, 0, 1), None);
}

#[test]
fn money_per_count_is_in_currency_units() {
    assert_eq!(Fraction::new(1_234_560_000, 10, 1_000_000).unwrap().rounded(), 123.0);
}

#[test]
fn the_largest_sums_fit() {
    let (money, count) = ((1_i128 << 105) - 1, (1_i128 << 42) - 1);
    let ratios = [Fraction::new(money, 1, 1).unwrap(), Fraction::new(-money, money, 1).unwrap()];
    assert!(ratios[0] > ratios[1]);
    assert_eq!(ratios[0].rounded(), 4.06e31);
    assert_eq!(Fraction::new(1, money, 1).unwrap().rounded(), 2.47e-32);
    let sorted = [Fraction::new(-money, money, 1).unwrap(), Fraction::new(money - 1, money, 1).unwrap()];
    assert_eq!(Fraction::percentile(&sorted, 90).unwrap().rounded(), 0.8);
    let tickets = [Fraction::new(1, count, 1_000_000).unwrap(), Fraction::new(money, count, 1_000_000).unwrap()];
    assert_eq!(Fraction::percentile(&tickets, 10).unwrap().rounded(), 9.22e11);
}

fn percentile(values: &[i128], percent: usize) -> f64 {
    let mut sorted: Vec<Fraction> = values.iter().map(|value| Fraction::new(*value, 1, 1).unwrap()).collect();
    sorted.sort_unstable();
    Fraction::percentile(&sorted, percent).unwrap().rounded()
}

/// What R's `quantile`, whose default is type 7, gives for the same values.
#[test]
fn percentiles_interpolate_between_the_closest_ranks() {
    let four = [40, 10, 30, 20];
    assert_eq!([10, 25, 50, 75, 90].map(|percent| percentile(&four, percent)), [13.0, 17.5, 25.0, 32.5, 37.0]);
    let six = [1, 2, 4, 8, 16, 32];
    assert_eq!([10, 25, 50, 75, 90].map(|percent| percentile(&six, percent)), [1.5, 2.5, 6.0, 14.0, 24.0]);
    let eleven = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
    assert_eq!([10, 25, 50, 75, 90].map(|percent| percentile(&eleven, percent)), [1.0, 2.5, 5.0, 7.5, 9.0]);
    assert_eq!([0, 50, 100].map(|percent| percentile(&[7], percent)), [7.0; 3]);
    assert_eq!(percentile(&[-3, -1], 25), -2.5);
    assert_eq!(Fraction::percentile(&[], 50), None);
}
