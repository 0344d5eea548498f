//! From the rows of all frames to candidates: names, twins, ids, locators, order.

use std::collections::HashMap;
use std::sync::Arc;

use cuebook_grammar::candidate::{
    About, Activation, Candidate, Fingerprint, NameSource, Occlusion, Placement as Placed_,
};
use cuebook_grammar::geometry::Rect;
use cuebook_grammar::id::{CandidateId, NodeKey};
use cuebook_grammar::locator::Locator;
use cuebook_grammar::role::Role;
use cuebook_grammar::secret::{DigestKey, FactText};

use super::clean;
use super::context_label::{Label, Twin, labels};
use super::identity::Identities;
use super::locators::{Place, locators};
use super::rows::Row;

/// A row with all that the wire adds to it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Placed {
    /// Row that the walk reported.
    pub row: Arc<Row>,
    /// Key of its node: page, frame, document and node id.
    pub key: NodeKey,
    /// Its box in the tab's viewport.
    pub rect: Rect,
    /// Some of it can be seen in the tab.
    pub in_view: bool,
    /// Cover over it, that of frames above included; `None` if nothing covers it.
    pub occlusion: Option<Occlusion>,
    /// Role, name and description in the browser's own words.
    pub browser: Option<BrowserWords>,
}

/// Role, name and description in the browser's own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrowserWords {
    /// The role, where the browser's has an ARIA counterpart.
    pub role: Option<Role>,
    /// Name in the browser's own words.
    pub name: String,
    /// Description in the browser's own words.
    pub description: Option<String>,
}

/// The rows of one frame.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct FrameRows {
    /// The frame's index in the observation.
    pub frame: u32,
    /// The path of the frame's URL, without query; empty in the main frame.
    pub path: String,
    /// Title that distinguishes this frame from others, for twins in several frames; empty in the main frame.
    pub title: String,
    /// The way to the frame, outermost owner first.
    pub locators: Vec<Locator>,
    /// Values of password-like fields.
    pub secrets: Vec<String>,
    /// The rows, in document order.
    pub rows: Vec<Placed>,
}

const NAME_LIMIT: usize = 200;

struct Draft<'a> {
    frame: &'a FrameRows,
    placed: &'a Placed,
    role: Role,
    name: String,
    source: NameSource,
}

/// The candidates of a page, in the order in which they are read; those that something covers wholly
/// come last. `digest` keys the digests of password-like values.
#[must_use]
pub fn candidates(frames: &[FrameRows], identities: &mut Identities, digest: &DigestKey) -> Vec<Candidate> {
    let secrets: Vec<String> = frames.iter().flat_map(|frame| frame.secrets.iter().cloned()).collect();
    let drafts: Vec<Draft<'_>> = frames
        .iter()
        .flat_map(|frame| frame.rows.iter().map(move |placed| (frame, placed)))
        .map(|(frame, placed)| draft(frame, placed, &secrets))
        .collect();
    let mut groups: HashMap<(Role, &str), Vec<usize>> = HashMap::new();
    for (index, draft) in drafts.iter().enumerate() {
        groups.entry((draft.role, draft.name.as_str())).or_default().push(index);
    }
    let mut contexts: Vec<(Option<String>, bool, Place)> =
        drafts.iter().map(|_| (None, false, Place { of: 1, index: 0 })).collect();
    for members in groups.values().filter(|members| members.len() > 1) {
        let mut twins: Vec<Twin> = members.iter().filter_map(|index| drafts.get(*index)).map(twin).collect();
        drop_common_ids(&mut twins);
        // A locator leads to a frame first, so its position counts there.
        let frame_of = |index: &usize| drafts.get(*index).map(|draft| draft.frame.frame);
        let mut all: HashMap<Option<u32>, usize> = HashMap::new();
        let positions: Vec<usize> = members
            .iter()
            .map(|index| {
                let count = all.entry(frame_of(index)).or_default();
                *count += 1;
                *count - 1
            })
            .collect();
        for ((index, position), label) in members.iter().zip(positions).zip(labels(&twins)) {
            let of = all.get(&frame_of(index)).copied().unwrap_or(1);
            let (context, ambiguous) = match label {
                Label::Context(text) => (Some(text), false),
                Label::Ambiguous(text) => (text, true),
            };
            if let Some(slot) = contexts.get_mut(*index) {
                *slot = (context, ambiguous, Place { of, index: position });
            }
        }
    }
    let mut found: Vec<Candidate> = drafts
        .iter()
        .zip(contexts)
        .map(|(draft, (context, ambiguous, place))| {
            let row = &draft.placed.row;
            // Not the browser's words: those are requested in view only, and scrolling must not make another
            // candidate of an element.
            let about = About { role: row.role, key: row.about.clone(), part: row.part.clone() };
            let id = identities.id(&draft.placed.key, &about);
            let context = context.map(|text| scrubbed(&clean::name(&text, &[]), &secrets));
            candidate(draft, (id, about), (context, ambiguous), place, &secrets, digest)
        })
        .collect();
    // A stable sort: the order of reading stays within both parts.
    found.sort_by_key(|candidate| candidate.occlusion.as_ref().is_some_and(|o| o.ratio >= 1.0));
    found
}

