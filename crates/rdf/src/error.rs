//! The crate's one error type.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The errors of this crate: what failed, where, and what to do about it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The engine failed: see there.
    Engine(fulgurite::Error),
    /// The database is none that this crate wrote.
    NotAStore {
        /// The database.
        path: PathBuf,
        /// Whether it has no tables at all. Beside a process that has created a store, it has none before the first
        /// checkpoint of that process.
        is_empty: bool,
    },
    /// A store was to be created where there is one.
    StoreExists {
        /// The database.
        path: PathBuf,
    },
    /// Written by a newer version whose layout this one cannot read, or with options that differ from those asked for.
    Unsupported {
        /// The database.
        path: PathBuf,
        /// What was found.
        found: String,
    },
    /// A stored entry cannot have been written by this crate.
    Damaged {
        /// The database.
        path: PathBuf,
        /// The entry.
        place: String,
        /// What is wrong with it.
        offence: String,
    },
    /// A statement has a triple term as its subject, as RDF-star allows and RDF 1.2 does not. RDF4J writes such
    /// statements. They can be read as ids and by SPARQL, but not as statements.
    TripleSubject {
        /// The database.
        path: PathBuf,
    },
    /// A number stands for no term, and no quad has it: a [sweep](crate::Store::sweep) has taken the term away, the
    /// transaction that added it was not committed, or it is the number of another store.
    NoSuchTerm {
        /// The database.
        path: PathBuf,
        /// The number: see [`TermId::to_bits`](crate::TermId::to_bits).
        number: u64,
    },
    /// A bulk load or a sweep waited for another load, or an exclusive writer, for as long as it was allowed to.
    WriterBusy {
        /// The database.
        path: PathBuf,
        /// How long it waited.
        waited: Duration,
    },
    /// A statement of an input breaks the rules of its format.
    Syntax {
        /// The input's name.
        input: String,
        /// The line, from 1; 0 if it is not known.
        line: u64,
        /// The column, from 1, in characters; 0 if it is not known.
        column: u64,
        /// What is wrong.
        message: String,
        /// Whether an IRI is relative and there is no base: the text then says to give one.
        needs_base: bool,
    },
    /// An input could not be read.
    Input {
        /// The input's name.
        input: String,
        /// What the system reports.
        source: io::Error,
    },
    /// A file that keeps what does not fit into memory, of a load or of results, failed, or does not have what was
    /// written to it.
    Scratch {
        /// The file.
        path: PathBuf,
        /// What the system reports.
        source: io::Error,
        /// What to do.
        remedy: &'static str,
    },
    /// The operation was cancelled by its token. Nothing of it is left.
    Cancelled,
    /// Triple terms within triple terms, deeper than the limit.
    TooDeep {
        /// The limit.
        limit: usize,
    },
    /// A query or update cannot be parsed.
    SparqlSyntax {
        /// The line, from 1; 0 if it is not known.
        line: u64,
        /// The column, from 1, in characters; 0 if it is not known.
        column: u64,
        /// The token there, at most 40 characters of it; empty at the end of the text.
        near: String,
        /// What is wrong there, or what was expected instead.
        message: String,
        /// As of [`Error::Syntax`].
        needs_base: bool,
    },
    /// A query or update nests deeper than the limit.
    QueryTooDeep {
        /// The limit.
        limit: usize,
    },
    /// A query or update has more aggregates within each other than the limit.
    AggregatesTooDeep {
        /// The limit.
        limit: usize,
    },
    /// A query or update has more operators and brackets than the limit.
    QueryTooLong {
        /// The limit.
        limit: usize,
    },
    /// The evaluation took longer than its limit.
    TimedOut {
        /// The limit.
        timeout: Duration,
    },
    /// The evaluation came to one of its limits.
    LimitReached {
        /// What there was too much of.
        what: LimitKind,
        /// The limit.
        limit: u64,
    },
    /// There is a limit of memory, and the program counts none: it has no
    /// [`MeteringAllocator`](crate::MeteringAllocator).
    MemoryUncounted {
        /// The limit, in bytes.
        limit: u64,
    },
    /// A query asks another endpoint, and has no [`ServiceHandler`](crate::sparql::ServiceHandler) for that:
    /// [`Query::with_service`](crate::sparql::Query::with_service) gives it one.
    ServiceUnsupported {
        /// The IRI of the endpoint.
        service: String,
    },
    /// Another endpoint that a query asks has given no answer, or one that is of no use.
    Service {
        /// The IRI of the endpoint.
        service: String,
        /// What happened, and what to do.
        message: String,
    },
    /// `LOAD` of what may not be loaded.
    LoadRefused {
        /// The source.
        iri: String,
    },
    /// A graph is not as the update needs it, and the operation is not `SILENT`.
    Graph {
        /// The graph.
        graph: String,
        /// What it is.
        state: &'static str,
    },
    /// A query or update calls a function that there is not.
    FunctionUnknown {
        /// Its IRI.
        iri: String,
    },
    /// A regular expression that goes back and tries again has tried too often.
    PatternExhausted {
        /// Steps after which one match ends.
        steps: u64,
    },
    /// A query cannot be evaluated.
    Evaluation {
        /// What the evaluator reports.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The program met a fault of its own: a panic within an evaluation, which has ended. The store is as it was.
    Internal {
        /// Where, and what the panic says.
        message: String,
    },
    /// A term cannot be written in the form that was asked for. The statement or solution with it was not begun.
    Unwritable {
        /// The term, or its beginning.
        term: String,
        /// The form.
        format: &'static str,
        /// Why it cannot say the term.
        reason: String,
    },
    /// A stored term is not valid RDF, so no format can express it: a program added it unchecked. Nothing of its
    /// statement was written.
    MalformedTerm {
        /// The term, or its beginning.
        term: String,
        /// The graph of its statement, if that is known.
        graph: Option<String>,
        /// What is wrong with it.
        reason: String,
    },
    /// The results could not be written.
    Output {
        /// What the writer reports.
        source: io::Error,
    },
    /// The system gave no thread.
    Thread {
        /// What it reports.
        source: io::Error,
    },
    /// The transaction has been committed or dropped, and its view with it.
    TransactionEnded,
    /// An earlier change of the transaction failed half way, and was not undone.
    TransactionBroken,
    /// An argument or option is outside what is allowed.
    Invalid {
        /// Which one, and what is allowed.
        message: String,
    },
}

