package main

import (
	"fmt"
	"math/rand"
	"strconv"
	"strings"
)

// Random charts, a row each: {"text", "cases"}. A third is about templates, each with many small ones; a third about
// values of charts in charts; and a third about documents in files.
func random(seed, count int) []map[string]any {
	rows := []map[string]any{}
	for at := range count {
		g := &generator{Rand: rand.New(rand.NewSource(int64(seed + at)))}
		var text string
		switch at % 3 {
		case 0:
			text = g.templates()
		case 1:
			text = g.values()
		case 2:
			text = g.documents()
		}
		fixture := parse(text)
		fixture.filesOnly = at%3 == 0
		cases := []map[string]any{}
		for _, one := range fixture.cases {
			row := fixture.run(one)
			row["case"] = one.name
			cases = append(cases, row)
		}
		rows = append(rows, map[string]any{"text": text, "cases": cases})
	}
	return rows
}

type generator struct {
	*rand.Rand
	locals []string
	loops  int
	// Whether what is written may be called by others, and so must not call them: calls without end take all memory.
	callee bool
}

func (g *generator) pick(from ...string) string { return from[g.Intn(len(from))] }

func (g *generator) chance(percent int) bool { return g.Intn(100) < percent }

// A chart with one values file and templates that are rendered one by one.
func (g *generator) templates() string {
	var out strings.Builder
	out.WriteString("-- values.yaml --\n")
	fmt.Fprintf(&out, "s: %s\nt: %s\nn: %s\nf: %s\nb: %s\nnul: null\nl: [%s, %s, %s]\nm: {a: %s, b: {c: %s, d: [%s]}, e-f: %s}\nempty: %s\n", g.scalar(), g.text(), g.number(), g.number(), g.pick("true", "false", "yes", "off"), g.scalar(), g.scalar(), g.scalar(), g.scalar(), g.scalar(), g.scalar(), g.scalar(), g.pick("{}", "[]", `""`, "0", "~"))
	g.callee = true
	fmt.Fprintf(&out, "tpl: %q\n", g.template(1))
	out.WriteString("-- templates/_h.tpl --\n")
	g.locals = nil
	fmt.Fprintf(&out, "{{ define \"h1\" }}%s{{ end }}\n{{- define \"h2\" -}} {{ . }} {{- end }}\n{{ define \"h3\" }}%s\n{{ end }}\n", g.body(2), g.body(1))
	g.callee = false
	for at := range 12 {
		g.locals, g.loops = nil, 0
		fmt.Fprintf(&out, "-- each %d --\n%s\n", at, g.body(3))
	}
	// Mostly from the root, since the dot is seldom what has values.
	text := out.String()
	if g.chance(85) {
		text = strings.NewReplacer(" .Values", " $.Values", "(.Values", "($.Values").Replace(text)
	}
	return text
}

func (g *generator) scalar() string {
	switch g.Intn(4) {
	case 0:
		return g.number()
	case 1:
		return g.pick("true", "no", "null", "~", `""`, "y")
	default:
		return g.text()
	}
}

func (g *generator) number() string {
	return g.pick("0", "1", "-1", "3", "7", "1.5", "-2.25", "1000000", "1234567.5", "0.00001", "1e6", "1e21", "0x1f", "010", "9007199254740993", "100", "2147483648")
}

func (g *generator) text() string {
	return strconv.Quote(g.pick("a", "abc", "hello world", "Hello-World_foo", "a,b,,c", "x: y", "1", "007", "yes", "é日本", "  pad  ", "line\nbreak\n", "a/b/c.txt", "1.2.3", ">=1.2", "{{ .Values.s }}", "aGk=", "%d", "\"q\"", "a.b", "[a-c]+"))
}

