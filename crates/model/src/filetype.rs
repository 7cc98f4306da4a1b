//! What a file's name says about it: one table for every crate that asks.
//!
//! Whether a file is text or code, which grammar outlines it, which reader extracts its text, and which files `lang:python`
//! means are all questions about the same extensions. A new kind of file is a line here. Content may say otherwise:
//! `discover` and `extract` look at it, too.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::DocType;
use crate::DocType::{Code, Data, Text};

/// Files that are alike in every respect.
#[derive(Debug)]
pub struct FileKind {
    /// Extensions in lower case, without the first dot; or whole file names in lower case.
    pub names: &'static [&'static str],
    /// What documents they are; none where only the content can tell.
    pub doc_type: Option<DocType>,
    /// The language whose grammar outlines them.
    pub language: Option<&'static str>,
    /// The format whose reader extracts their text.
    pub format: Option<&'static str>,
    /// What people call their language: the values of `lang:` that mean them.
    pub spoken: &'static [&'static str],
}

/// What else an extension is known for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A file filter that names it says whether code or prose is wanted. Other extensions leave that to the question.
    FilterTarget,
    /// Its mention in a question is a sign of code (dir2mcp specification, section 9.1).
    SignOfCode,
    /// In a question, the extension behind a dot is a filter.
    TypedAlone,
    /// Lists of files and settings that a build system keeps, and changes for another tool to make.
    Tooling,
    /// Fixed by the repo specification (section 9.1).
    RepoDefault,
    /// Languages of the web that are documents as often as code: the repository tools show them only on request.
    RepoOnRequest,
}

/// The last part of a path, split at its last dot: `("a.tar", "gz")` of `x/a.tar.gz`.
pub fn stem_and_extension(path: &str) -> Option<(&str, &str)> {
    path.rsplit('/').next().unwrap_or(path).rsplit_once('.')
}

/// The extension of a path as it is written. A name that begins with its only dot has none.
pub fn extension(path: &str) -> Option<&str> {
    stem_and_extension(path).filter(|(stem, _)| !stem.is_empty()).map(|(_, extension)| extension)
}

/// By an extension in lower case, without its dot.
pub fn by_extension(extension: &str) -> Option<&'static FileKind> {
    INDEX.extensions.get(extension).copied()
}

/// By a whole file name in lower case.
pub fn by_name(name: &str) -> Option<&'static FileKind> {
    INDEX.names.get(name).copied()
}

/// The extensions of a language with outlines, the usual one first.
pub fn extensions_of_language(language: &str) -> impl Iterator<Item = &'static str> {
    EXTENSIONS.iter().filter(move |kind| kind.language == Some(language)).flat_map(|kind| kind.names).copied()
}

/// The extensions that `lang:NAME` means; none if no language is called so.
pub fn extensions_spoken_of(name: &str) -> impl Iterator<Item = &'static str> {
    EXTENSIONS.iter().filter(move |kind| kind.spoken.contains(&name)).flat_map(|kind| kind.names).copied()
}

/// All extensions with a mark.
pub fn marked(mark: Mark) -> &'static [&'static str] {
    MARKS.iter().find(|(known, _)| *known == mark).map_or(&[], |(_, extensions)| extensions)
}

/// Whether an extension in lower case has a mark.
pub fn is_marked(extension: &str, mark: Mark) -> bool {
    marked(mark).contains(&extension)
}

struct FileTypeIndex {
    extensions: HashMap<&'static str, &'static FileKind>,
    names: HashMap<&'static str, &'static FileKind>,
}

static INDEX: LazyLock<FileTypeIndex> = LazyLock::new(|| {
    let by_name = |kinds: &'static [FileKind]| {
        kinds.iter().flat_map(|kind| kind.names.iter().map(move |name| (*name, kind))).collect()
    };
    FileTypeIndex { extensions: by_name(EXTENSIONS), names: by_name(NAMES) }
});

impl FileKind {
    const fn new(doc_type: Option<DocType>, names: &'static [&'static str]) -> FileKind {
        FileKind { names, doc_type, language: None, format: None, spoken: &[] }
    }

    const fn language(mut self, language: &'static str) -> FileKind {
        self.language = Some(language);
        self
    }

    const fn format(mut self, format: &'static str) -> FileKind {
        self.format = Some(format);
        self
    }

    const fn spoken(mut self, names: &'static [&'static str]) -> FileKind {
        self.spoken = names;
        self
    }
}

