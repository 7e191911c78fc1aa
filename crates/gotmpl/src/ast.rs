//! Templates as trees.
//!
//! Duty: what the parser found, with places, and how Go would print each part in a message.

use std::fmt::Write as _;
use std::rc::Rc;

use smallvec::SmallVec;

use crate::func::Function;
use crate::number::quoted;
use crate::text::Str;
use crate::utf8;

/// One named template.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) name: Str,
    /// The file it was parsed from.
    pub(crate) file: Rc<str>,
    /// The whole text of that file, to tell lines and columns.
    pub(crate) source: Str,
    pub(crate) nodes: Box<[Node]>,
    /// How many variables it may hold at once.
    pub(crate) slots: usize,
}

/// A part of the source: large templates are mostly text, of which trees keep no copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// A part of a source that is shorter than [`MAX_SOURCE`].
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self {
            start: pos32(start),
            end: pos32(end),
        }
    }

    pub(crate) fn of(self, source: &[u8]) -> &[u8] {
        source
            .get(self.start as usize..self.end as usize)
            .unwrap_or_default()
    }
}

/// Longer templates are refused: places are told in 32 bits.
pub(crate) const MAX_SOURCE: usize = u32::MAX as usize - 1;

/// A place in a source that is shorter than [`MAX_SOURCE`].
pub(crate) fn pos32(pos: usize) -> u32 {
    u32::try_from(pos).unwrap_or(u32::MAX)
}

impl Tree {
    /// Whether it holds nothing but space and comments.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.iter().all(|node| match node {
            Node::Text(text) => {
                utf8::chars(text.of(&self.source)).all(|(_, c, _)| utf8::is_space(c))
            }
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
    Text(Span),
    Action(Pipe),
    If(Box<Branch>),
    With(Box<Branch>),
    Range(Box<Branch>),
    Template(Box<Invoke>),
    Break(u32),
    Continue(u32),
}

#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) pipe: Pipe,
    pub(crate) list: Box<[Node]>,
    pub(crate) other: Option<Box<[Node]>>,
}

#[derive(Debug)]
pub(crate) struct Invoke {
    pub(crate) pos: u32,
    pub(crate) name: Str,
    pub(crate) pipe: Option<Pipe>,
}

#[derive(Debug)]
pub(crate) struct Pipe {
    pub(crate) pos: u32,
    pub(crate) assign: bool,
    pub(crate) decl: Box<[Decl]>,
    /// Nearly always one.
    pub(crate) cmds: SmallVec<[Command; 1]>,
}

/// A variable that a pipeline declares or assigns. One that does not exist has no slot.
#[derive(Debug)]
pub(crate) struct Decl {
    pub(crate) name: Str,
    pub(crate) slot: Option<usize>,
}

#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) pos: u32,
    /// Often one.
    pub(crate) args: SmallVec<[Expr; 1]>,
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) pos: u32,
    pub(crate) kind: ExprKind,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Bool(bool),
    Dot,
    Nil,
    Field(Box<[Str]>),
    /// Shared by all calls in one file.
    Function(Rc<(Str, Function)>),
    Variable(Box<Variable>),
    Chain(Box<(Expr, Box<[Str]>)>),
    Number(Box<Number>),
    String {
        /// How long it is in the source, quotes included.
        width: u32,
        value: Str,
    },
    Pipe(Box<Pipe>),
}

/// A variable, and the fields of its value.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: Str,
    pub(crate) slot: Option<usize>,
    pub(crate) fields: Box<[Str]>,
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
            At::Node(node) => node.pos() as usize,
            At::Pipe(pipe) => pipe.pos as usize,
            At::Command(command) => command.pos as usize,
            At::Expr(expr) => expr.pos as usize,
        }
    }

    /// The part of a source as Go prints it.
    pub(crate) fn text(self, source: &[u8]) -> String {
        let mut out = String::new();
        match self {
            At::Node(node) => node.print(source, &mut out),
            At::Pipe(pipe) => pipe.print(source, &mut out),
            At::Command(command) => command.print(source, &mut out),
            At::Expr(expr) => expr.print(source, &mut out),
        }
        out
    }
}

impl Node {
    fn pos(&self) -> u32 {
        match self {
            Self::Text(_) => 0,
            Self::Action(pipe) => pipe.pos,
            Self::If(branch) | Self::With(branch) | Self::Range(branch) => branch.pipe.pos,
            Self::Template(invoke) => invoke.pos,
            Self::Break(pos) | Self::Continue(pos) => *pos,
        }
    }

    fn print(&self, source: &[u8], out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(&String::from_utf8_lossy(text.of(source))),
            Self::Action(pipe) => {
                out.push_str("{{");
                pipe.print(source, out);
                out.push_str("}}");
            }
            Self::If(branch) => branch.print("if", source, out),
            Self::With(branch) => branch.print("with", source, out),
            Self::Range(branch) => branch.print("range", source, out),
            Self::Template(invoke) => {
                let _ = write!(out, "{{{{template {}", quoted(&invoke.name));
                if let Some(pipe) = &invoke.pipe {
                    out.push(' ');
                    pipe.print(source, out);
                }
                out.push_str("}}");
            }
            Self::Break(_) => out.push_str("{{break}}"),
            Self::Continue(_) => out.push_str("{{continue}}"),
        }
    }
}

impl Branch {
    fn print(&self, name: &str, source: &[u8], out: &mut String) {
        let _ = write!(out, "{{{{{name} ");
        self.pipe.print(source, out);
        out.push_str("}}");
        for node in &*self.list {
            node.print(source, out);
        }
        if let Some(other) = &self.other {
            out.push_str("{{else}}");
            for node in &**other {
                node.print(source, out);
            }
        }
        out.push_str("{{end}}");
    }
}

impl Pipe {
    fn print(&self, source: &[u8], out: &mut String) {
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
            command.print(source, out);
        }
    }
}

impl Command {
    fn print(&self, source: &[u8], out: &mut String) {
        for (at, arg) in self.args.iter().enumerate() {
            if at > 0 {
                out.push(' ');
            }
            arg.print_enclosed(source, out);
        }
    }
}

impl Expr {
    /// A pipeline in its parentheses, anything else as it is.
    fn print_enclosed(&self, source: &[u8], out: &mut String) {
        let pipe = matches!(self.kind, ExprKind::Pipe(_));
        if pipe {
            out.push('(');
        }
        self.print(source, out);
        if pipe {
            out.push(')');
        }
    }

    pub(crate) fn print(&self, source: &[u8], out: &mut String) {
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
            ExprKind::Variable(variable) => {
                out.push_str(&variable.name.to_text());
                fields(out, &variable.fields);
            }
            ExprKind::Chain(chain) => {
                chain.0.print_enclosed(source, out);
                fields(out, &chain.1);
            }
            ExprKind::Number(number) => out.push_str(&number.text.to_text()),
            ExprKind::String { width, .. } => {
                let span = Span {
                    start: self.pos,
                    end: self.pos.saturating_add(*width),
                };
                out.push_str(&String::from_utf8_lossy(span.of(source)));
            }
            ExprKind::Pipe(pipe) => pipe.print(source, out),
        }
    }
}
