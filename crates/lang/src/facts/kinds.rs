//! What the nodes of all grammars mean for facts: one table, by the names of node kinds.
//!
//! Grammars name like things alike, so that one table does for all of them; a test says that every name is one of a grammar.

use std::sync::OnceLock;

use crate::Language;
use crate::languages::COUNT;

/// What a node of some kind is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// One way that the flow may take: an `if`, a ternary, a case or an arm, a handler of exceptions.
    Branch,
    Loop,
    Break,
    Continue,
    Return,
    Throw,
    Await,
    Yield,
    /// `name = value`, with the fields of both sides.
    Assign(&'static str, &'static str),
    /// A variable and its first value, by the fields of name and value.
    Bind(&'static str, &'static str),
    /// A member of a type with a declared type, by the field of the name.
    Field(&'static str),
    /// A leaf that names something.
    Name,
    Comment,
}

use Meaning::{
    Assign, Await, Bind, Branch, Break, Comment, Continue, Field, Loop, Name, Return, Throw, Yield,
};

pub(crate) const KINDS: &[(&str, Meaning)] = &[
    ("if_statement", Branch),
    ("if_expression", Branch),
    ("if", Branch),
    ("elsif", Branch),
    ("unless", Branch),
    ("if_modifier", Branch),
    ("unless_modifier", Branch),
    ("guard_statement", Branch),
    ("else_if_clause", Branch),
    ("ternary_expression", Branch),
    ("conditional_expression", Branch),
    ("conditional", Branch),
    ("switch_case", Branch),
    ("switch_default", Branch),
    ("switch_label", Branch),
    ("switch_section", Branch),
    ("switch_expression_arm", Branch),
    ("switch_entry", Branch),
    ("case_statement", Branch),
    ("default_statement", Branch),
    ("case_clause", Branch),
    ("when", Branch),
    ("in_clause", Branch),
    ("when_entry", Branch),
    ("match_arm", Branch),
    ("match_conditional_expression", Branch),
    ("match_default_expression", Branch),
    ("expression_case", Branch),
    ("type_case", Branch),
    ("communication_case", Branch),
    ("default_case", Branch),
    ("catch_clause", Branch),
    ("catch_block", Branch),
    ("rescue", Branch),
    ("for_statement", Loop),
    ("for_in_statement", Loop),
    ("enhanced_for_statement", Loop),
    ("foreach_statement", Loop),
    ("for_range_loop", Loop),
    ("for_expression", Loop),
    ("for", Loop),
    ("while_statement", Loop),
    ("while_expression", Loop),
    ("while", Loop),
    ("until", Loop),
    ("while_modifier", Loop),
    ("until_modifier", Loop),
    ("do_statement", Loop),
    ("do_while_statement", Loop),
    ("do_while_expression", Loop),
    ("repeat_while_statement", Loop),
    ("repeat_statement", Loop),
    ("loop_expression", Loop),
    ("break_statement", Break),
    ("break_expression", Break),
    ("break", Break),
    ("continue_statement", Continue),
    ("continue_expression", Continue),
    ("next", Continue),
    ("return_statement", Return),
    ("return_expression", Return),
    ("return", Return),
    ("throw_statement", Throw),
    ("throw_expression", Throw),
    ("await_expression", Await),
    ("yield_expression", Yield),
    ("yield_statement", Yield),
    ("yield", Yield),
    ("assignment_expression", Assign("left", "right")),
    ("assignment_statement", Assign("left", "right")),
    ("short_var_declaration", Assign("left", "right")),
    ("assignment", Assign("left", "right")),
    ("variable_declarator", Bind("name", "value")),
    ("let_declaration", Bind("pattern", "value")),
    ("var_spec", Bind("name", "value")),
    ("const_spec", Bind("name", "value")),
    ("init_declarator", Bind("declarator", "value")),
    ("val_definition", Bind("pattern", "value")),
    ("var_definition", Bind("pattern", "value")),
    ("field_declaration", Field("name")),
    ("public_field_definition", Field("name")),
    ("field_definition", Field("property")),
    ("property_signature", Field("name")),
    ("const_item", Field("name")),
    ("static_item", Field("name")),
    ("identifier", Name),
    ("field_identifier", Name),
    ("package_identifier", Name),
    ("type_identifier", Name),
    ("property_identifier", Name),
    ("private_property_identifier", Name),
    ("shorthand_property_identifier", Name),
    ("shorthand_property_identifier_pattern", Name),
    ("shorthand_field_identifier", Name),
    ("namespace_identifier", Name),
    ("simple_identifier", Name),
    ("constant", Name),
    ("instance_variable", Name),
    ("name", Name),
    ("comment", Comment),
    ("line_comment", Comment),
    ("block_comment", Comment),
    ("multiline_comment", Comment),
];

/// The meanings by the numbers that a grammar gives to its kinds.
pub(crate) fn table(language: Language) -> &'static [Option<Meaning>] {
    static TABLES: [OnceLock<Vec<Option<Meaning>>>; COUNT] = [const { OnceLock::new() }; COUNT];
    TABLES[language as usize].get_or_init(|| {
        let grammar = &language.table().grammar;
        (0..grammar.node_kind_count() as u16)
            .map(|id| {
                let kind = grammar.node_kind_for_id(id).filter(|_| grammar.node_kind_is_named(id))?;
                KINDS.iter().find(|(name, _)| *name == kind).map(|(_, meaning)| *meaning)
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A meaning of a kind that no grammar has would never be found, in silence.
    #[test]
    fn every_kind_is_one_of_a_grammar() {
        for (kind, meaning) in KINDS {
            let known = Language::ALL.iter().any(|language| {
                let grammar = &language.table().grammar;
                let id = grammar.id_for_node_kind(kind, true);
                let field = |name: &str| grammar.field_id_for_name(name).is_some();
                id != 0
                    && match meaning {
                        Assign(left, right) | Bind(left, right) => field(left) && field(right),
                        Field(name) => field(name),
                        _ => true,
                    }
            });
            assert!(known, "no grammar has {kind} ({meaning:?})");
        }
    }
}
