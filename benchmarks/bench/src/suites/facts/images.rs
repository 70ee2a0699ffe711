//! An image of a database beside a compact file of LMDB in a squashfs.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use fulgurite::{Database, ImageOptions};
use fulgurite_facts::{Backend, Error, FactId, Result, Store, StoreOptions};

use super::report::Row;
use super::store_rows::{define, options};
use super::workload::Workload;
use crate::data::random::Random;
use crate::measure::statistics::median;

/// What [`measure`] returns, in its order. The image is judged beside each squashfs, and so beside the smaller one.
pub fn rows() -> Vec<Row> {
    let size = |kib| Row::new(format!("bytes a fact; lmdb: squashfs zstd 8, {kib} KiB")).times_less(2.0);
    let mut rows: Vec<Row> = SQUASHED_KIB.map(size).into();
    rows.extend([
        Row::new("open, ms").at_most(10.0),
        // mksquashfs of LMDB's file, mounted by the kernel, took 46 µs.
        Row::new("first fact of an opened image, from the page cache, µs").glean(46.0).at_most(46.0),
        Row::new("first fact of an opened image, from disk, µs"),
        Row::new("the disk's floor: one read of 16 KiB, µs"),
        Row::new("first fact from disk, times the floor"),
        Row::new("restore, µs a fact"),
    ]);
    rows
}

/// The figures of an image, and the sizes of LMDB's, if mksquashfs is installed.
///
/// # Errors
/// Those of the store; [`Error::Invalid`], if the image does not have the facts.
pub fn measure(workload: &Workload, directory: &Path) -> Result<(Vec<f64>, Vec<f64>)> {
    let facts = workload.facts as f64;
    let create = |backend, name: &str| {
        let store = options(backend).create(directory.join(name))?;
        define(&store, workload)?;
        store.complete(|_, _| Ok(()))?;
        Ok::<_, Error>(store)
    };
    let store = create(Backend::Fulgurite, "facts.ful")?;
    let image = directory.join("facts.image");
    let database = store.database().ok_or_else(|| wrong("the database is in LMDB"))?;
    database.write_image(&image, &ImageOptions::new().block_bytes(BLOCK_KIB << 10))?;
    store.close()?;
    let length = std::fs::metadata(&image).map_or(f64::NAN, |metadata| metadata.len() as f64);
    let start = Instant::now();
    let opened = of_image().open(&image)?;
    let open_ms = start.elapsed().as_secs_f64() * 1e3;
    drop(opened);
    let first_us = first_reads(&image, workload, Cache::Warm)?;
    let from_disk_us = first_reads(&image, workload, Cache::Empty)?;
    let disk_us = disk_reads(&image, workload.seed).map_or(f64::NAN, |took| median(&took));
    let start = Instant::now();
    Database::open_image(&image)?.backup_to(directory.join("restored.ful"))?;
    let restore_us = start.elapsed().as_secs_f64() * 1e6 / facts;
    let lmdb = create(Backend::Lmdb, "lmdb.ful")?;
    lmdb.back_up(directory.join("compact.ful"))?;
    let squashed = SQUASHED_KIB.map(|kib| squashfs(directory, kib).map_or(f64::NAN, |bytes| bytes as f64 / facts));
    let mut figures = vec![length / facts; SQUASHED_KIB.len()];
    figures.extend([open_ms, first_us, from_disk_us, disk_us, from_disk_us / disk_us, restore_us]);
    Ok((figures, squashed.into()))
}

fn of_image() -> StoreOptions {
    Store::options().engine(Database::options().image(true))
}

/// Whether the system's page cache has the image.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cache {
    Warm,
    Empty,
}

/// The median time of reads of random facts. The image is opened for each read, so each decompresses what it needs.
fn first_reads(image: &Path, workload: &Workload, cache: Cache) -> Result<f64> {
    let mut random = Random::new(workload.seed, 7);
    let mut took = Vec::new();
    if cache == Cache::Warm {
        std::fs::read(image).map_err(|error| wrong(&format!("the image cannot be read: {error}")))?;
    }
    for _ in 0..FIRST_READS {
        if cache == Cache::Empty {
            forget(image);
        }
        let snapshot = of_image().open(image)?.snapshot()?;
        // What every read needs, such as the root, is read by the first one.
        snapshot.fact_by_id(FactId::FIRST)?;
        let id = FactId::FIRST.plus(workload.pick(&mut random));
        let start = Instant::now();
        let fact = snapshot.fact_by_id(id)?.ok_or_else(|| wrong("the image has not all facts"))?;
        std::hint::black_box(fact.key().len());
        took.push(start.elapsed().as_secs_f64() * 1e6);
    }
    Ok(median(&took))
}

/// The times of reads at random places of a file, in µs. No cache has them.
fn disk_reads(path: &Path, seed: u64) -> std::io::Result<Vec<f64>> {
    let (file, mut random) = (File::open(path)?, Random::new(seed, 8));
    let mut block = vec![0; (BLOCK_KIB as usize) << 10];
    let blocks = file.metadata()?.len() as usize / block.len();
    let mut read = || {
        forget(path);
        let offset = (random.below(blocks.max(1)) * block.len()) as u64;
        let start = Instant::now();
        (&file).seek(SeekFrom::Start(offset))?;
        let length = (&file).read(&mut block)?;
        std::hint::black_box(length);
        Ok(start.elapsed().as_secs_f64() * 1e6)
    };
    (0..FIRST_READS).map(|_| read()).collect()
}

const FIRST_READS: usize = 101;

/// Removes a file from the cache of the system, where that is possible.
fn forget(path: &Path) {
    let Ok(file) = File::open(path) else { return };
    // Dirty pages cannot be removed.
    let _ = file.sync_all();
    #[cfg(target_os = "linux")]
    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
}

/// The size of the blocks of the image.
const BLOCK_KIB: u32 = 16;

/// The sizes of the blocks of a squashfs: that of the image, and the default of mksquashfs.
const SQUASHED_KIB: [u32; 2] = [BLOCK_KIB, 128];

/// The size of a squashfs of LMDB's compact file with blocks of so many KiB. `None`, if mksquashfs is missing, which is
/// said.
fn squashfs(directory: &Path, kib: u32) -> Option<u64> {
    let (from, to) = (directory.join("compact.ful"), directory.join(format!("compact-{kib}.squashfs")));
    let mut command = Command::new("mksquashfs");
    command.args([&from, &to]).args(["-comp", "zstd", "-Xcompression-level", "8", "-no-progress", "-quiet"]);
    command.args(["-b", &format!("{kib}K")]);
    match command.stdout(Stdio::null()).stderr(Stdio::null()).status() {
        Ok(status) if status.success() => std::fs::metadata(to).ok().map(|metadata| metadata.len()),
        _ => {
            println!(
                "mksquashfs is missing or failed (Debian: squashfs-tools): a squashfs of {kib} KiB is not measured"
            );
            None
        }
    }
}

fn wrong(what: &str) -> Error {
    Error::Invalid { fact: FactId::FIRST, what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_judged_beside_both_sizes_of_blocks() {
        let rows = rows();
        let judged: Vec<&str> = rows.iter().filter(|row| row.factor.is_some()).map(|row| &row.name[..]).collect();
        let of = |kib| format!("bytes a fact; lmdb: squashfs zstd 8, {kib} KiB");
        assert_eq!(judged, [of(16), of(128)]);
        assert_eq!(rows.len(), 8);
    }
}
