//! The smallest history of each anomaly: it is found, and by its name.

use super::AnomalyKind::*;
use super::*;

#[test]
fn dirty_writes_to_two_lists_are_g0() {
    let sketch = Sketch::default()
        .committed(&[append(1, 10), append(2, 11)])
        .committed(&[append(1, 20), append(2, 21)])
        .committed(&[read_list(1, &[10, 20]), read_list(2, &[21, 11])]);
    assert!(sketch.kinds().contains(&G0), "{:?}", sketch.kinds());
    assert_eq!(sketch.cycle(G0), [0, 1]);
}

#[test]
fn appends_that_lie_within_each_other_are_g0() {
    let sketch = Sketch::default()
        .committed(&[append(1, 10), append(1, 11)])
        .committed(&[append(1, 20)])
        .committed(&[read_list(1, &[10, 20, 11])]);
    assert_eq!(sketch.kinds(), [G0]);
}

#[test]
fn writes_in_two_orders_by_updates_are_g0() {
    let sketch = Sketch::default()
        .register(1, 1)
        .register(2, 2)
        .committed(&[read(1, 1), write(1, 10), read(2, 20), write(2, 21)])
        .committed(&[read(2, 2), write(2, 20), read(1, 10), write(1, 11)]);
    assert!(sketch.kinds().contains(&G0), "{:?}", sketch.kinds());
}

#[test]
fn a_read_of_an_aborted_append_or_write_or_deletion_is_g1a() {
    let list = Sketch::default().add(Outcome::Aborted, &[append(1, 10)]).committed(&[read_list(1, &[10])]);
    assert_eq!(list.kinds(), [AbortedRead]);
    assert_eq!(list.cycle(AbortedRead), [1, 0]);
    let register = Sketch::default().add(Outcome::Aborted, &[write(1, 10)]).committed(&[read(1, 10)]);
    assert_eq!(register.kinds(), [AbortedRead]);
    let range = Sketch::default().add(Outcome::Aborted, &[write(1, 10)]).committed(&[read_range(0..5, &[(1, 10)])]);
    assert_eq!(range.kinds(), [AbortedRead]);
    let absence = Sketch::default().register(1, 1).add(Outcome::Aborted, &[delete(1)]).committed(&[absent(1)]);
    assert_eq!(absence.kinds(), [AbortedRead]);
    let between = Sketch::default()
        .add(Outcome::Aborted, &[append(1, 10)])
        .committed(&[append(1, 20)])
        .committed(&[read_list(1, &[10, 20])]);
    assert_eq!(between.kinds(), [AbortedRead]);
}

#[test]
fn a_read_of_what_its_writer_replaced_is_g1b() {
    let list = Sketch::default().committed(&[append(1, 10), append(1, 11)]).committed(&[read_list(1, &[10])]);
    assert!(list.kinds().contains(&IntermediateRead), "{:?}", list.kinds());
    let register = Sketch::default().committed(&[write(1, 10), write(1, 11)]).committed(&[read(1, 10)]);
    assert_eq!(register.kinds(), [IntermediateRead]);
    let deletion = Sketch::default().register(1, 1).committed(&[delete(1), write(1, 11)]).committed(&[absent(1)]);
    assert_eq!(deletion.kinds(), [IntermediateRead]);
}

#[test]
fn two_that_read_each_other_are_g1c() {
    let sketch = Sketch::default()
        .committed(&[append(1, 10), read_list(2, &[20])])
        .committed(&[append(2, 20), read_list(1, &[10])]);
    assert_eq!(sketch.kinds(), [G1c]);
    let registers = Sketch::default().committed(&[write(1, 10), read(2, 20)]).committed(&[write(2, 20), read(1, 10)]);
    assert_eq!(registers.kinds(), [G1c]);
    for level in [Level::SnapshotIsolation, Level::Serializable, Level::StrictSerializable] {
        assert_eq!(registers.kinds_at(level), [G1c]);
    }
}

#[test]
fn a_deletion_that_is_seen_by_whom_its_writer_has_read_is_g1c() {
    let sketch =
        Sketch::default().register(1, 1).committed(&[delete(1), read(2, 20)]).committed(&[write(2, 20), absent(1)]);
    assert_eq!(sketch.kinds(), [G1c]);
}

