//! Reads the health of a process from its pages and from the database.

use super::tables::{OPEN, Sql, number};
use crate::Outcome;
use crate::http;
use crate::server::Site;

/// Whether a process says that it is ready; one that says nothing is not.
pub(super) fn ready(site: &Site) -> bool {
    http::ask(&site.address, "GET", "/readyz", "").is_ok_and(|answer| http::is_ok(&answer))
}

/// A page of a process that anyone may read, with its head.
///
/// # Errors
/// The connection's, or another status than 200.
pub(crate) fn page(site: &Site, path: &str) -> Outcome<String> {
    let page = http::ask(&site.address, "GET", path, "");
    let page = page.map_err(|error| format!("{path}: {error}"))?;
    if http::is_ok(&page) {
        return Ok(page);
    }
    Err(format!("{path}: {}", page.lines().next().unwrap_or_default()))
}

/// A process as the journal knows it.
#[derive(Debug, Clone)]
pub(super) struct Worker(i64);

impl Worker {
    /// Those that live, in the order in which they began.
    ///
    /// # Errors
    /// The database's.
    pub(super) fn in_order(database: &dyn Sql) -> Outcome<Vec<Self>> {
        let sql =
            "SELECT worker FROM workers WHERE leased_until > portage_now() ORDER BY started_at";
        database.sql(sql)?.lines().map(|line| number(line).map(Self)).collect()
    }

    /// Whether it holds a lease.
    ///
    /// # Errors
    /// The database's.
    pub(super) fn leased(&self, database: &dyn Sql) -> Outcome<bool> {
        let sql = "SELECT count(*) FROM workers WHERE leased_until > portage_now() AND worker";
        Ok(database.sql(&format!("{sql} = {}", self.0))?.trim() == "1")
    }
}

/// How many transfers that were opened by this time of the database have not ended.
///
/// # Errors
/// The database's.
pub(super) fn open_since(database: &dyn Sql, at: u64) -> Outcome<u64> {
    let sql = format!("SELECT count(*) FROM transfers WHERE created_at <= {at} AND {OPEN}");
    number(database.sql(&sql)?.trim())
}

#[cfg(test)]
mod tests {
    use super::ready;
    use crate::server::Site;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::path::Path;

    /// A process that gives this answer to each request, or none.
    fn process(answer: Option<&'static str>) -> (Site, tempfile::TempDir) {
        let below = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let site = Site::new(Path::new("portage"), below.path()).unwrap();
        let site = Site { address: listener.local_addr().unwrap().to_string(), ..site };
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _asked = stream.read(&mut [0; 512]).unwrap();
            match answer {
                Some(answer) => stream.write_all(answer.as_bytes()).unwrap(),
                None => while stream.read(&mut [0; 512]).is_ok_and(|read| read > 0) {},
            }
        });
        (site, below)
    }

    #[test]
    fn only_a_200_in_time_is_ready() {
        for (answer, is_ready) in [
            (Some("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), true),
            (Some("HTTP/1.1 503 Service Unavailable\r\n\r\n"), false),
            (None, false),
        ] {
            let (site, _below) = process(answer);
            assert_eq!(ready(&site), is_ready, "{answer:?}");
        }
    }
}
