//! Databases of typed facts: writing JSON, queries over stacks, pages, concurrent writers, completion.

mod derived;
mod recursion;
mod strata;
mod validated;

use std::sync::Barrier;
use std::thread;

use fulgurite_facts::{Error, Expansion, FactDatabase, FactReader, PageFlow, QueryLimits, Schema, Store};
use tempfile::TempDir;

const SCHEMA: &str = r#"
schema src.1 {
predicate File : string
predicate Line : { file : File, number : nat } -> string
predicate Uses : { from : File, to : set File }
predicate Long : { file : File, text : string } { F, T } where Line { F, _ } -> T
}
"#;

fn schema() -> Schema {
    Schema::parse("src.angle", SCHEMA).expect("the schema is right")
}

fn create(directory: &TempDir, name: &str) -> FactDatabase {
    FactDatabase::create(directory.path().join(name), schema()).expect("there is no such file")
}

fn stacked(directory: &TempDir, name: &str, base: &FactDatabase, hidden: &[&str]) -> FactDatabase {
    let options = Store::options().base(base.store()).hide_units(hidden.iter().copied());
    FactDatabase::create_with(options, directory.path().join(name), schema()).expect("the base is complete")
}

/// A batch with a line for each of some numbers, of a file.
fn lines(file: &str, numbers: std::ops::Range<u64>) -> String {
    let facts: Vec<String> = numbers
        .map(|number| {
            format!(r#"{{"key":{{"file":{{"key":"{file}"}},"number":{number}}},"value":"line {number} of {file}"}}"#)
        })
        .collect();
    format!(r#"[{{"predicate":"src.Line.1","facts":[{}]}}]"#, facts.join(","))
}

fn write(database: &FactDatabase, json: &str, unit: Option<&str>) -> usize {
    database.write_json(json.as_bytes(), unit).expect("the batch is right").new
}

/// The results of all pages of a query, in their order.
fn pages(reader: &FactReader, query: &str, per_page: usize) -> Vec<String> {
    let limits = QueryLimits { results_max: Some(per_page), ..QueryLimits::default() };
    let mut results = Vec::new();
    let mut page = reader.query(query, &limits).expect("the query is right");
    loop {
        assert!(page.results.len() <= per_page);
        results.extend(print(reader, &page));
        let Some(continuation) = page.continuation else { return results };
        page = reader.continue_query(query, &limits, &continuation).expect("the continuation is of this query");
    }
}

fn print(reader: &FactReader, page: &fulgurite_facts::Page) -> Vec<String> {
    let printed = reader.print(page, Expansion::RECURSIVE).expect("stored facts print");
    printed.iter().map(ToString::to_string).collect()
}

fn all(reader: &FactReader, query: &str) -> Vec<String> {
    print(reader, &reader.query(query, &QueryLimits::default()).expect("the query is right"))
}

#[test]
fn a_query_of_a_stack_returns_the_same_in_pages_as_at_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let base = create(&directory, "base.ful");
    write(&base, &lines("m.rs", 0..40), None);
    base.complete().expect("it is incomplete");
    let middle = stacked(&directory, "middle.ful", &base, &[]);
    write(&middle, &lines("a.rs", 0..30), None);
    write(&middle, &lines("m.rs", 20..60), None);
    middle.complete().expect("it is incomplete");
    let top = stacked(&directory, "top.ful", &middle, &[]);
    write(&top, &lines("m.rs", 50..70), None);
    write(&top, &lines("z.rs", 0..5), None);
    let reader = top.reader().expect("it can be read");
    for (query, count) in [
        ("src.Line _", 70 + 30 + 5),
        ("src.Line { file = \"m.rs\" }", 70),
        ("N where src.Line { file = \"m.rs\", number = N }; N > 65", 4),
        ("src.File _", 3),
        ("T where src.Long { file = \"z.rs\", text = T }", 5),
    ] {
        let at_once = all(&reader, query);
        assert_eq!(at_once.len(), count, "{query}");
        for per_page in [1, 7, 1_000] {
            assert_eq!(pages(&reader, query, per_page), at_once, "{query}, pages of {per_page}");
        }
    }
}

#[test]
fn references_are_right_whatever_other_writers_do_meanwhile() {
    let directory = tempfile::tempdir().expect("a directory");
    let database = create(&directory, "a.ful");
    let start = Barrier::new(4);
    thread::scope(|scope| {
        for writer in 0..4 {
            let (database, start) = (&database, &start);
            scope.spawn(move || {
                start.wait();
                for round in 0..20 {
                    // Files that all writers define, and one of its own. A set is stored in the order of ids.
                    let uses = format!(
                        r#"[{{"predicate":"src.Uses.1","facts":[{{"key":{{"from":{{"key":"own {writer} {round}"}},
                        "to":[{{"key":"z {round}"}},{{"key":"own {writer} {round}"}},{{"key":"a {round}"}}]}}}}]}}]"#
                    );
                    write(database, &uses, None);
                }
            });
        }
    });
    let reader = database.reader().expect("it can be read");
    assert_eq!(all(&reader, "src.File _").len(), 20 * (4 + 2));
    for writer in 0..4 {
        for round in 0..20 {
            let own = format!("own {writer} {round}");
            let query = format!("F.* where src.Uses {{ from = \"{own}\", to = S }}; F = elements S");
            let mut found = all(&reader, &query);
            found.sort();
            assert_eq!(found, [format!("\"a {round}\""), format!("\"{own}\""), format!("\"z {round}\"")]);
        }
    }
}

