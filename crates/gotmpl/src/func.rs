//! Functions templates may call.
//!
//! Duty: how a function says what it takes, the tables they stand in, and what they may ask of the rendering they run in.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use crate::ambient::Ambient;
use crate::ast::pos32;
use crate::builtins::Builtin;
use crate::error::{FuncError, TemplateError};
use crate::exec;
use crate::template::{Run, TemplateSet};
use crate::text::Str;
use crate::value::{List, Map, Value};

/// The Go type of a parameter. The executor refuses other arguments in Go's words before the function runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// `interface {}`: anything.
    Any,
    /// `string`.
    String,
    /// `int`.
    Int,
    /// `int64`.
    Int64,
    /// `uint32`.
    Uint32,
    /// `float64`.
    Float,
    /// `bool`.
    Bool,
    /// `[]interface {}`.
    List,
    /// `map[string]interface {}`.
    Map,
    /// A type of the host, by its Go name, which only its own objects are.
    Host(&'static str),
}

impl Param {
    /// The Go name of the type.
    #[must_use]
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::String => "string",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Uint32 => "uint32",
            Self::Float => "float64",
            Self::Bool => "bool",
            Self::List => "[]interface {}",
            Self::Map => "map[string]interface {}",
            Self::Host(name) => name,
        }
    }

    /// Whether nil may stand for it.
    pub(crate) fn can_be_nil(self) -> bool {
        match self {
            Self::Any | Self::List | Self::Map => true,
            Self::Host(name) => name.starts_with('*'),
            _ => false,
        }
    }

    /// Whether a value has this type or one that Go assigns to it.
    pub(crate) fn takes(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Any, _)
            | (Self::String, Value::String(_))
            | (Self::Int, Value::Int(_))
            | (Self::Int64, Value::Int64(_))
            | (Self::Float, Value::Float(_))
            | (Self::Bool, Value::Bool(_)) => true,
            (Self::List, Value::List(list)) => list.elem() == crate::value::Elem::Any,
            (Self::Map, Value::Map(map)) => map.elem() == crate::value::Elem::Any,
            (Self::Host(name), Value::Object(object)) => object.type_name() == name,
            _ => false,
        }
    }
}