// Text with actions.
func (g *generator) body(depth int) string {
	var out strings.Builder
	for range 1 + g.Intn(4) {
		switch g.Intn(8) {
		case 0:
			out.WriteString(g.pick("x: ", "\n", " ", "- ", "text ", "\n  ", "#", "é"))
		case 1:
			if depth > 0 {
				out.WriteString(g.block(depth - 1))
			}
		default:
			out.WriteString(g.action(g.any(depth)))
		}
	}
	return out.String()
}

func (g *generator) action(inner string) string {
	return g.pick("{{ ", "{{ ", "{{- ") + inner + g.pick(" }}", " }}", " -}}")
}

func (g *generator) block(depth int) string {
	locals := g.locals
	defer func() { g.locals = locals }()
	switch g.Intn(7) {
	case 0:
		return g.action("if "+g.boolean(depth)) + g.body(depth) + g.action("else if "+g.boolean(depth)) + g.body(depth) + g.action("else") + g.body(depth) + g.action("end")
	case 1:
		return g.action("if "+g.any(depth)) + g.body(depth) + g.action("end")
	case 2:
		return g.action("with "+g.any(depth)) + g.body(depth) + g.pick("{{ toJson . }}", "") + g.action("else") + g.body(depth) + g.action("end")
	case 3:
		g.loops++
		defer func() { g.loops-- }()
		return g.action("range "+g.list(depth)) + "{{ . }}," + g.body(depth) + g.leave() + g.action("else") + "none" + g.action("end")
	case 4:
		g.loops++
		defer func() { g.loops-- }()
		g.locals = append(g.locals, "$k", "$v")
		return g.action("range $k, $v := "+g.pick(g.mapping(depth), g.list(depth))) + "{{ $k }}={{ $v }};" + g.body(depth) + g.leave() + g.action("end")
	case 5:
		name := g.pick("$x", "$y")
		declared := g.action(name + " := " + g.any(depth))
		g.locals = append(g.locals, name)
		// The variable lives on behind this block, until the enclosing one ends.
		locals = g.locals
		return declared + g.action(name+" = "+g.any(depth)) + g.action(name)
	default:
		return g.action("template " + g.call(depth))
	}
}

func (g *generator) call(depth int) string {
	if g.callee {
		return `"h2" ` + g.argument(depth)
	}
	return g.pick(`"h1" .`, `"h2" `+g.argument(depth), `"h3" $`)
}

func (g *generator) leave() string {
	if g.chance(20) {
		return "{{ if " + g.boolean(1) + " }}{{ " + g.pick("break", "continue") + " }}{{ end }}"
	}
	return ""
}

func (g *generator) any(depth int) string {
	switch g.Intn(9) {
	case 0:
		return g.list(depth)
	case 1:
		return g.mapping(depth)
	case 2:
		return g.boolean(depth)
	case 3, 4:
		return g.numeric(depth)
	default:
		return g.stringy(depth)
	}
}

func (g *generator) argument(depth int) string {
	switch g.Intn(6) {
	case 0:
		return "(" + g.any(depth-1) + ")"
	case 1:
		return g.pick(".Values", ".Values.m", "nil", ".Values.nope", "(.Values.nope).x", ".Chart.Name")
	default:
		return g.leaf()
	}
}

func (g *generator) leaf() string {
	if len(g.locals) > 0 && g.chance(25) {
		return g.locals[g.Intn(len(g.locals))]
	}
	return g.pick(".Values.s", ".Values.t", ".Values.n", ".Values.f", ".Values.b", ".Values.nul", ".Values.l", ".Values.m", ".Values.m.a", ".Values.m.b.c", ".Values.empty", ".Values.nope", ".Release.Name", `"lit"`, "1", "2.5", "true", "`raw`", `""`, "-3", "'c'", "0x10", `"a,b"`)
}

func (g *generator) in(inner string) string { return "(" + inner + ")" }

