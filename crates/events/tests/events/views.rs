//! Views: each event once, groups, rebuilds, and following.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use fulgurite::{Read, Table, TableOptions, UPDATE_ATTEMPTS, WriteTxn};
use fulgurite_events::{
    Error, Event, EventData, EventStore, Expected, Partition, Position, Result, Retention, Signal, Stop, View,
    ViewContext,
};

use crate::support::{Panic, event, store};

/// Counts events by stream.
fn count(txn: &mut WriteTxn, context: &ViewContext<'_>, event: &Event<'_>) -> Result<()> {
    let (table, key) = (context.table(0), event.stream.0.to_be_bytes());
    let before = txn.get(table, key)?.map_or(0, |value| u64::from_be_bytes(value[..].try_into().unwrap()));
    Ok(txn.put(table, key, (before + 1).to_be_bytes())?)
}

fn view() -> View {
    View::new("counts").table("counts", Default::default()).batch_events(7)
}

/// All counts together.
fn total(store: &EventStore) -> u64 {
    let txn = store.database().read().unwrap();
    let table: Table = txn.open_table("counts").unwrap();
    let value = |entry: fulgurite::Result<(_, fulgurite::Value<'_>)>| entry.unwrap().1[..].try_into().unwrap();
    txn.range(&table, ..).unwrap().map(|entry| u64::from_be_bytes(value(entry))).sum()
}

/// Whether something holds within a time that only a fault exceeds.
fn comes_true(holds: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + WAIT;
    while !holds() {
        if Instant::now() >= deadline {
            return false;
        }
        thread::yield_now();
    }
    true
}

const WAIT: Duration = Duration::from_secs(60);

fn fill(store: &EventStore, events: usize) {
    for number in 0..events {
        store.append(format!("s{}", number % 11), Expected::Any, &[event("x")]).unwrap();
    }
}

#[test]
fn a_view_folds_every_event_once_over_several_runs() {
    let (_directory, store) = store();
    fill(&store, 100);
    let progress = store.run_view(&view(), count).unwrap();
    assert_eq!((progress.events, progress.position), (100, Position(100)));
    fill(&store, 5);
    assert_eq!(store.run_view(&view(), count).unwrap().events, 5);
    assert_eq!(store.run_view(&view(), count).unwrap().events, 0);
    assert_eq!(total(&store), 105);
}

#[test]
fn a_fold_that_fails_leaves_its_batch_for_the_next_run() {
    let (_directory, store) = store();
    fill(&store, 100);
    let failed = store.run_view(&view(), |txn, context, event| match event.position {
        Position(30) => Err(Error::program("no")),
        _ => count(txn, context, event),
    });
    assert!(matches!(failed, Err(Error::Program(_))));
    assert_eq!(store.snapshot().unwrap().consumer_position("counts").unwrap(), Position(28));
    store.run_view(&view(), count).unwrap();
    assert_eq!(total(&store), 100);
}

#[test]
fn members_of_a_group_and_two_runners_of_one_view_fold_every_event_once() {
    let (_directory, store) = store();
    fill(&store, 500);
    thread::scope(|scope| {
        for member in 0..4 {
            let store = &store;
            let view = view().partition(Partition::new(member, 4).unwrap());
            scope.spawn(move || store.run_view(&view, count).unwrap());
        }
    });
    assert_eq!(total(&store), 500);
    assert_eq!(store.snapshot().unwrap().consumers().unwrap().len(), 4);
    store.drop_view(&view()).unwrap();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| store.run_view(&view(), count).unwrap());
        }
    });
    assert_eq!(total(&store), 500);
}