#[test]
fn a_changed_file_is_written_again_in_a_database_that_hides_the_old_facts() {
    let directory = tempfile::tempdir().expect("a directory");
    let base = create(&directory, "base.ful");
    write(&base, &lines("a.rs", 0..3), Some("a.rs"));
    write(&base, &lines("b.rs", 0..2), Some("b.rs"));
    base.complete().expect("it is incomplete");
    let changed = stacked(&directory, "changed.ful", &base, &["a.rs"]);
    write(&changed, &lines("a.rs", 7..8), Some("a.rs"));
    let numbers = "N where src.Line { file = F, number = N }; F = src.File \"a.rs\"";
    assert_eq!(all(&base.reader().expect("it can be read"), numbers), ["0", "1", "2"]);
    let reader = changed.reader().expect("it can be read");
    assert_eq!(all(&reader, numbers), ["7"]);
    assert_eq!(all(&reader, "src.Line { file = \"b.rs\" }").len(), 2);
}

#[test]
fn a_batch_names_the_unit_that_owns_its_facts_before_or_after_them() {
    let directory = tempfile::tempdir().expect("a directory");
    let base = create(&directory, "base.ful");
    let line = |file: &str| format!(r#"{{"key":{{"file":{{"key":"{file}"}},"number":1}},"value":"text"}}"#);
    let batches = format!(
        r#"[{{"predicate":"src.Line.1","facts":[{}],"unit":"a"}},
        {{"unit":"b","predicate":"src.Line.1","facts":[{}]}},
        {{"predicate":"src.Line.1","facts":[{}],"unit":null}}]"#,
        line("a.rs"),
        line("b.rs"),
        line("c.rs")
    );
    write(&base, &batches, Some("rest"));
    base.complete().expect("it is incomplete");
    for (hidden, left) in [("a", ["b.rs", "c.rs"]), ("b", ["a.rs", "c.rs"]), ("rest", ["a.rs", "b.rs"])] {
        let top = stacked(&directory, &format!("without {hidden}.ful"), &base, &[hidden]);
        let mut files = all(&top.reader().expect("it can be read"), "F.* where src.Line { file = F }");
        files.sort();
        assert_eq!(files, left.map(|file| format!("\"{file}\"")), "without {hidden}");
    }
}

