//! The campaign: every receipt on both sides, compared as soon as it is executed.

use crate::fees;
use crate::local::Local;
use crate::receipt::{Call, Effect, Executed};
use crate::reference::{Burnt, Reference};
use crate::relay::{attached, needed};
use crate::scenario::{self, Caller, Nearness, Step};
use crate::table::{HEAD, Row, tgas};
use near_parameters::ExtCosts;

/// How far the local chain's gas may be from the reference's, in thousandths of the reference.
///
/// Fourteen is what the mean price of an instruction costs (`devnet`, `contract/wasm/host.rs`). Twenty is 0.015
/// TGas of a transfer, a twentieth of what the relay's three TGas leave over what a call needs, so that no
/// figure of the relay would be another with the exact ones.
const TOLERANCE: u64 = 20;
/// The same for a call that is nearly all loops.
const ROUGH: u64 = 100;
/// The receiver of the payment that is given just enough gas, and just too little.
const PAID: &str = "alice.devnet";

struct Campaign {
    local: Local,
    reference: Reference,
    faults: Vec<String>,
    /// The most that a call of the relay needs.
    most: u64,
}

/// Executes everything, prints the table, and gives the differences.
pub(crate) fn run() -> Result<Vec<String>, String> {
    let local = Local::start()?;
    let token = local.token.clone();
    let reference = Reference::new(&token, local.storage_usage(), local.balance());
    let mut campaign = Campaign { local, reference, faults: Vec::new(), most: 0 };
    println!(
        "gas burnt in the contract, in TGas (the fees of actions are compared and not shown)\n\n{HEAD}"
    );
    for step in scenario::steps() {
        campaign.step(&step)?;
    }
    campaign.views()?;
    campaign.limits()?;
    campaign.print_room();
    Ok(campaign.faults)
}