/// What a function's body is given: the rendering and the arguments, which have the declared types.
pub type Native = fn(&mut Cx<'_>, &[Value]) -> Result<Value, FuncError>;

/// A function in a fixed table.
pub struct FuncDef {
    /// The name templates use.
    pub name: &'static str,
    /// The parameters that must be given.
    pub params: &'static [Param],
    /// The type of all further arguments, if there may be some.
    pub rest: Option<Param>,
    /// The body.
    pub call: Native,
}

/// What a method's body is given: the rendering, its receiver and the arguments.
pub type NativeMethod = fn(&mut Cx<'_>, &Value, &[Value]) -> Result<Value, FuncError>;

/// A method of a host's type.
pub struct MethodDef {
    /// The name templates use.
    pub name: &'static str,
    /// The parameters that must be given.
    pub params: &'static [Param],
    /// The type of all further arguments, if there may be some.
    pub rest: Option<Param>,
    /// The body.
    pub call: NativeMethod,
}

impl fmt::Debug for MethodDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// The body of a function that carries state of the host.
type HostBody = dyn Fn(&mut Cx<'_>, &[Value]) -> Result<Value, FuncError>;

pub(crate) struct HostFunc {
    params: Vec<Param>,
    rest: Option<Param>,
    call: Box<HostBody>,
}

/// A function as found by its name.
#[derive(Clone)]
pub(crate) enum Function {
    Builtin(Builtin),
    Table(&'static FuncDef),
    Host(Rc<HostFunc>),
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Builtin(builtin) => write!(f, "{builtin:?}"),
            Self::Table(def) => f.write_str(def.name),
            Self::Host(_) => f.write_str("host function"),
        }
    }
}

/// Something with parameters and a body: what the executor calls.
#[derive(Clone, Copy)]
pub(crate) enum Callee<'c> {
    Table(&'static FuncDef),
    Host(&'c HostFunc),
    Method(&'static MethodDef, &'c Value),
}

impl Callee<'_> {
    pub(crate) fn params(&self) -> &[Param] {
        match self {
            Self::Table(def) => def.params,
            Self::Host(host) => &host.params,
            Self::Method(def, _) => def.params,
        }
    }

    pub(crate) fn rest(&self) -> Option<Param> {
        match self {
            Self::Table(def) => def.rest,
            Self::Host(host) => host.rest,
            Self::Method(def, _) => def.rest,
        }
    }

    pub(crate) fn call(&self, cx: &mut Cx<'_>, args: &[Value]) -> Result<Value, FuncError> {
        match self {
            Self::Table(def) => (def.call)(cx, args),
            Self::Host(host) => (host.call)(cx, args),
            Self::Method(def, receiver) => (def.call)(cx, receiver, args),
        }
    }
}

/// The functions a template may name beside Go's own. Later additions hide earlier ones and Go's.
#[derive(Clone, Default)]
pub struct FuncMap {
    tables: Vec<&'static [FuncDef]>,
    host: HashMap<String, Rc<HostFunc>>,
    removed: Vec<&'static str>,
}

impl FuncMap {
    /// No functions but Go's own.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// All of sprig 3.3, as Helm keeps it: without `env` and `expandenv`.
    #[must_use]
    pub fn sprig() -> Self {
        let mut map = Self::new();
        for table in crate::sprig::TABLES {
            map.add_table(table);
        }
        map
    }

    /// Adds a table of functions, sorted by name.
    pub fn add_table(&mut self, table: &'static [FuncDef]) {
        self.tables.push(table);
    }

    /// Adds one function. Its body may hold state and may render templates through its [`Cx`].
    pub fn add(
        &mut self,
        name: impl Into<String>,
        params: &[Param],
        rest: Option<Param>,
        call: impl Fn(&mut Cx<'_>, &[Value]) -> Result<Value, FuncError> + 'static,
    ) {
        let function = HostFunc {
            params: params.to_vec(),
            rest,
            call: Box::new(call),
        };
        self.host.insert(name.into(), Rc::new(function));
    }

    /// Takes a function away: naming it is then a parse error. Go's own stay.
    pub fn remove(&mut self, name: &'static str) {
        self.host.remove(name);
        self.removed.push(name);
    }

    /// All names, Go's own included, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Builtin::NAMES
            .iter()
            .map(|&(name, _)| name.into())
            .collect();
        names.extend(self.host.keys().cloned());
        for def in self.tables.iter().copied().flatten() {
            if !self.removed.contains(&def.name) {
                names.push(def.name.to_owned());
            }
        }
        names.sort();
        names.dedup();
        names
    }

    /// How many arguments a function takes at least, and whether it takes more; `None` if there is none.
    #[must_use]
    pub fn arity(&self, name: &str) -> Option<(usize, bool)> {
        Some(match self.resolve(name.as_bytes())? {
            Function::Builtin(builtin) => builtin.arity(),
            Function::Table(def) => (def.params.len(), def.rest.is_some()),
            Function::Host(host) => (host.params.len(), host.rest.is_some()),
        })
    }

    /// What a function takes, by Go's names of types: those that must be given, and that of all further ones. `None` if
    /// there is no such function or it is one of Go's own.
    #[must_use]
    pub fn signature(&self, name: &str) -> Option<(Vec<&'static str>, Option<&'static str>)> {
        let (params, rest) = match self.resolve(name.as_bytes())? {
            Function::Builtin(_) => return None,
            Function::Table(def) => (def.params.to_vec(), def.rest),
            Function::Host(host) => (host.params.clone(), host.rest),
        };
        Some((
            params.into_iter().map(Param::type_name).collect(),
            rest.map(Param::type_name),
        ))
    }

    pub(crate) fn resolve(&self, name: &[u8]) -> Option<Function> {
        let text = std::str::from_utf8(name).ok()?;
        if let Some(host) = self.host.get(text) {
            return Some(Function::Host(Rc::clone(host)));
        }
        if !self.removed.contains(&text) {
            for table in self.tables.iter().rev() {
                if let Ok(at) = table.binary_search_by(|def| def.name.cmp(text)) {
                    return Some(Function::Table(&table[at]));
                }
            }
        }
        let at = Builtin::NAMES
            .iter()
            .position(|&(known, _)| known == text)?;
        Some(Function::Builtin(Builtin::NAMES[at].1))
    }
}

/// Which function of a [`Functions`] it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FunctionId(u32);

/// The names of functions: all the parser needs to know of them.
#[derive(Debug, Default)]
pub(crate) struct FunctionNames(
    HashMap<Cow<'static, str>, FunctionId, BuildHasherDefault<NameHasher>>,
);

/// FNV-1a, which takes little time for short names. The names are those of functions, which nobody picks to collide.
#[derive(Debug)]
struct NameHasher(u64);

impl Default for NameHasher {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Hasher for NameHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl FunctionNames {
    pub(crate) fn find(&self, name: &[u8]) -> Option<FunctionId> {
        let name = std::str::from_utf8(name).ok()?;
        self.0.get(name).copied()
    }
}

/// The functions of a set of templates, found once for all its files.
#[derive(Default)]
pub(crate) struct Functions {
    pub(crate) names: FunctionNames,
    all: Vec<Function>,
}

impl Functions {
    pub(crate) fn new(map: FuncMap) -> Self {
        let mut functions = Self::default();
        for &(name, builtin) in Builtin::NAMES {
            functions.add(Cow::Borrowed(name), Function::Builtin(builtin));
        }
        for def in map.tables.into_iter().flatten() {
            if !map.removed.contains(&def.name) {
                functions.add(Cow::Borrowed(def.name), Function::Table(def));
            }
        }
        for (name, host) in map.host {
            functions.add(Cow::Owned(name), Function::Host(host));
        }
        functions
    }

    /// Adds a function, which hides an earlier one of its name.
    fn add(&mut self, name: Cow<'static, str>, function: Function) {
        self.names.0.insert(name, FunctionId(pos32(self.all.len())));
        self.all.push(function);
    }

    /// The function of an id that these names gave.
    pub(crate) fn get(&self, id: FunctionId) -> Option<&Function> {
        self.all.get(id.0 as usize)
    }
}

impl fmt::Debug for Functions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.names.fmt(f)
    }
}

impl fmt::Debug for FuncMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// How [`Cx::evaluate`] fails.
#[derive(Debug)]
pub enum Failed {
    /// The text is no template.
    Parsing(Box<TemplateError>),
    /// Executing it failed.
    Executing(Box<TemplateError>),
}

/// What a function may ask of the rendering it runs in.
#[derive(Clone, Copy)]
pub struct Cx<'r> {
    pub(crate) run: &'r Run<'r>,
    pub(crate) set: &'r TemplateSet,
    pub(crate) depth: u32,
}

