//! Indexing where another file or a damaged one is, and indexers and runs that end early.

use protobuf::Message;

use super::{document, increased, indexed, references};
use crate::fixture::TestDirectory;

#[test]
fn a_file_that_is_no_database_where_an_increment_would_be_is_to_be_removed() {
    let (directory, found) = increased();
    directory.file("code.ful-increment.1", "hallo\n");
    let index = |arguments: &[&str]| directory.run(&[&["facts", "index", "--scip", "index.scip"], arguments].concat());
    let search = || directory.run(&["facts", "search", "code.ful", "area"]);
    for failed in [index(&[]), index(&["--whole"]), search()] {
        let message = failed.fails(1);
        assert!(message.starts_with("code.ful-increment.1: the file has the name of an increment"), "{message}");
        assert!(message.ends_with("remove it, or move it away"), "{message}");
    }
    std::fs::remove_file(directory.path("code.ful-increment.1")).unwrap();
    index(&[]).ok();
    assert_eq!(references(&directory, "code.ful"), found);
}

#[test]
fn what_a_killed_index_has_left_is_not_listed_and_is_deleted_with_the_index() {
    let directory = super::indexed();
    let bytes = directory.read("code.ful");
    directory.file("code.ful-unfinished", &bytes);
    directory.file("code.ful-increment.1-unfinished", &bytes);
    for name in ["code.ful-unfinished-lock", "code.ful-scip-go.scip", "code.ful-ctags.json", "code.ful-indexer.log"] {
        directory.file(name, "");
    }
    let listed = directory.run(&["facts", "list"]).ok();
    assert!(listed.contains("code.ful ") && !listed.contains("unfinished"), "{listed}");
    directory.run(&["facts", "delete", "code.ful", "--yes"]).ok();
    assert!(!directory.names().iter().any(|name| name.starts_with("code.ful")), "{:?}", directory.names());
    // The first run of all was killed.
    directory.file("code.ful-unfinished", &bytes);
    directory.run(&["facts", "delete", "code.ful", "--yes"]).ok();
    assert!(!directory.path("code.ful-unfinished").exists());
    // It failed, and kept an output. Another file is not removed.
    directory.file("code.ful-scip-go-1.scip", "");
    directory.file("code.ful-notes.scip", "");
    directory.run(&["facts", "delete", "code.ful", "--yes"]).ok();
    assert_eq!(directory.names(), ["code.ful-notes.scip", "index.scip", "src"]);
    assert!(directory.run(&["facts", "delete", "code.ful", "--yes"]).fails(1).contains("no such database"));
}

#[test]
fn an_index_that_is_damaged_beyond_recognition_is_deleted_and_made_again() {
    let (directory, found) = increased();
    let bytes = directory.read("code.ful");
    // Two pages are left, which say that it is a database.
    directory.file("code.ful", &bytes[..2 * 4096]);
    for whole in [&[][..], &["--whole"]] {
        let message = directory.run(&[&["facts", "index", "--scip", "index.scip"], whole].concat()).fails(3);
        assert!(message.contains("delete it with `fulgurite facts delete code.ful --yes`"), "{message}");
    }
    assert_eq!(directory.read("code.ful").len(), 2 * 4096);
    directory.run(&["facts", "delete", "code.ful", "--yes"]).ok();
    assert!(!directory.names().iter().any(|name| name.starts_with("code.ful")), "{:?}", directory.names());
    directory.run(&["facts", "index", "--scip", "index.scip"]).ok();
    assert_eq!(references(&directory, "code.ful"), found);
    // What is not a database at all may be any file.
    directory.file("notes.txt", "a text");
    assert_ne!(directory.run(&["facts", "delete", "notes.txt", "--yes"]).code, 0);
    assert_eq!(directory.read("notes.txt"), b"a text");
}

