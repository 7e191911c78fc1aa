//! Charts of three sizes, written by this program: what they hold is made up, how much of it is not. The large one has
//! the size of kube-prometheus-stack: 200 KB of values, 140 templates of which thirty are dashboards, five charts in it,
//! and 4 MB of CRDs.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// How large a chart is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Size {
    /// Its name.
    pub(crate) name: &'static str,
    /// Components: a deployment, a service, an account and a map each.
    components: usize,
    /// Dashboards: long texts with few actions.
    dashboards: usize,
    /// Charts inside.
    charts: usize,
    /// CRDs of 200 KB.
    crds: usize,
    /// Keys of values that no template reads.
    idle_values: usize,
}

/// The three sizes.
pub(crate) const SIZES: [Size; 3] = [
    Size {
        name: "small",
        components: 1,
        dashboards: 0,
        charts: 0,
        crds: 0,
        idle_values: 20,
    },
    Size {
        name: "medium",
        components: 8,
        dashboards: 2,
        charts: 2,
        crds: 1,
        idle_values: 400,
    },
    Size {
        name: "large",
        components: 26,
        dashboards: 30,
        charts: 5,
        crds: 20,
        idle_values: 5000,
    },
];

const HELPERS: &str = r#"{{- define "NAME.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- define "NAME.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := include "NAME.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}
{{- define "NAME.selector" -}}
app.kubernetes.io/name: {{ include "NAME.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "NAME.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{ include "NAME.selector" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- with .Values.commonLabels }}
{{ tpl (toYaml .) $ }}
{{- end }}
{{- end }}
{{- define "NAME.image" -}}
{{- $registry := default .image.registry ((.root.Values.global).imageRegistry) -}}
{{- printf "%s/%s:%s" $registry .image.repository (toString (default .root.Chart.AppVersion .image.tag)) -}}
{{- end }}
"#;

const COMPONENT: &str = r#"{{- $part := .Values.KEY }}
{{- if $part.enabled }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "NAME.fullname" . }}-KEY
  namespace: {{ .Release.Namespace }}
  labels:
    {{- include "NAME.labels" . | nindent 4 }}
  {{- with $part.annotations }}
  annotations:
    {{- range $key, $value := . }}
    {{ $key }}: {{ $value | quote }}
    {{- end }}
  {{- end }}
spec:
  {{- if not $part.autoscaling.enabled }}
  replicas: {{ $part.replicas }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "NAME.selector" . | nindent 6 }}
      part: KEY
  template:
    metadata:
      annotations:
        checksum/config: {{ toYaml $part.config | sha256sum }}
      labels:
        {{- include "NAME.labels" . | nindent 8 }}
        part: KEY
    spec:
      {{- with $part.securityContext }}
      securityContext:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      containers:
        - name: main
          image: {{ include "NAME.image" (dict "image" $part.image "root" $) }}
          {{- if semverCompare ">=1.29-0" .Capabilities.KubeVersion.Version }}
          restartPolicy: Always
          {{- end }}
          args:
            {{- range $i, $arg := $part.args }}
            - {{ printf "--%s=%d" $arg $i | quote }}
            {{- end }}
          ports:
            {{- range $name, $port := $part.ports }}
            - name: {{ $name }}
              containerPort: {{ $port | int }}
            {{- end }}
          resources:
            {{- toYaml $part.resources | nindent 12 }}
          env:
            {{- range $key := keys $part.env | sortAlpha }}
            - name: {{ $key | upper | replace "-" "_" }}
              value: {{ tpl (get $part.env $key) $ | quote }}
            {{- end }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ include "NAME.fullname" . }}-KEY
  labels:
    {{- include "NAME.labels" . | nindent 4 }}
spec:
  selector:
    {{- include "NAME.selector" . | nindent 4 }}
  ports:
    {{- range $name, $port := $part.ports }}
    - {name: {{ $name }}, port: {{ $port | int }}}
    {{- end }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ include "NAME.fullname" . }}-KEY
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ include "NAME.fullname" . }}-KEY
data:
  {{- range $key, $value := $part.config }}
  {{ $key }}: {{ $value | toJson | quote }}
  {{- end }}
{{- end }}
"#;

