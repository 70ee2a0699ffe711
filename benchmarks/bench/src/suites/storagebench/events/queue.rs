//! Chronicle Queue, a log for Java that is written and read in mapped files. A program in Java measures it
//! (`benchmarks/bench/queue`), which `cargo xtask bench storagebench` builds if a JDK and Maven are installed.

use std::path::Path;
use std::str::FromStr;

use crate::engines::known::EngineNote;
use crate::error::{Error, Result};
use crate::measure::child;
use crate::measure::clock::Sample;
use crate::measure::java::JavaProgram;
use crate::suites::storagebench::events::latencies::Times;

/// Its name in reports.
pub const NAME: &str = "chronicle-queue";

/// The version that `benchmarks/bench/queue/pom.xml` names.
const VERSION: &str = "5.25ea16";

/// What Chronicle Queue needs of a virtual machine from JDK 17 on. It is kept from writing to the network and to
/// standard output.
const PROGRAM: JavaProgram = JavaProgram {
    suite: "storagebench",
    variable: "FULGURITE_QUEUE",
    class: "fulgurite.queue.Main",
    options: &[
        "-Xmx1g",
        "-Dchronicle.analytics.disable=true",
        "-Dchronicle.announcer.disable=true",
        "-Dchronicle.disk.monitor.disable=true",
        "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
        "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
        "--add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED",
        "--add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED",
        "--add-opens=jdk.compiler/com.sun.tools.javac=ALL-UNNAMED",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
        "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
        "--add-opens=java.base/java.io=ALL-UNNAMED",
        "--add-opens=java.base/java.util=ALL-UNNAMED",
        "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    ],
};

/// Why it cannot be measured here.
pub fn missing() -> Option<String> {
    PROGRAM.missing()
}

/// Its version and settings.
pub fn note() -> EngineNote {
    let settings = "default settings, nothing synced, the follower never sleeps; java -Xmx1g, after a warm-up";
    EngineNote { name: NAME, version: VERSION.to_owned(), settings: settings.to_owned() }
}

/// Appends events to a new queue. It has no transactions, so each event is visible at once.
///
/// # Errors
/// [`Error::Wrong`] if the queue does not have the events; [`Error::Child`] if the program fails.
pub fn append(directory: &Path, workload: &'static str, events: usize, lap: usize, payload: usize) -> Result<Sample> {
    let arguments = ["append".to_owned(), directory.display().to_string()]
        .into_iter()
        .chain([events, lap, payload].map(|number| number.to_string()));
    let answers: Vec<Vec<f64>> = answers(arguments.collect())?;
    let sample = answers.first().and_then(|numbers| Sample::from_numbers(numbers)).ok_or_else(unreadable)?;
    match sample.operations == events as u64 {
        true => Ok(sample),
        false => {
            Err(Error::Wrong { workload, what: format!("the queue has {} events, not {events}", sample.operations) })
        }
    }
}

/// Appends events to a new queue at a steady rate. Returns when each event was appended, and when the follower saw it,
/// which is a thread of the same process or another process.
///
/// # Errors
/// [`Error::Child`] if the program fails.
pub fn follow(
    directory: &Path,
    events: usize,
    rate: u32,
    payload: usize,
    in_another_process: bool,
) -> Result<(Times, Vec<u64>)> {
    let place = if in_another_process { "process" } else { "here" };
    let arguments = ["follow".to_owned(), directory.display().to_string()].into_iter().chain([
        events.to_string(),
        rate.to_string(),
        payload.to_string(),
        place.to_owned(),
    ]);
    let (mut begun, mut committed, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for numbers in answers(arguments.collect())? {
        let &[begin, end, sight] = &numbers[..] else { return Err(unreadable()) };
        begun.push(begin);
        committed.push(end);
        seen.push(sight);
    }
    Ok((Times { begun, committed }, seen))
}

/// The lines of numbers that the program prints.
fn answers<N: FromStr>(arguments: Vec<String>) -> Result<Vec<Vec<N>>> {
    let command = PROGRAM.command(&[], &arguments)?;
    child::answers_of(NAME, command, numbers)
}

/// The numbers of a line.
fn numbers<N: FromStr>(line: &str) -> Option<Vec<N>> {
    line.split(' ').map(|word| word.parse().ok()).collect()
}

fn unreadable() -> Error {
    Error::Child { what: NAME.to_owned(), outcome: "its answer cannot be read".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_numbers_are_read_whole_or_not_at_all() {
        assert_eq!(numbers("18446744073709551615 2 3"), Some(vec![u64::MAX, 2, 3]));
        assert_eq!(numbers("3000000 1.51e9 1377430714 181.65 12649.1").map(|read: Vec<f64>| read.len()), Some(5));
        assert_eq!(numbers::<u64>("1 2 x"), None);
        assert_eq!(numbers::<u64>("SLF4J: a warning"), None);
    }

    #[test]
    fn the_version_in_reports_is_that_of_the_program() {
        let pom = include_str!("../../../../queue/pom.xml");
        assert!(pom.contains(&format!("<chronicle.version>{VERSION}</chronicle.version>")));
    }
}
