//! Answers: what a reading step brought, reduced to what the question asked.
//!
//! Invariant: an answer is a piece of what was read; nothing is made up, and where no piece fits there is
//! no answer.

use serde_json::Value as Json;

use cuebook_grammar::observation::Observation;

use super::phrase::{Phrase, content};
use super::progress::plain;
use super::text::words;

/// The longest answer, in characters.
const MAX_ANSWER: usize = 2_000;

/// Words that ask for a sum of money.
const PRICE_WORDS: &[&str] = &["cost", "price", "much"];
/// How many lines a price may stand below the name of what it is for.
const PRICE_WITHIN: usize = 5;

/// What the observation says already: the page's title, its URL, its heading.
pub(super) fn known(what: &Phrase, question: &str, observation: &Observation) -> Option<String> {
    let said: Vec<&str> = what
        .head
        .iter()
        .chain(&what.context)
        .map(String::as_str)
        .filter(|word| !["page", "current", "site", "tab", "this", "document"].contains(word))
        .collect();
    let asks_page =
        content(question).iter().any(|word| word == "page" || word == "tab" || word == "current") || said.len() == 1;
    match said[..] {
        ["title"] if asks_page && !observation.title.is_empty() => Some(observation.title.clone()),
        ["url" | "address" | "location"] if asks_page && question.to_lowercase().contains("url") => {
            Some(observation.url.clone())
        }
        ["heading" | "headline"] => observation.sketch.headings.first().map(|heading| heading.text.clone()),
        _ => None,
    }
}

/// How many places a search of the page found.
pub(super) fn matches_in(data: &Json) -> u64 {
    match data {
        Json::Array(list) => u64::try_from(list.len()).unwrap_or(u64::MAX),
        Json::Number(number) => number.as_u64().unwrap_or(0),
        Json::Bool(found) => u64::from(*found),
        Json::String(text) => u64::from(!text.trim().is_empty()),
        Json::Object(object) => {
            let by_name =
                ["matches", "results", "hits", "found", "count", "total"].iter().find_map(|key| object.get(*key));
            by_name.map_or(0, matches_in)
        }
        Json::Null => 0,
    }
}

/// What was read, as lines without their Markdown.
fn lines(text: &str) -> Vec<String> {
    text.lines()
        .map(|line| line.trim().trim_start_matches(['#', '>', '*', '-', '+']).trim().replace("**", "").replace('`', ""))
        .filter(|line| !line.is_empty() && !line.chars().all(|c| matches!(c, '|' | '-' | ':' | ' ')))
        .collect()
}

/// The piece of what was read that answers the question.
pub(super) fn answer(what: &Phrase, question: &str, data: &Json) -> Option<String> {
    let text = match plain(data) {
        Some(text) => text,
        None if data.is_object() || data.is_array() => return Some(cut(&data.to_string())),
        None => return None,
    };
    let asked: Vec<String> = what
        .head
        .iter()
        .chain(&what.context)
        .filter(|word| {
            !["page", "text", "content", "value", "whole", "everything", "current", "shown", "displayed", "say"]
                .contains(&word.as_str())
        })
        .cloned()
        .collect();
    let lines = lines(&text);
    if asks_price(question)
        && let Some(price) = price(&lines, &asked)
    {
        return price;
    }
    if asked.is_empty() || (lines.len() <= 1 && lines.first().is_none_or(|line| label_and_rest(line, &asked).is_none()))
    {
        return Some(cut(text.trim())).filter(|text| !text.is_empty());
    }
    let holds = |line: &String| {
        let words = words(line);
        asked.iter().all(|word| words.contains(word))
    };
    let labelled = lines.iter().enumerate().filter(|(_, line)| holds(line));
    let mut best: Option<(usize, String)> = None;
    for (index, line) in labelled {
        let rest = label_and_rest(line, &asked).or_else(|| {
            // A label on a line of its own: its value is on the next.
            let is_label = content(line).len() <= asked.len() + 1;
            is_label.then(|| lines.get(index + 1).cloned()).flatten()
        });
        let piece = rest.unwrap_or_else(|| line.clone());
        let length = line.chars().count();
        if best.as_ref().is_none_or(|(shortest, _)| length < *shortest) {
            best = Some((length, piece));
        }
    }
    best.map(|(_, piece)| cut(&piece))
}

fn asks_price(question: &str) -> bool {
    let said = words(question);
    said.iter().any(|word| PRICE_WORDS.contains(&word.as_str()))
        || (said.iter().any(|word| word == "how") && said.iter().any(|word| word == "much"))
}

fn is_money(text: &str) -> bool {
    text.contains(['$', '€', '£', '¥']) && text.contains(|c: char| c.is_ascii_digit())
}

