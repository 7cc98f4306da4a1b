//! From bytes to rows and columns.

pub(crate) struct Lines(Vec<u32>);

impl Lines {
    pub(crate) fn new(source: &str) -> Lines {
        let mut starts = Vec::with_capacity(source.len() / 32 + 1);
        starts.push(0);
        starts.extend(memchr::memchr_iter(b'\n', source.as_bytes()).map(|at| at as u32 + 1));
        Lines(starts)
    }

    /// From 0, as is the column of [`Lines::place`].
    pub(crate) fn row(&self, at: usize) -> usize {
        self.0.partition_point(|start| *start as usize <= at).saturating_sub(1)
    }

    pub(crate) fn place(&self, at: usize) -> (usize, usize) {
        let row = self.row(at);
        (row, at.saturating_sub(self.start(row)))
    }

    /// The first byte of a row.
    pub(crate) fn start(&self, row: usize) -> usize {
        self.0.get(row).map_or(0, |start| *start as usize)
    }
}
