//! Tests of the release engine that need no cluster.
