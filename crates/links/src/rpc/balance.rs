//! Asks what an account has before it is paid from. One provider's word is enough that it is enough; that it is short
//! holds payments up and calls a person, so as many as are needed have to show it.

use super::PROVIDERS_DISAGREE;
use super::agreement::{Division, collect_facts, division};
use super::call::RpcCall;
use super::pool::RpcPool;
use kernel::answer::Cause;

impl RpcPool {
    /// The balance by this call: that of any provider where it is at least `least`; less only where as many as are
    /// needed show less, and then the highest of theirs. `None`: there is no such account.
    ///
    /// # Errors
    /// [`PROVIDERS_DISAGREE`], with what each shows, or why too few answer.
    pub(crate) async fn balance(
        &self,
        call: &RpcCall<Option<u128>>,
        least: u128,
    ) -> Result<Option<u128>, Cause> {
        let is_short = |balance: &Option<u128>| balance.is_none_or(|balance| balance < least);
        let hint = self.first(call).await?;
        if !is_short(&hint) {
            return Ok(hint);
        }
        let facts = collect_facts(self.needed(), self.each(call).await)?;
        let words = |balance: &Option<u128>| match balance {
            Some(balance) => format!("a balance of {balance}"),
            None => "no account".to_owned(),
        };
        let (short, others) = match division(self.needed(), &facts, is_short, words) {
            Division::Yes => (true, None),
            Division::No => (false, None),
            Division::YesAgainst(others) => (true, Some(others)),
            Division::NoAgainst(others) => (false, Some(others)),
            Division::Split(each) => return Err(Cause::because(PROVIDERS_DISAGREE, each)),
        };
        if let Some(others) = others {
            let which = if short { "less" } else { "enough" };
            self.note_outvoted(&format!("{others}; {least} are needed, and others show {which}"));
        }
        let side = facts.into_iter().map(|one| one.fact).filter(|one| is_short(one) == short);
        Ok(if short { side.max() } else { side.min() }.flatten())
    }
}
