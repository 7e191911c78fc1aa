package main

import (
	"fmt"
	"math/rand"
	"strings"
)

// maker makes random templates that are mostly well-formed, and mostly wrong in one place at most.
type maker struct {
	*rand.Rand
	vars  []string
	depth int
	loops int
}

func randomTemplates(seed int64, count int) []string {
	source := rand.New(rand.NewSource(seed))
	var templates []string
	for len(templates) < count {
		m := &maker{Rand: source}
		text := m.block(3)
		if m.Intn(6) == 0 {
			text = m.damage(text)
		}
		if strings.Contains(text, "\x00") {
			continue
		}
		templates = append(templates, text)
	}
	return templates
}

func (m *maker) pick(words ...string) string { return words[m.Intn(len(words))] }

// damage cuts, doubles or replaces a byte.
func (m *maker) damage(text string) string {
	if text == "" {
		return text
	}
	at := m.Intn(len(text))
	switch m.Intn(4) {
	case 0:
		return text[:at] + text[at+1:]
	case 1:
		return text[:at] + text[at:at+1] + text[at:]
	case 2:
		return text[:at]
	default:
		const bytes = "{}()|.$:=\"`'-/* ax1\n,%"
		return text[:at] + string(bytes[m.Intn(len(bytes))]) + text[at+1:]
	}
}

func (m *maker) block(size int) string {
	var out strings.Builder
	mark := len(m.vars)
	for range 1 + m.Intn(size) {
		out.WriteString(m.node())
	}
	m.vars = m.vars[:mark]
	return out.String()
}

func (m *maker) open() string  { return m.pick("{{", "{{", "{{ ", "{{- ") }
func (m *maker) close() string { return m.pick("}}", "}}", " }}", " -}}") }

func (m *maker) action(body string) string { return m.open() + body + m.close() }

func (m *maker) node() string {
	m.depth++
	defer func() { m.depth-- }()
	kind := m.Intn(14)
	if m.depth > 3 && kind > 7 {
		kind = m.Intn(6)
	}
	switch kind {
	case 0, 1:
		return m.pick("text", " \n", "a\n\n  b", "é", "  ", "}", "x{y")
	case 2, 3, 4, 5:
		return m.action(m.pipeline())
	case 6:
		name := m.pick("$a", "$b", "$c")
		text := m.action(name + " := " + m.pipeline())
		m.vars = append(m.vars, name)
		return text
	case 7:
		if len(m.vars) == 0 {
			return ""
		}
		return m.action(m.vars[m.Intn(len(m.vars))] + " = " + m.pipeline())
	case 8, 9:
		text := m.action("if "+m.pipeline()) + m.block(2)
		if m.Intn(3) == 0 {
			text += m.action("else if "+m.pipeline()) + m.block(2)
		}
		if m.Intn(2) == 0 {
			text += m.action("else") + m.block(2)
		}
		return text + m.action("end")
	case 10:
		text := m.action("with "+m.pipeline()) + m.block(2)
		if m.Intn(2) == 0 {
			text += m.action("else") + m.block(1)
		}
		return text + m.action("end")
	case 11, 12:
		mark := len(m.vars)
		head := "range "
		switch m.Intn(3) {
		case 0:
			head += "$i, $e := "
			m.vars = append(m.vars, "$i", "$e")
		case 1:
			head += "$e := "
			m.vars = append(m.vars, "$e")
		}
		m.loops++
		text := m.action(head+m.listTerm()) + m.block(2)
		if m.Intn(5) == 0 {
			text += m.action("if "+m.pipeline()) + m.action(m.pick("break", "continue")) + m.action("end")
		}
		m.loops--
		if m.Intn(3) == 0 {
			text += m.action("else") + m.block(1)
		}
		m.vars = m.vars[:mark]
		return text + m.action("end")
	default:
		name := fmt.Sprintf("%q", m.pick("d1", "d2", "d3"))
		if m.depth == 1 && m.Intn(2) == 0 {
			return m.action("define "+name) + m.pick("D", "{{ . }}", "{{ $ | len }}", "{{ .name }}") + m.action("end")
		}
		return m.action(m.pick("template ", "include ") + name + " " + m.term())
	}
}

func (m *maker) pipeline() string {
	text := m.command()
	for m.Intn(3) == 0 {
		text += " | " + m.function(true)
	}
	return text
}

func (m *maker) command() string {
	if m.Intn(3) == 0 {
		return m.function(false)
	}
	return m.term()
}

