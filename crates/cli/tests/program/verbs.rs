//! Each verb on a small database.

use fulgurite::{Database, TableOptions};

use crate::fixture::{Run, TestDirectory};

/// A table of u64 keys from 0 to 99, and a multimap.
fn numbers() -> TestDirectory {
    let place = TestDirectory::new();
    let lines: String = (0..100).map(|number| format!("{number},{}\n", number * number)).collect();
    let import = ["import", "n.ful", "squares", "--create", "--key", "u64", "--value", "u64", "--format", "csv"];
    place.run_with_input(&import, format!("key,value\n{lines}").as_bytes()).ok();
    let pairs = "key,value\nbank,2\nbank,1\nbanker,3\nriver,4\n";
    let import = ["import", "n.ful", "words", "--create", "--multimap", "--value", "u64", "--format", "csv"];
    place.run_with_input(&import, pairs.as_bytes()).ok();
    place
}

#[test]
fn tables_are_listed_with_types_and_sizes() {
    let place = numbers();
    let expected = "\
table    kind      keys    values  merge  entries
squares  table     u64     u64     none       100
words    multimap  string  u64     none         4
";
    assert_eq!(place.run(&["tables", "n.ful"]).ok(), expected);
    let json = "[\n{\"table\":\"squares\",\"kind\":\"table\",\"keys\":\"u64\",\"values\":\"u64\",\"merge\":\"none\",\"entries\":100},\n";
    assert!(place.run(&["tables", "n.ful", "--format", "json"]).ok().starts_with(json));
}

#[test]
fn a_table_is_created_with_a_merge_operator_that_fits_and_keeps_it() {
    let place = TestDirectory::new();
    let put = |arguments: &[&str]| place.run(&[&["put", "m.ful", "hits", "home", "5", "--create"], arguments].concat());
    let says = |run: Run, what: &str| {
        let message = run.fails(1);
        assert!(message.contains(what), "{message}");
    };
    says(put(&["--value", "f64", "--merge", "add"]), "the merge operator `add` needs values that are integers");
    says(put(&["--merge", "add"]), "merges numbers of 8 bytes");
    put(&["--value", "u64", "--merge", "add"]).ok();
    put(&["--value", "u64", "--merge", "add"]).ok();
    says(put(&["--merge", "max"]), "its merge operator is `add`; omit --merge");
    let expected = "\
table  kind   keys   values  merge  entries
hits   table  plain  u64     add          1
";
    assert_eq!(place.run(&["tables", "m.ful"]).ok(), expected);
    assert!(place.run(&["stats", "m.ful", "--format", "json"]).ok().contains("\"table\":\"hits\",\"merge\":\"add\""));
}

#[test]
fn a_table_is_created_with_the_name_of_a_merge_function_which_is_shown_and_kept() {
    let place = TestDirectory::new();
    let put =
        |arguments: &[&str]| place.run(&[&["put", "m.ful", "tags", "sea", "a b", "--create"], arguments].concat());
    let says = |run: Run, what: &str| {
        let message = run.fails(1);
        assert!(message.contains(what), "{message}");
    };
    says(put(&["--merge-function", ""]), "the name of a merge function has 1 to 255 bytes, not 0");
    put(&["--merge-function", "the \"words\""]).ok();
    put(&["--merge-function", "the \"words\""]).ok();
    says(put(&["--merge-function", "other"]), "its merge function is `the \"words\"`; omit --merge-function");
    says(put(&["--merge", "add"]), "its merge function is `the \"words\"`; omit --merge");
    let expected = "\
table  kind   keys   values  merge                 entries
tags   table  plain  plain   function the \"words\"        1
";
    assert_eq!(place.run(&["tables", "m.ful"]).ok(), expected);
    let json = r#""table":"tags","merge":"function the \"words\"""#;
    assert!(place.run(&["stats", "m.ful", "--format", "json"]).ok().contains(json));
    place.run(&["check", "m.ful"]).ok();
    place.run(&["compact", "m.ful"]).ok();
    place.run(&["backup", "m.ful", "copy.ful"]).ok();
    assert_eq!(place.run(&["tables", "copy.ful"]).ok(), expected);
}

