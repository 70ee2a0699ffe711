//! The databases of a server, and which of them a request is about.

use fulgurite_facts::{FactDatabase, State};
use serde_json::{Value as Json, json};

use axum::http::StatusCode;

use crate::facts::service::ServedFacts;
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;

/// The database that the parameter `repo` names: `NAME` or `NAME/HASH`. It can be left out if there is only one.
///
/// # Errors
/// 404 if there is none of this name and hash, 400 if the name is missing.
pub fn chosen<'d>(databases: &'d [ServedFacts], parameters: &Parameters) -> Result<&'d ServedFacts, Refusal> {
    let names = || databases.iter().map(|served| served.name.as_str()).collect::<Vec<_>>().join(", ");
    let Some(repo) = parameters.at_most_one("repo")? else {
        return match databases {
            [only] => Ok(only),
            _ => Err(Refusal::bad_request(format!("the parameter repo is missing; available: {}", names()))),
        };
    };
    let (name, hash) = repo.split_once('/').map_or((repo, None), |(name, hash)| (name, Some(hash)));
    let named = databases.iter().find(|served| served.name == name);
    match (named, hash) {
        (Some(served), None) => Ok(served),
        (Some(served), Some(hash)) if hash == hash_of(&served.database) => Ok(served),
        (Some(served), Some(_)) => {
            let hash = hash_of(&served.database);
            let message = format!("the database {name} has the hash {hash}; leave out the hash, or use this one");
            Err(Refusal::of(StatusCode::NOT_FOUND, message))
        }
        (None, _) => {
            Err(Refusal::of(StatusCode::NOT_FOUND, format!("there is no database {name}; available: {}", names())))
        }
    }
}

/// A database as `Database` describes it.
///
/// # Errors
/// Errors of the engine.
pub fn described(served: &ServedFacts) -> Result<Json, Refusal> {
    let status = match served.database.store().state()? {
        State::Incomplete => "Incomplete",
        State::Finalising => "Finalizing",
        State::Complete => "Complete",
        State::Broken => "Broken",
    };
    let repo = json!({ "name": served.name, "hash": hash_of(&served.database) });
    Ok(json!({ "repo": repo, "status": status, "properties": {} }))
}

/// What distinguishes databases of one name.
fn hash_of(database: &FactDatabase) -> String {
    format!("{:032x}", database.store().identity())
}
