//! Files of schemas to a [`Schema`].

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::angle::diagnostic::Diagnostic;
use crate::angle::parser::parse_schemas;
use crate::angle::source::Source;
use crate::angle::tree::{Declaration, Derivation, Name, SchemaDefinition, SourceType};
use crate::cancellation::Deadline;
use crate::ids::PredicateId;
use crate::schema::compatibility::{check_evolution, check_no_cycle, on_cycles};
use crate::schema::definition::{Evolution, FIRST_PREDICATE_ID, NamedType, Predicate, PredicateDerivation, Schema};
use crate::schema::names::{is_reserved, split_version};
use crate::schema::scopes::{Entry, Scope};
use crate::schema::similar::did_you_mean;
use crate::schema::typing::{DeclaredType, TypeResolver};
use crate::value::types::Type;

impl Schema {
    /// Reads schemas from texts, each with the name of its file.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong: the grammar, a name that is unknown or declared twice, a cycle, a type that
    /// evolved incompatibly. Derivations are not checked here: [`crate::Compiler::new`] does that.
    pub fn from_sources(sources: &[Source]) -> Result<Schema, Diagnostic> {
        Schema::load(sources, &Deadline::default())
    }

    /// As [`Schema::from_sources`], until a deadline. An error after it may be any.
    pub(crate) fn load(sources: &[Source], deadline: &Deadline) -> Result<Schema, Diagnostic> {
        Schema::load_names(sources, deadline, NAMES_MAX)
    }

    /// As [`Schema::load`], if the schemas see at most `names_max` names in all.
    fn load_names(sources: &[Source], deadline: &Deadline, names_max: usize) -> Result<Schema, Diagnostic> {
        let mut loading = Loading { deadline: deadline.clone(), names_max, ..Loading::default() };
        for source in sources {
            let file = parse_schemas(source)?;
            for definition in file.schemas {
                loading.add_schema(source, definition)?;
            }
            loading.evolves.extend(file.evolves.into_iter().map(|(new, old)| (source.clone(), new, old)));
        }
        loading.finish(sources)
    }

    /// Reads schemas from one text.
    ///
    /// # Errors
    ///
    /// As [`Schema::from_sources`].
    pub fn parse(file: &str, text: &str) -> Result<Schema, Diagnostic> {
        Schema::from_sources(&[Source::new(file, text)?])
    }

    /// Reads what [`Schema::text`] returned. The number of names is not limited: a database keeps the schema that it
    /// was created with.
    ///
    /// # Errors
    ///
    /// As [`Schema::from_sources`], and if the text was not written by [`Schema::text`].
    pub fn from_text(text: &str) -> Result<Schema, Diagnostic> {
        let damaged = |rest: &str| {
            let line = text[..text.len() - rest.len()].lines().count() + 1;
            Diagnostic {
                file: "stored schema".to_owned(),
                line,
                column: 1,
                token: rest.lines().next().unwrap_or("").chars().take(40).collect(),
                message: "expected `#SOURCE bytes name`".to_owned(),
                hint: "the stored schema is damaged; restore the database from a backup".to_owned(),
            }
        };
        let mut sources = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let header = rest.strip_prefix("#SOURCE ").and_then(|rest| rest.split_once('\n'));
            let (head, after) = header.ok_or_else(|| damaged(rest))?;
            let (length, name) = head.split_once(' ').ok_or_else(|| damaged(rest))?;
            let length: usize = length.parse().map_err(|_| damaged(rest))?;
            let body = after.get(..length).ok_or_else(|| damaged(rest))?;
            let next = after[length..].strip_prefix('\n').ok_or_else(|| damaged(rest))?;
            sources.push(Source::new(name, body)?);
            rest = next;
        }
        Schema::load_names(&sources, &Deadline::default(), usize::MAX)
    }
}

/// A schema whose names are not resolved.
struct Unresolved {
    source: Source,
    name: String,
    base: String,
    version: u32,
    definition: SchemaDefinition,
    /// Schemas that it imports or inherits from, by index.
    needs: Vec<usize>,
    /// What it exports: the name without the schema, and the entry.
    exports: HashMap<String, Entry>,
}

