//! Exit codes, and verbs that change nothing that they should not change.

use std::collections::HashSet;
use std::io::Read;
#[cfg(unix)]
use std::sync::mpsc;
#[cfg(unix)]
use std::thread;
#[cfg(unix)]
use std::time::Duration;

use fulgurite::Database;

use crate::fixture::{Run, TestDirectory};

#[test]
fn a_truncated_file_is_damaged_and_the_page_is_named() {
    let place = TestDirectory::new();
    let lines: String = (0..20_000).map(|number| format!("{number},{}\n", "x".repeat(40))).collect();
    let import = ["import", "a.ful", "t", "--create", "--key", "u64", "--format", "csv"];
    place.run_with_input(&import, format!("key,value\n{lines}").as_bytes()).ok();
    let whole = place.read("a.ful");
    for part in [2, 3, 10, 50] {
        place.file("cut.ful", &whole[..whole.len() - whole.len() / part]);
        for verb in [&["scan", "cut.ful", "t"][..], &["check", "cut.ful"], &["put", "cut.ful", "t", "7", "x"]] {
            let run = place.run(verb);
            assert_eq!(run.code, 3, "{verb:?} {part} {run:?}");
            let told = format!("{}{}", run.text(), run.messages);
            assert!(told.contains("page "), "{verb:?} {part} {told}");
            // `check` does not advise its user to run it.
            assert!(verb[0] != "check" || !told.contains("`fulgurite check`"), "{told}");
            // Nothing but the end is found by a check.
            let advice = "; restore a backup; without one, `--skip-damaged` of `fulgurite export`, `rdf dump` or \
                          `events read` reads the intact entries";
            assert!(verb[0] == "check" || told.contains(advice), "{told}");
        }
        let message = place.run(&["export", "cut.ful", "t", "--skip-damaged"]).fails(3);
        assert!(message.ends_with("no table can be found; restore a backup: the file cannot be salvaged"), "{message}");
    }
}

#[test]
fn what_is_left_of_a_truncated_file_is_exported_if_its_tables_can_be_found() {
    let place = TestDirectory::new();
    let put = |number: usize| place.run(&["put", "a.ful", "t", &format!("a{number}"), "x", "--create"]).ok();
    // These leave free pages at the beginning of the file, where lists of tables go later.
    (0..8).for_each(|number| drop(put(number)));
    let lines: String = (0..10_000).map(|number| format!("b{number:04},{}\n", "x".repeat(40))).collect();
    for table in ["t", "u"] {
        let import = ["import", "a.ful", table, "--create", "--format", "csv"];
        place.run_with_input(&import, format!("key,value\n{lines}").as_bytes()).ok();
    }
    let is_salvaged = (0..8).any(|number| {
        put(number);
        let whole = place.read("a.ful");
        place.file("cut.ful", &whole[..whole.len() * 6 / 10]);
        !place.run(&["tables", "cut.ful"]).data.is_empty()
    });
    assert!(is_salvaged);
    // The list does not hide the damage.
    let message = place.run(&["tables", "cut.ful"]).fails(3);
    assert!(message.contains("it was cut off; "), "{message}");
    let exported = place.run(&["export", "cut.ful", "t", "--skip-damaged"]).ok();
    assert_eq!(exported.lines().count(), 10_008);
    let run = place.run(&["export", "cut.ful", "u", "--format", "csv", "--skip-damaged"]);
    assert!(run.text().lines().skip(1).all(|line| lines.contains(line)));
    let missing =
        format!("was left out ({} entries); restore a backup to have it\n", 10_001 - run.text().lines().count());
    assert!(run.code == 3 && run.messages.replace(',', "").ends_with(&missing), "{run:?}");
}

