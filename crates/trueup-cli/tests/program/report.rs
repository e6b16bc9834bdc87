//! `trueup report`: each number is from a query, the sentences are right, and no text of the data is taken for markup.

use crate::workspace::Workspace;
use std::collections::HashMap;

/// A number of a report in HTML.
struct Number<'a> {
    value: &'a str,
    question: &'a str,
    row: &'a str,
    column: &'a str,
}

/// The answer to a question of a report, as CSV.
struct Answer {
    columns: Vec<String>,
    /// Without the totals.
    groups: Vec<Vec<String>>,
    totals: Option<Vec<String>>,
}

fn numbers(html: &str) -> Vec<Number<'_>> {
    let attribute = |element: &str, name: &str| {
        let start = element.find(name).unwrap() + name.len();
        start..start + element[start..].find('"').unwrap()
    };
    let elements = html.split("<data ").skip(1);
    let number = |element| {
        let element: &str = element;
        let from = &element[attribute(element, "data-from=\"")];
        let (question, place) = from.split_once('/').unwrap();
        let (row, column) = place.split_once('/').unwrap();
        Number { value: &element[attribute(element, "value=\"")], question, row, column }
    };
    elements.map(number).collect()
}

/// Returns the commands that a report lists, in order.
fn commands(html: &str) -> Vec<String> {
    let list = html.split("<ol>").nth(1).unwrap().split("</ol>").next().unwrap();
    let text = |item: &str| {
        let text = item.split("<code>").nth(1).unwrap().split("</code>").next().unwrap();
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
            .iter()
            .fold(text.to_owned(), |text, (escape, char)| text.replace(escape, char))
    };
    list.split("<li>").skip(1).map(text).collect()
}

impl Answer {
    /// Runs a command of a report on a dataset, as its reader would.
    fn of(workspace: &Workspace, command: &str, dataset: &str) -> Self {
        let command = command.replacen("DATASET", dataset, 1);
        let csv = workspace.shell(&format!("{command} --format csv")).succeeded();
        let mut lines = csv::ReaderBuilder::new().has_headers(false).from_reader(csv.as_bytes());
        let mut lines = lines.records().map(|line| line.unwrap().iter().map(str::to_owned).collect::<Vec<_>>());
        let columns = lines.next().unwrap();
        let (totals, groups): (Vec<_>, Vec<_>) = lines.partition(|line| columns[0] == "rowType" && line[0] == "total");
        Self { columns, groups, totals: totals.into_iter().next() }
    }

    fn value(&self, row: &[String], column: &str) -> String {
        row[self.columns.iter().position(|known| known == column).unwrap()].clone()
    }

