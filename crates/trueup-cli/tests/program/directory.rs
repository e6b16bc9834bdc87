//! `trueup users`, `orgs` and `keys`.

use crate::workspace::Workspace;

/// Runs a command that lists, and returns the list as CSV.
fn list(workspace: &Workspace, arguments: &[&str]) -> String {
    workspace.run(&[arguments, ["--format", "csv"].as_slice()].concat()).succeeded()
}

#[test]
fn users_are_granted_organizations_and_accounts() {
    let (workspace, _) = Workspace::with_directory();
    let header = "user,active,keys,organizations,accounts\n";
    assert_eq!(list(&workspace, &["users", "list", "ds"]), format!("{header}anna,true,1,group,\nbert,true,0,,beta\n"));
    let table = "\
user  active  keys  organizations  accounts
───────────────────────────────────────────
anna  true       1  group          (none)
bert  true       0  (none)         beta
";
    assert_eq!(workspace.run(&["users", "list", "ds"]).succeeded(), table);

    workspace.change(&["users", "grant", "ds", "bert", "--org", "west", "--org", "group", "--account", "acme"]);
    workspace.change(&["users", "disable", "ds", "bert"]);
    let bert = |workspace: &Workspace| list(workspace, &["users", "list", "ds"]).lines().nth(2).unwrap().to_owned();
    assert_eq!(bert(&workspace), "bert,false,0,\"group, west\",\"acme, beta\"");
    workspace.change(&["users", "enable", "ds", "bert"]);
    workspace.change(&["users", "revoke", "ds", "bert", "--org", "group", "--org", "west", "--account", "beta"]);
    assert_eq!(bert(&workspace), "bert,true,0,,acme");
    workspace.change(&["users", "remove", "ds", "bert"]);
    assert_eq!(list(&workspace, &["users", "list", "ds"]), format!("{header}anna,true,1,group,\n"));
}

#[test]
fn organizations_form_a_tree() {
    let (workspace, _) = Workspace::with_directory();
    let header = "organization,under,umbrella,accounts\n";
    workspace.change(&["orgs", "add", "ds", "platform", "--umbrella"]);
    workspace.change(&["orgs", "move", "ds", "group", "--under", "platform"]);
    assert_eq!(
        list(&workspace, &["orgs", "list", "ds"]),
        format!("{header}group,platform,false,0\nplatform,,true,0\nwest,group,false,1\n")
    );
    workspace.change(&["orgs", "move", "ds", "group", "--root"]);
    workspace.change(&["orgs", "umbrella", "ds", "platform", "--off"]);
    let message = workspace.change(&["orgs", "hold", "ds", "platform", "--all"]);
    assert!(message.contains("holds 2 more accounts"), "{message}");
    assert_eq!(
        list(&workspace, &["orgs", "list", "ds"]),
        format!("{header}group,,false,0\nplatform,,false,2\nwest,group,false,1\n")
    );
    let accounts = |workspace: &Workspace| list(workspace, &["orgs", "accounts", "ds"]);
    assert_eq!(accounts(&workspace), "account,organizations\nacme,\"platform, west\"\nbeta,platform\n");
    workspace.change(&["orgs", "release", "ds", "platform", "acme"]);
    assert_eq!(accounts(&workspace), "account,organizations\nacme,west\nbeta,platform\n");
    workspace.change(&["orgs", "forget", "ds", "beta"]);
    assert_eq!(accounts(&workspace), "account,organizations\nacme,west\n");
    assert!(list(&workspace, &["users", "list", "ds"]).ends_with("bert,true,0,,\n"));
    assert!(workspace.run(&["orgs", "remove", "ds", "group"]).failed(1).contains("below it"));
    workspace.change(&["orgs", "remove", "ds", "west"]);
    workspace.change(&["orgs", "remove", "ds", "group"]);
}

