//! Signs the form of an attempt, for gatherers and provers. It takes a ticket and asks the controls first.
//! It does not trust the chain port: it compares what the signed form pays with the members before the form
//! is stored.

use crate::chains::ChainPool;
use crate::chains::Chains;
use crate::controls::outstanding_calls::{CallStart, Ticket};
use crate::plan::planner::Plan;
use crate::state::select::caught;
use kernel::answer::Cause;
use kernel::attempt::{Attempt, Purpose};
use kernel::flow::life::{Leg, Side};
use kernel::flow::table::A;
use kernel::ids::{ChainId, FlowId, Id};
use kernel::ports::chain::{Payment, SignRequest, Signed, Unsigned};
use kernel::record::{Account, Record};
use std::collections::BTreeSet;

/// Why there is no form.
#[derive(Debug)]
pub(crate) enum NoForm {
    /// Nothing may be signed now.
    Stopped,
    /// The port did not sign.
    Unsigned(Unsigned),
    /// What it signed pays something else.
    Mismatch(String),
}

impl Chains {
    /// A ticket that says that forms of these transfers are signed or sent, for as long as it lives.
    pub(crate) fn form_ticket(
        &self,
        chain: ChainId,
        flows: BTreeSet<FlowId>,
        moves: Vec<(Id, Leg)>,
    ) -> Ticket {
        let flows = flows.into_iter().collect();
        self.shared.calls.begin(CallStart::Form(chain, flows, moves.into()))
    }

    /// Signs for these members, or takes the lock without a payment, and checks that the form pays what it
    /// should.
    pub(crate) async fn sign(
        &self,
        pool: &ChainPool,
        flow: FlowId,
        act: A,
        request: &SignRequest,
    ) -> Result<Signed, NoForm> {
        // the ticket first: a task that stops money finds every form that began before
        let moves = self.shared.plan.moves(act, &request.members);
        let ticket = self.form_ticket(pool.id(), [flow].into(), moves);
        if !self.shared.controls.sends(flow, pool.id()) {
            return Err(NoForm::Stopped);
        }
        let signed = caught(async { pool.port.sign(request).await }).await;
        drop(ticket);
        let signed = signed.ok_or_else(|| NoForm::Unsigned(Cause::of("PANIC").into()))?;
        let signed = signed.map_err(NoForm::Unsigned)?;
        match self.shared.plan.mismatch(act, request, &signed) {
            Some(why) => Err(NoForm::Mismatch(why)),
            None => Ok(signed),
        }
    }
}

impl Plan {
    /// How the signed form differs from the request. `None`: it pays each member, from the first on, its
    /// own account and amount, or makes no payment where it only takes the lock.
    pub(crate) fn mismatch(
        &self,
        act: A,
        request: &SignRequest,
        signed: &Signed,
    ) -> Option<String> {
        let Signed { form, pays } = signed;
        if form.purpose != request.purpose {
            return Some(format!(
                "{:?} was asked for, and {:?} was signed",
                request.purpose, form.purpose
            ));
        }
        if form.name.is_empty() || request.forms.iter().any(|before| before.name == form.name) {
            return Some("the form has no name of its own".to_owned());
        }
        let members = &request.members;
        match request.purpose {
            Purpose::Void if pays.is_empty() => None,
            Purpose::Void => {
                Some(format!("a form that should make no payment makes {} payments", pays.len()))
            }
            Purpose::Pay if pays.is_empty() || pays.len() > members.len() => {
                Some(format!("{} payments for {} members", pays.len(), members.len()))
            }
            // it replaces one that pays all
            Purpose::Pay if !request.forms.is_empty() && pays.len() != members.len() => Some(
                format!("{} payments for {} members under one lock", pays.len(), members.len()),
            ),
            Purpose::Pay => {
                let pairs = members.iter().zip(pays);
                pairs.filter_map(|(member, pay)| self.underpaid(act, member, pay)).next()
            }
        }
    }

    /// The act of an attempt.
    pub(crate) fn act_of(&self, attempt: &Attempt) -> Option<A> {
        self.table(attempt.flow).makes(attempt.state)
    }

    /// The legs that an act moves, of each of these records by its own flow's table.
    pub(crate) fn moves(&self, act: A, records: &[Record]) -> Vec<(Id, Leg)> {
        let of = |record: &Record| {
            let leg = self.table(record.flow).act(act).leg?;
            Some((record.id, leg))
        };
        records.iter().filter_map(of).collect()
    }

    /// The legs that an attempt moves of its members, by the act of the state in which they stand: a chain
    /// carries refunds beside payments, and attempts of several flows.
    pub(crate) fn moves_in(&self, attempt: &Attempt) -> Vec<(Id, Leg)> {
        let act = self.act_of(attempt);
        act.map_or_else(Vec::new, |act| self.moves(act, &attempt.members))
    }

    /// How a payment differs from what its member says.
    pub(crate) fn underpaid(&self, act: A, record: &Record, pay: &Payment) -> Option<String> {
        let row = self.table(record.flow).act(act);
        // a move has both sides in one system: whichever side its table names, the target is paid
        let party = match (row.leg, row.side) {
            (Some(Leg::Move), _) | (_, Side::Target) => record.target(),
            (_, Side::Source) => record.source(),
        };
        let moved = row.share.and_then(|share| record.share(share));
        let paid = (pay.asset, pay.amount);
        // it goes to an account of ours, which no terms name: the chain's settings do
        let ours = match row.leg {
            Some(Leg::Quarantine) => true,
            Some(
                Leg::Withdraw | Leg::Deposit | Leg::Settle | Leg::Refund | Leg::Move | Leg::Cost,
            )
            | None => false,
        };
        let to_whom =
            if ours { is_quarantine(record, &pay.account) } else { pay.account == party.account };
        // a cost of ours moves none of the transfer's money
        let right = moved.is_none_or(|moved| moved == paid) && to_whom;
        (!right).then(|| {
            let (asset, amount) = moved.unwrap_or(paid);
            let whom =
                if ours { "an account of ours".to_owned() } else { party.account.to_string() };
            format!(
                "{} should pay {} of asset {} to {whom}, and the form pays {} of asset {} to {}",
                record.id, amount.0, asset.0, pay.amount.0, pay.asset.0, pay.account
            )
        })
    }
}

/// True for an account that a quarantine may pay: it has a name, and is neither party's own.
fn is_quarantine(record: &Record, account: &Account) -> bool {
    let [source, target] = record.terms.parties();
    let own = [&source.account, &target.account, &Account::Unnamed];
    !own.contains(&account)
}
