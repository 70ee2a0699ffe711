//! Uses a mutated database in every way, and judges each answer: an error, or what the model says.

use std::path::Path;
use std::sync::Arc;

use fulgurite::{Database, Durability, Error, MergeOperator, Options, Read, ReadTxn, Result, Table};

use crate::holdings::{Holdings, digest_of};
use crate::random::Random;

/// What a mutated database may answer beside errors.
#[derive(Clone, Debug)]
pub enum Expected {
    /// Anything: its checksums were recomputed.
    Anything,
    /// This.
    Exactly(Arc<Holdings>),
    /// Nothing: it must be refused before anything is read.
    Refusal,
}

/// How a database was used, without a wrong answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct Use {
    /// Whether it opened.
    pub opened: bool,
    /// Calls that ended with an error.
    pub errors: u64,
    /// Whether anything told of damage.
    pub detected: bool,
}

/// A wrong answer, in words.
pub type Wrong = String;

/// Opens the database and uses it.
///
/// # Errors
/// The first wrong answer.
pub fn use_database(settings: &Options, path: &Path, expected: &Expected, random: &mut Random) -> Result<Use, Wrong> {
    let mut used = Use::default();
    let mut read_only = random.chance(1, 3);
    // Where deltas are small, what is written becomes runs, and trees are cut into ranges.
    let settings = if random.coin() { settings.clone().delta_bytes(64 << 10) } else { settings.clone() };
    let opened = match settings.clone().read_only(read_only).open(path) {
        Err(Error::IsAnImage { .. }) => {
            read_only = true;
            settings.image(true).open(path)
        }
        opened => opened,
    };
    let db = match opened {
        Ok(db) => db,
        Err(error) => {
            judge_error("open", &error, expected)?;
            return Ok(Use { errors: 1, detected: true, ..used });
        }
    };
    used.opened = true;
    if let Expected::Refusal = expected {
        let text =
            db.read().and_then(|txn| digest_of(&txn)).map_or_else(|error| error.to_string(), |_| "and reads".into());
        return Err(format!("it opens ({text}), though commits that were durable are missing"));
    }
    // Checked first or last: checking verifies what reading would.
    let check_first = random.chance(1, 3);
    if check_first {
        check(&db, expected, &mut used)?;
    }
    read(&db, expected, random, &mut used)?;
    if !check_first {
        check(&db, expected, &mut used)?;
    }
    if !read_only {
        write(&db, expected, random, &mut used)?;
    }
    if !random.chance(1, 2) {
        drop(db);
    } else if let Err(error) = db.close() {
        tolerate("close", &error, expected, &mut used)?;
    }
    Ok(used)
}

fn check(db: &Database, expected: &Expected, used: &mut Use) -> Result<(), Wrong> {
    match db.check() {
        Ok(report) => used.detected |= !report.is_sound(),
        Err(error) => tolerate("check", &error, expected, used)?,
    }
    match db.stats() {
        Ok(stats) => drop(stats),
        Err(error) => tolerate("stats", &error, expected, used)?,
    }
    Ok(())
}

fn read(db: &Database, expected: &Expected, random: &mut Random, used: &mut Use) -> Result<(), Wrong> {
    let txn = match db.read() {
        Ok(txn) => txn,
        Err(error) => return tolerate("read", &error, expected, used),
    };
    let tables = txn.tables();
    if let Expected::Exactly(holdings) = expected {
        let names: Vec<&str> = tables.iter().map(Table::name).collect();
        if names != holdings.names().collect::<Vec<_>>() {
            return Err(format!("the tables are {names:?}"));
        }
    }
    for table in &tables {
        let before = used.errors;
        forwards(&txn, table, expected, used)?;
        backwards(&txn, table, expected, used)?;
        singles(&txn, table, expected, random, used)?;
        others(&txn, table, expected, used)?;
        used.detected |= used.errors > before;
    }
    Ok(())
}

/// Iterates over all; what comes before an error must be right.
fn forwards(txn: &ReadTxn, table: &Table, expected: &Expected, used: &mut Use) -> Result<(), Wrong> {
    let range = match txn.range(table, ..) {
        Ok(range) => range,
        Err(error) => return tolerate("range", &error, expected, used),
    };
    let mut model = model_of(expected, table).map(|entries| entries.iter());
    for entry in range.take(ENTRIES_MAX) {
        match entry {
            Ok((key, value)) => {
                if let Some(model) = &mut model
                    && model.next() != Some((&*key, &*value))
                {
                    return Err(format!("iteration of `{}` yields a wrong entry", table.name()));
                }
            }
            Err(error) => return tolerate("iteration", &error, expected, used),
        }
    }
    match model.is_some_and(|mut model| model.next().is_some()) {
        true => Err(format!("iteration of `{}` ends early without an error", table.name())),
        false => Ok(()),
    }
}