/// The limits of an evaluation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LimitKind {
    /// Bytes of memory.
    Memory,
    /// Quads that are read from the store.
    QuadsRead,
    /// Bytes of computed terms.
    ComputedTerms,
    /// Rows that a query returns, or quads that one operation of an update changes.
    Rows,
    /// Entries of a table in memory that numbers them by 32 bits.
    Entries(&'static str),
}

impl fmt::Display for LimitKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Memory => "bytes of memory",
            Self::QuadsRead => "quads read",
            Self::ComputedTerms => "bytes of computed terms",
            Self::Rows => "rows",
            Self::Entries(entries) => entries,
        })
    }
}

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Whether the transaction may succeed when it is begun again: others came in between, nothing was changed.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Engine(error) if error.is_retryable())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => write!(out, "{error}"),
            Self::NotAStore { path, is_empty } => write_not_a_store(out, path, *is_empty),
            Self::StoreExists { path } => write!(out, "{}: there is a store already; open it instead", path.display()),
            Self::Unsupported { path, found } => {
                write!(out, "{}: {found}; open it as it was created, or with a newer version", path.display())
            }
            Self::Damaged { path, place, offence } => {
                write!(out, "{}: {place} is damaged: {offence}; restore a backup", path.display())
            }
            Self::TripleSubject { path } => write_triple_subject(out, path),
            Self::NoSuchTerm { path, number } => write_no_such_term(out, path, *number),
            Self::WriterBusy { path, waited } => write_writer_busy(out, path, *waited),
            Self::Syntax { input, line, column, message, needs_base } => {
                write_syntax(out, input, (*line, *column), message, *needs_base)
            }
            Self::Input { input, source } => write!(out, "{input}: cannot be read: {source}"),
            Self::Scratch { path, source, remedy } => write_scratch(out, path, source, remedy),
            Self::Cancelled => out.write_str("cancelled; nothing was changed"),
            Self::TooDeep { limit } => {
                write!(out, "triple terms are nested deeper than {limit}; name the inner ones by an IRI instead")
            }
            Self::SparqlSyntax { line, column, near, message, needs_base } => {
                write_sparql_syntax(out, (*line, *column), near, message, *needs_base)
            }
            Self::QueryTooDeep { limit } => {
                write!(out, "the SPARQL text nests deeper than {limit}; split it, or use VALUES for long lists")
            }
            Self::AggregatesTooDeep { limit } => {
                write!(out, "aggregates are nested deeper than {limit}; ask for the inner ones by themselves")
            }
            Self::QueryTooLong { limit } => {
                write!(out, "the SPARQL text has more than {limit} operators and brackets; split it")
            }
            Self::TimedOut { timeout } => {
                let seconds = timeout.as_secs_f64();
                write!(out, "not complete after {seconds} s; allow more time, or ask for less")
            }
            Self::LimitReached { what, limit } => {
                write!(out, "the query needs more than {limit} {what}; raise the limit, or ask for less")
            }
            Self::MemoryUncounted { limit } => write_memory_uncounted(out, *limit),
            Self::ServiceUnsupported { service } => write_no_service(out, service),
            Self::Service { service, message } => write!(out, "SERVICE <{service}>: {message}"),
            Self::LoadRefused { iri } => {
                write!(out, "LOAD <{iri}>: only file: IRIs can be loaded, and only where the caller allows it")
            }
            Self::Graph { graph, state } => write!(out, "{graph} {state}; add SILENT to ignore this"),
            Self::FunctionUnknown { iri } => write_function_unknown(out, iri),
            Self::PatternExhausted { steps } => {
                write!(out, "a pattern was not matched in {steps} steps; write one that matches in fewer ways")
            }
            Self::Evaluation { source } => write!(out, "the query cannot be evaluated: {source}"),
            Self::Internal { message } => write_internal(out, message),
            Self::Unwritable { term, format, reason } => write_unwritable(out, term, format, reason),
            Self::MalformedTerm { term, graph, reason } => write_malformed(out, term, graph.as_deref(), reason),
            Self::Output { source } => write!(out, "the results cannot be written: {source}"),
            Self::Thread { source } => {
                let remedy = "free resources, or raise the limits of the process";
                write!(out, "cannot start a thread: {source}; {remedy}")
            }
            Self::TransactionEnded => out.write_str("the transaction has ended; begin another"),
            Self::TransactionBroken => out.write_str(
                "a change failed half way; roll back to a savepoint from before it, or drop the transaction",
            ),
            Self::Invalid { message } => out.write_str(message),
        }
    }
}

