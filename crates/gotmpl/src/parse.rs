//! Tokens to trees.
//!
//! Duty: the trees Go's parser builds, its complaints word for word, and for each variable the slot it lives in, so that
//! executing needs no search by name.

use std::cell::Cell;
use std::collections::HashMap;

use smallvec::SmallVec;

use crate::ast::{
    Branch, Command, Decl, Expr, ExprKind, Invoke, Literal, LiteralId, MAX_SOURCE, Node, Number,
    Parts, Pipe, Seq, Span, Template, Truth, Variable,
};
use crate::error::{ErrorKind, TemplateError};
use crate::func::FunctionNames;
use crate::lex::{Item, Kind, Lexer, line_at};
use crate::number::{self, quoted};

/// How deep control structures and parentheses may nest together.
const MAX_NESTING: usize = 2500;

type Parsed<T> = Result<T, Box<TemplateError>>;

/// What a file holds: its own template under its name, and those it defines.
#[derive(Debug)]
pub(crate) struct Templates {
    pub(crate) parts: Parts,
    pub(crate) all: HashMap<Box<[u8]>, Template>,
}

/// Parses a file.
pub(crate) fn parse(file: &str, input: &[u8], functions: &FunctionNames) -> Parsed<Templates> {
    let mut parser = Parser {
        file,
        input,
        lexer: Lexer::new(input),
        functions,
        token: [end_item(), end_item(), end_item()],
        peeked: 0,
        nesting: 0,
        frame: Frame::new(),
        templates: HashMap::new(),
        parts: PARTS.take(),
        nodes: Vec::new(),
        commands: Vec::new(),
        operands: Vec::new(),
    };
    if input.len() > MAX_SOURCE {
        return parser.error("template is too large");
    }
    parser.file()?;
    let parts = parser.parts.take_all();
    if input.len() <= WORTH_KEEPING {
        PARTS.set(parser.parts);
    }
    Ok(Templates {
        parts,
        all: parser.templates,
    })
}

thread_local! {
    /// Room for parts: what a file has of them is copied once, when it is known how many there are.
    static PARTS: Cell<Parts> = Cell::default();
}

/// The room that longer files need, in bytes of source, is given back.
const WORTH_KEEPING: usize = 256 * 1024;

fn end_item() -> Item {
    Item {
        kind: Kind::Eof,
        pos: 0,
        end: 0,
    }
}

/// What belongs to one template while it is parsed.
struct Frame {
    /// Beside `$`, which is in slot 0.
    vars: Vec<(Span, Option<u32>)>,
    /// Names that pipelines now being read will declare: known to the parser, without a value yet.
    pending: Vec<Span>,
    next_slot: u32,
    slots: u32,
    ranges: usize,
    /// Where the action that is being read began.
    action: Option<u32>,
}

impl Frame {
    fn new() -> Self {
        Self {
            vars: Vec::new(),
            pending: Vec::new(),
            next_slot: 1,
            slots: 1,
            ranges: 0,
            action: None,
        }
    }

    fn declare(&mut self, name: Span) -> u32 {
        let slot = self.next_slot;
        self.next_slot += 1;
        self.slots = self.slots.max(self.next_slot);
        self.vars.push((name, Some(slot)));
        slot
    }

    /// The slot of the variable of this name, if there is such a variable.
    fn find(&self, name: Span, input: &[u8]) -> Option<Option<u32>> {
        let name = name.of(input);
        let mut inner = self.vars.iter().rev();
        match inner.find(|(known, _)| known.of(input) == name) {
            Some((_, slot)) => Some(*slot),
            None => (name == b"$").then_some(Some(0)),
        }
    }

    fn is_pending(&self, name: Span, input: &[u8]) -> bool {
        let name = name.of(input);
        self.pending.iter().any(|known| known.of(input) == name)
    }
}

struct Parser<'p> {
    file: &'p str,
    input: &'p [u8],
    lexer: Lexer<'p>,
    functions: &'p FunctionNames,
    token: [Item; 3],
    peeked: usize,
    nesting: usize,
    frame: Frame,
    templates: HashMap<Box<[u8]>, Template>,
    parts: Parts,
    /// What lists are being read, inner ones behind outer ones: a list that is complete moves from here to the other
    /// parts.
    nodes: Vec<Node>,
    commands: Vec<Command>,
    operands: Vec<Expr>,
}

/// How a list of nodes ended.
enum End {
    End,
    /// `{{else}}`, and whether `if` or `with` follows it.
    Else,
}

