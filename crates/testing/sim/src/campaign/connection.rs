//! A client's connection to a process: its request runs there and pauses with the process. Where the process dies,
//! the connection is cut, and the client learns nothing.

use crate::world::Sim;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// What has come over the line.
enum Came<T> {
    Nothing(Option<Waker>),
    Answer(T),
    Cut,
}

/// The process's end; it is dropped with the task that holds it.
struct Far<T>(Arc<Mutex<Came<T>>>);

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Far<T> {
    /// This and nothing after it is what the client hears.
    fn say(&self, said: Came<T>) {
        let mut came = held(&self.0);
        let waker = match &mut *came {
            Came::Nothing(waker) => waker.take(),
            Came::Answer(_) | Came::Cut => return,
        };
        *came = said;
        drop(came);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for Far<T> {
    fn drop(&mut self) {
        self.say(Came::Cut);
    }
}

/// What a process answers; none where it died before it did.
pub(super) async fn call<T: Send + 'static>(
    process: &Sim,
    asked: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let near = Arc::new(Mutex::new(Came::Nothing(None)));
    let far = Far(near.clone());
    process.start(async move {
        let answer = asked.await;
        far.say(Came::Answer(answer));
    });
    poll_fn(move |cx| {
        let mut came = held(&near);
        match std::mem::replace(&mut *came, Came::Nothing(Some(cx.waker().clone()))) {
            Came::Nothing(_) => Poll::Pending,
            Came::Answer(answer) => Poll::Ready(Some(answer)),
            Came::Cut => Poll::Ready(None),
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::call;
    use crate::world::{DAWN, Sim};
    use kernel::ports::clock::Clock;
    use std::future::pending;

    #[test]
    fn an_answer_comes_over_the_line() {
        let sim = Sim::new(1);
        let process = sim.process(1);
        let asked = async move {
            let slow = process.clone();
            call(&process, async move {
                slow.sleep(50).await;
                7
            })
            .await
        };
        assert_eq!(sim.block_on(asked), Ok(Some(7)));
    }

    /// Turns red where a client of a dead process waits for ever: nothing is left to do then.
    #[test]
    fn the_death_of_a_process_cuts_its_connections_and_no_others() {
        let sim = Sim::new(1);
        let (dies, lives) = (sim.process(1), sim.process(2));
        let killer = sim.clone();
        sim.start(async move {
            killer.sleep(10).await;
            killer.process(1).kill("crashed: killed");
        });
        let cut = dies.clone();
        assert_eq!(sim.block_on(async move { call(&cut, pending::<u8>()).await }), Ok(None));
        assert!(dies.fallen().is_some());
        assert_eq!(sim.block_on(async move { call(&dies, async { 7 }).await }), Ok(None));
        let answered = async move { call(&lives, async { 7 }).await };
        assert_eq!(sim.block_on(answered), Ok(Some(7)));
    }

    #[test]
    fn a_paused_process_answers_when_it_goes_on() {
        let sim = Sim::new(1);
        let process = sim.process(1);
        process.pause();
        let waker = sim.clone();
        sim.start(async move {
            waker.sleep(900).await;
            waker.process(1).resume();
        });
        let asked = async move { call(&process, async { 7 }).await };
        assert_eq!(sim.block_on(asked), Ok(Some(7)));
        assert!(sim.time() >= DAWN + 900);
    }
}
