//! Signs the forms of attempts: it chooses the priority fee, writes the transaction, and reads back from the bytes what
//! they pay. It sends nothing, and what it reads of the chain decides only whether it signs, and which of a wallet's
//! accounts is paid.

use super::SolanaLink;
use super::concerns::{FEES_LOW, TREASURY_SHORT, VAULT_FROZEN};
use super::payments::{ExpectedPayment, memo};
use super::receivers::PaidAccount;
use super::snapshot::{RECENT, VaultView, VaultViews};
use super::tx::{
    Content, FormDraft, TokenPayment, address_of, lock_of, message, nonce_of, read_form,
    with_signature,
};
use crate::rest::SignTurn;
use crate::rpc::{Division, PROVIDERS_DISAGREE, division};
use kernel::answer::Cause;
use kernel::attempt::{Form, Purpose};
use kernel::ports::chain::{FOREIGN_FORM, Payment, SignRequest, Signed, Unsigned};
use kernel::ports::meter::Seen;
use kernel::record::Record;

/// The compute units that a payment may use: about twice what the advance, the transfer and the longest memo use. The
/// priority fee is paid for all of them.
const COMPUTE_UNITS: u32 = 100_000;
/// The same of one that creates its receiver's account.
const CREATING_UNITS: u32 = 160_000;

/// The member cannot be signed for; the others go on without it.
fn without(cause: Cause) -> Unsigned {
    Unsigned { cause, culprit: Some(0) }
}

impl SolanaLink {
    pub(super) async fn sign(&self, request: &SignRequest) -> Result<Signed, Unsigned> {
        if !self.has_key() || !self.lanes.contains(&request.lane) {
            return Err(Cause::of("NO_KEY").into());
        }
        let is_new = request.forms.is_empty() && request.purpose == Purpose::Pay;
        let turn = match is_new {
            // one that replaces another is never held back: its member has nothing else
            false => SignTurn::All,
            true => self.rest.turn(self.clock.ticks(), self.settings.rest_ms),
        };
        if turn == SignTurn::Wait {
            return Err(Cause::of("TOKEN_RESTS").into());
        }
        let signed = self.signed_in_turn(request, is_new).await;
        if turn == SignTurn::One && signed.is_err() {
            self.rest.turn_back(self.clock.ticks());
        }
        signed
    }

    async fn signed_in_turn(
        &self,
        request: &SignRequest,
        is_new: bool,
    ) -> Result<Signed, Unsigned> {
        let snapshots = self.snapshot(RECENT).await?;
        self.has_fees(&snapshots)?;
        let anchor = self.lock_shown_at(request, &snapshots)?;
        let content = match request.purpose {
            Purpose::Void => Content::Void,
            Purpose::Pay => self.payment(request, &snapshots, is_new).await?,
        };
        let lane = address_of(&request.lane).ok_or(Cause::of("BAD_LANE"))?;
        let lock = nonce_of(&request.lock).ok_or(Cause::of("BAD_LOCK"))?;
        let draft = FormDraft { vault: &self.vault, lane, lock, content: &content };
        let unsigned = message(&draft)?;
        let signature = self.signer.sign(&self.vault.key.to_bytes(), &unsigned.serialize()).await?;
        let bytes = with_signature(unsigned, signature)?;
        self.signed(request, bytes, anchor)
    }

    /// The slot at which enough providers show that the lock is not spent: what they show of an earlier one says nothing of
    /// the form.
    fn lock_shown_at(&self, request: &SignRequest, snapshots: &VaultViews) -> Result<u64, Cause> {
        let is_lock = |shown: &VaultView| {
            let nonce = shown.lane(&request.lane);
            nonce.is_some_and(|nonce| *lock_of(&nonce.value).0 == *request.lock.on_chain())
        };
        let show = snapshots.iter().map(|one| &one.fact).filter(|shown| is_lock(shown));
        let slots: Vec<u64> = show.map(|shown| shown.slot).collect();
        let lowest = slots.iter().min().filter(|_| slots.len() >= self.rpc.needed());
        lowest.copied().ok_or_else(|| {
            let facts = format!("{} of {} show the lock", slots.len(), snapshots.len());
            Cause::because("LOCK_NOT_SHOWN", facts)
        })
    }

