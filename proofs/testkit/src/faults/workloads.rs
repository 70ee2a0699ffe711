//! The workloads that are tried with failing calls: short lists of steps. Each step may fail.

use fulgurite::{Database, Durability, Error, MergeOperator, Options, Result, TableOptions};

use crate::crash::{Change, Draft, Session, Shape, TRIMMED};
use crate::merge_function;
use crate::random::Random;

/// One thing done with a database.
pub type Step = fn(&mut Session) -> Result<()>;

/// A piece of work.
pub struct Workload {
    /// What `--workload` takes.
    pub name: &'static str,
    /// Done before any call fails.
    pub before: &'static [Step],
    /// Done while calls fail.
    pub steps: &'static [Step],
    /// How much of the log is kept.
    pub keep_log_bytes: u64,
    /// Whether deltas are so small that they become runs.
    pub has_runs: bool,
    /// Whether transactions may take so little memory that they spill.
    pub spills: bool,
}

impl Workload {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::plain("create", &[], &[Session::create, table, put_disk, close, Session::open]),
        Self::plain(
            "commit",
            PREPARED,
            &[put_disk, put_memory, put_log, put_memory, Session::sync, second_table, put_disk, drop_table, put_log],
        ),
        Self::plain(
            "checkpoint",
            PREPARED,
            &[put_disk, checkpoint, put_log, delete_range, checkpoint, put_disk, put_memory, checkpoint, checkpoint],
        ),
        Self::plain(
            "checkpoint-schema",
            PREPARED,
            &[second_table, put_log, checkpoint, drop_table, checkpoint, put_disk],
        ),
        Self::plain(
            "large-values",
            PREPARED,
            &[put_large, put_disk, checkpoint, put_large, put_large, delete_range, checkpoint, abort_large, put_log],
        ),
        Self::plain("bulk-load", PREPARED, &[put_log, load_sorted, put_log, load_sorted, put_disk]),
        Self::plain("bulk-load-unsorted", PREPARED, &[put_log, load_unsorted, put_disk, checkpoint]),
        Self::plain("failed-load", PREPARED, &[put_log, failed_load, put_disk]),
        Self::plain("compact", PREPARED, &[delete_range, checkpoint, put_log, Session::compact, put_disk]),
        Self::plain("close", PREPARED, &[put_log, put_memory, close, Session::open, close, Session::open]),
        Self::plain(
            "recovery",
            &[Session::create, table, put_large, put_disk, checkpoint, put_disk, put_log, drop_handle],
            &[Session::open, put_disk, Session::recover, put_log, Session::recover],
        ),
        Self::plain(
            "many-commits",
            PREPARED,
            &[
                put_disk,
                put_log,
                put_log,
                put_disk,
                put_memory,
                put_disk,
                put_disk,
                checkpoint,
                put_disk,
                put_log,
                delete_range,
                put_memory,
                put_log,
                put_disk,
                checkpoint,
                put_disk,
                Session::recover,
                put_disk,
            ],
        ),
        Self::plain(
            "two-threads",
            PREPARED,
            &[two_threads, put_log, checkpoint, two_threads, Session::recover, put_disk],
        ),
        Self::plain("four-threads", PREPARED, &[four_threads, put_disk, four_threads]),
        Self::plain(
            "threads-large-values",
            PREPARED,
            &[three_threads_large, put_disk, checkpoint, three_threads_large],
        ),
        Self::plain(
            "threads-checkpoints",
            PREPARED,
            &[threads_checkpoints, put_disk, threads_checkpoints, close, Session::open],
        ),
        Self {
            keep_log_bytes: 1 << 30,
            ..Self::plain(
                "kept",
                PREPARED,
                &[
                    put_log,
                    checkpoint,
                    put_memory,
                    put_large,
                    checkpoint,
                    close,
                    Session::open,
                    put_disk,
                    drop_handle,
                    Session::open,
                    put_log,
                    put_large,
                    checkpoint,
                ],
            )
        },
        Self {
            keep_log_bytes: 1 << 30,
            ..Self::plain("kept-load", PREPARED, &[put_log, load_sorted, put_memory, failed_load, put_log, load_sorted])
        },
        Self {
            keep_log_bytes: 40 << 10,
            ..Self::plain(
                "kept-little",
                &[Session::create, trimmed, table, fill, checkpoint],
                &[
                    put_log, checkpoint, put_disk, checkpoint, put_memory, checkpoint, put_log, checkpoint, put_disk,
                    close,
                ],
            )
        },
        Self::plain(
            "large-merges",
            &[Session::create, table, list, checkpoint],
            &[append, two_threads_append, checkpoint, append],
        ),
        Self::plain(
            "merges-by-function",
            &[Session::create, table, list_by_function, checkpoint],
            &[append, two_threads_append, checkpoint, append, Session::recover],
        ),
        Self {
            has_runs: true,
            ..Self::plain("runs", STACKED, &[scatter, checkpoint, put_disk, put_large, checkpoint, scatter, checkpoint])
        },
        Self {
            has_runs: true,
            ..Self::plain("runs-recovered", STACKED, &[scatter, put_large, Session::recover, put_disk])
        },
        Self {
            has_runs: true,
            ..Self::plain(
                "runs-compact",
                STACKED,
                &[scatter, Session::compact, scatter, checkpoint, load_sorted, put_log],
            )
        },
        Self { has_runs: true, ..Self::plain("runs-dropped", STACKED, &[scatter, drop_base, checkpoint, put_log]) },
        Self {
            spills: true,
            ..Self::plain("spilled", PREPARED, &[put_log, put_much, checkpoint, put_much, Session::recover, put_disk])
        },
        Self {
            spills: true,
            keep_log_bytes: 1 << 30,
            ..Self::plain("spilled-kept", PREPARED, &[put_much, abort_much, put_log, put_much, put_memory])
        },
        Self {
            has_runs: true,
            spills: true,
            ..Self::plain("spilled-runs", STACKED, &[put_much, put_log, put_much, checkpoint])
        },
    ];

    /// The workload of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|workload| workload.name == name)
    }

    /// How its database is opened; the disk is still to be given. No checkpoint happens by itself: no delta is ever
    /// full.
    pub fn settings(&self) -> Options {
        let options = merge_function::with_functions(Database::options().background(false).cache_bytes(1 << 20));
        let options = options.keep_log(self.keep_log_bytes);
        let options = if self.spills { options.write_set_bytes(8 << 10) } else { options };
        if self.has_runs { options.delta_bytes(64 << 10) } else { options }
    }

    const fn plain(name: &'static str, before: &'static [Step], steps: &'static [Step]) -> Self {
        Self { name, before, steps, keep_log_bytes: 0, has_runs: false, spills: false }
    }
}

