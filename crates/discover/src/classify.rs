//! What kind of document a file is: by its name, corrected by its first bytes.

use model::{DocType, RelPath};

/// How much of a file [`classify`] wants to see.
pub const HEAD_BYTES: usize = 8 * 1024;

/// Names a file's type. `head` is its first [`HEAD_BYTES`], or all of it if it is shorter.
///
/// A signature in the content outranks the name (a PNG called `notes.txt` is an image), and so does the
/// plain difference between text and binary; otherwise the name decides.
pub fn classify(path: &RelPath, head: &[u8]) -> DocType {
    let named = by_name(path.file_name()).or_else(|| by_extension(&path.extension()?));
    if head.is_empty() {
        return named.unwrap_or(DocType::Text);
    }
    let textual = is_text(head);
    if let Some(signed) = by_signature(head, textual) {
        return match (signed, named) {
            // Office documents, e-books and packages are zip files inside.
            (DocType::Archive, Some(DocType::BinaryIgnored)) => DocType::BinaryIgnored,
            // A name among the audio or image types knows more than a container's signature.
            (DocType::BinaryIgnored, Some(known @ (DocType::Audio | DocType::Image))) => known,
            _ => signed,
        };
    }
    match named {
        Some(kind) if kind.is_textual() && !textual => DocType::BinaryIgnored,
        // `install` is a script as often as a text.
        Some(DocType::Text) if path.extension().is_none() && is_script(head) => DocType::Code,
        Some(kind) if kind.is_textual() => kind,
        // An image that is a text by nature.
        Some(DocType::Image) if textual && looks_like_markup(head) => DocType::Image,
        // A picture or a recording that is a text, as the pointers are that Git LFS leaves behind.
        Some(_) if textual => DocType::Text,
        Some(kind) => kind,
        None if !textual => DocType::BinaryIgnored,
        None if is_script(head) => DocType::Code,
        None => DocType::Text,
    }
}

/// Types told by the whole name.
fn by_name(name: &str) -> Option<DocType> {
    let lower = name.to_ascii_lowercase();
    Some(match lower.as_str() {
        "dockerfile" | "containerfile" | "makefile" | "gnumakefile" | "bsdmakefile" | "jenkinsfile"
        | "cmakelists.txt" | "meson.build" | "meson_options.txt" | "rakefile" | "gemfile" | "podfile"
        | "fastfile" | "appfile" | "guardfile" | "berksfile" | "thorfile" | "capfile" | "brewfile"
        | "vagrantfile" | "justfile" | "procfile" | "tiltfile" | "earthfile" | "caddyfile" | "snakefile"
        | "sconstruct" | "sconscript" | "wscript" | "build" | "build.bazel" | "workspace"
        | "workspace.bazel" | "module.bazel" | "kconfig" | "kbuild" | "pkgbuild" | "apkbuild"
        | "configure" | "gradlew" | "mvnw" | ".bashrc" | ".bash_profile" | ".bash_aliases"
        | ".bash_logout" | ".profile" | ".zshrc" | ".zshenv" | ".zprofile" | ".vimrc" | ".gvimrc"
        | ".emacs" | ".envrc" | ".xinitrc" => DocType::Code,
        "go.mod" | "go.sum" | "go.work" | "go.work.sum" | "requirements.txt" | "constraints.txt"
        | "pipfile" | ".gitignore" | ".gitattributes" | ".gitmodules" | ".gitconfig" | ".mailmap"
        | ".ignore" | ".rgignore" | ".dockerignore" | ".npmignore" | ".eslintignore" | ".prettierignore"
        | ".helmignore" | ".editorconfig" | ".npmrc" | ".yarnrc" | ".nvmrc" | ".node-version"
        | ".python-version" | ".ruby-version" | ".tool-versions" | ".babelrc" | ".eslintrc"
        | ".prettierrc" | ".stylelintrc" | ".jshintrc" | ".swcrc" | ".clang-format" | ".clang-tidy"
        | ".clangd" | ".flake8" | ".pylintrc" | ".coveragerc" | ".rubocop" | ".browserslistrc"
        | ".curlrc" | ".wgetrc" | ".inputrc" | ".htaccess" | "codeowners" | "robots.txt" => DocType::Data,
        "readme" | "license" | "licence" | "copying" | "copying.lesser" | "unlicense" | "changelog"
        | "changes" | "news" | "notice" | "authors" | "contributors" | "maintainers" | "install" | "todo"
        | "thanks" | "history" | "patents" | "credits" => DocType::Text,
        _ => return by_stem(&lower),
    })
}

