//! Measurements of memory: chains of loads, bandwidth, first touches.

use std::cell::{OnceCell, RefCell};
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::rc::Rc;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use memmap2::MmapOptions;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::floors::block::{Block, Fresh, HUGE_PAGE_BYTES, PAGE_BYTES, Pages, huge_percent};
use crate::floors::floor::Floor;
use crate::floors::probe::{Probe, Setting, Unavailable, cpu_ns_per_operation, stay_on};
use crate::measure::clock::{Charge, cpu_ns};
use crate::measure::warm::warm_memory;

/// Every measurement of memory.
pub fn probes(setting: &Setting) -> Vec<Probe> {
    let in_cache = |level, share: usize| Ok::<_, Unavailable>((cache_bytes(level)? / share).max(1).next_power_of_two());
    let (l2, l3) = (in_cache(2, 2), in_cache(3, 4));
    let memory = Ok(setting.memory_bytes);
    let block =
        |length: &Result<usize, Unavailable>, pages| Rc::new(Lazy { length: length.clone(), pages, ..Lazy::default() });
    let (small, huge) = (block(&memory, Pages::Small), block(&memory, Pages::Huge));
    let room = Room::default();
    let l2_of = |pages| block(&l2, pages);
    let l3_of = |pages| block(&l3, pages);
    vec![
        chains::<1>(&[Floor::DependentL2], l2_of(Pages::Small), setting.span),
        chains::<1>(&[Floor::DependentL2Huge], l2_of(Pages::Huge), setting.span),
        chains::<1>(&[Floor::DependentL3], l3_of(Pages::Small), setting.span),
        chains::<1>(&[Floor::DependentL3Huge], l3_of(Pages::Huge), setting.span),
        chains::<1>(&[Floor::DependentMemory], Rc::clone(&small), setting.span),
        chains::<1>(&[Floor::DependentMemoryHuge], Rc::clone(&huge), setting.span),
        chains::<8>(&[Floor::Overlapped8], Rc::clone(&small), setting.span),
        chains::<8>(&[Floor::Overlapped8Huge], Rc::clone(&huge), setting.span),
        chains::<16>(&[Floor::Overlapped16], small, setting.span),
        chains::<16>(&[Floor::Overlapped16Huge], huge, setting.span),
        bandwidth(&[Floor::Read1], setting, &room, 1, read_through),
        bandwidth(&[Floor::Read2], setting, &room, 2, read_through),
        bandwidth(&[Floor::Write1], setting, &room, 1, write_through),
        bandwidth(&[Floor::Write2], setting, &room, 2, write_through),
        first_touch(&[Floor::FirstTouch], setting, Pages::Small),
        first_touch(&[Floor::FirstTouchHuge], setting, Pages::Huge),
        map_read(setting),
        huge_anonymous(setting),
    ]
}

/// Bytes of a cache, as the kernel reports them for the first processor.
fn cache_bytes(level: usize) -> Result<usize, Unavailable> {
    let text = fs::read_to_string(format!("/sys/devices/system/cpu/cpu0/cache/index{level}/size")).unwrap_or_default();
    parse_size(text.trim())
        .ok_or_else(|| Unavailable(format!("the kernel does not report the size of the level {level} cache")))
}

/// Reads a number with `K` or `M` behind it.
fn parse_size(text: &str) -> Option<usize> {
    let (number, unit) = match text.strip_suffix('K') {
        Some(number) => (number, 1 << 10),
        None => (text.strip_suffix('M')?, 1 << 20),
    };
    number.parse::<usize>().ok().filter(|number| *number > 0).map(|number| number * unit)
}

/// An array that is made when it is first loaded from.
struct Lazy {
    length: Result<usize, Unavailable>,
    pages: Pages,
    block: OnceCell<Result<Block, Unavailable>>,
}

impl Default for Lazy {
    fn default() -> Self {
        Self { length: Ok(PAGE_BYTES), pages: Pages::Small, block: OnceCell::new() }
    }
}

impl Lazy {
    fn get(&self) -> Result<&Block, Unavailable> {
        let make = || Block::new(self.length.clone()?, self.pages);
        self.block.get_or_init(make).as_ref().map_err(Clone::clone)
    }
}

