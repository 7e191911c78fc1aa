// Records what the TOML library of Helm 3.22 reads and writes, as Helm's toToml and fromToml call it, as golden files
// for crates/chart. Usage: go run . FOLDER
//
// decode.jsonl: {"text", "value"} or {"text", "error"}, and what writing the value again gives in "again".
// encode.jsonl: {"value", "text"}, an error's text standing for the output as in Helm, or {"value", "panic"}.
// Values: null, booleans, strings and lists as in JSON; {"int"}, {"int64"}, {"float"}, {"time"}, {"strings"}, {"tables"}
// (a list of maps) and {"map"} for what has a type of its own.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

func main() {
	folder := os.Args[1]
	if err := os.MkdirAll(folder, 0o755); err != nil {
		panic(err)
	}
	rows := []map[string]any{}
	for _, text := range documents() {
		rows = append(rows, decoded(text))
	}
	write(filepath.Join(folder, "decode.jsonl"), rows)
	rows = nil
	for _, value := range values() {
		rows = append(rows, encoded(value))
	}
	write(filepath.Join(folder, "encode.jsonl"), rows)
}

func decoded(text string) map[string]any {
	row := map[string]any{"text": text}
	value := map[string]any{}
	if err := toml.Unmarshal([]byte(text), &value); err != nil {
		row["error"] = err.Error()
		return row
	}
	row["value"] = describe(value)
	row["again"], _ = encode(value)
	return row
}

