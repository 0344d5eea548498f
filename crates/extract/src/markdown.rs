//! Clean HTML to Markdown: the article where the page is one, else the whole text.
//!
//! Invariant: nothing here recurses with the depth of the page, and the answer is bounded.

use dom_query::{Document, NodeRef};
use dom_smoothie::Readability;

/// The largest document in which an article is searched, in bytes: the search takes more than linear time.
const MAX_FOR_ARTICLE: usize = 2 << 20;
/// The least share of a page's text that an article must hold to represent the page.
const ARTICLE_SHARE: f64 = 0.6;

/// How much of a page is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extent {
    /// The page: what leads to other pages is left out.
    Page,
    /// A requested part: all of it.
    Part,
}

/// Writes the page at `url` as Markdown, its links absolute where `html` has them so. Costs some milliseconds per
/// 100 KB.
#[must_use]
pub fn markdown(html: &str, url: &str, extent: Extent) -> String {
    let whole = Document::from(html);
    if extent == Extent::Part {
        return written(&whole);
    }
    without_navigation(&whole);
    let article = (html.len() <= MAX_FOR_ARTICLE).then(|| article(html, url)).flatten();
    match article {
        Some(article) if length(&article.root()) >= ARTICLE_SHARE * length(&whole.root()) => written(&article),
        _ => written(&whole),
    }
}

/// Markdown has no terms with descriptions: each becomes a paragraph, so that they do not run into each other.
fn written(document: &Document) -> String {
    for one in document.select("dt, dd").nodes() {
        one.rename("p");
    }
    for list in document.select("dl").nodes() {
        list.rename("div");
    }
    // Links in a row stand apart on the screen by style alone.
    for link in document.select("a[href]").nodes() {
        if link.next_sibling().is_some_and(|next| next.has_name("a")) {
            link.after_html(" ");
        }
    }
    tidy(&document.md(None))
}

/// The line with the `&` of its link destinations as they are, and the boxes of a form without escapes.
fn unescaped(line: &str) -> String {
    const INTO: &str = "](";
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(INTO) {
        let (text, after) = rest.split_at(at + INTO.len());
        let is_link = !rest[..at].ends_with('\\');
        let end = if is_link { after.find([')', ' ']).unwrap_or(after.len()) } else { 0 };
        let (destination, after) = after.split_at(end);
        out.push_str(text);
        out.push_str(&destination.replace("&amp;", "&"));
        rest = after;
    }
    out.push_str(rest);
    out.replace(r"\[x\]", "[x]").replace(r"\[ \]", "[ ]")
}

/// Takes out navigation, the page's own footer, and what stands beside its content, unless nothing else is left.
fn without_navigation(document: &Document) {
    let all = length(&document.root());
    let ways = document.select("nav, body > footer, body > div > footer, aside");
    let is_beside = |node: &&NodeRef<'_>| {
        let is_content = |around: &NodeRef<'_>| around.has_name("main") || around.has_name("article");
        !node.has_name("aside") || !node.ancestors(None).iter().any(is_content)
    };
    let ways: Vec<&NodeRef<'_>> = ways.nodes().iter().filter(is_beside).collect();
    let theirs: f64 = ways.iter().map(|node| length(node)).sum();
    if theirs < all * 0.9 {
        for node in ways {
            node.remove_from_parent();
        }
    }
}

/// The article of the page, if it has one. Its headings keep their levels: what looks for articles demotes
/// them, so they are hidden from it.
fn article(html: &str, url: &str) -> Option<Document> {
    let document = Document::from(html);
    for heading in document.select("h1, h2, h3, h4, h5, h6").nodes() {
        let name = heading.node_name()?;
        heading.set_attr("data-level", &name);
        heading.rename("h3");
    }
    let mut readability = Readability::with_document(document, Some(url).filter(|url| is_web(url)), None).ok()?;
    if !readability.is_probably_readable() {
        return None;
    }
    let article = Document::from(readability.parse().ok()?.content);
    for heading in article.select("[data-level]").nodes() {
        let level = heading.attr("data-level")?;
        if matches!(&*level, "h1" | "h2" | "h3" | "h4" | "h5" | "h6") {
            heading.rename(&level);
        }
    }
    Some(article)
}

fn is_web(url: &str) -> bool {
    url.starts_with("http://") || url.starts_with("https://")
}

/// The characters of a node other than white space.
#[expect(clippy::cast_precision_loss, reason = "a share of a page needs no exact length")]
fn length(node: &NodeRef<'_>) -> f64 {
    node.normalized_char_count() as f64
}

