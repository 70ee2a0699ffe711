//! Values whose type is known only at run time, and their encodings.
//!
//! Keys and values share one traversal of the type. They differ in the two implementations of [`Form`], which call the
//! code that statically typed tables use.

use crate::buffer::KeyBuffer;
use crate::error::{Error, Result};
use crate::key::Key;
use crate::reader::Reader;
use crate::types::Type;
use crate::value::ValueCodec;

/// A value of some [`Type`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Datum {
    /// Of type `bool`.
    Bool(bool),
    /// Of type `char`.
    Char(char),
    /// Of the types `u8` to `u128`.
    Unsigned(u128),
    /// Of the types `i8` to `i128`.
    Signed(i128),
    /// Of type `f32`.
    F32(f32),
    /// Of type `f64`.
    F64(f64),
    /// Of type `string`.
    String(String),
    /// Of the types `bytes` and `bytes[N]`.
    Bytes(Vec<u8>),
    /// Of a type `option<…>`.
    Option(Option<Box<Datum>>),
    /// Of a tuple's type.
    Tuple(Vec<Datum>),
}

impl Type {
    /// The bytes under which a table stores this key.
    ///
    /// # Errors
    /// [`Error::TypeMismatch`] if `datum` is not of this type.
    pub fn encode_key(&self, datum: &Datum) -> Result<Vec<u8>> {
        let mut out = KeyBuffer::new();
        encode::<KeyForm>(self, datum, Position::Last, &mut out)?;
        Ok(out.into_vec())
    }

    /// The key of this type that is stored as `bytes`.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an encoding of this type.
    pub fn decode_key(&self, bytes: &[u8]) -> Result<Datum> {
        decode_whole::<KeyForm>(self, bytes)
    }

    /// The bytes that a table stores for this value.
    ///
    /// # Errors
    /// [`Error::TypeMismatch`] if `datum` is not of this type.
    pub fn encode_value(&self, datum: &Datum) -> Result<Vec<u8>> {
        let mut out = Vec::new();
        encode::<ValueForm>(self, datum, Position::Last, &mut out)?;
        Ok(out)
    }

    /// The value of this type that is stored as `bytes`.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an encoding of this type.
    pub fn decode_value(&self, bytes: &[u8]) -> Result<Datum> {
        decode_whole::<ValueForm>(self, bytes)
    }
}

/// Whether more follows an element.
#[derive(Clone, Copy, Debug)]
enum Position {
    Inner,
    Last,
}

/// The encoding of keys or that of values.
trait Form {
    type Out;

    fn put<T: Key + ValueCodec>(element: &T, position: Position, out: &mut Self::Out);
    fn put_bytes(bytes: &[u8], out: &mut Self::Out);
    fn get<T: Key + ValueCodec>(reader: &mut Reader<'_>, position: Position) -> Result<T>;
}

struct KeyForm;

impl Form for KeyForm {
    type Out = KeyBuffer;

    fn put<T: Key + ValueCodec>(element: &T, position: Position, out: &mut KeyBuffer) {
        match position {
            Position::Inner => element.encode_inner(out),
            Position::Last => element.encode_last(out),
        }
    }

    fn put_bytes(bytes: &[u8], out: &mut KeyBuffer) {
        out.push(bytes);
    }

    fn get<T: Key + ValueCodec>(reader: &mut Reader<'_>, position: Position) -> Result<T> {
        match position {
            Position::Inner => T::decode_inner(reader),
            Position::Last => T::decode_last(reader),
        }
    }
}

struct ValueForm;

impl Form for ValueForm {
    type Out = Vec<u8>;

    fn put<T: Key + ValueCodec>(element: &T, position: Position, out: &mut Vec<u8>) {
        match position {
            Position::Inner => element.encode_value_inner(out),
            Position::Last => element.encode_value_last(out),
        }
    }

    fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(bytes);
    }

    fn get<T: Key + ValueCodec>(reader: &mut Reader<'_>, position: Position) -> Result<T> {
        match position {
            Position::Inner => T::decode_value_inner(reader),
            Position::Last => T::decode_value_last(reader),
        }
    }
}

