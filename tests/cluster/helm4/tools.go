//go:build tools

// Package tools pins the Helm 4 that releases are tried with in tests.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