    /// The form of signed bytes, and what it pays, read out of them.
    fn signed(
        &self,
        request: &SignRequest,
        bytes: Vec<u8>,
        anchor: u64,
    ) -> Result<Signed, Unsigned> {
        let found = read_form(&self.vault, &bytes)?;
        if request.forms.iter().any(|before| *before.name == found.signature) {
            // its fee is at the cap: what would be signed again is the same
            return Err(Cause::of("SAME_FORM").into());
        }
        let pays: Vec<Payment> = match (&found.content, request.members.first()) {
            (Content::Void, _) => Vec::new(),
            (Content::Pay(payment), Some(member)) => {
                let expected = self.expected(request.act, member)?;
                if !expected.is_paid_by(&self.vault, payment) {
                    return Err(Cause::of(FOREIGN_FORM).into());
                }
                vec![expected.payment()]
            }
            (Content::Pay(_), None) => return Err(Cause::of("NO_MEMBERS").into()),
        };
        let form = Form {
            purpose: request.purpose,
            name: found.signature.as_slice().into(),
            bytes: bytes.into(),
            repeatable: true,
            expires: None,
            anchor: Some(anchor),
            reference: None,
        };
        Ok(Signed { form, pays })
    }

    /// The payment of the first member. One that replaces another pays the same to the same account.
    async fn payment(
        &self,
        request: &SignRequest,
        snapshots: &VaultViews,
        is_new: bool,
    ) -> Result<Content, Unsigned> {
        let member: &Record = request.members.first().ok_or(Cause::of("NO_MEMBERS"))?;
        let expected = self.expected(request.act, member).map_err(without)?;
        let mut before = None;
        for form in request.forms.iter().filter(|form| form.purpose == Purpose::Pay) {
            let Content::Pay(payment) = read_form(&self.vault, &form.bytes)?.content else {
                return Err(Cause::of(FOREIGN_FORM).into());
            };
            before = Some(payment);
        }
        if let Some(payment) = before {
            let twice = payment.price.saturating_mul(2);
            let most = self.settings.most_priority_fee;
            let price = if twice > most { most } else { twice };
            return Ok(Content::Pay(TokenPayment { price, ..payment }));
        }
        if is_new {
            self.can_pay(&expected, snapshots)?;
        }
        let [named, associated] = expected.destinations(&self.vault);
        let (destination, creates, units) = match self.receiver(&named, |view| view.account).await?
        {
            PaidAccount::Named => (named, None, COMPUTE_UNITS),
            PaidAccount::Associated => (associated, None, COMPUTE_UNITS),
            PaidAccount::Created => (associated, Some(named), CREATING_UNITS),
        };
        let (amount, memo) = (expected.amount, memo(request.act, member));
        let price = self.settings.priority_fee;
        Ok(Content::Pay(TokenPayment { destination, creates, amount, memo, units, price }))
    }

    /// Whether the vault can pay now: what fails spends a fee and a nonce, and pays nothing.
    fn can_pay(&self, expected: &ExpectedPayment, snapshots: &VaultViews) -> Result<(), Cause> {
        let needed = self.rpc.needed();
        let units = |shown: &VaultView| shown.token.balance_of(&self.vault.key);
        let words = |shown: &VaultView| format!("{:?}", shown.token);
        let stops = |class: &'static str, divided: Division| match divided {
            Division::No => Ok(()),
            Division::NoAgainst(facts) => {
                self.rpc.note_outvoted(&facts);
                Ok(())
            }
            Division::Split(facts) => Err(Cause::because(PROVIDERS_DISAGREE, facts)),
            Division::Yes => Err(Cause::of(class)),
            Division::YesAgainst(facts) => Err(Cause::because(class, facts)),
        };
        let unusable = division(needed, snapshots, |shown| units(shown).is_none(), words);
        stops(VAULT_FROZEN, unusable)?;
        let (chain, asset) = (self.settings.chain.name(), self.settings.asset);
        if let Some(units) = snapshots.iter().filter_map(|one| units(&one.fact)).min() {
            self.meter.see(Seen::ChainBalance { chain, asset, units: units.into() });
        }
        let is_short =
            |shown: &VaultView| units(shown).is_some_and(|units| units < expected.amount);
        stops(TREASURY_SHORT, division(needed, snapshots, is_short, words))?;
        self.concerns.clear(VAULT_FROZEN);
        self.concerns.clear(TREASURY_SHORT);
        Ok(())
    }

    /// Whether the vault's key has enough for fees.
    fn has_fees(&self, snapshots: &VaultViews) -> Result<(), Cause> {
        let floor = self.settings.fee_floor;
        let words = |shown: &VaultView| format!("{} lamports", shown.lamports);
        match division(self.rpc.needed(), snapshots, |shown| shown.lamports < floor, words) {
            Division::No | Division::NoAgainst(_) => {
                self.concerns.clear(FEES_LOW);
                Ok(())
            }
            Division::Yes | Division::YesAgainst(_) => {
                let facts = format!("the vault's key has fewer than {floor} lamports");
                Err(Cause::because(FEES_LOW, facts))
            }
            Division::Split(facts) => Err(Cause::because(PROVIDERS_DISAGREE, facts)),
        }
    }
}
