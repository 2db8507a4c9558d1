//! The rooms of the engine stand in an order: each imports from those below it alone, and one of them alone writes.

use super::Fault;
use crate::tree::Page;

/// The folder of the engine's sources.
const ENGINE: &str = "crates/engine/src/";
/// The rooms, the lowest first. Files beside the rooms stand above all of them.
const ROOMS: [&str; 11] = [
    "plan",
    "controls",
    "commit",
    "state",
    "reconciliation",
    "chains",
    "messaging",
    "drive",
    "enter",
    "watch",
    "operators",
];

/// The room that alone calls the journal's writer and knows its outcomes.
const WRITES: &str = "commit";
/// The file of the tests that plays a journal.
const PLAYS_JOURNAL: &str = "reconciliation/world.rs";

/// A fault for each line that names a room above its own, or what stands beside the rooms, one for each file in a room
/// without a place in the order, and one for each that writes beside the room which does.
pub(super) fn check(sources: &[Page]) -> Vec<Fault> {
    let own = sources.iter().filter_map(|page| Some((page, page.path.strip_prefix(ENGINE)?)));
    own.flat_map(|(page, path)| faults(page, path).into_iter().chain(writes(page, path))).collect()
}

/// A fault where a file of another room calls the journal's writer, or names the outcome of its writes.
fn writes(page: &Page, path: &str) -> Option<Fault> {
    let code = page.text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: String =
        code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code: String = code.split_whitespace().collect();
    let calls = ["journal.write(", "journal.begin(", "Wrote::", "Wrote}", "Wrote,", "Wrote;"];
    let elsewhere = path.split('/').next() != Some(WRITES) && path != PLAYS_JOURNAL;
    let called = calls.iter().find(|call| elsewhere && code.contains(**call))?;
    let what = format!("`{called}` belongs to `{WRITES}` alone: write through its JournalWriter");
    Some(Fault::whole(&page.path, what))
}

fn faults(page: &Page, path: &str) -> Vec<Fault> {
    let Some((room, _)) = path.split_once('/') else { return Vec::new() };
    let Some(own) = place(room) else {
        let what = format!("`{room}` has no place among the rooms of xtask/src/tidy/rooms.rs");
        return vec![Fault::whole(&page.path, what)];
    };
    let upward = |(n, line): (usize, &str)| {
        let code = line.split("//").next().unwrap_or_default();
        let named = code.split("crate::").skip(1).map(first_word);
        let above = named.filter(|name| place(name).is_none_or(|there| there > own));
        let what = |name: &str| format!("`{room}` stands below `{name}`, and may not import it");
        above.map(|name| Fault::at(&page.path, n, what(name))).collect::<Vec<_>>()
    };
    let code = page.text.split("#[cfg(test)]").next().unwrap_or_default();
    (1..).zip(code.lines()).flat_map(upward).collect()
}

fn place(room: &str) -> Option<usize> {
    ROOMS.iter().position(|one| *one == room)
}

/// The path's first word. A list in braces has none, and is refused with it: one room a line.
fn first_word(path: &str) -> &str {
    let end = path.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    path.get(..end.unwrap_or(path.len())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tree::Page;

    fn found(path: &str, text: &str) -> Vec<String> {
        let page = Page { path: path.to_owned(), text: text.to_owned() };
        check(&[page]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn one_room_alone_writes() {
        let of = |text| found("crates/engine/src/drive/jobs.rs", text).len();
        assert_eq!(of("self.shared\n    .parts\n    .journal\n    .write(units).await;\n"), 1);
        assert_eq!(of("use kernel::unit::{Unit, Wrote};\n"), 1);
        assert_eq!(of("self.shared.writer.write(unit).await;\n// journal.write(x)\n"), 0);
        assert!(found("crates/engine/src/commit/writer.rs", "journal.write(units);\n").is_empty());
    }

    #[test]
    fn a_room_imports_from_those_below_it() {
        let of = |text| found("crates/engine/src/chains/lanes.rs", text);
        assert!(of("use crate::chains::stops::stop;\nuse crate::plan::close::Close;\n").is_empty());
        assert!(of("// crate::drive drives it\n#[cfg(test)]\nuse crate::drive::x;\n").is_empty());
        assert_eq!(of("use crate::state::x;\nuse crate::drive::prove::Prover;\n").len(), 1);
        assert_eq!(of("use crate::Engine;\n").len(), 1, "what stands beside the rooms");
        assert_eq!(of("use crate::{state::x, drive::y};\n").len(), 1, "a list hides its rooms");
        assert!(found("crates/engine/src/compose.rs", "use crate::operators::x;\n").is_empty());
        assert_eq!(found("crates/engine/src/pipeline/plan.rs", "").len(), 1, "no such room");
    }
}