#[test]
fn two_updates_of_one_version_are_a_lost_update() {
    let register =
        Sketch::default().register(1, 1).committed(&[read(1, 1), write(1, 10)]).committed(&[read(1, 1), write(1, 11)]);
    assert!(register.kinds().contains(&LostUpdate), "{:?}", register.kinds());
    assert!(register.kinds_at(Level::SnapshotIsolation).contains(&LostUpdate));
    let list = Sketch::default()
        .committed(&[read_list(1, &[]), append(1, 10)])
        .committed(&[read_list(1, &[]), append(1, 20)])
        .committed(&[read_list(1, &[10, 20])]);
    assert_eq!(list.kinds(), [LostUpdate, GSingle]);
    assert_eq!(list.kinds_at(Level::SnapshotIsolation), [LostUpdate, GSingle]);
    let insertion = Sketch::default().committed(&[absent(1), write(1, 10)]).committed(&[absent(1), write(1, 11)]);
    assert!(insertion.kinds().contains(&LostUpdate), "{:?}", insertion.kinds());
    let deletion =
        Sketch::default().register(1, 1).committed(&[read(1, 1), delete(1)]).committed(&[read(1, 1), write(1, 11)]);
    assert!(deletion.kinds().contains(&LostUpdate), "{:?}", deletion.kinds());
}

#[test]
fn a_part_of_a_transaction_that_is_seen_without_the_rest_is_g_single() {
    let lists = Sketch::default()
        .committed(&[append(1, 10), append(2, 20)])
        .committed(&[read_list(1, &[10]), read_list(2, &[])])
        .committed(&[read_list(2, &[20])]);
    assert_eq!(lists.kinds(), [GSingle]);
    assert_eq!(lists.kinds_at(Level::SnapshotIsolation), [GSingle]);
    let registers = Sketch::default()
        .register(1, 1)
        .register(2, 2)
        .committed(&[write(1, 10), write(2, 20)])
        .committed(&[read(1, 10), read(2, 2)]);
    assert_eq!(registers.kinds(), [GSingle]);
    assert!(registers.report(&Options::new(Level::Serializable)).to_string().contains("fractured"));
    let deleted = Sketch::default()
        .register(1, 1)
        .register(2, 2)
        .committed(&[delete(1), write(2, 20)])
        .committed(&[absent(1), read(2, 2)]);
    assert_eq!(deleted.kinds(), [GSingle]);
}

#[test]
fn appends_that_nobody_read_come_after_the_longest_read() {
    let sketch = Sketch::default()
        .committed(&[append(1, 10)])
        .committed(&[append(1, 11), append(2, 20)])
        .committed(&[read_list(1, &[10]), read_list(2, &[20])]);
    assert_eq!(sketch.kinds(), [GSingle]);
}

#[test]
fn what_a_transaction_deletes_itself_is_no_explanation_of_its_absence() {
    let sketch = Sketch::default()
        .committed(&[absent(1), write(1, 5), delete(1), read(2, 20)])
        .committed(&[write(1, 10), write(2, 20)]);
    assert_eq!(sketch.kinds(), [GSingle]);
}

#[test]
fn a_range_that_misses_an_insertion_beside_one_it_has_is_a_phantom() {
    let sketch =
        Sketch::default().committed(&[write(1, 10), write(2, 20)]).committed(&[read_range(0..2, &[]), read(2, 20)]);
    assert_eq!(sketch.kinds(), [GSinglePredicate]);
    assert_eq!(sketch.kinds_at(Level::SnapshotIsolation), [GSinglePredicate]);
}

#[test]
fn write_skew_on_items_is_g2_item_and_snapshot_isolation_allows_it() {
    let sketch = Sketch::default()
        .register(1, 1)
        .register(2, 2)
        .committed(&[read(1, 1), read(2, 2), write(1, 10)])
        .committed(&[read(1, 1), read(2, 2), write(2, 20)]);
    assert_eq!(sketch.kinds(), [G2Item]);
    assert_eq!(sketch.kinds_at(Level::StrictSerializable), [G2Item]);
    let report = sketch.report(&Options::new(Level::SnapshotIsolation));
    assert!(report.is_sound() && report.has(G2Item));
    assert_eq!(report.allowed.len(), 1);
    let lists = Sketch::default()
        .committed(&[read_list(1, &[]), append(2, 20)])
        .committed(&[read_list(2, &[]), append(1, 10)])
        .committed(&[read_list(1, &[10]), read_list(2, &[20])]);
    assert_eq!(lists.kinds(), [G2Item]);
}

