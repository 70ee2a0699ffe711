//! Opens the golden stores.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use fulgurite::{Database, Durability, Read};
use fulgurite_events::{
    AppendCondition, Error, EventData, EventQuery, EventStore, Expected, Position, QueryItem, StreamState, Version,
};
use tempfile::TempDir;

use crate::lines;
use crate::story::Story;

/// There is a store of each of these layouts.
const LAYOUTS: [u8; 2] = [1, 2];

/// The unpacked store of a layout, its path, and the lines of what it holds.
fn unpacked(layout: u8) -> (TempDir, PathBuf, String) {
    let directory = tempfile::tempdir().unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/layout-{layout}"));
    let unpack = |name: &str| {
        let (mut bytes, packed) = (Vec::new(), golden.join(format!("{name}.gz")));
        let file = std::fs::File::open(&packed).unwrap_or_else(|error| panic!("{}: {error}", packed.display()));
        GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
        bytes
    };
    let path = directory.path().join("everything.ful");
    std::fs::write(&path, unpack("everything.ful")).unwrap();
    let lines = String::from_utf8(unpack("everything.txt")).unwrap();
    (directory, path, lines)
}

fn open(path: &Path, read_only: bool) -> EventStore {
    let db = Database::options().read_only(read_only).background(false).open(path).unwrap();
    EventStore::options().durability(Durability::Log).open_in(&db).unwrap()
}

fn close(store: EventStore) {
    let db = store.database().clone();
    drop(store);
    db.close().unwrap();
}

fn layout_of(store: &EventStore) -> u8 {
    let txn = store.database().read().unwrap();
    let meta = txn.open_table("events.meta").unwrap();
    txn.get(&meta, "layout").unwrap().unwrap()[0]
}

/// How many blocks the index of streams has.
fn blocks(store: &EventStore) -> usize {
    let txn = store.database().read().unwrap();
    let index = txn.open_table("events.index").unwrap();
    txn.range(&index, [0xff_u8; 8]..).unwrap().count()
}

fn event_lines(lines: &str) -> Vec<String> {
    lines.lines().filter(|line| line.starts_with("event ")).map(str::to_owned).collect()
}

fn expect_sound(store: &EventStore, layout: u8) {
    let report = store.snapshot().unwrap().check().unwrap();
    assert!(report.is_sound(), "layout {layout}: {:?}", report.defects);
    assert!(store.database().check().unwrap().is_sound(), "layout {layout}");
}

#[test]
fn the_golden_stores_have_what_the_model_says_and_the_forms_of_their_layouts() {
    let directory = tempfile::tempdir().unwrap();
    let expected = Story::write(&directory.path().join("again.ful")).lines();
    for layout in LAYOUTS {
        let (_directory, path, lines) = unpacked(layout);
        assert_eq!(lines::without_times(&lines), expected, "layout {layout}");
        let store = open(&path, true);
        assert_eq!(layout_of(&store), layout);
        assert_eq!(blocks(&store), if layout == 1 { 0 } else { 3 }, "layout {layout}");
    }
}

#[test]
fn a_golden_store_opens_for_reading_and_holds_what_it_held() {
    for layout in LAYOUTS {
        let (_directory, path, lines) = unpacked(layout);
        let before = std::fs::read(&path).unwrap();
        let store = open(&path, true);
        assert_eq!(lines::of_store(&store), lines, "layout {layout}");
        expect_sound(&store, layout);
        drop(store);
        assert!(std::fs::read(&path).unwrap() == before, "layout {layout}: reading changed the file");
    }
}

