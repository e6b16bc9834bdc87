//! `trueup get` and `trueup serve` give the service's own answers: in this process, and over HTTP.

use crate::workspace::{EVENTS_URL, Run, RunningServer, Workspace};
use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use trueup::Dataset;
use trueup::access::{Directory, DirectorySettings, SqliteDirectory};
use trueup::service::{Request, Service};

const RANGE: &str = "start=2025-01-01&end=2025-03-31";

#[test]
fn get_answers_like_the_service() {
    let (workspace, key) = Workspace::with_directory();
    let directory =
        SqliteDirectory::open_existing(workspace.path("ds/directory.sqlite"), DirectorySettings::default()).unwrap();
    let directory: Arc<dyn Directory> = Arc::new(directory);
    let service = Service::builder(Arc::new(Dataset::open(workspace.path("ds")).unwrap()), directory).build();
    let events = |organization: &str, query: &str| format!("/api/{organization}/events?{query}");
    let requests: [(u16, String, Option<&str>); 16] = [
        (200, "/api".to_owned(), Some(&key)),
        (200, "/api/".to_owned(), Some(&key)),
        (200, events("group", &format!("fields=account%2Cleads&{RANGE}")), Some(&key)),
        (200, events("acme", &format!("fields=leads,zip&interval=month&{RANGE}&campaign=%5BVa%5D+Drain")), Some(&key)),
        (200, "/api/group/insights".to_owned(), Some(&key)),
        (400, events("group", RANGE), Some(&key)),
        (400, events("group", "fields=leads&start=2025-01-01"), Some(&key)),
        (400, events("group", "fields=leads&start=2025-01-01&end=2025-12-31"), Some(&key)),
        (400, events("group", &format!("fields=leads&{RANGE}&campaign=%5B%5D")), Some(&key)),
        (401, "/api".to_owned(), None),
        (401, "/api".to_owned(), Some("tu_guess")),
        (401, events("group", RANGE), None),
        (404, events("elsewhere", RANGE), Some(&key)),
        (404, events("beta", RANGE), Some(&key)),
        (404, events("group", "account=beta"), Some(&key)),
        (404, "/nothing".to_owned(), Some(&key)),
    ];
    for (status, path, key) in requests {
        let run = workspace.get(key, &["ds", &path]);
        let answer = service.handle(&Request {
            authorization: key.map(str::to_owned),
            accept_encoding: Some("identity".to_owned()),
            ..Request::get(path.as_str())
        });
        assert_eq!(answer.status, status, "{path}");
        let (head, body) = run.stdout.split_once("\n\n").unwrap();
        let mut lines = head.lines();
        assert!(lines.next().unwrap().starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {head}");
        let headers: Vec<String> = answer.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
        assert_eq!(lines.collect::<Vec<_>>(), headers, "{path}");
        assert_eq!(body, std::io::read_to_string(answer.body.reader()).unwrap(), "{path}");
        assert_eq!(run.code, i32::from(status != 200), "{path}: {}", run.stderr);
        assert_eq!(run.stderr.is_empty(), status == 200, "{path}: {}", run.stderr);
        assert!(key.is_none_or(|key| !run.stderr.contains(key)), "{}", run.stderr);
    }
}

#[test]
fn the_key_comes_from_an_option_a_file_or_a_variable() {
    let (workspace, key) = Workspace::with_directory();
    workspace.write("anna.key", &format!("{key}\n"));
    let body = |run: Run| {
        assert_eq!(run.code, 0, "{run:?}");
        run.stdout
    };
    let by_variable = body(workspace.get(Some(&key), &["ds", "/api", "--body-only"]));
    assert!(by_variable.starts_with(r#"{"user":"anna""#), "{by_variable}");
    assert_eq!(body(workspace.get(None, &["ds", "/api", "--body-only", "--key", &key])), by_variable);
    assert_eq!(
        body(workspace.get(Some("tu_old"), &["ds", "/api", "--body-only", "--key-file", "anna.key"])),
        by_variable
    );
    let message = workspace.get(None, &["ds", "/api", "--key-file", "anna.key", "--key", &key]).failed(2);
    assert!(!message.contains(&key), "{message}");
    workspace.get(None, &["ds", "/api", "--key-file", "no.key"]).failed(1);
}

#[test]
fn the_body_is_compressed_on_request() {
    let (workspace, key) = Workspace::with_directory();
    let output =
        workspace.command().args(["get", "ds", "/api", "--gzip", "--body-only"]).env("TRUEUP_KEY", &key).output();
    assert!(output.unwrap().stdout.starts_with(&[0x1f, 0x8b]));
    let output = workspace.command().args(["get", "ds", "/api", "--gzip"]).env("TRUEUP_KEY", &key).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("\nContent-Encoding: gzip\n"));
}

#[test]
fn get_warns_about_unknown_fields() {
    let (workspace, key) = Workspace::with_directory();
    let run = workspace.get(Some(&key), &["ds", &format!("/api/group/events?fields=leads,colour&{RANGE}")]);
    assert!(run.code == 0 && run.stderr.starts_with("warning: ") && run.stderr.contains("colour"), "{run:?}");
}

#[test]
fn get_enforces_limits() {
    let (workspace, key) = Workspace::with_directory();
    let status = |more: &[&str], path: &str| {
        let run = workspace.get(Some(&key), &[&["ds", path], more].concat());
        (run.code, run.stdout[9..12].to_owned())
    };
    let events = format!("/api/group/events?fields=leads,date&{RANGE}");
    assert_eq!(status(&["--max-rows", "1"], &events), (1, "400".to_owned()));
    assert_eq!(status(&["--max-account-intervals", "0"], &events), (1, "400".to_owned()));
    assert_eq!(status(&["--deadline", "0.000001"], &events), (1, "504".to_owned()));
    assert_eq!(status(&["--hourly-limit", "2"], &events), (1, "429".to_owned()));
    let run = workspace.get(Some(&key), &["ds", "/api", "--hourly-limit", "0"]);
    assert!(run.stdout.contains("\nRetry-After: "), "{run:?}");
    workspace.get(Some(&key), &["ds", "/api", "--deadline", "soon"]).failed(2);
}

/// The cause, which the answer does not contain, is written to stderr.
#[test]
fn a_damaged_dataset_is_a_502_and_the_cause_goes_to_stderr() {
    let (workspace, key) = Workspace::with_directory();
    workspace.write(
        "insights.ndjson",
        "{\"account\": \"acme\", \"date\": \"2025-02-03\", \"insight\": {\"period\": \"January\"}}\n",
    );
    workspace.run(&["ingest", "--insights", "insights.ndjson", "--into", "ds"]).succeeded();
    let insights = ["ds", "/api/group/insights"];
    assert!(workspace.get(Some(&key), &insights).succeeded().ends_with(r#""insight":{"period": "January"}}]"#));
    let file = workspace.path("ds/insights").read_dir().unwrap().next().unwrap().unwrap().path();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[20] ^= 0xff;
    std::fs::write(&file, bytes).unwrap();
    let run = workspace.get(Some(&key), &insights);
    assert!(run.code == 1 && run.stdout.starts_with("HTTP/1.1 502 "), "{run:?}");
    assert!(run.stderr.contains("ndjson") && !run.stdout.contains("ndjson"), "{run:?}");
}

#[test]
fn serve_answers_like_get_until_a_stop_signal() {
    let (workspace, key) = Workspace::with_directory();
    for signal in ["-TERM", "-INT", "-HUP"] {
        let server = RunningServer::of(&workspace, &[]);
        for (key, path) in [
            (key.as_str(), "/api"),
            (&key, EVENTS_URL),
            (&key, "/api/group/events"),
            (&key, "/api/beta/events"),
            (&key, "/api/group/insights"),
            ("tu_guess", "/api"),
        ] {
            let (head, body) = server.get(path, key);
            let run = workspace.run(&["get", "ds", path, "--key", key]);
            let (expected, expected_body) = run.stdout.split_once("\n\n").unwrap();
            assert_eq!(body, expected_body, "{path}");
            assert_eq!(head.lines().next(), expected.lines().next(), "{path}");
        }
        assert!(server.get("/health", "").0.starts_with("HTTP/1.1 200 "));
        assert!(server.get("/openapi.json", "").1.contains("\"openapi\""));
        let (status, log) = server.stop(signal);
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains("endpoint=\"events\"") && log.contains("status=404"), "{log}");
        assert!(!log.contains(&key) && !log.contains("tu_guess") && log.ends_with("stopped\n"), "{log}");
    }
}

#[test]
fn serve_has_the_page_of_the_explorer_unless_it_is_left_out() {
    let (workspace, _) = Workspace::with_directory();
    for (options, status) in [(&[][..], "200"), (&["--no-explorer"], "404")] {
        let server = RunningServer::of(&workspace, options);
        let (head, _) = server.get("/explore", "");
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
        server.stop("-TERM");
    }
}

/// The token of a session is sent in the cookie `session`, as the contract of the service says (see docs/compat.md).
#[test]
fn a_session_of_users_login_is_accepted_by_api_alone() {
    let (workspace, key) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &[]);
    let run = workspace.run(&["users", "login", "ds", "anna", "--hours", "2"]);
    let token = run.stdout.trim_end().to_owned();
    assert!(run.code == 0 && !token.is_empty() && !run.stderr.contains(&token), "{run:?}");
    assert!(run.stderr.starts_with("new session of user `anna` until 20"), "{}", run.stderr);
    assert!(run.stderr.ends_with("Z; its token cannot be shown again\n"), "{}", run.stderr);
    let cookie = format!("Cookie: theme=dark; session={token}");
    let (head, body) = server.get_with("/api", &cookie);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(body, server.get("/api", &key).1);
    assert!(server.get_with(EVENTS_URL, &cookie).0.starts_with("HTTP/1.1 401 "));

    // `trueup get` has the same answers.
    workspace.write("anna.session", &run.stdout);
    let by_file = ["ds", "/api", "--body-only", "--session-file", "anna.session"];
    assert_eq!(workspace.get(Some("tu_old"), &by_file).succeeded(), body);
    let events = workspace.get(None, &["ds", EVENTS_URL, "--session-file", "anna.session"]);
    assert_eq!((events.code, &events.stdout[9..12]), (1, "401"));
    workspace.get(None, &[by_file.as_slice(), &["--key", &key]].concat()).failed(2);

    // The end of a session, and of its user.
    let other = workspace.run(&["users", "login", "ds", "anna"]).stdout;
    workspace.change(&["users", "logout", "ds", "--session-file", "anna.session"]);
    let (head, body) = server.get_with("/api", &cookie);
    assert!(
        head.starts_with("HTTP/1.1 401 ") && head.to_ascii_lowercase().contains("\r\nwww-authenticate: "),
        "{head}"
    );
    assert!(body.starts_with(r#"{"error":"Sign in"#), "{body}");
    let status = |token: &str| server.get_with("/api", &format!("Cookie: session={token}")).0[9..12].to_owned();
    assert_eq!(status(other.trim_end()), "200");
    workspace.change(&["users", "disable", "ds", "anna"]);
    assert_eq!(status(other.trim_end()), "401");
    let message = workspace.run(&["users", "login", "ds", "anna"]).failed(1);
    assert!(message.contains("`anna` is inactive"), "{message}");
    assert!(workspace.run(&["users", "login", "ds", "nobody"]).failed(1).contains("`nobody`"));
    workspace.run(&["users", "login", "ds", "bert", "--hours", "0"]).failed(2);
    workspace.write("two.session", "a b");
    let message = workspace.run(&["users", "logout", "ds", "--session-file", "two.session"]).failed(1);
    assert!(message.contains("only the token of a session") && !message.contains("a b"), "{message}");
}

#[test]
fn listen_takes_a_port_alone() {
    let (workspace, key) = Workspace::with_directory();
    let mut command = workspace.command();
    command.args(["serve", "ds", "--listen", ":0"]);
    let server = RunningServer::start(command);
    let port = server.url().rsplit_once(':').unwrap().1.parse::<u16>().unwrap();
    // The program listens on all addresses of the machine, and every machine has this one.
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
    assert_eq!(server.get(EVENTS_URL, &key).1, r#"[{"leads":2}]"#);
}

#[test]
fn new_versions_and_grants_take_effect_while_serving() {
    let (workspace, key) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &["--hourly-limit", "100000"]);
    assert_eq!(server.get(EVENTS_URL, &key).1, r#"[{"leads":2}]"#);
    workspace.write("more.csv", "account,opportunityId,type,date\nacme,9,lead-originated,2025-03-01\n");
    workspace.run(&["ingest", "more.csv", "--into", "ds"]).succeeded();
    server.wait_for_answer(&key, r#"[{"leads":3}]"#);
    workspace.change(&["orgs", "hold", "ds", "group", "beta"]);
    assert_eq!(server.get(EVENTS_URL, &key).1, r#"[{"leads":4}]"#);
    workspace.change(&["keys", "delete", "ds", "anna", "1"]);
    assert!(server.get(EVENTS_URL, &key).0.starts_with("HTTP/1.1 401 "));

    // A version that cannot be opened is logged, and the previous one stays in use.
    let key = workspace.key("anna");
    std::fs::write(workspace.path("ds/manifest-00000003.json"), "{").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.get(EVENTS_URL, &key).1, r#"[{"leads":4}]"#);
    let (status, log) = server.stop("-TERM");
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains("another version") && log.contains("version=2"), "{log}");
    assert_eq!(log.matches("cannot be opened").count(), 1, "{log}");
}

/// Builds a new dataset of one version with `leads` leads.
fn build(workspace: &Workspace, name: &str, leads: usize) {
    let header = "account,opportunityId,type,date\n".to_owned();
    let row = |number| format!("acme,{name}-{number},lead-originated,2025-03-01\n");
    workspace.write("built.csv", &(header + &(0..leads).map(row).collect::<String>()));
    workspace.run(&["ingest", "built.csv", "--into", name]).succeeded();
}

/// Moves the dataset `ds` to `before-NAME`, and the dataset `name` to `ds`.
fn put_in_place(workspace: &Workspace, name: &str) {
    std::fs::rename(workspace.path("ds"), workspace.path(&format!("before-{name}"))).unwrap();
    std::fs::rename(workspace.path(name), workspace.path("ds")).unwrap();
}

#[test]
fn a_rebuilt_or_restored_dataset_is_served_whatever_its_version() {
    let (workspace, key) = Workspace::with_directory();
    std::fs::rename(workspace.path("ds/directory.sqlite"), workspace.path("elsewhere.sqlite")).unwrap();
    for (name, leads) in [("one", 4), ("two", 5), ("three", 6)] {
        build(&workspace, name, leads);
    }
    let server = RunningServer::of(&workspace, &["--hourly-limit", "100000", "--directory", "elsewhere.sqlite"]);
    // Another version 1 replaces version 1, perhaps before the first check.
    put_in_place(&workspace, "one");
    server.wait_for_answer(&key, r#"[{"leads":4}]"#);
    put_in_place(&workspace, "two");
    server.wait_for_answer(&key, r#"[{"leads":5}]"#);
    workspace.write("more.csv", "account,opportunityId,type,date\nacme,more,lead-originated,2025-03-02\n");
    workspace.run(&["ingest", "more.csv", "--into", "ds"]).succeeded();
    server.wait_for_answer(&key, r#"[{"leads":6}]"#);
    // From version 2 back to version 1: by renaming folders, and by removing the newer manifest. `before-one` is the
    // first dataset of all; `before-before-one` is then the one with version 2.
    put_in_place(&workspace, "before-one");
    server.wait_for_answer(&key, r#"[{"leads":2}]"#);
    std::fs::rename(workspace.path("ds"), workspace.path("older")).unwrap();
    std::fs::rename(workspace.path("before-before-one"), workspace.path("ds")).unwrap();
    server.wait_for_answer(&key, r#"[{"leads":6}]"#);
    std::fs::remove_file(workspace.path("ds/manifest-00000002.json")).unwrap();
    server.wait_for_answer(&key, r#"[{"leads":5}]"#);
    assert_eq!(server.stop("-TERM").0.code(), Some(0));
}

#[test]
fn a_missing_or_incomplete_dataset_leaves_the_previous_one_in_use() {
    let (workspace, key) = Workspace::with_directory();
    std::fs::rename(workspace.path("ds/directory.sqlite"), workspace.path("elsewhere.sqlite")).unwrap();
    build(&workspace, "next", 3);
    let server = RunningServer::of(&workspace, &["--hourly-limit", "100000", "--directory", "elsewhere.sqlite"]);
    assert_eq!(server.get(EVENTS_URL, &key).1, r#"[{"leads":2}]"#);
    std::fs::rename(workspace.path("ds"), workspace.path("away")).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.get(EVENTS_URL, &key).1, r#"[{"leads":2}]"#);
    // The manifest and its lists appear before the files that they name.
    std::fs::create_dir(workspace.path("ds")).unwrap();
    assert_eq!(workspace.shell("cp -r next/lists ds").code, 0);
    std::fs::copy(workspace.path("next/manifest-00000001.json"), workspace.path("ds/manifest-00000001.json")).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(server.get(EVENTS_URL, &key).1, r#"[{"leads":2}]"#);
    assert_eq!(workspace.shell("cp -r next/. ds").code, 0);
    server.wait_for_answer(&key, r#"[{"leads":3}]"#);
    let (status, log) = server.stop("-TERM");
    assert_eq!(status.code(), Some(0), "{log}");
    let count =
        |cause: &str| log.lines().filter(|line| line.contains("cannot be opened") && line.contains(cause)).count();
    assert_eq!((count("`ds` holds no dataset"), count("ds/events")), (1, 1), "{log}");
}

/// When a backup is restored while the service runs, the keys of the backup work and later keys do not.
#[test]
fn a_restored_directory_takes_effect_immediately() {
    let (workspace, key) = Workspace::with_directory();
    let backup = |name| {
        std::fs::copy(workspace.path("ds/directory.sqlite"), workspace.path(name)).unwrap();
    };
    let status = |server: &RunningServer, key: &str| server.get("/api", key).0[9..12].to_owned();
    // No process has the file open, so the copy is complete without its log.
    backup("backup.sqlite");
    workspace.change(&["users", "add", "ds", "cara"]);
    workspace.change(&["users", "grant", "ds", "cara", "--account", "acme"]);
    let server = RunningServer::of(&workspace, &["--hourly-limit", "100000"]);
    let later = workspace.key("cara");
    assert_eq!((status(&server, &key), status(&server, &later)), ("200".to_owned(), "200".to_owned()));
    workspace.change(&["keys", "delete", "ds", "anna", "1"]);
    assert_eq!(status(&server, &key), "401");
    std::fs::rename(workspace.path("backup.sqlite"), workspace.path("ds/directory.sqlite")).unwrap();
    // The program uses it first, while the service still has the old file and its log open.
    assert_eq!(workspace.run(&["users", "list", "ds", "--format", "csv"]).succeeded().lines().count(), 3);
    assert_eq!((status(&server, &key), status(&server, &later)), ("200".to_owned(), "401".to_owned()));
    workspace.change(&["keys", "delete", "ds", "anna", "1"]);
    assert_eq!(status(&server, &key), "401");
    std::fs::rename(workspace.path("ds/directory.sqlite"), workspace.path("away.sqlite")).unwrap();
    assert_eq!(status(&server, &key), "502");
    let (_, log) = server.stop("-TERM");
    assert!(log.contains("directory.sqlite` cannot be used"), "{log}");
    assert!(!workspace.path("ds/directory.sqlite").exists());
}

#[test]
fn options_of_serve_set_limits_and_the_log_level() {
    let (workspace, key) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &["--hourly-limit", "1", "--log", "warn"]);
    assert!(server.get("/api", &key).0.starts_with("HTTP/1.1 200 "));
    let head = server.get("/api", &key).0.to_lowercase();
    assert!(head.starts_with("http/1.1 429 ") && head.contains("\nretry-after: "), "{head}");
    let (status, log) = server.stop("-TERM");
    assert_eq!((status.code(), log.as_str()), (Some(0), "stopped\n"));
}

#[test]
fn options_of_serve_bound_memory_and_connections() {
    let (workspace, key) = Workspace::with_directory();
    let server = RunningServer::of(&workspace, &["--memory", "20", "--memory-wait", "0.1", "--max-connections", "1"]);
    // This connection is idle, so it is closed for the next one.
    let mut silent = TcpStream::connect(&server.address).unwrap();
    let (head, body) = server.get(EVENTS_URL, &key);
    assert!(head.starts_with("HTTP/1.1 400 ") && body.contains("more than 7 bytes of memory"), "{head} {body}");
    assert_eq!(silent.read(&mut [0]).unwrap(), 0);
    assert_eq!(server.stop("-TERM").0.code(), Some(0));
}

#[test]
fn what_cannot_be_served_is_reported() {
    let (workspace, _) = Workspace::with_directory();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let message = workspace.run(&["serve", "ds", "--listen", &address]).failed(1);
    assert!(message.starts_with("error: ") && message.contains(&address), "{message}");
    for wrong in ["nowhere", "8080", ":http"] {
        let message = workspace.run(&["serve", "ds", "--listen", wrong]).failed(1);
        assert!(message.contains(&format!("`{wrong}`")) && message.contains("`:8080`"), "{message}");
    }
    assert!(workspace.run(&["serve", "none"]).failed(1).contains("`none`"));
    assert!(workspace.run(&["serve", "ds", "--directory", "no.sqlite"]).failed(1).contains("`no.sqlite`"));
    // With an address in use, none of these could serve anyway.
    for wrong in [["--log", "loud"], ["--refresh", "0"], ["--benchmark-accounts", "4"]] {
        workspace.run(&[["serve", "ds", "--listen", &address].as_slice(), &wrong].concat()).failed(2);
    }
    let run = workspace.command().args(["serve", "ds", "--listen", &address]).env("RUST_LOG", "loud").output().unwrap();
    assert_eq!(run.status.code(), Some(2));
}

/// What the page does with the link is tested in a browser, in `web/tests` of the server.
#[test]
fn explore_prints_a_link_where_there_is_no_screen() {
    let workspace = Workspace::with_dataset();
    // An account that has no row in the table of accounts is shown too.
    workspace.write("new.csv", "account,opportunityId,type,date\nunlisted,1,lead-originated,2025-01-03\n");
    workspace.run(&["ingest", "new.csv", "--into", "ds"]).succeeded();
    let mut command = workspace.command();
    command.args(["explore", "ds"]).env("DISPLAY", ":0").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut link = String::new();
    out.read_line(&mut link).unwrap();
    let (address, token) = link.trim_end().split_once("/explore#sign-in=").unwrap();
    assert!(address.starts_with("http://127.0.0.1:") && token.len() == 43, "{link}");
    let ask = |request: &str, key: &str| {
        let mut stream = TcpStream::connect(address.strip_prefix("http://").unwrap()).unwrap();
        let headers = "Host: h\r\nAccept-Encoding: identity\r\nConnection: close";
        let request = format!("{request} HTTP/1.1\r\n{headers}\r\nAuthorization: {key}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        answer
    };
    let answer = ask("POST /explore/key", token);
    let (_, key) = answer.split_once(r#"{"key":""#).unwrap();
    let key = &key[..key.find('"').unwrap()];
    assert!(key.starts_with("tu_"), "{answer}");
    assert!(ask("GET /api", key).contains("\"unlisted\""));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let log = String::from_utf8(ended.stderr).unwrap();
    assert_eq!((ended.status.code(), log.ends_with("stopped\n")), (Some(0), true), "{log}");
    assert!(!log.contains(token) && !log.contains("tu_"), "{log}");
    assert!(!workspace.path("ds/directory.sqlite").exists());
    let refused = workspace.run(&["explore", "no-data"]).failed(1);
    assert!(refused.contains("no-data"), "{refused}");
}