/// A database with commits in its log only, which is elsewhere. Returns its bytes, and the names of the log.
fn without_log(directory: &TestDirectory, name: &str) -> (Vec<u8>, Vec<String>) {
    directory.crash(name, 3);
    let mut log = directory.names();
    log.retain(|file| file.starts_with(&format!("{name}-log.")));
    assert!(!log.is_empty());
    log.iter().for_each(|file| std::fs::rename(directory.path(file), directory.path(&format!("of-{file}"))).unwrap());
    (directory.read(name), log)
}

/// It was deleted.
#[test]
fn a_database_whose_log_is_missing_is_not_taken_for_a_damaged_index() {
    let directory = TestDirectory::new();
    directory.file("index.scip", super::scip(1));
    let (bytes, log) = without_log(&directory, "code.ful");
    for arguments in [
        &["delete", "code.ful", "--yes"][..],
        &["index", "--scip", "index.scip"],
        &["index", "--scip", "index.scip", "--whole"],
    ] {
        let message = directory.run(&[&["facts"], arguments].concat()).fails(3);
        assert!(message.contains("put all its `-log.*` files beside it"), "{message}");
    }
    assert_eq!(directory.read("code.ful"), bytes);
    log.iter().for_each(|file| std::fs::rename(directory.path(&format!("of-{file}")), directory.path(file)).unwrap());
    assert_eq!(directory.run(&["count", "code.ful", "commits"]).ok().trim(), "9");
}

#[test]
fn a_database_whose_log_is_missing_is_not_taken_for_a_damaged_increment() {
    let directory = indexed();
    let (bytes, _) = without_log(&directory, "code.ful-increment.1");
    for whole in [&[][..], &["--whole"]] {
        let message = directory.run(&[&["facts", "index", "--scip", "index.scip"], whole].concat()).fails(3);
        assert!(message.contains("put all its `-log.*` files beside it"), "{message}");
    }
    directory.run(&["facts", "delete", "code.ful", "--yes"]).ok();
    assert!(!directory.path("code.ful").exists());
    assert_eq!(directory.read("code.ful-increment.1"), bytes);
}

#[cfg(unix)]
#[test]
fn a_damaged_database_that_another_process_writes_to_is_not_deleted() {
    use std::io::Write as _;

    let directory = TestDirectory::new().with_fruit("a.ful");
    let writer = fulgurite::Database::open(directory.path("a.ful")).unwrap();
    let mut damaged = directory.read("a.ful");
    // Two pages are left, which say that it is a database.
    damaged[2 * 4096..].iter_mut().for_each(|byte| *byte = !*byte);
    let mut file = std::fs::OpenOptions::new().write(true).open(directory.path("a.ful")).unwrap();
    file.write_all(&damaged).unwrap();
    let message = directory.run(&["facts", "delete", "a.ful", "--yes"]).fails(4);
    assert!(message.contains("another process has this database open for writing"), "{message}");
    assert_eq!(directory.read("a.ful"), damaged);
    writer.discard().unwrap();
    directory.run(&["facts", "delete", "a.ful", "--yes"]).ok();
    assert!(!directory.path("a.ful").exists());
}

#[test]
fn verbs_that_need_an_index_say_how_it_is_made_and_that_a_directory_is_none() {
    let directory = indexed();
    let run = |arguments: &[&str]| directory.run(&[&["facts"], arguments].concat()).fails(1);
    for arguments in [&["search", "no.ful", "area"][..], &["definition", "no.ful", "area"], &["lsp", "no.ful"]] {
        let message = run(arguments);
        assert!(message.contains("make it with `fulgurite facts index --database "), "{message}");
    }
    for arguments in
        [&["definition", ".", "area"][..], &["lsp", "src"], &["query", ".", "code.File _"], &["serve", "."]]
    {
        let message = run(arguments);
        assert!(message.contains("it is a directory; name the database file"), "{message}");
    }
    for root in ["none", "code.ful"] {
        let message = run(&["lsp", "code.ful", "--root", root]);
        assert!(message.contains(&format!("{root}: there is no such directory")), "{message}");
    }
    for place in ["src/shape.rs:0:0", "src/shape.rs:1:0"] {
        let message = run(&["definition", "code.ful", place]);
        assert!(message.ends_with("lines and columns begin at 1"), "{message}");
    }
    let message = run(&["hierarchy", "code.ful", "src/shape.rs"]);
    assert!(message.contains("src/shape.rs: it is a file; ask about a line of it"), "{message}");
}

