// Records what Helm 3.22 makes of values and their schemas, as a golden file for crates/chart.
// Usage: go run . FOLDER [COUNT], COUNT cases being put together by chance.
//
// schema.jsonl: {"schema", "values", "errors"}: the texts that Helm gives, each run another one where the order of
// its maps decides; none where the values are good.
package main

import (
	"encoding/json"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
)

const runs = 120

type row struct {
	Schema string   `json:"schema"`
	Values string   `json:"values"`
	Errors []string `json:"errors"`
}

var rows []row

func record(schema, values string) {
	var parsed map[string]any
	if err := json.Unmarshal([]byte(values), &parsed); err != nil {
		log.Panicf("%s: %v", values, err)
	}
	found := map[string]bool{}
	for range runs {
		err := chartutil.ValidateAgainstSingleSchema(parsed, []byte(schema))
		if err == nil {
			break
		}
		found[err.Error()] = true
	}
	errors := []string{}
	for text := range found {
		errors = append(errors, text)
	}
	sort.Strings(errors)
	// What comes from elsewhere is not Helm's to say.
	if len(errors) > 0 && strings.Contains(errors[0], "HTTP request failed") {
		return
	}
	rows = append(rows, row{schema, values, errors})
}

func main() {
	log.SetOutput(io.Discard)
	// Nothing is fetched: there is nobody at this address.
	must(os.Setenv("HTTP_PROXY", "http://127.0.0.1:1"))
	must(os.Setenv("HTTPS_PROXY", "http://127.0.0.1:1"))
	texts()
	keywords()
	drafts()
	formats()
	broken()
	references()
	trees()
	count := 1500
	if len(os.Args) > 2 {
		var err error
		count, err = strconv.Atoi(os.Args[2])
		must(err)
	}
	random(count)
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(map[string]string{"recorded_by": "helm.sh/helm/v3 v3.22.0, " + runtime.Version()}))
	for _, r := range rows {
		must(encoder.Encode(r))
	}
	must(os.WriteFile(filepath.Join(os.Args[1], "schema.jsonl"), []byte(out.String()), 0o644))
}

func must(err error) {
	if err != nil {
		log.Panic(err)
	}
}
