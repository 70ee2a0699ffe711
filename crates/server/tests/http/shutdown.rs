//! Shutting down: what runs may end, but not for ever.

use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::client::{Begun, query};
use crate::fixture::{ENDLESS, ENDLESS_ROWS, Fixture};
use fulgurite_server::ServerOptions;

#[test]
fn an_answer_that_is_on_its_way_is_sent_to_its_end() {
    let mut fixture = Fixture::with_quads(ServerOptions::new().grace(Duration::from_secs(100)));
    let text = "SELECT ?a ?b { ?x <http://a/p> ?a . ?y <http://a/p> ?b } LIMIT 200000";
    let begun = query(text).accept("text/csv").begin(fixture.address);
    fixture.handle.shut_down();
    let answer = begun.finish();
    assert!(answer.is_whole, "{}", answer.body.len());
    assert_eq!(answer.body.lines().count(), 200_001);
    fixture.end();
    assert!(TcpStream::connect(fixture.address).is_err(), "nobody listens any more");
}

#[test]
fn queries_that_do_not_end_are_cancelled_when_their_time_is_over() {
    let options = ServerOptions::new().timeout(None).queries_max(2).wait(Duration::from_secs(1)).grace(Duration::ZERO);
    let mut fixture = Fixture::with_quads(options);
    let rows = query(ENDLESS_ROWS).begin(fixture.address);
    let count = query(ENDLESS).send(fixture.address);
    // Both places are taken: both run.
    std::iter::repeat_with(|| query("ASK {}").ask(fixture.address))
        .find(|answer| answer.status == 503)
        .expect("endless");
    fixture.end();
    assert!(!rows.finish().is_whole);
    let refused = Begun::of(count).finish();
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.body.contains("shuts down"), "{refused:?}");
    fixture.store.clone().close().expect("the store can be closed");
}

#[test]
fn a_connection_that_asks_nothing_does_not_hold_the_server_up() {
    let mut fixture = Fixture::with(ServerOptions::new().grace(Duration::from_secs(100)));
    let idle = TcpStream::connect(fixture.address).expect("it listens");
    query("ASK {}").ask(fixture.address).expect(200);
    let begun = Instant::now();
    fixture.end();
    // After 30 seconds without a request it is cut off in any case.
    assert!(begun.elapsed() < Duration::from_secs(25), "{:?}", begun.elapsed());
    drop(idle);
}
