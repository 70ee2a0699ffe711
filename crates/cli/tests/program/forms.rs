//! What is exported in any form, and imported from it, is the same bytes; what is wrong with an input is named with its
//! place, and then nothing is loaded.

use crate::fixture::TestDirectory;

const FORMS: [&str; 4] = ["ndjson", "csv", "tsv", "binary"];

/// Tables with entries that are hard to write: options for their creation, and NDJSON.
const TABLES: [(&[&str], &str); 5] = [
    (
        &[],
        r#"{"key":"","value":""}
{"key":"a,\"b\"\tc\\t","value":"line\r\nline\n"}
{"key":{"hex":"00ff"},"value":{"hex":"fffe"}}
{"key":"hex:00","value":"hex:zz"}
{"key":"é","value":{"an":"object","of":[1, 2.50]}}
{"key":7,"value":null}
"#,
    ),
    (
        &["--key", "u64", "--value", "string"],
        "{\"key\":18446744073709551615,\"value\":\"hex:\"}\n{\"key\":\"0\",\"value\":\" \"}\n",
    ),
    (
        &["--key", "(i32,string,bytes)", "--value", "(f64,option<bytes[2]>,option<option<bool>>)"],
        r#"{"key":[-7,"a\u0000b, \"c\"",{"hex":"00"}],"value":[1e300,{"hex":"0102"},{"some":null}]}
{"key":[-8,"",{"hex":""}],"value":["NaN",null,null]}
{"key":"(8, x, ff)","value":[-0.0,null,{"some":true}]}
"#,
    ),
    (
        &["--multimap", "--key", "string", "--value", "u64"],
        "{\"key\":\"bank\",\"value\":2}\n{\"key\":\"bank\",\"value\":1}\n{\"key\":\"\",\"value\":3}\n{\"key\":\"a\\u0000\",\"value\":4}\n",
    ),
    (
        &["--multimap", "--key", "u32", "--value", "bytes"],
        "{\"key\":2,\"value\":{\"hex\":\"00ff\"}}\n{\"key\":2,\"value\":\"\"}\n{\"key\":1,\"value\":\"ff\"}\n",
    ),
];

#[test]
fn every_form_gives_back_the_same_bytes() {
    for (options, input) in TABLES {
        let place = TestDirectory::new();
        let create = |database: &str, more: &[&str]| {
            let arguments = [&["import", database, "t", "--create"], options, more].concat();
            place.run_with_input(&arguments, input.as_bytes()).ok();
        };
        create("first.ful", &[]);
        place.run(&["export", "first.ful", "t", "first.bin"]).ok();
        for form in FORMS {
            let exported = place.run(&["export", "first.ful", "t", "--format", form]);
            assert_eq!((exported.code, exported.messages.as_str()), (0, ""), "{form}");
            let database = format!("{form}.ful");
            let arguments = [&["import", &database, "t", "--create", "--format", form], options].concat();
            place.run_with_input(&arguments, &exported.data).ok();
            place.run(&["export", &database, "t", &format!("{form}.bin")]).ok();
            assert_eq!(place.read(&format!("{form}.bin")), place.read("first.bin"), "{form} of {options:?}");
            assert_eq!(place.run(&["export", &database, "t"]).ok(), place.run(&["export", "first.ful", "t"]).ok());
        }
        let lines = input.lines().count().to_string();
        assert_eq!(place.run(&["count", "first.ful", "t"]).ok().trim(), lines);
    }
}

#[test]
fn the_binary_form_is_lengths_and_bytes() {
    let place = TestDirectory::new().with_fruit("a.ful");
    let exported = place.run(&["export", "a.ful", "fruit", "--format", "binary", "--prefix", "a"]);
    assert_eq!(exported.data, b"\x05\0\0\0\x03\0\0\0applered");
}

