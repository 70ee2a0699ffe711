//! Encodings of values: golden bytes, and properties of random ones.

use fulgurite_facts::{FactId, Field, PredicateId, Type, Value, ValueFault, decode, encode};
use proptest::prelude::*;

fn string(text: &str) -> Value {
    Value::String(text.to_owned())
}

#[test]
fn values_have_the_bytes_of_glean() {
    let pair = Type::record([Field::new("a", Type::Byte), Field::new("b", Type::String)]);
    let sum = Type::sum([Field::new("a", Type::Nat), Field::new("b", Type::String)]);
    let golden: Vec<(Type, Value, &[u8])> = vec![
        (Type::Byte, Value::Byte(0xFF), &[0xFF]),
        (Type::Nat, Value::Nat(0x4080), &[0xC0, 0, 0]),
        (Type::Bool, Value::Bool(false), &[0]),
        (Type::Bool, Value::Bool(true), &[1]),
        (Type::String, string(""), &[0, 0]),
        (Type::String, string("ab"), b"ab\0\0"),
        (Type::String, string("a\0b"), b"a\0\x01b\0\0"),
        (Type::String, string("\0\0"), b"\0\x01\0\x01\0\0"),
        (Type::unit(), Value::unit(), &[]),
        (pair, Value::Record(vec![Value::Byte(7), string("x")]), b"\x07x\0\0"),
        (sum.clone(), Value::Alternative(0, Box::new(Value::Nat(5))), &[0, 5]),
        (sum, Value::Alternative(1, Box::new(string("x"))), b"\x01x\0\0"),
        (Type::enumeration(["a", "b", "c"]), Value::Enum(2), &[2]),
        (Type::maybe(Type::Nat), Value::Maybe(None), &[0]),
        (Type::maybe(Type::Nat), Value::Maybe(Some(Box::new(Value::Nat(9)))), &[1, 9]),
        (Type::array(Type::Nat), Value::Array(vec![Value::Nat(3), Value::Nat(0x80)]), &[2, 3, 0x80, 0]),
        (Type::array(Type::Byte), Value::Bytes(vec![1, 2, 3]), &[3, 1, 2, 3]),
        (Type::set(Type::Nat), Value::Set(vec![Value::Nat(3), Value::Nat(1), Value::Nat(3)]), &[2, 1, 3]),
        (Type::Predicate(PredicateId::FIRST), Value::Fact(FactId::FIRST), &[0x83, 0x80]),
    ];
    for (ty, value, bytes) in golden {
        assert_eq!(encode(&ty, &value).as_deref(), Ok(bytes), "{value:?}");
        if !matches!(value, Value::Set(_)) {
            assert_eq!(decode(&ty, bytes), Ok(value));
        }
    }
}

#[test]
fn wrong_bytes_are_errors_with_their_offset() {
    let pair = Type::record([Field::new("a", Type::Nat), Field::new("b", Type::String)]);
    let cases: Vec<(Type, &[u8], usize, ValueFault)> = vec![
        (pair.clone(), &[1], 1, ValueFault::Truncated),
        (pair.clone(), b"\x01ab\0", 4, ValueFault::Truncated),
        (pair.clone(), b"\x01a\0\x02\0\0", 3, ValueFault::StringEscape),
        (pair.clone(), b"\x01a\xFF\0\0", 2, ValueFault::StringNotUtf8),
        (pair, b"\x01a\0\0x", 4, ValueFault::TrailingBytes),
        (Type::Bool, &[2], 0, ValueFault::UnknownAlternative),
        (Type::enumeration(["a"]), &[1], 0, ValueFault::UnknownAlternative),
        (Type::maybe(Type::Nat), &[2, 0], 0, ValueFault::UnknownAlternative),
        (Type::set(Type::Nat), &[2, 3, 3], 2, ValueFault::SetOrder),
        (Type::set(Type::Nat), &[2, 3, 1], 2, ValueFault::SetOrder),
        (Type::Predicate(PredicateId::FIRST), &[0], 0, ValueFault::NoFact),
        // An array that claims more elements than there are bytes for.
        (Type::array(Type::Nat), &[0xFE, 0xFF, 0, 0, 0, 0, 0, 0], 0, ValueFault::Truncated),
        (Type::array(Type::unit()), &[0xFE, 0xFF, 0, 0, 0, 0, 0, 0], 0, ValueFault::TooManyEmptyElements),
    ];
    for (ty, bytes, offset, fault) in cases {
        let error = decode(&ty, bytes).expect_err("the bytes are wrong");
        assert_eq!((error.offset, error.fault), (offset, fault), "{ty:?} {bytes:?}");
    }
    assert_eq!(encode(&Type::Nat, &Value::Bool(true)).expect_err("another type").fault, ValueFault::WrongType);
}

/// Types with a value each.
fn typed() -> impl Strategy<Value = (Type, Value)> {
    let leaf = prop_oneof![
        any::<u8>().prop_map(|byte| (Type::Byte, Value::Byte(byte))),
        any::<u64>().prop_map(|nat| (Type::Nat, Value::Nat(nat))),
        "[a\0é]{0,4}".prop_map(|text| (Type::String, Value::String(text))),
        any::<bool>().prop_map(|bool| (Type::Bool, Value::Bool(bool))),
        (0..3_usize).prop_map(|index| (Type::enumeration(["a", "b", "c"]), Value::Enum(index))),
        (1..u64::MAX).prop_map(|id| {
            (Type::Predicate(PredicateId::FIRST), Value::Fact(FactId::new(id).expect("ids from 1 on")))
        }),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(|parts| {
                let fields: Vec<Field> = parts.iter().map(|(ty, _)| Field::new("f", ty.clone())).collect();
                (Type::record(fields), Value::Record(parts.into_iter().map(|(_, value)| value).collect()))
            }),
            (inner.clone(), inner.clone()).prop_map(|((ty, _), (other, value))| {
                (Type::sum([Field::new("a", ty), Field::new("b", other)]), Value::Alternative(1, Box::new(value)))
            }),
            inner.clone().prop_map(|(ty, value)| (Type::maybe(ty), Value::Maybe(Some(Box::new(value))))),
            (inner, 0..3_usize).prop_map(|((ty, value), count)| {
                let value = match value {
                    Value::Byte(byte) => Value::Bytes(vec![byte; count]),
                    value => Value::Array(vec![value; count]),
                };
                (Type::array(ty), value)
            }),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_encoded_decodes_to_the_same((ty, value) in typed()) {
        let bytes = encode(&ty, &value).expect("the value is of the type");
        prop_assert_eq!(decode(&ty, &bytes), Ok(value));
        for length in 0..bytes.len() {
            prop_assert!(decode(&ty, &bytes[..length]).is_err());
        }
    }

    #[test]
    fn what_decodes_encodes_to_the_same_bytes(
        (ty, _) in typed(),
        bytes in proptest::collection::vec(prop_oneof![0..4_u8, any::<u8>()], 0..24),
    ) {
        match decode(&ty, &bytes) {
            Ok(value) => prop_assert_eq!(encode(&ty, &value), Ok(bytes)),
            Err(error) => prop_assert!(error.offset <= bytes.len()),
        }
    }

    #[test]
    fn numbers_are_in_order(a in any::<u64>(), b in any::<u64>()) {
        let bytes = |nat| encode(&Type::Nat, &Value::Nat(nat)).expect("a number");
        prop_assert_eq!(bytes(a).cmp(&bytes(b)), a.cmp(&b));
    }
}
