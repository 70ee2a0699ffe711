//! The eleven queries of Glean's benchmark of queries, over a database like the benchmark's.
//!
//! For a count of n there are n strings and names `x1` to `xN`, a tenth as many names `y1` …, a function's name for
//! each name, and n facts with a field of every type; the arrays of the last have 1 to n numbers. Nothing is in the
//! twelve languages, whose derived predicates cost nothing but their compilation.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use fulgurite_facts::{
    Error, Expansion, FactDatabase, FactId, PredicateId, QueryLimits, Result, Schema, Store, StoreOptions, Type, Value,
    encode,
};

use super::schema::schema;

/// How a query is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// At once.
    Whole,
    /// One result a page, each page continued from the one before.
    Pages,
    /// A thousand times, on all threads at once.
    Parallel,
    /// As [`Run::Pages`], on an empty database that is stacked on the one with the facts.
    StackedPages,
}

/// A query of the benchmark.
#[derive(Clone, Copy, Debug)]
pub struct BenchQuery {
    /// Its name there.
    pub name: &'static str,
    /// The query.
    pub text: &'static str,
    /// How it is run.
    pub run: Run,
    /// How many results it has for a count.
    pub rows: fn(u64) -> u64,
}

const PAGE: &str = "cxx1.Name \"y\"..";
const PAGE_NESTED: &str = "cxx1.FunctionName { name = \"y\".. }";
/// How often a parallel query runs.
const PARALLEL_RUNS: u64 = 1_000;

/// The queries, in the order of the report.
pub const QUERIES: [BenchQuery; 11] = [
    BenchQuery { name: "simple", text: "sys.Blob \"x1\"", run: Run::Whole, rows: |_| 1 },
    BenchQuery { name: "nested", text: "cxx1.FunctionName { name = \"x1\" }", run: Run::Whole, rows: |_| 1 },
    BenchQuery {
        name: "compile",
        text: "E where codemarkup.SearchByName { name = \"malloc\", entity = E }",
        run: Run::Whole,
        rows: |_| 0,
    },
    BenchQuery {
        name: "compile2",
        text: "U where codemarkup.ResolveLocation { location = { file = \"foo\", span = { 1308, 6 } }, entity = E }; \
               U = codemarkup.EntityUses { target = E }",
        run: Run::Whole,
        rows: |_| 0,
    },
    BenchQuery {
        name: "compile3",
        text: "codemarkup.FileEntityXRefLocations { file = \"foo\" }",
        run: Run::Whole,
        rows: |_| 0,
    },
    BenchQuery { name: "page", text: PAGE, run: Run::Pages, rows: |count| count / 10 },
    BenchQuery { name: "pagenested", text: PAGE_NESTED, run: Run::Pages, rows: |count| count / 10 },
    // Every array begins with 1, and a result comes once.
    BenchQuery {
        name: "array_prefix",
        text: "N where glean.test.Predicate { array_of_nat = [N, ..] }",
        run: Run::Whole,
        rows: |_| 1,
    },
    BenchQuery {
        name: "complex-parallel",
        text: "glean.test.Predicate { string_ = \"x1\" }",
        run: Run::Parallel,
        rows: |_| PARALLEL_RUNS,
    },
    BenchQuery { name: "stacked/page", text: PAGE, run: Run::StackedPages, rows: |count| count / 10 },
    BenchQuery { name: "stacked/pagenested", text: PAGE_NESTED, run: Run::StackedPages, rows: |count| count / 10 },
];

/// The database of the queries, and an empty one that is stacked on it.
pub struct Databases {
    base: FactDatabase,
    stacked: FactDatabase,
    count: u64,
}

impl Databases {
    /// Writes and completes them in `directory`, as `options` says.
    ///
    /// # Errors
    /// Those of the store.
    pub fn create(directory: &Path, options: &StoreOptions, count: u64) -> Result<Self> {
        let schema = || Ok::<_, Error>(Schema::parse("bench.angle", &schema())?);
        let base = FactDatabase::create_with(options.clone(), directory.join("queries.ful"), schema()?)?;
        fill(&base, count)?;
        base.complete()?;
        let on_it = options.clone().base(base.store());
        let stacked = FactDatabase::create_with(on_it, directory.join("stacked.ful"), schema()?)?;
        stacked.complete()?;
        Ok(Self { base, stacked, count })
    }

