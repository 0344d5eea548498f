//! Evaluation of conditions on facts.

use super::{Aspect, Changed, Condition, MAX_DEPTH, Matches, PropertyEquals, RequestObserved, TextOf};
use crate::facts::{DownloadEnd, ElementFacts, EventFacts, Facts, Sample, TargetFacts, Toggle};
use crate::id::TargetRef;
use crate::role::Role;
use crate::secret::{FactText, WireText};
use crate::text_match::collapse_white_space;
use crate::verdict::Verdict;
use crate::wire::{Probability, ShortText};

impl Condition {
    /// Judges the condition: over all samples, one that holds is enough.
    ///
    /// Costs a pattern compilation where there is a pattern, else a few comparisons a sample.
    ///
    /// ```
    /// use cuebook_grammar::condition::Condition;
    /// use cuebook_grammar::facts::{Facts, Sample};
    /// use cuebook_grammar::verdict::Verdict;
    ///
    /// let at = |url: &str| Sample { url: url.to_owned(), ..Sample::default() };
    /// let condition = Condition::url_changes_to("/home");
    /// let facts = Facts { samples: vec![at("/login"), at("/home")], before: Some(at("/login")), ..Facts::default() };
    /// assert_eq!(condition.evaluate(&facts), Verdict::Holds);
    /// let facts = Facts { samples: vec![at("/login")], ..facts };
    /// assert_eq!(condition.evaluate(&facts), Verdict::Fails);
    /// assert_eq!(condition.seen(&facts), "the URL unchanged, /login");
    /// ```
    #[must_use]
    pub fn evaluate(&self, facts: &Facts) -> Verdict {
        let mut last = Verdict::Unknown;
        for (index, _) in facts.samples.iter().enumerate() {
            last = Moment::of(facts, index, Reading::Exact).map_or(last, |moment| moment.judge(self, 0));
            if last.holds() {
                return last;
            }
        }
        last
    }

    /// The moment at which it came true: exactly as it says, else in the page's spelling. `None` if it never did.
    pub(crate) fn moment_of<'a>(&self, facts: &'a Facts) -> Option<&'a Sample> {
        let holds = |index: &usize, reading| {
            Moment::of(facts, *index, reading).is_some_and(|moment| moment.judge(self, 0).holds())
        };
        let mut moments = 0..facts.samples.len();
        let exactly = moments.clone().find(|index| holds(index, Reading::Exact));
        let index = exactly.or_else(|| moments.rfind(|index| holds(index, Reading::AsEntered)))?;
        facts.samples.get(index)
    }

    /// Judges a condition about a target on the last sample that has the target, so what held and was then reverted
    /// fails. A target that is gone, for example with its document, cannot revert anything; then, and for a condition
    /// without a target, this is [`Self::evaluate`]. A value that the page writes its own way counts
    /// ([`is_same_entry`](crate::entry::is_same_entry)).
    #[must_use]
    pub fn evaluate_lasting(&self, facts: &Facts) -> Verdict {
        let is_there = |sample: &&Sample| {
            let seen = self.target().and_then(|target| sample.targets.get(target));
            seen.is_some_and(|seen| seen.element.is_some())
        };
        let last = facts.samples.iter().rposition(|sample| is_there(&sample));
        let moment = last.and_then(|index| Moment::of(facts, index, Reading::AsEntered));
        moment.map_or_else(|| self.evaluate(facts), |moment| moment.judge(self, 0))
    }

    /// Returns `true` if the condition held just before the input. Conditions on changes never did.
    #[must_use]
    pub fn was_vacuous(&self, facts: &Facts) -> bool {
        facts.before.as_ref().is_some_and(|before| {
            let nothing_yet = EventFacts::default();
            let reading = Reading::Exact;
            Moment { before: Some(before), earlier: &[], now: before, events: &nothing_yet, reading }
                .judge(self, 0)
                .holds()
        })
    }
}

