//! What an edit changes, as a unified diff: one hunk, since one entry is changed.

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// A line of the diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DiffLine<'a> {
    Hunk(String),
    Same(&'a str),
    Removed(&'a str),
    Added(&'a str),
}

pub(crate) fn lines<'a>(before: &'a str, after: &'a str) -> Vec<DiffLine<'a>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - start;
    let end = (0..rest).take_while(|at| old[old.len() - 1 - at] == new[new.len() - 1 - at]).count();
    if start == old.len() && start == new.len() {
        return Vec::new();
    }
    let from = start.saturating_sub(CONTEXT);
    let tail = end.min(CONTEXT);
    let span = |lines: &[&str]| {
        let count = lines.len() - end + tail - from;
        format!("{},{count}", if count == 0 { from } else { from + 1 })
    };
    let mut diff = vec![DiffLine::Hunk(format!("@@ -{} +{} @@", span(&old), span(&new)))];
    diff.extend(old[from..start].iter().map(|line| DiffLine::Same(line)));
    diff.extend(old[start..old.len() - end].iter().map(|line| DiffLine::Removed(line)));
    diff.extend(new[start..new.len() - end].iter().map(|line| DiffLine::Added(line)));
    diff.extend(new[new.len() - end..new.len() - end + tail].iter().map(|line| DiffLine::Same(line)));
    diff
}

impl std::fmt::Display for DiffLine<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DiffLine::Hunk(text) => f.write_str(text),
            DiffLine::Same(text) => write!(f, " {text}"),
            DiffLine::Removed(text) => write!(f, "-{text}"),
            DiffLine::Added(text) => write!(f, "+{text}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str) -> String {
        lines(before, after).iter().map(|line| format!("{line}\n")).collect()
    }

    #[test]
    fn the_change_and_what_stands_around_it() {
        assert_eq!(shown("a\nb\n", "a\nb\n"), "");
        assert_eq!(shown("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n");
        assert_eq!(shown("a\nb\n", ""), "@@ -1,2 +0,0 @@\n-a\n-b\n");
        assert_eq!(
            shown("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\ny\n6\n7\n8\n9\n"),
            "@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+x\n+y\n 6\n 7\n 8\n"
        );
        assert_eq!(shown("a\na\n", "a\na\na\n"), "@@ -1,2 +1,3 @@\n a\n a\n+a\n");
    }
}
