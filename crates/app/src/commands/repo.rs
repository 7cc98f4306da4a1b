//! `dir2mcp outline` and `dir2mcp bundle`: what a file declares, and the lines that a task needs.

use contracts::repo::{BundleArguments, BundleBudget, bundle_json, bundle_markdown, outline_json};
use engine::{Call, FileStructure};

use super::tools::current_engine;
use crate::cli::{BundleArgs, OutlineArgs};
use crate::config::Loaded;
use crate::exit::Exit;
use crate::{print, wire};

pub(crate) fn outline(loaded: &Loaded, args: &OutlineArgs) -> Result<(), Exit> {
    let engine = wire::open_engine(loaded)?;
    let call = Call::cli("repo.outline");
    let view = &loaded.settings.repo.view;
    let structure = runtime()?.block_on(engine.outline(&call, view, args.path.clone()))?;
    if let Some(shortfall) = &structure.shortfall {
        print::warn(shortfall);
    }
    if loaded.settings.output.json {
        print::out_json(&outline_json(&structure))?;
    } else {
        print::out(&print::safe_text(&text(&structure)))?;
    }
    Ok(())
}

pub(crate) fn bundle(loaded: &Loaded, args: &BundleArgs) -> Result<(), Exit> {
    let arguments = BundleArguments {
        prompt: args.task.clone(),
        budget: BundleBudget { max_files: Some(args.max_files), max_total_lines: Some(args.max_lines) },
        include_tests: args.include_tests,
        ..BundleArguments::default()
    };
    let request = arguments.request(&loaded.settings.repo.limits)?;
    let engine = current_engine(loaded)?;
    let call = Call::cli("repo.build_context_bundle");
    let bundle = runtime()?.block_on(engine.bundle(&call, &loaded.settings.repo.view, request))?.bundle;
    if loaded.settings.output.json {
        print::out_json(&bundle_json(&arguments, &bundle))?;
    } else {
        print::out(&print::safe_text(&bundle_markdown(&arguments.prompt, &bundle)))?;
    }
    Ok(())
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// One line per declaration, indented as it is nested.
fn text(structure: &FileStructure) -> String {
    let language = structure.language.unwrap_or("no outline for this kind of file");
    let mut text = format!("{} ({language})\n", structure.path);
    let digits = structure.symbols.iter().map(|symbol| symbol.end_line).max().unwrap_or(0).to_string().len();
    for symbol in &structure.symbols {
        let lines = format!("{:>digits$}-{:<digits$}", symbol.start_line, symbol.end_line);
        let indent = "  ".repeat(symbol.level as usize);
        // Only Python's signatures leave the name to the outline.
        let shown = if symbol.signature.contains(&symbol.name) {
            symbol.signature.clone()
        } else {
            format!("{}{}", symbol.name, symbol.signature)
        };
        text.push_str(&format!("  {lines}  {indent}{} {shown}", symbol.kind));
        if let Some(doc) = &symbol.doc {
            text.push_str(&format!("  # {doc}"));
        }
        text.push('\n');
    }
    text
}
