//! The laws that the documentation of `Key` states, over values drawn at random.
//!
//! Types are drawn at random too and walked at run time ([`Type`], [`Datum`]); the static types are tried one by one,
//! and must give the same bytes.

#![allow(clippy::unwrap_used)] // Helpers of tests stand outside of test functions.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Debug;

use fulgurite_keys::{AsKey, AsValue, Datum, Key, KeyBuffer, KeyPrefix, Type, ValueCodec, prefix_end};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

/// Strings that are near one another and full of the bytes that escapes are made of.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    vec(prop_oneof![Just(0), Just(0), Just(1), Just(b'a'), Just(0xFE), Just(0xFF), any::<u8>()], 0..6)
}

fn text() -> impl Strategy<Value = String> {
    vec(prop_oneof![Just('\0'), Just('\0'), Just('\u{1}'), Just('a'), Just('\u{7FF}'), any::<char>()], 0..6)
        .prop_map(String::from_iter)
}

/// Every pair of distinct values a type can have must be told apart, so the order is that of all bit patterns.
fn float() -> impl Strategy<Value = f64> {
    let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -f64::NAN, f64::MIN_POSITIVE];
    prop_oneof![any::<u64>().prop_map(f64::from_bits), prop::sample::select(special.to_vec())]
}

fn inner<K>(key: &impl AsKey<K>) -> Vec<u8> {
    let mut out = KeyBuffer::new();
    key.encode_inner(&mut out);
    out.into_vec()
}

/// `order` is that of `a` and `b`; their encodings must have it, and must come back.
fn obeys<K: Key + ValueCodec + Debug>(a: &K, b: &K, order: Ordering) -> Result<(), TestCaseError> {
    prop_assert_eq!(a.encode().cmp(&b.encode()), order);
    let (inner_a, inner_b) = (inner(a), inner(b));
    prop_assert_eq!(inner_a.cmp(&inner_b), order);
    prop_assert!(order == Ordering::Equal || !inner_a.starts_with(&inner_b) && !inner_b.starts_with(&inner_a));
    if let Some(width) = K::FIXED_WIDTH {
        prop_assert_eq!(a.encode().len(), width);
        prop_assert_eq!(&*a.encode(), &inner_a);
    }
    // Floats need not equal themselves, so what comes back is compared by its bytes.
    prop_assert_eq!(K::decode(&a.encode()).unwrap().encode(), a.encode());
    prop_assert_eq!(K::decode_value(&a.encode_value()).unwrap().encode(), a.encode());

    let kind = K::key_type();
    prop_assert_eq!(&kind, &K::value_type());
    prop_assert_eq!(kind.fixed_width(), K::FIXED_WIDTH);
    prop_assert_eq!(&K::type_name().parse::<Type>().unwrap(), &kind);
    let datum = kind.decode_key(&a.encode()).unwrap();
    prop_assert_eq!(kind.encode_key(&datum).unwrap(), &*a.encode());
    prop_assert_eq!(kind.encode_value(&datum).unwrap(), a.encode_value());
    prop_assert_eq!(kind.parse_key(&kind.format_key(&a.encode()).unwrap()).unwrap(), &*a.encode());
    Ok(())
}

macro_rules! laws {
    ($($name:ident: $type:ty = $strategy:expr, $compare:expr;)*) => {
        proptest! {$(
            #[test]
            fn $name(a in $strategy, b in $strategy) {
                let compare: fn(&$type, &$type) -> Ordering = $compare;
                obeys::<$type>(&a, &b, compare(&a, &b))?;
                obeys::<$type>(&a, &a, Ordering::Equal)?;
            }
        )*}
    };
}