#[test]
fn a_damaged_page_is_named_by_whatever_meets_it() {
    let place = TestDirectory::new();
    let lines: String = (0..20_000).map(|number| format!("{number},{}\n", "x".repeat(40))).collect();
    let import = ["import", "a.ful", "t", "--create", "--key", "u64", "--format", "csv"];
    place.run_with_input(&import, format!("key,value\n{lines}").as_bytes()).ok();
    let mut bytes = place.read("a.ful");
    let middle = bytes.len() / 2 / 16384 * 16384 + 5000;
    bytes[middle] ^= 1;
    place.file("a.ful", bytes);
    let page = format!("page {}", middle / 16384);
    let message = place.run(&["export", "a.ful", "t"]).fails(3);
    assert!(message.contains(&page) && message.contains("; `fulgurite export --skip-damaged` writes"), "{message}");
    let run = place.run(&["check", "a.ful"]);
    assert!(run.text().contains(&page) && !run.text().contains("restore"), "{run:?}");
    let message = run.fails(3);
    assert!(message.starts_with("a.ful: 1 damaged place; restore a backup, or save what is sound: "), "{message}");
    let before = place.run(&["export", "a.ful", "t"]).text().lines().count();
    let after = place.run(&["export", "a.ful", "t", "--from", "19000"]).ok();
    assert!((1..20_000).contains(&before) && after.lines().count() == 1000, "{before}");

    let run = place.run(&["export", "a.ful", "t", "b.csv", "--skip-damaged"]);
    assert!(run.code == 3 && run.messages.contains(&format!("left out: {page} is damaged: ")), "{run:?}");
    assert!(run.messages.contains("a.ful: 1 damaged place: what cannot be read was left out ("));
    let kept = String::from_utf8(place.read("b.csv")).unwrap();
    let missing = format!("({} entries); restore a backup to have it\n", 20_001 - kept.lines().count());
    assert!(run.messages.ends_with(&missing), "{run:?}");
    assert!((before + 1000..20_000).contains(&kept.lines().skip(1).count()), "{before}");
    let lines: HashSet<&str> = lines.lines().collect();
    assert!(kept.lines().skip(1).all(|line| lines.contains(line)));
    let sound = place.run(&["export", "a.ful", "t", "--skip-damaged", "--from", "19000"]);
    assert_eq!(sound.ok().lines().count(), 1000);
}

#[test]
fn what_is_no_database_is_told_so() {
    let place = TestDirectory::new();
    place.file("text.ful", "just a text, longer than nothing\n".repeat(1000));
    place.file("empty.ful", "");
    for name in ["text.ful", "empty.ful"] {
        let before = place.read(name);
        for verb in [&["tables", name][..], &["check", name], &["put", name, "t", "k", "v", "--create"]] {
            let message = place.run(verb).fails(3);
            let expected = match (name, verb[0]) {
                ("text.ful", _) => "text.ful: not a Fulgurite database; check the path",
                (_, "put") => {
                    "an empty file, not a Fulgurite database; remove it, and create the database with --create"
                }
                _ => "empty.ful: an empty file, not a Fulgurite database; check the path",
            };
            assert!(message.ends_with(expected), "{message}");
        }
        assert_eq!(place.read(name), before);
    }
    assert_eq!(place.names(), ["empty.ful", "text.ful"]);
}

#[test]
fn without_a_database_verbs_fail_and_create_nothing() {
    let place = TestDirectory::new();
    place.file("in.csv", "key,value\na,1\n");
    for verb in [
        &["tables", "no.ful"][..],
        &["get", "no.ful", "t", "k"],
        &["put", "no.ful", "t", "k", "v"],
        &["del", "no.ful", "t", "k"],
        &["scan", "no.ful", "t"],
        &["count", "no.ful", "t"],
        &["import", "no.ful", "t", "in.csv"],
        &["export", "no.ful", "t", "out.csv"],
        &["stats", "no.ful"],
        &["check", "no.ful"],
        &["compact", "no.ful"],
    ] {
        let message = place.run(verb).fails(1);
        assert!(message.contains("no.ful: no such database; check the path"), "{verb:?} {message}");
        assert_eq!(message.ends_with("--create"), matches!(verb[0], "put" | "import"), "{message}");
        assert_eq!(place.names(), ["in.csv"], "{verb:?}");
    }
}

