//! Every state that a power cut may leave of a [`Recording`], one after the other.
//!
//! The recording is replayed operation by operation. Beside the state that all operations so far lead to, the replay
//! keeps the state that is durable and the changes since, which are pending; each image is the durable state with
//! some of these applied.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use crate::content::Payload;
use crate::crash_disk::CrashDisk;
use crate::crash_recording::{Change, FileNumber, Mark, Operation, Recording, State};
use crate::random::Random;
use crate::random::mix;

impl Recording {
    /// What a power cut may leave on the medium: see [`Kinds`]. Images that are equal in their bytes, names and notes
    /// come once. The same recording, seed and kinds give the same images in the same order.
    pub fn images(&self, seed: u64, kinds: Kinds) -> Images<'_> {
        Images::new(self, seed, kinds)
    }

    /// One image again, by the id that [`CrashImage`] prints.
    ///
    /// # Panics
    /// If the recording has fewer operations than the id says, which means that it is of another run.
    pub fn image(&self, id: ImageId) -> CrashImage<'_> {
        CrashImage::repeat(self, id)
    }
}

/// How many images of each kind are made at each operation. Those that cannot differ are left out.
///
/// Always made are two: everything done so far reached the medium; and nothing that was not synced did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// Images in which some of the pending changes survived, in any order. Where there are at most so many subsets,
    /// each is made once.
    pub subsets: u32,
    /// Images in which some of the pending writes survived in part, cut between sectors, and small ones within a
    /// sector too.
    pub torn: u32,
}

impl Default for Kinds {
    fn default() -> Self {
        Self { subsets: 4, torn: 4 }
    }
}

/// Which image of a recording: printed as `seed:operations:kind`, and read back from that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageId {
    seed: u64,
    operations: usize,
    kind: Kind,
}

/// The number in a kind distinguishes images of it; of `Exactly`, bit `i` keeps pending change `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Everything,
    Durable,
    Exactly(u32),
    Subset(u32),
    Torn(u32),
}

impl ImageId {
    /// All that was done by then reached the medium.
    pub fn everything(operations: usize) -> Self {
        Self { seed: 0, operations, kind: Kind::Everything }
    }

    /// Nothing reached the medium that was not synced by then.
    pub fn durable(operations: usize) -> Self {
        Self { seed: 0, operations, kind: Kind::Durable }
    }

    /// The seed of the images, and what the recording was made with if its maker used the same.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

impl fmt::Display for ImageId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:", self.seed, self.operations)?;
        match self.kind {
            Kind::Everything => write!(out, "everything"),
            Kind::Durable => write!(out, "durable"),
            Kind::Exactly(mask) => write!(out, "exactly-{mask}"),
            Kind::Subset(number) => write!(out, "subset-{number}"),
            Kind::Torn(number) => write!(out, "torn-{number}"),
        }
    }
}

impl FromStr for ImageId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let mut parts = text.split(':');
            let (seed, operations, kind) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?, parts.next()?);
            let (name, number) = kind.split_once('-').unwrap_or((kind, "0"));
            let number = number.parse().ok()?;
            let kind = match name {
                "everything" => Kind::Everything,
                "durable" => Kind::Durable,
                "exactly" => Kind::Exactly(number),
                "subset" => Kind::Subset(number),
                "torn" => Kind::Torn(number),
                _ => return None,
            };
            parts.next().is_none().then_some(Self { seed, operations, kind })
        };
        parse().ok_or_else(|| format!("`{text}` is not an image id; one looks like 42:118:torn-3"))
    }
}

/// One state that a power cut may leave. Displays as its id and what survived.
#[derive(Debug)]
pub struct CrashImage<'r> {
    recording: &'r Recording,
    id: ImageId,
    state: State,
    survived: Survived,
}

#[derive(Clone, Copy, Debug, Default)]
struct Survived {
    pending: usize,
    kept: usize,
    torn: usize,
}

