//! What the evaluator reads through: quads of the evaluation's scope, step by step under its watch.
//!
//! Invariants: (1) the evaluator knows one default graph and the named graphs of the scope; which stored graphs these
//! are is decided here. (2) A triple of a merged default graph is returned once. (3) A failure ends the evaluation at
//! once ([`interrupt`](super::interrupt)); where it cannot, iterators end and new ones are empty.

use std::collections::HashSet;
use std::rc::Rc;

use oxrdf::Term;
use spareval::{ExpressionTerm, InternalQuad, QueryableDataset};

use super::evaluation_term::EvaluationTerm;
use super::interrupt::{HeldTerm, or_interrupt};
use super::limits::{EvaluationMonitor, Stopped};
use super::scope::{DefaultGraph, Scope};
use super::sort_tables::TermValues;
use super::terms::Terms;
use crate::dictionary::seeded_hash::SeededHash;
use crate::meter;
use crate::sparql::evaluation::best_rows::Best;
use crate::{Error, GraphNames, GraphPattern, IdPattern, IdQuad, Position, QuadIds, Quads, TermId};

/// Triples of named graphs that a union remembers, to recognise those that it has returned. Beyond that it asks the
/// store.
const REMEMBERED_MAX: usize = 1 << 20;

/// Quads that are held to be gone over from their end: some megabytes.
const REVERSED_MAX: u64 = 1 << 18;

/// One evaluation's dataset.
pub(crate) struct EvaluationDataset<Q> {
    terms: Terms<Q>,
    scope: Rc<Scope>,
}

impl<Q: Quads> EvaluationDataset<Q> {
    pub(crate) fn new(terms: Terms<Q>, scope: Rc<Scope>) -> Self {
        Self { terms, scope }
    }

    fn step(&self) -> Result<(), Stopped> {
        self.terms.watch().step()
    }

    /// The quads in their order, if these are what the rows of a result that is cut off are sorted by.
    fn sorted(&self, triple: Triple) -> Option<Source<Q>> {
        let best = self.terms.best()?;
        if triple.predicate != Some(best.predicate()?) || triple.subject.is_some() || triple.object.is_some() {
            return None;
        }
        let pattern = triple.within(GraphPattern::Default);
        let quads = self.terms.quads();
        if best.is_descending() {
            let is_small = quads.counts_fast(&pattern)
                && meter::uncounted(|| quads.count(&pattern)).is_ok_and(|count| count <= REVERSED_MAX);
            is_small.then_some(())?;
        }
        let quads = quads.quads_sorted_by(&pattern, Position::Object).filter(|quads| !quads.goes_over_others())?;
        Some(Source::Sorted(Box::new(Sorted { quads, best: Rc::clone(best), read: None })))
    }

    /// The source of a pattern's quads. `None`: there can be none.
    fn source(&self, triple: Triple, graph: Option<Option<EvaluationTerm>>) -> Option<Source<Q>> {
        let quads = self.terms.quads();
        let is_stored_default = matches!((graph, &self.scope.default), (Some(None), DefaultGraph::Stored));
        if let (true, Some(quad)) = (is_stored_default, triple.in_default_graph()) {
            return Some(Source::One { quads: quads.clone(), quad: Some(quad) });
        }
        match graph {
            Some(None) => Some(match &self.scope.default {
                DefaultGraph::Stored => self
                    .sorted(triple)
                    .unwrap_or_else(|| Source::Plain(quads.quads(&triple.within(GraphPattern::Default)))),
                DefaultGraph::Union => Source::Union(Box::new(Union::new(quads.clone(), triple))),
                DefaultGraph::Merge(graphs) => Source::Merge(Box::new(Merge::new(quads.clone(), triple, graphs))),
            }),
            Some(Some(graph)) => match graph {
                EvaluationTerm::Stored(id) if id != TermId::DEFAULT_GRAPH && self.scope.allows(graph) => {
                    Some(Source::Plain(quads.quads(&triple.within(GraphPattern::Named(id)))))
                }
                _ => None,
            },
            None => Some(match &self.scope.named {
                None => Source::Plain(quads.quads(&triple.within(GraphPattern::AnyNamed))),
                Some(_) => Source::Listed(Box::new(Listed {
                    quads: quads.clone(),
                    triple,
                    scope: Rc::clone(&self.scope),
                    next: 0,
                    current: None,
                })),
            }),
        }
    }
}

