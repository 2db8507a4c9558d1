//! The little Markdown that our own pages use, as HTML: headings, paragraphs, lists, tables, fenced
//! code, `code`, **bold** and links.

/// Text that cannot be taken for markup.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            letter => safe.push(letter),
        }
    }
    safe
}

/// A page. `link` gives the address of a link's target, or none where it leads out of what is
/// served: then only its text is shown.
pub(super) fn html(page: &str, link: &dyn Fn(&str) -> Option<String>) -> String {
    let mut html = String::new();
    for block in blocks(page) {
        html.push_str(&shown(&block, link));
        html.push('\n');
    }
    html
}

/// Lines that belong together.
fn blocks(page: &str) -> Vec<Vec<&str>> {
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    let (mut open, mut fenced) = (false, false);
    for line in page.lines() {
        let fence = line.starts_with("```");
        if line.trim().is_empty() && !fenced {
            open = false;
        } else if let (true, Some(block)) = (open, blocks.last_mut()) {
            block.push(line);
        } else {
            blocks.push(vec![line]);
            open = true;
        }
        fenced ^= fence;
    }
    blocks
}

fn shown(lines: &[&str], link: &dyn Fn(&str) -> Option<String>) -> String {
    let first = lines.first().copied().unwrap_or_default();
    let whole = || lines.join(" ");
    for (mark, tag) in [("### ", "h3"), ("## ", "h2"), ("# ", "h1")] {
        if let Some(title) = first.strip_prefix(mark) {
            return format!("<{tag}>{}</{tag}>", inline(title, link));
        }
    }
    if first.starts_with("```") {
        let code = lines.iter().skip(1).filter(|line| !line.starts_with("```"));
        let code: Vec<_> = code.map(|line| escaped(line)).collect();
        return format!("<pre>{}</pre>", code.join("\n"));
    }
    if first.starts_with("- ") {
        let whole = lines.iter().map(|line| line.strip_prefix("  ").unwrap_or(line));
        let whole = whole.collect::<Vec<_>>().join("\n");
        let items = format!("\n{whole}");
        let items = items.split("\n- ").skip(1);
        let items: String = items
            .map(|item| format!("<li>{}</li>", inline(&item.replace('\n', " "), link)))
            .collect();
        return format!("<ul>{items}</ul>");
    }
    if first.starts_with('|') {
        return table(lines, link);
    }
    format!("<p>{}</p>", inline(&whole(), link))
}

fn table(lines: &[&str], link: &dyn Fn(&str) -> Option<String>) -> String {
    let mut rows = String::new();
    for (number, line) in lines.iter().enumerate() {
        // the second line only rules
        if number == 1 {
            continue;
        }
        let tag = if number == 0 { "th" } else { "td" };
        let cells = line.trim().trim_matches('|').split(" | ");
        let cells = cells.map(|cell| format!("<{tag}>{}</{tag}>", inline(cell.trim(), link)));
        rows.push_str(&format!("<tr>{}</tr>", cells.collect::<String>()));
    }
    format!("<table>{rows}</table>")
}

/// A line: code first, for nothing inside it is markup.
pub(super) fn inline(text: &str, link: &dyn Fn(&str) -> Option<String>) -> String {
    let mut html = String::new();
    for (number, part) in text.split('`').enumerate() {
        if number % 2 == 1 {
            html.push_str(&format!("<code>{}</code>", escaped(part)));
        } else {
            html.push_str(&bold(&links(part, link)));
        }
    }
    html
}

fn bold(html: &str) -> String {
    let parts = html.split("**").enumerate();
    let part = |(number, part): (usize, &str)| {
        if number % 2 == 1 { format!("<strong>{part}</strong>") } else { part.to_owned() }
    };
    parts.map(part).collect()
}

fn links(text: &str, link: &dyn Fn(&str) -> Option<String>) -> String {
    let mut html = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((name, target, left)) = after
            .split_once("](")
            .and_then(|(name, rest)| rest.split_once(')').map(|(to, left)| (name, to, left)))
        else {
            break;
        };
        html.push_str(&escaped(before));
        match link(target) {
            Some(to) => {
                html.push_str(&format!("<a href=\"{}\">{}</a>", escaped(&to), escaped(name)));
            }
            None => html.push_str(&escaped(name)),
        }
        rest = left;
    }
    html.push_str(&escaped(rest));
    html
}

#[cfg(test)]
mod tests {
    use super::html;

    fn shown(page: &str) -> String {
        html(page, &|to| to.strip_suffix(".md").map(|name| format!("/e/{name}")))
    }

    #[test]
    fn what_our_pages_use_is_shown() {
        let page = "# A `b`\n\none\ntwo [X](X.md) and [out](../y)\n\n- a\n  b\n- **c**\n\n\
                    | h | `i` |\n|---|---|\n| 1 | [X](X.md) |\n\n```sh\na <b>\n\nc\n```\n";
        let expected = "<h1>A <code>b</code></h1>\n\
            <p>one two <a href=\"/e/X\">X</a> and out</p>\n\
            <ul><li>a b</li><li><strong>c</strong></li></ul>\n\
            <table><tr><th>h</th><th><code>i</code></th></tr><tr><td>1</td><td><a href=\"/e/X\">X</a></td></tr></table>\n\
            <pre>a &lt;b&gt;\n\nc</pre>\n";
        assert_eq!(shown(page), expected);
    }

    #[test]
    fn nothing_becomes_markup() {
        let page = "<script>alert(1)</script> [<b>](\"x.md) `<i>` & ' \"";
        let html = shown(page);
        assert_eq!(
            html,
            "<p>&lt;script&gt;alert(1)&lt;/script&gt; <a href=\"/e/&quot;x\">&lt;b&gt;</a> \
             <code>&lt;i&gt;</code> &amp; &#39; &quot;</p>\n"
        );
    }
}
