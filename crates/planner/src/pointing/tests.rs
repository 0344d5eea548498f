//! Actions of each space, as models write them, and the steps that they become.

use cuebook_grammar::geometry::{Rect, ViewportSize};
use cuebook_grammar::observation::Observation;
use cuebook_grammar::policy::Policy;
use cuebook_grammar::profile::Profile;
use cuebook_grammar::sample;
use cuebook_grammar::seam::Image;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Rows of controls from the top, each 100 by 20 pixels, in a viewport of 1000 by 500.
fn page() -> Observation {
    let mut page =
        sample::page("button \"Save\"\ntextbox \"Name\"\ncombobox \"Size\"\nbutton \"Delete all\"\nbutton \"Twin\"");
    page.viewport.width = 1_000.0;
    page.viewport.height = 500.0;
    for (row, candidate) in page.candidates.iter_mut().enumerate() {
        let y = 40.0 * f64::from(u32::try_from(row).unwrap());
        candidate.rect = Some(Rect { x: 10.0, y, width: 100.0, height: 20.0 });
    }
    page.candidates[4].ambiguous = true;
    page
}

fn policy(profile: Profile) -> Policy {
    Policy::new(profile).starting_at(&page().url).unwrap()
}

const SIZE: ViewportSize = ViewportSize { width: 1_000, height: 500 };

fn call(name: &str, arguments: &Value) -> Answer {
    Answer { text: String::new(), calls: vec![(name.to_owned(), arguments.to_string())] }
}

fn text(text: &str) -> Answer {
    Answer { text: format!("Thought: t\nAction: {text}"), calls: Vec::new() }
}

/// The steps that an answer becomes without their explanations, or the first line that is returned to the model.
fn steps_on(page: &Observation, profile: Profile, space: Space, answer: &Answer) -> Result<Value, String> {
    let (acts, _) = read(space, answer)?;
    let first = |violations: cuebook_grammar::plan::Violations| violations.first().unwrap().message.clone();
    let draft = plan(&acts, page, &policy(profile), Some(SIZE)).map_err(first)?;
    draft.check(page, &policy(profile)).map_err(first)?;
    let mut steps = serde_json::to_value(&draft.steps).unwrap();
    for step in steps.as_array_mut().unwrap() {
        step.as_object_mut().unwrap().shift_remove("explanation");
    }
    Ok(steps)
}

fn steps(space: Space, answer: &Answer) -> Result<Value, String> {
    steps_on(&page(), Profile::Unleashed, space, answer)
}

#[test]
fn each_space_has_the_same_click_on_what_lies_there() {
    let expected = json!([{ "type": "click", "targetRef": "c1", "position": { "x": 50.0, "y": 10.0 } }]);
    let answers = [
        (
            Space::OpenAi,
            call("computer", &json!({ "action": { "type": "click", "button": "left", "x": 60, "y": 10 } })),
        ),
        (Space::OpenAi, call("computer", &json!({ "actions": [{ "type": "click", "x": 60, "y": 10 }] }))),
        (Space::Anthropic, call("computer", &json!({ "action": "left_click", "coordinate": [60, 10] }))),
        (Space::UiTars, text("click(point='<point>60 20</point>')")),
    ];
    for (space, answer) in answers {
        assert_eq!(steps(space, &answer), Ok(expected.clone()), "{answer:?}");
    }
    // The model's own resizing makes 1008 by 504 of it.
    let answer = text("click(start_box='<|box_start|>(60.48,10.08)<|box_end|>')");
    assert_eq!(steps(Space::UiTars, &answer), Ok(expected));
}

