//! The traits of keys: what can be stored as one, and what can be looked up with.

use crate::buffer::KeyBuffer;
use crate::error::Result;
use crate::reader::Reader;
use crate::types::Type;

/// A value that encodes as a key of type `K`: a `K` or a borrowed form of it.
///
/// Look up `String` keys with a `&str`, and `(u32, String)` keys with a `(u32, &str)`. The number in `(7, "x")` is then
/// inferred to be a `u32`.
///
/// Each key has two encodings. The *inner* encoding is self-delimiting: no inner encoding is a prefix of another one,
/// so more elements can follow. The *last* encoding ends the key and needs no delimiter. In both, the
/// order of the encodings (as bytes, shorter first among equal beginnings) is the order of the keys.
pub trait AsKey<K> {
    /// Appends the self-delimiting encoding, after which more may follow.
    fn encode_inner(&self, out: &mut KeyBuffer);

    /// Appends the encoding that ends a key. The default is the inner encoding, which suits types of fixed width.
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
/// To implement it for your own type, call the implementations of its fields:
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
    /// The length in bytes of every encoding of this type, if it is fixed. Both encodings are then the same.
    const FIXED_WIDTH: Option<usize>;

    /// The type that the database records for a table with such keys, and compares when the table is opened.
    fn key_type() -> Type;

    /// Reads an inner encoding.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an encoding of this type.
    fn decode_inner(reader: &mut Reader<'_>) -> Result<Self>;

    /// Reads an encoding that ends a key.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an encoding of this type.
    #[inline]
    fn decode_last(reader: &mut Reader<'_>) -> Result<Self> {
        Self::decode_inner(reader)
    }

    /// The key that is stored as `bytes`.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an encoding of this type.
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

/// A prefix of keys of type `K`, to scan all keys that start with it.
///
/// A prefix of a tuple is a tuple of its first elements. A prefix of a string is a string.
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
    /// Appends the bytes that all keys with this prefix, and no other keys, start with.
    fn encode_prefix(&self, out: &mut KeyBuffer);
}

/// Returns the smallest byte string above all strings that start with `prefix`, or `None` if no string is.
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
