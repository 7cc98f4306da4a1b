//! The syntax tree of a file, for work on a language's rules: `tree LANGUAGE < FILE`.

#![allow(clippy::print_stdout)]

use std::io::Read;

fn main() {
    let language = std::env::args().nth(1).and_then(|name| lang::Language::from_name(&name));
    let mut source = String::new();
    let read = std::io::stdin().read_to_string(&mut source);
    if let (Some(language), Ok(_)) = (language, read) {
        println!("{}", lang::tree(language, &source));
    }
}
