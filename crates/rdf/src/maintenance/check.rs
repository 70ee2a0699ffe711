//! [`Store::check`]: whether the tables of a store agree with each other.
//!
//! It reads one snapshot, and needs one or two bytes of memory for each number of a term. Whether two indexes hold the
//! same quads is decided by sums of hashes. Only if these differ are the quads of one looked up in the other.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use fulgurite::{CheckReport, Read, ReadTxn, Table};
use xxhash_rust::xxh3::xxh3_128;

use crate::dictionary::{IriNamespaces, NAMESPACE_NUMBER_MAX, bytes};
use crate::error::{Error, Result};
use crate::model::id::{Tag, TermId, TermKind};
use crate::model::pattern::{IdQuad, Position};
use crate::quads::inferred::quad_of_both;
use crate::store::database::Store;
use crate::store::transaction::check_kinds;
use crate::tables::Index;
use crate::tables::TermHasher;
use crate::tables::{Tables, next_number};

/// The result of [`Store::check`](crate::Store::check).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreCheck {
    /// The engine's report on the pages.
    pub pages: CheckReport,
    /// Quads, of all graphs, explicit and inferred.
    pub quads: u64,
    /// Quads that are inferred and not explicit.
    pub inferred: u64,
    /// Terms in the dictionary.
    pub terms: u64,
    /// Those of them that no quad has and no graph is named by. They are sound: a term stays when its last quad goes.
    pub unused_terms: u64,
    /// Descriptions of defects: the table, the entry and the defect. The first few of each kind.
    pub defects: Vec<String>,
    /// Offences that are not in `defects`.
    pub more_defects: u64,
}

impl StoreCheck {
    /// Whether no damage was found.
    pub fn is_sound(&self) -> bool {
        self.pages.is_sound() && self.defects.is_empty()
    }
}

impl Store {
    /// Checks the whole store: the pages ([`fulgurite::Database::check`]); that every index contains the same quads;
    /// that explicit and inferred quads do not overlap wrongly; that the terms of all quads are in the dictionary, each
    /// with one id and found by its hash; and that graphs and namespaces are listed. If a store has only one index for
    /// a kind of graph, a lost quad of it cannot be detected. An unreadable page ends the check, and the counts cover
    /// only what was read before.
    ///
    /// # Errors
    /// Only errors that prevent the check. Damage is part of the report.
    pub fn check(&self) -> Result<StoreCheck> {
        let snapshot = self.snapshot()?;
        let mut report = StoreCheck { pages: self.database().check()?, ..StoreCheck::default() };
        let mut checking = Checking {
            read: snapshot.read(),
            tables: snapshot.all_tables(),
            hasher: self.shared.hasher,
            namespaces: IriNamespaces::default(),
            terms: Census::default(),
            next_number: 0,
            path: self.database().path(),
            offences: HashMap::new(),
            report: &mut report,
        };
        match checking.run() {
            Err(Error::Engine(error)) if error.is_corruption() => report.defects.push(error.to_string()),
            outcome => outcome?,
        }
        Ok(report)
    }
}

/// A check on its way.
struct Checking<'c> {
    read: &'c ReadTxn,
    tables: &'c Tables,
    hasher: TermHasher,
    namespaces: IriNamespaces,
    terms: Census,
    /// Numbers from it on are still to be given out.
    next_number: u64,
    path: &'c Path,
    /// How often each offence was met.
    offences: HashMap<&'static str, u64>,
    report: &'c mut StoreCheck,
}

impl<'c> Checking<'c> {
    fn run(&mut self) -> Result<()> {
        self.next_number = match next_number(self.read, &self.tables.meta, self.path) {
            Err(Error::Damaged { .. }) => {
                self.add(&self.tables.meta, b"next_number", "it is not a number of a term");
                0
            }
            number => number?,
        };
        self.namespaces()?;
        self.hashes()?;
        self.terms()?;
        self.graphs()?;
        for indexes in [&self.tables.default_graph, &self.tables.named_graphs] {
            self.quads(indexes)?;
        }
        self.inferred()?;
        self.prefixes()?;
        self.report.unused_terms = self.terms.count(|seen| seen & IN_DICTIONARY != 0 && seen & USED == 0);
        Ok(())
    }

