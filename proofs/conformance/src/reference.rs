//! Oxigraph's own evaluation over a set of quads in memory: what our store must not fall behind.

use std::collections::HashSet;
use std::sync::Arc;

use oxiri::Iri;
use oxrdf::{Dataset, GraphName, GraphNameRef, NamedNode, Quad};
use oxrdfio::RdfParser;
use sparesults::{QueryResultsFormat, QueryResultsSerializer};
use spareval::{DeleteInsertQuad, QueryEvaluator, QueryResults};
use spargebra::algebra::GraphTarget;
use spargebra::{GraphUpdateOperation, SparqlParser};

use crate::answer::{Answer, Table};
use crate::subject::{Input, Subject};
use crate::suites::Documents;

/// Quads in memory.
pub struct Reference {
    quads: Dataset,
    /// Named graphs that were created, whether or not they have quads.
    created: HashSet<NamedNode>,
    documents: Arc<Documents>,
}

impl Subject for Reference {
    fn empty(documents: &Arc<Documents>) -> Result<Self, String> {
        Ok(Self { quads: Dataset::new(), created: HashSet::new(), documents: Arc::clone(documents) })
    }

    fn load(&mut self, input: &Input) -> Result<(), String> {
        let parser = RdfParser::from_format(input.format).with_base_iri(input.base).map_err(message)?;
        let parser = parser.with_default_graph(input.graph.clone()).rename_blank_nodes();
        let documents = Arc::clone(&self.documents);
        let quads = parser.for_slice(input.bytes).with_document_loader(move |address| {
            let content = documents.bytes(address)?.to_vec();
            Ok(oxrdfio::LoadedDocument {
                url: address.to_owned(),
                content,
                format: oxrdfio::RdfFormat::JsonLd { profile: oxrdfio::JsonLdProfileSet::empty() },
            })
        });
        let quads = quads.collect::<Result<Vec<Quad>, _>>().map_err(message)?;
        self.quads.extend(quads);
        Ok(())
    }

    fn quads(&self) -> Result<Vec<Quad>, String> {
        Ok(self.quads.iter().map(|quad| quad.into_owned()).collect())
    }

    fn parse_query(text: &str, base: &str) -> Result<(), String> {
        parser(base)?.parse_query(text).map(drop).map_err(message)
    }

    fn parse_update(text: &str, base: &str) -> Result<(), String> {
        parser(base)?.parse_update(text).map(drop).map_err(message)
    }

    fn query(&self, text: &str, base: &str) -> Result<Answer, String> {
        let query = parser(base)?.parse_query(text).map_err(message)?;
        let evaluator = QueryEvaluator::new();
        match evaluator.prepare(&query).execute(&self.quads).map_err(message)? {
            QueryResults::Boolean(value) => Ok(Answer::Boolean(value)),
            QueryResults::Graph(triples) => {
                let quads = triples.map(|triple| Ok(triple.map_err(message)?.in_graph(GraphName::DefaultGraph)));
                quads.collect::<Result<_, String>>().map(Answer::Graph)
            }
            QueryResults::Solutions(solutions) => {
                let variables = solutions.variables().iter().map(|name| name.as_str().to_owned()).collect();
                let rows = solutions.map(|solution| Ok(solution.map_err(message)?.values().to_vec()));
                let rows = rows.collect::<Result<_, String>>()?;
                Ok(Answer::Solutions(Table { variables, rows }))
            }
        }
    }

    fn query_as_text(&self, text: &str, base: &str, ending: &str) -> Result<String, String> {
        let format = QueryResultsFormat::from_extension(ending).ok_or("no such form of results")?;
        let serializer = QueryResultsSerializer::from_format(format);
        let query = parser(base)?.parse_query(text).map_err(message)?;
        let evaluator = QueryEvaluator::new();
        let bytes = match evaluator.prepare(&query).execute(&self.quads).map_err(message)? {
            QueryResults::Boolean(value) => {
                serializer.serialize_boolean_to_writer(Vec::new(), value).map_err(message)?
            }
            QueryResults::Graph(_) => return Err("a graph has no form of results".to_owned()),
            QueryResults::Solutions(solutions) => {
                let variables = solutions.variables().to_vec();
                let mut writer = serializer.serialize_solutions_to_writer(Vec::new(), variables).map_err(message)?;
                for solution in solutions {
                    writer.serialize(&solution.map_err(message)?).map_err(message)?;
                }
                writer.finish().map_err(message)?
            }
        };
        String::from_utf8(bytes).map_err(message)
    }

