//! Disks that are full or cannot be written to.
//!
//! Permission bits do not bind root, so as root a file system of its own is mounted; without the rights for that the
//! test says that it was skipped.

use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::fixture::{PROGRAM, Run, TestDirectory, crash};

/// A file system in memory, mounted at a directory until dropped.
struct Mount(PathBuf);

impl Mount {
    fn new(at: &Path, options: &str) -> Result<Self, String> {
        std::fs::create_dir_all(at).unwrap();
        mount(&["-t", "tmpfs", "-o", options, "fulgurite-test"], at).map(|()| Self(at.to_owned()))
    }

    fn make_read_only(&self) -> Result<(), String> {
        mount(&["-o", "remount,ro"], &self.0)
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).output();
    }
}

fn mount(arguments: &[&str], at: &Path) -> Result<(), String> {
    match Command::new("mount").args(arguments).arg(at).output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(format!("mount: {error}")),
    }
}

/// So many lines of NDJSON that do not compress.
fn lines(from: u64, count: u64) -> String {
    (from..from + count)
        .map(|number| format!("{{\"key\":{number},\"value\":\"{}\"}}\n", "0123456789".repeat(20)))
        .collect()
}

/// Fills the disk by imports until one fails, and looks whether all that was there before is still there. Answers how
/// many entries that is.
fn fill(run: impl Fn(&[&str], &[u8]) -> Run) -> u64 {
    run(&["import", "a.ful", "t", "--create", "--key", "u64"], lines(0, 1000).as_bytes()).ok();
    let mut loaded = 1000;
    let message = loop {
        let load = run(&["import", "a.ful", "t", "--memory", "1"], lines(loaded, 2000).as_bytes());
        if load.code != 0 {
            break load.fails(1);
        }
        loaded += 2000;
        assert!(loaded < 1_000_000, "the disk is never full");
    };
    assert!(message.contains("no space to grow") && message.ends_with("nothing was lost"), "{message}");
    let sound = run(&["check", "a.ful"], b"").ok();
    assert!(sound.starts_with("sound: 1 table, "), "{sound}");
    assert_eq!(run(&["count", "a.ful", "t"], b"").ok().trim(), loaded.to_string());
    let put = run(&["get", "a.ful", "t", "0", &(loaded - 1).to_string()], b"");
    assert_eq!(put.ok().lines().count(), 2);
    loaded
}

/// As [`fill`], by one commit after the other, each with a value of its own pages.
fn fill_by_puts(run: impl Fn(&[&str], &[u8]) -> Run) -> u64 {
    let value = |number: u64| format!("{number:06}").repeat(10_000).into_bytes();
    run(&["put", "b.ful", "t", "0", "-", "--create", "--key", "u64"], &value(0)).ok();
    let mut count = 1;
    let message = loop {
        let put = run(&["put", "b.ful", "t", &count.to_string(), "-"], &value(count));
        if put.code != 0 {
            break put.fails(1);
        }
        count += 1;
        assert!(count < 10_000, "the disk is never full");
    };
    assert!(message.contains("no space to grow") && message.ends_with("nothing was lost"), "{message}");
    let sound = run(&["check", "b.ful"], b"").ok();
    assert!(sound.starts_with("sound: 1 table, "), "{sound}");
    // The one that failed may have been committed before closing the database wanted more room.
    let found: u64 = run(&["count", "b.ful", "t"], b"").ok().trim().parse().unwrap();
    assert!((count..=count + 1).contains(&found), "{found} entries, {count} puts went well");
    for number in 0..count {
        let expected = [&value(number)[..], b"\n"].concat();
        assert!(run(&["get", "b.ful", "t", &number.to_string()], b"").ok().into_bytes() == expected, "{number}");
    }
    found
}