fn draft<'a>(frame: &'a FrameRows, placed: &'a Placed, secrets: &[String]) -> Draft<'a> {
    let row = &placed.row;
    let browser = placed.browser.as_ref();
    let role = browser
        .and_then(|words| words.role)
        // The browser calls what only reacts to the pointer generic, and so does the walk. The walk knows better
        // about controls for which the browser has an internal role.
        .filter(|role| !matches!(role, Role::Generic | Role::None | Role::Presentation) || row.role == Role::Generic)
        .unwrap_or(row.role);
    // The browser spells a name as it is drawn, in capitals under `text-transform`; the walk, which also names what
    // is out of view, as it is written. Names are spelt in one way wherever a candidate stands.
    let is_respelt =
        |words: &BrowserWords| words.name != row.name && words.name.to_uppercase() == row.name.to_uppercase();
    let (said, source) = match browser {
        Some(words) if is_respelt(words) => (row.name.as_str(), NameSource::Browser),
        Some(words) => (words.name.as_str(), NameSource::Browser),
        None => (row.name.as_str(), NameSource::Walk),
    };
    let first = clean::name(said, &row.icons);
    let (name, source) = if first.is_empty() {
        let others = [
            // The browser does not name rows and generics that are not focusable; the walk does.
            Some(clean::name(&row.name, &row.icons)),
            row.fallback.as_deref().map(|text| clean::name(text, &row.icons)),
            row.title.clone(),
            row.placeholder.clone(),
            row.test_id.clone(),
            row.icons.first().cloned(),
        ];
        let other = others.into_iter().flatten().map(|text| clean::name(&text, &[])).find(|text| !text.is_empty());
        (other.unwrap_or_default(), NameSource::Walk)
    } else {
        (first, source)
    };
    Draft { frame, placed, role, name: clean::cut(&scrubbed(&name, secrets), NAME_LIMIT), source }
}

fn twin(draft: &Draft<'_>) -> Twin {
    let row = &draft.placed.row;
    let mut context: Vec<_> = row.beside.iter().map(|text| ("label".to_owned(), clean::cut(text, 80))).collect();
    context.extend(row.part_text.iter().map(|text| ("item".to_owned(), text.clone())));
    context.extend(row.context.iter().cloned());
    let mut more = |kind: &str, text: Option<&String>| {
        if let Some(text) = text.filter(|text| !text.is_empty()) {
            context.push((kind.to_owned(), clean::cut(text, 80)));
        }
    };
    more("placeholder", row.placeholder.as_ref());
    more("leads to", row.destination.as_ref());
    more("test id", row.test_id.as_ref());
    more("title", row.title.as_ref().filter(|title| **title != draft.name));
    for id in written_ids(&row.path) {
        more("id", Some(&id));
    }
    more("frame", Some(&draft.frame.title));
    Twin { context, place: row.css.clone() }
}

