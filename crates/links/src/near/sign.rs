//! Signs the forms of attempts: it chooses gas and base block, writes the transaction, and reads back
//! from the bytes what they pay. It sends nothing, and what it reads of the chain decides only whether
//! it signs and for how many members.

use super::NearLink;
use super::concerns::{NEAR_LOW, TREASURY_SHORT};
use super::forms::nonce_of;
use super::rpc::{account, token_balance};
use super::tokens::TokenState;
use super::tx::{self, BatchAction, Unwritten};
use crate::rest::{SignTurn, TokenRest};
use flows::relay::{Act, is_account_id};
use kernel::answer::Cause;
use kernel::attempt::{Form, Purpose};
use kernel::flow::life::Word;
use kernel::ports::chain::{FOREIGN_FORM, SignRequest, Signed, Unsigned};
use kernel::ports::clock::TICKS;
use kernel::ports::meter::Seen;
use kernel::record::{Account, Record, System};
use serde_json::Value;
use std::sync::Arc;

/// The number of NEAR's decimals: the smallest unit is a yoctoNEAR.
pub(super) const DECIMALS: u8 = 24;

/// The content of one transaction.
struct Draft<'a> {
    receiver: &'a str,
    actions: Vec<BatchAction>,
    gas: u64,
}

/// The blocks between which a form may be included.
#[derive(Debug, Clone, Copy)]
struct Lifetime {
    base: u64,
    expires: u64,
}

/// One member cannot be signed for; the others go on without it.
fn without(culprit: usize, class: &'static str) -> Unsigned {
    Unsigned { cause: Cause::of(class), culprit: Some(culprit) }
}

impl NearLink {
    pub(super) async fn sign(&self, request: &SignRequest) -> Result<Signed, Unsigned> {
        let rest = self.rest_of(request);
        let (now, first) = (self.clock.ticks(), self.settings.token_rest_ms);
        let turn = rest.map_or(SignTurn::All, |rest| rest.turn(now, first));
        if turn == SignTurn::Wait {
            return Err(Cause::of("TOKEN_RESTS").into());
        }
        let signed = self.signed_in_turn(request, turn).await;
        if let (SignTurn::One, Err(_), Some(rest)) = (turn, &signed, rest) {
            rest.turn_back(self.clock.ticks());
        }
        signed
    }

    /// The rest that a request for a new form ends or waits for. One that replaces another is never held back:
    /// its members have nothing else.
    fn rest_of(&self, request: &SignRequest) -> Option<&TokenRest> {
        let new = request.purpose == Purpose::Pay && request.forms.is_empty();
        let asset = request.members.first()?.target().asset;
        let act = act_of(request.act).ok()?;
        self.tokens.of_asset(asset).filter(|_| new).map(|token| token.rest(act))
    }

    async fn signed_in_turn(
        &self,
        request: &SignRequest,
        turn: SignTurn,
    ) -> Result<Signed, Unsigned> {
        let key = tx::key_of(&request.lane).filter(|key| self.has_key(key));
        let key = key.ok_or(Cause::of("NO_KEY"))?;
        let nonce = nonce_of(&request.lock)?;
        let draft = match request.purpose {
            Purpose::Void => {
                let (receiver, actions) = (&*self.settings.account, vec![BatchAction::Nothing]);
                Draft { receiver, actions, gas: 0 }
            }
            Purpose::Pay => self.draft(request, turn).await?,
        };
        self.has_near(&draft.actions).await?;
        let base = self.rpc.base_block().await?;
        self.rpc.raise_floor(base.height);
        let expires = base.height.saturating_add(self.rpc.validity().await);
        let unwritten = Unwritten {
            signer: &self.settings.account,
            key,
            nonce,
            receiver: draft.receiver,
            base: base.hash,
            actions: &draft.actions,
            gas: draft.gas,
        };
        let bytes = tx::unsigned(&unwritten)?;
        let signature = self.signer.sign(&key, &tx::digest(&bytes)).await?;
        let bytes = tx::with_signature(bytes, signature)?;
        self.signed(request, bytes, Lifetime { base: base.height, expires })
    }

    /// The form of signed bytes, and what it pays, read out of them.
    fn signed(
        &self,
        request: &SignRequest,
        bytes: Vec<u8>,
        lifetime: Lifetime,
    ) -> Result<Signed, Unsigned> {
        let found = tx::read(&bytes)?;
        let pays = self.payments(&found)?;
        for before in &request.forms {
            let earlier = tx::read(&before.bytes)?;
            if earlier.hash == found.hash {
                // the same block is still the base: a later one makes another form
                return Err(Cause::of("SAME_FORM").into());
            }
            let both_pay = before.purpose == Purpose::Pay && request.purpose == Purpose::Pay;
            if both_pay && self.payments(&earlier)? != pays {
                return Err(Cause::of(FOREIGN_FORM).into());
            }
        }
        let form = Form {
            purpose: request.purpose,
            name: found.hash.as_slice().into(),
            bytes: bytes.into(),
            repeatable: true,
            expires: Some(lifetime.expires),
            anchor: Some(lifetime.base),
            reference: None,
        };
        Ok(Signed { form, pays })
    }