#[test]
fn keys_are_shown_once_and_revoked_immediately() {
    let (workspace, first) = Workspace::with_directory();
    let status = |key: &str| workspace.get(Some(key), &["ds", "/api"]).stdout[9..12].to_owned();
    assert!(first.starts_with("tu_") && first.len() == 46, "{first}");
    assert_eq!(status(&first), "200");

    // The number may be left out if the user has one key.
    let run = workspace.run(&["keys", "rotate", "ds", "anna", "--prefix", "acme"]);
    let second = run.stdout.trim_end().to_owned();
    assert!(run.code == 0 && second.starts_with("acme_") && !run.stderr.contains(&second), "{run:?}");
    assert_eq!((status(&first), status(&second)), ("401".to_owned(), "200".to_owned()));
    let third = workspace.key("anna");
    let message = workspace.run(&["keys", "rotate", "ds", "anna"]).failed(1);
    assert!(message.contains("2, 3"), "{message}");
    let keys = list(&workspace, &["keys", "list", "ds", "anna"]);
    let keys: Vec<&str> = keys.lines().collect();
    assert!(keys[0] == "key,created" && keys[1].starts_with("2,20") && keys[2].ends_with('Z'), "{keys:?}");
    workspace.change(&["keys", "delete", "ds", "anna", "3"]);
    assert_eq!((status(&second), status(&third)), ("200".to_owned(), "401".to_owned()));
    workspace.change(&["users", "disable", "ds", "anna"]);
    assert_eq!(status(&second), "401");
    workspace.change(&["users", "enable", "ds", "anna"]);
    assert_eq!(status(&second), "200");
    workspace.change(&["keys", "delete", "ds", "anna", "--all"]);
    assert_eq!(status(&second), "401");
    assert_eq!(list(&workspace, &["keys", "list", "ds", "anna"]), "key,created\n");
    assert!(workspace.run(&["keys", "rotate", "ds", "anna"]).failed(1).contains("no key"));

    // No file contains a key.
    for entry in workspace.path("ds").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let bytes = if path.is_file() { std::fs::read(path).unwrap() } else { Vec::new() };
        for key in [&first, &second, &third] {
            assert!(!bytes.windows(key.len()).any(|window| window == key.as_bytes()));
        }
    }
}

#[test]
fn retired_keys_are_read_from_a_file() {
    let (workspace, _) = Workspace::with_directory();
    workspace.write("old.key", "org_0123\n");
    let message = workspace.change(&["keys", "retire", "ds", "group", "--key-file", "old.key"]);
    assert!(!message.contains("org_0123"), "{message}");
    let message = workspace.run(&["keys", "retire", "ds", "group", "--key-file", "old.key"]).failed(1);
    assert!(!message.contains("org_0123"), "{message}");
    workspace.write("two.key", "org_1 org_2");
    let message = workspace.run(&["keys", "retire", "ds", "group", "--key-file", "two.key"]).failed(1);
    assert!(!message.contains("org_1"), "{message}");
    workspace.write("none.key", "\n");
    workspace.run(&["keys", "retire", "ds", "group", "--key-file", "none.key"]).failed(1);
}