func (g *generator) s(depth int) string {
	if depth <= 0 || g.chance(50) {
		if g.chance(12) {
			return g.leaf()
		}
		return g.pick(".Values.s", ".Values.t", ".Values.t", ".Release.Name", `"lit"`, `"a-b_c D"`, ".Chart.Name", "(toString .Values.n)", "(.Values.s | toString)", `"1.2.3"`)
	}
	return g.in(g.stringy(depth - 1))
}

func (g *generator) n(depth int) string {
	if depth <= 0 || g.chance(60) {
		if g.chance(12) {
			return g.leaf()
		}
		return g.pick("0", "1", "2", "3", "-1", "5", "(int .Values.n)", "(len .Values.l)")
	}
	return g.in(g.numeric(depth - 1))
}

func (g *generator) l(depth int) string {
	if depth <= 0 || g.chance(50) {
		if g.chance(12) {
			return g.leaf()
		}
		return g.pick(".Values.l", ".Values.l", "(list 1 2 3)", `(list "a" nil true)`, "(list)", ".Values.m.b.d", `(splitList "," .Values.t)`)
	}
	return g.in(g.list(depth - 1))
}

func (g *generator) m(depth int) string {
	if depth <= 0 || g.chance(50) {
		if g.chance(12) {
			return g.leaf()
		}
		return g.pick(".Values.m", ".Values.m.b", "(dict)", `(dict "a" 1 "z" .Values.s)`, ".Values", "(deepCopy .Values.m)")
	}
	return g.in(g.mapping(depth - 1))
}

func (g *generator) stringy(depth int) string {
	s, n, l, m, a := func() string { return g.s(depth) }, func() string { return g.n(depth) }, func() string { return g.l(depth) }, func() string { return g.m(depth) }, func() string { return g.argument(depth) }
	switch g.Intn(44) {
	case 0:
		return g.leaf()
	case 1:
		return g.pick("upper", "lower", "title", "untitle", "trim", "nospace", "snakecase", "camelcase", "kebabcase", "swapcase", "initials", "b64enc", "b64dec", "sha256sum", "sha1sum", "adler32sum", "b32enc", "quote", "squote", "toString", "toJson", "toYaml", "base", "dir", "ext", "clean", "html", "js", "urlquery", "regexQuoteMeta", "trimall \"a\"", "trimSuffix \"c\"", "trimPrefix \"a\"") + " " + s()
	case 2:
		return "trunc " + n() + " " + s()
	case 3:
		return "substr " + n() + " " + n() + " " + s()
	case 4:
		return "replace \"a\" \"<b>\" " + s()
	case 5:
		return g.pick("indent", "nindent", "wrap", "abbrev", "repeat") + " " + g.pick("0", "1", "4", "7") + " " + s()
	case 6:
		return "printf " + g.pick(`"%v"`, `"%s-%s"`, `"%d"`, `"%q"`, `"%05d|%-6s|"`, `"%.2f"`, `"%t %v"`, `"%x"`, `"%+v %T"`, `"%#v"`, `"%5.1f%%"`, `"%c %U"`) + " " + a() + " " + a()
	case 7:
		return g.pick("print", "println", "cat", "quote", "squote") + " " + a() + " " + a()
	case 8:
		return "join " + g.pick(`","`, `""`, `"-"`) + " " + g.pick(l(), a())
	case 9:
		return "default " + a() + " " + a()
	case 10:
		return "ternary " + a() + " " + a() + " " + g.in(g.boolean(depth-1))
	case 11:
		return "include " + g.call(depth) + g.pick("", " | upper", " | trim | quote", " | nindent 2", " | sha256sum", " | default \"d\"")
	case 12:
		if g.callee {
			return g.leaf()
		}
		return "tpl " + g.pick(".Values.tpl", ".Values.t", strconv.Quote("{{ .Values.s }}"), s()) + " " + g.pick("$", "$", ".")
	case 13:
		return g.pick("toJson", "toYaml", "toPrettyJson", "toRawJson", "toYamlPretty") + " " + g.pick(a(), l(), m())
	case 14:
		return g.pick("regexFind", "regexReplaceAll", "regexReplaceAllLiteral") + " " + g.pick(`"[a-c]+"`, `"(\\w)(\\d*)"`, `"^.?"`, `"b*"`) + " " + s() + g.pick("", ` "${1}x"`)
	case 15:
		return "coalesce " + a() + " " + a() + " " + a()
	case 16:
		return "get " + m() + " " + g.pick(`"a"`, `"nope"`, s())
	case 17:
		return "index " + g.pick(m()+` "a"`, l()+" "+n(), m()+` "b" "c"`, a()+" "+n())
	case 18:
		return g.pick("first", "last") + " " + l()
	case 19:
		return g.pick("kindOf", "typeOf") + " " + a()
	case 20:
		return s() + " | " + g.pick("upper", "quote", "trunc 3", "default \"x\"", "indent 2", "replace \"a\" \"b\"", "b64enc", "splitList \",\" | first", "toYaml", "trimSuffix \"-\"", "int", "len", "hasPrefix \"a\" | ternary 1 2")
	case 21:
		return "dig \"a\" \"b\" " + a() + " " + m()
	case 22:
		return "plural \"one\" \"many\" " + n()
	case 23:
		return "semver " + g.pick(`"1.2.3"`, `"v1.2"`, `"1.2.3-beta.1+b"`, s())
	case 24:
		return "toToml " + m()
	case 25:
		return "required \"msg\" " + a()
	case 26:
		return "(" + g.pick("split \"-\" ", "urlParse ") + s() + ")" + g.pick("", "._0", ".host")
	case 27:
		return "(" + g.any(depth-1) + ")" + g.pick("", ".a", ".b.c")
	case 28:
		return "date \"2006-01-02\" " + g.pick("0", "86400", "1700000000")
	case 29:
		return g.pick("duration", "durationRound") + " " + g.pick(`"95"`, `"2h10m5s"`, n())
	default:
		return g.leaf() + g.pick("", " | quote", " | toYaml", " | toString", " | default \"d\"", " | toJson")
	}
}

