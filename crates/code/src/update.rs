//! Writing an index, whole or as an incremental database with what has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fulgurite::{Database, Durability};
use fulgurite_facts::{FactDatabase, Store, StoreOptions, Value, decode};

use crate::error::{Error, Result};
use crate::model::{EXTERNAL_UNIT, TOOLS_UNIT};
use crate::schema::{Kind, Predicates, code_schema};
use crate::source::Source;
use crate::stack::{
    INCREMENTS_MAX, IndexLock, Unfinished, increment_path, remove_increments, remove_unfinished, sound_files,
    stacked_on,
};
use crate::writing::Writer;

/// The current step of an update, for progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It compares; the number of parts read. A file is one part or several.
    Comparing(u64),
    /// It writes; the number of parts written.
    Writing(u64),
    /// It completes the database.
    Completing,
}

/// The result of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    /// The file that was written. None, if nothing has changed but the version or the arguments of the indexer.
    pub written: Option<PathBuf>,
    /// How many files the index has now.
    pub files: u64,
    /// How many files are new.
    pub added: u64,
    /// How many files have other facts than before.
    pub changed: u64,
    /// How many files are no longer in the index.
    pub removed: u64,
    /// How many facts were written.
    pub facts: u64,
    /// The files that were left out, because they were changed while an indexer ran, in order. The next update has
    /// them.
    pub left_out: Vec<String>,
    /// The paths that lead out of the indexed directory, in order. These files were left out too.
    pub outside: Vec<String>,
    /// The incremental database that was damaged, and was replaced or removed with those on it.
    pub damaged: Option<PathBuf>,
}

/// Locks the index at `path` and makes it that of `source`; see [`IndexLock::update`].
///
/// # Errors
/// As [`IndexLock::take`] and [`IndexLock::update`].
pub fn update_index(path: &Path, source: &dyn Source, whole: bool, progress: &mut dyn FnMut(Step)) -> Result<Updated> {
    IndexLock::take(path)?.update(source, whole, progress)
}

impl IndexLock {
    /// Makes the index that of `source`: creates it, or stacks an incremental database with the files that have changed
    /// on it. After [`INCREMENTS_MAX`] of these, or if more than half of the files have changed, or an earlier version
    /// wrote the index, or with `whole`, it writes all of them.
    ///
    /// Files that were changed while an indexer ran are left out, and so are those outside of the directory: see
    /// [`Source::changed_files`] and [`Source::outside_files`].
    ///
    /// If it fails, or the process ends before, the index is as it was. Removes what a killed process has left.
    ///
    /// # Errors
    /// Those of the source and of [`IndexLock::require_writable`]; [`Error::DamagedIndex`], which `whole` mends;
    /// [`Error::NoSources`]; [`Error::SourceChanged`]; errors of files and databases. The source may return another one
    /// in its place ([`Source::failed`]): [`Indexed`](crate::Indexed) returns [`Error::OutputsKept`].
    pub fn update(&self, source: &dyn Source, whole: bool, progress: &mut dyn FnMut(Step)) -> Result<Updated> {
        self.try_update(source, whole, progress).map_err(|error| source.failed(error))
    }

