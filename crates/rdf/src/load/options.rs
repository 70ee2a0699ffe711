//! Options and reports of bulk loads.

use std::fmt;
use std::io::Read;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use oxrdf::GraphName;
use oxrdfio::RdfFormat;
use spareval::CancellationToken;

/// An input of a load. Compression (gzip, bzip2, xz, zstd) is detected by the first bytes. A file with the extension of
/// a compression must have these bytes.
pub struct LoadInput {
    pub(crate) name: String,
    pub(crate) source: Source,
    pub(crate) format: Option<RdfFormat>,
    pub(crate) graph: GraphName,
    pub(crate) base: Option<String>,
}

pub(crate) enum Source {
    File(PathBuf),
    Reader(Box<dyn Read + Send>),
}

impl LoadInput {
    /// A file. Its extension determines the format (`.nt`, `.nq`, `.ttl`, `.trig`, `.rdf`, `.owl`, `.jsonld`, before
    /// `.gz`, `.bz2`, `.xz` or `.zst`).
    pub fn file(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref().to_path_buf();
        let name = path.display().to_string();
        Self { name, source: Source::File(path), format: None, graph: GraphName::DefaultGraph, base: None }
    }

    /// A stream. `name` appears in error messages.
    pub fn reader(name: impl Into<String>, reader: impl Read + Send + 'static, format: RdfFormat) -> Self {
        let source = Source::Reader(Box::new(reader));
        Self { name: name.into(), source, format: Some(format), graph: GraphName::DefaultGraph, base: None }
    }

    /// Sets the format, in place of the one of the file's extension.
    #[must_use]
    pub fn format(mut self, format: RdfFormat) -> Self {
        self.format = Some(format);
        self
    }

    /// Sets the graph of statements without a graph name. Default: the default graph.
    #[must_use]
    pub fn graph(mut self, graph: impl Into<GraphName>) -> Self {
        self.graph = graph.into();
        self
    }

    /// Sets the base of relative IRIs. Default: none. Without a base, relative IRIs are errors; in JSON-LD their
    /// statements are dropped (see [`LoadReport::without_base`]).
    #[must_use]
    pub fn base(mut self, base: impl Into<String>) -> Self {
        self.base = Some(base.into());
        self
    }
}

impl fmt::Debug for LoadInput {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("LoadInput").field("name", &self.name).finish_non_exhaustive()
    }
}

/// The progress of a running load.
type Progress = Arc<dyn Fn(&LoadProgress) + Send + Sync>;

/// How documents that an input refers to are got: from their IRI their bytes, or why there are none.
pub(crate) type DocumentLoader =
    Arc<dyn Fn(&str) -> Result<Vec<u8>, String> + Send + Sync + UnwindSafe + RefUnwindSafe>;

/// Options of [`Store::load`](crate::Store::load).
#[derive(Clone, Default)]
pub struct LoadOptions {
    pub(crate) lenient: bool,
    pub(crate) memory_bytes: Option<usize>,
    pub(crate) threads: Option<usize>,
    pub(crate) progress: Option<Progress>,
    pub(crate) cancellation: Option<CancellationToken>,
    pub(crate) document_loader: Option<DocumentLoader>,
    pub(crate) wait: Option<Duration>,
    /// Whatever the sizes say.
    #[cfg(test)]
    pub(crate) method: Option<LoadMethod>,
    /// Changes what is read of the scratch file.
    #[cfg(test)]
    pub(crate) scratch_damage: Option<u64>,
}

impl LoadOptions {
    /// Returns the defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets whether to skip and count statements with syntax errors. Default: `false`; the first one ends the load.
    ///
    /// In RDF/XML and JSON-LD the next statement cannot be found after an error, so the rest of the document is skipped
    /// too. [`BadStatement::message`] says so. Input that is nested too deeply ends the load in any case.
    #[must_use]
    pub fn lenient(mut self, lenient: bool) -> Self {
        self.lenient = lenient;
        self
    }