fn backwards(txn: &ReadTxn, table: &Table, expected: &Expected, used: &mut Use) -> Result<(), Wrong> {
    let range = match txn.range(table, ..) {
        Ok(range) => range,
        Err(error) => return tolerate("range", &error, expected, used),
    };
    let mut model = model_of(expected, table).map(|entries| entries.iter().rev());
    for entry in range.rev().take(ENTRIES_MAX) {
        match entry {
            Ok((key, value)) => {
                if let Some(model) = &mut model
                    && model.next() != Some((&*key, &*value))
                {
                    return Err(format!("backward iteration of `{}` yields a wrong entry", table.name()));
                }
            }
            Err(error) => return tolerate("backward iteration", &error, expected, used),
        }
    }
    Ok(())
}

/// Gets of keys that are there and of some that are not, one by one and together.
fn singles(
    txn: &ReadTxn,
    table: &Table,
    expected: &Expected,
    random: &mut Random,
    used: &mut Use,
) -> Result<(), Wrong> {
    let model = model_of(expected, table);
    let mut keys: Vec<Vec<u8>> = vec![Vec::new(), b"key-00100".to_vec(), vec![0xff; 30], vec![b'k'; 1200]];
    if let Some(entries) = model {
        let step = 1 + random.index(1 + entries.len() / 8);
        keys.extend(entries.iter().step_by(step).map(|(key, _)| key.to_vec()));
    }
    for key in &keys {
        match txn.get(table, key) {
            Ok(found) => {
                if model.is_some_and(|entries| entries.get(key) != found.as_deref()) {
                    return Err(format!("a get of `{}` answers wrong", table.name()));
                }
            }
            Err(error) => tolerate("get", &error, expected, used)?,
        }
    }
    for key in &keys {
        prefix_keys(txn, table, &key[..key.len().min(PREFIX_BYTES)], expected, used)?;
    }
    let slices: Vec<&[u8]> = keys.iter().map(|key| &key[..]).collect();
    match txn.get_many(table, &slices) {
        Ok(found) => {
            let wrong = |entries: &crate::holdings::Entries| {
                keys.iter().zip(&found).any(|(key, found)| entries.get(key) != found.as_deref())
            };
            if model.is_some_and(wrong) { Err(format!("get_many of `{}` answers wrong", table.name())) } else { Ok(()) }
        }
        Err(error) => tolerate("get_many", &error, expected, used),
    }
}

/// Some keys that begin alike.
fn prefix_keys(txn: &ReadTxn, table: &Table, prefix: &[u8], expected: &Expected, used: &mut Use) -> Result<(), Wrong> {
    let (mut found, mut key) = (Vec::new(), Vec::new());
    let outcome = txn.prefix_keys(table, prefix, PREFIX_KEYS_MAX, |suffix| {
        suffix.complete(&mut key);
        found.push(key.clone());
    });
    match outcome {
        Ok(are_all) => {
            let wrong = |entries: &crate::holdings::Entries| {
                let truth = entries.iter().map(|(key, _)| key).filter(|key| key.starts_with(prefix));
                let few: Vec<&[u8]> = truth.take(PREFIX_KEYS_MAX + 1).collect();
                let is_cut = few.len() > PREFIX_KEYS_MAX;
                are_all && is_cut || !few.iter().take(PREFIX_KEYS_MAX).eq(found.iter())
            };
            if model_of(expected, table).is_some_and(wrong) {
                return Err(format!("prefix_keys of `{}` answers wrong", table.name()));
            }
            Ok(())
        }
        Err(error) => tolerate("prefix_keys", &error, expected, used),
    }
}

fn others(txn: &ReadTxn, table: &Table, expected: &Expected, used: &mut Use) -> Result<(), Wrong> {
    let model = model_of(expected, table);
    let (low, high) = (&b"key-00050"[..], &b"key-00150"[..]);
    let within =
        |entries: &crate::holdings::Entries| entries.iter().filter(|(key, _)| *key >= low && *key < high).count();
    match txn.count(table, low..high) {
        Ok(count) if model.is_some_and(|entries| within(entries) as u64 != count) => {
            return Err(format!("count of `{}` is {count}", table.name()));
        }
        Ok(_) => {}
        Err(error) => tolerate("count", &error, expected, used)?,
    }
    match txn.len(table) {
        Ok(length) if model.is_some_and(|entries| entries.len() as u64 != length) => {
            return Err(format!("len of `{}` is {length}", table.name()));
        }
        Ok(_) => {}
        Err(error) => tolerate("len", &error, expected, used)?,
    }
    for outcome in [txn.first(table), txn.last(table)] {
        if let Err(error) = outcome {
            tolerate("first or last", &error, expected, used)?;
        }
    }
    if let Err(error) = txn.estimate_count(table, low..high) {
        tolerate("estimate_count", &error, expected, used)?;
    }
    Ok(())
}

