package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
)

func metadataRows() {
	chartYAML := func(text string) { tree(file("Chart.yaml", text)) }
	base := func(more string) { chartYAML(minimal + more) }
	for _, text := range []string{
		"", "null", "[]", "a", "1", "true", "{}", "# nothing\n", "---\n", "a: b\n---\nname: x\n", "\t", "a: [", "{", ": :", "name: web", "name: web\nversion: 1.0.0\n",
		"apiVersion: v1\n", "apiVersion: v9\nname: web\nversion: 1.0.0", "version: 1.0.0", "name: ''\nversion: 1", "apiVersion: ''\nname: web\nversion: 1.0.0", "apiVersion: null\nname: web\nversion: 1.0.0",
		minimal + "---\nname: other\n", minimal + "...\nx", "\xef\xbb\xbf" + minimal, "\xff\xfea\x00:\x00 \x00b\x00", strings.ReplaceAll(minimal, "\n", "\r\n"),
		"apiVersion: v2\nNAME: web\nVersion: 1.0.0\n", "apiVersion: v2\nname: a\nNAME: b\nName: c\nversion: 1.0.0\n", "apiVersion: v2\nname: a\nname: b\nversion: 1.0.0\n",
		"apiversion: v2\nname: a\nverſion: 1.0.0\n", "apiVersion: v2\nname: a\nversion: 1.0.0\nKeywords: [a, b, c]\nkeywords: [d]\n", "apiVersion: v2\nname: a\nversion: 1.0.0\nMaintainers: [{name: a, email: b}]\nmaintainers: [{name: d}, {url: x}]\n",
		"apiVersion: v2\nname: a\nversion: 1.0.0\n\u212aeywords: [x]\n", "{\"apiVersion\": \"v2\", \"name\": \"a\", \"version\": \"1.2.3\"}", "apiVersion: &v v2\nname: *v\nversion: 1.0.0", "x: &x {name: m, version: 1.0.0}\n<<: *x\napiVersion: v2\n",
	} {
		chartYAML(text)
	}
	for _, name := range []string{".", "..", "/", "a/b", "/a", "a/", "//", "a b", "\"a\\tb\"", "\"\\u200b\"", "\"a\\u0000b\"", "\"a\\u00a0b\"", "\"../é\\u200b/\\\"x\"", "A_B", "1", "1.10", "true", "null", "~", "[a]", "{a: b}", "é", "日本", "'a\\b'", "C:", "0x1F", "1e3", "1_000", ".inf", ".nan", "-.inf", "'\U000e0001x'", "\"\\ue000\"", "...", ".a", "-", "!!str 12", "!!binary YWJj", "2001-01-01"} {
		chartYAML("apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n")
	}
	for _, version := range []string{"1", "v1", "1.2", "1.10", "1.2.3", "v1.2.3", "V1.2.3", "1.2.3.4", "01.2.3", "1.02.3", "1.2.03", "1.2.3-a", "1.2.3-a.01", "1.2.3-01", "1.2.3-0", "1.2.3+b", "1.2.3-a+b.c", "1.2.3-", "1.2.3+", "''", "x", "latest", "' 1.2.3'", "'1.2.3 '", "^1", "*", "1.x", "-1", "1e3", "0x10", "99999999999999999999.1.1", "18446744073709551615.0.0", "\"1\\u200b.2\"", "null", "true", "[]", "{}", "1.2-a", "1-a", "1.0", "1.00", "10", "010", "1.2.3-é", "1.2.3_4", strings.Repeat("1", 300), "\"1.2.3\\n\""} {
		chartYAML("apiVersion: v2\nname: web\nversion: " + version + "\n")
	}
	for _, field := range []string{"home", "description", "icon", "condition", "tags", "appVersion", "kubeVersion", "type", "apiVersion"} {
		for _, value := range []string{"1.10", "1", "true", "null", "[]", "[a]", "{}", "{a: b}", "\"a\\tb\\u200b\\u2003c\\n\"", "12345678901234567890", "1234567890", "0.0000001", "1e30", "1e400", ".inf", "1234567.5", "0o17", "017", "1:30", "yes", "x"} {
			chartYAML("name: web\nversion: 1.0.0\n" + field + ": " + value + "\n")
		}
	}
	for _, field := range []string{"sources", "keywords"} {
		for _, value := range []string{"a", "1", "true", "null", "{}", "[]", "[null]", "[1, 1.10, true, x, 1e10]", "[[a]]", "[{a: b}, c]", "[\"a\\tb\\u0001\"]", "[a, [b], {c: d}]"} {
			base(field + ": " + value + "\n")
		}
	}
	for _, value := range []string{"application", "library", "Application", "''", "app", "' library'"} {
		base("type: " + value + "\n")
	}
	for _, value := range []string{"true", "false", "null", "1", "'true'", "yes", "[]", "{}", "no", "0.5"} {
		base("deprecated: " + value + "\n")
	}
	for _, value := range []string{"{}", "null", "[]", "x", "1", "{a: b}", "{a: 1}", "{a: 1.10, b: true, 3: x}", "{a: null}", "{a: [b]}", "{a: {b: c}}", "{a: \"x\\ty\"}", "{true: x, 1.5: y}", "{A: x, a: y}"} {
		base("annotations: " + value + "\n")
	}
	base("annotations: {a: [], b: {}}\nkeywords: x\n")
	base("Annotations: {a: b}\nannotations: {c: d}\n")
	base("Annotations: {a: b}\nannotations: null\n")
	for _, value := range []string{"null", "[]", "{}", "x", "1", "[null]", "[{}]", "[{name: a}]", "[{name: a, email: b@c, url: d}]", "[a]", "[[a]]", "[1]", "[true]", "[{name: 1, email: true, url: 1.10}]", "[{name: [a]}]", "[{name: {a: b}}]", "[{Name: a, x: y}]", "[{name: a}, null]", "[{name: \"a\\tb\\u200b\"}]", "[{name: null}]", "[{name: []}, {email: {}}, x]"} {
		base("maintainers: " + value + "\n")
	}
	for _, value := range []string{
		"null", "[]", "{}", "x", "1", "[null]", "[{}]", "[{name: a}]", "[a]", "[[a]]", "[{name: a, version: 1, repository: x}]", "[{name: a, version: 1.10}]", "[{name: a}, {name: a}]", "[{name: a}, {name: b, alias: a}]", "[{name: a, alias: b}, {name: a, alias: c}]", "[{name: a, alias: b}, {name: a}]",
		"[{name: a, alias: 'b c'}]", "[{name: a, alias: b.c}]", "[{name: a, alias: b/c}]", "[{name: a, alias: é}]", "[{name: a, alias: A_b-9}]", "[{name: a, alias: \"b\\n\"}]", "[{name: \"x\\ty\", alias: '.'}]", "[{name: a, alias: 1}]", "[{name: a, alias: true}]", "[{name: a}, null]", "[{name: a, tags: [b, 1, true]}]", "[{name: a, tags: b}]", "[{name: a, tags: [[b]]}]", "[{name: a, tags: [null]}]", "[{name: a, tags: [\"x\\ty\"]}]",
		"[{name: a, enabled: true}]", "[{name: a, enabled: x}]", "[{name: a, enabled: 1}]", "[{name: a, condition: a.b}]", "[{name: a, condition: true}]", "[{name: a, condition: [x]}]", "[{name: a, import-values: [b, {child: c, parent: d}]}]", "[{name: a, import-values: b}]", "[{name: a, import-values: [1, 1.10, true, null, [x], {1: 2}]}]", "[{name: a, import-values: []}]", "[{name: a, import-values: null}]", "[{name: a, Import-Values: [x]}]", "[{name: a, importValues: [x]}]",
		"[{name: [a]}]", "[{name: {}}]", "[{version: [a]}]", "[{repository: {a: b}}]", "[{alias: []}]", "[{name: \"a\\u200b\"}, {name: a}]", "[{name: a, version: \">=1\\t<2\", repository: \"x\\u0001y\"}]", "[{name: a, version: null}]", "[{name: 1}, {name: '1'}]", "[{name: a}, x, {name: [b]}]", "[{}, {}]",
	} {
		base("dependencies: " + value + "\n")
	}
	base("dependencies: [null]\nmaintainers: [null]\n")
	base("type: x\nmaintainers: [null]\n")
	base("Dependencies: [{name: a, version: '1'}, {name: b}]\ndependencies: [{name: c}]\n")
	base("Dependencies: [{name: a, version: '1'}]\ndependencies: [{name: c, tags: [x]}, {alias: d}]\n")
	base("unknown: x\n? [a]\n: b\n")
	base("unknown: {a: [1, {b: c}]}\n")
	base("x: 1e400\n")
	base("18446744073709551615: x\n")
}

