use super::*;
use crate::mapping::canonical::{CanonicalTable, stage_names};
use crate::mapping::template::template_columns;

#[test]
fn every_file_is_read() {
    for (name, text) in FILES {
        let product: Result<Product, _> = toml::from_str(text);
        assert!(product.is_ok(), "{name}: {product:?}");
    }
    assert_eq!(products().len(), FILES.len());
}

#[test]
fn what_an_export_says_is_of_its_table() {
    for export in products().iter().flat_map(|product| &product.export) {
        let what = &export.what;
        let is_events = export.table == ExportTable::Events;
        assert!(!export.known_by.is_empty() && export.known_by.iter().all(|names| names.len() > 1), "{what}");
        assert_eq!(is_events, export.customer.is_some(), "{what}");
        assert_eq!(is_events, export.stage.is_some() == export.stages.is_empty(), "{what}");
        let stages = export.stages.iter().map(|line| &line.stage).chain(&export.stage);
        assert!(stages.into_iter().all(|stage| stage_names().contains(&stage.as_str())), "{what}");
        let table = if is_events { CanonicalTable::Events } else { CanonicalTable::Spend };
        for line in &export.lines {
            let sources = [line.from.is_some(), line.value.is_some(), line.template.is_some()];
            assert_eq!(sources.into_iter().filter(|is| *is).count(), 1, "{what}: {}", line.name);
            assert!(table.columns().is_none_or(|names| names.contains(&line.name.as_str())), "{what}: {}", line.name);
            if let Some(template) = &line.template {
                assert!(template_columns(template).next().is_some(), "{what}: {template}");
            }
        }
        // One key can be written once.
        for asks in [|ask: &RowsQuestion| !ask.only.is_empty(), |ask: &RowsQuestion| !ask.unless.is_empty()] {
            assert!(export.ask.iter().filter(|ask| asks(ask)).count() <= 1, "{what}");
        }
    }
}
