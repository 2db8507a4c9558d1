//! Sending, and what an answer's status means.

use crate::error::{Error, whole};
use crate::tls;
use crate::types::{
    Accounts, Balance, Booked, Created, Health, Movement, NewTransfer, Proof, StatusSet, Story,
    Transfer,
};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Method, RequestBuilder, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// Above the longest time that the server lets a create wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// A client of one server with one token. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: HeaderValue,
}

/// The shape of every error.
#[derive(Debug, Deserialize)]
struct Problem {
    error: String,
    code: String,
    #[serde(default)]
    request_id: String,
    #[serde(default)]
    outcome: Option<String>,
    #[serde(default)]
    mismatched_fields: Vec<String>,
}

impl Client {
    /// A client of the server at `url`. Over `https://` the server must be known to an authority
    /// that this machine trusts.
    ///
    /// # Errors
    /// [`Error::Unfit`]: no address of a server, or a token that no header can carry.
    pub fn new(url: &str, token: &str) -> Result<Self, Error> {
        if !url.starts_with("https://") {
            return Self::over(url, token, "http://", tls::nobody()?);
        }
        Self::over(url, token, "https://", tls::machine()?)
    }

    /// The same, where the server must be known to one of these authorities: certificates in PEM.
    ///
    /// # Errors
    /// As [`Client::new`]; or an address without TLS, or no certificates.
    pub fn with_ca(url: &str, token: &str, ca: &[u8]) -> Result<Self, Error> {
        Self::over(url, token, "https://", tls::only(ca)?)
    }

    fn over(
        url: &str,
        token: &str,
        scheme: &str,
        tls: rustls::ClientConfig,
    ) -> Result<Self, Error> {
        let unfit = |what: String| Error::Unfit(what);
        if !url.starts_with(scheme) {
            return Err(unfit(format!("{url}: an address begins with {scheme}")));
        }
        // a proxy or a redirect would show the token to others
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(PATIENCE)
            .tcp_nodelay(true)
            .build()
            .map_err(|fault| unfit(whole(&fault)))?;
        let mut token = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| unfit("the token is not visible ASCII".to_owned()))?;
        token.set_sensitive(true);
        Ok(Self { http, base: url.trim_end_matches('/').to_owned(), token })
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.base);
        self.http.request(method, url).header(AUTHORIZATION, self.token.clone())
    }

    /// Makes a transfer, or finds out what became of it when its key was used before. One that
    /// ended FAILED or ROLLED_BACK is an answer too: its `code` says why.
    ///
    /// # Errors
    /// [`Error::Refused`]: nothing was opened. [`Error::Unknown`]: send the same again.
    pub async fn create(&self, new: &NewTransfer) -> Result<Created, Error> {
        let request = self.request(Method::POST, "/api/v1/internal_transfer").json(new);
        let response = sent(request).await?;
        let replayed = response.headers().contains_key("idempotency-replayed");
        let (status, body) = read(response).await?;
        // FAILED and ROLLED_BACK come as errors that carry the transfer
        if (200..300).contains(&status) || status == 422 {
            match serde_json::from_slice::<Transfer>(&body) {
                Ok(transfer) => return Ok(Created { transfer, replayed }),
                Err(_) if status == 422 => {}
                Err(fault) => return Err(Error::Unknown(whole(&fault))),
            }
        }
        Err(refused(status, &body))
    }

    /// A transfer with its history.
    ///
    /// # Errors
    /// [`Error::Refused`] with 404 where there is none that the token may see.
    pub async fn transfer(&self, req_id: &str) -> Result<Story, Error> {
        self.get(&format!("/api/v1/internal_transfer/{req_id}")).await
    }

    /// The caller's balances.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn balances(&self) -> Result<Vec<Balance>, Error> {
        self.get("/api/v1/balances").await
    }

    /// Books external money in. True: it was booked now; false: it had been before.
    ///
    /// # Errors
    /// [`Error::Unknown`]: send the same again.
    pub async fn deposit(&self, movement: &Movement) -> Result<(Booked, bool), Error> {
        self.book("/api/v1/ops/deposits", movement).await
    }

    /// Books external money out. True: it was booked now; false: it had been before.
    ///
    /// # Errors
    /// [`Error::Unknown`]: send the same again.
    pub async fn withdraw(&self, movement: &Movement) -> Result<(Booked, bool), Error> {
        self.book("/api/v1/ops/withdrawals", movement).await
    }

    async fn book(&self, path: &str, movement: &Movement) -> Result<(Booked, bool), Error> {
        let (status, body) =
            read(sent(self.request(Method::POST, path).json(movement)).await?).await?;
        Ok((well(status, &body)?, status == 201))
    }

    /// Accounts: one user's, or a page of all above `after`.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn accounts(&self, user: Option<u64>, after: u64) -> Result<Accounts, Error> {
        match user {
            Some(user) => self.get(&format!("/api/v1/ops/accounts?user={user}")).await,
            None => self.get(&format!("/api/v1/ops/accounts?after={after}&limit=1000")).await,
        }
    }

    /// Freezes, disables or frees an account.
    ///
    /// # Errors
    /// [`Error::Unknown`]: send the same again.
    pub async fn set_status(
        &self,
        user: u64,
        account: &str,
        status: &str,
        reason: &str,
    ) -> Result<StatusSet, Error> {
        let path = format!("/api/v1/ops/accounts/{user}/{account}/status");
        let body = serde_json::json!({ "status": status, "reason": reason });
        let (status, body) =
            read(sent(self.request(Method::POST, &path).json(&body)).await?).await?;
        well(status, &body)
    }

    /// The proof that nothing was lost, made now.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn conservation(&self) -> Result<Proof, Error> {
        self.get("/api/v1/ops/conservation?fresh=true").await
    }

    /// How the server is; under HALT too.
    ///
    /// # Errors
    /// [`Error::Unreachable`], or an answer that is none.
    pub async fn health(&self) -> Result<Health, Error> {
        let (_, body) = read(sent(self.request(Method::GET, "/health")).await?).await?;
        serde_json::from_slice(&body).map_err(|fault| Error::Unknown(whole(&fault)))
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let (status, body) = read(sent(self.request(Method::GET, path)).await?).await?;
        well(status, &body)
    }
}

