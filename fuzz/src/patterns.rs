//! Patterns of paths: `.gitignore` files and the globs of `security.path_excludes`. The last line of an input is the path.

use model::RelPath;
use policy::Excludes;

use crate::gitignore::IgnoreFile;

pub(crate) fn check(variant: usize, bytes: &[u8]) {
    let at = bytes.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
    let (patterns, path) = bytes.split_at(at);
    let path = path.strip_prefix(b"\n").unwrap_or(path);
    match variant {
        0 => ignore_file(patterns, path),
        _ => excludes(patterns, path),
    }
}

fn ignore_file(patterns: &[u8], path: &[u8]) {
    let file = IgnoreFile::parse(".gitignore", patterns);
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let as_file = file.decide(path, name, false);
    let as_folder = file.decide(path, name, true);
    // A pattern may be for folders only; none is for files only.
    assert!(as_file.is_none() || as_folder.is_some());
    for decision in [as_file, as_folder].into_iter().flatten() {
        assert!(!file.is_empty());
        let model::IgnoreRule::IgnoreFile { line, .. } = decision.rule() else {
            panic!("{:?}", decision.rule())
        };
        assert!(line as usize <= patterns.split(|byte| *byte == b'\n').count());
    }
}

fn excludes(patterns: &[u8], path: &[u8]) {
    let text = String::from_utf8_lossy(patterns);
    let patterns: Vec<String> = text.lines().take(16).map(str::to_owned).collect();
    let Ok(excludes) = Excludes::new(&patterns) else { return };
    let Ok(path) = RelPath::parse(&String::from_utf8_lossy(path)) else { return };
    let _ = (excludes.check(&path, false), excludes.check(&path, true));
    // This one keeps everything out.
    if let Ok(all) = Excludes::new(&["**".to_owned()]) {
        assert!(all.check(&path, false).is_err(), "{path}");
    }
}
