//! The dot product of a query and a stored vector: the inner loop of every vector search.

/// Multiplies a query and a stored vector (signed bytes) of equal length.
pub(crate) type Dot = fn(&[i16], &[u8]) -> i32;

/// The fastest way that this processor has. All give the same number: it is exact, and sums cannot overflow,
/// because the query was scaled so that they do not (see [`super::quantize::Query`]).
pub(crate) fn fastest() -> Dot {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as just asked.
        #[allow(unsafe_code)]
        return |query, vector| unsafe { avx2(query, vector) };
    }
    portable
}

fn portable(query: &[i16], vector: &[u8]) -> i32 {
    query.iter().zip(vector).map(|(q, v)| i32::from(*q) * i32::from(*v as i8)).sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[allow(unsafe_code)]
fn avx2(query: &[i16], vector: &[u8]) -> i32 {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_loadu_si128, _mm_shuffle_epi32,
        _mm256_add_epi32, _mm256_castsi256_si128, _mm256_cvtepi8_epi16, _mm256_extracti128_si256,
        _mm256_loadu_si256, _mm256_madd_epi16, _mm256_setzero_si256,
    };
    const LANES: usize = 16;

    let whole = query.len().min(vector.len()) / (2 * LANES) * (2 * LANES);
    let mut sums = [_mm256_setzero_si256(); 2];
    let mut at = 0;
    while at < whole {
        for (half, sum) in sums.iter_mut().enumerate() {
            let at = at + half * LANES;
            // SAFETY: `at + LANES <= whole`, which is at most the length of both slices; the loads need no
            // alignment.
            let (q, v) = unsafe {
                (
                    _mm256_loadu_si256(query.as_ptr().add(at).cast::<__m256i>()),
                    _mm_loadu_si128(vector.as_ptr().add(at).cast::<__m128i>()),
                )
            };
            *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(q, _mm256_cvtepi8_epi16(v)));
        }
        at += 2 * LANES;
    }
    let sum = _mm256_add_epi32(sums[0], sums[1]);
    let sum = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum));
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b00_00_11_10>(sum));
    let sum = _mm_add_epi32(sum, _mm_shuffle_epi32::<0b00_00_00_01>(sum));
    _mm_cvtsi128_si32(sum) + portable(&query[whole..], &vector[whole..])
}

#[cfg(test)]
mod tests {
    use super::{fastest, portable};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn all_ways_give_the_same_number(
            pairs in prop::collection::vec((-4000i16..=4000, any::<u8>()), 0..700),
        ) {
            let (query, vector): (Vec<i16>, Vec<u8>) = pairs.into_iter().unzip();
            prop_assert_eq!(fastest()(&query, &vector), portable(&query, &vector));
        }
    }
}