/// An id around all twins says nothing about any of them.
fn drop_common_ids(twins: &mut [Twin]) {
    let Some((first, others)) = twins.split_first_mut() else { return };
    let is_common = |one: &(String, String)| one.0 == "id" && others.iter().all(|twin| twin.context.contains(one));
    let common: Vec<_> = first.context.iter().filter(|one| is_common(one)).cloned().collect();
    for twin in twins {
        twin.context.retain(|one| !common.contains(one));
    }
}

/// The ids that somebody wrote by hand on an element and what is around it, nearest first.
fn written_ids(path: &str) -> Vec<String> {
    let id = |segment: &str| {
        let (_, id) = segment.split_once('#')?;
        Some(id.split('[').next().unwrap_or(id).to_owned())
    };
    path.rsplit('>').filter_map(id).collect()
}

fn scrubbed(text: &str, secrets: &[String]) -> String {
    let mut text = text.to_owned();
    clean::scrub(&mut text, secrets);
    text
}

fn candidate(
    draft: &Draft<'_>,
    (id, about): (CandidateId, About),
    (context, ambiguous): (Option<String>, bool),
    place: Place,
    secrets: &[String],
    digest: &DigestKey,
) -> Candidate {
    let row = &draft.placed.row;
    let text = |text: &Option<String>, limit: usize| {
        let text = text.as_deref().map(|text| clean::cut(&scrubbed(&clean::name(text, &[]), secrets), limit));
        text.filter(|text| !text.is_empty())
    };
    let value = row.value.clone().map(|value| {
        let value = FactText::Clear(value);
        if row.sensitive { value.redact(digest, &[]) } else { value }
    });
    let value = match value {
        Some(FactText::Clear(text)) => Some(FactText::Clear(scrubbed(&text, secrets))),
        other => other,
    };
    let browser = draft.placed.browser.as_ref().and_then(|words| words.description.clone());
    let label = row.labels.first().or(row.beside.as_ref()).filter(|label| **label != draft.name).cloned();
    let mut candidate = Candidate {
        id,
        role: draft.role,
        name: draft.name.clone(),
        name_source: draft.source,
        fingerprint: Fingerprint {
            role: draft.role,
            name: draft.name.clone(),
            test_id: row.test_id.clone(),
            context: context.clone(),
            path: row.path.clone(),
            frame: draft.frame.path.clone(),
        },
        context,
        ambiguous,
        description: text(&browser.or_else(|| row.description.clone()), 300).filter(|text| *text != draft.name),
        states: row.states.clone(),
        control: row.control,
        value,
        bounds: row.bounds.clone(),
        options: row.options.clone(),
        label: text(&label, NAME_LIMIT),
        placeholder: text(&row.placeholder, NAME_LIMIT),
        test_id: row.test_id.clone(),
        destination: row.destination.as_deref().map(|url| scrubbed(url, secrets)),
        form: text(&row.form, NAME_LIMIT),
        activation: Activation {
            url: row.activation.url.as_deref().map(|url| scrubbed(url, secrets)),
            button: text(&row.activation.button, NAME_LIMIT),
            icon: text(&row.icon, NAME_LIMIT),
            ..row.activation.clone()
        },
        surroundings: text(&row.surroundings, 500),
        rect: Some(draft.placed.rect),
        placement: if draft.placed.in_view { Placed_::InView } else { Placed_::OffView },
        occlusion: draft.placed.occlusion.clone(),
        scroll_container: row.scroller.clone(),
        frame: draft.frame.frame,
        depth: row.depth,
        locators: Vec::new(),
        node: Some(draft.placed.key.clone()),
        about: (!about.key.is_empty()).then_some(about),
    };
    candidate.locators = locators(row, &candidate, place, &draft.frame.locators);
    candidate
}

