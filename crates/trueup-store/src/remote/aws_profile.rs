//! The files in which the tools of AWS keep credentials and settings, by profile. The client of S3 reads only the
//! environment, and asks the machine for its identity.

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use std::collections::HashMap;
use std::env;
use std::fs;
use std::io;
use std::path::PathBuf;

/// The settings of a profile that matter here, by the names in the files.
const SETTINGS: [(&str, AmazonS3ConfigKey); 3] = [
    ("region", AmazonS3ConfigKey::Region),
    ("endpoint_url", AmazonS3ConfigKey::Endpoint),
    ("aws_session_token", AmazonS3ConfigKey::Token),
];

/// Variables of the environment: if one of them is set, credentials do not come from a profile.
const OTHER_CREDENTIALS: [&str; 3] = ["AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_SKIP_SIGNATURE"];

/// Adds the settings and credentials of the profile that `AWS_PROFILE` names, or of the default one. The environment
/// has precedence. It is an error if the environment has no credentials, and `AWS_PROFILE` names a profile without
/// keys.
pub(super) fn with_profile(mut builder: AmazonS3Builder) -> io::Result<AmazonS3Builder> {
    let named = env::var("AWS_PROFILE").ok().filter(|name| !name.is_empty());
    let name = named.as_deref().unwrap_or("default");
    let mut profile = read("AWS_CONFIG_FILE", "config", &[name, &format!("profile {name}")])?;
    profile.extend(read("AWS_SHARED_CREDENTIALS_FILE", "credentials", &[name])?);
    let has_other = OTHER_CREDENTIALS.iter().any(|variable| env::var_os(variable).is_some());
    let keys = (profile.get("aws_access_key_id"), profile.get("aws_secret_access_key"));
    let uses_keys = !has_other && matches!(keys, (Some(_), Some(_)));
    if let (true, (Some(id), Some(secret))) = (uses_keys, keys) {
        builder = builder.with_access_key_id(id).with_secret_access_key(secret);
    } else if let (false, Some(name)) = (has_other, &named) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!(
                "the profile `{name}` of AWS_PROFILE has no `aws_access_key_id` and `aws_secret_access_key`; if it signs in by other \
                 means, run `eval \"$(aws configure export-credentials --profile {name} --format env)\"` first"
            ),
        ));
    }
    for (setting, key) in SETTINGS {
        let is_wanted = key != AmazonS3ConfigKey::Token || uses_keys;
        if let Some(value) = profile.get(setting).filter(|_| is_wanted && builder.get_config_value(&key).is_none()) {
            builder = builder.with_config(key, value);
        }
    }
    Ok(builder)
}

/// Reads the sections of a file of the tools; nothing if there is no such file.
fn read(variable: &str, name: &str, sections: &[&str]) -> io::Result<HashMap<String, String>> {
    let path = match env::var_os(variable) {
        Some(path) => PathBuf::from(path),
        None => match env::home_dir() {
            Some(home) => home.join(".aws").join(name),
            None => return Ok(HashMap::new()),
        },
    };
    match fs::read_to_string(&path) {
        Ok(text) => Ok(settings(&text, sections)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(HashMap::new()),
        Err(error) => Err(io::Error::new(error.kind(), format!("cannot read `{}`: {error}", path.display()))),
    }
}

/// Returns the settings of sections. Indented lines are settings of a setting, which are not needed.
fn settings(text: &str, sections: &[&str]) -> HashMap<String, String> {
    let mut is_wanted = false;
    let mut found = HashMap::new();
    for line in text.lines().filter(|line| !line.starts_with([' ', '\t', '#', ';'])) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.split(']').next().unwrap_or(section);
            let section = section.split_whitespace().collect::<Vec<_>>().join(" ");
            is_wanted = sections.contains(&section.as_str());
        } else if let (true, Some((name, value))) = (is_wanted, line.split_once('=')) {
            found.insert(name.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::settings;

    #[test]
    fn a_profile_has_the_settings_of_its_sections() {
        let text = "# comment\n[default]\nregion=eu-west-1\n\n[ profile  work ]\naws_access_key_id = A\n s3 =\n  endpoint_url = x\n\
                    Region = us-east-2 \n[other]\nregion = z\n";
        let work = settings(text, &["work", "profile work"]);
        assert_eq!((work.len(), work["aws_access_key_id"].as_str(), work["region"].as_str()), (2, "A", "us-east-2"));
        assert_eq!(settings(text, &["default"])["region"], "eu-west-1");
        assert!(settings(text, &["absent"]).is_empty());
    }
}
