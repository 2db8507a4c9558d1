//! The loop that takes connections, and how it ends.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use kernel::ports::spawn::{Fate, Spawn, Task};
use std::future::Future;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};

/// How long the head of a request may take to arrive; also how long an idle connection is kept.
const HEAD: Duration = Duration::from_secs(30);
/// After a failed accept (out of file descriptors) the loop rests.
const REST: Duration = Duration::from_millis(100);
/// Header lines of one request.
const HEADERS: usize = 100;

const CONNECTION: Task = Task { name: "connection", fate: Fate::Harmless };

/// Takes connections until `stop`, then lets each finish what it is answering, at most `grace` long.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    spawn: &dyn Spawn,
    stop: impl Future<Output = ()>,
    grace: Duration,
) {
    let mut stop = std::pin::pin!(stop);
    let graceful = GracefulShutdown::new();
    loop {
        let taken = tokio::select! {
            taken = listener.accept() => taken,
            () = &mut stop => break,
        };
        match taken {
            Ok((stream, _)) => connected(stream, router.clone(), spawn, &graceful),
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

fn connected(stream: TcpStream, router: Router, spawn: &dyn Spawn, graceful: &GracefulShutdown) {
    // answers are small and whole: waiting to fill a packet only costs time
    let _best_effort = stream.set_nodelay(true);
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_headers(HEADERS)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    let watched = graceful.watch(connection);
    spawn.spawn(
        CONNECTION,
        Box::pin(async move {
            if let Err(fault) = watched.await {
                tracing::debug!(%fault, "a connection broke");
            }
        }),
    );
}
