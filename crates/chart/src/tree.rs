//! A chart and the charts in it while a release is prepared.
//!
//! Duty: switch dependencies on and off, rename them, import values, as Helm's `ProcessDependenciesWithMerge` does.
//! Helm changes the loaded chart through pointers, and what is shared there shows: a chart that is used under two
//! aliases has one list of dependencies, whose entries are renamed once. Charts and entries are therefore indexes here.

mod enable;
mod import;
mod path;

use std::borrow::Cow;
use std::cell::OnceCell;

use kzero_gotmpl::{Map, Str};

use crate::convert;
use crate::load::Chart;
use crate::metadata::Dependency;
use crate::values::copy_table;

pub(crate) use path::{path_value, table};

/// A chart in a [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Id(usize);

/// An entry of `dependencies` in a [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SpecId(usize);

/// Charts with their places in each other.
#[derive(Debug)]
pub(crate) struct Tree<'c> {
    nodes: Vec<Node<'c>>,
    specs: Vec<Dependency>,
}

#[derive(Debug, Clone)]
struct Node<'c> {
    chart: &'c Chart,
    /// The alias, if it has one.
    name: Cow<'c, str>,
    specs: Option<Vec<SpecId>>,
    /// Its values as they were loaded, of which nothing but copies is given away.
    loaded: OnceCell<Map>,
    /// Its values with those imported; none while they are those of the file.
    values: Option<Map>,
    children: Vec<Id>,
    parent: Option<Id>,
}

/// The root of every tree.
pub(crate) const ROOT: Id = Id(0);

/// More charts than this are refused: aliases in aliases multiply.
const MAX_CHARTS: usize = 20_000;

impl<'c> Tree<'c> {
    /// The tree of a chart as it was loaded.
    pub(crate) fn new(chart: &'c Chart) -> Self {
        let mut tree = Self {
            nodes: Vec::new(),
            specs: Vec::new(),
        };
        tree.add(chart, None);
        tree
    }

    fn add(&mut self, chart: &'c Chart, parent: Option<Id>) -> Id {
        let specs = chart.metadata.dependencies.as_ref().map(|list| {
            let mut ids = Vec::with_capacity(list.len());
            for spec in list.iter().flatten() {
                ids.push(SpecId(self.specs.len()));
                self.specs.push(Dependency::clone(spec));
            }
            ids
        });
        let id = Id(self.nodes.len());
        self.nodes.push(Node {
            chart,
            name: Cow::Borrowed(&chart.metadata.name),
            specs,
            loaded: OnceCell::new(),
            values: None,
            children: Vec::new(),
            parent,
        });
        let children = chart
            .dependencies
            .iter()
            .map(|child| self.add(child, Some(id)))
            .collect();
        self.nodes[id.0].children = children;
        id
    }

    /// Does all Helm does to dependencies before a chart is rendered with these values.
    ///
    /// # Errors
    ///
    /// Values that cannot be laid over each other; charts that multiply beyond 20 000.
    pub(crate) fn process(
        &mut self,
        values: &Map,
        warnings: &mut Vec<String>,
    ) -> Result<(), String> {
        self.enable(ROOT, values, "", warnings)?;
        self.import(ROOT, warnings)
    }

    /// All charts, whether they are switched on or not.
    pub(crate) fn charts(&self) -> impl Iterator<Item = &'c Chart> {
        self.nodes.iter().map(|node| node.chart)
    }

    fn node(&self, id: Id) -> &Node<'c> {
        &self.nodes[id.0]
    }

    fn spec(&self, id: SpecId) -> &Dependency {
        &self.specs[id.0]
    }

    /// A copy of a chart under another name, which shares what Go's copy of a struct shares.
    fn copy_as(&mut self, id: Id, name: &str) -> Result<Id, String> {
        if self.nodes.len() >= MAX_CHARTS {
            return Err(format!("chart has more than {MAX_CHARTS} charts in it"));
        }
        let mut node = self.node(id).clone();
        if !name.is_empty() {
            node.name = Cow::Owned(name.to_owned());
        }
        self.nodes.push(node);
        Ok(Id(self.nodes.len() - 1))
    }

    fn set_children(&mut self, id: Id, children: Vec<Id>) {
        for child in &children {
            self.nodes[child.0].parent = Some(id);
        }
        self.nodes[id.0].children = children;
    }

    /// The chart as it was loaded.
    pub(crate) fn chart(&self, id: Id) -> &'c Chart {
        self.node(id).chart
    }

    /// The name it goes by.
    pub(crate) fn name(&self, id: Id) -> &str {
        &self.node(id).name
    }

    /// A copy of its own values, with those imported. It shares no table or list with anybody.
    pub(crate) fn values(&self, id: Id) -> Map {
        let node = self.node(id);
        let loaded = || {
            node.loaded
                .get_or_init(|| convert::table(&node.chart.values))
        };
        copy_table(node.values.as_ref().unwrap_or_else(loaded))
    }

    /// The charts in it that are switched on.
    pub(crate) fn children(&self, id: Id) -> &[Id] {
        &self.node(id).children
    }

    /// Whether it is no chart's.
    pub(crate) fn is_root(&self, id: Id) -> bool {
        self.node(id).parent.is_none()
    }

    /// Whether a chart in it goes by this name.
    pub(crate) fn has_child(&self, id: Id, name: &Str) -> bool {
        self.children(id)
            .iter()
            .any(|&child| self.name(child).as_bytes() == name.as_bytes())
    }

    /// The entries of its `dependencies` that are switched on.
    pub(crate) fn dependencies(&self, id: Id) -> impl Iterator<Item = &Dependency> {
        let specs = self.node(id).specs.as_deref().unwrap_or_default();
        specs.iter().map(|&spec| self.spec(spec))
    }

    /// Its path from the root: `web/charts/db`.
    pub(crate) fn full_path(&self, id: Id) -> String {
        match self.node(id).parent {
            Some(parent) => format!("{}/charts/{}", self.full_path(parent), self.name(id)),
            None => self.name(id).to_owned(),
        }
    }
}
