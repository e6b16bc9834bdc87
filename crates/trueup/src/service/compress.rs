//! Whether a caller takes compressed bodies.

/// Whether the header `Accept-Encoding` allows gzip: it does if it is absent, names gzip or `*` with a weight other than 0, and not
/// if it names others only.
pub(super) fn accepts_gzip(header: Option<&str>) -> bool {
    let Some(header) = header else { return true };
    let mut any = false;
    for coding in header.split(',') {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let is_allowed = parts.find_map(weight).is_none_or(|weight| weight > 0.0);
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            return is_allowed;
        }
        if name == "*" {
            any = is_allowed;
        }
    }
    any
}

/// The weight that a parameter `q=` states; one that does not read rules nothing out.
fn weight(parameter: &str) -> Option<f64> {
    let (name, value) = parameter.split_once('=')?;
    name.trim().eq_ignore_ascii_case("q").then(|| value.trim().parse().unwrap_or(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_used_unless_ruled_out() {
        for header in
            ["gzip", "GZIP", "br, gzip;q=0.1", "*", "*;q=0.5", "identity;q=1, *;q=0.1", "*;q=0, gzip", "x-gzip"]
        {
            assert!(accepts_gzip(Some(header)), "{header}");
        }
        for header in ["identity", "", "br", "gzip;q=0", "gzip; q=0.000, *", "*;q=0", "deflate, *;q=0.0", "*, gzip;q=0"]
        {
            assert!(!accepts_gzip(Some(header)), "{header}");
        }
        assert!(accepts_gzip(None));
    }
}