func encoded(value any) map[string]any {
	row := map[string]any{"value": describe(value)}
	text, panicked := encode(value)
	if panicked != "" {
		row["panic"] = panicked
	} else if utf8.ValidString(text) {
		row["text"] = text
	} else {
		row["bytes"] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	return row
}

func encode(value any) (text, panicked string) {
	defer func() {
		if recovered := recover(); recovered != nil {
			panicked = fmt.Sprint(recovered)
		}
	}()
	var out bytes.Buffer
	if err := toml.NewEncoder(&out).Encode(value); err != nil {
		return err.Error(), ""
	}
	return out.String(), ""
}

func describe(value any) any {
	switch value := value.(type) {
	case nil:
		return nil
	case bool:
		return value
	case string:
		if !utf8.ValidString(value) {
			return map[string]any{"bytes": base64.StdEncoding.EncodeToString([]byte(value))}
		}
		return value
	case int:
		return map[string]any{"int": strconv.Itoa(value)}
	case int64:
		return map[string]any{"int64": strconv.FormatInt(value, 10)}
	case float64:
		return map[string]any{"float": strconv.FormatFloat(value, 'g', -1, 64)}
	case time.Time:
		return map[string]any{"time": value.String()}
	case []string:
		list := []any{}
		for _, item := range value {
			list = append(list, item)
		}
		return map[string]any{"strings": list}
	case []map[string]any:
		list := []any{}
		for _, item := range value {
			list = append(list, describe(item))
		}
		return map[string]any{"tables": list}
	case []any:
		list := []any{}
		for _, item := range value {
			list = append(list, describe(item))
		}
		return list
	case map[string]any:
		inner := map[string]any{}
		for key, item := range value {
			inner[key] = describe(item)
		}
		return map[string]any{"map": inner}
	}
	panic(fmt.Sprintf("%T", value))
}

var scalars = []any{
	nil, true, false, "", "a", "a b", "é", "日本", "\"", "\\", "'", "a\nb", "\t", "\r\n", "\x00\x01\x1f\x7f\u0080\u2028", "\xff", "${x}", "#", "=",
	0, 1, -1, math.MaxInt64, math.MinInt64, int64(7), int64(-7),
	0.0, math.Copysign(0, -1), 1.0, 1.5, -2.25, 1e6, 1e20, 1e21, 1e22, 1e-5, 1e-7, 123456789.125, 1e100, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, 5e-324, 0.1,
}

var keys = []string{"a", "b", "B", "A-1", "_x", "", "a b", "a.b", "é", "\"q\"", "a\nb", "10", "9", "true", "z"}

func values() []any {
	list := append([]any{}, scalars...)
	for _, scalar := range scalars {
		list = append(list, map[string]any{"k": scalar}, []any{scalar}, map[string]any{"t": map[string]any{"k": scalar}}, map[string]any{"l": []any{scalar, scalar}}, map[string]any{"l": []any{map[string]any{"k": scalar}, 1}})
	}
	for _, key := range keys {
		list = append(list, map[string]any{key: 1}, map[string]any{key: map[string]any{key: 1}}, map[string]any{key: []any{map[string]any{key: 1}}}, map[string]any{"l": []any{[]any{map[string]any{key: 1}}}})
	}
	one, table := []any{1}, map[string]any{"x": 1}
	list = append(list,
		map[string]any{}, []any{}, []string{}, []string{"a", "b"}, []any{table}, []any{table, 1}, []any{[]any{table}}, []any{nil, table},
		map[string]any{"a": map[string]any{}}, map[string]any{"a": []any{}}, map[string]any{"a": []string{"x"}}, map[string]any{"a": []any{map[string]any{}}},
		map[string]any{"a": []any{table, map[string]any{}}}, map[string]any{"a": []any{table, nil}}, map[string]any{"a": []any{[]any{nil}}}, map[string]any{"a": []any{one, table}},
		map[string]any{"a": []map[string]any{}}, map[string]any{"a": []map[string]any{table}}, map[string]any{"a": []map[string]any{table, table}},
		map[string]any{"a": map[string]any{"b": map[string]any{"c": map[string]any{"d": 1}, "e": 2}, "f": 3}, "g": 4},
		map[string]any{"a": []any{map[string]any{"b": []any{map[string]any{"c": 1}}, "d": 2}}, "e": 1},
		map[string]any{"a": []any{1, map[string]any{"b": nil, "c": 1, "d": table}}},
		map[string]any{"a": []any{1, map[string]any{"b": table, "c": nil}}}, map[string]any{"a": []any{1, map[string]any{"a": 1, "b": nil}}},
		map[string]any{"a": []any{1, map[string]any{"a": nil, "b": table, "c": []any{table}}}},
	)
	random := rand.New(rand.NewSource(1))
	for range 400 {
		list = append(list, table1(random, 4))
	}
	return list
}

func table1(random *rand.Rand, depth int) map[string]any {
	table := map[string]any{}
	for range random.Intn(4) {
		table[keys[random.Intn(len(keys))]] = value(random, depth-1)
	}
	return table
}

func value(random *rand.Rand, depth int) any {
	switch kind := random.Intn(5); {
	case depth > 0 && kind == 0:
		return table1(random, depth)
	case depth > 0 && kind == 1:
		list := []any{}
		tables := random.Intn(2) == 0
		for range random.Intn(4) {
			if tables {
				list = append(list, table1(random, depth-1))
			} else {
				list = append(list, value(random, depth-1))
			}
		}
		return list
	}
	for {
		if scalar := scalars[random.Intn(len(scalars))]; scalar != nil || random.Intn(6) == 0 {
			return scalar
		}
	}
}

func write(path string, rows []map[string]any) {
	info, _ := debug.ReadBuildInfo()
	version := ""
	for _, module := range info.Deps {
		version = module.Version
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	head := map[string]any{"recorded_by": fmt.Sprintf("tests/oracle/toml, BurntSushi/toml %s, %s", version, runtime.Version())}
	for _, row := range append([]map[string]any{head}, rows...) {
		if err := encoder.Encode(row); err != nil {
			panic(err)
		}
	}
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		panic(err)
	}
}

func documents() []string {
	list := []string{}
	for _, value := range strings.Split(valueTexts, "\n") {
		list = append(list, "k = "+value)
	}
	list = append(list, texts...)
	// Each document with a piece taken out or put in.
	random := rand.New(rand.NewSource(2))
	pieces := strings.Split("[|]|{|}|=|,|\"|'|\\|.|#|\n|1|a|\t| |-|:|_|\r\n|[[|]]", "|")
	for range 700 {
		text := texts[random.Intn(len(texts))]
		if text == "" {
			continue
		}
		at := random.Intn(len(text))
		if random.Intn(2) == 0 {
			text = text[:at] + text[at+1:]
		} else {
			text = text[:at] + pieces[random.Intn(len(pieces))] + text[at:]
		}
		if utf8.ValidString(text) {
			list = append(list, text)
		}
	}
	return list
}
