//! Files that indexers did not write, or not to their ends.

use protobuf::Message;
use scip::types::symbol_information::Kind;

use fulgurite_code::{Error, open_index};

use crate::support::{Project, everything, index, info, symbol};

fn project() -> Project {
    let project = Project::new();
    project.write(&[
        ("a.rs", "fn «a().»a() {}", vec![info("a().", Kind::Function, "a")]),
        ("b.rs", "‹a().›a();", Vec::new()),
    ]);
    project
}

#[test]
fn a_file_cut_off_anywhere_is_an_error_with_a_place_and_leaves_the_index_as_it_was() {
    let project = project();
    project.update();
    let before = everything(&project.reader());
    let whole = std::fs::read(project.scip()).unwrap();
    // Between two parts, a shorter file is an index by itself.
    let mut boundaries = vec![];
    let mut at = 0;
    while at < whole.len() {
        let length =
            usize::from(whole[at + 1] & 0x7f) | if whole[at + 1] < 0x80 { 0 } else { usize::from(whole[at + 2]) << 7 };
        at += 2 + usize::from(whole[at + 1] >= 0x80) + length;
        boundaries.push(at);
    }
    assert_eq!((boundaries.len(), boundaries.last()), (4, Some(&whole.len())));
    let names = project.names();
    for length in (0..whole.len()).filter(|length| !boundaries.contains(length)) {
        std::fs::write(project.scip(), &whole[..length]).unwrap();
        let error = project.try_update(false).unwrap_err().to_string();
        assert!(error.contains("index.scip: byte "), "{length}: {error}");
        assert_eq!(project.names(), names, "{length}");
    }
    assert_eq!(everything(&project.reader()), before);
}

#[test]
fn nothing_is_left_of_an_index_that_could_not_be_made() {
    let project = project();
    let whole = std::fs::read(project.scip()).unwrap();
    for (bytes, message) in [
        (Vec::new(), "byte 0: there is no metadata"),
        (b"not an index, but a text\n".to_vec(), "not an index of SCIP"),
        (b"{\"_type\": \"tag\"}\n".to_vec(), "byte "),
        (vec![0xff; 100], "byte 0: this is not an index of SCIP"),
        // A length that no file has.
        ([&whole[..], &[0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]].concat(), "it is cut off"),
    ] {
        std::fs::write(project.scip(), &bytes).unwrap();
        let error = project.try_update(false).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
        assert_eq!(project.names(), ["index.scip", "project"]);
    }
}

#[test]
fn every_changed_byte_gives_an_error_or_an_index() {
    let project = project();
    let whole = std::fs::read(project.scip()).unwrap();
    let mut refused = 0;
    for at in 0..whole.len() {
        for change in [1, 0x80] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            std::fs::write(project.scip(), &bytes).unwrap();
            // Reading is enough: writing is the same for all indexes.
            let source = fulgurite_code::ScipFile::new(project.scip(), project.root());
            let read = fulgurite_code::Source::each(&source, &mut |_| Ok(()));
            refused += usize::from(read.is_err());
        }
    }
    assert!(refused > 50, "{refused}");
}

