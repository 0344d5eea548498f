//! Passwords: where they go and where they never show.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use cuebook_cdp::protocol::browser_protocol::emulation::SetDeviceMetricsOverrideParams;
use cuebook_grammar::outcome::Cause;
use cuebook_grammar::policy::Rule;
use cuebook_grammar::seam::{ArtifactKind, Redactor};
use cuebook_probe::picture::{Canvas, PAINT};
use serde_json::{Value, json};

use crate::lab::{Lab, PASSWORD, css_of, failed, lab, soon, succeeded};

#[tokio::test]
async fn a_password_is_in_no_evidence() {
    let page = "<input id=p type=password><input id=user><p id=echo></p><script>p.addEventListener('input', () => { \
        echo.textContent = 'you typed ' + p.value; console.error('echoed in the console: ' + p.value + '!'); document.title = p.value; history.replaceState({}, '', '?q=' + encodeURIComponent(p.value).replace(/%20/g, '+')); });</script>";
    let mut lab = lab(&[("/", page)]).await;
    let p = json!({"p": css_of("#p"), "echo": css_of("#echo")});
    let step = json!({"type": "type", "targetRef": "p", "text": "hunter2secret", "post": [
        {"kind": "valueEquals", "target": "p", "value": "hunter2secret"}, {"kind": "valueContains", "target": "p", "value": "er2sec"},
        {"kind": "visible", "target": "echo"}]});
    let success = succeeded(lab.step(p.clone(), step).await);
    let told = serde_json::to_string(&success.evidence).unwrap();
    assert!(!told.contains("hunter2secret") && !told.contains("er2sec"), "{told}");
    assert!(success.evidence.sensitive.iter().any(|target| target.as_str() == "p"));

    let step = json!({"type": "setValue", "targetRef": "p", "credentialRef": "shop", "post": [{"kind": "changed", "target": "p"}]});
    let success = succeeded(lab.step(p.clone(), step).await);
    assert!(!serde_json::to_string(&success.evidence).unwrap().contains(PASSWORD));
    assert_eq!(lab.eval("p.value").await, PASSWORD);
    let asked = lab.secrets.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].is_password_field);

    let failing = json!({"type": "setValue", "targetRef": "p", "value": "hunter2again", "post": [{"kind": "valueEquals", "target": "p", "value": "other2again"}]});
    let failure = failed(lab.step(p, failing).await);
    assert_eq!(failure.cause, Cause::PostconditionFailed);
    let told = format!("{failure:?}{}", serde_json::to_string(&failure.evidence).unwrap());
    assert!(!told.contains("hunter2again") && !told.contains("other2again"), "{told}");
    let left = lab
        .shelf
        .0
        .lock()
        .unwrap()
        .iter()
        .map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned())
        .collect::<String>();
    assert!(left.contains("you typed") && !left.contains("hunter2"), "{left}");
    assert!(told.contains("echoed in the console"), "{told}");
}

#[tokio::test]
async fn a_secret_is_not_given_to_another_origin() {
    let mut lab =
        lab(&[("/", "<iframe src='http://localhost:PORT/inner'></iframe>"), ("/inner", "<input id=p type=password>")])
            .await;
    let step = json!({"type": "type", "targetRef": "p", "credentialRef": "shop"});
    let failure = failed(lab.step(json!({"p": css_of("#p")}), step).await);
    assert_eq!(failure.cause, Cause::PolicyBlocked, "{}", failure.message);
    assert!(!failure.evidence.input_sent);
    let asked = lab.secrets.asked.lock().unwrap().clone();
    assert_eq!(asked[0].origin, format!("http://localhost:{}", lab.port));
    assert_eq!(asked[0].page_origin, format!("http://127.0.0.1:{}", lab.port));
}

#[tokio::test]
async fn a_credential_does_not_reach_a_field_that_shows_it_by_then() {
    let shows = "p.type = 'text'";
    let pages = [
        format!("<input id=p type=password onfocus=\"{shows}\">"),
        format!("<input id=p type=password onfocus=\"Promise.resolve().then(() => {{ {shows} }})\">"),
        format!("<input id=p type=password name=password onkeydown=\"{shows}\">"),
        "<input id=p style='-webkit-text-security:disc' name=password onfocus=\"this.style = ''\">".to_owned(),
    ];
    for page in &pages {
        for step in if page.contains("onkeydown") { &["type"][..] } else { &["type", "setValue"] } {
            let mut lab = lab(&[("/", page)]).await;
            let p = json!({"p": css_of("#p")});
            let failure =
                failed(lab.step(p.clone(), json!({"type": step, "targetRef": "p", "credentialRef": "shop"})).await);
            let seen = (failure.cause, failure.facts.rule);
            assert_eq!(seen, (Cause::PolicyBlocked, Some(Rule::SecretScope)), "{page}: {}", failure.message);
            assert_eq!(lab.eval("p.value").await, "", "{page}");
            // It does not help to try again: the field is no longer one that hides what is typed.
            lab.step(p, json!({"type": step, "targetRef": "p", "credentialRef": "shop"})).await;
            assert!(!lab.secrets.asked.lock().unwrap().last().unwrap().is_password_field, "{page}");
        }
    }
}

