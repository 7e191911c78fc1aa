//! Tokens to trees.
//!
//! Duty: the trees Go's parser builds, its complaints word for word, and for each variable the slot it lives in, so that
//! executing needs no search by name.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use smallvec::SmallVec;

use crate::ast::{
    Branch, Command, Decl, Expr, ExprKind, Invoke, MAX_SOURCE, Node, Number, Pipe, Span, Tree,
    Variable, pos32,
};
use crate::error::{ErrorKind, TemplateError};
use crate::func::{FuncMap, Function};
use crate::lex::{Item, Kind, Lexer};
use crate::number::{self, quoted};
use crate::text::Str;

/// How deep control structures and parentheses may nest together.
const MAX_NESTING: usize = 2500;

type Parsed<T> = Result<T, Box<TemplateError>>;

/// Names that templates use over and over, each kept once.
#[derive(Debug, Default)]
pub(crate) struct Names {
    texts: HashSet<Str>,
    functions: HashMap<Str, Rc<(Str, Function)>>,
}

impl Names {
    fn text(&mut self, bytes: &[u8]) -> Str {
        if let Some(known) = self.texts.get(bytes) {
            return known.clone();
        }
        let text = Str::new(bytes);
        self.texts.insert(text.clone());
        text
    }

    fn function(&mut self, bytes: &[u8], funcs: &FuncMap) -> Option<Rc<(Str, Function)>> {
        if let Some(known) = self.functions.get(bytes) {
            return Some(Rc::clone(known));
        }
        let name = Str::new(bytes);
        let function = Rc::new((name.clone(), funcs.resolve(bytes)?));
        self.functions.insert(name, Rc::clone(&function));
        Some(function)
    }
}

/// Parses a file: its own tree and those it defines.
pub(crate) fn parse(
    file: &str,
    source: &Str,
    funcs: &FuncMap,
    names: &mut Names,
) -> Parsed<HashMap<Str, Rc<Tree>>> {
    let input: &[u8] = source;
    let mut parser = Parser {
        file: Rc::from(file),
        source,
        input,
        lexer: Lexer::new(input),
        funcs,
        token: [end_item(), end_item(), end_item()],
        peeked: 0,
        nesting: 0,
        frame: Frame::new(),
        trees: HashMap::new(),
        names,
        nodes: Vec::new(),
        commands: Vec::new(),
        operands: Vec::new(),
    };
    if input.len() > MAX_SOURCE {
        return parser.error("template is too large");
    }
    parser.file()?;
    Ok(parser.trees)
}

fn end_item() -> Item {
    Item {
        kind: Kind::Eof,
        pos: 0,
        end: 0,
        line: 0,
    }
}

/// What belongs to one template while it is parsed.
struct Frame {
    vars: Vec<(Str, Option<usize>)>,
    /// Names that pipelines now being read will declare: known to the parser, without a value yet.
    pending: Vec<Str>,
    next_slot: usize,
    slots: usize,
    ranges: usize,
    action_line: usize,
}

impl Frame {
    fn new() -> Self {
        Self {
            vars: vec![(Str::from("$"), Some(0))],
            pending: Vec::new(),
            next_slot: 1,
            slots: 1,
            ranges: 0,
            action_line: 0,
        }
    }

    fn declare(&mut self, name: Str) -> usize {
        let slot = self.next_slot;
        self.next_slot += 1;
        self.slots = self.slots.max(self.next_slot);
        self.vars.push((name, Some(slot)));
        slot
    }

    fn find(&self, name: &[u8]) -> Option<&(Str, Option<usize>)> {
        self.vars
            .iter()
            .rev()
            .find(|(known, _)| known.as_bytes() == name)
    }
}

struct Parser<'p> {
    file: Rc<str>,
    source: &'p Str,
    input: &'p [u8],
    lexer: Lexer<'p>,
    funcs: &'p FuncMap,
    token: [Item; 3],
    peeked: usize,
    nesting: usize,
    frame: Frame,
    trees: HashMap<Str, Rc<Tree>>,
    names: &'p mut Names,
    /// What lists are being read, inner ones behind outer ones: a list that is complete moves out of here into just the
    /// room it needs.
    nodes: Vec<Node>,
    commands: Vec<Command>,
    operands: Vec<Expr>,
}

