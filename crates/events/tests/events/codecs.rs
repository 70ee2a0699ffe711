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

/// A table as the compiler of FlatBuffers generates it, with one field: `quantity: ulong`.
#[cfg(feature = "flatbuffers")]
mod flat {
    use flatbuffers::{FlatBufferBuilder, Follow, InvalidFlatbuffer, Table, VOffsetT, Verifiable, Verifier};
    use fulgurite_events::{Codec, FlatBuffer, FlatRoot};

    #[derive(Clone, Copy)]
    struct Item<'p>(Table<'p>);

    const QUANTITY: VOffsetT = 4;

    #[allow(unsafe_code)] // As in generated code.
    impl<'p> Follow<'p> for Item<'p> {
        type Inner = Self;

        unsafe fn follow(bytes: &'p [u8], at: usize) -> Self {
            // SAFETY: the caller says that there is a table at this place.
            Self(unsafe { Table::new(bytes, at) })
        }
    }

    impl Verifiable for Item<'_> {
        fn run_verifier(verifier: &mut Verifier<'_, '_>, at: usize) -> Result<(), InvalidFlatbuffer> {
            verifier.visit_table(at)?.visit_field::<u64>("quantity", QUANTITY, false)?.finish();
            Ok(())
        }
    }

    impl Item<'_> {
        #[allow(unsafe_code)] // As in generated code.
        fn quantity(&self) -> u64 {
            // SAFETY: the verifier has checked that this field is of this type.
            unsafe { self.0.get::<u64>(QUANTITY, Some(0)) }.unwrap_or_default()
        }
    }

    struct Items;

    impl FlatRoot for Items {
        type Table<'p> = Item<'p>;
    }

    #[test]
    fn tables_are_read_in_place_and_malformed_ones_are_an_error() {
        let mut builder = FlatBufferBuilder::new();
        let table = builder.start_table();
        builder.push_slot::<u64>(QUANTITY, 77, 0);
        let table = builder.end_table(table);
        builder.finish_minimal(table);
        let codec = FlatBuffer::<Items>::new();
        let mut payload = Vec::new();
        codec.encode(builder.finished_data(), &mut payload).unwrap();
        super::through_a_store(&payload, |payload| assert_eq!(codec.decode(payload).unwrap().quantity(), 77));
        assert!(codec.decode(&payload[..payload.len() / 2]).is_err());
    }
}
