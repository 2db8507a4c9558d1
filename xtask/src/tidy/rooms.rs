//! The rooms of the engine stand in an order: each imports from those below it alone.

use super::Fault;
use crate::tree::Page;

/// The folder of the engine's sources.
const ENGINE: &str = "crates/engine/src/";
/// The rooms, the lowest first. Files beside the rooms stand above all of them.
const ROOMS: [&str; 9] = [
    "plan",
    "state",
    "reconciliation",
    "chains",
    "messaging",
    "drive",
    "enter",
    "watch",
    "operators",
];

/// A fault for each line that names a room above its own, or what stands beside the rooms, and one for each file in a
/// room without a place in the order.
pub(super) fn check(sources: &[Page]) -> Vec<Fault> {
    let own = sources.iter().filter_map(|page| Some((page, page.path.strip_prefix(ENGINE)?)));
    own.flat_map(|(page, path)| faults(page, path)).collect()
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
