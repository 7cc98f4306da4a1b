//! `cargo xtask model`: random calls on the file store, compared with a plain model.

use testkit::scenario::{ModelRun, compare_with_model};

use crate::Args;
use crate::process::{Profile, build};
use crate::torture::{StoreHome, store_backends};

pub(crate) fn run(args: &mut Args) -> Result<(), String> {
    let operations = args.number("--operations", 1_000_000)?;
    let tenants = args.number("--tenants", 8)?;
    let seed = args.number("--seed", 1)? as u64;
    let backends = store_backends(args)?;
    args.done()?;
    let binary = build(Profile::Release)?;
    for backend in backends {
        let home = StoreHome::new(backend, true);
        let server = home.program(&binary).serve(&[]);
        let report = compare_with_model(&server.address, &ModelRun { tenants, operations, seed })?;
        println!(
            "model: {}: {} calls by {tenants} tenants ({} refused), {} reads at every offset: no difference",
            backend.name(),
            report.operations,
            report.refused,
            report.offsets
        );
    }
    Ok(())
}
