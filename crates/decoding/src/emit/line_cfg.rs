//! The line form as a grammar of characters.

use cuebook_grammar::action::ActionKind;
use serde_json::Value;

use super::cfg::{Cfg, Class, Expression, Rule, Started, members, rule_name};
use super::json_cfg;
use crate::ir::{Document, Member, Node, Presence, Text, Union, Variant};
use crate::line_form::{is_bare, is_bare_member, positional, positional_of_condition};

pub(crate) fn of(document: &Document) -> Cfg {
    let writer = Writer { document };
    let mut rules = vec![Rule { name: "root".to_owned(), expression: writer.root() }];
    for definition in &document.definitions {
        rules.push(Rule { name: rule_name(&definition.name), expression: writer.value(&definition.node) });
    }
    Cfg { rules }.without_unused()
}

struct Writer<'a> {
    document: &'a Document,
}

impl Writer<'_> {
    /// A thought, the goal, the steps, the last step, each in a line.
    fn root(&self) -> Expression {
        let Node::Object(list) = &self.document.root else { return Expression::Sequence(Vec::new()) };
        let end = || Expression::literal("\n");
        let mut parts = Vec::new();
        for member in list {
            match (member.name.as_str(), &member.node) {
                ("reasoningSummary", Node::Text(Text::Free { max, .. })) => {
                    let thought = Expression::Repeat(Box::new(Expression::Class(Class::InLine)), 1, *max);
                    parts.push(Expression::Sequence(vec![Expression::literal("# "), thought, end()]).optional());
                }
                ("goal", node) => {
                    let Node::Array { item, max, .. } = self.document.resolve(node) else { continue };
                    let line = Expression::Sequence(vec![Expression::literal("goal: "), self.value(item), end()]);
                    parts.push(Expression::Repeat(Box::new(line), 0, *max));
                }
                ("goalReason", node) => {
                    let reason = vec![Expression::literal("goalReason: "), self.value(node), end()];
                    parts.push(Expression::Sequence(reason).optional());
                }
                ("steps", Node::Array { item, max, .. }) => {
                    let line = Expression::Sequence(vec![self.value(item), end()]);
                    parts.push(Expression::Repeat(Box::new(line), 0, *max));
                }
                ("last", node) => parts.push(Expression::Sequence(vec![self.value(node), end()])),
                // The version is that of the form.
                _ => {}
            }
        }
        Expression::Sequence(parts)
    }

    fn value(&self, node: &Node) -> Expression {
        match node {
            Node::Reference(index) => Expression::Rule(rule_name(&self.document.definition(*index).name)),
            Node::Union(union) if union.tag == "type" => self.steps(union),
            Node::Union(union) => self.conditions(union),
            Node::Object(_) => self.json_object(node),
            Node::Enum(values) => Expression::Choice(values.iter().map(literal).collect()),
            Node::Text(Text::Free { min, max }) => Expression::JsonString(*min, *max),
            Node::Text(Text::Pattern { max }) => Expression::Pattern(*max),
            Node::Text(Text::Chord) => Expression::chord(),
            Node::Text(Text::Url { origins, max }) => Expression::url(origins, *max),
            Node::Integer { min, max } => Expression::Integer(*min, *max),
            Node::Boolean => Expression::Choice(vec![Expression::literal("true"), Expression::literal("false")]),
            Node::Array { item, min, max } => json_cfg::array(self.value(item), *min, *max),
        }
    }

    /// The value of a parameter: text is always quoted, and so are words that are compared with text.
    fn argument(&self, member: &Member) -> Expression {
        let quotes = !is_bare_member(&member.name);
        match (self.document.resolve(&member.node), &member.node) {
            (Node::Enum(values), _) if quotes => quoted(values),
            (Node::Array { item, min, max }, _) if quotes => match self.document.resolve(item) {
                Node::Enum(values) => json_cfg::array(quoted(values), *min, *max),
                _ => self.value(&member.node),
            },
            (_, node) => self.value(node),
        }
    }

    /// Objects that are no steps are JSON, with everything that they refer to spelled out.
    fn json_object(&self, node: &Node) -> Expression {
        let flat = Document { definitions: Vec::new(), root: self.flat(node) };
        json_cfg::of(&flat).rules.into_iter().next().map_or(Expression::Sequence(Vec::new()), |rule| rule.expression)
    }

    fn flat(&self, node: &Node) -> Node {
        match self.document.resolve(node) {
            Node::Object(list) => Node::Object(
                list.iter().map(|member| Member { node: self.flat(&member.node), ..member.clone() }).collect(),
            ),
            Node::Array { item, min, max } => Node::Array { item: Box::new(self.flat(item)), min: *min, max: *max },
            other => other.clone(),
        }
    }

    fn steps(&self, union: &Union) -> Expression {
        calls(self.document.variants(union).into_iter().map(|variant| self.step(variant)))
    }

    fn step<'v>(&self, variant: &'v Variant) -> (&'v str, Expression) {
        let order = ActionKind::ALL
            .iter()
            .find(|kind| kind.meta().name == variant.name)
            .map_or(&[][..], |kind| positional(*kind));
        let (around, arguments): (Vec<&Member>, Vec<&Member>) =
            variant.members.iter().partition(|member| matches!(member.name.as_str(), "pre" | "post"));
        let mut parts = vec![self.arguments(order, &arguments)];
        for member in around {
            let Node::Array { item, max, .. } = self.document.resolve(&member.node) else { continue };
            let front = if member.name == "pre" { " if " } else { " => " };
            let one = Expression::Sequence(vec![Expression::literal(front), self.value(item)]);
            parts.push(Expression::Repeat(Box::new(one), 0, *max));
        }
        (&variant.name, Expression::Sequence(parts))
    }

    fn conditions(&self, union: &Union) -> Expression {
        let included = union.includes.iter().map(|index| self.value(&Node::Reference(*index)));
        let own = calls(union.variants.iter().map(|variant| {
            if let Some(Member { node: Node::Array { item, max, .. }, .. }) = variant.members.first()
                && variant.name.ends_with("Of")
            {
                return (&*variant.name, self.group(variant, self.value(item), *max));
            }
            let list: Vec<&Member> = variant.members.iter().collect();
            (&*variant.name, self.arguments(positional_of_condition(&variant.name), &list))
        }));
        Expression::Choice(included.chain([own]).collect())
    }

    /// The rest of `anyOf(condition,condition,timeoutMs=500)`.
    fn group(&self, variant: &Variant, item: Expression, max: u32) -> Expression {
        let more = Expression::Sequence(vec![Expression::literal(","), item.clone()]);
        let mut parts = vec![item];
        parts.push(Expression::Repeat(Box::new(more), 0, max - 1));
        parts.extend(variant.members.iter().skip(1).map(|member| {
            let name = Expression::literal(format!(",{}=", member.name));
            Expression::Sequence(vec![name, self.argument(member)]).optional()
        }));
        parts.push(Expression::literal(")"));
        Expression::Sequence(parts)
    }

    /// The rest of `name(value,name=value)`: a parameter goes without its name as long as none before it was left out.
    fn arguments(&self, order: &[&str], list: &[&Member]) -> Expression {
        let mut ordered: Vec<&Member> = Vec::new();
        for wanted in order {
            match list.iter().find(|member| member.name == *wanted) {
                Some(member) => ordered.push(member),
                None => break,
            }
        }
        let unnamed = ordered.len();
        ordered.extend(list.iter().filter(|member| !order[..unnamed].contains(&member.name.as_str())));
        // An optional one in front of others would shift them: it is named then.
        let firm = ordered.iter().take(unnamed).take_while(|member| member.presence == Presence::Required).count();
        let written = ordered.iter().enumerate().map(|(index, member)| {
            let value = self.argument(member);
            let is_plain = index < firm || (index == firm && index < unnamed);
            let expression = if is_plain {
                value
            } else {
                Expression::Sequence(vec![Expression::literal(format!("{}=", member.name)), value])
            };
            (expression, member.presence)
        });
        Expression::Sequence(vec![members(written.collect(), Started::No), Expression::literal(")")])
    }
}

/// Calls, those with the same rest as one.
fn calls<'v>(calls: impl Iterator<Item = (&'v str, Expression)>) -> Expression {
    let mut forms: Vec<(Vec<Expression>, Expression)> = Vec::new();
    for (name, rest) in calls {
        let name = Expression::literal(format!("{name}("));
        match forms.iter_mut().find(|(_, known)| *known == rest) {
            Some((names, _)) => names.push(name),
            None => forms.push((vec![name], rest)),
        }
    }
    // A choice even of one: a lexer that takes the longest literal never goes back from it.
    let written = forms.into_iter().map(|(names, rest)| Expression::Sequence(vec![Expression::Choice(names), rest]));
    Expression::Choice(written.collect())
}

fn quoted(values: &[Value]) -> Expression {
    Expression::Choice(values.iter().map(|value| Expression::literal(value.to_string())).collect())
}

fn literal(value: &Value) -> Expression {
    match value {
        Value::String(text) if is_bare(text) => Expression::literal(text),
        other => Expression::literal(other.to_string()),
    }
}