/// Quads of one predicate in the order in which rows are sorted by their objects, without those whose rows cannot be in
/// the result.
struct Sorted {
    quads: QuadIds,
    best: Rc<Best>,
    /// Where the high come first: all quads, once they are read.
    read: Option<Vec<IdQuad>>,
}

impl Sorted {
    fn next(&mut self, watch: &EvaluationMonitor) -> Result<Option<IdQuad>, Stopped> {
        if self.best.is_descending() && self.read.is_none() {
            let mut read = Vec::new();
            while let Some(quad) = step(&mut self.quads, watch)? {
                read.push(quad);
            }
            self.read = Some(read);
        }
        loop {
            let quad = match &mut self.read {
                None => step(&mut self.quads, watch)?,
                Some(read) => {
                    watch.step()?;
                    read.pop()
                }
            };
            if quad.is_none_or(|quad| self.best.may_have(quad.object)) {
                return Ok(quad);
            }
        }
    }
}

/// A pattern's three terms.
#[derive(Clone, Copy)]
struct Triple {
    subject: Option<TermId>,
    predicate: Option<TermId>,
    object: Option<TermId>,
}

impl Triple {
    /// `None` if one of the terms is not in the store.
    fn of(terms: [Option<&HeldTerm>; 3]) -> Option<Self> {
        let mut ids = [None; 3];
        for (id, term) in ids.iter_mut().zip(terms) {
            *id = match term.map(HeldTerm::term) {
                None => None,
                Some(EvaluationTerm::Stored(id)) => Some(id),
                Some(_) => return None,
            };
        }
        let [subject, predicate, object] = ids;
        Some(Self { subject, predicate, object })
    }

    /// The one quad that it can be in the default graph, if all three terms are bound.
    fn in_default_graph(self) -> Option<IdQuad> {
        let (subject, predicate, object) = (self.subject?, self.predicate?, self.object?);
        Some(IdQuad { subject, predicate, object, graph: TermId::DEFAULT_GRAPH })
    }

    fn within(self, graph: GraphPattern) -> IdPattern {
        let Self { subject, predicate, object } = self;
        IdPattern { subject, predicate, object, graph }
    }
}

/// Where the quads of a pattern come from.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly all are plain ones, and a box would be one more allocation for each look-up"
)]
enum Source<Q> {
    Plain(QuadIds),
    /// This one, if it is there.
    One {
        quads: Q,
        quad: Option<IdQuad>,
    },
    // Boxed: each look-up moves its source a few times, and is a plain one nearly always.
    Sorted(Box<Sorted>),
    Merge(Box<Merge<Q>>),
    Union(Box<Union<Q>>),
    Listed(Box<Listed<Q>>),
}

impl<Q: Quads> Source<Q> {
    fn next(&mut self, watch: &EvaluationMonitor) -> Result<Option<IdQuad>, Stopped> {
        match self {
            Self::Plain(quads) => step(quads, watch),
            Self::One { quads, quad } => {
                watch.step()?;
                let Some(quad) = quad.take() else { return Ok(None) };
                if !contains(quads, &quad, watch)? {
                    return Ok(None);
                }
                watch.count_quad()?;
                Ok(Some(quad))
            }
            Self::Sorted(sorted) => sorted.next(watch),
            Self::Merge(merge) => merge.next(watch),
            Self::Union(union) => union.next(watch),
            Self::Listed(listed) => listed.next(watch),
        }
    }
}