/// Loads of so many chains; each round goes on where the last one has ended.
fn chains<const CHAINS: usize>(floors: &'static [Floor; 1], block: Rc<Lazy>, span: Duration) -> Probe {
    const LOADS: usize = 1 << 16;
    let mut places = None;
    Probe::of_one(floors, move || {
        let block = block.get()?;
        let places = places.get_or_insert_with(|| {
            let mut starts = block.starts::<CHAINS>();
            // What a cache can hold is in it when the clock starts.
            block.follow(&mut starts, LOADS);
            starts
        });
        cpu_ns_per_operation(span, || {
            block.follow(places, LOADS / CHAINS);
            Ok(LOADS as u64)
        })
    })
}

/// Of all the memory that a thread goes through, so much is gone through between two looks at the clock.
const PIECE_BYTES: usize = 16 << 20;

/// Goes through bytes in order.
type Through = fn(&mut [u8]);

fn read_through(bytes: &mut [u8]) {
    let (words, _) = bytes.as_chunks::<8>();
    black_box(words.iter().fold(0, |mixed, word| mixed ^ u64::from_le_bytes(*word)));
}

fn write_through(bytes: &mut [u8]) {
    bytes.fill(black_box(1));
    black_box(bytes);
}

/// Memory that several measurements go through, made by the first.
type Room = Rc<RefCell<Option<Fresh>>>;

/// Bytes in a nanosecond, which are GB in a second, by the clock, of so many threads that each go through a part of
/// the memory.
fn bandwidth(floors: &'static [Floor; 1], setting: &Setting, room: &Room, threads: usize, through: Through) -> Probe {
    let (setting, room) = (setting.clone(), Rc::clone(room));
    Probe::of_one(floors, move || {
        let processors = setting.first_processors(threads)?;
        let mut room = room.borrow_mut();
        let memory = match &mut *room {
            Some(memory) => memory,
            none => none.insert(filled(setting.memory_bytes)?),
        };
        let barrier = Barrier::new(threads);
        let share = memory.bytes().len() / threads;
        let rate = |processor: usize, part: &mut [u8]| {
            let placed = stay_on(processor);
            barrier.wait();
            placed?;
            let started = Instant::now();
            let mut done = 0;
            for piece in (0..part.len().div_ceil(PIECE_BYTES)).cycle() {
                let bytes = part.chunks_mut(PIECE_BYTES).nth(piece).unwrap_or_default();
                through(bytes);
                done += bytes.len();
                if started.elapsed() >= setting.span {
                    break;
                }
            }
            Ok(done as f64 / started.elapsed().as_nanos() as f64)
        };
        std::thread::scope(|scope| {
            let parts = processors.iter().zip(memory.bytes_mut().chunks_mut(share));
            let running: Vec<_> = parts.map(|(processor, part)| scope.spawn(|| rate(*processor, part))).collect();
            running.into_iter().map(|thread| thread.join().expect("going through memory does not panic")).sum()
        })
    })
}

/// Memory with a page table entry for each page, of huge pages where the kernel gives them.
fn filled(length: usize) -> Result<Fresh, Unavailable> {
    let mut memory = Fresh::new(length, Pages::Huge).or_else(|_| Fresh::new(length, Pages::Small))?;
    write_through(memory.bytes_mut());
    Ok(memory)
}

/// Memory whose pages are touched for the first time.
const TOUCHED_BYTES: usize = 64 << 20;

/// Processor time of the first store to each page of fresh memory.
fn first_touch(floors: &'static [Floor; 1], setting: &Setting, pages: Pages) -> Probe {
    let span = setting.span;
    let page_bytes = match pages {
        Pages::Small => PAGE_BYTES,
        Pages::Huge => HUGE_PAGE_BYTES,
    };
    Probe::of_one(floors, move || {
        warm_memory(2 * TOUCHED_BYTES as u64);
        if pages == Pages::Huge {
            has_huge_pages()?;
        }
        let (started, mut nanoseconds, mut touched) = (Instant::now(), 0.0, 0);
        while touched == 0 || started.elapsed() < span {
            let mut memory = Fresh::new(TOUCHED_BYTES, pages)?;
            let before = cpu_ns(Charge::Thread);
            touch(memory.bytes_mut(), page_bytes);
            nanoseconds += cpu_ns(Charge::Thread) - before;
            touched += TOUCHED_BYTES / page_bytes;
        }
        Ok(nanoseconds / touched as f64)
    })
}

