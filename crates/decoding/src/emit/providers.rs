//! JSON Schema as hosted and local engines take it for a whole plan.

use cuebook_grammar::action::ActionKind;
use serde_json::{Map, Value, json};

use super::emission::{Body, Emission, LimitUse, Loss, Target};
use super::measure::Measures;
use super::merge::{Tool, merged_step};
use super::schema_writer::{REFERENCE, Style, Writer};
use crate::ir::{Document, Member, Node, Presence};
use crate::toolset::{only_reads, tool_of};

/// OpenAI's structured outputs in strict mode: every member required, null for an omitted one, no lengths.
const OPENAI: Style = Style { constants: false, optional_members: false, lengths: false, ..REFERENCE };

/// Gemini's `responseSchema`: no references, no constants, `propertyOrdering`.
const GEMINI: Style = Style {
    references: false,
    constants: false,
    lengths: false,
    patterns: false,
    closed_objects: false,
    property_ordering: true,
    ..REFERENCE
};

/// Anthropic's strict tools: no references, no bounds, ids as strings.
const ANTHROPIC: Style = Style {
    references: false,
    constants: false,
    lengths: false,
    ranges: false,
    item_bounds: false,
    patterns: false,
    id_enums: false,
    ..REFERENCE
};

/// The schema as Ollama's `format` and llama.cpp's `json_schema` take it.
///
/// Both write the members that are required before all others. So that a model thinks before it acts, and writes the
/// last step last, a plan has to have all of its parts here: a thought may be empty, and so may the steps before the
/// last one.
pub(super) fn ollama(document: &Document) -> Emission {
    let document = &whole(document);
    let mut writer = Writer::new(document, REFERENCE);
    let schema = Value::Object(writer.root());
    let measures = Measures::of(&schema);
    // Source: llama.cpp, `MAX_REPETITION_THRESHOLD`.
    let limits = vec![LimitUse { limit: "repetitions", used: measures.longest_repetition, allowed: 2_000 }];
    Emission { target: Target::Ollama, body: Body::Json(schema), lost: vec![Loss::MemberOrder], limits }
}

/// The schema as servers take it that are compatible with OpenAI: as that of Ollama, since llama.cpp is one of them, but
/// without lengths of texts. XGrammar, which vLLM and SGLang use, compiles those for 20 s.
pub(super) fn compatible(document: &Document) -> Emission {
    let document = &whole(document);
    let mut writer = Writer::new(document, Style { lengths: false, ..REFERENCE });
    let schema = Value::Object(writer.root());
    writer.lost.insert(Loss::MemberOrder);
    let lost = writer.lost.into_iter().collect();
    Emission { target: Target::Compatible, body: Body::Json(schema), lost, limits: Vec::new() }
}

/// Returns the document with every member of the plan required.
fn whole(document: &Document) -> Document {
    let Node::Object(members) = &document.root else { return document.clone() };
    let members = members.iter().map(|member| Member { presence: Presence::Required, ..member.clone() });
    Document { definitions: document.definitions.clone(), root: Node::Object(members.collect()) }
}

/// `response_format` of OpenAI's chat completions.
pub(super) fn openai(document: &Document) -> Emission {
    let mut writer = Writer::new(document, OPENAI);
    let schema = Value::Object(writer.root());
    let measures = Measures::of(&schema);
    // Source: OpenAI, "Structured outputs", as of 2026.
    let limits = vec![
        LimitUse { limit: "properties", used: measures.properties, allowed: 5_000 },
        LimitUse { limit: "levels", used: measures.levels, allowed: 10 },
        LimitUse { limit: "characters of names and values", used: measures.name_characters, allowed: 120_000 },
        LimitUse { limit: "enum values", used: measures.enum_values, allowed: 1_000 },
        LimitUse {
            limit: "characters of an enum of over 250 values",
            used: measures.long_enum_characters,
            allowed: 15_000,
        },
    ];
    let body = json!({
        "type": "json_schema",
        "json_schema": { "name": "plan", "strict": true, "schema": schema },
    });
    Emission { target: Target::OpenAi, body: Body::Json(body), lost: writer.lost.into_iter().collect(), limits }
}

/// Gemini's `responseSchema`: steps of one shape, since its budget of states has no room for one a verb.
pub(super) fn gemini(document: &Document) -> Emission {
    let flat = flattened(document);
    let mut writer = Writer::new(&flat, GEMINI);
    let schema = Value::Object(writer.root());
    let measures = Measures::of(&schema);
    // Source: reports of "too many states"; Google publishes no figures.
    let limits = vec![
        LimitUse { limit: "enum values", used: measures.enum_values, allowed: 100 },
        LimitUse { limit: "summed array bounds", used: measures.summed_items, allowed: 960 },
    ];
    let mut lost: Vec<Loss> = writer.lost.into_iter().collect();
    lost.extend([Loss::Combinations, Loss::Conditions]);
    let body = json!({ "responseMimeType": "application/json", "responseSchema": schema });
    Emission { target: Target::Gemini, body: Body::Json(body), lost, limits }
}