/// Writing goes on, now that there is room.
fn go_on(run: impl Fn(&[&str], &[u8]) -> Run, name: &str, entries: u64) {
    run(&["put", name, "t", "4000000", "after"], b"").ok();
    let load = ["import", name, "t", "--memory", "1"];
    run(&load, lines(5_000_000, 1000).as_bytes()).ok();
    assert_eq!(run(&["get", name, "t", "4000000"], b"").ok(), "after\n");
    assert_eq!(run(&["count", name, "t"], b"").ok().trim(), (entries + 1001).to_string());
    run(&["check", name], b"").ok();
}

#[test]
fn a_full_disk_fails_cleanly_loses_nothing_and_takes_more_when_there_is_room() {
    const TEST: &str = "a_full_disk_fails_cleanly_loses_nothing_and_takes_more_when_there_is_room";
    let place = TestDirectory::new();
    let small = place.path("small");
    let _mount = match Mount::new(&small, "size=10m") {
        Ok(mount) => mount,
        Err(why) => return skipped(TEST, &why),
    };
    let run = |arguments: &[&str], input: &[u8]| run_in(&mut Command::new(PROGRAM), &small, arguments, input);
    let (ballast, room) = (small.join("ballast"), vec![0; 3 << 20]);

    std::fs::write(&ballast, &room).unwrap();
    let loaded = fill(run);
    std::fs::remove_file(&ballast).unwrap();
    go_on(run, "a.ful", loaded);

    std::fs::remove_file(small.join("a.ful")).unwrap();
    std::fs::write(&ballast, &room).unwrap();
    let put = fill_by_puts(run);
    std::fs::remove_file(&ballast).unwrap();
    go_on(run, "b.ful", put);
}

/// Verbs that read, with their arguments, of a store and of databases: one closed cleanly, and one whose last commits
/// are in its log.
const READS: [&[&str]; 29] = [
    &["rdf", "query", "q.ful", "SELECT * { ?s ?p ?o } ORDER BY ?o"],
    &["rdf", "query", "q.ful", "ASK { ?s <http://e/p> ?o }"],
    &["rdf", "query", "q.ful", "SELECT (COUNT(*) AS ?n) { ?s <http://e/p>* ?o }", "--explain"],
    &["rdf", "query", "q.ful", "CONSTRUCT WHERE { ?s ?p ?o }", "--format", "rdf"],
    &["rdf", "dump", "q.ful"],
    &["rdf", "dump", "q.ful", "--format", "ttl", "--default-graph"],
    &["rdf", "dump", "q.ful", "--format", "rdf", "--default-graph"],
    &["rdf", "dump", "q.ful", "--format", "jsonld"],
    &["rdf", "stats", "q.ful"],
    &["rdf", "check", "q.ful"],
    &["check", "q.ful"],
    &["stats", "q.ful"],
    &["tables", "q.ful"],
    &["tables", "a.ful"],
    &["get", "a.ful", "t", "k"],
    &["scan", "a.ful", "t"],
    &["count", "a.ful", "t"],
    &["export", "a.ful", "t", "--format", "ndjson"],
    &["export", "a.ful", "t", "--format", "csv"],
    &["stats", "a.ful"],
    &["check", "a.ful"],
    &["changes", "a.ful"],
    &["tables", "crashed.ful"],
    &["get", "crashed.ful", "t", "k"],
    &["scan", "crashed.ful", "commits"],
    &["count", "crashed.ful", "commits"],
    &["export", "crashed.ful", "commits"],
    &["stats", "crashed.ful"],
    &["check", "crashed.ful"],
];

/// Verbs that read, and write to another disk.
const COPIES: [&[&str]; 5] = [
    &["backup", "q.ful", "../backup.q"],
    &["backup", "a.ful", "../backup.a"],
    &["backup", "crashed.ful", "../backup.crashed"],
    &["rdf", "dump", "q.ful", "../dump.nq"],
    &["export", "a.ful", "t", "../export.ndjson"],
];