#[test]
fn write_skew_by_ranges_is_g2_and_snapshot_isolation_allows_it() {
    let sketch = Sketch::default()
        .committed(&[read_range(0..10, &[]), write(1, 10)])
        .committed(&[read_range(0..10, &[]), write(2, 20)]);
    assert_eq!(sketch.kinds(), [G2]);
    assert_eq!(sketch.kinds_at(Level::SnapshotIsolation), []);
}

#[test]
fn an_item_that_a_range_had_and_somebody_deleted_is_g2_item() {
    let sketch = Sketch::default()
        .register(1, 1)
        .register(2, 2)
        .committed(&[read_range(0..10, &[(1, 1), (2, 2)]), delete(1)])
        .committed(&[read_range(0..10, &[(1, 1), (2, 2)]), delete(2)]);
    assert_eq!(sketch.kinds(), [G2Item]);
}

#[test]
fn anti_dependencies_apart_from_each_other_are_forbidden_to_snapshots() {
    // Two readers see two writes in opposite orders: the long fork.
    let sketch = Sketch::default()
        .committed(&[write(1, 10)])
        .committed(&[write(2, 20)])
        .committed(&[read(1, 10), absent(2)])
        .committed(&[absent(1), read(2, 20)]);
    assert_eq!(sketch.kinds(), [GNonadjacent]);
    assert_eq!(sketch.kinds_at(Level::SnapshotIsolation), [GNonadjacent]);
}

#[test]
fn the_anomaly_of_a_read_only_transaction_is_found() {
    // Fekete, O'Neil, O'Neil: without the reader (2) the others are serializable.
    let two = Sketch::default()
        .register(1, 1)
        .register(2, 2)
        .committed(&[read(1, 1), read(2, 2), write(1, 10)])
        .committed(&[read(2, 2), write(2, 20)]);
    assert_eq!(two.kinds(), []);
    let three = two.committed(&[read(1, 1), read(2, 20)]);
    assert_eq!(three.kinds(), [G2Item]);
    assert_eq!(three.kinds_at(Level::SnapshotIsolation), []);
}

#[test]
fn a_transaction_that_misses_its_own_writes_is_inconsistent() {
    for operations in [
        vec![append(1, 10), read_list(1, &[])],
        vec![append(1, 10), append(1, 11), read_list(1, &[10])],
        vec![write(1, 10), absent(1)],
        vec![write(1, 10), write(1, 11), read(1, 10)],
        vec![write(1, 10), delete(1), read_range(0..5, &[(1, 10)])],
        vec![write(1, 10), read_range(0..5, &[])],
    ] {
        let sketch = Sketch::default().committed(&operations);
        assert_eq!(sketch.kinds(), [InternalInconsistency], "{operations:?}");
    }
    let later = Sketch::default().committed(&[read(1, 10), write(1, 10)]);
    assert_eq!(later.kinds(), [InternalInconsistency]);
    let later = Sketch::default().committed(&[read_list(1, &[10]), append(1, 10)]);
    assert_eq!(later.kinds(), [InternalInconsistency]);
}

#[test]
fn a_second_read_that_differs_is_not_repeatable() {
    for operations in [
        vec![read(1, 1), absent(1)],
        vec![read_range(0..5, &[(1, 1)]), read_range(0..5, &[(1, 1), (2, 20)])],
        vec![absent(2), read_range(0..5, &[(1, 1), (2, 20)])],
        vec![read_list(1, &[]), read_list(1, &[30])],
        vec![read_list(1, &[]), append(1, 10), read_list(1, &[30, 10])],
    ] {
        let sketch = Sketch::default().register(1, 1).committed(&[write(2, 20), append(1, 30)]).committed(&operations);
        assert!(sketch.kinds().contains(&NonRepeatableRead), "{operations:?}: {:?}", sketch.kinds());
    }
}