#[test]
fn a_rebuild_is_exchanged_for_the_old_view_in_one_step() {
    let (_directory, store) = store();
    fill(&store, 100);
    store
        .run_view(&view(), |txn, context, event| {
            count(txn, context, event)?;
            count(txn, context, event)
        })
        .unwrap();
    assert_eq!(total(&store), 200, "the old fold counted twice");
    let done = thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel::<()>();
        let store = &store;
        let reader = scope.spawn(move || {
            while receiver.try_recv() == Err(mpsc::TryRecvError::Empty) {
                let total = total(store);
                assert!(total == 200 || total == 100, "{total}");
            }
        });
        let done = store.rebuild_view(&view(), count).unwrap();
        sender.send(()).unwrap();
        reader.join().unwrap();
        done
    });
    assert_eq!(done.position, Position(100));
    assert_eq!(total(&store), 100);
    fill(&store, 3);
    store.run_view(&view(), count).unwrap();
    assert_eq!(total(&store), 103);
    assert_eq!(store.database().tables().unwrap().iter().filter(|table| table.name().contains('~')).count(), 0);
}

#[test]
fn a_followed_view_signals_that_it_has_caught_up_and_stops_when_asked() {
    let (_directory, store) = store();
    fill(&store, 50);
    let stop = Stop::new(&store);
    let (sender, signals) = mpsc::channel();
    thread::scope(|scope| {
        let follower = scope.spawn(|| store.follow_view(&view(), &stop, |signal| sender.send(signal).unwrap(), count));
        let signal = signals.recv_timeout(WAIT);
        fill(&store, 50);
        let counted = || store.snapshot().unwrap().consumer_position("counts").unwrap();
        let has_counted = comes_true(|| counted() >= Position(100));
        // Before the assertions: the scope waits for the follower also if they fail.
        stop.stop();
        assert_eq!((signal, has_counted), (Ok(Signal::CaughtUp), true));
        assert_eq!(follower.join().unwrap().unwrap().events, 100);
    });
    assert_eq!(total(&store), 100);
}

#[test]
fn a_view_says_how_many_events_it_missed() {
    let (_directory, store) = store();
    let payload = [1; 5000];
    for _ in 0..20 {
        store.append("a", Expected::Any, &[EventData::new("x", &payload)]).unwrap();
    }
    let retention = Retention { count_max: Some(5), ..Retention::default() };
    assert_eq!(store.apply_retention(&retention).unwrap().start, Position(15));
    let progress = store.run_view(&view(), count).unwrap();
    assert_eq!((progress.events, progress.position, progress.missed), (5, Position(20), 15));
    assert_eq!(store.run_view(&view(), count).unwrap().missed, 0);
    assert_eq!(store.rebuild_view(&view(), count).unwrap().missed, 15);
}

#[test]
fn a_member_cannot_drop_or_rebuild_what_others_have_folded() {
    let (_directory, store) = store();
    fill(&store, 100);
    let member = |index| view().partition(Partition::new(index, 3).unwrap());
    for index in 0..3 {
        store.run_view(&member(index), count).unwrap();
    }
    assert!(matches!(store.rebuild_view(&member(1), count), Err(Error::Invalid { .. })));
    assert!(matches!(store.drop_view(&member(1)), Err(Error::Invalid { .. })));
    assert_eq!(total(&store), 100);
    store.set_consumer_position("counts#of another kind", Position(1)).unwrap();
    store.drop_view(&view()).unwrap();
    let consumers = store.snapshot().unwrap().consumers().unwrap();
    assert_eq!(consumers.len(), 1, "{consumers:?}");
    for index in 0..3 {
        store.run_view(&member(index), count).unwrap();
    }
    assert_eq!(total(&store), 100);
}

#[test]
fn members_continue_after_the_rebuild_of_the_whole_view() {
    let (_directory, store) = store();
    fill(&store, 100);
    let member = |index| view().partition(Partition::new(index, 3).unwrap());
    // Member 2 has not run yet.
    for index in 0..2 {
        store.run_view(&member(index), count).unwrap();
    }
    store.rebuild_view(&view(), count).unwrap();
    assert_eq!(total(&store), 100);
    fill(&store, 30);
    for index in 0..3 {
        store.run_view(&member(index), count).unwrap();
    }
    assert_eq!(total(&store), 130);
}

