//! The verbs of `fulgurite events`.

use crate::fixture::{Run, TestDirectory};

fn done(run: &Run) -> Vec<String> {
    assert_eq!(run.code, 0, "{}", run.messages);
    String::from_utf8(run.data.clone()).unwrap().lines().map(str::to_owned).collect()
}

fn refused(run: &Run, code: i32, message: &str) {
    assert_eq!(run.code, code, "{}", run.messages);
    assert!(run.messages.contains(message), "{}", run.messages);
}

/// Events of three streams, in batches of two.
fn created() -> TestDirectory {
    let directory = TestDirectory::new();
    let lines: Vec<String> = (0..9)
        .map(|number| {
            let (stream, kind) = (number % 3, if number % 2 == 0 { "even" } else { "odd" });
            format!(r#"{{"stream":"s{stream}","type":"{kind}","data":{number},"tags":["t{stream}"]}}"#)
        })
        .collect();
    directory.file("events.ndjson", lines.join("\n"));
    done(&directory.run(&["events", "append", "a.ful", "events.ndjson", "--create", "--batch", "2"]));
    directory
}

/// The numbers that events have as their data.
fn data(lines: &[String]) -> Vec<u64> {
    lines
        .iter()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["data"].as_u64().unwrap())
        .collect()
}

/// Events as they are read, without the time at which they were appended.
fn without_time(lines: &[String]) -> Vec<serde_json::Value> {
    let parse = |line: &String| {
        let mut event: serde_json::Value = serde_json::from_str(line).unwrap();
        event.as_object_mut().unwrap().remove("time");
        event
    };
    lines.iter().map(parse).collect()
}

