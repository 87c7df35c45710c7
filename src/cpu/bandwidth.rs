//! How fast this machine copies: what a memory-bound sweep is held against.

use std::time::Instant;

use rayon::prelude::*;

use super::store;

/// Bytes of each of the two arrays, well past the last-level cache.
const BYTES: usize = 256 << 20;
/// Copies whose median counts.
const RUNS: usize = 7;

/// Copies 256 MiB from one array to another with all threads and gives bytes read and written over the median time, in
/// 10⁹ bytes per second. Of two ways to copy, the system's and one that writes past the caches, the faster counts. 0 where
/// there is no room for the arrays.
pub fn copy_bandwidth_gbps() -> f64 {
    let words = BYTES / size_of::<u64>();
    let (mut from, mut to) = (Vec::new(), Vec::new());
    if from.try_reserve_exact(words).is_err() || to.try_reserve_exact(words).is_err() {
        return 0.0;
    }
    // Written once, so that both arrays have pages of their own.
    from.extend((0..words as u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
    to.extend_from_slice(&from);
    let part = words
        .div_ceil(rayon::current_num_threads().max(1))
        .next_multiple_of(8);
    let system = median(|| copy(&from, &mut to, part, |from, to| to.copy_from_slice(from)));
    let streamed = median(|| {
        copy(&from, &mut to, part, |from, to| {
            store::stream(from, to);
            store::fence();
        });
    });
    2.0 * BYTES as f64 / system.min(streamed) / 1e9
}

/// Copies in parts, one a thread.
fn copy(from: &[u64], to: &mut [u64], part: usize, copy: impl Fn(&[u64], &mut [u64]) + Sync) {
    to.par_chunks_mut(part)
        .zip(from.par_chunks(part))
        .for_each(|(to, from)| copy(from, to));
    std::hint::black_box(to);
}

/// Median time of several runs, in seconds.
fn median(mut run: impl FnMut()) -> f64 {
    let mut times = [0.0; RUNS];
    for time in &mut times {
        let start = Instant::now();
        run();
        *time = start.elapsed().as_secs_f64();
    }
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_takes_a_plausible_time() {
        let gbps = copy_bandwidth_gbps();
        assert!((0.1..100_000.0).contains(&gbps), "{gbps}");
    }
}
