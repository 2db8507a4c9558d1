//! A database for one test on a server that it shares with others.

use crate::programs::{self, run};
use crate::{Outcome, Proxy, Server, url};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::process::{Command, Stdio};

/// A fresh database. It goes away with this value, also under connections that are open still.
#[derive(Debug)]
pub struct Database {
    server: String,
    url: String,
    name: String,
}

impl Database {
    /// A fresh one on the server that the tests were given.
    ///
    /// # Errors
    /// None was given; the server's.
    pub fn given() -> Outcome<Self> {
        Server::given()?.database()
    }

    /// Makes one on the server behind a URL, by a name that is not taken.
    pub(crate) fn fresh(server: &str) -> Outcome<Self> {
        // random by the standard library's own seed: a given server outlives its tests
        let random = RandomState::new().build_hasher().finish();
        let name = format!("portage_test_{random:016x}");
        let url = url::with_database(server, &name)
            .ok_or_else(|| format!("not a URL of PostgreSQL: {server}"))?;
        psql(server, &format!("CREATE DATABASE {name}"))?;
        Ok(Self { server: server.to_owned(), url, name })
    }

    /// Where clients find it.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where clients find it behind a proxy.
    ///
    /// # Errors
    /// The URL has no address.
    pub fn through(&self, proxy: &Proxy) -> Outcome<String> {
        url::with_address(&self.url, &proxy.address())
            .ok_or_else(|| format!("no address in {}", self.url))
    }

    /// The database of this name at another server, which may be a standby, or one that was promoted.
    /// It does not go away with the value.
    ///
    /// # Errors
    /// A URL has no address.
    pub fn at(&self, server: &Server) -> Outcome<Copied> {
        let url = url::with_address(&self.url, &server.address()?);
        url.map(Copied).ok_or_else(|| format!("no address in {}", self.url))
    }

    /// Where its server listens, as `host:port`.
    ///
    /// # Errors
    /// The URL has no address.
    pub fn server(&self) -> Outcome<String> {
        url::address(&self.url).ok_or_else(|| format!("no address in {}", self.url))
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs SQL with `psql` on a connection of its own, and gives what it answers: a line for each row,
    /// `|` between its columns.
    ///
    /// # Errors
    /// The server's, as `psql` says it.
    pub fn sql(&self, text: &str) -> Outcome<String> {
        psql(&self.url, text)
    }
}

/// What another server has of a [`Database`].
#[derive(Debug, Clone)]
pub struct Copied(String);

impl Copied {
    /// Where clients find it.
    pub fn url(&self) -> &str {
        &self.0
    }

    /// Runs SQL as [`Database::sql`] does.
    ///
    /// # Errors
    /// The server's, as `psql` says it.
    pub fn sql(&self, text: &str) -> Outcome<String> {
        psql(&self.0, text)
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // a server that is gone took it along
        let _gone =
            psql(&self.server, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

/// Runs SQL on one connection, and stops at its first error.
pub(crate) fn psql(url: &str, text: &str) -> Outcome<String> {
    let mut psql = Command::new(programs::psql());
    psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", text]);
    psql.env("PGCONNECT_TIMEOUT", "30").stdin(Stdio::null());
    Ok(run(psql)?.trim_end().to_owned())
}
