//! The everyday questions (`eval/everyday`) over a folder of documents, mails, tables, notes and code.

use super::code::Quality;
use super::peers::Peer;
use super::{Content, Work};
use crate::eval::everyday;

/// The figures of all programs, in their order; none where a program cannot search.
pub(super) fn measure(peers: &[Box<dyn Peer>], work: &Work) -> Result<Vec<Option<Quality>>, String> {
    let (folder, questions) = everyday::lay_out()?;
    let mut figures = Vec::new();
    for peer in peers {
        let site = work.site(peer.as_ref(), "everyday", &folder, Content::Everything)?;
        site.index(peer.as_ref())?;
        let Some(mut session) = peer.open(&site)? else {
            figures.push(None);
            continue;
        };
        let mut quality = Quality::default();
        for question in questions.iter().filter(|question| !question.files.is_empty()) {
            let mut found = session.ask(&question.text)?.files;
            let mut seen = std::collections::HashSet::new();
            found.retain(|path| seen.insert(path.clone()));
            quality.add(found.iter().position(|path| question.files.contains(path)));
        }
        figures.push(Some(quality));
    }
    println!("asked the everyday questions");
    Ok(figures)
}
