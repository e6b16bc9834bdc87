//! Resources: the dataset, and each field.

use crate::cell::cut;
use crate::{Fault, MAX_CHARACTERS, Toolbox};
use serde_json::json;
use trueup::{Execution, Shown};

/// The address of the dataset.
const DATASET: &str = "trueup://dataset";
/// What the address of a field begins with.
const FIELDS: &str = "trueup://fields/";

/// A resource, or a template of the addresses of several.
#[derive(Debug)]
pub struct Resource {
    /// The address; of a template, with `{name}` for the part that differs.
    pub uri: &'static str,
    /// The name.
    pub name: &'static str,
    /// What it holds.
    pub description: &'static str,
}

impl Resource {
    /// The type of the text of each resource.
    pub const MIME_TYPE: &str = "text/plain";

    /// The resource of the dataset.
    pub const DATASET: Self = Self {
        uri: DATASET,
        name: "dataset",
        description: "Accounts, days and version of the dataset: what `overview` answers.",
    };

    /// The template of the resources of fields.
    pub const FIELD: Self = Self {
        uri: "trueup://fields/{name}",
        name: "field",
        description: "A metric or a dimension: definition, formula, unit, how it adds up.",
    };
}

impl Toolbox {
    /// Reads a resource.
    ///
    /// # Errors
    /// There is no such resource, or the dataset fails.
    pub fn read(&self, uri: &str, execution: &Execution) -> Result<String, Fault> {
        if uri == DATASET {
            return Ok(self.call("overview", json!({}), execution)?.text);
        }
        match uri.strip_prefix(FIELDS) {
            Some(name) => {
                Ok(cut(&self.call("find_fields", json!({ "names": [name] }), execution)?.text, MAX_CHARACTERS))
            }
            None => Err(Fault::new(
                "unknown-resource",
                format!("there is no resource `{}`", Shown(uri)),
                format!("the resources are {DATASET} and {FIELDS}NAME"),
            )),
        }
    }
}
