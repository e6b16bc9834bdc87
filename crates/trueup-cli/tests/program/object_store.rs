//! Datasets in an S3 store, and on a web server.

use crate::workspace::{EVENTS_URL, RANGE, Run, Workspace};
use std::process::{Command, Stdio};
use trueup_testkit::damage::copy_folder;
use trueup_testkit::object_server::{Fault, ObjectServer};

/// The URL of the dataset `ds` of a workspace: the server has the folders of the workspace as buckets.
const URL: &str = "s3://ds";

/// Returns a command that uses the server as its S3 store.
fn command(workspace: &Workspace, server: &ObjectServer) -> Command {
    let mut command = workspace.command();
    command.env("AWS_ENDPOINT_URL", server.url()).env("AWS_ACCESS_KEY_ID", "id").env("AWS_SECRET_ACCESS_KEY", "SECRET");
    command
}

fn run(workspace: &Workspace, server: &ObjectServer, arguments: &[&str]) -> Run {
    command(workspace, server).args(arguments).output().unwrap().into()
}

#[test]
fn no_message_has_the_secret_of_a_url() {
    let workspace = Workspace::with_dataset();
    let server = ObjectServer::start(&workspace.path("")).unwrap();
    for scheme in ["http:/", "http://", "https:/", "s3:/"] {
        let url = format!("{scheme}127.0.0.1:9/x.csv?token=SECRET");
        let fields = ["query", &url, "--fields", "leads"];
        for command in [
            &["ingest", &url, "--into", "new"][..],
            &["ingest", "events.csv", "--into", "ds", "--spend", &url],
            &["ingest", "events.csv", "--into", "ds", "--mapping", &url],
            &["ingest", "events.csv", "--into", "ds", "--rejects", &url],
            &["ingest", "events.csv", "--into", &url],
            &["inspect", &url],
            &["verify", &url],
            &["fields", &url],
            &[&fields[..], &RANGE].concat(),
            &["mapping", "draft", &url],
            &["batch", &url, "--into", "out"],
            &["define", "ds", &url],
            &["forget", "ds", "--account", "acme", "--customers", &url],
            &["compact", &url],
            &["report", &url, "--month", "2025-02", "-o", "report.html"],
            &["report", "ds", "--month", "2025-02", "-o", &url],
            &[&["query", "ds", "--fields", "leads", "-o", &url][..], &RANGE].concat(),
        ] {
            let run = run(&workspace, &server, command);
            assert!(run.code != 0 && !format!("{run:?}").contains("SECRET"), "{command:?}: {run:?}");
        }
    }
    let draft = workspace.run(&["mapping", "draft", "http://127.0.0.1:9/x.csv?token=SECRET"]).failed(1);
    assert!(draft.contains("`http://127.0.0.1:9/x.csv`: a draft reads files of this machine"), "{draft}");
}

#[test]
fn commands_take_a_url_in_place_of_a_folder() {
    let workspace = Workspace::with_dataset();
    let server = ObjectServer::start(&workspace.path("")).unwrap();
    let query = |dataset: &'static str| {
        let arguments =
            ["query", dataset, "--fields", "account,campaign,leads,spend,closedRevenue", "--format", "json"];
        [&arguments[..], &RANGE].concat()
    };
    let explain = |dataset: &'static str| [&["explain", dataset, "--fields", "leads"][..], &RANGE].concat();
    for arguments in [
        query,
        explain,
        |dataset| vec!["inspect", dataset],
        |dataset| vec!["verify", dataset, "--format", "json"],
        |dataset| vec!["fields", dataset],
        |dataset| vec!["fields", dataset, "--values", "zip"],
    ] as [fn(&'static str) -> Vec<&'static str>; 6]
    {
        let expected = workspace.run(&arguments("ds")).succeeded();
        assert_eq!(run(&workspace, &server, &arguments(URL)).succeeded(), expected.replace("`ds`", "`s3://ds`"));
    }
    // A web server lists folders in pages.
    let url = format!("{}/ds", server.url());
    let arguments: Vec<&str> = query("").into_iter().map(|part| if part.is_empty() { &url } else { part }).collect();
    assert_eq!(workspace.run(&arguments).succeeded(), workspace.run(&query("ds")).succeeded());
}

