use super::*;

const CLASSES: [(AddressClass, &[&str]); 7] = [
    (
        AddressClass::Public,
        &[
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "168.63.129.15",
            "192.0.1.0",
            "192.0.3.0",
            "192.88.98.255",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "2001:200::1",
            "2606:4700::1111",
            "3fff:1000::1",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
        ],
    ),
    (
        AddressClass::Loopback,
        &[
            "127.0.0.1",
            "127.255.255.255",
            "::1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "64:ff9b::127.0.0.1",
            "2002:7f00:1::",
        ],
    ),
    (
        AddressClass::Private,
        &[
            "10.0.0.0",
            "10.255.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "192.168.0.0",
            "192.168.255.255",
            "100.64.0.0",
            "100.127.255.255",
            "fc00::",
            "fdff:ffff::1",
            "fec0::1",
            "::ffff:10.1.2.3",
            "2002:a01:203::1",
            "64:ff9b:1::1",
        ],
    ),
    (
        AddressClass::LinkLocal,
        &[
            "169.254.0.0",
            "169.254.169.254",
            "169.254.255.255",
            "168.63.129.16",
            "192.0.0.0",
            "192.0.0.192",
            "64:ff9b::192.0.0.192",
            "fe80::1",
            "febf::1",
            "::ffff:169.254.169.254",
            "::ffff:0:169.254.169.254",
        ],
    ),
    (AddressClass::Unspecified, &["0.0.0.0", "0.1.2.3", "::", "::ffff:0.0.0.0"]),
    (AddressClass::Multicast, &["224.0.0.0", "239.255.255.255", "ff02::1", "ffff::1"]),
    (
        AddressClass::Reserved,
        &[
            "192.0.2.1",
            "192.88.99.1",
            "198.18.0.0",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "240.0.0.0",
            "255.255.255.255",
            "::ffff:255.255.255.255",
            "64:ff9b:2::1",
            "100::1",
            "2001::7f00:1",
            "2001:0:4136:e378:8000:63bf:80ff:fffe",
            "2001:2::1",
            "2001:db8::1",
            "2002:101:101::1",
            "3fff:fff::1",
            "5f00::1",
            "fbff::1",
            "fe00::1",
        ],
    ),
];

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn url(text: &str) -> Url {
    text.parse().unwrap()
}

#[test]
fn addresses_have_the_classes_of_their_ranges() {
    for (class, addresses) in CLASSES {
        for text in addresses {
            assert_eq!(AddressClass::of(address(text)), class, "{text}");
        }
    }
}

#[test]
fn a_redirect_reaches_public_addresses_and_classes_that_the_url_names() {
    // Every set of classes that a URL may name, and every pair of addresses that a target may have.
    let all: Vec<AddressClass> = CLASSES.iter().map(|(class, _)| *class).collect();
    for subset in 0..1_u32 << all.len() {
        let named = all.iter().enumerate().filter(|(at, _)| (subset >> at) & 1 == 1).map(|(_, class)| *class);
        let named: BTreeSet<AddressClass> = named.collect();
        for (first, addresses) in CLASSES {
            for (second, others) in CLASSES {
                let target = [address(addresses[0]), address(others[0])];
                let allowed = |class| class == AddressClass::Public || named.contains(&class);
                let expected =
                    [(target[0], first), (target[1], second)].into_iter().find(|(_, class)| !allowed(*class));
                assert_eq!(first_forbidden(&named, &target), expected, "{named:?} {target:?}");
            }
        }
        assert_eq!(first_forbidden(&named, &[]), None);
    }
}

/// Returns why a redirect from a host with one address to another with others is refused; the hosts are names, and the
/// first one was resolved before the redirect, the second one is resolved after it.
fn between_names(from: &str, to: &[&str]) -> Option<RedirectFault> {
    let guard = RedirectGuard::default();
    guard.check("from.example", &[address(from)]).unwrap();
    guard
        .fault(&[url("http://from.example/a")], &url("http://to.example/b"))
        .or_else(|| guard.check("to.example", &to.iter().map(|text| address(text)).collect::<Vec<_>>()).err())
}

