//! The databases of a server, and which of them a request is about.

use fulgurite_facts::{FactDatabase, State};
use serde_json::{Value as Json, json};

use axum::http::StatusCode;

use crate::facts::service::ServedFacts;
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;

/// The database that a request is about.
pub struct Chosen {
    served: ServedFacts,
    hash: Option<String>,
}

/// The database that the parameter `repo` names: `NAME` or `NAME/HASH`. It can be left out if there is only one.
///
/// # Errors
/// 404 if there is none of this name, 400 if the name is missing.
pub fn chosen(databases: &[ServedFacts], parameters: &Parameters) -> Result<Chosen, Refusal> {
    let names = || databases.iter().map(|served| served.name.as_str()).collect::<Vec<_>>().join(", ");
    let Some(repo) = parameters.at_most_one("repo")? else {
        return match databases {
            [only] => Ok(Chosen { served: only.clone(), hash: None }),
            _ => Err(Refusal::bad_request(format!("the parameter repo is missing; available: {}", names()))),
        };
    };
    let (name, hash) = repo.split_once('/').map_or((repo, None), |(name, hash)| (name, Some(hash)));
    match databases.iter().find(|served| served.name == name) {
        Some(served) => Ok(Chosen { served: served.clone(), hash: hash.map(str::to_owned) }),
        None => Err(Refusal::of(StatusCode::NOT_FOUND, format!("there is no database {name}; available: {}", names()))),
    }
}

impl Chosen {
    /// The database as it is now. It may have to be opened.
    ///
    /// # Errors
    /// 404 if its hash is not the one that the request has, and what [`open`] fails with.
    pub fn open(&self) -> Result<FactDatabase, Refusal> {
        let database = open(&self.served)?;
        let (name, hash) = (&self.served.name, hash_of(&database));
        match &self.hash {
            Some(wanted) if *wanted != hash => {
                let message = format!("the database {name} has the hash {hash}; leave out the hash, or use this one");
                Err(Refusal::of(StatusCode::NOT_FOUND, message))
            }
            _ => Ok(database),
        }
    }

    /// The database as `Database` describes it.
    ///
    /// # Errors
    /// As [`Chosen::open`]; errors of the engine.
    pub fn described(&self) -> Result<Json, Refusal> {
        description(&self.served.name, &self.open()?)
    }
}

/// A database as `Database` describes it. One that cannot be opened is broken, and does not hide the others.
pub fn described(served: &ServedFacts) -> Json {
    let described = open(served).and_then(|database| description(&served.name, &database));
    described.unwrap_or_else(|_| json!({ "repo": { "name": served.name }, "status": "Broken", "properties": {} }))
}

/// A database as it is now.
///
/// # Errors
/// 500 if it cannot be opened.
fn open(served: &ServedFacts) -> Result<FactDatabase, Refusal> {
    served.source.database().map_err(|error| Refusal::failure(error.to_string()))
}

fn description(name: &str, database: &FactDatabase) -> Result<Json, Refusal> {
    let status = match database.store().state()? {
        State::Incomplete => "Incomplete",
        State::Finalising => "Finalizing",
        State::Complete => "Complete",
        State::Broken => "Broken",
    };
    let repo = json!({ "name": name, "hash": hash_of(database) });
    Ok(json!({ "repo": repo, "status": status, "properties": {} }))
}

/// What distinguishes databases of one name.
fn hash_of(database: &FactDatabase) -> String {
    format!("{:032x}", database.store().identity())
}