#[test]
fn files_outside_of_the_directory_are_counted_and_numbers_have_separators() {
    let directory = TestDirectory::new();
    let mut index = scip::types::Index::parse_from_bytes(&super::scip(1)).unwrap();
    for number in 0..1200 {
        index.documents.push(document(&format!("more/{number}.rs"), &[(0, 4)], false));
    }
    index.documents.push(document("../cache/1-d", &[(0, 4)], false));
    directory.file("index.scip", index.write_to_bytes().unwrap());
    let run = directory.run(&["facts", "index", "--scip", "index.scip"]);
    assert!(run.messages.contains("left out: 1 file outside of the directory, such as ../cache/1-d\n"), "{run:?}");
    assert!(run.messages.contains("1,210 files: 1,210 added, 0 changed, 0 removed"), "{run:?}");
    run.ok();
}

#[test]
fn statistics_of_an_index_have_the_size_of_all_of_its_files() {
    let (directory, _) = increased();
    let stats = directory.run(&["facts", "stats", "code.ful"]).ok();
    assert!(stats.contains("; complete, 2 files of "), "{stats}");
}

#[cfg(unix)]
mod indexers {
    #[cfg(target_os = "linux")]
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io::Read as _;
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use super::super::StandIns;
    use crate::fixture::Run;

    /// Damage is by pages of at least this size.
    const PAGE_BYTES: usize = 4096;

    #[test]
    fn a_database_that_cannot_be_written_is_found_before_an_indexer_runs() {
        let project = StandIns::new(&["scip-go", "scip-python"]);
        project.directory.file("code.ful", "a text");
        for (database, message) in [
            ("project", "it is a directory; name the database file"),
            ("..", "it is a directory; name the database file"),
            ("code.ful", "not a Fulgurite database"),
            ("none/code.ful", "none/code.ful: there is no directory none; check the path"),
        ] {
            let failed = project.index(&["--database", database]);
            assert!(failed.code != 0 && failed.messages.contains(message), "{failed:?}");
        }
        let names = project.directory.names();
        assert!(!names.iter().any(|name| name == "scip-go.log" || name.ends_with("-index-lock")), "{names:?}");
    }

    /// Ctags replaced the index, or nothing did, and the references were lost.
    #[test]
    fn files_of_an_indexer_that_is_missing_now_stay_in_the_index_until_it_is_skipped() {
        let project = StandIns::new(&["scip-go", "scip-python"]);
        project.finds("scip-go", &[("main.go", 1)]);
        project.finds("scip-python", &[("main.py", 1), ("other.py", 1)]);
        project.index(&[]).ok();
        let before = project.uses();
        std::fs::remove_file(project.directory.path("programs/scip-python")).unwrap();
        for arguments in [&[][..], &["--whole"], &["--skip", "ctags"]] {
            let failed = project.index(arguments);
            for part in ["scip-python is missing, and the index has files that it found", "`--skip scip-python`"] {
                assert!(failed.code == 1 && failed.messages.contains(part), "{failed:?}");
            }
        }
        assert_eq!(project.uses(), before);
        let skipped = project.index(&["--skip", "scip-python"]);
        assert!(skipped.messages.contains("1 file: 0 added, 0 changed, 2 removed"), "{}", skipped.messages);
        // Nothing is left to lose.
        assert_eq!(project.index(&[]).code, 0);
    }

