//! Which files are tests: the one definition, for ranking and for bundles.
//!
//! Decided by the path alone. A folder or a file counts if its name follows the test naming of some language: `tests/`,
//! `_tests/`, `test_x.py`, `x_test.go`, `x.spec.ts`, `AlphaTest.java`, `TestAlpha.java`, `alpha_spec.rb`. Words that only
//! contain the letters (`contest.py`, `latest.rs`, `testament.py`, `Attest.java`) do not count.

/// Whether the file is a test or belongs to tests.
pub fn is_test_file(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    folders.split('/').any(is_test_folder) || is_test_name(name)
}

const FOLDERS: &[&str] = &[
    "test",
    "tests",
    "testing",
    "spec",
    "specs",
    "testdata",
    "testcases",
    "unittests",
    "fixtures",
    "e2e",
    "mocks",
    "testsuite",
    "unittest",
    "testutil",
    "testutils",
    "tests_unit",
    "androidtest",
];

/// `tests`, `_tests`, `__tests__`, `unit_tests`, `test-data`, `FooTests`, `Foo.Tests`.
fn is_test_folder(folder: &str) -> bool {
    let lower = folder.to_lowercase();
    let bare = lower.trim_matches(['_', '.', '-']);
    let part = |part: &str| part == "test" || part == "tests";
    FOLDERS.contains(&bare)
        || bare.split(['_', '-', '.']).any(part)
        || capital_word(folder, &["Test", "Tests", "Specs"])
}

/// The endings of languages in which a test is named by a capital word: `AlphaTest.java`, `TestAlpha.kt`, `AlphaSpec.scala`.
const CAPITALS: &[&str] = &[
    "java", "kt", "kts", "scala", "groovy", "cs", "vb", "fs", "swift", "php", "dart", "m", "mm", "cpp", "cc",
    "h", "js", "ts", "hs",
];

/// The endings of languages in which a test is named by a word between dots: `app.spec.ts`. An `openapi.spec.yaml` is not a test.
const SCRIPTS: &[&str] = &[
    "js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "cts", "vue", "svelte", "py", "rb", "go", "coffee",
    "dart", "lua", "php",
];

/// The endings of languages whose tests are found by the beginning of their names. Elsewhere `test_functions.bash` holds what
/// tests use.
const PREFIXED: &[&str] = &["py", "rb", "c", "cc", "cpp", "cxx", "js", "mjs", "jl", "lua", "php", "pl"];

fn is_test_name(name: &str) -> bool {
    let (stem, endings) = name.split_once('.').unwrap_or((name, ""));
    let lower = stem.to_lowercase();
    let marked =
        endings.split('.').any(|part| matches!(part, "test" | "tests" | "spec" | "specs" | "cy" | "e2e"));
    let ending = name.rsplit('.').next().unwrap_or_default();
    let is_prefixed =
        (lower.starts_with("test_") || lower.starts_with("test-")) && PREFIXED.contains(&ending);
    let worded = is_prefixed
        || ["_test", "_tests", "_spec", "_specs", "-test", "-tests", "-spec", "_unittest"]
            .iter()
            .any(|end| lower.ends_with(end))
        || matches!(lower.as_str(), "conftest" | "test" | "tests");
    let by_capital = CAPITALS.contains(&ending)
        && (capital_word(stem, &["Test", "Tests", "TestCase", "Spec", "Specs", "IT", "Tester"])
            || stem
                .strip_prefix("Test")
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())));
    marked && SCRIPTS.contains(&ending) || worded || by_capital
}

/// Whether a name ends with one of the words, which begins with a capital behind a small letter or a digit: `AlphaTest`
/// does, `Attest` and `TEST` do not.
fn capital_word(name: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        name.strip_suffix(word).is_some_and(|rest| {
            rest.ends_with(|c: char| c.is_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_'))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::is_test_file;

    #[test]
    fn r045_what_is_a_test() {
        for path in [
            "tests/it/main.rs",
            "pkg/_tests/a.py",
            "src/__tests__/a.js",
            "pkg/server_test.go",
            "src/app.spec.ts",
            "a/test_x.py",
            "java/AlphaTest.java",
            "java/AlphaTests.java",
            "java/TestAlpha.java",
            "kt/AlphaIT.kt",
            "cs/Foo.Tests/Bar.cs",
            "spec/alpha_spec.rb",
            "alpha_spec.rb",
            "conftest.py",
            "unit_tests/a.c",
            "vendor/x/tests/a.py",
            "Foo/FooTests/Bar.swift",
            "x/fixtures/a.json",
            "app.test.tsx",
            "testing/helper.go",
            "src/test/java/A.java",
            "AlphaSpec.scala",
            "e2e/login.ts",
            "lib/foo-test.js",
            "x/test.py",
        ] {
            assert!(is_test_file(path), "{path}");
        }
        for path in [
            "src/main.rs",
            "src/testament.py",
            "contest.py",
            "latest.rs",
            "Attest.java",
            "java/Testimony.java",
            "src/spectrum.py",
            "protest/a.py",
            "attest/b.go",
            "docs/testing.md",
            "special/a.rs",
            "greatest_hits.py",
            "src/Fastest.java",
            "spec.md",
            "openapi.spec.yaml",
            "inspect/a.rs",
            "UNIT.java",
            "lib/test_functions.bash",
            "src/test_rig.rs",
            "a.rs",
        ] {
            assert!(!is_test_file(path), "{path}");
        }
    }
}
