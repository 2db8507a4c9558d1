//! The client's methods for the operators' routes: reads and actions.

use crate::error::Error;
use crate::http::{Client, read, refused, sent, well};
use reqwest::Method;
use serde::Serialize;
use serde_json::Value;

/// The result of an operator's action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AdminResult {
    /// The answer, as the API describes it.
    #[serde(flatten)]
    pub answer: Value,
    /// The action had been done before under the same key: nothing was done now.
    pub replayed: bool,
}

/// A page of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPage {
    /// Its lines, as the server wrote them.
    pub text: String,
    /// The cursor of the next page, where there may be one.
    pub next: Option<String>,
}

impl Client {
    /// Reads a path of the API below `/api/v1`, with its query.
    ///
    /// # Errors
    /// [`Error::Refused`] with the server's code.
    pub async fn get(&self, path: &str) -> Result<Value, Error> {
        self.get_json(&format!("/api/v1{path}")).await
    }

    /// A page of an export, as it is: a path of the API below `/api/v1`, with its query.
    ///
    /// # Errors
    /// [`Error::Refused`] with the server's code.
    pub async fn page(&self, path: &str) -> Result<TextPage, Error> {
        let response = sent(self.request(Method::GET, &format!("/api/v1{path}"))).await?;
        let next = response.headers().get("portage-next").and_then(|next| next.to_str().ok());
        let next = next.map(str::to_owned);
        let (status, body) = read(response).await?;
        if !(200..300).contains(&status) {
            return Err(refused(status, &body));
        }
        let text = String::from_utf8(body).map_err(|fault| Error::Unknown(fault.to_string()))?;
        Ok(TextPage { text, next })
    }

    /// Sends an action, which is done once for each key: a method and a path of the API below `/api/v1`.
    ///
    /// # Errors
    /// [`Error::Refused`]: nothing was changed. [`Error::Unknown`]: do it again with the same key.
    pub async fn run(
        &self,
        method: Method,
        path: &str,
        body: Option<&(impl Serialize + ?Sized)>,
        key: &str,
    ) -> Result<AdminResult, Error> {
        let mut request = self.request(method, &format!("/api/v1{path}"));
        request = request.header("idempotency-key", key);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = sent(request).await?;
        let replayed = response.headers().contains_key("idempotency-replayed");
        let (status, body) = read(response).await?;
        Ok(AdminResult { answer: well(status, &body)?, replayed })
    }
}
