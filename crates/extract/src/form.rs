//! The values of forms, by field.

use cuebook_grammar::secret::DigestKey;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One field as the page script reports it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Field {
    label: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    checked: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    options: Option<Vec<Choice>>,
    #[serde(default, skip_serializing_if = "is_zero")]
    options_left_out: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    required: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    readonly: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    disabled: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    invalid: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    sensitive: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Choice {
    value: String,
    label: String,
    selected: bool,
}

/// One form, or the fields that belong to none.
#[derive(Debug, Serialize, Deserialize)]
struct Form {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    action: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    fields: Vec<Field>,
}

/// Answer of the page script: one form, or all of them.
#[derive(Debug, Deserialize)]
pub struct Forms {
    #[serde(default)]
    forms: Option<Vec<Form>>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    action: Option<String>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default)]
    fields: Vec<Field>,
    /// How many fields were left out.
    left: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
fn is_false(value: &bool) -> bool {
    !*value
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl Forms {
    /// The answer of the step: what sensitive fields hold becomes a digest.
    #[must_use]
    pub fn data(self, key: &DigestKey) -> Value {
        let hide = |mut form: Form| {
            for field in form.fields.iter_mut().filter(|field| field.sensitive) {
                field.value = field.value.as_ref().and_then(Value::as_str).map(|text| match text {
                    "" => json!(""),
                    text => json!({ "redacted": key.digest(text) }),
                });
                field.options = None;
            }
            form
        };
        let mut data = match self.forms {
            Some(forms) => json!({ "forms": forms.into_iter().map(hide).collect::<Vec<_>>() }),
            None => {
                let Self { name, action, method, fields, .. } = self;
                json!(hide(Form { name, action, method, fields }))
            }
        };
        if self.left > 0 {
            data["truncated"] = json!({ "fields": self.left });
        }
        data
    }
}
