package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sort"

	jsonpatch "github.com/evanphx/json-patch"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
)

// Objects that are short, and hold what merges in ways of its own.
var bases = []string{
	`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"d","labels":{"app":"d"},"annotations":{"a":"1"},"finalizers":["f/1","f/2"]},
	"spec":{"replicas":2,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1}},"selector":{"matchLabels":{"app":"d"}},
	"template":{"metadata":{"labels":{"app":"d"}},"spec":{"nodeSelector":{"n":"1"},"tolerations":[{"key":"t"}],
	"containers":[{"name":"a","image":"a:1","env":[{"name":"E","value":"1"},{"name":"F","valueFrom":{"secretKeyRef":{"name":"s","key":"k"}}}],
	"ports":[{"containerPort":80,"name":"h"},{"containerPort":53,"protocol":"UDP"}],"resources":{"limits":{"cpu":"1"}},
	"volumeMounts":[{"name":"v","mountPath":"/v"}]},{"name":"b","image":"b:1","args":["x"]}],
	"imagePullSecrets":[{"name":"p"}],"volumes":[{"name":"v","emptyDir":{}},{"name":"w","configMap":{"name":"c","items":[{"key":"k","path":"p"}]}}]}}}}`,
	`{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"s","labels":{"app":"s"}},"spec":{"serviceName":"s","replicas":1,
	"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}},"selector":{"matchLabels":{"app":"s"}},
	"template":{"metadata":{"labels":{"app":"s"}},"spec":{"initContainers":[{"name":"i","image":"i:1"}],
	"containers":[{"name":"a","image":"a:1","livenessProbe":{"httpGet":{"path":"/","port":80}},"securityContext":{"runAsUser":1}}],
	"topologySpreadConstraints":[{"topologyKey":"z","maxSkew":1,"whenUnsatisfiable":"DoNotSchedule"}],"hostAliases":[{"ip":"10.0.0.1","hostnames":["h"]}]}},
	"volumeClaimTemplates":[{"metadata":{"name":"d"},"spec":{"resources":{"requests":{"storage":"1Gi"}}}}]}}`,
	`{"apiVersion":"v1","kind":"Service","metadata":{"name":"s","labels":{"app":"s"},"annotations":{"a":"1"}},"spec":{"type":"ClusterIP","selector":{"app":"s"},
	"ports":[{"name":"http","port":80,"targetPort":"http"},{"name":"dns","port":53,"protocol":"UDP"}],"externalIPs":["192.0.2.1"]}}`,
	`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","labels":{"app":"c"},"ownerReferences":[{"uid":"u1","kind":"Pod","name":"p","apiVersion":"v1"}]},
	"data":{"a":"1","b":"2","c.txt":"x"},"binaryData":{"z":"AA=="},"immutable":false}`,
	`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"type":"Opaque","data":{"a":"MQ==","b":"Mg=="},"stringData":{"c":"3"}}`,
	`{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"i","annotations":{"a":"1","b":"2"}},"spec":{"ingressClassName":"n",
	"tls":[{"hosts":["h"],"secretName":"t"}],"rules":[{"host":"h","http":{"paths":[{"path":"/","pathType":"Prefix","backend":{"service":{"name":"s","port":{"number":80}}}}]}}]}}`,
	`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j"},"spec":{"backoffLimit":3,"template":{"spec":{"restartPolicy":"Never",
	"containers":[{"name":"a","image":"a:1","command":["x","y"],"envFrom":[{"secretRef":{"name":"s"}}]}],"serviceAccountName":"s"}}}}`,
	`{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"c"},"spec":{"schedule":"* * * * *","suspend":false,"jobTemplate":{"spec":{"template":{"spec":{
	"restartPolicy":"Never","containers":[{"name":"a","image":"a:1","resources":{"requests":{"cpu":"1","memory":"1Mi"}}}],"securityContext":{"fsGroup":1}}}}}}}`,
	`{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"s","labels":{"app":"s"}},"secrets":[{"name":"x"},{"name":"y"}],"imagePullSecrets":[{"name":"p"}],
	"automountServiceAccountToken":true}`,
	`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"p"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"app":"p"}}}}`,
	`{"apiVersion":"example.org/v1","kind":"Widget","metadata":{"name":"w","labels":{"app":"w"}},"spec":{"size":1,"name":"n","list":[{"name":"a","v":1},{"name":"b"}],
	"deep":{"x":{"y":1,"z":[1,2]}},"on":true}}`,
	`{"apiVersion":"example.org/v1","kind":"Gadget","metadata":{"name":"g"},"spec":{"parts":{"a":{"n":1},"b":{"n":2}},"tags":["x","y"],"empty":{},"ratio":0.5}}`,
}

