//! Types as they are written to types.

use crate::angle::diagnostic::Diagnostic;
use crate::angle::source::{Source, Span};
use crate::angle::tree::{Name, SourceType, SourceTypeKind};
use crate::schema::scopes::{Entry, Scope};
use crate::schema::similar::did_you_mean;
use crate::value::types::{Field, Type};

/// The most parts of an expanded type, and how deep it may be nested. Walks of a type need neither more time nor more
/// stack.
const PARTS_MAX: usize = 200_000;
const DEPTH_MAX: usize = 150;

/// A type that is declared.
pub(super) struct DeclaredType {
    pub schema: usize,
    pub name: String,
    pub version: u32,
    pub span: Span,
    pub ty: SourceType,
}

/// The state of a named type.
#[derive(Clone)]
enum State {
    Unresolved,
    InProgress,
    Resolved(Sized),
}

/// A type with the numbers that are bounded.
#[derive(Clone)]
struct Sized {
    ty: Type,
    parts: usize,
    depth: usize,
}

impl Sized {
    fn leaf(ty: Type) -> Sized {
        Sized { ty, parts: 1, depth: 1 }
    }
}

pub(super) struct TypeResolver<'a> {
    types: &'a [DeclaredType],
    scopes: &'a [Scope],
    sources: &'a [Source],
    states: Vec<State>,
    /// Named types in progress, outermost first.
    path: Vec<usize>,
}

impl<'a> TypeResolver<'a> {
    pub fn new(types: &'a [DeclaredType], scopes: &'a [Scope], sources: &'a [Source]) -> TypeResolver<'a> {
        TypeResolver { types, scopes, sources, states: vec![State::Unresolved; types.len()], path: Vec::new() }
    }

    /// A named type, which is used at `span`.
    pub fn named(&mut self, index: usize, source: &Source, span: Span) -> Result<Type, Diagnostic> {
        self.named_sized(index, source, span).map(|sized| sized.ty)
    }

    /// A type that is written in a schema.
    pub fn resolve(&mut self, schema: usize, ty: &SourceType) -> Result<Type, Diagnostic> {
        self.sized(schema, ty).map(|sized| sized.ty)
    }

    fn named_sized(&mut self, index: usize, source: &Source, span: Span) -> Result<Sized, Diagnostic> {
        let types = self.types;
        match &self.states[index] {
            State::Resolved(sized) => return Ok(sized.clone()),
            State::InProgress => {
                let at = self.path.iter().position(|&other| other == index).unwrap_or(0);
                let names = self.path[at..].iter().chain([&index]).map(|&index| types[index].name.as_str());
                let message = format!("the type contains itself: {}", names.collect::<Vec<_>>().join(" → "));
                return Err(source.error(span, message, "let the cycle go through a predicate"));
            }
            State::Unresolved => {}
        }
        if self.path.len() == DEPTH_MAX {
            return Err(too_large(source, span));
        }
        self.states[index] = State::InProgress;
        self.path.push(index);
        let sized = self.sized(types[index].schema, &types[index].ty)?;
        self.path.pop();
        self.states[index] = State::Resolved(sized.clone());
        Ok(sized)
    }

    fn sized(&mut self, schema: usize, written: &SourceType) -> Result<Sized, Diagnostic> {
        let sources = self.sources;
        let source = &sources[schema];
        let (ty, parts, depth) = match &written.kind {
            SourceTypeKind::Byte => return Ok(Sized::leaf(Type::Byte)),
            SourceTypeKind::Nat => return Ok(Sized::leaf(Type::Nat)),
            SourceTypeKind::String => return Ok(Sized::leaf(Type::String)),
            SourceTypeKind::Bool => return Ok(Sized::leaf(Type::Bool)),
            SourceTypeKind::Named(name) => return self.by_name(schema, name, written.span),
            SourceTypeKind::Enum(names) => {
                check_names(source, names.iter())?;
                (Type::enumeration(names.iter().map(|name| name.text.as_str())), 0, 0)
            }
            SourceTypeKind::Array(element) => {
                let element = self.sized(schema, element)?;
                (Type::array(element.ty), element.parts, element.depth)
            }
            SourceTypeKind::Set(element) => {
                let element = self.sized(schema, element)?;
                (Type::set(element.ty), element.parts, element.depth)
            }
            SourceTypeKind::Maybe(element) => {
                let element = self.sized(schema, element)?;
                (Type::maybe(element.ty), element.parts, element.depth)
            }
            SourceTypeKind::Record(fields) => {
                let (fields, parts, depth) = self.fields(schema, fields)?;
                (Type::record(fields), parts, depth)
            }
            SourceTypeKind::Sum(alternatives) => {
                let (alternatives, parts, depth) = self.fields(schema, alternatives)?;
                (Type::sum(alternatives), parts, depth)
            }
        };
        if parts >= PARTS_MAX || depth >= DEPTH_MAX {
            return Err(too_large(source, written.span));
        }
        Ok(Sized { ty, parts: parts + 1, depth: depth + 1 })
    }

    fn fields(
        &mut self,
        schema: usize,
        fields: &[(Name, Option<SourceType>)],
    ) -> Result<(Vec<Field>, usize, usize), Diagnostic> {
        check_names(&self.sources[schema], fields.iter().map(|(name, _)| name))?;
        let (mut resolved, mut parts, mut depth) = (Vec::new(), 0, 0);
        for (name, ty) in fields {
            let sized = match ty {
                Some(ty) => self.sized(schema, ty)?,
                None => Sized::leaf(Type::unit()),
            };
            parts += sized.parts;
            depth = depth.max(sized.depth);
            resolved.push(Field::new(&name.text, sized.ty));
        }
        Ok((resolved, parts, depth))
    }

    fn by_name(&mut self, schema: usize, name: &str, span: Span) -> Result<Sized, Diagnostic> {
        let (scopes, sources) = (self.scopes, self.sources);
        match scopes[schema].find(name) {
            Some(Entry::Predicate(id)) => Ok(Sized::leaf(Type::Predicate(id))),
            Some(Entry::Type(index)) => self.named_sized(index, &sources[schema], span),
            None => {
                let hint = did_you_mean(name, scopes[schema].names(), "declare it, or import its schema");
                Err(sources[schema].error(span, format!("there is no type or predicate {name}"), hint))
            }
        }
    }
}

fn too_large(source: &Source, span: Span) -> Diagnostic {
    let message = format!("the type has more than {PARTS_MAX} parts, or is nested more than {DEPTH_MAX} deep");
    source.error(span, message, "make a predicate of a part of it")
}

/// Names of fields, alternatives and enumerators: all different.
fn check_names<'a>(source: &Source, names: impl Iterator<Item = &'a Name>) -> Result<(), Diagnostic> {
    let mut seen = std::collections::HashSet::new();
    for name in names {
        if !seen.insert(&name.text) {
            return Err(source.error(
                name.span,
                format!("`{}` occurs twice in a type", name.text),
                "rename one of them",
            ));
        }
    }
    Ok(())
}

