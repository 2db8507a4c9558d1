//! Compares each transfer with its operations: what its state demands, allows and excludes.

use super::{Break, client_key};
use crate::flow::dataflow;
use crate::flow::dataflow::ActSet;
use crate::flow::life::{Leg, Place, Share, Side, Via};
use crate::flow::table::{A, ActRow, Flows, S, Table};
use crate::ids::LedgerId;
use crate::operation::{Op, Operation, StoredOutcome};
use crate::ports::journal::Line;
use crate::record::{self, Account, Party, System};

/// What a state says of the operations behind it, by act.
#[derive(Debug)]
struct Demands {
    /// Done on some way here, or being made here.
    may_be_done: ActSet,
    /// Done on every way here, undone or not.
    must_be_done: ActSet,
    may_be_refused: ActSet,
    must_be_refused: ActSet,
}

#[derive(Debug)]
struct Law {
    table: Table,
    demands: Vec<Demands>,
}

/// What every state of every flow demands.
#[derive(Debug)]
pub struct Laws {
    laws: Vec<Law>,
    holds: Vec<LedgerId>,
}

/// What is to be done with an operation that a ledger listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matched {
    /// The journal holds a receipt of it.
    pub receipt: bool,
    /// What is wrong with it.
    pub fault: Option<Break>,
}

impl Law {
    fn of(table: &Table) -> Self {
        let (done, always_done) =
            (dataflow::ever(table, Via::Done), dataflow::always(table, Via::Done));
        let (refused, always_refused) =
            (dataflow::ever(table, Via::Rejected), dataflow::always(table, Via::Rejected));
        let demands = |s: S| {
            let makes: ActSet = table.makes(s).into_iter().collect();
            Demands {
                may_be_done: done.at(s).union(&makes).copied().collect(),
                must_be_done: always_done.at(s).clone(),
                may_be_refused: refused.at(s).union(&makes).copied().collect(),
                must_be_refused: always_refused.at(s).clone(),
            }
        };
        Self { table: table.clone(), demands: table.all().map(demands).collect() }
    }

    /// The act of a transfer that has this leg at this ledger.
    fn act(&self, line: &Line, ledger: LedgerId, leg: Leg) -> Option<A> {
        let mine = |row: &ActRow| {
            row.leg == Some(leg) && party(line, row.side).system == System::Ledger(ledger)
        };
        (0..).zip(&self.table.acts).find(|(_, row)| mine(row)).map(|(act, _)| act)
    }

    /// The ledger and leg at which an act is made; `None` for a question, or on a chain.
    fn place(&self, line: &Line, act: A) -> Option<(LedgerId, Leg)> {
        let row = self.table.act(act);
        match party(line, row.side).system {
            System::Ledger(ledger) => Some((ledger, row.leg?)),
            System::Chain(_) => None,
        }
    }
}

impl Laws {
    /// The laws of these flows. `holds`: the ledgers where a withdraw only holds, so that a settle
    /// goes with the unit that brings the money to its target.
    pub fn of(flows: &Flows, holds: Vec<LedgerId>) -> Self {
        Self { laws: flows.0.iter().map(Law::of).collect(), holds }
    }

    /// Whether a settle belongs to a transfer in this state, at this ledger.
    fn settles(&self, law: &Law, line: &Line, ledger: LedgerId) -> bool {
        line.source.system == System::Ledger(ledger)
            && self.holds.contains(&ledger)
            && law.table.state(line.state).money == Place::AtTarget
    }

    fn of_line(&self, line: &Line) -> Option<(&Law, &Demands)> {
        let law = self.laws.get(usize::from(line.flow.0))?;
        Some((law, law.demands.get(usize::from(line.state))?))
    }

    /// True where nothing happens to the transfer any more.
    pub fn ended(&self, line: &Line) -> bool {
        self.of_line(line).is_some_and(|(law, _)| law.table.ends(line.state))
    }

    /// What is wrong with an operation of a transfer, wherever it is stored.
    fn wrong(&self, line: &Line, ledger: LedgerId, op: &Operation) -> Option<String> {
        let (law, demands) = self.of_line(line)?;
        let leg = op.op.key.leg;
        let act = law.act(line, ledger, leg);
        let (side, share, may_be_done, may_be_refused) = match act {
            Some(act) => (
                law.table.act(act).side,
                law.table.act(act).share,
                demands.may_be_done.contains(&act),
                demands.may_be_refused.contains(&act),
            ),
            None if leg == Leg::Settle => {
                (Side::Source, Some(Share::Gross), self.settles(law, line, ledger), false)
            }
            None => return Some("the transfer has no such leg there".to_owned()),
        };
        let (allowed, word) = match op.outcome {
            StoredOutcome::Done => (may_be_done, "done"),
            StoredOutcome::Rejected(_) | StoredOutcome::Fenced => (may_be_refused, "refused"),
        };
        if !allowed {
            let name = law.table.state(line.state).name;
            return Some(format!("it is {word}, which {name} excludes"));
        }
        // a fence knows only the key
        if op.outcome == StoredOutcome::Fenced { None } else { differs(line, side, share, &op.op) }
    }

