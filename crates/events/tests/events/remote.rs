//! Followers over a socket: as in another process.

use std::io::{ErrorKind, Write};
use std::sync::{Barrier, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use fulgurite_events::{
    Error, EventData, EventQuery, Expected, Partition, Position, QueryItem, RemoteFollower, Retention, Server, Signal,
};

use crate::support::{all, event, store};

#[test]
fn a_remote_follower_sees_every_event_once_and_in_order_and_its_signals() {
    let (directory, store) = store();
    let socket = directory.path().join("a.sock");
    for number in 0..500 {
        store.append(format!("s{}", number % 7), Expected::Any, &[event("early").id([number as u8; 16])]).unwrap();
    }
    let server = store.serve(&socket).unwrap();
    let second = store.serve(&socket).unwrap_err();
    assert!(matches!(second, Error::Socket { .. }));
    assert!(second.to_string().ends_with("a process listens there already; choose another path"), "{second}");
    thread::scope(|scope| {
        let followers: Vec<_> = (0..3)
            .map(|from| {
                scope.spawn({
                    let socket = &socket;
                    move || follow(socket, from * 100, 1000)
                })
            })
            .collect();
        for number in 500..1000 {
            let payload = vec![7; number % 50 * 1000];
            let tags = ["t"];
            let late = EventData::new("late", &payload).metadata(b"m").tags(&tags);
            store.append(format!("s{}", number % 7), Expected::Any, &[late]).unwrap();
        }
        followers.into_iter().for_each(|follower| follower.join().unwrap());
    });
    drop(server);
    assert!(!socket.exists());
    assert!(matches!(RemoteFollower::connect(&socket, Position(0)), Err(Error::Socket { .. })));
}

fn follow(socket: &std::path::Path, from: u64, to: u64) {
    let mut follower = RemoteFollower::connect(socket, Position(from)).unwrap();
    let (mut next, mut has_caught_up) = (from, false);
    while next < to || !has_caught_up {
        let signal = follower
            .poll(Duration::from_millis(100), |remote| {
                let event = &remote.event;
                assert_eq!(event.position, Position(next));
                assert_eq!(remote.stream, format!("s{}", next % 7).as_bytes());
                assert_eq!(event.payload.as_ptr().addr() % 8, 0, "payloads are aligned, as in the log");
                if next < 500 {
                    assert_eq!(
                        (&*remote.kind.name, event.payload, event.id),
                        ("early", &b"early"[..], Some(&[next as u8; 16]))
                    );
                } else {
                    assert_eq!((&*remote.kind.name, event.payload.len()), ("late", next as usize % 50 * 1000));
                    assert_eq!((event.metadata, event.tags.collect::<Vec<_>>()), (&b"m"[..], vec![&b"t"[..]]));
                }
                next += 1;
                Ok(())
            })
            .unwrap();
        has_caught_up |= signal == Some(Signal::CaughtUp);
    }
    assert_eq!(follower.position(), Position(to));
}

/// The position was raised before the function was called: its event was lost to those who connected there again.
#[test]
fn an_event_that_a_function_refuses_is_delivered_again() {
    let (directory, store) = store();
    store.append("a", Expected::Any, &[event("0"), event("1"), event("2")]).unwrap();
    let socket = directory.path().join("a.sock");
    let _server = store.serve(&socket).unwrap();
    let mut follower = RemoteFollower::connect(&socket, Position(0)).unwrap();
    let refuse = |follower: &mut RemoteFollower| loop {
        let refused = follower.poll(Duration::from_secs(20), |remote| match remote.event.position {
            Position(1) => Err(Error::program("refused")),
            _ => Ok(()),
        });
        if let Err(error) = refused {
            break error;
        }
    };
    for _ in 0..2 {
        assert!(matches!(refuse(&mut follower), Error::Program(_)));
        assert_eq!(follower.position(), Position(1));
    }
    let again = RemoteFollower::connect(&socket, follower.position()).unwrap();
    for mut follower in [follower, again] {
        let mut seen = Vec::new();
        while follower.position() < Position(3) {
            follower
                .poll(Duration::from_secs(20), |remote| {
                    seen.push(remote.record());
                    Ok(())
                })
                .unwrap();
        }
        assert_eq!(seen, all(&store.snapshot().unwrap())[1..]);
    }
}

#[test]
fn a_server_that_finishes_sends_all_events_first_and_a_follower_can_begin_at_the_end() {
    let (directory, store) = store();
    store.append("a", Expected::Any, &[event("0"), event("1")]).unwrap();
    let socket = directory.path().join("a.sock");
    let server = store.serve(&socket).unwrap();
    let mut follower = RemoteFollower::connect_at_end(&socket).unwrap();
    while follower.poll(Duration::from_secs(20), |_| panic!("an old event")).unwrap() != Some(Signal::CaughtUp) {}
    assert_eq!((follower.position(), follower.missed()), (Position(2), 0));
    let payload = vec![1; 10_000];
    for _ in 0..300 {
        store.append("a", Expected::Any, &[EventData::new("x", &payload)]).unwrap();
    }
    let finishing = thread::spawn(move || server.finish(Duration::from_secs(20)));
    let ended = loop {
        if let Err(error) = follower.poll(Duration::from_secs(20), |_| Ok(())) {
            break error;
        }
    };
    assert!(matches!(ended, Error::Socket { .. }), "{ended}");
    assert_eq!(follower.position(), Position(302));
    finishing.join().unwrap();
}

/// The other process chose the end later: when it read what the follower had sent.
#[test]
fn a_follower_at_the_end_receives_what_is_appended_after_it_has_connected() {
    let (directory, store) = store();
    store.append("a", Expected::Any, &[event("0"), event("1")]).unwrap();
    let socket = directory.path().join("a.sock");
    let _server = store.serve(&socket).unwrap();
    let mut follower = RemoteFollower::connect_at_end(&socket).unwrap();
    assert_eq!(follower.position(), Position(2));
    store.append("a", Expected::Any, &[event("2")]).unwrap();
    let mut seen = Vec::new();
    while follower.position() < Position(3) {
        follower
            .poll(Duration::from_secs(20), |remote| {
                seen.push(remote.event.position.0);
                Ok(())
            })
            .unwrap();
    }
    assert_eq!(seen, [2]);
    let none = RemoteFollower::connect(&socket, Position(u64::MAX)).unwrap_err();
    assert!(matches!(none, Error::Invalid { .. }), "{none}");
}

#[test]
fn a_named_consumer_continues_behind_what_it_has_acknowledged() {
    let (directory, store) = store();
    store.append("a", Expected::Any, &[event("0"), event("1"), event("2")]).unwrap();
    let socket = directory.path().join("a.sock");
    let server = store.serve(&socket).unwrap();
    let stored = || store.snapshot().unwrap().consumer_position("c").unwrap();
    let connect = || RemoteFollower::connect_consumer(&socket, "c");
    let receive = |follower: &mut RemoteFollower| {
        while follower.position() < Position(3) {
            follower.poll(Duration::from_secs(20), |_| Ok(())).unwrap();
        }
    };
    let mut first = connect().unwrap();
    assert_eq!(first.position(), Position(0));
    receive(&mut first);
    first.acknowledge(Position(2)).unwrap();
    first.acknowledge(Position(1)).unwrap();
    assert!(matches!(first.acknowledge(Position(4)), Err(Error::Invalid { .. })), "no event was received there");
    drop(first);
    // The name is free when the position is stored.
    let mut second = connect().unwrap();
    assert_eq!((second.position(), stored()), (Position(2), Position(2)));
    receive(&mut second);
    let mut unnamed = RemoteFollower::connect(&socket, Position(0)).unwrap();
    assert!(matches!(unnamed.acknowledge(Position(0)), Err(Error::Invalid { .. })));
    drop(unnamed);
    // A server that finishes stores what is acknowledged after the last event.
    let finishing = thread::spawn(move || server.finish(Duration::from_secs(20)));
    while second.poll(Duration::from_secs(20), |_| Ok(())).is_ok() {}
    second.acknowledge(Position(3)).unwrap();
    drop(second);
    finishing.join().unwrap();
    assert_eq!(stored(), Position(3));
}

/// Such numbers ended the program where overflow is checked.
#[test]
fn numbers_that_no_server_sends_are_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("a.sock");
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let missed = [&[5_u8, 16, 0, 0, 0][..], &[0xff; 16]].concat();
    let names = [&[1_u8, 8, 0, 0, 0][..], &[0; 8], &[2, 8, 0, 0, 0], &[0xff; 8]].concat();
    let last = [&names[..], &[3, 72, 0, 0, 0], &[0xff; 32], &[0; 40]].concat();
    for frames in [missed.repeat(2), last] {
        let mut follower = RemoteFollower::connect(&socket, Position(0)).unwrap();
        let (mut connection, _) = listener.accept().unwrap();
        connection.write_all(&frames).unwrap();
        let refused = loop {
            if let Err(error) = follower.poll(Duration::from_secs(20), |_| Ok(())) {
                break error;
            }
        };
        let is_malformed = |source: &std::io::Error| source.kind() == ErrorKind::InvalidData;
        assert!(matches!(&refused, Error::Socket { source, .. } if is_malformed(source)), "{refused}");
    }
}

