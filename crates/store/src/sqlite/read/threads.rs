//! Runs queries on reader threads: each has its own connection, and takes one query after the other
//! from a common queue.

use kernel::answer::Cause;
use kernel::ports::Fut;
use rusqlite::Connection;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use tokio::sync::oneshot;

type Question = Box<dyn FnOnce(&Connection) + Send>;

/// Threads that share one queue of questions, each with its own connection.
#[derive(Debug, Clone)]
pub(crate) struct ReaderThreads {
    questions: Arc<Mutex<mpsc::Sender<Question>>>,
}

impl ReaderThreads {
    /// One thread for each connection; they end when the last handle is dropped.
    pub(crate) fn new(connections: Vec<Connection>) -> Self {
        let (questions, waiting) = mpsc::channel::<Question>();
        let waiting = Arc::new(Mutex::new(waiting));
        for db in connections {
            let waiting = waiting.clone();
            std::thread::spawn(move || {
                loop {
                    let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(question) = next else { return };
                    question(&db);
                }
            });
        }
        Self { questions: Arc::new(Mutex::new(questions)) }
    }

    pub(crate) fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Fut<'static, Result<T, Cause>> {
        let (sender, answer) = oneshot::channel();
        let boxed: Question = Box::new(move |db| {
            // the caller went away
            let _gone = sender.send(question(db));
        });
        let sent = self.questions.lock().unwrap_or_else(PoisonError::into_inner).send(boxed);
        Box::pin(async move {
            sent.map_err(|_| Cause::of("STORE_CLOSED"))?;
            match answer.await {
                Ok(Ok(found)) => Ok(found),
                Ok(Err(error)) => Err(Cause::because("STORE_READ", error.to_string())),
                Err(_) => Err(Cause::of("STORE_CLOSED")),
            }
        })
    }
}