    /// Such paths excluded nothing, and nothing said so.
    #[test]
    fn a_path_to_exclude_begins_at_the_directory_and_one_that_is_not_there_is_named() {
        let project = StandIns::new(&["scip-go"]);
        for path in ["../project/made", "/made", "./", ""] {
            assert_eq!(project.index(&["--exclude", path]).code, 2, "{path}");
        }
        project.finds("scip-go", &[("main.go", 1), ("made/b.go", 1)]);
        let run = project.index(&["--exclude", "./made//b.go", "--exclude", "main.py"]);
        for part in ["project: --exclude made/b.go: there is no such file or directory", "1 file: 1 added"] {
            assert!(run.code == 0 && run.messages.contains(part), "{run:?}");
        }
        assert!(!run.messages.contains("--exclude main.py"), "{run:?}");
    }

    /// The output of hours was removed, and the malformed index too, which its user wanted to report.
    #[test]
    fn outputs_stay_if_one_is_malformed_and_the_message_has_the_command_for_the_others() {
        let project = StandIns::new(&["scip-go", "scip-python"]);
        project.finds("scip-python", &[("main.py", 2), ("other.py", 1)]);
        project.directory.file("scip-go.scip", [0xff; 100]);
        let failed = project.index(&["--exclude", "it's/other", "--exclude", "other.py", "--whole"]);
        for part in ["scip-go failed: its index is wrong: /", "code.ful-scip-go.scip: byte 0: ", "; index the others "]
        {
            assert!(failed.code == 1 && failed.messages.contains(part), "{failed:?}");
        }
        assert_eq!(project.directory.read("code.ful-scip-go.scip"), [0xff; 100]);
        let run = project.follow(&failed.messages);
        assert!(run.code == 0 && run.messages.contains("1 file: 1 added, 0 changed, 0 removed"), "{run:?}");
        // The next run of indexers removes the outputs.
        project.finds("scip-go", &[("main.go", 2)]);
        project.index(&[]).ok();
        let names = project.directory.names();
        assert!(!names.iter().any(|name| name.starts_with("code.ful-scip")), "{names:?}");
        // If nothing else is there to index, there is no command.
        project.directory.file("scip-go.scip", [0xff; 100]);
        let failed = project.index(&["--skip", "scip-python"]);
        let kept = "; finished outputs are kept until indexers run again\n";
        assert!(failed.code == 1 && failed.messages.ends_with(kept), "{failed:?}");
    }

    #[test]
    fn the_output_of_an_indexer_in_a_subdirectory_stays_if_another_indexer_fails() {
        let project = StandIns::new(&["scip-go", "scip-python"]);
        std::fs::remove_file(project.directory.path("project/main.py")).unwrap();
        std::fs::create_dir(project.directory.path("project/a b")).unwrap();
        for name in ["project/a b/main.py", "project/a b/pyproject.toml", "scip-go.fails"] {
            project.directory.file(name, "");
        }
        project.finds("scip-python", &[("main.py", 2)]);
        let failed = project.index(&[]);
        assert!(failed.code == 1 && failed.messages.contains(" --scip-in 'a b' /"), "{failed:?}");
        let run = project.follow(&failed.messages);
        assert!(run.code == 0 && run.messages.contains("1 file: 1 added, 0 changed, 0 removed"), "{run:?}");
        let files = project.directory.run(&["facts", "query", "code.ful", "code.File _"]);
        assert!(files.text().contains("a b/main.py"), "{files:?}");
        let outside = ["facts", "index", "project", "--scip-in", "../x", "scip-python.scip"];
        let message = project.directory.run(&outside).fails(1);
        assert!(message.contains("--scip-in ../x: not a path that begins at the indexed directory"), "{message}");
        let itself = ["facts", "index", "project", "--scip-in", ".", "scip-python.scip"];
        let message = project.directory.run(&itself).fails(1);
        assert_eq!(message, "--scip-in .: the indexed directory itself; read the file with --scip");
    }

