//! The table of the campaign: what each receipt burns in the contract on either side.

/// A receipt in the table; gas without the fees of its actions.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) reference: u64,
    pub(crate) local: u64,
    /// What its dearest call needs where the contract's state is large.
    pub(crate) needed: u64,
    /// What the relay attaches to each call, where it sends such a receipt.
    pub(crate) attached: Option<u64>,
}

pub(crate) const HEAD: &str =
    "receipt                          near-vm    devnet   ratio   a call needs   relay attaches";

impl Row {
    pub(crate) fn text(&self) -> String {
        let attached = self.attached.map_or_else(|| "-".to_owned(), tgas);
        format!(
            "{:<30} {:>9} {:>9}   {}   {:>12}   {attached:>14}",
            self.name,
            tgas(self.reference),
            tgas(self.local),
            ratio(self.local, self.reference),
            tgas(self.needed),
        )
    }
}

/// TGas with three places, cut off.
pub(crate) fn tgas(gas: u64) -> String {
    let giga = gas.checked_div(1_000_000_000).unwrap_or(0);
    format!("{}.{:03}", giga / 1_000, giga % 1_000)
}

/// The local chain's gas in units of the reference's, with three places, rounded.
fn ratio(local: u64, reference: u64) -> String {
    if local == reference {
        return "equal".to_owned();
    }
    let doubled = u128::from(local).saturating_mul(2_000).checked_div(u128::from(reference));
    let thousandths = doubled.unwrap_or(0).saturating_add(1) / 2;
    format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000)
}
