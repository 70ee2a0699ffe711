//! Payloads by codecs, through a store.

use fulgurite_events::{Bytes, Codec, EventData, Expected, Version};

use crate::support::store;

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