func (g *generator) numeric(depth int) string {
	n := func() string { return g.n(depth) }
	switch g.Intn(14) {
	case 0:
		return "len " + g.pick(g.l(depth), g.m(depth), g.s(depth))
	case 1:
		return g.pick("add", "sub", "mul", "div", "mod", "max", "min") + " " + n() + " " + n()
	case 2:
		return g.pick("addf", "subf", "mulf", "divf", "maxf", "minf") + " " + n() + " " + g.pick("1.5", "2", n())
	case 3:
		return g.pick("int", "int64", "float64", "toDecimal", "atoi", "add1", "floor", "ceil") + " " + g.argument(depth)
	case 4:
		return "round " + g.pick("1.2345", "2.5", "-1.5", ".Values.f") + " " + g.pick("0", "2")
	case 5:
		return "add " + g.argument(depth) + " 1"
	case 6:
		return g.pick(".Values.n", ".Values.f") + g.pick(" | int", " | int64", " | mul 2", "", " | toString")
	case 7:
		return "seq " + g.pick("3", "1 3", "1 2 7", "5 1", "0 -2")
	default:
		return g.pick("1", "42", ".Values.n", ".Values.f", "1.5", "1e3", "len .Values.l")
	}
}

func (g *generator) list(depth int) string {
	l, a := func() string { return g.l(depth) }, func() string { return g.argument(depth) }
	switch g.Intn(16) {
	case 0:
		return "list " + a() + " " + a()
	case 1:
		return "splitList " + g.pick(`","`, `"-"`, `""`) + " " + g.s(depth)
	case 2:
		return "keys " + g.m(depth) + " | sortAlpha"
	case 3:
		return g.pick("append", "prepend", "without") + " " + l() + " " + a()
	case 4:
		return "concat " + l() + " " + l()
	case 5:
		return g.pick("uniq", "reverse", "rest", "initial", "compact", "sortAlpha", "toStrings") + " " + l()
	case 6:
		return "until " + g.pick("0", "3", "(int .Values.n | min 5)")
	case 7:
		return "untilStep " + g.pick("1 7 2", "5 0 -2", "0 3 0")
	case 8:
		return "slice " + l() + " " + g.pick("1", "0 1", "1 2", "")
	case 9:
		return "chunk " + g.pick("1", "2") + " " + l()
	case 10:
		return "regexFindAll \"[a-z]\" " + g.s(depth) + " " + g.pick("-1", "2")
	case 11:
		return g.pick("fromJsonArray", "fromYamlArray") + " " + g.pick(`"[1, \"a\", null]"`, "(toJson "+l()+")", g.s(depth))
	case 12:
		return "tuple " + a() + " " + a()
	default:
		return g.pick(".Values.l", "list 1 2 3", ".Values.m.b.d")
	}
}

