//! Why a transaction cannot go on.

/// Why a transaction, and with it the run, cannot go on.
#[derive(Debug)]
pub(crate) enum Halt {
    /// The engine failed.
    Engine(fulgurite::Error),
    /// The engine answered what cannot be.
    Wrong(String),
}

impl From<fulgurite::Error> for Halt {
    fn from(error: fulgurite::Error) -> Self {
        Self::Engine(error)
    }
}

impl std::fmt::Display for Halt {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Engine(error) => write!(out, "the engine fails: {error}"),
            Self::Wrong(text) => out.write_str(text),
        }
    }
}