func ignoreRows() {
	paths := []string{".dot", ".helmignore", "a.txt", "b.log", "docs/x.md", "docs/sub/y.md", "keep.md", "tmp/z", "templates/.hidden", "templates/.h/x", "templates/a.yaml", "templates/sub/.hidden", "charts/d/Chart.yaml", "charts/d/templates/.x", "charts/d/a.txt", "[x]", "a*b", "ä.md", "sp ace", "Keep.MD"}
	run := func(text string) {
		nodes := with(node{Path: "empty", Dir: true})
		for _, path := range paths {
			switch path {
			case ".helmignore":
				nodes = append(nodes, file(path, text))
			case "charts/d/Chart.yaml":
				nodes = append(nodes, file(path, strings.ReplaceAll(minimal, "web", "d")))
			default:
				nodes = append(nodes, file(path, ""))
			}
		}
		tree(nodes...)
	}
	for _, text := range []string{
		"", "\n\n", "# x", "  # x", "#*.md\n*.log", "*.md", "/*.md", "docs/", "docs", "/docs", "/docs/", "docs/*", "docs/*.md", "docs/*/", "docs/*/*", "docs/sub", "docs/sub/", "sub", "sub/", "/sub", "*/sub", "*/x.md", "x.md", "y.md", "*/*/y.md", "*/*", "tmp", "tmp/", "tmp/z", "z/", "z", "/tmp/z/", "*.log\n*.txt", "*.txt  ", "\t*.txt\r", "*.txt\r\n*.log\r\n", "\xef\xbb\xbf*.txt", "*.log\n\xef\xbb\xbf*.txt",
		"!keep.md", "*.md\n!keep.md", "!*", "!*\n*.md", "!*.md", "!docs/", "!", "!/", "!/*", "*.log\n!*", "!*/", "!Chart.yaml", "!*\n!*\n*.txt", "! *", "!!*", "!#",
		"**", "**/x", "a**", "#**", "!**", "docs/**", "***", "*\\**", "[**]",
		"[", "[]", "[]a]", "[a", "[a-", "[a-]", "[-a]", "[a-z", "[z-a]*", "[^a]*", "[^a", "[^]", "[!a]*", "[a-c]*", "[ab].*", "[a-b].[l-t]*", "\\", "a\\", "\\a.txt", "a\\.txt", "[\\]]*", "[\\a].txt", "[[]x]", "[[]x[]]", "\\[x\\]", "[x]", "a\\*b", "a[*]b", "docs[/]x.md", "docs[^a]x.md", "doc[^a]*", "docs\\/x.md", "docs\\/", "!docs\\/", "a[b\\/", "[a]/", "[/]", "[a-c]/", "x]", "]", "a]*", "{a,b}*", "[é-ü]*", "[ä].md", "?.md", "??.md", "\\ä.md",
		"?", "?.*", "a.???", "a.????", "?*", "*?", "?*?", "*", "/*", "*/", "/*/", "/", "//", "///", "./a.txt", "a.txt/", "/a.txt", "/a.txt/", ".", "..", "./", ".*", ".?*", "templates/*", "templates/a*", "templates", "templates/", "/templates/a.yaml", "a.yaml", "templates/sub", ".hidden", "*.*", "*.*.*", "*a*", "*a*.*t*", "a*t", "a*x", "*.t*t", "d*/*x*", "*/[x-z]*", "charts", "charts/", "charts/*", "charts/d", "charts/d/a.txt", "charts/*/a.txt", "charts/d/Chart.yaml", "/charts/d/", "/Chart.yaml", "Chart.yaml", "d/a.txt", "d/", "sp ace", "sp*", "sp\\ ace", "KEEP.md", "Keep.*", "keep.md # x", "*.md#", "\\#x", "\\!x", "empty", "empty/", ".helmignore", ".dot", "*.log\n\n\n#\n*.txt\n docs/ \n", "\u00a0*.txt\u2003", "*.txt\x00", "*.txt\v", "\f*.txt",
		strings.Repeat("x", 65535) + "\n*.txt", strings.Repeat("x", 65536), strings.Repeat("x", 65537) + "\n",
	} {
		run(text)
	}
	// Not read anywhere but at the top.
	tree(with(file("charts/d/Chart.yaml", minimal), file("charts/d/.helmignore", "*.txt"), file("charts/d/a.txt", ""), file("docs/.helmignore", "*"), file("docs/x", ""))...)
	tree(with(node{Path: ".helmignore/x", Text: "y"})...)
	tree(file(".helmignore", "**"))
	tree(with(file(".helmignore", "x.bin"), node{Path: "x.bin", Size: 5*1024*1024 + 1})...)
}

