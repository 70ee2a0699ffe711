//! Values of typed tables. They need no order, so numbers are little-endian and strings inside carry their length.
//!
//! Like keys, values have an inner form, after which more follows, and a last form. A string at the end is raw, so a
//! table of strings holds plain text.

use std::borrow::Cow;

use crate::error::Result;
use crate::reader::{Reader, character, utf8};
use crate::types::Type;

/// A value that encodes as a value of type `V`: a `V` or a borrowed form of it.
pub trait AsValue<V> {
    /// Appends the self-delimiting encoding, after which more may follow.
    ///
    /// A string of 4 GiB or more has no such encoding. The bytes appended for it are as long as the string, so every
    /// table refuses them.
    fn encode_value_inner(&self, out: &mut Vec<u8>);

    /// Appends the encoding that ends a value. The default is the inner encoding, which suits types of fixed width.
    #[inline]
    fn encode_value_last(&self, out: &mut Vec<u8>) {
        self.encode_value_inner(out);
    }

    /// The bytes that a table stores for this value.
    #[inline]
    fn encode_value(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.encode_value_last(&mut out);
        out
    }
}

/// A type of values in typed tables.
pub trait ValueCodec: AsValue<Self> + Sized {
    /// The type that the database records for a table with such values, and compares when the table is opened.
    fn value_type() -> Type;

    /// Reads an inner encoding.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an encoding of this type.
    fn decode_value_inner(reader: &mut Reader<'_>) -> Result<Self>;

    /// Reads an encoding that ends a value.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an encoding of this type.
    #[inline]
    fn decode_value_last(reader: &mut Reader<'_>) -> Result<Self> {
        Self::decode_value_inner(reader)
    }

    /// The value that is stored as `bytes`.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an encoding of this type.
    #[inline]
    fn decode_value(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let value = Self::decode_value_last(&mut reader)?;
        reader.finish()?;
        Ok(value)
    }
}

macro_rules! scalar_value {
    ($type:ty, $descriptor:expr, |$value:ident| $to_bytes:expr, |$reader:ident| $from_reader:expr) => {
        impl AsValue<$type> for $type {
            #[inline]
            fn encode_value_inner(&self, out: &mut Vec<u8>) {
                let $value = *self;
                out.extend_from_slice(&$to_bytes);
            }
        }

        impl ValueCodec for $type {
            fn value_type() -> Type {
                $descriptor
            }

            #[inline]
            fn decode_value_inner($reader: &mut Reader<'_>) -> Result<Self> {
                $from_reader
            }
        }
    };
}

macro_rules! number_values {
    ($($number:ident $descriptor:ident),*) => {$(
        scalar_value!(
            $number, Type::$descriptor,
            |value| value.to_le_bytes(), |reader| reader.take_array().map(Self::from_le_bytes)
        );
    )*};
}

number_values!(u8 U8, u16 U16, u32 U32, u64 U64, u128 U128, i8 I8, i16 I16, i32 I32, i64 I64, i128 I128, f32 F32, f64 F64);
scalar_value!(bool, Type::Bool, |value| [u8::from(value)], |reader| reader.take_tag("bool"));
scalar_value!(char, Type::Char, |value| u32::from(value).to_le_bytes(), |reader| {
    character(u32::from_le_bytes(reader.take_array()?))
});

impl<const N: usize> AsValue<Self> for [u8; N] {
    #[inline]
    fn encode_value_inner(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

impl<const N: usize> ValueCodec for [u8; N] {
    fn value_type() -> Type {
        Type::ByteArray(N)
    }

    #[inline]
    fn decode_value_inner(reader: &mut Reader<'_>) -> Result<Self> {
        reader.take_array()
    }
}

macro_rules! string_values {
    ($($form:ty => $owned:ty),*) => {$(
        impl AsValue<$owned> for $form {
            #[inline]
            fn encode_value_inner(&self, out: &mut Vec<u8>) {
                let bytes: &[u8] = self.as_ref();
                let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                out.extend_from_slice(&length.to_le_bytes());
                out.extend_from_slice(bytes);
            }

            #[inline]
            fn encode_value_last(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(self.as_ref());
            }
        }
    )*};
}

string_values!(str => String, String => String, [u8] => Vec<u8>, Vec<u8> => Vec<u8>, Cow<'_, [u8]> => Vec<u8>);

impl AsValue<String> for Cow<'_, str> {
    #[inline]
    fn encode_value_inner(&self, out: &mut Vec<u8>) {
        str::encode_value_inner(self, out);
    }

    #[inline]
    fn encode_value_last(&self, out: &mut Vec<u8>) {
        str::encode_value_last(self, out);
    }
}

impl ValueCodec for String {
    fn value_type() -> Type {
        Type::String
    }

    #[inline]
    fn decode_value_inner(reader: &mut Reader<'_>) -> Result<Self> {
        utf8(Cow::Borrowed(reader.take_counted()?))
    }

    #[inline]
    fn decode_value_last(reader: &mut Reader<'_>) -> Result<Self> {
        utf8(Cow::Borrowed(reader.take_rest()))
    }
}

impl ValueCodec for Vec<u8> {
    fn value_type() -> Type {
        Type::Bytes
    }

    #[inline]
    fn decode_value_inner(reader: &mut Reader<'_>) -> Result<Self> {
        reader.take_counted().map(<[u8]>::to_vec)
    }

    #[inline]
    fn decode_value_last(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(reader.take_rest().to_vec())
    }
}

impl<V, T: AsValue<V> + ?Sized> AsValue<V> for &T {
    #[inline]
    fn encode_value_inner(&self, out: &mut Vec<u8>) {
        T::encode_value_inner(self, out);
    }

    #[inline]
    fn encode_value_last(&self, out: &mut Vec<u8>) {
        T::encode_value_last(self, out);
    }
}

impl<V, T: AsValue<V>> AsValue<Option<V>> for Option<T> {
    #[inline]
    fn encode_value_inner(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.encode_value_inner(out);
        }
    }

    #[inline]
    fn encode_value_last(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.is_some()));
        if let Some(value) = self {
            value.encode_value_last(out);
        }
    }
}

