//! Measurements of files: writes to the page cache, waits for the disk, and huge pages under a map.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use ::fulgurite::io::{self as engine_io, Access, Disk, RealDisk};
use rustix::fs::{Advice, OFlags, fadvise};

use crate::data::random::Random;
use crate::error::{Error, Result};
use crate::floors::block::{Fresh, PAGE_BYTES, Pages};
use crate::floors::floor::Floor;
use crate::floors::probe::{Figures, Probe, Round, Setting, Unavailable, cpu_ns_per_operation};
use crate::measure::statistics::{median, percentile};

/// Every measurement of files.
pub fn probes(setting: &Setting) -> Vec<Probe> {
    vec![
        overwrite(&[Floor::Write4K], setting, 4 << 10),
        overwrite(&[Floor::Write64K], setting, 64 << 10),
        store(setting),
        fdatasync(setting),
        disk_write(setting),
        disk_read(setting),
        huge_file(setting),
    ]
}

/// Bytes of a call that makes a file.
const CALL_BYTES: usize = 1 << 20;

/// Random places of so many bytes in a file, each a multiple of them.
struct Anywhere {
    random: Random,
    count: usize,
    bytes: usize,
}

impl Anywhere {
    fn new(setting: &Setting, bytes: usize) -> Self {
        Self { random: Random::new(setting.seed, bytes as u64), count: setting.file_bytes / bytes, bytes }
    }

    fn next(&mut self) -> u64 {
        (self.random.below(self.count) * self.bytes) as u64
    }
}

/// A file that vanishes with this value.
struct Scratch {
    file: File,
    path: PathBuf,
}

