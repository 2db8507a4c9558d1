//! Computes a Merkle root over leaves that come one after the other (the tree of RFC 6962 §2.1).

use super::Hash;
use sha2::{Digest, Sha256};

/// The tree so far: the roots of its whole halves, the largest first, each with its height.
#[derive(Debug, Clone, Default)]
pub struct Merkle {
    roots: Vec<(u32, Hash)>,
}

/// A leaf and a node never share their bytes.
fn leaf(bytes: &[u8]) -> Hash {
    Sha256::new_with_prefix([0]).chain_update(bytes).finalize().into()
}

fn node(left: Hash, right: Hash) -> Hash {
    Sha256::new_with_prefix([1]).chain_update(left).chain_update(right).finalize().into()
}

impl Merkle {
    /// Adds a leaf at the end.
    pub fn push(&mut self, bytes: &[u8]) {
        let (mut height, mut hash) = (0, leaf(bytes));
        while let Some((_, left)) = self.roots.pop_if(|(other, _)| *other == height) {
            (height, hash) = (height.saturating_add(1), node(left, hash));
        }
        self.roots.push((height, hash));
    }

    /// The root over all leaves; of none, the hash of nothing.
    pub fn root(mut self) -> Hash {
        let Some((_, mut root)) = self.roots.pop() else { return Sha256::digest([]).into() };
        while let Some((_, left)) = self.roots.pop() {
            root = node(left, root);
        }
        root
    }
}

#[cfg(test)]
mod tests {
    use super::{Merkle, leaf, node};
    use crate::audit::Hash;

    /// As the RFC defines it: a tree splits at the largest power of two below its size.
    fn defined(leaves: &[[u8; 4]]) -> Hash {
        if let [only] = leaves {
            return leaf(only);
        }
        let mut half = 1;
        while half * 2 < leaves.len() {
            half *= 2;
        }
        node(defined(&leaves[..half]), defined(&leaves[half..]))
    }

    #[test]
    fn it_is_the_tree_of_the_rfc() {
        let leaves: Vec<[u8; 4]> = (0_u32..70).map(u32::to_be_bytes).collect();
        for count in 1..=leaves.len() {
            let mut merkle = Merkle::default();
            leaves[..count].iter().for_each(|leaf| merkle.push(leaf));
            assert_eq!(merkle.root(), defined(&leaves[..count]), "{count}");
        }
    }

    #[test]
    fn order_number_and_bytes_of_leaves_matter() {
        let root = |leaves: &[&[u8]]| {
            let mut merkle = Merkle::default();
            leaves.iter().for_each(|leaf| merkle.push(leaf));
            merkle.root()
        };
        let base = root(&[b"a", b"b", b"c"]);
        let others: [&[&[u8]]; 5] =
            [&[b"b", b"a", b"c"], &[b"a", b"b"], &[b"a", b"b", b"c", b"c"], &[b"ab", b"c"], &[]];
        for other in others {
            assert_ne!(root(other), base, "{other:?}");
        }
    }
}