    /// The relay's account has what deposits take, and what fees lock meanwhile.
    async fn has_near(&self, actions: &[BatchAction]) -> Result<(), Cause> {
        let floor = actions.iter().fold(self.settings.near_floor, |sum, action| match action {
            BatchAction::Register { deposit, .. } => sum.saturating_add(*deposit),
            BatchAction::Pay { .. } | BatchAction::Nothing => sum,
        });
        let own = self.rpc.balance(&account(&self.settings.account), floor).await?;
        let own = own.ok_or(Cause::of("NO_ACCOUNT"))?;
        let (chain, precision) = (self.settings.chain.name(), DECIMALS);
        self.meter.see(Seen::FeeBalance { chain, units: own, precision });
        match own {
            yocto if yocto < floor => {
                let facts = format!("the account has {yocto} yoctoNEAR, and {floor} are needed");
                Err(Cause::because(NEAR_LOW, facts))
            }
            _ => {
                self.concerns.clear(NEAR_LOW);
                Ok(())
            }
        }
    }

    /// The actions for the members from the first: as many as fit, and all where another form is replaced.
    async fn draft(&self, request: &SignRequest, turn: SignTurn) -> Result<Draft<'_>, Unsigned> {
        let members = &*request.members;
        let first = members.first().ok_or(Cause::of("NO_MEMBERS"))?;
        let asset = first.target().asset;
        let token = self.tokens.of_asset(asset).ok_or_else(|| without(0, "NO_TOKEN"))?;
        let replaces = !request.forms.is_empty();
        let most = match turn {
            SignTurn::One => 1,
            SignTurn::All | SignTurn::Wait if replaces => members.len(),
            SignTurn::All | SignTurn::Wait => token.most(),
        };
        let mut receivers = Vec::with_capacity(members.len());
        for (at, member) in members.iter().take(most).enumerate() {
            if member.target().asset != asset {
                return Err(without(at, "OTHER_ASSET"));
            }
            receivers.push(self.receiver(member).map_err(|class| without(at, class))?);
        }
        let pairs = members.iter().zip(receivers);
        let mut actions: Vec<BatchAction> = match act_of(request.act)? {
            Act::Pay => pairs
                .map(|(member, receiver)| BatchAction::Pay {
                    receiver,
                    amount: member.target().amount.0,
                    memo: member.id.to_string(),
                })
                .collect(),
            Act::Register => {
                let deposit = self.deposit(token).await?;
                pairs.map(|(_, account)| BatchAction::Register { account, deposit }).collect()
            }
        };
        if !replaces {
            let fits = self.affordable(token, &actions).await?;
            actions.truncate(fits);
        }
        let gas = token.gas(actions.len());
        Ok(Draft { receiver: &token.token.contract, actions, gas })
    }

    /// The account of a member, where it is one that the relay can pay from its own.
    fn receiver(&self, member: &Record) -> Result<Arc<str>, &'static str> {
        let (source, target) = (member.source(), member.target());
        let own = System::Chain(self.settings.chain);
        if source.system != own || target.system != own {
            return Err("OTHER_CHAIN");
        }
        if source.account != Account::Named(self.settings.account.clone()) {
            return Err("OTHER_SOURCE");
        }
        match &target.account {
            Account::Named(name) if is_account_id(name) => Ok(name.clone()),
            Account::Named(_) | Account::User(_) | Account::Unnamed => Err("NO_ACCOUNT"),
        }
    }

    /// How many of these payments, from the first, the relay's balance is enough for. What was sent and is
    /// not final yet is not counted: a batch that it is too small for fails as a whole, and pays nothing.
    async fn affordable(
        &self,
        token: &TokenState,
        actions: &[BatchAction],
    ) -> Result<usize, Unsigned> {
        if !actions.iter().any(|action| matches!(action, BatchAction::Pay { .. })) {
            return Ok(actions.len());
        }
        let contract = &token.token.contract;
        let all = actions.iter().fold(0_u128, |sum, action| match action {
            BatchAction::Pay { amount, .. } => sum.saturating_add(*amount),
            BatchAction::Register { .. } | BatchAction::Nothing => sum,
        });
        let call = token_balance(contract, &self.settings.account);
        let balance = self.rpc.balance(&call, all).await?.ok_or(Cause::of("NO_ACCOUNT"))?;
        let (chain, asset) = (self.settings.chain.name(), token.token.asset);
        self.meter.see(Seen::ChainBalance { chain, asset, units: balance });
        let mut left = balance;
        for (at, action) in actions.iter().enumerate() {
            let BatchAction::Pay { amount, .. } = action else { continue };
            match left.checked_sub(*amount) {
                Some(rest) => {
                    left = rest;
                    token.shortage.affords(*amount);
                }
                None if at == 0 => {
                    let facts =
                        format!("{contract}: the account has {balance}, and a payment is {amount}");
                    token.shortage.seen(balance, facts.into(), self.rests_until());
                    return Err(without(0, TREASURY_SHORT));
                }
                None => return Ok(at),
            }
        }
        Ok(actions.len())
    }

    /// When a payment that was held back for the money is tried again, in ticks.
    pub(super) fn rests_until(&self) -> u64 {
        let rests = self.settings.token_rest_ms.saturating_mul(TICKS);
        self.clock.ticks().saturating_add(rests)
    }
}

/// The act of the relay that has that name in its table, and that a request names.
pub(super) fn act_of(name: &str) -> Result<Act, Cause> {
    let named = Act::ALL.iter().find(|act| act.name() == name);
    named.copied().ok_or(Cause::of("NO_SUCH_ACT"))
}

/// An amount that a contract returned: decimal, as a text.
pub(super) fn yocto(value: &Value) -> Result<u128, Cause> {
    let amount = value.as_str().and_then(|text| text.parse().ok());
    amount.ok_or_else(|| Cause::because("BAD_REPLY", "an amount"))
}
