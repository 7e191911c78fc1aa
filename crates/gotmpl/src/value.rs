//! Values as Go templates see them.
//!
//! Duty: typed values with Go's sharing: numbers keep their Go type, lists and maps are references that several holders
//! share and may change, and a host adds types of its own as [`Object`]s or as named lists and maps with methods.

use std::any::Any;
use std::cell::{Cell, Ref, RefCell};
use std::fmt;
use std::rc::Rc;

use crate::entries::Entries;
use crate::func::MethodDef;
use crate::text::{Str, charge, release};

/// What one element of a list or map costs, by estimate.
const ELEMENT_COST: usize = 48;
/// What a list or map costs beside its elements.
const CONTAINER_COST: usize = 96;
/// What the first elements of a map cost beside that: maps have room for eleven from the start.
const MAP_COST: usize = 460;

/// A value of Go's type system, as far as templates meet it.
///
/// Copying is cheap: strings, lists, maps and objects are shared, not copied.
#[derive(Clone)]
pub enum Value {
    /// `nil` without a type.
    Nil,
    /// `bool`.
    Bool(bool),
    /// `int`: what number constants are.
    Int(i64),
    /// `int64`: what `--set` and sprig's sums give.
    Int64(i64),
    /// `uint8`: what indexing a string gives.
    Uint8(u8),
    /// `uint64`.
    Uint64(u64),
    /// `float64`: what numbers in YAML and JSON are.
    Float(f64),
    /// `complex128`: real and imaginary part.
    Complex(f64, f64),
    /// `string`.
    String(Str),
    /// `[]byte`.
    Bytes(Str),
    /// Any other slice.
    List(List),
    /// A map with string keys.
    Map(Map),
    /// A value of a type the host defines.
    Object(Rc<dyn Object>),
}

/// Go's kinds, as `kindOf` names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No value at all.
    Invalid,
    /// `bool`.
    Bool,
    /// `int`.
    Int,
    /// `int64`.
    Int64,
    /// `uint8`.
    Uint8,
    /// `uint64`.
    Uint64,
    /// `float64`.
    Float64,
    /// `complex128`.
    Complex128,
    /// `string`.
    String,
    /// Lists.
    Slice,
    /// Maps.
    Map,
    /// Structs.
    Struct,
    /// Pointers to structs.
    Pointer,
}

impl Kind {
    /// The name Go gives it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint64 => "uint64",
            Self::Float64 => "float64",
            Self::Complex128 => "complex128",
            Self::String => "string",
            Self::Slice => "slice",
            Self::Map => "map",
            Self::Struct => "struct",
            Self::Pointer => "ptr",
        }
    }
}

/// The element type of a list or map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elem {
    /// `interface {}`.
    Any,
    /// `string`.
    String,
    /// `int`.
    Int,
    /// `[]interface {}`.
    List,
    /// `map[string]interface {}`.
    Map,
    /// `[]uint8`.
    Bytes,
    /// A type of the host, by its Go name.
    Host(&'static str),
}

impl Elem {
    /// The Go name of the type.
    #[must_use]
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Any => "interface {}",
            Self::String => "string",
            Self::Int => "int",
            Self::List => "[]interface {}",
            Self::Map => "map[string]interface {}",
            Self::Bytes => "[]uint8",
            Self::Host(name) => name,
        }
    }

    /// The zero value of the type.
    fn zero(self) -> Value {
        match self {
            Self::Any | Self::Host(_) => Value::Nil,
            Self::String => Value::String(Str::default()),
            Self::Int => Value::Int(0),
            Self::List => Value::List(List::nil(Self::Any)),
            Self::Map => Value::Map(Map::nil()),
            Self::Bytes => Value::Bytes(Str::default()),
        }
    }
}

/// A named Go type over a list or map, with the methods templates may call.
#[derive(Debug)]
pub struct NamedType {
    /// The name with its package, such as `chartutil.Values`.
    pub name: &'static str,
    /// The methods, in any order.
    pub methods: &'static [MethodDef],
}