// What a server adds on its own, as a merge patch.
var served = map[string]string{
	"Deployment": `{"metadata":{"uid":"u","resourceVersion":"7","annotations":{"deployment.kubernetes.io/revision":"1"}},"spec":{"progressDeadlineSeconds":600},
		"status":{"replicas":2,"conditions":[{"type":"Available","status":"True"}]}}`,
	"Service":        `{"metadata":{"uid":"u"},"spec":{"clusterIP":"10.0.0.7","clusterIPs":["10.0.0.7"],"sessionAffinity":"None"},"status":{"loadBalancer":{}}}`,
	"ServiceAccount": `{"metadata":{"uid":"u"}}`,
	"Widget":         `{"metadata":{"uid":"u","generation":3},"status":{"ready":true}}`,
}

func triples(seed uint64, count int) []row {
	rows := []row{}
	for i := range count {
		m := mutator{rand.New(rand.NewPCG(seed, uint64(i)))}
		original := object(bases[i%len(bases)])
		m.mutate(original, m.IntN(4))
		next := clone(original)
		m.mutate(next, m.IntN(5))
		live := clone(original)
		if m.IntN(4) == 0 {
			live = clone(next)
		}
		if m.IntN(6) == 0 {
			m.misshape(next)
		}
		if extra, ok := served[live["kind"].(string)]; ok {
			patched, err := jsonpatch.MergePatch(encode(live), []byte(extra))
			must(err)
			live = object(string(patched))
		}
		m.mutate(live, m.IntN(4))
		dropNulls(live)
		rows = append(rows, record(original, next, live))
	}
	return rows
}

func record(original, next, live map[string]any) row {
	recorded := row{"original": original, "next": next, "live": live}
	old, target, current := encode(original), encode(next), encode(live)
	kind := schema.FromAPIVersionAndKind(next["apiVersion"].(string), next["kind"].(string))
	typed, err := scheme.Scheme.New(kind)
	if err != nil {
		patch, err := jsonpatch.CreateMergePatch(old, target)
		put(recorded, "patch", "error", patch, err)
		patched, err := jsonpatch.MergePatch(current, patch)
		must(err)
		recorded["patched"] = json.RawMessage(patched)
		patch, err = jsonmergepatch.CreateThreeWayJSONMergePatch(old, target, current, mergepatch.RequireKeyUnchanged("apiVersion"),
			mergepatch.RequireKeyUnchanged("kind"), mergepatch.RequireMetadataKeyUnchanged("name"))
		put(recorded, "taken_over", "taken_over_error", patch, err)
		return recorded
	}
	meta, err := strategicpatch.NewPatchMetaFromStruct(typed)
	must(err)
	patch, err := strategicpatch.CreateThreeWayMergePatch(old, target, current, meta, true)
	put(recorded, "patch", "error", patch, err)
	if err == nil {
		patched, err := strategicpatch.StrategicMergePatchUsingLookupPatchMeta(current, patch, meta)
		put(recorded, "patched", "patched_error", patched, err)
	}
	return recorded
}

func put(recorded row, key, errorKey string, value []byte, err error) {
	if err != nil {
		recorded[errorKey] = err.Error()
	} else {
		recorded[key] = json.RawMessage(value)
	}
}

func object(text string) map[string]any {
	var parsed map[string]any
	must(json.Unmarshal([]byte(text), &parsed))
	return parsed
}

func encode(value any) []byte {
	encoded, err := json.Marshal(value)
	must(err)
	return encoded
}

func clone(value map[string]any) map[string]any {
	return object(string(encode(value)))
}

// A server never shows a null.
func dropNulls(value any) {
	switch value := value.(type) {
	case map[string]any:
		for name, inner := range value {
			if inner == nil {
				delete(value, name)
			}
			dropNulls(inner)
		}
	case []any:
		for _, element := range value {
			dropNulls(element)
		}
	}
}

