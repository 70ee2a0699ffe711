//! The demonstration on a WordNet of a few synsets. `cargo xtask demo` runs it on the real one.
#![allow(missing_docs, clippy::unwrap_used)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;
use fulgurite::Database;
use fulgurite_events::{EventStore, Version};
use fulgurite_rdf::sparql::{Query, QueryResults};
use fulgurite_rdf::{Quads, Store};
use tempfile::TempDir;

/// A directory, and the program run in it.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fulgurite-demo"));
        command.args(arguments).current_dir(self.0.path()).env("TERM", "dumb").output().unwrap()
    }

    /// The output of a run that succeeds.
    #[track_caller]
    fn shows(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The message of a run that fails.
    #[track_caller]
    fn fails(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).unwrap().strip_prefix("fulgurite-demo: ").unwrap().trim_end().to_owned()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Data for every query, in the order of ids.
const SYNSETS: [&str; 8] = [
    "a00000001\ta\tadj.all\table\thaving the means\t!:a00000002:1:1",
    "a00000002\ts\tadj.all\tunable\tlacking the means\t!:a00000001:1:1",
    "n00000001\tn\tnoun.Tops\tentity\tthat which is\t~:n00000002",
    "n00000002\tn\tnoun.substance\tglass\ta brittle solid\t@:n00000001",
    "n00000003\tn\tnoun.phenomenon\tlightning|bolt of lightning\tabrupt electric discharge\t@:n00000001",
    "n00000004\tn\tnoun.event\tthunder\ta booming noise\t@:n00000001 @i:n00000003",
    "n00000005\tn\tnoun.artifact\tthunder mug\ta receptacle\t@:n00000001",
    "v00000001\tv\tverb.weather\tthunder\tto be the case that thunder is heard\t",
];

fn data(place: &Place) {
    let file = std::fs::File::create(place.path("synsets.tsv.gz")).unwrap();
    let mut file = GzEncoder::new(file, Compression::fast());
    for line in SYNSETS {
        writeln!(file, "{line}").unwrap();
    }
    file.finish().unwrap();
}

#[test]
fn the_demo_runs_to_its_end_and_leaves_a_database_to_go_on_with() {
    let place = Place::new();
    data(&place);
    let shown = place.shows(&["--data", ".", "--out", "w.ful"]);
    for expected in [
        "8 synsets, 9 words, 8 pointers",
        "n00000003 noun.phenomenon (lightning, bolt of lightning): abrupt electric discharge",
        "2 words that begin with thunder",
        "lightning → entity",
        "unable, thunder mug, thunder, lightning",
        "5 nouns, 1 verbs, 2 adjectives, 0 adverbs",
        "the older snapshot: no fulgurite; lightning as it was",
        "a new snapshot: fulgurite → glass → entity; lightning changed",
        "recovered: all",
        "28 entries, 3 tables: sound",
        "get w.ful synsets n99999999",
    ] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    assert_eq!(place.names(), ["synsets.tsv.gz", "w.ful"]);
    let db = Database::options().read_only(true).open(place.path("w.ful")).unwrap();
    let words = db.multimap_table::<String, String>("words").unwrap();
    let ids = words.get(&db.read().unwrap(), "thunder").unwrap().collect::<fulgurite::Result<Vec<_>>>().unwrap();
    assert_eq!(ids, ["n00000004", "v00000001"]);
    db.close().unwrap();

    let message = place.fails(&["--data", ".", "--out", "w.ful"]);
    assert_eq!(message, "w.ful: exists; --yes replaces it, --out names another file");
    std::fs::write(place.path("mine"), "my words").unwrap();
    place.fails(&["--data", ".", "--out", "mine", "--yes"]);
    assert_eq!(std::fs::read(place.path("mine")).unwrap(), b"my words");
    place.shows(&["--data", ".", "--out", "w.ful", "--yes"]);
}

#[test]
fn without_data_the_demo_says_where_it_is() {
    let place = Place::new();
    let message = place.fails(&[]);
    assert!(
        message.starts_with("the data is missing: give --data DIRECTORY; it is the directory `data` of "),
        "{message}"
    );
    let message = place.fails(&["--data", "."]);
    assert!(message.starts_with(".: no synsets.tsv.gz in it; "), "{message}");
    assert_eq!(place.names(), [""; 0]);
}

/// A package index in which `libssl3` is needed by two packages, by one of them through the other, and two need each
/// other.
const INDEX: &str = "\
Package: libc6
Installed-Size: 12000
Section: libs

Package: libssl3
Installed-Size: 6000
Depends: libc6 (>= 2.34)
Section: libs

Package: git
Installed-Size: 40000
Depends: libssl3 (>= 3), libc6, less | pager
Section: vcs

Package: gitk
Installed-Size: 1024
Depends: git (>> 1), tk
Section: vcs

Package: tk
Installed-Size: 1024
Depends: gitk
Section: x11
";

#[test]
fn where_there_is_a_package_index_the_demo_asks_it_by_sparql() {
    let place = Place::new();
    data(&place);
    std::fs::create_dir(place.path("debian")).unwrap();
    let file = std::fs::File::create(place.path("debian/packages.gz")).unwrap();
    let mut file = GzEncoder::new(file, Compression::fast());
    file.write_all(INDEX.as_bytes()).unwrap();
    file.finish().unwrap();
    let shown = place.shows(&["--data", ".", "--out", "w.ful"]);
    for expected in
        ["all 3, direct 1", "one gitk, other tk", "section vcs, gib 0, packages 2", "rdf query w-debian.ful"]
    {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    assert_eq!(place.names(), ["debian", "synsets.tsv.gz", "w-debian.ful", "w.ful"]);
    let store = Store::open(place.path("w-debian.ful")).unwrap();
    let snapshot = store.snapshot().unwrap();
    let ask = "ASK { <http://fulgurite.example/debian/package/gitk> deb:dependsOn+ ?p . ?p deb:name 'libc6' }";
    let query = Query::parse_with_prefixes(ask, None, &snapshot.namespaces().unwrap()).unwrap();
    assert!(matches!(query.evaluate(&snapshot).unwrap(), QueryResults::Boolean(true)));
    drop(snapshot);
    store.close().unwrap();
    place.shows(&["--data", ".", "--out", "w.ful", "--yes"]);
}

#[test]
fn code_is_indexed_from_the_sample_and_questions_about_it_are_answered() {
    let place = Place::new();
    data(&place);
    std::fs::create_dir(place.path("code")).unwrap();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/code/keys.scip.gz");
    std::fs::copy(sample, place.path("code/keys.scip.gz")).unwrap();
    let shown = place.shows(&["--data", ".", "--out", "w.ful", "--code-sample"]);
    for expected in [
        "the crate keys as facts in w-code.ful",
        "chosen by --code-sample",
        "18,167 facts about 16 files",
        "trait crates/keys/src/key.rs:79:11: A type whose values are keys",
        "which files use it most?",
        "which methods does nothing in the crate refer to?",
        "Key 6, AsKey 4",
        "crates/keys/tests/laws.rs 56",
        "facts search w-code.ful encode",
    ] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    assert_eq!(place.names(), ["code", "synsets.tsv.gz", "w-code.ful", "w-code.ful-index-lock", "w.ful"]);
    std::fs::write(place.path("code/keys.scip.gz"), "no gzip").unwrap();
    let failed = place.fails(&["--data", ".", "--out", "w.ful", "--yes", "--code-sample"]);
    assert!(failed.contains("keys.scip.gz: cannot be unpacked"), "{failed}");
}

/// A flight that is late, one that is early, and one that is cancelled, on two aircraft.
const FLIGHTS: &str = "\
340\tAA\t1141\tN619AA\tJFK\tMIA\t2\t33\t160\t1089
406\tUA\t556\tN497UA\tEWR\tPBI\t-3\t-18\t146\t1023
500\tB6\t343\tN619AA\tEWR\tPBI\t\t\t\t1023
";

fn flights(place: &Place, text: &str) {
    let _ = std::fs::create_dir(place.path("nycflights13"));
    let file = std::fs::File::create(place.path("nycflights13/flights.tsv.gz")).unwrap();
    let mut file = GzEncoder::new(file, Compression::fast());
    file.write_all(text.as_bytes()).unwrap();
    file.finish().unwrap();
}

#[test]
fn where_there_are_flights_the_demo_appends_and_replays_them() {
    let place = Place::new();
    data(&place);
    flights(&place, FLIGHTS);
    let shown = place.shows(&["--data", ".", "--out", "w.ful"]);
    for expected in [
        "5 events to the streams of 2 aircraft",
        "Jan       2 flights,   7.5 minutes late",
        "N619AA       2 hours in the air, 1 flights, 1,089 miles",
        "each event once",
        "events read w-flights.ful --type cancelled",
    ] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    assert_eq!(place.names(), ["nycflights13", "synsets.tsv.gz", "w-flights.ful", "w.ful"]);
    let store = EventStore::create(place.path("w-flights.ful")).unwrap();
    let snapshot = store.snapshot().unwrap();
    let mut events = snapshot.read_stream("N619AA", Version(0)).unwrap();
    let mut kinds = Vec::new();
    while let Some(event) = events.next().unwrap() {
        kinds.push((event.position.0, snapshot.event_type(event.kind).unwrap().name.to_string()));
    }
    assert_eq!(kinds, [(0, "departed".into()), (2, "cancelled".into()), (3, "landed".into())]);
    drop(events);
    drop((snapshot, store));
    place.shows(&["--data", ".", "--out", "w.ful", "--yes"]);

    flights(&place, "no flight\n");
    let message = place.fails(&["--data", ".", "--out", "w.ful", "--yes"]);
    assert!(message.ends_with("flights.tsv.gz: line 1 is no flight: no flight"), "{message}");
}
