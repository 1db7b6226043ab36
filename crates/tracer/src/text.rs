//! Texts as C code passes them.

use core::arch::x86_64::{
    __m128i, _mm_cmpeq_epi8, _mm_load_si128, _mm_loadu_si128, _mm_movemask_epi8, _mm_setzero_si128,
};
use core::ffi::c_char;

use tracefile::layout::string;

/// A name as the program passes it: its bytes (four for each wide character) and [`string`] flags.
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) flags: u32,
}

/// # Safety
/// `text` is null or a C string.
#[inline(always)]
pub(crate) unsafe fn ascii<'a>(text: *const c_char) -> Given<'a> {
    if text.is_null() {
        return Given { bytes: &[], flags: 0 };
    }
    // SAFETY: as stated.
    let bytes = unsafe { core::slice::from_raw_parts(text.cast(), length(text.cast())) };
    Given { bytes, flags: 0 }
}

/// # Safety
/// `text` is null or a wide C string.
pub(crate) unsafe fn wide<'a>(text: *const u32) -> Given<'a> {
    if text.is_null() {
        return Given { bytes: &[], flags: string::WIDE };
    }
    let mut length = 0;
    // SAFETY: as stated, so it ends in a zero.
    unsafe {
        while text.add(length).read_unaligned() != 0 {
            length += 1;
        }
        Given { bytes: core::slice::from_raw_parts(text.cast(), length * 4), flags: string::WIDE }
    }
}

/// The length of a C string. Reads whole aligned words, which never cross a page boundary.
///
/// # Safety
/// `text` is a C string.
#[inline(always)]
unsafe fn length(text: *const u8) -> usize {
    let offset = text as usize % 16;
    // SAFETY: reads are aligned, and the string does not end before any word that is read.
    unsafe {
        let zero = _mm_setzero_si128();
        let mut word = text.sub(offset).cast::<__m128i>();
        let mut ends = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_load_si128(word), zero)) as u32 >> offset;
        if ends != 0 {
            return ends.trailing_zeros() as usize;
        }
        loop {
            word = word.add(1);
            ends = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_load_si128(word), zero)) as u32;
            if ends != 0 {
                return word as usize - text as usize + ends.trailing_zeros() as usize;
            }
        }
    }
}

/// Whether a C string is the same as a copy of ours.
///
/// # Safety
/// `text` is a C string. So is `copy`, with at least 15 more bytes after its zero.
#[inline(always)]
pub(crate) unsafe fn same(text: *const u8, copy: *const u8) -> bool {
    const PAGE: usize = 4096;
    let mut at = 0;
    // SAFETY: a word of the text is read only if it ends in the page where it begins. Up to there
    // the two are equal and neither has ended.
    unsafe {
        loop {
            if (text as usize + at) % PAGE > PAGE - 16 {
                let byte = *text.add(at);
                if byte != *copy.add(at) {
                    return false;
                }
                if byte == 0 {
                    return true;
                }
                at += 1;
                continue;
            }
            let ours = _mm_loadu_si128(copy.add(at).cast());
            let theirs = _mm_loadu_si128(text.add(at).cast());
            let differ = !_mm_movemask_epi8(_mm_cmpeq_epi8(ours, theirs)) as u32 & 0xffff;
            let ends = _mm_movemask_epi8(_mm_cmpeq_epi8(ours, _mm_setzero_si128())) as u32;
            if ends != 0 {
                // Up to and including the first zero.
                return differ & (ends ^ (ends - 1)) == 0;
            }
            if differ != 0 {
                return false;
            }
            at += 16;
        }
    }
}

/// Whether two texts of equal length are equal. Unlike comparing slices, this calls no function.
#[inline(always)]
pub(crate) fn equal(one: &[u8], other: &[u8]) -> bool {
    let (words, rest) = one.as_chunks::<8>();
    let (other_words, other_rest) = other.as_chunks::<8>();
    words.iter().zip(other_words).all(|(one, other)| u64::from_ne_bytes(*one) == u64::from_ne_bytes(*other))
        && rest.iter().zip(other_rest).all(|(one, other)| one == other)
}

/// A fast hash that is good enough: eight bytes at a time, mixed by multiplication.
#[inline(always)]
pub(crate) fn hash(given: Given<'_>) -> u64 {
    let mut hash = given.bytes.len() as u64 ^ u64::from(given.flags) << 32;
    let (words, rest) = given.bytes.as_chunks::<8>();
    for word in words {
        hash = mixed(hash, u64::from_ne_bytes(*word));
    }
    if !rest.is_empty() {
        let mut last = 0;
        for byte in rest {
            last = last << 8 | u64::from(*byte);
        }
        hash = mixed(hash, last);
    }
    hash ^ hash >> 32
}

#[inline(always)]
pub(crate) fn mixed(hash: u64, word: u64) -> u64 {
    let hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ hash >> 29
}