/// The end of a stack as a list of its own.
fn taken<T, L: FromIterator<T>>(stack: &mut Vec<T>, from: usize) -> L {
    stack.drain(from..).collect()
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
        let line = self.token[0].line;
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
            let started = self.frame.action_line;
            if started != 0 && started != item.line {
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

    fn bytes(&mut self, item: &Item) -> Str {
        self.names.text(item.bytes(self.input))
    }

    /// The name of a field, without its dot.
    fn field_name(&mut self, item: &Item) -> Str {
        let bytes = item.bytes(self.input);
        self.names.text(bytes.get(1..).unwrap_or_default())
    }

    fn unquote(&self, item: &Item) -> Parsed<Str> {
        match number::unquote(item.bytes(self.input)) {
            Some(text) => Ok(Str::from(text)),
            None => self.error("invalid syntax"),
        }
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
        let name = Str::from(self.file.as_ref());
        let slots = self.frame.slots;
        let nodes = taken(&mut self.nodes, 0);
        self.add(name, nodes, slots)
    }

    fn add(&mut self, name: Str, nodes: Box<[Node]>, slots: usize) -> Parsed<()> {
        let tree = Tree {
            name: name.clone(),
            file: Rc::clone(&self.file),
            source: self.source.clone(),
            nodes,
            slots,
        };
        match self.trees.get(&name) {
            Some(known) if !known.is_empty() => {
                if !tree.is_empty() {
                    let shown = quoted(&name);
                    return self
                        .error(format!("template: multiple definition of template {shown}"));
                }
            }
            _ => {
                self.trees.insert(name, Rc::new(tree));
            }
        }
        Ok(())
    }

    /// A template inside the file, with variables of its own; what follows the opening action.
    fn inner_template(&mut self, name: Str, context: &str) -> Parsed<()> {
        let outer = std::mem::replace(&mut self.frame, Frame::new());
        let parsed = self.item_list();
        let inner = std::mem::replace(&mut self.frame, outer);
        let (nodes, end) = parsed?;
        if !matches!(end, End::End) {
            return self.error(format!("unexpected {} in {context}", end.text()));
        }
        self.add(name, nodes, inner.slots)
    }

    fn definition(&mut self) -> Parsed<()> {
        const CONTEXT: &str = "define clause";
        let outer = std::mem::replace(&mut self.frame, Frame::new());
        let opened = self.definition_name(CONTEXT);
        self.frame = outer;
        let name = opened?;
        self.inner_template(name, CONTEXT)
    }

    fn definition_name(&mut self, context: &str) -> Parsed<Str> {
        let item = self.next_non_space();
        if !matches!(item.kind, Kind::String | Kind::RawString) {
            return self.unexpected(&item, context);
        }
        let name = self.unquote(&item)?;
        self.expect(Kind::RightDelim, context)?;
        Ok(name)
    }

    /// Nodes up to `{{end}}` or `{{else}}`.
    fn item_list(&mut self) -> Parsed<(Box<[Node]>, End)> {
        self.nesting += 1;
        if self.nesting > MAX_NESTING {
            return self.error("max expression depth exceeded");
        }
        let list = stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.item_list_inner())?;
        self.nesting -= 1;
        Ok(list)
    }

    fn item_list_inner(&mut self) -> Parsed<(Box<[Node]>, End)> {
        let from = self.nodes.len();
        while self.peek_non_space().kind != Kind::Eof {
            match self.text_or_action()? {
                Piece::Node(node) => self.nodes.push(node),
                Piece::End(end) => return Ok((taken(&mut self.nodes, from), end)),
            }
        }
        self.error("unexpected EOF")
    }

    fn text_or_action(&mut self) -> Parsed<Piece> {
        let item = self.next_non_space();
        match item.kind {
            Kind::Text => Ok(Piece::Node(Node::Text(Span::new(item.pos, item.end)))),
            Kind::LeftDelim => {
                self.frame.action_line = item.line;
                let piece = self.action();
                if piece.is_ok() {
                    self.frame.action_line = 0;
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
            Kind::Break => self.leave("{{break}}", Node::Break(pos32(item.pos)))?,
            Kind::Continue => self.leave("{{continue}}", Node::Continue(pos32(item.pos)))?,
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
        let names = self.frame.vars.split_off(declared);
        self.frame
            .pending
            .extend(names.into_iter().map(|(name, _)| name));
        let mut other: Option<Box<[Node]>> = None;
        if matches!(end, End::Else) {
            let next = self.peek().kind;
            if context == "if" && next == Kind::If {
                self.next();
                let node = self.chained("if")?;
                other = Some(Box::new([Node::If(Box::new(node))]));
            } else if context == "with" && next == Kind::With {
                self.next();
                let node = self.chained("with")?;
                other = Some(Box::new([Node::With(Box::new(node))]));
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
        self.inner_template(name.clone(), CONTEXT)?;
        Ok(Node::Template(Box::new(Invoke {
            pos: pos32(item.pos),
            name,
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
            pos: pos32(item.pos),
            name,
            pipe,
        })))
    }

    fn template_name(&mut self, item: &Item, context: &str) -> Parsed<Str> {
        match item.kind {
            Kind::String | Kind::RawString => self.unquote(item),
            _ => self.unexpected(item, context),
        }
    }

    fn pipeline(&mut self, context: &str, end: Kind) -> Parsed<Pipe> {
        let first = self.peek_non_space();
        let mut pipe = Pipe {
            pos: pos32(first.pos),
            assign: false,
            decl: Box::default(),
            cmds: SmallVec::new(),
        };
        let names = self.declarations(context, &mut pipe)?;
        self.frame.pending.extend(names.iter().cloned());
        self.commands(context, end, &mut pipe)?;
        self.check_pipeline(&pipe, context)?;
        let known = self.frame.pending.len() - names.len();
        self.frame.pending.truncate(known);
        if names.is_empty() {
            return Ok(pipe);
        }
        let mut declared = Vec::with_capacity(names.len());
        for name in names {
            let slot = if pipe.assign {
                let slot = self.frame.find(&name).and_then(|(_, slot)| *slot);
                self.frame.vars.push((name.clone(), slot));
                slot
            } else {
                Some(self.frame.declare(name.clone()))
            };
            declared.push(Decl { name, slot });
        }
        pipe.decl = declared.into_boxed_slice();
        Ok(pipe)
    }

    fn commands(&mut self, context: &str, end: Kind, pipe: &mut Pipe) -> Parsed<()> {
        let from = self.commands.len();
        loop {
            let item = self.next_non_space();
            if item.kind == end {
                pipe.cmds = taken(&mut self.commands, from);
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
    fn declarations(&mut self, context: &str, pipe: &mut Pipe) -> Parsed<Vec<Str>> {
        // Where several variables stand, only the last sign tells whether they are declared or assigned.
        let mut names: Vec<Str> = Vec::new();
        loop {
            let variable = self.peek_non_space();
            if variable.kind != Kind::Variable {
                break;
            }
            self.next();
            let after = self.peek();
            let next = self.peek_non_space();
            if matches!(next.kind, Kind::Assign | Kind::Declare) {
                pipe.assign = next.kind == Kind::Assign;
                self.next_non_space();
                names.push(self.bytes(&variable));
                break;
            }
            if next.kind == Kind::Char && next.bytes(self.input) == b"," {
                self.next_non_space();
                names.push(self.bytes(&variable));
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
        for (at, command) in pipe.cmds.iter().enumerate().skip(1) {
            if let Some(first) = command.args.first()
                && matches!(
                    first.kind,
                    ExprKind::Bool(_)
                        | ExprKind::Dot
                        | ExprKind::Nil
                        | ExprKind::Number(_)
                        | ExprKind::String { .. }
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
        let pos = pos32(self.peek_non_space().pos);
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
        let args = taken(&mut self.operands, from);
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
        let pos = pos32(next.pos);
        let mut fields = Vec::new();
        while self.peek().kind == Kind::Field {
            let item = self.next();
            fields.push(self.field_name(&item));
        }
        let kind = match term.kind {
            ExprKind::Field(names) => {
                let mut names = names.into_vec();
                names.append(&mut fields);
                ExprKind::Field(names.into_boxed_slice())
            }
            ExprKind::Variable(mut variable) => {
                variable.fields = fields.into_boxed_slice();
                ExprKind::Variable(variable)
            }
            ExprKind::Bool(_)
            | ExprKind::String { .. }
            | ExprKind::Number(_)
            | ExprKind::Nil
            | ExprKind::Dot => {
                let mut text = String::new();
                term.print(self.input, &mut text);
                let shown = quoted(text.as_bytes());
                return self.error(format!("unexpected . after term {shown}"));
            }
            _ => ExprKind::Chain(Box::new((term, fields.into_boxed_slice()))),
        };
        Ok(Some(Expr { pos, kind }))
    }

    fn term(&mut self) -> Parsed<Option<Expr>> {
        let item = self.next_non_space();
        let kind = match item.kind {
            Kind::Identifier => {
                let name = item.bytes(self.input);
                match self.names.function(name, self.funcs) {
                    Some(function) => ExprKind::Function(function),
                    None => {
                        return self.error(format!("function {} not defined", quoted(name)));
                    }
                }
            }
            Kind::Dot => ExprKind::Dot,
            Kind::Nil => ExprKind::Nil,
            Kind::Variable => {
                let name = self.bytes(&item);
                let slot = match self.frame.find(&name) {
                    Some((_, slot)) => *slot,
                    None if self.frame.pending.contains(&name) => None,
                    None => return self.error(format!("undefined variable {}", quoted(&name))),
                };
                ExprKind::Variable(Box::new(Variable {
                    name,
                    slot,
                    fields: Box::default(),
                }))
            }
            Kind::Field => ExprKind::Field(Box::new([self.field_name(&item)])),
            Kind::Bool => ExprKind::Bool(item.bytes(self.input) == b"true"),
            Kind::CharConstant | Kind::Complex | Kind::Number => {
                match number_of(item.bytes(self.input), item.kind) {
                    Ok(number) => ExprKind::Number(Box::new(number)),
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
                let text = self.unquote(&item)?;
                ExprKind::String {
                    width: pos32(item.end - item.pos),
                    value: text,
                }
            }
            _ => {
                self.backup();
                return Ok(None);
            }
        };
        Ok(Some(Expr {
            pos: pos32(item.pos),
            kind,
        }))
    }
}

/// Every type a number constant can be; or Go's words for what is wrong with it.
fn number_of(text: &[u8], kind: Kind) -> Result<Number, String> {
    let mut number = Number {
        text: Str::new(text),
        int: None,
        uint: None,
        float: None,
        complex: None,
    };
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