impl NamedType {
    fn method(&'static self, name: &[u8]) -> Option<&'static MethodDef> {
        self.methods
            .iter()
            .find(|method| method.name.as_bytes() == name)
    }
}

/// A value of a host's own type: a struct, a pointer to one, or something that acts like a map.
///
/// Templates reach its fields and methods by name, as Go does with exported ones.
pub trait Object: Any {
    /// The Go name of the type, such as `*semver.Version`.
    fn type_name(&self) -> &str;

    /// The kind templates see; [`Kind::Struct`] unless said otherwise.
    fn kind(&self) -> Kind {
        Kind::Struct
    }

    /// The field of this name; `None` if the type has no such field.
    fn field(&self, name: &str) -> Option<Value> {
        let _ = name;
        None
    }

    /// The method of this name.
    fn method(&self, name: &str) -> Option<&'static MethodDef> {
        let _ = name;
        None
    }

    /// The entries by key, if the object acts as a map of its kind: `range`, `len` and `index` then work on it.
    fn entries(&self) -> Option<Vec<(Str, Value)>> {
        None
    }

    /// What `%v` prints; for a struct Go prints its fields in braces.
    fn print(&self) -> String;

    /// What an action prints: as `%v`, unless the type prints itself only where Go can take its address, as it can in
    /// a field of a struct behind a pointer.
    fn shown(&self) -> String {
        self.print()
    }

    /// What JSON holds for the object, with the keys of a struct sorted; `None` if it cannot be encoded.
    fn json(&self) -> Option<Value> {
        None
    }

    /// The fields that JSON holds, for structs: Go writes them in this order, where a map's would be sorted.
    fn json_fields(&self) -> Option<Vec<(Str, Value)>> {
        None
    }

    /// The whole number it is, for types over an integer such as Go's `time.Month`.
    fn integer(&self) -> Option<i64> {
        None
    }

    /// Whether it equals another object, as `eq` and `deepEqual` ask.
    fn equal(&self, other: &dyn Object) -> bool;

    /// The object as [`Any`], for methods that need their receiver back.
    fn as_any(&self) -> &dyn Any;
}

/// A slice: a shared list whose elements may be sorted in place.
#[derive(Clone)]
pub struct List {
    data: Rc<ListData>,
    named: Option<&'static NamedType>,
}

struct ListData {
    elem: Elem,
    nil: bool,
    items: RefCell<Vec<Value>>,
    charged: usize,
}

impl List {
    /// A list of any values (`[]interface {}`).
    #[must_use]
    pub fn new(items: Vec<Value>) -> Self {
        Self::typed(Elem::Any, items)
    }

    /// A list whose elements have this type. The caller sees to it that they do.
    #[must_use]
    pub fn typed(elem: Elem, items: Vec<Value>) -> Self {
        let charged = CONTAINER_COST + items.len() * ELEMENT_COST;
        charge(charged);
        Self {
            data: Rc::new(ListData {
                elem,
                nil: false,
                items: RefCell::new(items),
                charged,
            }),
            named: None,
        }
    }

    /// A nil slice of this element type: empty, equal to nil, `null` in JSON.
    #[must_use]
    pub fn nil(elem: Elem) -> Self {
        charge(CONTAINER_COST);
        let items = RefCell::new(Vec::new());
        Self {
            data: Rc::new(ListData {
                elem,
                nil: true,
                items,
                charged: CONTAINER_COST,
            }),
            named: None,
        }
    }

    /// A list of strings (`[]string`).
    #[must_use]
    pub fn strings(items: impl IntoIterator<Item = Str>) -> Self {
        Self::typed(Elem::String, items.into_iter().map(Value::String).collect())
    }

    /// The same list seen as a named type.
    #[must_use]
    pub fn with_type(mut self, named: &'static NamedType) -> Self {
        self.named = Some(named);
        self
    }

