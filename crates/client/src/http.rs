//! Sends the requests of the client, and turns the status of each answer into a result or an error.

use crate::error::{Error, whole};
use crate::escaped;
use crate::tls;
use crate::types::{
    AccountTransfer, AccountTransferFilter, AccountTransferPage, Accounts, Alive, AuditProof,
    BackupMade, Balance, BatchResult, BatchResults, Booked, BookedNumbered, CreateAccountTransfer,
    CreateAnswer, CreateRelayTransfer, CreateTransfer, CreateTransfers, Created, DryRun,
    FailedTransfer, Filter, Health, Movement, NewBackup, NumberedMovement, OpenedAccountTransfer,
    OpenedRelayTransfer, Page, Problem, Proof, RelayTransfer, SetStatus, StatusAnswer,
    TransferStory, Vaults,
};
use reqwest::header::{AUTHORIZATION, HeaderValue};
use reqwest::{Method, RequestBuilder, Response};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The timeout of most requests: above the longest wait of a create at the server.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The timeout of requests that read or write everything.
const LONG: Duration = Duration::from_secs(3_600);

/// A client of one server with one token. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: HeaderValue,
}

/// An error, with the id of the transfer where one was opened.
#[derive(Debug, Deserialize)]
struct RefusedRequest {
    #[serde(flatten)]
    problem: Problem,
    req_id: Option<String>,
}

/// What a process says to a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeAnswer {
    /// True where the answer is 200.
    pub ok: bool,
    /// The word that comes with it, such as `ok` or `draining`.
    pub status: String,
}

