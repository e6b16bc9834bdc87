//! Answers as CSV are those of the library, and errors stay JSON.

use crate::platform::{Platform, Received};
use std::sync::LazyLock;
use trueup::query::{EventsQuery, WhyQuery};
use trueup::service::{Limits, Request};
use trueup::{Execution, MemoryBudget, ResultTable, csv};

static PLATFORM: LazyLock<Platform> = LazyLock::new(Platform::new);

const DAYS: &str = "start=2025-01-01&end=2025-03-31";

fn ask(platform: &Platform, path: &str) -> Received {
    platform.ask(&Request {
        authorization: Some(platform.secret("<anna>")),
        accept: Some("text/csv".to_owned()),
        accept_encoding: Some("identity".to_owned()),
        ..Request::get(path)
    })
}

fn written(table: &ResultTable) -> Vec<u8> {
    let mut text = Vec::new();
    csv::write_rows(table, &mut text).unwrap();
    text
}

#[test]
fn the_text_is_the_one_that_the_library_writes() {
    let [start, end] = ["2025-01-01", "2025-03-31"].map(|day| day.parse().unwrap());
    let dataset = PLATFORM.service.dataset();
    let of = |fields: &[&str]| EventsQuery::new(fields.to_vec(), start, end).accounts(["north", "south", "west"]);
    for fields in [vec!["campaign", "leads", "spend", "avgCostPerLead"], vec!["account", "closedRevenue", "bookRate"]] {
        let answer = ask(&PLATFORM, &format!("/api/acme/events?fields={}&{DAYS}", fields.join(",")));
        let expected = written(&dataset.run(&of(&fields), Execution::default()).unwrap());
        assert!(expected.ends_with(b"\n") && expected.windows(2).any(|pair| pair == b",\n" || pair == b"00"));
        assert_eq!(answer.body, expected);
        assert_eq!(answer.header("Content-Type"), Some("text/csv; charset=utf-8; header=present"));
        let name = "attachment; filename=\"events-2025-01-01-2025-03-31.csv\"";
        assert_eq!(answer.header("Content-Disposition"), Some(name));
        assert_eq!(answer.header("Vary"), Some("Accept, Accept-Encoding"));
    }
    let query = of(&["campaign", "closedRevenue"]);
    let why = WhyQuery::new(query).value("campaign", "Drains").metric("closedRevenue").limit(1_000);
    let why = dataset.why(&why, Execution::default()).unwrap();
    let path = format!("/api/acme/events?fields=campaign,closedRevenue&{DAYS}&row=campaign=Drains&why=closedRevenue");
    assert!(!why.lines().is_empty());
    assert_eq!(ask(&PLATFORM, &path).body, written(why.lines()));
}

#[test]
fn errors_are_those_of_the_answer_as_json() {
    for query in ["fields=campaign", "fields=leads&account=rival-1"] {
        let path = format!("/api/acme/events?{query}&{DAYS}");
        let (answer, json) = (ask(&PLATFORM, &path), PLATFORM.get("anna", &path));
        assert_eq!((answer.status, &answer.body), (json.status, &json.body), "{path}");
        assert_eq!(answer.header("Content-Type"), Some("application/json; charset=utf-8"));
    }
}

#[test]
fn a_text_for_which_there_is_no_room_is_refused() {
    let path = format!("/api/acme/events?fields=campaign,leads&{DAYS}");
    let whole = ask(&PLATFORM, &path);
    let (mut refused, mut answered) = (0, 0);
    for budget in (8..22).map(|power| 1_usize << power) {
        let limits = Limits { memory_wait: std::time::Duration::ZERO, ..Limits::default() };
        let platform =
            Platform::with(&Default::default(), |builder| builder.memory(MemoryBudget::new(budget)).limits(limits));
        let answer = ask(&platform, &path);
        match answer.status {
            200 => answered += i32::from(answer.body == whole.body),
            _ => refused += i32::from(answer.header("Content-Type") == Some("application/json; charset=utf-8")),
        }
    }
    assert!(refused > 0 && answered > 0 && refused + answered == 14, "{refused} {answered}");
}