#[test]
fn what_aborted_transactions_read_is_judged_if_that_is_asked_for() {
    let sketch = Sketch::default()
        .register(1, 1)
        .register(2, 2)
        .committed(&[write(1, 10), write(2, 20)])
        .add(Outcome::Aborted, &[read(1, 10), read(2, 2), write(3, 30)]);
    assert_eq!(sketch.kinds(), []);
    let options = Options { aborted_reads: true, ..Options::new(Level::SnapshotIsolation) };
    assert_eq!(kinds_of(&sketch.report(&options)), [GSingle]);
    let twice = Sketch::default().register(1, 1).add(Outcome::Aborted, &[read(1, 1), absent(1)]);
    assert_eq!(twice.kinds(), []);
    assert_eq!(kinds_of(&twice.report(&options)), [NonRepeatableRead]);
}

#[test]
fn values_from_nowhere_are_found() {
    for operation in [read(1, 77), read_range(0..5, &[(3, 77)]), read_list(1, &[77]), read_list(1, &[5, 77])] {
        let sketch =
            Sketch::default().list(1, &[5]).committed(&[append(1, 10)]).committed(std::slice::from_ref(&operation));
        assert!(sketch.kinds().contains(&UnwrittenRead), "{operation:?}: {:?}", sketch.kinds());
    }
    let vanished = Sketch::default().register(1, 1).committed(&[absent(1)]);
    assert_eq!(vanished.kinds(), [UnwrittenRead]);
    let vanished = Sketch::default().register(1, 1).committed(&[read_range(0..2, &[])]);
    assert_eq!(vanished.kinds(), [UnwrittenRead]);
}

#[test]
fn ranges_out_of_order_are_found() {
    for entries in [[(2, 2), (1, 1)], [(1, 1), (1, 1)], [(1, 1), (9, 9)]] {
        let sketch =
            Sketch::default().register(1, 1).register(2, 2).register(9, 9).committed(&[read_range(0..5, &entries)]);
        assert_eq!(sketch.kinds(), [MalformedRange]);
    }
}

#[test]
fn duplicate_elements_and_incompatible_orders_are_found() {
    let duplicate = Sketch::default().committed(&[append(1, 10)]).committed(&[read_list(1, &[10, 10])]);
    assert_eq!(duplicate.kinds(), [DuplicateElement]);
    let orders = Sketch::default()
        .committed(&[append(1, 10)])
        .committed(&[append(1, 11)])
        .committed(&[read_list(1, &[10, 11])])
        .committed(&[read_list(1, &[11])]);
    assert_eq!(orders.kinds(), [IncompatibleOrder]);
    let hidden = Sketch::default()
        .add(Outcome::Aborted, &[append(1, 10)])
        .committed(&[append(1, 11)])
        .committed(&[read_list(1, &[10])])
        .committed(&[read_list(1, &[11])]);
    assert!(hidden.kinds().contains(&AbortedRead));
    let initial =
        Sketch::default().list(1, &[5, 6]).committed(&[append(1, 10)]).committed(&[read_list(1, &[6, 5, 10])]);
    assert_eq!(initial.kinds(), [IncompatibleOrder]);
    let shrunk = Sketch::default().list(1, &[5, 6]).committed(&[read_list(1, &[6])]);
    assert_eq!(shrunk.kinds(), [IncompatibleOrder]);
}

#[test]
fn a_read_that_lacks_what_the_list_began_with_is_found() {
    let sketch = Sketch::default().list(1, &[5, 6]).committed(&[read_list(1, &[5])]);
    assert_eq!(sketch.kinds(), [IncompatibleOrder]);
}

#[test]
fn a_stale_read_contradicts_real_time_and_the_order_of_its_process() {
    let sketch = Sketch::default()
        .register(1, 1)
        .committed(&[write(1, 10)])
        .by(3)
        .at(0, 10)
        .committed(&[read(1, 1)])
        .by(3)
        .at(20, 30);
    assert_eq!(sketch.kinds(), []);
    let beside = |options: &Options| {
        let report = sketch.report(options);
        report.anomalies.iter().map(|anomaly| (anomaly.kind, anomaly.beside)).collect::<Vec<_>>()
    };
    let options = Options::new(Level::StrictSerializable);
    assert_eq!(beside(&options), [(GSingle, Beside::RealTime)]);
    let options = Options { real_time: true, ..Options::new(Level::SnapshotIsolation) };
    assert_eq!(beside(&options), [(GSingle, Beside::RealTime)]);
    let options = Options { sessions: true, ..Options::new(Level::Serializable) };
    assert_eq!(beside(&options), [(GSingle, Beside::Session)]);
}

