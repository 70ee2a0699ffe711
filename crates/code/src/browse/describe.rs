//! What is known of a symbol, and the symbols around it.

use std::ops::ControlFlow;

use fulgurite_facts::Value;

use crate::browse::reader::{CodeReader, SymbolId, fact, of_fact, string};
use crate::error::{Error, Result};
use crate::model::RelationKind;
use crate::scip::names::{Package, TYPE_PARAMETER, local, name_and_kind, package};

/// The description of a symbol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// Its name in the index.
    pub symbol: String,
    /// Its name for people.
    pub name: String,
    /// Its kind, such as `function`.
    pub kind: String,
    /// How it is declared.
    pub signature: String,
    /// Its documentation, usually Markdown.
    pub documentation: Vec<String>,
    /// The symbol that it is part of.
    pub enclosing: Option<SymbolId>,
    /// The package that it is of, if its symbol names one.
    pub package: Option<Package>,
    /// Whether only its file has it.
    pub is_local: bool,
}

/// How a symbol relates to the one that was asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relative {
    /// It has the other as a part.
    Container,
    /// It is a part of the other.
    Member,
    /// The other implements it.
    Implements,
    /// It implements the other.
    ImplementedBy,
    /// It is the type of the other.
    Type,
}

impl Description {
    /// Its name for people; for a symbol without one, such as a local variable, its name in the index.
    #[must_use]
    pub fn label(&self) -> &str {
        if self.name.is_empty() { &self.symbol } else { &self.name }
    }

    /// Whether it is a detail of another symbol, which a list of the definitions of a file leaves out: a local
    /// variable, or a parameter.
    #[must_use]
    pub fn is_detail(&self) -> bool {
        self.is_local || matches!(self.kind.as_str(), "parameter" | TYPE_PARAMETER | "self parameter")
    }
}

impl Relative {
    /// Its name for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Relative::Container => "container",
            Relative::Member => "member",
            Relative::Implements => "implements",
            Relative::ImplementedBy => "implemented by",
            Relative::Type => "type",
        }
    }
}

impl CodeReader {
    /// The description of a symbol.
    ///
    /// # Errors
    /// Errors of the database; so do all others.
    pub fn describe(&self, symbol: SymbolId) -> Result<Description> {
        let text = self.text(symbol.0)?;
        let (name, kind) = name_and_kind(&text);
        let (is_local, package) = (local(&text).is_some(), package(&text));
        let mut description = Description { symbol: text, name, kind, is_local, package, ..Description::default() };
        // Descriptions by other projects come first, those by its own files after them.
        self.seek(&self.predicates.symbol_info, &of_fact(symbol.0)?, |_, _, value| {
            let Value::Record(fields) = value else { return Ok(()) };
            let [name, kind, signature, Value::Array(documentation), enclosing] = fields.as_slice() else {
                return Ok(());
            };
            description.name = string(name).to_owned();
            description.kind = string(kind).to_owned();
            description.signature = string(signature).to_owned();
            description.documentation = documentation.iter().map(|text| string(text).to_owned()).collect();
            description.enclosing = match enclosing {
                Value::Maybe(Some(enclosing)) => Some(SymbolId(fact(enclosing))),
                _ => None,
            };
            Ok(())
        })?;
        Ok(description)
    }

    /// The symbols that contain a symbol, that it contains, and that are related to it by implementing or as its type.
    /// Type parameters are left out.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn hierarchy(&self, symbol: SymbolId) -> Result<Vec<(Relative, SymbolId)>> {
        let (mut found, mut held) = (Vec::new(), self.limits.held());
        let all = self.each_relative(symbol, |relative, other| {
            held.add(size_of::<(Relative, SymbolId)>())?;
            found.push((relative, other));
            Ok::<_, Error>(ControlFlow::Continue(()))
        });
        all.map(|_| found)
    }

    /// Calls `each` with the symbols that [`CodeReader::hierarchy`] lists, until it breaks. Members are not collected,
    /// and those after the break are not read. Returns whether it broke.
    ///
    /// # Errors
    /// Errors of the database; those of `each`.
    pub fn each_relative<E: From<Error>>(
        &self,
        symbol: SymbolId,
        mut each: impl FnMut(Relative, SymbolId) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        for outer in self.containers(symbol)? {
            if each(Relative::Container, outer)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let flow = self.seek_until(&self.predicates.member, &of_fact(symbol.0)?, |_, key, _| {
            let Value::Record(fields) = key else { return Ok(ControlFlow::Continue(())) };
            let member = SymbolId(fact(&fields[1]));
            match self.describe(member)?.kind == TYPE_PARAMETER {
                true => Ok(ControlFlow::Continue(())),
                false => each(Relative::Member, member),
            }
        })?;
        if flow.is_break() {
            return Ok(flow);
        }
        let (relation, related) = (&self.predicates.relation, &self.predicates.related);
        for (predicate, kind, relative) in [
            (relation, RelationKind::Implementation, Relative::Implements),
            (related, RelationKind::Implementation, Relative::ImplementedBy),
            (relation, RelationKind::TypeDefinition, Relative::Type),
        ] {
            for other in self.related(predicate, symbol, kind)? {
                if each(relative, other)?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The symbols that contain a symbol, the outermost first.
    fn containers(&self, symbol: SymbolId) -> Result<Vec<SymbolId>> {
        let (mut found, mut inner) = (Vec::new(), symbol);
        while let Some(outer) = self.describe(inner)?.enclosing {
            // A damaged index could have a circle.
            if outer == symbol || found.contains(&outer) {
                break;
            }
            found.push(outer);
            inner = outer;
        }
        found.reverse();
        Ok(found)
    }
}
