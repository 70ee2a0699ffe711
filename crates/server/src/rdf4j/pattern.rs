//! Patterns of statements, as requests name them.

use fulgurite_rdf::oxrdf::{GraphName, Term, TermRef};
use fulgurite_rdf::{Error, GraphPattern, IdPattern, Quads, StatementKinds, TermGraphs, TermPattern, Transaction};

use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::protocol::document::CancelCheck;
use crate::rdf4j::terms;

/// A pattern of statements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementPattern {
    /// The subject, predicate and object, if given.
    pub terms: [Option<Term>; 3],
    /// The graphs. None: all graphs.
    pub graphs: Vec<GraphName>,
}

impl StatementPattern {
    /// The pattern of `subj`, `pred`, `obj` and `context`.
    ///
    /// # Errors
    /// 400 if one of them is not a term.
    pub fn of(parameters: &Parameters) -> Result<Self, Refusal> {
        let mut pattern = Self { graphs: graphs(parameters)?, ..Self::default() };
        for (term, name) in pattern.terms.iter_mut().zip(["subj", "pred", "obj"]) {
            *term = parameters.at_most_one(name)?.map(|text| terms::term(name, text)).transpose()?;
        }
        Ok(pattern)
    }

    /// The patterns of ids: one, or one for each graph. None if the store lacks a term.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn ids(&self, quads: &impl Quads) -> Result<Vec<IdPattern>, Error> {
        let mut ids = [None; 3];
        for (id, term) in ids.iter_mut().zip(&self.terms) {
            if let Some(term) = term {
                let Some(found) = quads.id(term.as_ref())? else { return Ok(Vec::new()) };
                *id = Some(found);
            }
        }
        let [subject, predicate, object] = ids;
        let pattern = IdPattern { subject, predicate, object, graph: GraphPattern::Any };
        if self.graphs.is_empty() {
            return Ok(vec![pattern]);
        }
        let mut patterns: Vec<IdPattern> = Vec::new();
        for graph in &self.graphs {
            let graph = match graph {
                GraphName::DefaultGraph => Some(GraphPattern::Default),
                GraphName::NamedNode(name) => quads.id(TermRef::from(name))?.map(GraphPattern::Named),
                GraphName::BlankNode(name) => quads.id(TermRef::from(name))?.map(GraphPattern::Named),
            };
            let pattern = graph.map(|graph| IdPattern { graph, ..pattern });
            // A graph that is named twice has its statements once.
            patterns.extend(pattern.filter(|pattern| !patterns.contains(pattern)));
        }
        Ok(patterns)
    }

    /// The patterns of terms: one, or one for each graph.
    pub fn term_patterns(&self) -> Vec<TermPattern> {
        let of = |graphs: TermGraphs| TermPattern { terms: self.terms.clone(), graphs };
        if self.graphs.is_empty() {
            return vec![of(TermGraphs::All)];
        }
        self.graphs.iter().map(|graph| of(graph.clone().into())).collect()
    }

    /// The number of explicit statements.
    ///
    /// # Errors
    /// Errors of the store.
    pub fn count(&self, quads: &impl Quads) -> Result<u64, Error> {
        self.ids(quads)?.iter().try_fold(0, |sum, pattern| Ok(sum + quads.count(pattern)?))
    }

    /// Removes the explicit statements that match, one by one, so that it ends in time.
    ///
    /// # Errors
    /// As [`CancelCheck::check`]; errors of the store.
    pub fn remove(&self, transaction: &mut Transaction, watch: &CancelCheck) -> Result<(), Error> {
        let explicit = transaction.view().of_kinds(StatementKinds::Explicit);
        for pattern in self.ids(&explicit)? {
            for quad in explicit.quads(&pattern) {
                watch.check()?;
                transaction.remove_ids(&quad?)?;
            }
        }
        Ok(())
    }
}

/// The graphs of `context`.
///
/// # Errors
/// 400 if one is not the name of a graph.
pub fn graphs(parameters: &Parameters) -> Result<Vec<GraphName>, Refusal> {
    parameters.all("context").map(|text| terms::graph("context", text)).collect()
}

/// The kinds of statements that a request reads: with `infer=false` only explicit ones.
///
/// # Errors
/// 400 if `infer` is neither `true` nor `false`.
pub fn kinds(parameters: &Parameters) -> Result<StatementKinds, Refusal> {
    Ok(match parameters.flag("infer")? {
        Some(false) => StatementKinds::Explicit,
        Some(true) | None => StatementKinds::All,
    })
}