impl Client {
    /// A client of the server at `url`. Over `https://` the server must be known to an authority
    /// that this machine trusts.
    ///
    /// # Errors
    /// [`Error::Unfit`]: no address of a server, or a token that no header can carry.
    pub fn new(url: &str, token: &str) -> Result<Self, Error> {
        if !url.starts_with("https://") {
            return Self::over(url, token, "http://", tls::no_authority()?);
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
            .timeout(TIMEOUT)
            .tcp_nodelay(true)
            .build()
            .map_err(|fault| unfit(whole(&fault)))?;
        let mut token = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| unfit("the token is not visible ASCII".to_owned()))?;
        token.set_sensitive(true);
        Ok(Self { http, base: url.trim_end_matches('/').to_owned(), token })
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.base);
        self.http.request(method, url).header(AUTHORIZATION, self.token.clone())
    }

    /// Makes a transfer, or finds out what became of it when its key was used before. One that
    /// ended FAILED or ROLLED_BACK is an answer too: its `code` says why.
    ///
    /// # Errors
    /// As [`Error::concludes`] says: nothing was opened, or send the same again. [`Error::Unfit`] without a `cid`.
    pub async fn create(&self, new: &CreateTransfer) -> Result<Created, Error> {
        keyed(new)?;
        let request = self.request(Method::POST, "/api/v1/internal_transfer").json(new);
        let response = sent(request).await?;
        let replayed = response.headers().contains_key("idempotency-replayed");
        let (status, body) = read(response).await?;
        made(status, replayed, &body)
    }

    /// Makes a transfer between two numbered accounts under a key of yours, or finds out what became of
    /// it when the key was used before. It is answered when it is durable, and goes on by itself.
    ///
    /// # Errors
    /// As [`Error::concludes`] says: nothing was opened, or send the same again.
    pub async fn create_account_transfer(
        &self,
        new: &CreateAccountTransfer,
        key: &str,
    ) -> Result<CreateAnswer<OpenedAccountTransfer>, Error> {
        self.open(self.request(Method::POST, "/api/transfers").json(new), key).await
    }

    /// A page of the caller's own transfers between numbered accounts, newest first.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn account_transfers(
        &self,
        filter: &AccountTransferFilter,
    ) -> Result<AccountTransferPage, Error> {
        let request = self.request(Method::GET, "/api/transfers").query(filter);
        let (status, body) = read(sent(request).await?).await?;
        well(status, &body)
    }

    /// Sends a create under a key.
    async fn open<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        key: &str,
    ) -> Result<CreateAnswer<T>, Error> {
        let response = sent(request.header("idempotency-key", key)).await?;
        let replayed = response.headers().contains_key("idempotency-replayed");
        let (status, body) = read(response).await?;
        Ok(CreateAnswer { transfer: well(status, &body)?, replayed })
    }

    /// A transfer between two numbered accounts with its history.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn account_transfer(&self, id: &str) -> Result<AccountTransfer, Error> {
        self.get_json(&format!("/api/transfers/{}", escaped(id))).await
    }

    /// Pays an account on NEAR from the relay's own under a key of yours, or finds out what became of it when
    /// the key was used before. It is answered when it is durable, and goes on by itself.
    ///
    /// # Errors
    /// As [`Error::concludes`] says: nothing was opened, or send the same again.
    pub async fn create_relay_transfer(
        &self,
        new: &CreateRelayTransfer,
        key: &str,
    ) -> Result<CreateAnswer<OpenedRelayTransfer>, Error> {
        self.open(self.request(Method::POST, "/transfer").json(new), key).await
    }

    /// A payment of the relay by the key of its create.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn relay_transfer(&self, key: &str) -> Result<RelayTransfer, Error> {
        self.get_json(&format!("/transfer/{}", escaped(key))).await
    }

    /// Predicts the result of a create at this moment. The server changes nothing.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn dry_run(&self, new: &CreateTransfer) -> Result<DryRun, Error> {
        let path = "/api/v1/internal_transfer?dry_run=true";
        let (status, body) = read(sent(self.request(Method::POST, path).json(new)).await?).await?;
        well(status, &body)
    }

    /// Makes up to 1000 transfers, in no order; [`created`] tells of each. May be
    /// repeated as it is.
    ///
    /// # Errors
    /// Of the whole: as [`Error::concludes`] says, nothing was opened, or send the same again. [`Error::Unfit`] where
    /// one has no `cid`.
    pub async fn create_many(&self, all: &[CreateTransfer]) -> Result<Vec<BatchResult>, Error> {
        all.iter().try_for_each(keyed)?;
        let body = CreateTransfers { transfers: all.to_vec() };
        let request = self.request(Method::POST, "/api/v1/internal_transfers").json(&body);
        let (status, body) = read(sent(request).await?).await?;
        let BatchResults { results } = well(status, &body)?;
        if !results.iter().map(|result| result.index).eq(0..all.len()) {
            return Err(Error::Unknown("an answer that does not tell of every item".to_owned()));
        }
        Ok(results)
    }

    /// A page of the caller's own transfers, newest first.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn transfers(&self, filter: &Filter) -> Result<Page, Error> {
        let request = self.request(Method::GET, "/api/v1/internal_transfers").query(filter);
        let (status, body) = read(sent(request).await?).await?;
        well(status, &body)
    }

    /// A transfer with its history.
    ///
    /// # Errors
    /// [`Error::Refused`] with 404 where there is none that the token may see.
    pub async fn transfer(&self, req_id: &str) -> Result<TransferStory, Error> {
        self.get_json(&format!("/api/v1/internal_transfer/{}", escaped(req_id))).await
    }

    /// The caller's balances.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn balances(&self) -> Result<Vec<Balance>, Error> {
        self.get_json("/api/v1/balances").await
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

    /// Books external money into the numbered account. True: it was booked now;
    /// false: it had been before.
    ///
    /// # Errors
    /// [`Error::Unknown`]: send the same again.
    pub async fn deposit_numbered(
        &self,
        number: &str,
        movement: &NumberedMovement,
    ) -> Result<(BookedNumbered, bool), Error> {
        self.book(&format!("/api/v1/ops/accounts/pipeline/{number}/deposits"), movement).await
    }

    /// Books external money out of the numbered account. True: it was booked now;
    /// false: it had been before.
    ///
    /// # Errors
    /// [`Error::Unknown`]: send the same again.
    pub async fn withdraw_numbered(
        &self,
        number: &str,
        movement: &NumberedMovement,
    ) -> Result<(BookedNumbered, bool), Error> {
        self.book(&format!("/api/v1/ops/accounts/pipeline/{number}/withdrawals"), movement).await
    }

    async fn book<T: DeserializeOwned>(
        &self,
        path: &str,
        movement: &impl Serialize,
    ) -> Result<(T, bool), Error> {
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
            Some(user) => self.get_json(&format!("/api/v1/ops/accounts?user={user}")).await,
            None => self.get_json(&format!("/api/v1/ops/accounts?after={after}&limit=1000")).await,
        }
    }

    /// Freezes, disables or frees an account. A person who barred it may only propose to free it.
    ///
    /// # Errors
    /// [`Error::Unknown`]: send the same again.
    pub async fn set_status(
        &self,
        user: u64,
        account: &str,
        status: &str,
        reason: &str,
    ) -> Result<StatusAnswer, Error> {
        let path = format!("/api/v1/ops/accounts/{user}/{account}/status");
        let body = SetStatus { status: status.to_owned(), reason: reason.to_owned() };
        let (status, body) =
            read(sent(self.request(Method::POST, &path).json(&body)).await?).await?;
        if status == 202 {
            return well(status, &body).map(|done| StatusAnswer::Proposed(Box::new(done)));
        }
        well(status, &body).map(StatusAnswer::Set)
    }

    /// The proof that nothing was lost, made now.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn conservation(&self) -> Result<Proof, Error> {
        self.get_json("/api/v1/ops/conservation?fresh=true").await
    }

    /// Every vault beside its books, at one instant of the journal, and what left one without an attempt.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn vaults(&self) -> Result<Vaults, Error> {
        self.get_json("/api/v1/ops/vaults").await
    }

    /// The proof from every operation row, and every account against its operations. It reads
    /// everything, so it may take long.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn conservation_in_full(&self) -> Result<Proof, Error> {
        let path = "/api/v1/ops/conservation?full=true";
        let request = self.request(Method::GET, path).timeout(LONG);
        let (status, body) = read(sent(request).await?).await?;
        well(status, &body)
    }

    /// The audit, computed again now, and held against a seal that was kept elsewhere. It reads
    /// everything, so it may take long.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn audit_verify(&self, seal: Option<&str>) -> Result<AuditProof, Error> {
        let request = self.request(Method::GET, "/api/v1/ops/audit/verify").timeout(LONG);
        let seal = seal.map(|seal| ("seal", seal));
        let (status, body) = read(sent(request.query(seal.as_slice())).await?).await?;
        well(status, &body)
    }

    /// A backup of that name below the server's folder for them. It copies everything, so it may
    /// take long; the server finishes it whatever becomes of the connection.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn backup(&self, name: &str) -> Result<BackupMade, Error> {
        let body = NewBackup { dir: name.to_owned() };
        let request = self.request(Method::POST, "/api/v1/ops/backup").timeout(LONG).json(&body);
        let (status, body) = read(sent(request).await?).await?;
        well(status, &body)
    }

    /// The health of the server; under HALT too.
    ///
    /// # Errors
    /// [`Error::Unreachable`], or an answer that is none.
    pub async fn health(&self) -> Result<Health, Error> {
        let (_, body) = read(sent(self.request(Method::GET, "/health")).await?).await?;
        serde_json::from_slice(&body).map_err(|fault| Error::Unknown(whole(&fault)))
    }

    /// Asks a page for probes, `/livez` or `/readyz`, of any process of Portage.
    ///
    /// # Errors
    /// [`Error::Unreachable`]: no process answers there. [`Error::Unknown`]: no answer of ours.
    pub async fn probe(&self, page: &str) -> Result<ProbeAnswer, Error> {
        let (status, body) = read(sent(self.request(Method::GET, page)).await?).await?;
        let alive: Alive =
            serde_json::from_slice(&body).map_err(|fault| Error::Unknown(whole(&fault)))?;
        Ok(ProbeAnswer { ok: status == 200, status: alive.status })
    }

    pub(crate) async fn get_json<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        let (status, body) = read(sent(self.request(Method::GET, path)).await?).await?;
        well(status, &body)
    }
}

