//! [`UpdateChanges`]: the changes that an update has made, to make them again.

use oxrdf::{GraphName, NamedNode, NamedOrBlankNode, Quad, Term};

use crate::error::Result;
use crate::sparql::evaluation::heap::HeapBytes;
use crate::{IdPattern, Quads, TermGraphs, TermPattern, Transaction};

/// The changes that an update has made in a transaction. They can be made in another transaction, without evaluating
/// the update again: see [`Update::execute_recorded`](crate::sparql::Update::execute_recorded).
#[derive(Debug, Default)]
pub struct UpdateChanges {
    steps: Vec<Step>,
    bytes: usize,
}

/// A change.
#[derive(Debug)]
pub enum Step {
    Insert(Quad),
    /// Removes the quads of a pattern.
    Remove(TermPattern),
    Create(NamedNode),
    Drop(GraphName),
}

impl UpdateChanges {
    /// About the memory of the changes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes the changes. Calls `check` before each one.
    ///
    /// # Errors
    /// Errors of `check`, and of the methods of [`Transaction`]. Some changes may be made by then.
    pub fn make(&self, transaction: &mut Transaction, mut check: impl FnMut() -> Result<()>) -> Result<()> {
        for step in &self.steps {
            check()?;
            match step {
                Step::Insert(quad) => transaction.insert(quad).map(drop)?,
                Step::Remove(pattern) => {
                    if let Some(pattern) = pattern.ids(&transaction.view())? {
                        transaction.remove_matching(&pattern)?;
                    }
                }
                Step::Create(name) => transaction.create_graph(name.as_ref().into()).map(drop)?,
                Step::Drop(name) => transaction.drop_graph(name.as_ref()).map(drop)?,
            }
        }
        Ok(())
    }
}

/// Keeps the changes of an update while it is executed.
#[derive(Default)]
pub struct Recorder {
    /// `None` if they are not wanted, or too many.
    changes: Option<UpdateChanges>,
    bytes_max: usize,
}

impl Recorder {
    /// Keeps changes of at most about so many bytes.
    pub fn new(bytes_max: usize) -> Self {
        Self { changes: Some(UpdateChanges::default()), bytes_max }
    }

    /// Whether changes are kept.
    pub fn is_on(&self) -> bool {
        self.changes.is_some()
    }

    /// Keeps no changes any more, because one cannot be made again.
    pub fn give_up(&mut self) {
        self.changes = None;
    }

    /// The changes, if all were kept.
    pub fn into_changes(self) -> Option<UpdateChanges> {
        self.changes
    }

    /// Keeps an inserted quad.
    pub fn insert(&mut self, quad: &Quad) {
        if self.is_on() {
            self.keep(Step::Insert(quad.clone()));
        }
    }

    /// Keeps the removal of the quads of a pattern. `view` has its terms.
    ///
    /// # Errors
    /// As [`Quads::term`].
    pub fn remove(&mut self, pattern: &IdPattern, view: &impl Quads) -> Result<()> {
        if self.is_on() {
            self.keep(Step::Remove(TermPattern::of_ids(pattern, view)?));
        }
        Ok(())
    }

    /// Keeps a change.
    pub fn keep(&mut self, step: Step) {
        let Some(changes) = &mut self.changes else { return };
        changes.bytes = changes.bytes.saturating_add(step.bytes());
        if changes.bytes > self.bytes_max {
            self.changes = None;
            return;
        }
        changes.steps.push(step);
    }
}

impl Step {
    /// Removes a quad from some graphs.
    pub fn remove(quad: &Quad, graphs: TermGraphs) -> Self {
        let terms: [Term; 3] = [quad.subject.clone().into(), quad.predicate.clone().into(), quad.object.clone()];
        Self::Remove(TermPattern { terms: terms.map(Some), graphs })
    }

