//! Lets connections fall silent: nothing is closed and nothing is reset, as behind a firewall that forgot them or
//! on a machine that lost its network.

use super::{Proxy, State};
use std::net::{Shutdown, TcpStream};

/// Which way bytes go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// What the client says.
    FromClient,
    /// What the server says.
    FromServer,
}

impl Direction {
    pub const ALL: [Self; 2] = [Self::FromClient, Self::FromServer];
}

/// One end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one that connected.
    Client,
    /// The one that was connected to.
    Server,
}

/// Whose connections fall silent, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Silence {
    /// Those that call themselves this (`application_name`); those of all where it is `None`.
    pub name: Option<String>,
    /// The ways in which bytes, and the end of a connection, arrive no more.
    pub directions: Vec<Direction>,
    /// Connections that are made later, too, until [`Proxy::heal`].
    pub later: bool,
    /// This side's connection is closed at the same moment, and nothing passes in either direction:
    /// the other side does not notice.
    pub closed: Option<Side>,
}

/// What becomes of silent connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Healing {
    /// What was held back arrives late, and they go on.
    Late,
    /// They stay silent for ever.
    Never,
    /// Both sides see that they are closed; what was held back is gone.
    Closed,
}

/// A connection that is open.
#[derive(Debug)]
pub(super) struct Open {
    client: TcpStream,
    server: TcpStream,
    /// What it calls itself, once it has said so.
    name: Option<String>,
    silent: Vec<Direction>,
}

impl Open {
    /// Whether nothing passes in this direction.
    pub(super) fn silent(&self, direction: Direction) -> bool {
        self.silent.contains(&direction)
    }

    /// Closes both sides; silent or not, its threads see it.
    pub(super) fn cut(&mut self) {
        self.silent.clear();
        self.close(Side::Client);
        self.close(Side::Server);
    }

    fn close(&self, side: Side) {
        let stream = match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        };
        // the other end may have closed it already
        let _closed = stream.shutdown(Shutdown::Both);
    }

    fn is_of(&self, silence: &Silence) -> bool {
        silence.name.is_none() || silence.name == self.name
    }

    /// Falls silent, before a side of it is closed: the other one is not to hear of that.
    fn fall(&mut self, silence: &Silence) {
        self.silent.extend(&silence.directions);
        if let Some(side) = silence.closed {
            self.silent.extend(Direction::ALL);
            self.close(side);
        }
    }
}

impl State {
    /// A connection was made.
    pub(super) fn opened(&mut self, number: u64, [client, server]: [TcpStream; 2]) {
        let open = Open { client, server, name: None, silent: Vec::new() };
        self.open.insert(number, open);
        self.befall(number);
    }

    /// It said what it calls itself.
    pub(super) fn named(&mut self, number: u64, name: String) {
        if let Some(open) = self.open.get_mut(&number) {
            open.name = Some(name);
        }
        self.befall(number);
    }

    /// What stands for new connections befalls this one.
    fn befall(&mut self, number: u64) {
        let Some(open) = self.open.get_mut(&number) else { return };
        for silence in &self.silences {
            if open.is_of(silence) {
                open.fall(silence);
            }
        }
    }

    /// One connection falls silent.
    pub(super) fn silence(&mut self, number: u64, directions: &[Direction]) {
        if let Some(open) = self.open.get_mut(&number) {
            open.silent.extend(directions);
        }
    }
}

impl Proxy {
    /// Lets connections fall silent. Returns how many were open.
    pub fn silence(&self, silence: &Silence) -> usize {
        let mut state = self.proxy.state();
        let mut hit = 0;
        for open in state.open.values_mut().filter(|open| open.is_of(silence)) {
            open.fall(silence);
            hit += 1;
        }
        if silence.later {
            state.silences.push(silence.clone());
        }
        hit
    }

    /// New connections are as they should be again; those that are silent become what is said.
    pub fn heal(&self, healing: Healing) {
        let mut state = self.proxy.state();
        state.silences.clear();
        for open in state.open.values_mut().filter(|open| !open.silent.is_empty()) {
            match healing {
                Healing::Late => open.silent.clear(),
                Healing::Never => {}
                Healing::Closed => open.cut(),
            }
        }
        drop(state);
        self.proxy.bell.notify_all();
    }
}
