// Records what gobwas/glob makes of patterns and paths with `/` as the separator, as a golden file for crates/chart.
// Usage: go run . FOLDER
//
// glob.jsonl: {"pattern", "invalid": true} or {"pattern", "paths": {path: true, false or the text of a panic}}.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/gobwas/glob"
)

var paths = strings.Split("|a|b|ab|ba|aa|abc|abcabc|a/b|a/b/c|/a|a/|//|a//b|a.b|a.yaml|b.yml|conf/a.yaml|conf/d/b.yaml|conf/d/e/c.json|é|aé|éa|a/é|日本|日/本|*|?|[a]|{a}|a,b|!|-|]|0|10|a-z|\\|a\\b|files/x.tpl|files/.hidden|.hidden|ÿ.conf|abab|aab|abb|aaab|a b", "|")

var patterns = []string{
	"", "*", "**", "?", "??", "***", "****", "*/*", "**/*", "*/**", "**/**", "**.yaml", "*.yaml", "conf/**", "conf/*", "conf/**.yaml", "conf/**/*.yaml", "**/conf/**", "conf/*/*", "/*", "*/", "a", "a*", "*a", "*a*", "**a", "a**", "**a**", "a*b", "a**b", "a?b", "?b", "a?", "a*b*c", "a**b**c", "*a*b*", "**a**b**",
	"[a]", "[ab]", "[!a]", "[!ab]", "[!ab][!ab]", "[!a][!a]", "[!/]", "[!/]*", "?[!/]", "[a-c]", "[!a-c]", "[a-c]*", "[c-a]", "[a-a]", "[0a-z]", "[a-z0]", "[a-z", "[a", "[", "[]", "[]a]", "[]-a]", "[!]", "[!]a]", "[!!]", "[!!a]", "[-]", "[-a]", "[a-]", "[--a]", "[\\]]", "[\\-a]", "[\\a-z]", "[a\\]b]", "[*]", "[?]", "[[]", "[{]", "[é]", "[à-ü]", "[!é]", "[/]", "a[/]b", "[日本]", "[a,b]",
	"{a}", "{a,b}", "{a,b", "{a", "{", "{}", "{,}", "{,a}", "{a,}", "a{,}", "{,}a", "a{,b}", "{a,b}{a,b}", "{a,b}*", "*{a,b}", "*.{yaml,yml}", "**.{yaml,yml,json}", "{*.yaml,*.json}", "{conf,files}/**", "conf/{a,d/b}.yaml", "{a*,b*}", "{a,{b,ab}}", "{a,{b,{ab,c}}}", "{{a,b},{b,c}}", "{ab,ac}", "{ab,cb}", "{abc,abd}", "{a?,a*}", "{a[b],a[c]}", "{*a,*b}", "{**a,**b}", "{*/a,*/b}", "{?,??}", "a{b,}c", "a{*,}", "{a,a}", "{a*b,a*b}", "{*,**}", "}", "a}", ",", "a,b", "{a\\,b}", "{a\\}b}", "{a,b}}", "{[a,b]}", "{[ab],c}",
	"\\", "\\\\", "\\*", "\\?", "\\[a\\]", "\\{a\\}", "a\\", "a\\b", "\\a", "**\\", "{\\}", "{\\,}", "*\\*", "\\!", "a\\\\b",
	"é", "?é", "é?", "[é]a", "a[é]", "??é", "日?", "日*", "*本", "?/?", "[!/]/[!/]", "日/?", "é*", "*é", "**é", "{é,a}", "{日,é}a", "?{é,a}", "a{é,b}",
	"a\x00b", "\x00", "*\x00", "[\x00]", "[a\x00]", "{a\x00,b}", "\xff", "a\xff", "\ufffd", "*\ufffd", "a\ufffdb", "[\ufffd]", "[a\ufffd]",
	"?*", "*?", "?**", "**?", "?*?", "*?*", "**?**", "?a?", "?a*", "*a?", "[!a]*", "*[!a]", "[!a]**", "[!/][!/]*", "[!/]?*", "[ab]?", "?[ab]", "[ab][ab]", "[a-b][a-b]", "a[bc]", "a[bc]*", "*[bc]", "a?**", "a*?b", "a[!b]*", "*a[!b]*", "**/?", "**/??", "**/?*", "**/a*", "*a*a*", "*a*a*a*", "*{a,b}*{a,b}*", "**{a,b}**", "*{a*,b*}*", "a*{b,c*}", "{a*,b}c", "*{a,bb}*", "?{a,bb}?",
}

func main() {
	rows := []map[string]any{}
	seen := map[string]bool{}
	add := func(pattern string, random *rand.Rand) {
		if seen[pattern] {
			return
		}
		seen[pattern] = true
		some := paths
		if random != nil {
			some = []string{paths[random.Intn(len(paths))], paths[random.Intn(len(paths))]}
			for range 10 {
				some = append(some, alike(random, pattern))
			}
		}
		rows = append(rows, row(pattern, some))
	}
	for _, pattern := range patterns {
		add(pattern, nil)
	}
	random := rand.New(rand.NewSource(1))
	pieces := strings.Split("a|b|ab|/|.|*|*|**|**|?|?|[ab]|[!ab]|[!/]|[!a]|[a-c]|[é]|é|日|{|{|,|,|}|}|\\|[|]|!|-|{a,b}|{*,b}|{a,}|{?,a}|{a*,b*}", "|")
	for len(rows) < 3000 {
		var pattern strings.Builder
		for range 1 + random.Intn(9) {
			pattern.WriteString(pieces[random.Intn(len(pieces))])
		}
		add(pattern.String(), random)
	}
	write(filepath.Join(os.Args[1], "glob.jsonl"), rows)
}

// A path that may well match: what the pattern says literally, with wildcards filled in.
func alike(random *rand.Rand, pattern string) string {
	fill := []string{"", "a", "b", "ab", "/", "é", "x", "ba", "a/b"}
	var path strings.Builder
	for _, r := range pattern {
		switch {
		case strings.ContainsRune("*?", r):
			path.WriteString(fill[random.Intn(len(fill))])
		case strings.ContainsRune("[]!{},-\\", r):
			if random.Intn(6) == 0 {
				path.WriteRune(r)
			}
		case random.Intn(8) > 0:
			path.WriteRune(r)
		}
	}
	return strings.ToValidUTF8(path.String(), "")
}

func row(pattern string, some []string) map[string]any {
	// As text where JSON can hold it.
	row := map[string]any{"pattern": pattern}
	if strings.ToValidUTF8(pattern, "") != pattern {
		row = map[string]any{"bytes": []byte(pattern)}
	}
	compiled, err := glob.Compile(pattern, '/')
	if err != nil {
		row["invalid"] = true
		return row
	}
	results := map[string]any{}
	for _, path := range some {
		results[path] = match(compiled, path)
	}
	row["paths"] = results
	return row
}

func match(compiled glob.Glob, path string) (result any) {
	defer func() {
		if panicked := recover(); panicked != nil {
			result = fmt.Sprint(panicked)
		}
	}()
	return compiled.Match(path)
}

func write(path string, rows []map[string]any) {
	info, _ := debug.ReadBuildInfo()
	version := ""
	for _, module := range info.Deps {
		if module.Path == "github.com/gobwas/glob" {
			version = module.Version
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	head := map[string]any{"recorded_by": fmt.Sprintf("tests/oracle/glob, gobwas/glob %s, %s", version, runtime.Version())}
	for _, row := range append([]map[string]any{head}, rows...) {
		if err := encoder.Encode(row); err != nil {
			panic(err)
		}
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		panic(err)
	}
}
