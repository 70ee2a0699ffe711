//! An event store: streams, a follower, and a view that is kept up to date and then computed again by another function.

use std::thread;
use std::time::Duration;

use fulgurite::WriteTxn;
use fulgurite_events::{Error, Event, EventData, EventStore, Expected, Position, Result, Version, View, ViewContext};

fn main() -> Result<()> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = EventStore::create(directory.path().join("shop.ful"))?;
    // If an append fails, the program ends without waiting for the thread.
    let followed = store.clone();
    let follower = thread::spawn(move || follow(&followed, 3));
    store.append("order-7", Expected::NoStream, &[EventData::new("placed", &[3])])?;
    store.append("order-8", Expected::NoStream, &[EventData::new("placed", &[5])])?;
    // Decided on version 0 of the order.
    store.append("order-7", Expected::Exact(Version(0)), &[EventData::new("paid", b"")])?;
    follower.join().expect("the follower does not panic")?;

    // Another program has not seen that the order is paid.
    let late = store.append("order-7", Expected::Exact(Version(0)), &[EventData::new("cancelled", b"")]);
    if let Err(Error::WrongVersion { actual: Some(version), .. }) = late {
        println!("order-7 has changed: its last event has version {version}");
    }

    // The changes of the table and the position of the view are one transaction: each event counts once.
    let view = View::new("totals").table("totals", Default::default());
    store.run_view(&view, count_apples)?;
    println!("{} apples", total(&store, "apples")?);

    // The function has changed: everything is folded again beside the old table, which can be read until the end.
    store.rebuild_view(&view, |txn, context, event| {
        count_apples(txn, context, event)?;
        if is_placed(context, event)? { add(txn, context, "orders", 1) } else { Ok(()) }
    })?;
    println!("{} apples of {} orders", total(&store, "apples")?, total(&store, "orders")?);
    Ok(())
}

/// Prints so many events. A real follower stores its position with what it has done, and continues there.
fn follow(store: &EventStore, events: u64) -> Result<()> {
    let mut follower = store.follow(Position::START)?;
    while follower.position().0 < events {
        follower.poll(Duration::from_secs(1), |snapshot, event| {
            let stream = snapshot.stream_name(event.stream)?;
            let kind = &snapshot.event_type(event.kind)?.name;
            println!("{}: {kind} in {}", event.position, String::from_utf8_lossy(&stream));
            Ok(())
        })?;
    }
    Ok(())
}

fn count_apples(txn: &mut WriteTxn, context: &ViewContext<'_>, event: &Event<'_>) -> Result<()> {
    if is_placed(context, event)? { add(txn, context, "apples", event.payload[0]) } else { Ok(()) }
}

fn is_placed(context: &ViewContext<'_>, event: &Event<'_>) -> Result<bool> {
    Ok(&*context.snapshot().event_type(event.kind)?.name == "placed")
}

fn add(txn: &mut WriteTxn, context: &ViewContext<'_>, key: &str, more: u8) -> Result<()> {
    let before = txn.get(context.table(0), key)?.map_or(0, |value| value[0]);
    Ok(txn.put(context.table(0), key, [before + more])?)
}

fn total(store: &EventStore, key: &str) -> Result<u8> {
    let txn = store.database().read()?;
    let table = txn.open_table("totals")?;
    Ok(txn.get(&table, key)?.map_or(0, |value| value[0]))
}
