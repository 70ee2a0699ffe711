//! Typed keys, whose encodings sort in the order of the keys, and typed values.
//!
//! ```
//! use fulgurite_keys::{AsKey, Key};
//!
//! let early = ("alice", 9_u32).encode();
//! let late = ("alice", 10_u32).encode();
//! assert!(early < late);
//! assert_eq!(<(String, u32)>::decode(&late)?, ("alice".to_owned(), 10));
//! assert_eq!(<(String, u32)>::type_name(), "(string,u32)");
//! # Ok::<(), fulgurite_keys::Error>(())
//! ```
//!
//! # Keys
//! A key is the concatenation of the encodings of its elements. Tuples and options may be nested.
//!
//! | type | name | bytes | order |
//! |---|---|---|---|
//! | `u8` … `u128` | `u8` … `u128` | big-endian | numeric |
//! | `i8` … `i128` | `i8` … `i128` | big-endian, the sign bit flipped | numeric |
//! | `bool` | `bool` | `00`, `01` | false first |
//! | `char` | `char` | the scalar value as `u32` | by scalar value |
//! | `f32`, `f64` | `f32`, `f64` | IEEE 754 bits, big-endian; negative: all bits flipped, else the sign bit | `total_cmp` |
//! | `[u8; N]` | `bytes[N]` | as they are | bytewise |
//! | `String`, `str` | `string` | UTF-8; *last*: raw, *inner*: escaped | bytewise, so by scalar value |
//! | `Vec<u8>`, `[u8]` | `bytes` | *last*: raw, *inner*: escaped | bytewise, the shorter first |
//! | `Option<T>` | `option<T>` | `00`; or `01` and the encoding of `T` | `None` first |
//! | `(A, B, …)` up to 8 | `(A,B,…)` | the encodings of the elements | by the first that differs |
//!
//! *Escaped* means: each byte `00` becomes `00 FF`, and `00 00` ends the string. A *last* string ends the key; after an
//! *inner* string more follows. A `String` or `Vec<u8>` that is the whole key, or the last element of a
//! tuple that is the whole key, is stored as its plain bytes. Every other string is escaped and terminated: in
//! `((u8, String), u8)` the string is inner.
//!
//! Floats: all bit patterns are distinct keys and decode unchanged. −0 sorts directly before +0 and is a different key.
//! NaNs with the sign bit sort before −∞, other NaNs after +∞. Normalise floats before storing them if this matters.
//!
//! `usize` and `isize` cannot be keys, because their width depends on the machine.
//!
//! # Values
//! Numbers, `char` (as `u32`) and floats are little-endian; `bool`, arrays, options and tuples are as in keys; strings
//! are raw at the end, and follow their length as `u32` inside. See [`ValueCodec`].
//!
//! # Multimaps
//! See [`MultimapLayout`].
//!
//! # Text
//! A [`Type`] reads and prints keys and values in this form ([`Type::parse_key`], [`Type::format_key`]):
//!
//! | type | text |
//! |---|---|
//! | integers, `bool` | `42`, `-7`, `true` |
//! | floats | the shortest decimal that reads back the same: `1.5`, `-0.0`, `1e300`, `inf`; `NaN`, and `NaN:` with the bits in hexadecimal for any NaN but the usual one |
//! | `bytes`, `bytes[N]` | hexadecimal: `00ff`; `0x` in front is read, not printed |
//! | `string`, `char` | as it is, if that is the whole; inside of a tuple or option in quotes: `"a\"b\n\u{7f}"` |
//! | `option<…>` | `none`, `some(…)` |
//! | tuples | `(7, "seven")`; the quotes may be left out where the text has no `"`, `,`, `)` and no space at its ends |
//!
//! # Test vectors
//! The bytes below are part of the format: they will not change.
//!
//! ```
//! use fulgurite_keys::{AsKey, AsValue};
//!
//! fn hex(bytes: &[u8]) -> String {
//!     bytes.iter().map(|byte| format!("{byte:02x}")).collect()
//! }
//! macro_rules! vectors {
//!     ($($key:expr => $expected:literal;)*) => { $(assert_eq!(hex(&$key.encode()), $expected);)* };
//! }
//! vectors! {
//!     0x0102_u16                         => "0102";
//!     u64::MAX                           => "ffffffffffffffff";
//!     i32::MIN                           => "00000000";
//!     -1_i32                             => "7fffffff";
//!     0_i32                              => "80000000";
//!     i8::MAX                            => "ff";
//!     -2_i128                            => "7ffffffffffffffffffffffffffffffe";
//!     true                               => "01";
//!     'é'                                => "000000e9";
//!     0.0_f64                            => "8000000000000000";
//!     -0.0_f64                           => "7fffffffffffffff";
//!     1.5_f64                            => "bff8000000000000";
//!     -1.5_f64                           => "4007ffffffffffff";
//!     f64::NEG_INFINITY                  => "000fffffffffffff";
//!     f64::NAN                           => "fff8000000000000";
//!     1.0_f32                            => "bf800000";
//!     [1_u8, 0, 255]                     => "0100ff";
//!     "a\0b"                             => "610062";
//!     b"a\0b"[..]                        => "610062";
//!     ("a\0b", 7_u8)                     => "6100ff62000007";
//!     (7_u8, "a\0b")                     => "07610062";
//!     ("", "")                           => "0000";
//!     ((1_u8, "x"), 2_u8)                => "0178000002";
//!     None::<u8>                         => "00";
//!     Some("x")                          => "0178";
//!     (Some("x"), 1_u8)                  => "0178000001";
//!     (None::<&str>, 1_u8)               => "0001";
//! }
//! macro_rules! value_vectors {
//!     ($($value:expr => $expected:literal;)*) => { $(assert_eq!(hex(&$value.encode_value()), $expected);)* };
//! }
//! value_vectors! {
//!     0x0102_u16                         => "0201";
//!     -2_i64                             => "feffffffffffffff";
//!     1.5_f64                            => "000000000000f83f";
//!     'é'                                => "e9000000";
//!     "text"                             => "74657874";
//!     ("text", 7_u8)                     => "040000007465787407";
//!     (7_u8, Some("text"))               => "070174657874";
//! }
//! ```

mod buffer;
mod compound;
mod datum;
mod error;
mod escape;
mod key;
mod multimap;
mod reader;
mod scalars;
mod scanner;
mod strings;
mod text;
mod types;
mod value;

pub use buffer::KeyBuffer;
pub use datum::Datum;
pub use error::{Error, Result};
pub use key::{AsKey, Key, KeyPrefix, prefix_end};
pub use multimap::MultimapLayout;
pub use reader::Reader;
pub use types::Type;
pub use value::{AsValue, ValueCodec};