macro_rules! constructors {
    ($($name:ident $doc_type:ident),*) => {
        $(const fn $name(names: &'static [&'static str]) -> FileKind {
            FileKind::new(Some(DocType::$doc_type), names)
        })*
    };
}

constructors!(
    code Code, md Md, text Text, data Data, html Html, pdf Pdf, image Image, audio Audio, archive Archive,
    binary BinaryIgnored
);

const fn other(names: &'static [&'static str]) -> FileKind {
    FileKind::new(None, names)
}

const fn named(doc_type: Option<DocType>, names: &'static [&'static str]) -> FileKind {
    FileKind::new(doc_type, names)
}

/// By extension.
#[rustfmt::skip]
static EXTENSIONS: &[FileKind] = &[
    // Languages with outlines, in the order in which the repository tools list their extensions.
    code(&["py", "pyi"]).language("python").spoken(&["python", "py"]),
    code(&["pyw"]).language("python"),
    code(&["rs"]).language("rust").spoken(&["rust", "rs"]),
    code(&["js", "mjs", "cjs", "jsx"]).language("javascript").spoken(&["javascript", "js"]),
    other(&["es6"]).language("javascript"),
    code(&["ts", "mts", "cts"]).language("typescript").spoken(&["typescript", "ts"]),
    code(&["tsx"]).language("tsx").spoken(&["typescript", "ts"]),
    code(&["go"]).language("go").spoken(&["go", "golang"]),
    code(&["java"]).language("java").spoken(&["java"]),
    code(&["c"]).language("c").spoken(&["c"]),
    code(&["cpp", "cc", "cxx"]).language("cpp").spoken(&["cpp", "c++", "cxx"]),
    code(&["c++"]).language("cpp"),
    code(&["hpp", "hh", "hxx"]).language("cpp").spoken(&["cpp", "c++", "cxx"]),
    code(&["h++"]).language("cpp"),
    code(&["h"]).language("cpp").spoken(&["c", "cpp", "c++", "cxx", "objectivec", "objc"]),
    code(&["ipp", "tpp", "inl", "ixx", "cppm", "cu", "cuh", "ino"]).language("cpp"),
    code(&["cs"]).language("csharp").spoken(&["csharp", "c#", "cs"]),
    code(&["csx"]).language("csharp"),
    code(&["rb"]).language("ruby").spoken(&["ruby", "rb"]),
    code(&["rake", "gemspec", "ru"]).language("ruby"),
    other(&["podspec", "jbuilder", "thor"]).language("ruby"),
    code(&["php"]).language("php").spoken(&["php"]),
    code(&["phtml", "php3", "php4", "php5"]).language("php"),
    other(&["php7"]).language("php"),
    code(&["phps"]).language("php"),
    other(&["inc"]).language("php"),
    code(&["kt", "kts"]).language("kotlin").spoken(&["kotlin", "kt"]),
    code(&["swift"]).language("swift").spoken(&["swift"]),
    code(&["scala", "sc"]).language("scala").spoken(&["scala"]),
    code(&["sbt"]).language("scala"),
    other(&["mill"]).language("scala"),
    code(&["sh", "bash", "zsh"]).language("bash").spoken(&["shell", "bash", "sh"]),
    code(&["ksh"]).language("bash"),
    other(&["bats", "ebuild", "eclass"]).language("bash"),
    code(&["lua"]).language("lua").spoken(&["lua"]),
    code(&["luau"]).language("lua"),
    other(&["rockspec"]).language("lua"),
    code(&["hs"]).language("haskell").spoken(&["haskell", "hs"]),
    other(&["hs-boot"]).language("haskell"),
    code(&["ex", "exs"]).language("elixir").spoken(&["elixir"]),
    code(&["zig"]).language("zig").spoken(&["zig"]),
    other(&["zon"]).language("zig"),
    code(&["sql"]).language("sql").spoken(&["sql"]),
    code(&["psql", "ddl", "dml"]).language("sql"),
    other(&["pgsql"]).language("sql"),
    md(&["md", "markdown"]).language("markdown").format("md").spoken(&["markdown", "md"]),
    md(&["mdown", "mkd"]).language("markdown").format("md"),
    md(&["mkdn"]).language("markdown"),
    md(&["mdx"]).language("markdown").format("md"),
    md(&["mdwn"]).language("markdown"),
    md(&["rmd"]).language("markdown").spoken(&["r"]),
    md(&["qmd"]).language("markdown"),
    html(&["html", "htm"]).language("html").format("html").spoken(&["html"]),
    html(&["xhtml"]).language("html").format("html"),
    code(&["css"]).language("css").spoken(&["css"]),
    code(&["pcss"]).language("css"),
    data(&["json"]).language("json").spoken(&["json"]),
    data(&["jsonc", "json5", "geojson", "jsonld", "webmanifest"]).language("json"),
    data(&["ipynb"]).language("json").format("ipynb"),
    data(&["yaml", "yml"]).language("yaml").spoken(&["yaml", "yml"]),
    data(&["toml"]).language("toml").spoken(&["toml"]),
    // Other programs, and what is written like them.
    code(&["groovy", "gradle"]).spoken(&["groovy"]),
    code(&["m", "mm"]).spoken(&["objectivec", "objc"]),
    code(&["fs", "fsi", "fsx"]).spoken(&["fsharp", "f#"]),
    code(&["nim"]).spoken(&["nim"]),
    code(&["pl", "pm", "t"]).spoken(&["perl"]),
    code(&["r"]).spoken(&["r"]),
    code(&["jl"]).spoken(&["julia"]),
    code(&["ml", "mli"]).spoken(&["ocaml"]),
    code(&["clj", "cljs", "cljc"]).spoken(&["clojure"]),
    code(&["erl", "hrl"]).spoken(&["erlang"]),
    code(&["dart"]).spoken(&["dart"]),
    code(&["ps1", "psm1", "psd1"]).spoken(&["powershell"]),
    code(&["scss", "less"]).spoken(&["css"]),
    code(&["vue"]).spoken(&["vue"]),
    code(&["svelte"]).spoken(&["svelte"]),
    code(&["proto"]).spoken(&["protobuf", "proto"]),
    code(&["graphql", "gql"]).spoken(&["graphql"]),
    code(&["tf", "tfvars", "hcl"]).spoken(&["terraform", "hcl"]),
    code(&["f", "for", "f90", "f95", "f03"]).spoken(&["fortran"]),
    code(&["cls"]).spoken(&["tex", "latex"]),
    code(&["pyx", "pxd", "pxi", "gvy", "vb", "vbs", "bas", "d", "di", "nims", "cr", "v", "vh", "sv", "svh", "vhd", "vhdl",
        "odin", "jai", "erb", "pod", "raku", "rakumod", "tcl", "matlab", "sas", "do", "ado", "lhs", "mll", "mly", "re",
        "rei", "res", "resi", "elm", "purs", "idr", "agda", "lean", "thy", "coq", "bb", "lisp", "lsp", "cl", "el", "scm",
        "ss", "rkt", "fnl", "eex", "heex", "leex", "gleam", "fish", "csh", "tcsh", "nu", "bat", "cmd", "awk", "sed",
        "vim", "plsql", "pls", "prql", "sass", "styl", "astro", "marko", "thrift", "capnp", "fbs", "avdl", "graphqls",
        "wit", "webidl", "idl", "smithy", "tsp", "nomad", "bicep", "pp", "nix", "dhall", "jsonnet", "libsonnet", "cue",
        "rego", "ncl", "star", "bzl", "bazel", "cmake", "mk", "mak", "make", "ninja", "gyp", "gypi", "gn", "gni", "just",
        "dockerfile", "containerfile", "am", "ac", "m4", "s", "asm", "nasm", "ll", "mlir", "td", "ld", "lds", "dts",
        "dtsi", "f77", "f08", "cob", "cbl", "cpy", "pas", "dpr", "lpr", "ada", "adb", "ads", "pro", "p", "st", "abap",
        "apex", "trigger", "sol", "vy", "move", "cairo", "clar", "wat", "wast", "glsl", "vert", "frag", "geom", "comp",
        "tesc", "tese", "hlsl", "fx", "wgsl", "metal", "shader", "gd", "gdshader", "hx", "hxml", "as", "coffee",
        "litcoffee", "ls", "pug", "jade", "haml", "slim", "ejs", "hbs", "handlebars", "mustache", "liquid", "njk",
        "jinja", "jinja2", "j2", "twig", "tmpl", "tpl", "gotmpl", "ftl", "vm", "jsp", "jspx", "asp", "aspx", "ascx",
        "cshtml", "razor", "qml", "xaml", "feature", "robot", "http", "rest", "y", "yy", "yacc", "l", "lex", "flex", "g4",
        "ebnf", "pest", "peg", "ahk", "applescript", "au3", "gp", "gnuplot", "gv", "puml", "plantuml", "mmd", "mermaid",
        "typ", "pike", "factor", "forth", "fth", "4th", "apl", "k", "q", "ijs", "wren", "mojo", "roc", "hare", "ha",
        "vala", "vapi", "chpl", "carbon"]),
    code(&["ps", "eps"]).format("ps"),
    code(&["dot"]).format("doc"),
    // Texts with marks.
    md(&["rst", "adoc", "asciidoc", "org", "textile", "mediawiki", "wiki", "creole", "djot"]),
    // Plain texts, letters and subtitles.
    text(&["txt", "text", "log"]).format("txt"),
    text(&["tex", "sty", "bib"]).spoken(&["tex", "latex"]),
    text(&["ltx", "sub", "ass", "nfo", "man", "me", "ms", "roff", "1", "2", "3", "4", "5", "6", "7", "8", "diff", "patch",
        "rej", "out", "err", "example", "sample", "fountain", "vcf", "ics"]),
    text(&["rtf"]).format("rtf"),
    text(&["srt"]).format("srt"),
    text(&["vtt"]).format("vtt"),
    text(&["eml"]).format("eml"),
    text(&["mbox"]).format("mbox"),
    // Data and settings.
    data(&["jsonl", "ndjson", "topojson", "har", "ini", "cfg", "conf", "config", "cnf", "properties", "props", "prefs",
        "env", "editorconfig", "psv", "dtd", "rng", "rnc", "wsdl", "plist", "strings", "stringsdict", "resx", "xliff",
        "xlf", "po", "arb", "csproj", "fsproj", "vbproj", "vcxproj", "sln", "slnx", "pom", "targets", "nuspec", "pbxproj",
        "xcconfig", "storyboard", "xib", "entitlements", "lock", "lockb", "sum", "mod", "map", "ron", "kdl", "hjson",
        "ttl", "nt", "nq", "n3", "rdf", "owl", "trig", "sparql", "rq", "gpx", "kml", "wkt", "fasta", "fa", "fastq", "gff",
        "vcard", "ldif", "reg", "inf", "desktop", "service", "socket", "timer", "target", "mount", "rules", "snap",
        "opml", "atom", "rss", "openapi", "raml", "avsc", "parquet", "arrow", "feather", "avro", "orc", "tfstate", "crt",
        "cer", "csr", "pub"]),
    data(&["csv"]).format("csv"),
    data(&["tsv", "tab"]).format("tsv"),
    data(&["xml", "xsd", "xsl", "xslt"]).spoken(&["xml"]),
    data(&["pot"]).format("ppt"),
    data(&["edn"]).spoken(&["clojure"]),
    // Pages.
    html(&["shtml", "mhtml", "mht"]),
    pdf(&["pdf"]).format("pdf"),
    // Images.
    image(&["png"]).format("png"),
    image(&["jpg", "jpeg", "jpe", "jfif"]).format("jpeg"),
    image(&["gif"]).format("gif"),
    image(&["webp"]).format("webp"),
    image(&["bmp", "dib"]).format("bmp"),
    image(&["tif", "tiff"]).format("tiff"),
    image(&["svg", "ico", "cur", "heic", "heif", "avif", "jxl", "jp2", "ppm", "pgm", "pbm", "pnm", "tga"]),
    // Recordings.
    audio(&["mp3"]).format("mp3"),
    audio(&["wav", "wave"]).format("wav"),
    audio(&["ogg", "oga", "opus"]).format("ogg"),
    audio(&["flac"]).format("flac"),
    audio(&["m4a", "m4b"]).format("m4a"),
    audio(&["aac"]).format("aac"),
    audio(&["aif", "aiff", "aifc"]).format("aiff"),
    audio(&["wma", "amr", "weba", "mka", "au", "caf"]),
    // Archives.
    archive(&["zip"]).format("zip"),
    archive(&["tar"]).format("tar"),
    archive(&["tgz"]).format("tar.gz"),
    archive(&["gz", "bz2", "tbz", "tbz2", "xz", "txz", "zst", "lz", "lz4", "lzma", "br", "z", "7z", "rar", "jar", "war",
        "ear", "aar", "whl", "egg", "nupkg", "vsix", "xpi", "crate", "gem", "cpio", "cab"]),
    archive(&["tzst"]).format("tar.zst"),
    // Binary by nature, whatever a short head may look like. Some are documents whose text is extracted.
    binary(&["exe", "dll", "so", "dylib", "a", "o", "obj", "lib", "ko", "pyc", "pyo", "pyd", "class", "dex", "wasm",
        "bin", "dat", "db", "sqlite", "sqlite3", "mdb", "iso", "img", "dmg", "vmdk", "qcow2", "deb", "rpm", "apk", "ipa",
        "msi", "msix", "appimage", "mp4", "m4v", "mkv", "webm", "avi", "mov", "wmv", "flv", "mpg", "mpeg", "m2ts", "3gp",
        "ogv", "mid", "midi", "ttf", "otf", "woff", "woff2", "eot", "psd", "ai", "sketch", "fig", "xcf", "blend", "fbx",
        "glb", "stl", "dwg", "odg", "pages", "numbers", "key", "mobi", "azw3", "djvu", "onnx", "pt", "pth", "safetensors",
        "gguf", "h5", "hdf5", "npy", "npz", "pkl", "pickle", "rds", "rdata", "swp", "swo", "keystore", "jks", "der",
        "gpg", "pack", "idx"]),
    binary(&["doc"]).format("doc"),
    binary(&["docx", "docm", "dotx"]).format("docx"),
    binary(&["xls"]).format("xls"),
    binary(&["xlsx", "xlsm"]).format("xlsx"),
    binary(&["xlsb"]).format("xlsb"),
    binary(&["ppt"]).format("ppt"),
    binary(&["pptx", "pptm", "ppsx"]).format("pptx"),
    binary(&["odt"]).format("odt"),
    binary(&["ods"]).format("ods"),
    binary(&["odp"]).format("odp"),
    binary(&["epub"]).format("epub"),
    // Only known to some: their content says what they are.
    other(&["dotm"]).format("docx"),
    other(&["ppsm", "potx", "potm"]).format("pptx"),
    other(&["xltx", "xltm"]).format("xlsx"),
    other(&["xlt"]).format("xls"),
    other(&["pps"]).format("ppt"),
    other(&["msg"]).format("msg"),
    other(&["ott"]).format("odt"),
    other(&["ots"]).format("ods"),
    other(&["otp"]).format("odp"),
    other(&["xht"]).format("html"),
    other(&["tar.gz"]).format("tar.gz"),
    other(&["tar.zst"]).format("tar.zst"),
];

