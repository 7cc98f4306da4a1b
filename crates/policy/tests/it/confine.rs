//! Landlock on a thread of its own: it restricts the calling thread only, so the other tests go on.

use std::fs;
use std::io::ErrorKind;

use policy::{Confinement, ConfinementStatus, confine};

#[test]
fn a_confined_thread_reaches_only_its_directories() {
    let (served, state, outside) =
        (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let canary = outside.path().join("canary");
    for folder in [&served, &state, &outside] {
        fs::write(folder.path().join("canary"), "canary").unwrap();
    }
    let confinement = Confinement {
        read: vec![served.path().to_owned(), "/no/such/directory".into()],
        write: vec![state.path().to_owned()],
        run: Vec::new(),
    };
    let (status, served, state) = std::thread::spawn(move || {
        let status = confine(&confinement);
        if let ConfinementStatus::Unavailable { .. } = status {
            return (status, served, state);
        }
        let denied = |result: std::io::Result<()>| {
            assert_eq!(result.unwrap_err().kind(), ErrorKind::PermissionDenied);
        };
        assert_eq!(fs::read(served.path().join("canary")).unwrap(), b"canary");
        assert_eq!(fs::read_dir(served.path()).unwrap().count(), 1);
        denied(fs::write(served.path().join("new"), "x"));
        denied(fs::remove_file(served.path().join("canary")));
        denied(fs::read(&canary).map(drop));
        denied(fs::read_dir(outside.path()).map(drop));
        denied(fs::write(&canary, "x"));
        // All that an index does to its files.
        fs::create_dir(state.path().join("sub")).unwrap();
        fs::write(state.path().join("sub/new"), "longer than before").unwrap();
        fs::write(state.path().join("sub/new"), "x").unwrap();
        fs::rename(state.path().join("sub/new"), state.path().join("moved")).unwrap();
        fs::remove_dir_all(state.path().join("sub")).unwrap();
        (status, served, state)
    })
    .join()
    .unwrap();
    assert!(fs::read(served.path().join("canary")).is_ok() && state.path().join("moved").exists());
    assert!(!status.to_string().is_empty());
}
