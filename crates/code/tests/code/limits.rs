//! The limits of a reader: its time, its cancellation and its memory.

use std::time::{Duration, Instant};

use fulgurite_code::{CodeReader, Error, ReadLimits, SymbolId, open_index};
use fulgurite_facts::CancellationToken;
use protobuf::Message;

use crate::details::described;
use crate::support::{Project, symbol};

/// An index with a diagnostic and a reference.
fn project() -> Project {
    let project = Project::new();
    std::fs::write(project.scip(), described("use `b`").write_to_bytes().unwrap()).unwrap();
    project.update();
    project
}

fn within(project: &Project, limits: ReadLimits) -> CodeReader {
    CodeReader::within(&open_index(&project.database()).unwrap(), limits).unwrap()
}

/// The function that is defined and used.
fn function(project: &Project) -> SymbolId {
    project.reader().resolve(&symbol("a().")).unwrap()[0]
}

/// The errors of everything that reads lists.
fn errors(reader: &CodeReader, function: SymbolId) -> Vec<Error> {
    let references = reader.references(function).unwrap_err();
    let summary = reader.summary(function).unwrap_err();
    let diagnostics = reader.diagnostics(None).and_then(|mut found| found.next().unwrap());
    let search = reader.search("a", 10).unwrap_err();
    let missing = reader.file("b.rs").unwrap_err();
    vec![references, summary, diagnostics.unwrap_err(), search, missing]
}

#[test]
fn a_reader_gives_up_when_its_time_is_up() {
    let project = project();
    let function = function(&project);
    let late = within(&project, ReadLimits { until: Some(Instant::now()), ..ReadLimits::default() });
    for error in errors(&late, function) {
        assert!(matches!(error, Error::TimeUp), "{error}");
    }
    let hour = Instant::now().checked_add(Duration::from_secs(3600));
    let in_time = within(&project, ReadLimits { until: hour, ..ReadLimits::default() });
    assert_eq!(in_time.references(function).unwrap().len(), 1);
    assert_eq!(in_time.diagnostics(None).unwrap().count(), 2);
}

#[test]
fn a_reader_gives_up_when_it_is_cancelled() {
    let project = project();
    let function = function(&project);
    let cancellation = CancellationToken::new();
    let reader = within(&project, ReadLimits { cancellation: cancellation.clone(), ..ReadLimits::default() });
    assert_eq!(reader.references(function).unwrap().len(), 1);
    let mut diagnostics = reader.diagnostics(None).unwrap();
    cancellation.cancel();
    let is_cancelled = |error: &Error| matches!(error, Error::Facts(fulgurite_facts::Error::Cancelled));
    // The list was begun before, and reads file by file. It ends after an error.
    assert!(is_cancelled(&diagnostics.next().unwrap().unwrap_err()));
    assert!(diagnostics.next().is_none());
    for error in errors(&reader, function) {
        assert!(is_cancelled(&error), "{error}");
    }
}

#[test]
fn a_list_holds_no_more_memory_than_the_limits_allow() {
    let project = project();
    let function = function(&project);
    let small = within(&project, ReadLimits { memory_bytes_max: 8, ..ReadLimits::default() });
    let file = project.reader().file("a.rs").unwrap();
    let of_file = small.diagnostics(Some(&file)).unwrap().next().unwrap();
    for error in [
        small.references(function).unwrap_err(),
        small.definitions(function).unwrap_err(),
        small.uses(&file).unwrap_err(),
        small.files().unwrap_err(),
        small.search("a", 10).unwrap_err(),
        of_file.unwrap_err(),
    ] {
        assert!(matches!(error, Error::Memory { bytes_max: 8 }), "{error}");
        assert!(error.to_string().contains("more than 8 bytes of memory"), "{error}");
    }
    // Names that are not kept need no memory.
    assert!(small.search("a", 0).unwrap().is_empty());
}