#[test]
fn a_directory_that_is_missing_is_named_by_every_verb_that_would_create_the_file() {
    let place = TestDirectory::new();
    place.file("in.csv", "key,value\na,1\n");
    place.file("in.nt", "");
    for verb in [
        &["put", "no/such/a.ful", "t", "k", "v", "--create"][..],
        &["import", "no/such/a.ful", "t", "in.csv", "--create"],
        &["rdf", "load", "no/such/a.ful", "in.nt", "--create"],
        &["rdf", "update", "no/such/a.ful", "CLEAR ALL", "--create"],
        &["rdf", "serve", "no/such/a.ful", "--create", "--read-write", "--bind", "127.0.0.1:0"],
        &["put", "no/such/a.ful", "t", "k", "v"],
        &["get", "no/such/a.ful", "t", "k"],
        &["rdf", "query", "no/such/a.ful", "ASK {}"],
    ] {
        if verb[0] == "rdf" && !cfg!(feature = "rdf") {
            continue;
        }
        let message = place.run(verb).fails(1);
        let expected = "no/such/a.ful: there is no directory no/such; check the path, or create the directory first";
        assert_eq!(message, expected, "{verb:?}");
        assert_eq!(place.names(), ["in.csv", "in.nt"], "{verb:?}");
    }
}

#[test]
fn without_a_table_verbs_name_those_there_are() {
    let place = TestDirectory::new().with_fruit("a.ful");
    let before = place.read("a.ful");
    for verb in [
        &["get", "a.ful", "t", "k"][..],
        &["scan", "a.ful", "t"],
        &["export", "a.ful", "t"],
        &["del", "a.ful", "t", "k"],
    ] {
        assert_eq!(place.run(verb).fails(1), "no table `t` (there are: fruit)");
    }
    let message = place.run(&["put", "a.ful", "t", "k", "v"]).fails(1);
    assert_eq!(message, "no table `t` (there are: fruit); check the name, or create it with --create");
    assert_eq!(place.read("a.ful").len(), before.len());
}

#[test]
fn wrong_usage_is_told_apart() {
    let place = TestDirectory::new().with_fruit("a.ful");
    for arguments in [
        &[][..],
        &["frobnicate", "a.ful"],
        &["get", "a.ful"],
        &["get", "a.ful", "fruit"],
        &["scan", "a.ful", "fruit", "--format", "xml"],
        &["scan", "a.ful", "fruit", "--prefix", "a", "--from", "b"],
        &["scan", "a.ful", "fruit", "--key", "number"],
        &["del", "a.ful", "fruit", "--prefix", "a"],
        &["import", "a.ful", "fruit", "--multimap"],
    ] {
        let run = place.run(arguments);
        assert_eq!((run.code, run.text()), (2, ""), "{arguments:?}");
        assert!(!run.messages.is_empty());
    }
    assert!(
        place
            .run(&["--help"])
            .ok()
            .contains("Exit codes: 0 done, 1 failed, 2 arguments that cannot be parsed, 3 damaged")
    );
}

#[test]
fn a_second_writer_is_told_the_first_ones_pid_and_readers_go_on() {
    let place = TestDirectory::new().with_fruit("a.ful");
    let writer = Database::open(place.path("a.ful")).unwrap();
    let second = place.run(&["put", "a.ful", "fruit", "cherry", "black"]).fails(4);
    assert!(second.contains(&format!("(pid {})", std::process::id())), "{second}");
    assert!(second.ends_with("; close it there, or wait for it with --wait SECONDS"), "{second}");
    let waited = place.run(&["put", "a.ful", "fruit", "cherry", "black", "--wait", "0.01"]).fails(4);
    assert!(waited.ends_with(", also after 0.01 s; close it there, or wait longer"), "{waited}");
    let import =
        place.run_with_input(&["import", "a.ful", "fruit"], b"{\"key\":\"cherry\",\"value\":\"black\"}\n").fails(4);
    assert!(import.contains("another process has this database open for writing"), "{import}");
    assert_eq!(place.run(&["get", "a.ful", "fruit", "apple"]).ok(), "red\n");
    writer.close().unwrap();
    place.run(&["put", "a.ful", "fruit", "cherry", "black"]).ok();
    assert_eq!(place.run(&["get", "a.ful", "fruit", "cherry"]).ok(), "black\n");
}