    /// How many elements it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.data.items.borrow().len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is a nil slice.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        self.data.nil
    }

    /// The type of its elements.
    #[must_use]
    pub fn elem(&self) -> Elem {
        self.data.elem
    }

    /// The named type it is seen as.
    #[must_use]
    pub fn named(&self) -> Option<&'static NamedType> {
        self.named
    }

    /// One element.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Value> {
        self.data.items.borrow().get(index).cloned()
    }

    /// The elements. Hold the borrow only shortly: sorting in place needs it.
    #[must_use]
    pub fn items(&self) -> Ref<'_, Vec<Value>> {
        self.data.items.borrow()
    }

    /// Changes the elements' order in place, as Go's sorting does for all holders of the slice.
    pub(crate) fn reorder(&self, change: impl FnOnce(&mut Vec<Value>)) {
        if let Ok(mut items) = self.data.items.try_borrow_mut() {
            change(&mut items);
        }
    }

    /// Whether both are the same storage.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.data, &other.data)
    }

    fn type_name(&self) -> String {
        match self.named {
            Some(named) => named.name.to_owned(),
            None => format!("[]{}", self.data.elem.type_name()),
        }
    }
}

impl Drop for ListData {
    fn drop(&mut self) {
        release(self.charged);
        let items = self.items.get_mut();
        if items.iter().any(owns_container) {
            drop_flat(std::mem::take(items));
        }
    }
}

/// A map with string keys, shared by all who hold it, ordered by key bytes as Go prints and ranges.
#[derive(Clone)]
pub struct Map {
    data: Rc<MapData>,
    named: Option<&'static NamedType>,
}

struct MapData {
    elem: Elem,
    nil: bool,
    entries: RefCell<Entries>,
    charged: Cell<usize>,
}

impl Default for Map {
    fn default() -> Self {
        Self::new()
    }
}

impl Map {
    /// An empty `map[string]interface {}`.
    #[must_use]
    pub fn new() -> Self {
        Self::typed(Elem::Any, Entries::default())
    }

    /// A map whose elements have this type. The caller sees to it that they do.
    #[must_use]
    pub fn typed(elem: Elem, entries: Entries) -> Self {
        let first = if entries.is_empty() { 0 } else { MAP_COST };
        let charged = CONTAINER_COST + first + entries.len() * ELEMENT_COST;
        charge(charged);
        Self {
            data: Rc::new(MapData {
                elem,
                nil: false,
                entries: RefCell::new(entries),
                charged: Cell::new(charged),
            }),
            named: None,
        }
    }

    /// A nil map: empty, and an error to write to.
    #[must_use]
    pub fn nil() -> Self {
        charge(CONTAINER_COST);
        Self {
            data: Rc::new(MapData {
                elem: Elem::Any,
                nil: true,
                entries: RefCell::default(),
                charged: Cell::new(CONTAINER_COST),
            }),
            named: None,
        }
    }

    /// The same map seen as a named type: writes through either are seen by both.
    #[must_use]
    pub fn with_type(mut self, named: &'static NamedType) -> Self {
        self.named = Some(named);
        self
    }

    /// The same map without its named type.
    #[must_use]
    pub fn plain(mut self) -> Self {
        self.named = None;
        self
    }

    /// How many entries it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.data.entries.borrow().len()
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether it is a nil map.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        self.data.nil
    }

    /// The type of its elements.
    #[must_use]
    pub fn elem(&self) -> Elem {
        self.data.elem
    }

    /// The named type it is seen as.
    #[must_use]
    pub fn named(&self) -> Option<&'static NamedType> {
        self.named
    }

    /// The element with this key.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<Value> {
        self.data.entries.borrow().get(key).cloned()
    }

    /// Whether there is an element with this key.
    #[must_use]
    pub fn contains(&self, key: &[u8]) -> bool {
        self.data.entries.borrow().get(key).is_some()
    }

    /// Sets an element, for all who share the map. A nil map stays as it is.
    pub fn set(&self, key: Str, value: Value) {
        if self.data.nil {
            return;
        }
        // Nobody holds a borrow while template code runs; a host that does gets no write rather than a panic.
        if let Ok(mut entries) = self.data.entries.try_borrow_mut()
            && entries.insert(key, value).is_none()
        {
            let first = if entries.len() == 1 { MAP_COST } else { 0 };
            charge(first + ELEMENT_COST);
            self.data
                .charged
                .set(self.data.charged.get() + first + ELEMENT_COST);
        }
    }

    /// Takes an element out, for all who share the map.
    pub fn remove(&self, key: &[u8]) -> Option<Value> {
        let removed = self.data.entries.try_borrow_mut().ok()?.remove(key);
        if removed.is_some() {
            let back = ELEMENT_COST.min(self.data.charged.get());
            release(back);
            self.data.charged.set(self.data.charged.get() - back);
        }
        removed
    }

    /// The entries in key order. Hold the borrow only shortly: writing needs it.
    #[must_use]
    pub fn entries(&self) -> Ref<'_, Entries> {
        self.data.entries.borrow()
    }

    /// Whether both are the same storage.
    #[must_use]
    pub fn same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.data, &other.data)
    }

    /// What a missing key gives: the zero of the element type.
    pub(crate) fn zero(&self) -> Value {
        self.data.elem.zero()
    }

    fn type_name(&self) -> String {
        match self.named {
            Some(named) => named.name.to_owned(),
            None => format!("map[string]{}", self.data.elem.type_name()),
        }
    }
}