#[tokio::test]
async fn a_secret_in_the_clear_is_refused() {
    let mut lab = lab(&[("/", "<input id=p type=password>")]).await;
    let p = json!({"p": css_of("#p")});
    for step in ["type", "setValue"] {
        let text = if step == "type" { "text" } else { "value" };
        let failure = failed(lab.step(p.clone(), json!({"type": step, "targetRef": "p", text: PASSWORD})).await);
        assert_eq!((failure.cause, failure.facts.rule), (Cause::PolicyBlocked, Some(Rule::RawSecret)));
        assert!(!failure.message.contains(PASSWORD));
        assert_eq!(lab.eval("p.value").await, "");
    }
    // The name of a secret is text like any other.
    succeeded(lab.step(p, json!({"type": "type", "targetRef": "p", "text": "shop"})).await);
    assert_eq!(lab.eval("p.value").await, "shop");
}

/// Knows values as they are.
#[derive(Default)]
struct Values(Mutex<Vec<String>>);

impl Redactor for Values {
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.0.lock().unwrap().iter().fold(text.into(), |text, value| text.replace(value.as_str(), "*").into())
    }
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        let known = self.0.lock().unwrap();
        let all = known.iter().flat_map(|value| text.match_indices(value.as_str()));
        all.map(|(at, found)| at..at + found.len()).collect()
    }
    fn learn(&self, secret: &str) {
        self.0.lock().unwrap().push(secret.to_owned());
    }
    fn is_idle(&self) -> bool {
        self.0.lock().unwrap().is_empty()
    }
}

/// Where the page shows what was typed, one below the other in rows of 40 pixels. `v` is the text, `e` the element.
const ECHOES: [(&str, &str); 14] = [
    ("the field itself", "p.type = 'text'"),
    ("a text", "e.textContent = 'It is ' + v"),
    ("letters apart", "for (const c of v) e.appendChild(document.createElement('b')).textContent = c"),
    ("generated text", "e.dataset.v = v"),
    ("a closed root", "closed.innerHTML = '<i></i>'; closed.firstChild.textContent = v"),
    ("a frame", "frames[0].document.body.textContent = v"),
    ("a frame of another process", "frames[1].postMessage(v, '*')"),
    ("a value", "e.innerHTML = '<input>'; e.firstChild.value = v"),
    ("a text area", "e.innerHTML = '<textarea></textarea>'; e.firstChild.value = v"),
    ("a placeholder", "e.innerHTML = '<input>'; e.firstChild.placeholder = v"),
    ("capitals", "e.style.textTransform = 'uppercase'; e.textContent = v"),
    ("an option", "e.innerHTML = '<select></select>'; e.firstChild.add(new Option(v))"),
    ("a turned text", "e.innerHTML = '<i></i>'; e.firstChild.textContent = v; e.firstChild.style.rotate = '4deg'"),
    ("two lines", "e.style.width = '90px'; e.textContent = v"),
];

fn echoing() -> String {
    let rows = ECHOES.iter().enumerate().map(|(at, (_, echo))| {
        let inner = match at {
            0 => "<input id=p type=password>",
            5 => "<iframe srcdoc='<body style=\"margin:0;color:red;font:16px monospace\">'></iframe>",
            6 => "<iframe src='http://localhost:PORT/frame'></iframe>",
            _ => "",
        };
        format!(
            "<div class=row id=e{at} style='top:{}px'>{inner}</div><script>function f{at}(e, v) {{ {echo} }}</script>",
            at * 40
        )
    });
    let style = "html{background:#fff} body{margin:0;height:900px} *{outline:0} \
        .row,.row *{position:static;color:red;font:16px/18px monospace;background:#fff;border-color:#fff} \
        .row{position:absolute!important;left:20px;width:500px;height:38px;overflow:hidden} \
        .row i{display:inline-block} iframe{border:3px solid #fff;padding:2px;height:30px;width:400px} \
        ::placeholder{color:red!important} #e3::before{content:attr(data-v)} #other{position:absolute;left:20px;top:580px;color:blue}";
    format!(
        "<style>{style}</style>{}<p id=other>a public text</p><script>const closed = e4.attachShadow({{ mode: 'closed' }});\
         function show(v) {{ {} }}</script>",
        rows.collect::<String>(),
        (0..ECHOES.len()).map(|at| format!("f{at}(e{at}, v);")).collect::<String>()
    )
}

