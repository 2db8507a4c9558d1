//! Draws a flow's table as a Mermaid diagram, for the docs, the console and the golden tests.

use crate::flow::life::Step;
use crate::flow::table::Table;

/// A state's name as Mermaid takes it: everything but letters and digits becomes a line.
pub fn id(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect()
}

/// The diagram of a table: each state, each edge, with what is done and what comes back.
pub fn draw(t: &Table) -> String {
    let name = |s| id(t.state(s).name);
    let mut lines = Vec::new();
    for s in t.all().filter(|s| name(*s) != t.state(*s).name) {
        lines.push(format!("state \"{}\" as {}", t.state(s).name, name(s)));
    }
    lines.push(format!("[*] --> {}", name(t.start)));
    for s in t.all() {
        let what = match t.step(s) {
            Step::Decide { rule, .. } => t.rules.get(usize::from(rule)).copied(),
            Step::Claim { .. } | Step::Call { .. } | Step::Send { .. } | Step::Push { .. } => {
                t.makes(s).map(|a| t.act(a).name)
            }
            Step::End => {
                lines.push(format!("{} --> [*]", name(s)));
                None
            }
        };
        if let Some(to) = t.state(s).cancelled {
            lines.push(format!("{} --> {}: cancelled", name(s), name(to)));
        }
        for (via, to) in t.edges(s) {
            let via = format!("{via:?}").to_lowercase();
            let label = what.map_or_else(|| via.clone(), |what| format!("{what} {via}"));
            // these end a label
            let label = label.replace([':', ';'], ",");
            lines.push(format!("{} --> {}: {label}", name(s), name(to)));
        }
    }
    let lines: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    format!("stateDiagram-v2\n{lines}")
}
