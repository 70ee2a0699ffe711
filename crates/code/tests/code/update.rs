//! Indexing again: what has not changed is not written, and answers are those of a fresh index.

use scip::types::SymbolInformation;
use scip::types::symbol_information::Kind;

use crate::support::{Project, everything, info, reader};

type Files = Vec<(&'static str, &'static str, Vec<SymbolInformation>)>;

/// Ten files that call one function of `lib.rs`.
fn files() -> Files {
    let paths = ["a.rs", "b.rs", "c.rs", "d.rs", "e.rs", "f.rs", "g.rs", "h.rs", "i.rs"];
    let mut files: Files = vec![(
        "lib.rs",
        "fn «lib/shared().»shared() {}\nfn «lib/other().»other() {}",
        vec![info("lib/shared().", Kind::Function, "shared"), info("lib/other().", Kind::Function, "other")],
    )];
    files.extend(paths.map(|path| (path, "fn caller() { ‹lib/shared().›shared(); }", Vec::new())));
    files
}

/// A fresh index of the same sources says the same.
fn assert_as_fresh(project: &Project) {
    let fresh = Project::new();
    let path = fresh.database();
    let source = fulgurite_code::ScipFile::new(project.scip(), project.root());
    fulgurite_code::update_index(&path, &source, false, &mut |_| {}).unwrap();
    assert_eq!(everything(&project.reader()), everything(&reader(&path)));
}

#[test]
fn only_what_has_changed_is_written() {
    let project = Project::new();
    let mut files = files();
    project.write(&files);
    let first = project.update();
    assert_eq!((first.files, first.added, first.changed, first.removed), (10, 10, 0, 0));
    assert_eq!(first.written, Some(project.database()));
    let again = project.update();
    assert_eq!((again.written, again.facts, again.files), (None, 0, 10));

    files[1].1 = "\n\nfn caller() { ‹lib/shared().›shared(); ‹lib/other().›other(); }";
    files.remove(2);
    files.push((
        "z.rs",
        "fn «z/zeta().»zeta() { ‹lib/shared().›shared(); }",
        vec![info("z/zeta().", Kind::Function, "zeta")],
    ));
    project.write(&files);
    let second = project.update();
    assert_eq!((second.files, second.added, second.changed, second.removed), (10, 1, 1, 1));
    assert!(second.facts * 2 < first.facts, "{} of {} facts", second.facts, first.facts);
    assert_eq!(project.names(), ["code.ful", "code.ful-increment.1", "index.scip", "project"]);
    // Its pages are small, since it has few facts.
    let length = |name: &str| std::fs::metadata(project.directory.path().join(name)).unwrap().len();
    let (whole, increment) = (length("code.ful"), length("code.ful-increment.1"));
    assert!(4 * increment < 3 * whole, "{increment} and {whole} bytes");
    assert_as_fresh(&project);
    let reader = project.reader();
    assert!(reader.file("b.rs").is_err());
    let shared = reader.resolve("shared").unwrap()[0];
    let paths: Vec<_> = reader.references(shared).unwrap().into_iter().map(|place| place.path).collect();
    assert_eq!(paths, ["a.rs", "c.rs", "d.rs", "e.rs", "f.rs", "g.rs", "h.rs", "i.rs", "z.rs"]);
}

#[test]
fn a_source_without_files_makes_no_index() {
    let project = Project::new();
    project.write(&[]);
    let error = project.try_update(false).unwrap_err().to_string();
    assert!(error.contains("there are no sources"), "{error}");
    // Not even a lock.
    let is_left = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("code.ful");
    assert!(!std::fs::read_dir(project.directory.path()).unwrap().any(|entry| is_left(entry.unwrap())));
}

#[test]
fn many_updates_end_in_a_whole_index_and_always_say_what_a_fresh_one_says() {
    let project = Project::new();
    let mut files = files();
    project.write(&files);
    project.update();
    let texts = [
        "fn caller() { ‹lib/other().›other(); }",
        "// é ‹lib/other().›other",
        "",
        "fn caller() { ‹lib/shared().›shared(); ‹lib/shared().›shared(); }",
    ];
    let mut most = 0;
    for round in 0..fulgurite_code::INCREMENTS_MAX + 4 {
        let at = 1 + round % 5;
        files[at].1 = texts[round % texts.len()];
        // A definition comes and goes, and moves.
        files[0].1 = match round % 3 {
            0 => "fn «lib/shared().»shared() {}",
            1 => "\nfn «lib/shared().»shared() {}\nfn «lib/other().»other() {}",
            _ => "fn «lib/other().»other() {}\nfn «lib/shared().»shared() {}",
        };
        project.write(&files);
        project.update();
        let increments = fulgurite_code::increments(&project.database()).len();
        most = most.max(increments);
        assert!(increments <= fulgurite_code::INCREMENTS_MAX);
        assert_as_fresh(&project);
    }
    assert_eq!(most, fulgurite_code::INCREMENTS_MAX);
    project.try_update(true).unwrap();
    assert_eq!(project.names(), ["code.ful", "index.scip", "project"]);
    assert_as_fresh(&project);
}

#[test]
fn a_document_in_two_parts_is_one_file() {
    let project = Project::new();
    project.write(&[
        ("a.rs", "fn «a().»a() {}", vec![info("a().", Kind::Function, "a")]),
        ("a.rs", "fn «a().»a() { }\nfn «b().»b() {}", vec![info("b().", Kind::Function, "b")]),
    ]);
    project.update();
    let reader = project.reader();
    assert_eq!(reader.files().unwrap(), ["a.rs"]);
    assert_eq!(reader.outline(&reader.file("a.rs").unwrap()).unwrap().count(), 2);
    assert_eq!(project.update().written, None);
}