impl<'r> CrashImage<'r> {
    /// A disk that holds this image, all of it durable, with a recording of its own: recovering on it can be cut
    /// short in turn.
    pub fn disk(&self) -> CrashDisk {
        CrashDisk::from_state(self.state.clone())
    }

    /// What to give [`Recording::image`] to have this image again.
    pub fn id(&self) -> ImageId {
        self.id
    }

    /// Whether all that was done reached the medium, as if only the process had died.
    pub fn keeps_everything(&self) -> bool {
        self.id.kind == Kind::Everything
    }

    /// How many operations were done when the power was cut.
    pub fn operations(&self) -> usize {
        self.id.operations
    }

    /// The notes that the workload had made by then: what an image must keep of it.
    pub fn marks(&self) -> &'r [Mark] {
        self.recording.marks_until(self.id.operations)
    }

    /// The number of the newest mark with this label; 0 if there is none.
    pub fn newest_mark(&self, label: &str) -> u64 {
        self.marks().iter().rev().find(|mark| mark.label == label).map_or(0, |mark| mark.number)
    }

    pub(crate) fn repeat(recording: &'r Recording, id: ImageId) -> Self {
        assert!(id.operations <= recording.operations().len(), "image {id} is of another recording");
        let mut replay = Replay::new(recording);
        for operation in &recording.operations()[..id.operations] {
            replay.step(operation);
        }
        replay.image(recording, id)
    }

    /// Of two images with the same bytes, one must keep more if more was acknowledged before it: they differ.
    fn hash(&self) -> u64 {
        mix(self.state.hash() ^ mix(self.marks().len() as u64))
    }
}

impl fmt::Display for CrashImage<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Survived { pending, kept, torn } = self.survived;
        write!(out, "image {}: {kept} of {pending} pending changes survived", self.id)?;
        if torn > 0 {
            write!(out, ", {torn} of them torn")?;
        }
        match self.id.operations.checked_sub(1) {
            Some(last) => write!(out, "; the last operation was: {}", self.recording.operations()[last]),
            None => write!(out, "; before the first operation"),
        }
    }
}

/// The distinct images of a recording, in the order of its operations; see [`Recording::images`].
#[derive(Debug)]
pub struct Images<'r> {
    recording: &'r Recording,
    seed: u64,
    kinds: Kinds,
    replay: Replay,
    operations: usize,
    /// What is still to be made at this operation, last first.
    planned: Vec<Kind>,
    seen: HashSet<u64>,
}

impl<'r> Images<'r> {
    pub(crate) fn new(recording: &'r Recording, seed: u64, kinds: Kinds) -> Self {
        let replay = Replay::new(recording);
        let planned = replay.plan(kinds);
        Self { recording, seed, kinds, replay, operations: 0, planned, seen: HashSet::new() }
    }

    /// Only the images of a power cut after at least so many operations: those before belong to preparations that
    /// another recording has tried.
    pub fn since(mut self, operations: usize) -> Self {
        while self.operations < operations && self.advance() {}
        self
    }

    /// Proceeds to the next operation, if the recording has one.
    fn advance(&mut self) -> bool {
        let Some(operation) = self.recording.operations().get(self.operations) else { return false };
        self.replay.step(operation);
        self.operations += 1;
        self.planned = self.replay.plan(self.kinds);
        true
    }
}

impl<'r> Iterator for Images<'r> {
    type Item = CrashImage<'r>;

    fn next(&mut self) -> Option<CrashImage<'r>> {
        loop {
            while let Some(kind) = self.planned.pop() {
                let id = ImageId { seed: self.seed, operations: self.operations, kind };
                let image = self.replay.image(self.recording, id);
                if self.seen.insert(image.hash()) {
                    return Some(image);
                }
            }
            if !self.advance() {
                return None;
            }
        }
    }
}