const PREPARED: &[Step] = &[Session::create, table, fill, checkpoint];

/// Ranges with so many runs that the next checkpoint merges some.
const STACKED: &[Step] = &[
    Session::create,
    table,
    load_base,
    scatter,
    checkpoint,
    put_large,
    scatter,
    checkpoint,
    scatter,
    checkpoint,
    stacked,
];

/// A table of some ranges.
fn load_base(session: &mut Session) -> Result<()> {
    let entries: Vec<_> = (0..300).map(|number| (key(number), vec![number as u8; 200])).collect();
    session.bulk_load("a", &entries)
}

/// Changes everywhere in it, deletes among them.
fn scatter(session: &mut Session) -> Result<()> {
    if session.holdings().table("a").is_none() {
        table(session)?;
    }
    session.commit(Durability::Log, |change, random| {
        for number in 0..12 {
            let key = key(number * 25 + random.below(25));
            match random.below(4) {
                0 => change.delete("a", &key)?,
                1 if number % 4 == 0 => change.put("a", &key, &[number as u8; 20_000])?,
                _ => change.put("a", &key, &random.next_u64().to_le_bytes().repeat(20))?,
            }
        }
        Ok(())
    })
}

/// What comes before any call fails has made runs.
fn stacked(session: &mut Session) -> Result<()> {
    match session.runs()? {
        0..4 => Err(Error::Invalid { message: "there are too few runs".into() }),
        _ => Ok(()),
    }
}

