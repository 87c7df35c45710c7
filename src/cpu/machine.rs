//! What a sweep assumes of the machine that it runs on.

/// The instruction set of the inner loops. A value other than the plain one is made only by [`Isa::detect`], so it proves
/// that this CPU has it.
///
/// `f32::mul_add` is one instruction where the target has fused multiply-add, and a slow library call where it has not.
/// So the loops exist once for each instruction set, and without FMA a product is rounded before it is added. (Vectors of
/// 512 bits were tried: no gain, since nearly every load of a neighbour then crosses a line.)
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Isa(Kind);

/// See [`Isa`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// What every CPU of the target has, product and sum rounded separately.
    #[cfg_attr(all(target_arch = "aarch64", not(test)), expect(dead_code))]
    Plain,
    /// AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// Part of every aarch64.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Isa {
    /// No more than the target's baseline, without fused multiply-add.
    #[cfg(test)]
    pub(super) const PLAIN: Isa = Isa(Kind::Plain);

    /// The best of this CPU.
    fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return Isa(Kind::Avx2);
        }
        #[cfg(target_arch = "aarch64")]
        return Isa(Kind::Neon);
        #[cfg(not(target_arch = "aarch64"))]
        Isa(Kind::Plain)
    }

    /// Whether there is a loop that writes past the caches.
    pub(super) fn streams(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self.0 == Kind::Avx2;
        #[cfg(not(target_arch = "x86_64"))]
        false
    }

    /// Which one.
    pub(super) fn kind(self) -> Kind {
        self.0
    }
}

/// The machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machine {
    pub isa: Isa,
    /// Threads that share the work.
    pub threads: usize,
    /// What a thread may count on of the caches for the planes that it reads, in bytes: some of its own and its share of
    /// the common one.
    pub cache: usize,
    /// Size of a field, in bytes, from which on it is not expected to be in a cache when it is next read.
    pub large: usize,
    /// Length of a row, in bytes, from which on writing its whole lines past the caches is worth the trouble.
    pub long: usize,
    /// Fewest cells worth handing to a thread.
    pub least: usize,
}

impl Machine {
    /// This one. The cache sizes are not asked for but chosen such that they fit common ones.
    pub(super) fn detect() -> Self {
        Self {
            isa: Isa::detect(),
            threads: rayon::current_num_threads(),
            cache: 4 << 20,
            large: 24 << 20,
            long: 1 << 10,
            least: 8 << 10,
        }
    }
}
