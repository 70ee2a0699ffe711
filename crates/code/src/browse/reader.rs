//! [`CodeReader`]: files, symbols, definitions and references.

use std::collections::{BTreeSet, HashMap};
use std::ops::ControlFlow;

use fulgurite_facts::{FactDatabase, FactId, FactReader, Predicate, PredicateId, Type, Value, decode, encode};

use crate::browse::limits::{FACTS_PER_CHECK, ReadLimits};
use crate::browse::similar::Similar;
use crate::columns::Columns;
use crate::error::{Error, Result};
use crate::model::{RelationKind, Role, Span};
use crate::schema::Predicates;

/// A symbol of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SymbolId(pub(super) FactId);

/// A file of an index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexedFile {
    pub(super) id: FactId,
    /// Its path.
    pub path: String,
    /// Its language.
    pub language: String,
    /// The unit of columns in its facts.
    pub columns: Columns,
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The path of the file.
    pub path: String,
    /// The range in the file. Lines and columns begin at 0.
    pub span: Span,
    /// The role of the symbol there.
    pub role: Role,
    /// The whole definition, if it is one and the indexer says so.
    pub extent: Option<Span>,
    /// The unit of columns: bytes, unless the text of the file was missing when it was indexed.
    pub columns: Columns,
}

/// A symbol at a place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// Where.
    pub span: Span,
    /// The symbol.
    pub symbol: SymbolId,
    /// Its role there.
    pub role: Role,
}

/// Reads one state of an index.
pub struct CodeReader {
    pub(super) facts: FactReader,
    pub(super) predicates: Predicates,
    pub(super) limits: ReadLimits,
}

impl CodeReader {
    /// Begins to read.
    ///
    /// # Errors
    /// [`Error::NotAnIndex`], if the database has another schema; errors of the database.
    pub fn new(database: &FactDatabase) -> Result<Self> {
        Self::within(database, ReadLimits::default())
    }

    /// Begins to read within limits. All methods then can also fail with [`Error::TimeUp`] and [`Error::Memory`], or
    /// because they were cancelled.
    ///
    /// # Errors
    /// As [`CodeReader::new`].
    pub fn within(database: &FactDatabase, limits: ReadLimits) -> Result<Self> {
        let not_an_index = || Error::NotAnIndex { path: database.store().path().to_owned() };
        let predicates = Predicates::of(database.schema())?.ok_or_else(not_an_index)?;
        Ok(Self { facts: database.reader()?, predicates, limits })
    }

    /// The paths of all files, in order.
    ///
    /// # Errors
    /// Errors of the database; so do all others.
    pub fn files(&self) -> Result<Vec<String>> {
        Ok(self.files_by_path()?.into_iter().map(|(path, _)| path).collect())
    }

    /// The paths of all files, in order, each with its fact.
    pub(super) fn files_by_path(&self) -> Result<Vec<(String, FactId)>> {
        let (mut files, mut held) = (Vec::new(), self.limits.held());
        self.seek(&self.predicates.file_info, &[], |_, key, _| {
            let file = fact(&key);
            let path = self.text(file)?;
            held.add(size_of::<(String, FactId)>() + path.len())?;
            files.push((path, file));
            Ok(())
        })?;
        files.sort_unstable();
        Ok(files)
    }

    /// The file with this path, which may begin with `./`.
    ///
    /// # Errors
    /// [`Error::NoSuchFile`].
    pub fn file(&self, path: &str) -> Result<IndexedFile> {
        let path = path.strip_prefix("./").unwrap_or(path);
        match self.find_file(path)? {
            Some(file) => Ok(file),
            None => Err(Error::NoSuchFile { path: path.to_owned(), similar: self.similar_files(path)? }),
        }
    }

    /// As [`CodeReader::file`], without a search for paths that are like one that does not exist: then `None`.
    pub(crate) fn find_file(&self, path: &str) -> Result<Option<IndexedFile>> {
        let snapshot = self.facts.snapshot();
        let key = encode(&Type::String, &Value::String(path.to_owned()))?;
        if let Some(id) = snapshot.id_by_key(self.predicates.file.id, &key)? {
            let info = &self.predicates.file_info;
            if let Some(fact) = snapshot.fact_by_key(info.id, &of_fact(id)?)?
                && let Value::Record(fields) = decode(&info.value, fact.value())?
                && let [Value::String(language), columns] = fields.as_slice()
            {
                let columns = columns_of(columns);
                return Ok(Some(IndexedFile { id, path: path.to_owned(), language: language.clone(), columns }));
            }
        }
        Ok(None)
    }

