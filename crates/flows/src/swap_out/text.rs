//! What people read of a swap from Nexus to Solana: one sentence for each state.

use super::State;

/// The sentence of a state.
pub(super) const fn sentence(state: State) -> &'static str {
    match state {
        State::CreditFound => {
            "A debit of USDD to the service was found; whether it is taken in is decided"
        }
        State::CreditReady => "The USDD is about to be taken in",
        State::Crediting => "The USDD is being taken in",
        State::NotTaken => "The USDD was not taken in and stays its sender's",
        State::Detected => "The USDD is taken in",
        State::PendingReceival => "The asset that names the Solana account is awaited",
        State::TradeBalanceCheck => "No asset came in time; all assets are being read once more",
        State::ReadyForProcessing => "A Solana account is named; it and the USDC are being checked",
        State::Accepted => "The swap is accepted; USDC is about to be sent",
        State::Sending => "USDC is being sent",
        State::AwaitingConfirmation => "USDC was sent; its confirmation is awaited",
        State::PayoutDead => "The USDC transaction can never be confirmed; nothing was paid",
        State::Processed => "Swap successful: the USDC payment is final",
        State::ProcessedAsFees => "The credit is below the minimum and is kept as fees",
        State::RefundPending => "The USDD is to be given back",
        State::CollectingRefund => "The refund of the USDD is ready",
        State::Refunding => "The USDD is being given back",
        State::RefundDebited => "The refund is confirmed and waits for its receiver to take it",
        State::RefundExpired => "The receiver did not take the refund in time",
        State::RefundVoiding => "The refund that was not taken is being called back",
        State::Refunded => "The USDD was given back, less the refund fee",
        State::Held => "The USDD could not be given back and is held for an operator",
        State::QuarantineReady => "The USDD is about to be moved to the quarantine account",
        State::Quarantining => "The USDD is being moved to the quarantine account",
        State::Quarantined => "The USDD is in the quarantine account, held for an operator",
    }
}
