//! What a swap costs, and what its receiver gets: worked out once, when the deposit is opened. Amounts are in base
//! units; both assets of a swap have the same number of decimal places.

use kernel::money::Amount;
use std::fmt::{self, Display, Formatter};

/// One whole in basis points.
const WHOLE: u128 = 10_000;

/// The prices of one direction, which fit together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwapFees {
    flat: Amount,
    basis_points: u16,
    refund: Amount,
    minimum: Amount,
}

/// The prices as they are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwapPrices {
    /// Kept of each swap (`FLAT_FEE_USDD` and `FLAT_FEE_USDC` of the source).
    pub flat: Amount,
    /// Kept of each swap besides, by its amount, in hundredths of a percent (`DYNAMIC_FEE_BPS`).
    pub basis_points: u16,
    /// Kept where the money is given back (`FLAT_FEE_USDD`, `NEXUS_CONGESTION_FEE_USDD`).
    pub refund: Amount,
    /// The smallest deposit that is swapped or given back (`MIN_DEPOSIT_USDC`, `MIN_CREDIT_USDD`).
    pub minimum: Amount,
}

/// What is agreed of a deposit when it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SwapQuote {
    /// What is kept of the swap.
    pub fee: Amount,
    /// What the receiver gets.
    pub net: Amount,
    /// What is kept where the money is given back.
    pub refund_fee: Amount,
}

/// Why prices are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceFault {
    /// The share of an amount is not below the whole of it.
    BasisPoints,
    /// A minimum that is not above twice each fee: most of such a deposit would be kept, or all of it.
    Minimum,
}

impl Display for PriceFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BasisPoints => "the fee in basis points is not below 10000",
            Self::Minimum => {
                "the smallest amount is not above twice the flat fee and twice the refund fee"
            }
        })
    }
}

impl SwapFees {
    /// USDC on Solana for USDD on Nexus, by the source's defaults, in units of 0.000001.
    pub const SWAP_IN: SwapPrices = SwapPrices {
        flat: Amount(100_000),
        basis_points: 10,
        refund: Amount(100_000),
        minimum: Amount(200_001),
    };
    /// USDD on Nexus for USDC on Solana, by the source's defaults, in units of 0.000001.
    pub const SWAP_OUT: SwapPrices = SwapPrices { refund: Amount(10_000), ..Self::SWAP_IN };

    /// Prices that fit together.
    ///
    /// # Errors
    /// The share takes all, or the minimum is not above twice each fee.
    pub fn new(prices: SwapPrices) -> Result<Self, PriceFault> {
        let SwapPrices { flat, basis_points, refund, minimum } = prices;
        if u128::from(basis_points) >= WHOLE {
            return Err(PriceFault::BasisPoints);
        }
        let fits = |fee: Amount| fee.plus(fee).is_some_and(|twice| minimum > twice);
        if !fits(flat) || !fits(refund) {
            return Err(PriceFault::Minimum);
        }
        Ok(Self { flat, basis_points, refund, minimum })
    }

    /// What is kept of a deposit, and what its receiver gets. The net amount is rounded down, the remainder belongs
    /// to the fee. What is below the minimum, or pays no more than its fee, is kept as a whole.
    pub fn quote(&self, amount: Amount) -> SwapQuote {
        let kept = SwapQuote { fee: amount, net: Amount::ZERO, refund_fee: amount };
        if amount < self.minimum {
            return kept;
        }
        let Some(net) = self.less_share(amount).and_then(|rest| rest.minus(self.flat)) else {
            return kept;
        };
        let Some(fee) = amount.minus(net) else { return kept };
        SwapQuote { fee, net, refund_fee: self.refund }
    }

    /// The amount less its share, rounded down. Whole parts first, so that no product overflows.
    fn less_share(&self, Amount(amount): Amount) -> Option<Amount> {
        let rest = WHOLE.checked_sub(u128::from(self.basis_points))?;
        let whole = amount.checked_div(WHOLE)?.checked_mul(rest)?;
        let part = amount.checked_rem(WHOLE)?.checked_mul(rest)?.checked_div(WHOLE)?;
        whole.checked_add(part).map(Amount)
    }
}

#[cfg(test)]
mod tests {
    use super::{PriceFault, SwapFees, SwapPrices, SwapQuote};
    use kernel::money::Amount;

    fn quote(prices: SwapPrices, amount: u128) -> [u128; 3] {
        let SwapQuote { fee, net, refund_fee } =
            SwapFees::new(prices).expect("they fit").quote(Amount(amount));
        [fee.0, net.0, refund_fee.0]
    }

    /// Turns red where the remainder goes to the receiver, or a refund is given back less the whole fee.
    #[test]
    fn a_swap_costs_its_flat_fee_and_a_share() {
        for (amount, expected) in [
            (1_000_000, [101_000, 899_000, 100_000]),
            (1_000_001, [101_001, 899_000, 100_000]),
            (200_001, [100_201, 99_800, 100_000]),
            // the published service paid a part of a unit for 100 101
            (200_000, [200_000, 0, 200_000]),
            (1, [1, 0, 1]),
            (0, [0, 0, 0]),
        ] {
            assert_eq!(quote(SwapFees::SWAP_IN, amount), expected, "{amount}");
        }
        assert_eq!(quote(SwapFees::SWAP_OUT, 1_000_000), [101_000, 899_000, 10_000]);
    }

    #[test]
    fn nothing_is_lost_or_made_by_rounding() {
        let prices = SwapPrices { basis_points: 9_999, ..SwapFees::SWAP_IN };
        for amount in [200_001, 999_999_999, u128::from(u64::MAX), u128::MAX] {
            for prices in [SwapFees::SWAP_IN, prices] {
                let [fee, net, _] = quote(prices, amount);
                assert_eq!(fee.checked_add(net), Some(amount));
                let share = u128::from(prices.basis_points);
                assert!(net <= amount / 10_000 * (10_000 - share) + 10_000, "{net} of {amount}");
            }
        }
    }

    #[test]
    fn prices_that_do_not_fit_are_refused() {
        let fault = |change: fn(&mut SwapPrices)| {
            let mut prices = SwapFees::SWAP_OUT;
            change(&mut prices);
            SwapFees::new(prices).err()
        };
        assert_eq!(fault(|_| ()), None);
        assert_eq!(fault(|prices| prices.basis_points = 10_000), Some(PriceFault::BasisPoints));
        assert_eq!(fault(|prices| prices.minimum = Amount(200_000)), Some(PriceFault::Minimum));
        assert_eq!(fault(|prices| prices.refund = Amount(100_001)), Some(PriceFault::Minimum));
        assert_eq!(fault(|prices| prices.flat = Amount(u128::MAX)), Some(PriceFault::Minimum));
    }
}
