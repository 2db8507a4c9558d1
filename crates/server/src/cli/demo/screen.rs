//! Prints the demo's lines, and on a terminal a table that it redraws in place.

use crate::cli::exit::Fault;
use crate::cli::output;
use std::io::{IsTerminal, Write};

/// Where the demo plays.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: bool,
    /// Lines of the live table that stand at the cursor.
    drawn: usize,
}

impl Screen {
    pub(super) fn open() -> Self {
        Self { terminal: std::io::stdout().is_terminal(), drawn: 0 }
    }

    pub(super) fn bold(&self, text: &str) -> String {
        if self.terminal { format!("\x1b[1m{text}\x1b[0m") } else { text.to_owned() }
    }

    pub(super) fn print(&mut self, text: &str) -> Result<(), Fault> {
        self.drawn = 0;
        output::print(text)
    }

    pub(super) fn title(&mut self, text: &str) -> Result<(), Fault> {
        let title = self.bold(text);
        self.print(&format!("\n{title}"))
    }

    /// Something that was promised and held.
    pub(super) fn held(&mut self, text: &str) -> Result<(), Fault> {
        let mark = if self.terminal { "\x1b[32m✓\x1b[0m" } else { "ok" };
        self.print(&format!("  {mark} {text}"))
    }

    /// True where a live table makes sense.
    pub(super) const fn live(&self) -> bool {
        self.terminal
    }

    /// Draws the live table over the one before.
    pub(super) fn draw(&mut self, table: &str) -> Result<(), Fault> {
        let mut out = std::io::stdout().lock();
        if self.drawn > 0 {
            write!(out, "\x1b[{}A\x1b[J", self.drawn)?;
        }
        writeln!(out, "{table}")?;
        out.flush()?;
        self.drawn = table.lines().count();
        Ok(())
    }
}