/// A type that is written in a query, where all names are resolved.
pub fn type_in_scope(source: &Source, scope: &Scope, written: &SourceType) -> Result<Type, Diagnostic> {
    let fields = |fields: &[(Name, Option<SourceType>)]| -> Result<Vec<Field>, Diagnostic> {
        check_names(source, fields.iter().map(|(name, _)| name))?;
        let field = |(name, ty): &(Name, Option<SourceType>)| {
            let ty = ty.as_ref().map_or(Ok(Type::unit()), |ty| type_in_scope(source, scope, ty))?;
            Ok(Field::new(&name.text, ty))
        };
        fields.iter().map(field).collect()
    };
    Ok(match &written.kind {
        SourceTypeKind::Byte => Type::Byte,
        SourceTypeKind::Nat => Type::Nat,
        SourceTypeKind::String => Type::String,
        SourceTypeKind::Bool => Type::Bool,
        SourceTypeKind::Array(element) => Type::array(type_in_scope(source, scope, element)?),
        SourceTypeKind::Set(element) => Type::set(type_in_scope(source, scope, element)?),
        SourceTypeKind::Maybe(element) => Type::maybe(type_in_scope(source, scope, element)?),
        SourceTypeKind::Record(record) => Type::record(fields(record)?),
        SourceTypeKind::Sum(alternatives) => Type::sum(fields(alternatives)?),
        SourceTypeKind::Enum(names) => {
            check_names(source, names.iter())?;
            Type::enumeration(names.iter().map(|name| name.text.as_str()))
        }
        SourceTypeKind::Named(name) => scope.type_of(name).ok_or_else(|| {
            let hint = did_you_mean(name, scope.names(), "the schema has no such name");
            source.error(written.span, format!("there is no type or predicate {name}"), hint)
        })?,
    })
}