#[test]
fn ranges_are_scanned_from_either_end() {
    let place = numbers();
    let scan = |arguments: &[&str]| {
        let all = [&["scan", "n.ful", "squares", "--format", "csv", "--keys-only"], arguments].concat();
        place.run(&all).ok().lines().skip(1).map(|key| key.parse().unwrap()).collect::<Vec<u64>>()
    };
    assert_eq!(scan(&[]), (0..100).collect::<Vec<_>>());
    assert_eq!(scan(&["--from", "97"]), [97, 98, 99]);
    assert_eq!(scan(&["--to", "2"]), [0, 1]);
    assert_eq!(scan(&["--from", "5", "--to", "7", "--reverse"]), [6, 5]);
    assert_eq!(scan(&["--reverse", "--limit", "2"]), [99, 98]);
    assert_eq!(scan(&["--limit", "0"]), [0; 0]);
    assert_eq!(scan(&["--from", "7", "--to", "7"]), [0; 0]);
    assert_eq!(scan(&["--from", "8", "--to", "7"]), [0; 0]);
    assert_eq!(scan(&["--from", "8", "--to", "7", "--reverse"]), [0; 0]);
    let table = place.run(&["scan", "n.ful", "squares", "--from", "9", "--to", "11"]).ok();
    assert_eq!(table, "key  value\n  9     81\n 10    100\n");
    let json = place.run(&["scan", "n.ful", "squares", "--limit", "1", "--format", "ndjson"]).ok();
    assert_eq!(json, "{\"key\":0,\"value\":0}\n");
    assert_eq!(place.run(&["count", "n.ful", "squares", "--from", "90"]).ok(), "10\n");
    assert_eq!(place.run(&["count", "n.ful", "squares", "--from", "8", "--to", "7"]).ok(), "0\n");
    assert_eq!(place.run(&["count", "n.ful", "squares", "--estimate"]).ok(), "100 (between 100 and 100)\n");
}

#[test]
fn a_multimap_shows_key_and_value_apart() {
    let place = numbers();
    assert_eq!(place.run(&["get", "n.ful", "words", "bank"]).ok(), "1\n2\n");
    let scanned = place.run(&["scan", "n.ful", "words", "--prefix", "bank", "--format", "csv"]).ok();
    assert_eq!(scanned, "key,value\nbank,1\nbank,2\nbanker,3\n");
    let scanned = place.run(&["scan", "n.ful", "words", "--from", "bank", "--to", "banker", "--format", "csv"]).ok();
    assert_eq!(scanned, "key,value\nbank,1\nbank,2\n");
    assert_eq!(place.run(&["count", "n.ful", "words", "--prefix", "bank"]).ok(), "3\n");
    place.run(&["put", "n.ful", "words", "bank", "5"]).ok();
    place.run(&["del", "n.ful", "words", "bank", "--only", "1"]).ok();
    assert_eq!(place.run(&["get", "n.ful", "words", "bank"]).ok(), "2\n5\n");
    place.run(&["del", "n.ful", "words", "bank"]).ok();
    assert_eq!(place.run(&["get", "n.ful", "words", "bank"]).fails(1), "no key `bank` in table `words`");
    let message = place.run(&["del", "n.ful", "words", "banker", "--only", "7"]).fails(1);
    assert_eq!(message, "no key `banker` with the value `7` in table `words`; nothing was deleted");
    let message = place.run(&["del", "n.ful", "squares", "7", "--only", "49"]).fails(1);
    assert_eq!(message, "table `squares` is not a multimap, so a key has one value; omit --only");
}

#[test]
fn get_prints_what_is_there_and_then_names_what_is_not() {
    let place = TestDirectory::new().with_fruit("a.ful");
    let run = place.run(&["get", "a.ful", "fruit", "apple", "pear", "banana", "fig"]);
    assert_eq!(run.text(), "red\nyellow\n");
    assert_eq!(run.fails(1), "no keys `pear`, `fig` in table `fruit`");
    let json = place.run(&["get", "a.ful", "fruit", "apple", "--format", "json"]).ok();
    assert_eq!(json, "[\n{\"key\":\"apple\",\"value\":\"red\"}\n]\n");
}

