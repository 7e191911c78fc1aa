//go:build tools

// Package tools pins the Helm 3 that releases are tried with in tests.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