impl End {
    fn text(&self) -> &'static str {
        match self {
            Self::End => "{{end}}",
            Self::Else => "{{else}}",
        }
    }
}

/// A node, or what ends a list of them.
enum Piece {
    Node(Node),
    End(End),
}

impl Parser<'_> {
    fn next(&mut self) -> Item {
        if self.peeked > 0 {
            self.peeked -= 1;
        } else {
            self.token[0] = self.lexer.next_item();
        }
        self.token[self.peeked]
    }

    fn backup(&mut self) {
        self.peeked += 1;
    }

    /// Puts back two tokens, the later of which is in its place already.
    fn backup2(&mut self, earlier: Item) {
        self.token[1] = earlier;
        self.peeked = 2;
    }

    fn backup3(&mut self, first: Item, second: Item) {
        self.token[1] = second;
        self.token[2] = first;
        self.peeked = 3;
    }

    fn peek(&mut self) -> Item {
        if self.peeked > 0 {
            return self.token[self.peeked - 1];
        }
        self.peeked = 1;
        self.token[0] = self.lexer.next_item();
        self.token[0]
    }

    fn next_non_space(&mut self) -> Item {
        loop {
            let item = self.next();
            if item.kind != Kind::Space {
                return item;
            }
        }
    }

    fn peek_non_space(&mut self) -> Item {
        let item = self.next_non_space();
        self.backup();
        item
    }

    fn error<T>(&self, reason: impl Into<String>) -> Parsed<T> {
        let reason = reason.into();
        let line = line_at(self.input, self.token[0].pos);
        Err(Box::new(TemplateError {
            kind: ErrorKind::Parse,
            file: self.file.to_string(),
            template: self.file.to_string(),
            line,
            column: 0,
            context: String::new(),
            place: format!("template: {}:{line}: ", self.file),
            reason,
            suffix: false,
            inner: None,
        }))
    }

    fn unexpected<T>(&self, item: &Item, context: &str) -> Parsed<T> {
        if item.kind == Kind::Error {
            let words = self.lexer.failure();
            let mut extra = String::new();
            let line_at = |pos| line_at(self.input, pos);
            if let Some(started) = self.frame.action.map(line_at)
                && started != line_at(item.pos)
            {
                extra = if words.ends_with(" action") {
                    format!(" started at {}:{started}", self.file)
                } else {
                    format!(" in action started at {}:{started}", self.file)
                };
            }
            return self.error(format!("{words}{extra}"));
        }
        self.error(format!(
            "unexpected {} in {context}",
            item.describe(self.input)
        ))
    }

    fn expect(&mut self, kind: Kind, context: &str) -> Parsed<Item> {
        let item = self.next_non_space();
        if item.kind == kind {
            Ok(item)
        } else {
            self.unexpected(&item, context)
        }
    }

    /// A string constant.
    fn literal(&self, item: &Item) -> Parsed<Literal> {
        let text = item.bytes(self.input);
        let value = match text {
            [b'`', inner @ .., b'`'] if memchr::memchr(b'\r', inner).is_none() => None,
            [b'"', inner @ .., b'"'] if memchr::memchr(b'\\', inner).is_none() => None,
            _ => match number::unquote(text) {
                Some(value) => Some(value.into_boxed_slice()),
                None => return self.error("invalid syntax"),
            },
        };
        let span = item.span();
        Ok(Literal { span, value })
    }

    /// The whole file.
    fn file(&mut self) -> Parsed<()> {
        loop {
            let item = self.peek();
            if item.kind == Kind::Eof {
                break;
            }
            if item.kind == Kind::LeftDelim {
                let delim = self.next();
                if self.next_non_space().kind == Kind::Define {
                    self.definition()?;
                    continue;
                }
                self.backup2(delim);
            }
            match self.text_or_action()? {
                Piece::Node(node) => self.nodes.push(node),
                Piece::End(end) => return self.error(format!("unexpected {}", end.text())),
            }
        }
        let slots = self.frame.slots;
        let nodes = self.parts.take(&mut self.nodes, 0);
        self.add(self.file.as_bytes(), Template { nodes, slots })
    }

    fn add(&mut self, name: &[u8], template: Template) -> Parsed<()> {
        let is_space = |template: &Template| self.parts.is_space(template.nodes, self.input);
        match self.templates.get(name) {
            Some(known) if !is_space(known) => {
                if !is_space(&template) {
                    let shown = quoted(name);
                    return self
                        .error(format!("template: multiple definition of template {shown}"));
                }
            }
            _ => {
                self.templates.insert(name.into(), template);
            }
        }
        Ok(())
    }

    /// A template inside the file, with variables of its own; what follows the opening action.
    fn inner_template(&mut self, name: &[u8], context: &str) -> Parsed<()> {
        let outer = std::mem::replace(&mut self.frame, Frame::new());
        let parsed = self.item_list();
        let inner = std::mem::replace(&mut self.frame, outer);
        let (nodes, end) = parsed?;
        if !matches!(end, End::End) {
            return self.error(format!("unexpected {} in {context}", end.text()));
        }
        let slots = inner.slots;
        self.add(name, Template { nodes, slots })
    }

    fn definition(&mut self) -> Parsed<()> {
        const CONTEXT: &str = "define clause";
        let outer = std::mem::replace(&mut self.frame, Frame::new());
        let opened = self.definition_name(CONTEXT);
        self.frame = outer;
        let name = opened?;
        self.inner_template(name.of(self.input), CONTEXT)
    }

    fn definition_name(&mut self, context: &str) -> Parsed<Literal> {
        let item = self.next_non_space();
        if !matches!(item.kind, Kind::String | Kind::RawString) {
            return self.unexpected(&item, context);
        }
        let name = self.literal(&item)?;
        self.expect(Kind::RightDelim, context)?;
        Ok(name)
    }

    /// Nodes up to `{{end}}` or `{{else}}`.
    fn item_list(&mut self) -> Parsed<(Seq<Node>, End)> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return self.error("max expression depth exceeded");
        }
        let list = stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.item_list_inner())?;
        self.nesting -= 1;
        Ok(list)
    }

    fn item_list_inner(&mut self) -> Parsed<(Seq<Node>, End)> {
        let from = self.nodes.len();
        while self.peek_non_space().kind != Kind::Eof {
            match self.text_or_action()? {
                Piece::Node(node) => self.nodes.push(node),
                Piece::End(end) => return Ok((self.parts.take(&mut self.nodes, from), end)),
            }
        }
        self.error("unexpected EOF")
    }

    fn text_or_action(&mut self) -> Parsed<Piece> {
        let item = self.next_non_space();
        match item.kind {
            Kind::Text => Ok(Piece::Node(Node::Text(item.span()))),
            Kind::LeftDelim => {
                self.frame.action = Some(item.pos);
                let piece = self.action();
                if piece.is_ok() {
                    self.frame.action = None;
                }
                piece
            }
            _ => self.unexpected(&item, "input"),
        }
    }

    fn action(&mut self) -> Parsed<Piece> {
        let item = self.next_non_space();
        let node = match item.kind {
            Kind::Block => self.block()?,
            Kind::Break => self.leave("{{break}}", Node::Break(item.pos))?,
            Kind::Continue => self.leave("{{continue}}", Node::Continue(item.pos))?,
            Kind::Else => {
                let next = self.peek_non_space();
                if !matches!(next.kind, Kind::If | Kind::With) {
                    self.expect(Kind::RightDelim, "else")?;
                }
                return Ok(Piece::End(End::Else));
            }
            Kind::End => {
                self.expect(Kind::RightDelim, "end")?;
                return Ok(Piece::End(End::End));
            }
            Kind::If => Node::If(Box::new(self.control("if")?)),
            Kind::Range => Node::Range(Box::new(self.control("range")?)),
            Kind::With => Node::With(Box::new(self.control("with")?)),
            Kind::Template => self.template()?,
            _ => {
                self.backup();
                Node::Action(self.pipeline("command", Kind::RightDelim)?)
            }
        };
        Ok(Piece::Node(node))
    }

    fn leave(&mut self, word: &str, node: Node) -> Parsed<Node> {
        let item = self.next_non_space();
        if item.kind != Kind::RightDelim {
            return self.unexpected(&item, word);
        }
        if self.frame.ranges == 0 {
            return self.error(format!("{word} outside {{{{range}}}}"));
        }
        Ok(node)
    }

    fn control(&mut self, context: &'static str) -> Parsed<Branch> {
        let vars = self.frame.vars.len();
        let slot = self.frame.next_slot;
        let pending = self.frame.pending.len();
        let branch = self.control_inner(context);
        self.frame.vars.truncate(vars);
        self.frame.pending.truncate(pending);
        self.frame.next_slot = slot;
        branch
    }

    fn control_inner(&mut self, context: &'static str) -> Parsed<Branch> {
        let pipe = self.pipeline(context, Kind::RightDelim)?;
        let range = usize::from(context == "range");
        self.frame.ranges += range;
        let declared = self.frame.vars.len();
        let (list, end) = self.item_list()?;
        self.frame.ranges -= range;
        // To the parser, what the list declares is known in the other branch as well; it has no value there.
        let names = self.frame.vars.drain(declared..);
        self.frame.pending.extend(names.map(|(name, _)| name));
        let mut other = None;
        if matches!(end, End::Else) {
            let next = self.peek().kind;
            if context == "if" && next == Kind::If {
                self.next();
                let node = self.chained("if")?;
                other = Some(self.parts.add_one(Node::If(Box::new(node))));
            } else if context == "with" && next == Kind::With {
                self.next();
                let node = self.chained("with")?;
                other = Some(self.parts.add_one(Node::With(Box::new(node))));
            } else {
                let (list, end) = self.item_list()?;
                if !matches!(end, End::End) {
                    return self.error(format!("expected end; found {}", end.text()));
                }
                other = Some(list);
            }
        }
        Ok(Branch { pipe, list, other })
    }

    /// `{{else if}}`: a whole structure inside the other branch.
    fn chained(&mut self, context: &'static str) -> Parsed<Branch> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return self.error("max expression depth exceeded");
        }
        let branch = stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.control(context))?;
        self.nesting -= 1;
        Ok(branch)
    }

    fn block(&mut self) -> Parsed<Node> {
        const CONTEXT: &str = "block clause";
        let item = self.next_non_space();
        let name = self.template_name(&item, CONTEXT)?;
        let pipe = self.pipeline(CONTEXT, Kind::RightDelim)?;
        self.inner_template(name.of(self.input), CONTEXT)?;
        Ok(Node::Template(Box::new(Invoke {
            pos: item.pos,
            name: LiteralId::new(&mut self.parts, name),
            pipe: Some(pipe),
        })))
    }

    fn template(&mut self) -> Parsed<Node> {
        const CONTEXT: &str = "template clause";
        let item = self.next_non_space();
        let name = self.template_name(&item, CONTEXT)?;
        let mut pipe = None;
        if self.next_non_space().kind != Kind::RightDelim {
            self.backup();
            pipe = Some(self.pipeline(CONTEXT, Kind::RightDelim)?);
        }
        Ok(Node::Template(Box::new(Invoke {
            pos: item.pos,
            name: LiteralId::new(&mut self.parts, name),
            pipe,
        })))
    }

    fn template_name(&mut self, item: &Item, context: &str) -> Parsed<Literal> {
        match item.kind {
            Kind::String | Kind::RawString => self.literal(item),
            _ => self.unexpected(item, context),
        }
    }

    fn pipeline(&mut self, context: &str, end: Kind) -> Parsed<Pipe> {
        let first = self.peek_non_space();
        let mut pipe = Pipe {
            pos: first.pos,
            assign: Truth::False,
            decl: Seq::default(),
            cmds: Seq::default(),
        };
        let names = self.declarations(context, &mut pipe)?;
        self.frame.pending.extend_from_slice(&names);
        self.commands(context, end, &mut pipe)?;
        self.check_pipeline(&pipe, context)?;
        let known = self.frame.pending.len() - names.len();
        self.frame.pending.truncate(known);
        if names.is_empty() {
            return Ok(pipe);
        }
        let frame = &mut self.frame;
        let declared = names.into_iter().map(|name| {
            let slot = if pipe.assign.get() {
                let slot = frame.find(name, self.input).flatten();
                frame.vars.push((name, slot));
                slot
            } else {
                Some(frame.declare(name))
            };
            Decl { name, slot }
        });
        pipe.decl = self.parts.add(declared);
        Ok(pipe)
    }

    fn commands(&mut self, context: &str, end: Kind, pipe: &mut Pipe) -> Parsed<()> {
        let from = self.commands.len();
        loop {
            let item = self.next_non_space();
            if item.kind == end {
                pipe.cmds = self.parts.take(&mut self.commands, from);
                return Ok(());
            }
            match item.kind {
                Kind::Bool
                | Kind::CharConstant
                | Kind::Complex
                | Kind::Dot
                | Kind::Field
                | Kind::Identifier
                | Kind::Number
                | Kind::Nil
                | Kind::RawString
                | Kind::String
                | Kind::Variable
                | Kind::LeftParen => {
                    self.backup();
                    let command = self.command()?;
                    self.commands.push(command);
                }
                _ => return self.unexpected(&item, context),
            }
        }
    }

    /// The variables a pipeline starts with.
    fn declarations(&mut self, context: &str, pipe: &mut Pipe) -> Parsed<SmallVec<[Span; 2]>> {
        // Where several variables stand, only the last sign tells whether they are declared or assigned.
        let mut names = SmallVec::new();
        loop {
            let variable = self.peek_non_space();
            if variable.kind != Kind::Variable {
                break;
            }
            self.next();
            let after = self.peek();
            let next = self.peek_non_space();
            if matches!(next.kind, Kind::Assign | Kind::Declare) {
                pipe.assign = Truth::new(next.kind == Kind::Assign);
                self.next_non_space();
                names.push(variable.span());
                break;
            }
            if next.kind == Kind::Char && next.bytes(self.input) == b"," {
                self.next_non_space();
                names.push(variable.span());
                if context == "range" && names.len() < 2 {
                    match self.peek_non_space().kind {
                        Kind::Variable | Kind::RightDelim | Kind::RightParen => continue,
                        _ => return self.error("range can only initialize variables"),
                    }
                }
                return self.error(format!("too many declarations in {context}"));
            }
            if after.kind == Kind::Space {
                self.backup3(variable, after);
            } else {
                self.backup2(variable);
            }
            break;
        }
        Ok(names)
    }

    fn check_pipeline(&self, pipe: &Pipe, context: &str) -> Parsed<()> {
        if pipe.cmds.is_empty() {
            return self.error(format!("missing value for {context}"));
        }
        for (at, command) in self.parts.list(pipe.cmds).iter().enumerate().skip(1) {
            if let Some(first) = self.parts.list(command.args).first()
                && matches!(
                    first.kind,
                    ExprKind::Bool(_)
                        | ExprKind::Dot
                        | ExprKind::Nil
                        | ExprKind::Number(_)
                        | ExprKind::String(_)
                )
            {
                return self.error(format!(
                    "non executable command in pipeline stage {}",
                    at + 1
                ));
            }
        }
        Ok(())
    }

    fn command(&mut self) -> Parsed<Command> {
        let pos = self.peek_non_space().pos;
        let from = self.operands.len();
        loop {
            self.peek_non_space();
            if let Some(operand) = self.operand()? {
                self.operands.push(operand);
            }
            let item = self.next();
            match item.kind {
                Kind::Space => continue,
                Kind::RightDelim | Kind::RightParen => self.backup(),
                Kind::Pipe => {}
                _ => return self.unexpected(&item, "operand"),
            }
            break;
        }
        if self.operands.len() == from {
            return self.error("empty command");
        }
        let args = self.parts.take(&mut self.operands, from);
        Ok(Command { pos, args })
    }

    fn operand(&mut self) -> Parsed<Option<Expr>> {
        let Some(term) = self.term()? else {
            return Ok(None);
        };
        let next = self.peek();
        if next.kind != Kind::Field {
            return Ok(Some(term));
        }
        let mut fields = Seq::default();
        while self.peek().kind == Kind::Field {
            let item = self.next();
            fields = fields.and(self.field_name(&item));
        }
        let kind = match term.kind {
            // Its names were the last ones.
            ExprKind::Field(names) => ExprKind::Field(names.and(fields)),
            ExprKind::Variable(mut variable) => {
                variable.fields = fields;
                ExprKind::Variable(variable)
            }
            ExprKind::Bool(_)
            | ExprKind::String(_)
            | ExprKind::Number(_)
            | ExprKind::Nil
            | ExprKind::Dot => {
                let text = self.input.get(term.pos as usize..next.pos as usize);
                let shown = quoted(text.unwrap_or_default());
                return self.error(format!("unexpected . after term {shown}"));
            }
            _ => ExprKind::Chain(Box::new((term, fields))),
        };
        let pos = next.pos;
        Ok(Some(Expr { pos, kind }))
    }

    /// The name of a field, without its dot.
    fn field_name(&mut self, item: &Item) -> Seq<Span> {
        self.parts.add_one(item.span().behind_first())
    }

    fn term(&mut self) -> Parsed<Option<Expr>> {
        let item = self.next_non_space();
        let kind = match item.kind {
            Kind::Identifier => {
                let name = item.bytes(self.input);
                match self.functions.find(name) {
                    Some(function) => ExprKind::Function(function, item.span()),
                    None => {
                        return self.error(format!("function {} not defined", quoted(name)));
                    }
                }
            }
            Kind::Dot => ExprKind::Dot,
            Kind::Nil => ExprKind::Nil,
            Kind::Variable => {
                let name = item.span();
                let slot = match self.frame.find(name, self.input) {
                    Some(slot) => slot,
                    None if self.frame.is_pending(name, self.input) => None,
                    None => {
                        let shown = quoted(name.of(self.input));
                        return self.error(format!("undefined variable {shown}"));
                    }
                };
                ExprKind::Variable(Box::new(Variable {
                    name,
                    slot,
                    fields: Seq::default(),
                }))
            }
            Kind::Field => ExprKind::Field(self.field_name(&item)),
            Kind::Bool => ExprKind::Bool(Truth::new(item.bytes(self.input) == b"true")),
            Kind::CharConstant | Kind::Complex | Kind::Number => {
                match number_of(item.bytes(self.input), item.kind) {
                    Ok(number) => ExprKind::Number(Box::new(Number {
                        text: item.span(),
                        ..number
                    })),
                    Err(words) => return self.error(words),
                }
            }
            Kind::LeftParen => {
                self.nesting += 1;
                if self.nesting > MAX_NESTING {
                    return self.error("max expression depth exceeded");
                }
                let pipe = stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || {
                    self.pipeline("parenthesized pipeline", Kind::RightParen)
                })?;
                self.nesting -= 1;
                return Ok(Some(Expr {
                    pos: pipe.pos,
                    kind: ExprKind::Pipe(Box::new(pipe)),
                }));
            }
            Kind::String | Kind::RawString => {
                let literal = self.literal(&item)?;
                ExprKind::String(LiteralId::new(&mut self.parts, literal))
            }
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        Ok(Some(Expr {
            pos: item.pos,
            kind,
        }))
    }
}