fn drop_base(session: &mut Session) -> Result<()> {
    if session.holdings().table("a").is_none() {
        return Ok(());
    }
    session.commit(Durability::Log, |change, _| change.drop_table("a"))
}

fn table(session: &mut Session) -> Result<()> {
    session.table("a", TableOptions::new())
}

/// As large as results of merges that do not go through the log.
fn list(session: &mut Session) -> Result<()> {
    session.table("lists", TableOptions::new().merge(MergeOperator::Append))?;
    session.put(Durability::Disk, "lists", b"hot", &[7; 1 << 10].repeat(8 << 10))
}

/// A short one, to which a function appends.
fn list_by_function(session: &mut Session) -> Result<()> {
    session.table("lists", TableOptions::new().merge_function(merge_function::JOINED))?;
    session.put(Durability::Disk, "lists", b"hot", &[7; 1 << 10])
}

fn append(session: &mut Session) -> Result<()> {
    session.commit_side_by_side(Shape { threads: 1, commits: 1, checkpoint_share: NEVER }, append_few)
}

fn two_threads_append(session: &mut Session) -> Result<()> {
    session.commit_side_by_side(Shape { threads: 2, commits: 1, checkpoint_share: NEVER }, append_few)
}

fn append_few(draft: &mut Draft, random: &mut Random) -> Result<()> {
    draft.append("lists", b"hot", &random.next_u64().to_le_bytes())?;
    draft.put("a", &key(random.below(150)), b"beside it")
}

/// Little of the log is kept.
fn trimmed(session: &mut Session) -> Result<()> {
    session.table(TRIMMED, TableOptions::new())
}

fn second_table(session: &mut Session) -> Result<()> {
    session.commit(Durability::Disk, |change, _| {
        change.create_table("b", TableOptions::new())?;
        change.put("b", b"key", b"value")
    })
}

fn drop_table(session: &mut Session) -> Result<()> {
    if session.holdings().table("b").is_none() {
        return Ok(());
    }
    session.commit(Durability::Log, |change, _| change.drop_table("b"))
}

fn fill(session: &mut Session) -> Result<()> {
    session.commit(Durability::Disk, |change, _| {
        (0..150).try_for_each(|number| change.put("a", &key(number), &[number as u8; 400]))
    })
}

fn put(session: &mut Session, durability: Durability) -> Result<()> {
    if session.holdings().table("a").is_none() {
        table(session)?;
    }
    session.commit(durability, |change, random| {
        (0..4).try_for_each(|_| {
            let stamp = random.next_u64();
            change.put("a", &key(stamp % 150), &stamp.to_le_bytes().repeat(30))
        })
    })
}

/// More than a transaction may have in memory, with a return to a savepoint that spills lie behind.
fn put_much(session: &mut Session) -> Result<()> {
    if session.holdings().table("a").is_none() {
        table(session)?;
    }
    let before = session.spilled_bytes()?;
    session.commit(Durability::Log, much)?;
    match session.spilled_bytes()? > before {
        true => Ok(()),
        false => Err(Error::Invalid { message: "nothing was spilled".into() }),
    }
}

fn abort_much(session: &mut Session) -> Result<()> {
    session.abort(much)
}