    fn bytes(&self) -> usize {
        let of_terms = match self {
            Self::Insert(quad) => {
                let subject = match &quad.subject {
                    NamedOrBlankNode::NamedNode(name) => name.as_str().len(),
                    NamedOrBlankNode::BlankNode(node) => node.heap_bytes(),
                };
                subject + quad.predicate.as_str().len() + quad.object.heap_bytes() + graph_bytes(&quad.graph_name)
            }
            Self::Remove(TermPattern { terms, graphs }) => {
                let graph = match graphs {
                    TermGraphs::Named(name) => name.heap_bytes(),
                    TermGraphs::All | TermGraphs::Default => 0,
                };
                terms.iter().flatten().map(Term::heap_bytes).sum::<usize>() + graph
            }
            Self::Create(name) => name.as_str().len(),
            Self::Drop(name) => graph_bytes(name),
        };
        size_of::<Self>() + of_terms
    }
}

fn graph_bytes(graph: &GraphName) -> usize {
    match graph {
        GraphName::NamedNode(name) => name.as_str().len(),
        GraphName::BlankNode(node) => node.heap_bytes(),
        GraphName::DefaultGraph => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sparql::{DefaultTargets, DeletedFrom, Update};
    use crate::{Error, Store, StoreOptions};

    /// The quads of a store and its graphs, as texts. Blank nodes have the names of the store.
    fn texts(quads: &impl Quads) -> Vec<String> {
        let statements = quads.statements(&IdPattern::ALL).map(|quad| quad.expect("a quad").to_string());
        let graphs = quads.graph_names().map(|graph| quads.term(graph.expect("a graph")).expect("a name").to_string());
        let mut texts: Vec<String> = statements.chain(graphs).collect();
        texts.sort();
        texts
    }

    #[test]
    fn the_changes_of_an_update_are_the_same_when_they_are_made_again() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = Store::create(directory.path().join("a.ful"), StoreOptions::new()).expect("a store");
        let parse = |text: &str| Update::parse(&format!("PREFIX : <http://a/> {text}"), None).expect("an update");
        let data = "INSERT DATA { :a :p 1 . :b :p 2 . GRAPH :g { :a :p 1 . :c :p 3 } GRAPH :h { :d :p 4 } }";
        parse(data).execute(&store).expect("an update");
        for (text, is_data_only) in [
            ("INSERT DATA { :new :p _:x . _:x :q _:y }", true),
            ("DELETE DATA { :a :p 1 . :c :p 3 }", true),
            ("INSERT DATA { :e :p 5 } ; DELETE { ?s :p ?o } INSERT { ?s :q _:new } WHERE { ?s :p ?o }", false),
            ("DELETE WHERE { GRAPH :g { ?s ?p ?o } }", false),
            ("CREATE GRAPH :empty ; CLEAR GRAPH :g ; DROP GRAPH :h", false),
            ("CLEAR ALL", false),
            ("LOAD SILENT <http://a/refused> ; INSERT DATA { :f :p 6 }", false),
        ] {
            for delete in [DeletedFrom::DefaultGraph, DeletedFrom::AllGraphs] {
                let targets = DefaultTargets { delete, ..DefaultTargets::default() };
                let update = parse(text).with_default_targets(targets);
                assert_eq!(update.is_data_only(), is_data_only, "{text}");
                let mut first = store.begin().expect("a transaction");
                let (_, changes) = update.execute_recorded(&mut first, usize::MAX).expect("an update");
                let changes = changes.expect("all are kept");
                let mut second = store.begin().expect("a transaction");
                changes.make(&mut second, || Ok(())).expect("they are made");
                assert_eq!(texts(&first.view()), texts(&second.view()), "{text}");
                let stopped = changes.make(&mut second, || Err(Error::Cancelled));
                assert!(matches!(stopped, Err(Error::Cancelled)), "{text}");
            }
        }
        let mut full = store.begin().expect("a transaction");
        let (report, changes) =
            parse("INSERT DATA { :z :p 1 , 2 }").execute_recorded(&mut full, 300).expect("an update");
        assert_eq!((report.inserted, changes.is_none()), (2, true));
    }
}