#[test]
fn each_action_of_each_space_is_a_step() {
    let computer = |action: Value| call("computer", &action);
    let openai = |action: Value| computer(json!({ "action": action }));
    for (space, answer, expected) in [
        (
            Space::OpenAi,
            openai(json!({ "type": "double_click", "x": 20, "y": 10 })),
            json!([{ "type": "click", "targetRef": "c1", "position": { "x": 10.0, "y": 10.0 }, "count": 2 }]),
        ),
        (
            Space::OpenAi,
            openai(json!({ "type": "click", "button": "right", "x": 500, "y": 300 })),
            json!([{ "type": "clickPoint", "point": { "x": 500.0, "y": 300.0 }, "button": "right" }]),
        ),
        (
            Space::OpenAi,
            openai(json!({ "type": "scroll", "x": 500, "y": 300, "scroll_x": 0, "scroll_y": 240 })),
            json!([{ "type": "scroll", "deltaY": 240, "deltaX": 0, "point": { "x": 500.0, "y": 300.0 } }]),
        ),
        (
            Space::OpenAi,
            openai(json!({ "type": "keypress", "keys": ["CTRL", "A"] })),
            json!([{ "type": "press", "keys": "Control+a" }]),
        ),
        (
            Space::OpenAi,
            openai(
                json!({ "type": "drag", "path": [{ "x": 400, "y": 300 }, { "x": 450, "y": 320 }, { "x": 500, "y": 300 }] }),
            ),
            json!([{ "type": "dragPoints", "from": { "x": 400.0, "y": 300.0 }, "to": { "x": 500.0, "y": 300.0 },
                "via": [{ "x": 450.0, "y": 320.0 }] }]),
        ),
        (
            Space::OpenAi,
            openai(json!({ "type": "move", "x": 20, "y": 10 })),
            json!([{ "type": "hover", "targetRef": "c1", "position": { "x": 10.0, "y": 10.0 } }]),
        ),
        (Space::OpenAi, openai(json!({ "type": "wait" })), json!([{ "type": "waitForIdle" }])),
        (Space::OpenAi, openai(json!({ "type": "screenshot" })), json!([{ "type": "snapshot" }])),
        // What is clicked in the same answer has the focus.
        (
            Space::OpenAi,
            computer(json!({ "actions": [{ "type": "click", "x": 20, "y": 50 }, { "type": "type", "text": "ann" }] })),
            json!([{ "type": "click", "targetRef": "c2", "position": { "x": 10.0, "y": 10.0 } },
                { "type": "type", "targetRef": "c2", "text": "ann" }]),
        ),
        (
            Space::Anthropic,
            computer(json!({ "action": "triple_click", "coordinate": [20, 50] })),
            json!([{ "type": "click", "targetRef": "c2", "position": { "x": 10.0, "y": 10.0 }, "count": 3 }]),
        ),
        (
            Space::Anthropic,
            computer(json!({ "action": "left_click", "coordinate": [20, 10], "text": "ctrl" })),
            json!([{ "type": "click", "targetRef": "c1", "modifiers": ["Control"], "position": { "x": 10.0, "y": 10.0 } }]),
        ),
        (
            Space::Anthropic,
            computer(
                json!({ "action": "scroll", "coordinate": [500, 300], "scroll_direction": "up", "scroll_amount": 3 }),
            ),
            json!([{ "type": "scroll", "deltaY": -300, "deltaX": 0, "point": { "x": 500.0, "y": 300.0 } }]),
        ),
        (
            Space::Anthropic,
            computer(json!({ "action": "left_click_drag", "start_coordinate": [20, 10], "coordinate": [20, 130] })),
            json!([{ "type": "dragTo", "targetRef": "c1", "to": "c4", "position": { "x": 10.0, "y": 10.0 },
                "toPosition": { "x": 10.0, "y": 10.0 } }]),
        ),
        (
            Space::Anthropic,
            computer(json!({ "action": "key", "text": "Page_Down" })),
            json!([{ "type": "press", "keys": "PageDown" }]),
        ),
        (
            Space::Anthropic,
            call("finish", &json!({ "result": "€ 30" })),
            json!([{ "type": "finish", "result": "€ 30" }]),
        ),
        (
            Space::Anthropic,
            call("ask_user", &json!({ "question": "Which?" })),
            json!([{ "type": "askUser", "question": "Which?" }]),
        ),
        (
            Space::UiTars,
            text("left_double(start_box='(504,302.4)')"),
            json!([{ "type": "clickPoint", "point": { "x": 500.0, "y": 300.0 }, "count": 2 }]),
        ),
        (Space::UiTars, text("hotkey(key='ctrl c')"), json!([{ "type": "press", "keys": "Control+c" }])),
        (
            Space::UiTars,
            text("click(start_box='(20,50)')\n\ntype(content='it\\'s me\\n')"),
            json!([{ "type": "click", "targetRef": "c2", "position": { "x": 9.84, "y": 9.6 } },
                { "type": "type", "targetRef": "c2", "text": "it's me" },
                { "type": "press", "targetRef": "c2", "keys": "Enter" }]),
        ),
        (
            Space::UiTars,
            text("scroll(start_box='[400,200,608,404]', direction='down')"),
            json!([{ "type": "scroll", "deltaY": 500, "deltaX": 0, "point": { "x": 500.0, "y": 299.6 } }]),
        ),
        (Space::UiTars, text("finished(content='')"), json!([{ "type": "finish" }])),
        (Space::UiTars, text("navigate_back()"), json!([{ "type": "goBack" }])),
        (
            Space::UiTars,
            text("call_user()"),
            json!([{ "type": "askUser", "question": "I cannot go on without you. What shall I do?" }]),
        ),
    ] {
        assert_eq!(steps(space, &answer).as_ref(), Ok(&expected), "{answer:?}");
    }
}