struct DeclaredPredicate {
    schema: usize,
    name: String,
    version: u32,
    key: SourceType,
    value: Option<SourceType>,
    derivation: Option<(usize, Derivation)>,
}

#[derive(Default)]
struct Loading {
    schemas: Vec<Unresolved>,
    by_name: HashMap<String, usize>,
    /// The newest of each name without a version.
    newest: HashMap<String, usize>,
    types: Vec<DeclaredType>,
    predicates: Vec<DeclaredPredicate>,
    evolves: Vec<(Source, Name, Name)>,
    deadline: Deadline,
    /// The most names that all schemas may see together.
    names_max: usize,
}

impl Loading {
    fn add_schema(&mut self, source: &Source, definition: SchemaDefinition) -> Result<(), Diagnostic> {
        let name = &definition.name;
        let (base, Some(version)) = split_version(&name.text) else {
            let hint = format!("write `schema {}.1`", name.text);
            return Err(source.error(name.span, "the name of the schema has no version", hint));
        };
        let base = base.to_owned();
        let index = self.schemas.len();
        if self.by_name.insert(name.text.clone(), index).is_some() {
            let hint = "join the two, or give one another version";
            return Err(source.error(name.span, format!("schema {} is defined twice", name.text), hint));
        }
        let name = name.text.clone();
        let (source, needs, exports) = (source.clone(), Vec::new(), HashMap::new());
        self.schemas.push(Unresolved { source, name, base: base.clone(), version, definition, needs, exports });
        let newest = self.newest.entry(base).or_insert(index);
        if self.schemas[*newest].version <= version {
            *newest = index;
        }
        Ok(())
    }

    fn finish(mut self, sources: &[Source]) -> Result<Schema, Diagnostic> {
        for index in 0..self.schemas.len() {
            self.schemas[index].needs = self.needs_of(index)?;
        }
        let order = self.order()?;
        for index in 0..self.schemas.len() {
            self.declare(index)?;
        }
        let mut scopes: Vec<Scope> = (0..self.schemas.len()).map(|_| Scope::default()).collect();
        let mut names = 0;
        for &index in &order {
            self.check_time(index)?;
            scopes[index] = self.scope(index);
            names += scopes[index].count();
            if names > self.names_max {
                let schema = &self.schemas[index];
                let message = format!("the schemas see more than {} names in all", self.names_max);
                let hint = "import and inherit fewer schemas";
                return Err(schema.source.error(schema.definition.name.span, message, hint));
            }
        }
        for (index, scope) in scopes.iter().enumerate() {
            self.attach_derivations(index, scope)?;
        }
        self.resolve(sources, scopes)
    }

    /// A schema by its name; without a version, the newest.
    fn find_schema(&self, source: &Source, name: &Name) -> Result<usize, Diagnostic> {
        let found = self.by_name.get(&name.text).or_else(|| self.newest.get(&name.text));
        found.copied().ok_or_else(|| {
            let names = self.by_name.keys().map(String::as_str);
            let hint = did_you_mean(&name.text, names, "define it, or add its file");
            source.error(name.span, format!("there is no schema {}", name.text), hint)
        })
    }

    fn needs_of(&self, index: usize) -> Result<Vec<usize>, Diagnostic> {
        let Unresolved { source, definition, .. } = &self.schemas[index];
        let imports = definition.declarations.iter().filter_map(|declaration| match declaration {
            Declaration::Import(name) => Some(name),
            _ => None,
        });
        definition.parents.iter().chain(imports).map(|name| self.find_schema(source, name)).collect()
    }