/// `Dockerfile.dev`, `LICENSE-MIT`, `.env.example`: the name is in front.
fn by_stem(lower: &str) -> Option<DocType> {
    const FRONTS: &[(&str, DocType)] = &[
        ("dockerfile.", DocType::Code),
        ("makefile.", DocType::Code),
        ("jenkinsfile.", DocType::Code),
        ("license-", DocType::Text),
        ("licence-", DocType::Text),
        (".env.", DocType::Data),
    ];
    let (_, kind) = FRONTS.iter().find(|(front, _)| lower.starts_with(front))?;
    // `license-check.py` is a program.
    match lower.rsplit_once('.').and_then(|(_, extension)| by_extension(extension)) {
        Some(known) if *kind == DocType::Text => Some(known),
        _ => Some(*kind),
    }
}

fn by_extension(extension: &str) -> Option<DocType> {
    Some(match extension {
        // Programs and what is written like them.
        "rs" | "go" | "py" | "pyi" | "pyw" | "pyx" | "pxd" | "pxi" | "js" | "mjs" | "cjs" | "jsx" | "ts"
        | "mts" | "cts" | "tsx" | "java" | "kt" | "kts" | "scala" | "sc" | "sbt" | "groovy" | "gvy"
        | "gradle" | "c" | "h" | "cc" | "cpp" | "cxx" | "c++" | "hh" | "hpp" | "hxx" | "h++" | "ipp"
        | "tpp" | "inl" | "ixx" | "cppm" | "ino" | "m" | "mm" | "swift" | "cs" | "csx" | "fs" | "fsi"
        | "fsx" | "vb" | "vbs" | "bas" | "d" | "di" | "zig" | "nim" | "nims" | "cr" | "v" | "vh" | "sv"
        | "svh" | "vhd" | "vhdl" | "odin" | "jai" | "rb" | "erb" | "rake" | "gemspec" | "ru" | "php"
        | "phtml" | "php3" | "php4" | "php5" | "phps" | "pl" | "pm" | "pod" | "t" | "raku" | "rakumod"
        | "lua" | "luau" | "tcl" | "r" | "jl" | "matlab" | "sas" | "do" | "ado" | "hs" | "lhs" | "ml"
        | "mli" | "mll" | "mly" | "re" | "rei" | "res" | "resi" | "elm" | "purs" | "idr" | "agda"
        | "lean" | "thy" | "coq" | "clj" | "cljs" | "cljc" | "bb" | "lisp" | "lsp" | "cl" | "el" | "scm"
        | "ss" | "rkt" | "fnl" | "ex" | "exs" | "eex" | "heex" | "leex" | "erl" | "hrl" | "gleam"
        | "dart" | "sh" | "bash" | "zsh" | "fish" | "ksh" | "csh" | "tcsh" | "nu" | "ps1" | "psm1"
        | "psd1" | "bat" | "cmd" | "awk" | "sed" | "vim" | "sql" | "psql" | "plsql" | "pls" | "ddl"
        | "dml" | "prql" | "css" | "scss" | "sass" | "less" | "styl" | "pcss" | "vue" | "svelte"
        | "astro" | "marko" | "proto" | "thrift" | "capnp" | "fbs" | "avdl" | "graphql" | "gql"
        | "graphqls" | "wit" | "webidl" | "idl" | "smithy" | "tsp" | "tf" | "tfvars" | "hcl" | "nomad"
        | "bicep" | "pp" | "nix" | "dhall" | "jsonnet" | "libsonnet" | "cue" | "rego" | "ncl" | "star"
        | "bzl" | "bazel" | "cmake" | "mk" | "mak" | "make" | "ninja" | "gyp" | "gypi" | "gn" | "gni"
        | "just" | "dockerfile" | "containerfile" | "am" | "ac" | "m4" | "s" | "asm" | "nasm" | "ll"
        | "mlir" | "td" | "ld" | "lds" | "dts" | "dtsi" | "f" | "for" | "f77" | "f90" | "f95" | "f03"
        | "f08" | "cob" | "cbl" | "cpy" | "pas" | "dpr" | "lpr" | "ada" | "adb" | "ads" | "pro" | "p"
        | "st" | "abap" | "apex" | "trigger" | "cls" | "sol" | "vy" | "move" | "cairo" | "clar" | "wat"
        | "wast" | "cu" | "cuh" | "glsl" | "vert" | "frag" | "geom" | "comp" | "tesc" | "tese" | "hlsl"
        | "fx" | "wgsl" | "metal" | "shader" | "gd" | "gdshader" | "hx" | "hxml" | "as" | "coffee"
        | "litcoffee" | "ls" | "pug" | "jade" | "haml" | "slim" | "ejs" | "hbs" | "handlebars"
        | "mustache" | "liquid" | "njk" | "jinja" | "jinja2" | "j2" | "twig" | "tmpl" | "tpl" | "gotmpl"
        | "ftl" | "vm" | "jsp" | "jspx" | "asp" | "aspx" | "ascx" | "cshtml" | "razor" | "qml" | "xaml"
        | "feature" | "robot" | "http" | "rest" | "y" | "yy" | "yacc" | "l" | "lex" | "flex" | "g4"
        | "ebnf" | "pest" | "peg" | "ahk" | "applescript" | "au3" | "ps" | "eps" | "gp" | "gnuplot"
        | "dot" | "gv" | "puml" | "plantuml" | "mmd" | "mermaid" | "typ" | "pike" | "factor" | "forth"
        | "fth" | "4th" | "apl" | "k" | "q" | "ijs" | "wren" | "mojo" | "roc" | "hare" | "ha" | "vala"
        | "vapi" | "chpl" | "carbon" => DocType::Code,

        "md" | "markdown" | "mdown" | "mkd" | "mkdn" | "mdx" | "mdwn" | "rmd" | "qmd" | "rst" | "adoc"
        | "asciidoc" | "org" | "textile" | "mediawiki" | "wiki" | "creole" | "djot" => DocType::Md,

        "txt" | "text" | "log" | "tex" | "ltx" | "sty" | "bib" | "rtf" | "srt" | "vtt" | "sub" | "ass"
        | "eml" | "mbox" | "nfo" | "man" | "me" | "ms" | "roff" | "1" | "2" | "3" | "4" | "5" | "6" | "7"
        | "8" | "diff" | "patch" | "rej" | "out" | "err" | "example" | "sample" | "fountain" | "vcf"
        | "ics" => DocType::Text,

        "json" | "jsonc" | "json5" | "jsonl" | "ndjson" | "geojson" | "topojson" | "jsonld" | "ipynb"
        | "har" | "webmanifest" | "yaml" | "yml" | "toml" | "ini" | "cfg" | "conf" | "config" | "cnf"
        | "properties" | "props" | "prefs" | "env" | "editorconfig" | "csv" | "tsv" | "psv" | "tab"
        | "xml" | "xsd" | "xsl" | "xslt" | "dtd" | "rng" | "rnc" | "wsdl" | "plist" | "strings"
        | "stringsdict" | "resx" | "xliff" | "xlf" | "po" | "pot" | "arb" | "csproj" | "fsproj"
        | "vbproj" | "vcxproj" | "sln" | "slnx" | "pom" | "targets" | "nuspec" | "pbxproj" | "xcconfig"
        | "storyboard" | "xib" | "entitlements" | "lock" | "lockb" | "sum" | "mod" | "map" | "edn"
        | "ron" | "kdl" | "hjson" | "ttl" | "nt" | "nq" | "n3" | "rdf" | "owl" | "trig" | "sparql" | "rq"
        | "gpx" | "kml" | "wkt" | "fasta" | "fa" | "fastq" | "gff" | "vcard" | "ldif" | "reg" | "inf"
        | "desktop" | "service" | "socket" | "timer" | "target" | "mount" | "rules" | "snap" | "opml"
        | "atom" | "rss" | "openapi" | "raml" | "avsc" | "parquet" | "arrow" | "feather" | "avro" | "orc"
        | "tfstate" | "crt" | "cer" | "csr" | "pub" => DocType::Data,

        "html" | "htm" | "xhtml" | "shtml" | "mhtml" | "mht" => DocType::Html,
        "pdf" => DocType::Pdf,
        "png" | "jpg" | "jpeg" | "jpe" | "jfif" | "gif" | "webp" | "bmp" | "dib" | "tif" | "tiff" | "svg"
        | "ico" | "cur" | "heic" | "heif" | "avif" | "jxl" | "jp2" | "ppm" | "pgm" | "pbm" | "pnm"
        | "tga" => DocType::Image,
        "mp3" | "wav" | "wave" | "ogg" | "oga" | "opus" | "flac" | "m4a" | "m4b" | "aac" | "aif" | "aiff"
        | "aifc" | "wma" | "amr" | "weba" | "mka" | "au" | "caf" => DocType::Audio,
        "zip" | "tar" | "tgz" | "gz" | "bz2" | "tbz" | "tbz2" | "xz" | "txz" | "zst" | "tzst" | "lz"
        | "lz4" | "lzma" | "br" | "z" | "7z" | "rar" | "jar" | "war" | "ear" | "aar" | "whl" | "egg"
        | "nupkg" | "vsix" | "xpi" | "crate" | "gem" | "cpio" | "cab" => DocType::Archive,

        // Binary by nature, whatever a short head may look like.
        "exe" | "dll" | "so" | "dylib" | "a" | "o" | "obj" | "lib" | "ko" | "pyc" | "pyo" | "pyd"
        | "class" | "dex" | "wasm" | "bin" | "dat" | "db" | "sqlite" | "sqlite3" | "mdb" | "iso" | "img"
        | "dmg" | "vmdk" | "qcow2" | "deb" | "rpm" | "apk" | "ipa" | "msi" | "msix" | "appimage" | "mp4"
        | "m4v" | "mkv" | "webm" | "avi" | "mov" | "wmv" | "flv" | "mpg" | "mpeg" | "m2ts" | "3gp"
        | "ogv" | "mid" | "midi" | "ttf" | "otf" | "woff" | "woff2" | "eot" | "psd" | "ai" | "sketch"
        | "fig" | "xcf" | "blend" | "fbx" | "glb" | "stl" | "dwg" | "doc" | "docx" | "docm" | "dotx"
        | "xls" | "xlsx" | "xlsm" | "xlsb" | "ppt" | "pptx" | "pptm" | "ppsx" | "odt" | "ods" | "odp"
        | "odg" | "pages" | "numbers" | "key" | "epub" | "mobi" | "azw3" | "djvu" | "onnx" | "pt" | "pth"
        | "safetensors" | "gguf" | "h5" | "hdf5" | "npy" | "npz" | "pkl" | "pickle" | "rds" | "rdata"
        | "swp" | "swo" | "keystore" | "jks" | "der" | "gpg" | "pack" | "idx" => DocType::BinaryIgnored,
        _ => return None,
    })
}

