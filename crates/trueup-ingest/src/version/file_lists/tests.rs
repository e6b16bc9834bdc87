use super::*;

fn file(name: usize) -> DataFile {
    DataFile { path: format!("events/{name}"), ..DataFile::default() }
}

/// The lists of a version, as they would be read, and how many entries were written for them.
#[derive(Default)]
struct Version {
    lists: Vec<FileList>,
    files: Vec<DataFile>,
    written: usize,
}

impl Version {
    /// Returns the version after this one, with other files.
    fn next(&self, files: Vec<DataFile>) -> Self {
        let NewLists { mut kept, files, unlisted } = plan(stored(&self.lists, &self.files), files);
        if unlisted > 0 {
            kept.push(FileList {
                file: DataFile { rows: unlisted as u64, ..DataFile::default() },
                removed: Vec::new(),
            });
        }
        let listed: u64 = kept.iter().map(FileList::files).sum();
        assert_eq!(listed, files.len() as u64);
        Self { lists: kept, files, written: self.written + unlisted }
    }

    fn numbers(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> =
            self.files.iter().map(|file| file.path.strip_prefix("events/").unwrap().parse().unwrap()).collect();
        numbers.sort_unstable();
        numbers
    }
}

#[test]
fn lists_stay_few_while_each_version_adds_a_file() {
    const FILES: usize = 1_000;
    let mut version = Version::default();
    for number in 0..FILES {
        let mut files = version.files.clone();
        files.push(file(number));
        version = version.next(files);
        assert!(version.lists.len() <= 11, "{number}: {}", version.lists.len());
        assert_eq!(version.numbers(), (0..=number).collect::<Vec<_>>());
    }
    // An entry is written again each time that its list doubles.
    assert!(version.written <= 11 * FILES, "{}", version.written);
}

#[test]
fn files_that_go_are_left_out_of_a_list_that_stays() {
    let first = Version::default().next((0..8).map(file).collect());
    assert_eq!(first.lists.len(), 1);
    // Files 2 and 5 are replaced by file 8.
    let second = first.next([0, 1, 3, 4, 6, 7, 8].map(file).to_vec());
    assert_eq!(second.lists.iter().map(|list| list.removed.clone()).collect::<Vec<_>>(), [vec![2, 5], vec![]]);
    assert_eq!((second.written, second.numbers()), (9, vec![0, 1, 3, 4, 6, 7, 8]));
    // What was removed stays removed.
    let third = second.next([1, 3, 4, 6, 7, 8].map(file).to_vec());
    assert_eq!(third.lists[0].removed, [0, 2, 5]);
    assert_eq!(third.written, 9);
    // Of a list of which less than half is left, the rest is written again.
    let fourth = third.next([1, 3, 4, 8].map(file).to_vec());
    assert_eq!((fourth.lists.len(), fourth.written), (1, 13));
    assert_eq!(fourth.numbers(), [1, 3, 4, 8]);
}

#[test]
fn a_version_with_the_same_files_has_the_same_lists() {
    let first = Version::default().next((0..5).map(file).collect());
    let second = first.next(first.files.clone());
    assert_eq!((&second.lists, &second.files, second.written), (&first.lists, &first.files, first.written));
    assert!(first.next(Vec::new()).lists.is_empty());
}