    /// The schemas, each after those that it needs.
    fn order(&self) -> Result<Vec<usize>, Diagnostic> {
        let mut missing: Vec<usize> = self.schemas.iter().map(|schema| schema.needs.len()).collect();
        let mut needed_by: Vec<Vec<usize>> = vec![Vec::new(); self.schemas.len()];
        for (index, schema) in self.schemas.iter().enumerate() {
            schema.needs.iter().for_each(|&need| needed_by[need].push(index));
        }
        let mut order: Vec<usize> = (0..self.schemas.len()).filter(|&index| missing[index] == 0).collect();
        let mut next = 0;
        while next < order.len() {
            for &user in &needed_by[order[next]] {
                missing[user] -= 1;
                if missing[user] == 0 {
                    order.push(user);
                }
            }
            next += 1;
        }
        let Some(first) = (0..self.schemas.len()).find(|&index| missing[index] > 0) else { return Ok(order) };
        // Of the schemas that are left, each needs another one that is left: following them finds a cycle.
        let mut path = vec![first];
        loop {
            let last = path[path.len() - 1];
            let next = self.schemas[last].needs.iter().find(|&&need| missing[need] > 0);
            let next = *next.expect("a schema that is left needs another that is left");
            if let Some(at) = path.iter().position(|&index| index == next) {
                let names = path[at..].iter().chain([&next]).map(|&index| self.schemas[index].name.as_str());
                let cycle = names.collect::<Vec<_>>().join(" → ");
                let schema = &self.schemas[next];
                let message = format!("schemas import each other in a cycle: {cycle}");
                return Err(schema.source.error(
                    schema.definition.name.span,
                    message,
                    "move what both need into a third",
                ));
            }
            path.push(next);
        }
    }

    /// Numbers what a schema declares.
    fn declare(&mut self, index: usize) -> Result<(), Diagnostic> {
        let declarations = std::mem::take(&mut self.schemas[index].definition.declarations);
        for declaration in &declarations {
            let (name, entry) = match declaration {
                Declaration::Type(name, _) => (name, Entry::Type(self.types.len())),
                Declaration::Predicate { name, .. } => {
                    let id = FIRST_PREDICATE_ID + self.predicates.len() as u64;
                    (name, Entry::Predicate(PredicateId::new(id).expect("predicates are numbered from 1024")))
                }
                _ => continue,
            };
            let schema = &mut self.schemas[index];
            let (base, version) = split_version(&name.text);
            if base.contains('.') || is_reserved(base) {
                let hint = "names in a schema have no dots, and are no words of the languages that use them";
                return Err(schema.source.error(name.span, format!("`{base}` cannot be declared"), hint));
            }
            if schema.exports.insert(base.to_owned(), entry).is_some() {
                let message = format!("{} is declared twice in schema {}", base, schema.name);
                return Err(schema.source.error(name.span, message, "rename one of them"));
            }
            let full = format!("{}.{base}", schema.base);
            let version = version.unwrap_or(schema.version);
            match declaration {
                Declaration::Type(name, ty) => {
                    let (span, ty) = (name.span, ty.clone());
                    self.types.push(DeclaredType { schema: index, name: full, version, span, ty });
                }
                Declaration::Predicate { key, value, derivation, .. } => {
                    let derivation = derivation.clone().map(|derivation| (index, derivation));
                    let (key, value) = (key.clone(), value.clone());
                    self.predicates.push(DeclaredPredicate {
                        schema: index,
                        name: full,
                        version,
                        key,
                        value,
                        derivation,
                    });
                }
                _ => {}
            }
        }
        self.schemas[index].definition.declarations = declarations;
        Ok(())
    }

    /// What a schema sees. Requires: the schemas that it needs have been seen to.
    fn scope(&mut self, index: usize) -> Scope {
        let parents = self.schemas[index].definition.parents.len();
        let own = self.schemas[index].exports.clone();
        let mut scope = Scope::default();
        let mut exports = own.clone();
        let mut seen = HashSet::new();
        // The first parent counts if two export the same name.
        for (position, &need) in self.schemas[index].needs.iter().enumerate() {
            if !seen.insert(need) {
                continue;
            }
            let inherited = position < parents;
            let needed = &self.schemas[need];
            for (name, entry) in &needed.exports {
                self.names(needed, name, entry).into_iter().for_each(|name| scope.insert_new(name, entry.clone()));
                if inherited && !own.contains_key(name) {
                    exports.entry(name.clone()).or_insert_with(|| entry.clone());
                }
            }
        }
        for (name, entry) in &exports {
            scope.insert(name.clone(), entry.clone());
        }
        for (name, entry) in &own {
            let names = self.names(&self.schemas[index], name, entry);
            names.into_iter().for_each(|name| scope.insert(name, entry.clone()));
        }
        self.schemas[index].exports = exports;
        scope
    }