    fn sum(&self, row: &[String], columns: &str) -> f64 {
        columns.split('+').map(|column| self.value(row, column).parse::<f64>().unwrap()).sum()
    }
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

/// Asks every question of a report again, and compares every number with the answer. Returns how many there are.
#[track_caller]
fn check_numbers(workspace: &Workspace, html: &str, dataset: &str) -> usize {
    let commands = commands(html);
    let mut answers: HashMap<&str, Answer> = HashMap::new();
    let mut count = 0;
    // The named contributions and the rest stand in the same sentence.
    for sentence in html.split("</li>") {
        let numbers = numbers(sentence);
        for number in &numbers {
            let Number { value, question, row, column } = *number;
            if question == "benchmarks" {
                continue;
            }
            let place = format!("{question}/{row}/{column}: {value}");
            let command = &commands[question.parse::<usize>().unwrap() - 1];
            let answer = answers.entry(question).or_insert_with(|| Answer::of(workspace, command, dataset));
            match row {
                "rest" => {
                    let named =
                        numbers.iter().filter(|it| it.question == question && it.column == column && it.row != "rest");
                    // Totals have the change itself, and not what it is made of.
                    let change = if column.contains('+') {
                        format!("{}.change", column.split('.').next().unwrap())
                    } else {
                        column.to_owned()
                    };
                    let is_total = |it: &&Number<'_>| it.row != "total";
                    let named: f64 = named.filter(is_total).map(|it| it.value.parse::<f64>().unwrap()).sum();
                    let whole = answer.sum(answer.totals.as_ref().unwrap(), &change);
                    assert!(close(named + value.parse::<f64>().unwrap(), whole), "{place}");
                }
                "all" => {
                    let sum: f64 = answer.groups.iter().map(|group| answer.sum(group, column)).sum();
                    assert!(close(value.parse().unwrap(), sum), "{place}");
                }
                _ => {
                    let row = match row {
                        "total" => answer.totals.as_ref().unwrap(),
                        row => &answer.groups[row.parse::<usize>().unwrap()],
                    };
                    if column.contains('+') {
                        assert!(close(value.parse().unwrap(), answer.sum(row, column)), "{place}");
                    } else {
                        assert_eq!(value, answer.value(row, column), "{place}");
                    }
                }
            }
            count += 1;
        }
    }
    assert!(commands.len() > answers.len() - 1 && answers.len() > 5, "{commands:?}");
    count
}

const EVENTS: &str = "\
account,opportunityId,type,date,total,attributionChannel,campaign
a,1,lead-originated,2025-03-03,,Ads,One
a,1,booked,2025-03-04,,Ads,One
a,2,lead-originated,2025-03-05,,Ads,Two
a,3,lead-originated,2025-03-31,,Mail,
b,1,lead-originated,2025-04-01,,Ads,One
b,1,booked,2025-04-02,,Ads,One
b,1,closed,2025-04-20,500.25,Ads,One
b,2,lead-originated,2025-04-05,,Ads,One
b,2,booked,2025-04-05,,Ads,One
a,4,lead-originated,2025-04-05,,Ads,One
a,5,lead-originated,2025-04-30,,Web,
a,6,lead-originated,2025-06-10,,Web,
";
const SPEND: &str = "\
account,date,attributionChannel,campaign,adSpend
a,2025-03-10,Ads,One,90
a,2025-04-10,Ads,One,100
a,2025-04-11,Ads,Two,0.5
";

fn small() -> Workspace {
    let workspace = Workspace::new();
    workspace.write("events.csv", EVENTS);
    workspace.write("spend.csv", SPEND);
    let run = workspace.run(&["ingest", "events.csv", "--spend", "spend.csv", "--into", "ds"]);
    assert_eq!(run.code, 0, "{run:?}");
    workspace
}

fn report(workspace: &Workspace, more: &[&str]) -> String {
    workspace.run(&[&["report", "ds"], more].concat()).succeeded()
}

#[test]
fn the_sentences_say_what_changed_and_why() {
    let workspace = small();
    let text = report(&workspace, &["--month", "2025-04", "--format", "md"]);
    for sentence in [
        "# April 2025: all 2 accounts\n",
        "- Days: 2025-04-01 to 2025-04-30\n",
        "- Data: 2025-03-03 to 2025-06-10, version 1\n",
        "> **Note.** The data begin on 2025-03-03, so that March 2025 is not complete.\n",
        "### Leads: 4\n\n- Against March 2025 (3): 1 more (+33.33%), which is better. By channel: Ads 1 more, Web 1 more (none \
         before) and Mail 1 fewer (none now).\n- Against April 2024: no comparison, because the data begin on 2025-03-03.\n",
        "### Book Rate: 50.0%\n\n- Against March 2025 (33.3%): 16.67 percentage points higher, which is better. By channel, in \
         percentage points: Mail +13.89 (rate 0.00, mix +13.89), Ads +13.19 (rate +11.81, mix +1.39) and Web -10.42 (rate \
         0.00, mix -10.42); in all, the rates add +11.81, and the mix +4.86.\n",
        "### Spend: 100.50\n\n- Against March 2025 (90.00): 10.50 more (+11.67%). By channel: Ads 10.50 more.\n",
        "### Average Cost per Lead: 25.12\n\n- Against March 2025 (30.00): 4.88 lower (-16.25%), which is better. By channel: ",
        "### Closed Revenue: 500.25\n\n- Against March 2025 (0.00): 500.25 more, which is better. By channel: Ads 500.25 more \
         (none before).\n",
        "- New against March 2025: (none) (",
        "| Leads | 4 | 3 | +1 | +33.33% |\n",
        "| Ads | 3 (+1) | 66.7% (+16.67 pp) | 100.50 (+10.50) | 33.50 (-11.50) | 500.25 (+500.25) | 4.98 (+4.98) |\n",
        "| Web | 1 (+1) | 0.0% | 0.00 (0.00) | 0.00 | 0.00 (0.00) | – |\n",
        "| **All** | 4 (+1) | 50.0% (+16.67 pp) | 100.50 (+10.50) |",
        "| Closed | 1 | 0 | +1 | 19.00 |\n",
    ] {
        // A campaign without a name is neither new nor gone.
        assert_eq!(text.contains(sentence), !sentence.starts_with("- New against"), "{sentence}\n{text}");
    }
}

#[test]
fn a_single_other_channel_is_named() {
    let workspace = Workspace::new();
    let mut events = "account,opportunityId,type,date,total,attributionChannel\n".to_owned();
    for (month, ads, mail) in [("03", "100", "100"), ("04", "2100", "100.001")] {
        for (channel, total) in [("Ads", ads), ("Mail", mail)] {
            events.push_str(&format!("a,{channel}-{month},lead-originated,2025-{month}-01,,{channel}\n"));
            events.push_str(&format!("a,{channel}-{month},closed,2025-{month}-05,{total},{channel}\n"));
        }
    }
    workspace.write("events.csv", &events);
    let run = workspace.run(&["ingest", "events.csv", "--into", "ds"]);
    assert_eq!(run.code, 0, "{run:?}");
    let text = report(&workspace, &["--month", "2025-04", "--through", "2025-04-05", "--format", "md"]);
    assert!(text.contains("By channel: Ads 2,000.00 more and Mail 0.00 more.\n"), "{text}");
}

#[test]
fn every_number_is_from_a_query() {
    let workspace = small();
    let whole = report(&workspace, &["--month", "2025-04"]);
    assert!(check_numbers(&workspace, &whole, "ds") > 150);
    check_numbers(&workspace, &report(&workspace, &["--month", "2025-05"]), "ds");
    check_numbers(&workspace, &report(&workspace, &["--month", "2025-04", "--account", "b"]), "ds");
    check_numbers(&workspace, &report(&workspace, &["--month", "2025-04", "--through", "2025-04-05"]), "ds");
}

#[test]
fn every_number_of_a_demo_is_from_a_query_or_a_benchmark() {
    let workspace = Workspace::new();
    let run = workspace.run(&["demo", "ds", "--events", "40000", "--accounts", "40", "--until", "2026-06-30"]);
    assert!(run.code == 0 && run.stderr.contains("wrote the report about 2026-06 to `ds-report.html`"), "{run:?}");
    let html = std::fs::read_to_string(workspace.path("ds-report.html")).unwrap();
    assert!(html.contains("<h1>June 2026: all 40 accounts</h1>"));
    assert!(check_numbers(&workspace, &html, "ds") > 800);
    // The month is in the past of every clock.
    let html = report(&workspace, &["--month", "2025-05", "--account", "allied-hvac"]);
    check_numbers(&workspace, &html, "ds");

    // The account is all that its user sees.
    workspace.change(&["users", "add", "ds", "anna"]);
    workspace.change(&["users", "grant", "ds", "anna", "--account", "allied-hvac"]);
    let key = workspace.key("anna");
    let get = workspace.get(Some(&key), &["ds", "/api/allied-hvac/benchmarks?month=2025-05", "--body-only"]);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&get.stdout).unwrap();
    let mut count = 0;
    for Number { value, row, column, .. } in numbers(&html).iter().filter(|number| number.question == "benchmarks") {
        let series = rows.iter().find(|it| it["series"] == *row).unwrap();
        assert_eq!(series[*column].as_f64(), value.parse().ok(), "{row} {column}");
        count += 1;
    }
    assert!(count > 40, "{count}");
    assert!(html.contains(&format!("Compared with {} accounts in HVAC", rows[0]["cohortAccounts"])));
}

