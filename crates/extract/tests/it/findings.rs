//! What fuzzing found stays mended.

use std::path::Path;

use crate::hostile::try_all;

#[test]
fn findings_stay_mended() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/findings");
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        try_all(&name, &std::fs::read(&path).unwrap());
    }
}
