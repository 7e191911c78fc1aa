// Records what Helm 3.22 renders from the fixtures of crates/chart, as a golden file.
// Usage: go run . FIXTURES GOLDEN
// or, for random charts: go run . random SEED COUNT FILE
//
// A row for each case of a fixture: {"fixture", "case"} and "error", or what came of it: "files" (as rendered),
// "manifest" (as `helm template` prints it), "hooks", "notes", "crds", "warnings" (of the log). For cases of a whole
// chart also "values" (laid over each other), "stored" (the chart's own afterwards) and "dependencies".
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/cli/values"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/release"
)

func main() {
	if os.Args[1] == "random" {
		seed, err := strconv.Atoi(os.Args[2])
		must(err)
		count, err := strconv.Atoi(os.Args[3])
		must(err)
		write(os.Args[4], random(seed, count))
		return
	}
	names, err := filepath.Glob(filepath.Join(os.Args[1], "*.txt"))
	must(err)
	sort.Strings(names)
	rows := []map[string]any{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		must(err)
		fixture := parse(string(text))
		for _, one := range fixture.cases {
			row := fixture.run(one)
			row["fixture"] = strings.TrimSuffix(filepath.Base(name), ".txt")
			row["case"] = one.name
			rows = append(rows, row)
		}
	}
	write(os.Args[2], rows)
}

func (f *fixture) run(one oneCase) map[string]any {
	var logged bytes.Buffer
	log.SetFlags(log.Lshortfile)
	log.SetOutput(&logged)
	row := map[string]any{}
	if err := f.render(one, row); err != nil {
		row = map[string]any{"error": err.Error()}
	}
	if logged.Len() > 0 {
		row["warnings"] = strings.Split(strings.TrimSuffix(logged.String(), "\n"), "\n")
	}
	return row
}

func (f *fixture) load(one oneCase) (*chart.Chart, error) {
	files := []*loader.BufferedFile{}
	for _, file := range f.files {
		files = append(files, &loader.BufferedFile{Name: file.name, Data: bytes.Clone(file.data)})
	}
	if one.template != nil {
		files = append(files, &loader.BufferedFile{Name: "templates/t.yaml", Data: bytes.Clone(one.template)})
	}
	return loader.LoadFiles(files)
}

func (f *fixture) values(one oneCase) (map[string]any, error) {
	folder, err := os.MkdirTemp("", "values")
	must(err)
	defer os.RemoveAll(folder)
	options := values.Options{}
	for _, flag := range one.flags {
		switch flag.name {
		case "-f":
			path := filepath.Join(folder, strings.TrimPrefix(flag.value, "@"))
			must(os.WriteFile(path, f.extra[flag.value], 0o644))
			options.ValueFiles = append(options.ValueFiles, path)
		case "--set":
			options.Values = append(options.Values, flag.value)
		case "--set-string":
			options.StringValues = append(options.StringValues, flag.value)
		case "--set-json":
			options.JSONValues = append(options.JSONValues, flag.value)
		case "--set-literal":
			options.LiteralValues = append(options.LiteralValues, flag.value)
		}
	}
	merged, err := options.MergeValues(getter.Providers{})
	if err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), folder+"/", "@"))
	}
	return merged, nil
}