/// A few changes, committed and merged; if all that succeeds, what they lead to is what is shown.
fn write(db: &Database, expected: &Expected, random: &mut Random, used: &mut Use) -> Result<(), Wrong> {
    let mut holdings = match expected {
        Expected::Exactly(holdings) => Some(Holdings::clone(holdings)),
        _ => None,
    };
    let mut changes = || {
        let mut txn = db.write()?;
        for table in txn.tables().iter().take(7) {
            let low = format!("key-{:05}", random.below(200)).into_bytes();
            let high = format!("key-{:05}", random.below(200)).into_bytes();
            // Bases have sums alone of these; any other is a description that was changed.
            let is_sum = !matches!(
                table.merge_operator(),
                None | Some(MergeOperator::Max | MergeOperator::Min | MergeOperator::Append)
            );
            let value = if is_sum { &[7; 8][..] } else { &[7; 900] };
            txn.put(table, &low, value)?;
            txn.delete_range(table, &high[..]..&b"key-00200"[..])?;
            txn.put(table, &[b'k'; 1500], &value[..8])?;
            txn.delete(table, b"a value of its own extent")?;
            if let Some(held) = &mut holdings {
                let held = held.table_mut(table.name());
                held.put(&low, value);
                held.delete_range(&high, b"key-00200");
                held.put(&[b'k'; 1500], &value[..8]);
                held.delete(b"a value of its own extent");
            }
            let operand: &[u8] = match table.merge_operator() {
                Some(MergeOperator::Append) => b"tail",
                None if table.merge_function().is_some() => b"tail",
                _ if is_sum => &[1; 8],
                _ => continue,
            };
            for key in [&low[..], b"key-00100", b"a key without a value"] {
                txn.merge(table, key, operand)?;
                if let Some(held) = &mut holdings {
                    let held = held.table_mut(table.name());
                    let before = held.get(key).unwrap_or_default();
                    let value = if is_sum { sum(before, operand).to_vec() } else { [before, operand].concat() };
                    held.put(key, &value);
                }
            }
        }
        txn.commit_with(Durability::Log)?;
        db.checkpoint()?;
        // Merges all runs there are.
        if random.coin() { db.compact().map(drop) } else { Ok(()) }
    };
    match changes() {
        Ok(()) => {}
        // A believed description may promise other values than the table takes here, or has, and name any function.
        Err(Error::Invalid { .. } | Error::Unmergeable { .. } | Error::MergeFunctionMissing { .. })
            if matches!(expected, Expected::Anything) =>
        {
            used.errors += 1;
            return Ok(());
        }
        Err(error) => return tolerate("write", &error, expected, used),
    }
    let Some(holdings) = holdings else { return Ok(()) };
    match db.read().and_then(|txn| digest_of(&txn).map(|digest| (txn, digest))) {
        Ok((_, digest)) if digest == holdings.digest() => Ok(()),
        Ok((txn, _)) => {
            let differences = holdings.differences(&txn).map_err(|error| error.to_string())?;
            Err(format!("after writing it shows what it should not: {}", differences.join("; ")))
        }
        Err(error) => tolerate("reading after writing", &error, expected, used),
    }
}

/// Of numbers of 8 bytes, big-endian; nothing counts as 0.
fn sum(before: &[u8], operand: &[u8]) -> [u8; 8] {
    let number = |bytes: &[u8]| bytes.iter().fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
    number(before).wrapping_add(number(operand)).to_be_bytes()
}

fn model_of<'e>(expected: &'e Expected, table: &Table) -> Option<&'e crate::holdings::Entries> {
    match expected {
        Expected::Exactly(holdings) => holdings.table(table.name()),
        _ => None,
    }
}

fn tolerate(call: &str, error: &Error, expected: &Expected, used: &mut Use) -> Result<(), Wrong> {
    used.errors += 1;
    judge_error(call, error, expected)
}