impl Drop for MapData {
    fn drop(&mut self) {
        release(self.charged.get());
        let entries = self.entries.get_mut();
        if entries.values().any(owns_container) {
            drop_flat(std::mem::take(entries).into_values());
        }
    }
}

impl FromIterator<(Str, Value)> for Map {
    fn from_iter<I: IntoIterator<Item = (Str, Value)>>(entries: I) -> Self {
        Self::typed(Elem::Any, entries.into_iter().collect())
    }
}

impl FromIterator<Value> for List {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Self {
        Self::new(items.into_iter().collect())
    }
}

/// Whether dropping the value would drop a list or map as well.
fn owns_container(value: &Value) -> bool {
    match value {
        Value::List(list) => Rc::strong_count(&list.data) == 1,
        Value::Map(map) => Rc::strong_count(&map.data) == 1,
        _ => false,
    }
}

/// Drops nested values one by one: a chain of a million lists must not use a million stack frames.
fn drop_flat(mut pending: Vec<Value>) {
    while let Some(value) = pending.pop() {
        match value {
            Value::List(list) => {
                if let Ok(mut data) = Rc::try_unwrap(list.data) {
                    pending.append(data.items.get_mut());
                }
            }
            Value::Map(map) => {
                if let Ok(mut data) = Rc::try_unwrap(map.data) {
                    pending.extend(std::mem::take(data.entries.get_mut()).into_values());
                }
            }
            _ => {}
        }
    }
}

impl Value {
    /// A string value.
    #[must_use]
    pub fn string(text: impl Into<Str>) -> Self {
        Self::String(text.into())
    }

    /// A `[]interface {}`.
    #[must_use]
    pub fn list(items: Vec<Self>) -> Self {
        Self::List(List::new(items))
    }

    /// A `map[string]interface {}` of these entries.
    #[must_use]
    pub fn map<K: Into<Str>>(entries: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(
            entries
                .into_iter()
                .map(|(key, value)| (key.into(), value))
                .collect(),
        )
    }