#[cfg(test)]
mod tests {
    use super::*;
    use cuebook_grammar::candidate::ControlKind;
    use cuebook_grammar::id::PageId;

    fn placed(id: u64, role: Role, name: &str) -> Placed {
        Placed {
            row: Arc::new(Row { id, role, name: name.into(), ..Row::default() }),
            key: NodeKey { page: PageId::new("p"), frame: "f".into(), document: "d".into(), node: id },
            rect: Rect::default(),
            in_view: true,
            occlusion: None,
            browser: None,
        }
    }

    fn model(rows: Vec<Placed>, secrets: &[&str]) -> Vec<Candidate> {
        let frame =
            FrameRows { rows, secrets: secrets.iter().map(|s| (*s).to_owned()).collect(), ..FrameRows::default() };
        candidates(&[frame], &mut Identities::default(), &DigestKey::new([1; 32]))
    }

    #[test]
    fn ids_of_a_path_are_nearest_first_and_without_roles() {
        assert_eq!(written_ids("html>body>div#wrap>ul#menu[menu]>li>div"), ["menu", "wrap"]);
        assert!(written_ids("html>body>div").is_empty());
    }

    #[test]
    fn twins_in_rows_carry_their_context_and_a_locator_within_it() {
        let mut rows = vec![placed(1, Role::Button, "Edit"), placed(2, Role::Button, "Edit")];
        for (row, mail) in rows.iter_mut().zip(["john@example.com", "jane@example.com"]) {
            Arc::make_mut(&mut row.row).context = vec![("row".into(), mail.into())];
        }
        let found = model(rows, &[]);
        assert_eq!(found[0].context.as_deref(), Some("row: john@example.com"));
        assert!(!found[0].ambiguous);
        let json = serde_json::to_value(&found[1].locators[0]).unwrap();
        assert_eq!(json["within"]["hasText"], "jane@example.com");
    }

    #[test]
    fn a_position_among_twins_counts_within_their_frame() {
        let frame = |frame, ids: [u64; 2]| FrameRows {
            frame,
            rows: ids.map(|id| placed(id, Role::Button, "Send")).into(),
            ..FrameRows::default()
        };
        let frames = [frame(0, [1, 2]), frame(1, [3, 4])];
        let found = candidates(&frames, &mut Identities::default(), &DigestKey::new([1; 32]));
        let positions: Vec<_> =
            found.iter().map(|one| serde_json::to_value(&one.locators[0]).unwrap()["nth"].as_i64()).collect();
        assert_eq!(positions, [Some(0), Some(1), Some(0), Some(1)]);
    }

    #[test]
    fn what_is_wholly_covered_comes_last() {
        let mut rows = vec![placed(1, Role::Button, "Under"), placed(2, Role::Button, "Over")];
        rows[0].occlusion = Some(Occlusion { ratio: 1.0, by: "div#overlay".into() });
        let names: Vec<_> = model(rows, &[]).into_iter().map(|c| c.name).collect();
        assert_eq!(names, ["Over", "Under"]);
    }

    #[test]
    fn a_typed_password_is_in_no_part_of_a_candidate() {
        let mut field = placed(1, Role::TextBox, "Password");
        let row = Arc::make_mut(&mut field.row);
        row.value = Some("hunter2".into());
        row.sensitive = true;
        row.control = ControlKind::Password;
        let mut echo = placed(2, Role::Button, "Use hunter2");
        Arc::make_mut(&mut echo.row).context = vec![("row".into(), "hunter2".into())];
        let json = serde_json::to_string(&model(vec![field, echo], &["hunter2"])).unwrap();
        assert!(!json.contains("hunter2"), "{json}");
    }

    #[test]
    fn a_name_of_nothing_but_an_icon_falls_back_to_the_title() {
        let mut row = placed(1, Role::Button, "\u{e872}");
        Arc::make_mut(&mut row.row).title = Some("Delete".into());
        assert_eq!(model(vec![row], &[])[0].name, "Delete");
    }
}