const FRAME: &str = "<body style='margin:0;color:red;font:16px monospace'><script>\
    onmessage = (e) => { document.body.textContent = e.data; parent.postMessage('shown', '*'); }</script>";

impl Lab {
    /// The picture that a step stores.
    async fn shot(&mut self, candidates: Value, step: Value) -> Canvas {
        succeeded(self.step(candidates, step).await);
        let (kind, png) = self.shelf.0.lock().unwrap().pop().unwrap();
        assert_eq!(kind, ArtifactKind::Screenshot);
        Canvas::read(&png).unwrap()
    }
}

/// How many pixels of red letters and of paint each row has, where its first one is at `top`.
fn rows(canvas: &Canvas, top: usize, density: usize) -> Vec<(usize, usize)> {
    let is_red = |[red, green, blue]: [u8; 3]| red > 150 && i32::from(red) - i32::from(green.max(blue)) > 60;
    let count = |at: usize, is: &dyn Fn([u8; 3]) -> bool| {
        let rows = ((top + at * 40) * density)..((top + at * 40 + 40) * density);
        rows.flat_map(|y| (0..560 * density).map(move |x| (x, y))).filter(|(x, y)| is(canvas.at(*x, *y))).count()
    };
    (0..ECHOES.len()).map(|at| (count(at, &is_red), count(at, &|pixel| pixel == PAINT))).collect()
}

