//! The running endpoints of a chain and its block producer; all of it ends with this value.

use super::{Blocks, Endpoint, EndpointState, Node, http, producer};
use crate::Outcome;
use std::{
    collections::BTreeMap,
    future::Future,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, mpsc},
};
use tokio::runtime::Runtime;

/// Where and when a chain is served.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ServerOptions {
    pub(crate) endpoints: usize,
    /// The port of the first endpoint, whose neighbours take the next ones; else the system chooses.
    pub(crate) port: Option<u16>,
    /// Threads that answer requests.
    pub(crate) threads: usize,
    pub(crate) blocks: Blocks,
}

#[derive(Debug)]
pub(crate) struct Server<N: Node> {
    pub(crate) node: Arc<N>,
    endpoints: Vec<Arc<EndpointState<N>>>,
    runtime: Option<Runtime>,
    /// Dropped with the server, which ends the block producer.
    _producer: mpsc::Sender<()>,
}

impl<N: Node> Server<N> {
    /// Listens on the addresses and begins to make blocks.
    ///
    /// # Errors
    ///
    /// If an address cannot be listened on.
    pub(crate) fn start(node: N, options: ServerOptions) -> Outcome<Self> {
        let node = Arc::new(node);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(if options.threads == 0 { 1 } else { options.threads })
            .thread_name("devnet-rpc")
            .enable_all()
            .build()
            .map_err(|error| format!("runtime: {error}"))?;
        let mut endpoints = Vec::new();
        for index in 0..options.endpoints {
            endpoints.push(open(&runtime, &node, options.port, index)?);
        }
        let (producer, stopped) = mpsc::channel();
        if let Blocks::Every(interval) = options.blocks {
            let node = Arc::clone(&node);
            std::thread::Builder::new()
                .name("devnet-blocks".to_owned())
                .spawn(move || producer::run(&node, interval, &stopped))
                .map_err(|error| format!("block producer: {error}"))?;
        }
        Ok(Self { node, endpoints, runtime: Some(runtime), _producer: producer })
    }

    /// Where the endpoints listen, without a slash at the end.
    pub(crate) fn urls(&self) -> Vec<String> {
        self.endpoints.iter().map(|state| format!("http://{}", state.address)).collect()
    }

    pub(crate) fn endpoint(&self, index: usize) -> Option<Endpoint<'_, N::Lie>> {
        self.endpoints.get(index).map(|state| Endpoint {
            address: &state.address,
            script: &state.script,
            lag: &state.lag,
            requests: &state.requests,
        })
    }

    /// Number of requests of each kind that all endpoints had together.
    pub(crate) fn requests(&self) -> BTreeMap<String, u64> {
        let endpoints = (0..self.endpoints.len()).filter_map(|at| self.endpoint(at));
        let mut all = BTreeMap::new();
        for (kind, count) in endpoints.flat_map(|endpoint| endpoint.requests()) {
            let sum: &mut u64 = all.entry(kind).or_default();
            *sum = sum.saturating_add(count);
        }
        all
    }
}

impl<N: Node> Drop for Server<N> {
    fn drop(&mut self) {
        // A runtime must not be waited for inside another one.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn open<N: Node>(
    runtime: &Runtime,
    node: &Arc<N>,
    first: Option<u16>,
    index: usize,
) -> Outcome<Arc<EndpointState<N>>> {
    let port = match first {
        None => 0,
        // of its own for each: 0 is any that is free
        Some(0) => 0,
        Some(first) => u16::try_from(index)
            .ok()
            .and_then(|index| first.checked_add(index))
            .ok_or("no port is left for the endpoint")?,
    };
    let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let failed = |error: std::io::Error| format!("cannot listen on {wanted}: {error}");
    let listener = std::net::TcpListener::bind(wanted).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?.to_string();
    let state = Arc::new(EndpointState::new(Arc::clone(node), address, 0));
    let _inside = runtime.enter();
    let listener = tokio::net::TcpListener::from_std(listener).map_err(failed)?;
    spawn(http::listen(Arc::clone(&state), listener));
    Ok(state)
}

/// Starts a task of the chain's own runtime.
#[expect(clippy::disallowed_methods, reason = "a development server, not the engine")]
pub(super) fn spawn<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) {
    drop(tokio::spawn(task));
}