#[derive(Clone, Copy)]
struct Moment<'a> {
    /// Just before the input.
    before: Option<&'a Sample>,
    /// Between the input and now, in order.
    earlier: &'a [Sample],
    now: &'a Sample,
    events: &'a EventFacts,
    reading: Reading,
}

/// How a value is compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    /// Letter by letter: a condition that was stated.
    Exact,
    /// By its letters and digits in order: what was entered, in the page's spelling.
    AsEntered,
}

impl<'a> Moment<'a> {
    fn of(facts: &'a Facts, index: usize, reading: Reading) -> Option<Self> {
        let (earlier, now) = (facts.samples.get(..index)?, facts.samples.get(index)?);
        Some(Self { before: facts.before.as_ref(), earlier, now, events: &facts.events, reading })
    }

    fn judge(&self, condition: &Condition, depth: usize) -> Verdict {
        use Condition as C;
        if depth > MAX_DEPTH {
            return Verdict::Unknown;
        }
        match condition {
            C::Exists(c) => self.count(&c.target, |n| n > 0),
            C::Absent(c) => self.count(&c.target, |n| n == 0),
            C::Visible(c) => self.visible(Some(self.now), &c.target),
            C::Hidden(c) => self.visible(Some(self.now), &c.target).negate(),
            C::Enabled(c) => self.element(&c.target, |e| Verdict::from_bool(!e.states.disabled)),
            C::Editable(c) => self.element(&c.target, |e| Verdict::from_bool(is_editable(e))),
            C::Checked(c) => self.element(&c.target, |e| {
                let wanted = if c.checked.unwrap_or(true) { Toggle::True } else { Toggle::False };
                // What may be checked and says nothing of it is off.
                let unsaid = matches!(e.role, Role::Option | Role::TreeItem).then_some(Toggle::False);
                e.states
                    .checked
                    .or(e.states.pressed)
                    .or(unsaid)
                    .map_or(Verdict::Unknown, |seen| Verdict::from_bool(seen == wanted))
            }),
            C::Focused(c) => self.element(&c.target, |e| Verdict::from_bool(e.states.focused)),
            C::InViewport(c) => self.element(&c.target, |e| {
                let least = c.ratio.map_or(0.0, Probability::get);
                e.in_viewport.map_or(Verdict::Unknown, |share| Verdict::from_bool(share > 0.0 && share >= least))
            }),
            C::UrlMatches(c) => Verdict::from_option(c.pattern.is_match(&self.now.url)),
            C::TitleMatches(c) => Verdict::from_option(c.pattern.is_match(&self.now.title)),
            C::AttrEquals(c) => self.element(&c.target, |e| attribute(e, &c.name, &c.value)),
            C::PropertyEquals(c) => self.element(&c.target, |e| property(e, c)),
            C::ValueEquals(c) => self.value(&c.target, |seen| match self.reading {
                Reading::AsEntered => seen.spells(&c.value),
                Reading::Exact => seen.equals(&c.value),
            }),
            C::ValueContains(c) => self.value(&c.target, |seen| seen.contains(&c.value)),
            C::ElementTextContains(c) => self.text(&c.target, &c.text, Comparison::Contains),
            C::ElementTextEquals(c) => self.text(&c.target, &c.text, Comparison::Equals),
            C::AriaState(c) => self.element(&c.target, |e| aria_state(e, &c.name, &c.value)),
            C::Count(c) => self.count(&c.target, |n| {
                c.equals.is_none_or(|x| n == x.get())
                    && c.at_least.is_none_or(|x| n >= x.get())
                    && c.at_most.is_none_or(|x| n <= x.get())
            }),
            C::NetworkIdle(_) => Verdict::from_option(self.events.network_idle),
            C::RequestObserved(c) => self.request(c),
            C::DialogOpened(c) => Verdict::from_bool(self.events.dialogs.iter().any(|dialog| {
                c.dialog.is_none_or(|kind| dialog.kind == kind)
                    && c.text.as_ref().is_none_or(|text| dialog.message.contains(text.as_str()))
            })),
            C::DownloadStarted(c) | C::DownloadCompleted(c) => {
                let is_enough = |end| matches!(condition, C::DownloadStarted(_)) || end == Some(DownloadEnd::Completed);
                Verdict::from_bool(self.events.downloads.iter().any(|download| {
                    is_enough(download.end)
                        && c.filename.as_ref().is_none_or(|name| download.filename.contains(name.as_str()))
                }))
            }
            C::UrlChanges(c) => self.before.map_or(Verdict::Unknown, |before| {
                let there = c.to.as_ref().is_none_or(|to| self.now.url.contains(to.as_str()));
                Verdict::from_bool(before.url != self.now.url && there)
            }),
            C::NewTab(c) => Verdict::from_bool(
                self.events.new_tabs.iter().any(|url| c.url.as_ref().is_none_or(|part| url.contains(part.as_str()))),
            ),
            C::Appears(c) => self.visible(self.before, &c.target).negate().and(self.visible(Some(self.now), &c.target)),
            C::Disappears(c) => {
                self.visible(self.before, &c.target).and(self.visible(Some(self.now), &c.target).negate())
            }
            C::Changed(c) => {
                let moments = self.earlier.iter().chain([self.now]);
                moments.map(|now| Moment { now, ..*self }.changed(c)).fold(Verdict::Unknown, |seen, next| {
                    if seen.holds() || next == Verdict::Unknown { seen } else { next }
                })
            }
            C::NameEquals(c) => self.element(&c.target, |e| plain_equals(Some(&e.name), &c.text)),
            C::DescriptionEquals(c) => {
                self.element(&c.target, |e| plain_equals(e.description.as_deref().or(Some("")), &c.text))
            }
            C::ErrorMessageEquals(c) => {
                self.element(&c.target, |e| plain_equals(e.error_message.as_deref().or(Some("")), &c.text))
            }
            C::Matches(c) => self.element(&c.target, |e| matches_pattern(e, c)),
            C::RoleEquals(c) => self.element(&c.target, |e| Verdict::from_bool(e.role == c.role)),
            C::ClassContains(c) => {
                self.element(&c.target, |e| Verdict::from_bool(e.classes.iter().any(|class| class == c.class.as_str())))
            }
            C::SelectedValues(c) => self.element(&c.target, |e| selected(e, &c.values, self.reading)),
            C::AnyEffect(_) => match self.events.any_effect {
                Some(true) => Verdict::Holds,
                _ => Verdict::Unknown,
            },
            C::AllOf(group) => {
                group.conditions.iter().map(|c| self.judge(c, depth + 1)).fold(Verdict::Holds, Verdict::and)
            }
            C::AnyOf(group) => {
                group.conditions.iter().map(|c| self.judge(c, depth + 1)).fold(Verdict::Fails, Verdict::or)
            }
            C::Not(inner) => self.judge(&inner.condition, depth + 1).negate(),
            C::Becomes(inner) => {
                let was_not = self.before.into_iter().chain(self.earlier).any(|now| {
                    Moment { now, earlier: &[], ..*self }.judge(&inner.condition, depth + 1) == Verdict::Fails
                });
                self.judge(&inner.condition, depth + 1).and(Verdict::from_bool(was_not))
            }
        }
    }