/// The message named the number in any file of the lock's name, and a pipe of that name was waited for.
#[cfg(unix)]
#[test]
fn copies_beside_a_writer_say_what_they_lack_and_name_a_living_process_only() {
    let place = TestDirectory::new().with_fruit("a.ful");
    let writer = Database::open(place.path("a.ful")).unwrap();
    let known = format!(" (pid {})", std::process::id());
    place.run(&["backup", "a.ful", "b.ful"]).warns_of_writer(&known);
    place.run(&["image", "a.ful", "b.image"]).warns_of_writer(&known);
    place.run(&["export", "a.ful", "fruit"]).warns_of_writer(&known);
    // The writer has opened the file by another name.
    let (hard, lock) = (place.path("hard.ful"), place.path("hard.ful-lock"));
    std::fs::hard_link(place.path("a.ful"), hard).unwrap();
    place.run(&["backup", "hard.ful", "c.ful"]).warns_of_writer("");
    std::fs::write(&lock, [&[0; 16][..], b"1\n"].concat()).unwrap();
    place.run(&["backup", "hard.ful", "d.ful"]).warns_of_writer("");
    std::fs::remove_file(&lock).unwrap();
    assert!(place.command("mkfifo").arg(&lock).status().unwrap().success());
    place.run(&["backup", "hard.ful", "e.ful"]).warns_of_writer("");
    writer.close().unwrap();
    let run = place.run(&["export", "a.ful", "fruit"]);
    assert!(run.code == 0 && run.messages.is_empty(), "{run:?}");
}

#[test]
fn after_a_crash_verbs_that_read_show_every_commit_and_write_nothing() {
    let place = TestDirectory::new().with_fruit("a.ful");
    let number = 300;
    place.crash("a.ful", number);
    let files = || -> Vec<(String, Vec<u8>)> {
        place
            .names()
            .into_iter()
            .filter(|name| !name.ends_with("-lock"))
            .map(|name| (name.clone(), place.read(&name)))
            .collect()
    };
    let before = files();
    let count: u64 = place.run(&["count", "a.ful", "commits"]).ok().trim().parse().unwrap();
    assert_eq!(count, 3 * number);
    let range = ["scan", "a.ful", "commits", "--prefix", &format!("({number})"), "--keys-only", "--format", "csv"];
    assert_eq!(place.run(&range).ok().lines().count(), 4);
    for verb in
        [&["tables", "a.ful"][..], &["stats", "a.ful"], &["check", "a.ful"], &["get", "a.ful", "fruit", "apple"]]
    {
        place.run(verb).ok();
    }
    assert!(files() == before, "a verb that reads has written");
    place.run(&["put", "a.ful", "fruit", "cherry", "black"]).ok();
    assert_eq!(place.names(), ["a.ful"], "a clean close leaves the one file");
    assert_eq!(place.run(&["count", "a.ful", "commits"]).ok().trim(), count.to_string());
}

