//! Templates as trees.
//!
//! Duty: what the parser found, with places, and how Go would print each part in a message.
//!
//! All parts of a file stand in a few arrays, in each of which a part's own parts lie side by side: a large chart has
//! tens of thousands of parts, and one allocation for each would take longer than parsing them. Names are spans of the
//! source. Nothing in here is bound to a thread, so that files can be parsed side by side.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt::Write as _;
use std::marker::PhantomData;
use std::rc::Rc;

use crate::func::FunctionId;
use crate::number::quoted;
use crate::text::Str;
use crate::utf8;

/// A part of the source: large templates are mostly text, of which trees keep no copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(crate) fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// All but the first byte.
    pub(crate) fn behind_first(self) -> Self {
        Self {
            start: self.end.min(self.start.saturating_add(1)),
            ..self
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

/// A place in a source that is shorter than [`MAX_SOURCE`]; it has fewer parts than bytes.
pub(crate) fn pos32(pos: usize) -> u32 {
    u32::try_from(pos).unwrap_or(u32::MAX)
}

/// Parts of one kind that lie side by side.
#[derive(Debug)]
pub(crate) struct Seq<T> {
    start: u32,
    len: u32,
    kind: PhantomData<fn() -> T>,
}

impl<T> Clone for Seq<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Seq<T> {}

impl<T> Default for Seq<T> {
    fn default() -> Self {
        Self {
            start: 0,
            len: 0,
            kind: PhantomData,
        }
    }
}

impl<T> Seq<T> {
    pub(crate) fn is_empty(self) -> bool {
        self.len == 0
    }

    /// These parts and those that were added right behind them.
    pub(crate) fn and(self, behind: Self) -> Self {
        if self.is_empty() {
            return behind;
        }
        Self {
            len: self.len.saturating_add(behind.len),
            ..self
        }
    }

    fn of(self, all: &[T]) -> &[T] {
        let start = self.start as usize;
        all.get(start..start + self.len as usize)
            .unwrap_or_default()
    }
}

/// A kind of part that has an array of its own.
pub(crate) trait Part: Sized {
    fn all(parts: &Parts) -> &[Self];
    fn all_mut(parts: &mut Parts) -> &mut Vec<Self>;
}

/// The parts of all templates in one file.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    nodes: Vec<Node>,
    decls: Vec<Decl>,
    commands: Vec<Command>,
    exprs: Vec<Expr>,
    names: Vec<Span>,
    literals: Vec<Literal>,
}

macro_rules! parts {
    ($($part:ty: $all:ident),* $(,)?) => {$(
        impl Part for $part {
            fn all(parts: &Parts) -> &[Self] {
                &parts.$all
            }

            fn all_mut(parts: &mut Parts) -> &mut Vec<Self> {
                &mut parts.$all
            }
        }
    )*};
}

parts! {
    Node: nodes,
    Decl: decls,
    Command: commands,
    Expr: exprs,
    Span: names,
    Literal: literals,
}

impl Parts {
    /// Adds parts side by side.
    pub(crate) fn add<T: Part>(&mut self, parts: impl IntoIterator<Item = T>) -> Seq<T> {
        let all = T::all_mut(self);
        let start = all.len();
        all.extend(parts);
        Seq {
            start: pos32(start),
            len: pos32(all.len() - start),
            kind: PhantomData,
        }
    }

    /// Adds one part.
    pub(crate) fn add_one<T: Part>(&mut self, part: T) -> Seq<T> {
        let all = T::all_mut(self);
        all.push(part);
        Seq {
            start: pos32(all.len() - 1),
            len: 1,
            kind: PhantomData,
        }
    }

    /// Moves parts, from one of them on, here.
    pub(crate) fn take<T: Part>(&mut self, parts: &mut Vec<T>, from: usize) -> Seq<T> {
        // Most lists hold one part.
        if parts.len() == from + 1
            && let Some(part) = parts.pop()
        {
            return self.add_one(part);
        }
        self.add(parts.drain(from..))
    }

    /// Moves all parts to where they take no more room than they need; the room that was left for more stays.
    pub(crate) fn take_all(&mut self) -> Self {
        Self {
            nodes: self.nodes.drain(..).collect(),
            decls: self.decls.drain(..).collect(),
            commands: self.commands.drain(..).collect(),
            exprs: self.exprs.drain(..).collect(),
            names: self.names.drain(..).collect(),
            literals: self.literals.drain(..).collect(),
        }
    }

    pub(crate) fn list<T: Part>(&self, seq: Seq<T>) -> &[T] {
        seq.of(T::all(self))
    }

    /// Whether these nodes are nothing but space.
    pub(crate) fn is_space(&self, nodes: Seq<Node>, source: &[u8]) -> bool {
        self.list(nodes).iter().all(|node| match node {
            Node::Text(text) => utf8::chars(text.of(source)).all(|(_, c, _)| utf8::is_space(c)),
            _ => false,
        })
    }
}

/// A file of templates.
#[derive(Debug)]
pub(crate) struct File {
    pub(crate) name: Rc<str>,
    /// The whole text, to tell names, lines and columns.
    pub(crate) source: Str,
    parts: Parts,
    /// String constants as values, once they are used as such.
    strings: Box<[OnceCell<Str>]>,
}

impl File {
    pub(crate) fn new(name: &str, source: &Str, parts: Parts) -> Self {
        let strings = parts.literals.iter().map(|_| OnceCell::new()).collect();
        Self {
            name: Rc::from(name),
            source: source.clone(),
            parts,
            strings,
        }
    }

    pub(crate) fn list<T: Part>(&self, seq: Seq<T>) -> &[T] {
        self.parts.list(seq)
    }

    /// The text of a name.
    pub(crate) fn name_of(&self, name: Span) -> &[u8] {
        name.of(&self.source)
    }

    /// The same for messages.
    pub(crate) fn shown(&self, name: Span) -> Cow<'_, str> {
        String::from_utf8_lossy(self.name_of(name))
    }

    /// The bytes of a string constant.
    pub(crate) fn literal(&self, at: LiteralId) -> &[u8] {
        match self.parts.literals.get(at.0 as usize) {
            Some(literal) => literal.of(&self.source),
            None => b"",
        }
    }

    /// A string constant as a value.
    pub(crate) fn string(&self, at: LiteralId) -> Str {
        match self.strings.get(at.0 as usize) {
            Some(string) => string.get_or_init(|| Str::new(self.literal(at))).clone(),
            None => Str::default(),
        }
    }
}

