//! The facts that an encoded value refers to, with the predicates that its type names.

use crate::ids::{FactId, PredicateId};
use crate::value::bytes::Cursor;
use crate::value::error::{ValueError, ValueFault};
use crate::value::types::Type;

/// Appends the facts that a value of a type refers to, each with the predicate that the type names. The value may have
/// alternatives that the type lacks, as values of a newer type have when they are read as those of an older one.
///
/// # Errors
///
/// If the bytes are no such value. Not everything is checked: [`crate::decode`] does that.
pub fn references_of(ty: &Type, bytes: &[u8], found: &mut Vec<(FactId, PredicateId)>) -> Result<(), ValueError> {
    let mut cursor = Cursor::new(bytes);
    references_at(&mut cursor, ty, found)?;
    cursor.end()
}

fn references_at(cursor: &mut Cursor<'_>, ty: &Type, found: &mut Vec<(FactId, PredicateId)>) -> Result<(), ValueError> {
    match ty {
        Type::Predicate(predicate) => {
            let fault = cursor.fault(ValueFault::NoFact);
            found.push((FactId::new(cursor.nat()?).ok_or(fault)?, *predicate));
            Ok(())
        }
        Type::Record(fields) => fields.iter().try_for_each(|field| references_at(cursor, &field.ty, found)),
        Type::Array(element) | Type::Set(element) if refers(element) => {
            let count = cursor.nat()?;
            (0..count).try_for_each(|_| references_at(cursor, element, found))
        }
        Type::Maybe(element) if cursor.rest().first() == Some(&1) => {
            cursor.byte()?;
            references_at(cursor, element, found)
        }
        Type::Sum(alternatives) => {
            let mut tag = cursor.clone();
            let index = usize::try_from(tag.nat()?).ok();
            match index.and_then(|index| alternatives.get(index)) {
                Some(alternative) => {
                    *cursor = tag;
                    references_at(cursor, &alternative.ty, found)
                }
                None => cursor.skip(ty),
            }
        }
        ty => cursor.skip(ty),
    }
}

/// Whether values of a type can refer to facts. They then have bytes.
fn refers(ty: &Type) -> bool {
    match ty {
        Type::Predicate(_) => true,
        Type::Record(fields) | Type::Sum(fields) => fields.iter().any(|field| refers(&field.ty)),
        Type::Array(element) | Type::Set(element) | Type::Maybe(element) => refers(element),
        _ => false,
    }
}
