//! [`FactDatabase`]: creating, opening and completing a database.

use std::path::Path;
use std::sync::Arc;

use fulgurite::Database;

use crate::error::{Error, Result};
use crate::layout::meta::{DERIVED, PROPERTY};
use crate::layout::tables::Side;
use crate::query::prepared::Compiler;
use crate::schema::definition::Schema;
use crate::store::backing::open_backing;
use crate::store::handle::Store;
use crate::store::open::StoreOptions;

/// The property with the schema.
const SCHEMA: &str = "schema";

/// A database of facts with the schema that it was created with; see the example of the crate.
#[derive(Clone)]
pub struct FactDatabase {
    pub(super) store: Store,
    pub(super) compiler: Arc<Compiler>,
}

impl FactDatabase {
    /// Creates a database with the default options.
    ///
    /// # Errors
    /// As [`FactDatabase::create_with`].
    pub fn create(path: impl AsRef<Path>, schema: Schema) -> Result<Self> {
        Self::create_with(Store::options(), path, schema)
    }

    /// Creates a database.
    ///
    /// # Errors
    /// [`Error::Angle`], if a derivation of the schema is wrong, or stored derivations use themselves within `!`, `all`
    /// or the condition of `if`; [`Error::OtherSchema`], if the base has another one;
    /// and as [`StoreOptions::create`].
    pub fn create_with(options: StoreOptions, path: impl AsRef<Path>, schema: Schema) -> Result<Self> {
        let schema = Arc::new(schema);
        let compiler = match options.base_store() {
            None => Compiler::new(schema)?,
            Some(base) if read_schema(base)?.hash() == schema.hash() => Compiler::of_database(schema)?,
            Some(base) => return Err(Error::OtherSchema { path: base.path().to_owned() }),
        };
        let compiler = Arc::new(compiler);
        let store = options.property(SCHEMA, compiler.schema().text().as_bytes()).create(path)?;
        Ok(Self { store, compiler })
    }

    /// Opens a database with the default options.
    ///
    /// # Errors
    /// As [`FactDatabase::open_with`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(Store::options(), path)
    }

    /// Opens a database.
    ///
    /// # Errors
    /// [`Error::NoSchema`], if it was created as a [`Store`]; and as [`StoreOptions::open`].
    pub fn open_with(options: StoreOptions, path: impl AsRef<Path>) -> Result<Self> {
        let store = options.open(path)?;
        let compiler = Arc::new(Compiler::of_database(Arc::new(read_schema(&store)?))?);
        Ok(Self { store, compiler })
    }

    /// The schema of the database at `path`. If it is stacked on others, they are not needed.
    ///
    /// # Errors
    /// [`Error::NotFacts`]; [`Error::NoSchema`]; errors of the engine.
    pub fn schema_at(path: impl AsRef<Path>) -> Result<Schema> {
        let path = path.as_ref();
        let backing = open_backing(&Database::options().read_only(true), path)?;
        let view = backing.view()?;
        let stored = view.get(Side::Meta, format!("{PROPERTY}{SCHEMA}"))?.map(|text| text.to_vec());
        schema_of(stored, path)
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The schema.
    #[must_use]
    pub fn schema(&self) -> &Arc<Schema> {
        self.compiler.schema()
    }

    /// Completes the database: afterwards it cannot be changed, and is stored more densely. Predicates of
    /// [`FactReader::not_derived_of_all`](crate::FactReader::not_derived_of_all) lack facts then, and queries say so.
    ///
    /// # Errors
    /// As [`Store::complete`].
    pub fn complete(&self) -> Result<()> {
        let schema = self.schema();
        if self.compiler.stored_derivations().next().is_some() {
            // A complete database without the entry is of an earlier version.
            self.store.change_meta(DERIVED, |recorded| recorded.is_none().then(Vec::new))?;
        }
        self.store
            .complete(|fact, references| schema.references(fact.predicate(), fact.key(), fact.value(), references))
    }

    /// Closes the database, and reports what went wrong since the last commit.
    ///
    /// # Errors
    /// As [`Store::close`].
    pub fn close(self) -> Result<()> {
        self.store.close()
    }
}

fn read_schema(store: &Store) -> Result<Schema> {
    schema_of(store.property(SCHEMA)?, store.path())
}

/// The schema in a property of the database at `path`.
fn schema_of(stored: Option<Vec<u8>>, path: &Path) -> Result<Schema> {
    let stored = stored.ok_or_else(|| Error::NoSchema { path: path.to_owned() })?;
    let text = String::from_utf8(stored).map_err(|_| Error::Damaged { what: "the schema is not UTF-8" })?;
    Ok(Schema::from_text(&text)?)
}
