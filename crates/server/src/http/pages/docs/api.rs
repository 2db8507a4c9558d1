//! Renders the OpenAPI description as an HTML page that can be read, searched and tried.

use super::forms;
use super::groups::{self, GROUPS, WANTS};
use super::markdown::escaped;
use super::operation::{self, Operation, example, text};
use super::sentence;
use serde_json::Value;
use std::collections::BTreeMap;

/// A status and a sentence that this number of routes share stands once, in the section about errors.
const SHARED: usize = 20;

/// Everything between the page's head and its end.
pub(super) fn page(api: &Value) -> String {
    let all = operation::all(api);
    let shared = shared(&all);
    let mut html = head(api);
    html.push_str("<div class=\"page\">\n");
    html.push_str(&navigation(&all));
    html.push_str("<main id=\"content\">\n");
    html.push_str(&wants(&all));
    html.push_str(AUTHORIZATION);
    html.push_str(&errors(api, &shared));
    for group in GROUPS {
        let about = Value::from(group.about);
        let of = |op: &&Operation<'_>| groups::of(op.path).is_some_and(|one| one.id == group.id);
        let shown: String = all.iter().filter(of).map(|op| op.shown(&shared)).collect();
        html.push_str(&format!(
            "<section class=\"group\" id=\"{}\">\n<h2>{}</h2>\n<p>{}</p>\n{shown}</section>\n",
            group.id,
            escaped(group.title),
            sentence(&about),
        ));
    }
    html.push_str(&forms::section(api));
    html.push_str("</main>\n</div>\n");
    html
}

fn head(api: &Value) -> String {
    let info = &api["info"];
    format!(
        "<a class=\"skip\" href=\"#content\">Skip the list of routes</a>\n<header>\n<h1>{} {}</h1>\n<p>{}</p>\n\
         <p class=\"faint\"><a href=\"/openapi.json\">OpenAPI</a> · <a href=\"/docs/errors\">Error codes</a></p>\n\
         </header>\n",
        text(&info["title"]),
        text(&info["version"]),
        sentence(&info["description"]),
    )
}