func (g *generator) mapping(depth int) string {
	m := func() string { return g.m(depth) }
	switch g.Intn(14) {
	case 0:
		return "dict \"k\" " + g.argument(depth) + " " + g.pick(`"a" 1`, `"b"`, "")
	case 1:
		return g.pick("merge", "mergeOverwrite", "mustMerge") + " (deepCopy " + m() + ") " + m()
	case 2:
		return g.pick("pick", "omit") + " " + m() + " \"a\" \"nope\""
	case 3:
		return "set (deepCopy " + m() + ") \"new\" " + g.argument(depth)
	case 4:
		return "unset (deepCopy " + m() + ") \"a\""
	case 5:
		return "fromYaml " + g.pick("(toYaml "+m()+")", g.s(depth), `"a: [1, {b: 1e3}]"`)
	case 6:
		return "fromJson " + g.pick("(toJson "+m()+")", g.s(depth))
	case 7:
		return "fromToml (toToml (dict \"a\" 1 \"b\" " + g.pick("1.5", "\"x\"", "true") + "))"
	case 8:
		return "merge (dict \"a\" " + g.argument(depth) + ") " + m()
	case 9:
		return g.pick("deepCopy", "mustDeepCopy") + " " + m()
	default:
		return g.pick(".Values.m", ".Values.m.b", "dict \"a\" 1", ".Values.AsMap.m")
	}
}

func (g *generator) boolean(depth int) string {
	a := func() string { return g.argument(depth) }
	switch g.Intn(14) {
	case 0:
		return g.pick("eq", "ne", "lt", "le", "gt", "ge") + " " + a() + " " + a()
	case 1:
		return g.pick("and", "or") + " " + a() + " " + a()
	case 2:
		return "not " + a()
	case 3:
		return "has " + a() + " " + g.l(depth)
	case 4:
		return "hasKey " + g.m(depth) + " " + g.pick(`"a"`, `"nope"`)
	case 5:
		return "empty " + a()
	case 6:
		return g.pick("contains", "hasPrefix", "hasSuffix") + " \"a\" " + g.s(depth)
	case 7:
		return "regexMatch \"^[a-z]+$\" " + g.s(depth)
	case 8:
		return "semverCompare " + g.pick(`">=1.2"`, `"~1.2.0 || 2"`, `"^1"`, "\"1.x\"") + " " + g.pick(`"1.2.3"`, `"2.0.0-rc1"`, g.s(depth))
	case 9:
		return "kindIs " + g.pick(`"string"`, `"float64"`, `"map"`, `"slice"`, `"int64"`) + " " + a()
	case 10:
		return "typeIs \"string\" " + a()
	case 11:
		return g.pick("all", "any") + " " + a() + " " + a()
	case 12:
		return "deepEqual " + a() + " " + a()
	default:
		return g.pick(".Values.b", "true", "false", "eq .Values.s \"a\"", "gt (len .Values.l) 2")
	}
}

