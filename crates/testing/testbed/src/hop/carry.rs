//! Serves one connection through the hop: a request at a time, until either side ends it.

use super::message::Message;
use super::{Fault, State, lock};
use std::net::{SocketAddr, TcpStream};
use std::sync::Mutex;

/// What a client gets for its request.
enum Reply {
    Answer(Message),
    /// It gets none: the connection ends.
    Nothing,
}

/// Serves a client until it is gone, or its connection is to be closed.
pub(super) fn run(mut client: TcpStream, state: &Mutex<State>) {
    // small messages that ask and answer: none of them waits for another
    if client.set_nodelay(true).is_err() {
        return;
    }
    while let Some(request) = Message::read(&mut client) {
        let Reply::Answer(answer) = one(&request, state) else { return };
        if answer.passed_on().write(&mut client).is_none() {
            return;
        }
    }
}

/// The service's own answer to a request, on a connection of its own.
pub(super) fn ask(target: Option<SocketAddr>, request: &Message) -> Option<Message> {
    let mut service = TcpStream::connect(target?).ok()?;
    service.set_nodelay(true).ok()?;
    request.passed_on().write(&mut service)?;
    Message::read(&mut service)
}

fn one(request: &Message, state: &Mutex<State>) -> Reply {
    let route = request.route().to_owned();
    let (uniform, fault, target) = {
        let mut state = lock(state);
        let uniform = state.uniform.clone();
        // a fault that was planned is met first: what it loses is lost before the hop falls ill
        let planned = state.planned.iter().any(|(begins, _)| route.starts_with(begins));
        let uniform = uniform.filter(|_| !planned);
        let fault = if uniform.is_none() { state.fault(&route) } else { None };
        (uniform, fault, state.target)
    };
    if let Some((status, body)) = uniform {
        let mut state = lock(state);
        state.uniformly = state.uniformly.saturating_add(1);
        return Reply::Answer(Message::answer(status, &body));
    }
    let asked = || ask(target, request);
    let reply = match fault {
        None => {
            let mut state = lock(state);
            state.passed = state.passed.saturating_add(1);
            drop(state);
            asked()
        }
        Some(Fault::LostRequest) => None,
        Some(Fault::LostReply) => {
            // delivered all the same
            let _answer = asked();
            None
        }
        Some(Fault::Late) => {
            lock(state).late.push(request.clone());
            None
        }
        Some(Fault::Duplicate) => asked().and_then(|_| asked()),
        Some(Fault::Cached) => {
            let cached = lock(state).answers.get(&route).cloned();
            cached.or_else(asked)
        }
        Some(Fault::Reordered) => {
            let own = asked();
            own.and_then(|own| lock(state).waiting.replace(own))
        }
    };
    let Some(answer) = reply else { return Reply::Nothing };
    lock(state).answers.insert(route, answer.clone());
    Reply::Answer(answer)
}
