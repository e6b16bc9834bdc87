//! The page of the explorer. `web/tests` tests what it does in a browser.

use crate::client::Client;
use crate::town::{RunningServer, Town, USER, patient};
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;
use trueup::access::UnixTime;
use trueup_server::{Settings, SignInLinks};

/// Returns the paths that the page loads, relative to it.
fn loaded(page: &str) -> Vec<String> {
    page.split('"').filter(|part| part.starts_with("explore/")).map(|part| format!("/{part}")).collect()
}

#[test]
fn the_page_and_its_files_need_no_key() {
    let server = RunningServer::new(&Town::new().service, patient());
    let mut client = Client::connect(server.address);
    let page = client.get("/explore", "");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let paths = loaded(&page.text());
    assert_eq!(paths.len(), 2, "{paths:?}");
    for path in paths {
        let file = client.get(&path, "");
        let expected =
            if path.ends_with(".css") { "text/css; charset=utf-8" } else { "text/javascript; charset=utf-8" };
        assert_eq!((file.status, file.header("content-type")), (200, Some(expected)), "{path}");
        assert_eq!(file.header("content-encoding"), Some("gzip"));
        let plain = client.get(&path, "Accept-Encoding: identity\r\n");
        assert!(plain.header("content-encoding").is_none() && plain.body == file.content(), "{path}");
    }
}

#[test]
fn browsers_keep_files_and_ask_for_the_page() {
    let server = RunningServer::new(&Town::new().service, patient());
    let mut client = Client::connect(server.address);
    let page = client.get("/explore", "");
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let known = client.get("/explore", &format!("If-None-Match: {}\r\n", page.header("etag").unwrap()));
    assert_eq!((known.status, known.body.len()), (304, 0));
    for path in loaded(&page.text()) {
        let file = client.get(&path, "");
        assert_eq!(file.header("cache-control"), Some("public, max-age=31536000, immutable"), "{path}");
    }
}