#[test]
fn texts_of_the_data_are_no_markup() {
    let workspace = Workspace::new();
    let names =
        ["<script>alert(1)</script>", "a|b*_`c` [x](https://host.invalid)", "\"'&><img src=x onerror=y>", "$x$ #1"];
    let mut events = "account,opportunityId,type,date,total,attributionChannel,campaign\n".to_owned();
    for (number, name) in names.iter().enumerate() {
        let name = name.replace('"', "\"\"");
        for (month, day) in [("03", number), ("04", number * 2), ("04", number * 3)] {
            let id = format!("{number}-{month}-{day}");
            events.push_str(&format!("k<b>,{id},lead-originated,2025-{month}-{:02},,\"{name}\",\"{name}\"\n", day + 1));
        }
    }
    workspace.write("events.csv", &events);
    workspace.write("accounts.csv", "account,accountName,industry\nk<b>,<script>|name|</script>,<i>\n");
    let run = workspace.run(&["ingest", "events.csv", "--accounts", "accounts.csv", "--into", "ds"]);
    assert_eq!(run.code, 0, "{run:?}");
    let month = ["--month", "2025-04", "--through", "2025-04-10", "--account", "k<b>"];
    let html = report(&workspace, &month);
    check_numbers(&workspace, &html, "ds");
    for markup in ["<script", "<img", "<b>", "<i>", "http:", "https://www", " src="] {
        assert_eq!(html.contains(markup), markup == " src=", "{markup}");
    }
    assert!(html.contains("<h1>1 to 10 April 2025: &lt;script&gt;|name|&lt;/script&gt;</h1>"), "{html}");
    let text = report(&workspace, &[&month[..], &["--format", "md"]].concat());
    let body = text.split("## Where the numbers come from").next().unwrap();
    let mut width = 0;
    for line in body.lines() {
        let plain = line.replace("\\|", "");
        match (plain.starts_with("| "), plain.starts_with("|-")) {
            (_, true) => assert_eq!(plain.matches('|').count(), width, "{line}"),
            (true, _) if width == 0 => width = plain.matches('|').count(),
            (true, _) => assert_eq!(plain.matches('|').count(), width, "{line}"),
            _ => width = 0,
        }
        for char in ['<', '`', '[', '$'] {
            let escaped = line.matches(&format!("\\{char}")).count();
            assert_eq!(line.matches(char).count(), escaped, "{line}");
        }
        assert!(!line.contains("://"), "{line}");
    }
}