#[test]
fn a_form_is_known_by_the_files_ending() {
    let place = TestDirectory::new().with_fruit("a.ful");
    for (name, begins) in [("f.csv", "key,value\n"), ("f.tsv", "key\tvalue\n"), ("f.ndjson", "{\"key\":\"apple\"")] {
        place.run(&["export", "a.ful", "fruit", name]).ok();
        assert!(place.read(name).starts_with(begins.as_bytes()), "{name}");
        place.run(&["import", "b.ful", name, name, "--create"]).ok();
        assert_eq!(place.run(&["count", "b.ful", name]).ok(), "2\n");
    }
}

#[test]
fn an_export_replaces_no_file() {
    let place = TestDirectory::new().with_fruit("a.ful");
    place.file("there.csv", "mine");
    let message = place.run(&["export", "a.ful", "fruit", "there.csv"]).fails(1);
    assert!(message.starts_with("there.csv: a file is there already; choose another name"), "{message}");
    assert_eq!(place.read("there.csv"), b"mine");
}

#[test]
fn an_export_has_its_name_when_it_is_complete_and_removes_what_a_killed_one_left() {
    let place = TestDirectory::new().with_fruit("a.ful");
    place.file("f.csv-unfinished", "key,value\n");
    place.run(&["export", "a.ful", "fruit", "f.csv"]).ok();
    assert_eq!(place.names(), ["a.ful", "f.csv"]);
    let running = std::fs::File::create(place.path("g.csv-unfinished")).unwrap();
    running.lock().unwrap();
    let message = place.run(&["export", "a.ful", "fruit", "g.csv"]).fails(1);
    assert!(message.starts_with("g.csv: another process writes it; "), "{message}");
    assert_eq!(place.names(), ["a.ful", "f.csv", "g.csv-unfinished"]);
}

#[test]
fn a_name_that_promises_another_format_is_refused() {
    let place = TestDirectory::new().with_fruit("a.ful");
    let message = place.run(&["export", "a.ful", "fruit", "f.csv.gz"]).fails(1);
    assert!(message.starts_with("f.csv.gz: the file would not be compressed; "), "{message}");
    place.run(&["export", "a.ful", "fruit", "f.csv.gz", "--format", "csv"]).ok();
    if cfg!(feature = "rdf") {
        place.run(&["rdf", "update", "s.ful", "INSERT DATA { <x:a> <x:p> 1 }", "--create"]).ok();
        let message = place.run(&["rdf", "dump", "s.ful", "o.nq.gz"]).fails(1);
        assert!(message.starts_with("o.nq.gz: the file would not be compressed; "), "{message}");
        let message = place.run(&["rdf", "dump", "s.ful", "o.foo"]).fails(1);
        assert!(message.starts_with("o.foo: the extension is not that of an RDF format; give --format"), "{message}");
        assert_eq!(place.names(), ["a.ful", "f.csv.gz", "s.ful"]);
    }
}

#[test]
fn an_import_replaces_the_values_of_keys_that_are_there() {
    let place = TestDirectory::new().with_fruit("a.ful");
    let input = "key,value\ncherry,black\nbanana,green\ncherry,dark\n";
    let run = place.run_with_input(&["import", "a.ful", "fruit", "--format", "csv"], input.as_bytes());
    assert!(run.messages.starts_with("2 entries imported in "), "{}", run.messages);
    assert!(
        run.messages.ends_with("(1 new, 1 replaced; 1 key was repeated, the last value was kept)\n"),
        "{}",
        run.messages
    );
    assert_eq!(place.run(&["get", "a.ful", "fruit", "apple", "banana", "cherry"]).ok(), "red\ngreen\ndark\n");
}