    fn try_update(&self, source: &dyn Source, whole: bool, progress: &mut dyn FnMut(Step)) -> Result<Updated> {
        let path = self.path();
        self.require_writable()?;
        remove_unfinished(path);
        let Before { digests: before, files, damaged, is_earlier } = before(path, whole)?;
        let mut now = read_digests(source, progress)?;
        let left_out = source.changed_files();
        now.retain(|unit, _| !left_out.contains(unit));
        let change = Change::between(&before, &now);
        let mut updated = change.counted(&now);
        // Databases of a stack have one schema.
        let whole = whole || before.is_empty() || is_earlier;
        updated.damaged = damaged;
        updated.left_out = left_out.into_iter().collect();
        updated.outside = source.outside_files().into_iter().collect();
        if updated.files == 0 && updated.left_out.is_empty() && updated.outside.is_empty() && !path.exists() {
            return Err(Error::NoSources);
        }
        if !whole && change.is_empty() {
            if updated.damaged.is_some() {
                remove_increments(path, files.len() - 1)?;
            }
            return Ok(updated);
        }
        let parts = |units, hidden| Parts { source, units, digests: &now, hidden };
        let below = if whole { Vec::new() } else { files };
        if whole || change.is_of_many(now.len().max(before.len())) || below.len() > INCREMENTS_MAX {
            let options = Store::options().backend(self.backend());
            updated.facts = write(path, &[], options, &parts(now.keys().collect(), Vec::new()), progress)?;
            // They do not fit the new database. Until they are removed, they are not read.
            remove_increments(path, 0)?;
            updated.written = Some(path.to_owned());
            return Ok(updated);
        }
        let target = increment_path(path, below.len());
        let hidden = change.outdated.iter().chain(&change.removed).copied().collect();
        updated.facts = write(&target, &below, of_increment(), &parts(change.changed, hidden), progress)?;
        // Those above do not fit the new one. Until they are removed, they are not read.
        remove_increments(path, below.len())?;
        updated.written = Some(target);
        Ok(updated)
    }
}

/// An index before it is updated.
#[derive(Default)]
struct Before {
    digests: BTreeMap<String, u128>,
    /// Those without damage, up to the first that is damaged.
    files: Vec<PathBuf>,
    damaged: Option<PathBuf>,
    /// Whether an earlier version wrote it.
    is_earlier: bool,
}

/// The index at `path`, where there may be none. A whole update needs it only for its report. Requires: it is none of
/// another kind.
fn before(path: &Path, whole: bool) -> Result<Before> {
    if !path.exists() {
        return Ok(Before::default());
    }
    let sound = || {
        let (files, damaged) = sound_files(path)?;
        let is_earlier = Kind::of(&FactDatabase::schema_at(path)?) == Kind::EarlierIndex;
        Ok(Before { digests: digests(&files)?, files, damaged, is_earlier })
    };
    match sound() {
        Err(_) if whole => Ok(Before::default()),
        Err(Error::Facts(error)) if is_damage(&error) => {
            Err(Error::DamagedIndex { path: path.to_owned(), message: error.to_string(), is_recognised: true })
        }
        before => before,
    }
}

fn is_damage(error: &fulgurite_facts::Error) -> bool {
    use fulgurite_facts::Error::{Damaged, Engine};
    matches!(error, Damaged { .. }) || matches!(error, Engine(error) if error.is_corruption())
}

/// The units in which an index differs from a source.
struct Change<'u> {
    /// Those of the source that are new or have other facts.
    changed: BTreeSet<&'u String>,
    /// Those of `changed` that the index has.
    outdated: Vec<&'u String>,
    /// Those that the source does not have.
    removed: Vec<&'u String>,
}

impl<'u> Change<'u> {
    fn between(before: &'u BTreeMap<String, u128>, now: &'u BTreeMap<String, u128>) -> Self {
        let changed: BTreeSet<&String> = now.keys().filter(|unit| before.get(*unit) != now.get(*unit)).collect();
        let outdated = changed.iter().copied().filter(|unit| before.contains_key(*unit)).collect();
        Self { changed, outdated, removed: before.keys().filter(|unit| !now.contains_key(*unit)).collect() }
    }

    /// Whether nothing is to be written. Which indexer was run, and how, is written with the next change of a file.
    fn is_empty(&self) -> bool {
        let is_of_tools = |unit: &&String| unit.as_str() == TOOLS_UNIT;
        self.changed.iter().all(is_of_tools) && self.removed.iter().all(is_of_tools)
    }

    fn is_of_many(&self, units: usize) -> bool {
        2 * (self.changed.len() + self.removed.len()) > units
    }

