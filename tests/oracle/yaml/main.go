// Records what the YAML library of Helm 3.22 makes of texts and values, as golden files for
// crates/chart. Usage: go run . FOLDER
//
// decode.jsonl, syntax.jsonl and mutations.jsonl: {"yaml", "json"} or {"yaml", "error"}; bytes.jsonl
// the same of {"base64"}; encode.jsonl: {"value", "yaml"}.
// The first line of each names the library and the Go that recorded it.
package main

import (
	"encoding/json"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"sigs.k8s.io/yaml"
)

const library = "sigs.k8s.io/yaml v1.6.0"

func main() {
	folder := os.Args[1]
	write(filepath.Join(folder, "decode.jsonl"), decodes())
	write(filepath.Join(folder, "syntax.jsonl"), decodeAll(syntax()))
	write(filepath.Join(folder, "mutations.jsonl"), decodeAll(mutations()))
	write(filepath.Join(folder, "bytes.jsonl"), bytesRows())
	write(filepath.Join(folder, "encode.jsonl"), encodes())
}

func write(path string, rows []map[string]any) {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	rows = append([]map[string]any{{"recorded_by": library + ", " + runtime.Version()}}, rows...)
	for _, row := range rows {
		if err := encoder.Encode(row); err != nil {
			panic(err)
		}
	}
	if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
		panic(err)
	}
}

// Scalars that mean something to some reader of YAML.
var scalars = strings.Split(`y|Y|yes|Yes|YES|yEs|n|N|no|No|NO|nO|true|True|TRUE|tRUE|false|False|FALSE|on|On|ON|oN|off|Off|OFF|`+
	`~|null|Null|NULL|nULL|.nan|.NaN|.NAN|.inf|.Inf|.INF|+.inf|-.inf|-.Inf|0|-0|+0|1|-1|+1|+5|007|08|09|0755|0o755|0O17|0x1F|0X1f|-0x1F|+0x1F|`+
	`0b11|0B11|-0b101|+0b1|0x|0b|0o|0o8|0b2|1_000|_1|1_|1__0|0x_1F|0_7|1e3|1E3|1e+3|1e-3|-1e3|+1e3|1e|e3|1e400|-1e400|.5|-.5|+.5|5.|1.5.2|.5e3|`+
	`1.|1.0|1.10|-0.0|0.0|1e6|1000000|1e20|1e21|1e22|9223372036854775807|9223372036854775808|-9223372036854775808|-9223372036854775809|`+
	`18446744073709551615|18446744073709551616|100000000000000000000|123456789012345678|9007199254740993|0.1|0.000001|0.0000001|123456.5|1234567.5|`+
	`2001-01-01|2001-1-1|2001-13-01|2001-02-30|2001-01-01T00:00:00Z|2001-01-01t00:00:00Z|2001-01-01 00:00:00|2001-01-01T00:00:00+01:00|2001-01-01T00:00:00.5Z|2001-12-14 21:59:43.10 -5|2001-1-1T0:0:0Z|`+
	`1:30|12:30:45|190:20:30|-1:30|1:60|1:6|01:02|1:30.5|::|a:b|a: b|a #b|a#b|#|# c|-|- a|-a|--|---|--- a|...|.|..|?|? a|?a|:|:a|,|, a|[|]|{|}|{}|[]|{a}|[a|&a|*a|!a|!|`+
	"|<<|=|==|%|%a|@|@a|`|`a|'|\"|'a|\"a|a'b|a\"b|\\|a\\b|<a>|a&b|a*b|a!b|a|b,c|a b| a|a |  |\t|a\tb|\ta|a\t|"+
	`é|ü ö|日本語|😀|a😀b|nul|nil|None|NaN|Infinity|inf|+inf|0.1.2|1,000|1 000|v1.2.3|1.2.3|10.0.0.1|::1|12e03|0e0|0e1|00|0.|-|+|-.|+.|._|.e3|1e1_0|1_0e1|0x1.8p1|0x1p-2|`+
	`abcdefghijklmnopqrstuvwxyz|http://a.b/c?d=e&f=g#h|a=b|a;b|a(b)|$a|${a}|a/b|a~b|~a|a?b|a?|a:|a: |:a b|!!str|!!int|"quoted"|'single'`, "|")

