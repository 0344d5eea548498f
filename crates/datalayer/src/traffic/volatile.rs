//! Parts of requests and answers that are other ones in each run, and so distinguish nothing.

use cuebook_grammar::policy::VolatileParts;
use serde_json::Value;
use serde_json_path::JsonPath;

/// Parameters of URLs that stand for nothing but the moment, whatever else is stated: jQuery's.
const ALWAYS: &str = "_";

/// Rules by which parts of requests and answers are left out, when they are matched with a recording and when they are
/// compared with it.
#[derive(Clone, Debug, Default)]
pub struct Volatile {
    query: Vec<String>,
    body: Vec<JsonPath>,
}

impl Volatile {
    /// The rules of files.
    ///
    /// # Errors
    /// The first path of a body that is no JSONPath (RFC 9535), and what is wrong with it.
    pub fn new<'a>(parts: impl IntoIterator<Item = &'a VolatileParts>) -> Result<Self, String> {
        let mut rules = Self::default();
        for part in parts {
            rules.query.extend(part.query.iter().map(|name| name.as_str().to_owned()));
            for path in &part.body {
                let read = JsonPath::parse(path.as_str());
                rules.body.push(read.map_err(|error| format!("{:?} is no JSONPath: {error}", path.as_str()))?);
            }
        }
        Ok(rules)
    }

    /// Returns `true` if a parameter of a URL is left out.
    pub(crate) fn is_volatile(&self, name: &str) -> bool {
        let fits = |rule: &String| match rule.strip_suffix('*') {
            Some(start) => name.starts_with(start),
            None => rule == name,
        };
        name == ALWAYS || self.query.iter().any(fits)
    }

    /// Replaces the parts of a JSON body that are left out by `null`, so that positions in lists stay.
    pub(crate) fn strip(&self, body: &mut Value) {
        for path in &self.body {
            let places: Vec<String> =
                path.query_located(body).iter().map(|node| node.location().to_json_pointer()).collect();
            for place in places {
                body.pointer_mut(&place).map(Value::take);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rules(parts: Value) -> Result<Volatile, String> {
        let parts: VolatileParts = serde_json::from_value(parts).unwrap();
        Volatile::new([&parts])
    }

    #[test]
    fn stated_parts_are_left_out_and_no_others() {
        let rules = rules(json!({"query": ["utm_*", "t"], "body": ["$.sentAt", "$.items[*].id"]})).unwrap();
        let volatile = ["_", "t", "utm_source"].map(|name| rules.is_volatile(name));
        assert!(volatile.iter().all(|is| *is) && !rules.is_volatile("token"));
        let mut body = json!({"sentAt": 5, "items": [{"id": 1, "n": 2}, {"id": 3, "n": 4}], "id": 6});
        rules.strip(&mut body);
        let expected = json!({"sentAt": null, "items": [{"id": null, "n": 2}, {"id": null, "n": 4}], "id": 6});
        assert_eq!(body, expected);
        rules.strip(&mut json!("no object"));
    }

    #[test]
    fn a_path_that_is_none_is_an_error_with_its_text() {
        let error = rules(json!({"body": ["$.a["]})).unwrap_err();
        assert!(error.contains("\"$.a[\""), "{error}");
    }
}