/// Without blank lines beyond one, and without white space at the end of lines where Markdown means none.
fn tidy(text: &str) -> String {
    let mut tidy = String::with_capacity(text.len());
    let mut blank = 0;
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        if line.trim().is_empty() && !is_code {
            blank += 1;
            if blank > 1 {
                continue;
            }
        } else {
            blank = 0;
        }
        if is_code {
            tidy.push_str(line);
        } else {
            tidy.push_str(&unescaped(line));
        }
        tidy.push('\n');
    }
    tidy.trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_is_made_of_keeps_its_form() {
        let html = r#"<body><nav><a href="https://a.test/home">Home</a></nav><h1>Title</h1>
            <p>Read <a href="https://a.test/x">this</a> and <b>that</b>.</p>
            <ul><li>one<ul><li>inner</li></ul></li></ul><ol start="3"><li>third</li></ol>
            <table><tr><th>Name</th><th>Price</th></tr><tr><td>A | B</td><td>3</td></tr></table>
            <pre><code class="language-rust">fn main() {

                x();
            }</code></pre><blockquote>Said</blockquote></body>"#;
        let text = markdown(html, "https://a.test/", Extent::Page);
        for part in [
            "# Title",
            "[this](https://a.test/x)",
            "**that**",
            "- one",
            "    - inner",
            "3. third",
            "| Name",
            "A \\| B",
            "```rust\nfn main() {\n\n",
            "> Said",
        ] {
            assert!(text.contains(part), "{part:?} in {text}");
        }
        assert!(!text.contains("Home"), "{text}");
        assert!(markdown(html, "https://a.test/", Extent::Part).contains("Home"));
    }

    #[test]
    fn an_article_is_written_without_its_surroundings_and_keeps_its_levels() {
        let words = "It rained for days, and nobody left the house, and all the roads were closed. ".repeat(12);
        let html = format!(
            "<body><div class=\"sidebar\"><p>Subscribe now</p></div><article><h1>Rain</h1><p>{words}</p>\
             <h2>Later</h2><p>{words}</p></article></body>"
        );
        let text = markdown(&html, "https://a.test/rain", Extent::Page);
        assert!(text.starts_with("# Rain\n"), "{text}");
        assert!(text.contains("\n## Later\n"), "{text}");
        assert!(!text.contains("Subscribe"), "{text}");
    }

    #[test]
    fn what_is_beside_the_content_is_left_out_and_an_aside_within_it_is_not() {
        let html = "<body><aside><p>Win a car</p></aside><main><p>Rain is likely.</p><aside><p>By 90 %</p></aside></main>\
                    <div><aside><p>Cheap loans</p></aside></div></body>";
        assert_eq!(markdown(html, "https://a.test/", Extent::Page), "Rain is likely.\n\nBy 90 %");
        assert!(markdown(html, "https://a.test/", Extent::Part).contains("Win a car"));
        let only = "<body><aside><p>All that there is</p></aside></body>";
        assert_eq!(markdown(only, "https://a.test/", Extent::Page), "All that there is");
    }

    #[test]
    fn a_list_of_things_is_no_article_and_is_written_whole() {
        let items: String =
            (0..30).map(|at| format!("<div class=\"card\"><h3>Thing {at}</h3><span>{at},99</span></div>")).collect();
        let text = markdown(&format!("<body><main>{items}</main></body>"), "https://a.test/", Extent::Page);
        assert_eq!(text.matches("### Thing").count(), 30, "{text}");
    }

    #[test]
    fn terms_and_descriptions_stand_apart() {
        let html = "<body><dl><dt>Weight<dd>350 g<dt>Material<dd>Stoneware</dl><p>End</p></body>";
        let text = markdown(html, "https://a.test/", Extent::Page);
        assert_eq!(text, "Weight\n\n350 g\n\nMaterial\n\nStoneware\n\nEnd");
    }

    #[test]
    fn links_in_a_row_stand_apart_and_their_addresses_are_plain() {
        let html = "<body><p><a href='https://a.test/?x=1&amp;y=2'>One</a><a href='https://a.test/b'>Two</a></p>\
                    <p>a &amp;amp; b</p><p>[x] Gift [ ] Wrap [link](x)</p><pre>\\[x\\]</pre></body>";
        let text = markdown(html, "https://a.test/", Extent::Part);
        assert!(text.starts_with("[One](https://a.test/?x=1&y=2) [Two](https://a.test/b)\n"), "{text}");
        assert!(text.contains("a &amp; b"), "{text}");
        assert!(text.contains("[x] Gift [ ] Wrap \\[link\\](x)"), "{text}");
        assert!(text.contains("\\[x\\]"), "{text}");
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("<body>{}end{}</body>", "<div>".repeat(1_000), "</div>".repeat(1_000));
        assert_eq!(markdown(&deep, "about:blank", Extent::Part), "end");
    }
}
