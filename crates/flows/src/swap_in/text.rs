//! What people read of a swap from Solana to Nexus: one sentence for each state.

use super::State;

/// The sentence of a state.
pub(super) const fn sentence(state: State) -> &'static str {
    match state {
        State::Detected => "The USDC deposit was found",
        State::AboveFees => "The USDC deposit is above the fee; its memo is read",
        State::ReadyForProcessing => {
            "The memo names a Nexus account; it and the USDD for it are being looked for"
        }
        State::Accepted => "The swap is accepted; USDD is about to be sent",
        State::Debiting => "USDD is being sent",
        State::DebitedAwaiting => "USDD was sent; its confirmation is awaited",
        State::DebitDead => "The USDD transaction can never be confirmed; nothing was paid",
        State::DebitConfirmed => "USDD is confirmed and waits for its receiver to take it",
        State::Processed => "Swap successful: the receiver has the USDD",
        State::ProcessedAsFees => "The deposit is below the minimum and is kept as fees",
        State::Expired => "The receiver did not take the USDD in time",
        State::Voiding => "The USDD that was not taken is being called back",
        State::ToBeRefunded => "The USDC is to be given back",
        State::RefundReady => "The refund of the USDC is ready",
        State::Refunding => "The USDC is being given back",
        State::RefundSent => "The refund of the USDC was sent; its confirmation is awaited",
        State::RefundConfirmed => "The USDC was given back, less the refund fee",
        State::ToBeQuarantined => "The USDC could not be given back and is held for an operator",
        State::QuarantineReady => "The USDC is about to be moved to the quarantine account",
        State::Quarantining => "The USDC is being moved to the quarantine account",
        State::Quarantined => "The USDC is in the quarantine account, held for an operator",
    }
}
