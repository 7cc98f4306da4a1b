//! Which facts are known about which language, and how well: what filters ask before they say that nothing matches.

use model::{Fact, Knowledge};

use crate::Language;

impl Language {
    /// How well a fact is known about this language.
    pub fn knowledge(self, fact: Fact) -> Knowledge {
        use Fact::{
            Aliases, Async, Calls, Decorators, Documentation, Errors, Extends, Generator, Imports, Kind,
            ReturnType, Signature, Throws, Types, Uses, Visibility, Writes,
        };
        use Knowledge::{Approximate, Exact, NotInLanguage, Unknown};
        use Language::{
            Bash, C, CSharp, Cpp, Css, Elixir, Go, Haskell, Html, Java, JavaScript, Json, Kotlin, Lua,
            Markdown, Php, Python, Ruby, Rust, Scala, Sql, Swift, Toml, Tsx, TypeScript, Yaml, Zig,
        };
        match self {
            Python | JavaScript | TypeScript | Tsx | Rust => match (self, fact) {
                (_, Types) => Approximate,
                (Rust, Throws) => Approximate,
                (Rust, Generator) => NotInLanguage,
                // JavaScript declares no types.
                (JavaScript, ReturnType) => NotInLanguage,
                _ => Exact,
            },
            Go | Java | C => match (self, fact) {
                (_, Types) => Approximate,
                (_, Async | Generator) | (Go | C, Decorators | Extends) | (C, Throws) => NotInLanguage,
                _ => Exact,
            },
            CSharp | Cpp | Php | Kotlin | Swift | Scala => match (self, fact) {
                (Php | Cpp | Scala, Async) | (Cpp | Kotlin | Swift | Scala, Generator) => Unknown,
                (Cpp, Visibility) => Unknown,
                (Kotlin | Swift | Scala, Throws | Aliases | Writes) => Unknown,
                (Kotlin, ReturnType) => Unknown,
                _ => Approximate,
            },
            Ruby => match fact {
                Async => NotInLanguage,
                Throws | Visibility | ReturnType | Generator | Decorators | Types => Unknown,
                _ => Approximate,
            },
            Bash | Lua | Haskell | Elixir | Zig => match fact {
                Kind | Signature | Imports | Calls | Uses | Documentation | Errors => Approximate,
                _ => Unknown,
            },
            Sql | Markdown | Html | Css | Json | Yaml | Toml => match fact {
                Kind | Signature | Documentation | Errors => Approximate,
                _ => NotInLanguage,
            },
        }
    }
}
