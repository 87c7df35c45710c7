//! Writing results past the caches.
//!
//! A plain store to a line that is in no cache reads that line from memory first. For a field that does not fit the caches
//! this is a third of a sweep's traffic, and the line is pushed out again before anyone reads it. So there
//! whole lines are streamed: by the last loop over a row ([`super::kernel`]), and here by a copy.

/// Bytes of a cache line, the unit that is streamed.
pub(super) const LINE: usize = 64;

/// Copies `from` to `to`, of equal length, whole lines past the caches where the target has such stores. Call [`fence`]
/// before another thread may read.
pub(super) fn stream<T: Copy>(from: &[T], to: &mut [T]) {
    #[cfg(target_arch = "x86_64")]
    {
        let cells = LINE / size_of::<T>();
        let head = to.as_ptr().align_offset(LINE).min(to.len());
        let body = (to.len() - head) / cells * cells;
        let (from_head, from_rest) = from.split_at(head);
        let (to_head, to_rest) = to.split_at_mut(head);
        let (from_body, from_tail) = from_rest.split_at(body);
        let (to_body, to_tail) = to_rest.split_at_mut(body);
        to_head.copy_from_slice(from_head);
        to_tail.copy_from_slice(from_tail);
        let (source, target) = (from_body.as_ptr().cast(), to_body.as_mut_ptr().cast());
        for at in 0..size_of_val(from_body) / 16 {
            use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
            let (source, target): (*const __m128i, *mut __m128i) = (source, target);
            // SAFETY: both slices hold this many times 16 bytes, and `to_body` begins on a line, so the target is
            // aligned. SSE2 is part of x86-64. The fence that such stores need is the caller's `fence`.
            unsafe { _mm_stream_si128(target.add(at), _mm_loadu_si128(source.add(at))) };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

/// Makes what this thread streamed visible to whoever it then synchronises with.
pub(super) fn fence() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Asks for the line of a value that will soon be written.
pub(super) fn fetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: SSE is part of x86-64, and a prefetch changes nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}