#[test]
fn a_batch_refers_to_facts_that_it_has_numbered_or_that_were_there_before() {
    let directory = tempfile::tempdir().expect("a directory");
    let database = create(&directory, "a.ful");
    let file = |fact: &str| format!(r#"{{"predicate":"src.File.1","facts":[{fact}]}}"#);
    let line = |file: &str| {
        let fact = format!(r#"{{"key":{{"file":{file},"number":1}},"value":"text"}}"#);
        format!(r#"{{"predicate":"src.Line.1","facts":[{fact}]}}"#)
    };
    // New facts get the ids 1024 and 1025 in the batch, and perhaps others when it is committed.
    for reference in ["1024", r#"{"id":1025}"#] {
        let batch = format!("[{},{},{}]", file(r#"{"key":"a.rs"}"#), file(r#"{"key":"b.rs"}"#), line(reference));
        let error = database.write_json(batch.as_bytes(), None).expect_err("the batch did not number them");
        assert!(error.to_string().contains("$.key.file: there is no fact 102"), "{error}");
    }
    write(&database, &format!("[{}]", file(r#"{"key":"a.rs"}"#)), None);
    write(&database, &format!("[{}]", line("1024")), None);
    // The numbers of a batch come before the ids of the database.
    write(&database, &format!("[{},{}]", file(r#"{"id":1024,"key":"b.rs"}"#), line("1024")), None);
    let reader = database.reader().expect("it can be read");
    assert_eq!(all(&reader, "F.* where src.Line { file = F }"), [r#""a.rs""#, r#""b.rs""#]);
}

#[test]
fn a_key_with_another_value_is_named_with_its_place_and_both_values() {
    let directory = tempfile::tempdir().expect("a directory");
    let database = create(&directory, "a.ful");
    write(&database, &lines("a.rs", 0..3), None);
    let other = lines("a.rs", 1..3).replace("line 2 of", "row 2 of");
    let error = database.write_json(other.as_bytes(), None).expect_err("line 2 has another value").to_string();
    for part in ["batch 1, fact 2: $: src.Line.1", "\"line 2 of a.rs\", not \"row 2 of a.rs\""] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_batch_with_a_mistake_writes_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let database = create(&directory, "a.ful");
    let good = lines("a.rs", 0..3);
    let late = good.replace("\"number\":2", "\"number\":\"two\"");
    let cut = &good[..good.len() - 9];
    let twice = good.replace("\"number\":2", "\"number\":2,\"number\":3");
    for wrong in [
        late.as_str(),
        cut,
        twice.as_str(),
        "",
        "{}",
        "[{}]",
        r#"[{"predicate":"src.Fil.1","facts":[]}]"#,
        r#"[{"predicate":"src.File.1"}]"#,
        r#"[{"predicate":"src.File.1","facts":[{"key":"a"}],"facts":[]}]"#,
        r#"[{"predicate":"src.File.1","predicate":"src.Line.1","facts":[]}]"#,
        r#"[{"predicate":"src.File.1","facts":[{"key":"a"}],"unit":1}]"#,
    ] {
        match database.write_json(wrong.as_bytes(), None) {
            Err(Error::Json { place, message }) => assert!(!place.is_empty() && !message.is_empty(), "{wrong}"),
            other => panic!("{wrong}: {other:?}"),
        }
    }
    assert_eq!(all(&database.reader().expect("it can be read"), "src.File _"), [""; 0]);
    assert_eq!(write(&database, &good, None), 4);
}

#[test]
fn a_database_keeps_its_schema_and_refuses_another_one_on_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.ful");
    create(&directory, "a.ful").close().expect("nothing fails");
    assert!(matches!(FactDatabase::create(&path, schema()), Err(Error::Exists { .. })));
    let database = FactDatabase::open(&path).expect("it was created");
    assert_eq!(database.schema().hash(), schema().hash());
    write(&database, &lines("a.rs", 0..1), None);
    database.complete().expect("it is incomplete");
    let other = Schema::parse("other.angle", "schema other.1 { predicate A : nat }").expect("the schema is right");
    let options = Store::options().base(database.store());
    let refused = FactDatabase::create_with(options, directory.path().join("b.ful"), other);
    assert!(matches!(refused, Err(Error::OtherSchema { .. })));
    assert!(!directory.path().join("b.ful").exists());
}

#[test]
fn a_store_without_a_schema_is_not_opened_as_a_database() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("a.ful");
    Store::create(&path).and_then(Store::close).expect("there is no such file");
    assert!(matches!(FactDatabase::open(&path), Err(Error::NoSchema { .. })));
    assert!(matches!(FactDatabase::create(&path, schema()), Err(Error::Exists { .. })));
}

#[test]
fn derived_facts_of_a_later_page_have_other_ids_than_facts_that_were_written_meanwhile() {
    let directory = tempfile::tempdir().expect("a directory");
    let database = create(&directory, "a.ful");
    write(&database, &lines("a.rs", 0..3), None);
    let limits = QueryLimits { results_max: Some(1), ..QueryLimits::default() };
    let query = "src.Long _";
    let first = database.reader().expect("it can be read").query(query, &limits).expect("the query is right");
    write(&database, &lines("b.rs", 0..40), None);
    let reader = database.reader().expect("it can be read");
    let continuation = first.continuation.expect("there is more");
    match reader.continue_query(query, &limits, &continuation) {
        Ok(page) => {
            let id = page.results[0].fact.expect("a fact");
            assert!(id >= reader.snapshot().first_free_id(), "{id} is a stored fact");
        }
        // The plan is another one.
        Err(Error::Continuation(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn hostile_queries_end() {
    let directory = tempfile::tempdir().expect("a directory");
    let reader = create(&directory, "a.ful").reader().expect("it can be read");
    let nested = format!("{}1{}", "[".repeat(90), "]".repeat(90));
    assert_eq!(all(&reader, &nested).len(), 1);
    // Nothing gives X and Y a value, whatever the order.
    let mut unordered = "X = (Y : nat); Y = X".to_owned();
    for _ in 0..40 {
        unordered = format!("src.File \"a\"; !({unordered})");
    }
    let refused = reader.query(&format!("1 where {unordered}"), &QueryLimits::default());
    assert!(matches!(refused, Err(Error::Angle(_))));
    let forever = QueryLimits { time_max: Some(std::time::Duration::MAX), ..QueryLimits::default() };
    assert!(reader.query("src.File _", &forever).is_ok());
}

#[test]
fn a_visitor_ends_a_page_after_any_result_or_before_it() {
    let directory = tempfile::tempdir().expect("a directory");
    let database = create(&directory, "a.ful");
    write(&database, &lines("a.rs", 0..30), None);
    let reader = database.reader().expect("it can be read");
    for query in
        ["src.Line _", "T where src.Long { file = \"a.rs\", text = T }", "N where src.Line { number = N }; N > 3"]
    {
        let whole: Vec<Vec<u8>> = {
            let page = reader.query(query, &QueryLimits::default()).expect("the query is right");
            page.results.into_iter().map(|result| result.bytes).collect()
        };
        let (mut found, mut continuation, mut refuses) = (Vec::new(), None::<Vec<u8>>, false);
        loop {
            let mut of_page = 0;
            let page = reader.query_each(query, &QueryLimits::default(), continuation.as_deref(), &mut |result| {
                // Every other page ends before its third result, the others after it.
                if of_page == 2 && refuses {
                    return Ok(PageFlow::EndBefore);
                }
                of_page += 1;
                found.push(result.result.bytes);
                Ok(if of_page == 3 { PageFlow::EndAfter } else { PageFlow::Continue })
            });
            let page = page.expect("the query is right");
            assert!(page.results.is_empty() && !page.timed_out);
            assert!(!page.searched.is_empty());
            refuses = !refuses;
            let Some(next) = page.continuation else { break };
            continuation = Some(next);
        }
        assert_eq!(found, whole, "{query}");
        let failed = reader.query_each(query, &QueryLimits::default(), None, &mut |_| Err(Error::Cancelled));
        assert!(matches!(failed, Err(Error::Cancelled)), "{failed:?}");
    }
}

#[test]
fn a_sliced_reader_answers_from_the_facts_of_the_slice() {
    let directory = tempfile::tempdir().expect("a directory");
    let database = create(&directory, "a.ful");
    write(&database, &lines("a.rs", 0..3), Some("a.rs"));
    write(&database, &lines("b.rs", 0..2), Some("b.rs"));
    database.complete().expect("it is completed");
    let sliced = |units: &[&str]| {
        let reader = database.reader().expect("it is open");
        let slice = reader.snapshot().slice_of(units).expect("there are such units");
        reader.sliced(slice)
    };
    let counts = |units: &[&str]| {
        let reader = sliced(units);
        // Pages of a slice are continued within it.
        ["src.Line _", "src.File _", "T where src.Long { text = T }"].map(|query| pages(&reader, query, 1).len())
    };
    assert_eq!(counts(&["a.rs"]), [3, 1, 3]);
    assert_eq!(counts(&["b.rs"]), [2, 1, 2]);
    assert_eq!(counts(&["a.rs", "b.rs"]), [5, 2, 5]);
    let printed = pages(&sliced(&["b.rs"]), "F where src.File F", 5);
    assert_eq!(printed, [r#""b.rs""#]);
}