/// A create without a key could be made twice, when it is sent again after an unknown outcome.
fn keyed(new: &CreateTransfer) -> Result<(), Error> {
    let unfit = || Error::Unfit("a create without a `cid` is not sent".to_owned());
    new.cid.as_ref().map(|_| ()).ok_or_else(unfit)
}

/// Only a connection that was never made proves that nothing was sent.
pub(crate) async fn sent(request: RequestBuilder) -> Result<Response, Error> {
    request.send().await.map_err(|fault| {
        if fault.is_connect() || fault.is_builder() {
            Error::Unreachable(whole(&fault))
        } else {
            Error::Unknown(whole(&fault))
        }
    })
}

pub(crate) async fn read(response: Response) -> Result<(u16, Vec<u8>), Error> {
    let status = response.status().as_u16();
    let body = response.bytes().await.map_err(|fault| Error::Unknown(whole(&fault)))?;
    Ok((status, body.to_vec()))
}

pub(crate) fn well<T: DeserializeOwned>(status: u16, body: &[u8]) -> Result<T, Error> {
    if !(200..300).contains(&status) {
        return Err(refused(status, body));
    }
    serde_json::from_slice(body).map_err(|fault| Error::Unknown(whole(&fault)))
}

/// Reads the answer to a create. FAILED and ROLLED_BACK come as errors that carry the transfer.
fn made(status: u16, replayed: bool, body: &[u8]) -> Result<Created, Error> {
    if !matches!(status, 200 | 202 | 422) {
        return Err(refused(status, body));
    }
    if status == 422 {
        let failed = serde_json::from_slice::<FailedTransfer>(body);
        let FailedTransfer { problem, transfer } = failed.map_err(|_| refused(status, body))?;
        return Ok(Created { transfer, code: Some(problem.code), replayed });
    }
    let transfer = serde_json::from_slice(body).map_err(|fault| Error::Unknown(whole(&fault)))?;
    Ok(Created { transfer, code: None, replayed })
}