#[test]
fn a_browser_allows_the_page_nothing_but_its_own_server() {
    let server = RunningServer::new(&Town::new().service, patient());
    let mut client = Client::connect(server.address);
    let page = client.get("/explore", "");
    let mut paths = loaded(&page.text());
    paths.push("/explore".to_owned());
    for path in paths {
        let answer = client.get(&path, "");
        let policy = answer.header("content-security-policy").unwrap();
        for part in ["default-src 'none'", "script-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.split("; ").any(|known| known == part), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
        let headers = ["x-content-type-options", "referrer-policy"].map(|name| answer.header(name));
        assert_eq!(headers, [Some("nosniff"), Some("no-referrer")], "{path}");
    }
    // A policy applies to a page only if nothing of it is in the page itself.
    let text = page.text();
    assert!(!text.contains("<style") && !text.contains("style=") && !text.contains("<script>"), "{text}");
}

#[test]
fn the_address_of_the_page_has_no_slash_at_the_end() {
    let server = RunningServer::new(&Town::new().service, patient());
    let moved = Client::connect(server.address).get("/explore/", "");
    assert_eq!((moved.status, moved.header("location")), (308, Some("../explore")));
}

#[test]
fn every_other_path_and_method_is_answered_by_the_service() {
    let server = RunningServer::new(&Town::new().service, patient());
    let mut client = Client::connect(server.address);
    for path in [
        "/explore/main.js",
        "/explore/page.html",
        "/explore/..%2fpage.html",
        "/explore/%ff",
        "/explorer",
        "/explore/a/b",
    ] {
        let answer = client.get(path, "");
        assert!(answer.status == 404 && answer.text().contains(r#""code":"not-found""#), "{path}: {}", answer.text());
    }
    client.send("POST /explore HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n");
    let refused = client.answer().unwrap();
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET")));
}

#[test]
fn a_link_signs_in_once() {
    let town = Town::new();
    let links = SignInLinks::new(Arc::clone(&town.directory), USER);
    let server = RunningServer::with_links(&town.service, links.clone());
    let mut client = Client::connect(server.address);
    let mut exchange = |token: &str| {
        client.send(format!(
            "POST /explore/key HTTP/1.1\r\nHost: h\r\nAuthorization: {token}\r\nContent-Length: 0\r\n\r\n"
        ));
        let answer = client.answer().unwrap();
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        (answer.status, answer.text())
    };
    let link = links.issue().unwrap();
    let token = link.strip_prefix("explore#sign-in=").unwrap();
    let (status, signed_in) = exchange(token);
    assert_eq!(status, 200, "{signed_in}");
    let parts: Vec<&str> = signed_in.split('"').collect();
    let (key, next) = (parts[3], parts[7]);
    assert_eq!(signed_in, format!(r#"{{"key":"{key}","next":"{next}"}}"#));
    // Each token is worth one key. A session of the user that is signed in elsewhere is worth none.
    let now = UnixTime::from(SystemTime::now());
    let session = town.directory.open_session(USER, now, now.plus_seconds(60)).unwrap();
    for used in [token, key, session.reveal(), "", "tu_\u{e9}"] {
        let (status, refused) = exchange(used);
        assert!(status == 401 && refused.contains(r#""code":"used-link""#), "{used}: {refused}");
    }
    let mut client = Client::connect(server.address);
    let mut access = |header: &str, secret: &str| {
        let answer = client.get("/api", &format!("{header}{secret}\r\n"));
        assert!(answer.status == 401 || answer.text().contains(USER), "{}", answer.text());
        answer.status
    };
    let (as_key, as_session) = ("Authorization: ", "Cookie: session=");
    // A token is neither a key nor a session, whether it was used or not.
    let other = links.issue().unwrap();
    for token in [token, next, other.split_once('=').unwrap().1] {
        assert_eq!([as_key, as_session].map(|header| access(header, token)), [401; 2]);
    }
    assert_eq!([access(as_key, key), access(as_session, key)], [200, 401]);
    assert_eq!([access(as_key, session.reveal()), access(as_session, session.reveal())], [401, 200]);
    // A reload gets another key, and the former one is revoked.
    let (status, again) = exchange(next);
    let parts: Vec<&str> = again.split('"').collect();
    assert!(status == 200 && parts[3] != key && parts[7] != next, "{again}");
    assert_eq!([access(as_key, key), access(as_key, parts[3])], [401, 200]);
    assert_eq!(exchange(next).0, 401);
    // A key that was deleted meanwhile does not keep the page from a reload.
    let newest = town.directory.keys(USER).unwrap().pop().unwrap();
    town.directory.delete_key(USER, newest.id, now).unwrap();
    assert_eq!((access(as_key, parts[3]), exchange(parts[7]).0), (401, 200));
    assert_eq!(Client::connect(server.address).get("/explore/key", "").status, 404);
}

#[test]
fn one_of_many_requests_gets_the_key_of_a_link() {
    let town = Town::new();
    let links = SignInLinks::new(Arc::clone(&town.directory), USER);
    let server = RunningServer::with_links(&town.service, links.clone());
    let link = links.issue().unwrap();
    let token = link.split_once('=').unwrap().1;
    let exchange = || {
        let mut client = Client::connect(server.address);
        client.send(format!("POST /explore/key HTTP/1.1\r\nHost: h\r\nAuthorization: {token}\r\n\r\n"));
        client.answer().unwrap().status
    };
    let mut statuses = thread::scope(|scope| {
        let running: Vec<_> = (0..8).map(|_| scope.spawn(exchange)).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401, 401, 401, 401, 401, 401, 401]);
}

#[test]
fn without_links_there_is_nothing_to_exchange() {
    let town = Town::new();
    let server = RunningServer::new(&town.service, patient());
    let mut client = Client::connect(server.address);
    client.send(format!(
        "POST /explore/key HTTP/1.1\r\nHost: h\r\nAuthorization: {}\r\nContent-Length: 0\r\n\r\n",
        town.session
    ));
    let refused = client.answer().unwrap();
    assert_eq!((refused.status, refused.header("allow")), (405, Some("GET")));
}

#[test]
fn a_server_may_do_without_the_page() {
    let settings = Settings { explorer: false, ..patient() };
    let server = RunningServer::new(&Town::new().service, settings);
    let mut client = Client::connect(server.address);
    for path in ["/explore", "/explore/"] {
        let answer = client.get(path, "");
        assert!(answer.status == 404 && answer.text().contains(r#""code":"not-found""#), "{path}: {}", answer.text());
    }
}