#[test]
fn a_value_from_standard_input_is_taken_byte_for_byte() {
    let place = TestDirectory::new();
    let bytes = b"\xFF\x00\r\nhex:\n";
    place.run_with_input(&["put", "a.ful", "t", "k", "-", "--create"], bytes).ok();
    assert_eq!(place.run(&["get", "a.ful", "t", "k", "--raw"]).data, bytes);
    assert_eq!(place.run(&["get", "a.ful", "t", "k"]).ok(), "hex:ff000d0a6865783a0a\n");
    place.run(&["put", "a.ful", "t", "k", "hex:2d"]).ok();
    assert_eq!(place.run(&["get", "a.ful", "t", "k"]).ok(), "-\n");
    place.run_with_input(&["put", "a.ful", "n", "7", "-", "--create", "--key", "u8", "--value", "u8"], b"8\n").ok();
    assert_eq!(place.run(&["get", "a.ful", "n", "7"]).ok(), "8\n");
}

#[test]
fn keys_are_deleted_all_or_none() {
    let place = TestDirectory::new().with_fruit("a.ful");
    let message = place.run(&["del", "a.ful", "fruit", "apple", "pear"]).fails(1);
    assert_eq!(message, "no key `pear` in table `fruit`; nothing was deleted");
    assert_eq!(place.run(&["count", "a.ful", "fruit"]).ok(), "2\n");
    place.run(&["del", "a.ful", "fruit", "apple"]).ok();
    assert_eq!(place.run(&["count", "a.ful", "fruit"]).ok(), "1\n");
    let run = place.run(&["del", "a.ful", "fruit", "--prefix", "", "--yes"]);
    assert_eq!(run.messages, "1 entry deleted\n");
    assert_eq!(place.run(&["count", "a.ful", "fruit"]).ok(), "0\n");
}

#[test]
fn stats_account_for_every_byte_of_the_file() {
    let place = numbers();
    let length = place.read("n.ful").len();
    let rows = place.run(&["stats", "n.ful", "--format", "csv"]).ok();
    let bytes: Vec<usize> =
        rows.lines().skip(1).map(|row| row.split(',').rev().nth(1).unwrap().parse().unwrap()).collect();
    let (file, parts) = bytes.split_last().unwrap();
    assert_eq!((*file, parts.iter().sum::<usize>()), (length, length), "{rows}");
    let json = place.run(&["stats", "n.ful", "--format", "json"]).ok();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["file_bytes"], &json["tables"][0]["entries"]), (&length.into(), &100.into()));
    assert!(
        place
            .run(&["stats", "n.ful"])
            .ok()
            .contains("squares  none       100       0     0          0        0           0\n")
    );
}

#[test]
fn runs_above_a_tree_are_told_and_gone_after_compacting() {
    let place = TestDirectory::new();
    let db =
        Database::options().create(true).background(false).delta_bytes(256 << 10).open(place.path("r.ful")).unwrap();
    let table = db.create_table("t", TableOptions::new()).unwrap();
    let key = |number: u32| number.to_be_bytes();
    db.bulk_load(&table, (0..20_000).map(|number| (key(number), [1; 40]))).unwrap();
    let mut txn = db.write().unwrap();
    (0..1_000).for_each(|number| txn.put(&table, &key(number * 20 + 7), &[2; 40]).unwrap());
    assert!(txn.delete(&table, &key(3)).unwrap());
    txn.commit().unwrap();
    db.close().unwrap();

    let json = || -> serde_json::Value {
        serde_json::from_str(&place.run(&["stats", "r.ful", "--format", "json"]).ok()).unwrap()
    };
    let of_table = &json()["tables"][0];
    assert!(of_table["runs"].as_u64().unwrap() >= 1, "{of_table}");
    assert_eq!((&of_table["runs_deep"], &of_table["run_entries"]), (&1.into(), &1_001.into()));
    assert_eq!((&of_table["entries"], &of_table["delta_entries"]), (&20_000.into(), &0.into()));
    let text = place.run(&["stats", "r.ful"]).ok();
    assert!(
        text.contains("runs  runs deep  in runs  in the log\n") && text.contains("1    1,001           0\n"),
        "{text}"
    );
    let sound = place.run(&["check", "r.ful"]).ok();
    assert!(sound.starts_with("sound: 1 table, 20,000 entries, 1,001 changes in runs, "), "{sound}");
    // What is counted and listed is what there is, not what the tree has.
    assert_eq!(place.run(&["count", "r.ful", "t"]).ok(), "19999\n");
    assert!(place.run(&["tables", "r.ful"]).ok().contains(" 19,999\n"));
    assert_eq!(place.run(&["export", "r.ful", "t"]).ok().lines().count(), 19_999);

    place.run(&["compact", "r.ful"]).ok();
    let of_table = &json()["tables"][0];
    assert_eq!(
        (&of_table["runs"], &of_table["run_entries"], &of_table["entries"]),
        (&0.into(), &0.into(), &19_999.into())
    );
    assert!(place.run(&["check", "r.ful"]).ok().starts_with("sound: 1 table, 19,999 entries, "));
}