/// The name of a consumer says how many members there are: so many that listing them would take minutes.
#[test]
fn a_view_of_a_group_without_bound_is_not_rebuilt_and_is_dropped_with_stored_positions() {
    let (_directory, store) = store();
    fill(&store, 10);
    store.run_view(&view(), count).unwrap();
    store.set_consumer_position("counts#7/4000000000", Position(3)).unwrap();
    let refused = store.rebuild_view(&view(), count).unwrap_err();
    assert!(matches!(refused, Error::Invalid { .. }));
    assert!(refused.to_string().contains("4000000000 members"), "{refused}");
    assert_eq!(total(&store), 10);
    store.drop_view(&view()).unwrap();
    assert_eq!(store.snapshot().unwrap().consumers().unwrap(), []);
}

#[test]
fn a_consumer_is_not_set_above_the_next_event_which_it_would_miss() {
    let (_directory, store) = store();
    fill(&store, 10);
    store.set_consumer_position("reader", Position(10)).unwrap();
    let refused = store.set_consumer_position("reader", Position(11)).unwrap_err();
    assert!(matches!(refused, Error::Invalid { .. }));
    assert!(refused.to_string().contains("a position up to 10"), "{refused}");
    store
        .transact(|t| {
            t.append("s0", Expected::Any, &[event("x")])?;
            t.set_consumer_position("reader", Position(11))
        })
        .unwrap();
    assert_eq!(store.snapshot().unwrap().consumer_position("reader").unwrap(), Position(11));
}

/// A rebuild of such a view once put an empty table in the place of the log.
#[test]
fn a_view_cannot_have_a_table_of_an_event_store() {
    let (_directory, store) = store();
    fill(&store, 10);
    let db = store.database();
    let other = EventStore::options().name("other").open_in(db).unwrap();
    fill(&other, 3);
    let tables = db.tables().unwrap();
    assert_eq!(tables.len(), 20);
    let names = tables.iter().map(|table| table.name().to_owned());
    for name in names.chain(["events.index~rebuild".to_owned()]) {
        refused(&store, &View::new("v").table(&name, Default::default()), &name);
    }
    let sound = |store: &EventStore| store.snapshot().unwrap().check().unwrap().is_sound();
    assert!(sound(&store) && sound(&other));
    // The same ends of names do no harm where there is no store.
    let harmless = View::new("v").table("third.log", Default::default());
    store.run_view(&harmless, |_, _, _| Ok(())).unwrap();
    store.drop_view(&harmless).unwrap();
}

#[test]
fn a_view_has_a_name_and_no_table_twice_and_no_name_of_a_rebuild() {
    let (_directory, store) = store();
    fill(&store, 10);
    let twice = View::new("v").table("t", Default::default()).table("t", Default::default());
    refused(&store, &twice, "the view `v` has the table `t` twice");
    refused(&store, &View::new(""), "the name of a view is empty");
    refused(&store, &View::new("v~rebuild"), "a view cannot have the name `v~rebuild`");
    refused(&store, &View::new("v").table("t~rebuild", Default::default()), "cannot have the table `t~rebuild`");
    assert_eq!(store.database().tables().unwrap().len(), 10, "nothing was created");
}

/// Asserts that a view is neither run, followed, rebuilt nor dropped.
#[track_caller]
fn refused(store: &EventStore, view: &View, message: &str) {
    let nothing = |_: &mut WriteTxn, _: &ViewContext<'_>, _: &Event<'_>| Ok::<(), Error>(());
    let stop = Stop::new(store);
    stop.stop();
    let outcomes = [
        store.run_view(view, nothing).map(drop),
        store.follow_view(view, &stop, |_| {}, nothing).map(drop),
        store.rebuild_view(view, nothing).map(drop),
        store.drop_view(view),
    ];
    for outcome in outcomes {
        match outcome {
            Err(Error::Invalid { message: found }) => assert!(found.contains(message), "{found}"),
            other => panic!("{message}: {other:?}"),
        }
    }
}