    /// The qualified names of an export: by the schema that exports it, and by the one that declares it; with the
    /// version, and without.
    fn names(&self, schema: &Unresolved, name: &str, entry: &Entry) -> Vec<String> {
        let (full, version) = self.full_name(entry);
        vec![format!("{}.{name}", schema.base), full.to_owned(), format!("{full}.{version}")]
    }

    fn full_name(&self, entry: &Entry) -> (&str, u32) {
        match entry {
            Entry::Type(index) => (&self.types[*index].name, self.types[*index].version),
            Entry::Predicate(id) => {
                let predicate = &self.predicates[(id.get() - FIRST_PREDICATE_ID) as usize];
                (&predicate.name, predicate.version)
            }
        }
    }

    /// Gives `derive P query` to its predicate.
    fn attach_derivations(&mut self, index: usize, scope: &Scope) -> Result<(), Diagnostic> {
        for declaration in &self.schemas[index].definition.declarations {
            let Declaration::Derive(name, derivation) = declaration else { continue };
            let source = &self.schemas[index].source;
            let Some(Entry::Predicate(id)) = scope.find(&name.text) else {
                let hint = did_you_mean(&name.text, scope.names(), "declare it, or import its schema");
                return Err(source.error(name.span, format!("there is no predicate {}", name.text), hint));
            };
            let predicate = &mut self.predicates[(id.get() - FIRST_PREDICATE_ID) as usize];
            if predicate.derivation.is_some() {
                let message = format!("{} has two derivations", predicate.name);
                return Err(source.error(name.span, message, "join them by `|`"));
            }
            predicate.derivation = Some((index, derivation.clone()));
        }
        Ok(())
    }

    fn resolve(self, sources: &[Source], scopes: Vec<Scope>) -> Result<Schema, Diagnostic> {
        let texts: Vec<Source> = self.schemas.iter().map(|schema| schema.source.clone()).collect();
        let mut resolver = TypeResolver::new(&self.types, &scopes, &texts);
        let mut types = Vec::new();
        for (index, declared) in self.types.iter().enumerate() {
            let ty = resolver.named(index, &texts[declared.schema], declared.span)?;
            types.push(NamedType { name: declared.name.clone(), version: declared.version, ty });
        }
        let mut predicates = Vec::new();
        for declared in &self.predicates {
            self.check_time(declared.schema)?;
            let key = resolver.resolve(declared.schema, &declared.key)?;
            let value = declared.value.as_ref().map_or(Ok(Type::unit()), |ty| resolver.resolve(declared.schema, ty))?;
            predicates.push((key, value));
        }
        let shared = Arc::new(types.iter().map(|named| named.ty.clone()).collect::<Vec<_>>());
        let query_scope = Arc::new(self.query_scope().with_types(shared.clone()));
        let scopes: Vec<Arc<Scope>> =
            scopes.into_iter().map(|scope| Arc::new(scope.with_types(shared.clone()))).collect();
        let mut schema = Schema {
            sources: sources.to_vec(),
            types,
            predicates: Vec::new(),
            scopes,
            query_scope,
            by_name: HashMap::new(),
            evolved: HashMap::new(),
            evolutions: Vec::new(),
        };
        for (declared, (key, value)) in self.predicates.iter().zip(predicates) {
            schema.add_predicate(declared, key, value, &texts)?;
        }
        self.evolve(&mut schema)?;
        Ok(schema)
    }

    /// What queries see: the newest version of everything, but what the newest schema `all` exports comes first.
    fn query_scope(&self) -> Scope {
        let mut scope = Scope::default();
        let mut newest: Vec<usize> = (0..self.schemas.len()).collect();
        newest
            .sort_by_key(|&index| (self.schemas[index].base != "all", std::cmp::Reverse(self.schemas[index].version)));
        for index in newest {
            let schema = &self.schemas[index];
            for (name, entry) in &schema.exports {
                self.names(schema, name, entry).into_iter().for_each(|name| scope.insert_new(name, entry.clone()));
            }
        }
        scope
    }

