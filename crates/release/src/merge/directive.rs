//! The words of strategic merge patches.

/// In a map: what is done with the map itself.
pub(super) const PATCH: &str = "$patch";
/// Deletes the map, or the element of a list, that it is in.
pub(super) const DELETE: &str = "delete";
/// Replaces the map that it is in; as an element, the whole list.
pub(super) const REPLACE: &str = "replace";
/// Lists the fields of the map that may stay.
pub(super) const RETAIN_KEYS: &str = "$retainKeys";

const ELEMENT_ORDER: &str = "$setElementOrder";
const DELETED_MEMBERS: &str = "$deleteFromPrimitiveList";

/// The field that orders the elements of a list beside it.
pub(super) fn element_order(list: &str) -> String {
    format!("{ELEMENT_ORDER}/{list}")
}

/// The field that names the members which leave a set beside it.
pub(super) fn deleted_members(set: &str) -> String {
    format!("{DELETED_MEMBERS}/{set}")
}

/// The list that an order is for.
pub(super) fn ordered_list(field: &str) -> Option<&str> {
    field.strip_prefix(ELEMENT_ORDER)?.strip_prefix('/')
}

/// The set that deletions are for.
pub(super) fn thinned_set(field: &str) -> Option<&str> {
    field.strip_prefix(DELETED_MEMBERS)?.strip_prefix('/')
}

/// Whether a name in a patch is no field of the object.
pub(super) fn is_directive(name: &str) -> bool {
    name == PATCH
        || name == RETAIN_KEYS
        || ordered_list(name).is_some()
        || thinned_set(name).is_some()
}
