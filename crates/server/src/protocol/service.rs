//! The state that requests share: the store, the options, and the limits on what runs at once.

use std::sync::Arc;

use axum::body::Body;
use axum::http::request::Parts;
use fulgurite_rdf::{CancellationToken, Store};
use tokio::sync::OwnedSemaphorePermit;

use crate::http::admission::Admission;
use crate::http::body;
use crate::http::body::BodyLimits;
use crate::http::guard;
use crate::http::panics;
use crate::http::parameters::Parameters;
use crate::http::refusal::Refusal;
use crate::options::ServerOptions;

/// The store of a server, and its options.
pub struct ServedStore {
    pub store: Store,
    pub options: ServerOptions,
}

/// The state that requests share.
pub struct Service {
    pub served: Arc<ServedStore>,
    pub admission: Arc<Admission<CancellationToken>>,
}

/// A request body in memory.
pub struct ReceivedBody {
    pub bytes: Vec<u8>,
    /// The right to hold a large body in memory.
    pub upload: Option<OwnedSemaphorePermit>,
}

impl Service {
    /// The URL of the server as the client sees it, with a slash at the end.
    ///
    /// # Errors
    /// 400 if the request has no Host.
    pub fn base(&self, parts: &Parts) -> Result<String, Refusal> {
        if let Some(base) = &self.served.options.base {
            return Ok(base.clone());
        }
        let authority = guard::authority(&parts.uri, &parts.headers);
        let authority = authority.ok_or_else(|| Refusal::bad_request("the request has no Host"))?;
        Ok(format!("http://{authority}/"))
    }

    /// # Errors
    /// 403 if the server only reads.
    pub fn check_writable(&self) -> Result<(), Refusal> {
        if self.served.options.writable { Ok(()) } else { Err(Refusal::read_only()) }
    }

    /// Reads a body of at most `bytes_max`, and of at most the size that the options allow.
    ///
    /// # Errors
    /// As [`body::read`]; 503 if too many large bodies are received at once.
    pub async fn receive(&self, body: Body, bytes_max: usize) -> Result<ReceivedBody, Refusal> {
        let options = &self.served.options;
        let instead = "shorten a query; send data in parts, or load it with `fulgurite rdf load`";
        let bytes_max = bytes_max.min(options.body_bytes_max);
        let limits = BodyLimits { bytes_max, time: options.settings.body_time, instead };
        let upload = if body::is_small(&body) { None } else { Some(self.admission.receive().await?) };
        Ok(ReceivedBody { bytes: body::read(body, limits).await?, upload })
    }

    /// The parameters of a form. A large form is parsed on a blocking thread.
    ///
    /// # Errors
    /// As [`Service::receive`]; 400 if it is not a form.
    pub async fn form(&self, body: Body) -> Result<(Parameters, Option<OwnedSemaphorePermit>), Refusal> {
        let ReceivedBody { bytes, upload } = self.receive(body, usize::MAX).await?;
        if bytes.len() as u64 <= body::SMALL_BYTES {
            return Ok((Parameters::parse(&bytes)?, upload));
        }
        let parsed = tokio::task::spawn_blocking(move || panics::catch(|| Parameters::parse(&bytes))).await;
        let failed = |ended| Refusal::failure(format!("a form was not read to its end: {ended}"));
        Ok((parsed.map_err(failed)??, upload))
    }
}
