//! What the credential may do, as the server sees it (S-6.16).

use http::Method;
use serde_json::{Value, json};

use crate::{
    budget::Budget,
    client::{Call, Cluster},
    error::{ClusterError, Operation},
};

/// A right to ask about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// The verb, such as `patch`.
    pub verb: String,
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource in the plural, such as `deployments`.
    pub resource: String,
    /// The subresource, such as `scale`; empty for the object itself.
    pub subresource: String,
    /// The namespace; empty for all namespaces or cluster-wide resources.
    pub namespace: String,
    /// The name of one object; empty for any.
    pub name: String,
}

impl Cluster {
    /// Asks whether the credential has a right. The answer is the server's opinion; it reads
    /// nothing else and changes nothing.
    ///
    /// # Errors
    ///
    /// Any [`ClusterError`]; that the right is lacking is not an error.
    ///
    /// # Cancel safety
    ///
    /// Safe to drop.
    pub async fn allowed(&self, access: &Access, budget: &Budget) -> Result<bool, ClusterError> {
        let operation = Operation::new("create", "selfsubjectaccessreviews", None, "access review");
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let call = Call::new(operation, Method::POST, path).json(&json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": {
                "verb": access.verb,
                "group": access.group,
                "resource": access.resource,
                "subresource": access.subresource,
                "namespace": access.namespace,
                "name": access.name,
            }},
        }));
        let answer: Value = self.call_json(&call, budget).await?;
        Ok(answer
            .pointer("/status/allowed")
            .and_then(Value::as_bool)
            .unwrap_or(false))
    }
}