/// Only a connection that was never made proves that nothing was sent.
async fn sent(request: RequestBuilder) -> Result<Response, Error> {
    request.send().await.map_err(|fault| {
        if fault.is_connect() || fault.is_builder() {
            Error::Unreachable(whole(&fault))
        } else {
            Error::Unknown(whole(&fault))
        }
    })
}

async fn read(response: Response) -> Result<(u16, Vec<u8>), Error> {
    let status = response.status().as_u16();
    let body = response.bytes().await.map_err(|fault| Error::Unknown(whole(&fault)))?;
    Ok((status, body.to_vec()))
}

fn well<T: DeserializeOwned>(status: u16, body: &[u8]) -> Result<T, Error> {
    if !(200..300).contains(&status) {
        return Err(refused(status, body));
    }
    serde_json::from_slice(body).map_err(|fault| Error::Unknown(whole(&fault)))
}

/// A refusal counts only in the shape that the contract gives it; a proxy's page says nothing.
fn refused(status: u16, body: &[u8]) -> Error {
    match serde_json::from_slice::<Problem>(body) {
        Ok(problem) if problem.outcome.is_none() && problem.code != "SYSTEM_ERROR" => {
            Error::Refused {
                status,
                code: problem.code,
                sentence: problem.error,
                request_id: problem.request_id,
                mismatched: problem.mismatched_fields,
            }
        }
        Ok(problem) => {
            Error::Unknown(format!("{} (request {})", problem.error, problem.request_id))
        }
        Err(_) => Error::Unknown(format!("status {status} without a known body")),
    }
}

#[cfg(test)]
mod tests {
    use super::{Client, Error, refused};
    use kernel::code::Code;

    #[test]
    fn only_our_own_refusals_count() {
        let body = br#"{"error":"No","code":"HALTED","request_id":"R"}"#;
        assert_eq!(refused(503, body).code(), Some(Code::Halted));
        let unknown: [&[u8]; 4] = [
            br#"{"error":"No","code":"SYSTEM_ERROR","request_id":"R","outcome":"unknown"}"#,
            br#"{"error":"No","code":"SYSTEM_ERROR"}"#,
            b"<html>bad gateway</html>",
            b"",
        ];
        for body in unknown {
            assert!(matches!(refused(502, body), Error::Unknown(_)));
        }
    }

    #[test]
    fn an_address_and_a_token_must_fit() {
        assert!(Client::new("http://127.0.0.1:3000/", "abc").is_ok());
        assert!(matches!(Client::new("ftp://x", "abc"), Err(Error::Unfit(_))));
        for pem in ["", "text", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
            assert!(matches!(
                Client::with_ca("https://x", "abc", pem.as_bytes()),
                Err(Error::Unfit(_))
            ));
        }
        assert!(matches!(Client::new("http://x", "a\nb"), Err(Error::Unfit(_))));
        let shown = format!("{:?}", Client::new("http://x", "secret").unwrap());
        assert!(!shown.contains("secret"), "{shown}");
    }
}
