package main

import (
	"encoding/base64"
	"fmt"
	"math/rand"
	"strings"
	"unicode/utf16"
)

// syntax gives texts for each rule of the scanner and the parser.
func syntax() []string {
	var texts []string
	// Block scalars: every header before every kind of body.
	bodies := []string{"", "\n", "  x\n", "  x", " x\n", "    x\n  y\n", "  x\n    y\n  z\n", "\n\n  x\n\n\n  y\n\n", "   \n  x\n", "  x\n \n     \n  y\n", "  # x\n# y\n", "\tx\n", "  \tx\n  y\n", "  x\n\ty\n",
		"  x\n\n   y\n\n  z\n\n\n", "  x\r\n  y\r\n\r\n", "  x\u0085  y\u2028  z\u2029\n  w\n", "---\n", "  x\n---\n", "  x\n...\n", "  x \n  y\t\n", "x\n", "  x\nb: 1\n", "  x\n\nb: 1\n", "  x\n  \n", "  x\n    "}
	for _, style := range []string{"|", ">"} {
		for _, header := range []string{"", "-", "+", "1", "2", "3", "2-", "-2", "+1", "1+", "0", "-0", "10", "+-", "22", "9", " # c", "#c", "- # c", " x", "-x", "\t", "\t#"} {
			for _, body := range bodies {
				texts = append(texts, "a: "+style+header+"\n"+body)
			}
		}
		for _, body := range bodies {
			texts = append(texts, style+"\n"+body, "- "+style+"\n"+body, "- - a: "+style+"-\n"+indented(body), "a:\n  b: "+style+"+\n"+indented(body), "? "+style+"\n"+body+": c\n")
		}
	}
	// Quotes over lines, and every escape.
	for _, body := range []string{"x\n y", "x\n\n y", "x \n  y", "\n x", "x\n ", " x ", "\n", "\n\n", "x\n\n\n y\n z", "x\r\n y", "x\u2028 y", "x\u0085\n y", "x\n---\ny", "x\n...\n", "x\n--- y", "x\n---y", "x\ty", "x\n\ty", "x#y", "x #y", "x: y", "x\n# y"} {
		for _, quote := range []string{"'", "\""} {
			texts = append(texts, quote+body+quote, "a: "+quote+body+quote+"\n", "["+quote+body+quote+"]", quote+body+quote+": 1\n")
		}
		texts = append(texts, body, "a: "+body+"\n", "["+body+"]", "- "+body+"\n- z\n")
	}
	for c := rune(' '); c < 0x7f; c++ {
		texts = append(texts, fmt.Sprintf("\"a\\%cb\"", c), fmt.Sprintf("%cb: 1\n", c), fmt.Sprintf("a%cb", c), fmt.Sprintf("[a%cb]", c), fmt.Sprintf("[%cb]", c), fmt.Sprintf("[%c]", c), fmt.Sprintf("[%c b: c]", c), fmt.Sprintf("{a%c}", c),
			fmt.Sprintf("a: !x%cy z", c), fmt.Sprintf("&x%cy z", c), fmt.Sprintf("[*x%cy]", c), fmt.Sprintf("a: 'b'%cc", c), fmt.Sprintf("{\"a\"%cb}", c), fmt.Sprintf("[a]%cb", c), fmt.Sprintf("a: |%c\n x\n", c), fmt.Sprintf("--- %c\n", c), fmt.Sprintf("---%c\n", c), fmt.Sprintf("%%YAML 1.1%c\n---\na", c), fmt.Sprintf("%%TAG !a%c b\n---\na", c))
	}
	for _, escape := range []string{"x", "x4", "x41", "xg1", "u", "u00e", "u00e9", "uD800", "uDFFF", "uFFFE", "U0001F600", "U00110000", "UFFFFFFFF", "U0001F60", "\n", "\n  x", " \n x", "\n\n x", "\n \t x", "\u0085x", "\u2028 x", "é", "\t"} {
		texts = append(texts, "\"a \\"+escape+"b\"", "a: \"\\"+escape)
	}
	// Tags and directives.
	for _, tag := range []string{"!", "!!", "!x", "!!x", "!x!y", "!x!", "!<x>", "!<>", "!<x", "!<!>", "!<x y>", "!%41", "!%4", "!%zz", "!%c3%a9", "!%ff", "!%c3%41", "!%f0%9f%98%80", "!!str", "!<tag:yaml.org,2002:int>", "!!int%20", "!a,b", "!a]", "!!str,", "!a#b", "!a{", "!é"} {
		texts = append(texts, "a: "+tag+" 1\n", "a: "+tag+"\n", tag, "["+tag+"]", "["+tag+" ]", "["+tag+",b]", "{"+tag+" a: "+tag+" b}", tag+" a: b\n", "- "+tag+"\n- b\n", "a: "+tag+" &x b\n", "a: &x "+tag+" b\n", "a: "+tag+" "+tag+" b\n", "a: "+tag+"\n- b\n", "a: "+tag+"\n  b: c\n", "a: "+tag+" |\n  b\n", tag+" <<: {a: 1}\n", tag+" '<<': {a: 1}\n",
			"%TAG !x! tag:yaml.org,2002:\n---\na: "+tag+" 1\n", "%TAG ! tag:yaml.org,2002:\n---\na: "+tag+" 1\n", "%TAG !! !\n---\na: "+tag+" 1\n")
	}
	for _, directive := range []string{"%", "%YAML", "%YAML 1", "%YAML 1.", "%YAML 1.1", "%YAML 1.2", "%YAML 2.1", "%YAML 01.1", "%YAML 100.1", "%YAML 1.100", "%YAML\t1.1\t# c", "%YAML 1.1 c", "%YAML 1.1\n%YAML 1.1", "%YAML 1.1\n# c\n\n%TAG ! a", "%YAML1.1", "%TAG", "%TAG !", "%TAG ! ", "%TAG a b", "%TAG !a b", "%TAG !a! b", "%TAG !a! b c", "%TAG !a! b # c", "%TAG !a! %41", "%TAG !a! %4", "%TAG !a!\tb", "%TAG !a! b\n%TAG !a! c", "%TAG !! b\n%TAG !! c", "%FOO", "%FOO bar", "%yaml 1.1", "%a-_1 b", "%é", " %YAML 1.1", "# c\n%YAML 1.1"} {
		texts = append(texts, directive, directive+"\n", directive+"\n---\na\n", directive+"\na\n", directive+"\n...\n---\na\n", "---\nb\n...\n"+directive+"\n---\na\n", "b\n"+directive+"\n---\na\n", directive+"\r\n--- a\r\n")
	}
	// Documents.
	for _, text := range []string{"---", "--- ", "---a", "--- a", "---\ta", "--- - a", "--- a: b", "--- |\n x", "--- |\nx", "--- >\n---\n", "---\n---\n", "---\n...\n", "...", "...\na", "...\n---\na", "a\n---", "a\n--- b", "a\n---b", "a\n...", "a\n... b", "a\n...b", "a: b\n---\n- c", "- a\n---\n", "[a\n---\n]", "{a: b\n...\n}", "--- # c", "--- #c\n# d\na", "a\n--- [", "a\n---\n\x01", "a: 1\n--- \"", "a: 1\nb", "--- &a\n", "--- !!str\n", "--- {a: 1}\n--- x", "# c\n---\n# d\n", "\ufeff---\na", "\ufeff\ufeffa: 1\nb: 2\nc:\n- d\n", "\ufeff\ufeff# c\na: 1\n", "\ufeff# c\n\ufeffa: 1\n", "a: 1\n\ufeff", "\ufeff", "\ufeff\ufeff"} {
		texts = append(texts, text, text+"\n")
	}
	// White space, comments, indentation.
	for _, text := range []string{"a:\tb", "a:\t\tb", "a\t: b", "a:\n\tb", "a: \n \tb", "a: \n  b\n\tc", "\ta", " \ta: b", "-\ta", "- \ta", "-\t- a", "- -\ta", "?\ta\n:\tb", "? a\n:\tb", "[\ta,\n\tb\t]\t", "{\n\ta:\tb\n}", "a: [\n\t1,\n2]", "a: [\n1]", "a: {\nb: 1\n}", "a: b\t# c", "a: b \t#c", "a: 'b'\t# c", "a: |\t\n  b", "#", "# a\n  # b\na: 1 # c\n # d\n# e", "a: #b", "a: # b\n  c", "a:\n# b\n  c: d\n # e\n  f: g", "- # a\n  b", "- a # b\n# c\n- d", "[a # b\n, c]", "[a, # b\n# c\nd # e\n]", "[a#b]", "{a: b # c\n}", "{a # b\n: c}", "{a: # b\n c}", "'a' # b\n: c", "? a # b\n: c # d", "a:# b", "a #b: c", "a# b: c", "&a # b\nc", "!!str # a\nb", "a: &b # c\n  d", "a: &b # c\n  d: e", "a: *b # c", "a: b\n # c\n  d", "a: b\n  # c\nd: e", "a: \"b\" c", "a: 'b' 'c'", "a: [b] c", "a: {b: c} d",
		"a:\n b: 1\n  c: 2", "a:\n  b: 1\n c: 2", "a:\n  - b\n - c", "a:\n - b\n  - c", "a:\n- b\nc:\n- d", "a:\n- b\n  c", "a:\n- b\n c: d", "- a\n b", "- a\n  b", "- a: b\n c: d", "- a: b\n  c: d\n   e: f", "- - a\n - b", "-\n- a\n-", "-\n  - a\n-\n  b", "- -\n  -\n-", "a:\n\n\n  b:\n\n    c", "a:\nb:\nc:", "a:\n  b:\nc:", "a\nb: c", "a: b\n c: d", "a: b\nc", "a: b\nc\n d", "a: - b", "a: ? b", "- ? a", "- a: - b", "? - a\n: - b", "? a: b\n: c: d", "?", "? ", "? \n:", "?\n?\n", ":", ": a", ":\n", ": a\n: b", "a : b", "a  :  b", "a:b", "a:b: c", "a: b:c", "a::b", "a:: b", "a: :b", "a: b:", "a: b: ", "::", ":: a", "-a", "--a", "- -a", "-: a", "?a: b", "?: b", "a?: b", "a: ?b", "a ? b", "a: -", "a: - ", "-,", "a,b: c", "a]: b", "a}b", "\r", "\r\n", "a\r\rb: c", "a: b\r\r\nc: d\n\r", "a\u0085b: c\u0085d", "a: b\u2028c: d\u2029e: f", " a: b", "  a: b\n  c: d", "  a: b\n c: d", "  a: b\nc: d", " - a\n - b", " - a\n- b", "a:\n  ? b\n  : c\n  ? d", "a: b\n?\n", "a: b\n? c\n: d\n", "a: b\n- c", "- a\n? b", "'a'\n'b': c", "'a\n b': c", "\"a\n b\": c", "a\n b: c", "a: b\n'c'", "a: b\n[c]", "a: b\n{c: d}", "a: b\n{}", "a: b\n*c", "a: b\n&c", "a: b\n&c d: e", "a: b\n!!str", "a: b\n|\n c", "a: b\n\"c"} {
		texts = append(texts, text, text+"\n", "k:\n"+indented(text), "- "+strings.ReplaceAll(text, "\n", "\n  "))
	}
	// Flow collections.
	for _, text := range []string{"[]", "[ ]", "[,]", "[a,]", "[,a]", "[a,,b]", "[a b]", "[a\nb]", "[a,\n\nb]", "[[]]", "[[],[]]", "[[a],[b]]", "[{}]", "[{},{}]", "{}", "{ }", "{,}", "{a}", "{a,}", "{,a}", "{a,,b}", "{a:}", "{a: }", "{a: ,b}", "{a:,b}", "{a:b}", "{a :b}", "{a : b}", "{'a':b}", "{'a': b}", "{\"a\":1}", "{\"a\":\"b\"}", "{[a]: b}", "{{a: b}: c}", "{{}: b}", "{[]: b}", "[[]: b]", "[{}: b]", "[a: b]", "[a: b, c: d]", "[a: ]", "[a:, b]", "[: a]", "[:a]", "[:]", "[: ]", "[, : a]", "{: a}", "{:a}", "{:}", "{: }", "{? }", "{?}", "{? a}", "{? a : b}", "{? a, b}", "{? : b}", "{? a: b : c}", "[?]", "[? ]", "[? a]", "[? a : b]", "[? a, b]", "[? , b]", "[? : b]", "[? : b, c]", "[?a]", "[a?]", "[a ?]", "{a? b}", "[-]", "[- a]", "[-a]", "[-, b]", "[a, -]", "[a -]", "{- a}", "{-: a}", "{a: -}", "{a: - b}", "[|]", "[>]", "[a|b]", "{a: |\n b}", "[%]", "[%a]", "[a%]", "[@]", "[`]", "[#]", "[ #]\n]", "[a]b", "[a] b", "[a]: b", "[a] : b", "{a: b}: c", "{}: c", "[]: c", "[]\n: c", "[\n]: c", "[a,\nb]: c", "{a: b, a: c}", "{a: {b: {c: [d, {e: f}]}}}", "[&a b, *a]", "[&a, b]", "[&a ]", "{&a b: *a}", "{*a : b}", "{*a: b}", "[*a]", "[!!str a, !!int 1]", "[!!str]", "{!!str : b}", "{a: !!str}", "{a: !!str , b}", "[a, b", "[a, b}", "{a: b", "{a: b]", "[a, [b]", "[", "{", "]", "}", ",", "a]", "[]]", "{}}", "[a]]", "[]{}", "[] []", "[a: b: c]", "{a: b: c}", "{a\n: b}", "{a: \nb}", "{a\nb: c}", "{a\nb\n: c}", "['a'\n: b]", "[a\n: b]", "[\"a\nb\": c]", "{\"a\nb\": c}", "[---]", "[--- a]", "[\n---\n]", "[\n--- a\n]", "[\n...\n]", "[a,\n%b]", "{a: b\n  ,c: d\n ,\n}", "[http://a/b?c=d&e#f]", "{a: http://b:80/c}", "[<<: a]", "{<<: {a: b}}", "{<<: [{a: b}, {a: c}]}", "{<<: a}", "[a=b, c;d, $e, (f)]", "[1, 2.5, true, ~, 'x', \"y\"]"} {
		texts = append(texts, text, "k: "+text+"\n", "- "+text+"\n- z\n", "k:\n  "+text+"\n", "k:\n  "+text+"\nl: m\n", "["+text+"]", "{k: "+text+"}", text+"\n---\nx\n", "? "+text+"\n: v\n")
	}
	// Keys at and beyond the 1024 characters within which a colon has to come.
	for _, length := range []int{1, 1000, 1021, 1022, 1023, 1024, 1025, 1026, 2000} {
		key, wide, deep := strings.Repeat("k", length), strings.Repeat("é", length), strings.Repeat("[", length%100)+strings.Repeat("]", length%100)
		texts = append(texts, key+": v\n", "'"+key+"': v\n", "\""+key+"\": v\n", wide+": v\n", "a: 1\n"+key+": v\n", "a: 1\n"+key+"\n", "{"+key+": v}", "['"+key+"': v]", "{'"+key+"' : v}", "["+key+"]: v\n", "- "+key+": v\n", "a: "+key+": v\n", "? "+key+"\n: v\n", "&a "+key+": v\n", deep+": v\n", "["+deep+": v]", "a: "+deep+"\n", "{a: 1, "+strings.Repeat("b, ", length/3)+"c: 1}: v", "a"+strings.Repeat(" ", length)+": v\n", "[a"+strings.Repeat(" ", length)+": v]")
	}
	// Depth.
	for _, depth := range []int{2, 10, 40, 60} {
		texts = append(texts, strings.Repeat("[", depth), strings.Repeat("]", depth), strings.Repeat("{", depth), strings.Repeat("[", depth)+"a"+strings.Repeat("]", depth), strings.Repeat("{a: ", depth)+strings.Repeat("}", depth), strings.Repeat("- ", depth)+"a\n", strings.Repeat("? ", depth)+"a\n", strings.Repeat("a: ", depth)+"\n", strings.Repeat("[a: ", depth)+strings.Repeat("]", depth), strings.Repeat("[? ", depth)+"a"+strings.Repeat("]", depth))
		var steps strings.Builder
		for level := range depth {
			steps.WriteString(strings.Repeat(" ", level) + "a:\n")
		}
		texts = append(texts, steps.String(), steps.String()+"b: c\n", steps.String()+" b: c\n", steps.String()+strings.Repeat(" ", depth)+"- b\n")
	}
	// Anchors, merges, and what JSON cannot carry.
	texts = append(texts, "a: &a {x: *a}\n", "a: &a [*a, ", "a: &a {<<: *a}\n", "&a a: *a\n", "&a {b: c}: d\n", "a: &a\nb: *a\n", "a: &a\n  b: c\nd: *a\n", "- &a b\n- &a c\n- *a\n", "&a <<: {x: 1}\n", "a: &a {x: 1}\n<<: *a\nx: 2\n", "<<: &a [{x: 1}]\ny: *a\n", "a: &a [{x: 1}]\n<<: *a\n", "<<: [&a {x: 1}, {<<: *a, y: 2}]\n", "a: &a <<\n*a : {x: 1}\n",
		"a: .nan\n", "a: .nan\na: 1\n", "a: .nan\n~: 1\n", "~: 1\nb: !!int x\n", "~: 1\n~: 2\n", "~: {1: 2, b: [~, 1.5, .inf, yes]}\n", "? {1: a, b: c, ~: d}\n: x\n", "? [1, 1.0, 1e6, 123456.5, 1e21, -0.0, 18446744073709551615, .nan, .inf, yes, ~, 2001-01-01, \"it's\", \"a\\tb\\x01\\u2028é\"]\n: x\n", "? {{a: b}: c}\n: d\n", "{{ .Values.a }}: b\n", "a: {{ .Values.a }}\n", "a: {{ 1 }}\n", "a: {{- include \"b\" . }}\n", "a: {{ b }} c\n", "18446744073709551615: {a: b}\n")
	return texts
}