impl<'r> Cx<'r> {
    /// The templates that can be named now.
    #[must_use]
    pub fn templates(&self) -> &'r TemplateSet {
        self.set
    }

    /// The clock, randomness and names.
    #[must_use]
    pub fn ambient(&self) -> &dyn Ambient {
        self.run.ambient
    }

    /// Executes a template of the set and gives its text.
    ///
    /// # Errors
    /// There is no such template, it fails, or a bound is reached.
    pub fn include(&mut self, name: &Str, data: &Value) -> Result<Str, FuncError> {
        match self.set.find(name) {
            Some(tree) => Ok(exec::execute(*self, tree, data)?.into()),
            None => Err(FuncError::new(format!(
                "template: no template {} associated with template {}",
                crate::number::quoted(name),
                crate::number::quoted(self.set.name().as_bytes()),
            ))),
        }
    }

    /// Executes a template of another set, within the bounds of this rendering.
    ///
    /// # Errors
    /// As [`Cx::include`].
    pub fn include_from(
        &mut self,
        set: &TemplateSet,
        name: &Str,
        data: &Value,
    ) -> Result<Str, FuncError> {
        let mut inner = Cx {
            run: self.run,
            set,
            depth: self.depth,
        };
        inner.include(name, data)
    }

    /// Parses a text on top of the templates that can be named now and executes it, as Helm's `tpl` does. What it
    /// defines is seen by it alone.
    ///
    /// # Errors
    /// The text is no template, it fails, or a bound is reached.
    pub fn evaluate(&mut self, text: &Str, data: &Value) -> Result<Str, Failed> {
        let name = self.set.name().to_owned();
        let mut set = self.set.child();
        let main = set.parse_main(&name, text).map_err(Failed::Parsing)?;
        let inner = Cx {
            run: self.run,
            set: &set,
            depth: self.depth,
        };
        let out = match main {
            Some(tree) => exec::execute(inner, &tree, data).map_err(Failed::Executing)?,
            None => Vec::new(),
        };
        Ok(out.into())
    }

    /// Counts work that grows with the input; about one step for each hundred bytes or element handled.
    ///
    /// # Errors
    /// The bound on steps or memory is reached.
    pub fn spend(&self, steps: usize) -> Result<(), FuncError> {
        self.run.spend(steps as u64).map_err(FuncError::limit)
    }

    /// Asks before a text of this many bytes is made.
    ///
    /// # Errors
    /// So much may not be held.
    pub fn reserve(&self, bytes: usize) -> Result<(), FuncError> {
        self.run.reserve(bytes).map_err(FuncError::limit)
    }

    /// The longest text that may be made now.
    pub(crate) fn room(&self) -> usize {
        self.run.room()
    }
}

/// An argument that is a string; empty if it is not, which the executor rules out.
pub(crate) fn text_at(args: &[Value], at: usize) -> Str {
    match args.get(at) {
        Some(Value::String(text)) => text.clone(),
        _ => Str::default(),
    }
}

/// An argument that is an integer.
pub(crate) fn int_at(args: &[Value], at: usize) -> i64 {
    match args.get(at) {
        Some(Value::Int(i) | Value::Int64(i)) => *i,
        _ => 0,
    }
}

/// An argument of any type.
pub(crate) fn any_at(args: &[Value], at: usize) -> &Value {
    args.get(at).unwrap_or(&Value::Nil)
}

/// An argument that is a map.
pub(crate) fn map_at(args: &[Value], at: usize) -> Map {
    match args.get(at) {
        Some(Value::Map(map)) => map.clone(),
        _ => Map::nil(),
    }
}

/// An argument that is a list.
pub(crate) fn list_at(args: &[Value], at: usize) -> List {
    match args.get(at) {
        Some(Value::List(list)) => list.clone(),
        _ => List::nil(crate::value::Elem::Any),
    }
}
