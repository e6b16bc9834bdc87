//! The options for the name, the logo and the comment of a report.

use crate::exit::Failure;
use std::fs;
use std::path::{Path, PathBuf};
use trueup_report::{Branding, BrandingFault};

/// A name, a logo and a comment on a report.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct BrandingArgs {
    /// Name of whom the report is from, which stands at its top
    #[arg(long, value_name = "NAME")]
    pub(super) from: Option<String>,

    /// Image above a report in HTML: a PNG, JPEG, GIF, WebP or SVG of at most 512 KiB
    #[arg(long, value_name = "FILE")]
    pub(super) logo: Option<PathBuf>,

    /// File with a comment, which comes first: paragraphs, lists (`- item`), headings (`# heading`), **strong** and
    /// *emphasized* texts; everything else is shown as it is, also HTML
    #[arg(long, value_name = "FILE")]
    pub(super) comment: Option<PathBuf>,
}

impl BrandingArgs {
    /// Reads the files.
    pub(super) fn read(&self) -> Result<Branding, Failure> {
        let mut branding = self.from.iter().fold(Branding::default(), Branding::name);
        let refused = |path: &Path, fault: BrandingFault| Failure::request(format!("`{}`: {fault}", path.display()));
        if let Some(path) = &self.logo {
            let bytes = fs::read(path).map_err(|error| Failure::path(path, &error))?;
            branding = branding.logo(&bytes).map_err(|fault| refused(path, fault))?;
        }
        if let Some(path) = &self.comment {
            let text = fs::read_to_string(path).map_err(|error| Failure::path(path, &error))?;
            branding = branding.comment(text).map_err(|fault| refused(path, fault))?;
        }
        Ok(branding)
    }
}
