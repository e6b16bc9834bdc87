//! Files of a dataset in a store are merged.

use crate::assert_sound;
use crate::case::{answers, with_store};
use trueup_core::Dataset;
use trueup_core::dataset::manifest_file;
use trueup_ingest::{Compact, Ingest};
use trueup_testkit::object_server::Fault;

#[test]
fn a_compaction_merges_objects() {
    with_store("compact::a_compaction_merges_objects", |store| {
        let url = store.url("acme");
        for (name, accounts) in [("x.csv", ["m", "n"]), ("y.csv", ["l", "o"]), ("z.csv", ["k", "p"])] {
            let row = |account| format!("{account},1,lead-originated,2025-01-31\n");
            store.write(name, &format!("account,opportunityId,type,date\n{}", accounts.map(row).concat()));
            Ingest::into(&url).events(store.dir().join(name)).run().unwrap();
        }
        let (expected, opened) = (answers(&url), Dataset::open(&url).unwrap());
        store.server().fail(|request| {
            (request.method == "PUT" && request.path.contains("/events/")).then_some(Fault::Status(403))
        });
        assert!(Compact::new(&url).run().unwrap_err().to_string().contains("cannot upload"));
        store.server().heal();
        assert_eq!((manifest_file::versions(&url).unwrap(), answers(&url)), (vec![1, 2, 3], expected.clone()));
        let summary = Compact::new(&url).run().unwrap();
        assert_eq!((summary.version, summary.merged.files, summary.written.files), (4, 3, 1));
        assert_eq!(answers(&url), expected);
        // A reader of the version before goes on.
        opened.read_footers(&trueup_core::Interrupt::default()).unwrap();
        assert_sound(&url, "");
        // The record of the failed compaction stays, because its upload might still arrive.
        assert!(store.leftovers("acme").iter().all(|name| name.starts_with(".trueup-pending-")));
        assert_eq!(Compact::new(&url).all().run().unwrap().version, 4);
    });
}