#[test]
fn faulty_changes_are_reported_and_change_nothing() {
    let (workspace, _) = Workspace::with_directory();
    let cases: [(&[&str], &str); 17] = [
        (&["users", "add", "ds", "anna"], "user `anna` already exists"),
        (&["users", "remove", "ds", "cara"], "no user `cara`"),
        (&["users", "disable", "ds", "cara"], "no user `cara`"),
        (&["users", "grant", "ds", "cara", "--account", "new"], "no user `cara`"),
        (&["users", "grant", "ds", "bert", "--org", "east", "--account", "new"], "no organization `east`"),
        (&["users", "grant", "ds", "anna", "--org", "west", "--org", "group"], "already has the grant of organization"),
        (&["users", "revoke", "ds", "anna", "--org", "group", "--org", "west"], "does not have the grant"),
        (&["orgs", "add", "ds", "east", "--under", "north"], "no organization `north`"),
        (&["orgs", "hold", "ds", "east", "new"], "no organization `east`"),
        (&["orgs", "hold", "ds", "west", "new", "acme"], "already under organization `west`"),
        (&["orgs", "release", "ds", "west", "acme", "beta"], "`beta` is not directly under"),
        (&["orgs", "move", "ds", "group", "--under", "west"], "cannot be under"),
        (&["orgs", "forget", "ds", "acme", "new"], "no account `new`"),
        (&["keys", "delete", "ds", "anna", "1", "7"], "no key 7"),
        (&["orgs", "hold", "ds", "west", "new", "x,y"], "cannot contain `,`"),
        (&["orgs", "add", "ds", "a/b"], "cannot contain `/`"),
        (&["users", "add", "ds", ""], "empty"),
    ];
    let state = || {
        [["users", "list"], ["orgs", "list"], ["orgs", "accounts"]].map(|of| list(&workspace, &[of[0], of[1], "ds"]))
    };
    let before = state();
    for (arguments, words) in cases {
        let message = workspace.run(arguments).failed(1);
        assert!(message.starts_with("error: ") && message.contains(words), "{message}");
        assert_eq!(state(), before, "{arguments:?}");
    }
    for arguments in [
        ["users", "grant", "ds", "anna"].as_slice(),
        &["orgs", "move", "ds", "group"],
        &["orgs", "hold", "ds", "group"],
        &["keys", "delete", "ds", "anna"],
        &["keys", "rotate", "ds", "anna", "one"],
        &["keys", "create", "ds", "anna", "--prefix", "a b"],
        &["users"],
    ] {
        workspace.run(arguments).failed(2);
    }
}

/// A name may contain any character, and must not control the terminal.
#[test]
fn control_characters_in_names_are_replaced() {
    let (workspace, _) = Workspace::with_directory();
    assert_eq!(workspace.change(&["users", "add", "ds", "a\u{1b}[2Jb"]), "added user `a\u{fffd}[2Jb`\n");
    assert!(workspace.run(&["users", "list", "ds"]).succeeded().contains("a\u{fffd}[2Jb"));
    let message = workspace.change(&["orgs", "hold", "ds", "west", "c\u{7}d"]);
    assert!(message.contains("`c\u{fffd}d`") && !message.contains('\u{7}'), "{message}");
}

#[test]
fn accounts_without_data_cause_a_warning() {
    let (workspace, _) = Workspace::with_directory();
    let message = workspace.change(&["orgs", "hold", "ds", "group", "gamma", "beta"]);
    assert!(message.contains("warning: ") && message.contains("`gamma`") && !message.contains("`beta`"), "{message}");
    let message = workspace.change(&["users", "grant", "ds", "bert", "--account", "delta"]);
    assert!(message.contains("warning: ") && message.contains("`delta`"), "{message}");
    // The directory knows the account by now.
    let message = workspace.change(&["users", "grant", "ds", "bert", "--account", "gamma"]);
    assert!(!message.contains("warning"), "{message}");
}

#[test]
fn the_directory_is_created_at_first_use_and_only_for_a_dataset() {
    let workspace = Workspace::with_dataset();
    for arguments in [["users", "list", "ds"].as_slice(), &["keys", "create", "ds", "anna"], &["get", "ds", "/api"]] {
        let message = workspace.run(arguments).failed(1);
        assert!(message.contains("`ds/directory.sqlite`") && message.contains("users add"), "{message}");
    }
    let message = workspace.change(&["users", "add", "ds", "anna"]);
    assert!(message.starts_with("created the directory `ds/directory.sqlite`\n"), "{message}");
    let message = workspace.change(&["users", "add", "ds", "anna", "--directory", "other.sqlite"]);
    assert!(
        message.starts_with("created the directory `other.sqlite`\n") && workspace.path("other.sqlite").exists(),
        "{message}"
    );
    for arguments in [["users", "add", "nowhere", "anna"], ["orgs", "list", "nowhere", "--format=csv"]] {
        assert!(workspace.run(&arguments).failed(1).contains("`nowhere` holds no dataset"));
    }
    assert!(!workspace.path("nowhere").exists());
    workspace.write("notes.txt", "not a database, but long enough to be looked at as one");
    let message = workspace.run(&["users", "add", "ds", "anna", "--directory", "notes.txt"]).failed(1);
    assert!(message.contains("notes.txt"), "{message}");
}

