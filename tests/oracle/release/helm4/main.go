// Records how Helm 4.3 writes releases, as a golden file for crates/release. Usage: go run . FOLDER
//
// records-helm4.jsonl: {"record"}: the JSON of a release put together here.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	chartcommon "helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/release/common"
	release "helm.sh/helm/v4/pkg/release/v1"
)

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	at := func(second int) time.Time { return time.Date(2026, 11, 30, 15, 51, second, 59435108, time.UTC) }
	base := func(version int, status common.Status) *release.Release {
		return &release.Release{
			Name: "web", Namespace: "shop", Version: version,
			Info:        &release.Info{Status: status, FirstDeployed: at(1), LastDeployed: at(2), Description: "Install complete"},
			Chart:       &chart.Chart{Metadata: &chart.Metadata{Name: "web", Version: "1.0.0", APIVersion: "v2"}},
			ApplyMethod: string(release.ApplyMethodServerSideApply),
		}
	}
	all := []*release.Release{base(1, common.StatusDeployed), base(2, common.StatusUninstalled), base(3, common.StatusDeployed), base(4, common.StatusPendingRollback)}
	all[1].Info.Deleted = at(9)
	all[2].Chart.ModTime, all[2].Chart.SchemaModTime, all[2].Chart.Schema = at(3), at(4), []byte("{}")
	all[2].Chart.Templates = []*chartcommon.File{{Name: "templates/a.yaml", Data: []byte("<a>"), ModTime: at(5)}}
	all[2].Hooks = []*release.Hook{
		{Name: "h", Kind: "Job", Events: []release.HookEvent{release.HookPreInstall}},
		{Name: "i", Events: []release.HookEvent{release.HookTest}, LastRun: release.HookExecution{StartedAt: at(6), CompletedAt: at(7), Phase: release.HookPhaseFailed}},
	}
	all[3].Info.RollbackRevision, all[3].Info.Notes = 2, "notes"
	all[3].ApplyMethod = string(release.ApplyMethodClientSideApply)
	var out strings.Builder
	write := func(row map[string]any) {
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		must(encoder.Encode(row))
	}
	write(map[string]any{"recorded_by": "tests/oracle/release/helm4 with helm.sh/helm/v4 v4.3.1"})
	for _, one := range all {
		text, err := json.Marshal(one)
		must(err)
		write(map[string]any{"record": string(text)})
	}
	must(os.WriteFile(filepath.Join(os.Args[1], "records-helm4.jsonl"), []byte(out.String()), 0o644))
}
