package main

import (
	"encoding/json"
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
)

// Entries of managed fields before and after the move from client-side to server-side apply, as Helm 4 makes it.
//
// A line: "managed": the entries; "patch": the JSON patch, or null if there is none.
func managed() []row {
	rows := []row{}
	for i := range 200 {
		m := mutator{rand.New(rand.NewPCG(7, uint64(i)))}
		entries := []any{}
		for range m.IntN(5) {
			entries = append(entries, m.entry())
		}
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apps/v1",
			"kind":       "Deployment",
			"metadata":   map[string]any{"name": "d", "resourceVersion": "7", "managedFields": entries},
		}}
		patch, err := csaupgrade.UpgradeManagedFieldsPatch(object, sets.New("helm"), "helm")
		must(err)
		recorded := row{"managed": entries, "patch": nil}
		if patch != nil {
			recorded["patch"] = json.RawMessage(patch)
		}
		rows = append(rows, recorded)
	}
	return rows
}

func (m mutator) entry() map[string]any {
	entry := map[string]any{
		"manager":    []string{"helm", "helm", "kubectl-edit"}[m.IntN(3)],
		"operation":  []string{"Update", "Update", "Apply"}[m.IntN(3)],
		"apiVersion": []string{"apps/v1", "apps/v1", "apps/v1beta1"}[m.IntN(3)],
		"fieldsType": "FieldsV1",
		"fieldsV1":   m.fieldSet(3),
	}
	if m.IntN(2) == 0 {
		entry["time"] = "2026-01-01T00:00:00Z"
	}
	if m.IntN(6) == 0 {
		entry["subresource"] = "status"
	}
	return entry
}

func (m mutator) fieldSet(depth int) map[string]any {
	fields := map[string]any{}
	for range 1 + m.IntN(3) {
		name := []string{"f:spec", "f:replicas", `k:{"name":"a"}`, `k:{"containerPort":80,"protocol":"TCP"}`, `v:"x"`, "i:0", "f:a.b/c"}[m.IntN(7)]
		inner := map[string]any{}
		if depth > 0 && m.IntN(3) > 0 {
			inner = m.fieldSet(depth - 1)
			if m.IntN(2) == 0 {
				inner["."] = map[string]any{}
			}
		}
		fields[name] = inner
	}
	return fields
}
