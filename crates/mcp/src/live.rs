//! The ids of the page in the schemas of the tools, for clients that constrain what a model writes by them.
//!
//! They are no guard: the session itself refuses an id that is not on the page.

use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};

/// Arguments that name an element.
const TARGETS: [&str; 3] = ["target", "startTarget", "endTarget"];

/// Ids that were last shown of a client's own session.
#[derive(Debug, Default)]
pub(crate) struct LiveIds(Mutex<Vec<String>>);

impl LiveIds {
    /// Takes in what an answer showed. Returns `true` if other ids are there now.
    pub(crate) fn take(&self, mut shown: Vec<String>) -> bool {
        shown.sort_unstable();
        let mut ids = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = *ids != shown;
        *ids = shown;
        is_new
    }

    /// Writes the ids into the schema of a tool. Without any, every text remains possible.
    pub(crate) fn write(&self, schema: &mut Map<String, Value>) {
        let ids = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !ids.is_empty() {
            constrain(schema, &ids);
        }
    }
}

fn constrain(schema: &mut Map<String, Value>, ids: &[String]) {
    let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
    for (name, property) in properties {
        let Some(property) = property.as_object_mut() else { continue };
        if TARGETS.contains(&name.as_str()) {
            property.insert("enum".to_owned(), json!(ids));
        } else if let Some(items) = property.get_mut("items").and_then(Value::as_object_mut) {
            constrain(items, ids);
        }
    }
}

#[cfg(test)]
mod tests {
    use cuebook_session::ToolSet;

    use super::*;

    #[test]
    fn the_schemas_have_the_ids_of_the_page_and_only_a_change_is_one() {
        let live = LiveIds::default();
        let schema = |name: &str| {
            let tool = ToolSet::Core.tools().into_iter().find(|tool| tool.name == name).unwrap();
            let mut schema = tool.schema();
            live.write(&mut schema);
            Value::Object(schema)
        };
        assert_eq!(schema("browser_click")["properties"]["target"]["enum"], Value::Null);
        assert!(live.take(vec!["c2".to_owned(), "c1".to_owned()]));
        assert!(!live.take(vec!["c1".to_owned(), "c2".to_owned()]), "the same in another order");
        let ids = json!(["c1", "c2"]);
        assert_eq!(schema("browser_click")["properties"]["target"]["enum"], ids);
        assert_eq!(schema("browser_drag")["properties"]["endTarget"]["enum"], ids);
        assert_eq!(schema("browser_fill_form")["properties"]["fields"]["items"]["properties"]["target"]["enum"], ids);
        assert_eq!(schema("browser_click")["properties"]["element"]["enum"], Value::Null);
        assert!(live.take(Vec::new()) && schema("browser_click")["properties"]["target"]["enum"].is_null());
    }
}
