//! The traits of keys: what can be stored as one, and what can be looked up with.

use crate::buffer::KeyBuffer;
use crate::error::Result;
use crate::reader::Reader;
use crate::types::Type;

/// Something that encodes as a key of type `K`: a `K` itself, or a borrowed form of it.
///
/// A table with `String` keys is asked with a `&str`, one with `(u32, String)` keys with a `(u32, &str)`; in `(7, "x")`
/// the number is then a `u32` without saying so.
///
/// Each key has two encodings. The *inner* one is self-delimiting: no inner encoding is a prefix of another one's, so
/// that more can follow. The *last* one ends with the key's bytes and may leave out what only delimits. In both, the
/// order of the encodings (as bytes, shorter first among equal beginnings) is the order of the keys.
pub trait AsKey<K> {
    /// Appends the self-delimiting encoding, after which more may follow.
    fn encode_inner(&self, out: &mut KeyBuffer);

    /// Appends the encoding that ends a key. Types of fixed width need not say more than the inner one.
    #[inline]
    fn encode_last(&self, out: &mut KeyBuffer) {
        self.encode_inner(out);
    }

    /// The bytes under which a table stores this key.
    #[inline]
    fn encode(&self) -> KeyBuffer {
        let mut out = KeyBuffer::new();
        self.encode_last(&mut out);
        out
    }
}

/// A type whose values are keys, stored so that their bytes sort as they do.
///
/// Implement it for a type of your own by handing on to the types it is made of:
///
/// ```
/// use fulgurite_keys::{AsKey, Key, KeyBuffer, Reader, Result, Type};
///
/// #[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
/// struct Version { major: u16, minor: u16, label: String }
///
/// impl AsKey<Version> for Version {
///     fn encode_inner(&self, out: &mut KeyBuffer) {
///         (self.major, self.minor, &self.label).encode_inner(out);
///     }
///     fn encode_last(&self, out: &mut KeyBuffer) {
///         (self.major, self.minor, &self.label).encode_last(out);
///     }
/// }
///
/// impl Key for Version {
///     const FIXED_WIDTH: Option<usize> = None;
///     fn key_type() -> Type {
///         <(u16, u16, String)>::key_type()
///     }
///     fn decode_inner(reader: &mut Reader<'_>) -> Result<Self> {
///         let (major, minor, label) = Key::decode_inner(reader)?;
///         Ok(Self { major, minor, label })
///     }
///     fn decode_last(reader: &mut Reader<'_>) -> Result<Self> {
///         let (major, minor, label) = Key::decode_last(reader)?;
///         Ok(Self { major, minor, label })
///     }
/// }
///
/// let version = Version { major: 1, minor: 89, label: "beta".to_owned() };
/// assert_eq!(&*version.encode(), b"\x00\x01\x00\x59beta");
/// assert_eq!(Version::decode(&version.encode()), Ok(version));
/// assert_eq!(Version::type_name(), "(u16,u16,string)");
/// ```
///
/// The laws, for all `a` and `b` of the type (the tests of this crate prove them for its own types):
/// - `a < b` exactly if `a.encode() < b.encode()`, and likewise for the inner encoding;
/// - no inner encoding is a proper prefix of another one;
/// - decoding returns what was encoded, and refuses bytes that no value encodes to.
pub trait Key: AsKey<Self> + Sized {
    /// The length of every encoding of this type, if they are all equally long. Both encodings are then the same.
    const FIXED_WIDTH: Option<usize>;

    /// The description that a database keeps beside a table of such keys, and compares when the table is opened.
    fn key_type() -> Type;

    /// Takes an inner encoding from the reader.
    ///
    /// # Errors
    /// If the bytes are no encoding of this type.
    fn decode_inner(reader: &mut Reader<'_>) -> Result<Self>;

    /// Takes an encoding that ends a key from the reader.
    ///
    /// # Errors
    /// If the bytes are no encoding of this type.
    #[inline]
    fn decode_last(reader: &mut Reader<'_>) -> Result<Self> {
        Self::decode_inner(reader)
    }

    /// The key that is stored as `bytes`.
    ///
    /// # Errors
    /// If the bytes are no encoding of this type.
    #[inline]
    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(bytes);
        let key = Self::decode_last(&mut reader)?;
        reader.finish()?;
        Ok(key)
    }

    /// The name of [`Key::key_type`], such as `(u32,string)`.
    fn type_name() -> String {
        Self::key_type().to_string()
    }
}

/// The beginning of keys of type `K`, to scan all keys that begin so.
///
/// The beginnings of a tuple are the tuples of its first elements, those of a string or byte string are its own.
/// ```
/// use fulgurite_keys::{AsKey, KeyBuffer, KeyPrefix};
///
/// fn prefix<K>(of: &impl KeyPrefix<K>) -> KeyBuffer {
///     let mut out = KeyBuffer::new();
///     of.encode_prefix(&mut out);
///     out
/// }
/// let key = ("smith", "john", 7_u32).encode();
/// assert!(key.starts_with(&prefix::<(String, String, u32)>(&("smith",))));
/// assert!(!key.starts_with(&prefix::<(String, String, u32)>(&("smi",))));
/// ```
pub trait KeyPrefix<K> {
    /// Appends the bytes with which exactly the keys begin that begin so.
    fn encode_prefix(&self, out: &mut KeyBuffer);
}

/// The least byte string that is above all that begin with `prefix`; none if there is no such.
///
/// ```
/// # use fulgurite_keys::prefix_end;
/// assert_eq!(prefix_end(b"ab"), Some(b"ac".to_vec()));
/// assert_eq!(prefix_end(b"a\xFF"), Some(b"b".to_vec()));
/// assert_eq!(prefix_end(b"\xFF"), None);
/// ```
pub fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xFF)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}
