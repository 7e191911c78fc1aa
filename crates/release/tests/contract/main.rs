//! Tests of the release engine against a real control plane.
