//! Metadata that a page states about itself, from meta elements to linked data.

use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Answer of the page script: title, meta elements, linked data, headings.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    pub(crate) title: String,
    pub(crate) language: String,
    pub(crate) meta: Map<String, Value>,
    #[serde(default)]
    pub(crate) canonical: Option<String>,
    /// Unread JSON of scripts.
    pub(crate) json_ld: Vec<String>,
    /// Items of microdata on the page.
    pub(crate) items: Vec<Value>,
    pub(crate) headings: Vec<Value>,
    pub(crate) landmarks: Vec<Value>,
    pub(crate) headings_left: u64,
}

impl Metadata {
    /// Every object that JSON-LD describes at the top, graphs opened up. Invalid JSON is omitted.
    pub(crate) fn linked_data(&self) -> Vec<Value> {
        let mut all = Vec::new();
        for text in &self.json_ld {
            match serde_json::from_str(text) {
                Ok(Value::Array(items)) => all.extend(items),
                Ok(Value::Object(mut object)) => match object.remove("@graph") {
                    Some(Value::Array(items)) => all.extend(items),
                    _ => all.push(Value::Object(object)),
                },
                _ => {}
            }
        }
        all.truncate(1_000);
        all
    }

    /// Returns the kind of page that its own data states, such as `Product`; `None` if it states none.
    fn page_type(&self, linked: &[Value]) -> Option<String> {
        let items = || linked.iter().chain(&self.items);
        let kinds = || items().filter_map(kind_of).map(str::to_owned);
        items()
            .filter(|item| !is_frame(item))
            .find_map(kind_of)
            .map(str::to_owned)
            .or_else(|| self.meta.get("og:type").and_then(Value::as_str).map(str::to_owned))
            .or_else(|| kinds().next())
    }

    /// The answer of the step.
    #[must_use]
    pub fn data(self, url: &str) -> Value {
        let linked = self.linked_data();
        let page_type = self.page_type(&linked);
        let is_graph =
            |name: &str| name.starts_with("og:") || name.starts_with("article:") || name.starts_with("product:");
        let (graph, rest): (Map<_, _>, Map<_, _>) = self.meta.into_iter().partition(|(name, _)| is_graph(name));
        let mut data = json!({
            "url": url, "title": self.title, "language": self.language, "pageType": page_type,
            "canonical": self.canonical, "openGraph": graph, "meta": rest, "jsonLd": linked,
            "microdata": self.items, "headings": self.headings, "landmarks": self.landmarks,
        });
        if self.headings_left > 0 {
            data["truncated"] = json!({ "headings": self.headings_left });
        }
        if let Value::Object(data) = &mut data {
            data.retain(|_, value| match value {
                Value::Null => false,
                Value::String(text) => !text.is_empty(),
                Value::Array(items) => !items.is_empty(),
                Value::Object(members) => !members.is_empty(),
                _ => true,
            });
        }
        data
    }
}

/// The kind that a thing states first.
fn kind_of(item: &Value) -> Option<&str> {
    match item.get("@type")? {
        Value::Array(kinds) => kinds.first()?.as_str(),
        kind => kind.as_str(),
    }
}

/// Returns `true` for what a page is a part of, which is hardly ever its subject.
pub(crate) fn is_frame(item: &Value) -> bool {
    const FRAME: [&str; 4] = ["WebSite", "Organization", "BreadcrumbList", "WebPage"];
    kind_of(item).is_some_and(|kind| FRAME.contains(&kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_of_a_page_is_that_of_its_thing() {
        let metadata = Metadata {
            title: "Mug".into(),
            json_ld: vec![
                r#"{"@type":"WebSite"}"#.into(),
                "{ no json".into(),
                r#"{"@graph":[{"@type":["Product","Thing"],"name":"Mug"}]}"#.into(),
            ],
            ..Metadata::default()
        };
        let data = metadata.data("https://a.test/");
        assert_eq!(data["pageType"], "Product");
        assert_eq!(data["jsonLd"].as_array().map(Vec::len), Some(2));
        assert!(data.get("microdata").is_none());
    }
}
