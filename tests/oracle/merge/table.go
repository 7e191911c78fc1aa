package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"reflect"
	"sort"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// What the server's document says of a list or a map.
type property struct {
	ListType string   `json:"x-kubernetes-list-type"`
	MapKeys  []string `json:"x-kubernetes-list-map-keys"`
	MapType  string   `json:"x-kubernetes-map-type"`
	Strategy string   `json:"x-kubernetes-patch-strategy"`
	MergeKey string   `json:"x-kubernetes-patch-merge-key"`
	Default  any      `json:"default"`
	Items    struct {
		Reference string `json:"$ref"`
		AllOf     []struct {
			Reference string `json:"$ref"`
		} `json:"allOf"`
	} `json:"items"`
}

type definition struct {
	Properties map[string]property `json:"properties"`
	MapType    string              `json:"x-kubernetes-map-type"`
}

// What the API server says of its types: the documents of all its group versions, taken together.
type document struct {
	version     string
	definitions map[string]definition
}

// Asks the API server of the environment's kubeconfig.
func ask() document {
	var version struct{ GitVersion string }
	get("/version", &version)
	var index struct{ Paths map[string]any }
	get("/openapi/v3", &index)
	asked := document{version.GitVersion, map[string]definition{}}
	for path := range index.Paths {
		var part struct {
			Components struct{ Schemas map[string]definition }
		}
		get("/openapi/v3/"+path, &part)
		maps.Copy(asked.definitions, part.Components.Schemas)
	}
	return asked
}

func get(path string, into any) {
	answer, err := exec.Command("kubectl", "get", "--raw", path).Output()
	must(err)
	must(json.Unmarshal(answer, into))
}

type table struct {
	document document
	names    map[reflect.Type]string
	lines    map[string]string
}

// Writes the table of the kinds that Helm patches strategically: those of the client's scheme. Merge keys and strategies
// come from the Go types, as in Helm; what server-side apply knows beyond that comes from the server's document. Where the
// two disagree, it is said.
func writeTable(target string) {
	t := table{document: ask(), names: map[reflect.Type]string{}, lines: map[string]string{}}
	known := runtime.NewScheme()
	must(scheme.AddToScheme(known))
	must(apiextensionsv1.AddToScheme(known))

	kinds := []string{}
	for gvk, kind := range known.AllKnownTypes() {
		meta, isObject := kind.FieldByName("ObjectMeta")
		if !isObject || meta.Type != reflect.TypeFor[metav1.ObjectMeta]() || gvk.Version == runtime.APIVersionInternal {
			continue
		}
		if removedBefore(kind, oldestServed) {
			continue
		}
		kinds = append(kinds, fmt.Sprintf("%s %s = %s", gvk.GroupVersion(), gvk.Kind, t.structure(kind)))
	}
	t.structure(reflect.TypeFor[metav1.ObjectMeta]())
	sort.Strings(kinds)

	file, err := os.Create(target)
	must(err)
	out := bufio.NewWriter(file)
	fmt.Fprintf(out, "# How objects of built-in kinds merge: the kinds and tags of k8s.io/client-go v0.37.0, and the OpenAPI\n")
	fmt.Fprintf(out, "# document of Kubernetes %s. Made by tests/oracle/merge, see there; not to be edited.\n", t.document.version)
	fmt.Fprintf(out, "# APIVERSION KIND = TYPE\n")
	for _, line := range kinds {
		fmt.Fprintln(out, line)
	}
	fmt.Fprintf(out, "# TYPE[!]: FIELD=SHAPE... (!: atomic; plain scalars are left out, and types of nothing else)\n")
	types := []string{}
	for name := range t.lines {
		types = append(types, name)
	}
	sort.Strings(types)
	for _, name := range types {
		fmt.Fprintln(out, t.lines[name])
	}
	must(out.Flush())
	must(file.Close())
	log.Printf("%d kinds, %d types", len(kinds), len(types))
}

// The oldest minor version of Kubernetes that is served.
const oldestServed = 30

func removedBefore(kind reflect.Type, minor int) bool {
	lifecycle, ok := reflect.New(kind).Interface().(interface{ APILifecycleRemoved() (int, int) })
	if !ok {
		return false
	}
	_, removed := lifecycle.APILifecycleRemoved()
	return removed <= minor
}

