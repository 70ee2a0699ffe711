//! Keys of fixed width: integers, `bool`, `char`, floats, byte arrays.

use crate::buffer::KeyBuffer;
use crate::error::Result;
use crate::key::{AsKey, Key};
use crate::reader::{Reader, character};
use crate::types::Type;

macro_rules! scalar_key {
    ($type:ty, $descriptor:ident, $width:expr, |$value:ident| $to_bytes:expr, |$bytes:ident| $from_bytes:expr) => {
        impl AsKey<$type> for $type {
            #[inline]
            fn encode_inner(&self, out: &mut KeyBuffer) {
                let $value = *self;
                out.push(&$to_bytes);
            }
        }

        impl Key for $type {
            const FIXED_WIDTH: Option<usize> = Some($width);

            fn key_type() -> Type {
                Type::$descriptor
            }

            #[inline]
            fn decode_inner(reader: &mut Reader<'_>) -> Result<Self> {
                let $bytes = reader.take_array::<{ $width }>()?;
                $from_bytes
            }
        }
    };
}

macro_rules! integer_keys {
    ($($unsigned:ident $signed:ident $unsigned_type:ident $signed_type:ident),*) => {$(
        scalar_key!(
            $unsigned, $unsigned_type, size_of::<$unsigned>(),
            |value| value.to_be_bytes(), |bytes| Ok(Self::from_be_bytes(bytes))
        );
        // With the sign bit flipped the numbers from MIN to MAX rise from 0.
        scalar_key!(
            $signed, $signed_type, size_of::<$signed>(),
            |value| (value ^ $signed::MIN).to_be_bytes(), |bytes| Ok(Self::from_be_bytes(bytes) ^ $signed::MIN)
        );
    )*};
}

integer_keys!(u8 i8 U8 I8, u16 i16 U16 I16, u32 i32 U32 I32, u64 i64 U64 I64, u128 i128 U128 I128);

scalar_key!(char, Char, 4, |value| u32::from(value).to_be_bytes(), |bytes| character(u32::from_be_bytes(bytes)));
scalar_key!(f32, F32, 4, |value| ordered_f32(value).to_be_bytes(), |bytes| Ok(unordered_f32(u32::from_be_bytes(
    bytes
))));
scalar_key!(f64, F64, 8, |value| ordered_f64(value).to_be_bytes(), |bytes| Ok(unordered_f64(u64::from_be_bytes(
    bytes
))));

impl AsKey<Self> for bool {
    #[inline]
    fn encode_inner(&self, out: &mut KeyBuffer) {
        out.push(&[u8::from(*self)]);
    }
}

impl Key for bool {
    const FIXED_WIDTH: Option<usize> = Some(1);

    fn key_type() -> Type {
        Type::Bool
    }

    #[inline]
    fn decode_inner(reader: &mut Reader<'_>) -> Result<Self> {
        reader.take_tag("bool")
    }
}

impl<const N: usize> AsKey<Self> for [u8; N] {
    #[inline]
    fn encode_inner(&self, out: &mut KeyBuffer) {
        out.push(self);
    }
}

impl<const N: usize> Key for [u8; N] {
    const FIXED_WIDTH: Option<usize> = Some(N);

    fn key_type() -> Type {
        Type::ByteArray(N)
    }

    #[inline]
    fn decode_inner(reader: &mut Reader<'_>) -> Result<Self> {
        reader.take_array()
    }
}

/// A number that sorts as `value` does by `f64::total_cmp`: below zero all bits are flipped (a larger magnitude is
/// less there), above it the sign bit alone.
pub(crate) const fn ordered_f64(value: f64) -> u64 {
    let bits = value.to_bits();
    if value.is_sign_negative() { !bits } else { bits ^ (1 << 63) }
}

/// The inverse of [`ordered_f64`], bit by bit: a NaN keeps its payload.
pub(crate) const fn unordered_f64(ordered: u64) -> f64 {
    f64::from_bits(if ordered >> 63 == 0 { !ordered } else { ordered ^ (1 << 63) })
}

/// As [`ordered_f64`].
pub(crate) const fn ordered_f32(value: f32) -> u32 {
    let bits = value.to_bits();
    if value.is_sign_negative() { !bits } else { bits ^ (1 << 31) }
}

/// As [`unordered_f64`].
pub(crate) const fn unordered_f32(ordered: u32) -> f32 {
    f32::from_bits(if ordered >> 31 == 0 { !ordered } else { ordered ^ (1 << 31) })
}