/// Types told by the first bytes.
fn by_signature(head: &[u8], textual: bool) -> Option<DocType> {
    // No text begins with these.
    const CERTAIN: &[(&[u8], DocType)] = &[
        (b"%PDF-", DocType::Pdf),
        (b"\x89PNG\r\n\x1a\n", DocType::Image),
        (b"\xFF\xD8\xFF", DocType::Image),
        (b"PK\x03\x04", DocType::Archive),
        (b"PK\x05\x06", DocType::Archive),
        (b"\x1F\x8B\x08", DocType::Archive),
        (b"\xFD7zXZ\0", DocType::Archive),
        (b"\x28\xB5\x2F\xFD", DocType::Archive),
        (b"7z\xBC\xAF\x27\x1C", DocType::Archive),
        (b"Rar!\x1A\x07", DocType::Archive),
        (b"\x7FELF", DocType::BinaryIgnored),
        (b"SQLite format 3\0", DocType::BinaryIgnored),
        (b"\0asm", DocType::BinaryIgnored),
        (b"\xCA\xFE\xBA\xBE", DocType::BinaryIgnored),
        (b"\x1A\x45\xDF\xA3", DocType::BinaryIgnored),
    ];
    // These are letters, or too short to be sure of: they count in binaries only.
    const IN_BINARIES: &[(&[u8], DocType)] = &[
        (b"GIF87a", DocType::Image),
        (b"GIF89a", DocType::Image),
        (b"II*\0", DocType::Image),
        (b"MM\0*", DocType::Image),
        (b"BM", DocType::Image),
        (b"\0\0\x01\0", DocType::Image),
        (b"\0\0\0\x0CJXL ", DocType::Image),
        (b"ID3", DocType::Audio),
        (b"fLaC", DocType::Audio),
        (b"OggS", DocType::Audio),
        (b"#!AMR", DocType::Audio),
        (b"BZh", DocType::Archive),
        (b"MZ", DocType::BinaryIgnored),
    ];
    // Containers name their content a little further on.
    const INSIDE: &[(usize, &[u8], &[u8], DocType)] = &[
        (0, b"RIFF", b"WEBP", DocType::Image),
        (0, b"RIFF", b"WAVE", DocType::Audio),
        (0, b"FORM", b"AIF", DocType::Audio),
        (4, b"ftyp", b"hei", DocType::Image),
        (4, b"ftyp", b"mif1", DocType::Image),
        (4, b"ftyp", b"avif", DocType::Image),
        (4, b"ftyp", b"M4A", DocType::Audio),
        (4, b"ftyp", b"M4B", DocType::Audio),
        (4, b"ftyp", b"", DocType::BinaryIgnored),
    ];
    let at =
        |offset: usize, signature: &[u8]| head.get(offset..).is_some_and(|rest| rest.starts_with(signature));
    if let Some((_, kind)) = CERTAIN.iter().find(|(signature, _)| at(0, signature)) {
        return Some(*kind);
    }
    if is_mpeg_stream(head) {
        return Some(DocType::BinaryIgnored);
    }
    if textual {
        return None;
    }
    if at(257, b"ustar") {
        return Some(DocType::Archive);
    }
    if is_mpeg_audio(head) {
        return Some(DocType::Audio);
    }
    let inside = INSIDE.iter().find(|(offset, outer, inner, _)| at(*offset, outer) && at(8, inner));
    let plain = || IN_BINARIES.iter().find(|(signature, _)| at(0, signature)).map(|(_, kind)| *kind);
    inside.map(|(.., kind)| *kind).or_else(plain)
}