    /// Sets the approximate memory of the sort, in bytes. Default: 512 MiB. The minimum is 64 KiB.
    #[must_use]
    pub fn memory_bytes(mut self, bytes: usize) -> Self {
        self.memory_bytes = Some(bytes);
        self
    }

    /// Sets the number of parser threads, from 1 to 256. Default: the number of processors.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Sets how long to wait, after parsing, for another load or an exclusive transaction. Default: ten minutes. After
    /// that the load returns [`Error::WriterBusy`](crate::Error::WriterBusy).
    #[must_use]
    pub fn wait(mut self, timeout: Duration) -> Self {
        self.wait = Some(timeout);
        self
    }

    /// Sets a function that is called with the progress, a few times per second, on threads of the load. It must not
    /// write to the store or close it: both may wait for the load.
    #[must_use]
    pub fn progress(mut self, progress: impl Fn(&LoadProgress) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(progress));
        self
    }

    /// Sets a function that returns remote JSON-LD contexts by their IRIs. Default: none; remote contexts are errors.
    /// The loader itself never accesses the network.
    #[must_use]
    pub fn document_loader(
        mut self,
        loader: impl Fn(&str) -> Result<Vec<u8>, String> + Send + Sync + UnwindSafe + RefUnwindSafe + 'static,
    ) -> Self {
        self.document_loader = Some(Arc::new(loader));
        self
    }

    /// Sets a token that cancels the load. A cancelled load changes nothing.
    #[must_use]
    pub fn cancellation(mut self, token: CancellationToken) -> Self {
        self.cancellation = Some(token);
        self
    }
}

impl fmt::Debug for LoadOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("LoadOptions").field("lenient", &self.lenient).finish_non_exhaustive()
    }
}

/// The progress of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadProgress {
    /// The current step: `parsing`, `waiting for writers`, `numbering terms`, `building terms`, `building indexes`, in
    /// this order.
    pub stage: &'static str,
    /// Bytes read from the inputs, before decompression.
    pub bytes_read: u64,
    /// Bytes of all input files. Streams do not count.
    pub bytes_total: u64,
    /// The number of statements parsed.
    pub quads: u64,
    /// Time since the load began.
    pub elapsed: Duration,
}

/// The result of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// The number of statements read.
    pub read: u64,
    /// The number of quads that were new.
    pub inserted: u64,
    /// The number of terms that were new.
    pub new_terms: u64,
    /// The number of skipped statements (see [`LoadOptions::lenient`]). In JSON-LD, statements with an IRI, a blank
    /// node label or a language tag that is not valid are skipped by every load, as the specification requires.
    pub skipped: u64,
    /// The first few skipped statements.
    pub skipped_first: Vec<BadStatement>,
    /// The number of JSON-LD statements that were dropped, as the specification requires, because they have a relative
    /// IRI and their input has no base.
    pub without_base: u64,
    /// The duration of the load.
    pub elapsed: Duration,
}

/// A statement with a syntax error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadStatement {
    /// The name of the input.
    pub input: String,
    /// The line, from 1; 0 if it is not known.
    pub line: u64,
    /// The column, from 1, in characters; 0 if it is not known.
    pub column: u64,
    /// The error, and whether the rest of the input was skipped because of it.
    pub message: String,
    /// Whether an IRI is relative and there is no base: [`LoadInput::base`] gives one.
    pub needs_base: bool,
}

/// How a load writes its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadMethod {
    /// It builds new trees.
    Trees,
    /// It puts them in one transaction.
    Transaction,
}

impl LoadMethod {
    /// The faster method for a load of `quads` into a store that has `stored` quads.
    pub fn of(quads: u64, stored: u64) -> Self {
        if quads.saturating_mul(STORED_PER_QUAD) < stored { Self::Transaction } else { Self::Trees }
    }
}

/// If the store has more than so many quads for each loaded quad, the load uses a transaction.
const STORED_PER_QUAD: u64 = 100;
