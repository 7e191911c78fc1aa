//! How the fields of built-in kinds merge, as a table.
//!
//! [`Schema::of`] is the entry. The table (`schema.txt`) is made from the types that Helm itself is built with and from
//! the API server's own description; it is parsed when the first built-in kind is looked up, and then kept.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

/// The patch metadata of one kind of object: merge keys, strategies, which maps and lists are one value.
///
/// Cheap to copy; looking one up costs a hash of the kind.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    root: Node,
    builtin: bool,
}

impl Schema {
    /// The schema of a kind in an API version (`apps/v1`, `v1`).
    ///
    /// A kind that is not in the table counts as a custom one: its `metadata` is that of every object, of the rest
    /// nothing is known, so its lists are single values.
    #[must_use]
    pub fn of(api_version: &str, kind: &str) -> Schema {
        let found = TABLE.kinds.get(&(api_version, kind));
        let structure = found.copied().unwrap_or(TABLE.custom);
        let shape = &TABLE.structures[structure].as_shape;
        Schema {
            root: Node::new(shape, &PLAIN),
            builtin: found.is_some(),
        }
    }

    /// Whether the kind is built into Kubernetes, so that its objects take strategic merge patches.
    ///
    /// True for exactly the kinds that Helm patches so; `APIService`, for one, is not among them.
    #[must_use]
    pub fn is_builtin(self) -> bool {
        self.builtin
    }

    pub(super) fn root(self) -> Node {
        self.root
    }
}

/// What merges how at one place of an object.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    shape: &'static Shape,
    marks: &'static Marks,
    depth: u16,
}

/// Values nested deeper than this are taken as one.
const MAX_DEPTH: u16 = 128;

impl Node {
    fn new(shape: &'static Shape, marks: &'static Marks) -> Node {
        Node {
            shape,
            marks,
            depth: 0,
        }
    }

    fn below(self, shape: &'static Shape, marks: &'static Marks) -> Node {
        Node {
            shape,
            marks,
            depth: self.depth.saturating_add(1),
        }
    }

    /// The place of that name inside a structure or a map; nothing is known of a name that is not in the table.
    pub(super) fn field(self, name: &str) -> Node {
        match self.shape {
            Shape::Map(element) => self.below(element, &PLAIN),
            _ => match self.known_field(name) {
                Some(field) => field,
                None => self.below(&Shape::Any, &PLAIN),
            },
        }
    }

    /// The place of that name, if this is a structure that has one which is more than a scalar.
    pub(super) fn known_field(self, name: &str) -> Option<Node> {
        let Shape::Structure(index) = *self.shape else {
            return None;
        };
        let fields = &TABLE.structures[index].fields;
        let found = fields
            .binary_search_by_key(&name, |field| field.name)
            .ok()?;
        let field = &fields[found];
        Some(self.below(&field.shape, &field.marks))
    }

    /// The place of each element of a list; it has the list's mark for the keys that are to be retained.
    pub(super) fn element(self) -> Node {
        let marks = if self.marks.retain_keys {
            &RETAIN
        } else {
            &PLAIN
        };
        match self.shape {
            Shape::List(element) => self.below(element, marks),
            _ => self.below(&Shape::Any, marks),
        }
    }

    /// Whether a map here is one value, which is set whole.
    pub(super) fn is_atomic(self) -> bool {
        let structure = match *self.shape {
            Shape::Structure(index) => TABLE.structures[index].atomic,
            _ => false,
        };
        structure || self.marks.atomic || self.is_replaced() || self.is_too_deep()
    }

    /// Whether the server replaces a map or list here by what a strategic patch holds for it.
    pub(super) fn is_replaced(self) -> bool {
        self.marks.strategy == Strategy::Replace
    }

    pub(super) fn is_too_deep(self) -> bool {
        self.depth > MAX_DEPTH
    }

    /// Whether setting one field of a map here clears those that are not wanted: the fields exclude each other.
    pub(super) fn retains_keys(self) -> bool {
        self.marks.retain_keys
    }

    /// Whether a map here has keys of anybody's choice, like labels.
    pub(super) fn is_free_map(self) -> bool {
        matches!(self.shape, Shape::Map(_)) && !self.is_atomic()
    }

    pub(super) fn is_map(self) -> bool {
        matches!(self.shape, Shape::Map(_))
    }

