//! The demo on a WordNet of a few synsets; `cargo xtask demo` runs it on the real one.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::fixture::Place;

/// Enough for every question, in the order of ids.
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
    let shown = place.run(&["demo", "--data", ".", "--out", "w.ful"]).ok();
    for expected in [
        "8 synsets, 9 words, 8 pointers",
        "n00000003 noun.phenomenon (lightning, bolt of lightning): abrupt electric discharge",
        "2 words that begin with thunder",
        "lightning → entity",
        "unable, thunder mug, thunder, lightning",
        "5 nouns, 1 verbs, 2 adjectives, 0 adverbs",
        "the snapshot of before: no fulgurite; lightning as it was",
        "a new snapshot: fulgurite → glass → entity; lightning changed",
        "recovered: all",
        "28 entries, 3 tables: sound",
        "get w.ful synsets n99999999",
    ] {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    assert_eq!(place.names(), ["synsets.tsv.gz", "w.ful"]);
    assert_eq!(place.run(&["get", "w.ful", "words", "thunder"]).ok(), "n00000004\nv00000001\n");
    assert_eq!(place.run(&["count", "w.ful", "pointers", "--prefix", "(n00000004)"]).ok(), "2\n");

    let message = place.run(&["demo", "--data", ".", "--out", "w.ful"]).fails(1);
    assert_eq!(message, "w.ful: exists; --yes replaces it, --out names another file");
    place.file("mine", "my words");
    place.run(&["demo", "--data", ".", "--out", "mine", "--yes"]).fails(3);
    assert_eq!(place.read("mine"), b"my words");
    place.run(&["demo", "--data", ".", "--out", "w.ful", "--yes"]).ok();
}

#[test]
fn without_data_the_demo_says_where_it_is() {
    let place = Place::new();
    let message = place.run(&["demo"]).fails(1);
    assert!(
        message.starts_with("the demo needs WordNet: give --data DIRECTORY; it is the directory data/wordnet of "),
        "{message}"
    );
    let message = place.run(&["demo", "--data", "."]).fails(1);
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
    let shown = place.run(&["demo", "--data", ".", "--out", "w.ful"]).ok();
    for expected in
        ["all 3, direct 1", "one gitk, other tk", "section vcs, gib 0, packages 2", "rdf query w-debian.ful"]
    {
        assert!(shown.contains(expected), "{expected}\n{shown}");
    }
    assert_eq!(place.names(), ["debian", "synsets.tsv.gz", "w-debian.ful", "w.ful"]);
    let ask = "ASK { <http://fulgurite.example/debian/package/gitk> deb:dependsOn+ ?p . ?p deb:name 'libc6' }";
    assert_eq!(place.run(&["rdf", "query", "w-debian.ful", ask]).ok(), "true\n");
    place.run(&["demo", "--data", ".", "--out", "w.ful", "--yes"]).ok();
}
