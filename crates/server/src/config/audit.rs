//! `[audit]`: the interval and the key of the audit's seals.

use super::secret::Secret;
use super::section::{SettingRules, section};
use std::path::PathBuf;

section! {
    /// The record that may not be changed afterwards.
    Audit {
        /// The time between two seals, while something new is written.
        seal_interval_ms: u64 = 10_000,
        /// The key of the seals, at least 32 bytes; empty takes the generated one in `data.dir`, which every process that may change the folder can read.
        mac_secret: Secret = Secret::default(),
        /// The same in a file that others may not read: 32 bytes, or a line of at least 32 characters.
        mac_secret_file: PathBuf = PathBuf::new(),
        /// Files of the keys that sealed before this one, the newest first; they verify older seals. The generated key is `audit.key` in the `data.dir` of the process that sealed.
        former_mac_secret_files: Vec<String> = Vec::new(),
        /// Start although the newest seal is of a key that is named nowhere, since that key is lost. `portage audit verify` calls its seals forged.
        accept_unknown_seals: bool = false,
    }
}

impl Audit {
    pub(super) fn rules(&self, rules: &mut SettingRules) {
        rules.need("audit.seal_interval_ms", self.seal_interval_ms > 0, "above 0");
        let secret = self.mac_secret.reveal().len();
        rules.need(
            "audit.mac_secret",
            secret == 0 || secret >= 32,
            "at least 32 bytes, or empty for the generated key",
        );
        rules.need(
            "audit.mac_secret_file",
            secret == 0 || self.mac_secret_file.as_os_str().is_empty(),
            "empty where audit.mac_secret is set: one of the two is the key",
        );
    }
}