/// An MPEG audio frame header: eleven set bits, then a version, a layer and a bit rate that exist. An UTF-16
/// mark has these bits, too.
fn is_mpeg_audio(head: &[u8]) -> bool {
    matches!(head, [0xFF, second, third, ..]
        if second & 0xE0 == 0xE0
            && second & 0x18 != 0x08
            && second & 0x06 != 0x00
            && !matches!(second, 0xFE | 0xFF)
            && !matches!(third >> 4, 0x0 | 0xF)
            && third & 0x0C != 0x0C)
}

/// MPEG transport streams share `.ts` with TypeScript: packets of 188 bytes, each beginning with 0x47.
fn is_mpeg_stream(head: &[u8]) -> bool {
    head.len() > 376 && !head.is_ascii() && head.iter().step_by(188).all(|byte| *byte == 0x47)
}

fn is_script(head: &[u8]) -> bool {
    head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).starts_with(b"#!")
}

fn looks_like_markup(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head);
    // UTF-16 puts a mark or a zero around the bracket.
    head.iter().take(4).any(|byte| *byte == b'<') || head.trim_ascii_start().starts_with(b"<")
}

/// Whether a head is that of a text, in whatever encoding.
fn is_text(head: &[u8]) -> bool {
    if is_utf16(head) {
        return true;
    }
    if memchr::memchr(0, head).is_some() {
        return false;
    }
    let strange = head.iter().filter(|byte| is_strange(**byte)).count();
    match std::str::from_utf8(head) {
        // The last character may be cut.
        Err(error) if error.error_len().is_some() => {
            // No old encoding of any language uses control bytes, and random bytes hold one in ten.
            strange * 50 <= head.len()
        }
        _ => strange * 8 <= head.len(),
    }
}