laws! {
    u8_sorts: u8 = any::<u8>(), Ord::cmp;
    u16_sorts: u16 = any::<u16>(), Ord::cmp;
    u32_sorts: u32 = any::<u32>(), Ord::cmp;
    u64_sorts: u64 = any::<u64>(), Ord::cmp;
    u128_sorts: u128 = any::<u128>(), Ord::cmp;
    i8_sorts: i8 = any::<i8>(), Ord::cmp;
    i16_sorts: i16 = any::<i16>(), Ord::cmp;
    i32_sorts: i32 = any::<i32>(), Ord::cmp;
    i64_sorts: i64 = any::<i64>(), Ord::cmp;
    i128_sorts: i128 = any::<i128>(), Ord::cmp;
    bool_sorts: bool = any::<bool>(), Ord::cmp;
    char_sorts: char = any::<char>(), Ord::cmp;
    f64_sorts: f64 = float(), f64::total_cmp;
    f32_sorts: f32 = any::<u32>().prop_map(f32::from_bits), f32::total_cmp;
    string_sorts: String = text(), Ord::cmp;
    bytes_sort: Vec<u8> = bytes(), Ord::cmp;
    array_sorts: [u8; 5] = any::<[u8; 5]>(), Ord::cmp;
    option_of_string_sorts: Option<String> = prop::option::of(text()), Ord::cmp;
    option_of_option_sorts: Option<Option<i8>> = any::<Option<Option<i8>>>(), Ord::cmp;
    string_then_string_sorts: (String, String) = (text(), text()), Ord::cmp;
    bytes_then_option_then_bytes_sort: (Vec<u8>, Option<Vec<u8>>, Vec<u8>)
        = (bytes(), prop::option::of(bytes()), bytes()), Ord::cmp;
    nested_tuples_sort: ((u8, String), (Vec<u8>, Option<(String,)>), i16)
        = ((0..3_u8, text()), (bytes(), prop::option::of(text().prop_map(|text| (text,)))), any::<i16>()), Ord::cmp;
    fixed_tuple_sorts: (u8, i16, [u8; 3], bool, char, i64, u128, u32)
        = (0..2_u8, -1..1_i16, any::<[u8; 3]>(), any::<bool>(), any::<char>(), any::<i64>(), any::<u128>(), any::<u32>()),
        Ord::cmp;
}

/// A type, and two values of it. Values are few and similar, so that ties reach deep into tuples.
fn typed_pair() -> impl Strategy<Value = (Type, Datum, Datum)> {
    kinds().prop_flat_map(|kind| (Just(kind.clone()), datums(&kind), datums(&kind)))
}

fn kinds() -> impl Strategy<Value = Type> {
    let leaves = prop::sample::select(vec![
        Type::Bool,
        Type::Char,
        Type::U8,
        Type::U64,
        Type::I16,
        Type::I128,
        Type::F32,
        Type::F64,
        Type::String,
        Type::String,
        Type::Bytes,
        Type::Bytes,
        Type::ByteArray(0),
        Type::ByteArray(3),
    ]);
    leaves.prop_recursive(3, 16, 4, |inside| {
        prop_oneof![
            inside.clone().prop_map(|kind| Type::Option(Box::new(kind))),
            vec(inside, 1..=4).prop_map(Type::Tuple),
        ]
    })
}

fn datums(kind: &Type) -> BoxedStrategy<Datum> {
    let narrow = |bits: u32| move |number: i128| Datum::Signed(number << (128 - bits) >> (128 - bits));
    match kind {
        Type::Bool => any::<bool>().prop_map(Datum::Bool).boxed(),
        Type::Char => any::<char>().prop_map(Datum::Char).boxed(),
        Type::U8 => any::<u8>().prop_map(|number| Datum::Unsigned(number.into())).boxed(),
        Type::U64 => any::<u64>().prop_map(|number| Datum::Unsigned(number.into())).boxed(),
        Type::I16 => any::<i128>().prop_map(narrow(16)).boxed(),
        Type::I128 => any::<i128>().prop_map(Datum::Signed).boxed(),
        Type::F32 => any::<u32>().prop_map(|bits| Datum::F32(f32::from_bits(bits))).boxed(),
        Type::F64 => float().prop_map(Datum::F64).boxed(),
        Type::String => text().prop_map(Datum::String).boxed(),
        Type::Bytes => bytes().prop_map(Datum::Bytes).boxed(),
        Type::ByteArray(length) => vec(any::<u8>(), *length).prop_map(Datum::Bytes).boxed(),
        Type::Option(inside) => {
            prop::option::of(datums(inside)).prop_map(|value| Datum::Option(value.map(Box::new))).boxed()
        }
        Type::Tuple(kinds) => kinds.iter().map(datums).collect::<Vec<_>>().prop_map(Datum::Tuple).boxed(),
        other => unreachable!("{other} is not among the leaves"),
    }
}

