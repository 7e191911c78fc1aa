//! Sets of templates that know each other.
//!
//! Duty: parse files into a set, find templates by name, and render one within bounds.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use crate::ambient::Ambient;
use crate::ast::{File, Tree};
use crate::error::TemplateError;
use crate::exec;
use crate::func::{Cx, FuncMap, Functions};
use crate::parallel::try_map;
use crate::parse;
use crate::text::{Str, live_bytes};
use crate::value::Value;

/// What a missing key of a map gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MissingKey {
    /// Go's default: no value, whose fields are no values either.
    #[default]
    Invalid,
    /// The zero of the map's element type: nil where elements are any values, so that a field of it is an error.
    /// Helm renders so.
    Zero,
    /// An error. Helm's `--strict` does so.
    Error,
}

/// Bounds of one rendering. Reaching one is an error of kind [`crate::ErrorKind::Limit`].
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How deep templates may call each other.
    pub depth: u32,
    /// How many steps may be made: about one for each node, each element, eight bytes of a function's text arguments, and
    /// hundred bytes made.
    pub steps: u64,
    /// How many bytes all living values and texts may hold together. Twice as many may be in use for a moment, and the
    /// stack of deeply nested templates comes to it.
    pub memory: usize,
}

impl Default for Limits {
    /// Far beyond real charts, and within two seconds of CPU and 512 MiB. Only RSA keys may take longer: a few seconds
    /// for the few dozen that are allowed.
    fn default() -> Self {
        Self {
            depth: 10_000,
            steps: 20_000_000,
            memory: 384 << 20,
        }
    }
}

/// Templates that may call each other by name, parsed with the same functions.
///
/// A [`child`](Self::child) sees the templates of its parent and may add or replace some without changing it.
#[derive(Clone, Debug)]
pub struct TemplateSet {
    name: Rc<str>,
    functions: Rc<Functions>,
    missing_key: MissingKey,
    layer: Rc<Layer>,
}

/// Templates on top of others.
#[derive(Clone, Debug, Default)]
struct Layer {
    own: HashMap<Str, Rc<Tree>>,
    below: Option<Rc<Layer>>,
}

impl TemplateSet {
    /// An empty set. Its name shows in messages about templates that are not there.
    #[must_use]
    pub fn new(name: &str, funcs: FuncMap) -> Self {
        Self {
            name: Rc::from(name),
            functions: Rc::new(Functions::new(funcs)),
            missing_key: MissingKey::default(),
            layer: Rc::default(),
        }
    }

    /// Says what missing keys give.
    #[must_use]
    pub fn missing_key(mut self, missing_key: MissingKey) -> Self {
        self.missing_key = missing_key;
        self
    }

    /// A set on top of this one as it is now. It costs no more than counting a reference, so that a function may make one
    /// for each text it renders, as Helm's `tpl` does.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            name: Rc::clone(&self.name),
            functions: Rc::clone(&self.functions),
            missing_key: self.missing_key,
            layer: Rc::new(Layer {
                own: HashMap::new(),
                below: Some(Rc::clone(&self.layer)),
            }),
        }
    }

    /// The name of the set.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Parses a file into the set: the file itself and all it defines. A later definition replaces an earlier one unless
    /// it holds nothing but space.
    ///
    /// # Errors
    /// The text is no template; the set is then as before.
    pub fn parse(&mut self, file: &str, text: impl Into<Str>) -> Result<(), Box<TemplateError>> {
        self.parse_main(file, &text.into()).map(|_| ())
    }

    /// Parses files, by their names, as [`Self::parse`] would one after the other; many large ones take less time so.
    ///
    /// # Errors
    /// The first text by order that is no template, and its name; the set is then as before.
    pub fn parse_all<'f>(
        &mut self,
        files: &[(&'f str, Str)],
    ) -> Result<(), (&'f str, Box<TemplateError>)> {
        let texts: Vec<(&str, &[u8])> = files
            .iter()
            .map(|(file, text)| (*file, text.as_bytes()))
            .collect();
        let names = &self.functions.names;
        let parsed = try_map(
            &texts,
            |(_, text)| text.len(),
            |&(file, text)| parse::parse(file, text, names).map_err(|error| (file, error)),
        )?;
        for ((file, text), templates) in files.iter().zip(parsed) {
            self.add(file, text, templates);
        }
        Ok(())
    }

    /// Parses a file into the set, and gives the tree of the file itself, whether or not it replaced another one.
    pub(crate) fn parse_main(
        &mut self,
        file: &str,
        text: &Str,
    ) -> Result<Option<Rc<Tree>>, Box<TemplateError>> {
        let templates = parse::parse(file, text, &self.functions.names)?;
        Ok(self.add(file, text, templates))
    }

    /// Adds the templates of a file, and gives that of the file itself.
    fn add(&mut self, file: &str, text: &Str, templates: parse::Templates) -> Option<Rc<Tree>> {
        let shared = Rc::new(File::new(file, text, templates.parts));
        let mut main = None;
        for (name, template) in templates.all {
            let tree = Rc::new(Tree::new(&shared, &name, template));
            if *name == *file.as_bytes() {
                main = Some(Rc::clone(&tree));
            }
            if tree.is_empty() && self.find(&name).is_some() {
                continue;
            }
            let own = &mut Rc::make_mut(&mut self.layer).own;
            own.insert(tree.name.clone(), tree);
        }
        main
    }

    pub(crate) fn functions(&self) -> &Functions {
        &self.functions
    }

    pub(crate) fn find(&self, name: &[u8]) -> Option<&Tree> {
        let mut layer = &self.layer;
        loop {
            if let Some(tree) = layer.own.get(name) {
                return Some(tree);
            }
            layer = layer.below.as_ref()?;
        }
    }

    /// Whether a template of this name is there.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.find(name.as_bytes()).is_some()
    }

    /// The names of all templates, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<Str> {
        let mut names = Vec::new();
        let mut layer = Some(&self.layer);
        while let Some(here) = layer {
            names.extend(here.own.keys().cloned());
            layer = here.below.as_ref();
        }
        names.sort();
        names.dedup();
        names
    }

    pub(crate) fn missing(&self) -> MissingKey {
        self.missing_key
    }

    /// Renders one template with some data.
    ///
    /// # Errors
    /// There is no such template, it fails, or a bound is reached.
    pub fn render(
        &self,
        name: &str,
        data: &Value,
        ambient: &dyn Ambient,
        limits: &Limits,
    ) -> Result<Vec<u8>, Box<TemplateError>> {
        Rendering::new(ambient, limits).render(self, name, data)
    }
}

