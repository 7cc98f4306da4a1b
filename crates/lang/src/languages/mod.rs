//! The languages, one file each. A new one is a file, its `mod` line, its line in the list and one in `model::filetype`.

mod bash;
mod c;
mod common;
mod cpp;
mod csharp;
mod css;
mod elixir;
mod go;
mod haskell;
mod html;
mod java;
mod javascript;
mod json;
mod kotlin;
mod lost;
mod lua;
pub(crate) mod macros;
mod markdown;
mod php;
pub(crate) mod python;
mod ruby;
mod rust;
mod scala;
mod sql;
mod swift;
mod toml;
mod tsx;
mod typescript;
mod yaml;
mod zig;

use crate::rules::Adapter;

macro_rules! languages {
    ($($variant:ident $module:ident),* $(,)?) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Language { $($variant),* }

        impl Language {
            pub const ALL: &[Language] = &[$(Language::$variant),*];

            pub(crate) fn adapter(self) -> &'static Adapter {
                match self { $(Language::$variant => &$module::ADAPTER),* }
            }
        }
    };
}

languages! {
    Python python,
    Rust rust,
    JavaScript javascript,
    TypeScript typescript,
    Tsx tsx,
    Go go,
    Java java,
    C c,
    Cpp cpp,
    CSharp csharp,
    Ruby ruby,
    Php php,
    Kotlin kotlin,
    Swift swift,
    Scala scala,
    Bash bash,
    Lua lua,
    Haskell haskell,
    Elixir elixir,
    Zig zig,
    Sql sql,
    Markdown markdown,
    Html html,
    Css css,
    Json json,
    Yaml yaml,
    Toml toml,
}

pub(crate) const COUNT: usize = Language::ALL.len();
