//! Compares what is there with what the threads were told.

use fulgurite::{Database, Error};

use super::loads::Loads;
use super::writer::{Ending, NOTES, Writer};
use crate::crash::{Defect, DefectKind};
use crate::kill::{Acknowledged, Ring, State, Unlike};

/// Why a run did not finish.
#[derive(Debug)]
pub(super) enum Failure {
    /// What is there, looked at, is not what the writer was told.
    Judged(Defect),
    /// The engine did something else that it should not: it hangs, gives up, or panics.
    Behaved(Defect),
    /// As [`Failure::Behaved`], and the writer itself has reported it.
    Reported(Defect),
    /// A tool of the system failed, or the place where nothing is made to fail. It says nothing about the engine.
    Tool(String),
    /// A process hung in the kernel, and could not be killed. What was found after that says nothing about the engine.
    Hung,
}

/// What a writer was told.
#[derive(Debug)]
pub(super) struct Told {
    /// What was there when it began.
    pub began: Vec<Ending>,
    /// How its threads ended, if it lived to say so.
    pub endings: Option<Vec<Ending>>,
    commits: Vec<Acknowledged>,
    loads: Vec<Acknowledged>,
}

impl Told {
    /// Reads the acknowledgements.
    ///
    /// # Errors
    /// Their files cannot be read.
    pub fn read(writer: &Writer, endings: Option<Vec<Ending>>) -> Result<Self, Failure> {
        let failed = |error| Failure::Tool(format!("{NOTES}{error}"));
        let commits = Ring::open(&writer.commits_path()).and_then(|ring| ring.read()).map_err(failed)?;
        let loads = Ring::open(&writer.loads_path()).and_then(|ring| ring.read()).map_err(failed)?;
        Ok(Self { began: writer.began.clone(), endings, commits, loads })
    }

    /// Acknowledgements that were to survive.
    pub fn to_survive(&self) -> u64 {
        self.commits.iter().chain(&self.loads).filter(|commit| commit.survives).count() as u64
    }

    /// Compares what is there: each thread's last commit and load.
    ///
    /// # Errors
    /// The first defect.
    pub fn judge(&self, found: &[Ending]) -> Result<(), Failure> {
        let is_there = |commit: &&Acknowledged| commit.number <= found[commit.thread as usize].number;
        let lost: Vec<&Acknowledged> =
            self.commits.iter().filter(|commit| commit.survives && !is_there(commit)).collect();
        if let Some(first) = lost.first() {
            return Err(gone(format!("{} acknowledged commits are gone, the first is {first:?}", lost.len())));
        }
        let missing = self.commits.iter().find(|commit| !is_there(commit));
        let last = self.commits.iter().rfind(is_there);
        if let (Some(missing), Some(last)) = (missing, last)
            && missing.sequence < last.sequence
        {
            return Err(differs(format!("no prefix is left: {missing:?} is gone, but {last:?} is there")));
        }
        for (thread, (found, began)) in found.iter().zip(&self.began).enumerate() {
            if found.number < began.number || found.load < began.load {
                return Err(gone(format!("thread {thread} is at {found:?}, but {began:?} was shown before")));
            }
            let last = |entries: &[Acknowledged], began: u64| {
                let of_thread = entries.iter().filter(|entry| entry.thread == thread as u64);
                of_thread.map(|entry| entry.number).max().unwrap_or(began)
            };
            let load = last(&self.loads, began.load);
            if found.load < load {
                return Err(gone(format!("load {load} of thread {thread} was acknowledged, {} is there", found.load)));
            }
            // Who died may have got further than it could note.
            let died = Ending { number: last(&self.commits, began.number), in_doubt: true, load, load_in_doubt: true };
            let most = self.endings.as_ref().map_or(died, |endings| endings[thread]);
            if found.number > most.number + u64::from(most.in_doubt)
                || found.load > most.load + u64::from(most.load_in_doubt)
            {
                return Err(differs(format!("thread {thread} was told {most:?}, but {found:?} is there")));
            }
        }
        Ok(())
    }
}