func decodes() []map[string]any {
	var texts []string
	for _, scalar := range scalars {
		texts = append(texts, "a: "+scalar+"\n", "- "+scalar+"\n", scalar+": 1\n", "{k: "+scalar+"}\n", scalar)
		for _, tag := range []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!custom", "!"} {
			texts = append(texts, "a: "+tag+" "+scalar+"\n")
		}
		quoted, _ := json.Marshal(scalar)
		texts = append(texts, "a: "+string(quoted)+"\n", "a: '"+strings.ReplaceAll(scalar, "'", "''")+"'\n")
	}
	texts = append(texts, documents...)
	random := rand.New(rand.NewSource(1))
	for range 600 {
		texts = append(texts, mutate(random, documents[random.Intn(len(documents))]))
	}
	return decodeAll(texts)
}

func decodeAll(texts []string) []map[string]any {
	var rows []map[string]any
	seen := map[string]bool{}
	for _, text := range texts {
		if seen[text] || !valid(text) {
			continue
		}
		seen[text] = true
		if row := decode(text); steady(text, row) {
			row["yaml"] = text
			rows = append(rows, row)
		}
	}
	return rows
}

// steady tells whether a text gives the same each time: keys like 1 and 1.0 become one key of
// JSON, and which of the two stays depends on the order in which Go walks a map.
func steady(text string, row map[string]any) bool {
	for range 20 {
		if other := decode(text); other["json"] != row["json"] || other["error"] != row["error"] {
			return false
		}
	}
	return true
}

func valid(text string) bool { return strings.ToValidUTF8(text, "?") == text }

func decode(text string) (row map[string]any) {
	row = map[string]any{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		row["error"] = err.Error()
		return row
	}
	// Through interfaces, as values go: every number a double.
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		row["error"] = err.Error()
		return row
	}
	// As text, for JSON numbers of 2^53 and more look alike to many readers.
	text2, err := json.Marshal(value)
	if err != nil {
		row["error"] = err.Error()
		return row
	}
	row["json"] = string(text2)
	return row
}

