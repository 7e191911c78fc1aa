package main

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

type schemaKind = schema.GroupVersionKind

const minimal = "apiVersion: v2\nname: web\nversion: 1.0.0\nicon: https://a.b/c.png\n"

func file(path, text string) node { return node{Path: path, Text: text} }

func chart(text string) node { return file("Chart.yaml", text) }

func whole(nodes ...node) []node {
	return append([]node{chart(minimal), file("values.yaml", "a: 1\n")}, nodes...)
}

func template(text string) {
	record(with{}, whole(file("templates/a.yaml", text))...)
}

func cases() {
	chartfile()
	values()
	templates()
	names()
	deprecations()
	dependencies()
	parts()
}

func chartfile() {
	for _, text := range []string{
		"", "null", "[]", "a", "a: [", "{}", "apiVersion: v2\n", "name: web\n", "name: ''\n", "name: a/b\nversion: 1.0.0\napiVersion: v2\n", "name: /\nversion: 1.0.0\napiVersion: v2\n", "name: a/\nversion: 1.0.0\napiVersion: v2\n", "name: ..\nversion: 1.0.0\napiVersion: v2\n",
		"name: web\nversion: 1.0.0\n", "name: web\nversion: 1.0.0\napiVersion: v3\n", "name: web\nversion: 1.0.0\napiVersion: 2\n",
		"name: web\napiVersion: v2\nversion: ''\n", "name: web\napiVersion: v2\nversion: x\n", "name: web\napiVersion: v2\nversion: 1\n", "name: web\napiVersion: v2\nversion: 1.10\n", "name: web\napiVersion: v2\nversion: true\n", "name: web\napiVersion: v2\nversion: [1]\n", "name: web\napiVersion: v2\nversion: null\n", "name: web\napiVersion: v2\nversion: {a: b}\n", "name: web\napiVersion: v2\nversion: 0.0.0-0\n", "name: web\napiVersion: v2\nversion: 0.0.0\n", "name: web\napiVersion: v2\nversion: v0.0.0-0+b\n", "name: web\napiVersion: v2\nversion: 0.0.0-alpha\n", "name: web\napiVersion: v2\nversion: 1.2.3.4\n", "name: web\napiVersion: v2\nversion: '1'\n",
		minimal + "appVersion: 1\n", minimal + "appVersion: 1.10\n", minimal + "appVersion: null\n", minimal + "appVersion: true\n", minimal + "appVersion: latest\n",
		minimal + "maintainers: [null]\n", minimal + "maintainers: [{email: a@b.c}]\n", minimal + "maintainers: [{name: a}, {name: ''}]\n", minimal + "maintainers: x\n",
		minimal + "sources: ['']\n", minimal + "sources: [x]\n", minimal + "sources: [https://a.b/c, 'http://a b']\n", minimal + "sources: [git@github.com:a/b.git]\n", minimal + "sources: ['https://a.b/c#d', '//a.b', '/a', 'mailto:a@b', 'a:b', 'https://a#b', 'https://a/%zz']\n", minimal + "sources: ['https://a/%zz']\n", minimal + "sources: ['/a']\n", minimal + "sources: ['//a.b']\n", minimal + "sources: ['mailto:a@b', 'a:b', '1a:b']\n", minimal + "sources: ['https://a#b']\n",
		"apiVersion: v2\nname: web\nversion: 1.0.0\n", "apiVersion: v2\nname: web\nversion: 1.0.0\nicon: x\n", "apiVersion: v2\nname: web\nversion: 1.0.0\nicon: file:///a.png\n", "apiVersion: v2\nname: web\nversion: 1.0.0\nicon: data:image/png;base64,AA\n",
		"apiVersion: v1\nname: web\nversion: 1.0.0\ntype: application\n", "apiVersion: v1\nname: web\nversion: 1.0.0\ndependencies: [{name: a, version: 1, repository: b}]\n", minimal + "type: library\n", minimal + "type: x\n", minimal + "deprecated: true\n", minimal + "unknown: 1\n", minimal + "annotations: {a: 1}\n", minimal + "annotations: []\n",
	} {
		record(with{}, chart(text), file("values.yaml", ""))
	}
	for _, email := range []string{"a@b.c", "a", "a@b", "A.B+c@d.example", "a@b.c.", "\"a b\"@c.d", "é@ü.ö", "a..b@c.d", "a@-b.c", "a@b_c.d", "a@b.1", "@b.c", "a b@c.d", "a@b..c", "a@1.co", "(a@b.c", "a@b.c1d", "a@b.c-d"} {
		record(with{}, chart(minimal+"maintainers: [{name: m, email: '"+email+"'}]\n"), file("values.yaml", ""))
	}
	for _, url := range []string{"https://a.b", "a.b", "abc", "abcd", "http://", "http://a", "https://a.b:80/c?d#e", "a.b:80", "localhost:8080", "http://localhost", "http://a_b.c", "http://-a.b", "http://.a", ".a.b", "http://a b", "mailto:a@b.c", "https://u:p@a.b", "http://1.2.3.4", "http://256.1.1.1", "http://[::1]:80/", "http://é.ü", "ftp://a.b", "gopher://a.b", "//a.b", "/a/b", "/a.b/c", "https://a.b/c d", "https://github.com/a/b", "http://a..b", "https://www.a.b", "a@b.c", "https://a.b:999999", "xn--a.b", strings.Repeat("a", 2083), "http://a.b/" + strings.Repeat("a", 2000)} {
		record(with{}, chart(minimal+"maintainers: [{name: m, url: '"+url+"'}]\n"), file("values.yaml", ""))
	}
	record(with{}, node{Path: "Chart.yaml", Dir: true})
	record(with{}, file("values.yaml", "a: 1"))
	record(with{})
}