/// Several templates rendered within the same bounds, as the files of one chart are.
pub struct Rendering<'r> {
    run: Run<'r>,
}

impl<'r> Rendering<'r> {
    /// Nothing has been used yet.
    #[must_use]
    pub fn new(ambient: &'r dyn Ambient, limits: &Limits) -> Self {
        Self {
            run: Run::new(ambient, limits),
        }
    }

    /// Renders one template of a set with some data.
    ///
    /// # Errors
    /// There is no such template, it fails, or a bound is reached by all renderings so far together.
    pub fn render(
        &self,
        set: &TemplateSet,
        name: &str,
        data: &Value,
    ) -> Result<Vec<u8>, Box<TemplateError>> {
        let cx = Cx {
            run: &self.run,
            set,
            depth: 0,
        };
        match set.find(name.as_bytes()) {
            Some(tree) => exec::execute(cx, tree, data),
            None => Err(Box::new(TemplateError {
                kind: crate::error::ErrorKind::Exec,
                file: name.to_owned(),
                template: name.to_owned(),
                line: 0,
                column: 0,
                context: String::new(),
                place: String::new(),
                reason: format!(
                    "template: no template {} associated with template {}",
                    crate::number::quoted(name.as_bytes()),
                    crate::number::quoted(set.name.as_bytes()),
                ),
                suffix: false,
                inner: None,
            })),
        }
    }
}

/// Parses and renders a single template with sprig's functions.
///
/// # Errors
/// The text is no template, it fails, or a bound of the default [`Limits`] is reached.
pub fn render(
    name: &str,
    text: &str,
    data: &Value,
    ambient: &dyn Ambient,
) -> Result<String, Box<TemplateError>> {
    let mut set = TemplateSet::new(name, FuncMap::sprig());
    set.parse(name, text)?;
    let out = set.render(name, data, ambient, &Limits::default())?;
    Ok(String::from_utf8(out)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()))
}

/// One rendering: what it may use and what it has used.
pub(crate) struct Run<'r> {
    pub(crate) ambient: &'r dyn Ambient,
    limits: Limits,
    steps: Cell<u64>,
    next_check: Cell<u64>,
    base: usize,
    /// Bytes written that are no values yet.
    pending: Cell<usize>,
    pub(crate) patterns: RefCell<HashMap<Str, Rc<crate::sprig::regex::Pattern>>>,
}

/// How many steps pass between two looks at the memory held.
const CHECK_EVERY: u64 = 256;

impl<'r> Run<'r> {
    pub(crate) fn new(ambient: &'r dyn Ambient, limits: &Limits) -> Self {
        Self {
            ambient,
            limits: *limits,
            steps: Cell::new(0),
            next_check: Cell::new(CHECK_EVERY),
            base: live_bytes(),
            pending: Cell::new(0),
            patterns: RefCell::new(HashMap::new()),
        }
    }

    pub(crate) fn spend(&self, steps: u64) -> Result<(), String> {
        let used = self.steps.get().saturating_add(steps);
        self.steps.set(used);
        if used >= self.next_check.get() {
            self.next_check.set(used.saturating_add(CHECK_EVERY));
            if used > self.limits.steps {
                return Err(format!(
                    "rendering takes more than {} steps",
                    self.limits.steps
                ));
            }
            self.reserve(0)?;
        }
        Ok(())
    }

    /// Bytes held beyond what was there before the rendering.
    fn held(&self) -> usize {
        live_bytes()
            .saturating_sub(self.base)
            .saturating_add(self.pending.get())
    }

    pub(crate) fn reserve(&self, bytes: usize) -> Result<(), String> {
        // A text stands twice for a moment: while it is put together and as the value it becomes.
        if self.held().saturating_add(bytes.saturating_mul(2)) > self.limits.memory {
            return Err(format!(
                "rendering holds more than {} bytes",
                self.limits.memory
            ));
        }
        Ok(())
    }

    pub(crate) fn room(&self) -> usize {
        self.limits.memory.saturating_sub(self.held()) / 2
    }

    /// Counts output that is being written; negative when it is done.
    pub(crate) fn add_pending(&self, bytes: usize) {
        self.pending.set(self.pending.get().saturating_add(bytes));
    }

    pub(crate) fn sub_pending(&self, bytes: usize) {
        self.pending.set(self.pending.get().saturating_sub(bytes));
    }

    pub(crate) fn depth_limit(&self) -> u32 {
        self.limits.depth
    }
}
