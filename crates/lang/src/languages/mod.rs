//! The languages, one file each. A new one is a file, its `mod` line and its line in the list.

mod c;
mod common;
mod cpp;
mod go;
mod java;
mod javascript;
mod python;
mod rust;
mod tsx;
mod typescript;

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
}

pub(crate) const COUNT: usize = Language::ALL.len();
