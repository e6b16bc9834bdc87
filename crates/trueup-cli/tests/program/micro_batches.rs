//! An ingest every second next to a service under load: each version becomes visible, and each answer is that of a
//! version. The time until a version is visible is measured and printed.

use crate::workspace::{RunningServer, Workspace};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// The rows of an ingest.
const ROWS: usize = 1_000;

/// The time in which a version should be visible.
const VISIBLE: Duration = Duration::from_secs(1);

const HEADER: &str = "account,opportunityId,type,date,eventId,total\n";

/// Returns the rows of an ingest: new customers, and one event that each ingest restates.
fn batch(number: usize) -> String {
    let row = |row| format!("acme,{number}-{row},sold,2025-02-{:02},{number}-{row},1\n", row % 28 + 1);
    HEADER.to_owned() + &(1..ROWS).map(row).collect::<String>() + &restated(number)
}

fn restated(number: usize) -> String {
    format!("acme,restated,sold,2025-02-01,restated,{number}.5\n")
}

/// Returns what the service answers after some ingests.
fn expected(batches: usize) -> String {
    let new = batches * (ROWS - 1);
    format!(r#"[{{"eventCount":{},"total":{}.5}}]"#, new + 1, new + batches)
}

#[test]
#[ignore = "measures, for some seconds; the variable MICRO_BATCHES sets the number of ingests"]
fn next_to_an_ingest_every_second_each_answer_is_that_of_a_version() {
    let batches: usize = std::env::var("MICRO_BATCHES").map_or(20, |text| text.parse().unwrap());
    let workspace = Workspace::new();
    workspace.write("batch.csv", &(HEADER.to_owned() + &restated(0)));
    workspace.run(&["ingest", "batch.csv", "--into", "ds"]).succeeded();
    workspace.change(&["users", "add", "ds", "anna"]);
    workspace.change(&["users", "grant", "ds", "anna", "--account", "acme"]);
    let key = workspace.key("anna");
    let server = RunningServer::of(&workspace, &["--hourly-limit", "1000000"]);
    let answers: Mutex<Vec<(Duration, Duration, String)>> = Mutex::default();
    let (begun, is_over) = (Instant::now(), AtomicBool::new(false));
    let mut ingests: Vec<(Duration, Duration)> = Vec::new();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    let asked = begun.elapsed();
                    let path = "/api/acme/events?fields=eventCount,total&start=2025-01-01&end=2025-03-31";
                    let (_, body) = server.get(path, &key);
                    answers.lock().unwrap().push((asked, begun.elapsed(), body));
                }
            });
        }
        for number in 1..=batches {
            sleep(Duration::from_secs(number as u64).saturating_sub(begun.elapsed()));
            workspace.write("batch.csv", &batch(number));
            let start = begun.elapsed();
            workspace.run(&["ingest", "batch.csv", "--into", "ds", "--wait", "30s"]).succeeded();
            ingests.push((start, begun.elapsed()));
        }
        // Answers of the last version are asked for, too.
        sleep(2 * VISIBLE);
        is_over.store(true, Ordering::Relaxed);
    });
    let versions: BTreeMap<String, usize> = (0..=batches).map(|number| (expected(number), number)).collect();
    let (mut late, mut visible) = (0, vec![None; batches + 1]);
    let answers = answers.into_inner().unwrap();
    for (asked, answered, body) in &answers {
        let version = versions.get(body).copied();
        assert!(version.is_some(), "no version answers {body}");
        let version = version.unwrap_or(0);
        for first in visible.iter_mut().take(version + 1) {
            *first = Some(first.map_or(*answered, |first: Duration| first.min(*answered)));
        }
        let due = ingests.iter().filter(|(_, end)| *end + VISIBLE < *asked).count();
        late += usize::from(version < due);
    }
    let sorted = |times: &mut dyn Iterator<Item = Duration>| {
        let mut times: Vec<Duration> = times.collect();
        times.sort_unstable();
        (times[times.len() / 2], times[times.len() - 1])
    };
    let ended = ingests.last().unwrap().1;
    let seen = |number: usize| visible[number + 1].unwrap().saturating_sub(ingests[number].1);
    let delays = sorted(&mut (0..batches).map(seen));
    let durations = sorted(&mut ingests.iter().map(|(start, end)| *end - *start));
    let answering = sorted(&mut answers.iter().map(|(asked, answered, _)| *answered - *asked));
    println!("{batches} ingests of {ROWS} rows in {ended:.1?}; {} answers, each of a version", answers.len());
    println!("an ingest: {:.0?} (median), {:.0?} (longest)", durations.0, durations.1);
    println!("visible after: {:.0?} (median), {:.0?} (longest)", delays.0, delays.1);
    println!("an answer: {:.0?} (median), {:.0?} (longest)", answering.0, answering.1);
    println!("{late} answers older than {VISIBLE:?}");
    println!("files and KiB: {}", workspace.shell("find ds -type f | wc -l; du -sk ds").succeeded());
}
