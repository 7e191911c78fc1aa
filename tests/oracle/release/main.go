// Records how Helm 3.22 writes releases, as a golden file for crates/release. Usage: go run . FOLDER
//
// records.jsonl: {"what": "chart", "files", "values", "record"}: the JSON of an installed chart, with fixed times;
// {"what": "release", "record", "encoded", "labels"}: the JSON of a release put together here, and the object that
// Helm's own driver makes of it; {"what": "name", "name", "error"}.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
)

type row map[string]any

var rows = []row{{"recorded_by": "tests/oracle/release with helm.sh/helm/v3 v3.22.0"}}

func main() {
	log.SetOutput(io.Discard)
	charts()
	releases()
	names()
	var out strings.Builder
	for _, one := range rows {
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		must(encoder.Encode(one))
	}
	must(os.WriteFile(filepath.Join(os.Args[1], "records.jsonl"), []byte(out.String()), 0o644))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func at(second int, nanosecond int, zone *time.Location) helmtime.Time {
	return helmtime.Time{Time: time.Date(2026, 11, 30, 15, 51, second, nanosecond, zone)}
}

func charts() {
	child := []string{
		"charts/db/Chart.yaml", "name: db\nversion: 0.2.0\napiVersion: v2\n",
		"charts/db/values.yaml", "port: 5432\nexports: {shared: {a: 1}}\ndata: {deep: {b: 2}}\n",
		"charts/db/templates/cm.yaml", "kind: ConfigMap\napiVersion: v1\nmetadata: {name: db}\ndata: {port: '{{ .Values.port }}'}\n",
	}
	one := func(values string, files ...string) { install(values, files) }
	head := func(more string) string { return "name: web\nversion: 1.2.3\napiVersion: v2\n" + more }
	with := func(more string, files ...string) []string {
		return append([]string{"Chart.yaml", head(more)}, files...)
	}
	one("", with("")...)
	one("", with("", "values.yaml", "")...)
	one("", with("", "values.yaml", "# nothing\n")...)
	one("", with("", "values.yaml", "{}\n")...)
	one("", with("", "values.yaml", "null\n")...)
	one("", with("dependencies: []\n")...)
	one("", with("dependencies: []\n", "values.yaml", "{}\n")...)
	one("", with("", child...)...)
	one("", with("", append(child, "values.yaml", "db: {port: 1}\n")...)...)
	dependency := "dependencies: [{name: db, version: 0.2.0, repository: ''}]\n"
	one("", with(dependency, child...)...)
	one("db: {port: 7}\n", with(dependency, append(child, "values.yaml", "db: {port: 1}\n")...)...)
	off := "dependencies: [{name: db, version: 0.2.0, condition: db.enabled}]\n"
	one("", with(off, append(child, "values.yaml", "db: {enabled: false}\n")...)...)
	one("", with(off, append(child, "values.yaml", "db: {enabled: true}\n")...)...)
	one("db: {enabled: false}\n", with(off, child...)...)
	alias := "dependencies: [{name: db, version: 0.x, alias: store, import-values: [shared, {child: data.deep, parent: got}], tags: [x]}]\n"
	one("", with(alias, child...)...)
	one("store: {port: 1}\n", with(alias, append(child, "values.yaml", "a: 5\n")...)...)
	one("tags: {x: false}\n", with(alias, child...)...)
	one("a: null\nb: 1.50\nc: 1e30\nd: 9007199254740993\ne: -0.0\nf: 1e-7\ng: [null, true, {}]\nh: {i: {j: null}}\n'<&>': \"\\u2028\\b\\f\\x01\\x7f\"\n",
		with("", "values.yaml", "a: {x: 1}\nb: 1\nbig: 12345678901234567890\nfloat: 0.1\nnul: null\nz: <b>&</b>\nA: upper\n\"é\": \"ü\\u2029\"\n")...)
	one("x: 1\n", with("description: <b> & \"c\"\nappVersion: '1.0'\nhome: https://example.org/?a=1&b=2\nsources: [https://example.org/s]\nkeywords: [a, b]\nmaintainers: [{name: A, email: a@example.org, url: https://example.org/a}]\nicon: https://example.org/i.png\ndeprecated: true\nannotations: {z: '1', a: <2>}\nkubeVersion: '>= 1.20.0-0'\ntype: application\ncondition: c\ntags: t\n",
		"Chart.lock", "dependencies:\n- name: db\n  repository: https://example.org\n  version: 0.2.0\ndigest: sha256:00\ngenerated: \"2024-01-01T00:00:00.5+01:00\"\n",
		"values.schema.json", "{\"type\": \"object\"}\n",
		"values.yaml", "a: 1\n",
		"README.md", "# web <é>\n",
		"data.bin", "\xff\x00\xfe",
		"empty.txt", "",
		"crds/c.yaml", "kind: CustomResourceDefinition\n",
		"templates/NOTES.txt", "Hello {{ .Release.Name }} <&>\n\n",
		"templates/_helpers.tpl", "{{ define \"n\" }}n{{ end }}",
		"templates/b.yaml", "kind: Service\napiVersion: v1\nmetadata: {name: b}\n---\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: <c>&\"'}\ndata: {t: \"\\u2028\"}\n",
		"templates/empty.yaml", "",
		"templates/hook.yaml", "kind: Job\napiVersion: batch/v1\nmetadata:\n  name: h\n  annotations: {helm.sh/hook: 'pre-install,post-upgrade', helm.sh/hook-weight: '-5', helm.sh/hook-delete-policy: 'hook-succeeded,odd', helm.sh/hook-output-log-policy: hook-failed}\n",
		"templates/test.yaml", "kind: Pod\napiVersion: v1\nmetadata:\n  name: t\n  annotations: {helm.sh/hook: test-success}\n",
	)...)
}

// Installs a chart without a cluster and records the release.
func install(given string, files []string) {
	var buffered []*loader.BufferedFile
	var listed []row
	for i := 0; i < len(files); i += 2 {
		name, text := files[i], files[i+1]
		buffered = append(buffered, &loader.BufferedFile{Name: name, Data: []byte(text)})
		if utf8.ValidString(text) {
			listed = append(listed, row{"name": name, "text": text})
		} else {
			listed = append(listed, row{"name": name, "base64": base64.StdEncoding.EncodeToString([]byte(text))})
		}
	}
	loaded, err := loader.LoadFiles(buffered)
	must(err)
	values, err := chartutil.ReadValues([]byte(given))
	must(err)
	client := action.NewInstall(&action.Configuration{Log: func(string, ...any) {}})
	client.DryRun, client.ClientOnly, client.Replace = true, true, true
	client.ReleaseName, client.Namespace = "shop", "default"
	made, err := client.Run(loaded, values)
	must(err)
	made.Info.FirstDeployed = at(1, 5e8, time.UTC)
	made.Info.LastDeployed = at(2, 0, time.FixedZone("", -3*3600-1800))
	made.Info.Status, made.Info.Description = release.StatusDeployed, "Install complete"
	text, err := json.Marshal(made)
	must(err)
	rows = append(rows, row{"what": "chart", "files": listed, "values": given, "record": string(text)})
}

func releases() {
	base := func(version int, status release.Status) *release.Release {
		return &release.Release{
			Name:      "web",
			Namespace: "shop",
			Version:   version,
			Info:      &release.Info{Status: status, FirstDeployed: at(1, 59435108, time.UTC), LastDeployed: at(2, 120, time.FixedZone("", 19800))},
			Chart:     &chart.Chart{Metadata: &chart.Metadata{Name: "web", Version: "1.0.0", AppVersion: "2.0"}},
		}
	}
	plain := base(1, release.StatusDeployed)
	store(plain)
	for version, status := range []release.Status{
		release.StatusUnknown, release.StatusUninstalled, release.StatusSuperseded, release.StatusFailed, release.StatusUninstalling,
		release.StatusPendingInstall, release.StatusPendingUpgrade, release.StatusPendingRollback,
	} {
		store(base(version+2, status))
	}
	ended := base(11, release.StatusUninstalled)
	ended.Info.Deleted = at(59, 999999999, time.UTC)
	ended.Info.Description = "Uninstallation \"complete\" <&>\u2028\b\f\n\t\x01\x7f"
	ended.Info.Notes = "notes\n"
	ended.Labels = map[string]string{"team": "a", "tier": "gold"}
	store(ended)
	full := base(12, release.StatusDeployed)
	full.Config = map[string]any{"b": nil, "a": 1.5, "c": []any{1e21, 1e-7, 123456789.0, -0.5, true, "x"}, "d": map[string]any{"e": map[string]any{}}, "i": int64(9007199254740993)}
	full.Manifest = strings.Repeat("---\n# Source: web/templates/a.yaml\nkind: ConfigMap\n", 300)
	full.Hooks = []*release.Hook{
		{Name: "h", Kind: "Job", Path: "web/templates/h.yaml", Manifest: "kind: Job\n", Events: []release.HookEvent{release.HookPreInstall, release.HookTest}, Weight: -3,
			DeletePolicies: []release.HookDeletePolicy{release.HookBeforeHookCreation, release.HookFailed}, OutputLogPolicies: []release.HookOutputLogPolicy{release.HookOutputOnFailed},
			LastRun: release.HookExecution{StartedAt: at(3, 1, time.UTC), CompletedAt: at(4, 100, time.FixedZone("", 3600)), Phase: release.HookPhaseSucceeded}},
		{Name: "r", Events: []release.HookEvent{release.HookPostDelete}, LastRun: release.HookExecution{StartedAt: at(3, 1, time.UTC), Phase: release.HookPhaseRunning}},
		{LastRun: release.HookExecution{Phase: release.HookPhaseFailed}},
		{LastRun: release.HookExecution{Phase: release.HookPhaseUnknown}},
	}
	full.Chart.Templates = []*chart.File{{Name: "templates/a.yaml", Data: []byte("<a>")}, {Name: "none"}}
	full.Chart.Files = []*chart.File{}
	full.Chart.Schema = []byte("{}")
	full.Chart.Lock = &chart.Lock{}
	full.Chart.Values = map[string]any{"z": 1.0, "<": "&"}
	store(full)
	bare := &release.Release{Name: "web", Version: 13, Info: &release.Info{}}
	bare.Info.Status = release.StatusFailed
	store(bare)
}

// Lets Helm's driver write a release, and records the object.
func store(one *release.Release) {
	text, err := json.Marshal(one)
	must(err)
	secrets := fake.NewSimpleClientset().CoreV1().Secrets("shop")
	records := storage.Init(driver.NewSecrets(secrets))
	must(records.Create(one))
	must(records.Update(one))
	found, err := secrets.List(context.Background(), metav1.ListOptions{})
	must(err)
	object := found.Items[0]
	delete(object.Labels, "modifiedAt")
	rows = append(rows, row{
		"what": "release", "record": string(text), "encoded": string(object.Data["release"]),
		"labels": object.Labels, "name": object.Name, "type": object.Type,
	})
}

func names() {
	for _, name := range []string{"", "a", "a-b.c", "-a", "a-", "a..b", "A", "a_b", ".a", "a.", "a.-b", "0", strings.Repeat("a", 53), strings.Repeat("a", 54), "ä", "a\n"} {
		text := ""
		if err := chartutil.ValidateReleaseName(name); err != nil {
			text = err.Error()
		}
		rows = append(rows, row{"what": "name", "name": name, "error": text})
	}
}