fn is_blue(canvas: &Canvas) -> bool {
    let is = |[red, green, blue]: [u8; 3]| blue > 150 && red < 120 && green < 120;
    (0..canvas.height()).any(|y| (0..canvas.width()).any(|x| is(canvas.at(x, y))))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_shows_a_secret_is_painted_over_in_every_picture() {
    let page = echoing();
    let mut lab = lab(&[("/", &page), ("/frame", FRAME)]).await;
    let redactor = Arc::new(Values::default());
    lab.executor = lab.executor.with_redactor(redactor.clone());
    // Chrome may owe a frame while it takes pictures on a busy machine; the pictures themselves decide.
    let shown = "new Promise((done) => { setTimeout(done, 3000); \
        onmessage = () => requestAnimationFrame(() => setTimeout(done, 50)); show(p.value) })";
    let viewport = json!({"type": "screenshot"});

    // The control: a text that is no secret is seen in every row.
    lab.eval("p.value = 'a text of any kind'").await;
    // A frame of another process hears nothing before it is loaded, and draws when it can.
    let until = soon();
    let seen = loop {
        lab.eval(shown).await;
        let seen = rows(&lab.shot(json!({}), viewport.clone()).await, 0, 1);
        if seen.iter().all(|(red, _)| *red > 40) || Instant::now() > until {
            break seen;
        }
    };
    for ((name, _), (red, paint)) in ECHOES.iter().zip(seen) {
        assert!(red > 40 && paint == 0, "{name}: {red} pixels of text, {paint} of paint");
    }

    lab.eval(
        "p.type = 'password'; p.value = ''; for (const e of document.querySelectorAll('.row:not(:has(#p, iframe))')) \
        e.textContent = ''",
    )
    .await;
    let p = json!({"p": css_of("#p")});
    succeeded(lab.step(p, json!({"type": "type", "targetRef": "p", "credentialRef": "shop"})).await);
    assert_eq!(*redactor.0.lock().unwrap(), [PASSWORD], "it is known before it is typed");
    lab.eval(shown).await;

    let full = json!({"type": "screenshot", "fullPage": true});
    let row = json!({"row": css_of("#e1")});
    for (density, scroll) in [(1, 0), (2, 0), (1, 200)] {
        let metrics = SetDeviceMetricsOverrideParams::new(640, 640, density as f64, false);
        lab.tab().session().request(metrics, soon()).await.unwrap();
        lab.eval(&format!(
            "scrollTo(0, {scroll}); new Promise((done) => {{ setTimeout(done, 3000); \
                requestAnimationFrame(() => setTimeout(done)) }})"
        ))
        .await;
        let mut pictures = vec![lab.shot(json!({}), full.clone()).await];
        if scroll == 0 {
            pictures.push(lab.shot(json!({}), viewport.clone()).await);
        }
        for canvas in pictures {
            for ((name, _), (red, paint)) in ECHOES.iter().zip(rows(&canvas, 0, density)) {
                assert!(
                    red == 0 && paint > 200,
                    "{name}, density {density}, scrolled {scroll}: {red} pixels of text, {paint} of paint"
                );
            }
            assert!(is_blue(&canvas), "other text stays");
        }
        let canvas = lab.shot(row.clone(), json!({"type": "screenshot", "targetRef": "row"})).await;
        let colours = |is: &dyn Fn([u8; 3]) -> bool| {
            (0..canvas.height())
                .flat_map(|y| (0..canvas.width()).map(move |x| (x, y)))
                .any(|(x, y)| is(canvas.at(x, y)))
        };
        assert!(colours(&|pixel| pixel == PAINT) && !colours(&|[red, green, _]| red > 200 && green < 60), "{density}");
    }
}

/// A code of three digits is not searched for; the field that received it is hidden all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_received_a_short_secret_stays_hidden() {
    let page = "<style>*{outline:0} input{position:absolute;left:10px;top:10px;width:200px;height:40px;border:0;\
        font:30px monospace;color:red;background:#fff}</style><input id=p type=password>";
    let mut lab = lab(&[("/", page)]).await;
    let p = json!({"p": css_of("#p")});
    succeeded(lab.step(p.clone(), json!({"type": "type", "targetRef": "p", "text": "737"})).await);
    lab.eval("p.type = 'text'").await;
    let canvas = lab.shot(json!({}), json!({"type": "screenshot"})).await;
    for (x, y) in (10..210).flat_map(|x| (10..50).map(move |y| (x, y))) {
        assert_eq!(canvas.at(x, y), PAINT, "{x},{y}");
    }
    assert_eq!(canvas.at(300, 30), [255; 3]);
    // It is sensitive whatever it is called now.
    let success = succeeded(
        lab.step(p, json!({"type": "hover", "targetRef": "p", "post": [{"kind": "valueEquals", "target": "p", "value": "737"}]}))
            .await,
    );
    assert!(!serde_json::to_string(&success.evidence).unwrap().contains("737"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_keeps_moving_has_no_picture() {
    let page = "<input id=p type=password><p id=e style='position:absolute'></p>";
    let mut lab = lab(&[("/", page)]).await;
    lab.executor = lab.executor.with_redactor(Arc::new(Values::default()));
    let p = json!({"p": css_of("#p")});
    succeeded(lab.step(p, json!({"type": "type", "targetRef": "p", "credentialRef": "shop"})).await);
    lab.eval("e.textContent = p.value; let n = 0; setInterval(() => { e.style.left = `${n++ % 500}px` }, 3); 0").await;
    let failure = failed(lab.step(json!({}), json!({"type": "screenshot"})).await);
    assert_eq!(failure.cause, Cause::NotStable, "{}", failure.message);
    let shelf = lab.shelf.0.lock().unwrap();
    let [(ArtifactKind::AxSubtree, text)] = shelf.as_slice() else { panic!("expected no picture, saw {shelf:?}") };
    let text = String::from_utf8_lossy(text);
    assert!(text.contains("- paragraph") && !text.contains(PASSWORD), "{text}");
}

/// Fields that nobody but the page filled, in a frame and a shadow root too.
#[tokio::test]
async fn secrets_that_the_page_filled_are_painted_over() {
    const FIELDS: &str = "<style>*{outline:0} input{position:absolute;left:10px;width:200px;height:40px;border:0;\
        font:30px monospace;color:red;background:#fff}</style>";
    let page = format!(
        "{FIELDS}<input style=top:10px name=otp value=481516><input style=top:60px value=plain aria-label=Town>\
         <div id=host></div><iframe src=/frame style='position:absolute;left:0;top:200px;border:0;margin:0'></iframe>\
         <script>host.attachShadow({{mode: 'open'}}).innerHTML = `{FIELDS}<input style=top:110px \
         autocomplete=one-time-code value=233444>`</script>"
    );
    let frame = format!("{FIELDS}<input style=top:10px aria-label='API token' value=tok-99>");
    let mut lab = lab(&[("/", &page), ("/frame", &frame)]).await;
    let canvas = lab.shot(json!({}), json!({"type": "screenshot"})).await;
    for (what, top, hidden) in [("otp", 10, true), ("town", 60, false), ("shadow", 110, true), ("frame", 210, true)] {
        let painted = (12..208).all(|x| canvas.at(x, top + 20) == PAINT);
        let red = (top..top + 40).any(|y| (10..210).any(|x| canvas.at(x, y)[0] > 200 && canvas.at(x, y)[1] < 60));
        assert_eq!((painted, red), (hidden, !hidden), "{what}");
    }
    lab.eval("document.querySelector('[name=otp]').value = ''").await;
    let canvas = lab.shot(json!({}), json!({"type": "screenshot"})).await;
    assert_ne!(canvas.at(100, 30), PAINT, "an empty field tells nothing");
}
