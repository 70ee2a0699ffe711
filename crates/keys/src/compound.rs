//! Keys made of keys: references, options, and tuples of up to eight elements with their prefixes.

use crate::buffer::KeyBuffer;
use crate::error::Result;
use crate::key::{AsKey, Key, KeyPrefix};
use crate::reader::Reader;
use crate::types::Type;

impl<K, T: AsKey<K> + ?Sized> AsKey<K> for &T {
    #[inline]
    fn encode_inner(&self, out: &mut KeyBuffer) {
        T::encode_inner(self, out);
    }

    #[inline]
    fn encode_last(&self, out: &mut KeyBuffer) {
        T::encode_last(self, out);
    }
}

impl<K, T: KeyPrefix<K> + ?Sized> KeyPrefix<K> for &T {
    #[inline]
    fn encode_prefix(&self, out: &mut KeyBuffer) {
        T::encode_prefix(self, out);
    }
}

impl<K, T: AsKey<K>> AsKey<Option<K>> for Option<T> {
    #[inline]
    fn encode_inner(&self, out: &mut KeyBuffer) {
        out.push(&[u8::from(self.is_some())]);
        if let Some(value) = self {
            value.encode_inner(out);
        }
    }

    #[inline]
    fn encode_last(&self, out: &mut KeyBuffer) {
        out.push(&[u8::from(self.is_some())]);
        if let Some(value) = self {
            value.encode_last(out);
        }
    }
}

impl<T: Key> Key for Option<T> {
    const FIXED_WIDTH: Option<usize> = None;

    fn key_type() -> Type {
        Type::Option(Box::new(T::key_type()))
    }

    #[inline]
    fn decode_inner(reader: &mut Reader<'_>) -> Result<Self> {
        if reader.take_tag("option")? { T::decode_inner(reader).map(Some) } else { Ok(None) }
    }

    #[inline]
    fn decode_last(reader: &mut Reader<'_>) -> Result<Self> {
        if reader.take_tag("option")? { T::decode_last(reader).map(Some) } else { Ok(None) }
    }
}

macro_rules! tuple_key {
    ($($inner:ident $inner_key:ident $index:tt)*; $last:ident $last_key:ident $last_index:tt) => {
        impl<$($inner_key, $inner: AsKey<$inner_key>,)* $last_key, $last: AsKey<$last_key>>
            AsKey<($($inner_key,)* $last_key,)> for ($($inner,)* $last,)
        {
            #[inline]
            fn encode_inner(&self, out: &mut KeyBuffer) {
                $(self.$index.encode_inner(out);)*
                self.$last_index.encode_inner(out);
            }

            #[inline]
            fn encode_last(&self, out: &mut KeyBuffer) {
                $(self.$index.encode_inner(out);)*
                self.$last_index.encode_last(out);
            }
        }

        impl<$($inner: Key,)* $last: Key> Key for ($($inner,)* $last,) {
            const FIXED_WIDTH: Option<usize> = sum(&[$($inner::FIXED_WIDTH,)* $last::FIXED_WIDTH]);

            fn key_type() -> Type {
                Type::Tuple(vec![$($inner::key_type(),)* $last::key_type()])
            }

            #[inline]
            fn decode_inner(reader: &mut Reader<'_>) -> Result<Self> {
                Ok(($($inner::decode_inner(reader)?,)* $last::decode_inner(reader)?,))
            }

            #[inline]
            fn decode_last(reader: &mut Reader<'_>) -> Result<Self> {
                Ok(($($inner::decode_inner(reader)?,)* $last::decode_last(reader)?,))
            }
        }
    };
}

tuple_key!(; A KA 0);
tuple_key!(A KA 0; B KB 1);
tuple_key!(A KA 0 B KB 1; C KC 2);
tuple_key!(A KA 0 B KB 1 C KC 2; D KD 3);
tuple_key!(A KA 0 B KB 1 C KC 2 D KD 3; E KE 4);
tuple_key!(A KA 0 B KB 1 C KC 2 D KD 3 E KE 4; F KF 5);
tuple_key!(A KA 0 B KB 1 C KC 2 D KD 3 E KE 4 F KF 5; G KG 6);
tuple_key!(A KA 0 B KB 1 C KC 2 D KD 3 E KE 4 F KF 5 G KG 6; H KH 7);

/// The beginning in the first brackets, with the elements that are left open, one set of brackets for each number.
macro_rules! tuple_prefix {
    ($($given:ident $key:ident $index:tt)*; $next:ident $($more:ident)*) => {
        tuple_prefix!(@ ($($given $key $index)*) ($next) ($($more)*));
    };
    (@ ($($given:ident $key:ident $index:tt)*) ($($open:ident)+) ($($more:ident)*)) => {
        impl<$($key, $given: AsKey<$key>,)* $($open: Key,)*> KeyPrefix<($($key,)* $($open,)*)> for ($($given,)*) {
            #[inline]
            fn encode_prefix(&self, out: &mut KeyBuffer) {
                $(self.$index.encode_inner(out);)*
            }
        }
        tuple_prefix!(@more ($($given $key $index)*) ($($open)+) ($($more)*));
    };
    (@more ($($given:ident $key:ident $index:tt)*) ($($open:ident)+) ()) => {};
    (@more ($($given:ident $key:ident $index:tt)*) ($($open:ident)+) ($next:ident $($more:ident)*)) => {
        tuple_prefix!(@ ($($given $key $index)*) ($($open)+ $next) ($($more)*));
    };
}

tuple_prefix!(A KA 0; B C D E F G H);
tuple_prefix!(A KA 0 B KB 1; C D E F G H);
tuple_prefix!(A KA 0 B KB 1 C KC 2; D E F G H);
tuple_prefix!(A KA 0 B KB 1 C KC 2 D KD 3; E F G H);
tuple_prefix!(A KA 0 B KB 1 C KC 2 D KD 3 E KE 4; F G H);
tuple_prefix!(A KA 0 B KB 1 C KC 2 D KD 3 E KE 4 F KF 5; G H);
tuple_prefix!(A KA 0 B KB 1 C KC 2 D KD 3 E KE 4 F KF 5 G KG 6; H);

/// The widths together, if all are fixed.
const fn sum(widths: &[Option<usize>]) -> Option<usize> {
    let mut total = 0;
    let mut index = 0;
    while index < widths.len() {
        match widths[index] {
            Some(width) => total += width,
            None => return None,
        }
        index += 1;
    }
    Some(total)
}