#[test]
fn the_addresses_of_names_count_and_not_the_names() {
    for (class, addresses) in CLASSES {
        for text in addresses {
            let found = between_names("1.1.1.1", &["8.8.8.8", text]);
            let host = "to.example".to_owned();
            let expected = RedirectFault::Address { host, address: address(text), class };
            assert_eq!(found, (class != AddressClass::Public).then_some(expected), "{text}");
            assert_eq!(between_names(text, &[text]), None, "{text}: the URL is of the same class");
            assert_eq!(between_names(text, &["8.8.8.8"]), None, "{text}: to the internet");
        }
    }
    assert!(between_names("127.0.0.1", &["10.0.0.1"]).is_some());
    assert_eq!(
        between_names("1.1.1.1", &["127.0.0.1"]).unwrap().to_string(),
        "a redirect leads to `to.example`, whose address 127.0.0.1 is loopback; only a URL of such an address may lead there"
    );
}

#[test]
fn addresses_in_urls_are_checked_before_a_connection_is_made() {
    let guard = RedirectGuard::default();
    let fault = |from: &str, to: &str| guard.fault(&[url(from)], &url(to));
    for to in [
        "http://169.254.169.254/latest",
        "http://10.0.0.1/",
        "http://[::1]:80/",
        "http://[::ffff:127.0.0.1]/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0/",
    ] {
        assert!(matches!(fault("http://1.1.1.1/", to), Some(RedirectFault::Address { .. })), "{to}");
        assert!(matches!(fault("http://unresolved.example/", to), Some(RedirectFault::Address { .. })), "{to}");
    }
    assert_eq!(fault("http://127.0.0.1:1/", "http://127.0.0.1:2/"), None);
    assert_eq!(fault("http://127.0.0.1/", "http://[::1]/"), None);
    assert_eq!(fault("http://10.1.1.1/", "http://192.168.1.1/"), None);
    assert_eq!(fault("http://10.1.1.1/", "http://1.1.1.1/"), None);
}

#[test]
fn the_first_url_of_a_chain_names_the_class() {
    let guard = RedirectGuard::default();
    let chain = [url("http://1.1.1.1/"), url("http://2.2.2.2/"), url("http://3.3.3.3/")];
    assert!(guard.fault(&chain, &url("http://127.0.0.1/")).is_some());
    let chain = [url("http://127.0.0.1/"), url("http://2.2.2.2/")];
    assert_eq!(guard.fault(&chain, &url("http://127.0.0.1/")), None);
}

#[test]
fn a_name_whose_addresses_change_is_checked_again() {
    let guard = RedirectGuard::default();
    guard.check("a.example", &[address("1.1.1.1")]).unwrap();
    assert_eq!(guard.fault(&[url("http://a.example/")], &url("http://a.example/again")), None);
    assert!(guard.check("a.example", &[address("127.0.0.1")]).is_err());
    // A connection to a name of before may still be open, so that its addresses count at once.
    guard.check("local.example", &[address("10.0.0.1")]).unwrap();
    let fault = guard.fault(&[url("http://a.example/")], &url("http://local.example/"));
    assert!(matches!(fault, Some(RedirectFault::Address { .. })), "{fault:?}");
    // What one URL may reach and another may not is not reached.
    guard.check("b.example", &[address("10.0.0.2")]).unwrap();
    assert_eq!(guard.fault(&[url("http://b.example/")], &url("http://c.example/")), None);
    assert_eq!(guard.fault(&[url("http://a.example/")], &url("http://c.example/")), None);
    assert!(guard.check("c.example", &[address("10.0.0.3")]).is_err());
}

#[test]
fn a_redirect_keeps_or_improves_the_scheme_and_ends() {
    let guard = RedirectGuard::default();
    let fault = |from: &str, to: &str| guard.fault(&[url(from)], &url(to)).map(|fault| fault.to_string());
    for (from, to) in [("http", "http"), ("http", "https"), ("https", "https")] {
        assert_eq!(fault(&format!("{from}://a.example/"), &format!("{to}://b.example/")), None);
    }
    assert_eq!(
        fault("https://a.example/", "http://b.example/"),
        Some("a redirect leads to `b.example`, and from `https` to `http`".to_owned())
    );
    assert!(fault("http://a.example/", "ftp://b.example/").is_some());
    assert!(fault("http://a.example/", "file:///etc/passwd").is_some());
    let chain = |length: usize| vec![url("http://a.example/"); length];
    assert_eq!(guard.fault(&chain(10), &url("http://a.example/")), None);
    assert_eq!(
        guard.fault(&chain(11), &url("http://b.example/")),
        Some(RedirectFault::Number { host: "b.example".to_owned() })
    );
}