fn encode<F: Form>(kind: &Type, datum: &Datum, position: Position, out: &mut F::Out) -> Result<()> {
    let mismatch = || Error::TypeMismatch { type_name: kind.to_string() };
    match (kind, datum) {
        (Type::Bool, Datum::Bool(value)) => F::put(value, position, out),
        (Type::Char, Datum::Char(value)) => F::put(value, position, out),
        (Type::U8, Datum::Unsigned(value)) => F::put(&narrow::<_, u8>(*value, kind)?, position, out),
        (Type::U16, Datum::Unsigned(value)) => F::put(&narrow::<_, u16>(*value, kind)?, position, out),
        (Type::U32, Datum::Unsigned(value)) => F::put(&narrow::<_, u32>(*value, kind)?, position, out),
        (Type::U64, Datum::Unsigned(value)) => F::put(&narrow::<_, u64>(*value, kind)?, position, out),
        (Type::U128, Datum::Unsigned(value)) => F::put(value, position, out),
        (Type::I8, Datum::Signed(value)) => F::put(&narrow::<_, i8>(*value, kind)?, position, out),
        (Type::I16, Datum::Signed(value)) => F::put(&narrow::<_, i16>(*value, kind)?, position, out),
        (Type::I32, Datum::Signed(value)) => F::put(&narrow::<_, i32>(*value, kind)?, position, out),
        (Type::I64, Datum::Signed(value)) => F::put(&narrow::<_, i64>(*value, kind)?, position, out),
        (Type::I128, Datum::Signed(value)) => F::put(value, position, out),
        (Type::F32, Datum::F32(value)) => F::put(value, position, out),
        (Type::F64, Datum::F64(value)) => F::put(value, position, out),
        (Type::String, Datum::String(value)) => F::put(value, position, out),
        (Type::Bytes, Datum::Bytes(value)) => F::put(value, position, out),
        (Type::ByteArray(length), Datum::Bytes(value)) if value.len() == *length => F::put_bytes(value, out),
        (Type::Option(inner), Datum::Option(value)) => {
            F::put(&value.is_some(), Position::Inner, out);
            if let Some(value) = value {
                encode::<F>(inner, value, position, out)?;
            }
        }
        (Type::Tuple(kinds), Datum::Tuple(values)) if kinds.len() == values.len() => {
            for ((kind, value), position) in kinds.iter().zip(values).zip(positions(kinds.len(), position)) {
                encode::<F>(kind, value, position, out)?;
            }
        }
        _ => return Err(mismatch()),
    }
    Ok(())
}

fn decode_whole<F: Form>(kind: &Type, bytes: &[u8]) -> Result<Datum> {
    let mut reader = Reader::new(bytes);
    let datum = decode::<F>(kind, &mut reader, Position::Last)?;
    reader.finish()?;
    Ok(datum)
}

fn decode<F: Form>(kind: &Type, reader: &mut Reader<'_>, position: Position) -> Result<Datum> {
    Ok(match kind {
        Type::Bool => Datum::Bool(F::get(reader, position)?),
        Type::Char => Datum::Char(F::get(reader, position)?),
        Type::U8 => Datum::Unsigned(F::get::<u8>(reader, position)?.into()),
        Type::U16 => Datum::Unsigned(F::get::<u16>(reader, position)?.into()),
        Type::U32 => Datum::Unsigned(F::get::<u32>(reader, position)?.into()),
        Type::U64 => Datum::Unsigned(F::get::<u64>(reader, position)?.into()),
        Type::U128 => Datum::Unsigned(F::get(reader, position)?),
        Type::I8 => Datum::Signed(F::get::<i8>(reader, position)?.into()),
        Type::I16 => Datum::Signed(F::get::<i16>(reader, position)?.into()),
        Type::I32 => Datum::Signed(F::get::<i32>(reader, position)?.into()),
        Type::I64 => Datum::Signed(F::get::<i64>(reader, position)?.into()),
        Type::I128 => Datum::Signed(F::get(reader, position)?),
        Type::F32 => Datum::F32(F::get(reader, position)?),
        Type::F64 => Datum::F64(F::get(reader, position)?),
        Type::String => Datum::String(F::get(reader, position)?),
        Type::Bytes => Datum::Bytes(F::get(reader, position)?),
        Type::ByteArray(length) => Datum::Bytes(reader.take(*length)?.to_vec()),
        Type::Option(inner) => Datum::Option(if reader.take_tag("option")? {
            Some(Box::new(decode::<F>(inner, reader, position)?))
        } else {
            None
        }),
        Type::Tuple(kinds) => Datum::Tuple(
            kinds
                .iter()
                .zip(positions(kinds.len(), position))
                .map(|(kind, position)| decode::<F>(kind, reader, position))
                .collect::<Result<_>>()?,
        ),
    })
}

/// The positions of a tuple's elements, where the tuple stands at `position` itself.
fn positions(count: usize, position: Position) -> impl Iterator<Item = Position> {
    (0..count).map(move |index| if index + 1 == count { position } else { Position::Inner })
}

fn narrow<Wide, Narrow: TryFrom<Wide>>(value: Wide, kind: &Type) -> Result<Narrow> {
    Narrow::try_from(value).map_err(|_| Error::TypeMismatch { type_name: kind.to_string() })
}
