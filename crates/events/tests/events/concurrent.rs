//! Eight writers and followers: every position is seen once, in order, without gaps, over checkpoints and reopening.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use fulgurite::{Database, Durability};
use fulgurite_events::{EventData, EventStore, Expected, Position, Signal, Version};

const WRITERS: u64 = 8;
const ROUNDS: u64 = 60;

/// Appends to a stream of its own and to one that all share.
fn write(store: &EventStore, writer: u64, opening: u64) {
    for round in 0..ROUNDS {
        let payload = [writer, opening * ROUNDS + round].map(u64::to_le_bytes).concat();
        let events = vec![EventData::new("x", &payload); 1 + (round % 3) as usize];
        let own = format!("own {writer}");
        match round % 4 {
            0 => drop(store.append("shared", Expected::Any, &events).unwrap()),
            1 => store
                .transact(|t| {
                    t.append("shared", Expected::Any, &events)?;
                    t.append(&own, Expected::Any, &events).map(drop)
                })
                .unwrap(),
            2 => drop(store.append("shared", Expected::Exact(Version(u64::MAX)), &events).unwrap_err()),
            _ => drop(store.append(&own, Expected::Any, &events).unwrap()),
        }
    }
}

/// Follows until all writers are done and everything was seen. Returns the next position.
fn follow(store: &EventStore, from: Position, is_done: &AtomicBool) -> Position {
    let mut follower = store.follow(from).unwrap().batch_events(13).behind_max(20);
    let mut next = from;
    loop {
        let was_done = is_done.load(Ordering::SeqCst);
        let delivered = follower
            .poll(Duration::from_millis(50), |_, event| {
                assert_eq!(event.position, next, "a follower saw another position");
                next.0 += 1;
                Ok(())
            })
            .unwrap();
        assert_eq!(delivered.missed, 0);
        if was_done && delivered.events == 0 && delivered.signal != Some(Signal::CaughtUp) {
            return next;
        }
    }
}

/// Snapshots at any moment: the log is dense up to their head.
fn look(store: &EventStore, is_done: &AtomicBool) {
    while !is_done.load(Ordering::SeqCst) {
        let snapshot = store.snapshot().unwrap();
        let (head, mut next) = (snapshot.head().unwrap(), Position(0));
        snapshot
            .scan(.., |event| {
                assert_eq!(event.position, next);
                next.0 += 1;
            })
            .unwrap();
        assert_eq!(next, head);
    }
}

fn run(durability: Durability) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.ful");
    let mut seen = Position(0);
    for opening in 0..3 {
        // A small delta, so that checkpoints run beside the writers.
        let db = Database::options().create(true).delta_bytes(64 << 10).open(&path).unwrap();
        let store = EventStore::options().durability(durability).open_in(&db).unwrap();
        let is_done = AtomicBool::new(false);
        let ends = thread::scope(|scope| {
            let (store, is_done) = (&store, &is_done);
            let followers: Vec<_> = (0..2).map(|_| scope.spawn(move || follow(store, seen, is_done))).collect();
            let looker = scope.spawn(move || look(store, is_done));
            let writers: Vec<_> =
                (0..WRITERS).map(|writer| scope.spawn(move || write(store, writer, opening))).collect();
            writers.into_iter().for_each(|writer| writer.join().unwrap());
            is_done.store(true, Ordering::SeqCst);
            looker.join().unwrap();
            followers.into_iter().map(|follower| follower.join().unwrap()).collect::<Vec<_>>()
        });
        seen = store.snapshot().unwrap().head().unwrap();
        assert_eq!(ends, [seen, seen]);
        check_streams(&store, opening);
        if opening == 1 {
            db.checkpoint().unwrap();
        }
    }
}

/// Every stream is dense, and has what its writers appended, in their order.
fn check_streams(store: &EventStore, opening: u64) {
    let snapshot = store.snapshot().unwrap();
    let mut in_streams = 0;
    for stream in snapshot.streams("").unwrap() {
        let stream = stream.unwrap();
        let mut events = snapshot.read_stream(&stream.name, Version(0)).unwrap();
        let (mut next, mut last) = (0, [None; WRITERS as usize]);
        while let Some(event) = events.next().unwrap() {
            assert_eq!(event.version, Version(next));
            next += 1;
            let number = |at: usize| u64::from_le_bytes(event.payload[at..at + 8].try_into().unwrap());
            let (writer, round) = (number(0) as usize, number(8));
            assert!(last[writer].is_none_or(|last| last <= round));
            last[writer] = Some(round);
        }
        assert_eq!(stream.next, Version(next));
        in_streams += next;
    }
    assert_eq!(Position(in_streams), snapshot.head().unwrap());
    // Of four rounds, one appends to both streams and one fails; rounds append 1, 2, 3, 1, … events.
    let by_round = |round: u64| (1 + round % 3) * [1, 2, 0, 1][(round % 4) as usize];
    let expected: u64 = (0..ROUNDS).map(by_round).sum::<u64>() * WRITERS * (opening + 1);
    assert_eq!(in_streams, expected);
}

#[test]
fn followers_see_every_position_once_and_in_order() {
    run(Durability::Log);
}

#[test]
fn followers_of_a_durable_store_see_every_position_once_and_in_order() {
    run(Durability::Disk);
}
