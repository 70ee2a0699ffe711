//! Lists: the longest read of one is the order of its versions, and every other read must be a beginning of it.

use super::anomaly::AnomalyKind;
use super::dependencies::{Gathered, Reading};
use super::graph::Dependency;
use super::history::Value;
use super::observations::{List, ListRead, Place, Write, write_of};
use super::roles::Cast;
use super::text::{named, short};

/// The versions of a list, as far as anybody saw them.
struct Order<'h> {
    elements: &'h [Value],
    /// The read that shows it; `None` if that is the content at the beginning.
    shown_by: Option<Place>,
    /// Who appended each element; `None` for one of the beginning, and for one that must not be there.
    writers: Vec<Option<Place>>,
}

/// Adds the facts of this list.
pub(super) fn gather(list: &List<'_>, cast: &Cast<'_, '_>, gathered: &mut Gathered<'_>) {
    let reads: Vec<&ListRead<'_>> = list.reads.iter().filter(|read| cast.reads(read.place.transaction)).collect();
    let order = order(list, &reads, cast, gathered);
    let seen: Vec<Place> = order.writers.iter().flatten().copied().collect();
    for pair in seen.windows(2) {
        gathered.add(cast, pair[0], pair[1], Dependency::WriteWrite);
    }
    let unseen = unseen(list, &order, cast);
    // What a crash has undone may have been anywhere among what only the content after it shows.
    let shown_after_crash = cast.crashed && order.shown_by.map(|place| place.transaction) == cast.ending;
    for append in &unseen {
        if let Some(last) = seen.last().filter(|_| !shown_after_crash) {
            gathered.add(cast, *last, *append, Dependency::WriteWrite);
        }
    }
    let mut updates = Vec::new();
    for read in reads {
        if !order.elements.starts_with(read.elements) || read.elements.len() < list.initial.len() {
            report_incompatible(list, read, &order, cast, gathered);
            continue;
        }
        if read.updates && cast.writes(read.place.transaction) {
            updates.push((read.elements.len() as u32, read.place));
        }
        place_read(list, read, &order, &unseen, cast, gathered);
    }
    gathered.report_lost_updates(cast, &mut updates);
}

fn order<'h>(list: &List<'h>, reads: &[&ListRead<'h>], cast: &Cast<'_, '_>, gathered: &mut Gathered<'_>) -> Order<'h> {
    let longest = reads.iter().max_by_key(|read| read.elements.len());
    let longest = longest.filter(|read| read.elements.len() > list.initial.len());
    let Some(longest) = longest else {
        return Order { elements: list.initial, shown_by: None, writers: vec![None; list.initial.len()] };
    };
    let elements = longest.elements;
    if !elements.starts_with(list.initial) {
        gathered.findings.add(AnomalyKind::IncompatibleOrder, &[longest.place.transaction], || {
            format!(
                "list {} does not begin with the {} elements that it held at the beginning\n  {}",
                list.key.0,
                list.initial.len(),
                named(cast.transactions, longest.place.transaction)
            )
        });
    }
    report_duplicates(elements, longest.place, cast, gathered);
    let begun = if elements.starts_with(list.initial) { list.initial.len() } else { 0 };
    let mut writers = vec![None; begun];
    writers.extend(elements[begun..].iter().map(|element| writer(list, *element, longest.place, cast, gathered)));
    Order { elements, shown_by: Some(longest.place), writers }
}

fn writer(
    list: &List<'_>,
    element: Value,
    reader: Place,
    cast: &Cast<'_, '_>,
    gathered: &mut Gathered<'_>,
) -> Option<Place> {
    if list.initial.contains(&element) {
        return None;
    }
    let reading = Reading { place: reader, value: Some(element) };
    gathered.explain(cast, &list.appends, reading, element).map(|write| write.place)
}

fn report_duplicates(elements: &[Value], reader: Place, cast: &Cast<'_, '_>, gathered: &mut Gathered<'_>) {
    let mut sorted = elements.to_vec();
    sorted.sort_unstable();
    if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        gathered.findings.add(AnomalyKind::DuplicateElement, &[reader.transaction], || {
            let name = named(cast.transactions, reader.transaction);
            format!("`{}` found {} twice\n  {name}", cast.operation(reader), pair[0].0)
        });
    }
}

