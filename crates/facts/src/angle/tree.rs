//! Trees of Angle's syntax.
//!
//! Every tree is at most [`HEIGHT_MAX`] high, so that code that walks one may recurse.

use crate::angle::source::Span;

/// The highest tree that the parser builds.
pub const HEIGHT_MAX: u16 = 100;

/// A name in a text.
#[derive(Debug, Clone, PartialEq)]
pub struct Name {
    /// As it is written.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A query: `head where statements`, or statements alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// The result of the query; without it, the value of its last statement.
    pub head: Option<Pattern>,
    /// At least one.
    pub statements: Vec<Statement>,
    /// Where.
    pub span: Span,
}

/// `left = right`, or a pattern alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    /// What the right side is matched with.
    pub left: Option<Pattern>,
    /// What is evaluated.
    pub right: Pattern,
}

/// A pattern, which is also an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// What it is.
    pub kind: PatternKind,
    /// Where.
    pub span: Span,
    /// How high its tree is.
    pub height: u16,
}

/// What a pattern is.
#[derive(Debug, Clone, PartialEq)]
pub enum PatternKind {
    /// `12`
    Nat(u64),
    /// `"a"`
    String(String),
    /// `"a" ..`; followed by a pattern for the rest of the string, it is the function of an [`PatternKind::Apply`].
    StringPrefix(String),
    /// `$ 12`, with the predicate that may stand between.
    FactId(Option<Name>, u64),
    /// `[a, b]`
    Array(Vec<Pattern>),
    /// `[a, b, ..]`
    ArrayPrefix(Vec<Pattern>),
    /// `{a, b}`
    Tuple(Vec<Pattern>),
    /// `{name = a, …}`
    Struct(Vec<(Name, Pattern)>),
    /// `_`
    Wildcard,
    /// `never`
    Never,
    /// A variable, or a predicate or primitive by its name: the checker knows which.
    Variable(String),
    /// A lower-case word: an enumerator, or an alternative whose value does not matter.
    Enumerator(String),
    /// `(head where statements)`
    Query(Box<Query>),
    /// `f a b`
    Apply(Box<Pattern>, Vec<Pattern>),
    /// `key -> value`
    KeyValue(Box<Pattern>, Box<Pattern>),
    /// `a.field`
    Field(Box<Pattern>, Name),
    /// `a.alternative?`
    Alternative(Box<Pattern>, Name),
    /// `a.*`
    Key(Box<Pattern>),
    /// `a[..]`, and `elements a`
    Elements(Box<Pattern>),
    /// `all a`
    All(Box<Pattern>),
    /// `a | b | …`
    Or(Vec<Pattern>),
    /// `! a`
    Not(Box<Pattern>),
    /// `if a then b else c`
    If(Box<[Pattern; 3]>),
    /// `a : type`
    Signature(Box<Pattern>, SourceType),
    /// `a != b`, `a < b`, `a + b`, …
    Binary(Operator, Box<[Pattern; 2]>),
}

/// An operator between two patterns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    /// `!=`, of any type.
    NotEqual,
    /// `!==`, of numbers.
    NotEqualNat,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `+`
    Add,
}

impl Pattern {
    /// The patterns directly in this one, but for those of a nested query.
    pub fn children(&self) -> Vec<&Pattern> {
        match &self.kind {
            PatternKind::Nat(_)
            | PatternKind::String(_)
            | PatternKind::StringPrefix(_)
            | PatternKind::FactId(..)
            | PatternKind::Wildcard
            | PatternKind::Never
            | PatternKind::Variable(_)
            | PatternKind::Enumerator(_)
            | PatternKind::Query(_) => Vec::new(),
            PatternKind::Array(patterns)
            | PatternKind::ArrayPrefix(patterns)
            | PatternKind::Tuple(patterns)
            | PatternKind::Or(patterns) => patterns.iter().collect(),
            PatternKind::Struct(fields) => fields.iter().map(|(_, pattern)| pattern).collect(),
            PatternKind::Apply(function, arguments) => std::iter::once(&**function).chain(arguments).collect(),
            PatternKind::KeyValue(key, value) => vec![key, value],
            PatternKind::Field(inner, _)
            | PatternKind::Alternative(inner, _)
            | PatternKind::Key(inner)
            | PatternKind::Elements(inner)
            | PatternKind::All(inner)
            | PatternKind::Not(inner)
            | PatternKind::Signature(inner, _) => vec![inner],
            PatternKind::If(parts) => parts.iter().collect(),
            PatternKind::Binary(_, sides) => sides.iter().collect(),
        }
    }
}

/// A type as it is written.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceType {
    /// What it is.
    pub kind: SourceTypeKind,
    /// Where.
    pub span: Span,
    /// How high its tree is.
    pub height: u16,
}

/// What a type is.
#[derive(Debug, Clone, PartialEq)]
pub enum SourceTypeKind {
    /// `byte`
    Byte,
    /// `nat`
    Nat,
    /// `string`
    String,
    /// `bool`
    Bool,
    /// `[t]`
    Array(Box<SourceType>),
    /// `set t`
    Set(Box<SourceType>),
    /// `maybe t`
    Maybe(Box<SourceType>),
    /// `{ name : t, … }`. A field without a type is a unit.
    Record(Vec<(Name, Option<SourceType>)>),
    /// `{ name : t | … }`
    Sum(Vec<(Name, Option<SourceType>)>),
    /// `enum { name | … }`
    Enum(Vec<Name>),
    /// A type or a predicate by its name.
    Named(String),
}

/// A file of schemas.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SchemaFile {
    /// Its schemas.
    pub schemas: Vec<SchemaDefinition>,
    /// `schema a.2 evolves a.1`: the new one, the old one.
    pub evolves: Vec<(Name, Name)>,
}

/// `schema name : parents { declarations }`
#[derive(Debug, Clone, PartialEq)]
pub struct SchemaDefinition {
    /// Its name with its version.
    pub name: Name,
    /// The schemas that it inherits from.
    pub parents: Vec<Name>,
    /// What it declares.
    pub declarations: Vec<Declaration>,
}

/// A declaration in a schema.
#[derive(Debug, Clone, PartialEq)]
pub enum Declaration {
    /// `import name`
    Import(Name),
    /// `type name = type`
    Type(Name, SourceType),
    /// `predicate name : key -> value`, and a derivation
    Predicate {
        /// Its name, perhaps with a version.
        name: Name,
        /// The type of its keys.
        key: SourceType,
        /// The type of its values, if not a unit.
        value: Option<SourceType>,
        /// How it is derived.
        derivation: Option<Derivation>,
    },
    /// `derive name query`
    Derive(Name, Derivation),
}

/// How a predicate is derived.
#[derive(Debug, Clone, PartialEq)]
pub struct Derivation {
    /// When.
    pub when: DeriveWhen,
    /// By which query.
    pub query: Query,
}

/// When a predicate is derived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeriveWhen {
    /// Whenever it is queried.
    OnDemand,
    /// Once, into the database.
    Stored,
    /// Whenever it is queried, if the database has no facts of it. Of Angle up to version 11.
    IfEmpty,
}
