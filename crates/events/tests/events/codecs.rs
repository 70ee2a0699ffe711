//! Payloads by codecs, through a store.

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

#[test]
#[cfg(feature = "prost")]
fn messages_are_read_and_malformed_ones_are_an_error() {
    let codec = fulgurite_events::Protobuf::<String>::new();
    let mut payload = Vec::new();
    codec.encode(&"3 apples".to_owned(), &mut payload).unwrap();
    through_a_store(&payload, |payload| assert_eq!(codec.decode(payload).unwrap(), "3 apples"));
    assert!(matches!(codec.decode(&[0xff]), Err(fulgurite_events::Error::Codec { .. })));
}

/// A buffer whose root is a string, which is verified and read as a generated table is.
#[cfg(feature = "flatbuffers")]
mod flat {
    use flatbuffers::FlatBufferBuilder;
    use fulgurite_events::{Codec, Error, FlatBuffer, FlatRoot};

    struct Texts;

    impl FlatRoot for Texts {
        type Table<'p> = &'p str;
    }

    #[test]
    fn buffers_are_read_in_place_and_malformed_ones_are_an_error() {
        let mut builder = FlatBufferBuilder::new();
        let text = builder.create_string("3 apples");
        builder.finish_minimal(text);
        let codec = FlatBuffer::<Texts>::new();
        let mut payload = Vec::new();
        codec.encode(builder.finished_data(), &mut payload).unwrap();
        super::through_a_store(&payload, |payload| {
            let text = codec.decode(payload).unwrap();
            assert_eq!(text, "3 apples");
            assert!(payload.as_ptr_range().contains(&text.as_ptr()), "it was copied");
        });
        assert!(matches!(codec.decode(&payload[..payload.len() / 2]), Err(Error::Codec { .. })));
    }
}
