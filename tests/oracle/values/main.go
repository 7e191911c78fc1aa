// Records what Helm 3.22 makes of --set and its family, as golden files for crates/chart.
// Usage: go run . FOLDER
//
// set.jsonl: {"flag", "over", "text", "values"} and, for broken texts, "error" beside the values
// as they are then. Values are JSON text in which integers of --set are marked by a trailing "i".
package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/strvals"
)

var bases = []string{
	`{}`,
	`{"a":{"b":{"c":1}}}`,
	`{"a":[1,{"b":2},[3]],"d":null,"e":"s"}`,
}

var texts = []string{
	"a=1", "a=-5", "a=+5", "a=-0", "a=0", "a=00", "a=007", "a=1.5", "a=1e6", "a=0x1F", "a=yes", "a=true", "a=TRUE", "a=False", "a=null", "a=NULL", "a=~", "a=", "a", "a.b", "a,b=1", "a=1,",
	"a=9223372036854775807", "a=9223372036854775808", "a=-9223372036854775808", "a=-9223372036854775809", "a=1_000", "a= 1", "a=1 ", " a=1", "a =1", "a=x y", "a=x,b=y", "a=x\\,y", "a\\.b=1", "a\\=b=1", "a=\\", "a\\", "a=b=c",
	"a={}", "a={x}", "a={x,y,1,true,null,}", "a={a\\,b,c}", "a={1,2}b=3", "a={1,2},b=3", "a={1,2", "a={", "a={{x}}", "a=x{y}", "a={x}y", "a=[]", "a={ x , y }",
	"a[0]=1", "a[2]=1", "c[0]=1,c[2]=3", "a[0][1]=z", "d[0].x=1,d[0].y=2", "a[1].b=9", "a[1].c.d=9", "a[2][0]=9", "a[x]=1", "a[]=1", "a[-1]=1", "a[65536]=1", "a[65537]=1", "a[70000]=1", "a[0", "a[0]", "a[0]x=1", "a[0].", "a[0].b", "a[99999999999999999999]=1", "a[1][0].b[1]=x", "[0]=1", "a[0]=,b=1", "a[0]={1,2}", "a[0]=null",
	"a.b=1", "a.b.c=1", "a.b.c.d=1", "a.b=flat", "a=1,a.b=2", "e.f=1", "e[0]=1", "a.b=null", "a.b.c=null", "d.x=1", "d[0]=1", ".=1", ".a=1", "a.=1", "a..b=1", "=1", "''", "", ",", ",,", "a.b,c=1", "a=1,,b=2",
	"\"a.b\"=1", "'a'=1", "a=\"x\"", "a={\"x\",'y'}", "é=ü", "a=😀", "a=%d", "a=${x}", "a=x;y", "a=x\ny", "a=\t", "n\\.dot=1", "x=  spaced ", "h=12345678901234567890", "w=1.0", "d=1e3",
	strings.Repeat("a.", 29) + "z=1", strings.Repeat("a.", 30) + "z=1", strings.Repeat("a.", 31) + "z=1",
}

var jsonTexts = []string{
	`a=1`, `a=1.5,b=true`, `a=null`, `a=`, `a={"y":[1,2.50,null]},z=true`, `a="x,y"`, `a=[1,2`, `a=x`, `{"a":1}`, `a={"b":1} , c=2`, `a[0]={"b":1}`, `a.b={"c":1}`, `a=1 2`, `a={}`, `a=[]`, `a="é"`, `a=1e400`, `a=,b=1`,
}

var literals = []string{"a=1", "a=b,c=d", "a.b=x", "x,y={}=\\z", "a\\.b=1", "a[0]=x", "a[1].b=x,y", "a", "a.b", "=1", "", "a=", "a=null", "a[x]=1", "a[0]x=1"}

func main() {
	rows := []map[string]any{}
	add := func(flag, base, text string) {
		var over map[string]any
		if err := json.Unmarshal([]byte(base), &over); err != nil {
			panic(err)
		}
		row := map[string]any{"flag": flag, "over": base, "text": text}
		if err := apply(flag, text, over); err != nil {
			row["error"] = err.Error()
		}
		row["values"] = show(over)
		rows = append(rows, row)
	}
	for _, base := range bases {
		for _, text := range texts {
			add("set", base, text)
			add("set-string", base, text)
			add("set-file", base, text)
		}
		for _, text := range jsonTexts {
			add("set-json", base, text)
		}
		for _, text := range append(literals, texts...) {
			add("set-literal", base, text)
		}
	}
	random := rand.New(rand.NewSource(1))
	pieces := strings.Split("a|b|c|.|.|=|=|,|[|]|0|1|2|{|}|\\|x|true|null|-|\"| ", "|")
	for range 2500 {
		var text strings.Builder
		for range 1 + random.Intn(12) {
			text.WriteString(pieces[random.Intn(len(pieces))])
		}
		flag := []string{"set", "set", "set-string", "set-literal"}[random.Intn(4)]
		add(flag, bases[random.Intn(len(bases))], text.String())
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "helm.sh/helm/v3" {
				version = module.Version
			}
		}
	}
	encoder.Encode(map[string]any{"recorded_by": "helm.sh/helm/v3 " + version + ", " + runtime.Version()})
	for _, row := range rows {
		if err := encoder.Encode(row); err != nil {
			panic(err)
		}
	}
	if err := os.WriteFile(filepath.Join(os.Args[1], "set.jsonl"), []byte(out.String()), 0o644); err != nil {
		panic(err)
	}
}

func apply(flag, text string, over map[string]any) error {
	switch flag {
	case "set":
		return strvals.ParseInto(text, over)
	case "set-string":
		return strvals.ParseIntoString(text, over)
	case "set-file":
		return strvals.ParseIntoFile(text, over, func(path []rune) (any, error) {
			return "content of " + string(path), nil
		})
	case "set-json":
		return strvals.ParseJSON(text, over)
	case "set-literal":
		return strvals.ParseLiteralInto(text, over)
	}
	panic(flag)
}

func show(value any) string {
	switch value := value.(type) {
	case nil:
		return "null"
	case int64:
		return fmt.Sprint(value) + "i"
	case map[string]any:
		keys := []string{}
		for key := range value {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		parts := []string{}
		for _, key := range keys {
			parts = append(parts, show(key)+":"+show(value[key]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		if len(value) > 100 {
			return fmt.Sprintf("[%d items, last %s]", len(value), show(value[len(value)-1]))
		}
		parts := []string{}
		for _, item := range value {
			parts = append(parts, show(item))
		}
		return "[" + strings.Join(parts, ",") + "]"
	default:
		var out strings.Builder
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.Encode(value)
		return strings.TrimSuffix(out.String(), "\n")
	}
}
