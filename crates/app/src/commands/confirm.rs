//! Questions with yes and no, for what should not happen by accident.

use std::io::{self, IsTerminal};

use crate::config::Loaded;
use crate::exit::Exit;
use crate::print;

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    Yes,
    No,
    /// There was nobody to ask.
    Unasked,
}

/// Asks on the terminal. `--yes` answers; `--json`, `--non-interactive` and a pipe cannot.
pub(crate) fn ask(loaded: &Loaded, yes: bool, question: &str) -> Result<Answer, Exit> {
    if yes {
        return Ok(Answer::Yes);
    }
    let output = &loaded.settings.output;
    if output.json || output.non_interactive || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Ok(Answer::Unasked);
    }
    print::err(&format!("{question} [y/N] "));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    let agreed = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    Ok(if agreed { Answer::Yes } else { Answer::No })
}
