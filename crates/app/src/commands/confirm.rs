//! Questions with yes and no, for what should not happen by accident.

use crate::config::Loaded;
use crate::exit::Exit;
use crate::print::prompt::{self, Terminal};

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confirmation {
    Yes,
    No,
    /// The user could not be asked.
    Unasked,
}

/// Asks on the terminal. `--yes` answers; `--json`, `--non-interactive` and a pipe cannot.
pub(crate) fn ask(loaded: &Loaded, yes: bool, question: &str) -> Result<Confirmation, Exit> {
    if yes {
        return Ok(Confirmation::Yes);
    }
    if !prompt::is_interactive(&loaded.settings.output) {
        return Ok(Confirmation::Unasked);
    }
    let agreed = prompt::confirm(&mut Terminal, &format!("{question} [y/N] "))?;
    Ok(if agreed { Confirmation::Yes } else { Confirmation::No })
}
