//! What a file's path says about its worth as an answer: tests, examples, vendored, generated, package fronts.

use crate::parse::Parsed;
use crate::test_file::is_test_file;
use crate::weights::Weights;

/// The role of a file, read off its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Ordinary,
    Test,
    Example,
    Vendored,
    Generated,
    PackageFront,
    Declarations,
    /// Kept for those who still use the old ways.
    Legacy,
    /// Read by tools: project files, patches.
    Tooling,
    /// The variant for one of the less common systems or processors.
    Platform,
}

impl Place {
    pub fn of(path: &str) -> Place {
        let is_test = is_test_file(path);
        let path = path.to_lowercase();
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let in_folder = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
        let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
        if in_folder(VENDOR_FOLDERS) {
            Place::Vendored
        } else if is_test {
            Place::Test
        } else if is_generated_name(name) || in_folder(GENERATED_FOLDERS) {
            Place::Generated
        } else if in_folder(LEGACY_WORDS) || LEGACY_WORDS.contains(&stem) {
            Place::Legacy
        } else if in_folder(EXAMPLE_FOLDERS) || stem.starts_with("example") {
            Place::Example
        } else if is_tooling(name) {
            Place::Tooling
        } else if in_folder(PLATFORMS) || stem.split(['-', '_']).any(|word| PLATFORMS.contains(&word)) {
            Place::Platform
        } else if name.ends_with(".d.ts") || name.ends_with(".pyi") {
            Place::Declarations
        } else if PACKAGE_FRONTS.contains(&name) {
            Place::PackageFront
        } else {
            Place::Ordinary
        }
    }

    /// The same with a look at the text: a front that does the work itself is a file like any other.
    pub fn of_chunk(path: &str, text: &str) -> Place {
        match Place::of(path) {
            Place::PackageFront if !passes_on(text) => Place::Ordinary,
            place => place,
        }
    }

    /// The factor on the score, 1 where the query or the filter's prefix asks for such files.
    pub fn factor(self, query: &Parsed, prefix: &str, weights: &Weights) -> f32 {
        let (factor, words): (f32, &[&str]) = match self {
            Place::Ordinary => return 1.0,
            Place::Test => (weights.tests, TEST_WORDS),
            Place::Example => (weights.examples, EXAMPLE_WORDS),
            Place::Vendored => (weights.vendored, VENDOR_FOLDERS),
            Place::Generated => (weights.generated, GENERATED_WORDS),
            Place::PackageFront => (weights.package_front, &["__init__", "index", "mod"]),
            Place::Declarations => (weights.declarations, DECLARATION_WORDS),
            Place::Legacy => (weights.legacy, LEGACY_WORDS),
            Place::Tooling => (weights.tooling, TOOLING_WORDS),
            Place::Platform => (weights.platform, PLATFORMS),
        };
        let asked = query.mentions(words) || (!prefix.is_empty() && Place::of(prefix) == self);
        if asked { 1.0 } else { factor }
    }
}

const TEST_WORDS: &[&str] =
    &["test", "tests", "testing", "tested", "spec", "specs", "fixture", "fixtures", "mock", "mocks", "e2e"];

const EXAMPLE_FOLDERS: &[&str] = &[
    "example",
    "examples",
    "sample",
    "samples",
    "demo",
    "demos",
    "docs_src",
    "benchmarks",
    "bench",
    "benches",
];
const EXAMPLE_WORDS: &[&str] = &[
    "example",
    "examples",
    "sample",
    "samples",
    "demo",
    "demos",
    "tutorial",
    "benchmark",
    "benchmarks",
    "bench",
];

const VENDOR_FOLDERS: &[&str] =
    &["vendor", "vendored", "_vendor", "third_party", "thirdparty", "3rdparty", "node_modules", "external"];

const GENERATED_FOLDERS: &[&str] = &["generated", "__generated__", "dist", "build", "out", "target"];
const GENERATED_WORDS: &[&str] = &["generated", "minified", "lock", "lockfile", "changelog", "dist", "build"];

const DECLARATION_WORDS: &[&str] =
    &["declaration", "declarations", "stub", "stubs", "typing", "typings", "pyi"];

const LEGACY_WORDS: &[&str] =
    &["legacy", "deprecated", "compat", "_compat", "compatibility", "obsolete", "attic"];

/// Lists of files and settings that a build system keeps, and changes for another tool to make.
const TOOLING_EXTENSIONS: &[&str] = &[
    "csproj", "vbproj", "fsproj", "vcxproj", "filters", "sln", "props", "targets", "pbxproj", "xcscheme",
    "iml", "patch", "diff",
];
const TOOLING_WORDS: &[&str] = &[
    "project", "projects", "build", "builds", "compile", "compiler", "target", "targets", "solution",
    "patch", "patches", "diff", "csproj", "msbuild", "xcode",
];

