//! Where redirects of web servers lead, and what the server there learns.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread;
use trueup_core::Dataset;
use trueup_core::dataset::{RemoteFile, RemoteFiles};

/// A server that gives every request the same answer.
struct AnsweringServer {
    port: u16,
    /// The heads of the requests.
    heads: Arc<Mutex<Vec<String>>>,
}

impl AnsweringServer {
    fn new(answer: String) -> Self {
        let listener = TcpListener::bind(("0.0.0.0", 0)).unwrap();
        let (port, heads) = (listener.local_addr().unwrap().port(), Arc::default());
        let log: Arc<Mutex<Vec<String>>> = Arc::clone(&heads);
        thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = connection.unwrap();
                let lines = BufReader::new(&connection).lines().map_while(Result::ok);
                let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
                log.lock().unwrap().push(head.join("\n"));
                // A client that has enough closes the connection.
                drop(connection.write_all(answer.as_bytes()));
            }
        });
        Self { port, heads }
    }

    fn redirecting(to: &str) -> Self {
        Self::new(format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"))
    }

    fn sending(text: &str) -> Self {
        Self::new(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}", text.len()))
    }

    fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// Reads the file at a URL. Returns its text, and the other host that it came from.
fn read(url: &str) -> io::Result<(String, Option<String>)> {
    let RemoteFiles::One(file) = RemoteFile::find(&PathBuf::from(url))? else { unreachable!("`{url}` means a file") };
    let mut text = String::new();
    file.clone().into_reader().read_to_string(&mut text)?;
    Ok((text, file.redirected_to().map(str::to_owned)))
}

#[test]
fn a_redirect_within_the_class_of_the_url_is_followed_without_a_referer() {
    let end = AnsweringServer::sending("account\na\n");
    let same = AnsweringServer::redirecting(&format!("http://127.0.0.1:{}/e.csv", end.port));
    let (text, other) = read(&format!("http://127.0.0.1:{}/e.csv?token=SECRET", same.port)).unwrap();
    assert_eq!((text.as_str(), other), ("account\na\n", None));
    let named = AnsweringServer::redirecting(&format!("http://localhost:{}/e.csv", end.port));
    let (text, other) = read(&format!("http://127.0.0.1:{}/e.csv?token=SECRET", named.port)).unwrap();
    assert_eq!((text.as_str(), other.as_deref()), ("account\na\n", Some("localhost")));
    let heads = end.heads();
    assert_eq!(heads.len(), 2);
    for head in heads {
        let head = head.to_lowercase();
        assert!(!head.contains("referer") && !head.contains("secret"), "{head}");
    }
}

#[test]
fn a_redirect_to_a_class_that_the_url_does_not_name_is_refused_before_a_connection_is_made() {
    let end = AnsweringServer::sending("account\na\n");
    for (host, address) in [
        ("169.254.1.1", "169.254.1.1 is link-local"),
        ("10.0.0.1", "10.0.0.1 is private"),
        ("[::ffff:a00:1]", "::ffff:10.0.0.1 is private"),
    ] {
        let from = AnsweringServer::redirecting(&format!("http://{host}:{}/e.csv", end.port));
        let error = read(&format!("http://127.0.0.1:{}/e.csv?token=SECRET", from.port)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        let expected = format!("a redirect leads to `{host}`, whose address {address}; only a URL");
        assert!(error.to_string().starts_with(&expected), "{error}");
        assert!(!error.to_string().contains("SECRET"), "{error}");
        assert_eq!(from.heads().len(), 1, "a refused redirect is not repeated");
    }
    // Linux takes this address for loopback. The class of the target is found when its name is resolved.
    let from = AnsweringServer::redirecting(&format!("http://localhost:{}/e.csv", end.port));
    let error = read(&format!("http://0.0.0.0:{}/e.csv", from.port)).unwrap_err().to_string();
    assert!(
        error.starts_with("a redirect leads to `localhost`, whose address ") && error.contains(" is loopback; "),
        "{error}"
    );
    assert_eq!(end.heads(), Vec::<String>::new());
}

#[test]
fn redirects_end() {
    let endless = AnsweringServer::redirecting("/e.csv");
    let error = read(&format!("http://127.0.0.1:{}/e.csv", endless.port)).unwrap_err().to_string();
    assert!(error.starts_with("a redirect leads to `127.0.0.1`, but at most 10 redirects are followed"), "{error}");
    assert_eq!(endless.heads().len(), 11);
    let other = AnsweringServer::redirecting("ftp://127.0.0.1/e.csv");
    let error = read(&format!("http://127.0.0.1:{}/e.csv", other.port)).unwrap_err().to_string();
    assert!(error.starts_with("a redirect leads to `127.0.0.1`, and from `http` to `ftp`"), "{error}");
}

#[test]
fn an_error_of_the_server_that_a_redirect_leads_to_names_it() {
    let missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_owned();
    let end = AnsweringServer::new(missing);
    let from = AnsweringServer::redirecting(&format!("http://localhost:{}/e.csv", end.port));
    let error = read(&format!("http://127.0.0.1:{}/e.csv", from.port)).unwrap_err().to_string();
    assert!(error.contains("404 Not Found") && error.contains("redirected to `localhost`"), "{error}");
}

#[test]
fn pages_of_a_dataset_follow_the_same_rules() {
    let end = AnsweringServer::sending("");
    let from = AnsweringServer::redirecting(&format!("http://169.254.1.1:{}/acme/", end.port));
    let error = Dataset::open(format!("http://127.0.0.1:{}/acme", from.port)).unwrap_err().to_string();
    assert!(error.contains("a redirect leads to `169.254.1.1`, whose address 169.254.1.1 is link-local"), "{error}");
    assert_eq!((from.heads().len(), end.heads()), (1, Vec::new()));
}

#[test]
fn no_provider_of_tls_is_installed_for_the_process() {
    let plain = AnsweringServer::sending("account\na\n");
    assert!(Dataset::open(format!("http://127.0.0.1:{}/absent", plain.port)).is_err());
    assert!(read(&format!("http://127.0.0.1:{}/e.csv", plain.port)).is_ok());
    assert!(rustls::crypto::CryptoProvider::get_default().is_none());
}
