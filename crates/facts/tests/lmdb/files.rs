//! Files of LMDB: names and units of any length, damage, queries.

use fulgurite::Database;
use fulgurite_facts::{Error, Expansion, FactDatabase, QueryLimits, Schema, Store};

use crate::support::{Directory, add, complete, id, options, predicate};

#[test]
fn units_and_properties_have_names_of_any_length() {
    let directory = Directory::new();
    let store = directory.store("a.ful");
    let names: Vec<String> = [509, 510, 511, 4096].iter().map(|length| "n".repeat(*length)).collect();
    for name in &names {
        let mut batch = store.batch().expect("incomplete");
        let fact = batch.define(predicate(0), name.as_bytes(), b"").expect("new");
        batch.own(name, [fact]);
        batch.commit(None).expect("a commit");
        store.set_property(name, name.as_bytes()).expect("incomplete");
    }
    complete(&store);
    let snapshot = store.snapshot().expect("a snapshot");
    let mut units = snapshot.units().expect("sound");
    units.sort();
    assert_eq!(units, names);
    for name in &names {
        assert_eq!(store.property(name).expect("sound").as_deref(), Some(name.as_bytes()));
        let slice = snapshot.slice_of(&[name]).expect("a slice");
        let shown = names.iter().zip(1024..).filter(|(_, number)| slice.has(id(*number)));
        assert_eq!(shown.map(|(name, _)| name).collect::<Vec<_>>(), [name]);
    }
    assert_eq!(store.property(&"n".repeat(600)).expect("sound"), None);
    assert_eq!(store.properties().expect("sound").len(), names.len());
}

#[test]
fn files_that_are_none_of_facts_are_refused_and_kept() {
    let directory = Directory::new();
    let (text, other) = (directory.path("text"), directory.path("other.ful"));
    std::fs::write(&text, "no database").expect("a file");
    assert!(matches!(options().create(&text), Err(Error::Exists { .. })));
    assert_eq!(std::fs::read(&text).expect("a file"), b"no database");
    Database::create(&other).expect("a database").close().expect("it closes");
    assert!(matches!(options().create(&other), Err(Error::Exists { .. })));
    // The engine does not take a file of LMDB for its own.
    let store = directory.store("a.ful");
    add(&store, &[(0, b"a", b"")]);
    store.close().expect("it closes");
    assert!(Database::options().open(directory.path("a.ful")).is_err());
    assert!(Store::options().create(directory.path("a.ful")).is_err());
    // A file that is cut off after LMDB's number is an error, and no panic.
    let whole = std::fs::read(directory.path("a.ful")).expect("a file");
    std::fs::write(directory.path("cut.ful"), &whole[..100]).expect("a file");
    assert!(matches!(Store::open(directory.path("cut.ful")), Err(Error::Lmdb(_) | Error::NotFacts { .. })));
}

#[test]
fn database_is_written_queried_and_opened_for_reading() {
    let directory = Directory::new();
    let path = directory.path("code.ful");
    let schema = "schema src.1 { predicate File : string  predicate Line : { file : File, number : nat } }";
    let schema = Schema::parse("src.angle", schema).expect("a schema");
    let database = FactDatabase::create_with(options(), &path, schema).expect("a new database");
    let lines: Vec<String> = (1..=700)
        .map(|n| format!(r#"{{ "key": {{ "file": {{ "key": "{}.rs" }}, "number": {n} }} }}"#, n % 7))
        .collect();
    let batch = format!(r#"[{{ "predicate": "src.Line.1", "facts": [{}] }}]"#, lines.join(","));
    assert_eq!(database.write_json(batch.as_bytes(), None).expect("facts").new, 707);
    database.complete().expect("it is completed");
    assert_eq!(database.validate().expect("sound").facts, 707);
    database.close().expect("it closes");

    assert!(FactDatabase::schema_at(&path).expect("a schema").find("src.Line").is_some());
    let read_only = Store::options().engine(Database::options().read_only(true));
    let database = FactDatabase::open_with(read_only, &path).expect("it opens");
    let reader = database.reader().expect("a reader");
    let query = r#"N where src.Line { file = "3.rs", number = N }"#;
    let limits = QueryLimits { results_max: Some(9), ..QueryLimits::default() };
    let mut page = reader.query(query, &limits).expect("a page");
    let mut found = Vec::new();
    loop {
        found.extend(reader.print(&page, Expansion::FLAT).expect("it prints").iter().map(|json| json.as_u64()));
        let Some(continuation) = page.continuation.take() else { break };
        page = reader.continue_query(query, &limits, &continuation).expect("a page");
    }
    assert_eq!(found, (0..100).map(|n| Some(7 * n + 3)).collect::<Vec<_>>());
    assert!(matches!(database.store().set_property("a", b""), Err(Error::WrongState { .. })));
}