fn write_scratch(out: &mut fmt::Formatter<'_>, path: &Path, source: &io::Error, remedy: &str) -> fmt::Result {
    write!(out, "{}: cannot keep what does not fit into memory: {source}; {remedy}", path.display())
}

fn write_not_a_store(out: &mut fmt::Formatter<'_>, path: &Path, is_empty: bool) -> fmt::Result {
    if is_empty {
        return write!(
            out,
            "{}: the database is empty, so it is not an RDF store yet; if another process has created one, it can be \
             read after the first checkpoint of that process, or after that process has closed it",
            path.display()
        );
    }
    write!(out, "{}: a database, but not an RDF store; check the path, or create a store elsewhere", path.display())
}

fn write_function_unknown(out: &mut fmt::Formatter<'_>, iri: &str) -> fmt::Result {
    write!(out, "<{iri}>: there is no such function; the functions with IRIs are the casts, such as xsd:integer")
}

fn write_internal(out: &mut fmt::Formatter<'_>, message: &str) -> fmt::Result {
    write!(out, "internal error: {message}; this is a fault of this program: report it with the query and the data")
}

fn write_no_service(out: &mut fmt::Formatter<'_>, service: &str) -> fmt::Result {
    write!(out, "SERVICE <{service}>: calls to other endpoints are not allowed; load its data, or use SERVICE SILENT")
}