/// The next quad, under the watch.
fn step(quads: &mut QuadIds, watch: &EvaluationMonitor) -> Result<Option<IdQuad>, Stopped> {
    watch.step()?;
    match quads.next() {
        None => Ok(None),
        Some(quad) => {
            watch.count_quad()?;
            watch.keep(quad).map(Some)
        }
    }
}

fn contains(quads: &impl Quads, quad: &IdQuad, watch: &EvaluationMonitor) -> Result<bool, Stopped> {
    watch.keep(meter::uncounted(|| quads.contains(quad)))
}

/// The named graphs that are allowed, one after the other.
struct Listed<Q> {
    quads: Q,
    triple: Triple,
    scope: Rc<Scope>,
    next: usize,
    current: Option<QuadIds>,
}

impl<Q: Quads> Listed<Q> {
    fn next(&mut self, watch: &EvaluationMonitor) -> Result<Option<IdQuad>, Stopped> {
        loop {
            if let Some(open) = &mut self.current {
                if let Some(quad) = step(open, watch)? {
                    return Ok(Some(quad));
                }
                self.current = None;
            }
            let Some(graph) = self.scope.named.as_ref().and_then(|named| named.names().get(self.next)) else {
                return Ok(None);
            };
            self.next += 1;
            if let EvaluationTerm::Stored(id) = graph {
                self.current = Some(self.quads.quads(&self.triple.within(GraphPattern::Named(*id))));
            }
        }
    }
}

/// Some graphs as one: a triple comes from the first of them that has it.
struct Merge<Q> {
    quads: Q,
    triple: Triple,
    graphs: Vec<TermId>,
    next: usize,
    current: Option<QuadIds>,
}

impl<Q: Quads> Merge<Q> {
    fn new(quads: Q, triple: Triple, graphs: &[TermId]) -> Self {
        Self { quads, triple, graphs: graphs.to_vec(), next: 0, current: None }
    }

    fn next(&mut self, watch: &EvaluationMonitor) -> Result<Option<IdQuad>, Stopped> {
        loop {
            if let Some(open) = &mut self.current {
                match step(open, watch)? {
                    None => self.current = None,
                    Some(quad) if self.is_in_an_earlier_graph(quad, watch)? => {}
                    Some(quad) => return Ok(Some(quad)),
                }
                continue;
            }
            let Some(graph) = self.graphs.get(self.next) else { return Ok(None) };
            self.next += 1;
            self.current = Some(self.quads.quads(&self.triple.within(GraphPattern::Named(*graph))));
        }
    }

