//! A small judge of GBNF: reads the notation and tells whether a text is a sentence. It knows what our
//! emitters use: literals, classes, groups, choices, `?`, `*`, `+` and `{m,n}`.

use std::collections::{BTreeSet, HashMap};

#[derive(Debug)]
enum Node {
    Literal(Vec<char>),
    Class { negated: bool, ranges: Vec<(char, char)> },
    Sequence(Vec<Node>),
    Choice(Vec<Node>),
    Repeat(Box<Node>, usize, usize),
    Rule(String),
}

/// A grammar that was read.
#[derive(Debug)]
pub(crate) struct Gbnf {
    rules: HashMap<String, Node>,
}

impl Gbnf {
    pub(crate) fn read(text: &str) -> Self {
        let rules = text.lines().filter(|line| !line.trim().is_empty()).map(|line| {
            let (name, body) = line.split_once(" ::= ").expect("a rule a line");
            let mut parser = Parser { text: body.chars().collect(), at: 0 };
            let node = parser.choice();
            assert_eq!(parser.at, parser.text.len(), "rest of rule {name}: {body}");
            (name.to_owned(), node)
        });
        let gbnf = Self { rules: rules.collect() };
        gbnf.rules.values().for_each(|node| gbnf.known(node));
        gbnf
    }

    fn known(&self, node: &Node) {
        match node {
            Node::Rule(name) => assert!(self.rules.contains_key(name), "rule {name} is not defined"),
            Node::Sequence(inner) | Node::Choice(inner) => inner.iter().for_each(|node| self.known(node)),
            Node::Repeat(inner, ..) => self.known(inner),
            Node::Literal(_) | Node::Class { .. } => {}
        }
    }

    pub(crate) fn accepts(&self, text: &str) -> bool {
        let text: Vec<char> = text.chars().collect();
        self.ends(&self.rules["root"], &text, 0).contains(&text.len())
    }

    /// Where a match that begins at `from` may end.
    fn ends(&self, node: &Node, text: &[char], from: usize) -> BTreeSet<usize> {
        match node {
            Node::Literal(literal) => {
                text[from..].starts_with(literal).then_some(from + literal.len()).into_iter().collect()
            }
            Node::Class { negated, ranges } => text
                .get(from)
                .filter(|c| ranges.iter().any(|(low, high)| (low..=high).contains(c)) != *negated)
                .map(|_| from + 1)
                .into_iter()
                .collect(),
            Node::Sequence(parts) => parts.iter().fold(BTreeSet::from([from]), |starts, part| {
                starts.into_iter().flat_map(|start| self.ends(part, text, start)).collect()
            }),
            Node::Choice(parts) => parts.iter().flat_map(|part| self.ends(part, text, from)).collect(),
            Node::Repeat(inner, min, max) => {
                let mut all = BTreeSet::new();
                let mut reached = BTreeSet::from([from]);
                for count in 0..=*max {
                    if count >= *min {
                        all.extend(&reached);
                    }
                    reached = reached.into_iter().flat_map(|start| self.ends(inner, text, start)).collect();
                    if reached.is_empty() {
                        break;
                    }
                }
                all
            }
            Node::Rule(name) => self.ends(&self.rules[name], text, from),
        }
    }
}

struct Parser {
    text: Vec<char>,
    at: usize,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn take(&mut self) -> char {
        let c = self.text[self.at];
        self.at += 1;
        c
    }

    fn choice(&mut self) -> Node {
        let mut parts = vec![self.sequence()];
        while self.peek() == Some('|') {
            self.at += 1;
            parts.push(self.sequence());
        }
        Node::Choice(parts)
    }

    fn sequence(&mut self) -> Node {
        let mut parts = Vec::new();
        loop {
            while self.peek() == Some(' ') {
                self.at += 1;
            }
            match self.peek() {
                None | Some('|' | ')') => return Node::Sequence(parts),
                Some(_) => {
                    let item = self.item();
                    parts.push(self.repeated(item));
                }
            }
        }
    }

    fn item(&mut self) -> Node {
        match self.take() {
            '(' => {
                let inner = self.choice();
                assert_eq!(self.take(), ')');
                inner
            }
            '"' => {
                let mut literal = Vec::new();
                loop {
                    match self.take() {
                        '"' => return Node::Literal(literal),
                        '\\' => literal.push(self.escape()),
                        c => literal.push(c),
                    }
                }
            }
            '[' => {
                let negated = self.peek() == Some('^');
                self.at += usize::from(negated);
                let mut ranges = Vec::new();
                loop {
                    let low = match self.take() {
                        ']' => return Node::Class { negated, ranges },
                        '\\' => self.escape(),
                        c => c,
                    };
                    let is_range = self.peek() == Some('-') && self.text.get(self.at + 1) != Some(&']');
                    let high = if is_range {
                        self.at += 1;
                        match self.take() {
                            '\\' => self.escape(),
                            c => c,
                        }
                    } else {
                        low
                    };
                    ranges.push((low, high));
                }
            }
            first => {
                assert!(first.is_ascii_lowercase(), "a rule begins with a letter, saw {first}");
                let mut name = String::from(first);
                while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
                    name.push(self.take());
                }
                Node::Rule(name)
            }
        }
    }

    fn escape(&mut self) -> char {
        match self.take() {
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'x' => {
                let digits: String = [self.take(), self.take()].iter().collect();
                char::from(u8::from_str_radix(&digits, 16).expect("two hexadecimal digits"))
            }
            c => c,
        }
    }

    fn repeated(&mut self, item: Node) -> Node {
        match self.peek() {
            Some('?') => {
                self.at += 1;
                Node::Repeat(Box::new(item), 0, 1)
            }
            Some(endless @ ('*' | '+')) => {
                self.at += 1;
                Node::Repeat(Box::new(item), usize::from(endless == '+'), usize::MAX)
            }
            Some('{') => {
                self.at += 1;
                let mut bounds = String::new();
                while self.peek() != Some('}') {
                    bounds.push(self.take());
                }
                self.at += 1;
                let (min, max) = bounds.split_once(',').expect("two bounds");
                Node::Repeat(Box::new(item), min.parse().unwrap(), max.parse().unwrap())
            }
            _ => item,
        }
    }
}
