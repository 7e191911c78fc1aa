//go:build tools

// Package tools pins the registry server that charts are fetched from in tests.
package tools

import _ "github.com/distribution/distribution/v3/cmd/registry"