#[test]
fn a_report_is_the_same_on_every_run() {
    let workspace = small();
    for format in ["html", "md"] {
        let once = report(&workspace, &["--month", "2025-04", "--format", format, "--threads", "1"]);
        assert_eq!(report(&workspace, &["--month", "2025-04", "--format", format, "--threads", "3"]), once);
    }
    let html = report(&workspace, &["--month", "2025-04"]);
    // One file, without scripts, and without anything from elsewhere.
    for part in ["<script", "<link", "<img", "@import", "url(", "http"] {
        let html = html.replace("http-equiv", "");
        assert!(!html.contains(part), "{part}");
    }
}

#[test]
fn months_without_data_are_said_to_be_empty_or_refused() {
    let workspace = small();
    let text = report(&workspace, &["--month", "2025-05", "--format", "md"]);
    for sentence in [
        "> **Note.** There were neither events nor spend in May 2025.\n",
        "- Against April 2025 (4): 4 fewer (-100.00%), which is worse. By channel: Ads 3 fewer (none now) and Web 1 fewer (none \
         now).\n",
        "- Against April 2025 (50.0%): no comparison, because the denominator is 0 in May 2025.\n",
        "### Book Rate: –\n",
        "- Gone against April 2025: One (3 leads) and Two (0 leads).\n",
    ] {
        assert!(text.contains(sentence), "{sentence}\n{text}");
    }
    for month in ["2025-02", "2025-07"] {
        let message = workspace.run(&["report", "ds", "--month", month]).failed(1);
        assert!(message.contains(&format!("neither events nor spend in {month}, from ")), "{message}");
        assert!(message.ends_with("its days are 2025-03-03 to 2025-06-10\n"), "{message}");
    }
    for month in ["2025-13", "May 2025", "2025", "last-month"] {
        let message = workspace.run(&["report", "ds", "--month", month]).failed(2);
        assert!(message.contains(month) && message.contains("expected a month as YYYY-MM"), "{message}");
    }
    let first = report(&workspace, &["--month", "2025-03", "--format", "md"]);
    assert!(
        first.contains("- Against February 2025: no comparison, because the data begin on 2025-03-03.\n"),
        "{first}"
    );
    assert!(first.contains("so that March 2025 is not complete") && !first.contains("Change |"), "{first}");
    // The month of the last event may not be over.
    let run = workspace.run(&["report", "ds", "--month", "2025-06", "--format", "md"]);
    assert!(
        run.code == 0
            && run.stderr.contains("`--through 2025-06-10` (in a jobs file: `through = 2025-06-10`) compares"),
        "{run:?}"
    );
    assert!(run.stdout.contains("> **Note.** The data end on 2025-06-10. If events"), "{run:?}");
    let text = report(&workspace, &["--month", "2025-06", "--through", "2025-06-10", "--format", "md"]);
    assert!(
        text.contains("# 1 to 10 June 2025: ") && text.contains("- Against 1 to 10 May 2025 (0): 1 more"),
        "{text}"
    );
    let message = workspace.run(&["report", "ds", "--month", "2025-06", "--through", "2025-07-01"]).failed(1);
    assert!(message.contains("expected the last day of the report in 2025-06"), "{message}");
    let message = workspace.run(&["report", "ds", "--month", "2025-06", "--account", "zz"]).failed(1);
    assert!(message.contains("the dataset has no account `zz`"), "{message}");
}