#[test]
fn commands_share_a_block_cache() {
    let workspace = Workspace::with_dataset();
    let server = ObjectServer::start(&workspace.path("")).unwrap();
    let arguments = |dataset| [&["query", dataset, "--fields", "account,campaign,leads,spend"][..], &RANGE].concat();
    let expected = workspace.run(&arguments("ds")).succeeded();
    let cached = || {
        let mut command = command(&workspace, &server);
        command.args(arguments(URL)).args(["--cache-dir", "cache", "--cache-size", "100MiB"]);
        command
    };
    // At the same time.
    let started: Vec<_> =
        (0..4).map(|_| cached().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()).collect();
    for process in started {
        assert_eq!(Run::from(process.wait_with_output().unwrap()).succeeded(), expected);
    }
    drop(server.take_log());
    assert_eq!(Run::from(cached().output().unwrap()).succeeded(), expected);
    let requested = server.take_log();
    assert!(
        requested.iter().all(|request| request.range.is_none() || request.path.contains("manifest")),
        "{requested:?}"
    );
}

#[test]
fn servers_with_the_same_url_share_no_file_of_a_block_cache() {
    let (workspace, copy) = (Workspace::with_dataset(), tempfile::tempdir().unwrap());
    copy_folder(&workspace.path("ds"), &copy.path().join("ds")).unwrap();
    let arguments = [&["query", URL, "--fields", "account,leads", "--cache-dir", "cache"][..], &RANGE].concat();
    for folder in [copy.path(), &workspace.path("")] {
        let server = ObjectServer::start(folder).unwrap();
        for is_cached in [false, true] {
            run(&workspace, &server, &arguments).succeeded();
            let events = server.take_log().iter().filter(|request| request.path.starts_with("ds/events/")).count();
            assert_eq!(events == 0, is_cached, "{events} requests for events");
        }
    }
}

#[test]
fn a_folder_that_cannot_be_a_block_cache_is_refused() {
    let workspace = Workspace::with_dataset();
    workspace.write("file", "");
    let query = |more: &[&str]| workspace.query("leads", more);
    let refused = query(&["--cache-dir", "file"]).failed(1);
    assert!(refused.contains("the block cache cannot use the folder `file`: "), "{refused}");
    let refused = query(&["--cache-dir", "s3://bucket"]).failed(2);
    assert!(refused.contains("expected a folder of this machine, but found `s3://bucket`"), "{refused}");
    let refused = query(&["--cache-size", "1GiB"]).failed(2);
    assert!(refused.contains("--cache-dir"), "{refused}");
}

#[test]
fn a_service_reads_a_store_and_keeps_its_directory_in_a_file() {
    let (workspace, key) = Workspace::with_directory();
    let server = ObjectServer::start(&workspace.path("")).unwrap();
    let get = |more: &[&str]| {
        let mut command = command(&workspace, &server);
        command.env("TRUEUP_KEY", &key).args(["get", URL, EVENTS_URL, "--body-only"]).args(more);
        Run::from(command.output().unwrap())
    };
    let expected = workspace.get(Some(&key), &["ds", EVENTS_URL, "--body-only"]).succeeded();
    assert_eq!(get(&["--directory", "ds/directory.sqlite"]).succeeded(), expected);
    let refused = get(&[]).failed(1);
    assert!(refused.contains("name one with `--directory FILE`"), "{refused}");
}

