//! `facts owners`: the units that own facts.

use fulgurite_facts::FactId;

use crate::arguments::facts_files::Owners;
use crate::commands::facts::database::reading;
use crate::commands::facts::slicing::require_owners;
use crate::failure::Failure;
use crate::output::{Cell, Printer};

/// Prints a row for each fact.
pub fn run(arguments: &Owners) -> Result<(), Failure> {
    reading(&arguments.database, |database| {
        require_owners(database)?;
        let snapshot = database.store().snapshot()?;
        let mut facts = Vec::new();
        for number in &arguments.ids {
            let absent = || Failure::Message(format!("there is no fact {number}, or it is hidden"));
            let id = FactId::new(*number).ok_or_else(absent)?;
            let predicate = snapshot.predicate_by_id(id)?.ok_or_else(absent)?;
            facts.push((id, database.schema().name_of(predicate)));
        }
        let ids: Vec<FactId> = facts.iter().map(|(id, _)| *id).collect();
        let mut printer = Printer::to_standard_output(arguments.format, &["id", "predicate", "owners"]);
        for ((id, predicate), owner) in facts.iter().zip(snapshot.owners_of(&ids)?) {
            // Without owners, a fact is in every slice.
            let owner = owner.map(|owner| owner.to_string());
            let owner = owner.as_deref().map_or(Cell::Nothing, Cell::Text);
            printer.row(&[Cell::Number(id.get()), Cell::Text(predicate), owner])?;
        }
        printer.finish()
    })
}
