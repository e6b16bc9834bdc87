use super::{STEPS, create_tables, migrate_by};
use crate::error::Error;
use rusqlite::Connection;
use std::path::Path;

fn run(connection: &mut Connection, steps: &[&str]) -> Result<(), Error> {
    migrate_by(connection, Path::new("d"), steps).map_err(|fault| fault.at(Path::new("d")))
}

/// Returns a new directory in a SQLite database in memory.
fn new_directory() -> Connection {
    let mut connection = Connection::open_in_memory().unwrap();
    create_tables(&mut connection, Path::new("d")).map_err(|fault| fault.at(Path::new("d"))).unwrap();
    connection
}

fn version(connection: &Connection) -> usize {
    let version: u32 = connection.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    version.try_into().unwrap()
}

#[test]
fn a_new_file_gets_all_steps_and_a_current_one_gets_none() {
    let mut connection = new_directory();
    assert_eq!(version(&connection), STEPS.len());
    connection.execute("INSERT INTO accounts (key) VALUES ('a-1')", []).unwrap();
    run(&mut connection, STEPS).unwrap();
    let accounts: i64 = connection.query_row("SELECT count(*) FROM accounts", [], |row| row.get(0)).unwrap();
    assert_eq!((accounts, version(&connection)), (1, STEPS.len()));
}

#[test]
fn an_earlier_file_gets_the_steps_it_lacks_and_keeps_its_rows() {
    let mut connection = new_directory();
    connection.execute("INSERT INTO accounts (key) VALUES ('a-1')", []).unwrap();
    let later = [STEPS, &["ALTER TABLE accounts ADD COLUMN note TEXT", "UPDATE accounts SET note = 'kept'"]].concat();
    run(&mut connection, &later).unwrap();
    let note: String = connection.query_row("SELECT note FROM accounts WHERE key = 'a-1'", [], |r| r.get(0)).unwrap();
    assert_eq!((note.as_str(), version(&connection)), ("kept", STEPS.len() + 2));
}

#[test]
fn a_step_that_fails_leaves_the_file_as_it_was() {
    let mut connection = new_directory();
    let later = [STEPS, &["ALTER TABLE accounts ADD COLUMN note TEXT", "no such statement"]].concat();
    assert!(run(&mut connection, &later).is_err());
    assert_eq!(version(&connection), STEPS.len());
    assert!(connection.prepare("SELECT note FROM accounts").is_err());
}

#[test]
fn a_later_file_is_refused() {
    let mut connection = new_directory();
    connection.pragma_update(None, "user_version", 99).unwrap();
    let error = run(&mut connection, STEPS).unwrap_err();
    assert!(matches!(error, Error::TooNew { found: 99, .. }), "{error}");
}

#[test]
fn a_database_of_another_program_is_refused() {
    let mut connection = Connection::open_in_memory().unwrap();
    connection.execute_batch("CREATE TABLE theirs (id INTEGER)").unwrap();
    assert!(matches!(run(&mut connection, STEPS), Err(Error::NotADirectory(_))));
    let mut connection = Connection::open_in_memory().unwrap();
    connection.pragma_update(None, "application_id", 7).unwrap();
    assert!(matches!(run(&mut connection, STEPS), Err(Error::NotADirectory(_))));
}