#[test]
fn every_verb_that_reads_works_on_a_disk_without_a_free_byte() {
    const TEST: &str = "every_verb_that_reads_works_on_a_disk_without_a_free_byte";
    let place = TestDirectory::new();
    let full = place.path("full");
    let _mount = match Mount::new(&full, "size=48m") {
        Ok(mount) => mount,
        Err(why) => return skipped(TEST, &why),
    };
    let run = |arguments: &[&str]| run_in(&mut Command::new(PROGRAM), &full, arguments, b"");
    std::fs::write(
        full.join("one.nq"),
        "<http://e/a> <http://e/p> <http://e/b> <http://e/g> .\n<http://e/a> <http://e/p> \"x\" .\n",
    )
    .unwrap();
    run(&["rdf", "load", "q.ful", "one.nq", "--create"]).ok();
    run(&["put", "a.ful", "t", "k", "v", "--create", "--keep-log", "1"]).ok();
    crashed(&full);
    let before = READS.map(|arguments| timeless(&run(arguments).ok()));
    let files = || ["q.ful", "a.ful", "crashed.ful"].map(|name| std::fs::read(full.join(name)).unwrap());
    let bytes = files();
    fill_up(&full.join("ballast"));
    run(&["put", "full.ful", "t", "k", "v", "--create"]).fails(1);
    let message = run(&["backup", "a.ful", "copy.ful"]).fails(1);
    assert!(message.contains("no space for the copy") && message.ends_with("there is no copy"), "{message}");
    let message = run(&["export", "crashed.ful", "commits", "copy.ndjson"]).fails(1);
    assert!(message.ends_with("; free space, or choose another disk"), "{message}");

    for (arguments, expected) in READS.into_iter().zip(before) {
        assert_eq!(timeless(&run(arguments).ok()), expected, "{arguments:?}");
    }
    for arguments in COPIES {
        run(arguments).ok();
    }
    assert!(files() == bytes, "a verb that reads has written");
    for copy in ["backup.q", "backup.a", "backup.crashed"] {
        let sound = run_in(&mut Command::new(PROGRAM), place.root(), &["check", copy], b"").ok();
        assert!(sound.starts_with("sound: "), "{copy}: {sound}");
    }
}

/// An answer without the times in it.
fn timeless(answer: &str) -> String {
    answer.lines().filter(|line| !line.contains(" ms") && !line.contains("memory: peak")).collect::<Vec<_>>().join("\n")
}

/// Leaves the file system of a file no free byte.
fn fill_up(ballast: &Path) {
    let mut file = std::fs::File::create(ballast).unwrap();
    let block = vec![1; 4096];
    while file.write_all(&block).is_ok() {}
}

#[test]
fn a_limit_of_file_size_fails_like_a_full_disk() {
    let place = TestDirectory::new();
    let loaded = fill(|arguments, input| {
        // The signal of this limit would kill a program that does not block it.
        let mut shell = Command::new("sh");
        shell.args(["-c", "ulimit -f 8192; exec \"$0\" \"$@\"", PROGRAM]);
        run_in(&mut shell, place.root(), arguments, input)
    });
    let unlimited =
        |arguments: &[&str], input: &[u8]| run_in(&mut Command::new(PROGRAM), place.root(), arguments, input);
    go_on(unlimited, "a.ful", loaded);
}