#[test]
fn sequences_order_registers_that_nobody_updates() {
    let blind = |second: u64, third: u64| {
        Sketch::default()
            .committed(&[write(1, 10), write(2, 20)])
            .numbered(0, second)
            .committed(&[write(1, 11)])
            .numbered(0, third)
            .committed(&[read(1, 10), read(3, 30)])
            .committed(&[read(1, 11), write(3, 30)])
    };
    let without = |mut sketch: Sketch| {
        sketch.history.transactions.iter_mut().for_each(|transaction| transaction.sequence = None);
        sketch
    };
    assert_eq!(without(blind(1, 2)).kinds(), []);
    assert_eq!(blind(1, 2).kinds(), [GSingle]);
    assert_eq!(blind(2, 1).kinds(), []);
}

#[test]
fn sequences_that_contradict_the_reads_are_found() {
    let early = Sketch::default().committed(&[write(1, 10)]).numbered(0, 5).committed(&[read(1, 10)]).reading(4);
    assert_eq!(early.kinds(), [SequenceMismatch]);
    let late = Sketch::default().committed(&[write(1, 10)]).numbered(0, 5).committed(&[absent(1)]).reading(5);
    assert_eq!(late.kinds(), [SequenceMismatch]);
    let order = Sketch::default()
        .committed(&[append(1, 10)])
        .numbered(0, 5)
        .committed(&[append(1, 11)])
        .numbered(0, 4)
        .committed(&[read_list(1, &[10, 11])]);
    assert_eq!(order.kinds(), [SequenceMismatch]);
    let twice = Sketch::default().committed(&[write(1, 10)]).numbered(0, 5).committed(&[write(2, 20)]).numbered(0, 5);
    assert_eq!(twice.kinds(), [SequenceMismatch]);
    let again = Sketch::default()
        .committed(&[write(1, 10)])
        .numbered(0, 1)
        .committed(&[delete(1)])
        .numbered(1, 2)
        .committed(&[absent(1)])
        .reading(1);
    assert_eq!(again.kinds(), [SequenceMismatch]);
}

#[test]
fn sequences_and_snapshots_that_contradict_real_time_are_found() {
    let commits = Sketch::default()
        .committed(&[write(1, 10)])
        .numbered(0, 2)
        .at(0, 10)
        .committed(&[write(2, 20)])
        .numbered(0, 1)
        .at(20, 30);
    assert_eq!(commits.kinds(), []);
    assert!(commits.kinds_at(Level::StrictSerializable).contains(&SequenceMismatch));
    let snapshot = Sketch::default()
        .committed(&[write(1, 10)])
        .numbered(0, 1)
        .at(0, 10)
        .committed(&[absent(2)])
        .reading(0)
        .at(20, 30);
    assert_eq!(snapshot.kinds(), []);
    assert_eq!(snapshot.kinds_at(Level::StrictSerializable), [SequenceMismatch]);
    assert_eq!(snapshot.at(10, 30).kinds_at(Level::StrictSerializable), []);
}

#[test]
fn an_absence_of_many_is_told_by_its_snapshot() {
    let sketch = |snapshot: Option<u64>| {
        let sketch = Sketch::default()
            .committed(&[write(1, 10)])
            .numbered(0, 1)
            .committed(&[delete(1)])
            .numbered(1, 2)
            .committed(&[write(1, 11), write(2, 20)])
            .numbered(2, 3)
            .committed(&[absent(1), read(2, 20)]);
        match snapshot {
            Some(snapshot) => sketch.reading(snapshot),
            None => sketch,
        }
    };
    // Whichever absence it was, what followed the last of them is seen.
    assert_eq!(sketch(None).kinds(), [GSingle]);
    assert!(sketch(Some(2)).kinds().contains(&GSingle));
    let earlier = Sketch::default()
        .committed(&[write(1, 10), write(2, 20)])
        .numbered(0, 1)
        .committed(&[delete(1)])
        .numbered(1, 2)
        .committed(&[absent(1), read(2, 20)]);
    assert_eq!(earlier.kinds(), []);
    assert!(earlier.reading(0).kinds().contains(&GSingle));
}