/// Control bytes that texts do not hold. Escape stays: logs are coloured.
fn is_strange(byte: u8) -> bool {
    byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0B | 0x0C | 0x1B)
}

/// UTF-16 with its mark, or without one where every other byte of much of the text is zero.
fn is_utf16(head: &[u8]) -> bool {
    let (little, body) = match head {
        [0xFF, 0xFE, body @ ..] => (true, body),
        [0xFE, 0xFF, body @ ..] => (false, body),
        _ => {
            let zeros = |first: usize| head.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
            let (even, odd) = (zeros(0), zeros(1));
            let half = head.len() / 2;
            match (even, odd) {
                (0, odd) if half >= 2 && odd * 10 >= half * 7 => (true, head),
                (even, 0) if half >= 2 && even * 10 >= half * 7 => (false, head),
                _ => return false,
            }
        }
    };
    let units = body.chunks_exact(2).map(|pair| match little {
        true => u16::from_le_bytes([pair[0], pair[1]]),
        false => u16::from_be_bytes([pair[0], pair[1]]),
    });
    let strange =
        units.filter(|unit| u8::try_from(*unit).is_ok_and(|byte| byte == 0 || is_strange(byte))).count();
    strange * 50 <= body.len() / 2
}

#[cfg(test)]
mod tests {
    use model::{DocType, RelPath};
    use proptest::prelude::*;

