//! Levels of isolation: what each permits and forbids, one phenomenon after the other.

use oxrdf::Literal;

use super::{TestStore, iri, quad};
use crate::{IdPattern, Isolation, IsolationLevel, Quads, StoreOptions, Transaction};

use IsolationLevel::{None as NoIsolation, ReadCommitted, ReadUncommitted, Serializable, Snapshot, SnapshotRead};

/// A store with `a p 1` and `b p 1`.
fn place() -> TestStore {
    let place = TestStore::new(StoreOptions::new());
    set(&place, "a", 1);
    set(&place, "b", 1);
    place
}

fn set(place: &TestStore, subject: &str, value: i64) {
    let added = place.store.update(|txn| txn.insert(&quad(subject, "p", Literal::from(value), None)));
    assert!(added.expect("it is committed"));
}

fn begin(place: &TestStore, level: IsolationLevel) -> Transaction {
    place.store.begin_with(level).expect("a transaction")
}

/// How many quads a subject has, as a transaction sees it.
fn values(txn: &Transaction, subject: &str) -> u64 {
    let view = txn.view();
    let subject = view.id(iri(subject).as_ref().into()).expect("it is looked up");
    view.count(&IdPattern { subject: Some(subject.expect("it is there")), ..IdPattern::ALL }).expect("it is counted")
}

fn insert(txn: &mut Transaction, subject: &str, value: i64) -> bool {
    txn.insert(&quad(subject, "p", Literal::from(value), None)).expect("it is inserted")
}

/// Whether a transaction sees what another has written and not committed.
fn reads_dirty(level: IsolationLevel) -> bool {
    let place = place();
    let reader = begin(&place, level);
    let mut writer = begin(&place, level);
    assert!(insert(&mut writer, "a", 2));
    let seen = values(&reader, "a");
    let seen_by_later = values(&begin(&place, level), "a");
    assert_eq!(values(&writer, "a"), 2, "it sees its own changes");
    seen > 1 || seen_by_later > 1
}

/// Whether anything is left of what is rolled back.
fn leaves_what_is_rolled_back(level: IsolationLevel) -> bool {
    let place = place();
    let mut writer = begin(&place, level);
    assert!(insert(&mut writer, "a", 2));
    drop(writer);
    values(&begin(&place, level), "a") > 1
}

/// Whether a second read sees what others have committed after the first.
fn reads_anew(level: IsolationLevel) -> bool {
    let place = place();
    let reader = begin(&place, level);
    let before = values(&reader, "a");
    set(&place, "a", 2);
    values(&reader, "a") != before
}

/// Whether one result is of two states.
fn mixes_states(level: IsolationLevel) -> bool {
    let place = place();
    let reader = begin(&place, level);
    let mut quads = reader.view().quads(&IdPattern::ALL);
    let first = quads.next();
    (2..50).for_each(|value| set(&place, "b", value));
    usize::from(first.is_some()) + quads.count() != 2
}

/// Whether of two that change one quad both commit.
fn loses_updates(level: IsolationLevel) -> bool {
    let place = place();
    let mut txns = [begin(&place, level), begin(&place, level)];
    for txn in &mut txns {
        assert!(txn.remove(&quad("a", "p", Literal::from(1), None)).expect("it is removed"));
    }
    let [first, second] = txns;
    first.commit().expect("it is the first");
    commits(second)
}

/// Whether two transactions commit that have read what the other changes.
fn skews(level: IsolationLevel) -> bool {
    let place = place();
    let mut txns = [begin(&place, level), begin(&place, level)];
    for (txn, (read, written)) in txns.iter_mut().zip([("a", "b"), ("b", "a")]) {
        assert_eq!(values(txn, read), 1);
        assert!(insert(txn, written, 2));
    }
    let [first, second] = txns;
    first.commit().expect("it is the first");
    commits(second)
}

/// Whether one commits that has counted what matches a pattern when others have added to that.
fn overlooks_phantoms(level: IsolationLevel) -> bool {
    let place = place();
    let mut txn = begin(&place, level);
    assert_eq!(txn.view().count(&IdPattern::ALL).expect("it is counted"), 2);
    assert!(insert(&mut txn, "a", 7));
    set(&place, "b", 2);
    commits(txn)
}

fn commits(txn: Transaction) -> bool {
    match txn.commit() {
        Ok(_) => true,
        Err(error) => {
            assert!(error.is_retryable(), "{error}");
            false
        }
    }
}

/// What RDF4J forbids at a level must not happen there, and what is written here of more must be as it is written.
#[track_caller]
fn expect(level: IsolationLevel, skews_and_overlooks: bool) {
    assert!(!reads_dirty(level), "{level}");
    assert!(!leaves_what_is_rolled_back(level), "{level}");
    assert!(!reads_anew(level), "{level}");
    assert!(!mixes_states(level), "{level}");
    assert!(!loses_updates(level), "{level}");
    assert_eq!((skews(level), overlooks_phantoms(level)), (skews_and_overlooks, skews_and_overlooks), "{level}");
}

#[test]
fn none_permits_all_that_may_be_asked_and_gives_a_snapshot_all_the_same() {
    expect(NoIsolation, true);
}

#[test]
fn read_uncommitted_need_not_hide_what_is_not_committed_and_does() {
    expect(ReadUncommitted, true);
}

#[test]
fn read_committed_hides_what_is_not_committed() {
    expect(ReadCommitted, true);
}

#[test]
fn snapshot_read_gives_results_of_one_state() {
    expect(SnapshotRead, true);
}

#[test]
fn snapshot_reads_one_state_and_permits_write_skew_alone() {
    expect(Snapshot, true);
}

#[test]
fn serializable_forbids_write_skew_and_phantoms_too() {
    expect(Serializable, false);
}

#[test]
fn levels_have_the_names_that_rdf4j_gives_them_and_rise() {
    let names = IsolationLevel::ALL.map(IsolationLevel::name);
    assert_eq!(names, ["NONE", "READ_UNCOMMITTED", "READ_COMMITTED", "SNAPSHOT_READ", "SNAPSHOT", "SERIALIZABLE"]);
    assert_eq!(names.map(IsolationLevel::parse), IsolationLevel::ALL.map(Some));
    assert_eq!(IsolationLevel::parse("REPEATABLE"), None);
    assert!(IsolationLevel::ALL.is_sorted());
    assert_eq!(IsolationLevel::default(), Serializable);
    for isolation in [Isolation::Snapshot, Isolation::Serializable] {
        assert_eq!(IsolationLevel::from(isolation).engine(), isolation);
    }
}
