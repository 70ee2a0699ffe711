//! Segments: files that together have all tables of a database, in the order of tables and keys.
//!
//! The entries decide where a segment ends, so an unchanged part of the database has the same segments as before. A
//! segment ends after an entry whose key's hash modulo the wanted size is below the size of the entry: one byte is as
//! likely to end a segment as any other. All segments but the last have at least a quarter of the wanted size. They end
//! as soon as they have twice as much. So an end also depends on where its segment began. After a change that moves an
//! end, the ends are soon the same again.
//!
//! A segment has, after the eight bytes `FULSEGM1`, records. Byte strings follow their length as four bytes, least
//! significant first.
//!
//! | record | after its first byte |
//! |---|---|
//! | 1: entry | key, value |
//! | 2: table | flags (1 counted, 2 packed, 4 multimap), alignment of values; then five byte strings, see below |
//! | 0: end | nothing |
//!
//! The byte strings of a table are its name, the types of keys and values, the merge operator and the merge function,
//! which are empty if there are none. Entries are of the table before them. Each segment begins with a table, which may
//! be the one that the segment before has ended with.

use std::io::Read;

use fulgurite::{Database, Error, MergeOperator, ReadTxn, Table, TableOptions};
use xxhash_rust::xxh3::xxh3_64;

use crate::checkpoint::error::CheckpointError;
use crate::checkpoint::fields::{Fields, write_bytes};
use crate::checkpoint::manifest::StoredFile;

const MAGIC: &[u8; 8] = b"FULSEGM1";
const END: u8 = 0;
const ENTRY: u8 = 1;
const TABLE: u8 = 2;
const COUNTED: u8 = 1;
const PACKED: u8 = 2;
const MULTIMAP: u8 = 4;

/// Passes the bytes of all segments of a snapshot to `each`, in order. `wanted_bytes` is about the size of a segment.
/// One segment at a time is in memory.
///
/// # Errors
/// What `each` returns; errors of reading.
pub fn write_all(
    snapshot: &ReadTxn,
    wanted_bytes: u64,
    mut each: impl FnMut(&[u8]) -> Result<(), CheckpointError>,
) -> Result<(), CheckpointError> {
    let mut segment = Segment { wanted_bytes, bytes: Vec::new() };
    for table in snapshot.tables() {
        let head = head_of(&table);
        if segment.has_least() {
            segment.end(&mut each)?;
        }
        segment.begin(&head);
        for batch in snapshot.leaf_batches(&table, ..)? {
            for (key, value) in &batch? {
                segment.begin_if_empty(&head);
                if segment.add(key, value) {
                    segment.end(&mut each)?;
                }
            }
        }
    }
    if segment.bytes.is_empty() { Ok(()) } else { segment.end(&mut each) }
}

/// The segment that is being written.
struct Segment {
    wanted_bytes: u64,
    bytes: Vec<u8>,
}

impl Segment {
    /// Begins a table, and the segment if it is empty.
    fn begin(&mut self, head: &[u8]) {
        if self.bytes.is_empty() {
            self.bytes.extend_from_slice(MAGIC);
        }
        self.bytes.extend_from_slice(head);
    }

    fn begin_if_empty(&mut self, head: &[u8]) {
        if self.bytes.is_empty() {
            self.begin(head);
        }
    }

    /// Whether the segment may end.
    fn has_least(&self) -> bool {
        self.bytes.len() as u64 >= self.wanted_bytes / 4
    }

    /// Adds an entry. Returns whether the segment ends after it.
    fn add(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.bytes.push(ENTRY);
        push(&mut self.bytes, key);
        push(&mut self.bytes, value);
        let entry_bytes = (key.len() + value.len() + 9) as u64;
        let is_end = xxh3_64(key) % self.wanted_bytes < entry_bytes;
        self.has_least() && is_end || self.bytes.len() as u64 >= self.wanted_bytes * 2
    }

    fn end(&mut self, each: &mut impl FnMut(&[u8]) -> Result<(), CheckpointError>) -> Result<(), CheckpointError> {
        self.bytes.push(END);
        each(&self.bytes)?;
        self.bytes.clear();
        // A large value does not keep its memory.
        self.bytes.shrink_to(usize::try_from(self.wanted_bytes * 4).unwrap_or(usize::MAX));
        Ok(())
    }
}

fn push(out: &mut Vec<u8>, bytes: &[u8]) {
    write_bytes(out, bytes).expect("memory can be written");
}

/// The record of a table.
fn head_of(table: &Table) -> Vec<u8> {
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags =
        flag(table.is_counted(), COUNTED) | flag(table.is_packed(), PACKED) | flag(table.is_multimap(), MULTIMAP);
    let operator = table.merge_operator().map(|operator| operator.to_string()).unwrap_or_default();
    let function = table.merge_function().unwrap_or_default();
    let mut head = vec![TABLE, flags, table.value_align()];
    for text in [table.name(), table.key_type(), table.value_type(), &operator, function] {
        push(&mut head, text.as_bytes());
    }
    head
}