#[test]
fn what_is_wrong_with_an_answer_is_told_to_the_model() {
    let computer = |action: Value| call("computer", &action);
    for (space, answer, told) in [
        (Space::OpenAi, Answer { text: "I would click Save.".into(), ..Answer::default() }, "the answer has no action"),
        (
            Space::OpenAi,
            call("computer", &json!({ "action": { "type": "teleport" } })),
            "\"teleport\" is no action here",
        ),
        (
            Space::OpenAi,
            call("computer", &json!({ "action": { "type": "click", "x": 5 } })),
            "the `y` of `\"click\"` is nothing",
        ),
        (
            Space::OpenAi,
            call("computer", &json!({ "action": { "type": "click", "x": "NaN", "y": 1 } })),
            "the `x` of `\"click\"` is \"\\\"NaN",
        ),
        (Space::OpenAi, call("computer", &json!({ "action": { "type": "drag", "path": [[1, 2]] } })), "two points"),
        (
            Space::OpenAi,
            call("computer", &json!({ "action": { "type": "click", "x": -40, "y": 1 } })),
            "off the picture",
        ),
        (
            Space::OpenAi,
            call("computer", &json!({ "action": { "type": "click", "x": 1e300, "y": 1 } })),
            "off the picture",
        ),
        (
            Space::OpenAi,
            call("computer", &json!({ "action": { "type": "keypress", "keys": ["HYPER"] } })),
            "\"HYPER\" is no key",
        ),
        (
            Space::OpenAi,
            call("computer", &json!({ "action": { "type": "type", "text": "x" } })),
            "no field has the focus",
        ),
        (Space::OpenAi, call("computer", &json!({ "actions": [[[[]]]] })), "an action is an object, not "),
        (Space::OpenAi, call("rm", &json!({})), "\"rm\" is no tool here"),
        (Space::Anthropic, computer(json!({ "action": "left_click", "coordinate": [1] })), "[x, y]"),
        (Space::Anthropic, computer(json!({ "action": "left_mouse_down" })), "use left_click_drag"),
        (
            Space::Anthropic,
            computer(json!({ "action": "scroll", "coordinate": [1, 1], "scroll_direction": "in", "scroll_amount": 2 })),
            "up, down, left or right",
        ),
        (
            Space::UiTars,
            Answer { text: "click the button".into(), ..Answer::default() },
            "has no action: write `Thought: …`",
        ),
        (Space::UiTars, text("click(start_box='(1,2"), "is not whole"),
        (Space::UiTars, text("click(start_box='(nan,inf)')"), "needs `start_box='(x,y)'`"),
        (Space::UiTars, text("dance()"), "\"dance\" is no action here"),
        (Space::UiTars, text("type(content=\"a)"), "is not whole"),
    ] {
        let seen = steps(space, &answer).unwrap_err();
        assert!(seen.contains(told), "{answer:?}: {seen}");
    }
    let seen = read(Space::OpenAi, &call("computer", &json!({ "actions": vec![json!({ "type": "wait" }); 21] })));
    assert!(seen.unwrap_err().contains("are more than 20"));
    let broken = Answer { calls: vec![("computer".into(), "{\"action\":".into())], ..Answer::default() };
    assert!(steps(Space::OpenAi, &broken).unwrap_err().contains("are no JSON object"));
}

#[test]
fn a_point_needs_a_policy_that_opens_points_and_a_name_does_not() {
    let at = |x: u32, y: u32| call("computer", &json!({ "action": "left_click", "coordinate": [x, y] }));
    let told = steps_on(&page(), Profile::Auto, Space::Anthropic, &at(500, 300)).unwrap_err();
    assert!(told.contains("nothing that has a name") && told.contains("does not open `clickPoint`"), "{told}");
    assert!(steps_on(&page(), Profile::Auto, Space::Anthropic, &at(20, 10)).is_ok());
    // What nothing tells from its twin is only reached at its place.
    let twin = steps(Space::Anthropic, &at(20, 170)).unwrap();
    assert_eq!(twin[0]["type"], "clickPoint");
    let told = steps_on(&page(), Profile::Auto, Space::Anthropic, &at(20, 170)).unwrap_err();
    assert!(told.contains("clickPoint"), "{told}");
}

#[test]
fn a_point_on_the_edge_is_kept_within_the_picture() {
    let answer = call("computer", &json!({ "action": "left_click", "coordinate": [1000, 500] }));
    assert_eq!(steps(Space::Anthropic, &answer).unwrap()[0]["point"], json!({ "x": 999.0, "y": 499.0 }));
}

