//! Retention by age, number and size, of the log and of single streams.

use std::collections::BTreeSet;
use std::time::Duration;

use fulgurite::Read;
use fulgurite_events::{Retention, RetentionReport, Timestamp};

use super::run::Run;
use crate::support::all;

impl Run {
    pub fn retain(&mut self) {
        let (retention, chunks) = (self.retention(), self.chunks());
        let begun = Timestamp::now().0;
        let report = self.store.apply_retention(&retention).unwrap();
        let ended = Timestamp::now().0;
        if chunks.is_empty() {
            assert_eq!(report, RetentionReport::default());
            return;
        }
        // The clock moved on during the call, and a limit of age with it.
        let [least, most] = [begun, ended].map(|now| self.model.kept_from(&chunks, &retention, now));
        let start = report.start.0;
        assert!((least..=most).contains(&start), "{retention:?} keeps from {start}, not from {least} or {most}");
        self.model.start = start;
        let there: BTreeSet<u64> = all(&self.store.snapshot().unwrap()).iter().map(|event| event.position.0).collect();
        self.model.remove(begun, ended, |position| there.contains(&position));
    }

    /// Limits of the log. Often there are none: then only those of streams count.
    fn retention(&mut self) -> Retention {
        let head = self.model.head();
        Retention {
            age_max: self.random.one_in(5).then(|| Duration::from_micros(self.age_us())),
            count_max: self.random.one_in(5).then(|| self.random.below(head + 2)),
            bytes_max: self.random.one_in(5).then(|| self.random.below(200_000)),
        }
    }

    /// The chunks of the log, which limits of the log remove as a whole: their first positions and their bytes, as the
    /// table has them.
    pub fn chunks(&mut self) -> Vec<(u64, u64)> {
        let snapshot = self.store.snapshot().unwrap();
        let log = snapshot.txn().open_table("events.log").unwrap();
        let entries = snapshot.txn().range(&log, ..).unwrap().map(|entry| {
            let (key, value) = entry.unwrap();
            (u64::from_be_bytes(key[..].try_into().unwrap()), value.len() as u64)
        });
        let chunks: Vec<(u64, u64)> = entries.collect();
        self.model.chunks.extend(chunks.iter().map(|(first, _)| *first));
        chunks
    }
}
