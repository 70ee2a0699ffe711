//! The entries of one table: the bytes that a key and a value are stored as, and the bytes between which keys lie.

use std::borrow::Cow;
use std::ops::Bound;

use fulgurite::Table;
use fulgurite_keys::{KeyBuffer, MultimapLayout, Type, prefix_end};

use crate::arguments::RangeArguments;
use crate::column::{Column, Encoding, KEY, VALUE};
use crate::failure::Failure;
use crate::notation::Notation;

/// How one table's entries are stored, read and printed.
#[derive(Clone, Debug)]
pub struct EntryForm {
    /// Its keys.
    pub key: Column,
    /// Its values.
    pub value: Column,
    multimap: Option<MultimapLayout>,
}

impl EntryForm {
    /// The form of a table's entries.
    ///
    /// # Errors
    /// If the table records other types than are asked for.
    pub fn new(table: &Table, key: Option<&Notation>, value: Option<&Notation>) -> Result<Self, Failure> {
        let (name, multimap) = (table.name(), table.is_multimap());
        let in_table = |failure: Failure| Failure::Message(format!("table `{name}`: {failure}"));
        let encoding = if multimap { Encoding::Key } else { Encoding::Value };
        let multimap = match table.key_type().parse::<Type>() {
            _ if !multimap => None,
            Ok(kind) => Some(MultimapLayout::of_width(kind.fixed_width())),
            Err(_) if table.key_type().is_empty() => Some(MultimapLayout::escaped()),
            Err(_) => {
                let message = format!("this program does not know the type {} of its keys", table.key_type());
                return Err(in_table(Failure::Message(message)));
            }
        };
        Ok(Self {
            key: Column::new(KEY, Encoding::Key, table.key_type(), key).map_err(in_table)?,
            value: Column::new(VALUE, encoding, table.value_type(), value).map_err(in_table)?,
            multimap,
        })
    }

    /// The form of entries without a type: plain bytes.
    pub fn plain() -> Self {
        let (key, value) = (Column::plain(KEY, Encoding::Key), Column::plain(VALUE, Encoding::Value));
        Self { key, value, multimap: None }
    }

    /// Whether a key may have many values.
    pub fn is_multimap(&self) -> bool {
        self.multimap.is_some()
    }

    /// The entry under which a key and a value are stored.
    ///
    /// # Errors
    /// If the key has not the width of all keys of a multimap.
    pub fn join(&self, key: Vec<u8>, value: Vec<u8>) -> Result<(Vec<u8>, Vec<u8>), String> {
        let Some(layout) = self.multimap else { return Ok((key, value)) };
        let mut entry = KeyBuffer::new();
        layout.join(&key, &value, &mut entry).map_err(|error| format!("{KEY}: {error}"))?;
        Ok((entry.into_vec(), Vec::new()))
    }

    /// The key and the value of an entry.
    ///
    /// # Errors
    /// If the entry is none of a multimap.
    pub fn split<'a>(&self, key: &'a [u8], value: &'a [u8]) -> Result<(Cow<'a, [u8]>, &'a [u8]), Failure> {
        match self.multimap {
            None => Ok((Cow::Borrowed(key), value)),
            Some(layout) => layout
                .split(key)
                .map_err(|error| Failure::Message(format!("a stored entry is of no multimap: {error}"))),
        }
    }

    /// The entries that are asked for.
    ///
    /// # Errors
    /// If a key or prefix is not written as it should be.
    pub fn bounds(&self, range: &RangeArguments) -> Result<Bounds, Failure> {
        if let Some(prefix) = &range.prefix {
            return Ok(self.beginning_with(&self.key.parse_prefix(prefix).map_err(Failure::Message)?));
        }
        let start = |text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => {
                let key = self.key.parse(text).map_err(Failure::Message)?;
                self.join(key, Vec::new()).map(|(entry, _)| Some(entry)).map_err(Failure::Message)
            }
        };
        let low = start(&range.from)?.map_or(Bound::Unbounded, Bound::Included);
        let high = start(&range.to)?.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(Bounds { low, high })
    }

    /// The entries of a multimap that have this key.
    ///
    /// # Errors
    /// As [`EntryForm::join`].
    pub fn of_key(&self, key: Vec<u8>) -> Result<Bounds, String> {
        self.join(key, Vec::new()).map(|(entry, _)| Bounds::beginning_with(entry))
    }

    /// The entries whose keys begin with these bytes.
    fn beginning_with(&self, prefix: &[u8]) -> Bounds {
        match self.multimap {
            None => Bounds::beginning_with(prefix.to_vec()),
            Some(layout) => {
                let mut entry = KeyBuffer::new();
                layout.join_prefix(prefix, &mut entry);
                Bounds::beginning_with(entry.into_vec())
            }
        }
    }
}

/// Stored keys between which entries lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    low: Bound<Vec<u8>>,
    high: Bound<Vec<u8>>,
}

impl Bounds {
    fn beginning_with(prefix: Vec<u8>) -> Self {
        let high = prefix_end(&prefix).map_or(Bound::Unbounded, Bound::Excluded);
        Self { low: Bound::Included(prefix), high }
    }

    /// As the engine takes them.
    pub fn get(&self) -> (Bound<&[u8]>, Bound<&[u8]>) {
        (self.low.as_ref().map(Vec::as_slice), self.high.as_ref().map(Vec::as_slice))
    }
}
