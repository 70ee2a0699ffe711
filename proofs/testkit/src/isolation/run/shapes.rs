//! The table of shapes: each uses transactions in one way that has its own places to go wrong.

use super::super::anomaly::Level;
use super::session::step::Step;

/// One way to use transactions from many threads.
#[derive(Debug)]
pub struct Shape {
    /// What `--shape` takes.
    pub name: &'static str,
    /// What its transactions are checked for by the engine.
    pub(super) isolation: Isolations,
    /// Threads that run transactions.
    pub(super) threads: u32,
    /// Lists that are appended to at a time.
    pub(super) lists: u64,
    /// Tables of registers.
    pub(super) tables: usize,
    /// Registers in each of them.
    pub(super) registers: u64,
    /// Tables that come and go.
    pub(super) named: u64,
    /// Of what size the deltas are merged by the engine itself.
    pub(super) delta_bytes: u64,
    /// How much memory a transaction may take.
    pub(super) write_set_bytes: u64,
    /// Where the database is.
    pub(super) place: Place,
    /// Transactions after which a thread calls for a checkpoint; 0: never.
    pub(super) checkpoint_every: u64,
    /// How many steps a transaction has, from and to.
    pub(super) steps: (u64, u64),
    /// What they are, with their weights.
    pub(super) mix: &'static [(Step, u64)],
    /// Of a thousand transactions, those of each kind; the others write.
    pub(super) kinds: Kinds,
    /// Bytes beside a register's value, at most; of one in two hundred, several times a page.
    pub(super) padding: u64,
}

/// Of a thousand transactions, how many are of these kinds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kinds {
    /// They read a snapshot.
    pub reads: u64,
    /// They read the newest durable commit.
    pub durable_reads: u64,
    /// They exclude all others.
    pub exclusive: u64,
    /// They are bulk loads.
    pub loads: u64,
    /// They wait until checkpoints have been made beside them.
    pub long: u64,
}

/// Which isolation transactions ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Isolations {
    /// All `Serializable`.
    Serializable,
    /// All `Snapshot`.
    Snapshot,
    /// Some this, some that.
    Either,
}

/// Where a database is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In memory.
    Memory,
    /// In the temporary directory, with maps.
    Directory,
    /// On a disk that crashes once in each segment.
    Crashing,
}

impl Shape {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self { name: "lists", ..LISTS },
        Self {
            name: "lists-of-many-threads",
            threads: 8,
            lists: 400,
            steps: (1, 12),
            checkpoint_every: 700,
            mix: &[(Step::Append, 5), (Step::ReadList, 3)],
            ..LISTS
        },
        Self { name: "merges", threads: 6, checkpoint_every: 100, mix: MERGES, ..LISTS },
        Self { name: "snapshot-merges", isolation: Isolations::Snapshot, mix: MERGES, ..LISTS },
        Self { name: "registers", threads: 6, tables: 4, registers: 12, mix: POINTS, ..REGISTERS },
        Self { name: "ranges", mix: RANGES, ..REGISTERS },
        Self { name: "pops", threads: 6, registers: 24, mix: POPS, ..REGISTERS },
        Self {
            name: "snapshot-pops",
            isolation: Isolations::Snapshot,
            threads: 6,
            registers: 24,
            mix: POPS,
            ..REGISTERS
        },
        Self { name: "absences", threads: 3, registers: 400, steps: (2, 8), mix: ABSENCES, ..REGISTERS },
        Self { name: "snapshot-lists", isolation: Isolations::Snapshot, ..LISTS },
        Self { name: "snapshot-ranges", isolation: Isolations::Snapshot, threads: 6, mix: ALL, named: 2, ..REGISTERS },
        Self { name: "either", isolation: Isolations::Either, mix: ALL, lists: 20, ..REGISTERS },
        Self { name: "long", delta_bytes: 512 << 10, checkpoint_every: 40, ..LONG },
        Self { name: "runs", delta_bytes: 64 << 10, checkpoint_every: 25, padding: 60, mix: STACKED, ..LONG },
        Self { name: "spilled", registers: 200, padding: 400, mix: ALL, named: 2, ..SPILLED },
        Self { name: "snapshot-spilled", isolation: Isolations::Snapshot, mix: MERGES, steps: (1, 12), ..SPILLED },
        Self { name: "too-old", delta_bytes: 64 << 10, checkpoint_every: 60, threads: 6, padding: 400, ..LONG },
        Self {
            name: "exclusive",
            threads: 5,
            mix: ALL,
            lists: 10,
            kinds: Kinds { exclusive: 60, loads: 8, ..PLAIN },
            ..REGISTERS
        },
        Self { name: "tables", threads: 4, named: 4, mix: NAMED, checkpoint_every: 100, ..REGISTERS },
        Self { name: "large-values", registers: 100, mix: POINTS, padding: 3000, delta_bytes: 256 << 10, ..REGISTERS },
        Self { name: "directory", place: Place::Directory, threads: 8, mix: ALL, lists: 10, ..REGISTERS },
        Self { name: "crashes", place: Place::Crashing, mix: ALL, lists: 10, named: 2, kinds: CRASHING, ..REGISTERS },
        Self {
            name: "crashes-of-many-threads",
            isolation: Isolations::Snapshot,
            place: Place::Crashing,
            threads: 8,
            mix: ALL,
            lists: 30,
            kinds: Kinds { exclusive: 20, loads: 4, ..CRASHING },
            ..REGISTERS
        },
    ];

    /// The shape of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|shape| shape.name == name)
    }

    /// What the engine promises of its transactions.
    pub(super) fn level(&self) -> Level {
        match self.isolation {
            Isolations::Serializable => Level::StrictSerializable,
            // Serializable transactions beside others cannot keep these from write skew.
            Isolations::Snapshot | Isolations::Either => Level::SnapshotIsolation,
        }
    }
}