fn compare(a: &Datum, b: &Datum) -> Ordering {
    match (a, b) {
        (Datum::Bool(a), Datum::Bool(b)) => a.cmp(b),
        (Datum::Char(a), Datum::Char(b)) => a.cmp(b),
        (Datum::Unsigned(a), Datum::Unsigned(b)) => a.cmp(b),
        (Datum::Signed(a), Datum::Signed(b)) => a.cmp(b),
        (Datum::F32(a), Datum::F32(b)) => a.total_cmp(b),
        (Datum::F64(a), Datum::F64(b)) => a.total_cmp(b),
        (Datum::String(a), Datum::String(b)) => a.cmp(b),
        (Datum::Bytes(a), Datum::Bytes(b)) => a.cmp(b),
        (Datum::Option(Some(a)), Datum::Option(Some(b))) => compare(a, b),
        (Datum::Option(a), Datum::Option(b)) => a.is_some().cmp(&b.is_some()),
        (Datum::Tuple(a), Datum::Tuple(b)) => {
            a.iter().zip(b).map(|(a, b)| compare(a, b)).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        }
        _ => unreachable!("both are of one type"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn keys_of_any_type_sort_as_their_values_and_come_back((kind, a, b) in typed_pair()) {
        let (key_a, key_b) = (kind.encode_key(&a).unwrap(), kind.encode_key(&b).unwrap());
        prop_assert_eq!(key_a.cmp(&key_b), compare(&a, &b), "{} {} {}", kind, a, b);
        prop_assert_eq!(compare(&kind.decode_key(&key_a).unwrap(), &a), Ordering::Equal);
        prop_assert_eq!(kind.fixed_width().is_none_or(|width| width == key_a.len()), true);
    }

    #[test]
    fn values_of_any_type_come_back((kind, a, _) in typed_pair()) {
        let value = kind.encode_value(&a).unwrap();
        prop_assert_eq!(compare(&kind.decode_value(&value).unwrap(), &a), Ordering::Equal);
    }

    #[test]
    fn text_of_any_type_comes_back((kind, a, _) in typed_pair()) {
        prop_assert_eq!(&kind.to_string().parse::<Type>().unwrap(), &kind);
        let back = kind.parse_text(&a.to_string());
        prop_assert!(back.is_ok(), "{} `{}`: {:?}", kind, a, back);
        prop_assert_eq!(compare(&back.unwrap(), &a), Ordering::Equal);
    }

    #[test]
    fn hostile_bytes_are_refused_or_are_the_one_encoding(kind in kinds(), bytes in vec(hostile_byte(), 0..40)) {
        if let Ok(datum) = kind.decode_key(&bytes) {
            prop_assert_eq!(kind.encode_key(&datum).unwrap(), &bytes[..]);
            prop_assert!(kind.format_key(&bytes).is_ok());
        }
        if let Ok(datum) = kind.decode_value(&bytes) {
            prop_assert_eq!(kind.encode_value(&datum).unwrap(), &bytes[..]);
        }
    }

    #[test]
    fn damaged_encodings_are_refused_or_are_the_one_encoding(
        (kind, a, _) in typed_pair(), at in any::<prop::sample::Index>(), byte in hostile_byte(), cut in any::<bool>(),
    ) {
        for (encoded, is_key) in [(kind.encode_key(&a).unwrap(), true), (kind.encode_value(&a).unwrap(), false)] {
            let mut bytes = encoded;
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
                if cut {
                    bytes.truncate(at);
                }
            }
            if is_key {
                if let Ok(datum) = kind.decode_key(&bytes) {
                    prop_assert_eq!(kind.encode_key(&datum).unwrap(), bytes);
                }
            } else if let Ok(datum) = kind.decode_value(&bytes) {
                prop_assert_eq!(kind.encode_value(&datum).unwrap(), bytes);
            }
        }
    }

    #[test]
    fn hostile_text_is_refused_or_stands_for_a_key(kind in kinds(), text in "[(),\"\\\\a-f0-9u{}. someNan:-]{0,20}") {
        if let Ok(key) = kind.parse_key(&text) {
            prop_assert!(kind.decode_key(&key).is_ok());
        }
        drop(text.parse::<Type>());
    }

    #[test]
    fn the_beginning_of_a_tuple_covers_exactly_the_tuples_that_begin_so(
        wanted in (text(), 0..2_u8), key in (text(), 0..2_u8, text()),
    ) {
        let encoded = key.encode();
        let one = prefix::<(String, u8, String)>(&(wanted.0.as_str(),));
        prop_assert_eq!(encoded.starts_with(&one), key.0 == wanted.0);
        let two = prefix::<(String, u8, String)>(&(wanted.0.as_str(), wanted.1));
        prop_assert_eq!(encoded.starts_with(&two), (&key.0, key.1) == (&wanted.0, wanted.1));
    }

    #[test]
    fn the_end_of_a_prefix_parts_what_begins_so_from_what_is_above(prefix in bytes(), other in bytes()) {
        let inside = prefix_end(&prefix).is_none_or(|end| other < end) && other >= prefix;
        prop_assert_eq!(inside, other.starts_with(&prefix));
    }
}

fn hostile_byte() -> impl Strategy<Value = u8> {
    prop_oneof![Just(0), Just(1), Just(0xFF), any::<u8>()]
}

fn prefix<K>(of: &impl KeyPrefix<K>) -> Vec<u8> {
    let mut out = KeyBuffer::new();
    of.encode_prefix(&mut out);
    out.into_vec()
}

#[test]
fn borrowed_forms_encode_as_the_type_they_are_a_form_of() {
    fn key_of<K: Key>(key: impl AsKey<K>) -> KeyBuffer {
        key.encode()
    }
    type Owned = (String, Vec<u8>, Option<u64>);
    let owned: Owned = (String::from("a\0"), vec![0], Some(7));
    let expected = owned.encode();
    assert_eq!(key_of::<Owned>(("a\0", &[0_u8][..], Some(7))), expected);
    assert_eq!(key_of::<Owned>((&owned.0, &owned.1, &owned.2)), expected);
    assert_eq!(key_of::<Owned>((Cow::Borrowed("a\0"), Cow::Borrowed(&[0_u8][..]), Some(&7))), expected);
    assert_eq!(key_of::<String>("plain").as_slice(), b"plain");
    assert_eq!(key_of::<i64>(-1), (-1_i64).encode());
    assert_eq!(("a\0", &[0_u8][..], Some(7_u64)).encode_value(), owned.encode_value());
}

#[test]
fn a_length_beyond_the_end_of_a_value_allocates_nothing() {
    let bytes = [0xFF, 0xFF, 0xFF, 0xFF, 1, 2];
    assert!(<(String, u8)>::decode_value(&bytes).is_err());
    assert!(<(Vec<u8>, u8)>::decode_value(&bytes).is_err());
    let huge: Type = "(bytes[67108864],u8)".parse().unwrap();
    assert!(huge.decode_key(&bytes).is_err());
}