#[test]
fn fields_are_taken_by_name_or_the_whole_record_is_kept() {
    let place = TestDirectory::new();
    let json = "{\"id\": 7, \"name\": \"x\", \"n\": 1.50}\n";
    place.file("in.ndjson", json);
    place.file("in.csv", "name,id,n\n\"x, y\",7,1.50\n");
    place.run(&["import", "a.ful", "whole", "in.ndjson", "--create", "--key", "u64", "--key-field", "id"]).ok();
    assert_eq!(place.run(&["get", "a.ful", "whole", "7"]).ok(), json);
    let names = ["--key-field", "id", "--value-field", "n", "--value", "f64"];
    for name in ["in.ndjson", "in.csv"] {
        place.run(&[&["import", "a.ful", name, name, "--create"], &names[..]].concat()).ok();
        assert_eq!(place.run(&["get", "a.ful", name, "7"]).ok(), "1.5\n");
    }
    place.run(&["import", "a.ful", "rows", "in.csv", "--create", "--key-field", "id"]).ok();
    assert_eq!(place.run(&["get", "a.ful", "rows", "7"]).ok(), "{\"name\":\"x, y\",\"id\":\"7\",\"n\":\"1.50\"}\n");
    place.file("bare.tsv", "a\t1\nb\t2\n");
    place.run(&["import", "a.ful", "bare", "bare.tsv", "--create", "--no-header"]).ok();
    assert_eq!(place.run(&["get", "a.ful", "bare", "b"]).ok(), "2\n");
}

#[test]
fn a_wrong_input_is_named_with_its_place_and_loads_nothing() {
    let good = "{\"key\":1,\"value\":\"x\"}\n";
    let json = |line: &str| format!("{good}\n{line}\n{good}");
    let table = ["--create", "--key", "u64", "--value", "string"];
    for (form, input, expected) in [
        (
            "ndjson",
            json("{\"key\":2,"),
            "line 3: no JSON object: the text ends before the value is complete at column 9",
        ),
        ("ndjson", json("[2]"), "line 3: no JSON object: expected an object, found an array"),
        ("ndjson", json("{\"key\":2}"), "line 3: no member `value` (there are: key); name one with --value-field"),
        (
            "ndjson",
            json("{\"key\":-2,\"value\":\"\"}"),
            "line 3: key: not a u64: `-2`: expected a whole number from 0 to 18446744073709551615",
        ),
        ("ndjson", json("{\"key\":2,\"value\":7}"), "line 3: value: expected a string, found 7"),
        ("ndjson", json("{\"key\":2,\"key\":3,\"value\":\"\"}"), "line 3: duplicate member `key`"),
        ("ndjson", json("{\"key\":2,\"value\":\"\",\"x\":1}"), "line 3: `x` would be lost"),
        ("csv", "key,value\n1,a\n2,b,c\n".into(), "line 3: expected 2 fields, found 3"),
        ("csv", "key,value\n1,\"a\n\n2,b\n".into(), "line 2: a quote is opened in this row and never closed"),
        ("csv", "id,value\n1,a\n".into(), "line 1: no column `key` (there are: id, value); name one with --key-field"),
        ("csv", "key,value,more\n".into(), "line 1: column `more` would be lost"),
        ("csv", "key,key,value\n".into(), "line 1: two columns are called `key`"),
        ("csv", String::new(), "line 1: no header; the first line names the columns"),
        ("tsv", "key\tvalue\n1\ta\\qb\n".into(), "line 2: after \\ comes one of t, n, r and \\"),
        (
            "binary",
            "\x08\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\x01x\x08\0".into(),
            "byte 17: the input ends in the middle of a record",
        ),
        (
            "binary",
            "\x08\0\0\0\x01\0\0\0\0\0\0\x01x".into(),
            "byte 0: the record's key should have 8 bytes, and the input ends after 5",
        ),
        ("binary", "\x01\0\0\0\x00\0\0\0\0".into(), "byte 0: the key: not a u64: cut short"),
    ] {
        let place = TestDirectory::new();
        let run =
            place.run_with_input(&[&["import", "a.ful", "t", "--format", form], &table[..]].concat(), input.as_bytes());
        let message = run.fails(1);
        let expected = format!("nothing was loaded: standard input: {expected}");
        assert!(message.starts_with(&expected), "{message}\n{expected}");
        assert_eq!(place.names(), [""; 0], "{form} {input}");
        // Where there is a database before, it stays as it was.
        place.run(&["put", "a.ful", "u", "k", "v", "--create"]).ok();
        let before = place.run(&["tables", "a.ful"]).ok();
        place
            .run_with_input(&[&["import", "a.ful", "t", "--format", form], &table[..]].concat(), input.as_bytes())
            .fails(1);
        assert_eq!(place.run(&["tables", "a.ful"]).ok(), before);
    }
}