#[test]
fn in_a_read_only_directory_reading_works_and_writing_fails() {
    const TEST: &str = "in_a_read_only_directory_reading_works_and_writing_fails";
    let place = TestDirectory::new();
    let directory = place.path("sealed");
    std::fs::create_dir(&directory).unwrap();
    let is_root = std::fs::metadata(&directory).unwrap().uid() == 0;
    let mount = match Mount::new(&directory, "size=16m") {
        Ok(mount) => Some(mount),
        Err(why) if is_root => return skipped(TEST, &why),
        Err(_) => None,
    };
    let run = |arguments: &[&str], input: &[u8]| run_in(&mut Command::new(PROGRAM), &directory, arguments, input);
    run(&["put", "a.ful", "t", "k", "v", "--create"], b"").ok();
    crashed(&directory);
    match &mount {
        Some(mount) => {
            if let Err(why) = mount.make_read_only() {
                return skipped(TEST, &why);
            }
        }
        None => std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o555)).unwrap(),
    }

    // Both the clean file and the one with a log beside it.
    for name in ["a.ful", "crashed.ful"] {
        assert_eq!(run(&["get", name, "t", "k"], b"").ok(), "v\n");
        run(&["check", name], b"").ok();
        run(&["stats", name], b"").ok();
        let message = run(&["put", name, "t", "k", "w"], b"").fails(1);
        assert!(message.contains(name) && message.ends_with("use another directory"), "{message}");
        let message = run(&["backup", name, "copy.ful"], b"").fails(1);
        assert!(message.contains("copy.ful: create failed: "), "{message}");
        assert!(message.ends_with("; choose a directory that is writable"), "{message}");
        assert_eq!(run(&["get", name, "t", "k"], b"").ok(), "v\n");
    }
    let entries: u64 = run(&["count", "crashed.ful", "commits"], b"").ok().trim().parse().unwrap();
    assert_eq!(entries, 3 * 300);
    run(&["put", "b.ful", "t", "k", "v", "--create"], b"").fails(1);
    if mount.is_none() {
        std::fs::set_permissions(&directory, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Makes a database `crashed.ful` whose last commits are in its log only.
fn crashed(directory: &Path) {
    let put = ["put", "crashed.ful", "t", "k", "v", "--create"];
    run_in(&mut Command::new(PROGRAM), directory, &put, b"").ok();
    crash(directory, "crashed.ful", 300);
}

fn run_in(command: &mut Command, directory: &Path, arguments: &[&str], input: &[u8]) -> Run {
    command.args(arguments).current_dir(directory).env("TERM", "dumb");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Run::of(output)
}

/// Says on standard error, where the test runner does not catch it, that a claim went unproved.
fn skipped(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}

#[test]
fn an_indexer_that_fails_on_a_full_disk_without_a_message_names_the_file_that_cannot_be_written() {
    const TEST: &str = "an_indexer_that_fails_on_a_full_disk_without_a_message_names_the_file_that_cannot_be_written";
    let place = TestDirectory::new();
    let small = place.path("small");
    let _mount = match Mount::new(&small, "size=1m") {
        Ok(mount) => mount,
        Err(why) => return skipped(TEST, &why),
    };
    let (programs, source) = (place.path("programs"), place.path("source"));
    for directory in [&programs, &source] {
        std::fs::create_dir(directory).unwrap();
    }
    std::fs::write(source.join("a.c"), "int a;\n").unwrap();
    // An indexer whose output fills the disk, so that its message has no room.
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = --version ] && echo Universal Ctags +json && exit 0\n\
         cat /dev/zero > '{}' 2> /dev/null\necho no room\nexit 1\n",
        small.join("output").display()
    );
    std::fs::write(programs.join("ctags"), script).unwrap();
    std::fs::set_permissions(programs.join("ctags"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap_or_default();
    let mut program = Command::new(PROGRAM);
    program.env("PATH", format!("{}:{path}", programs.display()));
    let source = source.display().to_string();
    let run = run_in(&mut program, &small, &["facts", "index", &source, "--database", "code.ful"], b"");
    let expected = "code.ful-indexer.log: cannot be written: No space left";
    assert!(run.code == 1 && run.messages.contains(expected), "{run:?}");
}

/// The signal of the limit ended the program without a message.
#[test]
fn a_file_above_the_limit_of_the_system_is_an_error_and_no_signal() {
    let place = TestDirectory::new().with_fruit("a.ful");
    let input = place.file("in.ndjson", lines(0, 20_000));
    // 1 MiB, or 2 MiB in a shell that counts blocks of 1024 bytes: less than the input.
    let mut shell = place.command("sh");
    let limited = "ulimit -f 2048; exec \"$0\" \"$@\"";
    shell.arg("-c").arg(limited).arg(PROGRAM).args(["import", "a.ful", "t", input, "--create", "--key", "u64"]);
    let message = Run::of(shell.output().unwrap()).fails(1);
    assert!(message.contains("file size limit"), "{message}");
    assert_eq!(place.run(&["get", "a.ful", "fruit", "apple"]).ok(), "red\n");
}
