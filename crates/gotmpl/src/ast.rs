//! Templates as trees.
//!
//! Duty: what the parser found, with places, and how Go would print each part in a message.

use std::fmt::Write as _;
use std::rc::Rc;

use crate::func::Function;
use crate::number::quoted;
use crate::text::Str;
use crate::utf8;
use crate::value::Value;

/// One named template.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) name: Str,
    /// The file it was parsed from.
    pub(crate) file: Rc<str>,
    /// The whole text of that file, to tell lines and columns.
    pub(crate) source: Str,
    pub(crate) nodes: Vec<Node>,
    /// How many variables it may hold at once.
    pub(crate) slots: usize,
}

impl Tree {
    /// Whether it holds nothing but space and comments.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.iter().all(|node| match node {
            Node::Text(text) => utf8::chars(text).all(|(_, c, _)| utf8::is_space(c)),
            _ => false,
        })
    }

    /// The line from 1 and the byte in it from 0.
    pub(crate) fn place(&self, pos: usize) -> (usize, usize) {
        let before = self.source.get(..pos).unwrap_or(&self.source);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let start = before
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        (line, pos - start)
    }
}

#[derive(Debug)]
pub(crate) enum Node {
    Text(Str),
    Action(Pipe),
    If(Box<Branch>),
    With(Box<Branch>),
    Range(Box<Branch>),
    Template(Box<Invoke>),
    Break(usize),
    Continue(usize),
}

#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) pipe: Pipe,
    pub(crate) list: Vec<Node>,
    pub(crate) other: Option<Vec<Node>>,
}

#[derive(Debug)]
pub(crate) struct Invoke {
    pub(crate) pos: usize,
    pub(crate) name: Str,
    pub(crate) pipe: Option<Pipe>,
}

#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) pos: usize,
    pub(crate) assign: bool,
    pub(crate) decl: Vec<Decl>,
    pub(crate) cmds: Vec<Command>,
}

/// A variable that a pipeline declares or assigns. One that does not exist has no slot.
#[derive(Debug)]
pub(crate) struct Decl {
    pub(crate) name: Str,
    pub(crate) slot: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) pos: usize,
    pub(crate) args: Vec<Expr>,
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) pos: usize,
    pub(crate) kind: ExprKind,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Bool(bool),
    Dot,
    Nil,
    Field(Vec<Str>),
    Function(Box<(Str, Function)>),
    Variable {
        name: Str,
        slot: Option<usize>,
        fields: Vec<Str>,
    },
    Chain(Box<Expr>, Vec<Str>),
    Number(Box<Number>),
    String {
        source: Str,
        value: Value,
    },
    Pipe(Box<Pipe>),
}

/// A number constant: every type it can be.
#[derive(Debug)]
pub(crate) struct Number {
    pub(crate) text: Str,
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
    pub(crate) complex: Option<(f64, f64)>,
}

/// Anything a message may point at.
#[derive(Clone, Copy)]
pub(crate) enum At<'r> {
    Node(&'r Node),
    Pipe(&'r Pipe),
    Command(&'r Command),
    Expr(&'r Expr),
}

impl At<'_> {
    pub(crate) fn pos(self) -> usize {
        match self {
            At::Node(node) => node.pos(),
            At::Pipe(pipe) => pipe.pos,
            At::Command(command) => command.pos,
            At::Expr(expr) => expr.pos,
        }
    }

    /// The part as Go prints it.
    pub(crate) fn text(self) -> String {
        let mut out = String::new();
        match self {
            At::Node(node) => node.print(&mut out),
            At::Pipe(pipe) => pipe.print(&mut out),
            At::Command(command) => command.print(&mut out),
            At::Expr(expr) => expr.print(&mut out),
        }
        out
    }
}

impl Node {
    fn pos(&self) -> usize {
        match self {
            Self::Text(_) => 0,
            Self::Action(pipe) => pipe.pos,
            Self::If(branch) | Self::With(branch) | Self::Range(branch) => branch.pipe.pos,
            Self::Template(invoke) => invoke.pos,
            Self::Break(pos) | Self::Continue(pos) => *pos,
        }
    }

    fn print(&self, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(&text.to_text()),
            Self::Action(pipe) => {
                out.push_str("{{");
                pipe.print(out);
                out.push_str("}}");
            }
            Self::If(branch) => branch.print("if", out),
            Self::With(branch) => branch.print("with", out),
            Self::Range(branch) => branch.print("range", out),
            Self::Template(invoke) => {
                let _ = write!(out, "{{{{template {}", quoted(&invoke.name));
                if let Some(pipe) = &invoke.pipe {
                    out.push(' ');
                    pipe.print(out);
                }
                out.push_str("}}");
            }
            Self::Break(_) => out.push_str("{{break}}"),
            Self::Continue(_) => out.push_str("{{continue}}"),
        }
    }
}

impl Branch {
    fn print(&self, name: &str, out: &mut String) {
        let _ = write!(out, "{{{{{name} ");
        self.pipe.print(out);
        out.push_str("}}");
        for node in &self.list {
            node.print(out);
        }
        if let Some(other) = &self.other {
            out.push_str("{{else}}");
            for node in other {
                node.print(out);
            }
        }
        out.push_str("{{end}}");
    }
}

impl Pipe {
    fn print(&self, out: &mut String) {
        for (at, decl) in self.decl.iter().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            out.push_str(&decl.name.to_text());
        }
        if !self.decl.is_empty() {
            out.push_str(if self.assign { " = " } else { " := " });
        }
        for (at, command) in self.cmds.iter().enumerate() {
            if at > 0 {
                out.push_str(" | ");
            }
            command.print(out);
        }
    }
}

impl Command {
    fn print(&self, out: &mut String) {
        for (at, arg) in self.args.iter().enumerate() {
            if at > 0 {
                out.push(' ');
            }
            arg.print_enclosed(out);
        }
    }
}

impl Expr {
    /// A pipeline in its parentheses, anything else as it is.
    fn print_enclosed(&self, out: &mut String) {
        let pipe = matches!(self.kind, ExprKind::Pipe(_));
        if pipe {
            out.push('(');
        }
        self.print(out);
        if pipe {
            out.push(')');
        }
    }

    pub(crate) fn print(&self, out: &mut String) {
        let fields = |out: &mut String, fields: &[Str]| {
            for field in fields {
                out.push('.');
                out.push_str(&field.to_text());
            }
        };
        match &self.kind {
            ExprKind::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            ExprKind::Dot => out.push('.'),
            ExprKind::Nil => out.push_str("nil"),
            ExprKind::Field(names) => fields(out, names),
            ExprKind::Function(function) => out.push_str(&function.0.to_text()),
            ExprKind::Variable {
                name,
                fields: names,
                ..
            } => {
                out.push_str(&name.to_text());
                fields(out, names);
            }
            ExprKind::Chain(inner, names) => {
                inner.print_enclosed(out);
                fields(out, names);
            }
            ExprKind::Number(number) => out.push_str(&number.text.to_text()),
            ExprKind::String { source, .. } => out.push_str(&source.to_text()),
            ExprKind::Pipe(pipe) => pipe.print(out),
        }
    }
}