/// The result of one create of a batch, as a single create would return it.
///
/// # Errors
/// As [`Error::concludes`] says: nothing was opened, or send the same again.
pub fn created(result: &BatchResult) -> Result<Created, Error> {
    let body = serde_json::to_vec(&result.answer).map_err(|fault| Error::Unknown(whole(&fault)))?;
    made(result.status, result.replayed, &body)
}

/// A refusal counts only where the contract says that nothing was opened, in the shape that it
/// gives: 4xx without a transfer's id, HALTED, OVERLOADED. A proxy's page says nothing.
pub(crate) fn refused(status: u16, body: &[u8]) -> Error {
    let Ok(RefusedRequest { problem, req_id }) = serde_json::from_slice(body) else {
        return Error::Unknown(format!("status {status} without a known body"));
    };
    let shut = status == 503 && matches!(problem.code.as_str(), "HALTED" | "OVERLOADED");
    let sure = shut || (400..500).contains(&status);
    let opened = req_id.is_some() || problem.outcome.is_some();
    if !sure || opened || problem.code == "SYSTEM_ERROR" {
        let Problem { error: sentence, request_id: request, .. } = problem;
        return Error::Unknown(format!("{sentence} (request {request})"));
    }
    Error::Refused {
        status,
        code: problem.code,
        sentence: problem.error,
        request_id: problem.request_id,
        mismatched: problem.mismatched_fields.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::{BatchResult, Client, Error, created, refused};
    use crate::error::Conclusion;
    use kernel::code::Code;

    #[test]
    fn only_our_own_refusals_count() {
        let halted = br#"{"error":"No","code":"HALTED","request_id":"R"}"#;
        let full = br#"{"error":"No","code":"OVERLOADED","request_id":"R"}"#;
        let fast = br#"{"error":"No","code":"RATE_LIMIT_EXCEEDED","request_id":"R"}"#;
        let refusals: [(u16, &[u8], Code); 4] = [
            (503, halted, Code::Halted),
            (503, full, Code::Overloaded),
            (429, fast, Code::RateLimitExceeded),
            (422, br#"{"error":"No","code":"ASSET_SUSPENDED"}"#, Code::AssetSuspended),
        ];
        for (status, body, code) in refusals {
            let found = refused(status, body);
            assert_eq!((found.code(), found.concludes()), (Some(code), Conclusion::NothingOpened));
        }
        let unknown: [(u16, &[u8]); 9] = [
            (500, br#"{"error":"No","code":"SYSTEM_ERROR","request_id":"R","outcome":"unknown"}"#),
            (500, br#"{"error":"No","code":"SYSTEM_ERROR"}"#),
            (400, br#"{"error":"No","code":"BAD_REQUEST","outcome":"unknown"}"#),
            (422, br#"{"error":"No","code":"INSUFFICIENT_BALANCE","req_id":"01J"}"#),
            (502, halted),
            (302, halted),
            (503, fast),
            (502, b"<html>bad gateway</html>"),
            (404, b""),
        ];
        for (status, body) in unknown {
            let found = refused(status, body);
            assert_eq!(found.concludes(), Conclusion::Unknown, "{status} {found:?}");
        }
    }

    #[test]
    fn an_item_of_a_batch_is_read_like_a_create() {
        let item = |text: &str| created(&serde_json::from_str::<BatchResult>(text).unwrap());
        let transfer = r#""transfer_id":1,"req_id":"01J","from":"SPOT","to":"FUNDING","asset":"USDT",
            "amount":"1","message":"m","cid":"k","created_at":"t","updated_at":"t""#;
        let done =
            format!(r#"{{"index":0,"status":200,"replayed":true,"state":"COMMITTED",{transfer}}}"#);
        let done = item(&done).unwrap();
        assert_eq!((done.transfer.state.as_str(), done.replayed), ("COMMITTED", true));
        let failed = format!(
            r#"{{"index":0,"status":422,"replayed":false,"state":"FAILED","error":"m",
                "code":"INSUFFICIENT_BALANCE",{transfer}}}"#
        );
        let failed = item(&failed).unwrap();
        assert_eq!(failed.code.as_deref(), Some("INSUFFICIENT_BALANCE"));
        let refused =
            r#"{"index":0,"status":400,"replayed":false,"error":"m","code":"INVALID_ASSET"}"#;
        assert_eq!(item(refused).unwrap_err().code(), Some(Code::InvalidAsset));
        let unknown = r#"{"index":0,"status":500,"replayed":false,"error":"m","code":"SYSTEM_ERROR",
            "outcome":"unknown"}"#;
        assert_eq!(item(unknown).unwrap_err().concludes(), Conclusion::Unknown);
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
