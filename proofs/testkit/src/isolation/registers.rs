//! Registers: their versions are put in order by the engine's sequences, where those are known, and by transactions
//! that read one version and wrote the next. Where neither orders two versions, nothing is concluded about them.
//!
//! A value names its version; an absence does so only where one version is absent. Where several are, the reader's
//! snapshot shows which one it was, or else the reader comes after the first of them and before whatever followed the
//! last.

use super::anomaly::AnomalyKind;
use super::dependencies::{Gathered, Reading};
use super::graph::Dependency;
use super::history::{Outcome, Sequence, Value};
use super::observations::{Register, RegisterRead, Write, write_of};
use super::roles::Cast;
use super::text::named;

/// The versions of a register that were installed. Version 0 was there at the beginning.
struct Versions {
    writes: Vec<Option<Write>>,
    initial: Option<Value>,
    /// The versions that are known to come later than each, not all of them: from one to the next.
    next: Vec<Vec<u32>>,
    /// All versions in order, if all have a sequence.
    order: Option<Vec<(Sequence, u32)>>,
    /// Whether a deletion may have happened that has no place among the versions.
    deletion_in_doubt: bool,
}

/// Which versions a read may have found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// This one.
    One(u32),
    /// One of several; these are the first and the last of them.
    Between(u32, u32),
    /// Nothing is known.
    Unknown,
}

/// Adds the facts of this register.
pub(super) fn gather(register: &Register, cast: &Cast<'_, '_>, gathered: &mut Gathered<'_>) {
    let mut versions = Versions::new(register, cast);
    let reads = register.reads.iter().filter(|read| cast.reads(read.place.transaction));
    let found: Vec<(&RegisterRead, Found)> =
        reads.map(|read| (read, versions.find(register, read, cast, gathered))).collect();
    versions.order_by_updates(&found, cast, gathered);
    for (version, next) in versions.next.iter().enumerate() {
        for later in next {
            if let (Some(write), Some(replaced)) = (versions.writes[version], versions.writes[*later as usize]) {
                gathered.add(cast, write.place, replaced.place, Dependency::WriteWrite);
            }
        }
    }
    for (read, found) in found {
        versions.place_read(read, found, cast, gathered);
    }
}

impl Versions {
    fn new(register: &Register, cast: &Cast<'_, '_>) -> Self {
        let happened = |write: &&Write| write.last && cast.writes(write.place.transaction);
        let writes: Vec<Option<Write>> =
            std::iter::once(None).chain(register.writes.iter().filter(happened).copied().map(Some)).collect();
        let in_doubt = |write: &Write| write.value.is_none() && cast.in_doubt(write.place.transaction);
        let mut versions = Self {
            next: vec![Vec::new(); writes.len()],
            initial: register.initial,
            order: None,
            deletion_in_doubt: register.writes.iter().any(in_doubt),
            writes,
        };
        versions.order_by_sequences(cast);
        versions
    }

    fn order_by_sequences(&mut self, cast: &Cast<'_, '_>) {
        let mut order = vec![(Sequence(0), 0)];
        for (version, write) in self.writes.iter().enumerate() {
            let sequence = write.and_then(|write| cast.transactions[write.place.transaction as usize].sequence);
            order.extend(sequence.map(|sequence| (sequence, version as u32)));
        }
        order[1..].sort_unstable();
        for pair in order.windows(2) {
            self.next[pair[0].1 as usize].push(pair[1].1);
        }
        self.order = (order.len() == self.writes.len()).then_some(order);
    }

    /// Who read one version and installed another one has replaced the former. What is still without a predecessor then
    /// follows the beginning.
    fn order_by_updates(&mut self, found: &[(&RegisterRead, Found)], cast: &Cast<'_, '_>, gathered: &mut Gathered<'_>) {
        let mut installed: Vec<(u32, u32)> = (0..)
            .zip(&self.writes)
            .filter_map(|(version, write)| write.map(|write| (write.place.transaction, version)))
            .collect();
        installed.sort_unstable();
        let mut updates = Vec::new();
        for (read, found) in found {
            let reader = read.place.transaction;
            if let (Found::One(version), Ok(at)) = (found, installed.binary_search_by_key(&reader, |(by, _)| *by)) {
                self.next[*version as usize].push(installed[at].1);
                updates.push((*version, read.place));
            }
        }
        gathered.report_lost_updates(cast, &mut updates);
        let mut follows = vec![false; self.writes.len()];
        self.next.iter().flatten().for_each(|version| follows[*version as usize] = true);
        let beginnings = (1..).zip(&follows[1..]).filter(|(_, follows)| !**follows).map(|(version, _)| version);
        self.next[0].extend(beginnings);
        for next in &mut self.next {
            next.sort_unstable();
            next.dedup();
        }
    }

    fn value(&self, version: u32) -> Option<Value> {
        self.writes[version as usize].map_or(self.initial, |write| write.value)
    }

    /// Which version a read found. A read that none explains is reported.
    fn find(
        &self,
        register: &Register,
        read: &RegisterRead,
        cast: &Cast<'_, '_>,
        gathered: &mut Gathered<'_>,
    ) -> Found {
        match read.value {
            Some(value) => self.find_value(register, read, value, cast, gathered),
            None => self.find_absence(register, read, cast, gathered),
        }
    }