// Documents of every construct, in the shapes that charts use.
var documents = []string{
	"", "\n", "# only a comment\n", "---\n", "--- \na: 1\n", "---\na: 1\n---\nb: 2\n", "a: 1\n...\nb: 2\n", "%YAML 1.1\n---\na: 1\n", "\ufeffa: 1\n",
	"a: 1\na: 2\n", "m:\n  a: 1\n  a: 2\n", "b: &b {x: 1, y: 2}\nc:\n  <<: *b\n  y: 3\n", "b: &b {x: 1}\nc:\n  x: 2\n  <<: *b\n",
	"a: &a {x: 1}\nb: &b {x: 2, z: 3}\nc:\n  <<: [*a, *b]\n", "c:\n  <<: {x: 1}\n", "c:\n  <<: 3\n", "c:\n  <<: [3]\n", "c:\n  <<: *nope\n", "a: *nope\n",
	"a: &x 1\nb: *x\nc: &x 2\nd: *x\n", "a: &a [1, *a]\n", "&k a: 1\n*k : 2\n", "? a\n: b\n", "? [a, b]\n: c\n", "? {a: b}\n: c\n", "~: 1\n", "null: 1\n", "1.5: a\n1: b\ntrue: c\n",
	"a: |\n  x\n   y\n\n  z\n\n", "a: |-\n  x\n\n", "a: |+\n  x\n\n", "a: |2\n    x\n", "a: >\n  x\n  y\n\n  z\n", "a: >-\n  x\n    y\n  z\n", "a: >+\n  x\n\n\n", "a: |\nb: 1\n", "a: |3\n  x\n",
	"a: 'it''s'\n", "a: 'x\n  y\n\n  z'\n", "a: \"x\n  y\\\n  z\"\n", "a: \"\\x41\\u00e9\\U0001F600\\t\\n\\\\\\/\\\"\\_\\N\\L\\P\\e\\0\"\n", "a: \"\\q\"\n", "a: \"\\ud800\"\n", "a: \"open\n", "a: 'open\n",
	"a: b: c\n", "a:\n- b\n -c\n", "a:\n\tb: 1\n", "\ta: 1\n", "a: 1\n\tb: 2\n", "a: [1, 2\n", "a: {b: 1\n", "a: [1, 2]]\n", "a: }\n", "- a\nb: 1\n", "a: 1\n- b\n", "a:\n  b: 1\n c: 2\n", "a: @b\n", "a: `b\n", "a: %b\n",
	"[1, 2, {a: b, c}, [d]]\n", "{a, b: , c: 1}\n", "{a: 1, a: 2}\n", "[a: 1, b: 2]\n", "[? a : b]\n", "- - a\n  - b\n- - c\n", "- a: 1\n  b: 2\n-\n  c: 3\n- \n", "a:\n- b:\n  - c\n", "a:   # comment\n  b: 1 # more\n",
	"a: b #c\n", "a: b#c\n", "a: 'b' #c\n", "a: x\n  y\n  z\nb: 1\n", "a: x\n\n  y\n", "key with spaces: v\n\"quoted key\": v\n'single': v\n", "a:\n  - 1\n  -\n  - ~\n", "a: !!binary aGVsbG8=\n", "a: !!binary '!!!'\n", "a: !!binary |\n  aGVs\n  bG8=\n",
	"a: !!set {x, y}\n", "a: !!omap [x: 1]\n", "a: !!seq [1]\n", "a: !!map {x: 1}\n", "a: !!timestamp 2001-01-01\n", "a: !<tag:yaml.org,2002:str> 1\n", "a: !e!x 1\n", "%TAG !e! tag:x,2000:\n---\na: !e!x 1\n",
	"a: 1\r\nb: 2\r\n", "a: 1\rb: 2\r", "a: \u2028b\n", "a: \u0085b\n", "a: \u0001\n", "a: \x7f\n", "a: \ufffe\n", strings.Repeat("a: ", 3) + "b\n", strings.Repeat("[", 60) + strings.Repeat("]", 60) + "\n",
	"replicas: 2\nimage:\n  repository: nginx\n  tag: \"1.25\"\n  pullPolicy: IfNotPresent\nservice: {type: ClusterIP, port: 80}\nresources: {}\nnodeSelector: {}\ntolerations: []\naffinity: {}\n",
	"ingress:\n  enabled: false\n  annotations: {}\n    # kubernetes.io/tls-acme: \"true\"\n  hosts:\n    - host: chart-example.local\n      paths: [\"/\"]\n  tls: []\n",
	"env:\n  - {name: A, value: \"1\"}\n  - name: B\n    valueFrom:\n      fieldRef: {fieldPath: metadata.name}\nargs: [--a=b, -c, 'd e']\nscript: |\n  #!/bin/sh\n  set -e\n  echo \"$A\"\n",
}

func mutate(random *rand.Rand, text string) string {
	runes := []rune(text)
	pieces := []string{" ", "\n", "\t", ":", ": ", "- ", "#", " #", "'", "\"", "[", "]", "{", "}", ",", "&a ", "*a", "!", "|", ">", "%", "@", "?", "? ", "~", "1", "a", "\n  ", "---\n", "<<: "}
	for range 1 + random.Intn(3) {
		at := 0
		if len(runes) > 0 {
			at = random.Intn(len(runes) + 1)
		}
		switch random.Intn(3) {
		case 0:
			runes = append(runes[:at:at], append([]rune(pieces[random.Intn(len(pieces))]), runes[at:]...)...)
		case 1:
			if at < len(runes) {
				runes = append(runes[:at:at], runes[at+1:]...)
			}
		case 2:
			if at < len(runes) {
				runes = append(runes[:at:at], append([]rune(pieces[random.Intn(len(pieces))]), runes[at+1:]...)...)
			}
		}
	}
	return string(runes)
}

