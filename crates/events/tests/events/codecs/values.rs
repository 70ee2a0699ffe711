//! What each codec encodes and decodes, and values of views that are changed in place.

use fulgurite::TableOptions;
use fulgurite_events::{Bytes, Codec, Error, EventData, Expected, FlatTable, Version, View};

use crate::support::{event, store};

/// Appends what a codec has encoded, and passes the payload that is read to `check`.
fn through_a_store(payload: &[u8], check: impl FnOnce(&[u8])) {
    let (_directory, store) = store();
    store.append("a", Expected::Any, &[EventData::new("odd", b"123"), EventData::new("x", payload)]).unwrap();
    let snapshot = store.snapshot().unwrap();
    let mut events = snapshot.read_stream("a", Version(1)).unwrap();
    check(events.next().unwrap().unwrap().payload);
}

#[test]
fn bytes_are_read_as_they_are() {
    through_a_store(b"x\0y", |payload| assert_eq!(Bytes.decode(payload).unwrap(), b"x\0y"));
}

/// `table Total { events: ulong; }` with 0, as a builder that writes defaults encodes it.
const NO_EVENTS: [u8; 24] = [12, 0, 0, 0, 6, 0, 12, 0, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

fn add_one(total: &mut FlatTable<'_>) -> fulgurite_events::Result<()> {
    let events = total.field::<8>(0)?;
    *events = (u64::from_le_bytes(*events) + 1).to_le_bytes();
    Ok(())
}

#[test]
fn a_view_changes_a_flatbuffer_in_place_and_a_change_that_fails_is_not_stored() {
    let (_directory, store) = store();
    store.append("a", Expected::Any, &vec![event("x"); 300]).unwrap();
    let view = View::new("v").table("totals", TableOptions::new().value_align(8)).batch_events(100);
    let progress = store.run_view(&view, |txn, context, _| {
        txn.insert(context.table(0), "all", NO_EVENTS)?;
        assert!(FlatTable::update(txn, context.table(0), "all", add_one)?);
        Ok(())
    });
    assert_eq!(progress.unwrap().events, 300);
    let mut expected = NO_EVENTS;
    expected[16..].copy_from_slice(&300_u64.to_le_bytes());
    let mut txn = store.database().write().unwrap();
    let totals = txn.open_table("totals").unwrap();
    assert_eq!(txn.get(&totals, "all").unwrap().as_deref(), Some(&expected[..]));
    let failed = FlatTable::update(&mut txn, &totals, "all", |total| {
        add_one(total)?;
        Err(Error::program("no"))
    });
    assert!(matches!(failed, Err(Error::Program(_))));
    assert_eq!(txn.get(&totals, "all").unwrap().as_deref(), Some(&expected[..]));
    // Also of a value that the transaction has changed before.
    assert!(FlatTable::update(&mut txn, &totals, "all", add_one).unwrap());
    expected[16..].copy_from_slice(&301_u64.to_le_bytes());
    let failed = FlatTable::update(&mut txn, &totals, "all", |total| {
        add_one(total)?;
        total.field::<8>(1)?;
        Ok(())
    });
    assert!(matches!(failed, Err(Error::Codec { .. })));
    assert_eq!(txn.get(&totals, "all").unwrap().as_deref(), Some(&expected[..]));
    assert!(!FlatTable::update(&mut txn, &totals, "none", add_one).unwrap());
    txn.put(&totals, "short", [12, 0, 0]).unwrap();
    let malformed = FlatTable::update(&mut txn, &totals, "short", add_one);
    assert!(matches!(malformed, Err(Error::Codec { .. })), "{malformed:?}");
}

#[test]
#[cfg(feature = "json")]
fn json_is_read_and_malformed_json_is_an_error() {
    let codec = fulgurite_events::Json::<Vec<String>>::new();
    let mut payload = Vec::new();
    codec.encode(&vec!["a".to_owned()], &mut payload).unwrap();
    through_a_store(&payload, |payload| assert_eq!(codec.decode(payload).unwrap(), ["a"]));
    assert!(matches!(codec.decode(b"[1"), Err(fulgurite_events::Error::Codec { .. })));
}

/// Messages as prost generates them from a schema.
#[cfg(feature = "prost")]
mod messages {
    use fulgurite_events::{Codec, Error, EventData, Expected, Position, Protobuf, View};
    use prost::Message;

    use crate::support::{all, store};

    #[derive(Clone, PartialEq, Message)]
    struct Placed {
        #[prost(string, tag = "1")]
        customer: String,
        #[prost(message, repeated, tag = "2")]
        lines: Vec<Line>,
    }

    #[derive(Clone, PartialEq, Message)]
    struct Line {
        #[prost(uint64, tag = "1")]
        item: u64,
        #[prost(uint32, tag = "2")]
        count: u32,
    }

    fn placed(customer: &str, counts: &[u32]) -> Placed {
        let lines = (7..).zip(counts).map(|(item, &count)| Line { item, count }).collect();
        Placed { customer: customer.into(), lines }
    }

    #[test]
    fn messages_are_appended_read_and_folded_and_malformed_ones_are_an_error() {
        let (_directory, store) = store();
        let (codec, line) = (Protobuf::<Placed>::new(), Protobuf::<Line>::new());
        let orders = [placed("ann", &[3, 5]), placed("bob", &[]), placed("ann", &[1])];
        for order in &orders {
            let payload = codec.payload(order).unwrap();
            store.append(&order.customer, Expected::Any, &[EventData::new("placed", &payload)]).unwrap();
        }
        let recorded = all(&store.snapshot().unwrap());
        let found: Vec<_> = recorded.iter().map(|event| event.decode(&codec).unwrap()).collect();
        assert_eq!(found, orders);
        // The values of the view are messages too.
        let view = View::new("v").table("counts", Default::default());
        let folded = store.run_view(&view, |txn, context, event| {
            let Placed { customer, lines } = event.decode(&codec)?;
            let before = txn.get(context.table(0), &customer)?.map(|value| line.decode(&value)).transpose()?;
            let Line { item, count } = before.unwrap_or_default();
            let added: u32 = lines.iter().map(|line| line.count).sum();
            Ok(txn.put(context.table(0), customer, line.payload(&Line { item: item + 1, count: count + added })?)?)
        });
        assert_eq!(folded.unwrap().position, Position(3));
        let txn = store.database().read().unwrap();
        let counts = txn.open_table("counts").unwrap();
        let ann = txn.get(&counts, "ann").unwrap().unwrap();
        assert_eq!(line.decode(&ann).unwrap(), Line { item: 2, count: 9 });
        assert!(matches!(codec.decode(&[0xff]), Err(Error::Codec { .. })));
    }
}

/// Tables that are verified and read in place.
#[cfg(feature = "flatbuffers")]
mod flat {
    use fulgurite::TableOptions;
    use fulgurite_events::{Codec, Error, EventData, Expected, FlatBuffer, FlatTable, Version, View};

    use super::super::order::{APPLES_FIELD, Orders, order};
    use crate::support::store;

    #[test]
    fn tables_are_read_in_place_and_folded_and_malformed_ones_are_an_error() {
        let (_directory, store) = store();
        let codec = FlatBuffer::<Orders>::new();
        for (apples, items) in [(3, &[7, 8][..]), (5, &[][..])] {
            let payload = codec.payload(&order(Some("ann"), apples, items)).unwrap();
            let events = [EventData::new("odd", b"123"), EventData::new("placed", &payload)];
            store.append("a", Expected::Any, &events).unwrap();
        }
        let snapshot = store.snapshot().unwrap();
        let mut events = snapshot.read_stream("a", Version(1)).unwrap();
        let event = events.next().unwrap().unwrap();
        let found = event.decode(&codec).unwrap();
        assert_eq!((found.customer(), found.apples(), found.items()), ("ann", 3, vec![7, 8]));
        assert!(event.payload.as_ptr_range().contains(&found.customer().as_ptr()), "it was copied");
        let view = View::new("v").table("totals", TableOptions::new().value_align(8));
        let folded = store.run_view(&view, |txn, context, event| {
            if event.version.0 % 2 == 0 {
                return Ok(());
            }
            let placed = event.decode(&codec)?;
            txn.insert(context.table(0), placed.customer(), order(Some(placed.customer()), 0, &[]))?;
            FlatTable::update(txn, context.table(0), placed.customer(), |total| {
                let apples = total.field::<8>(APPLES_FIELD)?;
                *apples = (u64::from_le_bytes(*apples) + placed.apples()).to_le_bytes();
                Ok(())
            })?;
            Ok(())
        });
        assert_eq!(folded.unwrap().events, 4);
        let txn = store.database().read().unwrap();
        let totals = txn.open_table("totals").unwrap();
        let total = txn.get(&totals, "ann").unwrap().unwrap();
        assert_eq!(codec.decode(&total).unwrap().apples(), 8);
    }

    #[test]
    fn a_table_that_is_cut_or_lacks_a_required_field_is_an_error() {
        let codec = FlatBuffer::<Orders>::new();
        let whole = order(Some("ann"), 3, &[7]);
        for malformed in [&whole[..whole.len() / 2], &order(None, 3, &[7]), b""] {
            assert!(matches!(codec.decode(malformed), Err(Error::Codec { .. })), "{malformed:?}");
        }
    }
}