    /// Whether a value here is as good as none: the server keeps no null, and no empty map of free keys.
    pub(super) fn is_nothing(self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::Object(fields) => fields.is_empty() && self.is_map(),
            _ => false,
        }
    }

    /// Whether nothing is known of the value here.
    pub(super) fn is_unknown(self) -> bool {
        matches!(self.shape, Shape::Any)
    }

    pub(super) fn is_quantity(self) -> bool {
        matches!(self.shape, Shape::Quantity)
    }

    pub(super) fn is_bytes(self) -> bool {
        matches!(self.shape, Shape::Bytes)
    }

    /// Whether a strategic patch names single elements of a list here.
    pub(super) fn is_merged_list(self) -> bool {
        self.marks.strategy == Strategy::Merge
    }

    /// The field by which a strategic patch names elements.
    pub(super) fn merge_key(self) -> Option<&'static str> {
        self.marks.merge_key
    }

    /// The fields that tell elements of a list apart, with what the server puts where one is absent. Empty: elements
    /// have no names. Often more than the merge key: two ports may differ in the protocol alone.
    pub(super) fn element_keys(self) -> &'static [ElementKey] {
        if self.is_too_deep() {
            return &[];
        }
        &self.marks.keys
    }

    /// Of [`Node::element_keys`] the one that is the merge key; it is the first.
    pub(super) fn merge_key_alone(self) -> &'static [ElementKey] {
        match self.element_keys() {
            [first, ..] if Some(first.field) == self.marks.merge_key => std::slice::from_ref(first),
            _ => &[],
        }
    }

    /// Whether a list here is a set of scalars.
    pub(super) fn is_set(self) -> bool {
        let merged_scalars = self.is_merged_list() && self.marks.merge_key.is_none();
        (self.marks.set || merged_scalars) && !self.is_too_deep()
    }

    /// The name of the structure here, for messages.
    pub(super) fn structure_name(self) -> &'static str {
        match *self.shape {
            Shape::Structure(index) => TABLE.structures[index].name,
            _ => "",
        }
    }
}

/// A field that tells elements of a list apart.
#[derive(Debug)]
pub(super) struct ElementKey {
    pub(super) field: &'static str,
    pub(super) default: Option<&'static str>,
}

#[derive(Debug)]
enum Shape {
    /// Nothing is known, or anything may be there.
    Any,
    Scalar,
    Quantity,
    Bytes,
    List(Box<Shape>),
    Map(Box<Shape>),
    Structure(usize),
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Strategy {
    #[default]
    None,
    Merge,
    Replace,
}

#[derive(Debug, Default)]
struct Marks {
    strategy: Strategy,
    retain_keys: bool,
    merge_key: Option<&'static str>,
    keys: Vec<ElementKey>,
    set: bool,
    atomic: bool,
}

static PLAIN: Marks = Marks::of_element(false);
static RETAIN: Marks = Marks::of_element(true);

impl Marks {
    const fn of_element(retain_keys: bool) -> Marks {
        Marks {
            strategy: Strategy::None,
            retain_keys,
            merge_key: None,
            keys: Vec::new(),
            set: false,
            atomic: false,
        }
    }
}

#[derive(Debug)]
struct Field {
    name: &'static str,
    shape: Shape,
    marks: Marks,
}

#[derive(Debug)]
struct Structure {
    name: &'static str,
    as_shape: Shape,
    atomic: bool,
    /// Sorted by name, as in the text.
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Table {
    kinds: HashMap<(&'static str, &'static str), usize>,
    structures: Vec<Structure>,
    /// What is known of an object of any kind.
    custom: usize,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| Parser::default().parse(include_str!("schema.txt")));

/// Reads the table. Structures are numbered as they are met; one that has no line has nothing but scalars.
#[derive(Default)]
struct Parser {
    numbers: HashMap<&'static str, usize>,
    structures: Vec<Structure>,
}

impl Parser {
    fn parse(mut self, text: &'static str) -> Table {
        let mut kinds = HashMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some((kind, structure)) = line.split_once(" = ") {
                if let Some(kind) = kind.split_once(' ') {
                    kinds.insert(kind, self.number(structure));
                }
            } else if let Some((head, fields)) = line.split_once(':') {
                self.structure(head, fields);
            }
        }
        let custom = self.number("");
        self.structures[custom].fields = self.fields("metadata=meta.v1.ObjectMeta");
        Table {
            kinds,
            structures: self.structures,
            custom,
        }
    }

    fn number(&mut self, name: &'static str) -> usize {
        let next = self.structures.len();
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.structures.push(Structure {
                name,
                as_shape: Shape::Structure(number),
                atomic: false,
                fields: Vec::new(),
            });
        }
        number
    }

    fn structure(&mut self, head: &'static str, fields: &'static str) {
        let name = head.trim_end_matches('!');
        let number = self.number(name);
        let fields = self.fields(fields);
        let structure = &mut self.structures[number];
        structure.atomic = head.ends_with('!');
        structure.fields = fields;
    }

    fn fields(&mut self, text: &'static str) -> Vec<Field> {
        let fields = text.split_whitespace().filter_map(|field| {
            let (name, shape) = field.split_once('=')?;
            let (shape, marks) = shape.split_once('(').unwrap_or((shape, ""));
            Some(Field {
                name,
                shape: self.shape(shape),
                marks: Marks::parse(marks.trim_end_matches(')')),
            })
        });
        fields.collect()
    }