/// One named template.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) name: Str,
    pub(crate) file: Rc<File>,
    nodes: Seq<Node>,
    /// How many variables it may hold at once.
    pub(crate) slots: usize,
}

impl Tree {
    pub(crate) fn new(file: &Rc<File>, name: &[u8], template: Template) -> Self {
        Self {
            name: Str::new(name),
            file: Rc::clone(file),
            nodes: template.nodes,
            slots: template.slots as usize,
        }
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        self.file.list(self.nodes)
    }

    /// Whether it holds nothing but space and comments.
    pub(crate) fn is_empty(&self) -> bool {
        self.file.parts.is_space(self.nodes, &self.file.source)
    }

    /// The line from 1 and the byte in it from 0.
    pub(crate) fn place(&self, pos: usize) -> (usize, usize) {
        let source = &self.file.source;
        let before = source.get(..pos).unwrap_or(source);
        let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
        let start = before
            .iter()
            .rposition(|&byte| byte == b'\n')
            .map_or(0, |at| at + 1);
        (line, pos - start)
    }
}

/// A template of a file: its nodes and how many variables it may hold at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Template {
    pub(crate) nodes: Seq<Node>,
    pub(crate) slots: u32,
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
    pub(crate) list: Seq<Node>,
    pub(crate) other: Option<Seq<Node>>,
}

#[derive(Debug)]
pub(crate) struct Invoke {
    pub(crate) pos: u32,
    pub(crate) name: LiteralId,
    pub(crate) pipe: Option<Pipe>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pipe {
    pub(crate) pos: u32,
    pub(crate) assign: Truth,
    pub(crate) decl: Seq<Decl>,
    pub(crate) cmds: Seq<Command>,
}

/// A variable that a pipeline declares or assigns. One that does not exist has no slot.
#[derive(Debug)]
pub(crate) struct Decl {
    pub(crate) name: Span,
    pub(crate) slot: Option<u32>,
}

#[derive(Debug)]
pub(crate) struct Command {
    pub(crate) pos: u32,
    pub(crate) args: Seq<Expr>,
}

/// Whether something is so, as wide as what else may stand in its place: of a narrower one processors would copy what it
/// is in piece by piece, and wait for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Truth {
    False,
    True,
}

impl Truth {
    pub(crate) fn new(truth: bool) -> Self {
        if truth { Self::True } else { Self::False }
    }

    pub(crate) fn get(self) -> bool {
        self == Self::True
    }
}

#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) pos: u32,
    pub(crate) kind: ExprKind,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
    Bool(Truth),
    Dot,
    Nil,
    Field(Seq<Span>),
    Function(FunctionId, Span),
    Variable(Box<Variable>),
    Chain(Box<(Expr, Seq<Span>)>),
    Number(Box<Number>),
    String(LiteralId),
    Pipe(Box<Pipe>),
}

/// A variable, and the fields of its value.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: Span,
    pub(crate) slot: Option<u32>,
    pub(crate) fields: Seq<Span>,
}

/// A number constant: every type it can be.
#[derive(Debug, Default)]
pub(crate) struct Number {
    pub(crate) text: Span,
    pub(crate) int: Option<i64>,
    pub(crate) uint: Option<u64>,
    pub(crate) float: Option<f64>,
    pub(crate) complex: Option<(f64, f64)>,
}