func encodes() []map[string]any {
	var values []any
	for _, scalar := range scalars {
		values = append(values, scalar, []any{scalar}, map[string]any{"k": scalar}, map[string]any{scalar: 1.0}, scalar+"\n", "x\n"+scalar, scalar+"\n\n", "\n"+scalar, " "+scalar+"\ny")
	}
	long := strings.Repeat("word ", 40)
	for _, text := range []string{long, strings.TrimSpace(long), strings.Repeat("x", 200), strings.Repeat("x", 200) + " " + strings.Repeat("y", 200), long + ": " + long, "'" + long, "\"" + long + "\"", "é" + long, "\t" + long, long + "\n" + long,
		"# " + long, strings.Repeat("a  b ", 40), strings.Repeat("a ' b ", 40), strings.Repeat("a\tb ", 40), "a\n b\n", "a \nb", "a\n\nb", "\n\n", "\n", "a\n", "a\n\n\n", "  a\n b", "a\r\nb", "a\rb", "a\u2028b", "a\u0085b", "\ufeffa", "a\u00a0b", "\x00\a\b\v\f\x1b\x7f"} {
		values = append(values, text, []any{text}, map[string]any{"key": text}, map[string]any{"a": map[string]any{"b": []any{text}}}, map[string]any{text: 1.0}, []any{[]any{text}}, []any{map[string]any{"k": text, "l": text}})
	}
	for _, number := range []float64{0, 1, -1, 1.5, 0.1, 1e3, 1e5, 1e6, 999999, 1234567, 1234567.5, 123456.5, 123456789.125, 1e15, 1e16, 1e19, 1e20, 1e21, 1e22, -1e21, 1e-4, 1e-5, 1e-6, 1e-7, 9007199254740993, 9223372036854775807, 18446744073709551615, 1.7976931348623157e308, 5e-324, 2.5e-8} {
		values = append(values, number, []any{number}, map[string]any{"n": number})
	}
	values = append(values, nil, true, false, []any{}, map[string]any{}, []any{nil}, map[string]any{"a": nil, "b": []any{}, "c": map[string]any{}}, []any{[]any{}, map[string]any{}}, []any{[]any{1.0, 2.0}, []any{[]any{"a"}}},
		[]any{map[string]any{"a": 1.0, "b": map[string]any{"c": []any{1.0}}}, map[string]any{"d": []any{}}}, map[string]any{"a": []any{map[string]any{"b": []any{map[string]any{"c": 1.0}}}}})
	// The order of keys has circles (z10b before z1a before z2 before z10b), in which Go's result
	// depends on where its sort began; these keys hold none.
	keys := map[string]any{}
	for _, key := range strings.Fields("_ 1 A Z a-b a.b a9 a10 a010 a0 a00 ab b B é z1 z01 z1a z2 q10b q2 0 00 01 10 9 w1b2 w1b10 a_b a/b .a -a ~ ñ Ñ 日 a:b x1.10 x1.9 v1.2.10 v1.2.9") {
		keys[key] = 1.0
	}
	values = append(values, keys, map[string]any{strings.Repeat("k", 127): 1.0, strings.Repeat("k", 128): 2.0, strings.Repeat("k", 129): 3.0, strings.Repeat("k", 200): map[string]any{"a": 1.0}, strings.Repeat("é", 70): 5.0, "a\nb": []any{1.0}})
	random := rand.New(rand.NewSource(2))
	for range 500 {
		values = append(values, grow(random, 0))
	}
	var rows []map[string]any
	for _, value := range values {
		data, err := yaml.Marshal(value)
		if err != nil {
			// toYaml then gives nothing.
			rows = append(rows, map[string]any{"value": value, "error": err.Error()})
			continue
		}
		rows = append(rows, map[string]any{"value": value, "yaml": strings.TrimSuffix(string(data), "\n")})
	}
	return rows
}

func grow(random *rand.Rand, depth int) any {
	if depth > 4 || random.Intn(3) == 0 {
		switch random.Intn(6) {
		case 0:
			return nil
		case 1:
			return random.Intn(2) == 0
		case 2:
			return float64(random.Intn(4000000)) / float64([]int{1, 1, 8, 1000}[random.Intn(4)])
		default:
			return word(random)
		}
	}
	if random.Intn(2) == 0 {
		list := []any{}
		for range random.Intn(4) {
			list = append(list, grow(random, depth+1))
		}
		return list
	}
	table := map[string]any{}
	for range random.Intn(4) {
		table[word(random)] = grow(random, depth+1)
	}
	return table
}

func word(random *rand.Rand) string {
	if random.Intn(2) == 0 {
		return scalars[random.Intn(len(scalars))]
	}
	pieces := []string{"a", "b", " ", "  ", "\n", "\t", ":", ": ", "#", " #", "-", "'", "\"", "é", "😀", "1", ".", "word ", "\\", "{", "]", ","}
	var out strings.Builder
	for range random.Intn(30) {
		out.WriteString(pieces[random.Intn(len(pieces))])
	}
	return out.String()
}