/// Opens the database and finds how far each thread has come.
///
/// # Errors
/// Whatever keeps it from being read, or shows that it is not a state that ever was; the inner one if the disk's calls
/// fail.
pub(super) fn look(writer: &Writer) -> Result<Result<(Database, Vec<Ending>), Error>, Failure> {
    let of_the_disk = |error: Error| {
        if super::writer::is_of_the_disk(&error) { Ok(Err(error)) } else { Err(gone(format!("opening: {error}"))) }
    };
    let db = match writer.options().open(writer.path()) {
        Ok(db) => db,
        Err(error) => return of_the_disk(error),
    };
    let threads = writer.began.len() as u64;
    let tables = || Ok((State::open(&db, writer.seed, threads)?, Loads::open(&db, threads)?, db.read()?));
    let (state, loads, txn) = match tables() {
        Ok(tables) => tables,
        Err(error) => return of_the_disk(error),
    };
    let numbers = state.verify(&txn).and_then(|numbers| Ok((numbers, loads.verify(&txn)?)));
    match numbers {
        Ok((numbers, loads)) => {
            let ending = |(&number, &load)| Ending { number, load, ..Ending::default() };
            let found = numbers.iter().zip(&loads).map(ending).collect();
            drop(txn);
            Ok(Ok((db, found)))
        }
        Err(Unlike::Unread { error, .. }) if super::writer::is_of_the_disk(&error) => Ok(Err(error)),
        Err(unlike) => Err(differs(format!("opened again: {unlike}"))),
    }
}

/// What was acknowledged is gone.
pub(super) fn gone(text: String) -> Failure {
    Failure::Judged(Defect { kind: DefectKind::Lost, text })
}

/// What is there is not what it should be.
pub(super) fn differs(text: String) -> Failure {
    Failure::Judged(Defect { kind: DefectKind::Wrong, text })
}

/// The writer does what it should not.
pub(super) fn misbehaves(text: String) -> Failure {
    Failure::Behaved(Defect { kind: DefectKind::Wrong, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told() -> Told {
        let commit = |sequence, thread, number, survives| Acknowledged { sequence, thread, number, survives };
        let began = vec![Ending { number: 4, ..Ending::default() }, Ending::default()];
        let ended = |number, in_doubt| Ending { number, in_doubt, ..Ending::default() };
        Told {
            began,
            endings: Some(vec![ended(6, false), ended(2, true)]),
            commits: vec![
                commit(10, 0, 5, true),
                commit(11, 1, 1, false),
                commit(12, 0, 6, false),
                commit(13, 1, 2, false),
            ],
            loads: Vec::new(),
        }
    }

    fn kind(first: u64, second: u64) -> Option<DefectKind> {
        let found = [first, second].map(|number| Ending { number, ..Ending::default() });
        told().judge(&found).err().map(|failure| match failure {
            Failure::Judged(defect) => defect.kind,
            other => panic!("no judgement: {other:?}"),
        })
    }

    #[test]
    fn any_prefix_with_all_that_was_to_survive_is_right() {
        for (first, second) in [(5, 0), (5, 1), (6, 1), (6, 2), (6, 3)] {
            assert_eq!(kind(first, second), None, "{first} {second}");
        }
    }

    #[test]
    fn what_is_gone_is_lost_and_what_was_refused_or_is_no_prefix_is_wrong() {
        assert_eq!(kind(4, 0), Some(DefectKind::Lost));
        assert_eq!(kind(6, 0), Some(DefectKind::Wrong), "12 is there without 11");
        assert_eq!(kind(7, 2), Some(DefectKind::Wrong), "7 was refused");
        assert_eq!(kind(6, 4), Some(DefectKind::Wrong), "3 was in doubt, 4 never begun");
    }

    #[test]
    fn of_who_died_one_more_may_be_there() {
        let mut told = told();
        told.endings = None;
        let found = |number| [number, 2].map(|number| Ending { number, ..Ending::default() });
        assert!(told.judge(&found(7)).is_ok());
        assert!(told.judge(&found(8)).is_err());
    }
}