func classRows() {
	tree(file("README.md", "x"))
	tree(with()...)
	tree(with(file("values.yaml", "a: 1\nb: {c: [x, 1.5, null]}\n"), file("values.schema.json", "{ \"x\": 1 }"), file("templates/a.yaml", "x"), file("templates/sub/b.txt", ""), file("templates/_h.tpl", "\xef\xbb\xbfx"), file("templates/NOTES.txt", ""), file("README.md", "\xef\xbb\xbf"), file("LICENSE", "\xefx"), file("crds/a.yaml", ""), file("crds/sub/b.YML", ""), file("crds/c.Json", ""), file("crds/d.txt", ""), file("crds.yaml", ""), file("template/x", ""), file("Templates/x", ""), file("templates.yaml", ""), file("charts.txt", ""), file("chart.yaml", ""), file("values.yml", ""), file("sub/values.yaml", ""), file("sub/Chart.yaml", ""))...)
	for _, text := range []string{"", "null", "[]", "- a", "x", "1", "true", "a: [", "a: b\n---\nc: d\n", "a: 1e400", "? {}\n: x", "\xef\xbb\xbfa: b", "~", "# x", "a: b\na: c", "1: x\ntrue: y", "a: 12345678901234567890", "\ta: b", "a: *x", "'x'", "%", "a: .nan"} {
		tree(with(file("values.yaml", text))...)
	}
	for _, text := range []string{"", "{", "\xef\xbb\xbf{}", "not json"} {
		tree(with(file("values.schema.json", text))...)
	}
	for _, lock := range []string{
		"", "null", "{}", "[]", "x", "digest: abc", "digest: 1.10", "digest: [a]", "a: [", "dependencies: [{name: a, version: 1.2.3, repository: x}]\ndigest: sha256:abc\ngenerated: \"2024-05-06T07:08:09.123456789+02:00\"\n", "dependencies: x", "dependencies: [null]", "dependencies: []", "dependencies: [x]", "dependencies: [{name: [a]}]", "generated: null", "generated: 1", "generated: true", "generated: []", "digest: [a]\ngenerated: x", "generated: x\ndigest: []", "Generated: 2020-01-01T00:00:00Z",
	} {
		tree(with(file("Chart.lock", lock))...)
		tree(with(file("requirements.lock", lock))...)
	}
	for _, time := range []string{
		"", "x", "2024", "2024-", "2024-1-1", "2024-01-02", "2024-01-02T", "2024-01-02t03:04:05Z", "2024-01-02 03:04:05Z", "2024-01-02T03:04:05", "2024-01-02T03:04:05Z", "2024-01-02T3:04:05Z", "2024-01-02T03:4:05Z", "2024-01-02T24:00:00Z", "2024-01-02T23:60:00Z", "2024-01-02T23:59:60Z", "2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z", "2024-01-00T00:00:00Z", "2024-02-30T00:00:00Z", "2024-02-29T00:00:00Z", "2023-02-29T00:00:00Z", "2024-04-31T00:00:00Z", "2024-01-32T00:00:00Z", "2024-01-02T03:04:05z", "2024-01-02T03:04:05Zx", "2024-01-02T03:04:05.5Z", "2024-01-02T03:04:05.500Z", "2024-01-02T03:04:05.000Z", "2024-01-02T03:04:05,5Z", "2024-01-02T03:04:05.Z", "2024-01-02T03:04:05.1234567891Z", "2024-01-02T03:04:05+00:00", "2024-01-02T03:04:05-00:00", "2024-01-02T03:04:05+01:30", "2024-01-02T03:04:05-11:59", "2024-01-02T03:04:05+25:00", "2024-01-02T03:04:05+01:60", "2024-01-02T03:04:05+0100", "2024-01-02T03:04:05+1:00", "2024-01-02T03:04:05+xx:00", "2024-01-02T03:04:05+01:0", "0000-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "10000-01-01T00:00:00Z", "2024-01-02T03:04:05 Z", "2024-01-02T03:04:05+01:00x", "é", "2024-01-02T99:04:05Z", "2024-1a-02T03:04:05Z", "2024-01-aT03:04:05Z",
	} {
		tree(with(file("Chart.lock", fmt.Sprintf("generated: %q\n", time)))...)
	}
	tree(with(file("Chart.lock", "digest: a"), file("requirements.lock", "digest: b"))...)
	for _, api := range []string{"v1", "v2", "''", "v3"} {
		head := "apiVersion: " + api + "\nname: web\nversion: 1.0.0\n"
		for _, text := range []string{"", "dependencies: [{name: a}]", "dependencies: [{alias: x}, {name: b}]", "dependencies: []", "dependencies: null", "[]", "x: [", "name: other", "apiVersion: v1", "apiVersion: v2", "apiVersion: ''", "dependencies: [{name: [x]}]", "name: a/b", "version: x"} {
			tree(file("Chart.yaml", head), file("requirements.yaml", text))
			tree(file("Chart.yaml", head+"dependencies: [{name: q, version: '1'}]\n"), file("requirements.yaml", text))
		}
		tree(file("Chart.yaml", head), file("requirements.lock", "digest: x"))
	}
	tree(file("requirements.yaml", "name: a\nversion: 1.0.0\n"))
	tree(file("requirements.yaml", "apiVersion: v1\nname: a\nversion: 1.0.0\n"))
	tree(file("requirements.lock", ""))
	// Charts in charts.
	inner := func(name string) string { return strings.ReplaceAll(minimal, "web", name) }
	for _, nodes := range [][]node{
		{file("charts/README.md", "x")}, {file("charts/_x/Chart.yaml", "[")}, {file("charts/.x/Chart.yaml", "[")}, {file("charts/_x", "")}, {file("charts/.gitkeep", "")}, {file("charts/x.prov", "x")}, {file("charts/a.tgz.prov", "x")}, {file("charts/a/x.prov", "x")}, {file("charts/a/Chart.yaml", inner("a")), file("charts/a/b.prov", "")},
		{file("charts/a/Chart.yaml", inner("a"))}, {file("charts/a/Chart.yaml", inner("other")), file("charts/b/Chart.yaml", inner("b")), file("charts/b/values.yaml", "x: y")}, {file("charts/a/Chart.yaml", "")}, {file("charts/a/Chart.yaml", "[")}, {file("charts/a/x", "")}, {file("charts/a/Chart.yaml", inner("a")), file("charts/a/values.yaml", "[]")}, {file("charts/a/Chart.yaml", inner("a")), file("charts/a/charts/b/Chart.yaml", inner("b")), file("charts/a/charts/b/crds/x.yaml", ""), file("charts/a/crds/y.yaml", ""), file("crds/z.yaml", "")},
		{file("charts/a/Chart.yaml", inner("a")), file("charts/a/charts/b/Chart.yaml", "x")}, {file("charts/a/Chart.yaml", inner("a")), file("charts/a/charts/README", "x")}, {file("charts/a.tgz", "")}, {file("charts/a.tgz", "x")}, {file("charts/a.tgz", "not an archive at all, but long enough")}, {file("charts/a.tgz/Chart.yaml", inner("a"))}, {file("charts/.tgz", "")}, {file("charts/a.tar.gz", "x")}, {file("charts/a.TGZ", "x")}, {file("charts/a.tgz/b/c", "x"), file("charts/a.tgz/d", "")},
		{file("charts/a.tgz", string(packed(entry{name: "a/Chart.yaml", text: inner("a")})))},
		{file("charts/a/Chart.yaml", "apiVersion: v1\nname: a\nversion: 1.0.0\n"), file("charts/a/requirements.yaml", "dependencies: [{name: b}]")},
		{file("charts/a/Chart.yaml", inner("a")), file("charts/a/.helmignore", "*"), file("charts/a/templates/x", "y"), file("charts/a/Chart.lock", "digest: x"), file("charts/a/values.schema.json", "{}"), file("charts/a/charts/_x/y", "")},
	} {
		binary := false
		for _, n := range nodes {
			binary = binary || strings.HasPrefix(n.Text, "\x1f")
		}
		if !binary {
			tree(with(nodes...)...)
			entries := []entry{chartEntry("w/")}
			for _, n := range nodes {
				entries = append(entries, entry{name: "w/" + n.Path, text: n.Text})
			}
			archive(entries...)
		} else {
			archive(chartEntry("w/"), entry{name: "w/" + nodes[0].Path, text: nodes[0].Text})
		}
	}
	tree(with(file("charts/a/Chart.yaml", strings.ReplaceAll(inner("a"), "a", "a/b")))...)
	for _, size := range []int{5 * 1024 * 1024, 5*1024*1024 + 1} {
		tree(with(node{Path: "x.bin", Size: size})...)
		tree(with(node{Path: "sub/é \"x.bin", Size: size})...)
	}
}

