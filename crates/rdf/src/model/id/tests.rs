//! Numbers and terms: round trips, orders, and forms that must not be inline.

use fulgurite::KeySuffix;
use oxrdf::vocab::xsd;
use oxrdf::{BlankNode, Literal, NamedNode, NamedNodeRef, Term};
use proptest::prelude::*;

use super::*;

fn typed(value: &str, datatype: NamedNodeRef<'_>) -> Term {
    Literal::new_typed_literal(value, datatype).into()
}

fn inline(value: &str, datatype: NamedNodeRef<'_>) -> Option<TermId> {
    TermId::of_inline(typed(value, datatype).as_ref())
}

/// Checks that a term comes back as it was, if it is inline, from the number and from its key.
fn comes_back(term: &Term) -> Option<TermId> {
    let id = TermId::of_inline(term.as_ref())?;
    assert_eq!(id.inline_term().as_ref(), Some(term));
    assert_eq!(TermId::from_bits(id.to_bits()), Some(id));
    assert_eq!(TermId::from_key(id.key().as_bytes()), Some(id));
    Some(id)
}

const NUMERIC: [NamedNodeRef<'static>; 6] =
    [xsd::INTEGER, xsd::BYTE, xsd::NEGATIVE_INTEGER, xsd::DECIMAL, xsd::DOUBLE, xsd::FLOAT];

#[test]
fn what_is_short_and_written_as_its_number_is_written_is_inline() {
    let forms = [
        (xsd::INTEGER, "0 1 -1 42 36028797018963967 -36028797018963968"),
        (xsd::BYTE, "-128 127"),
        (xsd::UNSIGNED_LONG, "0 255"),
        (xsd::NON_POSITIVE_INTEGER, "0 -9"),
        (xsd::DECIMAL, "0 0.0 5 5.0 1.5 1.50 -0.5 -7.000001 2251799813.685247"),
        (xsd::DOUBLE, "0.0E0 -0.0E0 1.5E0 1.5 100 100.0 1E2 1.0E2 -2.5E-3 INF -INF NaN 0"),
        (xsd::FLOAT, "0.1 1.0E-1 3.4028235E38 INF NaN -1.5"),
        (xsd::BOOLEAN, "true false"),
        (
            xsd::DATE_TIME,
            "2024-02-29T23:59:59Z 1969-12-31T00:00:00 2000-01-01T00:00:00.5+14:00 1413-01-01T00:00:00.001-13:59",
        ),
        (xsd::DATE, "2024-02-29 0001-01-01 9999-12-31Z 2023-06-01+05:30 2023-06-01+00:00"),
        (xsd::TIME, "00:00:00 23:59:59.999Z 00:00:00+14:00"),
        (xsd::G_YEAR, "0001 2024 9999"),
        (xsd::STRING, "a seven77 äöü"),
    ];
    for (datatype, values) in forms {
        for value in values.split(' ') {
            // Doubles whose low bits are not zero are in the dictionary.
            if datatype == xsd::DOUBLE && value == "-2.5E-3" {
                assert_eq!(inline(value, datatype), None);
                continue;
            }
            assert!(comes_back(&typed(value, datatype)).is_some(), "{value} of {datatype}");
        }
    }
    assert!(comes_back(&Literal::new_simple_literal("").into()).is_some());
    assert!(comes_back(&Literal::new_language_tagged_literal_unchecked("Haus", "de").into()).is_some());
    assert!(comes_back(&BlankNode::new_unchecked("f00000000000abc").into()).is_some());
}

#[test]
fn what_is_written_otherwise_or_lies_outside_its_type_is_not_inline() {
    let forms = [
        (xsd::INTEGER, "01 +1 -0 1.0 x 36028797018963968 99999999999999999999 -"),
        (xsd::BYTE, "128 -129"),
        (xsd::POSITIVE_INTEGER, "0 -1"),
        (xsd::DECIMAL, "+1 -0 -0.0 1. .5 01.5 1.0000000 2251799813.685248 1e3 --1 1.-5"),
        (xsd::DOUBLE, "1.50 +1.5 1.5e0 01 inf infinity nan +INF 0.1"),
        (xsd::BOOLEAN, "1 0 TRUE"),
        (
            xsd::DATE_TIME,
            "2023-02-29T00:00:00 2024-01-01T24:00:00 2024-01-01T00:00:00.50 2024-01-01T00:00:00-00:00 9999-01-01T00:00:00 2024-01-01T00:00:00.1234",
        ),
        (xsd::DATE, "2024-13-01 0000-01-01 -2024-01-01 12024-01-01 2024-01-01+14:01 2024-1-1"),
        (xsd::TIME, "24:00:00 00:60:00 00:00:00.0"),
        (xsd::G_YEAR, "0000 99 -0001 2024Z"),
        (xsd::STRING, "eightttt a\0b"),
        (xsd::ANY_URI, "a"),
    ];
    for (datatype, values) in forms {
        for value in values.split(' ') {
            assert_eq!(inline(value, datatype), None, "{value} of {datatype}");
        }
    }
    for term in [
        Term::from(Literal::new_language_tagged_literal_unchecked("a", "eng")),
        Literal::new_language_tagged_literal_unchecked("sixsix", "en").into(),
        Literal::new_directional_language_tagged_literal_unchecked("a", "en", oxrdf::BaseDirection::Ltr).into(),
        BlankNode::new_unchecked("b1").into(),
        BlankNode::new_unchecked("f0000000000ABC0").into(),
        NamedNode::new_unchecked("http://a").into(),
    ] {
        assert_eq!(TermId::of_inline(term.as_ref()), None, "{term}");
    }
}

#[test]
fn numbers_order_as_values_do_and_their_keys_too() {
    let rising = [
        (xsd::INTEGER, "-36028797018963968 -256 -255 -1 0 1 255 256 65536 36028797018963967"),
        (xsd::DECIMAL, "-7.5 -0.5 0 0.0 0.000001 0.5 0.50 1 1.25 100"),
        (xsd::DOUBLE, "-INF -1.0E300 -1.5 -0.0E0 0.0E0 1.5 1024 INF NaN"),
        (xsd::FLOAT, "-INF -1.5 0.0E0 0.1 3.4028235E38 INF NaN"),
        (xsd::DATE_TIME, "1413-01-01T00:00:00 2024-01-01T01:00:00+02:00 2024-01-01T00:00:00Z 2024-01-01T00:00:00.001Z"),
        (xsd::DATE, "0001-01-01 1969-12-31 2024-01-01+14:00 2024-01-01 2024-01-01-14:00"),
        (xsd::TIME, "00:00:00+14:00 00:00:00Z 12:00:00 23:59:59.999"),
        (xsd::STRING, " A a aa ab b"),
    ];
    for (datatype, values) in rising {
        let ids: Vec<TermId> = values.split(' ').filter_map(|value| inline(value, datatype)).collect();
        assert!(ids.len() >= values.split(' ').count() - 1, "{values}");
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
        assert!(ids.windows(2).all(|pair| pair[0].key().as_bytes() < pair[1].key().as_bytes()), "{ids:?}");
    }
}

#[test]
fn values_are_those_of_the_forms() {
    let value = |text: &str, datatype| inline(text, datatype).and_then(TermId::inline_value).expect("it is inline");
    assert_eq!(value("-5", xsd::SHORT), InlineValue::Integer(-5));
    assert_eq!(value("1.50", xsd::DECIMAL), InlineValue::Decimal("1.5".parse().expect("a decimal")));
    assert_eq!(value("1.5", xsd::DOUBLE), InlineValue::Double(1.5.into()));
    assert_eq!(value("0.1", xsd::FLOAT), InlineValue::Float(0.1_f32.into()));
    assert_eq!(value("true", xsd::BOOLEAN), InlineValue::Boolean(true));
    assert_eq!(value("1999", xsd::G_YEAR), InlineValue::Year(1999));
    let moment = "2024-02-29T12:00:00.25-03:30";
    assert_eq!(value(moment, xsd::DATE_TIME), InlineValue::DateTime(moment.parse().expect("a moment")));
    let InlineValue::String(text) = value("grün", xsd::STRING) else { panic!("a string") };
    assert_eq!(text.as_str(), "grün");
}

fn any_id() -> impl Strategy<Value = TermId> {
    (0..=Tag::LAST.0, any::<u64>(), 0..=56_u32).prop_map(|(tag, bits, shift)| {
        if tag == 0 { TermId::DEFAULT_GRAPH } else { TermId::new(Tag(tag), bits << 8 >> 8 >> shift.min(55)) }
    })
}

/// Such that many keys begin alike.
fn few_ids() -> impl Strategy<Value = TermId> {
    (0..4_u64, prop::sample::select(vec![0_u32, 1, 7, 8, 30, 55])).prop_map(|(number, shift)| {
        TermId::new(if number == 3 { Tag::INTEGER_FIRST } else { Tag::IRI }, number << shift & PAYLOAD_MAX)
    })
}

proptest! {
    #[test]
    fn keys_order_as_numbers_and_come_back(left in prop::array::uniform4(any_id()), right in prop::array::uniform4(any_id())) {
        let (left_key, right_key) = (IdKey::of(&left), IdKey::of(&right));
        prop_assert_eq!(left.cmp(&right), left_key.as_bytes().cmp(right_key.as_bytes()));
        let mut bytes = left_key.as_bytes();
        for id in left {
            prop_assert_eq!(TermId::take(&mut bytes), Some(id));
        }
        prop_assert!(bytes.is_empty());
    }

    #[test]
    fn bytes_that_no_key_has_are_refused_or_are_the_key_of_what_they_give(bytes in prop::collection::vec(any::<u8>(), 0..10)) {
        if let Some(id) = TermId::from_key(&bytes) {
            prop_assert!(id.key().as_bytes() == bytes);
        }
    }

    #[test]
    fn a_key_is_read_as_its_numbers_are_taken_one_by_one(
        ids in prop::collection::vec(any_id(), 1..5), change in any::<Option<(prop::sample::Index, u8)>>(), cut in 0..4_usize
    ) {
        let key = IdKey::of(&ids);
        let mut bytes = key.as_bytes().to_vec();
        if let Some((place, byte)) = change {
            let place = place.index(bytes.len());
            bytes[place] = byte;
            bytes.truncate(bytes.len() - cut.min(bytes.len()));
        }
        let taken = |count: usize| {
            let mut rest = &bytes[..];
            let ids: Option<Vec<TermId>> = (0..count).map(|_| TermId::take(&mut rest)).collect();
            ids.filter(|_| rest.is_empty())
        };
        let whole = KeySuffix::whole(&bytes);
        let three = KeyReader::<3>::new().read(&whole);
        prop_assert_eq!(three.map(|ids| ids[..3].to_vec()), taken(3));
        prop_assert!(three.is_none_or(|ids| ids[3] == TermId::DEFAULT_GRAPH));
        prop_assert_eq!(KeyReader::<4>::new().read(&whole).map(|ids| ids.to_vec()), taken(4));
    }

    #[test]
    fn keys_are_read_from_where_they_differ_on(
        mut quads in prop::collection::vec(prop::array::uniform4(few_ids()), 1..20), damaged in any::<Option<prop::sample::Index>>()
    ) {
        quads.sort_unstable();
        quads.dedup();
        let mut keys: Vec<Vec<u8>> = quads.iter().map(|ids| IdKey::of(ids).as_bytes().to_vec()).collect();
        let damaged = damaged.map(|index| index.index(keys.len()));
        if let Some(index) = damaged {
            let place = keys[index].len() / 2;
            keys[index][place] ^= 0x5B;
        }
        let (mut reader, mut before) = (KeyReader::<4>::new(), Vec::new());
        for (key, ids) in keys.iter().zip(&quads) {
            let shared = key.iter().zip(&before).take_while(|(own, other)| own == other).count();
            // A leaf says all that is shared; what it does not say is as good.
            for shared in [shared / 2, shared] {
                let mut page = key[shared..].to_vec();
                page.extend([0xFF; 16]);
                let read = reader.read(&KeySuffix::within(shared, &page, 0..key.len() - shared));
                prop_assert_eq!(read, KeyReader::<4>::new().read(&KeySuffix::whole(key)));
                prop_assert!(damaged.is_some() || read == Some(*ids));
            }
            if reader.read(&KeySuffix::whole(key)).is_none() {
                break;
            }
            before.clone_from(key);
        }
    }

    #[test]
    fn any_number_gives_a_term_or_none_but_never_panics(id in any_id()) {
        if let Some(term) = id.inline_term() {
            prop_assert_eq!(term.is_blank_node(), id.kind() == TermKind::BlankNode);
        }
        id.inline_value();
    }

    #[test]
    fn numbers_written_in_any_way_come_back_as_they_were(value in "[-+]?[0-9]{0,4}\\.?[0-9]{0,4}([eE][-+]?[0-9]{1,2})?") {
        for datatype in NUMERIC {
            comes_back(&typed(&value, datatype));
        }
    }

    #[test]
    fn moments_written_in_any_way_come_back_as_they_were(
        date in "[0-2][0-9]{3}-[01][0-9]-[0-3][0-9]", clock in "[0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{1,4})?",
        zone in "(Z|[-+][01][0-9]:[0-6][0-9])?"
    ) {
        comes_back(&typed(&format!("{date}T{clock}{zone}"), xsd::DATE_TIME));
        comes_back(&typed(&format!("{date}{zone}"), xsd::DATE));
        comes_back(&typed(&format!("{clock}{zone}"), xsd::TIME));
    }

    #[test]
    fn texts_come_back_as_they_were(value in "\\PC{0,8}", language in "[a-z]{1,3}") {
        comes_back(&Literal::new_simple_literal(value.as_str()).into());
        comes_back(&Literal::new_language_tagged_literal_unchecked(value, language).into());
    }

    #[test]
    fn doubles_and_integers_order_by_value(left in any::<i32>(), right in any::<i32>()) {
        for datatype in [xsd::INTEGER, xsd::DOUBLE, xsd::DECIMAL] {
            let (left_id, right_id) = (inline(&left.to_string(), datatype), inline(&right.to_string(), datatype));
            if let (Some(left_id), Some(right_id)) = (left_id, right_id) {
                prop_assert_eq!(left.cmp(&right), left_id.cmp(&right_id));
            }
        }
    }
}
