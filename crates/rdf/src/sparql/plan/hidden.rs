//! Variables that no text can name.

use spargebra::term::Variable;

/// A variable that no text can name.
pub(crate) fn hidden_variable(name: &str) -> Variable {
    Variable::new_unchecked(format!("{PREFIX}{name}"))
}

/// No variable of a text begins with it.
pub(crate) const PREFIX: char = '·';