#[test]
fn wrong_ranges_and_paths_name_the_document() {
    let project = project();
    for (range, path, message) in [
        (vec![1, 2], "a.rs", "document 1, `a.rs`: occurrence 0: the range [1, 2]"),
        (vec![1, 5, 2], "a.rs", "ends before it begins"),
        (vec![0, 0, 1], "../a.rs", "all documents are outside of the indexed directory"),
        (vec![0, 0, 1], "/etc/passwd", "all documents are outside of the indexed directory"),
        (vec![0, 0, 1], "", "all documents are outside of the indexed directory"),
    ] {
        let mut index = index();
        let occurrence = scip::types::Occurrence { range, symbol: "local 1".to_owned(), ..Default::default() };
        let document = scip::types::Document {
            relative_path: path.to_owned(),
            occurrences: vec![occurrence],
            ..Default::default()
        };
        index.documents.push(document);
        std::fs::write(project.scip(), index.write_to_bytes().unwrap()).unwrap();
        let error = project.try_update(false).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn another_database_is_not_overwritten() {
    let project = project();
    let schema = fulgurite_facts::Schema::parse("a.angle", "schema a.1 { predicate P : string }").unwrap();
    fulgurite_facts::FactDatabase::create(project.database(), schema).unwrap().close().unwrap();
    let error = project.try_update(true).unwrap_err().to_string();
    assert!(error.contains("not an index of code"), "{error}");
    std::fs::write(project.database(), "a text").unwrap();
    assert!(project.try_update(true).is_err());
    assert_eq!(std::fs::read(project.database()).unwrap(), b"a text");
}

#[test]
fn one_update_at_a_time_writes_an_index() {
    let project = project();
    project.update();
    let mut name = project.database().into_os_string();
    name.push("-index-lock");
    let held = std::fs::File::create(name).unwrap();
    held.lock().unwrap();
    let error = project.try_update(true).unwrap_err().to_string();
    assert!(error.contains("another process is indexing"), "{error}");
    drop(held);
    project.try_update(true).unwrap();
}

#[test]
fn a_damaged_increment_is_an_error_to_readers_and_is_replaced_by_the_next_update() {
    let project = project();
    let whole = |project: &Project| {
        project.write(&[
            ("a.rs", "fn «a().»a() {}", vec![info("a().", Kind::Function, "a")]),
            ("b.rs", "fn «b().»b() {}", vec![info("b().", Kind::Function, "b")]),
            ("c.rs", "fn «c().»c() {}", vec![info("c().", Kind::Function, "c")]),
        ]);
    };
    whole(&project);
    project.try_update(true).unwrap();
    let changed = |project: &Project| {
        project.write(&[
            ("a.rs", "fn «a().»a() {}", vec![info("a().", Kind::Function, "a")]),
            ("b.rs", "fn «b().»b() {}", vec![info("b().", Kind::Function, "b")]),
            ("c.rs", "\nfn «c().»c() {}", vec![info("c().", Kind::Function, "c")]),
        ]);
    };
    changed(&project);
    project.update();
    let expected = everything(&project.reader());
    let increment = fulgurite_code::increment_path(&project.database(), 1);
    let bytes = std::fs::read(&increment).unwrap();
    let flipped: Vec<u8> =
        bytes.iter().enumerate().map(|(at, byte)| if at >= bytes.len() / 2 { !byte } else { *byte }).collect();
    let damages: [&[u8]; 5] = [&[], &vec![0; bytes.len()], &bytes[..bytes.len() / 2], &bytes[..100], &flipped];
    for (number, damaged) in damages.into_iter().enumerate() {
        std::fs::write(&increment, damaged).unwrap();
        match open_index(&project.database()) {
            Err(failed) => {
                assert!(matches!(failed, Error::DamagedIncrement { .. }), "{number}: {failed}");
                assert!(failed.to_string().contains("-increment.1") && failed.to_string().contains("facts index"));
            }
            // Its pages are verified when they are read.
            Ok(_) => assert_eq!(number, 4),
        }
        let updated = project.update();
        assert_eq!((updated.damaged.as_ref(), updated.changed), (Some(&increment), 1), "{number}");
        assert_eq!(updated.written.as_ref(), Some(&increment), "{number}");
        assert_eq!(everything(&project.reader()), expected, "{number}");
        assert_eq!(project.update().damaged, None, "{number}");
    }
    // If the sources are as they were before it, it is only removed.
    whole(&project);
    std::fs::write(&increment, &bytes[..bytes.len() / 2]).unwrap();
    let updated = project.update();
    assert_eq!((updated.damaged, updated.written), (Some(increment.clone()), None));
    assert!(!increment.exists());
}

/// The whole index was written, and could not be read.
#[test]
fn a_file_that_is_no_database_where_an_increment_would_be_is_an_error_that_says_what_to_do() {
    let project = project();
    project.update();
    // The beginning of a database is damaged: nothing says what it is.
    let mut damaged = std::fs::read(project.database()).unwrap();
    damaged[..2 * PAGE_BYTES].iter_mut().enumerate().for_each(|(at, byte)| *byte = (at * 7 % 251) as u8);
    for (number, text) in [(1, &b"a text"[..]), (1, &damaged[..]), (3, &b"a text"[..])] {
        let increment = fulgurite_code::increment_path(&project.database(), number);
        std::fs::write(&increment, text).unwrap();
        for whole in [false, true] {
            let error = project.try_update(whole).unwrap_err();
            assert!(matches!(&error, Error::NotAnIncrement { path } if *path == increment), "{number}: {error}");
            assert!(error.to_string().contains("remove it, or move it away"), "{error}");
        }
        // There is nothing between the index and the third increment.
        assert_eq!(open_index(&project.database()).is_ok(), number == 3, "{number}");
        // It is not known to be of the index.
        assert_eq!(std::fs::read(&increment).unwrap(), text);
        std::fs::remove_file(&increment).unwrap();
        project.try_update(true).unwrap();
    }
}

#[test]
fn a_damaged_index_is_written_again_whole_if_it_is_recognised_and_the_error_says_so() {
    let project = project();
    project.update();
    let expected = everything(&project.reader());
    let bytes = std::fs::read(project.database()).unwrap();
    let flipped = |page: usize| -> Vec<u8> {
        let is_in_page = |at: usize| at / PAGE_BYTES == page;
        bytes.iter().enumerate().map(|(at, byte)| if is_in_page(at) { !byte } else { *byte }).collect()
    };
    // Without the beginning, it would not be known to be a database.
    let pages = (2..bytes.len().div_ceil(PAGE_BYTES)).map(flipped);
    let mut found = 0;
    for damaged in pages.chain([bytes[..bytes.len() / 2].to_vec()]) {
        std::fs::write(project.database(), &damaged).unwrap();
        match project.try_update(false) {
            // An update does not read all pages.
            Ok(_) => {}
            Err(Error::DamagedIndex { is_recognised, .. }) => {
                found += 1;
                let written = project.try_update(true);
                assert_eq!(written.is_ok(), is_recognised, "{written:?}");
                match written {
                    Ok(_) => assert_eq!(everything(&project.reader()), expected),
                    Err(error) => assert!(error.to_string().contains("`fulgurite facts delete "), "{error}"),
                }
            }
            Err(error) => panic!("{error}"),
        }
    }
    assert!(found > 0);
}

#[test]
fn a_directory_is_not_the_file_of_an_index() {
    let project = project();
    for path in [project.root(), project.root().join("..")] {
        let source = fulgurite_code::ScipFile::new(project.scip(), project.root());
        let error = fulgurite_code::update_index(&path, &source, false, &mut |_| {}).unwrap_err().to_string();
        assert!(error.contains("it is a directory"), "{error}");
    }
    let is_lock = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().ends_with("-lock");
    for directory in [project.directory.path().to_owned(), project.root()] {
        assert!(!std::fs::read_dir(directory).unwrap().any(|entry| is_lock(entry.unwrap())));
    }
}

#[test]
fn a_path_that_is_not_written_as_users_write_it_is_the_same_file() {
    let project = Project::new();
    let mut index = index();
    for path in ["src//a.rs", "src/./b.rs", "src/c.rs/", "./src/d.rs", "src/more/../e.rs"] {
        index.documents.push(scip::types::Document { relative_path: path.to_owned(), ..Default::default() });
    }
    std::fs::write(project.scip(), index.write_to_bytes().unwrap()).unwrap();
    project.update();
    assert_eq!(project.reader().files().unwrap(), ["src/a.rs", "src/b.rs", "src/c.rs", "src/d.rs", "src/e.rs"]);
}

/// scip-go lists the main file of tests, which Go generates in a cache. The whole index was refused.
#[test]
fn files_outside_of_the_directory_are_left_out_and_named() {
    let project = project();
    let before = scip::types::Index::parse_from_bytes(&std::fs::read(project.scip()).unwrap()).unwrap();
    for path in ["", ".", "src/..", "../a.rs", "src/../../a.rs", "/cache/go-build/1-d"] {
        let mut index = before.clone();
        let occurrence = scip::types::Occurrence { range: vec![0, 0, 1], symbol: symbol("x()."), ..Default::default() };
        let document = scip::types::Document {
            relative_path: path.to_owned(),
            occurrences: vec![occurrence],
            ..Default::default()
        };
        index.documents.insert(0, document);
        std::fs::write(project.scip(), index.write_to_bytes().unwrap()).unwrap();
        let updated = project.try_update(true).unwrap();
        assert_eq!((updated.files, &updated.outside[..]), (2, &[path.to_owned()][..]), "{path}");
        assert_eq!(project.reader().files().unwrap(), ["a.rs", "b.rs"], "{path}");
    }
}

/// The size of pages of a database.
const PAGE_BYTES: usize = 4096;
