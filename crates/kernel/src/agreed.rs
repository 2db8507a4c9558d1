//! What is agreed for a transfer after it was opened: the party that gets the money, the amount and the
//! fee. The unit that accepts the transfer writes it once, and the hash of that unit's event covers it.

use crate::audit::hash::Hash;
use crate::ids::{AssetId, Millis};
use crate::money::Amount;
use crate::record::party::{Account, Party, System};
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::sync::Arc;

/// The version of the stored document and of its hash.
const VERSION: u8 = 1;

/// What was agreed. Never changes once it is written: from then on the target side of the transfer is
/// this one, whatever its terms said at the opening.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agreed {
    /// Who gets the money, and how much of which asset: the net amount, in base units.
    pub target: Party,
    /// What is kept as a fee, in base units of the source's asset.
    pub fee: Amount,
    /// The reference or the marker under which the payment is found at the target.
    pub reference: Option<Arc<str>>,
    /// The version of the service's terms (fees, limits) that were in force.
    pub terms_version: u32,
    /// Until when it is kept open, by the source chain's time.
    pub deadline: Option<Millis>,
}

/// The stored form. Amounts are decimal texts, so that no reader rounds them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u8,
    system: u8,
    account: String,
    asset: u32,
    amount: String,
    fee: String,
    reference: Option<Arc<str>>,
    terms_version: u32,
    deadline: Option<Millis>,
}

impl Agreed {
    /// The stored text: a JSON document, its names in alphabetical order.
    pub fn document(&self) -> String {
        let Self { target, fee, reference, terms_version, deadline } = self;
        let Party { system, account, asset, amount } = target;
        let document = json!({
            "version": VERSION,
            "system": system.code(),
            "account": account.key(),
            "asset": asset.0,
            "amount": amount.0.to_string(),
            "fee": fee.0.to_string(),
            "reference": reference.as_deref(),
            "terms_version": terms_version,
            "deadline": deadline,
        });
        document.to_string()
    }

    /// What a stored text says; `None` of any text that [`Agreed::document`] did not write.
    pub fn parse(text: &str) -> Option<Self> {
        let document: Document = serde_json::from_str(text).ok()?;
        let amount = |digits: &str| digits.parse().ok().map(Amount);
        let target = Party {
            system: System::coded(document.system),
            account: Account::parse(&document.account)?,
            asset: AssetId(document.asset),
            amount: amount(&document.amount)?,
        };
        let fee = amount(&document.fee)?;
        let Document { version, reference, terms_version, deadline, .. } = document;
        (version == VERSION).then_some(Self { target, fee, reference, terms_version, deadline })
    }

    /// The hash that the accepting event carries. Every field is preceded by its length or presence; a
    /// later field comes behind a presence byte at the end, and only where it is there.
    pub fn hash(&self) -> Hash {
        let Self { target: Party { system, account, asset, amount }, fee, .. } = self;
        let mut hash = Sha256::new_with_prefix(b"portage agreed");
        hash.update([VERSION, system.code()]);
        text(&mut hash, &account.key());
        hash.update(asset.0.to_be_bytes());
        hash.update(amount.0.to_be_bytes());
        hash.update(fee.0.to_be_bytes());
        hash.update([u8::from(self.reference.is_some())]);
        text(&mut hash, self.reference.as_deref().unwrap_or_default());
        hash.update(self.terms_version.to_be_bytes());
        hash.update([u8::from(self.deadline.is_some())]);
        hash.update(self.deadline.unwrap_or_default().to_be_bytes());
        hash.finalize().into()
    }
}

fn text(hash: &mut Sha256, text: &str) {
    hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_be_bytes());
    hash.update(text);
}

/// The target party of a transfer: as it was agreed, or, before that, as its terms say. Whatever reads a target party
/// reads it from here.
pub fn target_party<'a>(agreed: Option<&'a Agreed>, target: &'a Party) -> &'a Party {
    agreed.map_or(target, |agreed| &agreed.target)
}

#[cfg(test)]
mod tests {
    use super::Agreed;
    use crate::audit::hash::hex;
    use crate::ids::{AssetId, ChainId};
    use crate::money::Amount;
    use crate::record::party::{Account, Party, System};

    fn agreed() -> Agreed {
        Agreed {
            target: Party {
                system: System::Chain(ChainId(31)),
                account: Account::Named("8Ft…".into()),
                asset: AssetId(4),
                amount: Amount(u128::MAX),
            },
            fee: Amount(3),
            reference: Some("7".into()),
            terms_version: 2,
            deadline: Some(9),
        }
    }

    fn changes() -> Vec<fn(&mut Agreed)> {
        vec![
            |_| (),
            |agreed| agreed.target.system = System::Chain(ChainId(30)),
            |agreed| agreed.target.account = Account::Unnamed,
            |agreed| agreed.target.asset = AssetId(5),
            |agreed| agreed.target.amount = Amount(0),
            |agreed| agreed.fee = Amount(4),
            |agreed| agreed.reference = None,
            |agreed| agreed.reference = Some("".into()),
            |agreed| agreed.terms_version = 3,
            |agreed| agreed.deadline = None,
            |agreed| agreed.deadline = Some(0),
        ]
    }

    #[test]
    fn every_field_comes_back_and_changes_the_hash() {
        let mut hashes = std::collections::BTreeSet::new();
        for change in changes() {
            let mut agreed = agreed();
            change(&mut agreed);
            let text = agreed.document();
            assert_eq!(Agreed::parse(&text), Some(agreed.clone()), "{text}");
            assert!(hashes.insert(agreed.hash()), "{text}");
        }
    }

    /// The stored form of version 1, for ever.
    #[test]
    fn version_1_stays_as_it_is() {
        let text = r#"{"account":"@8Ft…","amount":"340282366920938463463374607431768211455","asset":4,"deadline":9,"fee":"3","reference":"7","system":31,"terms_version":2,"version":1}"#;
        assert_eq!(agreed().document(), text);
        assert_eq!(
            hex(&agreed().hash()),
            "46a08cb08aee8fb57f83b014de933b10cc5bc0ad484d9eab6fea4879d588744c"
        );
    }

    #[test]
    fn another_text_says_nothing() {
        let text = agreed().document();
        for (from, to) in [
            ("\"version\":1", "\"version\":2"),
            ("\"fee\":\"3\"", "\"fee\":\"3.5\""),
            ("\"account\":\"@8Ft…\"", "\"account\":\"8Ft…\""),
            ("\"deadline\":9", "\"deadline\":9,\"more\":1"),
        ] {
            let other = text.replace(from, to);
            assert_ne!(other, text, "{from}");
            assert_eq!(Agreed::parse(&other), None, "{other}");
        }
    }
}
