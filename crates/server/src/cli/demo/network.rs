//! The network between a server and a ledger elsewhere: passes HTTP on, and loses what it is told to.

use super::super::exit::Fault;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// What the ledger is asked to execute goes here; questions and fences do not.
const EXECUTES: &[u8] = b"POST /operations ";
/// The longest message that is passed on.
const LONGEST: usize = 1 << 20;

/// What becomes of the next operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Weather {
    /// They arrive, and so do their answers.
    Fair,
    /// The next one arrives, and its answer is lost; then it is fair.
    Storm,
    /// None arrives.
    Down,
}

/// What becomes of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passes,
    LosesItsReply,
    IsLost,
}

#[derive(Debug)]
struct Sky {
    weather: Weather,
    /// How often the ledger was asked to execute something.
    sent: u64,
}

impl Sky {
    fn meets(&mut self, executes: bool) -> Fate {
        if !executes {
            return Fate::Passes;
        }
        self.sent = self.sent.saturating_add(1);
        match self.weather {
            Weather::Fair => Fate::Passes,
            Weather::Storm => {
                self.weather = Weather::Fair;
                Fate::LosesItsReply
            }
            Weather::Down => Fate::IsLost,
        }
    }
}

/// A way to a ledger. It ends with the demo.
#[derive(Debug)]
pub(super) struct Network {
    /// Where it begins.
    pub(super) url: String,
    sky: Arc<Mutex<Sky>>,
    _tasks: JoinSet<()>,
}

impl Network {
    /// Lays one before the ledger at `url`.
    pub(super) async fn before(url: &str) -> Result<Self, Fault> {
        let to = url.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let sky = Arc::new(Mutex::new(Sky { weather: Weather::Fair, sent: 0 }));
        let mut tasks = JoinSet::new();
        let above = Arc::clone(&sky);
        tasks.spawn(async move {
            let mut lines = JoinSet::new();
            while let Ok((line, _)) = listener.accept().await {
                let (to, sky) = (to.clone(), Arc::clone(&above));
                lines.spawn(async move {
                    // a line that breaks is what a network does
                    let _broken = carry(line, &to, &sky).await;
                });
                while lines.try_join_next().is_some() {}
            }
        });
        Ok(Self { url, sky, _tasks: tasks })
    }

    pub(super) fn becomes(&self, weather: Weather) {
        self.sky.lock().unwrap_or_else(PoisonError::into_inner).weather = weather;
    }

    /// How often the ledger was asked to execute something, lost ones included.
    pub(super) fn sent(&self) -> u64 {
        self.sky.lock().unwrap_or_else(PoisonError::into_inner).sent
    }
}

/// Carries one connection, message by message, until either side ends it or it is cut.
async fn carry(mut from: TcpStream, to: &str, sky: &Mutex<Sky>) -> io::Result<()> {
    let mut there = TcpStream::connect(to).await?;
    while let Some(request) = message(&mut from).await? {
        let executes = request.starts_with(EXECUTES);
        let fate = sky.lock().unwrap_or_else(PoisonError::into_inner).meets(executes);
        if fate == Fate::IsLost {
            return Ok(());
        }
        there.write_all(&request).await?;
        let Some(reply) = message(&mut there).await? else { return Ok(()) };
        if fate == Fate::LosesItsReply {
            return Ok(());
        }
        from.write_all(&reply).await?;
    }
    Ok(())
}

/// One whole message; none where the other side has ended.
async fn message(stream: &mut TcpStream) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    loop {
        if whole(&bytes) {
            return Ok(Some(bytes));
        }
        if bytes.len() > LONGEST || stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

/// True where head and body are there, by the length that the head names.
fn whole(bytes: &[u8]) -> bool {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return false };
    let (head, rest) = bytes.split_at(end);
    let head = String::from_utf8_lossy(head);
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    rest.len().saturating_sub(4) >= length.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::{Fate, Sky, Weather, whole};

    #[test]
    fn a_message_is_whole_with_its_body() {
        assert!(!whole(b"GET /hello HTTP/1.1\r\n"));
        assert!(whole(b"GET /hello HTTP/1.1\r\nhost: x\r\n\r\n"));
        assert!(!whole(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab"));
        assert!(whole(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"));
    }

    #[test]
    fn a_storm_takes_one_reply() {
        let mut sky = Sky { weather: Weather::Storm, sent: 0 };
        let fates = [sky.meets(false), sky.meets(true), sky.meets(true)];
        assert_eq!(fates, [Fate::Passes, Fate::LosesItsReply, Fate::Passes]);
        sky.weather = Weather::Down;
        assert_eq!([sky.meets(true), sky.meets(false)], [Fate::IsLost, Fate::Passes]);
        assert_eq!(sky.sent, 3);
    }
}
