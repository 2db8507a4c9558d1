//! Renders the repository's Markdown pages as HTML. Raw HTML in a page is shown as text.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html::push_html};

/// Text that a browser does not take for markup.
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

/// A page. `link` gives the address of a link's target, or none where it leads out of what the server
/// serves: then the page shows its text alone.
pub(super) fn html(page: &str, link: &dyn Fn(&str) -> Option<String>) -> String {
    rendered(events(page, link))
}

/// A sentence or two without the paragraph around them, for a cell or behind a title.
pub(super) fn inline(text: &str, link: &dyn Fn(&str) -> Option<String>) -> String {
    let paragraph = |event: &Event<'_>| {
        !matches!(event, Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph))
    };
    rendered(events(text, link).into_iter().filter(paragraph))
}

fn rendered<'a>(events: impl IntoIterator<Item = Event<'a>>) -> String {
    let mut html = String::new();
    push_html(&mut html, events.into_iter());
    html
}

fn events<'a>(page: &'a str, link: &dyn Fn(&str) -> Option<String>) -> Vec<Event<'a>> {
    let mut events = Vec::new();
    // whether each link that is open now leads somewhere
    let mut open = Vec::new();
    for event in Parser::new_ext(page, Options::ENABLE_TABLES) {
        if let Event::Start(Tag::Link { link_type, dest_url, title, id }) = event {
            let target = link(&dest_url);
            open.push(target.is_some());
            if let Some(to) = target {
                let to = to.into();
                events.push(Event::Start(Tag::Link { link_type, dest_url: to, title, id }));
            }
        } else if let Event::Html(text) | Event::InlineHtml(text) = event {
            events.push(Event::Text(text));
        } else if !matches!(event, Event::End(TagEnd::Link)) || open.pop() == Some(true) {
            events.push(event);
        }
    }
    events
}

#[cfg(test)]
mod tests {
    use super::{html, inline};

    fn shown(page: &str) -> String {
        html(page, &|to| to.strip_suffix(".md").map(|name| format!("/e/{name}")))
    }

    #[test]
    fn a_page_has_what_our_pages_use() {
        let page = "# A `b`\n\none\ntwo [X](X.md) and [out](../y)\n\n- a\n  b\n- **c**\n\n\
                    | h | `i` |\n|---|---|\n| 1 | [X](X.md) |\n\n```sh\na <b>\n\nc\n```\n";
        let expected = "<h1>A <code>b</code></h1>\n\
            <p>one\ntwo <a href=\"/e/X\">X</a> and out</p>\n\
            <ul>\n<li>a\nb</li>\n<li><strong>c</strong></li>\n</ul>\n\
            <table><thead><tr><th>h</th><th><code>i</code></th></tr></thead><tbody>\n\
            <tr><td>1</td><td><a href=\"/e/X\">X</a></td></tr>\n</tbody></table>\n\
            <pre><code class=\"language-sh\">a &lt;b&gt;\n\nc\n</code></pre>\n";
        assert_eq!(shown(page), expected);
    }

    #[test]
    fn nothing_becomes_markup() {
        let page = "<script>alert(1)</script>\n\nx <b onclick=y> [<b>](<\"x.md>) `<i>` & ' \"";
        let html = shown(page);
        assert_eq!(
            html,
            "&lt;script&gt;alert(1)&lt;/script&gt;\n<p>x &lt;b onclick=y&gt; \
             <a href=\"/e/%22x\">&lt;b&gt;</a> <code>&lt;i&gt;</code> &amp; ' \"</p>\n"
        );
    }

    #[test]
    fn a_sentence_stands_without_a_paragraph() {
        assert_eq!(inline("a `b` [c](d.md)", &|_| None), "a <code>b</code> c");
    }
}
