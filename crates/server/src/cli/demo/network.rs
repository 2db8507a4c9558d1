//! A proxy between the demo's server and its remote ledger: it forwards HTTP, and drops messages on command.

use super::super::exit::Fault;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The request line of operations to execute; queries and fences have others.
const EXECUTES: &[u8] = b"POST /operations ";
/// The longest message that is passed on.
const LONGEST: usize = 1 << 20;

/// The treatment of the next operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NetworkState {
    /// They arrive, and so do their answers.
    Up,
    /// The next one arrives, and its answer is lost; then the network is up.
    LosesOneReply,
    /// No message arrives, and no answer.
    Down,
}

/// The treatment of one message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Delivery {
    Passes,
    LosesItsReply,
    IsLost,
}

#[derive(Debug)]
struct NetworkControl {
    state: NetworkState,
    /// The number of requests to execute an operation.
    sent: u64,
}

impl NetworkControl {
    fn meets(&mut self, executes: bool) -> Delivery {
        if !executes {
            return Delivery::Passes;
        }
        self.sent = self.sent.saturating_add(1);
        match self.state {
            NetworkState::Up => Delivery::Passes,
            NetworkState::LosesOneReply => {
                self.state = NetworkState::Up;
                Delivery::LosesItsReply
            }
            NetworkState::Down => Delivery::IsLost,
        }
    }
}

/// A way to a ledger. It ends with the demo.
#[derive(Debug)]
pub(super) struct Network {
    /// The address of its near end, which the server calls.
    pub(super) url: String,
    control: Arc<Mutex<NetworkControl>>,
    _tasks: JoinSet<()>,
}

impl Network {
    /// Lays one before the ledger at `url`.
    pub(super) async fn before(url: &str) -> Result<Self, Fault> {
        let to = url.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        let url = format!("http://{}", listener.local_addr()?);
        let control = Arc::new(Mutex::new(NetworkControl { state: NetworkState::Up, sent: 0 }));
        let mut tasks = JoinSet::new();
        let above = Arc::clone(&control);
        tasks.spawn(async move {
            let mut lines = JoinSet::new();
            while let Ok((line, _)) = listener.accept().await {
                let (to, control) = (to.clone(), Arc::clone(&above));
                lines.spawn(async move {
                    // a line that breaks is what a network does
                    let _broken = carry(line, &to, &control).await;
                });
                while lines.try_join_next().is_some() {}
            }
        });
        Ok(Self { url, control, _tasks: tasks })
    }

    pub(super) fn becomes(&self, state: NetworkState) {
        self.control.lock().unwrap_or_else(PoisonError::into_inner).state = state;
    }

    /// The number of requests to execute an operation, lost ones included.
    pub(super) fn sent(&self) -> u64 {
        self.control.lock().unwrap_or_else(PoisonError::into_inner).sent
    }
}

/// Carries one connection, message by message, until either side ends it or it is cut.
async fn carry(mut from: TcpStream, to: &str, control: &Mutex<NetworkControl>) -> io::Result<()> {
    let mut there = TcpStream::connect(to).await?;
    while let Some(request) = message(&mut from).await? {
        let executes = request.starts_with(EXECUTES);
        let delivery = control.lock().unwrap_or_else(PoisonError::into_inner).meets(executes);
        if delivery == Delivery::IsLost {
            return Ok(());
        }
        there.write_all(&request).await?;
        let Some(reply) = message(&mut there).await? else { return Ok(()) };
        if delivery == Delivery::LosesItsReply {
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
    use super::{Delivery, NetworkControl, NetworkState, whole};

    #[test]
    fn a_message_is_whole_with_its_body() {
        assert!(!whole(b"GET /hello HTTP/1.1\r\n"));
        assert!(whole(b"GET /hello HTTP/1.1\r\nhost: x\r\n\r\n"));
        assert!(!whole(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab"));
        assert!(whole(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"));
    }

    #[test]
    fn one_reply_is_lost() {
        let mut control = NetworkControl { state: NetworkState::LosesOneReply, sent: 0 };
        let met = [control.meets(false), control.meets(true), control.meets(true)];
        assert_eq!(met, [Delivery::Passes, Delivery::LosesItsReply, Delivery::Passes]);
        control.state = NetworkState::Down;
        assert_eq!(
            [control.meets(true), control.meets(false)],
            [Delivery::IsLost, Delivery::Passes]
        );
        assert_eq!(control.sent, 3);
    }
}