    fn update(&mut self, text: &str, base: &str) -> Result<(), String> {
        let update = parser(base)?.parse_update(text).map_err(message)?;
        for operation in &update.operations {
            self.operate(operation, update.base_iri.as_ref())?;
        }
        Ok(())
    }
}

impl Reference {
    fn operate(&mut self, operation: &GraphUpdateOperation, base: Option<&Iri<String>>) -> Result<(), String> {
        match operation {
            GraphUpdateOperation::InsertData { data } => {
                self.quads.extend(data.iter().cloned().map(|quad| Quad {
                    subject: quad.subject,
                    predicate: quad.predicate,
                    object: quad.object,
                    graph_name: graph_name(&quad.graph_name),
                }));
                Ok(())
            }
            GraphUpdateOperation::DeleteData { data } => {
                for quad in data {
                    let graph_name = graph_name(&quad.graph_name);
                    let (subject, object) = (quad.subject.clone().into(), quad.object.clone().into());
                    self.quads.remove(&Quad { subject, predicate: quad.predicate.clone(), object, graph_name });
                }
                Ok(())
            }
            GraphUpdateOperation::DeleteInsert { delete, insert, using, pattern } => {
                let evaluator = QueryEvaluator::new();
                let (delete, insert, base) = (delete.clone(), insert.clone(), base.cloned());
                let update = evaluator.prepare_delete_insert(delete, insert, base, using.clone(), pattern);
                let changes = update.execute(&self.quads).map_err(message)?;
                let changes = changes.collect::<Result<Vec<_>, _>>().map_err(message)?;
                self.change(&changes);
                Ok(())
            }
            GraphUpdateOperation::Load { silent, .. } => {
                if *silent {
                    Ok(())
                } else {
                    Err("LOAD needs the Web".to_owned())
                }
            }
            GraphUpdateOperation::Clear { silent, graph } => self.clear(graph, *silent),
            GraphUpdateOperation::Drop { silent, graph } => self.clear(graph, *silent).map(|()| self.forget(graph)),
            GraphUpdateOperation::Create { silent, graph } => {
                if self.has_graph(graph) && !silent {
                    return Err(format!("{graph} exists"));
                }
                self.created.insert(graph.clone());
                Ok(())
            }
        }
    }

    /// Deletes come before inserts, whichever solution they are from.
    fn change(&mut self, changes: &[DeleteInsertQuad]) {
        for change in changes {
            if let DeleteInsertQuad::Delete(quad) = change {
                self.quads.remove(quad);
            }
        }
        for change in changes {
            if let DeleteInsertQuad::Insert(quad) = change {
                self.quads.insert(quad);
            }
        }
    }

    fn has_graph(&self, graph: &NamedNode) -> bool {
        self.created.contains(graph) || self.quads.quads_for_graph_name(graph.as_ref()).next().is_some()
    }

    fn clear(&mut self, graph: &GraphTarget, silent: bool) -> Result<(), String> {
        if let GraphTarget::NamedNode(name) = graph
            && !silent
            && !self.has_graph(name)
        {
            return Err(format!("there is no graph {name}"));
        }
        let covers = |name: GraphNameRef| match graph {
            GraphTarget::NamedNode(only) => name == only.as_ref().into(),
            GraphTarget::DefaultGraph => name.is_default_graph(),
            GraphTarget::NamedGraphs => !name.is_default_graph(),
            GraphTarget::AllGraphs => true,
        };
        let quads = std::mem::take(&mut self.quads);
        self.quads = quads.iter().filter(|quad| !covers(quad.graph_name)).collect();
        Ok(())
    }

    fn forget(&mut self, graph: &GraphTarget) {
        match graph {
            GraphTarget::NamedNode(name) => drop(self.created.remove(name)),
            GraphTarget::NamedGraphs | GraphTarget::AllGraphs => self.created.clear(),
            GraphTarget::DefaultGraph => {}
        }
    }
}

fn graph_name(name: &spargebra::term::GraphName) -> GraphName {
    match name {
        spargebra::term::GraphName::NamedNode(name) => name.clone().into(),
        spargebra::term::GraphName::DefaultGraph => GraphName::DefaultGraph,
    }
}

fn parser(base: &str) -> Result<SparqlParser, String> {
    SparqlParser::new().with_base_iri(base).map_err(message)
}

fn message(error: impl std::fmt::Display) -> String {
    error.to_string()
}
