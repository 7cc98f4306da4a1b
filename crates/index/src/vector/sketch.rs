//! Sketches: the signs of a vector's numbers, one bit each, which tell nearly how near the vector is to a query.
//!
//! A large index is searched by them first: they are an eighth of the bytes, and what they rule out is not read.
//! With `s` the signs of a vector `v` of unit length in `d` dimensions, and `c` the cosine between the two,
//! `q·s / (c √d)` estimates `q·v`. Its error is that of a random direction, `√(1/c² - 1) / √d`, about 0.05 in 256
//! dimensions: so a row comes with a bound that its cosine hardly ever exceeds. (J. Gao and C. Long, *RaBitQ*, 2024; their
//! random rotation is left out, because the numbers of the built-in table's vectors are even enough: the error
//! was measured to be the same with and without it.)
//!
//! A sketch depends on nothing but its vector. There is nothing to train, to store or to repair: it is made when
//! a block is first searched, in about the time of one scan, and shared by all views of the block.

use super::quantize::QuantizedQuery;

/// Rows whose signs lie together, so that one instruction looks at all of them.
const TILE: usize = 32;

/// The bound is so many standard deviations above the estimate.
///
/// Measured over a million chunks of source code with plain questions about code, for the best 10 and the best 400: 1.5
/// finds 0.991 and 0.984 of them, reading 240 and 6,200 vectors; 2 finds 0.998 and 0.996 (490 and 11,000); this one
/// 1.000 and 0.998 (590 and 13,000); 3 nearly all (2,000 and 34,000). Over a million chunks of documentation with
/// questions that it does not answer, which is the hard case, this one finds 0.997 and 0.996, reading 12,000 and 77,000.
const DEVIATIONS: f32 = 2.25;

/// Bounds are told apart in steps of this many to one.
const STEPS: f32 = 200.0;

/// The signs of the vectors of a block.
pub(super) struct Sketch {
    rows: usize,
    /// Tile after tile. In a tile, the first eight signs of each row, then the next eight of each, and so on.
    signs: Vec<u8>,
    /// For each row of the tiles, one over the cosine between it and its signs; 0 for a vector without direction
    /// and where there is no row.
    stretch: Vec<f32>,
}

impl Sketch {
    /// `vectors` are whole rows of `stride` signed bytes.
    pub(super) fn new(vectors: &[u8], dimensions: usize, stride: usize) -> Sketch {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2, as just asked.
            #[allow(unsafe_code)]
            return unsafe { draw_avx2(vectors, dimensions, stride) };
        }
        Sketch::draw(vectors, dimensions, stride)
    }

    #[inline(always)]
    fn draw(vectors: &[u8], dimensions: usize, stride: usize) -> Sketch {
        let rows = vectors.len() / stride;
        let bytes = stride / 8;
        let tiles = rows.div_ceil(TILE);
        let mut signs = vec![0; tiles * TILE * bytes];
        let mut stretch = vec![0.0; tiles * TILE];
        for (number, vector) in vectors.chunks_exact(stride).enumerate() {
            let tile = &mut signs[number / TILE * TILE * bytes..][..TILE * bytes];
            for (place, eight) in vector.as_chunks::<8>().0.iter().enumerate() {
                tile[place * TILE + number % TILE] = signs_of(*eight);
            }
            stretch[number] = stretch_of(vector, dimensions);
        }
        Sketch { rows, signs, stretch }
    }
}

/// The same for a processor with AVX2: twice as fast, though nothing is different but the compiler's options.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn draw_avx2(vectors: &[u8], dimensions: usize, stride: usize) -> Sketch {
    Sketch::draw(vectors, dimensions, stride)
}

