//! Backups: what a copy of the database holds is what the database holds.

use std::path::{Path, PathBuf};

use fulgurite::io::Disk;
use fulgurite::{Database, Monitor, ReadTxn};

use super::check::{Difference, same, sound, whole};
use super::coverage::{Call, Coverage};
use super::truth::Truth;
use super::typed::Typed;

/// Copies a database, or what a kept snapshot shows of it, and compares the copy with the truth.
pub struct Backups<'w> {
    /// The disk that it lives on.
    pub disk: &'w dyn Disk,
    /// The options of the database.
    pub settings: &'w fulgurite::Options,
    /// Where it is.
    pub path: &'w Path,
    /// The calls made.
    pub coverage: &'w mut Coverage,
}

impl Backups<'_> {
    /// Copies the newest state, or that of `txn`.
    pub fn compare(&mut self, db: &Database, txn: Option<&ReadTxn>, truth: &Truth) -> Result<(), Difference> {
        let mut copy = self.path.as_os_str().to_owned();
        copy.push("-copy");
        let copy = PathBuf::from(copy);
        let sequence = match txn {
            Some(txn) => {
                self.coverage.note(Call::BackupSnapshotTo);
                sound("backup_snapshot_to", db.backup_snapshot_to(txn, &copy, &Monitor::new()))?;
                txn.sequence()
            }
            None => {
                self.coverage.note(Call::BackupTo);
                sound("backup_to", db.backup_to(&copy))?;
                sound("read", db.read())?.sequence()
            }
        };
        let refused = db.backup_to(&copy);
        if !matches!(refused, Err(fulgurite::Error::FileExists { .. })) {
            return Err(format!("a backup over another: {refused:?}"));
        }
        let copied = sound("open a copy", self.settings.clone().create(false).open(&copy))?;
        let report = sound("check of a copy", copied.check())?;
        same("check of a copy", &report.damages, &Vec::new())?;
        same("runs of a copy", &report.run_entries, &0)?;
        sound("stats of a copy", copied.stats())?.accounts_for_every_byte()?;
        let shown = sound("read a copy", copied.read())?;
        same("sequence of a copy", &shown.sequence(), &sequence)?;
        for name in truth.names() {
            let table = sound("open_table of a copy", shown.open_table(name))?;
            whole(&shown, &table, truth.entries(name)).map_err(|difference| format!("copy of {name}: {difference}"))?;
        }
        let typed = Typed::of(&shown, self.coverage)?.whole(&shown, &truth.typed, self.coverage);
        typed.map_err(|difference| format!("copy: {difference}"))?;
        drop(shown);
        sound("close a copy", copied.close())?;
        let removed = self.disk.remove(&copy);
        removed.map_err(|error| format!("remove a copy: {error}"))
    }
}
