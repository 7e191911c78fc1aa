//! Executing trees.
//!
//! Duty: walk a template with its data as Go does, with Go's errors at Go's places.

use smallvec::SmallVec;

use crate::ast::{
    At, Branch, Command, Decl, Expr, ExprKind, Invoke, Node, Number, Part, Pipe, Seq, Span, Tree,
    Variable,
};
use crate::builtins::{self, Builtin};
use crate::error::{ErrorKind, FuncError, TemplateError};
use crate::func::{Callee, Cx, Function, FunctionId, Param};
use crate::gofmt;
use crate::number::quoted;
use crate::template::MissingKey;
use crate::text::Str;
use crate::value::{Kind, List, Map, Value};

/// How many bytes of its arguments a function may read for one step.
const BYTES_A_STEP: usize = 8;

type Exec<T> = Result<T, Box<TemplateError>>;

/// A value while it is evaluated.
///
/// Go tells a value from an interface that holds one; messages show the difference, and nil differs as well:
/// `Nil` in an interface is a nil interface, otherwise it is no value at all.
#[derive(Clone, Debug)]
pub(crate) struct Ev {
    pub(crate) value: Value,
    pub(crate) interface: bool,
}

impl Ev {
    pub(crate) fn concrete(value: Value) -> Self {
        Self {
            value,
            interface: false,
        }
    }

    fn nothing() -> Self {
        Self::concrete(Value::Nil)
    }

    /// Whether Go has no value here at all.
    pub(crate) fn is_invalid(&self) -> bool {
        !self.interface && matches!(self.value, Value::Nil)
    }

    /// The name of its static type.
    pub(crate) fn type_name(&self) -> String {
        if self.interface {
            "interface {}".to_owned()
        } else {
            self.value.type_name()
        }
    }
}

/// How a list of nodes was left.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

/// Executes one template and gives its text.
pub(crate) fn execute(
    cx: Cx<'_>,
    tree: &Tree,
    data: &Value,
) -> Result<Vec<u8>, Box<TemplateError>> {
    let dot = Ev::concrete(data.clone());
    let mut executor = Executor {
        cx,
        tree,
        vars: Vec::new(),
        at: None,
        out: Vec::new(),
        counted: 0,
    };
    executor.vars.resize(tree.slots, None);
    if let Some(first) = executor.vars.first_mut() {
        *first = Some(dot.clone());
    }
    executor.cx.depth += 1;
    let done = if executor.cx.depth > cx.run.depth_limit() {
        executor.limit(format!(
            "templates call each other more than {} deep",
            cx.run.depth_limit()
        ))
    } else {
        stacker::maybe_grow(256 * 1024, 4 * 1024 * 1024, || {
            executor.walk_all(&dot, tree.nodes())
        })
    };
    cx.run.sub_pending(executor.counted);
    done.map(|_| executor.out)
}

struct Executor<'r> {
    cx: Cx<'r>,
    tree: &'r Tree,
    vars: Vec<Option<Ev>>,
    at: Option<At<'r>>,
    out: Vec<u8>,
    /// How much of the output is counted as memory held.
    counted: usize,
}

impl<'r> Executor<'r> {
    fn fail<T>(
        &self,
        kind: ErrorKind,
        reason: String,
        inner: Option<Box<TemplateError>>,
        suffix: bool,
    ) -> Exec<T> {
        let name = self.tree.name.to_text().into_owned();
        let file = self.tree.file.name.to_string();
        let (mut line, mut column, mut context) = (0, 0, String::new());
        let place = match self.at {
            None => format!("template: {name}: "),
            Some(at) => {
                (line, column) = self.tree.place(at.pos());
                context = at.text(&self.tree.file);
                let quoted = quoted(&self.tree.name);
                format!("template: {file}:{line}:{column}: executing {quoted} at <{context}>: ")
            }
        };
        let template = name;
        Err(Box::new(TemplateError {
            kind,
            file,
            template,
            line,
            column,
            context,
            place,
            reason,
            suffix,
            inner,
        }))
    }

