// Records what Helm 3.22 makes of charts in folders and archives, as a golden file for
// crates/chart. Usage: go run . FOLDER
//
// load.jsonl: {"tree", ...}: a folder of {"path", "text" or "base64" or "size" or "link" or "dir"};
// {"file", "archive", ...}: a file of that name and its bytes.
// Beside them "chart" (and "crds" if there are any) or "error", in which {dir} is the folder of the row.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strings"
	"unicode/utf8"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

type row map[string]any

type node struct {
	Path string `json:"path"`
	Text string `json:"text,omitempty"`
	// Instead of a text that is no UTF-8.
	Base64 string `json:"base64,omitempty"`
	// Bytes of a file that is filled with spaces up to there.
	Size int    `json:"size,omitempty"`
	Link string `json:"link,omitempty"`
	Dir  bool   `json:"dir,omitempty"`
}

type entry struct {
	name string
	text string
	kind byte
	mode int64
	link string
	pax  map[string]string
}

var rows []row

func main() {
	log.SetOutput(io.Discard)
	metadataRows()
	ignoreRows()
	classRows()
	linkRows()
	archiveRows()
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	rows = append([]row{{"recorded_by": "helm.sh/helm/v3 v3.22.0, " + runtime.Version()}}, rows...)
	for _, row := range rows {
		must(encoder.Encode(row))
	}
	must(os.WriteFile(filepath.Join(os.Args[1], "load.jsonl"), []byte(out.String()), 0o644))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func shown(c *chart.Chart) row {
	names := func(files []*chart.File) []any {
		list := []any{}
		for _, f := range files {
			data := string(f.Data)
			if len(data) > 200 {
				data = fmt.Sprintf("%d bytes", len(data))
			}
			list = append(list, []any{f.Name, data})
		}
		return list
	}
	children := append([]*chart.Chart{}, c.Dependencies()...)
	sort.SliceStable(children, func(i, j int) bool { return children[i].Name() < children[j].Name() })
	dependencies := []any{}
	for _, child := range children {
		dependencies = append(dependencies, shown(child))
	}
	values := c.Values
	if values == nil {
		values = map[string]any{}
	}
	found := row{"metadata": c.Metadata, "lock": c.Lock, "values": values, "templates": names(c.Templates), "files": names(c.Files), "dependencies": dependencies}
	if c.Schema != nil {
		found["schema"] = string(c.Schema)
	}
	return found
}

func load(path, dir string, r row) {
	c, err := loader.Load(path)
	if err != nil {
		r["error"] = strings.ReplaceAll(err.Error(), dir, "{dir}")
	} else {
		r["chart"] = shown(c)
		// Children are in no order.
		if crds := c.CRDObjects(); len(crds) > 0 && len(c.Dependencies()) < 2 {
			names := []string{}
			for _, crd := range crds {
				names = append(names, crd.Filename)
			}
			r["crds"] = names
		}
	}
	rows = append(rows, r)
}

func temp() string {
	dir, err := os.MkdirTemp("", "load")
	must(err)
	dir, err = filepath.EvalSymlinks(dir)
	must(err)
	return dir
}

func fill(text string, size int) []byte {
	if size > len(text) {
		text += strings.Repeat(" ", size-len(text))
	}
	return []byte(text)
}

// A folder.
func tree(nodes ...node) {
	dir := temp()
	defer os.RemoveAll(dir)
	for _, n := range nodes {
		path := filepath.Join(dir, "c", n.Path)
		must(os.MkdirAll(filepath.Dir(path), 0o755))
		switch {
		case n.Dir:
			must(os.MkdirAll(path, 0o755))
		case n.Link != "":
			must(os.Symlink(strings.ReplaceAll(n.Link, "{dir}", dir), path))
		default:
			must(os.WriteFile(path, fill(n.Text, n.Size), 0o644))
		}
	}
	for i, n := range nodes {
		if !utf8.ValidString(n.Text) {
			nodes[i].Text, nodes[i].Base64 = "", base64.StdEncoding.EncodeToString([]byte(n.Text))
		}
	}
	load(filepath.Join(dir, "c"), dir, row{"tree": nodes})
}

const minimal = "apiVersion: v2\nname: web\nversion: 1.0.0\n"

func file(path, text string) node { return node{Path: path, Text: text} }

func with(nodes ...node) []node { return append([]node{file("Chart.yaml", minimal)}, nodes...) }

// A file beside nothing.
func lone(name string, content []byte) {
	dir := temp()
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, name)
	must(os.WriteFile(path, content, 0o644))
	load(path, dir, row{"file": name, "archive": base64.StdEncoding.EncodeToString(content)})
}

func packed(entries ...entry) []byte {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	must(err)
	t := tar.NewWriter(zip)
	for _, e := range entries {
		if e.kind == 0 {
			e.kind = tar.TypeReg
		}
		if e.mode == 0 {
			e.mode = 0o644
		}
		header := &tar.Header{Name: e.name, Mode: e.mode, Typeflag: e.kind, Linkname: e.link, PAXRecords: e.pax}
		if e.kind == tar.TypeReg {
			header.Size = int64(len(e.text))
		}
		if e.kind == tar.TypeXGlobalHeader {
			header = &tar.Header{Name: e.name, Typeflag: e.kind, PAXRecords: map[string]string{"comment": "x"}}
		}
		must(t.WriteHeader(header))
		if e.kind == tar.TypeReg {
			_, err := t.Write([]byte(e.text))
			must(err)
		}
	}
	must(t.Close())
	must(zip.Close())
	return out.Bytes()
}

func archive(entries ...entry) { lone("c.tgz", packed(entries...)) }

func chartEntry(top string) entry { return entry{name: top + "Chart.yaml", text: minimal} }
