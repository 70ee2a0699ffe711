//! `SERVICE`: patterns that other endpoints are asked for, by a handler that the program gives.
//!
//! Invariants: (1) an endpoint is asked once for a clause in one evaluation, for all rows beside it; the answer is
//! kept. (2) An answer is read whole before any of its rows is used, so that one that breaks off is an error, and binds
//! nothing with `SILENT`. (3) What is sent is the clause as the text has it, not as it is planned. (4) A failure of the
//! evaluation itself is never silent.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use oxiri::Iri;
use oxrdf::NamedNode;
use spareval::{DefaultServiceHandler, QueryEvaluator, QuerySolutionIter};
use spargebra::algebra::GraphPattern;

use super::answer::Answer;
use super::clause::{self, Clause};
use super::response::{ServiceError, ServiceResponse};
use crate::error::Error;
use crate::sparql::evaluation::interrupt;
use crate::sparql::evaluation::limits::{EvaluationMonitor, Stopped};

/// Asks other endpoints for `SERVICE` clauses, by whatever protocol: see
/// [`Query::with_service`](crate::sparql::Query::with_service).
pub trait ServiceHandler: Send + Sync {
    /// Sends the request's query to its endpoint, and returns the answer. It may be called by several threads at once,
    /// and waits for the answer; while it waits, it has to see whether that [is still
    /// wanted](ServiceRequest::is_wanted).
    ///
    /// Which endpoints may be asked is for the handler to decide: queries name any.
    ///
    /// # Errors
    /// Why there is no answer, and what to do. With `SILENT` the query goes on without.
    fn ask(&self, request: &ServiceRequest<'_>) -> Result<ServiceResponse, ServiceError>;
}

/// What an endpoint is to be asked.
pub struct ServiceRequest<'r> {
    endpoint: &'r NamedNode,
    query: &'r str,
    watch: &'r EvaluationMonitor,
}

impl ServiceRequest<'_> {
    /// The IRI of the endpoint.
    pub fn endpoint(&self) -> &str {
        self.endpoint.as_str()
    }

    /// A `SELECT` in the words of SPARQL.
    pub fn query(&self) -> &str {
        self.query
    }

    /// What is left of the time of the evaluation; `None` if it has no limit.
    pub fn time_left(&self) -> Option<Duration> {
        self.watch.time_left()
    }

    /// Whether the evaluation goes on: it is not cancelled, has time left, and holds no more memory than it may. After
    /// `false` any error will do.
    pub fn is_wanted(&self) -> bool {
        self.watch.step().and_then(|()| self.watch.look()).is_ok()
    }
}

impl fmt::Debug for ServiceRequest<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ServiceRequest")
            .field("endpoint", &self.endpoint)
            .field("query", &self.query)
            .finish_non_exhaustive()
    }
}

/// The handler of a query or update, if it has one.
#[derive(Clone, Default)]
pub(crate) struct Handler(pub(crate) Option<Arc<dyn ServiceHandler>>);

impl fmt::Debug for Handler {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(if self.0.is_some() { "Handler" } else { "None" })
    }
}

/// The evaluator, asking for these clauses.
pub(crate) fn asking(evaluator: QueryEvaluator, handler: &Handler, clauses: Vec<Clause>) -> QueryEvaluator {
    if clauses.is_empty() {
        return evaluator;
    }
    evaluator.with_default_service_handler(Asking { handler: handler.0.clone(), clauses, answers: Mutex::default() })
}

/// The evaluator, asking nobody: every clause has no rows.
pub(crate) fn asking_nobody(evaluator: QueryEvaluator) -> QueryEvaluator {
    evaluator.with_default_service_handler(Nobody)
}

/// For plans: the evaluator begins to evaluate what it only describes.
struct Nobody;

impl DefaultServiceHandler for Nobody {
    type Error = Stopped;

    fn handle(
        &self,
        _endpoint: &NamedNode,
        _pattern: &GraphPattern,
        _base: Option<&Iri<String>>,
    ) -> Result<QuerySolutionIter<'static>, Stopped> {
        Ok(QuerySolutionIter::new(Arc::default(), std::iter::empty()))
    }
}

/// The clauses of one evaluation, and what was answered.
struct Asking {
    handler: Option<Arc<dyn ServiceHandler>>,
    clauses: Vec<Clause>,
    /// By the clause's number and the endpoint; `None` where a silent one has failed. A leaf lock, which one thread
    /// takes.
    answers: Mutex<HashMap<(usize, NamedNode), Option<Answer>>>,
}

impl DefaultServiceHandler for Asking {
    type Error = Stopped;

    fn handle(
        &self,
        endpoint: &NamedNode,
        pattern: &GraphPattern,
        _base: Option<&Iri<String>>,
    ) -> Result<QuerySolutionIter<'static>, Stopped> {
        let watch = interrupt::running().ok_or(Stopped)?;
        let number = clause::number_of(pattern).ok_or(Stopped)?;
        let clause = self.clauses.get(number).ok_or(Stopped)?;
        let key = (number, endpoint.clone());
        let kept = self.answers.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        let answer = match kept {
            Some(answer) => answer,
            None => {
                let answer = interrupt::or_interrupt(self.ask(endpoint, clause, &watch))?;
                self.answers.lock().unwrap_or_else(PoisonError::into_inner).insert(key, answer.clone());
                answer
            }
        };
        // With `SILENT`, the evaluator takes an error for one row that binds nothing.
        answer.map(Answer::into_solutions).ok_or(Stopped)
    }
}

impl Asking {
    /// The answer; `None` if a silent clause has none.
    ///
    /// # Errors
    /// If the evaluation has failed, by this or otherwise.
    fn ask(&self, endpoint: &NamedNode, clause: &Clause, watch: &EvaluationMonitor) -> Result<Option<Answer>, Stopped> {
        watch.step().and_then(|()| watch.look())?;
        let service = || endpoint.as_str().to_owned();
        let asked = match &self.handler {
            None => Err(Error::ServiceUnsupported { service: service() }),
            Some(handler) => {
                let request = ServiceRequest { endpoint, query: &clause.query, watch };
                let response = handler.ask(&request);
                let answer = response.and_then(|response| Answer::read(response, clause, watch));
                answer.map_err(|error| Error::Service { service: service(), message: error.message })
            }
        };
        // What ends the evaluation is no fault of the endpoint, whatever the handler has made of it.
        watch.step().and_then(|()| watch.look())?;
        match asked {
            Ok(answer) => Ok(Some(answer)),
            Err(_) if clause.is_silent => Ok(None),
            Err(error) => Err(watch.fail(error)),
        }
    }
}
