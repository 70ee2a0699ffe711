//! Which engines exist, and which of them a suite can measure here.

use fulgurite_rivals::{Lmdb, RocksDb, Settings, WritingEngine};

use crate::engines::fulgurite::Fulgurite;
use crate::engines::sustained::SustainedEngine;
use crate::error::{Error, Result};

/// Every engine of the suites of tables, the measured one first.
pub const NAMES: [&str; 9] =
    ["fulgurite", "lmdb", "rocksdb", "redb", "fjall", "libmdbx", "bf-tree", "sqlite", "leveldb"];

/// What is known of an engine without opening it.
#[derive(Clone, Copy, Debug)]
pub struct Engine {
    /// Its name.
    pub name: &'static str,
    /// Longest value that it stores.
    pub value_bytes_max: usize,
    /// Whether it scans in falling order.
    pub scans_back: bool,
    /// Why it cannot be measured here.
    pub missing: fn() -> Option<String>,
    /// Why it is not measured with such settings.
    pub unfit: fn(Settings) -> Option<&'static str>,
    /// Its version.
    pub version: fn() -> String,
    /// What was chosen for it at such settings.
    pub describe: fn(Settings) -> String,
}

impl Engine {
    /// What `E` says of itself.
    pub fn of<E: WritingEngine>() -> Self {
        Self {
            name: E::NAME,
            value_bytes_max: E::VALUE_BYTES_MAX,
            scans_back: E::SCANS_BACK,
            missing: E::missing,
            unfit: E::unfit,
            version: E::version,
            describe: E::describe,
        }
    }
}

/// An engine that was measured.
#[derive(Clone, Debug)]
pub struct EngineNote {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: String,
    /// What was chosen for it.
    pub settings: String,
}

/// What a suite does with each engine that was built in: it is compiled once for each.
pub trait Visitor {
    /// What it makes of an engine.
    type Entry;

    /// An engine that was built in.
    fn visit<E: SustainedEngine + 'static>() -> Self::Entry;

    /// An engine that was not, and why.
    #[allow(dead_code)] // Where all are built in, none is absent.
    fn absent(name: &'static str, missing: fn() -> Option<String>) -> Self::Entry;
}

/// The entries of [`NAMES`].
pub fn all<V: Visitor>() -> Vec<V::Entry> {
    vec![
        V::visit::<Fulgurite>(),
        V::visit::<Lmdb>(),
        V::visit::<RocksDb>(),
        #[cfg(feature = "redb")]
        V::visit::<fulgurite_rivals::Redb>(),
        #[cfg(not(feature = "redb"))]
        V::absent("redb", crate::engines::not_built::redb),
        #[cfg(feature = "fjall")]
        V::visit::<fulgurite_rivals::Fjall>(),
        #[cfg(not(feature = "fjall"))]
        V::absent("fjall", crate::engines::not_built::fjall),
        #[cfg(feature = "libmdbx")]
        V::visit::<fulgurite_rivals::Mdbx>(),
        #[cfg(not(feature = "libmdbx"))]
        V::absent("libmdbx", crate::engines::not_built::libmdbx),
        #[cfg(feature = "bf-tree")]
        V::visit::<fulgurite_rivals::BfTree>(),
        #[cfg(not(feature = "bf-tree"))]
        V::absent("bf-tree", crate::engines::not_built::bf_tree),
        #[cfg(feature = "sqlite")]
        V::visit::<fulgurite_rivals::Sqlite>(),
        #[cfg(not(feature = "sqlite"))]
        V::absent("sqlite", crate::engines::not_built::sqlite),
        V::visit::<fulgurite_rivals::LevelDb>(),
    ]
}

struct Known;

impl Visitor for Known {
    type Entry = Option<Engine>;

    fn visit<E: SustainedEngine + 'static>() -> Option<Engine> {
        Some(Engine::of::<E>())
    }

    fn absent(_name: &'static str, _missing: fn() -> Option<String>) -> Option<Engine> {
        None
    }
}

/// Versions and settings of the engines of these names, as far as they are known, opened so.
pub fn notes(names: &[&str], settings: Settings) -> Vec<EngineNote> {
    let known = all::<Known>().into_iter().flatten().filter(|engine| names.contains(&engine.name));
    let note = |engine: Engine| EngineNote {
        name: engine.name,
        version: (engine.version)(),
        settings: (engine.describe)(settings),
    };
    known.map(note).collect()
}

/// The engines that can be measured. The others are named in `notes`, with a remedy.
pub fn present<E: Copy>(
    engines: &[E],
    missing: impl Fn(&E) -> (&'static str, Option<String>),
    notes: &mut Vec<String>,
) -> Vec<E> {
    let mut present = Vec::with_capacity(engines.len());
    for engine in engines {
        match missing(engine) {
            (_, None) => present.push(*engine),
            (name, Some(reason)) => notes.push(format!("{name} was not measured: {reason}")),
        }
    }
    present
}

/// Refuses a run that would measure nothing. `notes` are those of [`present`].
///
/// # Errors
/// [`Error::NoEngine`] with the notes, if no engine is present.
pub fn refuse_none<E>(present: &[E], notes: &[String]) -> Result<()> {
    match present {
        [] => Err(Error::NoEngine { missing: notes.join("; ") }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use fulgurite_rivals::{Level, Usage};

    use super::*;

    struct Names;

    impl Visitor for Names {
        type Entry = (&'static str, bool);

        fn visit<E: SustainedEngine + 'static>() -> (&'static str, bool) {
            (E::NAME, true)
        }

        fn absent(name: &'static str, missing: fn() -> Option<String>) -> (&'static str, bool) {
            assert!(missing().is_some_and(|reason| reason.contains(name)));
            (name, false)
        }
    }

    #[test]
    fn versions_are_those_of_the_engines_that_were_named() {
        let settings = Settings { level: Level::Disk, usage: Usage::SingleOperations };
        let notes = notes(&["lmdb", "lmdb-at-rest", "fulgurite"], settings);
        assert_eq!(notes.iter().map(|note| note.name).collect::<Vec<_>>(), ["fulgurite", "lmdb"]);
        assert!(notes[1].version.starts_with("0.9") && notes[1].settings.contains("synced"), "{notes:?}");
    }

    #[test]
    fn a_run_without_any_engine_is_refused_with_what_each_needs() {
        let mut notes = Vec::new();
        let present = present(&["a"], |name| (*name, Some("install it".to_owned())), &mut notes);
        let error = refuse_none(&present, &notes).expect_err("none is present").to_string();
        assert_eq!(error, "no engine can be measured: a was not measured: install it");
        assert!(refuse_none(&["a"], &notes).is_ok());
    }

    #[test]
    fn every_engine_has_an_entry_in_its_place_whether_built_in_or_not() {
        let entries = all::<Names>();
        assert_eq!(entries.iter().map(|(name, _)| *name).collect::<Vec<_>>(), NAMES);
        for always in ["fulgurite", "lmdb", "rocksdb", "leveldb"] {
            assert!(entries.contains(&(always, true)), "{always}");
        }
    }
}
