//! Uses of names: imports, calls, bases, types, reads and writes. Nothing here is done when only the outline is asked.

use ruff_python_ast::visitor::source_order::{SourceOrderVisitor, walk_expr};
use ruff_python_ast::{
    Alias, Arguments, Comprehension, Expr, ExprAttribute, ExprCall, FStringPart, Identifier,
    InterpolatedStringElement, Parameters, Pattern, Stmt, TypeParam, TypeParams,
};
use ruff_text_size::Ranged;

use super::outline::Reader;
use crate::notes::MAX_NAME;
use model::ReferenceKind;

impl<'s> Reader<'s> {
    pub(super) fn read(&mut self, expression: &Expr) {
        self.expression(expression, ReferenceKind::Read);
    }

    pub(super) fn read_some(&mut self, expression: Option<&Expr>) {
        if let Some(expression) = expression {
            self.read(expression);
        }
    }

    pub(super) fn write(&mut self, target: &Expr) {
        self.expression(target, ReferenceKind::Write);
    }

    pub(super) fn write_some(&mut self, target: Option<&Expr>) {
        if let Some(target) = target {
            self.write(target);
        }
    }

    pub(super) fn write_name(&mut self, name: Option<&Identifier>) {
        if let Some(name) = name {
            self.value(ReferenceKind::Write, name, None);
        }
    }