/// The states at one moment of a recording.
#[derive(Debug)]
struct Replay {
    current: State,
    durable: State,
    /// The changes that `durable` lacks, in order.
    pending: Vec<Change>,
}

impl Replay {
    fn new(recording: &Recording) -> Self {
        Self { current: recording.start.clone(), durable: recording.start.clone(), pending: Vec::new() }
    }

    fn step(&mut self, operation: &Operation) {
        let change = &operation.0;
        self.current.apply(change);
        match change {
            Change::SyncDirectory { directory } => {
                let durable = &mut self.durable;
                self.pending.retain(|pending| {
                    let synced = pending.directory() == Some(directory);
                    if synced {
                        durable.apply(pending);
                    }
                    !synced
                });
            }
            Change::SyncRange { file, start, end } => self.sync_range(*file, *start..*end),
            Change::SyncData { file } => self.sync_data(*file),
            Change::SyncAll { file } => {
                self.pending.retain(|pending| pending.file() != Some(*file));
                *self.durable.content(*file) = self.current.content(*file).clone();
            }
            _ => self.pending.push(change.clone()),
        }
    }

    /// Bytes become durable, and length where they need it: a file that was cut may still be found as long as before.
    fn sync_data(&mut self, file: FileNumber) {
        self.pending.retain(|pending| pending.file() != Some(file));
        let current = self.current.content(file).clone();
        let durable = self.durable.content(file);
        durable.overlay(&current);
        if durable.length() > current.length() {
            self.pending.push(Change::SetLength { file, length: current.length() });
        }
    }

    /// These bytes become durable, and what was written to their places before is past.
    fn sync_range(&mut self, file: FileNumber, range: Range<u64>) {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        let current = self.current.content(file);
        current.read(range.start, &mut bytes).expect("they were just written");
        self.durable.content(file).write_bytes(range.start, &bytes);
        let pending = std::mem::take(&mut self.pending);
        for change in pending {
            match &change {
                Change::Write { file: other, payload } if *other == file => {
                    let rest = payload.outside(&range).into_iter();
                    self.pending.extend(rest.map(|payload| Change::Write { file, payload: Arc::new(payload) }));
                }
                _ => self.pending.push(change),
            }
        }
    }

    /// The images to make here, in reverse.
    fn plan(&self, kinds: Kinds) -> Vec<Kind> {
        let count = self.pending.len();
        let mut planned = Vec::new();
        if self.pending.iter().any(|pending| matches!(pending, Change::Write { .. })) {
            planned.extend((0..kinds.torn).rev().map(Kind::Torn));
        }
        let subsets = u32::try_from(count).ok().and_then(|count| 1u32.checked_shl(count));
        match subsets {
            Some(subsets) if subsets <= kinds.subsets => planned.extend((1..subsets - 1).rev().map(Kind::Exactly)),
            _ if count < 2 => {}
            _ => planned.extend((0..kinds.subsets).rev().map(Kind::Subset)),
        }
        planned.push(Kind::Durable);
        planned.push(Kind::Everything);
        planned
    }