    /// Parts of the template that is being executed.
    fn list<T: Part>(&self, seq: Seq<T>) -> &'r [T] {
        self.tree.file.list(seq)
    }

    /// A name in it.
    fn name_of(&self, name: Span) -> &'r [u8] {
        self.tree.file.name_of(name)
    }

    /// A part as Go prints it.
    fn shown(&self, expr: &Expr) -> String {
        let mut shown = String::new();
        expr.print(&self.tree.file, &mut shown);
        shown
    }

    fn error<T>(&self, reason: impl Into<String>) -> Exec<T> {
        self.fail(ErrorKind::Exec, reason.into(), None, false)
    }

    fn limit<T>(&self, reason: impl Into<String>) -> Exec<T> {
        self.fail(ErrorKind::Limit, reason.into(), None, false)
    }

    fn step(&self) -> Exec<()> {
        match self.cx.run.spend(1) {
            Ok(()) => Ok(()),
            Err(reason) => self.limit(reason),
        }
    }

    /// Looks at the output now and then, as it grows.
    fn count_output(&mut self) -> Exec<()> {
        if self.out.len() > self.counted + 16 * 1024 {
            self.cx.run.add_pending(self.out.len() - self.counted);
            self.counted = self.out.len();
            if let Err(reason) = self.cx.run.reserve(0) {
                return self.limit(reason);
            }
        }
        Ok(())
    }

    fn walk_all(&mut self, dot: &Ev, nodes: &'r [Node]) -> Exec<Flow> {
        for node in nodes {
            let flow = self.walk(dot, node)?;
            if flow != Flow::Next {
                return Ok(flow);
            }
        }
        Ok(Flow::Next)
    }

    fn walk(&mut self, dot: &Ev, node: &'r Node) -> Exec<Flow> {
        self.step()?;
        match node {
            Node::Text(text) => {
                self.out.extend_from_slice(self.tree.file.name_of(*text));
                self.count_output()?;
            }
            Node::Action(pipe) => {
                self.at = Some(At::Node(node));
                let value = self.pipeline(dot, pipe)?;
                if pipe.decl.is_empty() {
                    self.at = Some(At::Node(node));
                    self.print(&value)?;
                }
            }
            Node::If(branch) => return self.if_or_with(dot, node, branch, false),
            Node::With(branch) => return self.if_or_with(dot, node, branch, true),
            Node::Range(branch) => return self.range(dot, node, branch),
            Node::Template(invoke) => self.template(dot, node, invoke)?,
            Node::Break(_) => return Ok(Flow::Break),
            Node::Continue(_) => return Ok(Flow::Continue),
        }
        Ok(Flow::Next)
    }

    fn print(&mut self, value: &Ev) -> Exec<()> {
        if value.is_invalid() {
            self.out.extend_from_slice(b"<no value>");
            return Ok(());
        }
        let room = self.cx.room();
        if let Value::Object(object) = &value.value {
            let text = object.shown();
            if text.len() > room {
                return self.limit("the output is too large");
            }
            self.out.extend_from_slice(text.as_bytes());
            return self.count_output();
        }
        // What is printed is no value of its own, so that it stands only once.
        if let Value::String(text) = &value.value
            && text.len() > room
        {
            return self.limit("the output is too large");
        }
        if gofmt::print_value(&mut self.out, &value.value, room).is_err() {
            return self.limit("the value is too large or too deep to print");
        }
        self.count_output()
    }

    /// Runs what may nest deeply on more stack if need be.
    fn nested(&mut self, dot: &Ev, nodes: Seq<Node>) -> Exec<Flow> {
        let nodes = self.list(nodes);
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.walk_all(dot, nodes))
    }

    fn if_or_with(
        &mut self,
        dot: &Ev,
        node: &'r Node,
        branch: &'r Branch,
        with: bool,
    ) -> Exec<Flow> {
        self.at = Some(At::Node(node));
        let value = self.pipeline(dot, &branch.pipe)?;
        if value.value.truth() {
            return self.nested(if with { &value } else { dot }, branch.list);
        }
        match branch.other {
            Some(other) => self.nested(dot, other),
            None => Ok(Flow::Next),
        }
    }

    fn range(&mut self, dot: &Ev, node: &'r Node, branch: &'r Branch) -> Exec<Flow> {
        self.at = Some(At::Node(node));
        let over = self.pipeline(dot, &branch.pipe)?;
        let decl = self.list(branch.pipe.decl);
        let mut flow = None;
        match &over.value {
            Value::Int(_) | Value::Int64(_) | Value::Uint8(_) | Value::Uint64(_) => {
                flow = self.range_number(&over.value, branch)?;
            }
            Value::List(list) => {
                let mut at = 0;
                while let Some(item) = list.get(at) {
                    let elem = Ev {
                        value: item,
                        interface: list.elem() == crate::value::Elem::Any,
                    };
                    let index = Ev::concrete(Value::Int(i64::try_from(at).unwrap_or(i64::MAX)));
                    flow = Some(self.iterate(decl, index, &elem, branch)?);
                    if flow == Some(Flow::Break) {
                        break;
                    }
                    at += 1;
                }
            }
            Value::Bytes(bytes) => {
                for (at, &byte) in bytes.iter().enumerate() {
                    let index = Ev::concrete(Value::Int(i64::try_from(at).unwrap_or(i64::MAX)));
                    let elem = Ev::concrete(Value::Uint8(byte));
                    flow = Some(self.iterate(decl, index, &elem, branch)?);
                    if flow == Some(Flow::Break) {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                let interface = map.elem() == crate::value::Elem::Any;
                let entries: Vec<(Str, Value)> = map
                    .entries()
                    .iter()
                    .map(|(k, v)| (k.clone(), v.clone()))
                    .collect();
                flow = self.range_entries(entries, interface, branch)?;
            }
            Value::Nil => {}
            Value::Object(object) => match object.entries() {
                Some(entries) => flow = self.range_entries(entries, false, branch)?,
                None => return self.cannot_range(&over.value),
            },
            Value::Bool(_) | Value::Float(_) | Value::Complex(..) | Value::String(_) => {
                return self.cannot_range(&over.value);
            }
        }
        match (flow, branch.other) {
            (None, Some(other)) => self.nested(dot, other),
            _ => Ok(Flow::Next),
        }
    }

    fn cannot_range<T>(&self, value: &Value) -> Exec<T> {
        let shown = gofmt::to_text(value, 4096).unwrap_or_default();
        self.error(format!(
            "range can't iterate over {}",
            String::from_utf8_lossy(&shown)
        ))
    }

    fn range_entries(
        &mut self,
        entries: Vec<(Str, Value)>,
        interface: bool,
        branch: &'r Branch,
    ) -> Exec<Option<Flow>> {
        let decl = self.list(branch.pipe.decl);
        let mut flow = None;
        for (key, value) in entries {
            let index = Ev::concrete(Value::String(key));
            let elem = Ev { value, interface };
            flow = Some(self.iterate(decl, index, &elem, branch)?);
            if flow == Some(Flow::Break) {
                break;
            }
        }
        Ok(flow)
    }

    fn range_number(&mut self, value: &Value, branch: &'r Branch) -> Exec<Option<Flow>> {
        let decl = self.list(branch.pipe.decl);
        let (end, make): (i128, fn(i128) -> Value) = match value {
            Value::Int(i) => (i128::from(*i), |i| Value::Int(i as i64)),
            Value::Int64(i) => (i128::from(*i), |i| Value::Int64(i as i64)),
            Value::Uint8(u) => (i128::from(*u), |i| Value::Uint8(i as u8)),
            Value::Uint64(u) => (i128::from(*u), |i| Value::Uint64(i as u64)),
            _ => return Ok(None),
        };
        if decl.len() > 1 {
            return self.error(format!(
                "can't use {end} to iterate over more than one variable"
            ));
        }
        let mut flow = None;
        let mut at = 0;
        while at < end {
            let elem = Ev::concrete(make(at));
            flow = Some(self.iterate(decl, Ev::nothing(), &elem, branch)?);
            if flow == Some(Flow::Break) {
                break;
            }
            at += 1;
        }
        Ok(flow)
    }

    /// One turn of a range: sets its variables and walks the list.
    fn iterate(
        &mut self,
        decl: &'r [Decl],
        index: Ev,
        elem: &Ev,
        branch: &'r Branch,
    ) -> Exec<Flow> {
        self.step()?;
        match decl {
            [] => {}
            [one] => self.set(one, elem.clone())?,
            [first, second, ..] => {
                self.set(first, index)?;
                self.set(second, elem.clone())?;
            }
        }
        self.nested(elem, branch.list)
    }

    fn set(&mut self, decl: &Decl, value: Ev) -> Exec<()> {
        match decl.slot.and_then(|slot| self.vars.get_mut(slot as usize)) {
            Some(variable) => {
                *variable = Some(value);
                Ok(())
            }
            None => self.error(format!(
                "undefined variable: {}",
                self.tree.file.shown(decl.name)
            )),
        }
    }

    fn template(&mut self, dot: &Ev, node: &'r Node, invoke: &'r Invoke) -> Exec<()> {
        self.at = Some(At::Node(node));
        let name = self.tree.file.literal(invoke.name);
        let Some(tree) = self.cx.set.find(name) else {
            return self.error(format!("template {} not defined", quoted(name)));
        };
        let limit = self.cx.run.depth_limit();
        if self.cx.depth >= limit {
            return self.limit(format!("exceeded maximum template depth ({limit})"));
        }
        let value = match &invoke.pipe {
            Some(pipe) => self.pipeline(dot, pipe)?,
            None => Ev::nothing(),
        };
        let mut vars = vec![None; tree.slots];
        if let Some(first) = vars.first_mut() {
            *first = Some(value.clone());
        }
        let outer_vars = std::mem::replace(&mut self.vars, vars);
        let outer_tree = std::mem::replace(&mut self.tree, tree);
        self.cx.depth += 1;
        stacker::maybe_grow(256 * 1024, 4 * 1024 * 1024, || {
            self.walk_all(&value, tree.nodes())
        })?;
        self.cx.depth -= 1;
        self.vars = outer_vars;
        self.tree = outer_tree;
        Ok(())
    }

    fn pipeline(&mut self, dot: &Ev, pipe: &'r Pipe) -> Exec<Ev> {
        self.at = Some(At::Pipe(pipe));
        let mut value: Option<Ev> = None;
        for command in self.list(pipe.cmds) {
            let mut result = self.command(dot, command, value.take())?;
            // What an interface holds is what counts from here on.
            result.interface = false;
            value = Some(result);
        }
        let value = value.unwrap_or_else(Ev::nothing);
        for decl in self.list(pipe.decl) {
            self.set(decl, value.clone())?;
        }
        Ok(value)
    }

    fn not_a_function(&self, args: &[Expr], last: &Option<Ev>) -> Exec<()> {
        if args.len() > 1 || last.is_some() {
            let shown = args.first().map(|first| self.shown(first));
            let shown = shown.unwrap_or_default();
            return self.error(format!("can't give argument to non-function {shown}"));
        }
        Ok(())
    }

    fn command(&mut self, dot: &Ev, command: &'r Command, last: Option<Ev>) -> Exec<Ev> {
        let args = self.list(command.args);
        let Some(first) = args.first() else {
            return self.error("empty command");
        };
        match &first.kind {
            ExprKind::Field(fields) => {
                self.at = Some(At::Expr(first));
                self.chain(dot, dot.clone(), At::Expr(first), *fields, args, last)
            }
            ExprKind::Chain(chain) => self.chained(dot, first, &chain.0, chain.1, args, last),
            ExprKind::Function(id, name) => {
                self.at = Some(At::Expr(first));
                self.call(dot, *id, *name, At::Command(command), args, last)
            }
            ExprKind::Pipe(pipe) => {
                self.not_a_function(args, &last)?;
                self.nested_pipeline(dot, pipe)
            }
            ExprKind::Variable(variable) => self.variable(dot, first, variable, args, last),
            ExprKind::Bool(_)
            | ExprKind::Dot
            | ExprKind::Nil
            | ExprKind::Number(_)
            | ExprKind::String(_) => {
                self.at = Some(At::Expr(first));
                self.not_a_function(args, &last)?;
                match &first.kind {
                    ExprKind::Bool(truth) => Ok(Ev::concrete(Value::Bool(truth.get()))),
                    ExprKind::Dot => Ok(dot.clone()),
                    ExprKind::Number(number) => Ok(Ev::concrete(self.constant(number)?)),
                    ExprKind::String(literal) => {
                        Ok(Ev::concrete(Value::String(self.tree.file.string(*literal))))
                    }
                    _ => self.error("nil is not a command"),
                }
            }
        }
    }

    fn nested_pipeline(&mut self, dot: &Ev, pipe: &'r Pipe) -> Exec<Ev> {
        stacker::maybe_grow(128 * 1024, 2 * 1024 * 1024, || self.pipeline(dot, pipe))
    }

    /// A number constant whose type only its form tells.
    fn constant(&self, number: &Number) -> Exec<Value> {
        if let Some((re, im)) = number.complex {
            return Ok(Value::Complex(re, im));
        }
        let text = self.name_of(number.text);
        let rune = text.first() == Some(&b'\'');
        let hex = text.len() > 2
            && text[0] == b'0'
            && matches!(text[1], b'x' | b'X')
            && !text.iter().any(|byte| b"pP".contains(byte));
        if let Some(float) = number.float
            && !rune
            && !hex
            && text.iter().any(|byte| b".eEpP".contains(byte))
        {
            return Ok(Value::Float(float));
        }
        match (number.int, number.uint) {
            (Some(int), _) => Ok(Value::Int(int)),
            (None, Some(_)) => {
                let shown = self.tree.file.shown(number.text);
                self.error(format!("{shown} overflows int"))
            }
            (None, None) => Ok(Value::Nil),
        }
    }

    fn chained(
        &mut self,
        dot: &Ev,
        expr: &'r Expr,
        inner: &'r Expr,
        fields: Seq<Span>,
        args: &'r [Expr],
        last: Option<Ev>,
    ) -> Exec<Ev> {
        self.at = Some(At::Expr(expr));
        let receiver = match &inner.kind {
            ExprKind::Pipe(pipe) => {
                self.at = Some(At::Expr(inner));
                self.nested_pipeline(dot, pipe)?
            }
            ExprKind::Function(id, name) => {
                self.at = Some(At::Expr(inner));
                self.call(dot, *id, *name, At::Expr(inner), &[], None)?
            }
            _ => return self.error("internal error: unexpected chain"),
        };
        self.chain(dot, receiver, At::Expr(expr), fields, args, last)
    }

    fn variable(
        &mut self,
        dot: &Ev,
        expr: &'r Expr,
        variable: &'r Variable,
        args: &'r [Expr],
        last: Option<Ev>,
    ) -> Exec<Ev> {
        let Variable { name, slot, fields } = variable;
        self.at = Some(At::Expr(expr));
        let value = slot.and_then(|slot| self.vars.get(slot as usize)?.clone());
        let Some(value) = value else {
            let name = self.tree.file.shown(*name);
            return self.error(format!("undefined variable: {name}"));
        };
        if fields.is_empty() {
            self.not_a_function(args, &last)?;
            return Ok(value);
        }
        self.chain(dot, value, At::Expr(expr), *fields, args, last)
    }

    fn chain(
        &mut self,
        dot: &Ev,
        receiver: Ev,
        node: At<'r>,
        fields: Seq<Span>,
        args: &'r [Expr],
        last: Option<Ev>,
    ) -> Exec<Ev> {
        let Some((end, before)) = self.list(fields).split_last() else {
            return Ok(receiver);
        };
        let mut receiver = receiver;
        for field in before {
            receiver = self.field(dot, *field, node, &[], None, &receiver)?;
        }
        self.field(dot, *end, node, args, last, &receiver)
    }

    fn field(
        &mut self,
        dot: &Ev,
        name: Span,
        node: At<'r>,
        args: &'r [Expr],
        last: Option<Ev>,
        receiver: &Ev,
    ) -> Exec<Ev> {
        let bytes = self.name_of(name);
        if receiver.is_invalid() {
            if self.cx.set.missing() == MissingKey::Error {
                return self.error(format!("nil data; no entry for key {}", quoted(bytes)));
            }
            return Ok(Ev::nothing());
        }
        if matches!(receiver.value, Value::Nil) {
            return self.error(format!(
                "nil pointer evaluating {}.{}",
                receiver.type_name(),
                self.tree.file.shown(name)
            ));
        }
        if let Some(method) = receiver.value.method(bytes) {
            let callee = Callee::Method(method, &receiver.value);
            return self.invoke(dot, callee, name, node, args, last);
        }
        let has_args = args.len() > 1 || last.is_some();
        match &receiver.value {
            Value::Map(map) => {
                if has_args {
                    return self.not_a_method(name);
                }
                let interface = map.elem() == crate::value::Elem::Any;
                match map.get(bytes) {
                    Some(value) => Ok(Ev { value, interface }),
                    None => self.missing_key(name, map.zero(), interface),
                }
            }
            Value::Object(object) => {
                let text = self.tree.file.shown(name);
                if let Some(value) = object.field(&text) {
                    if has_args {
                        return self.error(format!(
                            "{text} has arguments but cannot be invoked as function"
                        ));
                    }
                    let interface = matches!(value, Value::Nil);
                    return Ok(Ev { value, interface });
                }
                if object.kind() == Kind::Map {
                    if has_args {
                        return self.not_a_method(name);
                    }
                    let found = object.entries().and_then(|entries| {
                        entries.into_iter().find(|(key, _)| key.as_bytes() == bytes)
                    });
                    return match found {
                        Some((_, value)) => Ok(Ev::concrete(value)),
                        None => self.missing_key(name, Value::Nil, false),
                    };
                }
                self.no_field(name, receiver)
            }
            _ => self.no_field(name, receiver),
        }
    }

    fn not_a_method<T>(&self, name: Span) -> Exec<T> {
        let name = self.tree.file.shown(name);
        self.error(format!("{name} is not a method but has arguments"))
    }

    fn missing_key(&self, name: Span, zero: Value, interface: bool) -> Exec<Ev> {
        match self.cx.set.missing() {
            MissingKey::Invalid => Ok(Ev::nothing()),
            MissingKey::Zero => Ok(Ev {
                value: zero,
                interface,
            }),
            MissingKey::Error => {
                let shown = quoted(self.name_of(name));
                self.error(format!("map has no entry for key {shown}"))
            }
        }
    }

    fn no_field<T>(&self, name: Span, receiver: &Ev) -> Exec<T> {
        self.error(format!(
            "can't evaluate field {} in type {}",
            self.tree.file.shown(name),
            receiver.type_name()
        ))
    }

    /// Calls a function by name.
    fn call(
        &mut self,
        dot: &Ev,
        id: FunctionId,
        name: Span,
        node: At<'r>,
        args: &'r [Expr],
        last: Option<Ev>,
    ) -> Exec<Ev> {
        let set = self.cx.set;
        let Some(function) = set.functions().get(id) else {
            return self.error("internal error: unknown function");
        };
        match function {
            Function::Builtin(builtin) => self.call_builtin(dot, *builtin, name, node, args, last),
            Function::Table(def) => self.invoke(dot, Callee::Table(def), name, node, args, last),
            Function::Host(host) => self.invoke(dot, Callee::Host(host), name, node, args, last),
        }
    }

    fn check_count(
        &self,
        name: Span,
        fixed: usize,
        variadic: bool,
        args: usize,
        last: bool,
    ) -> Exec<()> {
        let count = args + usize::from(last);
        let fits = if variadic {
            count >= fixed
        } else {
            count == fixed
        };
        if fits {
            return Ok(());
        }
        let name = self.tree.file.shown(name);
        let (least, got) = if variadic {
            ("at least ", args)
        } else {
            ("", count)
        };
        self.error(format!(
            "wrong number of args for {name}: want {least}{fixed} got {got}"
        ))
    }

    fn invoke(
        &mut self,
        dot: &Ev,
        callee: Callee<'_>,
        name: Span,
        node: At<'r>,
        args: &'r [Expr],
        last: Option<Ev>,
    ) -> Exec<Ev> {
        let given = args.get(1..).unwrap_or_default();
        let params = callee.params();
        let rest = callee.rest();
        self.check_count(
            name,
            params.len(),
            rest.is_some(),
            given.len(),
            last.is_some(),
        )?;
        let mut values: SmallVec<[Value; 6]> = SmallVec::new();
        for (at, arg) in given.iter().enumerate() {
            let param = params.get(at).copied().or(rest).unwrap_or(Param::Any);
            values.push(self.arg(dot, param, arg)?);
        }
        if let Some(last) = last {
            let param = params
                .get(values.len())
                .copied()
                .or(rest)
                .unwrap_or(Param::Any);
            values.push(self.validate(last, param)?);
        }
        let called = self
            .weigh(values.iter())
            .and_then(|()| callee.call(&mut self.cx, &values));
        match called {
            Ok(value) => Ok(Ev::concrete(value)),
            Err(error) => self.call_failed(name, node, error),
        }
    }

    /// Counts the texts that a function is given: whatever it does, it may read them all.
    fn weigh<'v>(&self, values: impl Iterator<Item = &'v Value>) -> Result<(), FuncError> {
        let bytes: usize = values
            .map(|value| match value {
                Value::String(text) | Value::Bytes(text) => text.len(),
                _ => 0,
            })
            .sum();
        self.cx.spend(bytes / BYTES_A_STEP)
    }

    fn call_failed<T>(&mut self, name: Span, node: At<'r>, error: FuncError) -> Exec<T> {
        self.at = Some(node);
        let kind = if error.is_limit() {
            ErrorKind::Limit
        } else {
            ErrorKind::Exec
        };
        let (message, suffix, inner) = error.into_parts();
        let name = self.tree.file.shown(name);
        self.fail(
            kind,
            format!("error calling {name}: {message}"),
            inner,
            suffix,
        )
    }

    fn call_builtin(
        &mut self,
        dot: &Ev,
        builtin: Builtin,
        name: Span,
        node: At<'r>,
        args: &'r [Expr],
        last: Option<Ev>,
    ) -> Exec<Ev> {
        let given = args.get(1..).unwrap_or_default();
        let (fixed, variadic) = builtin.arity();
        self.check_count(name, fixed, variadic, given.len(), last.is_some())?;
        if matches!(builtin, Builtin::And | Builtin::Or) {
            let wanted = builtin == Builtin::Or;
            let mut value = Ev::nothing();
            for arg in given {
                value = self.any_arg(dot, arg)?;
                if value.value.truth() == wanted {
                    return Ok(value);
                }
            }
            return Ok(last.unwrap_or(value));
        }
        let mut values: SmallVec<[Ev; 4]> = SmallVec::new();
        for (at, arg) in given.iter().enumerate() {
            if builtin == Builtin::Printf && at == 0 {
                let format = self.arg(dot, Param::String, arg)?;
                values.push(Ev::concrete(format));
            } else {
                values.push(self.any_arg(dot, arg)?);
            }
        }
        if let Some(last) = last {
            if builtin == Builtin::Printf && values.is_empty() {
                let format = self.validate(last, Param::String)?;
                values.push(Ev::concrete(format));
            } else {
                values.push(last);
            }
        }
        let called = match (builtin, given.first()) {
            (Builtin::Call, Some(first)) => self.shown(first),
            (Builtin::Call, None) => match values.first().map(|ev| &ev.value) {
                Some(Value::String(text)) => text.to_text().into_owned(),
                Some(Value::Nil) | None => "<invalid Value>".to_owned(),
                Some(other) => format!("<{} Value>", other.type_name()),
            },
            _ => String::new(),
        };
        let called = self
            .weigh(values.iter().map(|ev| &ev.value))
            .and_then(|()| builtins::call(&self.cx, builtin, &called, &values));
        match called {
            Ok(value) => Ok(value),
            Err(error) => self.call_failed(name, node, error),
        }
    }

    /// Makes sure that a value may be given for a parameter.
    fn validate(&self, ev: Ev, param: Param) -> Exec<Value> {
        if param == Param::Any {
            return Ok(ev.value);
        }
        if ev.is_invalid() {
            if param.can_be_nil() {
                return Ok(nil_of(param));
            }
            return self.error(format!("invalid value; expected {}", param.type_name()));
        }
        if param.takes(&ev.value) {
            return Ok(ev.value);
        }
        let got = if matches!(ev.value, Value::Nil) {
            ev.type_name()
        } else {
            ev.value.type_name()
        };
        self.error(format!(
            "wrong type for value; expected {}; got {got}",
            param.type_name()
        ))
    }

    /// Evaluates an argument whose parameter takes anything.
    fn any_arg(&mut self, dot: &Ev, expr: &'r Expr) -> Exec<Ev> {
        self.at = Some(At::Expr(expr));
        match &expr.kind {
            ExprKind::Dot => Ok(dot.clone()),
            ExprKind::Nil => Ok(Ev::nothing()),
            ExprKind::Bool(truth) => Ok(Ev::concrete(Value::Bool(truth.get()))),
            ExprKind::Number(number) => Ok(Ev::concrete(self.constant(number)?)),
            ExprKind::String(literal) => {
                Ok(Ev::concrete(Value::String(self.tree.file.string(*literal))))
            }
            ExprKind::Field(fields) => {
                self.chain(dot, dot.clone(), At::Expr(expr), *fields, &[], None)
            }
            ExprKind::Variable(variable) => self.variable(dot, expr, variable, &[], None),
            ExprKind::Pipe(pipe) => self.nested_pipeline(dot, pipe),
            ExprKind::Function(id, name) => self.call(dot, *id, *name, At::Expr(expr), &[], None),
            ExprKind::Chain(chain) => self.chained(dot, expr, &chain.0, chain.1, &[], None),
        }
    }

    fn arg(&mut self, dot: &Ev, param: Param, expr: &'r Expr) -> Exec<Value> {
        match &expr.kind {
            ExprKind::Nil => {
                self.at = Some(At::Expr(expr));
                if param.can_be_nil() {
                    return Ok(nil_of(param));
                }
                self.error(format!("cannot assign nil to {}", param.type_name()))
            }
            ExprKind::Bool(_) | ExprKind::Number(_) | ExprKind::String(_) => {
                self.at = Some(At::Expr(expr));
                self.literal(param, expr)
            }
            _ => {
                let value = self.any_arg(dot, expr)?;
                self.validate(value, param)
            }
        }
    }

    /// A constant where a parameter's type says what it is.
    fn literal(&self, param: Param, expr: &'r Expr) -> Exec<Value> {
        let expected = match (param, &expr.kind) {
            (Param::Any, ExprKind::Number(number)) => return self.constant(number),
            (Param::Any | Param::Bool, ExprKind::Bool(truth)) => {
                return Ok(Value::Bool(truth.get()));
            }
            (Param::Any | Param::String, ExprKind::String(literal)) => {
                return Ok(Value::String(self.tree.file.string(*literal)));
            }
            (Param::Int | Param::Int64, ExprKind::Number(number)) if number.int.is_some() => {
                let int = number.int.unwrap_or_default();
                return Ok(if param == Param::Int {
                    Value::Int(int)
                } else {
                    Value::Int64(int)
                });
            }
            (Param::Uint32, ExprKind::Number(number)) if number.uint.is_some() => {
                // Go stores the low 32 bits.
                let uint = number.uint.unwrap_or_default() & 0xFFFF_FFFF;
                return Ok(Value::Uint64(uint));
            }
            (Param::Float, ExprKind::Number(number)) if number.float.is_some() => {
                return Ok(Value::Float(number.float.unwrap_or_default()));
            }
            (Param::Bool, _) => "bool",
            (Param::String, _) => "string",
            (Param::Int | Param::Int64, _) => "integer",
            (Param::Uint32, _) => "unsigned integer",
            (Param::Float, _) => "float",
            _ => "",
        };
        let shown = self.shown(expr);
        if expected.is_empty() {
            let wanted = param.type_name();
            return self.error(format!("can't handle {shown} for arg of type {wanted}"));
        }
        self.error(format!("expected {expected}; found {shown}"))
    }
}

/// The zero of a type that nil may stand for.
fn nil_of(param: Param) -> Value {
    match param {
        Param::List => Value::List(List::nil(crate::value::Elem::Any)),
        Param::Map => Value::Map(Map::nil()),
        _ => Value::Nil,
    }
}
