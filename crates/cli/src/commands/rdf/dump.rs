//! `rdf dump`: writes quads as RDF.

use std::io::Write;
use std::path::Path;

use fulgurite_rdf::oxrdf::TermRef;
use fulgurite_rdf::{Error, GraphPattern, IdPattern, Quads, RdfFormat, Snapshot, StatementKinds, dump, dump_readable};

use super::load::format_of;
use super::store::reading_as;
use crate::arguments::rdf::Dump;
use crate::commands::skipped::{Skipped, with_advice};
use crate::commands::unfinished::{refuse_packed_name, to_file};
use crate::database::{to_read, warn_of_lacking};
use crate::failure::Failure;
use crate::output::{counted, standard_output};
use crate::progress::{Progress, rate, time};

/// Dumps.
pub fn run(arguments: &Dump) -> Result<(), Failure> {
    let path = arguments.output.as_deref().filter(|path| *path != Path::new("-"));
    let format = match (arguments.format, path) {
        (Some(format), _) => format.into(),
        (None, Some(path)) => promised(path)?,
        (None, None) => RdfFormat::NQuads,
    };
    let statements = if arguments.inferred { StatementKinds::All } else { StatementKinds::Explicit };
    reading_as(to_read(arguments.skip_damaged), &arguments.store.path, |store, snapshot| {
        warn_of_lacking(store.database());
        let snapshot = &snapshot.of_kinds(statements);
        let pattern = IdPattern { graph: graphs(arguments, snapshot)?, ..IdPattern::ALL };
        if pattern.graph == GraphPattern::Any && !format.supports_datasets() {
            check_one_graph(snapshot, format)?;
        }
        let mut skipped = arguments.skip_damaged.then(Skipped::default);
        let mut progress = Progress::new("dumping");
        let written = match path {
            None => write(snapshot, &pattern, format, standard_output(), skipped.as_mut(), &mut progress).map(|_| None),
            Some(path) => {
                to_file(path, |file| write(snapshot, &pattern, format, file, skipped.as_mut(), &mut progress)).map(Some)
            }
        };
        let written = written.map_err(|failure| with_advice(failure, skipped.as_ref(), "rdf dump", "quads"))?;
        let elapsed = progress.elapsed();
        drop(progress);
        if let Some(written) = written {
            let (written, time, rate) = (counted(written, "quad", "quads"), time(elapsed), rate(written, elapsed));
            let _ = writeln!(std::io::stderr(), "{written} dumped in {time}, {rate}");
        }
        skipped.map_or(Ok(()), |skipped| skipped.end(&arguments.store.path))
    })
}

/// The format that the extension of a file name stands for. Without an extension, it is N-Quads.
fn promised(path: &Path) -> Result<RdfFormat, Failure> {
    refuse_packed_name(path)?;
    match format_of(path) {
        None if path.extension().is_some() => Err(Failure::Message(format!(
            "{}: the extension is not that of an RDF format; give --format, or end the name in .nq, .trig, .nt, .ttl, .rdf or \
             .jsonld",
            path.display()
        ))),
        format => Ok(format.unwrap_or(RdfFormat::NQuads)),
    }
}

fn graphs(arguments: &Dump, snapshot: &Snapshot) -> Result<GraphPattern, Failure> {
    let Some(name) = &arguments.graph else {
        return Ok(if arguments.default_graph { GraphPattern::Default } else { GraphPattern::Any });
    };
    let missing = || Failure::Message(format!("no graph {name}; `rdf stats` lists those that there are"));
    let id = snapshot.id(TermRef::from(name.as_ref()))?.ok_or_else(missing)?;
    if snapshot.contains_graph(id)? { Ok(GraphPattern::Named(id)) } else { Err(missing()) }
}

/// What knows no graphs can hold the default graph only; where others have quads, they would be lost.
fn check_one_graph(snapshot: &Snapshot, format: RdfFormat) -> Result<(), Failure> {
    match snapshot.quads(&IdPattern { graph: GraphPattern::AnyNamed, ..IdPattern::ALL }).next() {
        None => Ok(()),
        Some(Err(error)) => {
            let failure = Failure::from(error);
            let message = format!("{failure}; use --format nq, or --default-graph");
            Err(failure.reworded(message))
        }
        Some(Ok(_)) => Err(Failure::Message(format!(
            "{format} cannot express named graphs, which the store has; use --format nq, trig or jsonld, or select one \
             graph with --graph or --default-graph"
        ))),
    }
}

fn write<W: Write>(
    snapshot: &Snapshot,
    pattern: &IdPattern,
    format: RdfFormat,
    out: W,
    skipped: Option<&mut Skipped>,
    progress: &mut Progress,
) -> Result<u64, Failure> {
    let count = match snapshot.count(pattern) {
        Err(error) if skipped.is_none() => return Err(error.into()),
        count => count.ok(),
    };
    let total = count.map(|count| count.max(1));
    let told = |written| {
        progress.tell(written, || Some((written as f64 / total? as f64).min(1.0)));
        Ok(())
    };
    let Some(skipped) = skipped else { return Ok(dump(snapshot, pattern, format, out, told)?) };
    let note = |error| match error {
        Error::Engine(error) => {
            // It is damage, so it is noted.
            let _ = skipped.note(error);
        }
        Error::Damaged { place, offence, .. } => skipped.note_place(format!("{place}: {offence}")),
        error => skipped.note_place(error.to_string()),
    };
    let written = dump_readable(snapshot, pattern, format, out, told, note)?;
    if let Some(count) = count {
        let missing = count.saturating_sub(written);
        skipped.note_missing(missing, counted(missing, "quad", "quads"));
    }
    Ok(written)
}