fn much(change: &mut Change, random: &mut Random) -> Result<()> {
    let stamp = random.next_u64();
    change.put("a", &key(stamp % 3), &stamp.to_le_bytes().repeat(9_000))?;
    let savepoint = change.savepoint();
    for number in 0..60 {
        change.put("a", &key(number * 5 + random.below(5)), &random.next_u64().to_le_bytes().repeat(20))?;
        if number == 20 {
            change.rollback_to(savepoint.clone())?;
        }
    }
    change.delete_range("a", &key(30)[..]..&key(60)[..])
}

fn put_memory(session: &mut Session) -> Result<()> {
    put(session, Durability::Memory)
}

fn put_log(session: &mut Session) -> Result<()> {
    put(session, Durability::Log)
}

fn put_disk(session: &mut Session) -> Result<()> {
    put(session, Durability::Disk)
}

fn put_large(session: &mut Session) -> Result<()> {
    session.commit(Durability::Disk, |change, random| {
        let stamp = random.next_u64();
        change.put("a", &key(stamp % 3), &stamp.to_le_bytes().repeat(9_000))
    })
}

fn abort_large(session: &mut Session) -> Result<()> {
    session.abort(|change, _| change.put("a", b"never", &[1; 70_000]))
}

fn delete_range(session: &mut Session) -> Result<()> {
    session.commit(Durability::Log, |change, random| {
        let low = random.below(120);
        change.delete_range("a", &key(low)[..]..&key(low + 30)[..])
    })
}

fn two_threads(session: &mut Session) -> Result<()> {
    session.commit_side_by_side(Shape { threads: 2, commits: 4, checkpoint_share: 12 }, put_few)
}

fn four_threads(session: &mut Session) -> Result<()> {
    session.commit_side_by_side(Shape { threads: 4, commits: 3, checkpoint_share: 20 }, put_few)
}

fn threads_checkpoints(session: &mut Session) -> Result<()> {
    session.commit_side_by_side(Shape { threads: 3, commits: 3, checkpoint_share: 3 }, put_few)
}

fn three_threads_large(session: &mut Session) -> Result<()> {
    session.commit_side_by_side(Shape { threads: 3, commits: 3, checkpoint_share: 12 }, |draft, random| {
        let stamp = random.next_u64();
        match random.coin() {
            true => draft.put("a", &key(stamp % 4), &stamp.to_le_bytes().repeat(9_000)),
            false => put_few(draft, random),
        }
    })
}

/// What one thread reads another may write, so that some are in conflict.
fn put_few(draft: &mut Draft, random: &mut Random) -> Result<()> {
    draft.read("a", &key(random.below(150)))?;
    for _ in 0..1 + random.below(3) {
        let stamp = random.next_u64();
        draft.put("a", &key(stamp % 150), &stamp.to_le_bytes().repeat(30))?;
    }
    if random.chance(1, 4) { draft.delete("a", &key(random.below(150))) } else { Ok(()) }
}

fn checkpoint(session: &mut Session) -> Result<()> {
    session.checkpoint()
}

fn load_sorted(session: &mut Session) -> Result<()> {
    let shift = session.random.below(100);
    let entries: Vec<_> = (0..100).map(|number| (key(number * 3 + shift), vec![shift as u8; 300])).collect();
    session.bulk_load("a", &entries)
}

fn load_unsorted(session: &mut Session) -> Result<()> {
    let entries: Vec<_> = (0..200).map(|number| (key(session.random.below(300)), vec![number as u8; 1_000])).collect();
    session.bulk_load_unsorted("a", &entries, 64 << 10)
}

fn failed_load(session: &mut Session) -> Result<()> {
    let entries: Vec<_> = (0..100).map(|number| (key(number), vec![9; 900])).collect();
    session.failed_load("a", &entries)
}

fn close(session: &mut Session) -> Result<()> {
    session.close()
}

fn drop_handle(session: &mut Session) -> Result<()> {
    session.drop_handle();
    Ok(())
}

/// One step in so many is a checkpoint.
const NEVER: u64 = u64::MAX;

fn key(number: u64) -> Vec<u8> {
    format!("key-{number:05}").into_bytes()
}