    fn add(&mut self, table: &Table, key: &[u8], offence: &'static str) {
        let met = self.offences.entry(offence).or_default();
        *met += 1;
        if *met <= TOLD_MAX {
            self.report.defects.push(format!("table `{}`, key {}: {offence}", table.name(), shown(key)));
        } else {
            self.report.more_defects += 1;
        }
    }

    /// Calls `each` for every entry of a table.
    fn each(&mut self, table: &'c Table, mut each: impl FnMut(&mut Self, &[u8], &[u8]) -> Result<()>) -> Result<()> {
        let read = self.read;
        for batch in read.leaf_batches(table, ..)? {
            for (key, value) in batch?.iter() {
                each(self, key, value)?;
            }
        }
        Ok(())
    }

    fn namespaces(&mut self) -> Result<()> {
        let table = &self.tables.iri_namespaces;
        self.each(table, |checking, key, value| {
            let twin = match key.split_first() {
                Some((0, number)) if is_namespace_number(number) && std::str::from_utf8(value).is_ok() => {
                    [&[1], value].concat()
                }
                Some((1, text)) if is_namespace_number(value) && std::str::from_utf8(text).is_ok() => {
                    [&[0], value].concat()
                }
                _ => {
                    checking.add(table, key, "it is not a number and text");
                    return Ok(());
                }
            };
            if checking.read.get(table, &twin)?.as_deref() != Some(&key[1..]) {
                checking.add(table, key, "the entry of the other direction differs, or is not there");
            }
            Ok(())
        })?;
        if self.offences.is_empty() {
            self.namespaces = IriNamespaces::read(self.read, self.tables, self.path)?;
        }
        Ok(())
    }

    /// That hashes lead to terms, each to its own.
    fn hashes(&mut self) -> Result<()> {
        let table = &self.tables.ids;
        self.each(table, |checking, key, mut chain| {
            let mut of_this_hash = HashSet::new();
            if chain.is_empty() {
                checking.add(table, key, "it leads nowhere");
            }
            while !chain.is_empty() {
                let Some(id) = TermId::take(&mut chain).filter(|id| id.tag().is_of_dictionary()) else {
                    checking.add(table, key, "it leads to what is not a number of a term");
                    return Ok(());
                };
                let Some(stored) = checking.read.get(&checking.tables.terms, id.key().as_bytes())? else {
                    checking.add(table, key, "a number that it leads to is not in the dictionary");
                    continue;
                };
                // A number without a term is reported where the terms are read.
                let Ok(encoded) = checking.encoded(&stored)? else { continue };
                if checking.hasher.hash(&encoded).to_be_bytes() != key {
                    checking.add(table, key, "a term that it leads to has another hash");
                } else if !of_this_hash.insert(encoded) {
                    checking.add(table, key, "it leads to one term by two numbers");
                } else if checking.is_given_out(id) {
                    checking.terms.note(id.payload(), HASHED | bit_of(id.tag()));
                }
            }
            Ok(())
        })
    }

    fn terms(&mut self) -> Result<()> {
        let table = &self.tables.terms;
        self.each(table, |checking, key, stored| {
            checking.report.terms += 1;
            let Some(id) = TermId::from_key(key).filter(|id| id.tag().is_of_dictionary()) else {
                checking.add(table, key, "the key is not a number of a term");
                return Ok(());
            };
            if !checking.is_given_out(id) {
                checking.add(table, key, "its number is one that is still to be given out");
                return Ok(());
            }
            let bit = bit_of(id.tag());
            let seen = checking.terms.note(id.payload(), IN_DICTIONARY | bit);
            if seen & IN_DICTIONARY != 0 {
                checking.add(table, key, "another term has this number too");
            }
            match checking.encoded(stored)? {
                Err(offence) => checking.add(table, key, offence),
                Ok(_) if !bytes::fits(id.tag(), stored) => {
                    checking.add(table, key, "the term is of another kind than its number");
                }
                Ok(_) if seen & HASHED == 0 || seen & bit == 0 => checking.add(table, key, "no hash leads to it"),
                Ok(_) => {}
            }
            Ok(())
        })
    }