impl Campaign {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        let (reference, burnt, local) = self.apply(step.caller, &step.calls)?;
        let begun = step.calls.get(..burnt.len()).unwrap_or(&step.calls);
        let fees = fees::of_receipt(&self.reference.config, begun);
        let dearest = burnt.iter().map(|call| needed(*call)).fold(0, most);
        let row = Row {
            name: step.name,
            reference: reference.gas_burnt.saturating_sub(fees),
            local: local.gas_burnt.saturating_sub(fees),
            needed: dearest,
            attached: step.of_relay.then(|| attached(step.calls.len())),
        };
        println!("{}", row.text());
        self.compare(step, &row, &reference.effect, &local.effect);
        if let Some(attached) = row.attached {
            self.most = most(self.most, row.needed);
            if row.needed > attached {
                let (needed, attached) = (tgas(row.needed), tgas(attached));
                self.fault(
                    step.name,
                    &format!("needs {needed} TGas, the relay attaches {attached}"),
                );
            }
        }
        Ok(())
    }

    fn apply(
        &mut self,
        caller: Caller,
        calls: &[Call],
    ) -> Result<(Executed, Vec<Burnt>, Executed), String> {
        let wallet = match caller {
            Caller::Owner => &self.local.owner,
            Caller::Relay => &self.local.relay,
        };
        let (reference, burnt) = self.reference.apply(wallet, calls)?;
        let local = self.local.apply(wallet, calls)?;
        Ok((reference, burnt, local))
    }

    fn compare(&mut self, step: &Step, row: &Row, reference: &Effect, local: &Effect) {
        if reference.end.is_ok() != step.succeeds {
            let end = shown(reference);
            self.fault(step.name, &format!("the scenario expects another end: {end}"));
        }
        for what in differences(reference, local) {
            self.fault(step.name, &what);
        }
        let far = match step.nearness {
            Nearness::Equal => row.reference != row.local,
            Nearness::Near => is_far(row, TOLERANCE),
            Nearness::Rough => is_far(row, ROUGH),
        };
        if far {
            let (reference, local) = (row.reference, row.local);
            self.fault(step.name, &format!("near-vm burns {reference} gas, devnet {local}"));
        }
    }

    /// The views without a transaction: only the value is seen from outside.
    fn views(&mut self) -> Result<(), String> {
        for call in scenario::views_alone() {
            let (reference, local) = (self.reference.view(&call)?, self.local.view(&call));
            if reference != local {
                let what = format!("a view: near-vm says {reference:?}, devnet {local:?}");
                self.fault(call.method, &what);
            }
        }
        // one that asks who called, which no view may
        let call = scenario::mint();
        match (self.reference.view(&call)?, self.local.view(&call)) {
            (Err(reference), Err(local)) if local.contains(&reference) => {}
            (reference, local) => {
                let what = format!("as a view: near-vm says {reference:?}, devnet {local:?}");
                self.fault(call.method, &what);
            }
        }
        Ok(())
    }

    /// A call that gets as much gas as it burns, with and without the tolerance.
    fn limits(&mut self) -> Result<(), String> {
        for (name, call) in [
            ("just too little gas for ft_transfer", scenario::payment(PAID, "1", attached(1))),
            (
                "just too little gas for storage_deposit",
                scenario::registration("carol.devnet", attached(1)),
            ),
        ] {
            let (_, burnt) =
                self.reference.clone().apply(&self.local.relay, std::slice::from_ref(&call))?;
            let burnt = burnt.first().map_or(0, |call| call.gas);
            let less =
                Call { gas: burnt.saturating_sub(allowance(burnt, TOLERANCE)), ..call.clone() };
            let more = Call { gas: burnt.saturating_add(allowance(burnt, TOLERANCE)), ..call };
            for (enough, call) in [(false, less), (true, more)] {
                let (reference, _, local) = self.apply(Caller::Relay, &[call])?;
                if reference.effect.end.is_ok() != enough {
                    self.fault(name, &format!("near-vm: {}", shown(&reference.effect)));
                }
                for what in differences(&reference.effect, &local.effect) {
                    self.fault(name, &what);
                }
            }
        }
        Ok(())
    }

    fn print_room(&self) {
        let least = attached(100);
        let costs = &self.reference.config.wasm_config.ext_costs;
        let byte = ExtCosts::contract_loading_bytes.gas(costs).as_gas();
        let room = least.saturating_sub(self.most).checked_div(byte).unwrap_or(0) / 1_000;
        let (most, least) = (tgas(self.most), tgas(least));
        println!(
            "\nof {least} TGas a call needs {most} at most: the contract may be {room} KB larger"
        );
    }

    fn fault(&mut self, name: &str, what: &str) {
        self.faults.push(format!("{name}: {what}"));
    }
}

/// Everything but the gas in which the two sides differ.
fn differences(reference: &Effect, local: &Effect) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |what: &str, reference: String, local: String| {
        if reference != local {
            found.push(format!("{what}: near-vm {reference}, devnet {local}"));
        }
    };
    compare("end", shown(reference), shown(local));
    compare("logs", reference.logs.join("\n"), local.logs.join("\n"));
    let only = |one: &Effect, other: &Effect| {
        one.stored
            .iter()
            .filter(|row| !other.stored.contains(row))
            .cloned()
            .collect::<Vec<_>>()
            .join(" ")
    };
    compare("stored", only(reference, local), only(local, reference));
    compare("bytes", reference.storage_usage.to_string(), local.storage_usage.to_string());
    compare("balance", reference.balance.to_string(), local.balance.to_string());
    found
}

fn shown(effect: &Effect) -> String {
    match &effect.end {
        Ok(value) => format!("`{}`", value.escape_ascii()),
        Err((index, text)) => format!("call {index} fails: {text}"),
    }
}

fn is_far(row: &Row, tolerance: u64) -> bool {
    row.reference.abs_diff(row.local) > allowance(row.reference, tolerance)
}

fn allowance(gas: u64, tolerance: u64) -> u64 {
    gas.saturating_mul(tolerance) / 1_000
}

fn most(one: u64, other: u64) -> u64 {
    if one > other { one } else { other }
}
