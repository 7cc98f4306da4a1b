//! When segments are merged: seldom, and never everything at once.

use tantivy::index::SegmentMeta;
use tantivy::indexer::{MergeCandidate, MergePolicy};

/// Segments fall into levels of sizes, each eight times the one below. A full level is merged into one segment
/// of the next: whatever the number of single edits, a chunk is rewritten about once per level, and there
/// are at most some eight segments per level to search.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tiers;

const WIDTH: usize = 8;

/// The lowest level holds all segments up to this many chunks: the edits of some files.
const LOWEST: u32 = 64;

/// A segment of which this share is dead is rewritten alone.
const DEAD_SHARE: f64 = 0.35;

/// A merge this large would hold a core for seconds, and saves next to nothing.
const LARGEST: u32 = 200_000;

impl MergePolicy for Tiers {
    fn compute_merge_candidates(&self, segments: &[SegmentMeta]) -> Vec<MergeCandidate> {
        let mut levels: Vec<Vec<&SegmentMeta>> = Vec::new();
        let mut candidates = Vec::new();
        for segment in segments {
            if f64::from(segment.num_deleted_docs()) > DEAD_SHARE * f64::from(segment.max_doc()) {
                candidates.push(MergeCandidate(vec![segment.id()]));
                continue;
            }
            if segment.num_docs() > LARGEST {
                continue;
            }
            let level = level(segment.num_docs());
            if levels.len() <= level {
                levels.resize(level + 1, Vec::new());
            }
            levels[level].push(segment);
        }
        for level in levels {
            if level.len() >= WIDTH {
                candidates.push(MergeCandidate(level.iter().map(|segment| segment.id()).collect()));
            }
        }
        candidates
    }
}

fn level(chunks: u32) -> usize {
    let mut level = 0;
    let mut limit = LOWEST;
    while chunks > limit {
        level += 1;
        limit = limit.saturating_mul(WIDTH as u32);
    }
    level
}

#[cfg(test)]
mod tests {
    use super::{MergePolicy, Tiers, level};
    use tantivy::Index;
    use tantivy::index::{SegmentId, SegmentMeta};
    use tantivy::schema::Schema;

    #[test]
    fn only_full_levels_and_half_dead_segments_are_merged() {
        assert_eq!([1, 64, 65, 512, 513, 4096, 4097].map(level), [0, 0, 1, 1, 2, 2, 3]);
        let index = Index::create_in_ram(Schema::builder().build());
        let segment = |chunks: u32, dead: u32| -> SegmentMeta {
            let meta = index.new_segment_meta(SegmentId::generate_random(), chunks);
            if dead == 0 { meta } else { meta.with_delete_meta(dead, 1) }
        };
        let mut segments: Vec<SegmentMeta> = (0..7).map(|_| segment(3, 0)).collect();
        segments.push(segment(30_000, 0));
        segments.push(segment(1_000_000, 0));
        assert!(Tiers.compute_merge_candidates(&segments).is_empty());
        segments.push(segment(9, 0));
        let merges = Tiers.compute_merge_candidates(&segments);
        assert_eq!(merges.len(), 1);
        assert_eq!(merges[0].0.len(), 8);
        let merges = Tiers.compute_merge_candidates(&[segment(30_000, 15_000), segment(30_000, 100)]);
        assert_eq!(merges.len(), 1);
        assert_eq!(merges[0].0.len(), 1);
    }
}
