//! Questions to the person at the terminal.

use std::io::{self, IsTerminal, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use crate::config::settings::OutputSettings;
use crate::secrets::Secret;

/// True where a user can be asked.
pub(crate) fn is_interactive(output: &OutputSettings) -> bool {
    !output.non_interactive && !output.json && io::stdin().is_terminal() && io::stdout().is_terminal()
}

/// A question that only a clear yes agrees to.
pub(crate) fn confirm(prompter: &mut dyn Prompter, question: &str) -> io::Result<bool> {
    let answer = prompter.ask(question)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

/// Somebody to ask.
pub(crate) trait Prompter {
    fn say(&mut self, text: &str) -> io::Result<()>;
    fn ask(&mut self, question: &str) -> io::Result<String>;
    /// Like [`Prompter::ask`], with nothing of the answer on the screen.
    fn ask_secret(&mut self, question: &str) -> io::Result<Secret>;
}

/// The person at the terminal.
pub(crate) struct Terminal;

impl Prompter for Terminal {
    fn say(&mut self, text: &str) -> io::Result<()> {
        let mut err = io::stderr().lock();
        err.write_all(text.as_bytes())?;
        err.flush()
    }

    fn ask(&mut self, question: &str) -> io::Result<String> {
        self.say(question)?;
        let mut answer = String::new();
        if io::stdin().read_line(&mut answer)? == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the input ended; nothing was changed"));
        }
        Ok(answer)
    }

    fn ask_secret(&mut self, question: &str) -> io::Result<Secret> {
        // Before the question appears, so that not even a fast answer is echoed.
        let silence = Silence::start()?;
        let answer = self.ask(question);
        drop(silence);
        self.say("\n")?;
        answer.map(Secret::new)
    }
}

/// The terminal without echo, until dropped.
struct Silence(Termios);

impl Silence {
    fn start() -> io::Result<Silence> {
        let original = tcgetattr(io::stdin())?;
        let mut silent = original.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Silence(original))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), OptionalActions::Drain, &self.0);
    }
}