#[test]
fn every_event_of_a_golden_store_is_found_by_its_stream_its_type_and_its_tags() {
    for layout in LAYOUTS {
        let (_directory, path, _) = unpacked(layout);
        let store = open(&path, true);
        let snapshot = store.snapshot().unwrap();
        let all = snapshot.read_all(Position::START).unwrap().take_recorded(&snapshot, usize::MAX).unwrap();
        for event in &all {
            let by_stream = QueryItem::new().stream(&event.stream);
            let by_type = QueryItem::new().kind(&*event.kind);
            let by_tags = event.tags.iter().map(|tag| QueryItem::new().tag(tag));
            for item in [by_stream, by_type].into_iter().chain(by_tags) {
                let query = EventQuery::new().or(item);
                let found = snapshot.read_query(&query, event.position).unwrap().take_recorded(&snapshot, 1).unwrap();
                assert_eq!(found[0], *event, "layout {layout}, {query:?}");
            }
        }
        assert!(all.len() > 80);
    }
}

#[test]
fn a_golden_store_goes_on_with_its_positions_versions_and_ids() {
    for layout in LAYOUTS {
        let (_directory, path, lines) = unpacked(layout);
        let store = open(&path, false);
        let snapshot = store.snapshot().unwrap();
        let events = snapshot.read_all(Position::START).unwrap().take_recorded(&snapshot, usize::MAX).unwrap();
        let streams: Vec<_> = snapshot.streams("").unwrap().map(|info| info.unwrap()).collect();
        for event in events.iter().filter(|event| event.id.is_some()) {
            let again = store.append(&event.stream, Expected::Any, &[EventData::new("x", b"").id(event.id.unwrap())]);
            let again = again.unwrap();
            assert_eq!((again.position, again.version, again.repeated), (event.position, event.version, true));
        }
        // Retention has removed this event, but not its id.
        let event = EventData::new("x", b"").id(6_u128.to_le_bytes());
        let again = store.append("gone", Expected::Any, &[event]).unwrap();
        assert_eq!((again.position, again.version, again.repeated), (Position(6), Version(1), true));
        let mut head = snapshot.head().unwrap().0;
        for info in &streams {
            if info.state == StreamState::Tombstone {
                let refused = store.append(&info.name, Expected::Any, &[EventData::new("x", b"")]);
                assert!(matches!(refused, Err(Error::Tombstone { .. })));
                continue;
            }
            let next = info.next.0;
            let expected = next.checked_sub(1).map_or(Expected::NoStream, |last| Expected::Exact(Version(last)));
            let appended = store.append(&info.name, expected, &[EventData::new("x", b"")]).unwrap();
            assert_eq!((appended.position, appended.version), (Position(head), Version(next)), "layout {layout}");
            head += 1;
        }
        let condition = AppendCondition { query: EventQuery::kind("paid"), after: None };
        let refused = store.append_if(&condition, "large", &[EventData::new("x", b"")]);
        assert!(matches!(refused, Err(Error::ConditionFailed { .. })));
        assert_eq!(blocks(&store), 0, "the first append has folded the blocks");
        drop(snapshot);
        expect_sound(&store, layout);
        let wide: Vec<_> = (0..24).map(|number| format!("wide {number}")).collect();
        let appended = store.transact(|t| {
            wide.iter().try_for_each(|name| t.append(name, Expected::Any, &[EventData::new("x", b"")]).map(drop))
        });
        appended.unwrap();
        assert_eq!((layout_of(&store), blocks(&store)), (2, 1));
        close(store);
        let store = open(&path, true);
        expect_sound(&store, layout);
        let (before, after) = (event_lines(&lines), event_lines(&lines::of_store(&store)));
        assert_eq!(after[..before.len()], before, "layout {layout}");
    }
}

#[test]
fn a_golden_store_holds_what_it_held_after_its_indexes_were_rebuilt() {
    for layout in LAYOUTS {
        let (_directory, path, lines) = unpacked(layout);
        let db = Database::options().background(false).open(&path).unwrap();
        let rebuilt = EventStore::options().rebuild_indexes(&db).unwrap();
        // It has no event: the index does not show whether it had one.
        assert_eq!(rebuilt.unknown_ends, [b"limited"], "layout {layout}");
        db.close().unwrap();
        let store = open(&path, true);
        assert_eq!(lines::of_store(&store), lines, "layout {layout}");
        expect_sound(&store, layout);
    }
}
