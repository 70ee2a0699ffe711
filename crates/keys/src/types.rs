//! Descriptions of key and value types, as databases record them beside their tables.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::scanner::Scanner;

/// A type of keys or values, known at run time only.
///
/// Its text is canonical: `u8` to `u128`, `i8` to `i128`, `bool`, `char`, `f32`, `f64`, `string`, `bytes`, `bytes[16]`
/// (an array), `option<u64>`, `(u32,string)`. These names are stored in databases: they never change.
///
/// ```
/// use fulgurite_keys::Type;
///
/// let kind: Type = "(u32, string)".parse()?;
/// assert_eq!(kind.to_string(), "(u32,string)");
/// let key = kind.parse_key("(7, \"seven\")")?;
/// assert_eq!(key, b"\x00\x00\x00\x07seven");
/// assert_eq!(kind.format_key(&key)?, "(7, \"seven\")");
/// # Ok::<(), fulgurite_keys::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Type {
    /// `bool`
    Bool,
    /// `char`
    Char,
    /// `u8`
    U8,
    /// `u16`
    U16,
    /// `u32`
    U32,
    /// `u64`
    U64,
    /// `u128`
    U128,
    /// `i8`
    I8,
    /// `i16`
    I16,
    /// `i32`
    I32,
    /// `i64`
    I64,
    /// `i128`
    I128,
    /// `f32`
    F32,
    /// `f64`
    F64,
    /// UTF-8 text of any length.
    String,
    /// Bytes of any length.
    Bytes,
    /// Exactly this many bytes.
    ByteArray(usize),
    /// A value of the type inside, or nothing.
    Option(Box<Type>),
    /// One to eight values.
    Tuple(Vec<Type>),
}

impl Type {
    /// The maximum number of elements of a tuple.
    pub const TUPLE_ELEMENTS_MAX: usize = 8;
    /// The maximum length of an array, in bytes.
    pub const BYTE_ARRAY_MAX: usize = 64 << 20;
    /// The maximum nesting depth of tuples and options.
    pub const NESTING_MAX: usize = 16;
    /// The names of all types, for messages about a name that is none.
    pub const NAMES: &str = "u8 to u128, i8 to i128, f32, f64, bool, char, string, bytes, bytes[N], option<T> and \
                             tuples such as (u32,string)";

    /// The length of every key of this type, if they are all equally long; see [`crate::Key::FIXED_WIDTH`].
    pub fn fixed_width(&self) -> Option<usize> {
        match self {
            Self::Bool | Self::U8 | Self::I8 => Some(1),
            Self::U16 | Self::I16 => Some(2),
            Self::Char | Self::U32 | Self::I32 | Self::F32 => Some(4),
            Self::U64 | Self::I64 | Self::F64 => Some(8),
            Self::U128 | Self::I128 => Some(16),
            Self::ByteArray(length) => Some(*length),
            Self::String | Self::Bytes | Self::Option(_) => None,
            Self::Tuple(elements) => {
                elements.iter().try_fold(0_usize, |sum, element| sum.checked_add(element.fixed_width()?))
            }
        }
    }

    fn parse(scanner: &mut Scanner<'_>, depth: usize) -> Result<Self, String> {
        if depth > Self::NESTING_MAX {
            return Err(format!("more than {} types inside of one another", Self::NESTING_MAX));
        }
        scanner.skip_spaces();
        if scanner.eat('(') {
            return Self::parse_tuple(scanner, depth).map(Self::Tuple);
        }
        let name = scanner.take_while(|character| character.is_ascii_alphanumeric());
        let parsed = match name {
            "option" => {
                scanner.expect('<')?;
                let inner = Self::parse(scanner, depth + 1)?;
                scanner.expect('>')?;
                Self::Option(Box::new(inner))
            }
            "bytes" if scanner.eat('[') => {
                let length = Self::parse_length(scanner)?;
                scanner.expect(']')?;
                Self::ByteArray(length)
            }
            _ => SCALARS
                .iter()
                .find(|(scalar, _)| *scalar == name)
                .map(|(_, kind)| kind.clone())
                .ok_or_else(|| format!("expected a type {}", scanner.place()))?,
        };
        scanner.skip_spaces();
        Ok(parsed)
    }

