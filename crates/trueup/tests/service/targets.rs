//! `$targets` on events: columns, the header that says why some are null, what is refused, and that nobody learns of
//! the targets of others.

use crate::platform::Platform;
use std::fs;
use std::sync::Arc;
use trueup::Dataset;

/// Returns the small platform. North has a budget of 310 in January, and one of 28 for `Search Ads` in February; so has
/// rival-1, of another tenant, for leads.
fn platform() -> Platform {
    let platform = Platform::new();
    let targets = platform.dataset().with_file_name("targets.csv");
    let table = "account,month,metric,value,attributionChannel\nnorth,2025-01,spend,310,\nnorth,2025-02,spend,28,Search Ads\n\
                 rival-1,2025-01,leads,31,\n";
    fs::write(&targets, table).unwrap();
    trueup_ingest::Ingest::into(platform.dataset()).targets(&targets).run().unwrap();
    platform.service.replace_dataset(Arc::new(Dataset::open(platform.dataset()).unwrap()));
    platform
}

#[test]
fn targets_come_after_their_metric_with_the_share_of_the_days() {
    let platform = platform();
    let path = "/api/north/events?fields=spend,leads&start=2025-01-01&end=2025-01-10";
    let plain = String::from_utf8(platform.get("anna", path).body).unwrap();
    let answer = platform.get("anna", &format!("{path}&$targets=true"));
    assert_eq!(answer.status, 200);
    let rows: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    let (spend, pace) = (&rows[0]["spend"], &rows[0]["spend.pace"]);
    let leads = &rows[0]["leads"];
    let expected = format!(r#"[{{"spend":{spend},"spend.target":100,"spend.pace":{pace},"leads":{leads}}}]"#);
    assert_eq!(String::from_utf8(answer.body.clone()).unwrap(), expected);
    assert!((pace.as_f64().unwrap() - spend.as_f64().unwrap() / 100.0).abs() < 1e-12);
    assert_eq!(answer.header("Trueup-Notes"), None);
    // An encoded name is the same, and `false` changes nothing.
    assert_eq!(platform.get("anna", &format!("{path}&%24targets=true")).body, answer.body);
    let without = platform.get("anna", &format!("{path}&$targets=false"));
    assert_eq!(String::from_utf8(without.body).unwrap(), plain);
}

#[test]
fn a_header_says_why_targets_are_null() {
    let platform = platform();
    let path = "/api/north/events?fields=attributionChannel,spend&start=2025-01-01&end=2025-01-31&$targets=true";
    let answer = platform.get("anna", path);
    let note = answer.header("Trueup-Notes").unwrap();
    assert!(note.starts_with("%60spend.target%60%20is%20null%20in%20"), "{note}");
    let rows: Vec<serde_json::Value> = serde_json::from_slice(&answer.body).unwrap();
    assert!(rows.iter().all(|row| row["spend.target"].is_null() && row["spend.pace"].is_null()));
}

#[test]
fn what_cannot_have_targets_is_refused() {
    let platform = platform();
    let refused = |more: &str| {
        let path = format!("/api/acme/events?fields=spend&start=2025-01-01&end=2025-01-31&{more}");
        let answer = platform.get("anna", &path);
        assert_eq!(answer.status, 400, "{more}");
        let body: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body["code"], "invalid-query");
        body["error"].as_str().unwrap().to_owned()
    };
    for (more, expected) in [
        ("$targets=yes", "expected `true` or `false`, but found `yes`"),
        ("$targets=true&$targets=false", "`$targets`"),
        ("$targets=true&compare=previous-period", "an answer has either targets or a comparison"),
        ("$targets=true&compare=benchmarks", "an answer has either targets or a comparison"),
        ("$targets=true&cohort=true&within=9d", "and not of a cohort of leads"),
    ] {
        let message = refused(more);
        assert!(message.contains("$targets") && message.contains(expected), "{more}: {message}");
    }
}

#[test]
fn nobody_learns_of_the_targets_of_others() {
    let platform = platform();
    let path = "/api/acme/events?fields=leads&start=2025-01-01&end=2025-01-31&$targets=true";
    let body = String::from_utf8(platform.get("anna", path).body).unwrap();
    assert!(body.contains("none of the metrics has a target; metrics with targets are `spend`"), "{body}");
    let path = "/api/rival/events?fields=spend&start=2025-01-01&end=2025-01-31&$targets=true";
    let body = String::from_utf8(platform.get("rita", path).body).unwrap();
    assert!(body.contains("metrics with targets are `leads`"), "{body}");
    // The whole dictionary says which metrics have targets.
    let targeted = |user: &str, path: &str| {
        let access: serde_json::Value = serde_json::from_slice(&platform.get(user, path).body).unwrap();
        let entries = access["dictionary"].as_object().unwrap().iter();
        entries.filter(|(_, entry)| entry["hasTargets"] == true).map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(targeted("anna", "/api?dictionary=all"), ["spend"]);
    assert_eq!(targeted("rita", "/api?dictionary=all"), ["leads"]);
    assert!(targeted("anna", "/api").is_empty());
}