/// By the whole name of a file.
#[rustfmt::skip]
static NAMES: &[FileKind] = &[
    named(Some(Code), &["dockerfile", "containerfile", "makefile", "gnumakefile", "bsdmakefile", "jenkinsfile",
        "cmakelists.txt", "meson.build", "meson_options.txt", "justfile", "procfile", "tiltfile", "earthfile",
        "caddyfile", "build", "build.bazel", "workspace", "workspace.bazel", "module.bazel", "kconfig", "kbuild",
        "configure", ".vimrc", ".gvimrc", ".emacs"]),
    named(Some(Code), &["rakefile", "gemfile", "podfile", "fastfile", "appfile", "guardfile", "berksfile", "thorfile",
        "capfile", "brewfile", "vagrantfile"]).language("ruby"),
    named(Some(Code), &["snakefile", "sconstruct", "sconscript", "wscript"]).language("python"),
    named(Some(Code), &["pkgbuild", "apkbuild", "gradlew", "mvnw", ".bashrc", ".bash_profile", ".bash_aliases",
        ".bash_logout", ".profile", ".zshrc", ".zshenv", ".zprofile", ".envrc", ".xinitrc"]).language("bash"),
    named(Some(Data), &["go.mod", "go.sum", "go.work", "go.work.sum", "requirements.txt", "constraints.txt", ".gitignore",
        ".gitattributes", ".gitmodules", ".gitconfig", ".mailmap", ".ignore", ".rgignore", ".dockerignore", ".npmignore",
        ".eslintignore", ".prettierignore", ".helmignore", ".editorconfig", ".npmrc", ".yarnrc", ".nvmrc",
        ".node-version", ".python-version", ".ruby-version", ".tool-versions", ".stylelintrc", ".jshintrc", ".flake8",
        ".pylintrc", ".coveragerc", ".rubocop", ".browserslistrc", ".curlrc", ".wgetrc", ".inputrc", ".htaccess",
        "codeowners", "robots.txt"]),
    named(Some(Data), &["pipfile"]).language("toml"),
    named(Some(Data), &[".babelrc", ".eslintrc", ".prettierrc", ".swcrc"]).language("json"),
    named(Some(Data), &[".clang-format", ".clang-tidy", ".clangd"]).language("yaml"),
    named(Some(Text), &["readme", "license", "licence", "copying", "copying.lesser", "unlicense", "changelog", "changes",
        "news", "notice", "authors", "contributors", "maintainers", "install", "todo", "thanks", "history", "patents",
        "credits"]),
    named(None, &["jakefile"]).language("javascript"),
    named(None, &["composer.lock"]).language("json"),
    named(None, &["cargo.lock", "poetry.lock", "uv.lock"]).language("toml"),
];

