//! Queries with types.

use crate::angle::source::Span;
use crate::ids::PredicateId;
use crate::query::primitives::Primitive;
use crate::query::types::Ty;
use crate::value::types::Type;

/// A query with types: `T` is [`Ty`] while types are found out, and [`Type`] after that.
#[derive(Debug, Clone)]
pub struct TypedQuery<T> {
    /// What it returns.
    pub head: Node<T>,
    /// What has to hold.
    pub statements: Vec<TypedStatement<T>>,
}

/// A statement with types.
#[derive(Debug, Clone)]
pub struct TypedStatement<T> {
    /// What the right side is matched with, if anything.
    pub left: Option<Node<T>>,
    /// What is evaluated.
    pub right: Node<T>,
}

/// A pattern or an expression with its type.
#[derive(Debug, Clone)]
pub struct Node<T> {
    /// What it is.
    pub kind: NodeKind<T>,
    /// Its type.
    pub ty: T,
    /// Where it is in the text.
    pub span: Span,
}

/// What a node is.
#[derive(Debug, Clone)]
pub enum NodeKind<T> {
    /// Anything.
    Wildcard,
    /// Nothing.
    Never,
    /// A number, or a byte.
    Nat(u64),
    /// A string, or an array of bytes.
    String(String),
    /// A string that begins so, and its rest.
    StringPrefix(String, Box<Node<T>>),
    /// A fact by its id.
    FactId(u64),
    /// A variable by its index.
    Variable(usize),
    /// An array.
    Array(Vec<Node<T>>),
    /// An array that begins so.
    ArrayPrefix(Vec<Node<T>>),
    /// All fields of a record in order.
    Tuple(Vec<Node<T>>),
    /// Fields of a record, or an alternative.
    Fields(Vec<(String, Node<T>)>),
    /// Facts of a predicate: the patterns of key and value.
    Facts(PredicateId, Box<[Node<T>; 2]>),
    /// A nested query.
    Query(Box<TypedQuery<T>>),
    /// One of these.
    Or(Vec<Node<T>>),
    /// The second for each match of the first; the third if there is none.
    If(Box<[Node<T>; 3]>),
    /// Holds if the statements do not.
    Not(Vec<TypedStatement<T>>),
    /// The set of all values.
    All(Box<Node<T>>),
    /// The elements of an array or a set.
    Elements(Box<Node<T>>),
    /// A primitive of arguments.
    Primitive(Primitive, Vec<Node<T>>),
    /// A field of a record, perhaps of a fact's key.
    Field(Box<Node<T>>, String),
    /// The value of a sum, if it is this alternative.
    Alternative(Box<Node<T>>, String),
    /// The key of a fact.
    Key(Box<Node<T>>),
    /// A value, or the facts with this key, as the type says.
    Promoted(Box<Node<T>>),
}

/// A query whose types are found out.
#[derive(Debug, Clone)]
pub struct CheckedQuery {
    /// The query.
    pub query: TypedQuery<Type>,
    /// The value of a derived predicate's fact.
    pub value: Option<Node<Type>>,
    /// The variables: names and types.
    pub variables: Vec<(String, Type)>,
}

impl<T> Node<T> {
    /// The nodes directly in it, but for those of statements.
    pub fn children(&self) -> Vec<&Node<T>> {
        match &self.kind {
            NodeKind::Wildcard
            | NodeKind::Never
            | NodeKind::Nat(_)
            | NodeKind::String(_)
            | NodeKind::FactId(_)
            | NodeKind::Variable(_)
            | NodeKind::Query(_)
            | NodeKind::Not(_) => Vec::new(),
            NodeKind::Array(nodes)
            | NodeKind::ArrayPrefix(nodes)
            | NodeKind::Tuple(nodes)
            | NodeKind::Or(nodes)
            | NodeKind::Primitive(_, nodes) => nodes.iter().collect(),
            NodeKind::Fields(fields) => fields.iter().map(|(_, node)| node).collect(),
            NodeKind::Facts(_, parts) => parts.iter().collect(),
            NodeKind::If(parts) => parts.iter().collect(),
            NodeKind::StringPrefix(_, inner)
            | NodeKind::All(inner)
            | NodeKind::Elements(inner)
            | NodeKind::Field(inner, _)
            | NodeKind::Alternative(inner, _)
            | NodeKind::Key(inner)
            | NodeKind::Promoted(inner) => vec![inner],
        }
    }
}