#[test]
fn a_view_is_not_run_on_a_table_with_other_options_and_a_rebuild_replaces_the_table() {
    let (_directory, store) = store();
    fill(&store, 10);
    store.run_view(&view(), count).unwrap();
    let typed = View::new("counts").table("counts", TableOptions::new().key_type("u64"));
    match store.run_view(&typed, count) {
        Err(Error::Engine(error)) => assert!(matches!(*error, fulgurite::Error::TableMismatch { .. }), "{error}"),
        other => panic!("{other:?}"),
    }
    store.rebuild_view(&typed, count).unwrap();
    assert_eq!(store.database().open_table("counts").unwrap().key_type(), "u64");
    fill(&store, 5);
    store.run_view(&typed, count).unwrap();
    // Without options, a table is used as it is.
    assert_eq!(store.run_view(&view(), count).unwrap().events, 0);
    assert_eq!(total(&store), 15);
}

#[test]
fn dropping_a_view_drops_what_an_interrupted_rebuild_has_left() {
    let (_directory, store) = store();
    fill(&store, 30);
    store.run_view(&view(), count).unwrap();
    let interrupted = store.rebuild_view(&view(), |txn, context, event| match event.position {
        Position(20) => Err(Error::program("no")),
        _ => count(txn, context, event),
    });
    assert!(matches!(interrupted, Err(Error::Program(_))));
    assert!(store.database().open_table("counts~rebuild").is_ok());
    store.drop_view(&view()).unwrap();
    assert_eq!(store.database().tables().unwrap().len(), 10);
    assert_eq!(store.snapshot().unwrap().consumers().unwrap(), []);
}

#[test]
fn a_rebuild_whose_new_tables_are_dropped_begins_again() {
    let (_directory, store) = store();
    fill(&store, 30);
    store.run_view(&view(), count).unwrap();
    let mut is_dropped = false;
    let done = store.rebuild_view(&view(), |txn, context, event| {
        if event.position == Position(29) && !is_dropped {
            is_dropped = true;
            store.drop_view(&view())?;
        }
        count(txn, context, event)
    });
    let done = done.unwrap();
    assert_eq!((done.events, done.position), (30, Position(30)), "what was dropped is not counted");
    assert_eq!(total(&store), 30);
}

#[test]
fn a_parallel_rebuild_folds_every_event_once_and_each_stream_in_order() {
    let (_directory, store) = store();
    fill(&store, 500);
    store.run_view(&view(), count).unwrap();
    let (has_appended, versions) = (AtomicBool::new(false), Mutex::new(std::collections::BTreeMap::new()));
    let done = store.rebuild_view_parallel(&view(), 4, |txn, context, event| {
        if !has_appended.swap(true, Ordering::Relaxed) {
            store.append("s0", Expected::Any, &[crate::support::event("later")])?;
            assert!(matches!(store.rebuild_view(&view(), count), Err(Error::Invalid { .. })), "it runs alone");
        }
        // Less only after a conflict, when a batch is folded again.
        versions.lock().unwrap().insert(event.stream, event.version);
        count(txn, context, event)
    });
    let done = done.unwrap();
    assert_eq!((done.events, done.position, done.missed), (501, Position(501), 0));
    assert_eq!(total(&store), 501);
    let snapshot = store.snapshot().unwrap();
    for (stream, last) in versions.into_inner().unwrap() {
        let info = snapshot.stream(snapshot.stream_name(stream).unwrap()).unwrap().unwrap();
        assert_eq!(info.next.0, last.0 + 1, "the last event of a stream is folded last");
    }
    assert_eq!(snapshot.consumers().unwrap(), [("counts".to_owned(), Position(501))]);
    assert_eq!(store.database().tables().unwrap().iter().filter(|table| table.name().contains('~')).count(), 0);
    assert_eq!(store.rebuild_view_parallel(&view(), 0, count).unwrap().events, 501, "one thread is enough");
}

