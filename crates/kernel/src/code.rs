//! Every code that an answer of the HTTP API may carry, in the spelling of its contract.

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// A refusal or an error, by name. Codes are added, never renamed (`spec/api.md`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Code { $($(#[$doc])* $name),* }
        impl Code {
            /// Every code, in the order of the contract's table.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
            /// The code as it is written on the wire and in the store.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
            /// The code of that spelling, where it is one of ours.
            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$name),)* _ => None }
            }
        }
    };
}

codes! {
    /// No token, or one that does not prove who calls.
    Unauthorized = "UNAUTHORIZED",
    /// A good token that does not allow this.
    Forbidden = "FORBIDDEN",
    /// Not JSON, an unknown or a missing field.
    BadRequest = "BAD_REQUEST",
    /// A create that must name its key does not.
    IdempotencyKeyRequired = "IDEMPOTENCY_KEY_REQUIRED",
    /// Not the name of an account that the chain could have, or one that must not be paid.
    InvalidReceiver = "INVALID_RECEIVER",
    /// From and to are the same account.
    SameAccount = "SAME_ACCOUNT",
    /// No such account type.
    InvalidAccountType = "INVALID_ACCOUNT_TYPE",
    /// An account type that is known and not configured.
    UnsupportedAccountType = "UNSUPPORTED_ACCOUNT_TYPE",
    /// Not a plain positive decimal.
    InvalidAmount = "INVALID_AMOUNT",
    /// More decimals than the asset has.
    PrecisionOverflow = "PRECISION_OVERFLOW",
    /// Below the asset's minimum.
    AmountTooSmall = "AMOUNT_TOO_SMALL",
    /// Above the asset's maximum.
    AmountTooLarge = "AMOUNT_TOO_LARGE",
    /// Above what the arithmetic allows for the asset.
    Overflow = "OVERFLOW",
    /// No asset has that symbol.
    InvalidAsset = "INVALID_ASSET",
    /// Body above the limit.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE",
    /// The asset is suspended or delisted.
    AssetSuspended = "ASSET_SUSPENDED",
    /// The asset may not be transferred, or not to this receiver.
    TransferNotAllowed = "TRANSFER_NOT_ALLOWED",
    /// The source account does not exist.
    SourceAccountNotFound = "SOURCE_ACCOUNT_NOT_FOUND",
    /// The target account does not exist and is not created by a transfer, or is another owner's and cannot
    /// receive this.
    TargetAccountNotFound = "TARGET_ACCOUNT_NOT_FOUND",
    /// The account is closed for ever.
    AccountClosed = "ACCOUNT_CLOSED",
    /// The accounts, or the account and the request, have two currencies.
    CurrencyMismatch = "CURRENCY_MISMATCH",
    /// The account may not pay out.
    AccountFrozen = "ACCOUNT_FROZEN",
    /// The account may neither pay out nor receive.
    AccountDisabled = "ACCOUNT_DISABLED",
    /// Less available than asked.
    InsufficientBalance = "INSUFFICIENT_BALANCE",
    /// One user's creates come faster than `limits.requests_per_second`.
    RateLimitExceeded = "RATE_LIMIT_EXCEEDED",
    /// More of one user's transfers ended without effect than `limits.refused_per_hour`.
    RefusalLimitExceeded = "REFUSAL_LIMIT_EXCEEDED",
    /// One user made `limits.transfers_per_day` transfers since midnight UTC.
    DailyLimitExceeded = "DAILY_LIMIT_EXCEEDED",
    /// The amount would pass what one user may move of the asset until midnight UTC.
    DailyAmountExceeded = "DAILY_AMOUNT_EXCEEDED",
    /// The same key with another body.
    DuplicateRequest = "DUPLICATE_REQUEST",
    /// An operator's action that cannot be done in the present state.
    NotPossible = "NOT_POSSIBLE",
    /// The proposal was decided before.
    AlreadyDecided = "ALREADY_DECIDED",
    /// Above what one person may book on a day: another person has to approve.
    SecondPersonRequired = "SECOND_PERSON_REQUIRED",
    /// Conservation is broken in ways that no resume accepted.
    BreaksNotAccepted = "BREAKS_NOT_ACCEPTED",
    /// The providers of a chain are of another one than the store is bound to.
    WrongChain = "WRONG_CHAIN",
    /// Nothing of that id that the caller may see.
    NotFound = "NOT_FOUND",
    /// The account that is named does not exist.
    AccountNotFound = "ACCOUNT_NOT_FOUND",
    /// No money moves until persons resume.
    Halted = "HALTED",
    /// The relay's account or its token's contract is not there: nothing can be paid with it.
    TokenContractInvalid = "TOKEN_CONTRACT_INVALID",
    /// Too much is open, or the store takes no more.
    Overloaded = "OVERLOADED",
    /// Our fault; the outcome is unknown.
    SystemError = "SYSTEM_ERROR",
    /// The path exists, not with this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED",
    /// The body is not declared as JSON.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE",
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Code> for std::borrow::Cow<'static, str> {
    fn from(code: Code) -> Self {
        Self::Borrowed(code.name())
    }
}