func values() {
	for _, text := range []string{"", "null", "a: 1\n", "[]", "a", "a: [", "a: 1\na: 2\n", "\t"} {
		record(with{}, chart(minimal), file("values.yaml", text))
	}
	record(with{}, chart(minimal))
	schema := file("values.schema.json", `{"type":"object","required":["b"],"properties":{"a":{"type":"string"}}}`)
	record(with{}, whole(schema)...)
	record(with{}, whole(schema, file("templates/a.yaml", ""))...)
	record(with{values: "a: x\nb: 1\n"}, whole(schema)...)
	record(with{values: "a: null\nb: 1\n"}, whole(schema)...)
	record(with{values: "b: null\na: x\n"}, whole(schema)...)
	record(with{values: "a: {c: d}\n"}, whole(schema)...)
	record(with{skip: true}, whole(schema, file("templates/a.yaml", "a: b: c"))...)
	record(with{}, whole(file("values.schema.json", ""))...)
	record(with{}, whole(file("values.schema.json", "{"))...)
	record(with{}, whole(file("values.schema.json", `{"type":"x"}`))...)
	record(with{}, whole(file("values.schema.json", `{"required":["global"]}`))...)
	record(with{}, chart(minimal), file("values.schema.json", `{"required":["b"]}`))
	record(with{}, whole(file("charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n"), file("charts/db/values.schema.json", `{"required":["size"]}`))...)
	record(with{values: "db: 1\n"}, whole(file("charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n"))...)
}