#[test]
fn a_parallel_rebuild_that_fails_leaves_the_old_view_and_one_whose_new_tables_are_dropped_begins_again() {
    let (_directory, store) = store();
    fill(&store, 60);
    store.run_view(&view(), count).unwrap();
    let failed = store.rebuild_view_parallel(&view(), 3, |txn, context, event| match event.position {
        Position(40) => Err(Error::program("no")),
        _ => count(txn, context, event),
    });
    assert!(matches!(failed, Err(Error::Program(_))));
    assert_eq!(total(&store), 60);
    let is_dropped = AtomicBool::new(false);
    let done = store.rebuild_view_parallel(&view(), 3, |txn, context, event| {
        if event.position == Position(59) && !is_dropped.swap(true, Ordering::Relaxed) {
            store.drop_view(&view())?;
        }
        count(txn, context, event)
    });
    let done = done.unwrap();
    assert_eq!((done.events, done.position), (60, Position(60)), "what was dropped is not counted");
    assert_eq!(total(&store), 60);
    assert_eq!(store.snapshot().unwrap().consumers().unwrap(), [("counts".to_owned(), Position(60))]);
}

/// Each thread created the tables in its first batch, so all but one of them folded that batch again.
#[test]
fn threads_of_a_parallel_rebuild_that_change_different_keys_fold_no_batch_again() {
    let (_directory, store) = store();
    fill(&store, 44);
    let member = Partition::new(1, 2).unwrap();
    let (calls, has_begun) = (AtomicU64::new(0), [AtomicBool::new(false), AtomicBool::new(false)]);
    let done = store.rebuild_view_parallel(&view(), 2, |txn, context, event| {
        calls.fetch_add(1, Ordering::SeqCst);
        // Both threads have begun a transaction.
        let share = usize::from(member.contains(event.stream));
        has_begun[share].store(true, Ordering::SeqCst);
        assert!(comes_true(|| has_begun[1 - share].load(Ordering::SeqCst)));
        count(txn, context, event)
    });
    assert_eq!((done.unwrap().events, calls.into_inner(), total(&store)), (44, 44, 44));
}

/// The rebuild failed after a batch of one thread had conflicted 64 times.
#[test]
fn a_thread_of_a_parallel_rebuild_continues_after_many_conflicts_with_others() {
    let (_directory, store) = store();
    for number in 0..11 {
        store.append(format!("s{number}"), Expected::Any, &[event("x"); 30]).unwrap();
    }
    let winner = Partition::new(1, 2).unwrap();
    let (attempts, calls, conflicts) = (AtomicU64::new(0), AtomicU64::new(0), u64::from(UPDATE_ATTEMPTS));
    // Both threads change one key. Between the read and the commit of each of the first attempts of one thread, the
    // other thread commits.
    let done = store.rebuild_view_parallel(&view().batch_events(1), 2, |txn, context, event| {
        let table = context.table(0);
        let before = txn.get(table, "all")?.map_or(0, |value| u64::from_be_bytes(value[..].try_into().unwrap()));
        if winner.contains(event.stream) {
            let call = calls.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(comes_true(|| attempts.load(Ordering::SeqCst) >= conflicts.min(call.div_ceil(2))));
        } else {
            let attempt = attempts.fetch_add(1, Ordering::SeqCst) + 1;
            assert!(comes_true(|| attempt > conflicts || calls.load(Ordering::SeqCst) >= 2 * attempt));
        }
        Ok(txn.put(table, "all", (before + 1).to_be_bytes())?)
    });
    assert_eq!((done.unwrap().events, total(&store)), (330, 330));
}

/// The other threads went on to their ends.
#[test]
fn a_parallel_rebuild_ends_when_its_function_panics() {
    let (_directory, store) = store();
    fill(&store, 44);
    let (view, member) = (view().batch_events(1), Partition::new(1, 2).unwrap());
    let (panic, calls) = (Panic::new(), AtomicU64::new(0));
    let rebuild = || {
        store.rebuild_view_parallel(&view, 2, |txn, context, event| {
            if member.contains(event.stream) {
                panic.panic();
            }
            panic.await_end();
            calls.fetch_add(1, Ordering::SeqCst);
            count(txn, context, event)
        })
    };
    assert!(catch_unwind(AssertUnwindSafe(rebuild)).is_err());
    // The other thread had perhaps not begun.
    assert!(calls.into_inner() <= 1);
}