#[test]
fn notes_speak_only_of_comparisons_that_there_are() {
    let notes = |days: &[&str], more: &[&str]| {
        let workspace = Workspace::new();
        let mut events = "account,opportunityId,type,date\n".to_owned();
        for day in days {
            events.push_str(&format!("a,{day},lead-originated,{day}\n"));
        }
        workspace.write("events.csv", &events);
        let run = workspace.run(&["ingest", "events.csv", "--into", "ds"]);
        assert_eq!(run.code, 0, "{run:?}");
        let month = ["report", "ds", "--month", "2026-05", "--format", "md"];
        // That the data end within the month is a warning.
        let run = workspace.run(&[&month[..], more].concat());
        assert_eq!(run.code, 0, "{run:?}");
        // The notes about the days come before the first table.
        let begin = run.stdout.split("\n| ").next().unwrap();
        begin.lines().filter_map(|line| line.strip_prefix("> **Note.** ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let incomplete =
        "The data end on 2026-05-20. If events or spend of later days are still to come, May 2026 is not complete";
    assert_eq!(
        notes(&["2026-04-10", "2026-05-03", "2026-05-20"], &[]),
        [format!("{incomplete}.").as_str(), "The data begin on 2026-04-10, so that April 2026 is not complete."]
    );
    assert_eq!(
        notes(&["2026-03-31", "2026-05-20"], &[]),
        [format!("{incomplete}, but the days that it is compared with are.")]
    );
    let through = ["--through", "2026-05-10"];
    assert_eq!(
        notes(&["2026-05-03", "2026-05-20"], &through),
        [
            "The report is about 1 to 10 May 2026.",
            "The data begin on 2026-05-03, so that 1 to 10 May 2026 is not complete."
        ]
    );
    assert_eq!(
        notes(&["2026-03-31", "2026-05-20"], &through)[0],
        "The report is about 1 to 10 May 2026, and compares it with the same days of other months."
    );
}

/// The month before the first day of a client has nothing to compare with, although other clients have data then.
#[test]
fn the_data_of_a_report_begin_with_those_of_its_accounts() {
    let workspace = Workspace::new();
    let rows = "old,1,lead-originated,2026-03-20\nold,2,lead-originated,2026-05-30\nnew,3,lead-originated,2026-04-02\n\
                new,4,lead-originated,2026-05-03\n";
    workspace.write("events.csv", &format!("account,opportunityId,type,date\n{rows}"));
    assert_eq!(workspace.run(&["ingest", "events.csv", "--into", "ds"]).code, 0);
    let of = |month: &str, account: &str| {
        workspace.run(&["report", "ds", "--month", month, "--account", account, "--format", "md"]).stdout
    };
    let none = "Against March 2026: no comparison, because the data begin on 2026-04-02.";
    let april = of("2026-04", "new");
    assert!(april.contains(none) && april.contains("- Data: 2026-04-02 to 2026-05-30, version 1"), "{april}");
    let may = of("2026-05", "new");
    assert!(may.contains("The data begin on 2026-04-02, so that April 2026 is not complete."), "{may}");
    assert!(!of("2026-04", "old").contains("no comparison, because the data begin on 2026-04"), "{april}");
    // Before its first day, an account has nothing, which is no error.
    assert!(of("2026-03", "new").contains("There were neither events nor spend in March 2026."));
}

#[test]
fn the_channel_of_revenue_may_be_that_of_the_first_conversion() {
    // The leads are of one system, and the jobs of another, which knows no channels.
    let leads = "a,1,lead-originated,2025-04-01,,Ads\na,2,lead-originated,2025-04-02,,Web\n\
                 a,3,lead-originated,2025-05-02,,Web\n";
    let report = |jobs: &str, more: &[&str]| {
        let workspace = Workspace::new();
        let header = "account,opportunityId,type,date,total,attributionChannel\n";
        workspace.write("events.csv", &format!("{header}{leads}{jobs}"));
        workspace.run(&["ingest", "events.csv", "--into", "ds"]).succeeded();
        let text = report(&workspace, &[&["--month", "2025-04", "--format", "md"], more].concat());
        (workspace, text)
    };
    let note = "> **Note.** Of the closed revenue of 900.50, 900.50 has no channel, because the events that bring it name \
                none, although leads name theirs. With --attribution first (attribution=first in a request), ";
    let jobs = "a,1,closed,2025-04-20,600.25,\na,2,closed,2025-04-21,300.25,\n";
    let (_, recorded) = report(jobs, &[]);
    let (workspace, first) = report(jobs, &["--attribution", "first"]);
    for (text, has_note, attribution, revenue) in [
        (&recorded, true, "recorded, so that each event counts for", "0.00"),
        (&first, false, "first, so that", "600.25"),
    ] {
        assert_eq!(text.contains(note), has_note, "{text}");
        assert!(text.contains(&format!("- Attribution: {attribution}")), "{text}");
        let row = text.lines().find(|line| line.starts_with("| Ads | 1 | ")).unwrap();
        assert!(row.ends_with(&format!(" | {revenue} | – |")), "{row}");
    }
    // Half of the revenue is not most of it, and leads without a channel can give none.
    let (_, half) = report("a,1,closed,2025-04-20,5,\na,2,closed,2025-04-21,5,Web\n", &[]);
    let (_, unnamed) = report("b,4,lead-originated,2025-04-01,,\nb,4,closed,2025-04-20,5,\n", &["--account", "b"]);
    assert!(!format!("{half}{unnamed}").contains("no channel, because"), "{half}{unnamed}");

    let html = |more: &[&str]| workspace.run(&[&["report", "ds", "--month", "2025-04"], more].concat()).succeeded();
    check_numbers(&workspace, &html(&[]), "ds");
    check_numbers(&workspace, &html(&["--attribution", "first"]), "ds");
    let file = "dataset = 'ds'\n[defaults]\nattribution = 'first'\nmonth = '2025-04'\n[[report]]\noutput = 'a.md'\n";
    workspace.write("report.toml", &format!("{file}[[report]]\noutput = 'b.md'\nattribution = 'recorded'\n"));
    workspace.run(&["report", "--jobs", "report.toml", "--into", "out"]).succeeded();
    let written = |name: &str| std::fs::read_to_string(workspace.path(&format!("out/{name}"))).unwrap();
    assert_eq!((written("a.md"), written("b.md")), (first, recorded));

    // The option is described as in queries.
    let help = |command: &str| workspace.run(&[command, "--help"]).succeeded();
    let described = |command: &str| {
        let help = help(command);
        let option = help.split("--attribution <EVENT>").nth(1).unwrap().split("\n\n").next().unwrap();
        option.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(described("report").starts_with("The event from which the attribution dimensions"), "{}", help("report"));
    assert_eq!(described("report"), described("query"));
}

#[test]
fn an_account_that_is_named_twice_counts_once() {
    let workspace = small();
    let month = ["--month", "2025-04", "--format", "md"];
    let accounts = |keys: &[&'static str]| keys.iter().flat_map(|key| ["--account", *key]).collect::<Vec<_>>();
    let once = report(&workspace, &[&month[..], &accounts(&["b"])].concat());
    assert_eq!(report(&workspace, &[&month[..], &accounts(&["b", "b"])].concat()), once);
    assert!(once.contains("- Accounts: b\n"), "{once}");
    let both = report(&workspace, &[&month[..], &accounts(&["b", "a", "b"])].concat());
    assert!(both.contains("# April 2025: 2 accounts\n") && both.contains("- Accounts: b, a\n"), "{both}");

    let jobs = "dataset = 'ds'\n[[report]]\noutput = 'b.md'\nmonth = '2025-04'\naccount = ['b', 'b']\n";
    workspace.write("report.toml", jobs);
    workspace.run(&["report", "--jobs", "report.toml", "--into", "out"]).succeeded();
    assert_eq!(std::fs::read_to_string(workspace.path("out/b.md")).unwrap(), once);
}

#[test]
fn a_report_follows_the_rules_of_output_files() {
    let workspace = small();
    let month = ["report", "ds", "--month", "2025-04"];
    let run = |more: &[&str]| workspace.run(&[&month[..], more].concat());
    run(&["-o", "april.md"]).succeeded();
    assert!(std::fs::read_to_string(workspace.path("april.md")).unwrap().starts_with("# April 2025"));
    assert!(run(&["-o", "april.md"]).failed(1).contains("already there"));
    run(&["-o", "april.md", "--format", "html", "--force"]).succeeded();
    assert!(std::fs::read_to_string(workspace.path("april.md")).unwrap().starts_with("<!doctype html>"));
    assert!(run(&["-o", "april.pdf"]).failed(2).contains("expected a file that ends in .html or .md"));
    assert!(run(&["-o", "ds/april.html"]).failed(1).contains("belongs to the dataset"));
    workspace.run(&["report", "ds"]).failed(2);
    workspace.run(&["report", "--month", "2025-04"]).failed(2);
}

const JOBS: &str = "\
dataset = 'ds'

[defaults]
month = '2025-04'

[[report]]
name = 'all'

[[report]]
output = 'b.md'
account = 'b'
through = 2025-04-05
";

#[test]
fn a_jobs_file_lists_reports() {
    let workspace = small();
    workspace.write("report.toml", JOBS);
    let jobs = ["report", "--jobs", "report.toml", "--into", "out/reports"];
    assert_eq!(workspace.run(&jobs).succeeded(), "all.html\nb.md\n");
    let read = |name: &str| std::fs::read_to_string(workspace.path(&format!("out/reports/{name}"))).unwrap();
    assert_eq!(read("all.html"), report(&workspace, &["--month", "2025-04"]));
    let one = ["--month", "2025-04", "--account", "b", "--through", "2025-04-05", "--format", "md"];
    assert_eq!(read("b.md"), report(&workspace, &one));
    let message = workspace.run(&jobs).failed(1);
    assert!(message.contains("report `all`: `out/reports/all.html` is already there"), "{message}");
    assert!(message.ends_with("error: 2 of 2 reports cannot be made, so none was\n"), "{message}");

    let faulty = "[[report]]\nname = 'ALL'\n[[report]]\nname = 'when'\nmonth = 'May'\n[[report]]\nname = 'late'\nmonth = '2027-01'\n\
                  [[report]]\nname = 'who'\naccount = 'z'\n[[report]]\nname = 'x/y'\n[[report]]\nmonth = '2025-04'\n[[report]]\n\
                  output = 'a.csv'\n[[report]]\nname = 'how'\nformat = 'pdf'\n";
    workspace.write("report.toml", &format!("{JOBS}{faulty}"));
    let message = workspace.run(&["report", "--jobs", "report.toml", "--into", "more"]).failed(1);
    for words in [
        "report `ALL`: `ALL.html` is written by report `all` too",
        "report `when`: expected a month as YYYY-MM",
        "report `late`: the dataset has neither events nor spend in 2027-01",
        "report `who`: the dataset has no account `z`",
        "report `x/y`: expected the name of a file",
        "report 8: the key `name` is missing",
        "report `a.csv`: expected a file that ends in .html or .md",
        "report `how`: expected a format (`html`, `md`), but found `pdf`",
        "8 of 10 reports cannot be made, so none was",
    ] {
        assert!(message.contains(words), "{words}\n{message}");
    }
    assert!(!workspace.path("more").exists());

    // The month of the command is for the reports for which the file names none.
    workspace.write("report.toml", "dataset = 'ds'\n[[report]]\nname = 'x'\n");
    let message = workspace.run(&["report", "--jobs", "report.toml", "--into", "more"]).failed(1);
    assert!(message.contains("the key `month` is missing"), "{message}");
    workspace.run(&["report", "--jobs", "report.toml", "--into", "more", "--month", "2025-04"]).succeeded();
    assert!(workspace.path("more/x.html").exists());
    workspace.write("report.toml", "dataset = 'ds'\n[[report]]\nmoth = 'x'\n");
    assert!(workspace.run(&jobs).failed(1).contains("`moth`"));
    workspace.write("report.toml", "dataset = 'ds'\n");
    assert!(workspace.run(&jobs).failed(1).contains("no `[[report]]`"));
    workspace.run(&["report", "ds", "--month", "2025-04", "--jobs", "report.toml", "--into", "x"]).failed(2);
    workspace.run(&["report", "--jobs", "report.toml"]).failed(2);
    workspace.run(&["report", "ds", "--month", "2025-04", "--into", "x"]).failed(2);
}

#[test]
fn targets_are_a_section_and_every_number_of_it_is_from_a_query() {
    let workspace = small();
    workspace.write(
        "targets.csv",
        "account,month,metric,value\na,2025-04,spend,150\na,2025-04,leads,4\nb,2025-04,leads,4\na,2025-04,bookRate,0.4\n",
    );
    workspace.run(&["ingest", "--targets", "targets.csv", "--into", "ds"]).succeeded();
    let text = report(&workspace, &["--month", "2025-04", "--account", "a", "--account", "b", "--format", "md"]);
    for line in [
        "\n## Targets\n\nApril 2025 and its targets; the pace is the value divided by the target:\n",
        "| Leads | 4 | 8.00 | 50.00% |\n",
        "| Spend | 100.50 | – | – |\n",
        "`spend.target\\` is null in 1 of 1 rows",
    ] {
        assert!(text.contains(line), "{line}\n{text}");
    }
    let html = report(&workspace, &["--month", "2025-04", "--account", "a"]);
    assert!(html.contains("<a href=\"#targets\">Targets</a>") && html.contains("=\"0.67\""), "{html}");
    check_numbers(&workspace, &html, "ds");
    let html = report(&workspace, &["--month", "2025-05", "--account", "a"]);
    assert!(!html.contains("Targets"), "{html}");
}

#[test]
fn a_report_has_a_name_a_logo_and_a_comment() {
    let workspace = small();
    workspace.write("logo.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    workspace.write("comment.md", "**Well done**, <b>all</b>.\n\n- one\n- *two*\n");
    let branding = ["--month", "2025-04", "--from", "Us & Co", "--logo", "logo.svg", "--comment", "comment.md"];
    let html = report(&workspace, &branding);
    for part in [
        "img-src data:\">",
        "<img class=\"logo\" src=\"data:image/svg+xml;base64,PHN2Zy",
        "<dt>From</dt><dd>Us &amp; Co</dd>",
        "<h2 id=\"comment\">Comment</h2>\n<p><strong>Well done</strong>, &lt;b&gt;all&lt;/b&gt;.</p>\n<ul>\n<li>one</li>\n\
         <li><em>two</em></li>\n</ul>",
    ] {
        assert!(html.contains(part), "{part}\n{html}");
    }
    check_numbers(&workspace, &html, "ds");
    let text = report(&workspace, &[&branding[..], &["--format", "md"]].concat());
    assert!(text.contains("- From: Us \\& Co\n") && text.contains("\n**Well done**, \\<b\\>all\\</b\\>.\n"), "{text}");
    workspace.write("logo.svg", "no image");
    let message = workspace.run(&[&["report", "ds"][..], &branding].concat()).failed(1);
    assert_eq!(message, "error: `logo.svg`: expected a PNG, JPEG, GIF, WebP or SVG image\n");
}
