//! Go structs as templates see them.
//!
//! Duty: one object for all of Helm's types: fields by name, methods, what `%v` and JSON make of it.

use std::any::Any;

use kzero_gotmpl::{Kind, Map, MethodDef, Object, Str, Value};

use crate::convert::shown;

/// A struct type of Go.
#[derive(Debug)]
pub(super) struct Type {
    /// The name with its package and, for a pointer, its star.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) fields: &'static [Field],
    pub(super) methods: &'static [MethodDef],
    /// Whether the first field is embedded: its fields are fields of this type too.
    pub(super) embeds: bool,
    /// The field that an action prints where Go finds a `String` method on the struct's address.
    pub(super) text: Option<usize>,
}

/// A field of a struct.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) name: &'static str,
    /// The name in JSON.
    pub(super) json: &'static str,
    /// Whether JSON leaves it out when it is empty.
    pub(super) omit: bool,
}

/// A field whose name in JSON is its own.
pub(super) const fn field(name: &'static str) -> Field {
    Field {
        name,
        json: name,
        omit: false,
    }
}

/// A field that JSON names otherwise and leaves out when it is empty.
pub(super) const fn optional(name: &'static str, json: &'static str) -> Field {
    Field {
        name,
        json,
        omit: true,
    }
}

/// A value of a struct type.
pub(super) struct Record {
    pub(super) ty: &'static Type,
    /// One for each field.
    pub(super) values: Vec<Value>,
}

impl Record {
    pub(super) fn value(ty: &'static Type, values: Vec<Value>) -> Value {
        Value::Object(std::rc::Rc::new(Self { ty, values }))
    }

    fn embedded(&self) -> Option<&Self> {
        match self.values.first() {
            Some(Value::Object(object)) if self.ty.embeds => object.as_any().downcast_ref(),
            _ => None,
        }
    }

    fn put_json(&self, fields: &mut Vec<(Str, Value)>) {
        if let Some(inner) = self.embedded() {
            inner.put_json(fields);
        }
        let skipped = usize::from(self.ty.embeds);
        for (field, value) in self.ty.fields.iter().zip(&self.values).skip(skipped) {
            // An object is a struct, which is never left out.
            if !field.omit || value.truth() {
                fields.push((Str::from(field.json), value.clone()));
            }
        }
    }
}

impl Object for Record {
    fn type_name(&self) -> &str {
        self.ty.name
    }

    fn kind(&self) -> Kind {
        self.ty.kind
    }

    fn field(&self, name: &str) -> Option<Value> {
        let at = self.ty.fields.iter().position(|field| field.name == name);
        match at {
            Some(at) => self.values.get(at).cloned(),
            None => self.embedded()?.field(name),
        }
    }

    fn method(&self, name: &str) -> Option<&'static MethodDef> {
        self.ty.methods.iter().find(|method| method.name == name)
    }

    fn print(&self) -> String {
        let fields: Vec<String> = self.values.iter().map(|value| shown("%v", value)).collect();
        let pointer = if self.ty.kind == Kind::Pointer {
            "&"
        } else {
            ""
        };
        format!("{pointer}{{{}}}", fields.join(" "))
    }

    fn shown(&self) -> String {
        match self.ty.text.and_then(|at| self.values.get(at)) {
            Some(text) => shown("%v", text),
            None => self.print(),
        }
    }

    fn json(&self) -> Option<Value> {
        Some(Value::Map(self.json_fields()?.into_iter().collect::<Map>()))
    }

    fn json_fields(&self) -> Option<Vec<(Str, Value)>> {
        let mut fields = Vec::new();
        self.put_json(&mut fields);
        Some(fields)
    }

    fn equal(&self, other: &dyn Object) -> bool {
        other
            .as_any()
            .downcast_ref::<Self>()
            .is_some_and(|other| std::ptr::eq(self.ty, other.ty) && self.print() == other.print())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
