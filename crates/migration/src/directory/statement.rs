//! [`StatementIds`]: a statement as the ids of its values.

/// The ids of the values of a statement. The context 0 is the default graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StatementIds {
    /// The subject.
    pub subject: u64,
    /// The predicate.
    pub predicate: u64,
    /// The object.
    pub object: u64,
    /// The context, or 0.
    pub context: u64,
}

impl StatementIds {
    /// The statement with these ids: subject, predicate, object, context.
    pub(crate) fn new([subject, predicate, object, context]: [u64; 4]) -> Self {
        Self { subject, predicate, object, context }
    }

    /// Its ids: subject, predicate, object, context.
    pub(crate) fn ids(&self) -> [u64; 4] {
        [self.subject, self.predicate, self.object, self.context]
    }
}
