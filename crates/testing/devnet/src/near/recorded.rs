//! Bodies of answers that nodes of NEAR gave: where each is from, `recorded/README.md` says.

macro_rules! bodies {
    ($($name:ident = $file:literal),+ $(,)?) => {
        $(pub const $name: &str = include_str!(concat!("../../recorded/", $file, ".json"));)+
    };
}

bodies! {
    STATUS = "status",
    BLOCK = "block",
    CHUNK = "chunk",
    TRANSACTION = "transaction",
    TRANSACTION_WITH_RECEIPTS = "transaction_with_receipts",
    ACCESS_KEY = "access_key",
    ACCESS_KEYS = "access_keys",
    ACCOUNT = "account",
    VIEW = "view",
    PROTOCOL_CONFIG = "protocol_config",
    INVALID_NONCE = "invalid_nonce",
    EXPIRED = "expired",
}