    /// The command was without `--whole`, and failed as the first one.
    #[test]
    fn the_command_for_the_outputs_replaces_an_index_that_is_damaged() {
        let project = StandIns::new(&["scip-go", "scip-python"]);
        project.finds("scip-go", &[("main.go", 1)]);
        project.finds("scip-python", &[("main.py", 2)]);
        project.index(&[]).ok();
        let (uses, bytes) = (project.uses(), project.directory.read("code.ful"));
        // Some pages are read before indexers run, and some not at all.
        let mut damaged = (PAGE_BYTES..bytes.len()).step_by(PAGE_BYTES).rev().map(|begin| {
            let end = bytes.len().min(begin + PAGE_BYTES);
            let mut damaged = bytes.clone();
            damaged[begin..end].iter_mut().for_each(|byte| *byte = !*byte);
            project.directory.file("code.ful", &damaged);
            project.index(&[])
        });
        let is_found = |run: &Run| run.messages.contains("; finished outputs are kept until indexers run again; ");
        let failed = damaged.find(is_found).expect("an update reads some page");
        assert!(failed.code == 3 && failed.messages.contains("the index is damaged ("), "{failed:?}");
        let run = project.follow(&failed.messages);
        assert!(run.code == 0 && run.messages.contains("2 files: 2 added"), "{run:?}");
        assert_eq!(project.uses(), uses);
    }

    /// The command had other paths.
    #[cfg(target_os = "linux")]
    #[test]
    fn no_command_for_the_outputs_is_printed_if_a_path_is_not_in_utf_8() {
        use std::os::unix::ffi::OsStrExt as _;

        let project = StandIns::new(&["scip-go", "scip-python"]);
        project.directory.file("scip-go.fails", "");
        let mut program = project.directory.command(crate::fixture::PROGRAM);
        program.env("PATH", project.directory.path("programs")).args(["facts", "index", "project", "--database"]);
        program.arg(OsStr::from_bytes(b"code\xff.ful"));
        let failed = Run::of(program.output().unwrap());
        assert!(failed.code == 1 && !failed.messages.contains("facts index"), "{failed:?}");
        let kept = "; finished outputs are kept until indexers run again: /";
        assert!(failed.messages.contains(kept), "{failed:?}");
        assert!(failed.messages.ends_with("code\u{fffd}.ful-scip-python.scip\n"), "{failed:?}");
    }

    /// The indexer ran on, and could write to the files of the next run.
    #[test]
    fn an_indexer_ends_when_the_program_is_killed_and_leaves_no_files() {
        let project = StandIns::new(&["scip-go"]);
        let fifo = project.directory.path("scip-go.fifo");
        assert!(project.directory.command("mkfifo").arg(&fifo).status().unwrap().success());
        let mut program = project.directory.command(crate::fixture::PROGRAM);
        program.env("PATH", project.directory.path("programs")).args(["facts", "index", "project"]);
        let mut running = program.stdin(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        // The indexer opens the other end when it runs, and holds it until it ends: a minute later, by itself.
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(File::open(fifo)));
        let opened = receiver.recv_timeout(Duration::from_secs(60));
        let begun = Instant::now();
        running.kill().unwrap();
        running.wait().unwrap();
        let mut held = opened.expect("the indexer has begun").unwrap();
        assert_eq!(held.read(&mut [0]).unwrap(), 0);
        assert!(begun.elapsed().as_secs() < 50, "{:?}", begun.elapsed());
        // What has ended the indexer holds the lock until it has removed the files.
        let lock = File::create(project.directory.path("code.ful-index-lock")).unwrap();
        lock.lock().unwrap();
        let names = project.directory.names();
        let is_left = |name: &String| name.ends_with("indexer.log") || name.ends_with("-scip-go.scip");
        assert!(!names.iter().any(is_left), "{names:?}");
    }
}