/// Returns the document with every step of the merged shape.
fn flattened(document: &Document) -> Document {
    let Node::Object(members) = &document.root else { return document.clone() };
    let members = members
        .iter()
        // Its budget has no room for conditions.
        .filter(|member| !matches!(member.name.as_str(), "goal" | "goalReason"))
        .map(|member| {
            let node = match &member.node {
                Node::Array { item, min, max } => {
                    Node::Array { item: Box::new(merged_step(document, item)), min: *min, max: *max }
                }
                node if matches!(document.resolve(node), Node::Union(_)) => merged_step(document, node),
                node => node.clone(),
            };
            Member { node, ..member.clone() }
        })
        .collect();
    Document { definitions: document.definitions.clone(), root: Node::Object(members) }
}

/// A small fixed set of tools, for any API of function calls.
pub(super) fn tools(document: &Document) -> Emission {
    let (definitions, lost) = super::merge::tools(document, OPENAI);
    let measures: Vec<Measures> = definitions.iter().map(|tool| Measures::of(&tool.parameters)).collect();
    let most = |of: fn(&Measures) -> u64| measures.iter().map(of).max().unwrap_or(0);
    // Source: OpenAI, "Function calling" and "Structured outputs", as of 2026: each tool has a schema of its own.
    let limits = vec![
        LimitUse { limit: "tools", used: definitions.len() as u64, allowed: 128 },
        LimitUse { limit: "properties of a tool", used: most(|tool| tool.properties), allowed: 5_000 },
        LimitUse { limit: "enum values of a tool", used: most(|tool| tool.enum_values), allowed: 1_000 },
    ];
    let tools: Vec<Value> = definitions
        .into_iter()
        .map(|tool| {
            json!({
                "type": "function",
                "function": {
                    "name": tool.name, "description": tool.description, "strict": true, "parameters": tool.parameters,
                },
            })
        })
        .collect();
    Emission { target: Target::Tools, body: Body::Json(Value::Array(tools)), lost, limits }
}

/// Anthropic's tools. Of a document for any page they are the same on every page, so that its cache of compiled schemas
/// holds; ids are strings there, and checked afterwards. [`Target::AnthropicPage`] has them as enums.
pub(super) fn anthropic(target: Target, document: &Document) -> Emission {
    let style = Style { id_enums: target == Target::AnthropicPage, ..ANTHROPIC };
    let (mut definitions, mut lost) = super::merge::tools(document, style);
    // The limit has no room for more optional parameters: who cites nothing, or reads by no schema, writes an empty list.
    let lists = [(ActionKind::Finish, "", "from"), (ActionKind::Extract, "/properties/query", "schema")];
    for (verb, of, list) in lists {
        let tool = definitions.iter_mut().find(|tool| tool.name == tool_of(verb.meta().name));
        let object = tool.and_then(|tool| tool.parameters.pointer_mut(of));
        if let Some(required) = object.and_then(|object| object.get_mut("required")?.as_array_mut()) {
            required.push(list.into());
        }
    }
    // Source: Anthropic, "Strict tool use", as of 2026; the tools beyond these go without `strict`.
    let mut limits = vec![
        LimitUse { limit: "strict tools", used: 0, allowed: 20 },
        LimitUse { limit: "optional parameters of strict tools", used: 0, allowed: 24 },
        LimitUse { limit: "parameters of strict tools with a union", used: 0, allowed: 16 },
    ];
    let mut strict = vec![false; definitions.len()];
    let mut order: Vec<(usize, &Tool)> = definitions.iter().enumerate().collect();
    // What acts comes first.
    order.sort_by_key(|(_, tool)| only_reads(&tool.name));
    for (place, tool) in order {
        let measures = Measures::of(&tool.parameters);
        let more = [1, measures.optional, measures.unions];
        let with = |limit: &LimitUse, more: u64| LimitUse { used: limit.used + more, ..*limit };
        let with: Vec<LimitUse> = limits.iter().zip(more).map(|(limit, more)| with(limit, more)).collect();
        if with.iter().all(LimitUse::is_within) {
            (limits, strict[place]) = (with, true);
        }
    }
    if strict.contains(&false) {
        lost.push(Loss::Strictness);
    }
    let tools = definitions.into_iter().zip(strict).map(|(tool, strict)| {
        let mut tool = json!({
            "name": tool.name, "description": tool.description, "input_schema": tool.parameters,
        });
        if strict {
            tool["strict"] = true.into();
        }
        tool
    });
    let tools = tools.collect();
    let body = Value::Object(Map::from_iter([("tools".to_owned(), Value::Array(tools))]));
    Emission { target, body: Body::Json(body), lost, limits }
}

/// One tool, whose parameters are the root of a document without unions.
pub(super) fn tool(target: Target, document: &Document, name: &str, description: &str) -> Emission {
    let is_anthropic = matches!(target, Target::Anthropic | Target::AnthropicPage);
    let mut writer =
        Writer::new(document, Style { references: false, ..if is_anthropic { ANTHROPIC } else { OPENAI } });
    let parameters = Value::Object(writer.root());
    let body = if is_anthropic {
        json!({ "tools": [{ "name": name, "description": description, "input_schema": parameters }] })
    } else {
        let function = json!({ "name": name, "description": description, "strict": true, "parameters": parameters });
        json!([{ "type": "function", "function": function }])
    };
    Emission { target, body: Body::Json(body), lost: writer.lost.into_iter().collect(), limits: Vec::new() }
}
