package main

import "strings"

// matrix makes printf cases: every verb with every set of flags over values of every type.
func matrix() []string {
	values := []string{
		"1", "-7", "0", "65", "1234567", "1.5", "-2.25", "0.0", "1e6", "1e21", "1e-7", "100.0", ".port", ".big", ".u64", ".i64",
		"true", "false", `"hi"`, `"Grüße"`, `"a\x01\"b\x60"`, `""`, "nil", ".nope", ".list", ".ss", ".is", ".bytes", ".sm",
		".m.k2", ".mixed", ".elist", ".emap", "1+2i", `"\xff\xfe"`, `(index .bytes 0)`,
	}
	verbs := []string{"v", "+v", "#v", "T", "t", "d", "b", "o", "O", "x", "X", "c", "q", "U", "e", "E", "f", "F", "g", "G", "s", "z", "w", "!"}
	flags := []string{"", "8", "-8", "08", "+", " ", "#", ".2", ".0", "8.3", "-8.3", "+.2", "08.2", "# ", "+08", " 8", "x", ".", "-08", "#10", "+q"}
	var cases []string
	for _, verb := range verbs {
		for _, flag := range flags {
			if flag == "x" || flag == "+q" {
				continue
			}
			var line strings.Builder
			for _, value := range values {
				// The address of a slice or map differs from run to run.
				line.WriteString("{{ printf \"%" + flag + verb + "\" " + value + " }}|")
			}
			cases = append(cases, line.String())
		}
	}
	return cases
}