func templates() {
	record(with{}, whole(node{Path: "templates", Text: "x"})...)
	record(with{}, whole(node{Path: "templates", Dir: true})...)
	for _, name := range []string{"a.yml", "a.tpl", "NOTES.txt", "a.json", "a", "a.YAML", "sub/a.toml", "_helpers.tpl", ".hidden", "a.b/c", "a.yaml.gotmpl"} {
		record(with{}, whole(file("templates/"+name, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Bad_Name}\n"))...)
	}
	for _, text := range []string{
		"", "\n", "# x\n", "---\n", "a: b\n", "{{ .Values.a }}", "{{ .Values.a.b }}", "{{ fail \"x\" }}", "{{ required \"y\" .Values.z }}", "metadata: {name: {{ required \"y\" .Values.z }}}\n", "{{ nofunc }}", "{{ if }}", "{{ include \"x\" . }}", "{{ lookup \"v1\" \"Pod\" \"a\" \"b\" }}", "{{ .Release.Name }}-{{ .Release.Namespace }}: {{ .Capabilities.KubeVersion.Minor }}\nmetadata: {name: a}\n",
		" a: b\n", "\n\n  a: b\n", "\ta: b\n", "  \n---\n a: b\n", "a: b: c\n", "a: [\n", "- a\n", "just text\n", "metadata: []\n", "metadata: {name: [a]}\n", "metadata: {name: 1}\n", "metadata: {name: true}\n", "kind: [a]\nmetadata: {name: a}\n", "apiVersion: {}\nmetadata: {name: a}\n", "metadata: {name: a, namespace: [b]}\n", "METADATA: {NAME: a}\nKIND: Service\n", "metadata: null\n", "1\n", "null\n", "true\n",
		"metadata: {name: a}\n---\nmetadata: {name: B}\n---\n# only a comment\n---\nmetadata: {name: c}\n", "---\n---\nmetadata: {name: A}\n", "metadata: {name: a}\n---x\nmetadata: {name: B}\n", "metadata: {name: a}\n--- # x\nmetadata: {name: B}\n", "metadata: {name: a}\n--- x\n", "metadata: {name: a}\r\n---\r\nmetadata: {name: B}\r\n", "metadata: {name: a}\n---", "metadata: {name: a}\n...\nmetadata: {name: B}\n",
		"metadata: {name: a}\n---\na: [\n---\nmetadata: {name: B}\n",
		`{"metadata": {"name": "A"}}`, `{"metadata": {"name": "a"}} {"metadata": {"name": "B"}}`, "{\"metadata\": {\"name\": \"a\"}}\n---\n{\"metadata\": {\"name\": \"B\"}}\n", `{"metadata": {"name": 1}}`, "{a: b}\n", "{ a: [", "  {\"metadata\": {\"name\": \"A\"}}\n", "{{ toJson (dict \"metadata\" (dict \"name\" \"X\")) }}\n",
		"annotations:\n  helm.sh/hook: crd-install\nmetadata: {name: a}\n", "metadata:\n  name: a\n  annotations:\n    \"helm.sh/hook\":  crd-install\n", "metadata: {name: a, annotations: {helm.sh/hook: pre-install}}\n", "{{/* .Release.Time */}}\nmetadata: {name: a}\n", "{{ .Release.Time }}",
		"kind: Deployment\nmetadata: {name: a}\n", "kind: Deployment\nmetadata: {name: a}\nspec: {selector: {matchLabels: {a: b}}}\n", "kind: StatefulSet\nmetadata: {name: a}\nspec: {selector: {matchExpressions: []}}\n", "kind: ReplicaSet\nmetadata: {name: 'a\"b'}\n", "kind: DaemonSet\nmetadata: {name: a}\n---\nkind: Job\nmetadata: {name: b}\n", "kind: deployment\nmetadata: {name: a}\n",
		"kind: List\nmetadata: {name: a}\nitems:\n- metadata: {name: b, annotations: {helm.sh/resource-policy: keep}}\n", "kind: List\nmetadata: {name: a}\nitems:\n- metadata: {name: b}\n", "kind: List\nmetadata: {name: a}\nitems: {}\n", "kind: List\nmetadata: {name: a}\nitems: [a]\n", "kind: List\nmetadata: {name: a}\nitems: [{metadata: [a]}]\n", "kind: List\nmetadata: {name: a}\nitems: [{metadata: {annotations: [a]}}]\n", "kind: List\nmetadata: {name: a}\nitems: [{metadata: {annotations: {a: 1}}}, null]\n", "kind: List\nmetadata: {name: a}\nitems: [{metadata: {annotations: {a: [b]}}}]\n",
		"metadata: {name: a}\n---\nkind: List\nmetadata: {name: b}\nitems: [{metadata: {annotations: {helm.sh/resource-policy: keep}}}]\n",
		"# " + strings.Repeat("x", 70000) + "\nmetadata: {name: a}\n", "metadata: {name: a}\n# " + strings.Repeat("x", 70000) + "\n",
	} {
		template(text)
	}
	record(with{values: "a: {b: web}\n"}, whole(file("templates/a.yaml", "metadata: {name: {{ .Values.a.b }}}\n"))...)
	record(with{}, whole(file("templates/a.yaml", "a: [\n"), file("templates/b.yaml", "metadata: {name: B}\n"), file("templates/c.json", ""))...)
	record(with{}, whole(file("templates/b.yaml", "metadata: {name: B}\n"), file("templates/c.json", ""), file("templates/d.yaml", "metadata: {name: D}\n"))...)
	record(with{kube: "1.30"}, whole(file("templates/a.yaml", "metadata: {name: v{{ .Capabilities.KubeVersion.Version }}X}\n"))...)
	record(with{}, whole(file("templates/_a.yaml", "a: [\n"))...)
	record(with{}, whole(file("charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n"), file("charts/db/templates/a.yaml", "a: ["), file("templates/b.yaml", "metadata: {name: b}\n"))...)
}

func names() {
	for _, kind := range []string{"Pod", "Service", "Namespace", "ServiceAccount", "CertificateSigningRequest", "Role", "clusterrolebinding", "Unknown", "''"} {
		for _, name := range []string{"''", "a", "A", "a.b", "1a", "a-", "a_b", ".", "..", "a/b", "'%'", "'a%/b'", strings.Repeat("a", 64), strings.Repeat("a", 254), strings.Repeat("A", 64), strings.Repeat("A", 254), "\"a\\\"b\\n\"", "é"} {
			template("kind: " + kind + "\nmetadata: {name: " + name + "}\n")
		}
	}
}

func deprecations() {
	for _, api := range []string{"extensions/v1beta1 Ingress", "extensions/v1beta1 Deployment", "apps/v1beta1 Deployment", "apps/v1 Job", "batch/v1beta1 CronJob", "batch/v1 CronJob", "policy/v1beta1 PodDisruptionBudget", "policy/v1beta1 PodSecurityPolicy", "v1 Pod", "v1 ComponentStatus", "v1 Endpoints", "autoscaling/v2beta2 HorizontalPodAutoscaler", "networking.k8s.io/v1beta1 IngressList", "example.com/v1 Thing", "a/b/c Thing", "flowcontrol.apiserver.k8s.io/v1beta3 FlowSchema", "storage.k8s.io/v1beta1 CSIDriver", "'' Pod"} {
		version, kind, _ := strings.Cut(api, " ")
		for _, kube := range []string{"1.8", "1.15", "1.16.3", "1.20", "1.25", "v1.36.0", "2.0"} {
			record(with{kube: kube}, whole(file("templates/a.yaml", "apiVersion: "+version+"\nkind: "+kind+"\nmetadata: {name: a}\nspec: {selector: {matchLabels: {}}}\n"))...)
		}
	}
}

func dependencies() {
	db := file("charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n")
	listed := func(text string) node { return chart(minimal + "dependencies: " + text + "\n") }
	values := file("values.yaml", "")
	record(with{}, listed("[{name: db, version: 1.0.0, repository: ''}]"), values, db)
	record(with{}, listed("[{name: db, version: 1.0.0, repository: ''}]"), values)
	record(with{}, listed("[{name: x, version: 1.0.0, repository: ''}, {name: y, version: 1.0.0, repository: ''}]"), values, db)
	record(with{}, listed("[{name: db, version: 1.0.0, repository: ''}, {name: db, version: 2.0.0, repository: '', alias: b}]"), values, db)
	record(with{}, listed("[{name: db, version: 1.0.0, repository: ''}, {name: db, version: 2.0.0, repository: ''}]"), values, db)
	record(with{}, listed("[{name: db, version: 1.0.0, repository: '', alias: c}, {name: x, version: 2.0.0, repository: '', alias: c}]"), values, db)
	record(with{}, listed("[null]"), values, db)
	record(with{}, chart(minimal), values, db)
	record(with{}, chart(minimal), values, file("charts/db/Chart.yaml", "a: ["))
	record(with{}, chart(minimal), values, file("charts/db.tgz", "x"))
	record(with{}, chart("apiVersion: v1\nname: web\nversion: 1.0.0\n"), file("requirements.yaml", "dependencies: [{name: db, version: 1.0.0, repository: ''}]\n"), values)
	record(with{}, chart(minimal), file("requirements.yaml", "dependencies: [{name: db, version: 1.0.0, repository: ''}]\n"), values)
}

// What is shown and packed.
func parts() {
	readme := func(names ...string) {
		nodes := []node{}
		for _, name := range names {
			nodes = append(nodes, file(name, "# "+name+"\n"))
		}
		record(with{}, whole(nodes...)...)
	}
	readme("README.md")
	readme("README", "readme.txt")
	readme("Readme.TXT", "readme.md")
	readme("docs/README.md")
	readme("README.rst", "README.MD")
	crd := file("crds/a.yaml", "kind: CustomResourceDefinition\n")
	record(with{}, whole(crd)...)
	record(with{}, whole(crd, file("crds/b.yml", "---\nb: 1\n"), file("crds/c.txt", "no"), file("crds/sub/d.JSON", "{}"))...)
	record(with{}, whole(file("crds/a.yaml", "---\na: 1\n"), file("README.md", "r"))...)
	record(with{}, whole(file("charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n"), file("charts/db/crds/x.yaml", "x: 1"), file("charts/db/values.yaml", "b: 2"), crd)...)
	record(with{}, chart("# comment\nname: web\nversion: 1.0.0\ndescription: \"a: b # c\"\nkeywords: [z, a]\nsources: [https://x.y/z]\nmaintainers: [{url: https://a.b, name: m, email: m@n.op}]\napiVersion: v2\nannotations: {z: \"1\", a: \"true\", m: \"x\\ny\\n\"}\nkubeVersion: '>=1.20 <2'\nappVersion: 'null'\ntype: application\nhome: https://h.i\ncondition: c\ntags: t\ndeprecated: true\nicon: https://i.j\n"))
	record(with{}, chart(minimal+"dependencies:\n- name: db\n  version: '>=1.0'\n  repository: https://a.b\n  condition: x.y\n  tags: [t, u]\n  enabled: true\n  import-values: [a, {child: b, parent: c}, 1.5]\n  alias: d\n"), file("Chart.lock", "dependencies:\n- name: db\n  repository: https://a.b\n  version: 1.2.3\ndigest: sha256:abc\ngenerated: \"2026-01-02T03:04:05.678901234+02:00\"\n"))
	record(with{}, chart(minimal), file("Chart.lock", ""))
	record(with{}, chart(minimal), file("Chart.lock", "digest: x\n"))
	record(with{}, chart("apiVersion: v1\nname: web\nversion: 1.0.0\n"), file("requirements.yaml", "dependencies: [{name: db, version: 1, repository: x}]\n"), file("requirements.lock", "digest: y\n"))
	record(with{}, chart(minimal), file("values.yaml", "# c\na:   1\n---\nb: 2\n"))
	record(with{}, chart(minimal), file("values.yaml", "\xef\xbb\xbfa: 1\r\n"))
	record(with{}, whole(file("values.schema.json", " {\"a\": 1}\n"), file("LICENSE", "l"), file(".helmignore", "*.tmp\n"), file("x.tmp", "t"), file("templates/b/c.tpl", "{{ 1 }}"), file("ci/values.yaml", "z: 1"))...)
	record(with{}, whole(file("values.schema.json", "{"))...)
	record(with{}, whole(file("files/"+strings.Repeat("d/", 60)+"long.txt", "x"), file("é ü/日本.txt", "y"))...)
}