#[test]
fn events_are_read_by_stream_type_tag_and_position_both_ways() {
    let directory = created();
    let read = |arguments: &[&str]| {
        let all = [&["events", "read", "a.ful"], arguments].concat();
        data(&done(&directory.run(&all)))
    };
    assert_eq!(read(&[]), [0, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(read(&["--from", "7"]), [7, 8]);
    assert_eq!(read(&["--backwards", "--limit", "2"]), [8, 7]);
    assert_eq!(read(&["s1"]), [1, 4, 7]);
    assert_eq!(read(&["s1", "--from", "1"]), [4, 7]);
    assert_eq!(read(&["s1", "--from", "1", "--backwards"]), [1]);
    assert_eq!(read(&["--type", "odd", "--tag", "t0"]), [3]);
    assert_eq!(read(&["--since", "0"]).len(), 9);
    assert_eq!(read(&["--since", "99999999999"]).len(), 0);
    assert_eq!(read(&["--since", "9999-12-31"]).len(), 0);
    refused(&directory.run(&["events", "read", "a.ful", "--since", "nan"]), 2, "not a time since 1970");
    refused(&directory.run(&["events", "read", "a.ful", "s9"]), 1, "a.ful: stream `s9` does not exist");
    refused(&directory.run(&["events", "read", "b.ful"]), 1, "no such database");
    let other = directory.run(&["events", "read", "a.ful", "--store", "other"]);
    refused(&other, 1, "a.ful: the database has no event store `other`; check --store");
    refused(&other, 1, "next checkpoint");
}

#[test]
fn what_selects_events_can_be_combined() {
    let directory = created();
    let all = done(&directory.run(&["events", "read", "a.ful"]));
    let time =
        |line: &String| serde_json::from_str::<serde_json::Value>(line).unwrap()["time"].as_str().unwrap().to_owned();
    // Two neighbours are of one transaction, and have the same time.
    let times: Vec<String> = all.iter().map(time).collect();
    let read = |arguments: &[&str]| {
        let all = [&["events", "read", "a.ful"], arguments].concat();
        data(&done(&directory.run(&all)))
    };
    assert_eq!(read(&["--since", &times[0]]).len(), 9);
    assert_eq!(read(&["--since", &times[2], "--until", &times[6]]), [2, 3, 4, 5]);
    assert_eq!(read(&["--since", &times[4], "--backwards"]), [8, 7, 6, 5, 4]);
    assert_eq!(read(&["--since", &times[4], "--from", "6", "--type", "odd"]), [7]);
    assert_eq!(read(&["--until", "0"]), [0; 0]);
    assert_eq!(read(&["s1", "--since", &times[4]]), [4, 7]);
    assert_eq!(read(&["s1", "--until", &times[4], "--backwards"]), [1]);
    assert_eq!(read(&["s1", "--type", "odd"]), [1, 7]);
    assert_eq!(read(&["s1", "--tag", "t1", "--from", "1", "--backwards"]), [1]);
    assert_eq!(read(&["s1", "--tag", "t2"]), [0; 0]);
    let store = fulgurite_events::EventStore::create(directory.path("a.ful")).unwrap();
    store.truncate_before("s1", fulgurite_events::Version(1)).unwrap();
    drop(store);
    assert_eq!(read(&["s1", "--type", "odd"]), [7]);
    refused(&directory.run(&["events", "read", "a.ful", "s9", "--type", "odd"]), 1, "stream `s9` does not exist");
}

#[test]
fn a_position_beyond_the_end_is_refused() {
    let directory = created();
    for verb in ["read", "replay"] {
        let from = |from: &str| directory.run(&["events", verb, "a.ful", "--from", from]);
        done(&from("9"));
        refused(&from("10"), 1, "position 10 is beyond the end of the log; give a position up to 9");
    }
    let from = |from: &str| directory.run(&["events", "read", "a.ful", "s1", "--from", from]);
    assert_eq!(done(&from("3")), [""; 0]);
    refused(&from("4"), 1, "version 4 is beyond the end of the stream; give a version up to 3");
}

#[test]
fn what_is_read_can_be_appended_to_another_store() {
    let directory = created();
    let before = done(&directory.run(&["events", "read", "a.ful"]));
    let copied = directory.run_with_input(&["events", "append", "b.ful", "--create"], before.join("\n").as_bytes());
    done(&copied);
    assert!(copied.messages.contains("9 events appended"), "{}", copied.messages);
    assert_eq!(copied.messages.matches("the times of the input are not stored").count(), 1, "{}", copied.messages);
    assert_eq!(without_time(&done(&directory.run(&["events", "read", "b.ful"]))), without_time(&before));
    let bytes =
        r#"{"stream":"raw","type":"x","data_hex":"00ff","metadata_hex":"80","id":"000102030405060708090a0b0c0d0e0f"}"#;
    done(&directory.run_with_input(&["events", "append", "b.ful"], bytes.as_bytes()));
    let line = done(&directory.run(&["events", "read", "b.ful", "raw"])).remove(0);
    assert!(
        line.ends_with(r#""id":"00010203-0405-0607-0809-0a0b0c0d0e0f","data_hex":"00ff","metadata_hex":"80"}"#),
        "{line}"
    );
}

#[test]
fn bytes_that_are_no_text_and_blanks_around_json_are_copied_as_they_are() {
    let directory = TestDirectory::new();
    let input = "{\"stream_hex\":\"ff\",\"type\":\"x\",\"data_hex\":\"2031\"}\n\
                 {\"stream_hex\":\"fe\",\"type\":\"x\",\"data\":[ 1 ]}\n";
    done(&directory.run_with_input(&["events", "append", "a.ful", "--create"], input.as_bytes()));
    let lines = done(&directory.run(&["events", "read", "a.ful"]));
    assert!(lines[0].contains("\"stream_hex\":\"ff\"") && lines[0].ends_with("\"data_hex\":\"2031\"}"), "{lines:?}");
    assert!(lines[1].contains("\"stream_hex\":\"fe\"") && lines[1].ends_with("\"data\":[ 1 ]}"), "{lines:?}");
    done(&directory.run_with_input(&["events", "append", "b.ful", "--create"], lines.join("\n").as_bytes()));
    let again = done(&directory.run(&["events", "read", "b.ful"]));
    assert_eq!(without_time(&again), without_time(&lines));
    let both = r#"{"stream":"a","stream_hex":"61","type":"x"}"#;
    refused(&directory.run_with_input(&["events", "append", "a.ful"], both.as_bytes()), 1, "exclude each other");
    let raw = b"{\"stream\":\"a\",\"type\":\"x\",\"data\":\"\xff\"}";
    refused(&directory.run_with_input(&["events", "append", "a.ful"], raw), 1, "written as data_hex; nothing");
}

#[test]
fn a_stream_whose_name_is_no_text_is_found_by_the_name_that_is_listed() {
    let directory = TestDirectory::new();
    let input = "{\"stream_hex\":\"ff00\",\"type\":\"x\",\"data\":1}\n\
                 {\"stream\":\"hex:b\",\"type\":\"x\",\"data\":2}\n\
                 {\"stream\":\"plain\",\"type\":\"x\",\"data\":3}\n";
    done(&directory.run_with_input(&["events", "append", "a.ful", "--create"], input.as_bytes()));
    let list = |options: &[&str]| done(&directory.run(&[&["events", "streams", "a.ful"], options].concat()));
    let names = ["hex:6865783a62", "plain", "hex:ff00"];
    let rows = list(&["--format", "csv"]);
    assert_eq!(rows[1..], names.map(|name| format!("{name},0,1,open")));
    assert_eq!(list(&["--format", "csv", "--prefix", "hex:ff"])[1..], ["hex:ff00,0,1,open"]);
    let read = |stream: &str| data(&done(&directory.run(&["events", "read", "a.ful", stream])));
    assert_eq!(names.map(read), [[2], [3], [1]]);
    let objects = list(&["--format", "ndjson"]);
    assert!(objects[0].starts_with(r#"{"stream":"hex:b","#), "{objects:?}");
    assert!(objects[2].starts_with(r#"{"stream":{"hex":"ff00"},"#), "{objects:?}");
    let append = |options: &[&str], line: &str| {
        directory.run_with_input(&[&["events", "append", "a.ful"], options].concat(), line.as_bytes())
    };
    done(&append(&[], r#"{"stream":{"hex":"ff00"},"type":"x","data":4}"#));
    done(&append(&["--stream", "hex:ff00"], r#"{"type":"x","data":5}"#));
    assert_eq!(read("hex:ff00"), [1, 4, 5]);
    refused(&append(&[], r#"{"stream":{"hex":"f"},"type":"x"}"#), 1, "`stream` is not a string");
    refused(&directory.run(&["events", "read", "a.ful", "hex:f"]), 2, "even number of hexadecimal digits");
}

#[test]
fn a_stream_whose_name_is_not_printed_as_it_is_has_digits_in_a_table() {
    let directory = TestDirectory::new();
    let input = "{\"stream\":\"a\\u0000b\",\"type\":\"x\",\"data\":7}\n";
    done(&directory.run_with_input(&["events", "append", "a.ful", "--create"], input.as_bytes()));
    let rows = done(&directory.run(&["events", "streams", "a.ful"]));
    assert!(rows[1].starts_with("hex:610062 "), "{rows:?}");
    assert_eq!(data(&done(&directory.run(&["events", "read", "a.ful", "hex:610062"]))), [7]);
}

#[test]
fn a_member_stream_that_begins_with_hex_is_text_and_an_argument_is_digits() {
    let directory = TestDirectory::new();
    let input = "{\"stream\":\"hex:ff00\",\"type\":\"x\",\"data\":1}\n\
                 {\"stream\":{\"hex\":\"ff00\"},\"type\":\"x\",\"data\":2}\n";
    done(&directory.run_with_input(&["events", "append", "a.ful", "--create"], input.as_bytes()));
    let read = |stream: &str| done(&directory.run(&["events", "read", "a.ful", stream]));
    let (text, bytes) = (read("hex:6865783a66663030"), read("hex:ff00"));
    assert_eq!((data(&text), data(&bytes)), (vec![1], vec![2]));
    assert!(text[0].contains(r#""stream":"hex:ff00""#), "{text:?}");
    let rows = done(&directory.run(&["events", "streams", "a.ful", "--format", "csv"]));
    assert_eq!(rows[1..], ["hex:6865783a66663030,0,1,open", "hex:ff00,0,1,open"]);
}

#[test]
fn an_event_that_is_there_already_does_not_keep_its_neighbours_from_being_appended() {
    let directory = TestDirectory::new();
    let event = |id: &str| format!("{{\"stream\":\"s\",\"type\":\"x\",\"id\":\"{}\"}}\n", id.repeat(32));
    done(&directory.run_with_input(&["events", "append", "a.ful", "--create"], event("1").as_bytes()));
    let more = [event("1"), event("2"), "{\"stream\":\"s\",\"type\":\"y\"}\n".to_owned()].concat();
    let run = directory.run_with_input(&["events", "append", "a.ful"], more.as_bytes());
    done(&run);
    assert!(
        run.messages.contains("2 events appended") && run.messages.contains("1 event was there"),
        "{}",
        run.messages
    );
    assert_eq!(done(&directory.run(&["events", "read", "a.ful", "s"])).len(), 3);
}

#[test]
fn plain_verbs_do_not_change_the_tables_of_events_and_change_others() {
    let directory = created();
    directory.file("in.csv", "key,value\na,1\n");
    let db = fulgurite::Database::open(directory.path("a.ful")).unwrap();
    let names: Vec<String> = db.tables().unwrap().iter().map(|table| table.name().to_owned()).collect();
    db.close().unwrap();
    assert_eq!(names.len(), 10);
    for name in &names {
        refused(&directory.run(&["put", "a.ful", name, "k", "v"]), 1, "is of the event store `events`");
    }
    let left = ["put", "a.ful", "events.index~rebuild", "k", "v", "--create"];
    refused(&directory.run(&left), 1, "is of the event store `events`");
    for verb in [
        &["put", "a.ful", "events.meta", "layout", "2", "--create"][..],
        &["import", "a.ful", "events.names", "in.csv"],
        &["del", "a.ful", "events.log", "--prefix", "", "--yes"],
    ] {
        refused(&directory.run(verb), 1, "is of the event store `events`, whose tables must be changed together");
    }
    for table in ["views", "events.view", "other.log"] {
        done(&directory.run(&["put", "a.ful", table, "k", "v", "--create"]));
        done(&directory.run(&["del", "a.ful", table, "k"]));
    }
    assert_eq!(done(&directory.run(&["events", "read", "a.ful"])).len(), 9);
}

#[test]
fn a_batch_with_a_wrong_line_is_not_appended_and_the_line_is_named() {
    let directory = created();
    let append =
        |input: &str| directory.run_with_input(&["events", "append", "a.ful", "--batch", "2"], input.as_bytes());
    let good = r#"{"stream":"n","type":"x"}"#;
    refused(
        &append(&format!("{good}\n{good}\n{good}\n{{")),
        1,
        "standard input: line 4, column 1: the text ends before",
    );
    assert_eq!(done(&directory.run(&["events", "read", "a.ful", "n"])).len(), 2);
    for (line, message) in [
        (r#"{"type":"x"}"#, "no member `stream`"),
        (r#"{"stream":"n"}"#, "no member `type`"),
        (r#"{"stream":"n","type":"x","color":1}"#, "input: line 1, column 34: unknown member `color`"),
        (r#"{"stream":"n","type":"x","id":"7"}"#, "input: line 1, column 31: `7` is not an id"),
        (r#"{"stream":"n","type":"x","data":[1,}"#, "input: line 1, column 36: "),
        (r#"{"stream":"n","type":7}"#, "input: line 1, column 22: `type` is not a string"),
        (r#"{"stream":"n","type":"x","tags":["a"],"tags":[]}"#, "input: line 1, column 46: duplicate member `tags`"),
        (r#"{"stream":"n","type":"x","data_hex":"0"}"#, "input: line 1, column 37: "),
        (r#"["n"]"#, "input: line 1, column 1: "),
        (r#"{"stream":"n","type":"x","expected":0}"#, "expected version 0, but its last event has version 1"),
        (r#"{"stream":"n","type":"x","expected":"no stream"}"#, "expected no stream"),
        (r#"{"stream":"n","type":"x","expected":-1}"#, "input: line 1, column 37: `expected` is a version"),
        (
            r#"{"stream":"n","type":"x","data":1,"data_hex":"00"}"#,
            "input: line 1, column 46: `data` and `data_hex` exclude each other",
        ),
    ] {
        refused(&append(line), 1, message);
    }
    assert_eq!(done(&directory.run(&["events", "read", "a.ful", "n"])).len(), 2);
    let defaults = ["events", "append", "a.ful", "--stream", "n", "--type", "x"];
    done(&directory.run_with_input(&defaults, b"{\"data\":5}\n\n{}"));
    assert_eq!(done(&directory.run(&["events", "read", "a.ful", "n"])).len(), 4);
    refused(&directory.run_with_input(&["events", "append", "none.ful"], good.as_bytes()), 1, "--create");
    // As a failed import, it leaves no database.
    refused(&directory.run_with_input(&["events", "append", "none.ful", "--create"], b"{"), 1, "line 1, column 1");
    assert!(!directory.path("none.ful").exists());
    refused(&directory.run(&["events", "append", "a.ful", "-", "-"]), 1, "once only");
}

#[test]
fn the_line_that_the_store_refuses_is_named_also_within_a_run_of_a_stream() {
    let directory = created();
    let append = |input: &str| directory.run_with_input(&["events", "append", "a.ful"], input.as_bytes());
    let good = "{\"stream\":\"n\",\"type\":\"x\"}\n".repeat(5);
    let no_type = r#"{"stream":"n","type":""}"#;
    refused(&append(&format!("{good}\n{no_type}\n{good}")), 1, "input: line 7: the name of a type");
    // Events are checked before `expected` is, but line 1 is the first that is refused.
    let wrong = r#"{"stream":"n","type":"x","expected":5}"#;
    let message = "input: line 1: stream `n`: expected version 5, but it does not exist; read the";
    refused(&append(&format!("{wrong}\n{good}{no_type}")), 1, message);
    let no_name = r#"{"stream":"","type":"x"}"#;
    refused(&append(&format!("{good}{no_name}")), 1, "input: line 6: the name of a stream");
    let late = r#"{"stream":"n","type":"x","expected":"no stream"}"#;
    let message = "input: line 6: stream `n`: expected no stream, but earlier lines of this batch append to it, after \
                   which its last event has version 4; let `expected` count them; nothing of this batch was appended";
    refused(&append(&format!("{good}{late}")), 1, message);
    let other = append(r#"{"stream":"s1","type":"x","expected":0}"#);
    refused(&other, 1, "input: line 1: stream `s1`: expected version 0, but its last event has version 2; read the");
    refused(&append("foo"), 1, "input: line 1, column 2: expected a value, or a text in double quotes");
    assert_eq!(done(&directory.run(&["events", "read", "a.ful"])).len(), 9, "nothing was appended");
}

/// The advice was given whenever earlier lines name the stream: who follows it undoes what another writer has decided.
#[test]
fn an_expectation_that_failed_before_the_batch_is_not_to_be_counted_up() {
    let directory = created();
    let append = |input: &str| directory.run_with_input(&["events", "append", "a.ful"], input.as_bytes());
    let known = r#"{"stream":"r","type":"x","id":"00000000000000000000000000000007"}"#;
    let good = r#"{"stream":"r","type":"x"}"#;
    let expecting = |version: u64| format!(r#"{{"stream":"r","type":"x","expected":{version}}}"#);
    done(&append(&format!("{known}\n{good}")));
    let read_again = |version: u64| {
        format!("input: line 2: stream `r`: expected version 0, but its last event has version {version}; read the")
    };
    refused(&append(&format!("{known}\n{}", expecting(0))), 1, &read_again(1));
    refused(&append(&format!("{good}\n{}", expecting(0))), 1, &read_again(2));
    let message = "input: line 3: stream `r`: expected version 1, but earlier lines of this batch append to it, after \
                   which its last event has version 2; let `expected` count them";
    refused(&append(&format!("{known}\n{good}\n{}", expecting(1))), 1, message);
    done(&append(&format!("{known}\n{good}\n{}", expecting(2))));
}

#[test]
fn a_line_that_is_not_utf_8_is_named_and_what_was_appended_before_is_counted() {
    let directory = created();
    let mut input = r#"{"stream":"n","type":"x"}"#.repeat(3).replace("}{", "}\n{").into_bytes();
    input.extend(b"\n\xff\n");
    let run = directory.run_with_input(&["events", "append", "a.ful", "--batch", "2"], &input);
    refused(&run, 1, "standard input: cannot be read at line 4: it is not UTF-8; the input is NDJSON");
    let appended = "nothing of this batch was appended; 2 events were appended before; to append the rest of this \
                    input, begin at its line 3 (`tail -n +3`)";
    refused(&run, 1, appended);
    assert_eq!(done(&directory.run(&["events", "read", "a.ful", "n"])).len(), 2);
}

#[test]
fn a_consumer_has_a_name() {
    let directory = created();
    let set = directory.run(&["events", "consumers", "a.ful", "--set", "", "--to", "1"]);
    refused(&set, 1, "the name of a consumer is empty");
}

#[cfg(feature = "rdf")]
#[test]
fn a_store_of_quads_or_facts_gets_no_event_store() {
    let directory = TestDirectory::new();
    directory.file("q.ttl", "<http://e/s> <http://e/p> 1 .");
    directory.file("s.angle", "schema s.1 { predicate P : nat }");
    done(&directory.run(&["rdf", "load", "q.ful", "q.ttl", "--create"]));
    done(&directory.run(&["facts", "create", "f.ful", "--schema", "s.angle"]));
    for (file, message) in [("q.ful", "this is an RDF store"), ("f.ful", "this is a database of facts")] {
        let before = directory.run(&["tables", file]).data;
        let append = ["events", "append", file, "--create"];
        refused(&directory.run_with_input(&append, br#"{"stream":"s","type":"t"}"#), 1, message);
        assert_eq!(directory.run(&["tables", file]).data, before, "{file}");
    }
}

#[test]
fn streams_consumers_replay_and_stats_count_what_there_is() {
    let directory = created();
    let streams = done(&directory.run(&["events", "streams", "a.ful", "--format", "csv", "--prefix", "s1"]));
    assert_eq!(streams, ["stream,first,next,state", "s1,0,3,open"]);
    done(&directory.run(&["events", "consumers", "a.ful", "--set", "report", "--to", "4"]));
    let consumers = done(&directory.run(&["events", "consumers", "a.ful", "--format", "csv"]));
    assert_eq!(consumers, ["consumer,position,behind", "report,4,5"]);
    refused(&directory.run(&["events", "consumers", "a.ful", "--set", "report", "--to", "10"]), 1, "beyond the end");
    for threads in ["1", "3"] {
        let replay = ["events", "replay", "a.ful", "--threads", threads, "--format", "csv"];
        assert_eq!(done(&directory.run(&replay)), ["type,schema,events,bytes", "even,0,5,5", "odd,0,4,4"]);
    }
    let stats = done(&directory.run(&["events", "stats", "a.ful", "--format", "csv"]));
    assert_eq!(stats[1..5], ["next position,9", "first position kept,0", "streams,3", "types,2"]);
}

#[test]
fn streams_are_truncated_and_deleted_and_retention_removes_their_events_from_the_log() {
    let directory = created();
    let run = |verb: &str, arguments: &[&str]| directory.run(&[&["events", verb, "a.ful"], arguments].concat());
    let read = |arguments: &[&str]| data(&done(&run("read", arguments)));
    for unconfirmed in [&["truncate", "s1", "--before", "2"][..], &["delete", "s0"], &["retention"]] {
        assert_eq!(run(unconfirmed[0], &unconfirmed[1..]).code, 2, "{unconfirmed:?}");
    }
    done(&run("truncate", &["s1", "--before", "2", "--yes"]));
    assert_eq!(read(&["s1"]), [7]);
    refused(&run("truncate", &["s1", "--before", "4", "--yes"]), 1, "the next event gets version 3");
    done(&run("delete", &["s0", "--yes"]));
    refused(&run("read", &["s0"]), 1, "stream `s0` does not exist, or was deleted");
    refused(&run("delete", &["s9", "--yes"]), 1, "`fulgurite events streams` lists the streams");
    done(&run("delete", &["s2", "--tombstone", "--yes"]));
    let append = ["events", "append", "a.ful", "--stream", "s2", "--type", "x"];
    refused(&directory.run_with_input(&append, b"{}"), 1, "stream `s2` has a tombstone");
    assert_eq!(read(&[]).len(), 9, "the log has them until retention removes them");

    let kept = run("retention", &["--age-max", "1.5", "--bytes-max", "1", "--yes"]);
    refused(&kept, 0, "the log begins at position 0: 0 chunks removed, 5 chunks rewritten");
    assert_eq!(read(&[]), [7]);
    refused(&run("retention", &["--count-max", "1", "--yes"]), 0, "the log begins at position 8: 4 chunks removed");
    assert_eq!(read(&[]).len(), 0);
    refused(&run("retention", &["--age-max=-1", "--yes"]), 2, "not a number of days");
}

#[test]
fn follow_refuses_a_position_above_the_next_one() {
    let directory = created();
    let follow = |from: &str| directory.run(&["events", "follow", "a.ful", "--from", from, "--limit", "0"]);
    done(&follow("9"));
    refused(&follow("10"), 1, "the next event gets position 9; follow from 9 for new events");
}

#[test]
fn follow_prints_events_that_come_later() {
    use std::io::{BufRead, BufReader};
    let directory = created();
    let mut child =
        directory.spawn(&["events", "follow", "a.ful", "--from", "8", "--limit", "3", "--interval", "0.01"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(data(&[lines.next().unwrap().unwrap()]), [8]);
    done(&directory.run_with_input(
        &["events", "append", "a.ful", "--stream", "n", "--type", "x"],
        b"{\"data\":9}\n{\"data\":10}",
    ));
    let rest: Vec<String> = lines.map(|line| line.unwrap()).collect();
    assert_eq!(data(&rest), [9, 10]);
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[cfg(unix)]
#[test]
fn follow_receives_events_from_a_process_that_serves_while_it_appends() {
    use std::io::{BufRead, BufReader, Read, Write};
    let directory = created();
    let serve = || {
        let append = ["events", "append", "a.ful", "--stream", "n", "--type", "x", "--serve", "s.sock"];
        let mut child = directory.spawn(&append);
        let mut messages = BufReader::new(child.stderr.take().unwrap());
        let mut message = String::new();
        messages.read_line(&mut message).unwrap();
        assert_eq!(message, "serving events at s.sock\n");
        (child.stdin.take().unwrap(), child, messages)
    };
    let (mut input, mut serving, _messages) = serve();
    let options = ["--from", "8", "--limit", "3", "--interval", "0.01"];
    let mut following = directory.spawn(&[&["events", "follow", "--socket", "s.sock"][..], &options].concat());
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    assert_eq!(data(&[lines.next().unwrap().unwrap()]), [8]);
    input.write_all(b"{\"data\":9}\n").unwrap();
    assert_eq!(data(&[lines.next().unwrap().unwrap()]), [9]);
    let late = directory.run(&["events", "follow", "a.ful", "--from", "8", "--limit", "1"]);
    assert_eq!(data(&done(&late)), [8]);
    assert!(late.messages.contains("a process has the file open for writing"), "{}", late.messages);
    drop(input);
    assert_eq!(serving.wait().unwrap().code(), Some(0));
    let (mut input, mut serving, _messages) = serve();
    input.write_all(b"{\"data\":10}\n").unwrap();
    assert_eq!(data(&[lines.next().unwrap().unwrap()]), [10]);
    assert_eq!(following.wait().unwrap().code(), Some(0));
    let mut said = String::new();
    following.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("the connection has ended; connecting again at position 10\n"), "{said}");
    drop(input);
    assert_eq!(serving.wait().unwrap().code(), Some(0));
    let none = directory.run(&["events", "follow", "--socket", "s.sock"]);
    refused(&none, 1, "check that a process serves the store there");
    assert_eq!(directory.run(&["events", "follow", "a.ful", "--socket", "s.sock"]).code, 2);
    assert_eq!(directory.run(&["events", "follow"]).code, 2);
}

#[cfg(unix)]
#[test]
fn a_consumer_at_a_socket_continues_behind_what_it_has_printed() {
    use std::io::{BufRead, BufReader, Read, Write};
    let directory = created();
    let append = ["events", "append", "a.ful", "--stream", "n", "--type", "x", "--serve", "s.sock"];
    let mut serving = directory.spawn(&append);
    BufReader::new(serving.stderr.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    let follow = ["events", "follow", "--socket", "s.sock", "--consumer", "c", "--limit", "4"];
    for expected in [[0_u64, 1, 2, 3], [4, 5, 6, 7]] {
        assert_eq!(data(&done(&directory.run(&follow))), expected);
    }
    drop(serving.stdin.take());
    assert_eq!(serving.wait().unwrap().code(), Some(0));
    let consumers = done(&directory.run(&["events", "consumers", "a.ful", "--format", "csv"]));
    assert_eq!(consumers, ["consumer,position,behind", "c,8,1"]);
    refused(&directory.run(&["events", "follow", "a.ful", "--consumer", "c"]), 2, "--consumer");
    // Connected again, it continues at the position that the store keeps.
    let serve = || {
        let mut serving = directory.spawn(&append);
        BufReader::new(serving.stderr.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
        serving
    };
    let mut serving = serve();
    let options = ["--consumer", "c", "--limit", "2", "--interval", "0.01"];
    let mut following = directory.spawn(&[&["events", "follow", "--socket", "s.sock"][..], &options].concat());
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    assert_eq!(data(&[lines.next().unwrap().unwrap()]), [8]);
    drop(serving.stdin.take());
    assert_eq!(serving.wait().unwrap().code(), Some(0));
    let mut serving = serve();
    let mut input = serving.stdin.take().unwrap();
    input.write_all(b"{\"data\":9}\n").unwrap();
    assert_eq!(data(&[lines.next().unwrap().unwrap()]), [9]);
    drop(input);
    assert_eq!((following.wait().unwrap().code(), serving.wait().unwrap().code()), (Some(0), Some(0)));
    let mut said = String::new();
    following.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    for message in ["the connection has ended; connecting again\n", "connected again at position 9\n"] {
        assert!(said.contains(message), "{said}");
    }
}

/// Backups of a store that was served were empty.
#[cfg(unix)]
#[test]
fn what_a_server_appends_is_in_copies_after_its_next_checkpoint() {
    use std::io::Write;
    let directory = created();
    let append = ["events", "append", "a.ful", "--stream", "n", "--type", "x", "--checkpoint", "0.01"];
    assert_eq!(directory.run(&append).code, 2, "--serve is missing");
    let mut serving = directory.spawn(&[&append[..], &["--serve", "s.sock"]].concat());
    serving.stdin.as_mut().unwrap().write_all(b"{\"data\":9}\n").unwrap();
    let read = |file| data(&done(&directory.run(&["events", "read", file, "--from", "9"])));
    assert!((0..1000).any(|_| read("a.ful") == [9]), "there is no checkpoint");
    let warning = format!("another process (pid {}) has the database open for writing: its commits", serving.id());
    for (verb, copy) in [("backup", "b.ful"), ("image", "b.image")] {
        let copied = directory.run(&[verb, "a.ful", copy]);
        assert!(copied.messages.contains(&warning), "{}", copied.messages);
        assert_eq!(read(copy), [9]);
    }
    drop(serving.stdin.take());
    assert_eq!(serving.wait().unwrap().code(), Some(0));
    let copied = directory.run(&["backup", "a.ful", "c.ful"]);
    assert!(!copied.messages.contains("another process"), "{}", copied.messages);
}

/// The connections ended at once.
#[cfg(unix)]
#[test]
fn followers_receive_what_was_appended_before_a_line_that_is_refused() {
    use std::io::{BufRead, BufReader, Write};
    let directory = created();
    let append = ["events", "append", "a.ful", "--stream", "n", "--type", "x", "--batch", "1", "--serve", "s.sock"];
    let mut serving = directory.spawn(&append);
    BufReader::new(serving.stderr.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    let mut following = directory.spawn(&["events", "follow", "--socket", "s.sock", "--from", "8"]);
    let mut lines = BufReader::new(following.stdout.take().unwrap()).lines();
    assert_eq!(data(&[lines.next().unwrap().unwrap()]), [8]);
    serving.stdin.take().unwrap().write_all(b"{\"data\":9}\n{\"data\":10}\n{\n").unwrap();
    assert_eq!(serving.wait().unwrap().code(), Some(1));
    let mut said = BufReader::new(following.stderr.take().unwrap()).lines().map(|line| line.unwrap());
    let ended = said.find(|line| !line.starts_with("caught up"));
    following.kill().unwrap();
    following.wait().unwrap();
    assert_eq!(ended.unwrap(), "the connection has ended; connecting again at position 11");
}

/// It connected again for ever, and said nothing.
#[cfg(unix)]
#[test]
fn follow_says_once_that_the_process_at_the_socket_ends_each_connection() {
    use std::io::{Read, Write};
    let directory = TestDirectory::new();
    let listener = std::os::unix::net::UnixListener::bind(directory.path("s.sock")).unwrap();
    let options = ["--from", "0", "--interval", "0.01"];
    let mut following = directory.spawn(&[&["events", "follow", "--socket", "s.sock"][..], &options].concat());
    for connection in 0..15 {
        let (mut follower, _) = listener.accept().unwrap();
        follower.read_exact(&mut [0; 32]).unwrap();
        if connection == 0 {
            // The frame of a signal: it has caught up.
            follower.write_all(&[4, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
        }
    }
    following.kill().unwrap();
    following.wait().unwrap();
    let mut said = String::new();
    following.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    for message in ["the connection has ended; connecting again at position 0\n", "each connection; it is ending"] {
        assert_eq!(said.matches(message).count(), 1, "{said}");
    }
    let greatest = ["events", "follow", "--socket", "none.sock", "--from", "18446744073709551615"];
    refused(&directory.run(&greatest), 2, "the number is too large");
    for wrong in ["--from=-1", "--limit=x"] {
        refused(&directory.run(&["events", "read", "a.ful", wrong]), 2, "not a whole number from 0 on");
    }
}

/// `read` ended at the first damaged page, and nothing said how to go on.
#[test]
fn read_goes_on_behind_damaged_pages_if_it_is_asked_to_and_names_what_it_leaves_out() {
    let directory = TestDirectory::new();
    let line = |number: u64| format!("{{\"stream\":\"s\",\"type\":\"x\",\"data\":{}}}\n", 70_000_000 + number);
    let input: String = (0..4000).map(line).collect();
    let append = ["events", "append", "a.ful", "--create", "--batch", "10"];
    done(&directory.run_with_input(&append, input.as_bytes()));
    let read = |options: &[&str]| directory.run(&[&["events", "read", "a.ful"], options].concat());
    assert_eq!(done(&read(&["--skip-damaged"])).len(), 4000);
    assert_eq!(done(&read(&["--skip-damaged", "--from", "3990", "--limit", "3"])).len(), 3);
    assert_eq!(done(&read(&["--skip-damaged", "--type", "y"])).len(), 0);
    let mut bytes = directory.read("a.ful");
    for mark in [b"70002000", b"70003999"] {
        for at in 0..bytes.len() - mark.len() {
            bytes[at] ^= u8::from(&bytes[at..at + mark.len()] == mark);
        }
    }
    directory.file("a.ful", bytes);

    refused(&read(&[]), 3, "; `fulgurite events read --skip-damaged` prints what the log still has");
    let run = read(&["--skip-damaged"]);
    refused(&run, 3, "a.ful: 2 damaged places: ");
    let lines: Vec<_> = run.text().lines().map(str::to_owned).collect();
    let read_data = data(&lines);
    assert!(read_data.len() > 2000 && read_data.is_sorted(), "{} events", read_data.len());
    assert!(!read_data.contains(&70_002_000) && !read_data.contains(&70_003_999));
    let behind = read_data.iter().find(|&&data| data > 70_002_000).unwrap() - 70_000_000;
    let left_out: Vec<_> = run.messages.lines().filter(|line| line.contains("left out: page")).collect();
    assert_eq!(left_out.len(), 2, "{}", run.messages);
    assert!(left_out[0].contains(&format!(" to {} are left out", behind - 1)), "{left_out:?}");
    assert!(left_out[1].contains(" on are left out"), "{left_out:?}");
    refused(&directory.run(&["events", "check", "a.ful"]), 3, "copy what `fulgurite events read --skip-damaged`");
    for other in [&["s"][..], &["--backwards"], &["--since", "0"], &["--until", "2100-01-01"]] {
        assert_eq!(read(&[&["--skip-damaged"], other].concat()).code, 2);
        refused(&read(other), 3, "--skip-damaged`, without a stream, --since, --until and --backwards, prints");
    }
}

#[test]
fn damaged_indexes_are_found_by_check_and_repaired_by_reindex() {
    let directory = created();
    let check = || directory.run(&["events", "check", "a.ful"]);
    let sound = ["sound: 9 events, 5 chunks, 3 streams"];
    assert_eq!(done(&check()), sound);
    assert_eq!(done(&directory.run(&["events", "check", "a.ful", "--format", "csv"])), ["damage"]);
    let clear = |table: &str| {
        let db = fulgurite::Database::options().open(directory.path("a.ful")).unwrap();
        let table = db.open_table(table).unwrap();
        assert!(db.update(|txn| txn.delete_range(&table, ..[0_u8, 0, 0, 0, 0, 0, 0, 2])).unwrap() > 0);
        db.close().unwrap();
    };
    clear("events.index");
    let found = check();
    refused(&found, 3, "rebuild the indexes with `fulgurite events reindex`");
    assert!(String::from_utf8_lossy(&found.data).contains("no part has these events"), "{found:?}");
    let rebuilt = directory.run(&["events", "reindex", "a.ful"]);
    done(&rebuilt);
    assert!(rebuilt.messages.contains("indexes of 9 events rebuilt"), "{}", rebuilt.messages);
    assert_eq!(done(&check()), sound);
    assert_eq!(data(&done(&directory.run(&["events", "read", "a.ful", "s1"]))), [1, 4, 7]);
    refused(&directory.run(&["events", "reindex", "a.ful", "--store", "other"]), 1, "no event store `other`");
    clear("events.log");
    refused(&check(), 3, "restore a backup");
    refused(&directory.run(&["events", "reindex", "a.ful"]), 3, "`events.log` is damaged");
}
