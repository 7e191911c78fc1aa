// Records what Helm 3.22 prints of releases, as a golden file for crates/release. Usage: go run ./show HELM FOLDER
//
// show.jsonl: {"records"}: the JSON of the releases, by name and number; {"args", "output"}: what HELM prints of them.
package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func at(second, nanosecond, offset int) helmtime.Time {
	zone := time.UTC
	if offset != 0 {
		zone = time.FixedZone("", offset)
	}
	return helmtime.Time{Time: time.Date(2026, 1, 2, 3, 4, second, nanosecond, zone)}
}

func made(name string, version int, status release.Status) *release.Release {
	return &release.Release{
		Name: name, Namespace: "shop", Version: version,
		Info: &release.Info{
			Status: status, FirstDeployed: at(1, 0, 0), LastDeployed: at(5, 59435108, 0),
			Description: "Upgrade complete", Notes: "Hello\n",
		},
		Chart: &chart.Chart{
			Metadata: &chart.Metadata{
				Name: "web", Version: "1.2.3", APIVersion: "v2", AppVersion: "4.5",
				Annotations:  map[string]string{"zone": "b", "team": "a"},
				Dependencies: []*chart.Dependency{{Name: "z", Version: "1", Repository: "https://example.org/?a&b"}, {Name: "db", Alias: "db", Tags: []string{"t"}, Enabled: true, Condition: "db.on", ImportValues: []any{map[string]any{"parent": ".", "child": "x"}}}},
			},
			Values: map[string]any{"a": 1, "b": map[string]any{"c": "<x>", "d": nil}, "f": 0.5},
		},
		Config:   map[string]any{"a": 2, "x": map[string]any{"y": "<1>", "t": "a\nb\n"}, "z": nil, "b": map[string]any{"c": nil}},
		Manifest: "---\n# Source: web/templates/a.yaml\nkind: ConfigMap\n",
	}
}

func all() []*release.Release {
	test := &release.Hook{Name: "t", Kind: "Pod", Path: "web/templates/t.yaml", Manifest: "kind: Pod\n", Events: []release.HookEvent{release.HookTest},
		LastRun: release.HookExecution{StartedAt: at(6, 0, 0), CompletedAt: at(7, 0, 3600), Phase: release.HookPhaseSucceeded}}
	running, never := *test, *test
	running.LastRun = release.HookExecution{StartedAt: at(8, 0, 0), Phase: release.HookPhaseRunning}
	never.LastRun = release.HookExecution{}
	first := made("web", 1, release.StatusSuperseded)
	first.Info.LastDeployed = at(5, 5e8, 7200)
	first.Info.Description = "zwölf Größen 日本 <&>\nsecond line"
	first.Config = nil
	second := made("web", 2, release.StatusFailed)
	second.Info.LastDeployed, second.Info.Notes = helmtime.Time{}, ""
	second.Chart.Values = nil
	third := made("web", 3, release.StatusDeployed)
	third.Info.Description, third.Info.Notes = "Dry run complete", "\n  notes <&> \n\n"
	third.Hooks = []*release.Hook{test, &running, &never}
	fourth := made("web", 4, release.StatusDeployed)
	fourth.Hooks = []*release.Hook{&never}
	fourth.Chart.Metadata.Dependencies, fourth.Chart.Metadata.Annotations = nil, nil
	other := made("api", 12, release.StatusPendingUpgrade)
	other.Info.LastDeployed = at(9, 0, -12600)
	gone := made("old", 1, release.StatusUninstalled)
	gone.Info.LastDeployed, gone.Info.Deleted = helmtime.Time{}, at(11, 0, 0)
	return []*release.Release{other, gone, first, second, third, fourth}
}

func main() {
	helm, folder := os.Args[1], os.Args[2]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"major":"1","minor":"36","gitVersion":"v1.36.0"}`)
	}))
	defer server.Close()
	dir, err := os.MkdirTemp("", "show")
	must(err)
	defer os.RemoveAll(dir)
	data, kubeconfig := filepath.Join(dir, "releases.yaml"), filepath.Join(dir, "kubeconfig")
	releases := all()
	text, err := json.Marshal(releases)
	must(err)
	must(os.WriteFile(data, text, 0o600))
	must(os.WriteFile(kubeconfig, fmt.Appendf(nil, "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u, namespace: shop}}], clusters: [{name: c, cluster: {server: %q}}], users: [{name: u, user: {}}]}", server.URL), 0o600))
	var out strings.Builder
	write := func(row map[string]any) {
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		must(encoder.Encode(row))
	}
	write(map[string]any{"recorded_by": "tests/oracle/release/show with helm v3.22.0"})
	var records []string
	for _, one := range releases {
		text, err := json.Marshal(one)
		must(err)
		records = append(records, string(text))
	}
	write(map[string]any{"records": records})
	run := func(args string) {
		command := exec.Command(helm, strings.Fields(args)...)
		command.Env = []string{"HOME=" + dir, "TZ=UTC", "HELM_DRIVER=memory", "HELM_MEMORY_DRIVER_DATA=" + data, "KUBECONFIG=" + kubeconfig}
		output, err := command.Output()
		must(err)
		write(map[string]any{"args": args, "output": string(output)})
	}
	for _, format := range []string{"table", "json", "yaml"} {
		for _, max := range []int{256, 2, 0} {
			run(fmt.Sprintf("history web --max %d -o %s", max, format))
		}
		for _, flags := range []string{"--all", "--all --short", "--all --no-headers", "--all --time-format 2006-01-02_15:04Z0700", "--uninstalling"} {
			run(fmt.Sprintf("list %s -o %s", flags, format))
		}
		for revision := 1; revision <= 4; revision++ {
			for _, what := range []string{"status", "status --show-desc", "get values", "get values --all", "get metadata"} {
				run(fmt.Sprintf("%s web --revision %d -o %s", what, revision, format))
			}
		}
	}
	for revision := 1; revision <= 4; revision++ {
		for _, what := range []string{"all", "manifest", "hooks", "notes"} {
			run(fmt.Sprintf("get %s web --revision %d", what, revision))
		}
	}
	must(os.WriteFile(filepath.Join(folder, "show.jsonl"), []byte(out.String()), 0o644))
}