impl<T: ValueCodec> ValueCodec for Option<T> {
    fn value_type() -> Type {
        Type::Option(Box::new(T::value_type()))
    }

    #[inline]
    fn decode_value_inner(reader: &mut Reader<'_>) -> Result<Self> {
        if reader.take_tag("option")? { T::decode_value_inner(reader).map(Some) } else { Ok(None) }
    }

    #[inline]
    fn decode_value_last(reader: &mut Reader<'_>) -> Result<Self> {
        if reader.take_tag("option")? { T::decode_value_last(reader).map(Some) } else { Ok(None) }
    }
}

macro_rules! tuple_value {
    ($($inner:ident $inner_value:ident $index:tt)*; $last:ident $last_value:ident $last_index:tt) => {
        impl<$($inner_value, $inner: AsValue<$inner_value>,)* $last_value, $last: AsValue<$last_value>>
            AsValue<($($inner_value,)* $last_value,)> for ($($inner,)* $last,)
        {
            #[inline]
            fn encode_value_inner(&self, out: &mut Vec<u8>) {
                $(self.$index.encode_value_inner(out);)*
                self.$last_index.encode_value_inner(out);
            }

            #[inline]
            fn encode_value_last(&self, out: &mut Vec<u8>) {
                $(self.$index.encode_value_inner(out);)*
                self.$last_index.encode_value_last(out);
            }
        }

        impl<$($inner: ValueCodec,)* $last: ValueCodec> ValueCodec for ($($inner,)* $last,) {
            fn value_type() -> Type {
                Type::Tuple(vec![$($inner::value_type(),)* $last::value_type()])
            }

            #[inline]
            fn decode_value_inner(reader: &mut Reader<'_>) -> Result<Self> {
                Ok(($($inner::decode_value_inner(reader)?,)* $last::decode_value_inner(reader)?,))
            }

            #[inline]
            fn decode_value_last(reader: &mut Reader<'_>) -> Result<Self> {
                Ok(($($inner::decode_value_inner(reader)?,)* $last::decode_value_last(reader)?,))
            }
        }
    };
}

tuple_value!(; A VA 0);
tuple_value!(A VA 0; B VB 1);
tuple_value!(A VA 0 B VB 1; C VC 2);
tuple_value!(A VA 0 B VB 1 C VC 2; D VD 3);
tuple_value!(A VA 0 B VB 1 C VC 2 D VD 3; E VE 4);
tuple_value!(A VA 0 B VB 1 C VC 2 D VD 3 E VE 4; F VF 5);
tuple_value!(A VA 0 B VB 1 C VC 2 D VD 3 E VE 4 F VF 5; G VG 6);
tuple_value!(A VA 0 B VB 1 C VC 2 D VD 3 E VE 4 F VF 5 G VG 6; H VH 7);
