//! What a verb leaves out of a damaged database.

use std::collections::HashSet;
use std::io::Write;
use std::path::Path;

use crate::failure::Failure;
use crate::output::counted;

/// The damaged places that were passed over.
#[derive(Default)]
pub struct Skipped {
    all: HashSet<String>,
    /// Those that are named.
    first: Vec<String>,
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
        if self.first.len() < PLACES_NAMED && !self.all.contains(&place) {
            self.first.push(place.clone());
        }
        self.all.insert(place);
    }

    /// Prints the places as messages, and fails with the exit code of damage if there are any.
    ///
    /// # Errors
    /// See above.
    pub fn end(&self, path: &Path) -> Result<(), Failure> {
        for place in &self.first {
            let _ = writeln!(std::io::stderr(), "left out: {place}");
        }
        match self.all.len() as u64 {
            0 => Ok(()),
            places => Err(Failure::damaged(format!(
                "{}: {}: what cannot be read was left out; restore a backup to have it",
                path.display(),
                counted(places, "damaged place", "damaged places")
            ))),
        }
    }
}

/// More places are counted only.
const PLACES_NAMED: usize = 100;
