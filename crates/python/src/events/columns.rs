//! Events as columns of Arrow.

use crate::arrow::{Built, Cells, Field};
use crate::events::recorded::Recorded;

/// The columns of a batch of events.
pub fn fields() -> Vec<Field> {
    vec![
        Field::new("position", "L"),
        Field::new("version", "L"),
        Field::text("stream"),
        Field::text("type"),
        Field::new("schema", "I"),
        Field::new("time", "tsu:UTC"),
        Field::new("id", "w:16"),
        Field::new("data", "z"),
        Field::new("metadata", "z"),
        Field::texts("tags"),
    ]
}

/// The columns of [`fields`].
///
/// # Errors
/// If names of streams are not UTF-8, or the batch is too long.
pub fn columns(events: &[Recorded]) -> Result<Vec<Built>, String> {
    let numbers = |of: fn(&Recorded) -> u64| {
        let bytes: Vec<u8> = events.iter().flat_map(|event| of(event).to_ne_bytes()).collect();
        Built::fixed(events.len(), &bytes)
    };
    let schemas: Vec<u8> = events.iter().flat_map(|event| event.schema.to_ne_bytes()).collect();
    let texts = |name: &str, of: fn(&Recorded) -> &[u8]| {
        Field::text(name).array(&events.iter().map(|event| Some(of(event).to_vec())).collect::<Cells>())
    };
    let bytes = |name: &str, of: fn(&Recorded) -> &[u8]| {
        Field::new(name, "z").array(&events.iter().map(|event| Some(of(event).to_vec())).collect::<Cells>())
    };
    let tags: Cells = events.iter().flat_map(|event| &event.tags).map(|tag| Some(tag.as_bytes().to_vec())).collect();
    Ok(vec![
        numbers(|event| event.position),
        numbers(|event| event.version),
        texts("stream", |event| &event.stream)?,
        texts("type", |event| event.kind.as_bytes())?,
        Built::fixed(events.len(), &schemas),
        numbers(|event| event.time),
        Built::fixed_or_null(16, events.iter().map(|event| event.id)),
        bytes("data", |event| &event.payload)?,
        bytes("metadata", |event| &event.metadata)?,
        Built::lists(events.iter().map(|event| event.tags.len()), Field::text("item").array(&tags)?)?,
    ])
}