const PART: &str = r#"KEY:
  enabled: true
  replicas: 2
  autoscaling: {enabled: false, min: 1, max: 10}
  annotations: {owner: team-a, note: "a longer note about what this part is good for, which nobody reads"}
  image: {registry: registry.example, repository: parts/KEY, tag: ""}
  securityContext: {runAsNonRoot: true, runAsUser: 65534, fsGroup: 2000, seccompProfile: {type: RuntimeDefault}}
  args: [log-level, listen, peers, retention, shards, quiet]
  ports: {http: 8080, metrics: 9090, grpc: 9095}
  resources:
    limits: {cpu: 500m, memory: 256Mi}
    requests: {cpu: 100m, memory: 128Mi}
  env:
    release-name: "{{ .Release.Name }}"
    namespace: "{{ .Release.Namespace }}"
    plain: some text without actions
    level: info
  config:
    interval: 30s
    timeout: 10s
    rules: {first: [1, 2, 3], second: {third: yes, fourth: 1000000}}
    list: [alpha, beta, gamma, delta]
"#;

/// Writes a chart below a folder and gives its own.
pub(crate) fn write(root: &Path, size: Size) -> PathBuf {
    let folder = root.join(size.name);
    chart(&folder, size.name, size.components, size);
    for at in 0..size.charts {
        let name = format!("{}-part{at}", size.name);
        let inner = Size {
            dashboards: 0,
            crds: 0,
            idle_values: size.idle_values / 20,
            ..size
        };
        chart(&folder.join("charts").join(&name), &name, 3, inner);
    }
    folder
}

fn put(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn chart(folder: &Path, name: &str, components: usize, size: Size) {
    let head = format!("apiVersion: v2\nname: {name}\nversion: 1.2.3\nappVersion: \"4.5\"\n");
    put(folder, "Chart.yaml", &head);
    put(
        folder,
        "README.md",
        &"# A chart\n\nwith words.\n".repeat(400),
    );
    put(
        folder,
        "templates/_helpers.tpl",
        &HELPERS.replace("NAME", name),
    );
    let mut values = String::from(
        "nameOverride: \"\"\nfullnameOverride: \"\"\ncommonLabels: {team: a, stage: \"{{ .Release.Name }}\"}\n",
    );
    for at in 0..components {
        let key = format!("part{at}");
        values.push_str(&PART.replace("KEY", &key));
        let template = COMPONENT.replace("NAME", name).replace("KEY", &key);
        put(folder, &format!("templates/{key}/all.yaml"), &template);
    }
    values.push_str("idle:\n");
    for at in 0..size.idle_values {
        writeln!(values, "  key{at}: {{a: {at}, b: text number {at}}}").unwrap();
    }
    put(folder, "values.yaml", &values);
    for at in 0..size.dashboards {
        put(
            folder,
            &format!("templates/dashboards/d{at}.yaml"),
            &dashboard(name, at),
        );
    }
    for at in 0..size.crds {
        put(folder, &format!("crds/crd{at}.yaml"), &crd(at));
    }
}

fn dashboard(name: &str, at: usize) -> String {
    let mut text = format!(
        "{{{{- if .Values.part0.enabled }}}}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{{{ printf \"%s-%s\" (include \"{name}.fullname\" $) \"d{at}\" | trunc 63 }}}}\n  labels:\n    {{{{- include \"{name}.labels\" $ | nindent 4 }}}}\ndata:\n  d{at}.json: |-\n    {{{{`{{\n"
    );
    for panel in 0..120 {
        writeln!(
            text,
            "        \"panel{panel}\": {{\"expr\": \"sum(rate(requests_total{{job=\\\"api\\\"}}[5m])) by (code)\", \"legend\": \"{{{{code}}}}\", \"w\": {panel}}},"
        )
        .unwrap();
    }
    text.push_str("    }`}}\n{{- end }}\n");
    text
}

fn crd(at: usize) -> String {
    let mut text = format!(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: things{at}.example.io\nspec:\n  versions:\n    - name: v1\n      schema:\n        openAPIV3Schema:\n          properties:\n"
    );
    for field in 0..1600 {
        writeln!(
            text,
            "            field{field}:\n              description: |-\n                What field number {field} is for, in a sentence of the usual length.\n              type: string"
        )
        .unwrap();
    }
    text
}