/// Stores to every page.
fn touch(bytes: &mut [u8], page_bytes: usize) {
    bytes.iter_mut().step_by(page_bytes).for_each(|byte| *byte = 1);
    black_box(bytes);
}

fn has_huge_pages() -> Result<(), Unavailable> {
    let percent = huge_percent_of_fresh_memory()?;
    match percent >= 50.0 {
        true => Ok(()),
        false => Err(Unavailable(format!("the kernel backs only {percent:.0} % of the memory with huge pages"))),
    }
}

fn huge_percent_of_fresh_memory() -> Result<f64, Unavailable> {
    let mut memory = Fresh::new(TOUCHED_BYTES, Pages::Huge)?;
    Ok(huge_percent(&mut memory, |bytes| touch(bytes, PAGE_BYTES)))
}

/// The share of memory that huge pages map, where they were asked for.
fn huge_anonymous(_setting: &Setting) -> Probe {
    Probe::of_one(&[Floor::HugeAnonymous], huge_percent_of_fresh_memory)
}

/// Processor time of the first load from a page of a file in memory through a new map. The kernel maps pages around
/// it too, so one in each of its 64 KiB is loaded from.
fn map_read(setting: &Setting) -> Probe {
    const AROUND_BYTES: usize = 64 << 10;
    let setting = setting.clone();
    let mut file: Option<File> = None;
    Probe::of_one(&[Floor::MapRead], move || {
        let file = match &mut file {
            Some(file) => file,
            none => none.insert(sealed_file(setting.file_bytes)?),
        };
        let (started, mut nanoseconds, mut loaded) = (Instant::now(), 0.0, 0);
        while loaded == 0 || started.elapsed() < setting.span {
            let map = MmapOptions::new()
                .map_if_safe(&*file)
                .map_err(|error| Unavailable(format!("the file cannot be mapped: {error}")))?;
            // A kernel without huge pages has nothing to refuse.
            let _ = map.advise(memmap2::Advice::NoHugePage);
            let before = cpu_ns(Charge::Thread);
            black_box(map.iter().step_by(AROUND_BYTES).fold(0, |sum: u8, byte| sum.wrapping_add(*byte)));
            nanoseconds += cpu_ns(Charge::Thread) - before;
            loaded += map.len().div_ceil(AROUND_BYTES);
        }
        Ok(nanoseconds / loaded as f64)
    })
}

/// A file in memory that is sealed against changes, so that a map of it is sound.
fn sealed_file(length: usize) -> Result<File, Unavailable> {
    let lack =
        |error: std::io::Error| Unavailable(format!("the system cannot create a sealed file in memory: {error}"));
    let descriptor = memfd_create("fulgurite-limits", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
        .map_err(|error| lack(error.into()))?;
    let mut file = File::from(descriptor);
    let chunk = vec![1; PAGE_BYTES];
    for _ in 0..length / PAGE_BYTES {
        file.write_all(&chunk).map_err(lack)?;
    }
    let seals = SealFlags::SHRINK | SealFlags::WRITE;
    fcntl_add_seals(&file, seals).map_err(|error| lack(error.into()))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_caches_are_read() {
        assert_eq!(parse_size("1024K"), Some(1 << 20));
        assert_eq!(parse_size("32M"), Some(32 << 20));
        assert_eq!([parse_size(""), parse_size("0K"), parse_size("many")], [None; 3]);
    }

    #[test]
    fn a_thread_without_company_refuses_to_be_two() {
        let setting = Setting {
            directory: "/nowhere".into(),
            span: Duration::ZERO,
            memory_bytes: 1 << 20,
            file_bytes: 1 << 20,
            processors: vec![0],
            seed: 7,
        };
        let lack = |mut probe: Probe| (probe.measure)().map(|round| round.values).map_err(|lack| lack.0);
        assert!(
            lack(bandwidth(&[Floor::Read2], &setting, &Room::default(), 2, read_through))
                .unwrap_err()
                .contains("2 threads need 2 processors; this process may use 1")
        );
        assert!(lack(bandwidth(&[Floor::Read1], &setting, &Room::default(), 1, read_through)).unwrap()[0] > 0.0);
    }
}
