//! Names of things as words that can be compared: `unitPrice`, `Unit price:` and `unit-price` are one.

/// The words of a name, in lower case, in one form each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Words(Vec<String>);

/// Words that pages and schemas use for the same thing; the first is canonical.
const SAME: &[&[&str]] = &[
    &["price", "cost", "amount"],
    &["name", "title", "heading", "headline"],
    &["url", "link", "href"],
    &["image", "img", "photo", "picture", "thumbnail"],
    &["description", "summary", "desc", "abstract"],
    &["rating", "star", "score", "ratingvalue"],
    &["author", "writer", "byline"],
    &["date", "published", "datepublished", "posted"],
    &["quantity", "qty"],
    &["phone", "telephone", "tel"],
    &["email", "mail"],
    &["number", "no", "nr", "num"],
    &["availability", "stock"],
    &["category", "genre"],
    &["code", "sku"],
];

/// The most words of a name that count.
const MAX_WORDS: usize = 12;

impl Words {
    /// The words of `name`.
    pub(crate) fn of(name: &str) -> Self {
        let mut words = Vec::new();
        let mut word = String::new();
        let mut was_lower = false;
        for c in name.chars().take(200) {
            if !c.is_alphanumeric() {
                push(&mut words, &mut word);
                was_lower = false;
                continue;
            }
            if c.is_uppercase() && was_lower {
                push(&mut words, &mut word);
            }
            was_lower = c.is_lowercase() || c.is_numeric();
            word.extend(c.to_lowercase());
        }
        push(&mut words, &mut word);
        // `email address` and `phone number` say no more than their first words.
        words.dedup_by(|next, before| {
            matches!((before.as_str(), next.as_str()), ("email", "address") | ("phone", "number"))
        });
        words.truncate(MAX_WORDS);
        Self(words)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words that a label lacks of this wanted name.
    pub(crate) fn lacking<'s>(&'s self, label: &'s Self) -> impl Iterator<Item = &'s str> {
        self.0.iter().filter(|word| !label.0.contains(word)).map(String::as_str)
    }

    pub(crate) fn contains(&self, word: &str) -> bool {
        self.0.iter().any(|own| own == word)
    }

    pub(crate) fn last(&self) -> Option<&str> {
        self.0.last().map(String::as_str)
    }

    /// How well a label fits a wanted name, from 0 to 1: all words, all of the wanted ones, or a part of them.
    pub(crate) fn fits(&self, label: &Self) -> f32 {
        if self.0.is_empty() || label.0.is_empty() {
            return 0.0;
        }
        let count = |words: usize| f32::from(u8::try_from(words).unwrap_or(u8::MAX));
        let shared = self.0.iter().filter(|word| label.0.contains(word)).count();
        let (wanted, found) = (count(self.0.len()), count(label.0.len()));
        if shared == self.0.len() && shared == label.0.len() {
            1.0
        } else if shared == self.0.len() {
            0.5 + 0.4 * wanted / found
        } else if shared == label.0.len() {
            0.3 + 0.4 * found / wanted
        } else {
            0.0
        }
    }
}

fn push(words: &mut Vec<String>, word: &mut String) {
    let word = std::mem::take(word);
    if word.is_empty() {
        return;
    }
    let single = match word.strip_suffix("ies") {
        Some(stem) if stem.chars().count() > 1 => format!("{stem}y"),
        _ => match word.strip_suffix('s') {
            Some(stem) if stem.chars().count() > 2 && !stem.ends_with(['s', 'u', 'i']) => stem.to_owned(),
            _ => word,
        },
    };
    let same = SAME.iter().find(|same| same.contains(&single.as_str())).and_then(|same| same.first());
    words.push(same.map_or(single, |first| (*first).to_owned()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(wanted: &str, label: &str) -> f32 {
        Words::of(wanted).fits(&Words::of(label))
    }

    #[test]
    fn one_name_in_several_spellings_fits_wholly() {
        for (wanted, label) in
            [("unitPrice", "Unit price:"), ("order_no", "Order number"), ("categories", "Category"), ("title", "Name")]
        {
            assert!((fit(wanted, label) - 1.0).abs() < f32::EPSILON, "{wanted} {label}");
        }
    }

    #[test]
    fn a_name_within_a_longer_one_fits_in_part_and_a_foreign_one_not() {
        assert!(fit("price", "Old price") > 0.5);
        assert!(fit("price", "Price") > fit("price", "Old price"));
        assert!(fit("total price", "Price") < 0.6);
        assert!(fit("price", "Address") < f32::EPSILON);
    }
}