fn write_triple_subject(out: &mut fmt::Formatter<'_>, path: &Path) -> fmt::Result {
    write!(
        out,
        "{}: the subject of a statement is a triple term (RDF-star), which this form of RDF does not have; read it by \
         SPARQL or RDF4J",
        path.display()
    )
}

fn write_no_such_term(out: &mut fmt::Formatter<'_>, path: &Path, number: u64) -> fmt::Result {
    write!(
        out,
        "{}: no term has the number {number:#x}: it was swept or not committed, or is another store's; look the term up \
         again, and check the store if a quad has it",
        path.display()
    )
}

fn write_writer_busy(out: &mut fmt::Formatter<'_>, path: &Path, waited: Duration) -> fmt::Result {
    write!(
        out,
        "{}: another load or writer was still at work after {waited:?}; try again when it has ended, or allow more time \
         by LoadOptions::wait or SweepOptions::wait",
        path.display()
    )
}

fn write_unwritable(out: &mut fmt::Formatter<'_>, term: &str, format: &str, reason: &str) -> fmt::Result {
    write!(out, "{term} cannot be written as {format}: {reason}; choose another form, such as N-Triples or JSON")
}

fn write_malformed(out: &mut fmt::Formatter<'_>, term: &str, graph: Option<&str>, reason: &str) -> fmt::Result {
    write!(out, "{term}")?;
    if let Some(graph) = graph {
        write!(out, ", in {graph},")?;
    }
    write!(
        out,
        " cannot be written as RDF: {reason}; remove or replace its statements: SPARQL finds them by a FILTER with STR, \
         LANG or DATATYPE"
    )
}

fn write_memory_uncounted(out: &mut fmt::Formatter<'_>, limit: u64) -> fmt::Result {
    write!(
        out,
        "a memory limit of {limit} bytes needs a program that counts its memory; add `#[global_allocator] static ALLOCATOR: \
         fulgurite_rdf::MeteringAllocator = fulgurite_rdf::MeteringAllocator::system();` to the program, or remove the limit"
    )
}

fn write_syntax(
    out: &mut fmt::Formatter<'_>,
    input: &str,
    (line, column): (u64, u64),
    message: &str,
    needs_base: bool,
) -> fmt::Result {
    let remedy = if needs_base { GIVE_A_BASE } else { "" };
    match line {
        0 => write!(out, "{input}: {message}{remedy}"),
        _ => write!(out, "{input}:{line}:{column}: {message}{remedy}"),
    }
}

fn write_sparql_syntax(
    out: &mut fmt::Formatter<'_>,
    (line, column): (u64, u64),
    near: &str,
    message: &str,
    needs_base: bool,
) -> fmt::Result {
    let remedy = if needs_base { GIVE_A_BASE } else { "" };
    match (line, near) {
        (0, _) => write!(out, "SPARQL: {message}{remedy}"),
        (_, "") => write!(out, "SPARQL, line {line}, column {column}, at the end: {message}{remedy}"),
        _ => write!(out, "SPARQL, line {line}, column {column}, at `{near}`: {message}{remedy}"),
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Engine(error) => Some(error),
            Self::Input { source, .. }
            | Self::Scratch { source, .. }
            | Self::Output { source }
            | Self::Thread { source } => Some(source),
            Self::Evaluation { source } => Some(source.as_ref()),
            _ => None,
        }
    }
}

impl From<fulgurite::Error> for Error {
    fn from(error: fulgurite::Error) -> Self {
        Self::Engine(error)
    }
}

/// What to do about a relative IRI without a base.
const GIVE_A_BASE: &str = "; give a base IRI";