    fn find_value(
        &self,
        register: &Register,
        read: &RegisterRead,
        value: Value,
        cast: &Cast<'_, '_>,
        gathered: &mut Gathered<'_>,
    ) -> Found {
        if self.initial == Some(value) {
            return Found::One(0);
        }
        // The writes are sorted by value, and so are the versions after the first.
        let installed =
            self.writes[1..].binary_search_by_key(&Some(value), |write| write.and_then(|write| write.value));
        let reading = Reading { place: read.place, value: Some(value) };
        if let Ok(at) = installed {
            let write = write_of(&register.writes, value).expect("it was installed");
            if write.place.transaction == read.place.transaction {
                let kind = AnomalyKind::InternalInconsistency;
                gathered.report_two(cast, kind, reading, write.place, "which it does only afterwards");
                return Found::Unknown;
            }
            return Found::One(at as u32 + 1);
        }
        if let Some(write) = gathered.explain(cast, &register.writes, reading, value) {
            let why = "which its transaction then replaced";
            gathered.report_two(cast, AnomalyKind::IntermediateRead, reading, write.place, why);
        }
        Found::Unknown
    }

    fn find_absence(
        &self,
        register: &Register,
        read: &RegisterRead,
        cast: &Cast<'_, '_>,
        gathered: &mut Gathered<'_>,
    ) -> Found {
        let reader = read.place.transaction;
        let own = |version: u32| self.writes[version as usize].is_some_and(|write| write.place.transaction == reader);
        let mut absent =
            (0..self.writes.len() as u32).filter(|version| self.value(*version).is_none() && !own(*version));
        match (absent.next(), absent.next()) {
            (None, _) => {
                if !self.deletion_in_doubt {
                    self.report_absence(register, read, cast, gathered);
                }
                Found::Unknown
            }
            (Some(only), None) if !self.deletion_in_doubt => Found::One(only),
            _ => self.find_absence_in_order(read, own, cast, gathered),
        }
    }

    /// One of several absent versions.
    fn find_absence_in_order(
        &self,
        read: &RegisterRead,
        own: impl Fn(u32) -> bool,
        cast: &Cast<'_, '_>,
        gathered: &mut Gathered<'_>,
    ) -> Found {
        let Some(order) = &self.order else { return Found::Unknown };
        let snapshot = cast.transactions[read.place.transaction as usize].snapshot;
        let current = snapshot.map(|snapshot| {
            let (_, version) = order[order.partition_point(|(sequence, _)| *sequence <= snapshot).max(1) - 1];
            version
        });
        match current {
            Some(version) if self.value(version).is_none() && !own(version) => return Found::One(version),
            Some(version) if !self.deletion_in_doubt => self.report_snapshot(read, version, cast, gathered),
            _ => {}
        }
        if self.deletion_in_doubt {
            return Found::Unknown;
        }
        let mut absent = order.iter().map(|(_, version)| *version).filter(|at| self.value(*at).is_none() && !own(*at));
        let first = absent.next();
        let last = absent.next_back().or(first);
        first.zip(last).map_or(Found::Unknown, |(first, last)| Found::Between(first, last))
    }

    fn report_snapshot(&self, read: &RegisterRead, current: u32, cast: &Cast<'_, '_>, gathered: &mut Gathered<'_>) {
        let reader = read.place.transaction;
        let writer = self.writes[current as usize].map(|write| write.place.transaction);
        let both: Vec<u32> = std::iter::once(reader).chain(writer).collect();
        gathered.findings.add(AnomalyKind::SequenceMismatch, &both, || {
            let names: String =
                both.iter().map(|number| format!("\n  {}", named(cast.transactions, *number))).collect();
            format!("`{}` found absent what is present in its snapshot{names}", cast.operation(read.place))
        });
    }

    fn report_absence(
        &self,
        register: &Register,
        read: &RegisterRead,
        cast: &Cast<'_, '_>,
        gathered: &mut Gathered<'_>,
    ) {
        let reading = Reading { place: read.place, value: None };
        let others = || register.writes.iter().filter(|write| write.place.transaction != read.place.transaction);
        let mut deletions = others().filter(|write| write.value.is_none());
        match deletions.next() {
            Some(write) if cast.outcome(write.place.transaction) == Outcome::Aborted => {
                gathered.report_two(cast, AnomalyKind::AbortedRead, reading, write.place, "which was aborted");
            }
            Some(write) => {
                let why = "which then wrote the register again";
                gathered.report_two(cast, AnomalyKind::IntermediateRead, reading, write.place, why);
            }
            None => gathered.report_unwritten(cast, reading),
        }
    }

    /// Adds the dependencies of a read.
    fn place_read(&self, read: &RegisterRead, found: Found, cast: &Cast<'_, '_>, gathered: &mut Gathered<'_>) {
        let (first, last) = match found {
            Found::One(version) => (version, version),
            Found::Between(first, last) => (first, last),
            Found::Unknown => return,
        };
        if let Some(write) = self.writes[first as usize] {
            gathered.add(cast, write.place, read.place, Dependency::WriteRead);
        }
        let phantom = read.by_range && read.value.is_none();
        let dependency = if phantom { Dependency::PredicateReadWrite } else { Dependency::ReadWrite };
        for write in self.next[last as usize].iter().filter_map(|later| self.writes[*later as usize]) {
            gathered.add(cast, read.place, write.place, dependency);
        }
        if cast.ending == Some(read.place.transaction) {
            if first == last {
                gathered.shown.extend(self.writes[first as usize].map(|write| write.place));
            }
            gathered.lacking.extend(self.later(last).into_iter().filter_map(|version| {
                let write = self.writes[version as usize]?;
                Some(write.place)
            }));
        }
    }

    /// All versions that are known to be later than this one.
    fn later(&self, version: u32) -> Vec<u32> {
        let mut later = Vec::new();
        let mut reached = vec![false; self.writes.len()];
        reached[version as usize] = true;
        let mut waiting = vec![version];
        while let Some(version) = waiting.pop() {
            for next in &self.next[version as usize] {
                if !std::mem::replace(&mut reached[*next as usize], true) {
                    later.push(*next);
                    waiting.push(*next);
                }
            }
        }
        later
    }
}
