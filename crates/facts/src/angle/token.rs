//! Tokens of Angle.

use crate::angle::source::Span;

/// A token and where it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it is.
    pub span: Span,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub enum TokenKind {
    /// A number.
    Nat(u64),
    /// A string literal, unescaped.
    String(String),
    /// A word that has a meaning of its own.
    Keyword(Keyword),
    /// A name that begins with a lower-case letter, without dots.
    LowerName,
    /// A name that begins with an upper-case letter or an underscore, without dots.
    UpperName,
    /// A name with dots, or with a version: `a.b`, `a.B.1`, `P.1`.
    QualifiedName,
    /// `.field`
    Select,
    /// `.alternative?`
    SelectAlternative,
    /// A mark.
    Mark(Mark),
    /// The end of the text.
    End,
}

/// Declares an enumeration of texts and their look-up.
macro_rules! texts {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum $name { $($variant),* }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];

            /// How it is written.
            pub fn text(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }
        }
    };
}

texts! {
    /// A word that has a meaning of its own.
    Keyword {
        Bool = "bool",
        Byte = "byte",
        Default = "default",
        Derive = "derive",
        Enum = "enum",
        Import = "import",
        Maybe = "maybe",
        Nat = "nat",
        Predicate = "predicate",
        Schema = "schema",
        Set = "set",
        Elements = "elements",
        All = "all",
        String = "string",
        Type = "type",
        Stored = "stored",
        Where = "where",
        Evolves = "evolves",
        Never = "never",
        If = "if",
        Then = "then",
        Else = "else",
    }
}

texts! {
    /// A mark. Longer marks stand before their beginnings.
    Mark {
        Append = "++",
        NotEqualNat = "!==",
        NotEqual = "!=",
        GreaterOrEqual = ">=",
        LessOrEqual = "<=",
        Arrow = "->",
        DotStar = ".*",
        DotDot = "..",
        Comma = ",",
        Bar = "|",
        Colon = ":",
        LeftParen = "(",
        RightParen = ")",
        LeftSquare = "[",
        RightSquare = "]",
        LeftCurly = "{",
        RightCurly = "}",
        Equal = "=",
        Not = "!",
        Greater = ">",
        Less = "<",
        Plus = "+",
        Semicolon = ";",
        Underscore = "_",
        Dollar = "$",
    }
}