// indented moves each line two columns to the right.
func indented(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for at, line := range lines {
		if strings.TrimSpace(line) != "" {
			lines[at] = "  " + line
		}
	}
	return strings.Join(lines, "")
}

// mutations gives documents with faults, and mixtures of indicators.
func mutations() []string {
	random := rand.New(rand.NewSource(3))
	rules := syntax()
	var texts []string
	for len(texts) < 6000 {
		text := documents[random.Intn(len(documents))]
		if random.Intn(2) == 0 {
			text = rules[random.Intn(len(rules))]
		}
		for range 1 + random.Intn(2) {
			text = mutate(random, text)
		}
		if len(text) < 400 {
			texts = append(texts, text)
		}
	}
	pieces := append(strings.Split("-:#'\"[]{},&*!|>%@?~a1<.\\ ", ""), "\n", "\n", "\n ", "\n  ", "\t", ": ", ": ", "- ", "- ", "? ", "é", "\u2028", "a", " ")
	for range 4000 {
		var text strings.Builder
		for range random.Intn(24) {
			text.WriteString(pieces[random.Intn(len(pieces))])
		}
		texts = append(texts, text.String())
	}
	return texts
}

// bytesRows gives encodings, faults in them, and texts longer than what is read at a time.
func bytesRows() []map[string]any {
	var inputs [][]byte
	add := func(input string) { inputs = append(inputs, []byte(input)) }
	for _, text := range []string{"", "\xff", "\xfe", "\xff\xfe", "\xfe\xff", "\xef", "\xef\xbb", "\xef\xbb\xbf", "\xef\xbb\xbfa: 1", "a: \x80", "a: \xbf", "a: \xc0\x80", "a: \xc1\xbf", "a: \xc2", "a: \xc3\xa9", "a: \xc3a", "a: \xe0\x80\x80", "a: \xe0\xa0", "a: \xed\xa0\x80", "a: \xed\xbf\xbf", "a: \xef\xbf\xbd", "a: \xef\xbf\xbe", "a: \xef\xbf\xbf", "a: \xf0\x80\x80\x80", "a: \xf0\x9f\x98\x80", "a: \xf0\x9f\x98", "a: \xf0\x9fa\x80", "a: \xf4\x8f\xbf\xbf", "a: \xf4\x90\x80\x80", "a: \xf5\x80\x80\x80", "a: \xf8\x88\x80\x80\x80", "a: \xfe", "a: \x00", "\x00", "a: \x7f", "a: \xc2\x80", "a: \xc2\x85b", "a: \xc2\x9f", "a: \xc2\xa0", "[}\x01", "[\n}\xff", "a\n---\n\xff",
		"\xff\xfe\x00\xd8", "\xff\xfe\x00\xd8a\x00", "\xff\xfe\x00\xdc", "\xff\xfe\x3d\xd8\x00\xde", "\xff\xfe\x3d\xd8\x00", "\xff\xfea", "\xff\xfea\x00\xff", "\xff\xfe\x00\x00", "\xff\xfe\xfe\xff", "\xff\xfe\xff\xfea\x00", "\xfe\xff\xd8\x3d\xde\x00", "\xfe\xff\x00", "\xfe\xff\x20\x28"} {
		add(text)
	}
	for _, text := range documents {
		add("\xff\xfe" + wide(text, false))
		add("\xfe\xff" + wide(text, true))
	}
	// A fault or a break of syntax around the end of a piece.
	for _, fault := range []string{"\x01", "\xff", "\xc3", "\xc3\xa9\x01", "é\xff", "\xf0\x9f", "\ufeffb: 2", "é: [", "\n}", "\n---\n\x01"} {
		for at := 500; at < 520; at++ {
			for _, head := range []string{"a: 1\n# ", "[}\n# ", "a: '"} {
				add(head + strings.Repeat("c", at-len(head)) + fault)
			}
		}
	}
	for _, size := range []int{250, 253, 254, 255, 256, 257} {
		for _, fault := range []string{"\x01", "😀", "\ufeff", "b"} {
			text := wide("# "+strings.Repeat("c", size-2)+fault+"\na: [1, 2]\n", false)
			add("\xff\xfe" + text)
			add("\xff\xfe" + text[:len(text)-1])
		}
	}
	random := rand.New(rand.NewSource(4))
	for range 600 {
		text := mutate(random, documents[random.Intn(len(documents))])
		for len(text) < 1200 && random.Intn(3) > 0 {
			text += documents[random.Intn(len(documents))]
		}
		input := []byte(text)
		switch random.Intn(4) {
		case 0:
			input = []byte("\xff\xfe" + wide(text, false))
		case 1:
			input = []byte("\xfe\xff" + wide(text, true))
		}
		for range random.Intn(3) {
			if len(input) > 0 {
				input[random.Intn(len(input))] = []byte{0x80, 0xc3, 0xe2, 0xf0, 0xff, 0xd8, 0xdc, 0x00, '\n', 'a'}[random.Intn(10)]
			}
		}
		if len(input) < 1300 {
			inputs = append(inputs, input)
		}
	}
	var rows []map[string]any
	for _, input := range inputs {
		if row := decode(string(input)); steady(string(input), row) {
			row["base64"] = base64.StdEncoding.EncodeToString(input)
			rows = append(rows, row)
		}
	}
	return rows
}

// wide gives UTF-16 without a byte order mark.
func wide(text string, big bool) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		if big {
			out = append(out, byte(unit>>8), byte(unit))
		} else {
			out = append(out, byte(unit), byte(unit>>8))
		}
	}
	return string(out)
}
