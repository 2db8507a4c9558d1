//! The loop that accepts connections and serves them, until a shutdown drains it.

use super::connection_limits::{ConnectionLimits, ConnectionPermit, LimitReached};
use super::connection_timeouts::{ConnectionTimeouts, Phase, TimedStream};
use super::tls::Tls;
use crate::config;
use crate::http::middleware::envelope::NoHost;
use crate::metrics::Metrics;
use axum::Router;
use axum::http::{Request, Version, header};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use kernel::ports::spawn::{OnEnd, Spawn, Task};
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
/// The shortest time between two log lines about refused connections.
const TOLD: Duration = Duration::from_secs(10);
/// Header lines of one request.
const HEADERS: usize = 100;
/// The largest head: it has room for a token that is too long, so that its caller gets an error.
const HEAD: usize = 32 * 1024;

const CONNECTION: Task = Task { name: "connection", on_end: OnEnd::Harmless };

/// The listening socket, and the limits of its connections.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    tls: Option<Arc<ServerConfig>>,
    timeouts: ConnectionTimeouts,
    limits: Arc<ConnectionLimits>,
    metrics: Option<Arc<Metrics>>,
}

impl Listener {
    /// A listener whose limits and timeouts are the settings'.
    pub fn new(listener: TcpListener, settings: &config::Server, tls: Option<&Tls>) -> Self {
        let times = ConnectionTimeouts {
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
            timeouts: times,
            limits: ConnectionLimits::new(settings.max_connections, from_one),
            metrics: None,
        }
    }

    /// Counts those that it turns away there.
    #[must_use]
    pub fn counted(self, metrics: Arc<Metrics>) -> Self {
        Self { metrics: Some(metrics), ..self }
    }
}

/// With the default settings, without TLS.
impl From<TcpListener> for Listener {
    fn from(listener: TcpListener) -> Self {
        Self::new(listener, &config::Server::default(), None)
    }
}

/// Takes connections until `stop`, then lets each finish what it is answering, at most `grace` long.
pub async fn serve(
    listener: impl Into<Listener>,
    router: Router,
    spawn: &dyn Spawn,
    stop: impl Future<Output = ()>,
    grace: Duration,
) {
    let listener: Listener = listener.into();
    let mut stop = std::pin::pin!(stop);
    let graceful = GracefulShutdown::new();
    let mut refusals = RefusalLog::default();
    loop {
        let taken = tokio::select! {
            taken = listener.listener.accept() => taken,
            () = &mut stop => break,
        };
        match taken {
            Ok((stream, peer)) => match listener.limits.take(peer.ip()) {
                Ok(permit) => {
                    let connection =
                        AcceptedConnection { stream, permit, watcher: graceful.watcher() };
                    spawn.spawn(CONNECTION, Box::pin(connection.met(&listener, router.clone())));
                }
                // closed unread: whatever is done for one too many is what the limit is to spare
                Err(why) => {
                    if let Some(metrics) = &listener.metrics {
                        metrics.connection_refused(why.name());
                    }
                    refusals.one(peer, why);
                }
            },
            Err(fault) => {
                tracing::warn!(%fault, "a connection could not be taken");
                tokio::time::sleep(REST).await;
            }
        }
    }
    drop(listener);
    if tokio::time::timeout(grace, graceful.shutdown()).await.is_err() {
        tracing::warn!("some connections were still busy and are cut");
    }
}

/// Those who found no place since the log last said so.
#[derive(Default)]
struct RefusalLog {
    told: Option<Instant>,
    count: u64,
}

impl RefusalLog {
    fn one(&mut self, peer: SocketAddr, why: LimitReached) {
        self.count = self.count.saturating_add(1);
        if self.told.is_none_or(|at| at.elapsed() >= TOLD) {
            let (count, why) = (self.count, why.name());
            tracing::warn!(target: "security", %peer, why, count, "no place for a connection: closed");
            *self = Self { told: Some(Instant::now()), count: 0 };
        }
    }
}

