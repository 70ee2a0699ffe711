//! Patterns of quads as terms.

use fulgurite_rdf::oxrdf::Term;
use fulgurite_rdf::{GraphPattern, IdPattern, Quads};

use crate::error::Result;

/// The graphs of a pattern.
#[derive(Clone)]
pub enum Graphs {
    /// All graphs.
    All,
    /// The default graph.
    Default,
    /// A named graph.
    Named(Term),
}

/// The pattern of these terms. `None` if the store lacks one of them.
///
/// # Errors
/// Errors of the store.
pub fn pattern(view: &impl Quads, terms: &[Option<Term>; 3], graphs: &Graphs) -> Result<Option<IdPattern>> {
    let mut ids = [None; 3];
    for (id, term) in ids.iter_mut().zip(terms) {
        if let Some(term) = term {
            let Some(found) = view.id(term.as_ref())? else { return Ok(None) };
            *id = Some(found);
        }
    }
    let graph = match graphs {
        Graphs::All => GraphPattern::Any,
        Graphs::Default => GraphPattern::Default,
        Graphs::Named(name) => match view.id(name.as_ref())? {
            Some(id) => GraphPattern::Named(id),
            None => return Ok(None),
        },
    };
    let [subject, predicate, object] = ids;
    Ok(Some(IdPattern { subject, predicate, object, graph }))
}
