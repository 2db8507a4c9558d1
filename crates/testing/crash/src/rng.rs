//! Random numbers from a seed.

/// `SplitMix64`: small, and good enough to choose with.
#[derive(Debug, Clone)]
pub struct Rng(pub u64);

impl Rng {
    /// The next number of the sequence.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`; 0 where that is 0.
    pub const fn below(&mut self, end: u64) -> u64 {
        let drawn = self.next();
        if end == 0 { 0 } else { drawn % end }
    }

    /// True `n` times in 100.
    pub const fn percent(&mut self, n: u64) -> bool {
        self.below(100) < n
    }

    /// One of several; `None` of none.
    pub fn one<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        let len = u64::try_from(of.len()).unwrap_or(u64::MAX);
        of.get(usize::try_from(self.below(len)).unwrap_or_default())
    }

    /// All of them in an order to take from its end: these first ones as they are, the others by chance.
    pub fn order<T: Copy>(&mut self, first: &[T], others: &[T]) -> Vec<T> {
        let (mut left, mut order) = (others.to_vec(), Vec::new());
        while !left.is_empty() {
            let at = self.below(u64::try_from(left.len()).unwrap_or(1));
            order.push(left.swap_remove(usize::try_from(at).unwrap_or_default()));
        }
        order.extend(first.iter().rev());
        order
    }

    /// Another row of numbers, for another caller.
    pub const fn fork(&mut self) -> Self {
        Self(self.next())
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn an_order_has_each_once_and_begins_as_it_is_said() {
        let mut order = Rng(5).order(&[1, 2], &[3, 4, 5]);
        assert_eq!((order.pop(), order.pop()), (Some(1), Some(2)));
        order.sort_unstable();
        assert_eq!(order, [3, 4, 5]);
    }
}