/// The first sum of money soon after the line that names the thing; nothing if no line is about it alone.
fn price(lines: &[String], asked: &[String]) -> Option<Option<String>> {
    let thing: Vec<&String> = asked.iter().filter(|word| !PRICE_WORDS.contains(&word.as_str())).collect();
    if thing.is_empty() {
        return None;
    }
    let names = |line: &String| {
        let words = words(line);
        thing.iter().all(|word| words.contains(word))
    };
    // A line that has both is a label and its value.
    if lines.iter().any(|line| names(line) && is_money(line)) {
        return None;
    }
    let found = lines.iter().enumerate().filter(|(_, line)| names(line)).find_map(|(at, _)| {
        let near = lines.iter().skip(at).take(PRICE_WITHIN);
        near.flat_map(|line| line.split('|')).map(str::trim).find(|piece| is_money(piece))
    });
    let sum = |piece: &str| {
        let sums: Vec<&str> = piece.split_whitespace().filter(|word| is_money(word)).collect();
        match sums[..] {
            [only] => cut(only.trim_matches([',', '.', ';', '(', ')'])),
            _ => cut(piece),
        }
    };
    found.map(|piece| Some(sum(piece)))
}

/// `Total: 12 €`, `| Total | 12 € |`, `Total 12 €`: what stands after the label.
fn label_and_rest(line: &str, asked: &[String]) -> Option<String> {
    if line.contains('|') {
        let cells: Vec<&str> = line.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
        let at = cells.iter().position(|cell| {
            let words = words(cell);
            asked.iter().any(|word| words.contains(word))
        })?;
        return cells
            .get(at + 1)
            .or_else(|| cells.last().filter(|_| cells.len() > 1 && at + 1 < cells.len()))
            .map(|cell| (*cell).to_owned());
    }
    for mark in [": ", ":", " = ", " – ", " — ", " is ", " was "] {
        if let Some((label, rest)) = line.split_once(mark)
            && !rest.trim().is_empty()
            && asked.iter().any(|word| words(label).contains(word))
        {
            return Some(rest.trim().to_owned());
        }
    }
    let mut rest = line;
    let mut left = asked.len();
    // Words of the label at the start, in any order.
    while left > 0 {
        let word: String = rest.chars().take_while(|c| !c.is_whitespace()).collect();
        let named = words(&word);
        if named.is_empty() || !named.iter().all(|word| asked.contains(word)) {
            break;
        }
        rest = rest.strip_prefix(word.as_str()).unwrap_or_default().trim_start();
        left -= named.len().min(left);
    }
    (left == 0 && !rest.is_empty()).then(|| rest.to_owned())
}

fn cut(text: &str) -> String {
    text.chars().take(MAX_ANSWER).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ask(what: &str, data: &Json) -> Option<String> {
        answer(&Phrase::named(what), what, data)
    }

    #[test]
    fn the_value_beside_the_label_is_the_answer() {
        for page in [
            "# Cart\n\nPens\n\nTotal: 12.50 €\n\nThanks",
            "# Cart\n\n| Item | Price |\n|---|---|\n| Pen | 2 |\n| Total | 12.50 € |\n",
            "# Cart\n\nTotal 12.50 €\n\nPay now",
            "# Cart\n\nTotal\n\n12.50 €\n\nPay now",
            "- Pens: 3\n- **Total**: 12.50 €",
        ] {
            assert_eq!(ask("total", &json!(page)).as_deref(), Some("12.50 €"), "{page}");
            assert_eq!(ask("total", &json!({ "markdown": page })).as_deref(), Some("12.50 €"), "{page}");
        }
    }

    #[test]
    fn a_price_is_the_sum_that_stands_with_the_thing() {
        let page = json!("Kettle\nBoils fast.\n$39.00\nTeapot\nFor six cups.\nNow only $24.50, was dear\n");
        assert_eq!(ask("teapot cost", &page).as_deref(), Some("$24.50"));
        assert_eq!(ask("price of the kettle", &page).as_deref(), Some("$39.00"));
        assert_eq!(ask("price", &json!("Price: $3\nThanks")).as_deref(), Some("$3"));
    }

    #[test]
    fn what_the_page_does_not_say_has_no_answer() {
        assert_eq!(ask("discount", &json!("# Cart\n\nTotal: 12\n\nPay")), None);
    }

    #[test]
    fn matches_are_counted_in_any_of_the_usual_forms() {
        for (data, count) in [
            (json!([]), 0),
            (json!([{"text": "a"}]), 1),
            (json!({"matches": [1, 2]}), 2),
            (json!({"count": 3}), 3),
            (json!({"matches": []}), 0),
            (json!(null), 0),
        ] {
            assert_eq!(matches_in(&data), count, "{data}");
        }
    }
}
