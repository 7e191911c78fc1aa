// Records what Helm 3.22 finds wrong with charts, shows of them and packs them as, as a golden file for crates/chart.
// Usage: go run . FOLDER ; go run . deprecated > FILE
//
// tools.jsonl: {"tree", "values", "kube", "skip"}: a folder of {"path", "text" or "dir"}, and what it is linted with;
// "lint": the messages as [severity, path, text], or "lint_error"; "show": the texts by part, or "show_error";
// "pack": the files of the archive as [name, text], or "pack_error". {dir} is the folder of the row.
package main

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/deprecation"
	"k8s.io/client-go/kubernetes/scheme"
)

type node struct {
	Path string `json:"path"`
	Text string `json:"text,omitempty"`
	Dir  bool   `json:"dir,omitempty"`
}

type row map[string]any

var rows []row

var severities = []string{"UNKNOWN", "INFO", "WARNING", "ERROR"}

func main() {
	log.SetOutput(io.Discard)
	if os.Args[1] == "deprecated" {
		table()
		return
	}
	cases()
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	must(encoder.Encode(row{"recorded_by": "helm.sh/helm/v3 v3.22.0, " + runtime.Version()}))
	for _, row := range rows {
		must(encoder.Encode(row))
	}
	must(os.WriteFile(filepath.Join(os.Args[1], "tools.jsonl"), []byte(out.String()), 0o644))
}

func must(err error) {
	if err != nil {
		log.Panic(err)
	}
}

// What a row is linted with.
type with struct {
	values string
	kube   string
	skip   bool
}

func record(how with, nodes ...node) {
	dir, err := os.MkdirTemp("", "lint")
	must(err)
	dir, err = filepath.EvalSymlinks(dir)
	must(err)
	defer os.RemoveAll(dir)
	top := filepath.Join(dir, "c")
	must(os.MkdirAll(top, 0o755))
	for _, n := range nodes {
		path := filepath.Join(top, n.Path)
		must(os.MkdirAll(filepath.Dir(path), 0o755))
		if n.Dir {
			must(os.MkdirAll(path, 0o755))
		} else {
			must(os.WriteFile(path, []byte(n.Text), 0o644))
		}
	}
	if how.kube == "" {
		how.kube = "v1.36.0"
	}
	r := row{"tree": nodes, "kube": how.kube}
	if how.values != "" {
		r["values"] = how.values
	}
	if how.skip {
		r["skip"] = true
	}
	place := func(text string) string { return strings.ReplaceAll(text, dir, "{dir}") }
	lint(r, top, how, place)
	show(r, top, place)
	pack(r, top, dir, place)
	rows = append(rows, r)
}

func lint(r row, top string, how with, place func(string) string) {
	values := map[string]any{}
	if how.values != "" {
		var err error
		values, err = chartutil.ReadValues([]byte(how.values))
		must(err)
	}
	kube, err := chartutil.ParseKubeVersion(how.kube)
	must(err)
	client := action.NewLint()
	client.Namespace = "ns"
	client.KubeVersion = kube
	client.SkipSchemaValidation = how.skip
	result := client.Run([]string{top}, values)
	messages := [][]string{}
	for _, m := range result.Messages {
		messages = append(messages, []string{severities[m.Severity], place(m.Path), place(m.Err.Error())})
	}
	if len(result.Messages) == 0 && len(result.Errors) > 0 {
		r["lint_error"] = place(result.Errors[0].Error())
		return
	}
	r["lint"] = messages
}

func show(r row, top string, place func(string) string) {
	shown := map[string]string{}
	for _, part := range []action.ShowOutputFormat{action.ShowAll, action.ShowChart, action.ShowValues, action.ShowReadme, action.ShowCRDs} {
		client := action.NewShowWithConfig(part, &action.Configuration{})
		text, err := client.Run(top)
		if err != nil {
			r["show_error"] = place(err.Error())
			return
		}
		shown[string(part)] = text
	}
	r["show"] = shown
}

func pack(r row, top, dir string, place func(string) string) {
	chart, err := loader.LoadDir(top)
	if err != nil {
		return
	}
	path, err := chartutil.Save(chart, filepath.Join(dir, "out"))
	if err != nil {
		r["pack_error"] = place(err.Error())
		return
	}
	file, err := os.Open(path)
	must(err)
	defer file.Close()
	zip, err := gzip.NewReader(file)
	must(err)
	entries := [][]string{}
	archive := tar.NewReader(zip)
	for {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		must(err)
		text, err := io.ReadAll(archive)
		must(err)
		entries = append(entries, []string{header.Name, string(text)})
	}
	r["pack"] = entries
}

// Prints the table of APIs that are deprecated.
func table() {
	known := k8sruntime.NewScheme()
	must(scheme.AddToScheme(known))
	var lines []string
	for gvk := range known.AllKnownTypes() {
		object, err := known.New(gvk)
		must(err)
		object.GetObjectKind().SetGroupVersionKind(gvk)
		since, ok := object.(interface{ APILifecycleDeprecated() (int, int) })
		if !ok {
			continue
		}
		major, minor := since.APILifecycleDeprecated()
		if major == 0 && minor == 0 {
			continue
		}
		gone := deprecation.RemovedRelease(object)
		if gone == "" {
			gone = "-"
		}
		instead := "- -"
		if other, ok := object.(interface {
			APILifecycleReplacement() schemaKind
		}); ok {
			if kind := other.APILifecycleReplacement(); !kind.Empty() {
				instead = kind.GroupVersion().String() + " " + kind.Kind
			}
		}
		lines = append(lines, fmt.Sprintf("%s %s %d.%d %s %s", gvk.GroupVersion(), gvk.Kind, major, minor, gone, instead))
	}
	sort.Strings(lines)
	fmt.Println(strings.Join(lines, "\n"))
}
