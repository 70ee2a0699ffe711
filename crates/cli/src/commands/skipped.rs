//! What a verb leaves out of a damaged database.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::Path;

use crate::failure::Failure;
use crate::output::counted;

/// The damaged places that were passed over.
#[derive(Default)]
pub struct Skipped {
    /// Hashes of all places, so that each counts once. They take less memory than the places.
    all: HashSet<u64>,
    hasher: RandomState,
    /// The places that are named.
    first: Vec<String>,
    /// What is missing of the output, if that is known.
    missing: Option<String>,
}

impl Skipped {
    /// Notes an error of the engine.
    ///
    /// # Errors
    /// The error, if it is not damage.
    pub fn note(&mut self, error: fulgurite::Error) -> Result<(), Failure> {
        if !error.is_corruption() {
            return Err(error.into());
        }
        self.note_place(match &error {
            fulgurite::Error::Corrupt { place, offence, .. } => format!("{place} is damaged: {offence}"),
            error => error.to_string(),
        });
        Ok(())
    }

    /// Notes a place, and what is wrong with it.
    pub fn note_place(&mut self, place: String) {
        if self.all.insert(self.hasher.hash_one(&place)) && self.first.len() < PLACES_NAMED {
            self.first.push(place);
        }
    }

    /// Notes how much is missing of the output. Damage may also be in pages without entries.
    pub fn note_missing(&mut self, count: u64, missing: String) {
        self.missing = (count > 0).then_some(missing);
    }

    /// Prints the places as messages, and fails with the exit code of damage if there are any.
    ///
    /// # Errors
    /// See above.
    pub fn end(&self, path: &Path) -> Result<(), Failure> {
        for place in &self.first {
            let _ = writeln!(std::io::stderr(), "left out: {place}");
        }
        let missing = self.missing.as_ref().map_or_else(String::new, |missing| format!(" ({missing})"));
        match self.all.len() as u64 {
            0 => Ok(()),
            places => Err(Failure::damaged(format!(
                "{}: {}: what cannot be read was left out{missing}; restore a backup to have it",
                path.display(),
                counted(places, "damaged place", "damaged places")
            ))),
        }
    }
}

/// The failure of a verb. If it is damage and nothing is `skipped`, it names the option that passes over it.
pub fn with_advice(failure: Failure, skipped: Option<&Skipped>, verb: &str, entries: &str) -> Failure {
    if skipped.is_some() || !failure.is_damage() {
        return failure;
    }
    let message = format!("{failure}; `fulgurite {verb} --skip-damaged` writes all {entries} that can be read");
    failure.reworded(message)
}

/// More places are counted only.
const PLACES_NAMED: usize = 100;