    fn evolve(&self, schema: &mut Schema) -> Result<(), Diagnostic> {
        let mut newer = HashMap::new();
        for (source, new, old) in &self.evolves {
            let (new_index, old_index) = (self.find_schema(source, new)?, self.find_schema(source, old)?);
            if newer.insert(old_index, new_index).is_some() {
                let message = format!("schema {} evolves twice", old.text);
                return Err(source.error(old.span, message, "let the newest evolve the one before it"));
            }
            let mut predicates = Vec::new();
            for (name, entry) in &self.schemas[old_index].exports {
                let Entry::Predicate(old_id) = entry else { continue };
                let Some(Entry::Predicate(new_id)) = self.schemas[new_index].exports.get(name) else {
                    let message = format!("schema {} has no predicate {name}, which {} has", new.text, old.text);
                    return Err(source.error(new.span, message, "the newer schema needs all predicates of the older"));
                };
                // Schemas can share a predicate; its successor is that of the first line.
                if old_id != new_id && schema.evolved.entry(*old_id).or_insert(*new_id) == new_id {
                    predicates.push((*old_id, *new_id));
                }
            }
            predicates.sort_unstable();
            schema.evolutions.push(Evolution { old: old_index, new: new_index, predicates });
        }
        let cyclic = on_cycles(&newer);
        for (source, new, old) in &self.evolves {
            let old_index = self.find_schema(source, old)?;
            self.check_time(old_index)?;
            if cyclic.contains(&old_index) {
                let message = format!("schema {} evolves itself, by way of {}", old.text, new.text);
                return Err(source.error(new.span, message, "the newer schema evolves the older, not the other way"));
            }
            for entry in self.schemas[old_index].exports.values() {
                let Entry::Predicate(old_id) = entry else { continue };
                check_no_cycle(schema, *old_id).map_err(|message| {
                    source.error(new.span, message, "leave out one of these `evolves`; schemas can share a predicate")
                })?;
                check_evolution(schema, *old_id, &self.deadline).map_err(|message| {
                    let hint = "keep the types of fields; add or remove only fields that have a default value";
                    source.error(new.span, message, hint)
                })?;
            }
        }
        Ok(())
    }

    /// # Errors
    ///
    /// If the time is up.
    fn check_time(&self, schema: usize) -> Result<(), Diagnostic> {
        if !self.deadline.is_reached() {
            return Ok(());
        }
        let schema = &self.schemas[schema];
        let hint = "shorten the schema, or give it more time";
        Err(schema.source.error(schema.definition.name.span, "the time to read the schema is up", hint))
    }
}

/// The most names that all schemas of a user see together. Each form of a name is in memory for each schema that sees
/// it: with the schema that exports it, with the one that declares it, with the version too, and alone.
const NAMES_MAX: usize = 1_000_000;

impl Schema {
    fn add_predicate(
        &mut self,
        declared: &DeclaredPredicate,
        key: Type,
        value: Type,
        texts: &[Source],
    ) -> Result<(), Diagnostic> {
        let id = PredicateId::new(FIRST_PREDICATE_ID + self.predicates.len() as u64);
        let id = id.expect("predicates are numbered from 1024");
        let derivation = declared.derivation.as_ref().map(|(schema, derivation)| PredicateDerivation {
            when: derivation.when,
            query: Arc::new(derivation.query.clone()),
            source: texts[*schema].clone(),
            scope: self.scopes[*schema].clone(),
        });
        let (name, version) = (declared.name.clone(), declared.version);
        let predicate = Predicate { id, name, version, key, value, derivation };
        if self.by_name.insert(predicate.full_name(), id).is_some() {
            let message = format!("{} is declared twice", predicate.full_name());
            return Err(texts[declared.schema].error(declared.key.span, message, "give one another version"));
        }
        self.predicates.push(predicate);
        Ok(())
    }
}
