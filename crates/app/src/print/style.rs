//! Colours and clickable links: only where the terminal takes them and the user has not declined them.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::OnceLock;

use clap::ValueEnum;

/// The answer to `--color`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ColorChoice {
    // No doc comments: clap would spread the help of every command over three times as many lines for them.
    #[default]
    Auto,
    Always,
    Never,
}

impl From<ColorChoice> for clap::ColorChoice {
    fn from(choice: ColorChoice) -> Self {
        match choice {
            ColorChoice::Auto => clap::ColorChoice::Auto,
            ColorChoice::Always => clap::ColorChoice::Always,
            ColorChoice::Never => clap::ColorChoice::Never,
        }
    }
}

/// What a piece of text is, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    Heading,
    Path,
    Place,
    /// Something that matters less than the text beside it.
    Aside,
    Good,
    Caution,
    Bad,
    Keyword,
    Comment,
    Text,
    Number,
}

impl Ink {
    /// The parameters of the escape sequence: the sixteen colours that every theme defines.
    fn code(self) -> &'static str {
        match self {
            Ink::Heading => "1",
            Ink::Path => "35",
            Ink::Place | Ink::Good => "32",
            Ink::Aside | Ink::Comment => "2",
            Ink::Caution => "33",
            Ink::Bad => "1;31",
            Ink::Keyword => "34",
            Ink::Text => "32",
            Ink::Number => "36",
        }
    }
}

/// What one stream takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Look {
    pub colour: bool,
    pub links: bool,
}

static OUT: OnceLock<Look> = OnceLock::new();
static ERR: OnceLock<Look> = OnceLock::new();

/// Decides once, before anything is printed.
pub(crate) fn start(choice: ColorChoice) {
    let variable = |name: &str| std::env::var(name).ok();
    let look = |terminal: bool| {
        let colour = colours(choice, &variable, terminal);
        Look { colour, links: colour && terminal && takes_links(&variable) }
    };
    // A second start is a second command in one process, which only tests have.
    let _ = OUT.set(look(std::io::stdout().is_terminal()));
    let _ = ERR.set(look(std::io::stderr().is_terminal()));
}

/// Standard output; plain until [`start`] has decided.
pub(crate) fn out() -> Look {
    OUT.get().copied().unwrap_or_default()
}

/// Standard error; plain until [`start`] has decided.
pub(crate) fn err() -> Look {
    ERR.get().copied().unwrap_or_default()
}

impl Look {
    /// The text in its colour. It must be safe already.
    pub(crate) fn paint(self, ink: Ink, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", ink.code())
        } else {
            text.to_owned()
        }
    }

    /// The text as a link to a file, and to a line of it where one is given.
    pub(crate) fn link(self, file: &Path, line: Option<u64>, text: &str) -> String {
        if !self.links {
            return text.to_owned();
        }
        let line = line.map(|line| format!("#L{line}")).unwrap_or_default();
        format!("\x1b]8;;{}{line}\x1b\\{text}\x1b]8;;\x1b\\", file_url(file))
    }
}

/// The flag beats the variables, and NO_COLOR beats the others (no-color.org, bixense.com/clicolors).
fn colours(choice: ColorChoice, variable: &dyn Fn(&str) -> Option<String>, terminal: bool) -> bool {
    let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    let is = |name: &str, value: &str| variable(name).as_deref() == Some(value);
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto if set("NO_COLOR") => false,
        ColorChoice::Auto if set("CLICOLOR_FORCE") && !is("CLICOLOR_FORCE", "0") => true,
        ColorChoice::Auto if is("CLICOLOR", "0") || is("TERM", "dumb") => false,
        ColorChoice::Auto => terminal,
    }
}

/// Whether this terminal is known to understand OSC 8. Others would print the escape sequence.
fn takes_links(variable: &dyn Fn(&str) -> Option<String>) -> bool {
    let set = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
    if let Some(forced) = variable("FORCE_HYPERLINK") {
        return forced != "0";
    }
    if set("CI") || set("TMUX") || variable("TERM").is_some_and(|term| term.starts_with("screen")) {
        return false;
    }
    let programs =
        ["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio", "zed", "WarpTerminal"];
    let terms = ["xterm-kitty", "xterm-ghostty", "alacritty", "foot", "foot-extra", "contour", "wezterm"];
    variable("TERM_PROGRAM").is_some_and(|program| programs.contains(&program.as_str()))
        || variable("TERM").is_some_and(|term| terms.contains(&term.as_str()))
        || variable("VTE_VERSION")
            .and_then(|text| text.parse().ok())
            .is_some_and(|version: u32| version >= 5000)
        || ["KONSOLE_VERSION", "KITTY_WINDOW_ID", "WT_SESSION", "DOMTERM"].into_iter().any(set)
}

/// `file:///path` with every byte that could end or steer the link percent-encoded.
fn file_url(path: &Path) -> String {
    format!("file://{}", super::percent_encoded(path.as_os_str().as_encoded_bytes(), b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(pairs: &[(&str, &str)], choice: ColorChoice, terminal: bool) -> (bool, bool) {
        let pairs: Vec<(String, String)> =
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let variable =
            |name: &str| pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        (colours(choice, &variable, terminal), takes_links(&variable))
    }

    #[test]
    fn the_flag_beats_the_variables_and_the_variables_beat_the_terminal() {
        use ColorChoice::{Always, Auto, Never};
        let colours = |pairs: &[(&str, &str)], choice, terminal| with(pairs, choice, terminal).0;
        assert!(colours(&[], Auto, true) && !colours(&[], Auto, false));
        assert!(!colours(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], Auto, true));
        assert!(colours(&[("NO_COLOR", "")], Auto, true), "an empty NO_COLOR means nothing");
        assert!(colours(&[("CLICOLOR_FORCE", "1")], Auto, false));
        assert!(!colours(&[("CLICOLOR_FORCE", "0")], Auto, false));
        assert!(!colours(&[("CLICOLOR", "0")], Auto, true) && !colours(&[("TERM", "dumb")], Auto, true));
        assert!(colours(&[("NO_COLOR", "1")], Always, false) && !colours(&[], Never, true));
    }

    #[test]
    fn links_only_where_the_terminal_is_known_to_take_them() {
        let links = |pairs: &[(&str, &str)]| with(pairs, ColorChoice::Auto, true).1;
        assert!(!links(&[("TERM", "xterm-256color")]));
        assert!(links(&[("TERM_PROGRAM", "vscode")]) && links(&[("VTE_VERSION", "7003")]));
        assert!(!links(&[("VTE_VERSION", "4600")]));
        assert!(!links(&[("TERM_PROGRAM", "WezTerm"), ("TMUX", "/tmp/x")]));
        assert!(links(&[("FORCE_HYPERLINK", "1"), ("TMUX", "x")]) && !links(&[("FORCE_HYPERLINK", "0")]));
    }

    #[test]
    fn a_file_name_cannot_leave_its_link() {
        let look = Look { colour: true, links: true };
        let link = look.link(Path::new("/a b/\x1b\\x"), Some(3), "x");
        assert_eq!(link, "\x1b]8;;file:///a%20b/%1B%5Cx#L3\x1b\\x\x1b]8;;\x1b\\");
        assert_eq!(Look::default().link(Path::new("/a"), None, "x"), "x");
        assert_eq!(Look::default().paint(Ink::Bad, "x"), "x");
        assert_eq!(look.paint(Ink::Path, "x"), "\x1b[35mx\x1b[0m");
    }
}