    use super::{HEAD_BYTES, classify};

    /// What the other crates say of the same names is in the same list.
    #[test]
    fn names_have_the_recorded_types() {
        let recorded = include_str!("../../model/tests/file_kinds.tsv");
        for line in recorded.lines().filter(|line| !line.starts_with("lang:")) {
            let mut columns = line.split('\t');
            let (name, expected) = (columns.next().unwrap(), columns.next().unwrap());
            let kind = classify(&RelPath::from_walk(name).unwrap(), b"");
            assert_eq!(kind.as_str(), expected, "{name}");
        }
    }

    #[track_caller]
    fn is(kind: DocType, name: &str, head: &[u8]) {
        assert_eq!(classify(&RelPath::from_walk(name).unwrap(), head), kind, "{name}");
    }

    #[test]
    fn d091_names() {
        for name in
            ["a.rs", "b/x.PY", "c.tsx", "Dockerfile", "Dockerfile.dev", "makefile", "CMakeLists.txt", "x.sql"]
        {
            is(DocType::Code, name, b"something\n");
        }
        for name in
            ["README", "LICENSE", "LICENSE-MIT", "CHANGELOG", "NOTICE", "AUTHORS", "a.txt", "x.unheard"]
        {
            is(DocType::Text, name, b"something\n");
        }
        for name in ["README.md", "x.rst", "x.adoc", "x.mdx", "x.markdown"] {
            is(DocType::Md, name, b"something\n");
        }
        for name in
            ["a.json", "a.yaml", "Cargo.toml", "Cargo.lock", "go.mod", "go.sum", "a.csv", "a.xml", "x.ini"]
        {
            is(DocType::Data, name, b"something\n");
        }
        is(DocType::Html, "a/index.XHTML", b"<html>");
        is(DocType::Image, "a.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>");
        is(DocType::Image, "a.svg", b"\xEF\xBB\xBF\n<?xml version='1.0'?><svg/>");
        is(DocType::Code, "license-check.py", b"import os\n");
        is(DocType::Data, ".gitignore", b"target\n");
    }

    #[test]
    fn empty_files_are_what_their_name_says() {
        is(DocType::Code, "a/__init__.py", b"");
        is(DocType::Text, "x", b"");
        is(DocType::Pdf, "x.pdf", b"");
        is(DocType::BinaryIgnored, "x.docx", b"");
    }