func linkRows() {
	tree(with(node{Path: "a", Link: "Chart.yaml"}, node{Path: "d/x", Text: "y"}, node{Path: "e", Link: "d"})...)
	tree(with(node{Path: "a", Link: "missing"})...)
	tree(with(node{Path: "a", Link: "missing/x"})...)
	tree(with(node{Path: "a", Link: "/nonexistent/y"})...)
	tree(with(node{Path: "a", Link: "b"}, node{Path: "b", Link: "a"})...)
	tree(with(node{Path: "a", Link: "a"})...)
	tree(with(node{Path: "a", Link: "."})...)
	tree(with(node{Path: "a", Link: "."}, node{Path: "b", Link: "."})...)
	tree(with(node{Path: "d/a", Link: ".."}, file(".helmignore", "a"))...)
	tree(with(node{Path: "a", Link: "b"}, node{Path: "b", Link: "c"})...)
	tree(with(node{Path: "null", Link: "/dev/null"})...)
	tree(with(node{Path: "templates/x", Link: "/dev/null"})...)
	tree(with(node{Path: "null", Link: "/dev/null"}, file(".helmignore", "null"))...)
	tree(with(node{Path: "a", Link: "missing"}, file(".helmignore", "a"))...)
	tree(with(node{Path: "d/x", Text: "y"}, node{Path: "e", Link: "d"}, file(".helmignore", "e/"))...)
	tree(with(node{Path: "d/x", Text: "y"}, node{Path: "e", Link: "d"}, file(".helmignore", "e/x"))...)
	tree(with(node{Path: "d/x", Text: "y"}, node{Path: "e", Link: "d"}, file(".helmignore", "d"))...)
	tree(with(node{Path: "../out/x", Text: "y"}, node{Path: "e", Link: "../out"}, node{Path: "f", Link: "{dir}/out/x"})...)
	tree(with(node{Path: "../out/Chart.yaml", Text: strings.ReplaceAll(minimal, "web", "d")}, node{Path: "charts/d", Link: "../../out"})...)
	tree(with(node{Path: "../out/big", Size: 5*1024*1024 + 1}, node{Path: "small", Link: "../out/big"})...)
	tree(node{Path: "../real/Chart.yaml", Text: minimal}, node{Path: "Chart.yaml", Link: "../real/Chart.yaml"})
	tree(node{Path: "../out/rules", Text: "*.txt"}, file("Chart.yaml", minimal), node{Path: ".helmignore", Link: "../out/rules"}, file("a.txt", ""))
	tree(node{Path: "../x", Text: minimal}, node{Path: "Chart.yaml", Dir: true})
}

