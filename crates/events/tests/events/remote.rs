//! Followers over a socket: as in another process.

use std::thread;
use std::time::Duration;

use fulgurite_events::{Error, EventData, Expected, Position, RemoteFollower, Signal};

use crate::support::{event, store};

#[test]
fn a_remote_follower_sees_every_event_once_and_in_order_and_its_signals() {
    let (directory, store) = store();
    let socket = directory.path().join("a.sock");
    for number in 0..500 {
        store.append(format!("s{}", number % 7), Expected::Any, &[event("early").id([number as u8; 16])]).unwrap();
    }
    let server = store.serve(&socket).unwrap();
    assert!(matches!(store.serve(&socket), Err(Error::Socket { .. })));
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
