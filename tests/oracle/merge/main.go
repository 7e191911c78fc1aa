// Records how objects merge, for crates/release. Usage:
//
//	go run . table FILE            how the fields of built-in kinds merge; asks the API server of KUBECONFIG by kubectl
//	go run . triples SEED N FILE   N merges of objects put together by chance, as Helm 3.22 makes its patches
//	go run . managed FILE          managed fields before and after the move to server-side apply
//
// A line of triples: "original", "next" and "live" object; "patch" as Helm sends it, or "error"; "patched": the live object
// after the patch; for custom resources also "taken_over": the patch with --take-ownership, or "taken_over_error".
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"
	"strings"
)

func main() {
	log.SetFlags(0)
	arguments := os.Args[1:]
	switch {
	case len(arguments) == 2 && arguments[0] == "table":
		writeTable(arguments[1])
	case len(arguments) == 4 && arguments[0] == "triples":
		seed, err := strconv.ParseUint(arguments[1], 10, 64)
		must(err)
		count, err := strconv.Atoi(arguments[2])
		must(err)
		write(arguments[3], triples(seed, count))
	case len(arguments) == 2 && arguments[0] == "managed":
		write(arguments[1], managed())
	default:
		log.Fatal("usage: go run . table FILE | triples SEED COUNT FILE | managed FILE")
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

type row map[string]any

func write(path string, rows []row) {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(row{"recorded_by": fmt.Sprintf("k8s.io/apimachinery v0.37.0, %s", runtime.Version())}))
	for _, row := range rows {
		must(encoder.Encode(row))
	}
	must(os.WriteFile(path, []byte(out.String()), 0o644))
}
