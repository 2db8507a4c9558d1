//! Changes a server's URL for tests: another database, another address.

/// The parts of `postgres://user:word@host:port/database?more`.
struct Parts<'a> {
    /// The scheme and the user: `postgres://user:word@`.
    head: &'a str,
    /// The address as `host:port`.
    address: &'a str,
    /// What follows the database: `?more`, or nothing.
    tail: &'a str,
}

fn parts(url: &str) -> Option<Parts<'_>> {
    let begin = url.find("://")? + 3;
    let query = url.find('?').unwrap_or(url.len());
    let (before, tail) = url.split_at_checked(query)?;
    let end = before.get(begin..)?.find('/').map_or(query, |slash| begin + slash);
    let authority = before.get(begin..end)?;
    let host = begin + authority.rfind('@').map_or(0, |at| at + 1);
    Some(Parts { head: url.get(..host)?, address: url.get(host..end)?, tail })
}

/// The URL of another database of the same server.
pub(crate) fn with_database(url: &str, name: &str) -> Option<String> {
    let Parts { head, address, tail } = parts(url)?;
    Some(format!("{head}{address}/{name}{tail}"))
}

/// The same at another address.
pub(crate) fn with_address(url: &str, address: &str) -> Option<String> {
    let old = parts(url)?;
    let path = url.get(old.head.len() + old.address.len()..)?;
    Some(format!("{}{address}{path}", old.head))
}

/// Where the server listens; the port is 5432 where none is said.
pub(crate) fn address(url: &str) -> Option<String> {
    let address = parts(url)?.address;
    let has_port = address.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    Some(if has_port { address.to_owned() } else { format!("{address}:5432") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_database_or_only_the_address_changes() {
        let url = "postgres://me:a%2Fb@db.example:6000/old?sslmode=disable&x=/a";
        let other = with_database(url, "new").unwrap();
        assert_eq!(other, "postgres://me:a%2Fb@db.example:6000/new?sslmode=disable&x=/a");
        let other = with_address(url, "127.0.0.1:7").unwrap();
        assert_eq!(other, "postgres://me:a%2Fb@127.0.0.1:7/old?sslmode=disable&x=/a");
        assert_eq!(address(url).unwrap(), "db.example:6000");
    }

    #[test]
    fn what_is_not_said_is_the_usual() {
        assert_eq!(
            with_database("postgres://localhost", "new").unwrap(),
            "postgres://localhost/new"
        );
        assert_eq!(with_database("postgres://h?a=b", "new").unwrap(), "postgres://h/new?a=b");
        assert_eq!(address("postgres://me@localhost/x").unwrap(), "localhost:5432");
        assert_eq!(address("localhost"), None);
    }
}
