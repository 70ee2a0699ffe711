//! [`Waiting`]: the requests that have no answer yet, and cancelling them.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fulgurite_facts::CancellationToken;
use lsp_server::RequestId;

/// The requests that have no answer yet. Threads share it.
#[derive(Default)]
pub struct Waiting {
    /// Guards the tokens by request. No other lock is taken while it is held.
    tokens: Mutex<HashMap<RequestId, CancellationToken>>,
}

impl Waiting {
    /// Adds a request. Returns the token that cancels it.
    pub fn begin(&self, id: RequestId) -> CancellationToken {
        let token = CancellationToken::new();
        self.tokens().insert(id, token.clone());
        token
    }

    /// A request gets its answer.
    pub fn end(&self, id: &RequestId) {
        self.tokens().remove(id);
    }

    /// Cancels the request that the parameters of `$/cancelRequest` name. One that has its answer, and parameters that
    /// name none, have no effect.
    pub fn cancel(&self, parameters: serde_json::Value) {
        let serde_json::Value::Object(mut parameters) = parameters else { return };
        let id = parameters.remove("id").and_then(|id| serde_json::from_value::<RequestId>(id).ok());
        if let Some(token) = id.and_then(|id| self.tokens().get(&id).cloned()) {
            token.cancel();
        }
    }

    /// How many requests have no answer yet.
    pub fn count(&self) -> usize {
        self.tokens().len()
    }

    /// Cancels all requests.
    pub fn cancel_all(&self) {
        self.tokens().values().for_each(CancellationToken::cancel);
    }

    fn tokens(&self) -> MutexGuard<'_, HashMap<RequestId, CancellationToken>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_request_is_cancelled_by_its_id_until_it_has_its_answer() {
        let waiting = Waiting::default();
        let ids = [RequestId::from(7), RequestId::from("7".to_owned()), RequestId::from(8)];
        let [number, text, other] = ids.map(|id| waiting.begin(id));
        for parameters in [json!({ "id": 9 }), json!({ "id": null }), json!({}), json!([7]), json!(null)] {
            waiting.cancel(parameters);
        }
        assert!([&number, &text, &other].iter().all(|token| !token.is_cancelled()));
        waiting.cancel(json!({ "id": "7" }));
        assert!(text.is_cancelled() && !number.is_cancelled());
        assert_eq!(waiting.count(), 3);
        waiting.end(&RequestId::from(7));
        assert_eq!(waiting.count(), 2);
        waiting.cancel_all();
        assert!(other.is_cancelled() && !number.is_cancelled());
    }
}
