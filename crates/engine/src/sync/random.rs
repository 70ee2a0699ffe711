//! Random numbers.

#[cfg(feature = "planted-faults")]
use super::simulation;

/// Fills `bytes` with random numbers, which are those of the simulation in one.
///
/// # Errors
/// The system has none.
pub fn fill_random(bytes: &mut [u8]) -> Result<(), getrandom::Error> {
    #[cfg(feature = "planted-faults")]
    {
        let drawn = simulation::with(|task| {
            for part in bytes.chunks_mut(8) {
                part.copy_from_slice(&task.random().to_le_bytes()[..part.len()]);
            }
        });
        if drawn.is_some() {
            return Ok(());
        }
    }
    getrandom::fill(bytes)
}