#[test]
fn text_that_is_not_utf_8_is_named_with_its_place() {
    let place = TestDirectory::new();
    let run = place.run_with_input(&["import", "a.ful", "t", "--create"], b"{\"key\":\"a\",\"value\":\"\xFF\"}\n");
    let message = run.fails(1);
    assert!(message.contains("line 1: not UTF-8 at byte 21 of the line; "), "{message}");
    let run = place.run_with_input(&["import", "a.ful", "t", "--create"], b"\x1f\x8b\x08\0\n");
    let message = run.fails(1);
    assert!(message.contains("the input is compressed; unpack it, as with `gzip -dc "), "{message}");
}

#[test]
fn a_wrong_key_type_is_refused() {
    let place = TestDirectory::new();
    let message = place.run(&["put", "a.ful", "t", "7", "x", "--create", "--key", "u64", "--value", "u8"]).fails(1);
    assert_eq!(message, "value `x`: not a u8: `x`: expected a whole number from 0 to 255");
    assert_eq!(place.names(), [""; 0]);
    place.run(&["put", "a.ful", "t", "7", "8", "--create", "--key", "u64", "--value", "u8"]).ok();
    let message = place.run(&["get", "a.ful", "t", "7", "--key", "string"]).fails(1);
    assert_eq!(message, "table `t`: the table's keys are u64, not string; omit --key, or give --key hex");
    assert_eq!(
        place.run(&["get", "a.ful", "t", "seven"]).fails(1),
        "key `seven`: not a u64: `seven`: expected a whole number from 0 to 18446744073709551615"
    );
    let odd = place.run(&["get", "a.ful", "t", "123", "--key", "hex"]).fails(1);
    assert_eq!(odd, "key `123`: expected an even number of hexadecimal digits, found 3");
    assert_eq!(place.run(&["get", "a.ful", "t", "0000000000000007", "--key", "hex", "--value", "hex"]).ok(), "08\n");
}

#[test]
fn sorted_input_is_loaded_as_it_comes_and_the_record_named_that_is_not() {
    let place = TestDirectory::new();
    let import = ["import", "a.ful", "t", "--create", "--sorted", "--format", "csv"];
    place.run_with_input(&import, b"key,value\na,1\nb,2\n").ok();
    let message = place.run_with_input(&import, b"key,value\nc,1\ne,2\nd,3\n").fails(1);
    assert_eq!(
        message,
        "nothing was loaded: standard input: the key of record 3 is not above the one before it; sort the input, or \
         omit --sorted"
    );
    assert_eq!(place.run(&["count", "a.ful", "t"]).ok(), "2\n");
}

#[test]
fn an_import_larger_than_its_memory_is_sorted_through_files() {
    let place = TestDirectory::new();
    let mut input = String::from("key,value\n");
    // A multiplicative order that visits every number once.
    for index in 0..30_000_u64 {
        let number = index * 7_919 % 30_000;
        input.push_str(&format!("{number},{}\n", format!("value of {number} ").repeat(5)));
    }
    place.file("in.csv", input);
    place.run(&["import", "a.ful", "t", "in.csv", "--create", "--key", "u64", "--memory", "1"]).ok();
    assert_eq!(place.run(&["count", "a.ful", "t"]).ok(), "30000\n");
    assert_eq!(
        place.run(&["scan", "a.ful", "t", "--from", "29999", "--format", "csv", "--keys-only"]).ok(),
        "key\n29999\n"
    );
    assert_eq!(place.names(), ["a.ful", "in.csv"]);
    place.run(&["check", "a.ful"]).ok();
}