    fn parse_tuple(scanner: &mut Scanner<'_>, depth: usize) -> Result<Vec<Self>, String> {
        let mut elements = vec![Self::parse(scanner, depth + 1)?];
        while scanner.eat(',') {
            if elements.len() == Self::TUPLE_ELEMENTS_MAX {
                return Err(format!("a tuple has at most {} elements", Self::TUPLE_ELEMENTS_MAX));
            }
            elements.push(Self::parse(scanner, depth + 1)?);
        }
        scanner.expect(')')?;
        Ok(elements)
    }

    fn parse_length(scanner: &mut Scanner<'_>) -> Result<usize, String> {
        let digits = scanner.take_while(|character| character.is_ascii_digit());
        match digits.parse() {
            Ok(length) if length <= Self::BYTE_ARRAY_MAX => Ok(length),
            _ => Err(format!("expected a length up to {} {}", Self::BYTE_ARRAY_MAX, scanner.place())),
        }
    }
}

impl FromStr for Type {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let bad = |reason| Error::BadTypeName { name: name.to_owned(), reason };
        let mut scanner = Scanner::new(name);
        let parsed = Self::parse(&mut scanner, 1).map_err(bad)?;
        scanner.skip_spaces();
        scanner.expect_end().map_err(bad)?;
        Ok(parsed)
    }
}

impl fmt::Display for Type {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ByteArray(length) => write!(out, "bytes[{length}]"),
            Self::Option(inner) => write!(out, "option<{inner}>"),
            Self::Tuple(elements) => {
                for (index, element) in elements.iter().enumerate() {
                    write!(out, "{}{element}", if index == 0 { '(' } else { ',' })?;
                }
                out.write_str(")")
            }
            scalar => {
                let found = SCALARS.iter().find(|(_, kind)| kind == scalar);
                out.write_str(found.expect("every variant is matched above or is in the list").0)
            }
        }
    }
}

/// The types whose name is one word. Stored in databases: never rename, only append.
const SCALARS: [(&str, Type); 16] = [
    ("bool", Type::Bool),
    ("char", Type::Char),
    ("u8", Type::U8),
    ("u16", Type::U16),
    ("u32", Type::U32),
    ("u64", Type::U64),
    ("u128", Type::U128),
    ("i8", Type::I8),
    ("i16", Type::I16),
    ("i32", Type::I32),
    ("i64", Type::I64),
    ("i128", Type::I128),
    ("f32", Type::F32),
    ("f64", Type::F64),
    ("string", Type::String),
    ("bytes", Type::Bytes),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_from_their_types() {
        let mut names: Vec<String> = SCALARS.iter().map(|(name, _)| (*name).to_owned()).collect();
        names.extend(
            ["bytes[0]", "bytes[16]", "option<string>", "(u8)", "(u32,string)", "(option<(i8,bytes)>,bytes[4],char)"]
                .map(str::to_owned),
        );
        for name in names {
            assert_eq!(name.parse::<Type>().unwrap().to_string(), name);
        }
        assert_eq!(" ( u8 , option< bool > ) ".parse::<Type>().unwrap().to_string(), "(u8,option<bool>)");
    }

    #[test]
    fn what_names_no_type_is_an_error_that_says_where() {
        let deep = "option<".repeat(100_000);
        let long = format!("({})", ["u8"; 9].join(","));
        for name in ["", "()", "(", "u7", "U8", "u8 u8", "(u8", "(u8,)", "option", "option<u8", "bytes[", "bytes[-1]"]
            .into_iter()
            .chain(["bytes[99999999999999999999]", "bytes[67108865]", "string,", "é", &deep, &long])
        {
            let error = name.parse::<Type>().unwrap_err();
            assert!(matches!(error, Error::BadTypeName { .. }), "{name}: {error}");
        }
        let error = "(u32,text)".parse::<Type>().unwrap_err();
        assert_eq!(error.to_string(), "`(u32,text)` names no type: expected a type before `)` (byte 9)");
    }

    #[test]
    fn widths_add_up_if_all_are_fixed() {
        let width = |name: &str| name.parse::<Type>().unwrap().fixed_width();
        assert_eq!(width("(u8,i16,f32,f64,u128,bytes[3],char,bool)"), Some(39));
        assert_eq!(width("(u8,string)"), None);
        assert_eq!(width("option<u8>"), None);
        assert_eq!(Type::Tuple(vec![Type::ByteArray(usize::MAX); 2]).fixed_width(), None);
    }
}
