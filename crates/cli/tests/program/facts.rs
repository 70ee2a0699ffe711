//! The verbs of `fulgurite facts`.

use std::io::{BufRead, BufReader};

use crate::fixture::{Run, TestDirectory};

const SCHEMA: &str = "\
schema src.1 {
predicate File : string
predicate Line : { file : File, number : nat } -> string
}
";

const LINES: &str = r#"[{"predicate":"src.Line.1","facts":[
{"key":{"file":{"key":"a.rs"},"number":1},"value":"fn main() {"},
{"key":{"file":{"key":"a.rs"},"number":2},"value":"}"},
{"key":{"file":{"key":"b.rs"},"number":1},"value":"mod a;"}]}]"#;

fn created() -> TestDirectory {
    let directory = TestDirectory::new();
    directory.file("src.angle", SCHEMA);
    directory.file("lines.json", LINES);
    done(&directory.run(&["facts", "create", "a.ful", "--schema", "src.angle"]));
    done(&directory.run(&["facts", "write", "a.ful", "lines.json", "--unit", "all"]));
    directory
}

fn done(run: &Run) -> Vec<String> {
    assert_eq!(run.code, 0, "{}", run.messages);
    String::from_utf8(run.data.clone()).unwrap().lines().map(str::to_owned).collect()
}

fn refused(run: &Run, code: i32, message: &str) {
    assert_eq!(run.code, code, "{}", run.messages);
    assert!(run.messages.contains(message), "{}", run.messages);
}

#[test]
fn facts_are_written_and_asked_and_kept_when_the_database_is_finished() {
    let directory = created();
    let query = ["facts", "query", "a.ful", "src.Line { file = \"a.rs\" }", "--recursive", "--profile"];
    let expected = [
        r#"{"id":1025,"key":{"file":{"id":1024,"key":"a.rs"},"number":1},"value":"fn main() {"}"#,
        r#"{"id":1026,"key":{"file":{"id":1024,"key":"a.rs"},"number":2},"value":"}"}"#,
    ];
    let answered = directory.run(&query);
    assert_eq!(done(&answered), expected);
    assert!(answered.messages.contains("src.Line.1: 2 facts searched"), "{}", answered.messages);
    done(&directory.run(&["facts", "finish", "a.ful"]));
    refused(&directory.run(&["facts", "finish", "a.ful"]), 1, "a.ful: the database is complete already");
    assert_eq!(done(&directory.run(&query)), expected);
    let stats = done(&directory.run(&["facts", "stats", "a.ful"]));
    assert_eq!(stats.len(), 5);
    assert!(stats[4].starts_with("5 facts, ") && stats[4].contains("; complete, "), "{}", stats[4]);
    assert_eq!(done(&directory.run(&["facts", "schema", "a.ful"]))[1], "schema src.1 {");
    refused(&directory.run(&["facts", "write", "a.ful", "lines.json"]), 1, "the database is complete");
    // An image of it answers too.
    done(&directory.run(&["image", "a.ful", "a.img"]));
    let of_image = ["facts", "query", "a.img", "src.Line { file = \"a.rs\" }", "--recursive"];
    assert_eq!(done(&directory.run(&of_image)), expected);
}

/// They said nothing.
#[test]
fn copies_of_facts_beside_a_writer_say_what_they_lack() {
    let directory = created();
    let writer = fulgurite::Database::open(directory.path("a.ful")).unwrap();
    let known = format!(" (pid {})", std::process::id());
    for arguments in [&["backup", "a.ful", "b.ful"][..], &["image", "a.ful", "b.image"], &["dump", "a.ful"]] {
        directory.run(&[&["facts"], arguments].concat()).warns_of_writer(&known);
    }
    writer.close().unwrap();
}

