//! Areas of text in a map of probabilities: connected spots, and the smallest rectangle, however turned, around each.

/// A rectangle that may be turned. Its width runs along the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct TurnedArea {
    pub(super) centre: [f32; 2],
    pub(super) width: f32,
    pub(super) height: f32,
    /// Of the width, against the horizontal, clockwise since y grows downwards; in radians.
    pub(super) angle: f32,
}

/// What is text in the map.
const TEXT: f32 = 0.3;

/// Mean probability of a spot that counts.
const MIN_SCORE: f32 = 0.6;

/// The model marks the core of each line; lines are this much larger (area times this over circumference, on each side).
const GROWTH: f32 = 1.6;

const MIN_SIDE: f32 = 3.0;
const MAX_SPOTS: usize = 3_000;

/// The areas of text in a map of `width` columns.
pub(super) fn text_areas(map: &[f32], width: usize) -> Vec<TurnedArea> {
    if width == 0 {
        return Vec::new();
    }
    let mut is_text: Vec<bool> = map.iter().map(|value| *value > TEXT).collect();
    let mut areas = Vec::new();
    let mut waiting = Vec::new();
    for start in 0..is_text.len() {
        if !is_text[start] {
            continue;
        }
        let (mut sum, mut count) = (0.0, 0u32);
        // The leftmost and rightmost pixel of each row say all about the shape that the rectangle depends on.
        let mut rows: Vec<(usize, usize, usize)> = Vec::new();
        is_text[start] = false;
        waiting.push(start);
        while let Some(at) = waiting.pop() {
            let (x, y) = (at % width, at / width);
            sum += map[at];
            count += 1;
            rows.push((y, x, x));
            for near_y in y.saturating_sub(1)..=y + 1 {
                for near_x in x.saturating_sub(1)..=(x + 1).min(width - 1) {
                    let near = near_y * width + near_x;
                    if is_text.get(near).copied().unwrap_or(false) {
                        is_text[near] = false;
                        waiting.push(near);
                    }
                }
            }
        }
        if sum / count as f32 >= MIN_SCORE
            && let Some(area) = around(rows)
            && area.height.min(area.width) >= MIN_SIDE
        {
            areas.push(grown(area));
        }
        if areas.len() == MAX_SPOTS {
            break;
        }
    }
    areas
}

fn grown(area: TurnedArea) -> TurnedArea {
    let distance = area.width * area.height * GROWTH / (2.0 * (area.width + area.height));
    TurnedArea { width: area.width + 2.0 * distance, height: area.height + 2.0 * distance, ..area }
}

/// The smallest rectangle around pixels, given as rows with a first and a last column.
fn around(mut rows: Vec<(usize, usize, usize)>) -> Option<TurnedArea> {
    rows.sort_unstable();
    rows.dedup_by(|next, first| {
        let same = next.0 == first.0;
        if same {
            (first.1, first.2) = (first.1.min(next.1), first.2.max(next.2));
        }
        same
    });
    // Pixels are squares, so their corners count.
    let corners = rows.iter().flat_map(|(y, left, right)| {
        let (y, left, right) = (*y as f32, *left as f32, *right as f32 + 1.0);
        [[left, y], [left, y + 1.0], [right, y], [right, y + 1.0]]
    });
    let hull = hull(corners.collect());
    let edges = hull.iter().zip(hull.iter().cycle().skip(1));
    let turned = edges.map(|(from, to)| along(&hull, (to[1] - from[1]).atan2(to[0] - from[0])));
    let upright = std::iter::once(along(&hull, 0.0));
    // Upright first: among equals the first is taken.
    upright
        .chain(turned)
        .min_by(|one, other| (one.width * one.height).total_cmp(&(other.width * other.height)))
}

/// The rectangle around points whose width runs at an angle, turned by quarters so that the angle is at most an eighth.
fn along(points: &[[f32; 2]], angle: f32) -> TurnedArea {
    use std::f32::consts::{FRAC_PI_2, FRAC_PI_4};
    let angle = (angle + FRAC_PI_4).rem_euclid(FRAC_PI_2) - FRAC_PI_4;
    let (sin, cos) = angle.sin_cos();
    let (mut low, mut high) = ([f32::MAX; 2], [f32::MIN; 2]);
    for [x, y] in points {
        let turned = [x * cos + y * sin, y * cos - x * sin];
        for side in 0..2 {
            low[side] = low[side].min(turned[side]);
            high[side] = high[side].max(turned[side]);
        }
    }
    let middle = [(low[0] + high[0]) / 2.0, (low[1] + high[1]) / 2.0];
    TurnedArea {
        centre: [middle[0] * cos - middle[1] * sin, middle[0] * sin + middle[1] * cos],
        width: high[0] - low[0],
        height: high[1] - low[1],
        angle,
    }
}

