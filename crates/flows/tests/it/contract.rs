//! A table seen through the states that a source names: an arrow for each way from one of them to the
//! next, with the states between left out.

use kernel::flow::life::Via;
use kernel::flow::table::{S, Table};
use std::collections::BTreeSet;

/// Two names with an arrow between them.
pub(crate) type Arrow = (&'static str, &'static str);

/// The arrows between the named states. An unknown answer that stays makes none.
pub(crate) fn arrows(t: &Table, named: &BTreeSet<&'static str>) -> BTreeSet<Arrow> {
    let mut all = BTreeSet::new();
    for s in t.all().filter(|s| named.contains(t.state(*s).name)) {
        let mut seen = BTreeSet::new();
        let mut left: Vec<S> = out(t, s);
        while let Some(to) = left.pop() {
            let name = t.state(to).name;
            if named.contains(name) {
                all.insert((t.state(s).name, name));
            } else if seen.insert(to) {
                left.extend(out(t, to));
            }
        }
    }
    all
}

fn out(t: &Table, s: S) -> Vec<S> {
    let stays = |(via, to): &(Via, S)| *via == Via::Unknown && *to == s;
    t.edges(s).into_iter().filter(|edge| !stays(edge)).map(|edge| edge.1).collect()
}

/// What a comparison finds: what only the source has, and what only our table has, must be what is
/// listed, each with its reason.
pub(crate) fn agree(
    t: &Table,
    source: &[Arrow],
    repaired: &[(Arrow, &str)],
    added: &[(Arrow, &str)],
) {
    let source: BTreeSet<Arrow> = source.iter().copied().collect();
    let named = source.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let ours = arrows(t, &named);
    let listed = |list: &[(Arrow, &str)]| list.iter().map(|(arrow, _)| *arrow).collect();
    let (gone, new): (BTreeSet<Arrow>, BTreeSet<Arrow>) = (listed(repaired), listed(added));
    assert_eq!(source.difference(&ours).copied().collect::<BTreeSet<_>>(), gone, "{}", t.flow);
    assert_eq!(ours.difference(&source).copied().collect::<BTreeSet<_>>(), new, "{}", t.flow);
}