#[test]
fn a_lost_commit_is_found_at_a_clean_end() {
    let list = Sketch::default().committed(&[append(1, 10)]).committed(&[append(1, 11)]);
    assert_eq!(list.clone().closed(content(&[(1, &[10])], &[])).kinds(), [LostCommit]);
    assert_eq!(list.closed(content(&[(1, &[10, 11])], &[])).kinds(), []);
    let register = Sketch::default().register(1, 1).committed(&[read(1, 1), write(1, 10)]);
    assert_eq!(register.clone().closed(content(&[], &[(1, 1)])).kinds(), [LostCommit]);
    assert_eq!(register.closed(content(&[], &[(1, 10)])).kinds(), []);
    let insertion = Sketch::default().committed(&[write(1, 10)]);
    assert_eq!(insertion.closed(content(&[], &[])).kinds(), [LostCommit]);
    let deletion = Sketch::default().register(1, 1).committed(&[delete(1)]);
    assert_eq!(deletion.clone().closed(content(&[], &[(1, 1)])).kinds(), [LostCommit]);
    assert_eq!(deletion.closed(content(&[], &[])).kinds(), []);
}

#[test]
fn what_was_aborted_must_not_be_in_the_content_at_the_end() {
    let sketch = Sketch::default().add(Outcome::Aborted, &[append(1, 10), write(1, 10)]);
    assert_eq!(sketch.clone().closed(content(&[(1, &[10])], &[])).kinds(), [AbortedRead]);
    assert_eq!(sketch.clone().crashed(content(&[], &[(1, 10)]), Durability::Disk).kinds(), [AbortedRead]);
    assert_eq!(sketch.closed(content(&[], &[])).kinds(), []);
}

#[test]
fn histories_that_break_the_rules_of_recording_are_refused() {
    let refused = |sketch: Sketch| check(&sketch.history, &Options::new(Level::Serializable)).expect_err("refused");
    let twice = Sketch::default().committed(&[write(1, 10)]).committed(&[write(1, 10)]);
    assert!(matches!(refused(twice), HistoryError::ValueWrittenTwice { transaction: TransactionId(1), .. }));
    let initial = Sketch::default().list(1, &[10]).committed(&[append(1, 10)]);
    assert!(refused(initial).to_string().contains("append list 1 element 10"));
    let initial = Sketch::default().register(1, 10).committed(&[write(1, 10)]);
    assert!(matches!(refused(initial), HistoryError::ValueWrittenTwice { .. }));
    let backwards = Operation::ReadRange { low: Key(5), high: Key(0), entries: Vec::new() };
    let reversed = Sketch::default().committed(&[read_range(0..5, &[])]).committed(&[backwards]);
    assert_eq!(refused(reversed), HistoryError::RangeReversed(TransactionId(1)));
    let times = Sketch::default().committed(&[]).at(10, 5);
    assert_eq!(refused(times), HistoryError::EndBeforeBegin(TransactionId(0)));
}

#[test]
fn a_report_names_transactions_keys_and_operations_in_the_order_of_the_cycle() {
    let sketch = Sketch::default()
        .register(1, 1)
        .register(2, 2)
        .committed(&[write(1, 10), write(2, 20)])
        .by(7)
        .committed(&[read(1, 10), read(2, 2)]);
    let text = sketch.report(&Options::new(Level::Serializable)).to_string();
    for part in [
        "G-single (read skew): a cycle of 2 transactions",
        "T0 -wr-> T1: `write register 1 = 10` was seen by `read register 1 -> 10`",
        "T1 -rw-> T0: `read register 2 -> 2` did not see `write register 2 = 20`",
        "T0 (process 7, committed): write register 1 = 10; write register 2 = 20",
        "1 x G-single (read skew)",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn of_many_anomalies_a_few_are_described_and_all_are_counted() {
    let mut sketch = Sketch::default();
    for key in 0..50 {
        sketch = sketch.add(Outcome::Aborted, &[write(key, 1)]).committed(&[read(key, 1)]);
    }
    let report = sketch.report(&Options { examples_max: 0, ..Options::new(Level::Serializable) });
    assert_eq!((report.anomalies.len(), report.counts[&AbortedRead]), (1, 50));
    assert_eq!(report.transactions, 50);
}