/// The corners of the smallest convex shape around points, in order.
fn hull(mut points: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
    points.sort_unstable_by(|one, other| one[0].total_cmp(&other[0]).then(one[1].total_cmp(&other[1])));
    points.dedup();
    let turns_left = |a: [f32; 2], b: [f32; 2], c: [f32; 2]| {
        (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]) > 0.0
    };
    let half = |points: &mut dyn Iterator<Item = [f32; 2]>| {
        let mut side: Vec<[f32; 2]> = Vec::new();
        for point in points {
            while let [.., before, last] = side.as_slice()
                && !turns_left(*before, *last, point)
            {
                side.pop();
            }
            side.push(point);
        }
        side.pop();
        side
    };
    let mut corners = half(&mut points.iter().copied());
    corners.extend(half(&mut points.iter().rev().copied()));
    corners
}

impl TurnedArea {
    /// The upright rectangle around it: left, top, width and height, within a picture.
    pub(super) fn upright(&self, width: u32, height: u32) -> [u32; 4] {
        let (sin, cos) = (self.angle.sin().abs(), self.angle.cos().abs());
        let wide = self.width * cos + self.height * sin;
        let high = self.width * sin + self.height * cos;
        let edge = |value: f32, limit: u32| (value.round().max(0.0) as u32).min(limit);
        let left = edge(self.centre[0] - wide / 2.0, width);
        let top = edge(self.centre[1] - high / 2.0, height);
        let right = edge(self.centre[0] + wide / 2.0, width);
        let bottom = edge(self.centre[1] + high / 2.0, height);
        [left, top, right - left, bottom - top]
    }

    /// Text that runs downwards, or lies on its side.
    pub(super) fn is_tall(&self) -> bool {
        self.height > 1.5 * self.width
    }

    pub(super) fn scaled(self, by: f32) -> TurnedArea {
        TurnedArea {
            centre: self.centre.map(|value| value * by),
            width: self.width * by,
            height: self.height * by,
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spots_become_areas() {
        let (width, height) = (200, 100);
        let mut map = vec![0.0; width * height];
        for y in 20..30 {
            for x in 30..130 {
                map[y * width + x] = 0.9;
            }
        }
        // Too faint, and too small.
        for y in 60..70 {
            map[y * width + 20..y * width + 60].fill(0.35);
        }
        map[80 * width + 50] = 0.9;
        let areas = text_areas(&map, width);
        assert_eq!(areas.len(), 1, "{areas:?}");
        let grown = 100.0 * 10.0 * GROWTH / 220.0;
        assert!((areas[0].width - 100.0 - 2.0 * grown).abs() < 0.01, "{areas:?}");
        assert!((areas[0].height - 10.0 - 2.0 * grown).abs() < 0.01);
        assert_eq!((areas[0].centre, areas[0].angle), ([80.0, 25.0], 0.0));
        assert_eq!(areas[0].upright(200, 100), [23, 13, 114, 24]);
    }

    #[test]
    fn turned_lines_are_measured_along_their_direction() {
        let (width, height, angle) = (300usize, 200usize, 0.2f32);
        let map: Vec<f32> = (0..width * height)
            .map(|at| {
                let (x, y) = ((at % width) as f32 - 150.0, (at / width) as f32 - 100.0);
                let (along, across) = (x * angle.cos() + y * angle.sin(), y * angle.cos() - x * angle.sin());
                if along.abs() < 100.0 && across.abs() < 8.0 { 1.0 } else { 0.0 }
            })
            .collect();
        let areas = text_areas(&map, width);
        assert_eq!(areas.len(), 1);
        assert!((areas[0].angle - angle).abs() < 0.03, "{areas:?}");
        let grown = 2.0 * 200.0 * 16.0 * GROWTH / 432.0;
        assert!((areas[0].width - 200.0 - grown).abs() < 6.0, "{areas:?}");
        assert!((areas[0].height - 16.0 - grown).abs() < 4.0, "{areas:?}");
        assert!(!areas[0].is_tall());
    }

    #[test]
    fn an_empty_map_has_no_areas() {
        assert!(text_areas(&[], 0).is_empty());
        assert!(text_areas(&[0.0; 64], 8).is_empty());
    }
}