func (f *fixture) render(one oneCase, row map[string]any) error {
	given, err := f.values(one)
	if err != nil {
		return err
	}
	install := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	install.ReleaseName, install.Namespace = "rel", "space"
	install.ClientOnly, install.DryRun, install.Replace = true, true, true
	install.DryRunOption = "true"
	install.KubeVersion = kubeVersion(one.flag("--kube-version", "1.36.0"))
	install.IsUpgrade = one.has("--is-upgrade")
	install.IncludeCRDs = one.has("--include-crds")
	install.SubNotes = one.has("--render-subchart-notes")
	if api := one.flag("--api-versions", ""); api != "" {
		install.APIVersions = chartutil.VersionSet(strings.Split(api, ","))
	}
	loaded, err := f.load(one)
	if err != nil {
		return err
	}
	if f.filesOnly {
		row["files"], _, err = f.rendered(one, given, install)
		return err
	}
	installed, err := install.Run(loaded, copied(given))
	if err != nil {
		return err
	}
	row["manifest"] = printed(installed)
	if hooks := hooksOf(installed); len(hooks) > 0 {
		row["hooks"] = hooks
	}
	if installed.Info.Notes != "" {
		row["notes"] = installed.Info.Notes
	}
	files, all, err := f.rendered(one, given, install)
	if err != nil {
		return err
	}
	row["files"] = files
	if one.template == nil {
		row["values"] = all
		row["stored"] = installed.Chart.Values
		row["dependencies"] = dependencies(installed.Chart)
	}
	return nil
}

// The files as the engine gives them, and all values.
func (f *fixture) rendered(one oneCase, given map[string]any, install *action.Install) (map[string]string, any, error) {
	log.SetOutput(io.Discard)
	loaded, err := f.load(one)
	must(err)
	if err := chartutil.ProcessDependenciesWithMerge(loaded, given); err != nil {
		return nil, nil, err
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *install.KubeVersion
	capabilities.APIVersions = append(capabilities.APIVersions, install.APIVersions...)
	options := chartutil.ReleaseOptions{Name: "rel", Namespace: "space", Revision: 1, IsInstall: !install.IsUpgrade, IsUpgrade: install.IsUpgrade}
	render, err := chartutil.ToRenderValuesWithSchemaValidation(loaded, given, options, capabilities, true)
	if err != nil {
		return nil, nil, err
	}
	text, err := json.Marshal(render["Values"])
	must(err)
	var all any
	must(json.Unmarshal(text, &all))
	files, err := engine.Render(loaded, render)
	return files, all, err
}

func copied(values map[string]any) map[string]any {
	return clone(values).(map[string]any)
}

func clone(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, inner := range value {
			out[key] = clone(inner)
		}
		return out
	case []any:
		out := []any{}
		for _, inner := range value {
			out = append(out, clone(inner))
		}
		return out
	}
	return value
}

func kubeVersion(text string) *chartutil.KubeVersion {
	version, err := chartutil.ParseKubeVersion(text)
	must(err)
	return version
}

// What `helm template` prints.
func printed(installed *release.Release) string {
	var out strings.Builder
	fmt.Fprintln(&out, strings.TrimSpace(installed.Manifest))
	for _, hook := range installed.Hooks {
		fmt.Fprintf(&out, "---\n# Source: %s\n%s\n", hook.Path, hook.Manifest)
	}
	return out.String()
}

func hooksOf(installed *release.Release) []any {
	list := []any{}
	for _, hook := range installed.Hooks {
		list = append(list, map[string]any{"name": hook.Name, "kind": hook.Kind, "path": hook.Path, "events": hook.Events, "weight": hook.Weight, "delete": hook.DeletePolicies, "logs": hook.OutputLogPolicies})
	}
	return list
}

func dependencies(one *chart.Chart) []any {
	list := []any{}
	children := append([]*chart.Chart{}, one.Dependencies()...)
	sort.Slice(children, func(i, j int) bool { return children[i].Name() < children[j].Name() })
	for _, child := range children {
		list = append(list, map[string]any{"name": child.Name(), "version": child.Metadata.Version, "children": dependencies(child)})
	}
	return list
}

func write(path string, rows []map[string]any) {
	info, _ := debug.ReadBuildInfo()
	version := ""
	for _, module := range info.Deps {
		if module.Path == "helm.sh/helm/v3" {
			version = module.Version
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	head := map[string]any{"recorded_by": fmt.Sprintf("tests/oracle/render, Helm %s, %s", version, runtime.Version())}
	for _, row := range append([]map[string]any{head}, rows...) {
		must(encoder.Encode(row))
	}
	must(os.WriteFile(path, out.Bytes(), 0o644))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
