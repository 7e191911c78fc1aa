package main

import (
	"fmt"
	"strings"
)

// A chart in one text, with the cases it is rendered in.
//
//	# what it is about
//	case NAME [--set k=v] [-f @file] …
//	-- path [crlf] [bom] [nonl] --
//	the file
//	-- @file --
//	a values file, which is not in the chart
//	-- each NAME --
//	templates/t.yaml of a case of this name
//
// Without a Chart.yaml the chart is ch 0.1.0.
type fixture struct {
	files []file
	extra map[string][]byte
	cases []oneCase
	// Whether only rendered files are of interest, be they YAML or not.
	filesOnly bool
}

type file struct {
	name string
	data []byte
}

type oneCase struct {
	name     string
	flags    []flag
	template []byte
}

type flag struct{ name, value string }

func (c oneCase) flag(name, other string) string {
	for _, flag := range c.flags {
		if flag.name == name {
			return flag.value
		}
	}
	return other
}

func (c oneCase) has(name string) bool {
	return c.flag(name, "\x00") != "\x00"
}

const chartYAML = "apiVersion: v2\nname: ch\nversion: 0.1.0\n"

func parse(text string) *fixture {
	f := &fixture{extra: map[string][]byte{}}
	var name string
	var marks []string
	var body strings.Builder
	hasChart := false
	flush := func() {
		if name == "" {
			return
		}
		content := body.String()
		for _, mark := range marks {
			switch mark {
			case "[crlf]":
				content = strings.ReplaceAll(content, "\n", "\r\n")
			case "[bom]":
				content = "\ufeff" + content
			case "[nonl]":
				content = strings.TrimSuffix(content, "\n")
			default:
				panic("unknown mark " + mark)
			}
		}
		switch {
		case strings.HasPrefix(name, "@"):
			f.extra[name] = []byte(content)
		case strings.HasPrefix(name, "each "):
			f.cases = append(f.cases, oneCase{name: strings.TrimPrefix(name, "each "), template: []byte(content)})
		default:
			hasChart = hasChart || name == "Chart.yaml"
			f.files = append(f.files, file{name, []byte(content)})
		}
		body.Reset()
	}
	for _, line := range strings.SplitAfter(text, "\n") {
		trimmed := strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(trimmed, "-- ") && strings.HasSuffix(trimmed, " --"):
			flush()
			name, marks = header(strings.TrimSuffix(strings.TrimPrefix(trimmed, "-- "), " --"))
		case name != "":
			body.WriteString(line)
		case strings.HasPrefix(trimmed, "case "):
			f.cases = append(f.cases, caseOf(strings.Split(trimmed, " ")[1:]))
		case trimmed != "" && !strings.HasPrefix(trimmed, "#"):
			panic(fmt.Sprintf("unexpected line %q", line))
		}
	}
	flush()
	if !hasChart {
		f.files = append(f.files, file{"Chart.yaml", []byte(chartYAML)})
	}
	return f
}

func header(text string) (string, []string) {
	words := strings.Split(text, " ")
	end := len(words)
	for end > 0 && strings.HasPrefix(words[end-1], "[") {
		end--
	}
	return strings.Join(words[:end], " "), words[end:]
}

func caseOf(words []string) oneCase {
	one := oneCase{name: words[0]}
	for at := 1; at < len(words); at++ {
		flag := flag{name: words[at]}
		switch flag.name {
		case "--is-upgrade", "--include-crds", "--render-subchart-notes":
		default:
			at++
			flag.value = words[at]
		}
		one.flags = append(one.flags, flag)
	}
	return one
}
