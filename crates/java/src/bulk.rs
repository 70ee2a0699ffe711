//! Bulk loads of tables. Java is called for batches of entries while the load runs.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use fulgurite::Error;
use jni::objects::{JByteArray, JClass, JLongArray, JObject};
use jni::sys::jlong;
use jni::{Env, NativeMethod, jni_sig, jni_str, native_method};

use crate::arguments::Bytes;
use crate::batch::entry_places;
use crate::error::{Failure, Result, Throw};
use crate::registry::REGISTRY;

const _: [NativeMethod<'_>; 1] = [native_method! {
    java_type = "org.fulgurite.internal.Native", error_policy = Throw,
    static extern fn bulk_load(
        database: jlong, table: jlong, sorted: jboolean, source: org.fulgurite.internal.EntryBuffer, counts: jlong[]
    ) -> void,
}];

/// A key or value of a batch.
struct Part {
    batch: Rc<Bytes>,
    place: Range<usize>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        &self.batch[self.place.clone()]
    }
}

/// Java could not give the next batch. The reason is kept where the load began.
#[derive(Debug)]
struct NoBatch;

impl fmt::Display for NoBatch {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the iterator of the entries failed")
    }
}

impl std::error::Error for NoBatch {}

/// The entries of Java's batches.
struct Entries<'e, 'l> {
    env: &'e mut Env<'l>,
    source: &'e JObject<'l>,
    batch: Rc<Bytes>,
    /// The keys and values of the batch that were not returned yet.
    places: VecDeque<(Range<usize>, Range<usize>)>,
    is_ended: bool,
    failure: &'e RefCell<Option<Failure>>,
}

impl Entries<'_, '_> {
    /// Reads the next batch. Returns whether there is one.
    fn read(&mut self) -> Result<bool> {
        let source = self.source;
        let batch = self.env.with_local_frame(4, |env| -> Result<Option<Bytes>> {
            let array = env.call_method(source, jni_str!("next"), jni_sig!("()[B"), &[])?.l()?;
            if array.is_null() {
                return Ok(None);
            }
            let array = env.cast_local::<JByteArray<'_>>(array)?;
            Bytes::of(env, &array).map(Some)
        })?;
        let Some(batch) = batch else { return Ok(false) };
        self.places = entry_places(&batch)?.into();
        self.batch = Rc::new(batch);
        Ok(true)
    }
}

impl Iterator for Entries<'_, '_> {
    type Item = std::result::Result<(Part, Part), NoBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.places.is_empty() && !self.is_ended {
            match self.read() {
                Ok(true) => {}
                Ok(false) => self.is_ended = true,
                Err(failure) => {
                    *self.failure.borrow_mut() = Some(failure);
                    self.is_ended = true;
                    return Some(Err(NoBatch));
                }
            }
        }
        let (key, value) = self.places.pop_front()?;
        let part = |place| Part { batch: Rc::clone(&self.batch), place };
        Some(Ok((part(key), part(value))))
    }
}

/// Loads the entries of `source` into a table. Puts the numbers of inserted and replaced keys into `counts`.
fn bulk_load<'l>(
    env: &mut Env<'l>,
    _: JClass<'l>,
    database: jlong,
    table: jlong,
    sorted: bool,
    source: JObject<'l>,
    counts: JLongArray<'l>,
) -> Result<()> {
    let (database, table) = (REGISTRY.database(database)?, REGISTRY.table(table)?);
    let failure = RefCell::new(None);
    let loaded = {
        let entries = Entries {
            env: &mut *env,
            source: &source,
            batch: Rc::default(),
            places: VecDeque::new(),
            is_ended: false,
            failure: &failure,
        };
        if sorted {
            database.try_bulk_load(&table, entries)
        } else {
            database.try_bulk_load_unsorted(&table, entries, SORT_MEMORY_BYTES)
        }
    };
    match (loaded, failure.into_inner()) {
        // The exception of the iterator, if it has thrown one, is thrown from here.
        (Err(Error::Input { .. }), Some(failure)) => Err(failure),
        (Err(error), _) => Err(error.into()),
        (Ok(summary), _) => {
            Ok(counts.set_region(env, 0, &[summary.inserted.cast_signed(), summary.replaced.cast_signed()])?)
        }
    }
}

/// The memory for sorting entries; more of them go to temporary files.
const SORT_MEMORY_BYTES: usize = 256 << 20;