impl TypedQuery<Ty> {
    /// The query with every type replaced.
    pub fn map<E>(self, change: &mut impl FnMut(Ty, Span) -> Result<Type, E>) -> Result<TypedQuery<Type>, E> {
        Ok(TypedQuery { head: self.head.map(change)?, statements: map_statements(self.statements, change)? })
    }
}

fn map_statements<E>(
    statements: Vec<TypedStatement<Ty>>,
    change: &mut impl FnMut(Ty, Span) -> Result<Type, E>,
) -> Result<Vec<TypedStatement<Type>>, E> {
    let mut mapped = Vec::with_capacity(statements.len());
    for statement in statements {
        let left = statement.left.map(|left| left.map(change)).transpose()?;
        mapped.push(TypedStatement { left, right: statement.right.map(change)? });
    }
    Ok(mapped)
}

impl Node<Ty> {
    /// The node with every type replaced.
    pub fn map<E>(self, change: &mut impl FnMut(Ty, Span) -> Result<Type, E>) -> Result<Node<Type>, E> {
        let kind = match self.kind {
            NodeKind::Wildcard => NodeKind::Wildcard,
            NodeKind::Never => NodeKind::Never,
            NodeKind::Nat(nat) => NodeKind::Nat(nat),
            NodeKind::String(string) => NodeKind::String(string),
            NodeKind::FactId(id) => NodeKind::FactId(id),
            NodeKind::Variable(index) => NodeKind::Variable(index),
            NodeKind::StringPrefix(prefix, rest) => NodeKind::StringPrefix(prefix, rest.boxed(change)?),
            NodeKind::Array(nodes) => NodeKind::Array(map_nodes(nodes, change)?),
            NodeKind::ArrayPrefix(nodes) => NodeKind::ArrayPrefix(map_nodes(nodes, change)?),
            NodeKind::Tuple(nodes) => NodeKind::Tuple(map_nodes(nodes, change)?),
            NodeKind::Or(nodes) => NodeKind::Or(map_nodes(nodes, change)?),
            NodeKind::Primitive(primitive, nodes) => NodeKind::Primitive(primitive, map_nodes(nodes, change)?),
            NodeKind::Fields(fields) => {
                let mut mapped = Vec::with_capacity(fields.len());
                for (name, node) in fields {
                    mapped.push((name, node.map(change)?));
                }
                NodeKind::Fields(mapped)
            }
            NodeKind::Facts(predicate, parts) => {
                let [key, value] = *parts;
                NodeKind::Facts(predicate, Box::new([key.map(change)?, value.map(change)?]))
            }
            NodeKind::Query(query) => NodeKind::Query(Box::new(query.map(change)?)),
            NodeKind::If(parts) => {
                let [condition, then, otherwise] = *parts;
                NodeKind::If(Box::new([condition.map(change)?, then.map(change)?, otherwise.map(change)?]))
            }
            NodeKind::Not(statements) => NodeKind::Not(map_statements(statements, change)?),
            NodeKind::All(inner) => NodeKind::All(inner.boxed(change)?),
            NodeKind::Elements(inner) => NodeKind::Elements(inner.boxed(change)?),
            NodeKind::Field(inner, name) => NodeKind::Field(inner.boxed(change)?, name),
            NodeKind::Alternative(inner, name) => NodeKind::Alternative(inner.boxed(change)?, name),
            NodeKind::Key(inner) => NodeKind::Key(inner.boxed(change)?),
            NodeKind::Promoted(inner) => NodeKind::Promoted(inner.boxed(change)?),
        };
        Ok(Node { kind, ty: change(self.ty, self.span)?, span: self.span })
    }

    fn boxed<E>(self, change: &mut impl FnMut(Ty, Span) -> Result<Type, E>) -> Result<Box<Node<Type>>, E> {
        self.map(change).map(Box::new)
    }
}

fn map_nodes<E>(
    nodes: Vec<Node<Ty>>,
    change: &mut impl FnMut(Ty, Span) -> Result<Type, E>,
) -> Result<Vec<Node<Type>>, E> {
    let mut mapped = Vec::with_capacity(nodes.len());
    for node in nodes {
        mapped.push(node.map(change)?);
    }
    Ok(mapped)
}
