//! The loop that takes connections, and how it ends.

use super::patience::{Patience, Patient, Phase};
use super::seats::{Seat, Seats};
use super::tls::Tls;
use crate::config;
use axum::Router;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use kernel::ports::spawn::{Fate, Spawn, Task};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tower::ServiceExt;

/// After a failed accept (out of file descriptors) the loop rests.
const REST: Duration = Duration::from_millis(100);
/// Connections that found no place are told in the log at most this often.
const TOLD: Duration = Duration::from_secs(10);
/// Header lines of one request.
const HEADERS: usize = 100;
/// The largest head: room for a token that is too long, which is told so.
const HEAD: usize = 32 * 1024;

const CONNECTION: Task = Task { name: "connection", fate: Fate::Harmless };

/// Where connections come in, and what they are held to.
#[derive(Debug)]
pub struct Entrance {
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    patience: Patience,
    seats: Arc<Seats>,
}

impl Entrance {
    /// By the settings.
    pub fn new(listener: TcpListener, settings: &config::Server, tls: Option<&Tls>) -> Self {
        let times = Patience {
            head: Duration::from_millis(settings.header_timeout_ms),
            body: Duration::from_millis(settings.body_timeout_ms),
            idle: Duration::from_millis(settings.idle_timeout_ms),
        };
        // behind a proxy every connection comes from the one place
        let from_one = settings.max_connections_per_ip;
        let from_one = (from_one > 0 && !settings.behind_proxy).then_some(from_one);
        Self {
            listener,
            tls: tls.map(Tls::server),
            patience: times,
            seats: Seats::new(settings.max_connections, from_one),
        }
    }
}

/// With the default settings, without TLS.
impl From<TcpListener> for Entrance {
    fn from(listener: TcpListener) -> Self {
        Self::new(listener, &config::Server::default(), None)
    }
}

/// Takes connections until `stop`, then lets each finish what it is answering, at most `grace` long.
pub async fn serve(
    entrance: impl Into<Entrance>,
    router: Router,
    spawn: &dyn Spawn,
    stop: impl Future<Output = ()>,
    grace: Duration,
) {
    let entrance: Entrance = entrance.into();
    let mut stop = std::pin::pin!(stop);
    let graceful = GracefulShutdown::new();
    let mut turned_away = TurnedAway::default();
    loop {
        let taken = tokio::select! {
            taken = entrance.listener.accept() => taken,
            () = &mut stop => break,
        };
        match taken {
            Ok((stream, peer)) => match entrance.seats.take(peer.ip()) {
                Some(seat) => {
                    let guest = Guest { stream, seat, watcher: graceful.watcher() };
                    spawn.spawn(CONNECTION, Box::pin(guest.met(&entrance, router.clone())));
                }
                // closed unread: whatever is done for one too many is what the limit is to spare
                None => turned_away.one(peer),
            },
            Err(fault) => {
                tracing::warn!(%fault, "a connection could not be taken");
                tokio::time::sleep(REST).await;
            }
        }
    }
    drop(entrance);
    if tokio::time::timeout(grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections were still busy and are cut");
    }
}

/// Those who found no place since the log last said so.
#[derive(Default)]
struct TurnedAway {
    told: Option<Instant>,
    count: u64,
}

impl TurnedAway {
    fn one(&mut self, peer: SocketAddr) {
        self.count = self.count.saturating_add(1);
        if self.told.is_none_or(|at| at.elapsed() >= TOLD) {
            let count = self.count;
            tracing::warn!(target: "security", %peer, count, "no place for a connection: closed");
            *self = Self { told: Some(Instant::now()), count: 0 };
        }
    }
}

/// A connection with a place.
struct Guest {
    stream: TcpStream,
    seat: Seat,
    watcher: Watcher,
}

impl Guest {
    /// Serves it to its end.
    fn met(self, entrance: &Entrance, router: Router) -> impl Future<Output = ()> + Send + 'static {
        let (patience, tls) = (entrance.patience, entrance.tls.clone().map(TlsAcceptor::from));
        async move {
            let Self { stream, seat, watcher } = self;
            // answers are small and whole: waiting to fill a packet only costs time
            let _best_effort = stream.set_nodelay(true);
            let served = match tls {
                None => served(stream, patience, router, watcher).await,
                Some(tls) => match tokio::time::timeout(patience.head, tls.accept(stream)).await {
                    Ok(Ok(stream)) => served(stream, patience, router, watcher).await,
                    Ok(Err(fault)) => Err(format!("no handshake: {fault}")),
                    Err(_) => Err("the handshake took too long".to_owned()),
                },
            };
            if let Err(fault) = served {
                tracing::debug!("a connection broke: {fault}");
            }
            drop(seat);
        }
    }
}

async fn served<T>(
    stream: T,
    patience: Patience,
    router: Router,
    watcher: Watcher,
) -> Result<(), String>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let phase = Phase::default();
    let stream = Patient::new(stream, patience, phase.clone());
    let service = service_fn(move |mut request: Request<Incoming>| {
        phase.busy();
        request.extensions_mut().insert(patience);
        let (answer, phase) = (router.clone().oneshot(request), phase.clone());
        async move {
            let answer = answer.await;
            phase.idle();
            answer
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        // the library's own measure, for both waits in one; with it, it also looks at the stream when
        // an answer has ended, which is when ours for the next request begins
        .header_read_timeout(patience.idle.saturating_add(patience.head))
        .max_headers(HEADERS)
        .max_header_size(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    watcher.watch(connection).await.map_err(|fault| match io_kind(&fault) {
        Some(io::ErrorKind::TimedOut) => "it kept us waiting".to_owned(),
        _ => fault.to_string(),
    })
}

fn io_kind(fault: &hyper::Error) -> Option<io::ErrorKind> {
    let below = std::error::Error::source(fault)?;
    below.downcast_ref::<io::Error>().map(io::Error::kind)
}