/// The appends that happened and are not in the order: they come after all that is.
fn unseen(list: &List<'_>, order: &Order<'_>, cast: &Cast<'_, '_>) -> Vec<Place> {
    let happened = |append: &&Write| cast.writes(append.place.transaction);
    let count = list.appends.iter().filter(happened).count();
    if count == order.writers.iter().flatten().count() {
        return Vec::new();
    }
    let mut seen: Vec<Value> = order.elements.to_vec();
    seen.sort_unstable();
    let is_unseen = |append: &&Write| append.value.is_some_and(|element| seen.binary_search(&element).is_err());
    list.appends.iter().filter(happened).filter(is_unseen).map(|append| append.place).collect()
}

/// Adds the dependencies of a read that is a beginning of the order.
fn place_read(
    list: &List<'_>,
    read: &ListRead<'_>,
    order: &Order<'_>,
    unseen: &[Place],
    cast: &Cast<'_, '_>,
    gathered: &mut Gathered<'_>,
) {
    let length = read.elements.len();
    if let Some(writer) = length.checked_sub(1).and_then(|last| order.writers[last]) {
        gathered.add(cast, writer, read.place, Dependency::WriteRead);
        report_last(list, read, writer, cast, gathered);
    }
    match order.writers.get(length) {
        Some(Some(next)) => gathered.add(cast, read.place, *next, Dependency::ReadWrite),
        Some(None) => {}
        // All that nobody saw was appended after the longest read.
        None => unseen.iter().for_each(|append| gathered.add(cast, read.place, *append, Dependency::ReadWrite)),
    }
    if cast.ending == Some(read.place.transaction) {
        gathered.shown.extend(order.writers[..length].iter().flatten());
        gathered.lacking.extend(order.writers[length..].iter().flatten().chain(unseen));
    }
}

/// Reports a read that ends in the midst of a transaction's appends, or with an append that its own transaction makes
/// later.
fn report_last(list: &List<'_>, read: &ListRead<'_>, writer: Place, cast: &Cast<'_, '_>, gathered: &mut Gathered<'_>) {
    let reading = Reading { place: read.place, value: read.elements.last().copied() };
    if writer.transaction == read.place.transaction {
        let kind = AnomalyKind::InternalInconsistency;
        gathered.report_two(cast, kind, reading, writer, "which it does only afterwards");
        return;
    }
    let element = read.elements[read.elements.len() - 1];
    let write = write_of(&list.appends, element).expect("its writer was found by it");
    if !write.last {
        let kind = AnomalyKind::IntermediateRead;
        gathered.report_two(cast, kind, reading, writer, "which then appended more to the list");
    }
}

fn report_incompatible(
    list: &List<'_>,
    read: &ListRead<'_>,
    order: &Order<'_>,
    cast: &Cast<'_, '_>,
    gathered: &mut Gathered<'_>,
) {
    let other = order.shown_by.map(|place| place.transaction);
    let both: Vec<u32> = std::iter::once(read.place.transaction).chain(other).collect();
    gathered.findings.add(AnomalyKind::IncompatibleOrder, &both, || {
        let agreed = read.elements.iter().zip(order.elements).take_while(|(a, b)| a == b).count();
        let other = match other {
            Some(other) => named(cast.transactions, other),
            None => format!("the content at the beginning, of {} elements", list.initial.len()),
        };
        let reader = short(cast.transactions, read.place.transaction);
        let name = named(cast.transactions, read.place.transaction);
        let operation = cast.operation(read.place);
        format!("{reader}'s `{operation}` differs from the longest read after {agreed} elements\n  {name}\n  {other}")
    });
    // It is not part of the order, so nobody else looks at what is in it.
    report_duplicates(read.elements, read.place, cast, gathered);
    for element in read.elements {
        writer(list, *element, read.place, cast, gathered);
    }
}