#[test]
fn a_refusal_of_the_store_names_the_object_and_no_credentials() {
    let workspace = Workspace::with_dataset();
    let server = ObjectServer::start(&workspace.path("")).unwrap();
    server.fail(|_| Some(Fault::Status(403)));
    let arguments = [&["query", URL, "--fields", "leads"][..], &RANGE].concat();
    let refused = run(&workspace, &server, &arguments).failed(1);
    for part in ["cannot list `s3://ds`: access is denied", "403 Forbidden", "ExpiredToken: A message."] {
        assert!(refused.contains(part), "{refused}");
    }
    assert!(!refused.contains("SECRET"), "{refused}");
}

#[test]
fn a_store_without_a_dataset_is_an_error() {
    let workspace = Workspace::with_dataset();
    let server = ObjectServer::start(&workspace.path("")).unwrap();
    let refused = run(&workspace, &server, &["inspect", "s3://ds/other"]).failed(1);
    assert!(refused.contains("`s3://ds/other` holds no dataset"), "{refused}");
    let refused = workspace.run(&["inspect", "ftp://ds"]).failed(1);
    assert!(refused.contains("expected `s3://BUCKET/FOLDER`"), "{refused}");
}

#[test]
fn credentials_come_from_the_profile_of_aws() {
    let workspace = Workspace::with_dataset();
    let server = ObjectServer::start(&workspace.path("")).unwrap();
    let file =
        |text: &str| format!("[default]\n{text}[work]\naws_access_key_id = id\naws_secret_access_key = secret\n");
    workspace.write("credentials", &file(""));
    workspace
        .write("config", &format!("[profile work]\nendpoint_url = {}\n[profile sso]\nsso_session = x\n", server.url()));
    let inspect = |profile: &str| {
        let mut command = workspace.command();
        command
            .env("AWS_SHARED_CREDENTIALS_FILE", "credentials")
            .env("AWS_CONFIG_FILE", "config")
            .env("AWS_PROFILE", profile);
        Run::from(command.args(["inspect", URL]).output().unwrap())
    };
    inspect("work").succeeded();
    let refused = inspect("sso").failed(1);
    assert!(refused.contains("aws configure export-credentials --profile sso"), "{refused}");
}

#[test]
fn an_ingest_writes_and_reads_a_store() {
    let workspace = Workspace::with_dataset();
    let server = ObjectServer::start(&workspace.path("")).unwrap();
    std::fs::create_dir(workspace.path("bucket")).unwrap();
    std::fs::copy(workspace.path("events.csv"), workspace.path("bucket/events.csv")).unwrap();
    let before = workspace.names();
    let arguments = ["ingest", "s3://bucket/*.csv", "--into", "s3://bucket/acme"];
    let ingested = run(&workspace, &server, &arguments).succeeded();
    assert!(ingested.starts_with("version 1 of `s3://bucket/acme`\n"), "{ingested}");
    let again = run(&workspace, &server, &arguments).succeeded();
    assert!(again.starts_with("version 2 of `s3://bucket/acme`"), "{again}");
    let verified = run(&workspace, &server, &["verify", "s3://bucket/acme"]).succeeded();
    assert!(verified.contains("version 2"), "{verified}");
    // No command makes a folder of the name of a URL.
    assert_eq!(workspace.names(), before);
    server.fail(|request| (request.method == "PUT").then_some(Fault::Status(403)));
    let refused = run(&workspace, &server, &["ingest", "events.csv", "--into", "s3://bucket/other"]).failed(1);
    let expected = "cannot create `s3://bucket/other/.trueup-pending-";
    assert!(refused.contains(expected) && refused.contains("access is denied"), "{refused}");
    assert!(!refused.contains("SECRET") && refused.lines().count() == 1, "{refused}");
    let web = format!("{}/bucket/acme", server.url());
    let refused = workspace.run(&["ingest", "events.csv", "--into", &web]).failed(2);
    assert!(refused.contains("is a folder of a web server, where a dataset can only be read"), "{refused}");
}
