//! Keys of any length: text and byte strings. They are raw at the end of a key, escaped and terminated inside it.

use std::borrow::Cow;

use crate::buffer::KeyBuffer;
use crate::error::Result;
use crate::escape::escape;
use crate::key::{AsKey, Key, KeyPrefix};
use crate::reader::{Reader, utf8};
use crate::types::Type;

macro_rules! string_forms {
    ($($form:ty => $owned:ty),*) => {$(
        impl AsKey<$owned> for $form {
            #[inline]
            fn encode_inner(&self, out: &mut KeyBuffer) {
                escape(self.as_ref(), out);
            }

            #[inline]
            fn encode_last(&self, out: &mut KeyBuffer) {
                out.push(self.as_ref());
            }
        }

        impl KeyPrefix<$owned> for $form {
            #[inline]
            fn encode_prefix(&self, out: &mut KeyBuffer) {
                out.push(self.as_ref());
            }
        }
    )*};
}

string_forms!(str => String, String => String, [u8] => Vec<u8>, Vec<u8> => Vec<u8>, Cow<'_, [u8]> => Vec<u8>);

impl AsKey<String> for Cow<'_, str> {
    #[inline]
    fn encode_inner(&self, out: &mut KeyBuffer) {
        str::encode_inner(self, out);
    }

    #[inline]
    fn encode_last(&self, out: &mut KeyBuffer) {
        str::encode_last(self, out);
    }
}

impl Key for String {
    const FIXED_WIDTH: Option<usize> = None;

    fn key_type() -> Type {
        Type::String
    }

    #[inline]
    fn decode_inner(reader: &mut Reader<'_>) -> Result<Self> {
        utf8(reader.take_escaped()?)
    }

    #[inline]
    fn decode_last(reader: &mut Reader<'_>) -> Result<Self> {
        utf8(Cow::Borrowed(reader.take_rest()))
    }
}

impl Key for Vec<u8> {
    const FIXED_WIDTH: Option<usize> = None;

    fn key_type() -> Type {
        Type::Bytes
    }

    #[inline]
    fn decode_inner(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(reader.take_escaped()?.into_owned())
    }

    #[inline]
    fn decode_last(reader: &mut Reader<'_>) -> Result<Self> {
        Ok(reader.take_rest().to_vec())
    }
}