/// Every type a number constant can be, without its text; or Go's words for what is wrong with it.
fn number_of(text: &[u8], kind: Kind) -> Result<Number, String> {
    let mut number = Number::default();
    if kind == Kind::CharConstant {
        let code = number::char_constant(text)?;
        number.int = Some(i64::from(code));
        number.uint = Some(u64::from(code));
        number.float = Some(f64::from(code));
        return Ok(number);
    }
    if kind == Kind::Complex {
        let split = text
            .iter()
            .enumerate()
            .skip(1)
            .filter(|&(at, &byte)| {
                matches!(byte, b'+' | b'-') && !matches!(text[at - 1], b'e' | b'E' | b'p' | b'P')
            })
            .map(|(at, _)| at)
            .next();
        let parts = split.and_then(|at| {
            let re = number::parse_float(&text[..at]).ok()?;
            let im = number::parse_float(text.get(at..text.len() - 1)?).ok()?;
            Some((re, im))
        });
        let (re, im) = parts.ok_or("syntax error scanning complex number")?;
        simplify(&mut number, re, im);
        return Ok(number);
    }
    if let Some(imaginary) = text.strip_suffix(b"i")
        && let Ok(im) = number::parse_float(imaginary)
    {
        simplify(&mut number, 0.0, im);
        return Ok(number);
    }
    number.uint = number::parse_uint(text, 0).ok();
    number.int = number::parse_int(text, 0).ok();
    if number.int == Some(0) {
        number.uint = Some(0);
    }
    if let Some(int) = number.int {
        number.float = Some(int as f64);
    } else if let Some(uint) = number.uint {
        number.float = Some(uint as f64);
    } else if let Ok(float) = number::parse_float(text) {
        if !text.iter().any(|byte| b".eEpP".contains(byte)) {
            return Err(format!("integer overflow: {}", quoted(text)));
        }
        number.float = Some(float);
        integers_of(&mut number, float);
    }
    if number.int.is_none() && number.uint.is_none() && number.float.is_none() {
        return Err(format!("illegal number syntax: {}", quoted(text)));
    }
    Ok(number)
}

fn simplify(number: &mut Number, re: f64, im: f64) {
    number.complex = Some((re, im));
    if im == 0.0 {
        number.float = Some(re);
        integers_of(number, re);
    }
}

fn integers_of(number: &mut Number, float: f64) {
    if (float as i64) as f64 == float && float < 9.3e18 {
        number.int = Some(float as i64);
    }
    if float >= 0.0 && (float as u64) as f64 == float && float < 1.8e19 {
        number.uint = Some(float as u64);
    }
}
