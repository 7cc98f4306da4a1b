//! TypeScript with elements, which has a grammar of its own.

use super::{javascript, typescript};
use crate::rules::{Adapter, Rule};

pub(crate) static ADAPTER: Adapter = Adapter {
    name: "tsx",
    grammar: tree_sitter_typescript::LANGUAGE_TSX,
    rules: &RULES,
    shared: javascript::SHARED,
    roles: typescript::ROLES,
    shared_roles: javascript::SHARED_ROLES,
    older: typescript::older::older,
    recover: typescript::recover,
    ..Adapter::DEFAULT
};

static RULES: [(&str, Rule); typescript::TYPES.len() + 2] = {
    let element = Rule::On(javascript::element);
    let mut rules = [("jsx_opening_element", element); typescript::TYPES.len() + 2];
    rules[1] = ("jsx_self_closing_element", element);
    let mut at = 0;
    while at < typescript::TYPES.len() {
        rules[at + 2] = typescript::TYPES[at];
        at += 1;
    }
    rules
};