    fn count(&self, target: &TargetRef, accept: impl Fn(u32) -> bool) -> Verdict {
        let matches = self.now.targets.get(target).and_then(|t| t.matches);
        Verdict::from_option(matches.map(accept))
    }

    fn element(&self, target: &TargetRef, judge: impl Fn(&ElementFacts) -> Verdict) -> Verdict {
        match self.now.targets.get(target) {
            Some(TargetFacts { element: Some(element), .. }) => judge(element),
            Some(TargetFacts { matches: Some(0), .. }) => Verdict::Fails,
            _ => Verdict::Unknown,
        }
    }

    fn visible(&self, sample: Option<&Sample>, target: &TargetRef) -> Verdict {
        match sample.and_then(|sample| sample.targets.get(target)) {
            Some(TargetFacts { element: Some(element), .. }) => Verdict::from_option(element.visible),
            Some(TargetFacts { matches: Some(0), .. }) => Verdict::Fails,
            _ => Verdict::Unknown,
        }
    }

    fn value(&self, target: &TargetRef, judge: impl Fn(&FactText) -> Verdict) -> Verdict {
        self.element(target, |e| e.value.as_ref().map_or(Verdict::Unknown, &judge))
    }

    fn text(&self, target: &TargetRef, stated: &WireText, comparison: Comparison) -> Verdict {
        self.element(target, |element| match (&element.text, stated) {
            (Some(FactText::Clear(seen)), WireText::Clear(text)) => {
                let (seen, text) = (collapse_white_space(seen), collapse_white_space(text));
                Verdict::from_bool(match comparison {
                    Comparison::Equals => seen == text,
                    Comparison::Contains => seen.contains(&text),
                })
            }
            (Some(seen), text) => match comparison {
                Comparison::Equals => seen.equals(text),
                Comparison::Contains => seen.contains(text),
            },
            (None, _) => Verdict::Unknown,
        })
    }