/// Damage is reported as damage, and not as something else.
fn judge_error(call: &str, error: &Error, expected: &Expected) -> Result<(), Wrong> {
    match (error, expected) {
        (
            Error::Corrupt { .. }
            | Error::LogMissing { .. }
            | Error::NotADatabase { .. }
            | Error::UnsupportedFormat { .. },
            _,
        ) => Ok(()),
        // A believed quota or size may be too small or large for what is asked.
        (Error::QuotaExceeded { .. } | Error::DiskFull { .. } | Error::TableNotFound { .. }, Expected::Anything) => {
            Ok(())
        }
        // What went wrong before may leave it so.
        (Error::Poisoned { .. } | Error::Closed { .. }, _) => Ok(()),
        (error, _) => Err(format!("{call} fails with an error of the wrong kind: {error}")),
    }
}

/// A damaged tree may have more entries than its file has bytes, but not be read for ever.
const ENTRIES_MAX: usize = 1_000_000;
/// Of the keys that are asked for by what they begin with.
const PREFIX_BYTES: usize = 5;
const PREFIX_KEYS_MAX: usize = 40;

#[cfg(test)]
mod tests {
    use super::super::base::{PATH, bases, settings};
    use super::super::layout::{PageKind, u16_at};
    use super::super::work::Work;
    use super::*;

    #[test]
    fn a_table_may_be_described_with_another_merge_operator_than_its_values_were_made_for() {
        let bases = bases(1).expect("a memory disk");
        let small = bases.iter().find(|base| base.name == "small").expect("there is one");
        let mut used = 0;
        for (at, operator) in
            small.layout.descriptions.iter().flat_map(|at| (0..12).map(move |operator| (at, operator)))
        {
            let mut work = Work::new(small);
            work.bytes_mut(at + 3, 1)[0] = operator;
            work.seal();
            for seed in 0..6 {
                let options = settings().disk(Arc::new(work.disk()));
                let outcome = use_database(&options, Path::new(PATH), &Expected::Anything, &mut Random::new(seed));
                used += u32::from(outcome.expect("it is an error of the right kind, if any").opened);
            }
        }
        assert!(used > 60, "most of these fit: {used}");
    }

    #[test]
    fn a_table_may_be_described_with_any_number_of_entries() {
        let bases = bases(1).expect("a memory disk");
        for base in bases.iter().filter(|base| ["deep", "runs"].contains(&base.name)) {
            let at = *base.layout.descriptions.first().expect("it has a table");
            for entries in [0, 1, 1 << 39, u64::MAX / 2, u64::MAX] {
                let mut work = Work::new(base);
                work.bytes_mut(at + 20, 8).copy_from_slice(&entries.to_le_bytes());
                work.seal();
                use_sealed(&work);
            }
        }
    }

    #[test]
    fn a_tree_whose_branches_have_exchanged_their_children_is_cut_into_ranges_in_order() {
        let bases = bases(1).expect("a memory disk");
        for base in bases.iter().filter(|base| ["deep", "runs"].contains(&base.name)) {
            let size = base.layout.page_bytes;
            let branches: Vec<_> = base.layout.pages.iter().filter(|page| page.kind == PageKind::Branch).collect();
            for page in &branches {
                let start = page.number * size;
                let bytes = &base.data[start..start + size];
                let (count, children) = (usize::from(u16_at(bytes, 2)), usize::from(u16_at(bytes, 10)));
                let mut work = Work::new(base);
                let all = &bytes[children..children + 8 * (count + 1)];
                let turned: Vec<u8> = all.chunks(8).rev().flatten().copied().collect();
                work.bytes_mut(start + children, turned.len()).copy_from_slice(&turned);
                work.seal();
                use_sealed(&work);
            }
            assert!(
                branches.len() > 2 * usize::from(base.name == "deep"),
                "{} branches of {}",
                branches.len(),
                base.name
            );
        }
    }

    /// Uses it in several ways. Each may find an error.
    fn use_sealed(work: &Work<'_>) {
        for seed in 0..8 {
            let options = settings().disk(Arc::new(work.disk()));
            let outcome = use_database(&options, Path::new(PATH), &Expected::Anything, &mut Random::new(seed));
            outcome.expect("it is an error of the right kind, if any");
        }
    }

    #[test]
    fn an_operator_that_only_a_newer_version_knows_is_told_as_that_and_not_as_damage() {
        let bases = bases(1).expect("a memory disk");
        let small = bases.iter().find(|base| base.name == "small").expect("there is one");
        for at in &small.layout.descriptions {
            let mut work = Work::new(small);
            work.bytes_mut(at + 3, 1)[0] = 11;
            work.seal();
            let error = settings().disk(Arc::new(work.disk())).open(PATH).expect_err("what it would do is not known");
            assert!(matches!(error, Error::UnsupportedFormat { .. }), "{error}");
        }
    }
}
