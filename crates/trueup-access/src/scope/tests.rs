use super::{GrantedRows, LoginScope};
use crate::model::Organization;

fn names(reach: &LoginScope) -> Vec<(String, Vec<String>)> {
    let listed = reach.organizations();
    listed.iter().map(|one| (one.id().into(), one.accounts().accounts().map(Into::into).collect())).collect()
}

#[test]
fn a_deep_chain_is_walked_without_recursion() {
    let depth = 3_000;
    let node = |index: usize| match index {
        0 => Organization::new("n0"),
        _ => Organization::new(format!("n{index}")).under(format!("n{}", index - 1)),
    };
    let rows = GrantedRows {
        organizations: (0..depth).map(node).collect(),
        placements: vec![(format!("n{}", depth - 1), "deep".into()), ("n0".into(), "top".into())],
        accounts: Vec::new(),
    };
    let reach = LoginScope::assemble(&rows);
    assert_eq!(reach.resolve("n0").unwrap().accounts().collect::<Vec<_>>(), ["deep", "top"]);
    assert_eq!(reach.resolve("n1").unwrap().accounts().collect::<Vec<_>>(), ["deep"]);
    assert_eq!(reach.organizations().len(), depth);
}

#[test]
fn a_walk_over_a_cycle_ends() {
    let rows = GrantedRows {
        organizations: vec![Organization::new("a").under("b"), Organization::new("b").under("a")],
        placements: vec![("a".into(), "x".into()), ("b".into(), "y".into())],
        accounts: Vec::new(),
    };
    let both = vec!["x".to_owned(), "y".to_owned()];
    assert_eq!(names(&LoginScope::assemble(&rows)), [("a".into(), both.clone()), ("b".into(), both)]);
}
