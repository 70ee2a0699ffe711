//! Which engines a suite can measure here.

/// Why an engine that is a feature of the benchmarks is missing where the feature is off.
#[cfg(not(feature = "fjall"))]
pub fn not_built() -> Option<String> {
    Some("it was not built in; `cargo xtask bench` does so, by the feature `fjall`".to_owned())
}

/// The engines that are there. Those that are not are named in `notes`, with what would help.
pub fn present<E: Copy>(
    engines: &[E],
    missing: impl Fn(&E) -> (&'static str, Option<String>),
    notes: &mut Vec<String>,
) -> Vec<E> {
    let mut present = Vec::with_capacity(engines.len());
    for engine in engines {
        match missing(engine) {
            (_, None) => present.push(*engine),
            (name, Some(reason)) => notes.push(format!("{name} was not measured: {reason}")),
        }
    }
    present
}