    /// What will have been done, in files.
    fn counted(&self, now: &BTreeMap<String, u128>) -> Updated {
        let is_file = |unit: &&String| ![EXTERNAL_UNIT, TOOLS_UNIT].contains(&unit.as_str());
        let count = |units: &mut dyn Iterator<Item = &'u String>| units.filter(is_file).count() as u64;
        let (all, outdated) = (count(&mut self.changed.iter().copied()), count(&mut self.outdated.iter().copied()));
        Updated {
            written: None,
            files: now.keys().filter(is_file).count() as u64,
            added: all - outdated,
            changed: outdated,
            removed: count(&mut self.removed.iter().copied()),
            facts: 0,
            left_out: Vec::new(),
            outside: Vec::new(),
            damaged: None,
        }
    }
}

/// What is written of a source.
struct Parts<'p> {
    source: &'p dyn Source,
    units: BTreeSet<&'p String>,
    digests: &'p BTreeMap<String, u128>,
    /// The units of the databases below that are hidden.
    hidden: Vec<&'p String>,
}

/// Options for an incremental database. Its tables have few entries each, so most of its bytes are nearly empty pages.
/// With small pages, half as many bytes are written.
fn of_increment() -> StoreOptions {
    let engine = Database::options().durability(Durability::Log).page_size_bytes(INCREMENT_PAGE_BYTES);
    Store::options().engine(engine)
}

/// Writes a database on those below.
fn write(
    target: &Path,
    below: &[PathBuf],
    options: StoreOptions,
    parts: &Parts<'_>,
    progress: &mut dyn FnMut(Step),
) -> Result<u64> {
    let unfinished = Unfinished::at(target, !below.is_empty())?;
    let options = stacked_on(options, below)?.hide_units(parts.hidden.iter().map(|name| name.as_str()));
    let database = FactDatabase::create_with(options, unfinished.path(), code_schema()?)?;
    let outcome = write_parts(&database, parts, progress);
    let closed = database.close();
    let facts = outcome?;
    closed?;
    unfinished.finish(target)?;
    Ok(facts)
}

fn write_parts(database: &FactDatabase, parts: &Parts<'_>, progress: &mut dyn FnMut(Step)) -> Result<u64> {
    let predicates = Predicates::of(database.schema())?.ok_or_else(|| not_an_index(database.store()))?;
    // The database was created with the schema of this version, which has them.
    let scip = predicates.scip.as_ref().ok_or_else(|| not_an_index(database.store()))?;
    let mut writer = Writer::new(database, &predicates, scip)?;
    let mut read: BTreeMap<String, u128> = BTreeMap::new();
    let mut parts_written = 0;
    parts.source.each(&mut |part| {
        let unit = part.unit().to_owned();
        if parts.units.contains(&unit) {
            let digest = read.entry(unit).or_default();
            *digest = digest.wrapping_add(part.digest());
            writer.part(&part)?;
            parts_written += 1;
            progress(Step::Writing(parts_written));
        }
        Ok(())
    })?;
    for unit in &parts.units {
        // The digest says later what was written: it must be of what was read now.
        match (parts.digests.get(*unit), read.get(*unit)) {
            (Some(digest), Some(written)) if digest == written => writer.digest(unit, *digest)?,
            _ => return Err(Error::SourceChanged { unit: (*unit).clone() }),
        }
    }
    let facts = writer.finish()?;
    progress(Step::Completing);
    database.complete()?;
    Ok(facts)
}

/// The digest of each unit of a source. Parts of a unit may come in any order.
fn read_digests(source: &dyn Source, progress: &mut dyn FnMut(Step)) -> Result<BTreeMap<String, u128>> {
    let mut digests: BTreeMap<String, u128> = BTreeMap::new();
    let mut parts_read = 0;
    source.each(&mut |part| {
        let digest = digests.entry(part.unit().to_owned()).or_default();
        *digest = digest.wrapping_add(part.digest());
        parts_read += 1;
        progress(Step::Comparing(parts_read));
        Ok(())
    })?;
    Ok(digests)
}