#[rustfmt::skip]
const MARKS: &[(Mark, &[&str])] = &[
    (Mark::FilterTarget, &["rs", "py", "pyi", "go", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "java", "kt",
        "kts", "scala", "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "cs", "fs", "rb", "php", "swift", "m", "mm", "dart",
        "lua", "pl", "pm", "r", "jl", "hs", "ml", "mli", "erl", "ex", "exs", "clj", "sql", "sh", "bash", "zsh", "fish",
        "ps1", "zig", "nim", "v", "sv", "vhd", "proto", "graphql", "css", "scss", "vue", "svelte", "md", "mdx",
        "markdown", "txt", "rst", "adoc", "org", "tex", "html", "htm", "pdf", "docx", "odt", "rtf", "csv", "tsv", "log"]),
    (Mark::SignOfCode, &["js", "ts", "py", "go", "java", "rb", "cpp", "c", "cs", "html", "css", "json", "yaml", "yml"]),
    (Mark::TypedAlone, &["pdf", "ppt", "pptx", "pptm", "doc", "docx", "docm", "xls", "xlsx", "xlsm", "xlsb", "ods", "odt",
        "odp", "csv", "tsv", "rtf", "epub", "html", "htm", "eml", "mbox", "msg", "ipynb", "srt", "vtt", "md", "txt",
        "log", "json", "xml", "yaml", "yml", "toml", "ini", "zip", "tar", "gz", "tgz", "py", "rs", "js", "ts", "tsx",
        "jsx", "java", "go", "c", "h", "cpp", "cs", "rb", "php", "sql", "sh", "css", "tex", "svg"]),
    (Mark::Tooling, &["csproj", "vbproj", "fsproj", "vcxproj", "filters", "sln", "props", "targets", "pbxproj",
        "xcscheme", "iml", "patch", "diff"]),
    (Mark::RepoDefault, &["py", "md", "rst", "toml", "yaml", "yml", "json", "ini", "cfg"]),
    (Mark::RepoOnRequest, &["html", "htm", "xhtml", "css", "scss", "less"]),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_is_in_one_line() {
        for kinds in [EXTENSIONS, NAMES] {
            let mut seen = HashSet::new();
            for name in kinds.iter().flat_map(|kind| kind.names) {
                assert!(seen.insert(name), "{name}");
                assert_eq!(*name, name.to_lowercase());
            }
        }
    }

    #[test]
    fn the_extension_of_a_path() {
        for (path, expected) in [
            ("a/b.rs", Some("rs")),
            ("a.b/c", None),
            (".env", None),
            (".env.local", Some("local")),
            ("x.", Some("")),
            ("a.tar.gz", Some("gz")),
            ("", None),
        ] {
            assert_eq!(extension(path), expected, "{path}");
        }
        assert_eq!(stem_and_extension("a/.env"), Some(("", "env")));
    }

    #[test]
    fn a_mark_that_needs_the_table_finds_its_extensions_there() {
        for extension in marked(Mark::FilterTarget) {
            assert!(by_extension(extension).is_some_and(|kind| kind.doc_type.is_some()), "{extension}");
        }
        assert_eq!(extensions_spoken_of("fsharp").collect::<Vec<_>>(), ["fs", "fsi", "fsx"]);
        assert_eq!(extensions_of_language("typescript").collect::<Vec<_>>(), ["ts", "mts", "cts"]);
    }
}