const PLAIN: Kinds = Kinds { reads: 100, durable_reads: 10, exclusive: 2, loads: 0, long: 0 };

/// What is said to be durable is to be there after a crash: many ask for it.
const CRASHING: Kinds = Kinds { durable_reads: 80, ..PLAIN };

const LISTS: Shape = Shape {
    name: "",
    isolation: Isolations::Serializable,
    threads: 4,
    lists: 8,
    tables: 1,
    registers: 16,
    named: 0,
    delta_bytes: 64 << 10,
    write_set_bytes: 64 << 20,
    place: Place::Memory,
    checkpoint_every: 300,
    steps: (1, 5),
    mix: &[(Step::Append, 5), (Step::ReadList, 4), (Step::Update, 1)],
    kinds: PLAIN,
    padding: 0,
};

const REGISTERS: Shape = Shape { tables: 2, registers: 64, delta_bytes: 128 << 10, mix: POINTS, padding: 120, ..LISTS };

const LONG: Shape = Shape {
    tables: 3,
    registers: 600,
    lists: 40,
    steps: (4, 10),
    mix: &[(Step::Update, 10), (Step::Put, 4), (Step::Scan, 1), (Step::Append, 2), (Step::Get, 2)],
    kinds: Kinds { long: 60, ..PLAIN },
    ..REGISTERS
};

/// Some transactions are larger than the memory that they may take.
const SPILLED: Shape = Shape { write_set_bytes: 1 << 10, tables: 3, lists: 40, steps: (1, 9), ..REGISTERS };

/// Changes everywhere in large tables, which become runs, and reads of every kind through these.
const STACKED: &[(Step, u64)] = &[
    (Step::Update, 10),
    (Step::Put, 6),
    (Step::Delete, 3),
    (Step::Get, 4),
    (Step::GetMany, 2),
    (Step::Cursor, 1),
    (Step::Count, 1),
    (Step::Scan, 1),
];

/// Most transactions only merge: then nothing may refuse them.
const MERGES: &[(Step, u64)] = &[(Step::Merge, 12), (Step::ReadList, 2), (Step::Append, 1)];

const POINTS: &[(Step, u64)] = &[
    (Step::Put, 4),
    (Step::Update, 4),
    (Step::Get, 6),
    (Step::GetMany, 2),
    (Step::Delete, 2),
    (Step::Insert, 2),
    (Step::CompareAndSet, 3),
];

const RANGES: &[(Step, u64)] = &[
    (Step::Put, 3),
    (Step::Delete, 2),
    (Step::Insert, 2),
    (Step::DeleteRange, 1),
    (Step::Scan, 3),
    (Step::ScanBack, 2),
    (Step::ScanBoth, 1),
    (Step::Prefix, 2),
    (Step::Ends, 1),
    (Step::Cursor, 2),
    (Step::Count, 3),
];

/// Registers come, and are taken at either end and on the way through them.
const POPS: &[(Step, u64)] = &[
    (Step::Pop, 4),
    (Step::Extract, 3),
    (Step::Put, 4),
    (Step::Insert, 3),
    (Step::Get, 2),
    (Step::Scan, 1),
    (Step::Count, 1),
];

const ABSENCES: &[(Step, u64)] = &[
    (Step::Get, 8),
    (Step::GetMany, 3),
    (Step::Insert, 4),
    (Step::Delete, 5),
    (Step::CompareAndSet, 2),
    (Step::Count, 2),
    (Step::Cursor, 1),
];

const NAMED: &[(Step, u64)] = &[
    (Step::ReadNamed, 5),
    (Step::CreateNamed, 2),
    (Step::DropNamed, 1),
    (Step::RenameNamed, 1),
    (Step::Update, 2),
    (Step::Get, 2),
    (Step::Put, 1),
];

const ALL: &[(Step, u64)] = &[
    (Step::Append, 6),
    (Step::Merge, 3),
    (Step::ReadList, 3),
    (Step::Put, 3),
    (Step::Update, 5),
    (Step::Get, 4),
    (Step::GetMany, 2),
    (Step::Delete, 2),
    (Step::Insert, 2),
    (Step::CompareAndSet, 2),
    (Step::DeleteRange, 1),
    (Step::Pop, 1),
    (Step::Extract, 1),
    (Step::Scan, 2),
    (Step::ScanBack, 1),
    (Step::ScanBoth, 1),
    (Step::Prefix, 1),
    (Step::Ends, 1),
    (Step::Cursor, 1),
    (Step::Count, 2),
    (Step::ReadNamed, 2),
    (Step::CreateNamed, 1),
    (Step::DropNamed, 1),
    (Step::RenameNamed, 1),
];
