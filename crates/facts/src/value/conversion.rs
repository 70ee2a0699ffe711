//! Values of a newer type as values of the older type that it evolved from.
//!
//! Fields and alternatives are found by their names. What the older type lacks is left out, what the newer type lacks
//! has its default. An alternative or an enumerator that the older type lacks becomes its **unknown** value: the tag
//! is the number of alternatives, and nothing follows it. Unknown values are never stored: [`crate::decode`] and
//! [`crate::encode`] refuse them.
//!
//! Requires: the types are compatible, which `schema::compatibility` checks when a schema is loaded.

use crate::value::bytes::{Cursor, put_elements};
use crate::value::codec::EMPTY_ELEMENTS_MAX;
use crate::value::error::{ValueError, ValueFault};
use crate::value::nat::put_nat;
use crate::value::types::{Field, Type};

/// Whether each value of `new` has the same bytes as a value of `old`.
pub fn has_same_bytes(old: &Type, new: &Type) -> bool {
    let fields = |old: &[Field], new: &[Field]| {
        let is_same = |(old, new): (&Field, &Field)| old.name == new.name && has_same_bytes(&old.ty, &new.ty);
        old.len() == new.len() && old.iter().zip(new).all(is_same)
    };
    match (old, new) {
        (Type::Predicate(_), Type::Predicate(_)) => true,
        (Type::Record(old), Type::Record(new)) | (Type::Sum(old), Type::Sum(new)) => fields(old, new),
        (Type::Maybe(old), Type::Maybe(new))
        | (Type::Array(old), Type::Array(new))
        // The order of elements is that of their bytes.
        | (Type::Set(old), Type::Set(new)) => has_same_bytes(old, new),
        (old, new) => old == new,
    }
}

/// Appends the default of a type.
pub fn put_default(out: &mut Vec<u8>, ty: &Type) {
    match ty {
        Type::Byte | Type::Nat | Type::Bool | Type::Array(_) | Type::Set(_) | Type::Enum(_) | Type::Maybe(_) => {
            out.push(0);
        }
        Type::String => out.extend_from_slice(&[0, 0]),
        Type::Record(fields) => fields.iter().for_each(|field| put_default(out, &field.ty)),
        Type::Sum(alternatives) => {
            out.push(0);
            put_default(out, &alternatives[0].ty);
        }
        Type::Predicate(_) => unreachable!("a schema that needs the default of a reference is not loaded"),
    }
}

/// Reads a value of `new`, and appends it as a value of `old`.
///
/// # Errors
///
/// If the bytes are no value of `new`.
pub fn convert(cursor: &mut Cursor<'_>, new: &Type, old: &Type, out: &mut Vec<u8>) -> Result<(), ValueError> {
    match (new, old) {
        (Type::Record(new), Type::Record(old)) => convert_record(cursor, new, old, out),
        (Type::Sum(new), Type::Sum(old)) => {
            let unknown = cursor.fault(ValueFault::UnknownAlternative);
            let tag = usize::try_from(cursor.nat()?).unwrap_or(usize::MAX);
            let Some(from) = new.get(tag) else {
                put_nat(out, old.len() as u64);
                return if tag == new.len() { Ok(()) } else { Err(unknown) };
            };
            match old.iter().position(|other| other.name == from.name) {
                Some(index) => {
                    put_nat(out, index as u64);
                    convert(cursor, &from.ty, &old[index].ty, out)
                }
                None => {
                    put_nat(out, old.len() as u64);
                    cursor.skip(&from.ty)
                }
            }
        }
        (Type::Enum(new), Type::Enum(old)) => {
            let unknown = cursor.fault(ValueFault::UnknownAlternative);
            let tag = usize::try_from(cursor.nat()?).unwrap_or(usize::MAX);
            if tag > new.len() {
                return Err(unknown);
            }
            let index = new.get(tag).and_then(|name| old.iter().position(|other| other == name));
            put_nat(out, index.unwrap_or(old.len()) as u64);
            Ok(())
        }
        (Type::Maybe(new), Type::Maybe(old)) => {
            let tag = cursor.nat()?;
            put_nat(out, tag);
            if tag == 0 { Ok(()) } else { convert(cursor, new, old, out) }
        }
        (Type::Array(new) | Type::Set(new), Type::Array(old_element) | Type::Set(old_element)) => {
            let is_set = matches!(old, Type::Set(_));
            convert_elements(cursor, new, old_element, is_set, out)
        }
        (new, _) => {
            let start = cursor.offset();
            cursor.skip(new)?;
            out.extend_from_slice(cursor.since(start));
            Ok(())
        }
    }
}

fn convert_record(cursor: &mut Cursor<'_>, new: &[Field], old: &[Field], out: &mut Vec<u8>) -> Result<(), ValueError> {
    let mut starts = Vec::with_capacity(new.len());
    for field in new {
        starts.push(cursor.clone());
        cursor.skip(&field.ty)?;
    }
    for field in old {
        match new.iter().position(|other| other.name == field.name) {
            Some(index) => convert(&mut starts[index], &new[index].ty, &field.ty, out)?,
            None => put_default(out, &field.ty),
        }
    }
    Ok(())
}

/// Elements of an array or a set. A set has each once, in the order of their bytes.
fn convert_elements(
    cursor: &mut Cursor<'_>,
    new: &Type,
    old: &Type,
    into_set: bool,
    out: &mut Vec<u8>,
) -> Result<(), ValueError> {
    let count = cursor.nat()?;
    if new.is_without_bytes() && old.is_without_bytes() {
        put_nat(out, if into_set { count.min(1) } else { count });
        return Ok(());
    }
    if new.is_without_bytes() && count > EMPTY_ELEMENTS_MAX {
        return Err(cursor.fault(ValueFault::TooManyEmptyElements));
    }
    let mut elements = Vec::new();
    for _ in 0..count {
        let mut element = Vec::new();
        convert(cursor, new, old, &mut element)?;
        elements.push(element);
    }
    if into_set {
        elements.sort_unstable();
        elements.dedup();
    }
    put_elements(out, elements.len(), elements.iter().map(Vec::as_slice));
    Ok(())
}

/// A whole value of `new` as a value of `old`.
///
/// # Errors
///
/// As [`convert`], and if bytes follow.
pub fn converted(bytes: &[u8], new: &Type, old: &Type) -> Result<Vec<u8>, ValueError> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut cursor = Cursor::new(bytes);
    convert(&mut cursor, new, old, &mut out)?;
    cursor.end()?;
    Ok(out)
}
