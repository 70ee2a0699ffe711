//! Histories that come near to an anomaly and are none.

use super::AnomalyKind::*;
use super::*;

#[track_caller]
fn legal(sketch: &Sketch) {
    for level in [Level::SnapshotIsolation, Level::Serializable, Level::StrictSerializable] {
        let options = Options { sessions: true, aborted_reads: true, ..Options::new(level) };
        let report = sketch.report(&options);
        assert!(report.is_sound() && report.allowed.is_empty(), "{report}");
    }
}

#[test]
fn the_empty_history_is_legal() {
    legal(&Sketch::default());
    legal(&Sketch::default().closed(Content::default()));
    legal(&Sketch::default().crashed(Content::default(), Durability::Memory));
}

#[test]
fn reads_of_different_age_are_legal_in_different_transactions() {
    legal(
        &Sketch::default()
            .committed(&[append(1, 10)])
            .committed(&[append(1, 11)])
            .committed(&[read_list(1, &[])])
            .committed(&[read_list(1, &[10])])
            .committed(&[read_list(1, &[10, 11])])
            .closed(content(&[(1, &[10, 11])], &[])),
    );
}

#[test]
fn a_transaction_that_reads_its_own_writes_and_others_before_is_legal() {
    legal(
        &Sketch::default()
            .list(1, &[5])
            .register(3, 3)
            .committed(&[read_list(1, &[5]), append(1, 10), read_list(1, &[5, 10]), append(1, 11)])
            .committed(&[append(1, 20), read_list(1, &[5, 10, 11, 20])])
            .committed(&[absent(1), write(1, 1), read(1, 1), write(1, 2), read_range(0..9, &[(1, 2), (3, 3)])])
            .committed(&[delete(3), absent(3), read_range(2..9, &[]), write(3, 30), read(3, 30)])
            .closed(content(&[(1, &[5, 10, 11, 20])], &[(1, 2), (3, 30)])),
    );
}

#[test]
fn the_appends_of_one_transaction_are_legal_side_by_side() {
    legal(
        &Sketch::default()
            .committed(&[append(1, 10), append(1, 11)])
            .committed(&[append(1, 20)])
            .committed(&[read_list(1, &[10, 11, 20])]),
    );
}

#[test]
fn an_aborted_transaction_that_nobody_sees_is_legal() {
    legal(
        &Sketch::default()
            .register(2, 2)
            .add(Outcome::Aborted, &[read(2, 2), append(1, 10), write(1, 10), delete(2)])
            .committed(&[read_list(1, &[]), absent(1), read(2, 2), read_range(0..5, &[(2, 2)])])
            .closed(content(&[], &[(2, 2)])),
    );
}

#[test]
fn updates_one_after_the_other_are_legal() {
    legal(
        &Sketch::default()
            .register(1, 1)
            .committed(&[read(1, 1), write(1, 10)])
            .committed(&[read(1, 10), write(1, 11)])
            .committed(&[read(1, 11), delete(1)])
            .committed(&[absent(1), write(1, 12)])
            .committed(&[read(1, 10)])
            .closed(content(&[], &[(1, 12)])),
    );
}

#[test]
fn half_of_a_write_skew_is_legal() {
    legal(
        &Sketch::default()
            .register(1, 1)
            .register(2, 2)
            .committed(&[read(1, 1), read(2, 2), write(1, 10)])
            .committed(&[read(1, 10), read(2, 2), write(2, 20)]),
    );
    legal(
        &Sketch::default()
            .committed(&[read_range(0..10, &[]), write(1, 10)])
            .committed(&[read_range(0..10, &[(1, 10)]), write(2, 20)]),
    );
}

#[test]
fn a_key_beyond_the_range_is_no_phantom() {
    legal(
        &Sketch::default()
            .committed(&[read_range(0..5, &[]), write(5, 10)])
            .committed(&[read_range(6..9, &[]), write(4, 20)])
            .committed(&[read_range(3..6, &[(4, 20), (5, 10)])]),
    );
}

#[test]
fn a_stale_read_is_legal_while_its_transactions_overlap() {
    legal(&Sketch::default().register(1, 1).committed(&[write(1, 10)]).at(0, 10).committed(&[read(1, 1)]).at(10, 30));
}

