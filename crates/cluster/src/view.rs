//! Objects as the API server shows them: whole, or as rows of a table with the columns of their kind.

use serde_json::Value;

use crate::{ApiResource, Budget, Cluster, ClusterError, client::Call};

/// Asks for a table; servers that make none answer with the object.
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

/// In which form objects are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// As they are.
    Whole,
    /// As a `Table` of the group `meta.k8s.io`, with a row for each; or whole where the server makes no tables.
    Table,
}

impl View {
    fn accept(self, call: Call) -> Call {
        match self {
            Self::Whole => call,
            Self::Table => Call {
                accept: TABLE,
                ..call
            },
        }
    }
}

impl Cluster {
    /// Reads one object in some form, `None` if it is absent.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`] but not found.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn view_object(
        &self,
        resource: &ApiResource,
        (namespace, name): (&str, &str),
        view: View,
        budget: &Budget,
    ) -> Result<Option<Value>, ClusterError> {
        let operation = resource.operation("get", namespace, name);
        let call = Call::get(operation, resource.path(namespace, Some(name)));
        self.call_optional(&view.accept(call), budget).await
    }

    /// Reads the objects of a namespace with some labels, as a list or as one table.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`].
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn view_labelled(
        &self,
        resource: &ApiResource,
        namespace: &str,
        labels: &str,
        view: View,
        budget: &Budget,
    ) -> Result<Value, ClusterError> {
        let operation = resource.operation("list", namespace, "*");
        let call = Call::get(operation, resource.path(namespace, None));
        let call = view.accept(call.query("labelSelector", labels));
        self.call_json(&call, budget).await
    }
}