    /// # Errors
    /// That the limits of the reader are reached.
    pub(crate) fn check(&self) -> Result<()> {
        self.limits.check()
    }

    /// What the columns of a file count.
    pub(super) fn columns(&self, file: FactId) -> Result<Columns> {
        let info = &self.predicates.file_info;
        let found = self.facts.snapshot().fact_by_key(info.id, &of_fact(file)?)?;
        match found.map(|fact| decode(&info.value, fact.value())).transpose()? {
            Some(Value::Record(fields)) => Ok(fields.get(1).map_or(Columns::Utf8, columns_of)),
            _ => Ok(Columns::Utf8),
        }
    }

    fn similar_files(&self, path: &str) -> Result<Vec<String>> {
        let Some(mut similar) = Similar::to(path) else { return Ok(Vec::new()) };
        self.seek(&self.predicates.file_info, &[], |_, key, _| {
            similar.add(&self.text(fact(&key))?);
            Ok(())
        })?;
        Ok(similar.names())
    }

    /// The text of a line (from 0 on) on which columns of UTF-8 and UTF-16 differ. `None`, if they do not, or the text
    /// was not there.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn wide_line(&self, file: &IndexedFile, line: u32) -> Result<Option<String>> {
        let key = Value::Record(vec![Value::Fact(file.id), Value::Nat(u64::from(line) + 1)]);
        let wide = &self.predicates.wide_line;
        let found = self.facts.snapshot().fact_by_key(wide.id, &encode(&wide.key, &key)?)?;
        let text = found.map(|fact| decode(&wide.value, fact.value())).transpose()?;
        Ok(text.map(|text| string(&text).to_owned()))
    }

    /// The symbols of a file where they are, in the order of places.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn uses(&self, file: &IndexedFile) -> Result<Vec<Use>> {
        self.uses_from(&of_fact(file.id)?)
    }

    /// The symbols at a position: those of the shortest range around it, or that it is right behind.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn symbols_at(&self, file: &IndexedFile, line: u32, column: u32) -> Result<Vec<Use>> {
        let in_line = self.uses_from(&[of_fact(file.id)?, number(line)?].concat())?;
        let found = nearest(in_line, line, column);
        match found.is_empty() {
            false => Ok(found),
            // A range may begin lines before.
            true => Ok(nearest(self.uses(file)?, line, column)),
        }
    }

    /// The symbols whose ranges begin in a line.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn symbols_in_line(&self, file: &IndexedFile, line: u32) -> Result<Vec<Use>> {
        self.uses_from(&[of_fact(file.id)?, number(line)?].concat())
    }

    /// Returns the definitions of a symbol, in the order of files. If there are none, returns those of the symbols that
    /// it names as its definitions.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn definitions(&self, symbol: SymbolId) -> Result<Vec<Place>> {
        let mut places = self.places(&[symbol], true)?;
        if places.is_empty() {
            let others = self.related(&self.predicates.relation, symbol, RelationKind::Definition)?;
            places = self.places(&others, true)?;
        }
        Ok(places)
    }

    /// One of the places where a symbol is defined: the first that is stored, which need not be the first in the order
    /// of files. No others are read.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn first_definition(&self, symbol: SymbolId) -> Result<Option<Place>> {
        if let Some(place) = self.first_place(symbol)? {
            return Ok(Some(place));
        }
        for other in self.related(&self.predicates.relation, symbol, RelationKind::Definition)? {
            if let Some(place) = self.first_place(other)? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    fn first_place(&self, symbol: SymbolId) -> Result<Option<Place>> {
        let mut first = None;
        let flow = self.seek_until(&self.predicates.definition, &of_fact(symbol.0)?, |_, key, value| {
            let Value::Record(fields) = key else { return Ok(ControlFlow::Continue(())) };
            let file = fact(&fields[1]);
            let (path, columns) = (self.text(file)?, self.columns(file)?);
            let (span, role, extent) = (span(&fields[2]), Role::Definition, extent(&value));
            first = Some(Place { path, span, role, extent, columns });
            Ok::<_, Error>(ControlFlow::Break(()))
        });
        flow.map(|_| first)
    }

    /// Returns the uses of a symbol, without its definitions, in the order of files. They include uses of symbols that
    /// it overrides, or that override it, if the indexer relates them.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn references(&self, symbol: SymbolId) -> Result<Vec<Place>> {
        self.references_of(&[symbol])
    }

    /// As [`CodeReader::references`], of several symbols: each place once.
    ///
    /// # Errors
    /// Errors of the database.
    pub fn references_of(&self, symbols: &[SymbolId]) -> Result<Vec<Place>> {
        let mut all = BTreeSet::new();
        for symbol in symbols {
            all.append(&mut self.used_with(*symbol)?);
        }
        self.places(&Vec::from_iter(all), false)
    }

    /// A symbol, and those that it overrides, or that override it, if the indexer says that they belong together.
    pub(super) fn used_with(&self, symbol: SymbolId) -> Result<BTreeSet<SymbolId>> {
        let mut symbols = BTreeSet::from([symbol]);
        for predicate in [&self.predicates.relation, &self.predicates.related] {
            symbols.extend(self.related(predicate, symbol, RelationKind::Reference)?);
        }
        Ok(symbols)
    }

    fn places(&self, symbols: &[SymbolId], defined: bool) -> Result<Vec<Place>> {
        let predicate = if defined { &self.predicates.definition } else { &self.predicates.reference };
        let (mut places, mut files, mut held) = (Vec::new(), HashMap::new(), self.limits.held());
        for symbol in symbols {
            self.seek(predicate, &of_fact(symbol.0)?, |_, key, value| {
                let Value::Record(fields) = key else { return Ok(()) };
                let (file, span) = (fact(&fields[1]), span(&fields[2]));
                let (path, columns) = match files.get(&file) {
                    Some(found) => <(String, Columns)>::clone(found),
                    None => files.entry(file).insert_entry((self.text(file)?, self.columns(file)?)).get().clone(),
                };
                let role = if defined { Some(Role::Definition) } else { fields.get(3).and_then(role) };
                held.add(size_of::<Place>() + path.len())?;
                let (role, extent) = (role.unwrap_or(Role::Reference), extent(&value));
                places.push(Place { path, span, role, extent, columns });
                Ok(())
            })?;
        }
        places.sort_unstable();
        places.dedup();
        Ok(places)
    }

    /// The symbols at the other end of relations of one kind.
    pub(super) fn related(&self, predicate: &Predicate, symbol: SymbolId, kind: RelationKind) -> Result<Vec<SymbolId>> {
        let (mut found, mut held) = (Vec::new(), self.limits.held());
        self.seek(predicate, &of_fact(symbol.0)?, |_, key, _| {
            if let Value::Record(fields) = key
                && fields[1] == Value::Enum(kind as usize)
            {
                held.add(size_of::<SymbolId>())?;
                found.push(SymbolId(fact(&fields[2])));
            }
            Ok(())
        })?;
        Ok(found)
    }

    fn uses_from(&self, prefix: &[u8]) -> Result<Vec<Use>> {
        let (mut uses, mut held) = (Vec::new(), self.limits.held());
        self.seek(&self.predicates.occurrence, prefix, |_, key, _| {
            if let Value::Record(fields) = key {
                let (symbol, role) = (SymbolId(fact(&fields[2])), role(&fields[3]));
                held.add(size_of::<Use>())?;
                uses.push(Use { span: span(&fields[1]), symbol, role: role.unwrap_or(Role::Reference) });
            }
            Ok(())
        })?;
        // A stack has those of each database in order.
        uses.sort_unstable();
        Ok(uses)
    }

    /// Calls `each` with the facts of a predicate whose keys begin so: id, key and value.
    pub(super) fn seek(
        &self,
        predicate: &Predicate,
        prefix: &[u8],
        mut each: impl FnMut(FactId, Value, Value) -> Result<()>,
    ) -> Result<()> {
        let all = |id, key, value| each(id, key, value).map(ControlFlow::Continue);
        self.seek_until(predicate, prefix, all).map(drop)
    }

    /// As [`CodeReader::seek`], until `each` breaks.
    pub(super) fn seek_until<E: From<Error>>(
        &self,
        predicate: &Predicate,
        prefix: &[u8],
        mut each: impl FnMut(FactId, Value, Value) -> Result<ControlFlow<()>, E>,
    ) -> Result<ControlFlow<()>, E> {
        let facts = self.facts.snapshot().seek(predicate.id, prefix).map_err(Error::from)?;
        for (number, fact) in facts.enumerate() {
            if number.is_multiple_of(FACTS_PER_CHECK) {
                self.limits.check()?;
            }
            let fact = fact.map_err(Error::from)?;
            let key = decode(&predicate.key, fact.key()).map_err(Error::from)?;
            let value = decode(&predicate.value, fact.value()).map_err(Error::from)?;
            if each(fact.id(), key, value)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The key of a fact whose key is a text: a path, or a symbol.
    pub(super) fn text(&self, id: FactId) -> Result<String> {
        let fact = self.facts.snapshot().fact_by_id(id)?;
        let fact = fact.ok_or(fulgurite_facts::Error::NoSuchFact { id })?;
        Ok(string(&decode(&Type::String, fact.key())?).to_owned())
    }
}

/// The shortest ranges that a position is in, or else right behind.
fn nearest(uses: Vec<Use>, line: u32, column: u32) -> Vec<Use> {
    let is_behind = |used: &Use| (used.span.end_line, used.span.end_column) == (line, column);
    let mut touched: Vec<Use> = uses.into_iter().filter(|used| used.span.touches(line, column)).collect();
    if !touched.iter().all(is_behind) {
        touched.retain(|used| !is_behind(used));
    }
    let shortest = touched.iter().map(|used| used.span.extent()).min();
    touched.retain(|used| Some(used.span.extent()) == shortest);
    touched
}

/// The bytes of a reference, with which keys begin.
pub(super) fn of_fact(id: FactId) -> Result<Vec<u8>> {
    Ok(encode(&Type::Predicate(PredicateId::FIRST), &Value::Fact(id))?)
}

/// The bytes of a line of facts.
fn number(line: u32) -> Result<Vec<u8>> {
    Ok(encode(&Type::Nat, &Value::Nat(u64::from(line) + 1))?)
}

/// Values were decoded by their types: these match them.
pub(super) fn fact(value: &Value) -> FactId {
    match value {
        Value::Fact(id) => *id,
        _ => unreachable!("the schema has a fact here"),
    }
}

pub(super) fn string(value: &Value) -> &str {
    match value {
        Value::String(text) => text,
        _ => unreachable!("the schema has a string here"),
    }
}

/// What the columns of a file count, of the value of its `FileInfo`.
fn columns_of(value: &Value) -> Columns {
    match value {
        Value::Enum(number) => Columns::of(*number).unwrap_or(Columns::Utf8),
        _ => Columns::Utf8,
    }
}

pub(super) fn role(value: &Value) -> Option<Role> {
    match value {
        Value::Enum(number) => Role::of(*number),
        _ => None,
    }
}

/// The whole definition, of the value of a definition. Values of other facts have none.
pub(super) fn extent(value: &Value) -> Option<Span> {
    let Value::Record(fields) = value else { return None };
    match fields.first() {
        Some(Value::Maybe(Some(extent))) => Some(span(extent)),
        _ => None,
    }
}

pub(super) fn span(value: &Value) -> Span {
    let Value::Record(numbers) = value else { unreachable!("the schema has a range here") };
    let number = |at: usize| match numbers.get(at) {
        // Numbers of facts begin at 1; a damaged database may have others.
        Some(Value::Nat(number)) => u32::try_from(number.saturating_sub(1)).unwrap_or(u32::MAX),
        _ => 0,
    };
    Span { line: number(0), column: number(1), end_line: number(2), end_column: number(3) }
}