// The text of a template of values: short, and often without faults.
func (g *generator) template(depth int) string {
	if g.chance(30) {
		return g.body(depth)
	}
	return "{{ " + g.pick(".Values.s", ".Release.Name", ".Values.m.a | quote", "include \"h2\" 1 | upper", ".Values.n | int") + " }}"
}

// A chart with children and grandchildren whose values overlap.
func (g *generator) values() string {
	var out strings.Builder
	for at := range 4 {
		fmt.Fprintf(&out, "case %d", at)
		if at > 0 {
			for range 1 + g.Intn(3) {
				fmt.Fprintf(&out, " %s %s=%s", g.pick("--set", "--set", "--set-json", "--set-string"), g.path(), g.pick("null", "1", "null", "2", "true"))
			}
			if g.chance(50) {
				out.WriteString(" -f @v.yaml")
			}
		}
		out.WriteString("\n")
	}
	dependencies := ""
	for _, child := range []string{"x", "y"} {
		if g.chance(70) {
			dependencies += fmt.Sprintf("- {name: %s, version: \"*\"%s%s%s}\n", child,
				g.pick("", "", fmt.Sprintf(", alias: %s", g.pick("z", "w"+child))),
				g.pick("", fmt.Sprintf(", condition: \"%s,%s\"", g.path(), g.path())),
				g.pick("", ", import-values: [p]", ", import-values: [{child: a, parent: b}, p]", ", tags: [a, b]"))
		}
	}
	if dependencies != "" {
		dependencies = "dependencies:\n" + dependencies
	}
	fmt.Fprintf(&out, "-- Chart.yaml --\napiVersion: v2\nname: ch\nversion: 0.1.0\n%s", dependencies)
	fmt.Fprintf(&out, "-- values.yaml --\n%s", g.table(3, ""))
	fmt.Fprintf(&out, "-- @v.yaml --\n%s", g.table(2, ""))
	out.WriteString("-- templates/a.yaml --\nvalues: {{ toJson .Values }}\n")
	for _, child := range []string{"x", "y", "x/charts/x"} {
		name := child[strings.LastIndex(child, "/")+1:]
		fmt.Fprintf(&out, "-- charts/%s/Chart.yaml --\n{apiVersion: v2, name: %s, version: 1.0.0}\n", child, name)
		fmt.Fprintf(&out, "-- charts/%s/values.yaml --\n%s", child, g.table(3, ""))
		fmt.Fprintf(&out, "-- charts/%s/templates/a.yaml --\nvalues: {{ toJson .Values }}\n", child)
	}
	return out.String()
}

func (g *generator) path() string {
	path := g.pick("a", "b", "x", "x", "global", "z", "wx", "tags")
	for range g.Intn(3) {
		path += "." + g.pick("a", "b", "x", "global", "c")
	}
	return path
}

func (g *generator) table(depth int, indent string) string {
	var out strings.Builder
	for _, key := range []string{"a", "b", "x", "global", "c", "exports", "tags"} {
		if g.chance(45) {
			continue
		}
		switch {
		case key == "exports":
			if indent == "" {
				out.WriteString("exports: {p: {a: {e: 1}, b: 2, n: null}}\n")
			}
		case depth > 0 && g.chance(55):
			inner := g.table(depth-1, indent+"  ")
			if inner == "" {
				fmt.Fprintf(&out, "%s%s: {}\n", indent, key)
			} else {
				fmt.Fprintf(&out, "%s%s:\n%s", indent, key, inner)
			}
		default:
			fmt.Fprintf(&out, "%s%s: %s\n", indent, key, g.pick("1", "null", "true", "false", "text", "[1]", "1.5", "{}"))
		}
	}
	if out.Len() == 0 && indent == "" {
		return "{}\n"
	}
	return out.String()
}