#[test]
fn a_query_is_continued_where_it_stopped() {
    let directory = created();
    let mut found = Vec::new();
    let mut continuation: Option<String> = None;
    for _ in 0..5 {
        let mut arguments = vec!["facts", "query", "a.ful", "src.Line _", "--limit", "1"];
        if let Some(text) = &continuation {
            arguments.extend(["--continue", text]);
        }
        let page = directory.run(&arguments);
        found.extend(done(&page));
        continuation = page.messages.split("--continue ").nth(1).map(|text| text.trim().to_owned());
        if continuation.is_none() {
            break;
        }
    }
    assert_eq!(found, done(&directory.run(&["facts", "query", "a.ful", "src.Line _"])));
    refused(&directory.run(&["facts", "query", "a.ful", "src.File _", "--limit", "0"]), 2, "--limit");
    refused(&directory.run(&["facts", "write", "a.ful", "-", "-"]), 1, "once only");
    let other = ["facts", "query", "a.ful", "src.File _", "--continue", "00"];
    refused(&directory.run(&other), 1, "cannot be continued");
    refused(&directory.run(&["facts", "query", "a.ful", "src.File _", "--continue", "x"]), 1, "--continue takes");
}

/// Nothing was printed before all results were found.
#[test]
fn results_are_printed_when_they_are_found_and_a_reader_that_leaves_ends_the_query() {
    let directory = TestDirectory::new();
    directory.file("src.angle", SCHEMA);
    done(&directory.run(&["facts", "create", "a.ful", "--schema", "src.angle"]));
    let files: Vec<String> = (0..300).map(|number| format!(r#"{{"key":"{number}.rs"}}"#)).collect();
    let facts = format!(r#"[{{"predicate":"src.File.1","facts":[{}]}}]"#, files.join(","));
    done(&directory.run_with_input(&["facts", "write", "a.ful", "-"], facts.as_bytes()));
    // Eight billion results.
    let query = "{ A, B, C, D } where A = src.File _; B = src.File _; C = src.File _; D = src.File _";
    let mut asking = directory.spawn(&["facts", "query", "a.ful", query]);
    let mut line = String::new();
    BufReader::new(asking.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with(r#"{"tuplefield0":"#), "{line}");
    // The pipe is closed.
    assert_eq!(asking.wait().unwrap().code(), Some(0));

    let found = directory.run(&["facts", "query", "a.ful", query, "--memory-max", "1"]);
    refused(&found, 1, "needs more than 1.0 MiB of memory");
    assert!(found.messages.contains("--memory-max"), "{}", found.messages);
    let printed = found.text().lines().count();
    assert!(printed > 1_000 && found.text().ends_with("}\n"), "{printed} results before it");
}

#[test]
fn a_database_on_another_one_hides_what_has_changed() {
    let directory = created();
    refused(&directory.run(&["facts", "create", "b.ful", "--base", "a.ful"]), 1, "incomplete");
    // The same as `finish`.
    done(&directory.run(&["facts", "complete", "a.ful"]));
    done(&directory.run(&["facts", "create", "b.ful", "--base", "a.ful", "--hide", "all"]));
    let files = ["facts", "query", "b.ful", "src.File _", "--base", "a.ful"];
    assert_eq!(done(&directory.run(&files)), [""; 0]);
    let changed = LINES.replace("b.rs", "c.rs");
    let written = directory.run_with_input(&["facts", "write", "b.ful", "-", "--base", "a.ful"], changed.as_bytes());
    done(&written);
    assert!(written.messages.starts_with("standard input: "), "{}", written.messages);
    assert_eq!(done(&directory.run(&files)).len(), 2);
    refused(&directory.run(&["facts", "query", "b.ful", "src.File _"]), 1, "`--base FILE`");
}

#[test]
fn mistakes_have_places_and_leave_nothing_behind() {
    let directory = created();
    let before = done(&directory.run(&["facts", "query", "a.ful", "src.Line _"]));
    directory.file("wrong.angle", "schema src.1 {\npredicate File : strin\n}\n");
    let created = directory.run(&["facts", "create", "wrong.ful", "--schema", "wrong.angle"]);
    refused(&created, 1, "wrong.angle:2:18");
    directory.file("empty.angle", "# later\n");
    refused(&directory.run(&["facts", "create", "wrong.ful", "--schema", "empty.angle"]), 1, "there is no predicate");
    assert!(!directory.path("wrong.ful").exists());
    for (input, message) in [
        (
            LINES.replace("\"number\":2", "\"number\":\"2\""),
            ": line 3, column 1, batch 1, fact 2: $.key.number: expected nat",
        ),
        (LINES[..LINES.len() - 4].to_owned(), "line 4, column"),
        (String::new(), "line 1, column 0"),
    ] {
        let written = directory.run_with_input(&["facts", "write", "a.ful", "-"], input.as_bytes());
        refused(&written, 1, message);
    }
    for (query, message) in
        [("src.Fil _", "did you mean `src.File`"), ("src.Line { file = 7 }", "query:1:"), ("src.File", "query:1:")]
    {
        refused(&directory.run(&["facts", "query", "a.ful", query]), 1, message);
    }
    assert_eq!(done(&directory.run(&["facts", "query", "a.ful", "src.Line _"])), before);
    refused(&directory.run(&["facts", "query", "none.ful", "src.File _"]), 1, "fulgurite facts create");
    refused(&directory.run(&["put", "a.ful", "facts.meta", "x", "y"]), 1, "database of facts");
    directory.file("text.ful", "not a database");
    refused(&directory.run(&["facts", "query", "text.ful", "src.File _"]), 3, "text.ful");
}

#[test]
fn damage_of_pages_is_named_once_with_what_to_do() {
    let directory = created();
    let mut bytes = directory.read("a.ful");
    // A meta that is not needed: the other one is as new.
    bytes[40] = !bytes[40];
    directory.file("a.ful", bytes);
    let message = directory.run(&["facts", "validate", "a.ful"]).fails(3);
    for part in ["a.ful: ", "restore a backup"] {
        assert_eq!(message.matches(part).count(), 1, "{message}");
    }
}

#[test]
fn a_database_in_lmdb_needs_a_program_with_lmdb() {
    let directory = created();
    let arguments = ["facts", "create", "b.ful", "--schema", "src.angle", "--backend", "lmdb"];
    let run = directory.run(&arguments);
    if fulgurite_facts::Backend::Lmdb.is_built() {
        done(&run);
        let before = directory.names();
        // The engine's verbs refuse it, and leave its lock file.
        for verb in ["stats", "check"] {
            refused(&directory.run(&[verb, "b.ful"]), 3, "not a Fulgurite database");
        }
        refused(&directory.run(&["facts", "image", "b.ful", "c"]), 1, "images of LMDB databases are not supported");
        assert_eq!(directory.names(), before);
        refused(&directory.run(&arguments), 1, "there is a database of facts already");
    } else {
        refused(&run, 1, "build it with the feature `lmdb`: `cargo install --path crates/cli --features lmdb`");
        assert!(!directory.path("b.ful").exists());
    }
}

#[test]
fn a_byte_order_mark_before_schemas_facts_queries_and_events_is_passed_over() {
    let directory = TestDirectory::new();
    let marked = |text: &str| format!("\u{feff}{text}");
    directory.file("src.angle", marked(SCHEMA));
    directory.file("lines.json", marked(LINES));
    done(&directory.run(&["facts", "create", "a.ful", "--schema", "src.angle"]));
    done(&directory.run(&["facts", "write", "a.ful", "lines.json"]));
    assert_eq!(done(&directory.run(&["facts", "query", "a.ful", &marked("src.File _")])).len(), 2);
    let event = marked(r#"{"stream":"s","type":"t","data":1}"#);
    done(&directory.run_with_input(&["events", "append", "e.ful", "--create", "-"], event.as_bytes()));
    assert_eq!(done(&directory.run(&["events", "read", "e.ful"])).len(), 1);
}

#[test]
fn a_file_of_another_kind_is_named_by_its_tables() {
    let directory = TestDirectory::new();
    directory.file("src.angle", SCHEMA);
    let event = r#"{"stream":"s","type":"t","data":1}"#;
    done(&directory.run_with_input(&["events", "append", "e.ful", "--create", "-"], event.as_bytes()));
    let expected = "not one of facts; it has tables from `events.by_tag` to `events.types`; choose another file";
    refused(&directory.run(&["facts", "create", "e.ful", "--schema", "src.angle"]), 1, expected);
    refused(&directory.run(&["facts", "query", "e.ful", "src.File _"]), 1, expected);
}

#[test]
fn a_time_that_is_out_of_range_names_the_range() {
    let directory = created();
    for time in ["inf", "1e300", "0", "-1", "nan"] {
        let timeout = format!("--timeout={time}");
        let run = directory.run(&["facts", "query", "a.ful", "src.File _", &timeout]);
        refused(&run, 2, "not from 0.01 to 1e19 seconds");
    }
}

/// A line of each of two files, and one of `b.rs` that was written for `a.rs`.
const OWNED: &str = r#"[
{"predicate":"src.Line.1","unit":"a.rs","facts":[
{"key":{"file":{"key":"a.rs"},"number":1},"value":"fn main() {"},
{"key":{"file":{"key":"b.rs"},"number":7},"value":"mod c;"}]},
{"predicate":"src.Line.1","unit":"b.rs","facts":[
{"key":{"file":{"key":"b.rs"},"number":1},"value":"mod a;"}]}]"#;

fn owned() -> TestDirectory {
    let directory = TestDirectory::new();
    directory.file("src.angle", SCHEMA);
    directory.file("owned.json", OWNED);
    done(&directory.run(&["facts", "create", "a.ful", "--schema", "src.angle"]));
    done(&directory.run(&["facts", "write", "a.ful", "owned.json"]));
    directory
}

#[test]
fn units_own_facts_and_those_that_they_refer_to_once_the_database_is_complete() {
    let directory = owned();
    let units = |arguments: &[&str]| directory.run(&[&["facts", "units"], arguments, &["--format", "csv"]].concat());
    let before = units(&["a.ful"]);
    assert_eq!(done(&before), ["unit,owned,needed", "a.rs,,", "b.rs,,"]);
    assert!(before.messages.contains("run `fulgurite facts finish`"), "{}", before.messages);
    for verb in
        [&["facts", "owners", "a.ful", "1024"][..], &["facts", "query", "a.ful", "src.File _", "--slice", "a.rs"]]
    {
        refused(&directory.run(verb), 1, "a.ful: facts get their owners when the database is completed");
    }
    done(&directory.run(&["facts", "finish", "a.ful"]));
    // Both own the file `b.rs`: their lines refer to it.
    assert_eq!(done(&units(&["a.ful"])), ["unit,owned,needed", "a.rs,4,3", "b.rs,2,1"]);
    let file = done(&directory.run(&["facts", "query", "a.ful", "src.File \"b.rs\""]));
    let id = file[0].split([':', ',']).nth(1).expect("an id");
    let owners = done(&directory.run(&["facts", "owners", "a.ful", id, "--format", "ndjson"]));
    assert_eq!(owners, [format!(r#"{{"id":{id},"predicate":"src.File.1","owners":"a.rs | b.rs"}}"#)]);
    refused(&directory.run(&["facts", "owners", "a.ful", "7"]), 1, "there is no fact 7");
}

#[test]
fn a_slice_has_the_facts_of_some_units() {
    let directory = owned();
    done(&directory.run(&["facts", "finish", "a.ful"]));
    let lines = |arguments: &[&str]| {
        let query = ["facts", "query", "a.ful", "V where src.Line _ -> V"];
        let mut lines = done(&directory.run(&[&query, arguments].concat()));
        lines.sort();
        lines
    };
    assert_eq!(lines(&["--slice", "b.rs"]), [r#""mod a;""#]);
    assert_eq!(lines(&["--slice-without", "b.rs"]), [r#""fn main() {""#, r#""mod c;""#]);
    assert_eq!(lines(&["--slice", "a.rs", "--slice", "b.rs"]), lines(&[]));
    let dumped = directory.run(&["facts", "dump", "a.ful", "--slice", "b.rs"]).ok();
    assert!(dumped.contains("mod a;") && !dumped.contains("mod c;") && !dumped.contains("a.rs"), "{dumped}");
    // What a slice has is whole: it is written to another database.
    done(&directory.run(&["facts", "create", "b.ful", "--schema", "src.angle"]));
    directory.run_with_input(&["facts", "write", "b.ful", "-"], dumped.as_bytes()).ok();
    let stats = done(&directory.run(&["facts", "stats", "a.ful", "--slice", "b.rs", "--format", "csv"]));
    assert_eq!(stats, done(&directory.run(&["facts", "stats", "b.ful", "--format", "csv"])));
    let slice = |arguments: &[&str]| directory.run(&[&["facts", "stats", "a.ful"], arguments].concat());
    refused(&slice(&["--slice", "c.rs"]), 1, "no unit `c.rs` owns facts; `fulgurite facts units` lists the units");
    refused(&slice(&["--slice", "a.rs", "--slice-without", "b.rs"]), 2, "--slice");
}

/// Lines of two files, and whether both files have one of the same number.
const DERIVING: &str = "\
schema src.1 {
predicate File : string
predicate Line : { file : File, number : nat } -> string
predicate Both : nat stored N where Line { file = \"a.rs\", number = N }; Line { file = \"b.rs\", number = N }
}
";

#[test]
fn a_dump_that_is_read_back_has_the_same_facts_units_and_owners() {
    let directory = TestDirectory::new();
    directory.file("src.angle", DERIVING);
    // Two units own one line, the second one by its number; no unit owns the last one.
    let facts = r#"[
{"predicate":"src.Line.1","unit":"a \"1\"","facts":[
{"id":1,"key":{"file":{"key":"a.rs"},"number":1},"value":"x"}, {"key":{"file":{"key":"a.rs"},"number":2},"value":"y"}]},
{"predicate":"src.Line.1","unit":"b.rs","facts":[{"key":{"file":{"key":"b.rs"},"number":1},"value":"z"}, {"id":1}]},
{"predicate":"src.Line.1","facts":[{"key":{"file":{"key":"c.rs"},"number":1},"value":"u"}]}]"#;
    directory.file("facts.json", facts);
    for name in ["a.ful", "b.ful"] {
        done(&directory.run(&["facts", "create", name, "--schema", "src.angle"]));
    }
    done(&directory.run(&["facts", "write", "a.ful", "facts.json"]));
    done(&directory.run(&["facts", "derive", "a.ful"]));
    let dumped = directory.run(&["facts", "dump", "a.ful"]).ok();
    for part in [r#""unit":"a \"1\"","facts""#, r#""unit":"b.rs","facts":["#, r#"{"derivations":["#] {
        assert!(dumped.contains(part), "{part} in {dumped}");
    }
    done(&directory.run_with_input(&["facts", "write", "b.ful", "-"], dumped.as_bytes()));
    assert_eq!(directory.run(&["facts", "dump", "b.ful"]).ok(), dumped);
    let answers = |name: &str| {
        done(&directory.run(&["facts", "finish", name]));
        // Completing it changes no claims.
        assert_eq!(directory.run(&["facts", "dump", name]).ok(), dumped);
        let stats = done(&directory.run(&["facts", "stats", name, "--format", "csv"]));
        let ids: Vec<String> = (1024..1024 + dumped.matches("\"key\"").count()).map(|id| id.to_string()).collect();
        let mut owners = vec!["facts", "owners", name, "--format", "csv"];
        owners.extend(ids.iter().map(String::as_str));
        let units = done(&directory.run(&["facts", "units", name, "--format", "csv"]));
        (stats, done(&directory.run(&owners)), units)
    };
    let (before, after) = (answers("a.ful"), answers("b.ful"));
    assert_eq!(before, after);
    assert!(before.1.iter().any(|row| row.contains(" & ")), "{before:?}");
}

/// An incremental database on `a.ful`, which hides `b.rs` and has a new line of it, and one without a unit.
fn stacked() -> TestDirectory {
    let directory = owned();
    let unowned = |path: &str, number: u32| {
        let key = format!(r#"{{"file":{{"key":"{path}"}},"number":{number}}}"#);
        format!(r#"{{"predicate":"src.Line.1","facts":[{{"key":{key},"value":"u"}}]}}"#)
    };
    let write = |arguments: &[&str], batches: &str| {
        done(&directory.run_with_input(&[&["facts", "write"], arguments].concat(), batches.as_bytes()));
    };
    write(&["a.ful", "-"], &format!("[{}]", unowned("c.rs", 1)));
    done(&directory.run(&["facts", "finish", "a.ful"]));
    done(&directory.run(&["facts", "create", "next.ful", "--base", "a.ful", "--hide", "b.rs"]));
    let changed = r#"{"predicate":"src.Line.1","unit":"b.rs","facts":[
{"key":{"file":{"key":"d.rs"},"number":2},"value":"mod b;"}]}"#;
    write(&["next.ful", "-", "--base", "a.ful"], &format!("[{changed},{}]", unowned("e.rs", 1)));
    done(&directory.run(&["facts", "finish", "next.ful", "--base", "a.ful"]));
    directory
}

#[test]
fn a_dump_of_a_stacked_database_is_read_back_with_its_owners() {
    let directory = stacked();
    let owners = |arguments: &[&str], ids: &[u64]| -> Vec<String> {
        let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
        let ids = ids.iter().map(String::as_str);
        let verb = ["facts", "owners", "--format", "ndjson"].into_iter().chain(arguments.iter().copied()).chain(ids);
        let rows = done(&directory.run(&verb.collect::<Vec<_>>()));
        // Ids differ: the copy has no gaps.
        rows.iter().map(|row| row.split_once(',').unwrap().1.to_owned()).collect()
    };
    let dumped = directory.run(&["facts", "dump", "next.ful", "--base", "a.ful"]).ok();
    let ids: Vec<u64> = dumped
        .lines()
        .filter(|line| line.contains("\"key\""))
        .map(|line| line.split([':', ',']).nth(1).unwrap().parse().unwrap())
        .collect();
    // The line that `b.rs` had is hidden, the others are there.
    assert_eq!(dumped.matches("\"value\"").count(), 5, "{dumped}");
    assert!(!dumped.contains("mod a;") && dumped.contains("mod b;"), "{dumped}");
    done(&directory.run(&["facts", "create", "copy.ful", "--schema", "src.angle"]));
    done(&directory.run_with_input(&["facts", "write", "copy.ful", "-"], dumped.as_bytes()));
    done(&directory.run(&["facts", "finish", "copy.ful"]));
    let before = owners(&["next.ful", "--base", "a.ful"], &ids);
    let copied: Vec<u64> = (1024..).take(ids.len()).collect();
    assert_eq!(owners(&["copy.ful"], &copied), before);
    let owned_by = |unit: &str| before.iter().filter(|row| row.contains(&format!(r#""owners":"{unit}""#))).count();
    assert_eq!((owned_by("a.rs"), owned_by("b.rs"), before.len()), (4, 2, 10), "{before:?}");
}

#[test]
fn a_dump_with_a_reference_to_a_hidden_fact_is_refused() {
    let directory = owned();
    // No unit owns this line, and `a.rs` alone its file.
    let unowned = r#"[{"predicate":"src.Line.1","facts":[{"key":{"file":{"key":"a.rs"},"number":9},"value":"u"}]}]"#;
    done(&directory.run_with_input(&["facts", "write", "a.ful", "-"], unowned.as_bytes()));
    done(&directory.run(&["facts", "finish", "a.ful"]));
    let expected = "of src.Line.1 cannot be dumped: it refers to fact 1024, which a slice or an incremental database";
    refused(&directory.run(&["facts", "dump", "a.ful", "--slice", "b.rs"]), 1, expected);
    done(&directory.run(&["facts", "create", "next.ful", "--base", "a.ful", "--hide", "a.rs"]));
    refused(&directory.run(&["facts", "dump", "next.ful", "--base", "a.ful"]), 1, expected);
    done(&directory.run(&["facts", "dump", "a.ful"]));
}

#[test]
fn a_derivation_that_is_wrong_has_a_place_and_nothing_is_written() {
    let directory = created();
    for (element, message) in [
        (r#"{"derivations":[[1024,1025],[1024,9]]}"#, "batch 1, derivation 2: $: there is no fact 9 before this one"),
        (r#"{"derivations":[7]}"#, "batch 1, derivation 1: $: expected the ids of a fact"),
        (r#"{"derivations":[[]]}"#, "batch 1, derivation 1: $: expected the ids of a fact"),
        (r#"{"derivations":[["x"]]}"#, "is not an id of a fact"),
        (r#"{"derivations":[],"unit":"a"}"#, "must be the only member of an element"),
        (r#"{"derivations":7}"#, "an array of derivations"),
    ] {
        let input = format!("[{element}]");
        refused(&directory.run_with_input(&["facts", "write", "a.ful", "-"], input.as_bytes()), 1, message);
    }
    assert!(!directory.run(&["facts", "dump", "a.ful"]).ok().contains("derivations"));
}

#[test]
fn an_incremental_database_keeps_the_facts_of_some_units() {
    let directory = owned();
    done(&directory.run(&["facts", "finish", "a.ful"]));
    let create =
        |arguments: &[&str]| directory.run(&[&["facts", "create", "next.ful", "--base", "a.ful"], arguments].concat());
    for option in ["--keep", "--hide"] {
        let run = create(&[option, "c.rs"]);
        refused(&run, 1, "no unit `c.rs` owns facts; `fulgurite facts units` lists the units");
        assert!(!run.messages.contains("Snapshot"), "{}", run.messages);
    }
    refused(&create(&["--keep", "a.rs", "--hide", "b.rs"]), 2, "--keep");
    assert!(!directory.path("next.ful").exists());
    done(&create(&["--keep", "b.rs"]));
    let query = ["facts", "query", "next.ful", "V where src.Line _ -> V", "--base", "a.ful"];
    assert_eq!(done(&directory.run(&query)), [r#""mod a;""#]);
    done(&directory.run(&["facts", "finish", "next.ful", "--base", "a.ful"]));
    let units = directory.run(&["facts", "units", "next.ful", "--base", "a.ful", "--format", "csv"]);
    // Nobody else owns the file `b.rs` now.
    assert_eq!(done(&units), ["unit,owned,needed", "a.rs,0,0", "b.rs,2,2"]);
}

#[test]
fn a_derivation_that_was_stopped_is_repeated_before_the_database_is_finished() {
    let directory = TestDirectory::new();
    let derived = "predicate P : nat stored M where E X | P X; M = X + 1; M < 20";
    directory.file("s.angle", format!("schema s.1 {{\npredicate E : nat\n{derived}\n}}\n"));
    directory.file("e.json", r#"[{"predicate":"s.E.1","facts":[{"key":1}]}]"#);
    done(&directory.run(&["facts", "create", "a.ful", "--schema", "s.angle"]));
    done(&directory.run(&["facts", "write", "a.ful", "e.json"]));
    refused(&directory.run(&["facts", "derive", "a.ful", "--rounds-max", "3"]), 1, "had new facts in each of 4 rounds");
    let warning = "s.P.1 was not derived since facts were written";
    refused(&directory.run(&["facts", "query", "a.ful", "s.P _"]), 0, warning);
    refused(&directory.run(&["facts", "dump", "a.ful"]), 0, warning);
    let message = "not derived since facts were written: s.P.1;";
    refused(&directory.run(&["facts", "finish", "a.ful"]), 1, message);
    done(&directory.run(&["facts", "backup", "a.ful", "b.ful"]));
    done(&directory.run(&["facts", "finish", "b.ful", "--allow-underived"]));
    refused(&directory.run(&["facts", "query", "b.ful", "s.P _"]), 0, "not derived before the database was completed");
    done(&directory.run(&["facts", "derive", "a.ful"]));
    done(&directory.run(&["facts", "finish", "a.ful"]));
    let query = directory.run(&["facts", "query", "a.ful", "s.P _"]);
    assert!(!query.messages.contains("derived"), "{}", query.messages);
    assert_eq!(done(&query).len(), 18);
}

#[test]
fn a_completion_that_was_stopped_is_ended_by_finish() {
    let directory = created();
    let store = fulgurite_facts::Store::open(directory.path("a.ful")).unwrap();
    store.complete(|_, _| Err(fulgurite_facts::Error::Program("stopped".into()))).unwrap_err();
    store.close().unwrap();
    let message = "`fulgurite facts finish`";
    refused(&directory.run(&["facts", "write", "a.ful", "lines.json"]), 1, message);
    refused(&directory.run(&["facts", "create", "b.ful", "--base", "a.ful"]), 1, message);
    refused(&directory.run(&["facts", "image", "a.ful", "a.img"]), 1, message);
    done(&directory.run(&["facts", "finish", "a.ful"]));
}

#[test]
fn what_has_nothing_to_show_says_so() {
    let directory = TestDirectory::new();
    directory.file("src.angle", SCHEMA);
    done(&directory.run(&["facts", "create", "a.ful", "--schema", "src.angle"]));
    refused(&directory.run(&["facts", "derive", "a.ful"]), 0, "the schema stores no derived predicate");
    refused(&directory.run(&["facts", "units", "a.ful"]), 0, "no unit owns facts");
    // A file that may be a database, and cannot be read.
    directory.file("cut.ful", &directory.read("a.ful")[..8000]);
    refused(&directory.run(&["facts", "list"]), 0, "cut.ful: ");
}
