//! Declarations by their facts: filters gate what a query is asked of, and nothing that passes both is lost.

use std::sync::Arc;

use engine::code::{CodeCandidate, CodeFilters, CodeQuery, FILTERS, QueriedText, RiskRules, text_of};
use engine::{Call, CodeParts, CodeSearchRequest, CodeSearchResults, Engine};
use model::Knowledge;
use testkit::Folder;

use crate::world::{index, open};

const TREE: &str = "\
//- api/handler.js
import { exec } from 'child_process';
/** Runs what the request asks for. */
export async function runUnsafe(req, res) {
  const cmd = req.body.cmd;
  if (!cmd) { throw new BadRequest('no command'); }
  await exec(cmd);
}
export function plain(a) { return a && helper(a); }
//- lib/store.py
import os
class Store(Base):
    '''Keeps rows.'''
    def load(self, path):
        for row in open(path):
            if not row:
                continue
            self.rows[row] = row
        return self.rows
    def _helper(self):
        raise KeyError('helper')
//- lib/words.hs
module Words where
helper x = x
//- notes.md
# Helper
The helper of helpers.
";

fn filters(asked: &[(&str, &str)]) -> CodeFilters {
    let mut filters = CodeFilters::default();
    for (name, value) in asked {
        let spec =
            FILTERS.iter().find(|spec| spec.name == *name).unwrap_or_else(|| panic!("no filter {name}"));
        filters.add(spec, &[(*value).to_owned()], false).unwrap();
    }
    filters
}

async fn ask(engine: &Engine, query: &str, asked: &[(&str, &str)], parts: CodeParts) -> CodeSearchResults {
    let request = CodeSearchRequest {
        query: CodeQuery::parse(query, false).unwrap(),
        filters: filters(asked),
        parts,
        limit: 100,
        context: 1,
    };
    engine.search_code(&Call::cli("test"), request).await.unwrap()
}

fn names(results: &CodeSearchResults) -> Vec<String> {
    let name = |hit: &engine::CodeSearchHit| {
        hit.declaration(CodeParts::Declarations).map(|each| each.qualified.clone())
    };
    let mut names: Vec<String> = results.hits.iter().filter_map(name).collect();
    names.sort();
    names
}

#[tokio::test]
async fn c018_declarations_by_what_they_do() {
    let folder = Folder::from(TREE);
    let engine = open(folder.path(), &folder.state());
    index(&engine);
    let parts = CodeParts::Declarations;
    let found = ask(&engine, "cmd", &[("reads", "req.body"), ("calls", "exec")], parts).await;
    assert_eq!(names(&found), ["runUnsafe"]);
    assert_eq!(found.hits[0].before, ["/** Runs what the request asks for. */"]);
    let all = names(&ask(&engine, "helper", &[], parts).await);
    for name in ["Helper", "Store", "Store._helper", "plain"] {
        assert!(all.iter().any(|each| each == name), "{name}: {all:?}");
    }
    assert!(!all.iter().any(|name| name == "runUnsafe" || name == "Store.load"), "{all:?}");
    assert_eq!(names(&ask(&engine, "helper", &[("throws", "keyerror")], parts).await), ["Store._helper"]);
    assert_eq!(
        names(&ask(&engine, "row", &[("loopsMin", "1"), ("continuesMin", "1")], parts).await),
        ["Store.load"]
    );
    assert_eq!(names(&ask(&engine, "&&", &[], parts).await), ["plain"]);
    assert_eq!(names(&ask(&engine, "exec", &[("async", "true")], parts).await), ["runUnsafe"]);
    assert_eq!(names(&ask(&engine, "exec", &[("lang", "py")], parts).await), Vec::<String>::new());
    let risky = ask(&engine, "cmd", &[("riskFlow", "req.body->exec")], parts).await;
    assert_eq!(names(&risky), ["runUnsafe"]);
    let comments = ask(&engine, "request", &[], CodeParts::Comments).await;
    assert_eq!((comments.hits.len(), comments.hits[0].file.path.as_str()), (1, "api/handler.js"));
}