    fn request(&self, wanted: &RequestObserved) -> Verdict {
        let mut verdict = Verdict::Fails;
        for request in &self.events.requests {
            let method = wanted.method.as_ref().is_none_or(|m| request.method.eq_ignore_ascii_case(m));
            let url = match &wanted.url {
                None => Verdict::Holds,
                Some(pattern) => Verdict::from_option(pattern.is_match(&request.url)),
            };
            let status = match (wanted.status, request.status) {
                (None, _) => Verdict::Holds,
                (Some(wanted), Some(seen)) => Verdict::from_bool(wanted == seen),
                (Some(_), None) if request.failure.is_some() => Verdict::Fails,
                (Some(_), None) => Verdict::Unknown,
            };
            verdict = verdict.or(Verdict::from_bool(method).and(url).and(status));
        }
        verdict
    }

    fn changed(&self, changed: &Changed) -> Verdict {
        let at = |sample: &Sample| sample.targets.get(&changed.target).and_then(|t| t.element.clone());
        let (Some(before), Some(now)) = (self.before.and_then(at), at(self.now)) else {
            return Verdict::Unknown;
        };
        let differs = |aspect: Aspect| match aspect {
            Aspect::Text => before.text != now.text,
            Aspect::Value => before.value != now.value || before.selected_values != now.selected_values,
            Aspect::Name => before.name != now.name,
            Aspect::States => before.states != now.states,
            Aspect::Box => before.rect != now.rect,
        };
        Verdict::from_bool(match changed.aspect {
            Some(aspect) => differs(aspect),
            None => [Aspect::Text, Aspect::Value, Aspect::Name, Aspect::States].into_iter().any(differs),
        })
    }
}

#[derive(Clone, Copy)]
enum Comparison {
    Equals,
    Contains,
}

fn plain_equals(seen: Option<&str>, stated: &WireText) -> Verdict {
    match (seen, stated.clear()) {
        (Some(seen), Some(text)) => Verdict::from_bool(collapse_white_space(seen) == collapse_white_space(text)),
        _ => Verdict::Unknown,
    }
}