#[test]
fn stats_are_watched_line_by_line() {
    let place = numbers();
    let lines = place.run(&["stats", "n.ful", "--watch", "0.01", "--times", "3", "--format", "ndjson"]).ok();
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2]["file_bytes"], place.read("n.ful").len());
    assert_eq!((&lines[0]["sequence"], &lines[2]["commits_per_second"]), (&lines[2]["sequence"], &0.into()));
    let table = place.run(&["stats", "n.ful", "--watch", "0.01", "--times", "2"]).ok();
    assert!(table.lines().next().unwrap().contains("commits/s") && table.lines().count() == 3, "{table}");
    let csv = place.run(&["stats", "n.ful", "--watch", "0.01", "--times", "2", "--format", "csv"]).ok();
    assert_eq!(csv.lines().map(|line| line.split(',').count()).collect::<Vec<_>>(), [7, 7, 7], "{csv}");
    assert_eq!(place.run(&["stats", "n.ful", "--times", "2"]).code, 2);
    assert_eq!(place.run(&["stats", "n.ful", "--watch", "0"]).code, 2);
}

#[test]
fn a_backup_holds_everything_and_overwrites_nothing() {
    let place = numbers();
    let run = place.run(&["backup", "n.ful", "copy.ful"]);
    assert!(run.messages.starts_with("copy.ful: ") && run.messages.contains("up to commit "), "{run:?}");
    assert!(run.ok().is_empty());
    for table in ["squares", "words"] {
        let [original, copy] = ["n.ful", "copy.ful"].map(|file| place.run(&["export", file, table]).ok());
        assert_eq!(original, copy);
    }
    assert_eq!(place.run(&["tables", "copy.ful"]).ok(), place.run(&["tables", "n.ful"]).ok());
    assert!(place.run(&["check", "copy.ful"]).ok().starts_with("sound: 2 tables, 104 entries"));
    let message = place.run(&["backup", "n.ful", "copy.ful"]).fails(1);
    assert!(message.ends_with("copy.ful: a file is there already; choose another name, or move it away"), "{message}");
    assert!(place.run(&["backup", "n.ful", "no/copy.ful"]).fails(1).contains("no/copy.ful"));
    assert!(place.run(&["backup", "no.ful", "other.ful"]).fails(1).contains("no such database"));
    assert_eq!(place.names(), ["copy.ful", "n.ful"]);
}