    /// Runs a query once.
    ///
    /// # Errors
    /// Those of queries; [`Error::Invalid`], if there are more or fewer results than the data dictate.
    pub fn run(&self, query: &BenchQuery) -> Result<()> {
        let rows = match query.run {
            Run::Whole => whole(&self.base, query.text)?,
            Run::Pages => pages(&self.base, query.text)?,
            Run::StackedPages => pages(&self.stacked, query.text)?,
            Run::Parallel => parallel(&self.base, query.text)?,
        };
        let expected = (query.rows)(self.count);
        if rows != expected {
            let what = format!("`{}` has {rows} results, and its data dictate {expected}", query.name);
            return Err(Error::Invalid { fact: FactId::FIRST, what });
        }
        Ok(())
    }
}

/// The results of a query, with the facts that they are, as a client gets them.
fn whole(database: &FactDatabase, text: &str) -> Result<u64> {
    let reader = database.reader()?;
    let page = reader.query(text, &QueryLimits::default())?;
    Ok(reader.print(&page, Expansion::FLAT)?.len() as u64)
}

fn pages(database: &FactDatabase, text: &str) -> Result<u64> {
    let reader = database.reader()?;
    let limits = QueryLimits { results_max: Some(1), ..QueryLimits::default() };
    let mut page = reader.query(text, &limits)?;
    let mut rows = 0;
    loop {
        rows += reader.print(&page, Expansion::FLAT)?.len() as u64;
        let Some(continuation) = page.continuation.take() else { return Ok(rows) };
        page = reader.continue_query(text, &limits, &continuation)?;
    }
}

fn parallel(database: &FactDatabase, text: &str) -> Result<u64> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let left = AtomicUsize::new(PARALLEL_RUNS as usize);
    let take = || left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
    std::thread::scope(|scope| {
        let work = || {
            let mut rows = 0;
            while take() {
                rows += whole(database, text)?;
            }
            Ok(rows)
        };
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a query does not panic")).sum()
    })
}

/// Adds the facts.
fn fill(database: &FactDatabase, count: u64) -> Result<()> {
    let schema = database.schema().clone();
    let of = |name: &str| schema.find(name).ok_or_else(|| Error::NoSchema { path: name.into() });
    let (blob, name, function, all) =
        (of("sys.Blob")?, of("cxx1.Name")?, of("cxx1.FunctionName")?, of("glean.test.Predicate")?);
    let mut writer = Filling { store: database.store(), batch: database.store().batch()?, bytes: 0 };
    let text = |letter: char, n: u64| Value::String(format!("{letter}{n}"));
    let first = writer.define(blob.id, &blob.key, &text('x', 1))?;
    for n in 2..=count {
        writer.define(blob.id, &blob.key, &text('x', n))?;
    }
    for (letter, count) in [('x', count), ('y', count / 10)] {
        for n in 1..=count {
            let name = writer.define(name.id, &name.key, &text(letter, n))?;
            writer.define(function.id, &function.key, &Value::Alternative(0, Box::new(Value::Fact(name))))?;
        }
    }
    for n in 1..=count {
        let Type::Record(fields) = &all.key else { return Err(Error::NoPredicate(all.id)) };
        let fields = fields.iter().map(|field| match &*field.name {
            "string_" => text('x', n),
            "array_of_nat" => Value::Array((1..=n).map(Value::Nat).collect()),
            _ => default_of(&field.ty, first),
        });
        writer.define(all.id, &all.key, &Value::Record(fields.collect()))?;
    }
    writer.batch.commit(None).map(drop)
}

/// Facts that are written in batches which fit the memory. Nothing else writes, so provisional ids are final.
struct Filling<'s> {
    store: &'s Store,
    batch: fulgurite_facts::Batch,
    bytes: usize,
}