func archiveRows() {
	for _, name := range []string{
		"w/a", "w/a/b", "w//a", "w/./a", "w/a/../b", "w/../a", "w/..", "w/.", "w/../../a", "w/a/..", "w/a/../..", "/a", "/w/a", "//a", "//w/a", "./a", "./w/a", "../a", "../w/a", "a", "Chart.yaml", "Chart.yaml/x", "w/Chart.yaml/x", "w/..a", "w/...", "w/a..", "w\\a", "w\\a\\b", "w\\..\\a", "w\\/a", "w\\\\a", "w/a\\b", "a\\w/b", "\\a", "w\\a/b/../../..", "w/c:/x", "w/C:/x", "w/c:x", "w/cc:/x", "w/1:/x", "c:/x", "c:\\x", "w\\c:\\x", "w/c:", "w/é", "w/a b", "w/a\tb", "w/a\"b", "w/a\nb/..", "w/\"/..", "w/a ", " ", "w/ ", "w/templates/a", "w/templates/../b", "w/templates//a", "w/charts/d/Chart.yaml", "w/values.yaml", "x/values.yaml", "w/.helmignore", "w/templates/.x", strings.Repeat("n", 90) + "/b", "w/" + strings.Repeat("n", 101), "w/" + strings.Repeat("n/", 120) + "x", "w/" + strings.Repeat("é", 200), "-/a", "*/a",
	} {
		archive(chartEntry("w/"), entry{name: name, text: "a: b"})
		archive(entry{name: name, text: "a: b"}, chartEntry("other/"))
	}
	archive()
	archive(entry{name: "w/", kind: tar.TypeDir})
	archive(entry{name: "w/", kind: tar.TypeDir}, chartEntry("w/"), entry{name: "w/templates/", kind: tar.TypeDir}, entry{name: "/abs/", kind: tar.TypeDir}, entry{name: "../up", kind: tar.TypeDir})
	for _, kind := range []byte{tar.TypeSymlink, tar.TypeLink, tar.TypeChar, tar.TypeBlock, tar.TypeFifo} {
		archive(chartEntry("w/"), entry{name: "w/x", kind: kind, link: "/etc/passwd"})
		archive(chartEntry("w/"), entry{name: "w/templates/x.yaml", kind: kind, link: "../../up"})
		archive(chartEntry("w/"), entry{name: "w/../x", kind: kind, link: "y"})
		archive(chartEntry("w/"), entry{name: "/x", kind: kind, link: "y"})
		archive(entry{name: "w/Chart.yaml", kind: kind, link: "y"})
	}
	archive(entry{name: "pax_global_header", kind: tar.TypeXGlobalHeader}, chartEntry("w/"))
	archive(entry{name: "pax_global_header", kind: tar.TypeXGlobalHeader})
	archive(chartEntry("w/"), entry{name: "w/a", text: "x", pax: map[string]string{"KZ.note": "y"}})
	archive(entry{name: "w/a", mode: 0o40755}, chartEntry("w/"))
	archive(chartEntry("w/"), entry{name: "w/a", text: "x", mode: 0o100644}, entry{name: "w/b", text: "x", mode: 0o777})
	archive(chartEntry("w/"), entry{name: "v/Chart.yaml", text: "name: other\ndescription: x"}, entry{name: "w/values.yaml", text: "a: 1"}, entry{name: "w/values.yaml", text: "b: 1"})
	archive(entry{name: "w/requirements.yaml", text: "dependencies: [{name: a}]"}, entry{name: "w/values.yaml", text: "\xef\xbb\xbfa: b"}, entry{name: "w/b.txt", text: "\xef\xbb\xbf\xef\xbb\xbfx"}, entry{name: "w/Chart.yaml", text: "\xef\xbb\xbfname: web\nversion: 1.0.0"})
	archive(chartEntry("w/"), entry{name: "w/z", text: ""}, entry{name: "w/a", text: ""}, entry{name: "w/templates/z", text: ""}, entry{name: "w/templates/a", text: ""}, entry{name: "w/.helmignore", text: "*"})
	archive(chartEntry("w/"), entry{name: "w/big", text: strings.Repeat("x", 5*1024*1024)})
	archive(chartEntry("w/"), entry{name: "w/b\"ig", text: strings.Repeat("x", 5*1024*1024+1)})
	many := []entry{chartEntry("w/")}
	for i := range 21 {
		many = append(many, entry{name: fmt.Sprintf("w/%d", i), text: strings.Repeat("x", 5*1024*1024)})
	}
	archive(many...)
	// Archives in archives.
	child := packed(entry{name: "d/Chart.yaml", text: strings.ReplaceAll(minimal, "web", "d")}, entry{name: "d/templates/x", text: "y"})
	nested := packed(entry{name: "e/Chart.yaml", text: strings.ReplaceAll(minimal, "web", "e")}, entry{name: "e/charts/d.tgz", text: string(child)})
	for _, inner := range [][]byte{child, nested, packed(), packed(entry{name: "x", text: ""}), packed(entry{name: "x/y", text: ""}), packed(entry{name: "x/../y", text: ""}), packed(entry{name: "x/../../y", text: ""}), packed(entry{name: "x//y", text: ""}), packed(entry{name: "x/Chart.yaml", text: "["}), child[:len(child)/2], child[:8], child[:1], {}, []byte("x"), []byte("not gzip, but longer than a header")} {
		archive(chartEntry("w/"), entry{name: "w/charts/d-1.0.0.tgz", text: string(inner)})
	}
	archive(chartEntry("w/"), entry{name: "w/charts/d.tgz", text: string(child)}, entry{name: "w/charts/d.tgz", text: "second"})
	archive(chartEntry("w/"), entry{name: "w/charts/_d.tgz", text: "x"}, entry{name: "w/charts/d.tgz.prov", text: "x"})
	// What is no archive.
	long := strings.Repeat("some text, some more text\n", 30)
	for _, content := range []string{"", "x", "a: b\n", long, "<html>" + long, "<!doctype html>" + long, "  <?xml " + long, "%PDF-1.5" + long, "PK\x03\x04" + long, "\x89PNG\r\n\x1a\n" + long, "GIF89a", "\x00\x01" + long, "\xfe\xff" + long, "\xef\xbb\xbf" + long, "\x1f\x8b", "\x1f\x8b\x08", "\x1f\x8b\x09" + long, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x00", "BZh9" + long, "\xfd7zXZ\x00" + long, "<a href" + long, "<bx" + long, "#!/bin/sh\n" + long, "\x00asm\x01\x00\x00\x00" + long} {
		for _, name := range []string{"c.tgz", "c.yaml", "c.yml", "c", "c.YAML"} {
			lone(name, []byte(content))
			if name == "c.yaml" && len(content) > 4 {
				break
			}
		}
	}
	good := packed(chartEntry("w/"), entry{name: "w/a", text: long})
	lone("c.yaml", good)
	for _, cut := range []int{10, 11, 20, len(good) / 2} {
		lone("c.tgz", good[:cut])
	}
	var zip bytes.Buffer
	w := gzip.NewWriter(&zip)
	w.Write([]byte("not a tar archive\n"))
	w.Close()
	lone("c.tgz", zip.Bytes())
	zip.Reset()
	w = gzip.NewWriter(&zip)
	w.Write([]byte(strings.Repeat("not a tar archive\n", 100)))
	w.Close()
	lone("c.tgz", zip.Bytes())
	zip.Reset()
	w = gzip.NewWriter(&zip)
	w.Write(make([]byte, 4096))
	w.Close()
	lone("c.tgz", zip.Bytes())
	zip.Reset()
	w = gzip.NewWriter(&zip)
	w.Close()
	lone("c.tgz", zip.Bytes())
}