// Changes objects by chance.
type mutator struct{ *rand.Rand }

func (m mutator) mutate(object map[string]any, times int) {
	for range times {
		places := []any{}
		collect(object, &places, 0)
		switch place := places[m.IntN(len(places))].(type) {
		case map[string]any:
			m.mutateMap(place)
		case *list:
			m.mutateList(place)
		}
	}
}

type list struct {
	owner map[string]any
	name  string
}

func collect(value any, places *[]any, depth int) {
	switch value := value.(type) {
	case map[string]any:
		if depth > 0 {
			*places = append(*places, value)
		}
		for _, name := range names(value) {
			if elements, ok := value[name].([]any); ok {
				*places = append(*places, &list{value, name}, &list{value, name})
				for _, element := range elements {
					collect(element, places, depth+1)
				}
			} else {
				collect(value[name], places, depth+1)
			}
		}
	}
}

func names(object map[string]any) []string {
	names := []string{}
	for name := range object {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Fields that name elements of lists; without them nothing can be merged.
var keys = map[string]bool{"name": true, "containerPort": true, "port": true, "mountPath": true, "uid": true, "ip": true, "topologyKey": true}

func (m mutator) mutateMap(object map[string]any) {
	all := names(object)
	if len(all) == 0 {
		object[fmt.Sprintf("new%d", m.IntN(2))] = "n"
		return
	}
	name := all[m.IntN(len(all))]
	if keys[name] && m.IntN(30) > 0 {
		return
	}
	switch m.IntN(20) {
	case 0, 1, 2, 3, 4:
		delete(object, name)
	case 5, 6, 7:
		object[fmt.Sprintf("new%d", m.IntN(2))] = fmt.Sprint("n", m.IntN(2))
	case 8:
		object[name] = nil
	case 9, 10:
		switch object[name].(type) {
		case map[string]any:
			object[name] = map[string]any{}
		case []any:
			object[name] = []any{}
		}
	default:
		switch value := object[name].(type) {
		case float64:
			object[name] = value + float64(m.IntN(3))
		case bool:
			object[name] = !value
		case string:
			object[name] = fmt.Sprint(value, m.IntN(3))
		}
	}
}

// Puts a value of another type somewhere, which no server would have kept.
func (m mutator) misshape(object map[string]any) {
	places := []any{}
	collect(object, &places, 0)
	if place, ok := places[m.IntN(len(places))].(map[string]any); ok && len(place) > 0 {
		all := names(place)
		name := all[m.IntN(len(all))]
		if keys[name] {
			return // Go panics over the name of an element that is a list.
		}
		place[name] = []any{"x", 1.0, 1.5, map[string]any{"m": "1"}, []any{}, []any{map[string]any{"name": "m"}}}[m.IntN(6)]
	}
}

func (m mutator) mutateList(place *list) {
	elements := place.owner[place.name].([]any)
	if len(elements) == 0 {
		place.owner[place.name] = []any{"s"}
		return
	}
	at := m.IntN(len(elements))
	switch m.IntN(7) {
	case 0, 1:
		elements = append(elements[:at:at], elements[at+1:]...)
	case 2, 3:
		other := m.IntN(len(elements))
		elements[at], elements[other] = elements[other], elements[at]
	default:
		added := m.another(elements[at])
		at = m.IntN(len(elements) + 1)
		elements = append(elements[:at:at], append([]any{added}, elements[at:]...)...)
	}
	place.owner[place.name] = elements
}

// An element like that one, with another name as a rule.
func (m mutator) another(element any) any {
	switch element := element.(type) {
	case map[string]any:
		copied := clone(element)
		for name := range keys {
			switch value := copied[name].(type) {
			case string:
				copied[name] = []string{"c", "d", value}[m.IntN(3)]
			case float64:
				copied[name] = []any{value + 1, value + 2, value}[m.IntN(3)]
			}
		}
		if _, isPort := copied["containerPort"]; isPort && m.IntN(2) == 0 {
			copied["protocol"] = "SCTP"
		}
		return copied
	case string:
		return fmt.Sprint(element, m.IntN(2))
	}
	return element
}
