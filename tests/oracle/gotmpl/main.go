// Command gotmpl records what Go's text/template and sprig make of templates, as goldens for the Rust engine.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode/utf8"

	"github.com/Masterminds/sprig/v3"
)

const goldenDir = "../../../crates/gotmpl/tests/golden"

// result is one line of a golden file.
type result struct {
	Template   string `json:"template"`
	Template64 string `json:"template64,omitempty"`
	Out        string `json:"out,omitempty"`
	Out64      string `json:"out64,omitempty"`
	Err        string `json:"err,omitempty"`
}

// header is the first line: who made the file, from which data.
type header struct {
	Go       string          `json:"go"`
	Versions []string        `json:"versions"`
	Missing  string          `json:"missing"`
	Data     json.RawMessage `json:"data"`
}

func main() {
	time.Local = time.UTC
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: gotmpl record | random SEED COUNT"))
	}
	data, err := os.ReadFile("cases/data.json")
	fail(err)
	switch os.Args[1] {
	case "record":
		files, err := filepath.Glob("cases/*.txt")
		fail(err)
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".txt")
			write(name, data, readCases(file))
		}
		write("printf-matrix", data, matrix())
		writeSignatures()
	case "random":
		seed, err := strconv.ParseInt(os.Args[2], 10, 64)
		fail(err)
		count, err := strconv.Atoi(os.Args[3])
		fail(err)
		write(fmt.Sprintf("random-%d", seed), data, randomTemplates(seed, count))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func readCases(file string) []string {
	text, err := os.ReadFile(file)
	fail(err)
	var cases []string
	for number, line := range strings.Split(string(text), "\n") {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, `"`):
			var decoded string
			if err := json.Unmarshal([]byte(line), &decoded); err != nil {
				fail(fmt.Errorf("%s:%d: %w", file, number+1, err))
			}
			cases = append(cases, decoded)
		default:
			cases = append(cases, line)
		}
	}
	return cases
}

func versions() []string {
	info, _ := debug.ReadBuildInfo()
	var list []string
	for _, dep := range info.Deps {
		list = append(list, dep.Path+"@"+dep.Version)
	}
	sort.Strings(list)
	return list
}

func write(name string, data []byte, templates []string) {
	var compact bytes.Buffer
	fail(json.Compact(&compact, data))
	var out bytes.Buffer
	encode := json.NewEncoder(&out)
	encode.SetEscapeHTML(false)
	missing := "zero"
	if rest, ok := strings.CutPrefix(name, "missing-"); ok {
		missing = rest
	}
	fail(encode.Encode(header{runtime.Version(), versions(), missing, compact.Bytes()}))
	for _, text := range templates {
		fail(encode.Encode(run(text, data, missing)))
	}
	fail(os.MkdirAll(goldenDir, 0o755))
	fail(os.WriteFile(filepath.Join(goldenDir, name+".jsonl"), out.Bytes(), 0o644))
	fmt.Println(name, len(templates))
}

// signature is what one function takes, in Go's words.
type signature struct {
	Name     string   `json:"name"`
	In       []string `json:"in"`
	Variadic bool     `json:"variadic"`
}

// writeSignatures records what all functions take that Helm keeps, Go's own aside.
func writeSignatures() {
	funcs := sprig.TxtFuncMap()
	delete(funcs, "env")
	delete(funcs, "expandenv")
	var list []signature
	for name, function := range funcs {
		typ := reflect.TypeOf(function)
		sig := signature{Name: name, In: []string{}, Variadic: typ.IsVariadic()}
		for i := range typ.NumIn() {
			in := typ.In(i)
			if typ.IsVariadic() && i == typ.NumIn()-1 {
				in = in.Elem()
			}
			sig.In = append(sig.In, in.String())
		}
		list = append(list, sig)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	var out bytes.Buffer
	encode := json.NewEncoder(&out)
	for _, sig := range list {
		fail(encode.Encode(sig))
	}
	fail(os.WriteFile(filepath.Join(goldenDir, "..", "signatures.jsonl"), out.Bytes(), 0o644))
}

func run(text string, raw []byte, missing string) result {
	res := result{Template: text}
	if !utf8.ValidString(text) {
		res.Template, res.Template64 = "", base64.StdEncoding.EncodeToString([]byte(text))
	}
	out, err := render(text, raw, missing)
	if err != nil {
		res.Err = err.Error()
		return res
	}
	if utf8.ValidString(out) {
		res.Out = out
	} else {
		res.Out64 = base64.StdEncoding.EncodeToString([]byte(out))
	}
	return res
}

func render(text string, raw []byte, missing string) (out string, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	var decoded any
	fail(json.Unmarshal(raw, &decoded))
	data := typed(decoded)

	root := template.New("root")
	root.Option("missingkey=" + missing)
	root.Funcs(functions(root))
	if _, err := root.New("t.yaml").Parse(text); err != nil {
		return "", err
	}
	var buf bytes.Buffer
	err = root.ExecuteTemplate(&buf, "t.yaml", data)
	return buf.String(), err
}

func functions(root *template.Template) template.FuncMap {
	funcs := sprig.TxtFuncMap()
	delete(funcs, "env")
	delete(funcs, "expandenv")
	funcs["include"] = func(name string, data any) (string, error) {
		var buf strings.Builder
		err := root.ExecuteTemplate(&buf, name, data)
		return buf.String(), err
	}
	return funcs
}

// typed turns tagged objects into values of the Go type they name.
func typed(value any) any {
	switch value := value.(type) {
	case []any:
		for i := range value {
			value[i] = typed(value[i])
		}
		return value
	case map[string]any:
		if len(value) == 1 {
			for key, inner := range value {
				switch key {
				case "$int":
					return int(inner.(float64))
				case "$int64":
					return int64(inner.(float64))
				case "$uint64":
					return uint64(inner.(float64))
				case "$strings":
					list := []string{}
					for _, item := range inner.([]any) {
						list = append(list, item.(string))
					}
					return list
				case "$ints":
					list := []int{}
					for _, item := range inner.([]any) {
						list = append(list, int(item.(float64)))
					}
					return list
				case "$strmap":
					m := map[string]string{}
					for k, v := range inner.(map[string]any) {
						m[k] = v.(string)
					}
					return m
				case "$bytes":
					decoded, err := base64.StdEncoding.DecodeString(inner.(string))
					fail(err)
					return decoded
				}
			}
		}
		for key := range value {
			value[key] = typed(value[key])
		}
		return value
	}
	return value
}