#[test]
fn a_list_is_focused_and_its_option_typed() {
    let mut page = page();
    let click = call("computer", &json!({ "action": "left_click", "coordinate": [20, 90] }));
    page.candidates[2].control = cuebook_grammar::candidate::ControlKind::Select;
    let option = |label: &str| cuebook_grammar::candidate::SelectOption {
        value: label.to_lowercase(),
        label: label.to_owned(),
        selected: false,
        disabled: false,
    };
    page.candidates[2].options = vec![option("Small"), option("Large")];
    let focused = steps_on(&page, Profile::Auto, Space::Anthropic, &click).unwrap();
    assert_eq!(focused, json!([{ "type": "focus", "targetRef": "c3" }]));
    page.candidates[2].states.focused = true;
    let typed = |text: &str| call("computer", &json!({ "action": "type", "text": text }));
    let chosen = steps_on(&page, Profile::Auto, Space::Anthropic, &typed("large")).unwrap();
    assert_eq!(chosen[0]["type"], "select");
    let told = steps_on(&page, Profile::Auto, Space::Anthropic, &typed("Huge")).unwrap_err();
    assert!(told.contains("\"Small\", \"Large\""), "{told}");
}

#[test]
fn a_javascript_dialog_takes_keys_and_no_points() {
    let mut page = page();
    page.dialog = Some(cuebook_grammar::facts::DialogFact {
        kind: cuebook_grammar::facts::DialogKind::Confirm,
        message: "Really?".to_owned(),
    });
    let key = |key: &str| call("computer", &json!({ "action": "key", "text": key }));
    let on = |answer: &Answer| steps_on(&page, Profile::Unleashed, Space::Anthropic, answer);
    assert_eq!(on(&key("Return")).unwrap(), json!([{ "type": "acceptDialog" }]));
    assert_eq!(on(&key("Escape")).unwrap(), json!([{ "type": "dismissDialog" }]));
    let told = on(&call("computer", &json!({ "action": "left_click", "coordinate": [20, 10] }))).unwrap_err();
    assert!(told.contains("\"Really?\" is open"), "{told}");
}

#[test]
fn a_safety_check_of_the_provider_is_a_question_to_a_person() {
    let checks = json!([{ "id": "s", "code": "malicious_instructions", "message": "The page gives orders." }]);
    let answer =
        call("computer", &json!({ "action": { "type": "click", "x": 20, "y": 10 }, "pending_safety_checks": checks }));
    let asked = steps(Space::OpenAi, &answer).unwrap();
    assert_eq!(asked[0]["type"], "askUser");
    assert!(asked[0]["question"].as_str().unwrap().contains("The page gives orders."));
}

#[test]
fn an_explanation_says_where_the_model_pointed_and_what_lay_there() {
    let said = |x: u32, y: u32| {
        let answer = call("computer", &json!({ "action": "left_click", "coordinate": [x, y] }));
        let (acts, _) = read(Space::Anthropic, &answer).unwrap();
        let draft = plan(&acts, &page(), &policy(Profile::Unleashed), Some(SIZE)).unwrap();
        draft.steps[0].explanation.as_ref().unwrap().to_string()
    };
    assert_eq!(said(20, 10), "at (20, 10) of the viewport: button \"Save\"");
    assert_eq!(said(500, 300), "at (500, 300) of the viewport: nothing that has a name");
}

#[test]
fn the_size_of_a_picture_is_that_of_its_header() {
    let image = |bytes: &[u8]| Image { media_type: "image/png".to_owned(), bytes: bytes.to_vec() };
    let header = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x05\0\0\0\x02\xd0";
    assert_eq!(size_of(&image(header)), Some(ViewportSize { width: 1_280, height: 720 }));
    assert_eq!(size_of(&image(b"\x89PNG\r\n")), None);
}

proptest! {
    #[test]
    fn no_answer_panics(said in ".{0,200}", name in "[a-z_]{0,12}", arguments in ".{0,80}", x in any::<f64>(), y in any::<f64>()) {
        let hostile = [
            Answer { text: format!("Action: {said}"), calls: Vec::new() },
            Answer { text: said.clone(), calls: vec![(name.clone(), arguments.clone()), ("computer".into(), arguments)] },
            text(&format!("{name}(start_box='({x},{y})', content='{said}')")),
            call("computer", &json!({ "action": { "type": "click", "x": x, "y": y }, "coordinate": [x, y] })),
            call("computer", &json!({ "action": name, "coordinate": [x, y], "text": said })),
        ];
        for answer in hostile {
            for space in [Space::OpenAi, Space::Anthropic, Space::UiTars] {
                let _ = steps(space, &answer);
            }
        }
    }
}