impl Filling<'_> {
    fn define(&mut self, predicate: PredicateId, ty: &Type, key: &Value) -> Result<FactId> {
        let key = encode(ty, key)?;
        self.bytes += key.len();
        let id = self.batch.define(predicate, &key, b"")?;
        if self.bytes > BATCH_BYTES {
            self.bytes = 0;
            // The new batch must see the facts of this one.
            let full = std::mem::replace(&mut self.batch, self.store.batch()?);
            full.commit(None)?;
            self.batch = self.store.batch()?;
        }
        Ok(id)
    }
}

/// Bytes of keys in a batch.
const BATCH_BYTES: usize = 32 << 20;

/// The value of a type that is written first. References are to a fact of strings.
fn default_of(ty: &Type, blob: FactId) -> Value {
    match ty {
        Type::Byte => Value::Byte(0),
        Type::Nat => Value::Nat(0),
        Type::String => Value::String(String::new()),
        Type::Bool => Value::Bool(false),
        Type::Array(element) if **element == Type::Byte => Value::Bytes(Vec::new()),
        Type::Array(_) => Value::Array(Vec::new()),
        Type::Set(_) => Value::Set(Vec::new()),
        Type::Record(fields) => Value::Record(fields.iter().map(|field| default_of(&field.ty, blob)).collect()),
        // The alternatives that come first may be facts of the predicate itself.
        Type::Sum(fields) => {
            let last = fields.len() - 1;
            Value::Alternative(last, Box::new(default_of(&fields[last].ty, blob)))
        }
        Type::Enum(_) => Value::Enum(0),
        Type::Maybe(_) => Value::Maybe(None),
        Type::Predicate(_) => Value::Fact(blob),
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_facts::Backend;

    use super::*;
    use crate::suites::facts::store_rows::options;

    #[test]
    fn the_eleven_queries_give_the_rows_that_their_data_dictate() {
        for backend in [Backend::Fulgurite, Backend::Lmdb] {
            let directory = tempfile::tempdir().unwrap();
            let databases = Databases::create(directory.path(), &options(backend), 60).unwrap();
            for query in QUERIES {
                databases.run(&query).unwrap_or_else(|error| panic!("{} in {backend:?}: {error}", query.name));
            }
            // A wrong count is noticed.
            let wrong = BenchQuery { rows: |count| count + 1, ..QUERIES[0] };
            assert!(matches!(databases.run(&wrong), Err(Error::Invalid { .. })));
        }
    }

    /// Nothing is in the languages, so the queries that measure compilation have no results. They would have some.
    #[test]
    fn queries_of_the_languages_find_what_is_there() {
        let directory = tempfile::tempdir().unwrap();
        let schema = Schema::parse("bench.angle", &schema()).unwrap();
        let database = FactDatabase::create(directory.path().join("code.ful"), schema).unwrap();
        let facts = r#"[
            { "predicate": "code.rust.DeclarationLocation.1", "facts": [{ "key": {
                "declaration": { "function": { "key": { "signature": "()", "name": { "key": {
                    "name": { "key": "malloc" }, "scope": { "global_": {} } } } } } },
                "location": { "file": { "key": "foo" }, "span": { "start": 1308, "length": 6 } } } }] },
            { "predicate": "code.rust.Use.1", "facts": [{ "key": {
                "target": { "declaration": { "function": { "key": { "signature": "()", "name": { "key": {
                    "name": { "key": "malloc" }, "scope": { "global_": {} } } } } } } },
                "location": { "file": { "key": "bar" }, "span": { "start": 1, "length": 6 } } } }] },
            { "predicate": "code.rust.FileUse.1", "facts": [{ "key": {
                "file": { "key": "foo" }, "span": { "start": 7, "length": 6 },
                "target": { "declaration": { "function": { "key": { "signature": "()", "name": { "key": {
                    "name": { "key": "malloc" }, "scope": { "global_": {} } } } } } } } } }] }
        ]"#;
        database.write_json(facts.as_bytes(), None).unwrap();
        let reader = database.reader().unwrap();
        for query in QUERIES.iter().filter(|query| query.name.starts_with("compile")) {
            let page = reader.query(query.text, &QueryLimits::default());
            let page = page.unwrap_or_else(|error| panic!("{}: {error}", query.name));
            assert_eq!(page.results.len(), 1, "{}", query.name);
        }
    }
}
