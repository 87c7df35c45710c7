//! Random choices that are the same on every machine, spread evenly.

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `n` − 1.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// A whole number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as usize) as i64
    }

    /// A number in [−1, 1) that needs more bits than either type has to spare.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    pub fn pick<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())].clone()
    }
}

/// Choices that all come up equally often: cards are drawn until none is left, then shuffled anew.
pub struct Deck<T> {
    cards: Vec<T>,
    left: Vec<usize>,
}

impl<T: Clone> Deck<T> {
    pub fn new(cards: &[T]) -> Self {
        Self {
            cards: cards.to_vec(),
            left: Vec::new(),
        }
    }

    pub fn draw(&mut self, random: &mut Random) -> T {
        if self.left.is_empty() {
            self.left = (0..self.cards.len()).collect();
        }
        let card = self.left.swap_remove(random.below(self.left.len()));
        self.cards[card].clone()
    }
}