/// The digest of each unit of an index with these files.
fn digests(files: &[PathBuf]) -> Result<BTreeMap<String, u128>> {
    let (path, below) = files.split_last().expect("an index has a file");
    let database = FactDatabase::open_with(
        stacked_on(Store::options().engine(Database::options().read_only(true)), below)?,
        path,
    )?;
    let predicates = Predicates::of(database.schema())?.ok_or_else(|| not_an_index(database.store()))?;
    let digest = &predicates.digest;
    let mut digests = BTreeMap::new();
    let reader = database.reader()?;
    for fact in reader.snapshot().seek(digest.id, b"")? {
        let fact = fact?;
        let (unit, text) = (decode(&digest.key, fact.key())?, decode(&digest.value, fact.value())?);
        if let (Value::String(unit), Value::String(text)) = (unit, text) {
            // One that is not a number differs from all.
            digests.insert(unit, u128::from_str_radix(&text, 16).unwrap_or_default());
        }
    }
    Ok(digests)
}

fn not_an_index(store: &Store) -> Error {
    Error::NotAnIndex { path: store.path().to_owned() }
}

/// The smallest pages that the engine has.
const INCREMENT_PAGE_BYTES: u32 = 8192;

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use fulgurite_facts::CancellationToken;

    use super::*;
    use crate::browse::limits::{FACTS_PER_CHECK, ReadLimits};
    use crate::browse::reader::CodeReader;
    use crate::columns::Columns;
    use crate::model::part::Part;
    use crate::model::{Document, Occurrence, Role, Span, SymbolInfo};
    use crate::source::{Source, Visit};
    use crate::stack::open_index;

    /// A file with this many functions, one in each line.
    struct Functions(u32);

    impl Source for Functions {
        fn each(&self, visit: &mut Visit<'_>) -> Result<()> {
            let symbol = |line: u32| format!("test . demo . f{line}().");
            let occurrence = |line: u32| Occurrence {
                span: Span { line, column: 3, end_line: line, end_column: 9 },
                symbol: symbol(line),
                role: Role::Definition,
                extent: None,
            };
            let info = |line: u32| {
                let (symbol, name) = (symbol(line), format!("f{line}"));
                SymbolInfo { symbol, name, ..SymbolInfo::default() }
            };
            visit(Part::Document(Document {
                path: "a.rs".to_owned(),
                language: "rust".to_owned(),
                columns: Columns::Utf8,
                wide_lines: std::collections::BTreeMap::new(),
                occurrences: (0..self.0).map(occurrence).collect(),
                symbols: (0..self.0).map(info).collect(),
            }))
        }
    }

    #[test]
    fn a_scan_of_names_ends_at_the_check_that_finds_it_cancelled() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("code.ful");
        let names = 3 * FACTS_PER_CHECK;
        update_index(&path, &Functions(names as u32), false, &mut |_| {}).expect("it is written");
        let cancellation = CancellationToken::new();
        let limits = ReadLimits { cancellation: cancellation.clone(), ..ReadLimits::default() };
        let reader = CodeReader::within(&open_index(&path).expect("it is there"), limits).expect("it is an index");
        let seen = Cell::new(0);
        let scan = |cancel_at: usize| {
            seen.set(0);
            reader.names("", |_, _| {
                seen.set(seen.get() + 1);
                if seen.get() == cancel_at {
                    cancellation.cancel();
                }
                Ok(())
            })
        };
        scan(0).expect("nothing limits it");
        assert_eq!(seen.get(), names);
        let error = scan(FACTS_PER_CHECK + 1).expect_err("it is cancelled");
        assert!(matches!(error, Error::Facts(fulgurite_facts::Error::Cancelled)), "{error}");
        assert_eq!(seen.get(), 2 * FACTS_PER_CHECK);
        // An error of the function ends it at once.
        let fresh = CodeReader::new(&open_index(&path).expect("it is there")).expect("it is an index");
        seen.set(0);
        let ended = fresh.names("", |_, _| {
            seen.set(seen.get() + 1);
            Err(Error::TimeUp)
        });
        assert!(matches!(ended, Err(Error::TimeUp)));
        assert_eq!(seen.get(), 1);
    }
}