#[test]
fn a_reader_that_has_had_enough_ends_the_program_quietly() {
    let place = TestDirectory::new();
    let lines: String = (0..50_000).map(|number| format!("{{\"key\":{number},\"value\":\"x\"}}\n")).collect();
    place.run_with_input(&["import", "a.ful", "t", "--create"], lines.as_bytes()).ok();
    for arguments in [
        &["scan", "a.ful", "t"][..],
        &["scan", "a.ful", "t", "--format", "json"],
        &["export", "a.ful", "t"],
        &["export", "a.ful", "t", "--format", "binary"],
    ] {
        let mut child = place.spawn(arguments);
        let mut pipe = child.stdout.take().unwrap();
        pipe.read_exact(&mut [0; 10]).unwrap();
        drop(pipe);
        let run = Run::of(child.wait_with_output().unwrap());
        assert_eq!((run.code, run.messages.as_str()), (0, ""), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_help_that_cannot_be_written_fails() {
    let place = TestDirectory::new();
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let status = place.command(crate::fixture::PROGRAM).arg("--help").stdout(full).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

/// While a verb waits for events it writes nothing, so no failed write shows that the reader has closed the pipe.
#[cfg(unix)]
#[test]
fn a_verb_that_waits_ends_when_its_reader_has_had_enough() {
    let place = TestDirectory::new();
    place.run(&["put", "a.ful", "t", "k", "v", "--create", "--keep-log", "1"]).ok();
    let mut verbs = vec![vec!["changes", "a.ful", "--follow", "600"], vec!["stats", "a.ful", "--watch", "600"]];
    if cfg!(feature = "events") {
        let append = ["events", "append", "e.ful", "--create"];
        place.run_with_input(&append, b"{\"stream\":\"s\",\"type\":\"t\"}").ok();
        verbs.push(vec!["events", "follow", "e.ful", "--from", "0", "--interval", "600"]);
    }
    for arguments in verbs {
        let mut child = place.spawn(&arguments);
        let (mut pipe, mut errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        pipe.read_exact(&mut [0; 10]).unwrap();
        let (sender, receiver) = mpsc::channel();
        // Its messages end when it ends.
        let reading = thread::spawn(move || {
            let mut messages = String::new();
            errors.read_to_string(&mut messages).unwrap();
            let _ = sender.send(messages);
        });
        drop(pipe);
        // Much longer than it takes, and much shorter than it waits for events.
        let messages = receiver.recv_timeout(Duration::from_secs(120));
        if messages.is_err() {
            child.kill().unwrap();
        }
        let code = child.wait().unwrap().code();
        reading.join().unwrap();
        let messages = messages.unwrap_or_else(|_| panic!("{arguments:?} does not end"));
        assert_eq!(code, Some(0), "{arguments:?} {messages}");
        assert!(!messages.contains("fulgurite:"), "{arguments:?} {messages}");
    }
}

/// A store, and its verbs: what follows the name of the kind, where `FILE` is the store and `NEW` a file that is not
/// there.
struct Kind {
    name: &'static str,
    create: &'static [&'static str],
    reads: &'static [&'static [&'static str]],
    writes: &'static [&'static [&'static str]],
}

/// Kinds of stores that this program knows.
fn kinds() -> Vec<Kind> {
    let rdf = Kind {
        name: "rdf",
        create: &["load", "FILE", "in.nt", "--create"],
        reads: &[
            &["query", "FILE", "SELECT * { ?s ?p ?o }"],
            &["dump", "FILE"],
            &["stats", "FILE"],
            &["check", "FILE"],
            &["serve", "FILE", "--bind", "127.0.0.1:0"],
        ],
        writes: &[
            &["load", "FILE", "in.nt"],
            &["update", "FILE", "CLEAR ALL"],
            &["sweep", "FILE"],
            &["serve", "FILE", "--read-write", "--bind", "127.0.0.1:0"],
        ],
    };
    let events = Kind {
        name: "events",
        create: &["append", "FILE", "in.ndjson", "--create"],
        reads: &[
            &["read", "FILE"],
            &["read", "FILE", "s"],
            &["follow", "FILE", "--from", "0", "--limit", "1"],
            &["streams", "FILE"],
            &["consumers", "FILE"],
            &["replay", "FILE"],
            &["stats", "FILE"],
            &["check", "FILE"],
        ],
        writes: &[
            &["append", "FILE", "in.ndjson"],
            &["consumers", "FILE", "--set", "c", "--to", "0"],
            &["truncate", "FILE", "s", "--before", "1", "--yes"],
            &["delete", "FILE", "s", "--yes"],
            &["retention", "FILE", "--yes"],
            &["reindex", "FILE"],
        ],
    };
    let facts = Kind {
        name: "facts",
        create: &["create", "FILE", "--schema", "in.angle"],
        reads: &[
            &["query", "FILE", "src.File _"],
            &["stats", "FILE"],
            &["schema", "FILE"],
            &["shell", "FILE"],
            &["dump", "FILE"],
            &["validate", "FILE"],
            &["backup", "FILE", "NEW"],
            &["image", "FILE", "NEW"],
            &["restore", "FILE", "NEW"],
        ],
        writes: &[
            &["write", "FILE", "in.json"],
            &["derive", "FILE"],
            &["finish", "FILE"],
            &["delete", "FILE", "--yes"],
        ],
    };
    [(rdf, cfg!(feature = "rdf")), (events, cfg!(feature = "events")), (facts, cfg!(feature = "facts"))]
        .into_iter()
        .filter_map(|(kind, is_built)| is_built.then_some(kind))
        .collect()
}

impl Kind {
    /// Runs a verb on a file, and asserts how it ends.
    #[track_caller]
    fn ends(&self, place: &TestDirectory, verb: &[&str], file: &str, code: i32) {
        let arguments = verb.iter().map(|word| match *word {
            "FILE" => file,
            "NEW" => "new.ful",
            word => word,
        });
        let arguments: Vec<&str> = std::iter::once(self.name).chain(arguments).collect();
        let run = place.run(&arguments);
        assert_eq!(run.code, code, "{arguments:?} {run:?}");
        assert!(code == 0 || run.messages.starts_with("fulgurite: "), "{arguments:?} {run:?}");
    }
}

#[test]
fn a_verb_that_waits_for_the_lock_writes_when_it_is_free_and_fails_when_the_time_is_over() {
    let place = TestDirectory::new();
    place.run(&["put", "a.ful", "t", "k", "v", "--create"]).ok();
    let holder = Database::open(place.path("a.ful")).unwrap();
    let message = place.run(&["put", "a.ful", "t", "k", "late", "--wait", "0.1"]).fails(4);
    assert!(message.contains(&format!("(pid {})", std::process::id())), "{message}");
    let mut waiting = place.spawn(&["put", "a.ful", "t", "k", "w", "--wait", "60"]);
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert!(waiting.try_wait().unwrap().is_none(), "it waits");
    holder.close().unwrap();
    assert!(waiting.wait().unwrap().success());
    assert_eq!(place.run(&["get", "a.ful", "t", "k"]).ok(), "w\n");
}

#[test]
fn check_says_how_many_changes_are_in_the_log_only_so_that_its_count_is_explained() {
    let place = TestDirectory::new();
    let db = Database::create(place.path("a.ful")).unwrap();
    let table = db.create_table("t", fulgurite::TableOptions::new()).unwrap();
    db.update(|txn| txn.put(&table, "in pages", "")).unwrap();
    db.checkpoint().unwrap();
    db.update(|txn| ["b", "c"].iter().try_for_each(|key| txn.put(&table, key, ""))).unwrap();
    // As a crash leaves it: what is open for writing shows others its newest checkpoint.
    for name in place.names() {
        if let Some(suffix) = name.strip_prefix("a.ful").filter(|suffix| *suffix != "-lock") {
            std::fs::copy(place.path(&name), place.path(&format!("crashed.ful{suffix}"))).unwrap();
        }
    }
    let checked = place.run(&["check", "crashed.ful"]).ok();
    assert!(
        checked.contains("1 entry") && checked.contains("2 changed keys in the log only, not checked"),
        "{checked}"
    );
    assert_eq!(place.run(&["count", "crashed.ful", "t"]).ok(), "3\n");
    db.close().unwrap();
    let checked = place.run(&["check", "a.ful"]).ok();
    assert!(checked.contains("3 entries") && !checked.contains("log"), "{checked}");
}

#[test]
fn every_verb_of_a_store_has_the_exit_codes_of_damage_locks_and_missing_files() {
    let place = TestDirectory::new();
    place.file("in.nt", "<http://a/s> <http://a/p> <http://a/o> .\n");
    place.file("in.ndjson", "{\"stream\":\"s\",\"type\":\"t\"}\n");
    place.file("in.angle", "schema src.1 {\npredicate File : string\n}\n");
    place.file("in.json", r#"[{"predicate":"src.File.1","facts":[{"key":"a.rs"}]}]"#);
    for kind in kinds() {
        kind.ends(&place, kind.create, "a.ful", 0);
        let whole = place.read("a.ful");
        for verb in kind.reads.iter().chain(kind.writes) {
            place.file("text.ful", "just a text, longer than nothing\n".repeat(1000));
            place.file("cut.ful", &whole[..whole.len() / 2 + 1]);
            // A damaged database of facts is deleted if that is confirmed.
            let of_damage = if kind.name == "facts" && verb.contains(&"delete") { 0 } else { 3 };
            for (file, code) in [("missing.ful", 1), ("text.ful", 3), ("cut.ful", of_damage)] {
                kind.ends(&place, verb, file, code);
            }
        }
        let holder = Database::open(place.path("a.ful")).unwrap();
        for verb in kind.writes {
            kind.ends(&place, verb, "a.ful", 4);
        }
        holder.close().unwrap();
        std::fs::remove_file(place.path("a.ful")).unwrap();
        for name in place.names() {
            assert!(!name.starts_with("new.ful"), "{name}");
        }
    }
}