    /// A transfer has exactly the operations that its state demands, each with its own amount, asset
    /// and account, and its client's key names it. An operation and the state that it leads to are one
    /// write, as a transfer and the row of its key are, so this holds at every instant of the journal,
    /// in every state.
    pub fn line(&self, line: &Line) -> Vec<Break> {
        let Some((law, demands)) = self.of_line(line) else {
            return vec![broken(line, None, "no such flow or state".to_owned())];
        };
        let mut breaks: Vec<Break> = client_key::of_line(line).into_iter().collect();
        for (ledger, op) in &line.operations {
            if let Some(what) = self.wrong(line, *ledger, op) {
                breaks.push(broken(line, Some((*ledger, op.op.key.leg)), what));
            }
        }
        let stored = |place: (LedgerId, Leg), done: bool| {
            line.operations.iter().any(|(ledger, op)| {
                (*ledger, op.op.key.leg) == place && (op.outcome == StoredOutcome::Done) == done
            })
        };
        let mut demanded = Vec::new();
        for (acts, done) in [(&demands.must_be_done, true), (&demands.must_be_refused, false)] {
            demanded.extend(acts.iter().filter_map(|a| law.place(line, *a)).map(|at| (at, done)));
        }
        if let System::Ledger(source) = line.source.system
            && self.settles(law, line, source)
        {
            demanded.push(((source, Leg::Settle), true));
        }
        for (place, done) in demanded {
            if !stored(place, done) {
                let word = if done { "done" } else { "refused" };
                let name = law.table.state(line.state).name;
                breaks.push(broken(
                    line,
                    Some(place),
                    format!("{name}, and nothing says it was {word}"),
                ));
            }
        }
        breaks
    }

    /// An operation that a ledger listed belongs to a transfer that claimed it, with the same amount,
    /// asset and account, in a state that does not exclude it; its receipt says the same. Without
    /// one it waits, but only where its call is still open. `line` was read after the list.
    pub fn effect(&self, ledger: LedgerId, op: &Operation, line: Option<&Line>) -> Matched {
        let Some(line) = line else {
            let (key, amount) = unclaimed(ledger, op);
            let what = format!("{key}: the ledger has it, and there is no such transfer");
            return Matched { receipt: false, fault: Some(Break { key, amount, what }) };
        };
        let place = (ledger, op.op.key.leg);
        let receipt = line.operations.iter().find(|(at, stored)| (*at, stored.op.key.leg) == place);
        let fault = self.of_line(line).map_or_else(
            || Some("no such flow or state".to_owned()),
            |(law, _)| match receipt {
                Some((_, stored)) if !same(stored, op) => {
                    Some(format!("its receipt is {stored}; the ledger has {op}"))
                }
                Some(_) => self.wrong(line, ledger, op),
                None => {
                    let act = law.act(line, ledger, op.op.key.leg);
                    let open = act.is_some() && act == law.table.makes(line.state);
                    let name = law.table.state(line.state).name;
                    let closed = || (!open).then(|| format!("{name}, and no receipt of it"));
                    self.wrong(line, ledger, op).or_else(closed)
                }
            },
        );
        let fault =
            fault.map(|what| Break { amount: signed(op), ..broken(line, Some(place), what) });
        Matched { receipt: receipt.is_some(), fault }
    }
}

const fn party(line: &Line, side: Side) -> &Party {
    match side {
        Side::Source => &line.source,
        Side::Target => &line.target,
    }
}

/// What an operation has otherwise than its transfer.
fn differs(line: &Line, side: Side, share: Option<Share>, op: &Op) -> Option<String> {
    let other: Option<&Account> = (op.key.leg == Leg::Move).then_some(match side {
        Side::Source => &line.target.account,
        Side::Target => &line.source.account,
    });
    let account = &party(line, side).account;
    let parties = [&line.source, &line.target];
    let moves = share.and_then(|part| record::share(part, parties, line.refund_fee));
    let Some((asset, amount)) = moves else {
        return Some(format!("its amount is {}, the transfer's none", op.amount));
    };
    if amount != op.amount {
        Some(format!("its amount is {}, the transfer's {amount}", op.amount))
    } else if op.asset != asset {
        Some(format!("its asset is {}, the transfer's {asset}", op.asset))
    } else if op.account != *account || op.other.as_ref() != other {
        Some(format!("its account is {}, the transfer's {account}", op.account))
    } else {
        None
    }
}

/// Whether a receipt says what the ledger says. A fence knows only the key, and a journal keeps a
/// refusal by its code.
pub fn same(receipt: &Operation, op: &Operation) -> bool {
    let outcomes = match (&receipt.outcome, &op.outcome) {
        (StoredOutcome::Done, StoredOutcome::Done) => receipt.op == op.op,
        (StoredOutcome::Rejected(kept), StoredOutcome::Rejected(said)) => {
            kept.code == said.code && receipt.op == op.op
        }
        (StoredOutcome::Fenced, StoredOutcome::Fenced) => true,
        (StoredOutcome::Done | StoredOutcome::Rejected(_) | StoredOutcome::Fenced, _) => false,
    };
    outcomes && receipt.seq == op.seq
}

/// The key and the amount of the break that an operation is which no transfer claimed: what persons
/// accept, and what the adoption of a ledger then leaves out.
pub fn unclaimed(ledger: LedgerId, op: &Operation) -> (String, i128) {
    let key = format!("{}/{}/{}", op.op.key.id, ledger.name(), op.op.key.leg.name());
    (key, signed(op))
}

fn signed(op: &Operation) -> i128 {
    op.op.amount.signed().unwrap_or(i128::MAX)
}

fn broken(line: &Line, place: Option<(LedgerId, Leg)>, what: String) -> Break {
    let key = match place {
        Some((ledger, leg)) => format!("{}/{}/{}", line.id, ledger.name(), leg.name()),
        None => line.id.to_string(),
    };
    let what = format!("{key}: {what}");
    Break { key, amount: line.source.amount.signed().unwrap_or(i128::MAX), what }
}