// Adds a structure and all it holds; gives its name.
func (t *table) structure(structure reflect.Type) string {
	if name, done := t.names[structure]; done {
		return name
	}
	full := modelName(structure)
	name := strings.TrimPrefix(full, "io.k8s.api.")
	name = strings.TrimPrefix(name, "io.k8s.apimachinery.pkg.apis.")
	name = strings.TrimPrefix(name, "io.k8s.apiextensions-apiserver.pkg.apis.")
	t.names[structure] = name
	known := t.document.definitions[full]
	line := name
	if known.MapType == "atomic" {
		line += "!"
	}
	line += ":"
	for _, field := range fields(structure) {
		if shape := t.field(full, field, known); shape != "" {
			line += " " + jsonName(field) + "=" + shape
		}
	}
	if !strings.HasSuffix(line, ":") || strings.HasSuffix(line, "!:") {
		t.lines[name] = line
	}
	return name
}

func (t *table) field(owner string, field reflect.StructField, known definition) string {
	shape := t.shape(field.Type)
	said, documented := known.Properties[jsonName(field)]
	strategy, mergeKey := field.Tag.Get("patchStrategy"), field.Tag.Get("patchMergeKey")
	if documented && (said.Strategy != strategy || said.MergeKey != mergeKey) {
		log.Printf("%s.%s: the type says %q %q, the server %q %q", owner, field.Name, strategy, mergeKey, said.Strategy, said.MergeKey)
	}
	marks := []string{}
	if strategy != "" {
		marks = append(marks, strategy)
	}
	if mergeKey != "" {
		marks = append(marks, "by:"+mergeKey)
	}
	switch {
	case said.ListType == "map":
		reference := said.Items.Reference
		for _, all := range said.Items.AllOf {
			reference = all.Reference
		}
		element := t.document.definitions[strings.TrimPrefix(reference, "#/components/schemas/")]
		for _, key := range said.MapKeys {
			mark := "key:" + key
			if fallback, ok := element.Properties[key].Default.(string); ok && fallback != "" {
				mark += ":" + fallback
			}
			marks = append(marks, mark)
		}
	case said.ListType == "set":
		marks = append(marks, "set")
	case said.MapType == "atomic":
		marks = append(marks, "atomic")
	}
	if shape == "." && len(marks) == 0 {
		return ""
	}
	if len(marks) > 0 {
		shape += "(" + strings.Join(marks, ",") + ")"
	}
	return shape
}

// "." a scalar, "q" a quantity, "b" bytes, "*" anything, "[]X" a list, "{}X" a map, else the name of a structure.
func (t *table) shape(of reflect.Type) string {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	switch of {
	case reflect.TypeFor[resource.Quantity]():
		return "q"
	case reflect.TypeFor[[]byte]():
		return "b"
	case reflect.TypeFor[apiextensionsv1.JSONSchemaProps](), reflect.TypeFor[runtime.RawExtension](), reflect.TypeFor[metav1.FieldsV1]():
		return "*"
	}
	switch of.Kind() {
	case reflect.Struct:
		if of.Implements(reflect.TypeFor[json.Marshaler]()) || reflect.PointerTo(of).Implements(reflect.TypeFor[json.Marshaler]()) {
			return "."
		}
		return t.structure(of)
	case reflect.Slice:
		return "[]" + t.shape(of.Elem())
	case reflect.Map:
		return "{}" + t.shape(of.Elem())
	case reflect.Interface:
		log.Fatalf("an interface: %s", of)
	}
	return "."
}

func modelName(of reflect.Type) string {
	model, ok := reflect.New(of).Interface().(interface{ OpenAPIModelName() string })
	if !ok {
		log.Fatalf("%s has no name", of)
	}
	return model.OpenAPIModelName()
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// The fields of a structure, those of its embedded structures included, in the order of their names.
func fields(structure reflect.Type) []reflect.StructField {
	found := []reflect.StructField{}
	for i := range structure.NumField() {
		field := structure.Field(i)
		switch name := jsonName(field); {
		case name == "-":
		case name == "" && field.Anonymous:
			found = append(found, fields(field.Type)...)
		case name == "":
			log.Fatalf("%s.%s has no name in JSON", structure, field.Name)
		default:
			found = append(found, field)
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return jsonName(found[i]) < jsonName(found[j]) })
	return found
}