    fn image<'r>(&self, recording: &'r Recording, id: ImageId) -> CrashImage<'r> {
        let pending = self.pending.len();
        let (state, survived) = match id.kind {
            Kind::Everything => (self.current.clone(), Survived { pending, kept: pending, torn: 0 }),
            Kind::Durable => (self.durable.clone(), Survived { pending, ..Survived::default() }),
            Kind::Exactly(mask) => {
                let kept = (0..pending).filter(|index| mask >> index & 1 == 1).map(|index| &self.pending[index]);
                self.with_changes(kept.collect())
            }
            Kind::Subset(number) => {
                let mut random = Random::for_part(id.seed, &[id.operations as u64, 1, number.into()]);
                self.with_changes(self.choose(&mut random))
            }
            Kind::Torn(number) => {
                let mut random = Random::for_part(id.seed, &[id.operations as u64, 2, number.into()]);
                self.with_torn_changes(&mut random)
            }
        };
        CrashImage { recording, id, state, survived }
    }

    fn with_changes(&self, changes: Vec<&Change>) -> (State, Survived) {
        let mut state = self.durable.clone();
        changes.iter().for_each(|change| state.apply(change));
        (state, Survived { pending: self.pending.len(), kept: changes.len(), torn: 0 })
    }

    fn with_torn_changes(&self, random: &mut Random) -> (State, Survived) {
        let changes = if random.chance(1, 2) { self.pending.iter().collect() } else { self.choose(random) };
        let mut survived = Survived { pending: self.pending.len(), kept: changes.len(), torn: 0 };
        let writes = changes.iter().filter(|change| matches!(change, Change::Write { .. })).count();
        let one = match random.below(4) {
            0 => None,
            1 => Some(random.index(writes.max(1))),
            _ => writes.checked_sub(1),
        };
        // All writes are torn, or any one, or (what is likeliest in life) the last.
        let mut state = self.durable.clone();
        let mut write = 0;
        for change in changes {
            let Change::Write { file, payload } = change else {
                state.apply(change);
                continue;
            };
            if one.is_none_or(|one| one == write) {
                tear(&mut state, *file, payload, random);
                survived.torn += 1;
            } else {
                state.apply(change);
            }
            write += 1;
        }
        (state, survived)
    }

    /// Some of the pending changes, half the time with changes of bytes in an order of their own. Names stay in order.
    fn choose(&self, random: &mut Random) -> Vec<&Change> {
        let count = self.pending.len();
        let one = random.index(count.max(1));
        let style = random.below(6);
        let mut kept = Vec::with_capacity(count);
        for (index, change) in self.pending.iter().enumerate() {
            let keep = match style {
                0 => index == one,
                1 => index != one,
                2 => index >= one,
                3 => random.chance(1, 4),
                4 => random.chance(1, 2),
                _ => random.chance(3, 4),
            };
            if keep {
                kept.push(change);
            }
        }
        if random.chance(1, 2) {
            let (names, mut bytes): (Vec<&Change>, Vec<&Change>) =
                kept.into_iter().partition(|kept| kept.is_of_names());
            random.shuffle(&mut bytes);
            kept = names.into_iter().chain(bytes).collect();
        }
        kept
    }
}

/// Applies some sectors of a write, and its effect on the length sometimes with and sometimes without them.
fn tear(state: &mut State, file: FileNumber, payload: &Payload, random: &mut Random) {
    let content = state.content(file);
    let small = payload.length() <= SHREDDED_BYTES_MAX;
    let unit = if small && random.chance(1, 4) { SHRED_BYTES } else { SECTOR_BYTES };
    let first = payload.offset() / unit;
    let count = payload.end().div_ceil(unit) - first;
    let cut = first + random.below(count);
    let style = random.below(6);
    for piece in payload.pieces() {
        let (mut offset, mut bytes) = piece.offset_and_bytes();
        while !bytes.is_empty() {
            let sector = offset / unit;
            let length = ((sector + 1) * unit - offset).min(bytes.len() as u64);
            let (part, rest) = bytes.split_at(length as usize);
            let keep = match style {
                0 => sector < cut,
                1 => sector > cut,
                2 => sector != cut,
                3 => sector == cut,
                _ => random.chance(1, 2),
            };
            if keep {
                content.write_bytes(offset, part);
            }
            (offset, bytes) = (offset + length, rest);
        }
    }
    if random.chance(1, 2) {
        content.grow(payload.end());
    }
}

/// The unit that a medium writes whole or not at all.
const SECTOR_BYTES: u64 = 512;
/// Some media do not keep that promise, and checksums must not rely on it: small writes are sometimes torn in units
/// of this.
const SHRED_BYTES: u64 = 64;
/// Longest write that is.
const SHREDDED_BYTES_MAX: u64 = 4096;