#[test]
fn every_verb_that_reads_opens_an_image_and_no_other_verb_does() {
    let place = numbers();
    let run = place.run(&["image", "n.ful", "n.image", "--level", "3"]);
    assert!(run.messages.starts_with("n.image: ") && run.messages.contains(", up to commit "), "{run:?}");
    assert!(run.ok().is_empty());
    for arguments in [
        &["tables", "FILE"][..],
        &["get", "FILE", "squares", "9"],
        &["scan", "FILE", "squares", "--reverse"],
        &["count", "FILE", "words"],
        &["export", "FILE", "squares", "--format", "csv"],
        &["export", "FILE", "words"],
    ] {
        let [original, image] = ["n.ful", "n.image"].map(|file| {
            let arguments: Vec<_> = arguments.iter().map(|word| if *word == "FILE" { file } else { word }).collect();
            place.run(&arguments).ok()
        });
        assert_eq!(original, image, "{arguments:?}");
    }
    assert!(place.run(&["check", "n.image"]).ok().starts_with("sound: 2 tables, 104 entries"));
    assert!(place.run(&["stats", "n.image"]).ok().contains("squares"));
    for arguments in
        [&["put", "n.image", "squares", "1", "2"][..], &["compact", "n.image"], &["del", "n.image", "squares", "1"]]
    {
        let message = place.run(arguments).fails(1);
        assert!(message.ends_with("make a database of it with `fulgurite restore` and change that"), "{message}");
    }
    let message = place.run(&["image", "n.ful", "n.image"]).fails(1);
    assert!(message.ends_with("a file is there already; choose another name, or move it away"), "{message}");
    assert_eq!(place.run(&["image", "n.ful", "other.image", "--level", "23"]).code, 2);
    assert!(place.run(&["image", "n.ful", "other.image", "--block", "12"]).fails(1).contains("power of two"));
    assert_eq!(place.names(), ["n.ful", "n.image"]);
    // Where there is no mksquashfs, nothing is left but the message.
    let run = place.run(&["image", "n.ful", "n.sqfs", "--squashfs"]);
    if run.code == 0 {
        let message = place.run(&["check", "n.sqfs"]).fails(3);
        assert!(message.contains("n.sqfs: a SquashFS image; mount it"), "{message}");
        place.run(&["image", "--squashfs", "--", "n.ful", "-n.sqfs"]).ok();
    } else {
        assert!(run.fails(1).contains("mksquashfs"));
        assert_eq!(place.names(), ["n.ful", "n.image"]);
    }
}

#[test]
fn a_restored_image_can_be_changed_and_a_damaged_one_is_none() {
    let place = numbers();
    place.run(&["image", "n.ful", "n.image", "--block", "64"]).ok();
    let run = place.run(&["restore", "n.image", "again.ful"]);
    assert!(run.messages.starts_with("again.ful: ") && run.messages.contains("up to commit "), "{run:?}");
    for table in ["squares", "words"] {
        let [original, restored] = ["n.ful", "again.ful"].map(|file| place.run(&["export", file, table]).ok());
        assert_eq!(original, restored);
    }
    place.run(&["put", "again.ful", "squares", "1000", "1000000"]).ok();
    let message = place.run(&["restore", "n.ful", "other.ful"]).fails(1);
    assert!(message.ends_with("n.ful: is a database, but not an image; copy it with `fulgurite backup`"), "{message}");
    let image = std::fs::read(place.path("n.image")).unwrap();
    std::fs::write(place.path("cut.image"), &image[..image.len() - 1]).unwrap();
    let message = place.run(&["restore", "cut.image", "other.ful"]).fails(3);
    assert!(message.contains("the header of the image is damaged: the file is shorter"), "{message}");
    assert_eq!(place.names(), ["again.ful", "cut.image", "n.ful", "n.image"]);
}

#[test]
fn compacting_keeps_everything() {
    let place = numbers();
    let before = place.run(&["export", "n.ful", "squares"]).ok();
    let run = place.run(&["compact", "n.ful"]);
    assert!(run.code == 0 && run.messages.starts_with("n.ful: "), "{run:?}");
    assert_eq!(place.run(&["export", "n.ful", "squares"]).ok(), before);
    let sound = place.run(&["check", "n.ful"]).ok();
    assert!(sound.starts_with("sound: 2 tables, 104 entries, "), "{sound}");
    assert_eq!(place.run(&["check", "n.ful", "--format", "json"]).ok(), "[]\n");
}

#[test]
fn completions_and_manual_pages_cover_every_verb() {
    let place = TestDirectory::new();
    place.run(&["man", "pages"]).ok();
    let page = |name: &str| std::fs::read_to_string(place.path("pages").join(name)).unwrap();
    assert!(page("fulgurite.1").contains(".TH fulgurite 1"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let completions = place.run(&["completions", shell]).ok();
        for verb in [
            "tables", "get", "put", "del", "scan", "count", "import", "export", "stats", "check", "compact", "backup",
            "image", "restore",
        ] {
            assert!(completions.contains(verb), "{shell} {verb}");
            assert!(page(&format!("fulgurite-{verb}.1")).contains(verb), "{verb}");
        }
    }
}