/// A connection with a place.
struct AcceptedConnection {
    stream: TcpStream,
    permit: ConnectionPermit,
    watcher: Watcher,
}

impl AcceptedConnection {
    /// Serves it to its end.
    fn met(self, listener: &Listener, router: Router) -> impl Future<Output = ()> + Send + 'static {
        let (timeouts, tls) = (listener.timeouts, listener.tls.clone().map(TlsAcceptor::from));
        async move {
            let Self { stream, permit, watcher } = self;
            // answers are small and whole: waiting to fill a packet only costs time
            let _best_effort = stream.set_nodelay(true);
            let served = match tls {
                None => served(stream, timeouts, router, watcher).await,
                Some(tls) => match tokio::time::timeout(timeouts.head, tls.accept(stream)).await {
                    Ok(Ok(stream)) => served(stream, timeouts, router, watcher).await,
                    Ok(Err(fault)) => Err(format!("no handshake: {fault}")),
                    Err(_) => Err("the handshake took too long".to_owned()),
                },
            };
            if let Err(fault) = served {
                tracing::debug!("a connection broke: {fault}");
            }
            drop(permit);
        }
    }
}

async fn served<T>(
    stream: T,
    timeouts: ConnectionTimeouts,
    router: Router,
    watcher: Watcher,
) -> Result<(), String>
where
    T: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let phase = Phase::default();
    let stream = TimedStream::new(stream, timeouts, phase.clone());
    let service = service_fn(move |mut request: Request<Incoming>| {
        phase.busy();
        request.extensions_mut().insert(timeouts);
        if !names_one_host(&request) {
            request.extensions_mut().insert(NoHost);
        }
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
        .header_read_timeout(timeouts.idle.saturating_add(timeouts.head))
        .max_headers(HEADERS)
        .max_header_size(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    watcher.watch(connection).await.map_err(|fault| match io_kind(&fault) {
        Some(io::ErrorKind::TimedOut) => "it kept us waiting".to_owned(),
        _ => fault.to_string(),
    })
}

/// Whether a request names the one host that it is for, as HTTP/1.1 demands (RFC 9112 §3.2); HTTP/1.0 may name none.
fn names_one_host(request: &Request<Incoming>) -> bool {
    let hosts = request.headers().get_all(header::HOST).iter().count();
    hosts == 1 || (hosts == 0 && request.version() == Version::HTTP_10)
}

fn io_kind(fault: &hyper::Error) -> Option<io::ErrorKind> {
    let below = std::error::Error::source(fault)?;
    below.downcast_ref::<io::Error>().map(io::Error::kind)
}

#[cfg(test)]
mod tests {
    use super::{LimitReached, Listener};
    use crate::config::Server;
    use tokio::net::TcpListener;

    /// How many one address may have, and why it has no more.
    async fn from_one(settings: Server) -> (usize, LimitReached) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let listener = Listener::new(listener, &settings, None);
        let mut limits = Vec::new();
        loop {
            match listener.limits.take("192.0.2.1".parse().unwrap()) {
                Ok(permit) => limits.push(permit),
                Err(why) => return (limits.len(), why),
            }
        }
    }

    /// Turns red where the setting for one address is not what holds, and where all who come through a
    /// proxy are counted as one.
    #[tokio::test]
    async fn the_settings_say_how_many_one_address_may_have() {
        let settings =
            || Server { max_connections: 9, max_connections_per_ip: 3, ..Server::default() };
        assert_eq!(from_one(settings()).await, (3, LimitReached::FromOne));
        let proxied = Server { behind_proxy: true, ..settings() };
        assert_eq!(from_one(proxied).await, (9, LimitReached::InAll));
        let uncounted = Server { max_connections_per_ip: 0, ..settings() };
        assert_eq!(from_one(uncounted).await, (9, LimitReached::InAll));
    }
}
