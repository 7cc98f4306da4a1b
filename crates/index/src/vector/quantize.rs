//! Quantised vectors: eight bits a number and one scale per vector. The loss of quality is too small to measure.

/// Stored vectors are padded with zeros to a multiple of this, so that the dot product has no rest.
pub(crate) const LANES: usize = 32;

pub(crate) fn stride(dimensions: usize) -> usize {
    dimensions.next_multiple_of(LANES)
}

/// Appends the vector, scaled to unit length, and returns its scale: the stored numbers times the scale are
/// the vector. A vector without direction has the scale 0 and matches nothing.
pub(crate) fn quantize(vector: &[f32], stride: usize, out: &mut Vec<u8>) -> f32 {
    let start = out.len();
    let (unit, largest) = unit(vector);
    match largest {
        Some(largest) => {
            let factor = f64::from(i8::MAX) / largest;
            out.extend(unit.map(|value| (value * factor).round() as i8 as u8));
            out.resize(start + stride, 0);
            (largest / f64::from(i8::MAX)) as f32
        }
        None => {
            out.resize(start + stride, 0);
            0.0
        }
    }
}

/// A query in 16 bits a number, or less where so many dimensions could overflow the sum.
pub(crate) struct QuantizedQuery {
    pub(crate) numbers: Vec<i16>,
    pub(crate) scale: f64,
}

impl QuantizedQuery {
    /// None for a vector without direction.
    pub(crate) fn new(vector: &[f32], stride: usize) -> Option<QuantizedQuery> {
        let (unit, largest) = unit(vector);
        let largest = largest?;
        // Even if all products were as large as they can be, their sum would fit into 31 bits.
        let limit = (f64::from(1u32 << 30) / (128.0 * stride as f64)).min(f64::from(i16::MAX)).floor();
        let factor = limit / largest;
        let mut numbers: Vec<i16> = unit.map(|value| (value * factor).round() as i16).collect();
        numbers.resize(stride, 0);
        Some(QuantizedQuery { numbers, scale: largest / limit })
    }
}

/// The vector at unit length, and its largest number; none for a vector that has no length or is no vector.
fn unit(vector: &[f32]) -> (impl Iterator<Item = f64> + '_, Option<f64>) {
    let length = vector.iter().map(|value| f64::from(*value) * f64::from(*value)).sum::<f64>().sqrt();
    let largest = vector.iter().map(|value| f64::from(*value).abs()).fold(0.0, f64::max) / length;
    let valid = length.is_finite() && length > 1e-12 && largest > 0.0;
    (vector.iter().map(move |value| f64::from(*value) / length), valid.then_some(largest))
}

#[cfg(test)]
mod tests {
    use super::{QuantizedQuery, quantize, stride};
    use crate::vector::dot::fastest;

    #[test]
    fn cosines_survive() {
        let vector = |seed: u32| -> Vec<f32> {
            (0u32..100)
                .map(|i| {
                    ((i.wrapping_mul(2_654_435_761).wrapping_add(seed * 97)) >> 16) as f32 / 65536.0 - 0.5
                })
                .collect()
        };
        let cosine = |a: &[f32], b: &[f32]| {
            let dot: f32 = a.iter().zip(b).map(|(a, b)| a * b).sum();
            let length = |v: &[f32]| v.iter().map(|x| x * x).sum::<f32>().sqrt();
            dot / (length(a) * length(b))
        };
        let stride = stride(100);
        assert_eq!(stride, 128);
        for seed in 0..20 {
            let (a, b) = (vector(seed), vector(seed + 1));
            let mut bytes = Vec::new();
            let scale = quantize(&b, stride, &mut bytes);
            let query = QuantizedQuery::new(&a, stride).unwrap();
            let got = f64::from(fastest()(&query.numbers, &bytes)) * query.scale * f64::from(scale);
            assert!((got - f64::from(cosine(&a, &b))).abs() < 0.01, "{got}");
        }
    }

    #[test]
    fn vectors_without_direction_match_nothing() {
        let mut bytes = Vec::new();
        assert_eq!(quantize(&[0.0; 7], 32, &mut bytes), 0.0);
        assert_eq!(quantize(&[f32::NAN, 1.0], 32, &mut bytes), 0.0);
        assert_eq!(bytes.len(), 64);
        assert!(QuantizedQuery::new(&[0.0; 7], 32).is_none());
        assert!(QuantizedQuery::new(&[f32::INFINITY; 7], 32).is_none());
    }
}