    #[test]
    fn d091_signatures_outrank_names() {
        is(DocType::Pdf, "notes.txt", b"%PDF-1.7\n%\xE2\xE3\xCF\xD3\n");
        is(DocType::Image, "notes.txt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
        is(DocType::Image, "x.rs", b"\xFF\xD8\xFF\xE0\0\x10JFIF\0");
        is(DocType::Image, "x", b"GIF89a\x01\0\x01\0\x80\0\0");
        is(DocType::Image, "x", b"RIFF\x24\0\0\0WEBPVP8 ");
        is(DocType::Audio, "x.txt", b"RIFF\x24\0\0\0WAVEfmt ");
        is(DocType::Audio, "x", b"ID3\x04\0\0\0\0\0\0");
        is(DocType::Audio, "x", b"\xFF\xFB\x90\x64\0\0\0\0");
        is(DocType::Audio, "x", b"OggS\0\x02\0\0");
        is(DocType::Audio, "x", b"fLaC\0\0\0\x22");
        is(DocType::Archive, "x.md", b"PK\x03\x04\x14\0\0\0");
        is(DocType::Archive, "x.csv", b"\x1F\x8B\x08\0\0\0");
        is(DocType::BinaryIgnored, "x.sh", b"\x7FELF\x02\x01\x01\0");
        is(DocType::BinaryIgnored, "x.md", b"SQLite format 3\0\x10\0");
        is(DocType::BinaryIgnored, "report.docx", b"PK\x03\x04\x14\0\x06\0");
        is(DocType::Audio, "x.m4a", b"\0\0\0\x20ftypisom\0\0\x02\0");
        // Texts that only begin like one.
        is(DocType::Text, "x.txt", b"GIF89a is a format of 1989.\n");
        is(DocType::Text, "x", b"MZ is the signature of programs.\n");
    }

    #[test]
    fn d092_archives() {
        let mut tar = vec![0u8; 512];
        tar[..5].copy_from_slice(b"a.txt");
        tar[257..262].copy_from_slice(b"ustar");
        is(DocType::Archive, "x", &tar);
        is(DocType::Archive, "x.tar.gz", b"\x1F\x8B\x08\0\0\0");
        is(DocType::Archive, "x.tgz", b"");
        is(DocType::Archive, "x.zip", b"PK\x05\x06\0\0\0\0");
    }

    #[test]
    fn scripts_without_an_extension() {
        is(DocType::Code, "bin/run", b"#!/usr/bin/env python3\n");
        is(DocType::Text, "bin/notes", b"# heading\n");
        is(DocType::Code, "install", b"#!/bin/sh\n");
        is(DocType::Text, "INSTALL", b"Run make.\n");
    }

    #[test]
    fn typescript_and_transport_streams() {
        is(DocType::Code, "a.ts", b"Global.x = 1;\n");
        let mut stream = vec![0xFFu8; 188 * 4];
        stream.iter_mut().step_by(188).for_each(|byte| *byte = 0x47);
        is(DocType::BinaryIgnored, "a.ts", &stream);
    }

    #[test]
    fn text_in_other_encodings() {
        let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let marked = [b"\xFF\xFE".to_vec(), utf16("fn main() {}\n")].concat();
        is(DocType::Code, "a.rs", &marked);
        is(DocType::Text, "a", &utf16("plain text, no mark\n"));
        let chinese = [b"\xFF\xFE".to_vec(), utf16("\u{4f60}\u{597d}\u{4e16}\u{754c}\n")].concat();
        is(DocType::Text, "a.txt", &chinese);
        is(DocType::Text, "a.txt", b"Gr\xFC\xDFe aus K\xF6ln\n");
        // Russian in KOI8-R: hardly an ASCII letter in it.
        is(DocType::Text, "a.txt", b"\xF0\xD2\xC9\xD7\xC5\xD4, \xCD\xC9\xD2!\n");
        is(DocType::Text, "a.log", b"\x1B[31mred\x1B[0m\n");
    }

    #[test]
    fn binaries_under_textual_names() {
        is(DocType::BinaryIgnored, "a.txt", b"abc\0def");
        is(DocType::BinaryIgnored, "a.parquet", b"PAR1\x15\x04\x15\0");
        is(DocType::BinaryIgnored, "a", b"\x01\x02\x03\x04\xF0\xFF\x90");
        // A character cut by the end of the head is no fault.
        let mut cut = "é".repeat(HEAD_BYTES / 2).into_bytes();
        cut.pop();
        is(DocType::Text, "a.txt", &cut);
    }

    #[test]
    fn pointers_to_media_are_text() {
        is(DocType::Text, "film.png", b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_type(name in "[a-zA-Z.]{1,12}", head in prop::collection::vec(any::<u8>(), 0..600)) {
            if let Ok(path) = RelPath::from_walk(&name) {
                classify(&path, &head);
            }
        }

        #[test]
        fn plain_text_is_never_binary(text in "[ -~\n\t]{0,600}") {
            let kind = classify(&RelPath::parse("x.txt").unwrap(), text.as_bytes());
            prop_assert!(kind == DocType::Text || text.starts_with("%PDF-"));
        }
    }
}
