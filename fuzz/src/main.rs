//! Coverage-guided fuzzing of everything that reads what strangers write. `cargo xtask fuzz` builds and runs this.
//!
//! One program for all families: `FUZZ_FAMILY` names one. The first byte of an input chooses a variant of the family
//! (a format, or a part of a document that is wrapped in a sound one), so that libFuzzer finds its way between them.
//! `FUZZ_SEEDS=FOLDER` writes the seeds and ends; `FUZZ_UNWRAP=FILE` keeps the document that an input stands for.

#![no_main]

#[path = "../../crates/extract/tests/it/build.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod build;
mod cfb;
mod check;
#[cfg(feature = "config")]
mod configuration;
mod families;
#[path = "../../crates/discover/src/gitignore.rs"]
#[allow(dead_code, reason = "the walk uses the rest")]
mod gitignore;
#[cfg(feature = "http")]
mod headers;
#[cfg(feature = "mcp")]
mod messages;
#[cfg(feature = "mcp")]
#[path = "../../crates/mcp/examples/conformance/no_tools.rs"]
mod no_tools;
mod patterns;
mod seeds;

/// The program's own modules, where its configuration looks for them.
#[cfg(feature = "config")]
macro_rules! of_the_program {
    ($($name:ident $path:literal),*) => {
        $(#[path = $path]
        #[allow(dead_code, unused_imports, reason = "the program uses the rest")]
        mod $name;)*
    };
}

#[cfg(feature = "config")]
of_the_program! {
    api "../../crates/app/src/api/mod.rs",
    capabilities "../../crates/app/src/capabilities.rs",
    cli "../../crates/app/src/cli/mod.rs",
    commands "../../crates/app/src/commands/mod.rs",
    config "../../crates/app/src/config/mod.rs",
    exit "../../crates/app/src/exit.rs",
    former_embedding "../../crates/app/src/former_embedding.rs",
    local_servers "../../crates/app/src/local_servers.rs",
    logging "../../crates/app/src/logging.rs",
    memory "../../crates/app/src/memory.rs",
    print "../../crates/app/src/print/mod.rs",
    secrets "../../crates/app/src/secrets/mod.rs",
    signals "../../crates/app/src/signals.rs",
    vitals "../../crates/app/src/vitals.rs",
    wire "../../crates/app/src/wire/mod.rs",
    workspace "../../crates/app/src/workspace.rs"
}

use std::sync::OnceLock;

use families::Family;
use libfuzzer_sys::fuzz_target;

static FAMILY: OnceLock<&'static Family> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::var("FUZZ_FAMILY").unwrap_or_default();
        let Some(family) = families::ALL.iter().find(|family| family.name == name) else {
            let names: Vec<&str> = families::ALL.iter().map(|family| family.name).collect();
            eprintln!("FUZZ_FAMILY is one of: {}", names.join(" "));
            std::process::exit(2);
        };
        if let Some(folder) = std::env::var_os("FUZZ_SEEDS") {
            seeds::write(family, folder.as_ref()).expect("the folder for the seeds can be written");
            std::process::exit(0);
        }
        let _ = FAMILY.set(family);
    },
    |input: &[u8]| {
        if let (Some(family), Some((variant, rest))) = (FAMILY.get(), input.split_first()) {
            (family.run)(usize::from(*variant) % family.variants, rest);
        }
    }
);