impl Scratch {
    /// A new file that was written by calls of `call_bytes`.
    fn new(directory: &Path, name: &str, length: usize, call_bytes: usize) -> Result<Self> {
        let path = directory.join(name);
        let io = |error| Error::io("write", &path, error);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&path).map_err(io)?;
        let scratch = Self { file, path: path.clone() };
        let chunk = vec![1; call_bytes];
        for place in (0..length).step_by(call_bytes) {
            scratch.file.write_all_at(&chunk, place as u64).map_err(io)?;
        }
        Ok(scratch)
    }

    /// The same, durable.
    fn durable(directory: &Path, name: &str, length: usize, call_bytes: usize) -> Result<Self> {
        let scratch = Self::new(directory, name, length, call_bytes)?;
        scratch.file.sync_all().map_err(|error| Error::io("sync", &scratch.path, error))?;
        Ok(scratch)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // No one can handle a failure here; the directory of the run is removed too.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The value that was made in the first round.
fn made<T>(value: &mut Option<T>, make: impl FnOnce() -> Result<T, Unavailable>) -> Result<&mut T, Unavailable> {
    match value {
        Some(value) => Ok(value),
        none => Ok(none.insert(make()?)),
    }
}

/// Processor time of a call that overwrites `bytes` of a file in the page cache, anywhere in it.
fn overwrite(floors: &'static [Floor; 1], setting: &Setting, bytes: usize) -> Probe {
    let (setting, mut places) = (setting.clone(), Anywhere::new(setting, bytes));
    let (mut file, content) = (None, vec![2; bytes]);
    Probe::of_one(floors, move || {
        let make = || Ok(Scratch::new(&setting.directory, floors[0].name(), setting.file_bytes, bytes)?);
        let Scratch { file, path } = made(&mut file, make)?;
        let calls = CALL_BYTES / bytes;
        cpu_ns_per_operation(setting.span, || {
            for _ in 0..calls {
                file.write_all_at(&content, places.next()).map_err(|error| Error::io("write", path, error))?;
            }
            Ok(calls as u64)
        })
    })
}

/// A file that the engine has prepared for stores, which vanishes with this value.
struct Prepared {
    file: Arc<dyn engine_io::File>,
    path: PathBuf,
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // As of `Scratch`. What is not written yet never will be, and disturbs no measurement of the disk.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Processor time of stores over 4 KiB of a file that the engine has prepared, through the engine's own map.
fn store(setting: &Setting) -> Probe {
    let (setting, mut places) = (setting.clone(), Anywhere::new(setting, PAGE_BYTES));
    let mut prepared = None;
    Probe::of_one(&[Floor::Store4K], move || {
        let path = setting.directory.join(Floor::Store4K.name());
        let io = |error| Error::io("write", &path, error);
        let Prepared { file, .. } = made(&mut prepared, || {
            let file = RealDisk.open(&path, Access::CreateNew).map_err(io)?;
            let prepared = Prepared { file: Arc::clone(&file), path: path.clone() };
            file.prepare(setting.file_bytes as u64).map_err(io)?;
            match file.place(0, setting.file_bytes) {
                Some(_) => Ok(prepared),
                None => Err(Unavailable("the engine does not store through maps on this file system".to_owned())),
            }
        })?;
        const STORES: u64 = 256;
        cpu_ns_per_operation(setting.span, || {
            for _ in 0..STORES {
                file.write_at(places.next(), &[2; PAGE_BYTES]).map_err(io)?;
            }
            Ok(STORES)
        })
    })
}

/// Wall time of an `fdatasync` and of the write of 4 KiB before it: median, 99th percentile, rate.
fn fdatasync(setting: &Setting) -> Probe {
    const FILE_BYTES: usize = 8 << 20;
    const SYNCS_MIN: usize = 16;
    let setting = Setting { file_bytes: FILE_BYTES, ..setting.clone() };
    let (mut file, mut places) = (None, Anywhere::new(&setting, PAGE_BYTES));
    let measure = move || -> Figures {
        let make = || Ok(Scratch::durable(&setting.directory, "fdatasync", FILE_BYTES, CALL_BYTES)?);
        let Scratch { file, path } = made(&mut file, make)?;
        let io = |error| Error::io("sync", path, error);
        let mut times = Vec::new();
        let started = Instant::now();
        let mut before = started;
        while times.len() < SYNCS_MIN || started.elapsed() < setting.span {
            file.write_all_at(&[3; PAGE_BYTES], places.next()).map_err(io)?;
            file.sync_data().map_err(io)?;
            let now = Instant::now();
            times.push((now - before).as_nanos() as f64);
            before = now;
        }
        let rate = times.len() as f64 / started.elapsed().as_secs_f64();
        Ok(Round { values: vec![median(&times), percentile(&times, 0.99), rate], remark: None })
    };
    Probe { floors: &[Floor::FdatasyncP50, Floor::FdatasyncP99, Floor::FdatasyncRate], measure: Box::new(measure) }
}

/// Bytes in a nanosecond, by the clock, of writing a new file in order, synced after every part.
fn disk_write(setting: &Setting) -> Probe {
    const PART_BYTES: usize = 32 << 20;
    let setting = setting.clone();
    Probe::of_one(&[Floor::DiskWrite], move || {
        let scratch = Scratch::new(&setting.directory, "disk_write", 0, CALL_BYTES)?;
        let Scratch { file, path } = &scratch;
        let io = |error| Error::io("write", path, error);
        let chunk = vec![4; CALL_BYTES];
        let started = Instant::now();
        let mut written = 0;
        while written == 0 || (started.elapsed() < setting.span && written < setting.memory_bytes) {
            for _ in 0..PART_BYTES / CALL_BYTES {
                file.write_all_at(&chunk, written as u64).map_err(io)?;
                written += CALL_BYTES;
            }
            file.sync_data().map_err(io)?;
        }
        let rate = written as f64 / started.elapsed().as_nanos() as f64;
        drop(scratch);
        // What removing it leaves to the disk is over before the next measurement begins.
        let directory = File::open(&setting.directory).and_then(|directory| directory.sync_all());
        directory.map_err(|error| Error::io("sync", &setting.directory, error))?;
        Ok(rate)
    })
}

/// Wall time of reading 4 KiB, anywhere in a file, from the disk: past the page cache, or where the file system
/// refuses that, after having them dropped from it.
fn disk_read(setting: &Setting) -> Probe {
    let (setting, mut places) = (setting.clone(), Anywhere::new(setting, PAGE_BYTES));
    let mut opened: Option<(Scratch, Past)> = None;
    let measure = move || -> Figures {
        let (scratch, past) = made(&mut opened, || {
            let scratch = Scratch::durable(&setting.directory, "disk_read", setting.file_bytes, CALL_BYTES)?;
            let past = Past::new(&scratch)?;
            Ok((scratch, past))
        })?;
        // Page-aligned, which reads past the page cache ask for.
        let mut buffer = Fresh::new(PAGE_BYTES, Pages::Small)?;
        let started = Instant::now();
        let mut reads = 0;
        while reads == 0 || started.elapsed() < setting.span {
            past.read(scratch, buffer.bytes_mut(), places.next())?;
            reads += 1;
        }
        let values = vec![started.elapsed().as_nanos() as f64 / f64::from(reads)];
        Ok(Round { values, remark: past.remark() })
    };
    Probe { floors: &[Floor::DiskRead4K], measure: Box::new(measure) }
}

/// How a read gets past the page cache.
enum Past {
    /// A second handle that does not use it.
    Direct(File),
    /// What is read is dropped from it before.
    Dropped,
}

impl Past {
    fn new(scratch: &Scratch) -> Result<Self, Unavailable> {
        let direct =
            OpenOptions::new().read(true).custom_flags(OFlags::DIRECT.bits().cast_signed()).open(&scratch.path);
        if let Ok(direct) = direct {
            let mut buffer = Fresh::new(PAGE_BYTES, Pages::Small)?;
            if direct.read_exact_at(buffer.bytes_mut(), 0).is_ok() {
                return Ok(Self::Direct(direct));
            }
        }
        Ok(Self::Dropped)
    }

    fn remark(&self) -> Option<String> {
        let reason = "this file system refuses O_DIRECT, so pages are dropped from the page cache before they are read";
        matches!(self, Self::Dropped).then(|| reason.to_owned())
    }

    fn read(&self, scratch: &Scratch, buffer: &mut [u8], place: u64) -> Result<()> {
        let io = |error| Error::io("read", &scratch.path, error);
        match self {
            Self::Direct(direct) => direct.read_exact_at(buffer, place).map_err(io),
            Self::Dropped => {
                let length = std::num::NonZeroU64::new(buffer.len() as u64);
                fadvise(&scratch.file, place, length, Advice::DontNeed).map_err(|error| io(error.into()))?;
                scratch.file.read_exact_at(buffer, place).map_err(io)
            }
        }
    }
}

/// The share of a file that huge pages map, written by large calls and mapped by the engine.
fn huge_file(setting: &Setting) -> Probe {
    let setting = setting.clone();
    Probe::of_one(&[Floor::HugeFile], move || {
        let Scratch { path, .. } = &Scratch::durable(&setting.directory, "huge_file", setting.file_bytes, 4 << 20)?;
        let io = |error| Error::io("map", path, error);
        let file = RealDisk.open(path, Access::Read).map_err(io)?;
        let no_map = || Unavailable("this file system cannot map files".to_owned());
        let map = file.map(0).map_err(io)?.ok_or_else(no_map)?;
        map.populate(0, setting.file_bytes as u64).map_err(io)?;
        let pages = map.huge_pages().map_err(io)?;
        Ok(100.0 * pages.huge_bytes as f64 / pages.resident_bytes as f64)
    })
}