    fn shape(&mut self, text: &'static str) -> Shape {
        match text {
            "*" => Shape::Any,
            "." => Shape::Scalar,
            "q" => Shape::Quantity,
            "b" => Shape::Bytes,
            _ => {
                if let Some(element) = text.strip_prefix("[]") {
                    Shape::List(Box::new(self.shape(element)))
                } else if let Some(element) = text.strip_prefix("{}") {
                    Shape::Map(Box::new(self.shape(element)))
                } else {
                    Shape::Structure(self.number(text))
                }
            }
        }
    }
}

impl Marks {
    fn parse(text: &'static str) -> Marks {
        let mut marks = Marks::default();
        for mark in text.split(',') {
            let (word, rest) = mark.split_once(':').unwrap_or((mark, ""));
            match word {
                "merge" => marks.strategy = Strategy::Merge,
                "replace" => marks.strategy = Strategy::Replace,
                "retainKeys" => marks.retain_keys = true,
                "set" => marks.set = true,
                "atomic" => marks.atomic = true,
                "by" => marks.merge_key = Some(rest),
                "key" => {
                    let (field, default) = rest.split_once(':').unwrap_or((rest, ""));
                    marks.keys.push(ElementKey {
                        field,
                        default: Some(default).filter(|default| !default.is_empty()),
                    });
                }
                _ => {}
            }
        }
        // Types that the server did not describe have a merge key alone.
        if let (Some(field), true) = (marks.merge_key, marks.keys.is_empty()) {
            marks.keys.push(ElementKey {
                field,
                default: None,
            });
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(schema: Schema, path: &str) -> Node {
        path.split('.')
            .fold(schema.root(), |node, name| match name {
                "*" => node.element(),
                name => node.field(name),
            })
    }

    #[test]
    fn every_line_of_the_table_is_read() {
        let text = include_str!("schema.txt");
        let is_kind = |line: &&str| line.contains(" = ") && !line.starts_with('#');
        let kinds = text.lines().filter(is_kind).count();
        assert_eq!(TABLE.kinds.len(), kinds);
        assert!(kinds > 100);
        for structure in &TABLE.structures {
            assert!(
                structure.fields.is_sorted_by_key(|field| field.name),
                "{}",
                structure.name
            );
        }
        // No word of the text is unknown to the parser.
        for marks in text
            .split('(')
            .skip(2)
            .filter_map(|rest| rest.split_once(')'))
        {
            for mark in marks.0.split(',') {
                let word = mark.split(':').next().unwrap_or_default();
                let known = [
                    "merge",
                    "replace",
                    "retainKeys",
                    "set",
                    "atomic",
                    "by",
                    "key",
                ];
                assert!(known.contains(&word), "{mark}");
            }
        }
    }

    #[test]
    fn containers_merge_by_name_and_ports_by_number_and_protocol() {
        let deployment = Schema::of("apps/v1", "Deployment");
        assert!(deployment.is_builtin());
        let containers = at(deployment, "spec.template.spec.containers");
        assert_eq!(containers.merge_key(), Some("name"));
        let ports = containers.element().field("ports");
        assert_eq!(ports.merge_key(), Some("containerPort"));
        let keys: Vec<_> = ports
            .element_keys()
            .iter()
            .map(|key| (key.field, key.default))
            .collect();
        assert_eq!(keys, [("containerPort", None), ("protocol", Some("TCP"))]);
        let limits = containers.element().field("resources").field("limits");
        assert!(limits.is_free_map() && limits.field("cpu").is_quantity());
        assert!(at(deployment, "spec.strategy").retains_keys());
        assert!(at(deployment, "spec.template.spec.volumes.*").retains_keys());
        assert!(at(deployment, "spec.selector").is_atomic());
        assert!(at(deployment, "spec.template.spec.nodeSelector").is_atomic());
        assert!(at(deployment, "metadata.finalizers").is_set());
        assert!(
            at(deployment, "spec.template.spec.tolerations")
                .element_keys()
                .is_empty()
        );
    }

    #[test]
    fn a_custom_kind_has_the_metadata_of_every_object() {
        let custom = Schema::of("example.org/v1", "Deployment");
        assert!(!custom.is_builtin());
        assert!(at(custom, "metadata.labels").is_free_map());
        assert!(at(custom, "spec.containers").element_keys().is_empty());
        assert!(!Schema::of("apiregistration.k8s.io/v1", "APIService").is_builtin());
        assert!(
            !Schema::of("apiextensions.k8s.io/v1beta1", "CustomResourceDefinition").is_builtin()
        );
    }

    #[test]
    fn unions_are_of_structures_that_there_are() {
        for (name, _) in super::super::union::UNIONS {
            let mut structures = TABLE.structures.iter();
            assert!(structures.any(|structure| structure.name == name), "{name}");
        }
    }

    #[test]
    fn nesting_has_an_end() {
        let mut node = Schema::of("v1", "ConfigMap").root();
        for _ in 0..=MAX_DEPTH {
            node = node.field("x");
        }
        assert!(node.is_too_deep() && node.is_atomic());
    }
}