/// A filter does not guess: what it cannot answer for is named.
#[tokio::test]
async fn what_a_filter_cannot_answer_for_is_named() {
    let folder = Folder::from(TREE);
    let engine = open(folder.path(), &folder.state());
    index(&engine);
    let found = ask(&engine, "helper", &[("reads", "x")], CodeParts::Declarations).await;
    assert_eq!(found.left_out, [("reads is not known for haskell files".to_owned(), 1)]);
    assert!(found.hits.iter().all(|hit| !hit.file.path.ends_with(".hs")));
}

/// Facts follow the files, are kept between runs, and are not made again for an unchanged content.
#[tokio::test]
async fn facts_follow_the_files() {
    let folder = Folder::from(TREE);
    let engine = open(folder.path(), &folder.state());
    index(&engine);
    let made = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = |made: &Arc<std::sync::atomic::AtomicU64>| {
        let made = Arc::clone(made);
        Arc::new(move |number| made.store(number, std::sync::atomic::Ordering::SeqCst))
            as Arc<dyn Fn(u64) + Send + Sync>
    };
    let facts = engine.code_facts(&Call::cli("test"), count(&made)).await.unwrap();
    assert_eq!(facts.files.len(), 4);
    assert_eq!(made.load(std::sync::atomic::Ordering::SeqCst), 4);
    folder.write("lib/store.py", "def renamed():\n    return 1\n");
    index(&engine);
    made.store(0, std::sync::atomic::Ordering::SeqCst);
    let facts = engine.code_facts(&Call::cli("test"), count(&made)).await.unwrap();
    assert_eq!(made.load(std::sync::atomic::Ordering::SeqCst), 1, "only what changed");
    let store = facts.files.iter().find(|file| file.path == "lib/store.py").unwrap();
    assert_eq!(store.facts.declarations[1].qualified, "renamed");
    folder.remove("lib/store.py");
    index(&engine);
    let facts = engine.code_facts(&Call::cli("test"), Arc::new(|_| {})).await.unwrap();
    assert_eq!(facts.files.len(), 3);
}

/// Every filter alone and in pairs, with every word: what is found is what a look at every declaration finds.
#[tokio::test]
#[allow(clippy::disallowed_methods, reason = "the test's own files")]
async fn the_index_finds_what_a_look_at_everything_finds() {
    let folder = Folder::from(TREE);
    let engine = open(folder.path(), &folder.state());
    index(&engine);
    let facts = engine.code_facts(&Call::cli("test"), Arc::new(|_| {})).await.unwrap();
    let values = ["helper", "exec", "req", "function", "js py", "public", "1", "true", "self", "store"];
    let queries = ["helper", "row OR cmd", "self -helper", "\"return self.rows\"", "&&"];
    let mut combinations: Vec<Vec<(&str, &str)>> = vec![Vec::new()];
    for (at, spec) in FILTERS.iter().enumerate() {
        for value in values {
            if spec.argument == engine::code::ArgumentType::Number && value != "1" {
                continue;
            }
            combinations.push(vec![(spec.name, value)]);
            let other = &FILTERS[(at * 7 + value.len()) % FILTERS.len()];
            if other.argument != engine::code::ArgumentType::Number {
                combinations
                    .push(vec![(spec.name, value), (other.name, values[(at + value.len()) % values.len()])]);
            }
        }
    }
    for (at, asked) in combinations.iter().enumerate() {
        let text = queries[at % queries.len()];
        let found = names(&ask(&engine, text, asked, CodeParts::Declarations).await);
        let query = CodeQuery::parse(text, false).unwrap();
        let filters = filters(asked);
        let mut expected = Vec::new();
        for file in &facts.files {
            let content = std::fs::read_to_string(folder.path().join(&file.path)).unwrap();
            let language = lang::Language::from_name(&file.facts.language).unwrap();
            for (number, declaration) in file.facts.declarations.iter().enumerate() {
                let candidate = CodeCandidate { path: &file.path, file: &file.facts, declaration };
                let known = |fact| -> Knowledge { language.knowledge(fact) };
                let part = text_of(&file.facts.declarations, number, &content);
                if filters.admits(candidate, &known)
                    && filters.admits_text(&part, &file.facts.language, RiskRules::defaults())
                    && query.matches(&QueriedText::new(&part))
                {
                    expected.push(declaration.qualified.clone());
                }
            }
        }
        expected.sort();
        assert_eq!(found, expected, "{text} {asked:?}");
    }
}