#[test]
fn a_remote_follower_receives_only_the_events_that_it_asks_for() {
    let (directory, store) = store();
    for number in 0..40 {
        let kind = if number % 2 == 0 { "even" } else { "odd" };
        let tags: &[&str] = if number % 4 == 0 { &["four"] } else { &[] };
        store.append(format!("s{}", number % 5), Expected::Any, &[event(kind).tags(tags)]).unwrap();
    }
    let socket = directory.path().join("a.sock");
    let _server = store.serve(&socket).unwrap();
    let query = EventQuery::tag("four").or(QueryItem::new().kind("odd").stream("s1"));
    let received = |partition: Partition| {
        let mut follower = RemoteFollower::connect_with(&socket, Position(0), partition, &query).unwrap();
        let (mut positions, mut signal) = (Vec::new(), None);
        while signal != Some(Signal::CaughtUp) {
            let poll = follower.poll(Duration::from_secs(20), |remote| {
                positions.push(remote.event.position.0);
                Ok(())
            });
            signal = poll.unwrap();
        }
        assert_eq!((follower.position(), follower.missed()), (Position(40), 0), "it has passed the others");
        positions
    };
    let wanted: Vec<u64> = (0..40).filter(|number| number % 4 == 0 || number % 10 == 1).collect();
    assert_eq!(received(Partition::ALL), wanted);
    let mut shares = [0, 1].map(|member| received(Partition::new(member, 2).unwrap())).concat();
    shares.sort_unstable();
    assert_eq!(shares, wanted);
}