    /// A statement that holds no others.
    pub(super) fn simple(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Return(give) => self.read_some(give.value.as_deref()),
            Stmt::Delete(delete) => delete.targets.iter().for_each(|target| self.write(target)),
            Stmt::TypeAlias(alias) => {
                self.write(&alias.name);
                self.type_parameters(alias.type_params.as_deref());
                self.types(Some(&alias.value));
            }
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.write(target));
                self.read(&assign.value);
            }
            Stmt::AugAssign(assign) => {
                self.write(&assign.target);
                self.read(&assign.value);
            }
            Stmt::AnnAssign(assign) => {
                self.write(&assign.target);
                self.types(Some(&assign.annotation));
                self.read_some(assign.value.as_deref());
            }
            Stmt::Raise(raise) => {
                self.read_some(raise.exc.as_deref());
                self.read_some(raise.cause.as_deref());
            }
            Stmt::Assert(assert) => {
                self.read(&assert.test);
                self.read_some(assert.msg.as_deref());
            }
            Stmt::Global(global) => global.names.iter().for_each(|name| self.write_name(Some(name))),
            Stmt::Nonlocal(outer) => outer.names.iter().for_each(|name| self.write_name(Some(name))),
            Stmt::Expr(alone) => self.read(&alone.value),
            _ => {}
        }
    }

    /// `kind` is what the names are that the expression itself consists of: read or written.
    fn expression(&mut self, expression: &Expr, kind: ReferenceKind) {
        if !self.notes.wants_uses {
            return;
        }
        match expression {
            Expr::Name(name) => self.value(kind, name, None),
            Expr::Attribute(attribute) => {
                self.read(&attribute.value);
                self.value(kind, &attribute.attr, Some(attribute));
            }
            // In `a[i] = c` the container is written.
            Expr::Subscript(subscript) => {
                self.expression(&subscript.value, kind);
                self.read(&subscript.slice);
            }
            Expr::Starred(starred) => self.expression(&starred.value, kind),
            Expr::Tuple(tuple) => tuple.elts.iter().for_each(|each| self.expression(each, kind)),
            Expr::List(list) => list.elts.iter().for_each(|each| self.expression(each, kind)),
            Expr::Call(call) => self.call(call),
            Expr::Named(named) => {
                self.write(&named.target);
                self.read(&named.value);
            }
            Expr::BoolOp(all) => all.values.iter().for_each(|each| self.read(each)),
            Expr::BinOp(both) => {
                self.read(&both.left);
                self.read(&both.right);
            }
            Expr::UnaryOp(one) => self.read(&one.operand),
            Expr::Compare(compare) => {
                self.read(&compare.left);
                compare.comparators.iter().for_each(|each| self.read(each));
            }
            Expr::If(choice) => {
                self.read(&choice.body);
                self.read(&choice.test);
                self.read(&choice.orelse);
            }
            Expr::Lambda(lambda) => {
                if let Some(parameters) = &lambda.parameters {
                    self.parameters(parameters);
                }
                self.read(&lambda.body);
            }
            Expr::Dict(dict) => {
                for item in &dict.items {
                    self.read_some(item.key.as_ref());
                    self.read(&item.value);
                }
            }
            Expr::Set(set) => set.elts.iter().for_each(|each| self.read(each)),
            Expr::ListComp(all) => self.comprehension(&[&all.elt], &all.generators),
            Expr::SetComp(all) => self.comprehension(&[&all.elt], &all.generators),
            Expr::Generator(all) => self.comprehension(&[&all.elt], &all.generators),
            Expr::DictComp(all) => {
                self.read_some(all.key.as_deref());
                self.comprehension(&[&all.value], &all.generators);
            }
            Expr::Await(wait) => self.read(&wait.value),
            Expr::Yield(give) => self.read_some(give.value.as_deref()),
            Expr::YieldFrom(give) => self.read(&give.value),
            Expr::Slice(slice) => {
                self.read_some(slice.lower.as_deref());
                self.read_some(slice.upper.as_deref());
                self.read_some(slice.step.as_deref());
            }
            Expr::FString(string) => {
                for part in &string.value {
                    if let FStringPart::FString(string) = part {
                        self.formatted(&string.elements);
                    }
                }
            }
            Expr::TString(string) => {
                string.value.iter().for_each(|part| self.formatted(&part.elements));
            }
            _ => {}
        }
    }

    fn comprehension(&mut self, elements: &[&Expr], clauses: &[Comprehension]) {
        elements.iter().for_each(|element| self.read(element));
        for clause in clauses {
            self.write(&clause.target);
            self.read(&clause.iter);
            clause.ifs.iter().for_each(|test| self.read(test));
        }
    }

    fn formatted(&mut self, elements: &[InterpolatedStringElement]) {
        for element in elements {
            if let InterpolatedStringElement::Interpolation(part) = element {
                self.read(&part.expression);
                if let Some(format) = &part.format_spec {
                    self.formatted(&format.elements);
                }
            }
        }
    }

    fn call(&mut self, call: &ExprCall) {
        match call.func.as_ref() {
            Expr::Name(name) => self.name(kind_of_call(&name.id), name, None),
            Expr::Attribute(attribute) => {
                self.read(&attribute.value);
                self.name(kind_of_call(&attribute.attr.id), &attribute.attr, Some(attribute));
            }
            other => self.read(other),
        }
        self.arguments(&call.arguments);
    }

    fn arguments(&mut self, arguments: &Arguments) {
        arguments.args.iter().for_each(|argument| self.read(argument));
        arguments.keywords.iter().for_each(|keyword| self.read(&keyword.value));
    }

    /// The names of parameters are no uses.
    pub(super) fn parameters(&mut self, parameters: &Parameters) {
        if !self.notes.wants_uses {
            return;
        }
        for parameter in parameters {
            self.types(parameter.annotation());
            self.read_some(parameter.default());
        }
    }

    pub(super) fn type_parameters(&mut self, list: Option<&TypeParams>) {
        for parameter in list.into_iter().flat_map(|list| &list.type_params) {
            if let TypeParam::TypeVar(variable) = parameter {
                self.types(variable.bound.as_deref());
            }
            self.types(parameter.default());
        }
    }

    /// An annotation: every name in it is a use of a type, but what a name is reached through.
    pub(super) fn types(&mut self, annotation: Option<&Expr>) {
        if let Some(annotation) = annotation.filter(|_| self.notes.wants_uses) {
            Types(self).visit_expr(annotation);
        }
    }

    /// What a class inherits from is used where the class is declared.
    pub(super) fn bases(&mut self, arguments: Option<&Arguments>) {
        for base in arguments.into_iter().flat_map(|list| &list.args) {
            let base = match base {
                Expr::Subscript(generic) => &generic.value,
                other => other,
            };
            match base {
                Expr::Name(name) => self.name(ReferenceKind::Inheritance, name, None),
                Expr::Attribute(attribute) => {
                    self.name(ReferenceKind::Inheritance, &attribute.attr, Some(attribute));
                }
                _ => {}
            }
        }
    }

    /// The rest of what is between the parentheses of a class.
    pub(super) fn base_arguments(&mut self, arguments: Option<&Arguments>) {
        let Some(arguments) = arguments else { return };
        for base in &arguments.args {
            let base = match base {
                Expr::Subscript(generic) => {
                    self.read(&generic.slice);
                    &generic.value
                }
                other => other,
            };
            match base {
                Expr::Name(_) => {}
                Expr::Attribute(attribute) => self.read(&attribute.value),
                other => self.read(other),
            }
        }
        arguments.keywords.iter().for_each(|keyword| self.read(&keyword.value));
    }

    /// In a pattern, `a` is bound and `a.b` is compared with.
    pub(super) fn pattern(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::MatchValue(value) => self.read(&value.value),
            Pattern::MatchSingleton(_) => {}
            Pattern::MatchSequence(list) => list.patterns.iter().for_each(|each| self.pattern(each)),
            Pattern::MatchMapping(mapping) => {
                mapping.keys.iter().for_each(|key| self.read(key));
                mapping.patterns.iter().for_each(|each| self.pattern(each));
                self.write_name(mapping.rest.as_ref());
            }
            Pattern::MatchClass(class) => {
                self.read(&class.cls);
                class.arguments.patterns.iter().for_each(|each| self.pattern(each));
                class.arguments.keywords.iter().for_each(|each| self.pattern(&each.pattern));
            }
            Pattern::MatchStar(star) => self.write_name(star.name.as_ref()),
            Pattern::MatchAs(named) => {
                if let Some(pattern) = &named.pattern {
                    self.pattern(pattern);
                }
                self.write_name(named.name.as_ref());
            }
            Pattern::MatchOr(choice) => choice.patterns.iter().for_each(|each| self.pattern(each)),
        }
    }

    pub(super) fn import(&mut self, alias: &Alias, module: &str, name: Option<&str>) {
        let (row, column) = self.lines.place(alias.start().to_usize());
        let renamed = alias.asname.as_ref().map(|name| self.text(name));
        if let Some(used) = self.notes.import(row, module, name, renamed)
            && self.notes.wants_uses
            && is_name(used)
        {
            self.notes.refer(ReferenceKind::Import, (row, column), used, name.map(|_| module));
        }
    }

    /// A name that means a value; `_` does not.
    fn value(&mut self, kind: ReferenceKind, name: &impl Ranged, through: Option<&ExprAttribute>) {
        if self.text(name) != "_" {
            self.name(kind, name, through);
        }
    }

    fn name(&mut self, kind: ReferenceKind, name: &impl Ranged, through: Option<&ExprAttribute>) {
        let text = self.text(name);
        if self.notes.wants_uses && is_name(text) {
            let at = self.lines.place(name.start().to_usize());
            let object = through.map(|attribute| self.object(attribute));
            self.notes.refer(kind, at, text, object);
        }
    }

    /// What comes in front of the dot, with the parentheses that the tree leaves out.
    fn object(&self, attribute: &ExprAttribute) -> &'s str {
        let start = attribute.start().to_usize();
        let end = attribute.value.end().to_usize();
        let gap = self.notes.slice(end, attribute.attr.start().to_usize());
        let closed = gap.split('#').next().and_then(|gap| gap.rfind(')')).map_or(0, |at| at + 1);
        self.notes.slice(start, end + closed)
    }
}

/// The names in an annotation.
struct Types<'r, 's>(&'r mut Reader<'s>);

impl<'a> SourceOrderVisitor<'a> for Types<'_, '_> {
    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) => self.0.name(ReferenceKind::Type, name, None),
            Expr::Attribute(attribute) => {
                match attribute.value.as_ref() {
                    Expr::Name(object) => self.0.name(ReferenceKind::Read, object, None),
                    other => self.visit_expr(other),
                }
                self.0.name(ReferenceKind::Type, &attribute.attr, None);
            }
            other => walk_expr(self, other),
        }
    }
}

fn kind_of_call(name: &str) -> ReferenceKind {
    let upper = name.trim_start_matches('_').chars().next().is_some_and(char::is_uppercase);
    if upper { ReferenceKind::Instantiation } else { ReferenceKind::Call }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME && !text.contains('\n')
}