func (m *maker) listTerm() string {
	return m.pick(".list", ".strs", ".m", ".emap", ".elist", ".people", ".mixed", ".ss", ".is", ".sm", ".nope", ".name",
		"3", "(until 3)", "(list 1 2)", ".i64", "(dict \"a\" 1)", "$.list", ".", ".port")
}

func (m *maker) term() string {
	switch m.Intn(12) {
	case 0, 1, 2, 3:
		return m.pick(".name", ".list", ".m", ".m.k1", ".m.k2.in", ".nope", ".nope.x", ".port", ".half", ".t", ".f", ".i", ".i64", ".u64",
			".people", ".strs", ".ss", ".is", ".nil", ".empty", ".mixed", ".sm.a", ".sm.zz", ".uni", ".bytes", "$.name", "$.m.k2", ".")
	case 4, 5:
		return m.pick("1", "0", "-3", "2.5", "\"s\"", "\"\"", "`raw`", "true", "false", "'a'", "1e6", "\"k1\"", "nil", "\"2\"", "10")
	case 6, 7:
		if len(m.vars) > 0 {
			return m.vars[m.Intn(len(m.vars))] + m.pick("", "", "", ".k1", ".name")
		}
		return "$"
	case 8, 9:
		if m.depth > 6 {
			return "1"
		}
		m.depth++
		defer func() { m.depth-- }()
		return "(" + m.pipeline() + ")" + m.pick("", "", "", "", ".k1", ".name")
	case 10:
		return m.listTerm()
	default:
		return m.pick("(index .people 0).name", "(dict \"a\" 1)", "(list 1 \"a\" nil)", "(printf \"%v\" .)", "(first .list)")
	}
}

// function makes a call; as a later part of a pipeline its last argument comes from before.
func (m *maker) function(piped bool) string {
	calls := []string{
		"printf \"%v\" A", "printf \"%s|%d\" A A", "printf \"%5.2f\" A", "printf \"%q\" A", "print A A", "println A", "html A", "js A", "urlquery A",
		"len A", "index A A", "not A", "and A A", "or A A A", "eq A A", "ne A A", "lt A A", "le A A", "gt A A", "ge A A", "upper S", "lower S",
		"title S", "trim S", "trunc I S", "quote A", "squote A", "cat A A", "indent I S", "nindent I S", "replace S S S", "contains S S",
		"hasPrefix S S", "default A A", "empty A", "coalesce A A", "ternary A A B", "list A A", "first A", "last A", "rest A", "append A A", "has A A",
		"uniq A", "without A A", "join S A", "sortAlpha A", "splitList S S", "split S S", "dict S A", "get M S", "hasKey M S", "set M S S", "pick M S",
		"omit M S", "merge (dict) M", "mergeOverwrite (dict \"a\" 2) M", "keys M | len", "toJson A", "fromJson S", "toString A", "int A", "int64 A", "float64 A",
		"add A A", "sub A A", "mul A A", "div A A", "mod A A", "max A A", "min A A", "floor A", "ceil A", "round A I", "addf A A", "until 3", "typeOf A",
		"kindOf A", "kindIs S A", "deepEqual A A", "b64enc S", "b64dec S", "sha256sum S", "semverCompare \">=1.2\" S", "regexMatch \"[a-z]+\" S",
		"regexReplaceAll \"[aeiou]\" S S", "snakecase S", "camelcase S", "kebabcase S", "abbrev I S", "substr I I S", "toStrings A", "compact A",
		"reverse A", "slice A I", "concat A A", "dig S A M", "deepCopy A", "atoi S", "toPrettyJson A", "base S", "dir S", "wrap I S", "nospace S",
		"initials S", "swapcase S", "untitle S", "plural S S I", "seq I", "call A", "fail S",
	}
	call := m.pick(calls...)
	words := strings.Fields(call)
	if piped && len(words) > 1 && !strings.Contains(call, "|") && !strings.Contains(call, "\"[") {
		words = words[:len(words)-1]
	}
	for i := range words {
		switch words[i] {
		case "A":
			words[i] = m.term()
		case "S":
			words[i] = m.pick("\"s\"", "\"a b\"", ".name", ".uni", "\"\"", ".long", "\"k1\"", "\"1.2.3\"", ".num", ".port", "\"x,y\"")
		case "I":
			words[i] = m.pick("0", "1", "3", "-1", "5", ".i", ".port", "20")
		case "M":
			// Copies, so that no map comes to hold itself: Go prints such a map until its stack is used up.
			words[i] = m.pick("(deepCopy .m)", "(dict \"a\" 1)", "(deepCopy $.m.k2)", ".nope", "(dict)", ".list")
		case "B":
			words[i] = m.pick("true", "false", ".t", "1")
		}
	}
	return strings.Join(words, " ")
}