    /// The bytes of a stored term that are hashed; or why it is none that was stored here.
    fn encoded(&self, stored: &[u8]) -> Result<Result<Vec<u8>, &'static str>> {
        if let Some((number, rest)) = bytes::namespace_of(stored) {
            let text = match self.namespaces.text(self.read, self.tables, self.path, number) {
                Err(Error::Damaged { .. }) => return Ok(Err("the number of its namespace is not there")),
                text => text?,
            };
            let Ok(rest) = std::str::from_utf8(rest) else { return Ok(Err("its bytes are no term")) };
            let mut encoded = Vec::new();
            bytes::encode_iri(oxrdf::NamedNodeRef::new_unchecked(&[&*text, rest].concat()), &mut encoded);
            return Ok(Ok(encoded));
        }
        let Ok(term) = bytes::decode(stored) else { return Ok(Err("its bytes are no term")) };
        let mut encoded = Vec::new();
        bytes::encode(term.as_ref(), &mut encoded)?;
        if encoded != stored || TermId::of_inline(term.as_ref()).is_some() {
            return Ok(Err("the term is stored in another way than it is looked for"));
        }
        Ok(Ok(encoded))
    }

    fn is_given_out(&self, id: TermId) -> bool {
        id.payload() < self.next_number
    }

    fn graphs(&mut self) -> Result<()> {
        let table = &self.tables.graphs;
        self.each(table, |checking, key, value| {
            if !value.is_empty() {
                checking.add(table, key, "it has a value");
            }
            let is_name = |id: &TermId| matches!(id.kind(), TermKind::Iri | TermKind::BlankNode);
            match TermId::from_key(key).filter(is_name) {
                None => checking.add(table, key, "the key names no graph"),
                Some(id) if !checking.terms.use_term(id) => {
                    checking.add(table, key, "its name is not in the dictionary")
                }
                Some(_) => {}
            }
            Ok(())
        })
    }

    /// That inferred quads are sound, that none is explicit, and that those which are said to be both are.
    fn inferred(&mut self) -> Result<()> {
        let tables = self.tables;
        let Some(inferred) = tables.inferred.as_deref() else {
            let is_of_inferred = |table: &Table| table.name().contains("inferred");
            if self.read.tables().iter().any(is_of_inferred) {
                self.add(&tables.meta, b"inferred", "it is not there, and tables of inferred quads are");
            }
            return Ok(());
        };
        let explicit = self.report.quads;
        let groups = [(&tables.default_graph, &inferred.default_graph), (&tables.named_graphs, &inferred.named_graphs)];
        for (explicit, indexes) in groups {
            self.quads(indexes)?;
            let (Some(first), Some(index)) = (explicit.first(), indexes.first()) else { continue };
            self.each(&index.table, |checking, key, _| {
                if checking.read.get(&first.table, key)?.is_some() {
                    checking.add(&index.table, key, "the quad is explicit too");
                }
                Ok(())
            })?;
        }
        self.report.inferred = self.report.quads - explicit;
        let both = &inferred.both;
        self.each(both, |checking, key, value| {
            let Some(quad) = quad_of_both(key).filter(|_| value.is_empty()) else {
                checking.add(both, key, "it is not a quad");
                return Ok(());
            };
            let Some(first) = tables.indexes_of(quad.graph).first() else { return Ok(()) };
            if checking.read.get(&first.table, first.order.key_of(&quad).as_bytes())?.is_none() {
                checking.add(both, key, "the quad is not explicit");
            }
            Ok(())
        })
    }

    /// That all these indexes have the same quads, and that these are sound.
    fn quads(&mut self, indexes: &'c [Index]) -> Result<()> {
        let mut first = None;
        for index in indexes {
            let (table, order) = (&index.table, index.order);
            let (mut count, mut sum) = (0_u64, 0_u128);
            let mut graph = TermId::DEFAULT_GRAPH;
            self.each(table, |checking, key, value| {
                count += 1;
                let quad = order.quad_of(key).filter(|quad| {
                    let is_named = quad.graph != TermId::DEFAULT_GRAPH;
                    value.is_empty() && is_named == order.is_of_named_graphs() && check_kinds(quad).is_ok()
                });
                let Some(quad) = quad else {
                    checking.add(table, key, "it is not a quad");
                    return Ok(());
                };
                sum = sum.wrapping_add(hash_of(&quad));
                let terms = Position::ALL.map(|position| quad.at(position));
                if first.is_none() && terms.into_iter().filter(|id| !checking.terms.use_term(*id)).count() > 0 {
                    checking.add(table, key, "one of its terms is not in the dictionary");
                }
                if first.is_none() && quad.graph != graph {
                    graph = quad.graph;
                    if checking.read.get(&checking.tables.graphs, graph.key().as_bytes())?.is_none() {
                        checking.add(table, key, "its graph is not listed");
                    }
                }
                Ok(())
            })?;
            if self.read.len(table)? != count {
                self.add(table, b"", "it has another number of entries than it says");
            }
            match first {
                None => {
                    first = Some((index, count, sum));
                    self.report.quads += count;
                }
                Some((other, others, sum_of_others)) if (others, sum_of_others) != (count, sum) => {
                    self.differences(other, index)?;
                    self.differences(index, other)?;
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Looks up every quad of one index in another.
    fn differences(&mut self, index: &'c Index, other: &Index) -> Result<()> {
        self.each(&index.table, |checking, key, _| {
            let Some(quad) = index.order.quad_of(key) else { return Ok(()) };
            if checking.read.get(&other.table, other.order.key_of(&quad).as_bytes())?.is_none() {
                checking.add(&index.table, key, "another index does not have this quad");
            }
            Ok(())
        })
    }

    fn prefixes(&mut self) -> Result<()> {
        let table = &self.tables.namespaces;
        self.each(table, |checking, prefix, iri| {
            if std::str::from_utf8(prefix).is_err() || std::str::from_utf8(iri).is_err() {
                checking.add(table, prefix, "it is not UTF-8");
            }
            Ok(())
        })
    }
}

/// What is known of the numbers of terms: a byte for each, in pieces, so that numbers which are far apart take little
/// memory.
#[derive(Debug, Default)]
struct Census {
    pieces: HashMap<u64, [u8; PIECE]>,
}

impl Census {
    /// Adds to what is known of a number. Returns what was.
    fn note(&mut self, number: u64, seen: u8) -> u8 {
        let (piece, place) = (number / PIECE as u64, (number % PIECE as u64) as usize);
        if seen == 0 {
            return self.pieces.get(&piece).map_or(0, |piece| piece[place]);
        }
        let known = &mut self.pieces.entry(piece).or_insert([0; PIECE])[place];
        std::mem::replace(known, *known | seen)
    }

    /// Notes that a term is used. Returns whether it is one: in the dictionary under this number, or in the number.
    fn use_term(&mut self, id: TermId) -> bool {
        if !id.tag().is_of_dictionary() {
            let is_term =
                |id: TermId| id.inline_term().is_some_and(|term| TermId::of_inline(term.as_ref()) == Some(id));
            return id == TermId::DEFAULT_GRAPH || is_term(id);
        }
        let is_there = self.note(id.payload(), 0) & bit_of(id.tag()) != 0;
        if is_there {
            self.note(id.payload(), USED);
        }
        is_there
    }

    fn count(&self, is_meant: impl Fn(u8) -> bool) -> u64 {
        self.pieces.values().map(|piece| piece.iter().filter(|seen| is_meant(**seen)).count() as u64).sum()
    }
}

fn is_namespace_number(bytes: &[u8]) -> bool {
    bytes.try_into().is_ok_and(|bytes| u32::from_be_bytes(bytes) < NAMESPACE_NUMBER_MAX)
}

fn hash_of(quad: &IdQuad) -> u128 {
    let mut bytes = [0; 32];
    for (place, position) in bytes.chunks_exact_mut(8).zip(Position::ALL) {
        place.copy_from_slice(&quad.at(position).to_bits().to_le_bytes());
    }
    xxh3_128(&bytes)
}

/// The bit of a kind of term in the dictionary.
fn bit_of(tag: Tag) -> u8 {
    Tag::DICTIONARY.iter().position(|known| *known == tag).map_or(0, |place| 1 << place)
}

/// A key as it is reported: its first bytes in hexadecimal digits.
fn shown(key: &[u8]) -> String {
    use std::fmt::Write;

    let mut text = String::from("0x");
    for byte in key.iter().take(SHOWN_BYTES) {
        write!(text, "{byte:02x}").expect("a string takes everything");
    }
    if key.len() > SHOWN_BYTES { text + "…" } else { text }
}

const IN_DICTIONARY: u8 = 1 << 4;
const HASHED: u8 = 1 << 5;
const USED: u8 = 1 << 6;
const PIECE: usize = 64;
/// The most reports of one kind of defect.
const TOLD_MAX: u64 = 10;
const SHOWN_BYTES: usize = 40;
