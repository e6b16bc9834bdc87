//! `trueup diff --format google-ads-adjustments`.

use crate::workspace::Workspace;

const HEADER: &str = "account,opportunityId,type,dateTime,eventId,total,gclid\n";

/// A workspace with two versions of the dataset `ds`.
fn restated() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("accounts.csv", "account,currency\nacme,USD\n");
    let rows = [
        "acme,1,closed,2025-01-10T15:00:00.25Z,e1,950,Cj0A\n",
        "acme,2,closed,2025-01-11T15:00:00-05:00,e2,400,Cj0B\n",
        "acme,3,closed,2025-01-12T15:00:00Z,e3,10,\n",
        "acme,4,closed,2025-01-13T15:00:00Z,e4,20,Cj0D\n",
        "acme,5,closed,2025-01-14T15:00:00.5Z,e5,30,Cj0E\n",
        "acme,6,closed,2025-01-15T15:00:00Z,e6,40,Cj0F\n",
        "acme,7,closed,2140-01-15T15:00:00Z,e7,50,Cj0G\n",
    ];
    workspace.write("1.csv", &(HEADER.to_owned() + &rows.concat()));
    workspace.run(&["ingest", "1.csv", "--into", "ds", "--accounts", "accounts.csv"]).succeeded();
    let later = (HEADER.to_owned() + &rows.concat())
        .replace(",950,", ",1200.50,")
        .replace(rows[1], "acme,8,closed,2025-01-16T15:00:00Z,e8,60,Cj0H\n")
        .replace(",10,", ",15,")
        .replace("00.5Z", "00Z")
        .replace(",40,", ",-40,")
        .replace(",50,", ",55,");
    workspace.write("2.csv", &later);
    workspace.run(&["ingest", "2.csv", "--into", "ds", "--replace-source", ""]).succeeded();
    workspace
}

fn diff<'a>(fields: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let query = ["diff", "ds", "1", "2", "--format", "google-ads-adjustments", "--fields", fields];
    [&query[..], &["--conversion-name", "Closed job, paid"], more].concat()
}

#[test]
fn restated_and_retracted_conversions_become_adjustments() {
    let workspace = restated();
    let versions = workspace.run(&["versions", "ds", "--format", "csv"]).succeeded();
    let committed = versions.lines().last().and_then(|line| line.split(',').nth(1)).unwrap();
    let time = committed[..19].replace('T', " ");
    let by_click = workspace.run(&diff("gclid,dateTime,total", &["--year", "2025"]));
    assert_eq!(
        by_click.stdout,
        format!(
            "Parameters:TimeZone=+0000\n\
             Google Click ID,Conversion Name,Conversion Time,Adjustment Time,Adjustment Type,Adjusted Value,Adjusted Value Currency\n\
             Cj0A,\"Closed job, paid\",2025-01-10 15:00:00,{time},RESTATE,1200.5,USD\n\
             Cj0B,\"Closed job, paid\",2025-01-11 20:00:00,{time},RETRACT,,\n"
        )
    );
    assert_eq!(
        by_click.stderr,
        "warning: changes that Google Ads cannot import as adjustments are left out: 1 of a new conversion, 2 that share a \
         conversion, 1 to a negative value, 1 without the id or the time of a conversion\n"
    );
    let by_order = workspace.run(&diff("total,eventId", &["--year", "2025"]));
    assert_eq!(
        by_order.stdout,
        format!(
            "Parameters:TimeZone=+0000\n\
             Order ID,Conversion Name,Adjustment Time,Adjustment Type,Adjusted Value,Adjusted Value Currency\n\
             e1,\"Closed job, paid\",{time},RESTATE,1200.5,USD\n\
             e2,\"Closed job, paid\",{time},RETRACT,,\n\
             e3,\"Closed job, paid\",{time},RESTATE,15,USD\n"
        )
    );
    let to_come = workspace.run(&diff("gclid,dateTime,total", &["--year", "2140"]));
    assert_eq!(to_come.stdout.lines().count(), 2);
    assert!(to_come.stderr.contains("1 of a conversion that is not before the adjustment"), "{to_come:?}");
}

#[test]
fn what_is_no_adjustment_is_refused() {
    let workspace = restated();
    let refused = |arguments: &[&str], code| workspace.run(&[arguments, &["--year", "2025"]].concat()).failed(code);
    for (fields, more, message) in [
        ("gclid,total", &[][..], "expected the fields `gclid` and `dateTime`, or one of"),
        ("gclid,dateTime,account,total", &[], "but found `gclid,dateTime,account,total`"),
        ("eventId,total,leads", &[], "one metric that is an amount"),
        ("eventId,leads", &[], "`leads` is no amount"),
        ("eventId,total", &["--totals"], "leave `--totals` and `--interval` out"),
        ("eventId,total", &["--interval", "month"], "leave `--totals` and `--interval` out"),
        ("eventId,total", &["--bom"], "`--bom` is for CSV alone"),
    ] {
        let found = refused(&diff(fields, more), 2);
        assert!(found.contains(message), "{found}");
    }
    let unnamed = ["diff", "ds", "1", "2", "--fields", "eventId,total", "--format", "google-ads-adjustments"];
    assert!(refused(&unnamed, 2).contains("add `--conversion-name`"));
    let csv = ["diff", "ds", "1", "2", "--fields", "eventId,total", "--conversion-name", "a", "--format", "csv"];
    assert!(refused(&csv, 2).contains("`--conversion-name` is for `--format google-ads-adjustments` alone"));
    let query = ["query", "ds", "--fields", "eventId,total", "--format", "google-ads-adjustments"];
    assert!(refused(&query, 2).contains("google-ads-adjustments"));
    workspace.write("3.csv", &format!("{HEADER}beta,1,closed,2025-01-10T15:00:00Z,e1,1,\n"));
    workspace.run(&["ingest", "3.csv", "--into", "ds"]).succeeded();
    let two = ["diff", "ds", "2", "3", "--fields", "eventId,total", "--conversion-name", "a"];
    let two = refused(&[&two[..], &["--format", "google-ads-adjustments"]].concat(), 2);
    assert!(two.contains("two accounts may have the same `eventId`, and 2 are asked for; name one with `--account`"));
}
