//! Binds the journal to one chain: the first one that the providers show, before anything is signed. From
//! then on the engine works with no other chain.
//!
//! The row is written once and never changes. Each chain port then ignores whatever another chain says.

use crate::chains::ChainPool;
use crate::chains::Chains;
use crate::state::select::caught;
use crate::state::tasks::Background;
use kernel::answer::Cause;
use kernel::ids::{ChainId, Millis};
use kernel::ports::chain::ChainIdentity;
use kernel::ports::journal::{Journal, Resource};
use kernel::unit::{Guard, Put, Unit};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// The interval at which providers are asked again, in milliseconds, whether or not anything is sent.
const EVERY: Millis = 10_000;

/// The name of the row that binds a journal to a chain.
pub(crate) fn identity_name(chain: ChainId) -> Arc<str> {
    format!("chain:{}", chain.name()).into()
}

fn value(identity: &ChainIdentity) -> Arc<str> {
    json!({ "name": &*identity.name, "genesis": &*identity.genesis }).to_string().into()
}

/// The identity of a row.
///
/// # Errors
/// `IDENTITY_UNREADABLE`: it is none of this release's, so that no chain is known to be the right one.
fn read(row: &Resource) -> Result<ChainIdentity, Cause> {
    let value: Option<Value> = serde_json::from_str(&row.value).ok();
    let text = |name: &str| value.as_ref()?.get(name)?.as_str().map(Arc::<str>::from);
    match (text("name"), text("genesis")) {
        (Some(name), Some(genesis)) => Ok(ChainIdentity { name, genesis }),
        _ => Err(Cause::because("IDENTITY_UNREADABLE", row.value.clone())),
    }
}

/// The chain that a journal is bound to, for what is asked of providers before an engine runs. `None`: to none yet.
///
/// # Errors
/// The journal does not answer, or its row is none of this release's.
pub async fn bound_chain(
    journal: &dyn Journal,
    chain: ChainId,
) -> Result<Option<ChainIdentity>, Cause> {
    journal.resource(identity_name(chain)).await?.as_ref().map(read).transpose()
}

/// What this process knows of the binding.
#[derive(Debug, Clone, Default)]
enum Binding {
    /// Nothing yet: nothing is signed.
    #[default]
    Open,
    /// The chain is none that could be told from another.
    NoIdentity,
    Bound(ChainIdentity),
}

/// The chain that the journal is bound to, as this process read it.
#[derive(Debug, Default)]
pub(crate) struct ChainBinding {
    state: Mutex<Binding>,
    changed: Notify,
}

impl ChainBinding {
    fn state(&self) -> Binding {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, state: Binding) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state;
        self.changed.notify_waiters();
    }

    /// The chain that the journal is bound to; `None`: it is not bound yet, or the chain has no identity.
    pub(crate) fn bound(&self) -> Option<ChainIdentity> {
        match self.state() {
            Binding::Bound(identity) => Some(identity),
            Binding::Open | Binding::NoIdentity => None,
        }
    }

    /// Waits until this process knows the chain that the journal is bound to, or that the chain has no identity.
    pub(crate) async fn settled(&self) {
        loop {
            let changed = self.changed.notified();
            if !matches!(self.state(), Binding::Open) {
                return;
            }
            changed.await;
        }
    }
}

impl Chains {
    /// Starts a task for each chain that finds out which chain it is, and watches its providers from then
    /// on. Every process does so, one that only takes transfers in too.
    pub(crate) fn begin_identities(self: &Arc<Self>) {
        for pool in self.pools() {
            let watch = self.clone().run_identity(pool.clone());
            self.shared.parts.spawn.spawn(Background::ChainIdentity.task(), Box::pin(watch));
        }
    }

    async fn run_identity(self: Arc<Self>, pool: Arc<ChainPool>) {
        let mut tries = 0_u32;
        loop {
            let wait = match self.look_at_identity(&pool).await {
                Ok(()) => {
                    tries = 0;
                    EVERY
                }
                Err(cause) => {
                    let chain = pool.id().name();
                    tracing::warn!(chain, %cause, "which chain it is, is not proven: nothing is signed for it");
                    tries = tries.saturating_add(1);
                    let wait =
                        self.shared.due(tries).saturating_sub(self.shared.parts.journal.now());
                    wait.clamp(1, EVERY)
                }
            };
            self.shared.parts.clock.sleep(wait).await;
        }
    }

    /// One look: the journal is bound, or the providers show what it is bound to.
    async fn look_at_identity(&self, pool: &ChainPool) -> Result<(), Cause> {
        if let Binding::Open = pool.binding.state() {
            let stored = self.shared.parts.journal.resource(identity_name(pool.id())).await?;
            if let Some(row) = stored {
                self.bound_to(pool, read(&row)?);
            }
        }
        let shown = caught(async { pool.port.identity().await }).await;
        let shown = shown.unwrap_or_else(|| Err(Cause::of("PANIC")))?;
        match (pool.binding.state(), shown) {
            (Binding::Open, Some(shown)) => self.bind_journal(pool, shown).await,
            (Binding::Open, None) => {
                pool.binding.set(Binding::NoIdentity);
                Ok(())
            }
            (Binding::Bound(_) | Binding::NoIdentity, _) => Ok(()),
        }
    }

    /// Binds the journal to the first chain that it meets. Where another process was first, that process's
    /// chain counts.
    async fn bind_journal(&self, pool: &ChainPool, shown: ChainIdentity) -> Result<(), Cause> {
        let name = identity_name(pool.id());
        let guard = Guard::Resource { name: name.clone(), version: 0 };
        let put = Put::Resource { name, value: value(&shown) };
        let unit = Unit::guarded(vec![guard], vec![put]);
        self.shared.writer.write(unit).await.done("BOUND_BY_ANOTHER")?;
        self.bound_to(pool, shown);
        Ok(())
    }

    fn bound_to(&self, pool: &ChainPool, identity: ChainIdentity) {
        tracing::info!(chain = pool.id().name(), %identity, "the chain that this store is bound to");
        pool.port.bind(&identity);
        pool.binding.set(Binding::Bound(identity));
    }
}

#[cfg(test)]
mod tests {
    use super::{identity_name, read, value};
    use kernel::ids::ChainId;
    use kernel::ports::chain::ChainIdentity;
    use kernel::ports::journal::Resource;

    fn row(value: &str) -> Resource {
        Resource { name: identity_name(ChainId(20)), version: 1, value: value.into() }
    }

    /// Turns red where a row that cannot be read counts as none: the journal would be bound anew.
    #[test]
    fn a_binding_reads_what_it_writes_and_nothing_else() {
        let identity = ChainIdentity { name: "mainnet".into(), genesis: "EPn".into() };
        assert_eq!(&*row("").name, "chain:NEAR");
        assert_eq!(read(&row(&value(&identity))), Ok(identity));
        for other in ["", "{}", r#"{"name":"mainnet"}"#, r#"{"name":1,"genesis":"x"}"#, "null"] {
            assert_eq!(read(&row(other)).map_err(|cause| cause.class), Err("IDENTITY_UNREADABLE"));
        }
    }
}