#[test]
fn a_follower_of_a_server_that_ends_gets_an_error() {
    let (directory, store) = store();
    let socket = directory.path().join("a.sock");
    let server = store.serve(&socket).unwrap();
    let mut follower = RemoteFollower::connect(&socket, Position(0)).unwrap();
    while follower.poll(Duration::from_millis(100), |_| Ok(())).unwrap() != Some(Signal::CaughtUp) {}
    drop(server);
    let ended = loop {
        if let Err(error) = follower.poll(Duration::from_millis(100), |_| Ok(())) {
            break error;
        }
    };
    assert!(ended.to_string().contains("check that a process serves"), "{ended}");
    // A socket that a killed process left is replaced.
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    drop(store.serve(&socket).unwrap());
}

/// Waits until something holds. Fails after a time that only a fault exceeds.
fn await_that(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !holds() {
        assert!(Instant::now() < deadline, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_file_that_is_no_socket_is_not_replaced() {
    let (directory, store) = store();
    let file = directory.path().join("precious");
    std::fs::write(&file, "kept").unwrap();
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    for path in [&file, &link] {
        let refused = store.serve(path).unwrap_err();
        assert!(matches!(&refused, Error::Socket { source, .. } if source.kind() == ErrorKind::AlreadyExists));
        assert!(refused.to_string().ends_with("not a socket is there; choose another path"), "{refused}");
    }
    assert_eq!(std::fs::read_to_string(&link).unwrap(), "kept");
    // Not only that a process must serve there: the caller is that process.
    let below = store.serve(file.join("a.sock")).unwrap_err().to_string();
    assert!(below.ends_with("; check the path"), "{below}");
}

#[test]
fn a_socket_with_a_long_path_is_refused_with_a_remedy() {
    let (directory, store) = store();
    for length in [150, 300] {
        let socket = directory.path().join("s".repeat(length));
        let served = store.serve(&socket).unwrap_err().to_string();
        assert!(served.contains("; choose a path of at most 10"), "{served}");
        assert!(!directory.path().join("s".repeat(length) + ".lock").exists());
        let followed = RemoteFollower::connect(&socket, Position(0)).unwrap_err().to_string();
        assert!(followed.contains("; choose a path of at most 10"), "{followed}");
    }
}

#[test]
fn of_two_that_replace_an_abandoned_socket_at_once_one_serves() {
    let (directory, store) = store();
    let socket = directory.path().join("a.sock");
    for _ in 0..50 {
        drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
        let start = Barrier::new(4);
        let serve = || {
            start.wait();
            store.serve(&socket).ok()
        };
        let servers: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(serve)).collect();
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(servers.len(), 1);
    }
}

#[test]
fn a_server_whose_file_is_gone_or_replaced_ends_and_leaves_the_new_file() {
    let (directory, store) = store();
    let socket = directory.path().join("a.sock");
    let end = |server: Server| {
        let (sender, ended) = mpsc::channel();
        thread::spawn(move || {
            drop(server);
            sender.send(()).unwrap();
        });
        ended.recv_timeout(Duration::from_secs(20)).expect("the server ends");
    };
    let first = store.serve(&socket).unwrap();
    std::fs::remove_file(&socket).unwrap();
    let second = store.serve(&socket).unwrap();
    end(first);
    let mut follower = RemoteFollower::connect(&socket, Position(0)).unwrap();
    assert_eq!(follower.poll(Duration::from_secs(20), |_| Ok(())).unwrap(), Some(Signal::CaughtUp));
    std::fs::remove_file(&socket).unwrap();
    end(second);
}

#[test]
fn a_server_notices_on_a_quiet_store_that_a_follower_has_gone() {
    let (directory, store) = store();
    let socket = directory.path().join("a.sock");
    let server = store.serve(&socket).unwrap();
    let mut follower = RemoteFollower::connect(&socket, Position(0)).unwrap();
    assert_eq!(follower.poll(Duration::from_secs(20), |_| Ok(())).unwrap(), Some(Signal::CaughtUp));
    assert_eq!(server.followers(), 1);
    drop(follower);
    await_that("the server keeps a follower that has gone", || server.followers() == 0);
}

#[test]
fn a_server_limits_its_followers() {
    let (directory, store) = store();
    let socket = directory.path().join("a.sock");
    let server = store.serve(&socket).unwrap();
    let connect = || RemoteFollower::connect(&socket, Position(0)).unwrap();
    let followers: Vec<_> = (0..256).map(|_| connect()).collect();
    await_that("it accepts 256", || server.followers() == 256);
    let refused = match RemoteFollower::connect(&socket, Position(0)) {
        Ok(mut further) => further.poll(Duration::from_secs(20), |_| Ok(())).unwrap_err(),
        Err(refused) => refused,
    };
    assert!(matches!(refused, Error::Socket { .. }));
    drop(followers);
    await_that("they have gone", || server.followers() == 0);
    assert_eq!(connect().poll(Duration::from_secs(20), |_| Ok(())).unwrap(), Some(Signal::CaughtUp));
}

#[test]
fn a_remote_follower_learns_of_removed_events_and_of_a_position_that_the_store_has_not_come_to() {
    let (directory, store) = store();
    let payload = [1; 5000];
    for _ in 0..20 {
        store.append("a", Expected::Any, &[EventData::new("x", &payload)]).unwrap();
    }
    let retention = Retention { count_max: Some(5), ..Retention::default() };
    assert_eq!(store.apply_retention(&retention).unwrap().start, Position(15));
    let socket = directory.path().join("a.sock");
    let _server = store.serve(&socket).unwrap();
    let mut follower = RemoteFollower::connect(&socket, Position(4)).unwrap();
    let mut seen = Vec::new();
    while follower.position() < Position(20) {
        follower
            .poll(Duration::from_secs(1), |remote| {
                seen.push(remote.event.position.0);
                Ok(())
            })
            .unwrap();
    }
    assert_eq!((seen, follower.missed()), ((15..20).collect(), 11));
    RemoteFollower::connect(&socket, Position(20)).unwrap().poll(Duration::from_secs(20), |_| Ok(())).unwrap();
    let ahead = RemoteFollower::connect(&socket, Position(21)).unwrap().poll(Duration::from_secs(20), |_| Ok(()));
    let message = ahead.unwrap_err().to_string();
    assert!(message.contains("position 21") && message.contains("position 20"), "{message}");
}

#[test]
fn a_poll_returns_after_its_time_though_events_keep_coming() {
    let (directory, store) = store();
    let payload = [1; 1000];
    for _ in 0..20 {
        store.append("a", Expected::Any, &vec![EventData::new("x", &payload); 500]).unwrap();
    }
    let socket = directory.path().join("a.sock");
    let _server = store.serve(&socket).unwrap();
    let mut follower = RemoteFollower::connect(&socket, Position(0)).unwrap();
    let mut polls = 0;
    while follower.position() < Position(10_000) {
        let mut events = 0;
        follower
            .poll(Duration::from_millis(20), |_| {
                events += 1;
                thread::sleep(Duration::from_millis(if polls < 3 { 10 } else { 0 }));
                Ok(())
            })
            .unwrap();
        assert!(polls >= 3 || events <= 10, "{events} events in a poll of 20 ms with 10 ms each");
        polls += 1;
    }
}

#[test]
fn a_follower_that_reads_nothing_keeps_no_page_of_the_file_from_reuse() {
    let (directory, store) = store();
    let payload = vec![1; 100_000];
    for _ in 0..100 {
        store.append("a", Expected::Any, &[EventData::new("x", &payload)]).unwrap();
    }
    let db = store.database();
    db.checkpoint().unwrap();
    let socket = directory.path().join("a.sock");
    let _server = store.serve(&socket).unwrap();
    let _idle = RemoteFollower::connect(&socket, Position(0)).unwrap();
    let table = db.create_table("t", Default::default()).unwrap();
    // Long enough for the sockets to be full.
    thread::sleep(Duration::from_millis(500));
    await_that("a snapshot keeps pages", || {
        db.update(|txn| txn.put(&table, "k", &payload)).unwrap();
        db.checkpoint().unwrap();
        db.stats().unwrap().pinned_bytes == 0
    });
}