/// Systems and processors that have variants of what others share. The common ones (`unix`, `linux`, `x86`) are not here:
/// who asks about a variant of them may mean what is common.
const PLATFORMS: &[&str] = &[
    "aix",
    "arm",
    "arm64",
    "csky",
    "cygwin",
    "darwin",
    "freebsd",
    "haiku",
    "hexagon",
    "hurd",
    "ia64",
    "ibmi",
    "loongarch",
    "m68k",
    "microblaze",
    "mips",
    "mips64",
    "msvc",
    "netbsd",
    "nios2",
    "openbsd",
    "openrisc",
    "os390",
    "parisc",
    "powerpc",
    "ppc",
    "ppc64",
    "qnx",
    "riscv",
    "s390",
    "solaris",
    "sparc",
    "sunos",
    "win",
    "win32",
    "windows",
    "xtensa",
];

const PACKAGE_FRONTS: &[&str] = &[
    "__init__.py",
    "index.js",
    "index.ts",
    "index.mjs",
    "index.tsx",
    "mod.rs",
    "package-info.java",
    "doc.go",
];

/// Whether most of the lines pass on what is defined elsewhere. Comments say nothing about it: what is documented best is
/// what does the work.
fn passes_on(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| line.len() > 2);
    let (mut passed_on, mut own) = (0, 0);
    for line in lines.filter(|line| !COMMENTS.iter().any(|mark| line.starts_with(mark))) {
        let is_list = line.ends_with(',') && !line.contains(['(', ':', '=']);
        if is_list || PASSING_ON.iter().any(|word| line.starts_with(word)) {
            passed_on += 1;
        } else {
            own += 1;
        }
    }
    passed_on > 0 && passed_on >= own
}

const COMMENTS: &[&str] = &["#", "//", "/*", "*"];

const PASSING_ON: &[&str] = &[
    "import ",
    "import{",
    "from ",
    "export *",
    "export {",
    "export type {",
    "export default",
    "pub use ",
    "pub mod ",
    "pub(crate) use ",
    "use ",
    "mod ",
    "__all__",
    "module.exports",
    "exports.",
    "package ",
    "\"",
    "'",
    "} from",
];

fn is_tooling(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, extension)| TOOLING_EXTENSIONS.contains(&extension))
}

fn is_generated_name(name: &str) -> bool {
    name.contains(".min.")
        || name.contains(".generated.")
        || name.contains(".pb.")
        || name.contains("_pb2")
        || name.ends_with(".map")
        || name.ends_with(".lock")
        || name.ends_with("-lock.json")
        || name.ends_with("-lock.yaml")
        || name == "go.sum"
        || name.starts_with("zz_generated")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_recorded_tooling() {
        let recorded = include_str!("../../model/tests/file_kinds.tsv");
        for line in recorded.lines().filter(|line| line.starts_with("x.")) {
            let columns: Vec<&str> = line.split('\t').collect();
            assert_eq!(is_tooling(columns[0]), columns[5].contains('t'), "{line}");
        }
    }

    #[test]
    fn places() {
        for (path, place) in [
            ("src/main.rs", Place::Ordinary),
            ("tests/it/main.rs", Place::Test),
            ("pkg/server_test.go", Place::Test),
            ("src/app.spec.ts", Place::Test),
            ("src/testament.py", Place::Ordinary),
            ("pkg/test_server.py", Place::Test),
            ("lib/test_functions.bash", Place::Ordinary),
            ("src/win/tcp.c", Place::Platform),
            ("src/unix/random-sysctl-linux.c", Place::Ordinary),
            ("src/window.c", Place::Ordinary),
            ("arch/s390/lib/uaccess.c", Place::Platform),
            ("vendor/x/y.go", Place::Vendored),
            ("examples/a.rs", Place::Example),
            ("web/app.min.js", Place::Generated),
            ("Cargo.lock", Place::Generated),
            ("src/pkg/__init__.py", Place::PackageFront),
            ("types/x.d.ts", Place::Declarations),
            ("src/deprecated/x.py", Place::Legacy),
            ("lib/compat.js", Place::Legacy),
            ("src/App.csproj", Place::Tooling),
            ("debian/patches/fix.patch", Place::Tooling),
        ] {
            assert_eq!(Place::of(path), place, "{path}");
        }
    }

    #[test]
    fn a_front_that_does_the_work_is_a_file_like_any_other() {
        let front = "// All of it.\nexport * from './a';\nexport { b } from './b';\n";
        let work = "import a from './a';\n\nconst defaults = {\n  timeout: 0,\n  adapter: pick(a),\n};\n";
        assert_eq!(Place::of_chunk("lib/index.js", front), Place::PackageFront);
        assert_eq!(Place::of_chunk("lib/index.js", work), Place::Ordinary);
        assert_eq!(Place::of_chunk("tests/index.js", work), Place::Test);
    }

    #[test]
    fn what_is_asked_for_does_not_sink() {
        let weights = Weights::default();
        let plain = Parsed::new("session handling");
        let asked = Parsed::new("session tests");
        assert_eq!(Place::Test.factor(&plain, "", &weights), weights.tests);
        assert_eq!(Place::Test.factor(&asked, "", &weights), 1.0);
        assert_eq!(Place::Test.factor(&plain, "tests/it/", &weights), 1.0);
        assert_eq!(Place::Ordinary.factor(&plain, "", &weights), 1.0);
    }
}