/// A source that is another one from the second time on.
struct Changing {
    first: fulgurite_code::ScipFile,
    then: fulgurite_code::ScipFile,
    reads: std::cell::Cell<u32>,
}

impl fulgurite_code::Source for Changing {
    fn each(&self, visit: &mut fulgurite_code::Visit<'_>) -> Result<(), fulgurite_code::Error> {
        self.reads.set(self.reads.get() + 1);
        if self.reads.get() == 1 { self.first.each(visit) } else { self.then.each(visit) }
    }
}

#[test]
fn a_source_that_changes_while_it_is_read_is_refused() {
    let project = Project::new();
    let mut files = files();
    project.write(&files);
    project.update();
    let before = everything(&project.reader());
    let other = Project::new();
    files[1].1 = "fn caller() { ‹lib/other().›other(); }";
    project.write(&files);
    for (text, gone) in [("fn caller() {}", false), ("", true)] {
        let mut changed = files.clone();
        changed[1].1 = text;
        if gone {
            changed.remove(1);
        }
        other.write(&changed);
        for whole in [false, true] {
            let source = Changing {
                first: fulgurite_code::ScipFile::new(project.scip(), project.root()),
                then: fulgurite_code::ScipFile::new(other.scip(), other.root()),
                reads: Default::default(),
            };
            let updated = fulgurite_code::update_index(&project.database(), &source, whole, &mut |_| {});
            let error = updated.unwrap_err().to_string();
            assert!(error.contains("`a.rs` was changed while it was read; run it again"), "{error}");
            assert_eq!(everything(&project.reader()), before);
        }
    }
    project.update();
    assert_as_fresh(&project);
}

#[test]
fn increments_that_a_killed_rewrite_has_left_are_not_read_and_are_removed() {
    let project = Project::new();
    let mut files = files();
    project.write(&files);
    project.update();
    for (file, text) in [(1, "fn caller() {}"), (2, "fn caller() { ‹lib/other().›other(); }")] {
        files[file].1 = text;
        project.write(&files);
        project.update();
    }
    let left = fulgurite_code::increments(&project.database());
    assert_eq!(left.len(), 2);
    let saved: Vec<_> = left.iter().map(|path| std::fs::read(path).unwrap()).collect();
    let put_back = || left.iter().zip(&saved).for_each(|(path, bytes)| std::fs::write(path, bytes).unwrap());
    files[3].1 = "fn «c/new().»new() {}";
    project.write(&files);
    project.try_update(true).unwrap();
    put_back();
    assert_as_fresh(&project);
    assert_eq!(fulgurite_code::index_files(&project.database()).unwrap(), [project.database()]);
    // Nothing has changed; then one file has.
    assert_eq!(project.update().written, None);
    put_back();
    files[4].1 = "fn «d/new().»new() {}";
    project.write(&files);
    assert_eq!(project.update().written.as_ref(), left.first());
    assert_as_fresh(&project);
    assert_eq!(project.names(), ["code.ful", "code.ful-increment.1", "index.scip", "project"]);
}

#[test]
fn what_a_killed_update_has_left_is_removed_though_nothing_has_changed() {
    let project = Project::new();
    project.write(&files());
    project.update();
    let place = |name: &str| project.directory.path().join(name);
    let left = ["code.ful-unfinished", "code.ful-unfinished-log.1", "code.ful-increment.12-unfinished-lock"];
    let kept = ["code.ful-increment.1x-unfinished", "code.ful-unfinished.7.0", "other.ful-unfinished"];
    for name in left.iter().chain(&kept) {
        std::fs::copy(project.database(), place(name)).unwrap();
    }
    assert!(fulgurite_code::is_unfinished(&place(left[0])) && !fulgurite_code::is_unfinished(&project.database()));
    assert_eq!(project.update().written, None);
    assert!(left.iter().all(|name| !place(name).exists()), "{:?}", project.names());
    assert!(kept.iter().all(|name| place(name).exists()), "{:?}", project.names());
}

#[test]
fn excluded_files_and_directories_are_not_in_the_index() {
    let project = Project::new();
    let text = "fn «lib/f().»f() {}";
    project.write(&["a.rs", "made/b.rs", "made/more/c.rs", "made2/d.rs"].map(|path| (path, text, Vec::new())));
    let all = fulgurite_code::ScipFile::new(project.scip(), project.root());
    let source = fulgurite_code::Without::new(&all, &["./made/".to_owned(), "a.rs".to_owned()]);
    fulgurite_code::update_index(&project.database(), &source, false, &mut |_| {}).unwrap();
    assert_eq!(project.reader().files().unwrap(), ["made2/d.rs"]);
}

#[test]
fn an_index_with_a_damaged_increment_is_written_whole() {
    let project = Project::new();
    let mut files = files();
    project.write(&files);
    project.update();
    files[1].1 = "fn caller() {}";
    project.write(&files);
    let increment = project.update().written.unwrap();
    let mut bytes = std::fs::read(&increment).unwrap();
    let length = bytes.len();
    bytes[8192.min(length / 2)..].fill(0xff);
    std::fs::write(&increment, bytes).unwrap();
    project.try_update(true).unwrap();
    let _ = std::fs::remove_file(increment);
    assert_as_fresh(&project);
}