#[test]
fn verify_also_checks_the_directory() {
    let (workspace, _) = Workspace::with_directory();
    let message = workspace.run(&["verify", "ds"]).succeeded();
    assert!(message.ends_with("\nthe directory `ds/directory.sqlite` is whole\n"), "{message}");
    std::fs::rename(workspace.path("ds/directory.sqlite"), workspace.path("other.sqlite")).unwrap();
    assert!(!workspace.run(&["verify", "ds"]).succeeded().contains("directory"));
    let message = workspace.run(&["verify", "ds", "--directory", "other.sqlite"]).succeeded();
    assert!(message.ends_with("\nthe directory `other.sqlite` is whole\n"), "{message}");
    workspace.run(&["verify", "ds", "--directory", "none.sqlite"]).failed(1);

    // Overwrite a page in the middle.
    let mut bytes = std::fs::read(workspace.path("other.sqlite")).unwrap();
    let page = bytes.len() / 4096 / 2 * 4096;
    bytes[page..page + 64].fill(0x5a);
    std::fs::write(workspace.path("ds/directory.sqlite"), &bytes).unwrap();
    for arguments in [["verify", "ds"].as_slice(), &["users", "list", "ds"], &["serve", "ds"], &["get", "ds", "/api"]] {
        let message = workspace.run(arguments).failed(1);
        assert!(message.contains("ds/directory.sqlite` is damaged: "), "{message}");
    }
    // Damage to the dataset and to its directory are both reported.
    std::fs::write(workspace.event_file(), "").unwrap();
    let message = workspace.run(&["verify", "ds"]).failed(1);
    assert!(message.contains("is damaged: ") && message.contains("does not match its manifest"), "{message}");
}

#[test]
fn a_directory_locked_by_another_process_is_not_waited_for_long() {
    let (workspace, key) = Workspace::with_directory();
    let holder = rusqlite::Connection::open(workspace.path("ds/directory.sqlite")).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let begun = std::time::Instant::now();
    for arguments in [["users", "add", "ds", "cara"].as_slice(), &["keys", "delete", "ds", "anna", "1"]] {
        let message = workspace.run(arguments).failed(1);
        assert!(message.contains("another process holds the directory `"), "{message}");
    }
    let run = workspace.run(&["get", "ds", "/api", "--key", &key]);
    assert!(run.stdout.starts_with("HTTP/1.1 502 ") && !run.stdout.contains("holds"), "{run:?}");
    assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
    drop(holder);
    workspace.change(&["users", "add", "ds", "cara"]);
}

/// The directory is not part of the dataset.
#[test]
fn ingest_verify_and_inspect_do_not_change_the_directory() {
    let (workspace, key) = Workspace::with_directory();
    let before = std::fs::read(workspace.path("ds/directory.sqlite")).unwrap();
    assert!(workspace.run(&["verify", "ds"]).succeeded().starts_with("version 1 is whole: 6 files"));
    assert!(!workspace.run(&["inspect", "ds"]).succeeded().contains("directory"));
    workspace.write("more.csv", "account,opportunityId,type,date\nacme,9,lead-originated,2025-03-01\n");
    workspace.run(&["ingest", "more.csv", "--into", "ds"]).succeeded();
    assert_eq!(std::fs::read(workspace.path("ds/directory.sqlite")).unwrap(), before);
    let path = "/api/west/events?fields=leads&start=2025-01-01&end=2025-03-31";
    assert_eq!(workspace.get(Some(&key), &["ds", path, "--body-only"]).stdout, r#"[{"leads":3}]"#);
}