#[test]
fn a_commit_in_doubt_is_legal_whether_it_happened_or_not() {
    let doubt = Sketch::default().register(2, 2).add(Outcome::Indeterminate, &[append(1, 10), write(1, 11), delete(2)]);
    legal(&doubt.clone().committed(&[read_list(1, &[10]), read(1, 11), absent(2)]));
    legal(&doubt.clone().committed(&[read_list(1, &[]), absent(1), read(2, 2)]));
    legal(&doubt.clone().committed(&[absent(2)]));
    legal(&doubt.clone().closed(content(&[(1, &[10])], &[(1, 11)])));
    legal(&doubt.clone().closed(content(&[], &[(2, 2)])));
    // But not both.
    assert_eq!(doubt.clone().committed(&[absent(2), absent(1)]).kinds(), [GSingle]);
    assert_eq!(doubt.committed(&[read_list(1, &[10]), absent(1)]).kinds(), [GSingle]);
}

#[test]
fn a_commit_in_doubt_may_be_seen_by_one_in_doubt_alone() {
    let chain = Sketch::default()
        .add(Outcome::Indeterminate, &[write(1, 10), write(3, 30)])
        .add(Outcome::Indeterminate, &[read(1, 10), write(2, 20)]);
    legal(&chain.clone().committed(&[read(2, 20)]));
    assert_eq!(chain.committed(&[read(2, 20), absent(3)]).kinds(), [GSingle]);
}

#[test]
fn a_commit_in_doubt_may_happen_after_the_next_transaction_of_its_process() {
    legal(
        &Sketch::default()
            .add(Outcome::Indeterminate, &[write(1, 10)])
            .by(3)
            .at(0, 10)
            .committed(&[absent(1)])
            .by(3)
            .at(20, 30)
            .committed(&[read(1, 10)])
            .by(3)
            .at(40, 50),
    );
    // But it is one moment for all, and the process goes on in order around it.
    let sketch = Sketch::default()
        .committed(&[write(2, 20)])
        .by(3)
        .at(0, 10)
        .add(Outcome::Indeterminate, &[write(1, 10)])
        .by(3)
        .at(20, 30)
        .committed(&[read(1, 10), absent(2)])
        .by(3)
        .at(40, 50);
    let options = Options { sessions: true, ..Options::new(Level::Serializable) };
    assert_eq!(kinds_of(&sketch.report(&options)), [GSingle]);
}

#[test]
fn an_absence_that_needs_no_deletion_in_doubt_says_nothing_about_it() {
    legal(
        &Sketch::default()
            .add(Outcome::Indeterminate, &[delete(1), write(2, 20)])
            .committed(&[absent(1)])
            .closed(Content::default()),
    );
}

#[test]
fn a_transaction_in_doubt_may_have_read_anything() {
    legal(&Sketch::default().register(1, 1).add(Outcome::Indeterminate, &[read(1, 1), absent(1)]));
}

#[test]
fn one_of_several_deletions_in_doubt_explains_an_absence() {
    legal(
        &Sketch::default()
            .register(1, 1)
            .add(Outcome::Indeterminate, &[delete(1)])
            .add(Outcome::Indeterminate, &[delete(1)])
            .committed(&[absent(1)]),
    );
}

#[test]
fn absences_before_and_after_are_legal() {
    let deleted = Sketch::default()
        .committed(&[absent(1), write(1, 10)])
        .numbered(0, 1)
        .committed(&[read(1, 10), delete(1)])
        .numbered(1, 2)
        .committed(&[write(1, 11), write(2, 20)])
        .numbered(2, 3);
    legal(&deleted.clone().committed(&[absent(1)]).committed(&[absent(1), absent(2)]));
    legal(&deleted.clone().committed(&[absent(1)]).reading(0).committed(&[absent(1), absent(2)]).reading(2));
    legal(&deleted.committed(&[read_range(0..5, &[])]).reading(2).committed(&[read(1, 11)]).reading(3));
}

#[test]
fn writes_that_nothing_orders_are_legal() {
    legal(
        &Sketch::default()
            .committed(&[write(1, 10), write(2, 20)])
            .committed(&[write(1, 11), write(2, 21)])
            .committed(&[read(1, 10), read(2, 20)])
            .committed(&[read(1, 11), read(2, 21)])
            .closed(content(&[], &[(1, 10), (2, 20)])),
    );
}

#[test]
fn sequences_that_agree_are_legal() {
    legal(
        &Sketch::default()
            .committed(&[write(1, 10), append(1, 1)])
            .numbered(0, 1)
            .at(0, 10)
            .committed(&[read(1, 10), write(1, 11), append(1, 2)])
            .numbered(1, 2)
            .at(20, 30)
            .committed(&[read(1, 11), read_list(1, &[1, 2])])
            .numbered(2, 2)
            .at(40, 50),
    );
}