fn navigation(all: &[Operation<'_>]) -> String {
    let mut html = "<nav aria-label=\"Routes\">\n\
        <p class=\"scripted\"><label for=\"search\">Search the routes <kbd>/</kbd></label>\n\
        <input id=\"search\" type=\"search\" autocomplete=\"off\" spellcheck=\"false\">\n\
        <span id=\"found\" class=\"faint\" role=\"status\"></span></p>\n\
        <ul><li><a href=\"#wants\">I want to …</a></li><li><a href=\"#authorization\">Authorization</a></li>\
        <li><a href=\"#errors\">Errors</a></li><li><a href=\"#forms\">Forms</a></li></ul>\n"
        .to_owned();
    for group in GROUPS {
        let of = |op: &&Operation<'_>| groups::of(op.path).is_some_and(|one| one.id == group.id);
        let links = all.iter().filter(of).map(|op| format!("<li>{}</li>", op.link()));
        let links: String = links.collect();
        html.push_str(&format!(
            "<div><h3><a href=\"#{}\">{}</a></h3>\n<ul>{links}</ul></div>\n",
            group.id,
            escaped(group.title),
        ));
    }
    html.push_str("</nav>\n");
    html
}

/// The table that leads from a wish to a route.
fn wants(all: &[Operation<'_>]) -> String {
    let row = |(want, id): &(&str, &str)| {
        let op = all.iter().find(|op| op.id() == *id)?;
        Some(format!("<tr><td>{}</td><td>{}</td></tr>", escaped(want), op.link()))
    };
    let rows: String = WANTS.iter().filter_map(row).collect();
    format!(
        "<section id=\"wants\">\n<h2>I want to …</h2>\n\
         <table><tr><th>I want to</th><th>route</th></tr>{rows}</table>\n</section>\n"
    )
}

const AUTHORIZATION: &str = "<section id=\"authorization\">\n<h2>Authorization</h2>\n\
    <p>Each request shows a token (JWT) as <code>Authorization: Bearer …</code>. Beside each route stands the scope that \
    the token needs; <code>admin</code> has them all. In production your identity provider signs the tokens. A server \
    with the development key takes those that <code>portage token</code> makes on its machine:</p>\n\
    <pre>URL=<span class=\"origin\">HOST:PORT</span>\n\
    TOKEN=$(portage token --sub 4001 --scope \"transfers:create transfers:read\")   # a user\n\
    TOKEN=$(portage token --sub anna --scope \"ops:read ops:act\")                  # an operator</pre>\n\
    <p>The curl lines of this page use these two variables.</p>\n\
    <form class=\"scripted\"><label for=\"token\">The token for <em>Try it</em> on this page</label>\n\
    <input id=\"token\" type=\"password\" autocomplete=\"off\" spellcheck=\"false\">\n\
    <span class=\"faint\">It stays in this page: it is stored nowhere, and gone when you leave.</span></form>\n</section>\n";

/// What is said of errors once, for all routes.
fn errors(api: &Value, shared: &BTreeMap<(&str, &str), usize>) -> String {
    let rows = shared.keys().map(|(status, about)| {
        let about = Value::from(*about);
        format!("<tr><td><code>{}</code></td><td>{}</td></tr>", escaped(status), sentence(&about))
    });
    let rows: String = rows.collect();
    let one = "/paths/~1api~1v1~1internal_transfer/post/responses/400/content/application~1json/examples/AMOUNT_TOO_SMALL/value";
    let sample = api.pointer(one).map(example).unwrap_or_default();
    format!(
        "<section id=\"errors\">\n<h2>Errors</h2>\n\
         <p>Every error is JSON of one form. <code>code</code> is for programs, <code>error</code> for readers, \
         <code>docs</code> is the code's page: what happened, whether the money is safe, what to do. \
         <code>request_id</code> stands in the server's log too.</p>\n{sample}\
         <p>What a client may conclude: an error without a <code>req_id</code> opened nothing, unless its code is \
         <a href=\"/docs/errors/SYSTEM_ERROR\"><code>SYSTEM_ERROR</code></a>. With that code, a timeout or a cut \
         connection the outcome is unknown: send the same request again with the same key.</p>\n\
         <p>These may come from any route; what else a route answers stands beside it.</p>\n\
         <table><tr><th>status</th><th>means</th></tr>{rows}</table>\n</section>\n"
    )
}

/// The error answers that many routes share, by status and sentence.
fn shared<'a>(all: &[Operation<'a>]) -> BTreeMap<(&'a str, &'a str), usize> {
    let mut counts = BTreeMap::new();
    for op in all {
        for answer in op.errors() {
            let count: &mut usize = counts.entry(answer).or_default();
            *count = count.saturating_add(1);
        }
    }
    counts.retain(|_, count| *count >= SHARED);
    counts
}

#[cfg(test)]
mod tests {
    use super::{GROUPS, Operation, WANTS, groups, operation};
    use crate::http::pages::openapi::description;
    use std::collections::BTreeSet;

    #[test]
    fn each_route_has_a_group_and_each_group_has_routes() {
        let all = operation::all(description());
        assert!(all.len() > 80, "{}", all.len());
        let group = |op: &Operation<'_>| groups::of(op.path).map(|group| group.id);
        for op in &all {
            assert!(group(op).is_some(), "{}: give it a group in groups.rs", op.path);
        }
        let used: BTreeSet<_> = all.iter().filter_map(group).collect();
        assert_eq!(used, GROUPS.iter().map(|group| group.id).collect());
    }

    #[test]
    fn what_a_reader_wants_is_an_operation() {
        let all = operation::all(description());
        for (want, id) in WANTS {
            assert!(all.iter().any(|op| op.id() == *id), "{want}: {id}");
        }
    }

    /// The README has some rows of the page's table.
    #[test]
    fn the_readmes_table_is_of_this_page() {
        let readme = include_str!("../../../../../../README.md");
        let (_, table) = readme.split_once("| I want to | route |\n|---|---|\n").expect("a table");
        let all = operation::all(description());
        let rows: Vec<_> = table.lines().take_while(|line| line.starts_with('|')).collect();
        assert!(rows.len() >= 5, "{rows:?}");
        for row in rows {
            let route = row.split('`').nth(1).expect("a route");
            let named = WANTS.iter().filter_map(|(_, id)| all.iter().find(|op| op.id() == *id));
            let mut routes = named.map(|op| format!("{} {}", op.verb(), op.path));
            assert!(routes.any(|known| known == route), "{row}");
        }
    }
}
