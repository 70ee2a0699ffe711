//! Primitive operations.

use crate::angle::tree::Operator;
use crate::value::bytes::{Cursor, put_elements, put_string, unescape};
use crate::value::conversion::convert;
use crate::value::error::ValueError;
use crate::value::nat::{nat_at, put_nat};
use crate::value::types::Type;

/// A primitive operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// A string in lower case: see [`lower_case`].
    ToLower,
    /// How many elements an array has.
    Length,
    /// How many elements a set has.
    Size,
    /// Pairs of the elements of two arrays.
    Zip,
    /// Two arrays, one after the other.
    Concat,
    /// A string's characters from the end to the beginning.
    Reverse,
    /// Spans relative to the span before, to absolute ones.
    RelToAbsByteSpans,
    /// Groups of relative spans of one length each, to absolute ones.
    UnpackByteSpans,
    /// The sum of two numbers.
    AddNat,
    /// Numbers, compared.
    GreaterNat,
    /// Numbers, compared.
    GreaterOrEqualNat,
    /// Numbers, compared.
    LessNat,
    /// Numbers, compared.
    LessOrEqualNat,
    /// Numbers, compared.
    NotEqualNat,
    /// Values of any type, compared.
    NotEqual,
    /// A value of a newer type as one of the older type that it evolved from. The types are these two. It has no name:
    /// queries have it where they match facts of an older predicate.
    Convert,
}

/// The primitives by their names.
pub const PRIMITIVES: &[(&str, Primitive)] = &[
    ("prim.toLower", Primitive::ToLower),
    ("prim.length", Primitive::Length),
    ("prim.size", Primitive::Size),
    ("prim.zip", Primitive::Zip),
    ("prim.concat", Primitive::Concat),
    ("prim.reverse", Primitive::Reverse),
    ("prim.relToAbsByteSpans", Primitive::RelToAbsByteSpans),
    ("prim.unpackByteSpans", Primitive::UnpackByteSpans),
    ("prim.addNat", Primitive::AddNat),
    ("prim.gtNat", Primitive::GreaterNat),
    ("prim.geNat", Primitive::GreaterOrEqualNat),
    ("prim.ltNat", Primitive::LessNat),
    ("prim.leNat", Primitive::LessOrEqualNat),
    ("prim.neNat", Primitive::NotEqualNat),
    ("prim.neExpr", Primitive::NotEqual),
];

impl From<Operator> for Primitive {
    fn from(operator: Operator) -> Primitive {
        match operator {
            Operator::NotEqual => Primitive::NotEqual,
            Operator::NotEqualNat => Primitive::NotEqualNat,
            Operator::Greater => Primitive::GreaterNat,
            Operator::GreaterOrEqual => Primitive::GreaterOrEqualNat,
            Operator::Less => Primitive::LessNat,
            Operator::LessOrEqual => Primitive::LessOrEqualNat,
            Operator::Add => Primitive::AddNat,
        }
    }
}

impl Primitive {
    /// How many arguments it has.
    pub fn arity(self) -> usize {
        match self {
            Primitive::ToLower
            | Primitive::Length
            | Primitive::Size
            | Primitive::Reverse
            | Primitive::RelToAbsByteSpans
            | Primitive::UnpackByteSpans
            | Primitive::Convert => 1,
            _ => 2,
        }
    }