/// Returns `true` if a person may change the element. As in Playwright's definition, this includes everything that can
/// be read-only at all (WAI-ARIA 1.2, `aria-readonly`) and is neither read-only nor disabled.
fn is_editable(element: &ElementFacts) -> bool {
    use Role as R;
    let changes = matches!(element.tag.as_str(), "input" | "select" | "textarea")
        || matches!(
            element.role,
            R::Checkbox
                | R::ComboBox
                | R::Grid
                | R::GridCell
                | R::ListBox
                | R::RadioGroup
                | R::Slider
                | R::SpinButton
                | R::TextBox
                | R::ColumnHeader
                | R::RowHeader
                | R::SearchBox
                | R::Switch
                | R::TreeGrid
        );
    element.states.editable || changes && !element.states.disabled && !element.states.readonly
}

/// A text that was reduced to a digest cannot be matched: Unknown.
fn matches_pattern(element: &ElementFacts, stated: &Matches) -> Verdict {
    let plain = |seen: &str| Verdict::from_bool(stated.pattern.fit(&collapse_white_space(seen)).is_some());
    let kept = |seen: Option<&FactText>| match seen.map(FactText::clear) {
        Some(Some(seen)) => plain(seen),
        _ => Verdict::Unknown,
    };
    match stated.of.unwrap_or_default() {
        TextOf::Text => kept(element.text.as_ref()),
        TextOf::Value => match element.value.as_ref() {
            Some(FactText::Clear(seen)) => Verdict::from_bool(stated.pattern.fit(seen).is_some()),
            Some(FactText::Redacted { .. }) => Verdict::Unknown,
            // What has no value matches no pattern.
            None => Verdict::Fails,
        },
        TextOf::Name => plain(&element.name),
        TextOf::Description => plain(element.description.as_deref().unwrap_or_default()),
        TextOf::ErrorMessage => plain(element.error_message.as_deref().unwrap_or_default()),
        TextOf::Attribute => match stated.name.as_ref().map(|name| element.attributes.get(name.as_str())) {
            Some(Some(Some(FactText::Clear(seen)))) => Verdict::from_bool(stated.pattern.fit(seen).is_some()),
            Some(Some(None)) => Verdict::Fails,
            _ => Verdict::Unknown,
        },
    }
}

/// `value`, `checked` and `selected` read the live property, as people mean them.
fn attribute(element: &ElementFacts, name: &str, stated: &WireText) -> Verdict {
    let toggle = |seen: Option<bool>| match (seen, stated.clear()) {
        (Some(seen), Some(text)) => {
            let wanted = !matches!(text, "false" | "");
            Verdict::from_bool(seen == wanted || (seen && text == name))
        }
        _ => Verdict::Unknown,
    };
    match name {
        "value" if element.value.is_some() => element.value.as_ref().map_or(Verdict::Unknown, |v| v.equals(stated)),
        "checked" if element.states.checked.is_some() => {
            toggle(element.states.checked.map(|checked| checked == Toggle::True))
        }
        "selected" if element.states.selected.is_some() => toggle(element.states.selected),
        _ => match element.attributes.get(name) {
            Some(Some(seen)) => seen.equals(stated),
            Some(None) => Verdict::Fails,
            None => Verdict::Unknown,
        },
    }
}

fn property(element: &ElementFacts, stated: &PropertyEquals) -> Verdict {
    element.properties.get(stated.name.as_str()).map_or(Verdict::Unknown, |seen| {
        let wanted = stated.value.value();
        // JSON has one kind of number: 1 and 1.0 are the same property value.
        let same = match (seen.as_f64(), wanted.as_f64()) {
            (Some(a), Some(b)) => (a - b).abs() < f64::EPSILON,
            _ => seen == wanted,
        };
        Verdict::from_bool(same)
    })
}

