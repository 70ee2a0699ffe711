//! Writing an index, whole or as an incremental database with what has changed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use fulgurite_facts::{FactDatabase, Store, Value, decode};

use crate::error::{Error, Result};
use crate::schema::{Predicates, code_schema};
use crate::source::Source;
use crate::stack::{Unfinished, increment_path, increments, lock, open_index, remove_increments, stacked_on};
use crate::writing::Writer;

/// What an update is doing, for progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// It compares; the number of files read.
    Comparing(u64),
    /// It writes; the number of files written.
    Writing(u64),
    /// It completes the database.
    Completing,
}

/// What an update has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    /// The file that was written. None, if nothing has changed.
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
}

/// Makes the index at `path` that of `source`: creates it, or stacks an incremental database with the files that have
/// changed on it. After [`INCREMENTS_MAX`] of these, or if half of the files have changed, or with `whole`, it writes
/// all of them.
///
/// If it fails, or the process ends before, the index is as it was. The file `PATH-index-lock` keeps other processes
/// from updating it meanwhile.
///
/// # Errors
/// Those of the source; [`Error::NotAnIndex`], if another database is there; errors of files and databases.
pub fn update_index(path: &Path, source: &dyn Source, whole: bool, progress: &mut dyn FnMut(Step)) -> Result<Updated> {
    let _lock = lock(path)?;
    let before = if path.exists() { digests(path)? } else { BTreeMap::new() };
    let now = read_digests(source, progress)?;
    let differs = |unit: &&String| before.get(*unit) != now.get(*unit);
    let changed: BTreeSet<&String> = now.keys().filter(differs).collect();
    let removed: Vec<&String> = before.keys().filter(|unit| !now.contains_key(*unit)).collect();
    let outdated: Vec<&String> = changed.iter().copied().filter(|unit| before.contains_key(*unit)).collect();
    let is_file = |unit: &&&String| unit.as_str() != crate::model::EXTERNAL_UNIT;
    let mut updated = Updated {
        written: None,
        files: now.keys().collect::<Vec<_>>().iter().filter(is_file).count() as u64,
        added: changed.iter().filter(|unit| !before.contains_key(**unit)).filter(is_file).count() as u64,
        changed: outdated.iter().filter(is_file).count() as u64,
        removed: removed.iter().filter(is_file).count() as u64,
        facts: 0,
    };
    let whole = whole || before.is_empty();
    if !whole && changed.is_empty() && removed.is_empty() {
        return Ok(updated);
    }
    let below = increments(path);
    let many = 2 * (changed.len() + removed.len()) > now.len().max(before.len());
    if whole || many || below.len() >= INCREMENTS_MAX {
        let all = now.keys().collect();
        updated.facts = write(path, Vec::new(), &[], source, &all, &now, progress)?;
        updated.written = Some(path.to_owned());
        return Ok(updated);
    }
    let target = increment_path(path, below.len() + 1);
    let below = [vec![path.to_owned()], below].concat();
    let hidden = [outdated, removed].concat();
    updated.facts = write(&target, below, &hidden, source, &changed, &now, progress)?;
    updated.written = Some(target);
    Ok(updated)
}

/// Writes a database with the units of `units`. It hides units of the databases below.
fn write(
    target: &Path,
    below: Vec<PathBuf>,
    hidden: &[&String],
    source: &dyn Source,
    units: &BTreeSet<&String>,
    digests: &BTreeMap<String, u128>,
    progress: &mut dyn FnMut(Step),
) -> Result<u64> {
    let unfinished = Unfinished::at(target)?;
    let options = stacked_on(Store::options(), &below)?.hide_units(hidden.iter().map(|name| name.as_str()));
    let database = FactDatabase::create_with(options, unfinished.path(), code_schema()?)?;
    let outcome = write_parts(&database, source, units, digests, progress);
    let closed = database.close();
    let facts = outcome?;
    closed?;
    if below.is_empty() {
        remove_increments(target)?;
    }
    unfinished.finish(target)?;
    Ok(facts)
}

fn write_parts(
    database: &FactDatabase,
    source: &dyn Source,
    units: &BTreeSet<&String>,
    digests: &BTreeMap<String, u128>,
    progress: &mut dyn FnMut(Step),
) -> Result<u64> {
    let predicates = Predicates::of(database.schema())?.ok_or_else(|| not_an_index(database.store()))?;
    let mut writer = Writer::new(database, &predicates)?;
    let mut files = 0;
    source.each(&mut |part| {
        if units.contains(&part.unit().to_owned()) {
            writer.part(&part)?;
            files += 1;
            progress(Step::Writing(files));
        }
        Ok(())
    })?;
    for unit in units {
        if let Some(digest) = digests.get(*unit) {
            writer.digest(unit, *digest)?;
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
    let mut files = 0;
    source.each(&mut |part| {
        let digest = digests.entry(part.unit().to_owned()).or_default();
        *digest = digest.wrapping_add(part.digest());
        files += 1;
        progress(Step::Comparing(files));
        Ok(())
    })?;
    Ok(digests)
}

/// The digest of each unit of an index.
fn digests(path: &Path) -> Result<BTreeMap<String, u128>> {
    let database = open_index(path)?;
    let predicates = Predicates::of(database.schema())?.ok_or_else(|| not_an_index(database.store()))?;
    let digest = &predicates.digest;
    let mut digests = BTreeMap::new();
    let reader = database.reader()?;
    for fact in reader.snapshot().seek(digest.id, b"")? {
        let fact = fact?;
        let (unit, text) = (decode(&digest.key, fact.key())?, decode(&digest.value, fact.value())?);
        if let (Value::String(unit), Value::String(text)) = (unit, text) {
            // One that is no number differs from all.
            digests.insert(unit, u128::from_str_radix(&text, 16).unwrap_or_default());
        }
    }
    Ok(digests)
}

fn not_an_index(store: &Store) -> Error {
    Error::NotAnIndex { path: store.database().path().to_owned() }
}

/// So many incremental databases are stacked at most: each makes answers slower.
pub const INCREMENTS_MAX: usize = 8;