    /// The Go kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::Nil => Kind::Invalid,
            Self::Bool(_) => Kind::Bool,
            Self::Int(_) => Kind::Int,
            Self::Int64(_) => Kind::Int64,
            Self::Uint8(_) => Kind::Uint8,
            Self::Uint64(_) => Kind::Uint64,
            Self::Float(_) => Kind::Float64,
            Self::Complex(..) => Kind::Complex128,
            Self::String(_) => Kind::String,
            Self::Bytes(_) | Self::List(_) => Kind::Slice,
            Self::Map(_) => Kind::Map,
            Self::Object(object) => object.kind(),
        }
    }

    /// The Go name of its type; `<nil>` for nil.
    #[must_use]
    pub fn type_name(&self) -> String {
        match self {
            Self::Nil => "<nil>".to_owned(),
            Self::Bytes(_) => "[]uint8".to_owned(),
            Self::List(list) => list.type_name(),
            Self::Map(map) => map.type_name(),
            Self::Object(object) => object.type_name().to_owned(),
            _ => self.kind().name().to_owned(),
        }
    }

    /// Go's truth: not the zero of its type, and not empty.
    #[must_use]
    pub fn truth(&self) -> bool {
        match self {
            Self::Nil => false,
            Self::Bool(b) => *b,
            Self::Int(i) | Self::Int64(i) => *i != 0,
            Self::Uint8(u) => *u != 0,
            Self::Uint64(u) => *u != 0,
            Self::Float(f) => *f != 0.0,
            Self::Complex(re, im) => *re != 0.0 || *im != 0.0,
            Self::String(s) | Self::Bytes(s) => !s.is_empty(),
            Self::List(list) => !list.is_empty(),
            Self::Map(map) => !map.is_empty(),
            Self::Object(object) => match object.kind() {
                Kind::Map | Kind::Slice => object.entries().is_some_and(|e| !e.is_empty()),
                _ => true,
            },
        }
    }

    /// The bytes of a string value.
    #[must_use]
    pub fn as_str(&self) -> Option<&Str> {
        match self {
            Self::String(s) => Some(s),
            _ => None,
        }
    }

    /// The method of a named list or map, or of an object.
    pub(crate) fn method(&self, name: &[u8]) -> Option<&'static MethodDef> {
        match self {
            Self::Map(map) => map.named?.method(name),
            Self::List(list) => list.named?.method(name),
            Self::Object(object) => object.method(std::str::from_utf8(name).ok()?),
            _ => None,
        }
    }

    /// Whether it is nil, or a nil slice or map.
    #[must_use]
    pub fn is_nil(&self) -> bool {
        match self {
            Self::Nil => true,
            Self::List(list) => list.is_nil(),
            Self::Map(map) => map.is_nil(),
            _ => false,
        }
    }
}

impl fmt::Debug for Map {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It may hold itself.
        write!(f, "Map(len {})", self.len())
    }
}

impl fmt::Debug for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "List(len {})", self.len())
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Containers may hold themselves: show their size, not their content.
        match self {
            Self::Nil => f.write_str("Nil"),
            Self::Bool(b) => write!(f, "Bool({b})"),
            Self::Int(i) => write!(f, "Int({i})"),
            Self::Int64(i) => write!(f, "Int64({i})"),
            Self::Uint8(u) => write!(f, "Uint8({u})"),
            Self::Uint64(u) => write!(f, "Uint64({u})"),
            Self::Float(n) => write!(f, "Float({n})"),
            Self::Complex(re, im) => write!(f, "Complex({re}, {im})"),
            Self::String(s) => write!(f, "String({s:?})"),
            Self::Bytes(s) => write!(f, "Bytes({s:?})"),
            Self::List(list) => write!(f, "List(len {})", list.len()),
            Self::Map(map) => write!(f, "Map(len {})", map.len()),
            Self::Object(object) => write!(f, "Object({})", object.type_name()),
        }
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Self::Bool(b)
    }
}

impl From<f64> for Value {
    fn from(f: f64) -> Self {
        Self::Float(f)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text.into())
    }
}

impl From<Str> for Value {
    fn from(text: Str) -> Self {
        Self::String(text)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        Self::String(bytes.into())
    }
}

impl From<List> for Value {
    fn from(list: List) -> Self {
        Self::List(list)
    }
}

impl From<Map> for Value {
    fn from(map: Map) -> Self {
        Self::Map(map)
    }
}

#[cfg(test)]
mod tests {
    use super::{List, Map, Value};
    use crate::text::Str;

    #[test]
    fn maps_are_shared_by_all_who_hold_them() {
        let one = Map::new();
        let two = one.clone();
        two.set(Str::from("a"), Value::Int(1));
        assert!(matches!(one.get(b"a"), Some(Value::Int(1))));
    }

    #[test]
    fn a_million_nested_lists_are_dropped_without_a_deep_stack() {
        let mut value = Value::Nil;
        for _ in 0..1_000_000 {
            value = Value::List(List::new(vec![value]));
        }
        drop(value);
    }

    #[test]
    fn type_names_are_those_of_go() {
        assert_eq!(Value::list(Vec::new()).type_name(), "[]interface {}");
        assert_eq!(
            Value::Map(Map::new()).type_name(),
            "map[string]interface {}"
        );
        assert_eq!(Value::Float(1.0).type_name(), "float64");
    }
}