    fn is_in_an_earlier_graph(&self, quad: IdQuad, watch: &EvaluationMonitor) -> Result<bool, Stopped> {
        for graph in &self.graphs[..self.next - 1] {
            if contains(&self.quads, &IdQuad { graph: *graph, ..quad }, watch)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// All graphs as one: the default graph's triples, then those of named graphs that it has not, each once.
struct Union<Q> {
    quads: Q,
    triple: Triple,
    current: QuadIds,
    in_named: bool,
    default_has_some: bool,
    last: Option<IdQuad>,
    remembered: HashSet<[TermId; 3], SeededHash>,
}

impl<Q: Quads> Union<Q> {
    fn new(quads: Q, triple: Triple) -> Self {
        let current = quads.quads(&triple.within(GraphPattern::Default));
        Self {
            quads,
            triple,
            current,
            in_named: false,
            default_has_some: false,
            last: None,
            remembered: HashSet::default(),
        }
    }

    fn next(&mut self, watch: &EvaluationMonitor) -> Result<Option<IdQuad>, Stopped> {
        loop {
            match step(&mut self.current, watch)? {
                Some(quad) if !self.in_named => {
                    self.default_has_some = true;
                    return Ok(Some(quad));
                }
                Some(quad) => {
                    if self.is_new(quad, watch)? {
                        return Ok(Some(quad));
                    }
                }
                None if self.in_named => return Ok(None),
                None => {
                    self.in_named = true;
                    self.current = self.quads.quads(&self.triple.within(GraphPattern::AnyNamed));
                }
            }
        }
    }

    /// Whether no graph before the quad's has its triple.
    fn is_new(&mut self, quad: IdQuad, watch: &EvaluationMonitor) -> Result<bool, Stopped> {
        let same = |other: IdQuad| IdQuad { graph: quad.graph, ..other } == quad;
        if self.last.is_some_and(same) {
            return Ok(false);
        }
        self.last = Some(quad);
        let default = IdQuad { graph: TermId::DEFAULT_GRAPH, ..quad };
        if self.default_has_some && contains(&self.quads, &default, watch)? {
            return Ok(false);
        }
        // Where the graph is the last place of the order, copies of a triple are neighbours, and `last` has told.
        if self.current.order().last() == Some(&crate::Position::Graph) {
            return Ok(true);
        }
        let triple = [quad.subject, quad.predicate, quad.object];
        if self.remembered.contains(&triple) {
            return Ok(false);
        }
        if self.remembered.len() < REMEMBERED_MAX {
            self.remembered.insert(triple);
            return Ok(true);
        }
        self.is_first_of_named(quad, watch)
    }

    /// Whether the quad's graph is the first that the store returns for its triple. Only for triples that are not
    /// remembered: of the graphs of such a triple none has been returned, and this picks the same one whichever comes
    /// along.
    fn is_first_of_named(&self, quad: IdQuad, watch: &EvaluationMonitor) -> Result<bool, Stopped> {
        let IdQuad { subject, predicate, object, graph } = quad;
        let triple = Triple { subject: Some(subject), predicate: Some(predicate), object: Some(object) };
        let first = self.quads.quads(&triple.within(GraphPattern::AnyNamed)).next().transpose();
        Ok(watch.keep(first)?.is_none_or(|first| first.graph == graph))
    }
}

/// Quads of a pattern, as the evaluator takes them.
pub(crate) struct Steps<Q> {
    source: Option<Source<Q>>,
    watch: EvaluationMonitor,
}

impl<Q: Quads> Iterator for Steps<Q> {
    type Item = Result<InternalQuad<HeldTerm>, Stopped>;

    fn next(&mut self) -> Option<Self::Item> {
        let source = self.source.as_mut()?;
        let held = |id| HeldTerm::from(EvaluationTerm::Stored(id));
        match or_interrupt(source.next(&self.watch)) {
            Ok(Some(quad)) => Some(Ok(InternalQuad {
                subject: held(quad.subject),
                predicate: held(quad.predicate),
                object: held(quad.object),
                graph_name: (quad.graph != TermId::DEFAULT_GRAPH).then(|| held(quad.graph)),
            })),
            Ok(None) => {
                self.source = None;
                None
            }
            Err(stopped) => {
                self.source = None;
                Some(Err(stopped))
            }
        }
    }
}

/// The names of the scope's named graphs.
pub(crate) enum GraphTerms {
    Listed(std::vec::IntoIter<EvaluationTerm>),
    Stored(GraphNames, EvaluationMonitor),
    Ended,
}

impl Iterator for GraphTerms {
    type Item = Result<HeldTerm, Stopped>;

    fn next(&mut self) -> Option<Self::Item> {
        let name = match self {
            Self::Listed(names) => return names.next().map(|name| Ok(name.into())),
            Self::Ended => return None,
            Self::Stored(names, watch) => watch.step().and_then(|()| watch.keep(names.next().transpose())),
        };
        if !matches!(name, Ok(Some(_))) {
            *self = Self::Ended;
        }
        or_interrupt(name).map(|name| name.map(|id| EvaluationTerm::Stored(id).into())).transpose()
    }
}

impl<Q: Quads> QueryableDataset<'static> for EvaluationDataset<Q> {
    type InternalTerm = HeldTerm;
    type Error = Stopped;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&HeldTerm>,
        predicate: Option<&HeldTerm>,
        object: Option<&HeldTerm>,
        graph_name: Option<Option<&HeldTerm>>,
    ) -> impl Iterator<Item = Result<InternalQuad<HeldTerm>, Stopped>> + use<Q> {
        let watch = self.terms.watch().clone();
        let source = if watch.has_failed() {
            None
        } else {
            Triple::of([subject, predicate, object])
                .and_then(|triple| self.source(triple, graph_name.map(|graph| graph.map(HeldTerm::term))))
        };
        Steps { source, watch }
    }

    fn internal_named_graphs(&self) -> impl Iterator<Item = Result<HeldTerm, Stopped>> + use<Q> {
        match &self.scope.named {
            Some(names) => GraphTerms::Listed(names.names().to_vec().into_iter()),
            None if self.terms.watch().has_failed() => GraphTerms::Ended,
            None => GraphTerms::Stored(self.terms.quads().graph_names(), self.terms.watch().clone()),
        }
    }

    fn contains_internal_graph_name(&self, graph_name: &HeldTerm) -> Result<bool, Stopped> {
        let watch = self.terms.watch();
        or_interrupt(watch.step().and_then(|()| match (&self.scope.named, graph_name.term()) {
            (Some(named), graph) => Ok(named.contains(graph)),
            (None, EvaluationTerm::Stored(id)) if id != TermId::DEFAULT_GRAPH => {
                watch.keep(meter::uncounted(|| self.terms.quads().contains_graph(id)))
            }
            _ => Ok(false),
        }))
    }

    fn internalize_term(&self, term: Term) -> Result<HeldTerm, Stopped> {
        or_interrupt(self.step().and_then(|()| self.terms.internalize(term))).map(HeldTerm::from)
    }

    fn externalize_term(&self, term: HeldTerm) -> Result<Term, Stopped> {
        or_interrupt(self.step().and_then(|()| self.terms.externalize(term.term())))
    }

    fn externalize_expression_term(&self, term: HeldTerm) -> Result<ExpressionTerm, Stopped> {
        or_interrupt(self.step().and_then(|()| match term.wanted_form() {
            None => self.terms.externalize_expression(term.term()),
            Some(form) => self.terms.externalize_in_form(term.term(), form),
        }))
    }

    fn internalize_expression_term(&self, term: ExpressionTerm) -> Result<HeldTerm, Stopped> {
        or_interrupt(self.step().and_then(|()| self.terms.internalize_expression(term))).map(HeldTerm::from)
    }

    fn internal_term_effective_boolean_value(&self, term: HeldTerm) -> Result<Option<bool>, Stopped> {
        or_interrupt(self.step().and_then(|()| match term.wanted_form() {
            None => self.terms.effective_boolean_value(term.term()),
            Some(form) => self.terms.effective_boolean_value_in_form(term.term(), form),
        }))
    }
}

/// What an error of the evaluator is to the caller: the watch's failure, if that is behind it.
pub(crate) fn failure(watch: &EvaluationMonitor, error: spareval::QueryEvaluationError) -> Error {
    use spareval::QueryEvaluationError as E;
    if let Some(failure) = watch.take_failure() {
        return failure;
    }
    match error {
        E::UnboundService => Error::Invalid {
            message:
                "SERVICE of a variable that nothing beside it binds; bind it to the IRI of an endpoint, as by VALUES"
                    .to_owned(),
        },
        E::InvalidServiceName(name) => Error::Invalid {
            message: format!("SERVICE {name}: this is not an IRI; bind the variable to the IRI of an endpoint"),
        },
        E::UnsupportedCustomFunction(name) => Error::FunctionUnknown { iri: name.into_string() },
        E::Cancelled => Error::Cancelled,
        // The evaluator says that of terms that the query binds, too, and no term of a store is one.
        E::InvalidStorageTripleTerm => Error::Evaluation {
            source: "a variable within a triple term is bound to a term that cannot be there; use another variable \
                     there, and compare both in a FILTER"
                .into(),
        },
        source => Error::Evaluation { source: Box::new(source) },
    }
}
