//! Limits the time of a connection: for the head of a request, between requests, and while the client does not read
//! the answer. The reader of a body has its own timeout.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

#[derive(Debug, Clone, Copy)]
pub struct ConnectionTimeouts {
    /// For a whole head, from the connection's begin (with its handshake) or the first byte.
    pub head: Duration,
    /// For a whole body; also the longest standstill while an answer is taken.
    pub body: Duration,
    /// Between the end of an answer and the first byte of the next request.
    pub idle: Duration,
}

/// The phase of a connection, set by the code that serves it: one of three, with a count of changes,
/// so that no change goes unseen.
#[derive(Debug, Clone, Default)]
pub(super) struct Phase(Arc<AtomicU64>);

const HEAD: u64 = 0;
const BUSY: u64 = 1;
const IDLE: u64 = 2;
const KINDS: u64 = 4;

impl Phase {
    /// A request is being answered.
    pub(super) fn busy(&self) {
        self.turn(BUSY);
    }

    /// The answer was sent, and no further request has come.
    pub(super) fn idle(&self) {
        self.turn(IDLE);
    }

    /// The first byte of the next request came.
    fn begun(&self) {
        if self.now() % KINDS == IDLE {
            self.turn(HEAD);
        }
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Only the connection's own task turns it.
    fn turn(&self, kind: u64) {
        let before = self.now();
        let turns = before.saturating_sub(before % KINDS).wrapping_add(KINDS);
        self.0.store(turns.saturating_add(kind), Ordering::Relaxed);
    }
}

/// A stream that breaks when it keeps us waiting too long.
#[derive(Debug)]
pub(super) struct TimedStream<T> {
    inner: T,
    timeouts: ConnectionTimeouts,
    phase: Phase,
    /// The phase that the alarm was set for.
    set_for: u64,
    alarm: Pin<Box<Sleep>>,
    /// Set while the other side takes nothing.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<T> TimedStream<T> {
    pub(super) fn new(inner: T, timeouts: ConnectionTimeouts, phase: Phase) -> Self {
        let alarm = Box::pin(tokio::time::sleep(timeouts.head));
        Self { inner, timeouts, phase, set_for: HEAD, alarm, stuck: None }
    }

    /// Nothing came: until when is that all right?
    fn waited(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let phase = self.phase.now();
        let wait = match phase % KINDS {
            BUSY => return Poll::Pending,
            IDLE => self.timeouts.idle,
            _ => self.timeouts.head,
        };
        if self.set_for != phase {
            self.alarm.as_mut().reset(Instant::now() + wait);
            self.set_for = phase;
        }
        ready!(self.alarm.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    /// Passes on what writing led to, and breaks a connection that takes nothing any more.
    fn moved<R>(
        &mut self,
        cx: &mut Context<'_>,
        wrote: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if wrote.is_ready() {
            self.stuck = None;
            return wrote;
        }
        let wait = self.timeouts.body;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
        ready!(stuck.as_mut().poll(cx));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for TimedStream<T> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        match Pin::new(&mut this.inner).poll_read(cx, buf) {
            Poll::Ready(Ok(())) => {
                if buf.filled().len() > before {
                    this.phase.begun();
                }
                Poll::Ready(Ok(()))
            }
            Poll::Ready(Err(fault)) => Poll::Ready(Err(fault)),
            Poll::Pending => this.waited(cx),
        }
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for TimedStream<T> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.inner).poll_write(cx, bytes);
        this.moved(cx, wrote)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = Pin::new(&mut this.inner).poll_write_vectored(cx, bytes);
        this.moved(cx, wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = Pin::new(&mut this.inner).poll_flush(cx);
        this.moved(cx, flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let shut = Pin::new(&mut this.inner).poll_shutdown(cx);
        this.moved(cx, shut)
    }
}

#[cfg(test)]
mod tests {
    use super::{ConnectionTimeouts, Phase, TimedStream};
    use std::io::ErrorKind::TimedOut;
    use std::time::Duration;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    const SHORT: Duration = Duration::from_millis(30);
    /// Long enough to see that a short time does not count.
    const WHILE: Duration = Duration::from_millis(150);
    /// Longer than a loaded machine stops, shorter than many whiles.
    const SECONDS: Duration = Duration::from_secs(2);
    const LONG: Duration = Duration::from_secs(3600);

    fn pair(head: Duration, body: Duration, idle: Duration) -> Ends {
        let (there, here) = duplex(64);
        let phase = Phase::default();
        let here = TimedStream::new(here, ConnectionTimeouts { head, body, idle }, phase.clone());
        Ends { there, here, phase }
    }

    struct Ends {
        there: DuplexStream,
        here: TimedStream<DuplexStream>,
        phase: Phase,
    }

    impl Ends {
        /// Ends only by being cut.
        async fn cut(&mut self) {
            assert_eq!(self.here.read_u8().await.unwrap_err().kind(), TimedOut);
        }

        async fn kept(&mut self) {
            let waiting = tokio::time::timeout(WHILE, self.here.read_u8()).await;
            assert!(waiting.is_err(), "still open");
        }

        async fn byte(&mut self) {
            self.there.write_u8(1).await.unwrap();
            self.here.read_u8().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_head_has_its_time_however_it_drips() {
        pair(SHORT, LONG, LONG).cut().await;
        let Ends { mut there, mut here, .. } = pair(SHORT, LONG, LONG);
        let drip = async {
            while there.write_u8(1).await.is_ok() {
                tokio::time::sleep(SHORT / 10).await;
            }
        };
        let read = async { while here.read_u8().await.is_ok() {} };
        tokio::select! {
            () = read => {}
            () = drip => panic!("the other side is open"),
        }
    }

    #[tokio::test]
    async fn no_timeout_runs_while_a_request_is_answered() {
        let mut ends = pair(SHORT, SHORT, SHORT);
        ends.phase.busy();
        ends.kept().await;
        ends.phase.idle();
        ends.cut().await;
    }

    #[tokio::test]
    async fn between_requests_there_is_another_time_and_then_a_head_s() {
        let mut ends = pair(SHORT, LONG, LONG);
        for _ in 0..3 {
            ends.phase.busy();
            ends.phase.idle();
            ends.kept().await;
        }
        ends.byte().await;
        ends.cut().await;
        let mut ends = pair(LONG, LONG, SECONDS);
        for _ in 0..20 {
            ends.phase.idle();
            ends.kept().await;
            ends.byte().await;
            ends.phase.busy();
        }
        ends.phase.idle();
        ends.cut().await;
    }

    #[tokio::test]
    async fn who_takes_no_answer_is_cut() {
        let mut ends = pair(LONG, SHORT, LONG);
        let fault = ends.here.write_all(&[0; 200]).await.unwrap_err();
        assert_eq!(fault.kind(), TimedOut);
        let Ends { mut there, mut here, .. } = pair(LONG, SECONDS, LONG);
        let reader = async {
            for _ in 0..40 {
                tokio::time::sleep(SHORT * 3).await;
                there.read_exact(&mut [0; 16]).await.unwrap();
            }
        };
        let (wrote, ()) = tokio::join!(here.write_all(&[0; 640]), reader);
        assert!(wrote.is_ok(), "slow is not stuck");
    }
}
