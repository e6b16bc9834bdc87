//! The forms of an answer that a request accepts: `Accept` and `Accept-Encoding`.

/// The media type of Parquet files.
pub(super) const PARQUET: &str = "application/vnd.apache.parquet";
/// The media type of CSV.
const CSV: &str = "text/csv";
const JSON: &str = "application/json";

/// The form of an answer with rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerFormat {
    Json,
    /// JSON in which a ratio over nothing is null, and not 0.
    JsonWithNulls,
    Csv,
    Parquet,
}

impl AnswerFormat {
    /// Returns the form for the header `Accept`: the one that the header names with the highest weight other than 0. Of
    /// equal weights, JSON comes before Parquet, and Parquet before CSV. Ranges such as `*/*` name no form, and without
    /// any it is JSON. JSON with the parameter `over-nothing=null` has null for ratios over nothing.
    pub(super) fn new(accept: Option<&str>) -> Self {
        let weight_of = |name| accept.and_then(|header| named(header, name)).unwrap_or(0.0);
        let [parquet, csv, json] = [PARQUET, CSV, JSON].map(weight_of);
        let with_nulls = || accept.is_some_and(|header| has_parameter(header, JSON, "over-nothing", "null"));
        if parquet > json && parquet >= csv {
            Self::Parquet
        } else if csv > json {
            Self::Csv
        } else if with_nulls() {
            Self::JsonWithNulls
        } else {
            Self::Json
        }
    }
}

/// Returns the weight with which a header names something; `None` if it does not.
fn named(header: &str, name: &str) -> Option<f64> {
    weighted(header).find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, weight)| weight)
}

/// Returns whether a header names something with a parameter of this value.
fn has_parameter(header: &str, name: &str, parameter: &str, value: &str) -> bool {
    header.split(',').any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|known| known.eq_ignore_ascii_case(name));
        let has = |part: &str| {
            let (found, of) = part.split_once('=').unwrap_or((part, ""));
            found.trim().eq_ignore_ascii_case(parameter) && of.trim().eq_ignore_ascii_case(value)
        };
        is_named && parts.any(has)
    })
}

/// Returns what a header lists, each with its weight.
fn weighted(header: &str) -> impl Iterator<Item = (&str, f64)> {
    header.split(',').map(|item| {
        let mut parts = item.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        (name, parts.find_map(weight).unwrap_or(1.0))
    })
}

/// Returns the weight that a parameter `q=` gives; `None` for any other parameter. A weight that is not a number is 1.
fn weight(parameter: &str) -> Option<f64> {
    let (name, value) = parameter.split_once('=')?;
    let number = || value.trim().parse().ok().filter(|weight: &f64| !weight.is_nan());
    name.trim().eq_ignore_ascii_case("q").then(|| number().unwrap_or(1.0))
}

/// Returns whether the header `Accept-Encoding` allows gzip.
///
/// An absent header does. Otherwise the weight of `gzip` decides or, if the header does not name `gzip`, the weight of
/// `*`: gzip is allowed unless the weight is 0. A header that names neither does not allow gzip. `x-gzip`
/// counts as `gzip`.
///
/// ```
/// use trueup::service::accepts_gzip;
///
/// assert!(accepts_gzip(None) && accepts_gzip(Some("br, gzip")));
/// assert!(!accepts_gzip(Some("identity")));
/// ```
#[must_use]
pub fn accepts_gzip(header: Option<&str>) -> bool {
    let Some(header) = header else { return true };
    let mut any = false;
    for (name, weight) in weighted(header) {
        let is_allowed = weight > 0.0;
        if name.eq_ignore_ascii_case("gzip") || name.eq_ignore_ascii_case("x-gzip") {
            return is_allowed;
        }
        if name == "*" {
            any = is_allowed;
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_used_unless_ruled_out() {
        for header in [
            "gzip",
            "GZIP",
            "gzip;q=nan",
            "br, gzip;q=0.1",
            "*",
            "*;q=0.5",
            "identity;q=1, *;q=0.1",
            "*;q=0, gzip",
            "x-gzip",
        ] {
            assert!(accepts_gzip(Some(header)), "{header}");
        }
        for header in ["identity", "", "br", "gzip;q=0", "gzip; q=0.000, *", "*;q=0", "deflate, *;q=0.0", "*, gzip;q=0"]
        {
            assert!(!accepts_gzip(Some(header)), "{header}");
        }
        assert!(accepts_gzip(None));
    }

    #[test]
    fn parquet_must_be_named_and_preferred() {
        for header in [
            "application/vnd.apache.parquet",
            "Application/Vnd.Apache.Parquet; q=0.2",
            "*/*, application/vnd.apache.parquet",
            "application/json;q=0.5, application/vnd.apache.parquet;q=0.6",
            "application/json;q=0, application/vnd.apache.parquet;q=0.1",
        ] {
            assert_eq!(AnswerFormat::new(Some(header)), AnswerFormat::Parquet, "{header}");
        }
        for header in [
            "",
            "*/*",
            "application/*",
            "application/json",
            "text/html",
            "application/vnd.apache.parquet;q=0",
            "application/json, application/vnd.apache.parquet",
            "application/vnd.apache.parquet;q=0.5, application/json;q=0.6",
        ] {
            assert_eq!(AnswerFormat::new(Some(header)), AnswerFormat::Json, "{header}");
        }
        assert_eq!(AnswerFormat::new(None), AnswerFormat::Json);
    }

    #[test]
    fn csv_must_be_named_and_preferred() {
        for header in ["text/csv", "Text/CSV; charset=utf-8", "text/csv, application/vnd.apache.parquet;q=0.9, */*"] {
            assert_eq!(AnswerFormat::new(Some(header)), AnswerFormat::Csv, "{header}");
        }
        for header in ["text/*", "text/csv;q=0", "text/csv, application/json"] {
            assert_eq!(AnswerFormat::new(Some(header)), AnswerFormat::Json, "{header}");
        }
        let both = "text/csv, application/vnd.apache.parquet";
        assert_eq!(AnswerFormat::new(Some(both)), AnswerFormat::Parquet);
    }

    #[test]
    fn nulls_must_be_asked_for_by_name() {
        for header in ["application/json; over-nothing=null", "text/html, Application/JSON;q=0.5;Over-Nothing = NULL"] {
            assert_eq!(AnswerFormat::new(Some(header)), AnswerFormat::JsonWithNulls, "{header}");
        }
        for header in ["application/json; over-nothing=0", "application/json; over-nothing", "*/*; over-nothing=null"] {
            assert_eq!(AnswerFormat::new(Some(header)), AnswerFormat::Json, "{header}");
        }
        let both = "application/json; over-nothing=null; q=0.1, application/vnd.apache.parquet";
        assert_eq!(AnswerFormat::new(Some(both)), AnswerFormat::Parquet);
    }
}
