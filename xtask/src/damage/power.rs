//! Power cuts without cutting the power: the state directory lies on an ext4 file system in a file, and that file lies on
//! an XFS with reflinks. A reflink copy of the file is what a disk would hold at that instant. The copy is mounted, its
//! journal is replayed, and the next run has to start from it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use testkit::scenario::Answers;
use testkit::{Folder, Program, Random, Tree};

use crate::process::{capture, exists};
use crate::tools;

/// The cut comes within this time after the start.
const WITHIN: Duration = Duration::from_millis(400);

pub(crate) fn run(binary: &Path, cuts: usize, seed: u64) -> Result<String, String> {
    let folder = Folder::empty();
    let tree = Tree { files: 60, parts: 4, seed };
    tree.write(folder.path()).map_err(|error| error.to_string())?;
    let queries = tree.queries();
    let clean = Program::new(binary, &folder).state_dir(&folder.outside().join("clean"));
    let wanted = Answers::of(&clean, &queries);

    let top = folder.outside();
    let (outer_image, outer) = (top.join("outer.img"), top.join("outer"));
    if !exists("mkfs.xfs") {
        tools::apt("xfsprogs")?;
    }
    make_image(&outer_image, "1536M", "mkfs.xfs", &["-q", "-m", "reflink=1"])?;
    let _outer = Mounted::new(&outer_image, &outer)?;
    let (inner_image, inner) = (outer.join("inner.img"), top.join("inner"));
    make_image(&inner_image, "192M", "mkfs.ext4", &["-q", "-F"])?;
    let mut random = Random::new(seed);
    let (mut hits, mut empty) = (0, 0);
    {
        let _inner = Mounted::new(&inner_image, &inner)?;
        for number in 1..=cuts {
            let name = format!("state{number}");
            let process = Program::new(binary, &folder).state_dir(&inner.join(&name)).start(&["index"]);
            let moment = Duration::from_micros(random.below(WITHIN.as_micros() as usize) as u64);
            let ended = process.output_ends(moment);
            hits += usize::from(!ended);
            let snapshot = outer.join("snapshot.img");
            let copied = tool(Command::new("cp").arg("--reflink=always").arg(&inner_image).arg(&snapshot));
            process.kill_now();
            copied?;
            let mount = top.join("snapshot");
            let after = {
                let _snapshot = Mounted::new(&snapshot, &mount)?;
                let survivor = mount.join(&name);
                empty += usize::from(!survivor.join("meta.sqlite").exists());
                let program = Program::new(binary, &folder).state_dir(&survivor);
                let done = program.run(&["index"]);
                if done.code != Some(0) {
                    return Err(format!("power cut {number} after {moment:?}: {}", done.output()));
                }
                (number % 5 == 0).then(|| Answers::of(&program, &queries))
            };
            if let Some(difference) = after.and_then(|after| after.difference(&wanted)) {
                return Err(format!("power cut {number} after {moment:?}: {difference}"));
            }
            let _ = std::fs::remove_dir_all(inner.join(&name));
            if number % 20 == 0 {
                println!("{number} power cuts, {hits} at work, {empty} before there was a catalog");
            }
        }
    }
    Ok(format!(
        "{cuts} power cuts within {WITHIN:?} of a birth, {hits} at work, {empty} before there was a catalog: every state \
         started again"
    ))
}

fn make_image(path: &Path, size: &str, make: &str, options: &[&str]) -> Result<(), String> {
    tool(Command::new("truncate").args(["-s", size]).arg(path))?;
    tool(Command::new(make).args(options).arg(path))
}

fn tool(command: &mut Command) -> Result<(), String> {
    let done = capture(command)?;
    match done.code {
        Some(0) => Ok(()),
        _ => Err(format!("{command:?}: {} (power cuts need root, xfsprogs and loop devices)", done.output())),
    }
}

/// An image that is mounted as long as this lives.
struct Mounted(PathBuf);

impl Mounted {
    fn new(image: &Path, at: &Path) -> Result<Mounted, String> {
        std::fs::create_dir_all(at).map_err(|error| error.to_string())?;
        // A copy of a mounted XFS or ext4 has the same identity as the original.
        tool(Command::new("mount").args(["-o", "loop"]).arg(image).arg(at))?;
        Ok(Mounted(at.to_owned()))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