// Files of documents, one chart each and one of several.
func (g *generator) documents() string {
	var out strings.Builder
	out.WriteString("case all\n")
	for _, name := range []string{"a.yaml", "b.yaml", "deep/a.yaml", "_c.yaml", "z.txt"} {
		if g.chance(60) {
			fmt.Fprintf(&out, "-- templates/%s%s --\n%s", name, g.pick("", "", "", " [crlf]", " [nonl]", " [bom]"), g.file(false))
		}
	}
	if g.chance(40) {
		fmt.Fprintf(&out, "-- charts/sub/Chart.yaml --\n{name: sub, version: 1.0.0}\n-- charts/sub/templates/a.yaml --\n%s", g.file(false))
	}
	for at := range 12 {
		fmt.Fprintf(&out, "-- each %d%s --\n%s", at, g.pick("", "", "", " [crlf]", " [nonl]", " [bom]"), g.file(g.chance(40)))
	}
	return out.String()
}

func (g *generator) file(broken bool) string {
	var out strings.Builder
	for range 1 + g.Intn(4) {
		if broken {
			out.WriteString(g.pick("", "---\n---\n", "----\n", " ---\n"))
		}
		out.WriteString(g.pick("---\n", "---\n", "---\n", "--- \n", "--- # c\n", "\n---\n\n", "---\t\n"))
		switch g.Intn(9) {
		case 0:
			out.WriteString(g.pick("# comment\n", "\n", "   \n", "{}\n", "null\n", "~\n", "...\n"))
		case 1:
			if broken {
				out.WriteString(g.pick("text\n", "- a\n", "a: b: c\n", "a: [\n", "kind: [A]\n", "metadata: x\n", "metadata: {name: {a: 1}}\n", "metadata: {annotations: [a]}\n", "metadata: {annotations: {a: {b: c}}}\n", "a:\n\tb: 1\n", "apiVersion: {}\n", "1: 2\n", "\"unclosed\n", "*x\n", "%x\n", "@\n", "kind: A\n kind: B\n", "{{ \"kind: C\" }}\n", "? [a]\n: b\n"))
			}
		default:
			out.WriteString(g.document())
		}
	}
	return out.String()
}

func (g *generator) document() string {
	kind := g.pick("ConfigMap", "Secret", "Service", "Deployment", "Job", "Foo", "bar", "Namespace", "ClusterRole", "", "5", "null", "\"Pod\"", "APIService")
	text := fmt.Sprintf("%skind: %s%s\n", g.pick("apiVersion: v1\n", "", "# head\n", "apiVersion: 1\n"), kind, g.pick("", " # c", "  "))
	if g.chance(20) {
		return text + g.pick("data: |\n  a\n  ---\n  b\n", "data:\n- a\n", "text: \"---\"\n", "x: >-\n  a\n\n  b\n", "m: {<<: {a: 1}}\n", "a: &x 1\nb: *x\n", "nothing: <no value>\n")
	}
	text += "metadata:\n  name: " + g.pick("a", "b", "\"x y\"", "1", "true", "null", "é", "0x1f", "1e3") + "\n"
	if g.chance(50) {
		text += "  annotations:\n"
		for range 1 + g.Intn(3) {
			text += "    " + g.pick(
				"helm.sh/hook: "+g.pick("pre-install", "test", "\"pre-install,post-install\"", "\"nope\"", "\" POST-UPGRADE \"", "\"\"", "null", "1", "test-success", "\"pre-install,,\"", "pre-delete", "yes"),
				"helm.sh/hook-weight: "+g.pick("\"5\"", "5", "-3", "\"x\"", "\"+1\"", "1.5", "\" 2\"", "0x10", "\"0x10\"", "1e2", "\"1_0\"", "null", "010"),
				"helm.sh/hook-delete-policy: "+g.pick("before-hook-creation", "\"hook-succeeded, hook-failed\"", "\"Other\"", "\"\"", "\",\""),
				"helm.sh/hook-output-log-policy: hook-failed",
				"helm.sh/resource-policy: keep", "other: true", "n: 1.0", "e:", "f: 123456789012") + "\n"
		}
	}
	return text
}
