//! The lists of the files of events and spend: which lists of the version before stay, and the lists that are new.
//!
//! A list holds the entries of many files and never changes. An ingest that adds or replaces a few files mostly writes
//! a short list, and in the manifest the numbers of the listed files that are gone. A list is at least twice as long as
//! the next one, and at least half of it is in use, so that a version has few lists. An entry is written again only
//! together with more than half as many other entries as its list has, or when less than half of its list is in use.

#[cfg(test)]
mod tests;

use super::VersionFiles;
use crate::IngestError;
use std::collections::{HashMap, HashSet};
use trueup_core::dataset::manifest::{DataFile, FileList, Manifest};

/// The lists of the version before.
#[derive(Default)]
pub(crate) struct StoredLists {
    events: Vec<StoredList>,
    spend: Vec<StoredList>,
}

/// A list, and the paths of the files that the version before has of it, each with its number in the list.
struct StoredList {
    list: FileList,
    paths: Vec<(u64, String)>,
}

/// The lists of a table in the new version.
struct NewLists {
    kept: Vec<FileList>,
    /// The files of the table, in the order of the lists.
    files: Vec<DataFile>,
    /// The number of files, at the end of `files`, that need a new list.
    unlisted: usize,
}

impl StoredLists {
    /// Returns the lists of a version; none if there is no version yet.
    pub(crate) fn of(manifest: Option<&Manifest>) -> Self {
        let lists = |lists: fn(&Manifest) -> (&[FileList], &[DataFile])| {
            manifest.map(lists).map(|(lists, files)| stored(lists, files)).unwrap_or_default()
        };
        Self {
            events: lists(|manifest| (&manifest.lists.events, &manifest.events)),
            spend: lists(|manifest| (&manifest.lists.spend, &manifest.spend)),
        }
    }

    /// Writes the lists that the files of the new version need, and puts all lists into the manifest.
    pub(crate) fn write(self, manifest: &mut Manifest, version: &mut VersionFiles) -> Result<(), IngestError> {
        let mut lists = 0;
        for (stored, new, files) in [
            (self.events, &mut manifest.lists.events, &mut manifest.events),
            (self.spend, &mut manifest.lists.spend, &mut manifest.spend),
        ] {
            let NewLists { kept, files: ordered, unlisted } = plan(stored, std::mem::take(files));
            (*new, *files) = (kept, ordered);
            if unlisted > 0 {
                new.push(version.write_list(&files[files.len() - unlisted..], lists)?);
                lists += 1;
            }
        }
        Ok(())
    }
}

fn stored(lists: &[FileList], files: &[DataFile]) -> Vec<StoredList> {
    let mut paths = files.iter().map(|file| file.path.clone());
    let stored = |list: &FileList| {
        let removed: HashSet<u64> = list.removed.iter().copied().collect();
        let numbers = (0..list.file.rows).filter(|number| !removed.contains(number));
        StoredList { list: list.clone(), paths: numbers.zip(&mut paths).collect() }
    };
    lists.iter().map(stored).collect()
}

/// Decides which lists stay, and orders the files of the new version: first those of these lists, then the others in
/// the given order.
fn plan(stored: Vec<StoredList>, files: Vec<DataFile>) -> NewLists {
    let mut left: HashMap<String, DataFile> = HashMap::with_capacity(files.len());
    let mut order = Vec::with_capacity(files.len());
    for file in files {
        order.push(file.path.clone());
        left.insert(file.path.clone(), file);
    }
    let mut kept: Vec<StoredList> = Vec::new();
    let mut unlisted = left.len() as u64;
    for StoredList { list, paths } in stored {
        let mut removed = list.removed;
        let (present, gone): (Vec<_>, Vec<_>) = paths.into_iter().partition(|(_, path)| left.contains_key(path));
        if (present.len() as u64).saturating_mul(2) < list.file.rows || present.is_empty() {
            continue;
        }
        removed.extend(gone.into_iter().map(|(number, _)| number));
        removed.sort_unstable();
        unlisted -= present.len() as u64;
        kept.push(StoredList { list: FileList { file: list.file, removed }, paths: present });
    }
    while unlisted > 0
        && let Some(last) = kept.pop_if(|last| last.list.file.rows < 2 * unlisted)
    {
        unlisted += last.paths.len() as u64;
    }
    let listed = kept.iter().flat_map(|list| &list.paths).filter_map(|(_, path)| left.remove(path));
    let mut files: Vec<DataFile> = listed.collect();
    let listed = files.len();
    files.extend(order.iter().filter_map(|path| left.remove(path)));
    let unlisted = files.len() - listed;
    NewLists { kept: kept.into_iter().map(|list| list.list).collect(), files, unlisted }
}