fn aria_state(element: &ElementFacts, name: &str, stated: &WireText) -> Verdict {
    let name = name.strip_prefix("aria-").unwrap_or(name);
    let from_states = match name {
        "checked" => element.states.checked.map(Toggle::as_str),
        "pressed" => element.states.pressed.map(Toggle::as_str),
        "expanded" => element.states.expanded.map(bool_text),
        "selected" => element.states.selected.map(bool_text),
        "disabled" => Some(bool_text(element.states.disabled)),
        _ => None,
    };
    let from_attribute = element.attributes.get(&format!("aria-{name}"));
    match (from_attribute, from_states, stated.clear()) {
        (Some(Some(seen)), _, _) => seen.equals(stated),
        (_, Some(seen), Some(text)) => Verdict::from_bool(seen == text),
        (Some(None), None, _) => Verdict::Fails,
        _ => Verdict::Unknown,
    }
}

const fn bool_text(value: bool) -> &'static str {
    if value { "true" } else { "false" }
}

fn selected(element: &ElementFacts, wanted: &[ShortText], reading: Reading) -> Verdict {
    let same = |seen: &[String]| {
        let mut seen: Vec<String> = seen.iter().map(|s| collapse_white_space(s)).collect();
        let mut wanted: Vec<String> = wanted.iter().map(|s| collapse_white_space(s)).collect();
        seen.sort_unstable();
        wanted.sort_unstable();
        seen == wanted
    };
    let is_native = element.tag == "select";
    if same(&element.selected_values) || same(&element.selected_labels) {
        return Verdict::Holds;
    }
    // A custom list box shows its choice as a value or in its text, if it shows it at all. Beside what a step has just
    // chosen there may be a caption.
    let shows = |one: &ShortText| element.selected_labels.iter().any(|seen| *seen == collapse_white_space(one));
    if !is_native && reading == Reading::AsEntered && !wanted.is_empty() && wanted.iter().all(shows) {
        return Verdict::Holds;
    }
    match (is_native, wanted, element.value.as_ref().and_then(FactText::clear)) {
        (true, ..) => Verdict::Fails,
        (false, [only], Some(value)) if collapse_white_space(value) == collapse_white_space(only) => Verdict::Holds,
        (false, ..) => Verdict::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::condition::{Inner, PatternOnly};
    use crate::text_match::Pattern;

    #[test]
    fn a_choice_beside_a_caption_is_seen_right_after_it_was_made() {
        let labels = ["Colours", "red", "blue"].map(str::to_owned);
        let verdict = |tag: &str, wanted: &[&str]| {
            let element =
                ElementFacts { tag: tag.to_owned(), selected_labels: labels.to_vec(), ..ElementFacts::default() };
            let wanted: Vec<ShortText> = wanted.iter().map(|text| ShortText::cut(text)).collect();
            [Reading::AsEntered, Reading::Exact].map(|reading| selected(&element, &wanted, reading))
        };
        assert_eq!(verdict("input", &["blue", "red"]), [Verdict::Holds, Verdict::Unknown]);
        assert_eq!(verdict("input", &["green"]), [Verdict::Unknown; 2]);
        assert_eq!(verdict("select", &["red"]), [Verdict::Fails; 2]);
    }

    #[test]
    fn what_becomes_true_holds_only_after_it_did_not() {
        let titled = |title: &str| Sample { title: title.to_owned(), ..Sample::default() };
        let saved = Condition::TitleMatches(PatternOnly { pattern: Pattern::new("^Saved$").unwrap() });
        let becomes = Condition::Becomes(Inner { condition: Box::new(saved) });
        let verdict = |before: &str, after: &[&str]| {
            let samples = after.iter().map(|title| titled(title)).collect();
            becomes.evaluate(&Facts { before: Some(titled(before)), samples, ..Facts::default() })
        };
        assert_eq!(verdict("Saved", &["Saving", "Saved"]), Verdict::Holds);
        assert_eq!(verdict("Draft", &["Saved"]), Verdict::Holds);
        assert_eq!(verdict("Saved", &["Saved"]), Verdict::Fails);
        assert_eq!(verdict("Saved", &["Saving"]), Verdict::Fails);
        let facts = Facts { before: Some(titled("Saved")), ..Facts::default() };
        assert!(!becomes.was_vacuous(&facts));
    }
}