/// Loads segments into a database without tables. `open` opens a file after its content was verified.
///
/// # Errors
/// [`CheckpointError::Damaged`] with the name of the segment; what `open` returns; [`CheckpointError::Engine`].
pub fn load<'f, R: Read>(
    db: &Database,
    files: &'f [StoredFile],
    open: impl FnMut(&'f StoredFile) -> Result<R, CheckpointError>,
) -> Result<(), CheckpointError> {
    let mut records = Records { files: files.iter(), open, fields: None, next: None };
    while let Some(NewTable { name, options }) = records.next_table()? {
        let table = db.create_table(&name, options)?;
        db.try_bulk_load(&table, records.entries(&name)).map_err(error_of_load)?;
    }
    Ok(())
}

/// The error of the input as it was.
fn error_of_load(error: Error) -> CheckpointError {
    match error {
        Error::Input { source } => match source.downcast::<CheckpointError>() {
            Ok(own) => *own,
            Err(source) => Error::Input { source }.into(),
        },
        error => error.into(),
    }
}

struct NewTable {
    name: String,
    options: TableOptions,
}

enum Record {
    Entry(Vec<u8>, Vec<u8>),
    Table(NewTable),
}

/// The records of all segments.
struct Records<'f, R, O> {
    files: std::slice::Iter<'f, StoredFile>,
    open: O,
    /// The segment that is being read.
    fields: Option<Fields<R>>,
    /// The table after the one whose entries were read.
    next: Option<NewTable>,
}

impl<'f, R: Read, O: FnMut(&'f StoredFile) -> Result<R, CheckpointError>> Records<'f, R, O> {
    /// The table whose entries follow.
    fn next_table(&mut self) -> Result<Option<NewTable>, CheckpointError> {
        if let Some(next) = self.next.take() {
            return Ok(Some(next));
        }
        match self.read()? {
            None => Ok(None),
            Some(Record::Table(table)) => Ok(Some(table)),
            Some(Record::Entry(..)) => Err(self.damaged("its first entry is of no table")),
        }
    }

    /// The entries of this table that follow.
    fn entries(&mut self, name: &str) -> impl Iterator<Item = Result<(Vec<u8>, Vec<u8>), CheckpointError>> {
        std::iter::from_fn(move || {
            while self.next.is_none() {
                match self.read() {
                    Ok(None) => return None,
                    Ok(Some(Record::Entry(key, value))) => return Some(Ok((key, value))),
                    // It goes on in another segment.
                    Ok(Some(Record::Table(table))) if table.name == name => {}
                    Ok(Some(Record::Table(table))) => self.next = Some(table),
                    Err(error) => return Some(Err(error)),
                }
            }
            None
        })
    }

    /// The next record; `None` after the last segment.
    fn read(&mut self) -> Result<Option<Record>, CheckpointError> {
        loop {
            let (fields, is_first) = match &mut self.fields {
                Some(fields) => (fields, false),
                None => {
                    let Some(file) = self.files.next() else { return Ok(None) };
                    let input = (self.open)(file)?;
                    (self.fields.insert(Fields::open(&file.name, input, MAGIC, "a segment")?), true)
                }
            };
            match fields.array::<1>()? {
                [kind] if is_first && kind != TABLE => return Err(fields.damaged("it does not begin with a table")),
                [END] => self.fields = None,
                [ENTRY] => return Ok(Some(Record::Entry(fields.bytes()?, fields.bytes()?))),
                [TABLE] => return read_table(fields).map(|table| Some(Record::Table(table))),
                [other] => return Err(fields.damaged(format!("there is no record of kind {other}"))),
            }
        }
    }

    fn damaged(&self, reason: &str) -> CheckpointError {
        match &self.fields {
            Some(fields) => fields.damaged(reason),
            None => CheckpointError::damaged("a segment", reason),
        }
    }
}

fn read_table(fields: &mut Fields<impl Read>) -> Result<NewTable, CheckpointError> {
    let [flags, value_align] = fields.array::<2>()?;
    let name = fields.text()?;
    let mut options = TableOptions::new()
        .counted(flags & COUNTED != 0)
        .packed(flags & PACKED != 0)
        .value_align(value_align)
        .key_type(fields.text()?)
        .value_type(fields.text()?);
    if flags & MULTIMAP != 0 {
        options = options.multimap();
    }
    let (operator, function) = (fields.text()?, fields.text()?);
    if !operator.is_empty() {
        let known = MergeOperator::ALL.into_iter().find(|known| known.to_string() == operator);
        let known = known.ok_or_else(|| fields.damaged(format!("there is no merge operator `{operator}`")))?;
        options = options.merge(known);
    }
    if !function.is_empty() {
        options = options.merge_function(function);
    }
    Ok(NewTable { name, options })
}
