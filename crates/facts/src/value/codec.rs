//! Values to bytes and back, by type.

use crate::ids::FactId;
use crate::value::bytes::{Cursor, put_elements, put_string, unescape};
use crate::value::error::{ValueError, ValueFault};
use crate::value::nat::put_nat;
use crate::value::types::Type;
use crate::value::values::Value;

/// The bytes of a value of a type.
///
/// # Errors
///
/// [`ValueFault::WrongType`], [`ValueFault::UnknownAlternative`] or [`ValueFault::TooManyEmptyElements`], with the
/// number of bytes written until then as the offset, if `value` is not of the type.
pub fn encode(ty: &Type, value: &Value) -> Result<Vec<u8>, ValueError> {
    let mut out = Vec::new();
    put_value(&mut out, ty, value)?;
    Ok(out)
}

/// Appends the bytes of a value of a type.
///
/// # Errors
///
/// As [`encode`].
pub fn put_value(out: &mut Vec<u8>, ty: &Type, value: &Value) -> Result<(), ValueError> {
    match (ty, value) {
        (Type::Byte, Value::Byte(byte)) => out.push(*byte),
        (Type::Nat, Value::Nat(nat)) => put_nat(out, *nat),
        (Type::String, Value::String(string)) => put_string(out, string),
        (Type::Bool, Value::Bool(bool)) => put_nat(out, u64::from(*bool)),
        (Type::Predicate(_), Value::Fact(id)) => put_nat(out, id.get()),
        (Type::Enum(names), Value::Enum(index)) if *index < names.len() => put_nat(out, *index as u64),
        (Type::Array(element), Value::Bytes(bytes)) if **element == Type::Byte => {
            put_nat(out, bytes.len() as u64);
            out.extend_from_slice(bytes);
        }
        (Type::Array(element), Value::Array(values)) => {
            if element.is_without_bytes() && values.len() as u64 > EMPTY_ELEMENTS_MAX {
                return Err(ValueError { offset: out.len(), fault: ValueFault::TooManyEmptyElements });
            }
            put_nat(out, values.len() as u64);
            values.iter().try_for_each(|value| put_value(out, element, value))?;
        }
        (Type::Set(element), Value::Set(values)) => {
            let mut encoded = values.iter().map(|value| encode(element, value)).collect::<Result<Vec<_>, _>>()?;
            encoded.sort_unstable();
            encoded.dedup();
            put_elements(out, encoded.len(), encoded.iter().map(Vec::as_slice));
        }
        (Type::Record(fields), Value::Record(values)) if fields.len() == values.len() => {
            fields.iter().zip(values).try_for_each(|(field, value)| put_value(out, &field.ty, value))?;
        }
        (Type::Sum(alternatives), Value::Alternative(index, value)) => {
            let fault = ValueError { offset: out.len(), fault: ValueFault::UnknownAlternative };
            let alternative = alternatives.get(*index).ok_or(fault)?;
            put_nat(out, *index as u64);
            put_value(out, &alternative.ty, value)?;
        }
        (Type::Maybe(element), Value::Maybe(value)) => {
            put_nat(out, u64::from(value.is_some()));
            value.iter().try_for_each(|value| put_value(out, element, value))?;
        }
        _ => return Err(ValueError { offset: out.len(), fault: ValueFault::WrongType }),
    }
    Ok(())
}

/// The value of a type that `bytes` are, all of them.
///
/// # Errors
///
/// The place and the kind of what is wrong: the bytes may come from anywhere.
pub fn decode(ty: &Type, bytes: &[u8]) -> Result<Value, ValueError> {
    let mut cursor = Cursor::new(bytes);
    let value = decode_at(&mut cursor, ty)?;
    cursor.end()?;
    Ok(value)
}

/// Reads a value of a type.
///
/// # Errors
///
/// As [`decode`].
pub fn decode_at(cursor: &mut Cursor<'_>, ty: &Type) -> Result<Value, ValueError> {
    let offset = cursor.offset();
    let unknown = ValueError { offset, fault: ValueFault::UnknownAlternative };
    Ok(match ty {
        Type::Byte => Value::Byte(cursor.byte()?),
        Type::Nat => Value::Nat(cursor.nat()?),
        Type::String => Value::String(unescape(cursor.escaped_string()?, offset)?),
        Type::Bool => match cursor.nat()? {
            0 => Value::Bool(false),
            1 => Value::Bool(true),
            _ => return Err(unknown),
        },
        Type::Predicate(_) => {
            let id = cursor.nat()?;
            Value::Fact(FactId::new(id).ok_or(ValueError { offset, fault: ValueFault::NoFact })?)
        }
        Type::Enum(names) => {
            let index = usize::try_from(cursor.nat()?).ok().filter(|index| *index < names.len());
            Value::Enum(index.ok_or(unknown)?)
        }
        Type::Array(element) if **element == Type::Byte => {
            let length = cursor.nat()?;
            Value::Bytes(cursor.take(length)?.to_vec())
        }
        Type::Array(element) => Value::Array(elements(cursor, element)?),
        Type::Set(element) => Value::Set(set_elements(cursor, element)?),
        Type::Record(fields) => {
            Value::Record(fields.iter().map(|field| decode_at(cursor, &field.ty)).collect::<Result<_, _>>()?)
        }
        Type::Sum(alternatives) => {
            let tag = usize::try_from(cursor.nat()?).ok();
            let (index, alternative) = tag.and_then(|tag| Some((tag, alternatives.get(tag)?))).ok_or(unknown)?;
            Value::Alternative(index, Box::new(decode_at(cursor, &alternative.ty)?))
        }
        Type::Maybe(element) => match cursor.nat()? {
            0 => Value::Maybe(None),
            1 => Value::Maybe(Some(Box::new(decode_at(cursor, element)?))),
            _ => return Err(unknown),
        },
    })
}

/// The most elements without bytes that an array may have. Its bytes do not bound their number, but memory must.
pub const EMPTY_ELEMENTS_MAX: u64 = 256;

fn length(cursor: &mut Cursor<'_>, element: &Type) -> Result<u64, ValueError> {
    let offset = cursor.offset();
    let length = cursor.nat()?;
    match element.is_without_bytes() {
        true if length > EMPTY_ELEMENTS_MAX => Err(ValueError { offset, fault: ValueFault::TooManyEmptyElements }),
        false if length > cursor.rest().len() as u64 => Err(ValueError { offset, fault: ValueFault::Truncated }),
        _ => Ok(length),
    }
}

fn elements(cursor: &mut Cursor<'_>, element: &Type) -> Result<Vec<Value>, ValueError> {
    (0..length(cursor, element)?).map(|_| decode_at(cursor, element)).collect()
}

fn set_elements(cursor: &mut Cursor<'_>, element: &Type) -> Result<Vec<Value>, ValueError> {
    let mut values = Vec::new();
    let mut last: Option<&[u8]> = None;
    for _ in 0..length(cursor, element)? {
        let offset = cursor.offset();
        values.push(decode_at(cursor, element)?);
        let bytes = cursor.since(offset);
        if last.is_some_and(|last| last >= bytes) {
            return Err(ValueError { offset, fault: ValueFault::SetOrder });
        }
        last = Some(bytes);
    }
    Ok(values)
}