/// A bit per number, set where it is negative.
#[inline(always)]
fn signs_of(eight: [u8; 8]) -> u8 {
    // Gathers the highest bits of all bytes: the product moves each of them to its place in the highest byte.
    let highest = u64::from_le_bytes(eight) >> 7 & 0x0101_0101_0101_0101;
    (highest.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u8
}

#[inline(always)]
fn stretch_of(vector: &[u8], dimensions: usize) -> f32 {
    let (mut sum, mut squares) = (0u32, 0u32);
    for byte in vector {
        let number = u32::from((*byte as i8).unsigned_abs());
        sum += number;
        squares += number * number;
    }
    if sum == 0 { 0.0 } else { (squares as f32 * dimensions as f32).sqrt() / sum as f32 }
}

/// A query, prepared for being compared with signs.
pub(super) struct SketchOutline {
    /// For each four numbers of the query, what each of the sixteen patterns of signs adds to the sum.
    tables: Vec<[u8; 16]>,
    /// What a sum of the tables stands for: it, times the factor, less the offset, is the estimate of a row
    /// that equals its signs.
    factor: f32,
    offset: f32,
    /// The standard deviation of a row that is at 45 degrees to its signs.
    deviation: f32,
    fill: Fill,
}

/// Fills in the levels of the rows of a sketch.
type Fill = fn(&SketchOutline, &Sketch, &mut [u8]);

impl SketchOutline {
    pub(super) fn new(query: &QuantizedQuery, dimensions: usize) -> SketchOutline {
        let fours = || query.numbers.chunks_exact(4);
        let weight = |four: &[i16]| four.iter().map(|number| u32::from(number.unsigned_abs())).sum::<u32>();
        let heaviest = fours().map(weight).max().unwrap_or(0).max(1);
        // Two entries fit into a byte together, and all of them into sixteen bits.
        let largest = (usize::from(u16::MAX) / (query.numbers.len() / 4)).min(127) as f32;
        let step = 2.0 * heaviest as f32 / largest;
        let entry = |four: &[i16], pattern: usize| {
            let signed = four.iter().enumerate().map(|(place, number)| {
                let number = i32::from(*number);
                if pattern >> place & 1 == 1 { -number } else { number }
            });
            ((signed.sum::<i32>() + weight(four) as i32) as f32 / step).round() as u8
        };
        let tables: Vec<[u8; 16]> =
            fours().map(|four| std::array::from_fn(|pattern| entry(four, pattern))).collect();
        let unit = query.scale as f32 / (dimensions as f32).sqrt();
        let weights: u32 = fours().map(weight).sum();
        SketchOutline {
            factor: step * unit,
            offset: weights as f32 * unit,
            tables,
            deviation: 1.0 / (dimensions as f32).sqrt(),
            fill: fastest(),
        }
    }

    /// Appends for each row of a block the level of its bound.
    pub(super) fn levels(&self, sketch: &Sketch, levels: &mut Vec<u8>) {
        let start = levels.len();
        levels.resize(start + sketch.stretch.len(), 0);
        (self.fill)(self, sketch, &mut levels[start..]);
        levels.truncate(start + sketch.rows);
    }

    #[inline(always)]
    fn fill(&self, sketch: &Sketch, levels: &mut [u8], sums: impl Fn(&[u8], &[[u8; 16]]) -> [u16; TILE]) {
        let tiles = sketch.signs.chunks_exact(TILE * self.tables.len() / 2);
        let (stretch, levels) = (sketch.stretch.as_chunks::<TILE>().0, levels.as_chunks_mut::<TILE>().0);
        for ((signs, stretch), levels) in tiles.zip(stretch).zip(levels) {
            let sums = sums(signs, &self.tables);
            for row in 0..TILE {
                let estimate = (f32::from(sums[row]) * self.factor - self.offset) * stretch[row];
                let deviation = (stretch[row] * stretch[row] - 1.0).max(0.0).sqrt() * self.deviation;
                let bound = estimate + DEVIATIONS * deviation;
                levels[row] = level(bound);
            }
        }
    }
}

/// The level of a bound.
#[inline]
pub(super) fn level(bound: f32) -> u8 {
    // In a float this large the last bit is worth one. A cast would do as well, but not on eight numbers at once.
    const LARGE: f32 = (1 << 23) as f32;
    ((bound * STEPS).clamp(0.0, 255.0) + LARGE).to_bits() as u8
}

/// No bound of a level below this one is higher than this.
pub(super) fn bound_below(level: u8) -> f32 {
    (f32::from(level) - 0.5) / STEPS
}

/// The fastest way that this processor has. All give the same levels.
fn fastest() -> Fill {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2, as just asked.
        #[allow(unsafe_code)]
        return |outline, sketch, levels| unsafe { fill_avx2(outline, sketch, levels) };
    }
    |outline, sketch, levels| outline.fill(sketch, levels, portable)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn fill_avx2(outline: &SketchOutline, sketch: &Sketch, levels: &mut [u8]) {
    outline.fill(sketch, levels, |signs, tables| avx2(signs, tables));
}

/// Adds up the tables' entries for each row of a tile.
fn portable(signs: &[u8], tables: &[[u8; 16]]) -> [u16; TILE] {
    let mut sums = [0u16; TILE];
    for (row, pair) in signs.chunks_exact(TILE).zip(tables.chunks_exact(2)) {
        for (sum, byte) in sums.iter_mut().zip(row) {
            let (low, high) = (pair[0][usize::from(byte & 15)], pair[1][usize::from(byte >> 4)]);
            *sum += u16::from(low) + u16::from(high);
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
#[inline]
#[allow(unsafe_code)]
fn avx2(signs: &[u8], tables: &[[u8; 16]]) -> [u16; TILE] {
    use std::arch::x86_64::{
        __m128i, __m256i, _mm_loadu_si128, _mm256_add_epi8, _mm256_add_epi16, _mm256_and_si256,
        _mm256_broadcastsi128_si256, _mm256_loadu_si256, _mm256_permute2x128_si256, _mm256_set1_epi8,
        _mm256_set1_epi16, _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_storeu_si256,
        _mm256_unpackhi_epi16, _mm256_unpacklo_epi16,
    };

    let (nibble, low_byte) = (_mm256_set1_epi8(15), _mm256_set1_epi16(255));
    let (mut even, mut odd) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    for (row, pair) in signs.chunks_exact(TILE).zip(tables.chunks_exact(2)) {
        // SAFETY: `row` has 32 bytes and the tables 16 each; the loads need no alignment.
        let (row, low, high) = unsafe {
            (
                _mm256_loadu_si256(row.as_ptr().cast::<__m256i>()),
                _mm_loadu_si128(pair[0].as_ptr().cast::<__m128i>()),
                _mm_loadu_si128(pair[1].as_ptr().cast::<__m128i>()),
            )
        };
        let low = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(low), _mm256_and_si256(row, nibble));
        let high = _mm256_shuffle_epi8(
            _mm256_broadcastsi128_si256(high),
            _mm256_and_si256(_mm256_srli_epi16::<4>(row), nibble),
        );
        // At most 254: no entry is above 127.
        let both = _mm256_add_epi8(low, high);
        even = _mm256_add_epi16(even, _mm256_and_si256(both, low_byte));
        odd = _mm256_add_epi16(odd, _mm256_srli_epi16::<8>(both));
    }
    let (first, second) = (_mm256_unpacklo_epi16(even, odd), _mm256_unpackhi_epi16(even, odd));
    let mut sums = [0u16; TILE];
    // SAFETY: there is room for 32 numbers of two bytes; the stores need no alignment.
    unsafe {
        let to = sums.as_mut_ptr().cast::<__m256i>();
        _mm256_storeu_si256(to, _mm256_permute2x128_si256::<0x20>(first, second));
        _mm256_storeu_si256(to.add(1), _mm256_permute2x128_si256::<0x31>(first, second));
    }
    sums
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::vector::quantize::{LANES, quantize, stride};

    fn vectors(dimensions: usize) -> impl Strategy<Value = Vec<f32>> {
        prop::collection::vec(-1f32..1.0, dimensions)
    }

    proptest! {
        #[test]
        fn all_ways_give_the_same_sums(
            signs in prop::collection::vec(any::<u8>(), TILE * 8),
            tables in prop::collection::vec(prop::array::uniform16(0u8..128), 16),
        ) {
            #[cfg(target_arch = "x86_64")]
            if std::arch::is_x86_feature_detected!("avx2") {
                // SAFETY: the processor has AVX2, as just asked.
                #[allow(unsafe_code)]
                let sums = unsafe { avx2(&signs, &tables) };
                prop_assert_eq!(sums, portable(&signs, &tables));
            }
        }

        #[test]
        fn signs_are_those_of_the_numbers(eight in prop::array::uniform8(any::<i8>())) {
            let found = signs_of(eight.map(|number| number as u8));
            for (place, number) in eight.iter().enumerate() {
                prop_assert_eq!(found >> place & 1 == 1, *number < 0);
            }
        }

        #[test]
        fn bounds_are_hardly_ever_exceeded(
            rows in prop::collection::vec(vectors(200), 40..70),
            query in vectors(200),
        ) {
            let stride = stride(200);
            let (mut bytes, mut scales) = (Vec::new(), Vec::new());
            for row in &rows {
                scales.push(quantize(row, stride, &mut bytes));
            }
            let Some(query) = QuantizedQuery::new(&query, stride) else { return Ok(()) };
            let sketch = Sketch::new(&bytes, 200, stride);
            let mut levels = vec![7; 3];
            SketchOutline::new(&query, 200).levels(&sketch, &mut levels);
            prop_assert_eq!(levels.len(), 3 + rows.len());
            let mut above = 0;
            for ((vector, scale), of_row) in bytes.chunks(stride).zip(scales).zip(&levels[3..]) {
                let product = f64::from(crate::vector::dot::fastest()(&query.numbers, vector));
                let score = (product * query.scale * f64::from(scale)) as f32;
                above += usize::from(score > bound_below(of_row + 1));
                // And it is not a bound that says nothing.
                prop_assert!(bound_below(*of_row) < score.max(0.0) + 6.0 * DEVIATIONS / 200f32.sqrt());
            }
            prop_assert!(above * 5 < rows.len(), "{above}");
        }
    }

    #[test]
    fn nothing_overflows_in_many_dimensions() {
        for dimensions in [LANES, 1536, 4096] {
            let (one, mut bytes) = (vec![1f32; dimensions], Vec::new());
            quantize(&one, stride(dimensions), &mut bytes);
            let opposite: Vec<u8> = bytes.iter().map(|byte| (*byte as i8).wrapping_neg() as u8).collect();
            bytes.extend(opposite);
            let query = QuantizedQuery::new(&one, stride(dimensions)).unwrap();
            let mut levels = Vec::new();
            SketchOutline::new(&query, dimensions)
                .levels(&Sketch::new(&bytes, dimensions, stride(dimensions)), &mut levels);
            // Equal to its signs, so that the bound is the cosine.
            assert!(levels[0].abs_diff(level(1.0)) <= 2, "{levels:?}");
            assert_eq!(levels[1], 0);
        }
    }
}
