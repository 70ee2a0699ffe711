//! How a multimap keeps many values under one key: each pair is an entry of its own, with the pair for a key.

use std::borrow::Cow;

use crate::buffer::KeyBuffer;
use crate::error::{Error, Result};
use crate::escape::{escape, escape_open};
use crate::reader::Reader;

/// The form of a multimap's entries: the escaped key, `00 00`, and the unchanged value. If all keys have the same
/// width, an entry is the unchanged key followed by the value.
///
/// Entries sort by key, then by value.
///
/// ```
/// use fulgurite_keys::{KeyBuffer, MultimapLayout};
///
/// let words = MultimapLayout::escaped();
/// let mut entry = KeyBuffer::new();
/// words.join(b"oak", b"n12290116", &mut entry)?;
/// assert_eq!(&*entry, b"oak\0\0n12290116");
/// let (key, value) = words.split(&entry)?;
/// assert_eq!((&*key, value), (&b"oak"[..], &b"n12290116"[..]));
/// # Ok::<(), fulgurite_keys::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MultimapLayout {
    key_width: Option<usize>,
}

impl MultimapLayout {
    /// For keys of any length.
    pub const fn escaped() -> Self {
        Self { key_width: None }
    }

    /// For keys that are all `width` bytes long.
    pub const fn fixed(width: usize) -> Self {
        Self { key_width: Some(width) }
    }

    /// For keys of the width that [`crate::Key::FIXED_WIDTH`] or [`crate::Type::fixed_width`] say.
    pub const fn of_width(width: Option<usize>) -> Self {
        Self { key_width: width }
    }

    /// Appends the entry of `key` and `value`.
    ///
    /// With an empty `value`, all entries of `key` and no other entries start with these bytes.
    ///
    /// # Errors
    /// [`Error::WrongWidth`] if keys have a fixed width and this key has another width.
    pub fn join(self, key: &[u8], value: &[u8], out: &mut KeyBuffer) -> Result<()> {
        match self.key_width {
            None => escape(key, out),
            Some(width) if width == key.len() => out.push(key),
            Some(width) => return Err(Error::WrongWidth { expected_bytes: width, found_bytes: key.len() }),
        }
        out.push(value);
        Ok(())
    }

    /// Appends the bytes that the entries of all keys with this `prefix`, and no other entries, start with. A
    /// `prefix` longer than the fixed width of keys is truncated.
    pub fn join_prefix(self, prefix: &[u8], out: &mut KeyBuffer) {
        match self.key_width {
            None => escape_open(prefix, out),
            Some(width) => out.push(&prefix[..prefix.len().min(width)]),
        }
    }

    /// The key and the value of an entry. Borrows both unless the key has bytes that are escaped.
    ///
    /// # Errors
    /// Returns an error if the bytes are not an entry of this form.
    pub fn split(self, entry: &[u8]) -> Result<(Cow<'_, [u8]>, &[u8])> {
        let mut reader = Reader::new(entry);
        let key = match self.key_width {
            None => reader.take_escaped()?,
            Some(width) => Cow::Borrowed(reader.take(width)?),
        };
        Ok((key, reader.take_rest()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(layout: MultimapLayout, key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut out = KeyBuffer::new();
        layout.join(key, value, &mut out).unwrap();
        out.into_vec()
    }

    #[test]
    fn entries_sort_by_key_then_value_and_come_apart_again() {
        let strings: [&[u8]; 9] = [b"", b"\0", b"\0\0", b"\0\xFF", b"\x01", b"a", b"a\0", b"ab", b"\xFF"];
        let layout = MultimapLayout::escaped();
        let mut last = None;
        for key in strings {
            for value in strings {
                let entry = joined(layout, key, value);
                let (key_back, value_back) = layout.split(&entry).unwrap();
                assert_eq!((&*key_back, value_back), (key, value));
                assert!(last < Some(entry.clone()), "{key:?} {value:?}");
                last = Some(entry);
            }
        }
    }

    #[test]
    fn fixed_width_keys_stand_as_they_are() {
        let layout = MultimapLayout::fixed(2);
        let entry = joined(layout, b"\0\0", b"v");
        assert_eq!(entry, b"\0\0v");
        assert_eq!(layout.split(&entry).unwrap(), (Cow::Borrowed(&b"\0\0"[..]), &b"v"[..]));
        assert_eq!(layout.split(b"x"), Err(Error::Truncated { needed_bytes: 2, left_bytes: 1 }));
        let refused = layout.join(b"abc", b"v", &mut KeyBuffer::new());
        assert_eq!(refused, Err(Error::WrongWidth { expected_bytes: 2, found_bytes: 3 }));
    }

    #[test]
    fn a_prefix_covers_exactly_the_keys_that_begin_so() {
        let keys: [&[u8]; 6] = [b"", b"r", b"ru", b"ru\0n", b"run", b"s"];
        for layout in [MultimapLayout::escaped(), MultimapLayout::fixed(3)] {
            for key in keys.map(|key| [key, &b"..."[..3 - key.len().min(3)]].concat()) {
                for prefix in keys {
                    if layout != MultimapLayout::escaped() && (key.len() != 3 || prefix.len() > 3) {
                        continue;
                    }
                    let mut start = KeyBuffer::new();
                    layout.join_prefix(prefix, &mut start);
                    let entry = joined(layout, &key, b"value");
                    assert_eq!(entry.starts_with(&start), key.starts_with(prefix), "{key:?} {prefix:?}");
                }
            }
        }
    }
}