    /// Writes the result for encoded arguments, whose types are given. `false`: it has no result, as `2 < 1` has none.
    pub fn evaluate(self, types: &[Type], arguments: &[Vec<u8>], out: &mut Vec<u8>) -> Result<bool, ValueError> {
        let nats =
            || -> Result<(u64, u64), ValueError> { Ok((nat_at(&arguments[0], 0)?.0, nat_at(&arguments[1], 0)?.0)) };
        match self {
            Primitive::ToLower => {
                let string = string(&arguments[0])?;
                put_string(out, &lower_case(&string));
            }
            Primitive::Reverse => {
                let string = string(&arguments[0])?;
                put_string(out, &string.chars().rev().collect::<String>());
            }
            Primitive::Length | Primitive::Size => put_nat(out, nat_at(&arguments[0], 0)?.0),
            Primitive::Zip => zip(types, arguments, out)?,
            Primitive::Concat => {
                let (first, head) = nat_at(&arguments[0], 0)?;
                let (second, other_head) = nat_at(&arguments[1], 0)?;
                put_nat(out, first.saturating_add(second));
                out.extend_from_slice(&arguments[0][head..]);
                out.extend_from_slice(&arguments[1][other_head..]);
            }
            Primitive::Convert => convert(&mut Cursor::new(&arguments[0]), &types[0], &types[1], out)?,
            Primitive::RelToAbsByteSpans => rel_to_abs_byte_spans(&arguments[0], out)?,
            Primitive::UnpackByteSpans => unpack_byte_spans(&arguments[0], out)?,
            // Glean's sums wrap around too.
            Primitive::AddNat => nats().map(|(a, b)| put_nat(out, a.wrapping_add(b)))?,
            Primitive::GreaterNat => return nats().map(|(a, b)| a > b),
            Primitive::GreaterOrEqualNat => return nats().map(|(a, b)| a >= b),
            Primitive::LessNat => return nats().map(|(a, b)| a < b),
            Primitive::LessOrEqualNat => return nats().map(|(a, b)| a <= b),
            Primitive::NotEqualNat | Primitive::NotEqual => return Ok(arguments[0] != arguments[1]),
        }
        Ok(true)
    }
}

/// A string in lower case, as `prim.toLower` returns it: each character by itself, by the simple mapping of Unicode. So
/// the lower case of a prefix is a prefix of the lower case, also if the prefix ends with a capital sigma.
pub fn lower_case(text: &str) -> String {
    // Of all characters, only `İ` has a mapping of two. The first of them is the simple one.
    text.chars().map(|character| character.to_lowercase().next().unwrap_or(character)).collect()
}

fn string(bytes: &[u8]) -> Result<String, ValueError> {
    unescape(Cursor::new(bytes).escaped_string()?, 0)
}

/// Pairs, as many as the shorter array has elements.
fn zip(types: &[Type], arguments: &[Vec<u8>], out: &mut Vec<u8>) -> Result<(), ValueError> {
    let (mut a, mut b) = (Cursor::new(&arguments[0]), Cursor::new(&arguments[1]));
    let length = a.nat()?.min(b.nat()?);
    put_nat(out, length);
    let (Type::Array(of_a), Type::Array(of_b)) = (&types[0], &types[1]) else { return Ok(()) };
    if of_a.is_without_bytes() && of_b.is_without_bytes() {
        // There is nothing to copy, and a damaged file may claim any number.
        return Ok(());
    }
    for _ in 0..length {
        let (at_a, at_b) = (a.offset(), b.offset());
        a.skip(of_a)?;
        b.skip(of_b)?;
        out.extend_from_slice(a.since(at_a));
        out.extend_from_slice(b.since(at_b));
    }
    Ok(())
}

/// Spans as distances from the start of the one before, to their starts.
fn rel_to_abs_byte_spans(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    let mut cursor = Cursor::new(bytes);
    let length = cursor.nat()?;
    put_nat(out, length);
    let mut start = 0_u64;
    for _ in 0..length {
        start = start.wrapping_add(cursor.nat()?);
        put_nat(out, start);
        put_nat(out, cursor.nat()?);
    }
    Ok(())
}

/// Groups of spans of one length: the length, and the distances of starts.
fn unpack_byte_spans(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), ValueError> {
    let mut cursor = Cursor::new(bytes);
    let (mut spans, mut count, mut start) = (Vec::new(), 0, 0_u64);
    for _ in 0..cursor.nat()? {
        let length = cursor.nat()?;
        for _ in 0..cursor.nat()? {
            start = start.wrapping_add(cursor.nat()?);
            put_nat(&mut spans, start);
            put_nat(&mut spans, length);
            count += 1;
        }
    }
    put_elements(out, count, std::iter::once(spans.as_slice()));
    Ok(())
}