/// Which string constant of its file it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiteralId(u32);

impl LiteralId {
    pub(crate) fn new(parts: &mut Parts, literal: Literal) -> Self {
        Self(parts.add_one(literal).start)
    }
}

/// A string constant.
#[derive(Debug)]
pub(crate) struct Literal {
    /// With its quotes.
    pub(crate) span: Span,
    /// What it stands for, where that is not what is between the quotes.
    pub(crate) value: Option<Box<[u8]>>,
}

impl Literal {
    pub(crate) fn of<'s>(&'s self, source: &'s [u8]) -> &'s [u8] {
        match (&self.value, self.span.of(source)) {
            (Some(value), _) => value,
            (None, [_, inner @ .., _]) => inner,
            (None, _) => b"",
        }
    }
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
    pub(crate) fn text(self, file: &File) -> String {
        let mut out = String::new();
        match self {
            At::Node(node) => node.print(file, &mut out),
            At::Pipe(pipe) => pipe.print(file, &mut out),
            At::Command(command) => command.print(file, &mut out),
            At::Expr(expr) => expr.print(file, &mut out),
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

    fn print(&self, file: &File, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(&file.shown(*text)),
            Self::Action(pipe) => {
                out.push_str("{{");
                pipe.print(file, out);
                out.push_str("}}");
            }
            Self::If(branch) => branch.print("if", file, out),
            Self::With(branch) => branch.print("with", file, out),
            Self::Range(branch) => branch.print("range", file, out),
            Self::Template(invoke) => {
                let _ = write!(out, "{{{{template {}", quoted(file.literal(invoke.name)));
                if let Some(pipe) = &invoke.pipe {
                    out.push(' ');
                    pipe.print(file, out);
                }
                out.push_str("}}");
            }
            Self::Break(_) => out.push_str("{{break}}"),
            Self::Continue(_) => out.push_str("{{continue}}"),
        }
    }
}

impl Branch {
    fn print(&self, name: &str, file: &File, out: &mut String) {
        let _ = write!(out, "{{{{{name} ");
        self.pipe.print(file, out);
        out.push_str("}}");
        for node in file.list(self.list) {
            node.print(file, out);
        }
        if let Some(other) = self.other {
            out.push_str("{{else}}");
            for node in file.list(other) {
                node.print(file, out);
            }
        }
        out.push_str("{{end}}");
    }
}

impl Pipe {
    fn print(&self, file: &File, out: &mut String) {
        for (at, decl) in file.list(self.decl).iter().enumerate() {
            if at > 0 {
                out.push_str(", ");
            }
            out.push_str(&file.shown(decl.name));
        }
        if !self.decl.is_empty() {
            out.push_str(if self.assign.get() { " = " } else { " := " });
        }
        for (at, command) in file.list(self.cmds).iter().enumerate() {
            if at > 0 {
                out.push_str(" | ");
            }
            command.print(file, out);
        }
    }
}

impl Command {
    fn print(&self, file: &File, out: &mut String) {
        for (at, arg) in file.list(self.args).iter().enumerate() {
            if at > 0 {
                out.push(' ');
            }
            arg.print_enclosed(file, out);
        }
    }
}

impl Expr {
    /// A pipeline in its parentheses, anything else as it is.
    fn print_enclosed(&self, file: &File, out: &mut String) {
        let pipe = matches!(self.kind, ExprKind::Pipe(_));
        if pipe {
            out.push('(');
        }
        self.print(file, out);
        if pipe {
            out.push(')');
        }
    }

    pub(crate) fn print(&self, file: &File, out: &mut String) {
        let fields = |out: &mut String, fields: Seq<Span>| {
            for field in file.list(fields) {
                out.push('.');
                out.push_str(&file.shown(*field));
            }
        };
        match &self.kind {
            ExprKind::Bool(truth) => out.push_str(if truth.get() { "true" } else { "false" }),
            ExprKind::Dot => out.push('.'),
            ExprKind::Nil => out.push_str("nil"),
            ExprKind::Field(names) => fields(out, *names),
            ExprKind::Function(_, name) => out.push_str(&file.shown(*name)),
            ExprKind::Variable(variable) => {
                out.push_str(&file.shown(variable.name));
                fields(out, variable.fields);
            }
            ExprKind::Chain(chain) => {
                chain.0.print_enclosed(file, out);
                fields(out, chain.1);
            }
            ExprKind::Number(number) => out.push_str(&file.shown(number.text)),
            ExprKind::String(literal) => {
                if let Some(literal) = file.parts.literals.get(literal.0 as usize) {
                    out.push_str(&file.shown(literal.span));
                }
            }
            ExprKind::Pipe(pipe) => pipe.print(file, out),
        }
    }
}
