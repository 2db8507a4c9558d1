//! How far the demo is: a table that is drawn over itself on a terminal, and one line now and then elsewhere.

use std::io::IsTerminal as _;

/// How many transfers stand where, and what that took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Progress {
    pub accepted: usize,
    pub queued: usize,
    pub sent: usize,
    pub completed: usize,
    pub failed: usize,
    /// Attempts under way: one for each key at most.
    pub attempts: usize,
    /// Transactions that the chain executed.
    pub transactions: u64,
    /// Requests that the providers had.
    pub requests: u64,
}

/// Number of looks between two lines where there is no terminal.
const QUIET: u32 = 4;
const BAR: usize = 40;

/// What was shown, and where.
pub(super) struct View {
    terminal: bool,
    /// Number of lines that are drawn over the next time.
    drawn: usize,
    looks: u32,
    last: Option<Progress>,
}

impl View {
    pub(super) fn new(plain: bool) -> Self {
        let terminal = !plain && std::io::stdout().is_terminal();
        Self { terminal, drawn: 0, looks: 0, last: None }
    }

    pub(super) fn show(&mut self, seen: &Progress, print: &mut dyn FnMut(&str)) {
        if self.terminal {
            let table = table(seen);
            print(&(self.over() + &table));
            self.drawn = table.lines().count();
            return;
        }
        let ends = seen.completed.saturating_add(seen.failed) >= seen.accepted;
        if (self.looks.is_multiple_of(QUIET) || ends) && self.last != Some(*seen) {
            print(&line(seen));
            self.last = Some(*seen);
        }
        self.looks = self.looks.saturating_add(1);
    }

    /// A sentence that stays, above the table.
    pub(super) fn note(&mut self, text: &str, print: &mut dyn FnMut(&str)) {
        print(&format!("{}* {text}", self.over()));
        self.drawn = 0;
    }

    /// What takes the cursor back over the table.
    fn over(&self) -> String {
        if self.drawn == 0 { String::new() } else { format!("\u{1b}[{}A\u{1b}[J", self.drawn) }
    }
}

fn line(seen: &Progress) -> String {
    let Progress { accepted, queued, sent, completed, failed, attempts, transactions, requests } =
        seen;
    format!(
        "accepted {accepted}  queued {queued}  sent {sent}  completed {completed}  failed {failed}  \
         attempts {attempts}  transactions {transactions}  RPC calls {requests}"
    )
}

fn table(seen: &Progress) -> String {
    let ended = seen.completed.saturating_add(seen.failed);
    let full = ended.saturating_mul(BAR).checked_div(seen.accepted).unwrap_or_default();
    let full = if full < BAR { full } else { BAR };
    let (done, rest) = ("█".repeat(full), "░".repeat(BAR.saturating_sub(full)));
    let row = |name: &str, value: String| format!("  {name:<14}{value:>10}\n");
    let rows = [
        row("accepted", seen.accepted.to_string()),
        row("queued", seen.queued.to_string()),
        row("sent", seen.sent.to_string()),
        row("completed", seen.completed.to_string()),
        row("failed", seen.failed.to_string()),
        row("attempts", seen.attempts.to_string()),
        row("transactions", seen.transactions.to_string()),
        row("RPC calls", seen.requests.to_string()),
    ];
    format!("  {done}{rest}\n{}", rows.concat().trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Turns red where a table is drawn where no terminal is, or the same line again and again.
    #[test]
    fn without_a_terminal_it_is_one_line_now_and_then() {
        let mut lines = Vec::new();
        let mut view = View::new(true);
        let mut seen = Progress { accepted: 8, ..Progress::default() };
        for completed in 0..9 {
            seen.completed = completed;
            view.show(&seen, &mut |line| lines.push(line.to_owned()));
        }
        view.show(&seen, &mut |line| lines.push(line.to_owned()));
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines.iter().all(|line| !line.contains(['\n', '\u{1b}'])), "{lines:?}");
        assert!(lines[2].contains("completed 8"), "{lines:?}");
    }

    #[test]
    fn a_table_is_drawn_over_itself() {
        let mut view = View { terminal: true, ..View::new(true) };
        let mut shown = Vec::new();
        let seen = Progress { accepted: 4, completed: 2, ..Progress::default() };
        for _ in 0..2 {
            view.show(&seen, &mut |text| shown.push(text.to_owned()));
        }
        view.note("a fault", &mut |text| shown.push(text.to_owned()));
        view.show(&seen, &mut |text| shown.push(text.to_owned()));
        let back = "\u{1b}[9A\u{1b}[J";
        let over: Vec<bool> = shown.iter().map(|text| text.starts_with(back)).collect();
        assert_eq!(over, [false, true, true, false]);
        assert!(
            shown[0].contains(&format!("{}{}", "█".repeat(20), "░".repeat(20))),
            "{}",
            shown[0]
        );
    }
}
