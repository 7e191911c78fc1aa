package main

import (
	"fmt"
	"strconv"
	"strings"
)

var headers = []string{
	"",
	"http://json-schema.org/schema#",
	"http://json-schema.org/draft-04/schema#",
	"http://json-schema.org/draft-06/schema#",
	"https://json-schema.org/draft-07/schema",
	"https://json-schema.org/draft/2019-09/schema",
	"https://json-schema.org/draft/2020-12/schema#",
}

func with(header, body string) string {
	if header == "" {
		return body
	}
	inner := strings.TrimPrefix(body, "{")
	comma := ","
	if inner == "}" {
		comma = ""
	}
	return `{"$schema":"` + header + `"` + comma + inner
}

func all(body string, values ...string) {
	for _, header := range headers {
		for _, v := range values {
			record(with(header, body), v)
		}
	}
}

// Texts that are no schemas.
func texts() {
	for _, text := range []string{
		"", " ", "\n", "{", "}", "[", "[]", "null", "true", "false", "1", "\"x\"", "{} x", "{}{}", "{} 1", "{\"a\":}", "{\"a\"}", "{a:1}", "{'a':1}", "{\"a\":1,}", "[1,]", "tru", "nul", "01", "1.", "-", "1e", "\"x", "\"\\x\"", "\"\\u12\"", "// x\n{}", "{}\n\n", "\ufeff{}", "{\"a\":\"\t\"}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "x", "{\"type\":\"object\"", strings.Repeat("[", 200) + strings.Repeat("]", 200),
	} {
		record(text, `{"a":1}`)
	}
}

func keywords() {
	all(`{}`, `{}`)
	all(`{"type":"object","required":["a"]}`, `{}`, `{"a":null}`)
	all(`{"required":["a","b'c","d"]}`, `{}`, `{"a":1}`, `{"a":1,"d":2}`)
	for _, t := range []string{`"string"`, `"integer"`, `"number"`, `"boolean"`, `"null"`, `"array"`, `"object"`, `["string","null"]`, `["object","array","boolean"]`, `["integer","string"]`} {
		all(`{"properties":{"a":{"type":`+t+`}}}`, `{"a":1}`, `{"a":1.5}`, `{"a":"x"}`, `{"a":true}`, `{"a":null}`, `{"a":[]}`, `{"a":{}}`)
	}
	for _, v := range []string{"1.0", "1e3", "1e20", "1e30", "0.1", "-0", "9007199254740993", "-2.5"} {
		record(`{"properties":{"a":{"type":"integer"}}}`, `{"a":`+v+`}`)
	}
	for _, e := range []string{`["a"]`, `["a","b'c","d\"e"]`, `[1,2.5,true,null,"x"]`, `[[1],{"a":2}]`, `[{"b":1.0}]`, `[1000000,0.001]`, `[-5]`, `[true]`, `["\n\u00e9\u200b"]`} {
		all(`{"properties":{"a":{"enum":`+e+`}}}`, `{"a":1}`, `{"a":"a"}`, `{"a":{"b":1}}`, `{"a":[1]}`, `{"a":null}`)
	}
	for _, c := range []string{`1`, `"x"`, `null`, `true`, `[1]`, `{"b":1}`, `1000000`, `1.5`} {
		all(`{"properties":{"a":{"const":`+c+`}}}`, `{"a":1}`, `{"a":"y"}`, `{"a":null}`, `{"a":[1]}`, `{"a":{"b":1}}`)
	}
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		for _, bound := range []string{"5", "1234.5", "1e7", "0.00001", "12345678901234567890"} {
			for _, v := range []string{"1", "5", "6", "1234567", "0.00002", "-3", "1e30", "99999.5", "\"x\""} {
				record(`{"properties":{"a":{"`+key+`":`+bound+`}}}`, `{"a":`+v+`}`)
			}
		}
	}
	for _, v := range []string{"0.3", "0.35", "1", "19.99", "1e10", "0.01", "1e-7"} {
		record(`{"properties":{"a":{"multipleOf":0.01}}}`, `{"a":`+v+`}`)
	}
	record(with(headers[2], `{"properties":{"a":{"maximum":5,"exclusiveMaximum":true,"minimum":1,"exclusiveMinimum":false}}}`), `{"a":5}`)
	record(with(headers[2], `{"properties":{"a":{"maximum":5,"minimum":1,"exclusiveMinimum":true}}}`), `{"a":1}`)
	all(`{"properties":{"a":{"minLength":2,"maxLength":3}}}`, `{"a":""}`, `{"a":"é"}`, `{"a":"日本語x"}`, `{"a":"abc"}`, `{"a":1}`)
	record(`{"properties":{"a":{"minLength":12345}}}`, `{"a":"x"}`)
	record(`{"properties":{"a":{"minLength":2.0}}}`, `{"a":"x"}`)
	all(`{"properties":{"a":{"pattern":"^a+$"}}}`, `{"a":"aa"}`, `{"a":"b'\"\n"}`, `{"a":3}`)
	for _, p := range []string{`\\d`, `\\w+`, `^\\p{L}+$`, `(?i)ABC`, `^[^/]+$`, `\\s`, `a{2,3}`, `x{,3}`, `[[:alpha:]]`, `^$|.`, `\\.`, `\\bfoo\\b`} {
		record(`{"properties":{"a":{"pattern":"`+p+`"}}}`, `{"a":"abc"}`)
		record(`{"properties":{"a":{"pattern":"`+p+`"}}}`, `{"a":"٣"}`)
	}
	all(`{"properties":{"a":{"minItems":2,"maxItems":3,"uniqueItems":true}}}`, `{"a":[]}`, `{"a":[1,1.0]}`, `{"a":[1,2,3,4]}`, `{"a":[1,2,2]}`, `{"a":[{"x":1},{"x":1},{"x":1}]}`)
	var many []string
	for i := range 1200 {
		many = append(many, strconv.Itoa(i))
	}
	record(`{"properties":{"a":{"uniqueItems":true,"maxItems":1000}}}`, `{"a":[`+strings.Join(many, ",")+`,1100]}`)
	record(`{"properties":{"a":{"contains":false,"minContains":1001}}}`, `{"a":[`+strings.Join(many[:3], ",")+`]}`)
	all(`{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":["x",1,"y",2]}`, `{"a":[1]}`, `{"a":[]}`)
	all(`{"properties":{"a":{"items":[{"type":"string"},{"type":"number"}],"additionalItems":false}}}`, `{"a":["x",1]}`, `{"a":[1,"x",3,4]}`)
	all(`{"properties":{"a":{"items":[{"type":"string"}],"additionalItems":{"type":"number"}}}}`, `{"a":["x",1,"y"]}`)
	all(`{"properties":{"a":{"items":false}}}`, `{"a":[1]}`)
	all(`{"properties":{"a":{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}}}`, `{"a":["x",1,"y"]}`, `{"a":[1]}`)
	all(`{"properties":{"a":{"contains":{"type":"string"}}}}`, `{"a":[1,2]}`, `{"a":["x"]}`, `{"a":[]}`)
	all(`{"properties":{"a":{"contains":{"type":"string"},"minContains":2,"maxContains":2}}}`, `{"a":[1,2]}`, `{"a":["x",1]}`, `{"a":["x","y","z"]}`, `{"a":["x","y"]}`)
	all(`{"properties":{"a":{"contains":{"type":"string"},"minContains":0}}}`, `{"a":[1,2]}`)
	all(`{"minProperties":2,"maxProperties":3}`, `{"a":1}`, `{"a":1,"b":2,"c":3,"d":4}`, `{"a":1,"b":2}`)
	all(`{"properties":{"a":{}},"additionalProperties":false}`, `{"a":1}`, `{"b'":1}`, `{"a":1,"b":2,"c":3}`)
	all(`{"properties":{"a":{}},"additionalProperties":{"type":"string"}}`, `{"a":1,"b":1}`, `{"b":"x"}`)
	all(`{"patternProperties":{"^a":{"type":"string"},"b$":{"minimum":5}},"additionalProperties":false}`, `{"ab":1}`, `{"c":1}`, `{"a":"x","b":6}`)
	all(`{"propertyNames":{"pattern":"^[a-z]+$","maxLength":3}}`, `{"a":1}`, `{"A":1}`, `{"ABCD":1}`, `{"a":1,"B":2}`)
	all(`{"propertyNames":false}`, `{"a":1}`)
	all(`{"dependencies":{"a":["b","c"],"d":{"required":["e"]}}}`, `{"a":1}`, `{"a":1,"b":2}`, `{"d":1}`, `{"b":1}`)
	all(`{"dependentRequired":{"a":["b","c"]},"dependentSchemas":{"d":{"required":["e"]}}}`, `{"a":1}`, `{"d":1}`, `{"a":1,"b":1,"c":1}`)
	all(`{"unevaluatedProperties":false,"properties":{"a":{}}}`, `{"a":1}`, `{"b":1}`, `{"a":1,"b":2}`)
	all(`{"unevaluatedProperties":{"type":"string"},"allOf":[{"properties":{"a":{}}}],"anyOf":[{"properties":{"b":{}},"required":["b"]},{"properties":{"c":{}},"required":["c"]}]}`, `{"a":1,"b":1}`, `{"a":1,"c":1,"b":1}`, `{"a":1,"b":1,"d":1}`, `{"b":1,"d":"x"}`)
	all(`{"if":{"properties":{"a":{"const":1}},"required":["a"]},"then":{"properties":{"b":{}}},"else":{"properties":{"c":{}}},"unevaluatedProperties":false}`, `{"a":1,"b":1}`, `{"a":1,"c":1}`, `{"c":1}`, `{"b":1}`)
	all(`{"properties":{"a":{"prefixItems":[{}],"unevaluatedItems":false,"contains":{"type":"string"}}}}`, `{"a":[1]}`, `{"a":[1,"x"]}`, `{"a":[1,"x",2]}`)
	all(`{"properties":{"a":{"items":[{}],"unevaluatedItems":{"type":"string"}}}}`, `{"a":[1,2]}`, `{"a":[1,"x"]}`)
	all(`{"not":{"required":["a"]}}`, `{"a":1}`, `{"b":1}`)
	all(`{"allOf":[{"required":["a"]},{"required":["b"]},{"properties":{"c":{"type":"string"}}}]}`, `{}`, `{"a":1}`, `{"a":1,"b":1,"c":1}`)
	all(`{"anyOf":[{"required":["a"]},{"required":["b"],"minProperties":3},{"type":"string"}]}`, `{}`, `{"c":1}`, `{"a":1}`)
	all(`{"oneOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, `{"a":1,"b":1}`, `{"a":1}`)
	all(`{"if":{"required":["a"]},"then":{"required":["b"]},"else":{"required":["c"]}}`, `{"a":1}`, `{}`, `{"a":1,"b":1}`, `{"c":1}`)
	all(`{"if":true,"then":{"required":["b"]},"else":{"required":["c"]}}`, `{}`, `{"c":1}`)
	all(`{"if":false,"then":{"required":["b"]},"else":{"required":["c"]}}`, `{}`)
	all(`{"then":{"required":["b"]},"else":{"required":["c"]}}`, `{}`)
	all(`{"contentEncoding":"base64","contentMediaType":"application/json","properties":{"a":{"contentEncoding":"base64"}}}`, `{"a":"%%"}`)
	all(`{"properties":{"a":false}}`, `{"a":1}`, `{}`)
	all(`{"properties":{"a":true,"b":{}}}`, `{"a":1}`)
	all(`{"properties":{"a":{"type":"string","minimum":3,"enum":["x"]}}}`, `{"a":1}`, `{"a":"y"}`)
	all(`{"properties":{"a":{"minimum":10,"multipleOf":3,"exclusiveMinimum":9}}}`, `{"a":1}`)
	all(`{"properties":{"a/b~c":{"type":"string"},"d e":{"type":"string"},"é'\"":{"type":"string"}}}`, `{"a/b~c":1}`, `{"d e":1}`, `{"é'\"":1}`)
	all(`{"definitions":{"x":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/x"}}}`, `{"a":1}`, `{"a":"x"}`)
	all(`{"properties":{"a":{"$ref":"#/definitions/x","minimum":5}},"definitions":{"x":{"type":"number","maximum":0}}}`, `{"a":1}`, `{"a":"x"}`)
	all(`{"$defs":{"x":{"required":["p"],"minProperties":2}},"properties":{"a":{"$ref":"#/$defs/x"}}}`, `{"a":{}}`, `{"a":{"p":1,"q":2}}`)
}

// The shape of the text where faults nest.
func trees() {
	deep := `{"type":"object","properties":{"image":{"type":"object","required":["repository","tag"],"properties":{"pullPolicy":{"enum":["Always","Never"]},"tag":{"type":"string","minLength":1}},"additionalProperties":false},"replicas":{"type":"integer","minimum":1},"mode":{"oneOf":[{"type":"string","enum":["a","b"]},{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}]},"list":{"type":"array","items":{"anyOf":[{"type":"string"},{"allOf":[{"required":["x"]},{"properties":{"y":{"type":"integer"}}}]}]}}}}`
	for _, v := range []string{
		`{"image":{}}`, `{"image":{"tag":"","repository":"r","pullPolicy":"x"}}`, `{"image":{"tag":1,"repository":"r","z":2}}`, `{"image":"nginx"}`, `{"replicas":0}`, `{"replicas":1.5}`, `{"replicas":"2"}`, `{"replicas":0.5}`, `{"mode":"c"}`, `{"mode":{}}`, `{"mode":{"name":1}}`, `{"mode":1}`, `{"list":[1]}`, `{"list":["a",{"x":1}]}`, `{"list":[{"y":"z"}]}`, `{"list":{},"mode":1}`, `{"replicas":0,"image":{"tag":""}}`,
	} {
		all(deep, v)
	}
	all(`{"allOf":[{"anyOf":[{"oneOf":[{"not":{}},{"required":["z"]}]},{"allOf":[{"required":["y"]},{"minProperties":9}]}]}]}`, `{}`)
	all(`{"properties":{"a":{"allOf":[{"$ref":"#/definitions/n"},{"$ref":"#/definitions/m"}]}},"definitions":{"n":{"$ref":"#/definitions/m"},"m":{"minimum":5,"multipleOf":7}}}`, `{"a":1}`)
	all(`{"properties":{"a":{"items":{"$ref":"#"}}},"required":["r"]}`, `{"a":[{"r":1},{"a":[{}]}],"r":2}`, `{"a":[{}]}`)
}

// Drafts that schemas name, and schemas of other drafts within them.
func drafts() {
	for _, name := range []string{"http://json-schema.org/draft-07/schema", "http://json-schema.org/draft-03/schema#", "http://json-schema.org/draft-05/schema#", "http://json-schema.org/draft-07/schema#x", "json-schema.org/draft-07/schema", "draft-07", "", "#", "urn:x:y", "ftp://x/y", ":", "file:///values.schema.json", "http://json-schema.org/draft/2020-12/schema", "https://json-schema.org/draft/2019-09/meta/core", "https://json-schema.org/draft/2020-12/meta/validation#", "http://[::1"} {
		record(`{"$schema":`+strconv.Quote(name)+`,"properties":{"a":{"const":1}}}`, `{"a":2}`)
		record(`{"$schema":`+strconv.Quote(name)+`,"type":1}`, `{"a":2}`)
	}
	record(`{"$schema":1}`, `{}`)
	record(`{"properties":{"a":{"$schema":"http://json-schema.org/draft-04/schema#","const":1}}}`, `{"a":2}`)
	record(`{"properties":{"a":{"$id":"http://a/b","$schema":"http://json-schema.org/draft-04/schema#","const":1}}}`, `{"a":2}`)
	record(`{"properties":{"a":{"$id":"http://a/b","$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}]}}}`, `{"a":[1]}`)
	record(`{"properties":{"a":{"$id":"http://a/b","$schema":"http://json-schema.org/draft-07/schema#","items":5}}}`, `{"a":[1]}`)
	record(`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$id":"http://a/b","$schema":"https://json-schema.org/draft/2020-12/schema","prefixItems":[{"type":"string"}]}}}`, `{"a":[1]}`)
}

func formats() {
	cases := map[string][]string{
		"json-pointer":          {"", "/a", "a", "/a~b", "/a~", "/~0~1"},
		"relative-json-pointer": {"", "0", "1/a", "01/a", "2#", "a", "1a"},
		"uuid":                  {"", "2eb8aa08-aa98-11ea-b4aa-73b441d16380", "2eb8aa08aa98-11ea-b4aa-73b441d16380", "2eb8aa0-aa98-11ea-b4aa-73b441d16380", "2eb8aa0g-aa98-11ea-b4aa-73b441d16380", "2eb8aa0'-aa98-11ea-b4aa-73b441d16380"},
		"duration":              {"", "P", "P1Y", "PT1H30M", "P1W", "PW", "PxW", "P1M1Y", "P1H", "PT", "P1", "PY", "PT1HT1M", "1Y", "P1'"},
		"period":                {"", "P1D", "P1D/2020-01-02T03:04:05Z", "2020-01-02T03:04:05Z/P1D", "2020-01-02T03:04:05Z/x", "Px/2020-01-02T03:04:05Z", "x/P1D"},
		"ipv4":                  {"1.2.3.4", "1.2.3", "1.2.3.400", "01.2.3.4", "1.2.3.x", "1.2.3.", "1.2.3.-1", "1.2.3.99999999999999999999"},
		"ipv6":                  {"::1", "1", "1::2::3", "fe80::1%eth0", "::g", "::ffff:1.2.3.4", "1:2:3:4:5:6:7:8:9", "12345::"},
		"hostname":              {"a.b", "", "a..b", "-a", "a-", "a_b", "a.b.", strings.Repeat("a", 64), strings.Repeat("a.", 130) + "a", "é"},
		"email":                 {"a@b.c", "a", "@b", ".a@b", "a.@b", "a..b@c", "a b@c", "\"a b\"@c", "\"a\\\\\"@c", "a@[1.2.3.4]", "a@[IPv6:::1]", "a@[1.2]", "a@-b", strings.Repeat("a", 65) + "@b", strings.Repeat("a", 255)},
		"date":                  {"2020-02-29", "2019-02-29", "2020-13-01", "2020-00-01", "2020-1-01", "x", "", "2020-01-01x", "2020-01-00", "20-01-01", "2020/01/01"},
		"time":                  {"01:02:03Z", "01:02:03", "25:02:03Z", "01:02:03.5+01:00", "01:02:03.Z", "01:02:60Z", "23:59:60Z", "01:02:03+0100", "01-02-03Z", "xx:02:03Z", "01:02:03*01:00", "01:02:03+24:00", "01:02:03+xx:00", "00:29:60+00:30"},
		"date-time":             {"2020-01-02T03:04:05Z", "2020-01-02 03:04:05Z", "2020-01-32T03:04:05Z", "2020-01-02T25:04:05Z", "x"},
		"uri":                   {"http://a/b", "a", "", "http://[::1]/", "http://a b/", ":x", "http://%zz", "mailto:a@b", "http://a:b", "//a", "http://[::1"},
		"iri":                   {"http://é/", "é"},
		"uri-reference":         {"a", "\\\\a", ":x", "http://a/%zz", ""},
		"iri-reference":         {"é", "\\\\"},
		"uri-template":          {"http://a/{b}", "http://a/{b", "http://a/b}", "a/{{b}}", "{x}/{y}"},
		"regex":                 {"a", "(", "[", "*", "\\\\d", "(?=a)"},
		"semver":                {"1.2.3", "1.2", "v1.2.3", "1.2.3-a", "1.2.3-01", "1.2.3+", "1.2.3+a..b", "1.2.3-a_b", "01.2.3", "1..3", "1.2.x"},
		"unknown":               {"x"},
	}
	for _, format := range []string{"json-pointer", "relative-json-pointer", "uuid", "duration", "period", "ipv4", "ipv6", "hostname", "email", "date", "time", "date-time", "uri", "iri", "uri-reference", "iri-reference", "uri-template", "regex", "semver", "unknown"} {
		for _, text := range cases[format] {
			record(with(headers[4], `{"properties":{"a":{"format":"`+format+`"}}}`), fmt.Sprintf(`{"a":"%s"}`, strings.ReplaceAll(text, `"`, `\"`)))
		}
		all(`{"properties":{"a":{"format":"`+format+`"}}}`, `{"a":"\u0000"}`, `{"a":5}`)
	}
}

// Schemas that no draft takes.
func broken() {
	for _, body := range []string{
		`{"type":"strin"}`, `{"type":["string","string"]}`, `{"type":[]}`, `{"type":5}`, `{"properties":[]}`, `{"properties":{"a":5}}`, `{"properties":{"a":{"type":"x"}}}`, `{"required":"a"}`, `{"required":[1]}`, `{"required":["a","a"]}`, `{"required":[]}`, `{"required":true}`, `{"properties":{"a":{"required":true}}}`, `{"enum":[]}`, `{"enum":[1,1]}`, `{"enum":"a"}`, `{"pattern":"a("}`, `{"pattern":5}`, `{"patternProperties":{"a(":{}}}`, `{"patternProperties":{"(?<x>a)(?!b)":{}}}`, `{"minimum":"1"}`, `{"minLength":-1}`, `{"minLength":1.5}`, `{"multipleOf":0}`, `{"items":5}`, `{"items":[]}`, `{"items":[5]}`, `{"allOf":[]}`, `{"allOf":{}}`, `{"anyOf":[5]}`, `{"not":5}`, `{"additionalProperties":5}`, `{"$ref":5}`, `{"$ref":"#/definitions/a b"}`, `{"$id":5}`, `{"$id":"#x"}`, `{"$id":"a b"}`, `{"id":"x y"}`, `{"definitions":{"x":5}}`, `{"$defs":{"x":5}}`, `{"$defs":{"x":{"type":7}}}`, `{"exclusiveMinimum":true}`, `{"exclusiveMinimum":true,"minimum":3}`, `{"format":5}`, `{"uniqueItems":"x"}`, `{"dependencies":{"a":5}}`, `{"dependencies":{"a":[]}}`, `{"propertyNames":5}`, `{"if":5}`, `{"title":5}`, `{"description":[]}`, `{"default":{"a":1}}`, `{"examples":5}`, `{"unevaluatedItems":5}`, `{"dependentRequired":{"a":"b"}}`, `{"$anchor":"1x"}`, `{"$anchor":"x","$defs":{"y":{"$anchor":"x"}}}`, `{"$vocabulary":5}`, `{"$comment":5}`, `{"readOnly":"x"}`, `{"prefixItems":[]}`, `{"contains":5}`, `{"minContains":-1}`, `{"x":{"type":"q"}}`, `{"properties":{"a":{"$id":"http://x/y"},"b":{"$id":"http://x/y"}}}`, `{"properties":{"$ref":{"type":"string"}}}`, `{"properties":{"$ref":"x"}}`, `{"maxItems":1e3}`, `{"nullable":true}`, `{"type":"any"}`, `{"type":"int"}`, `{"type":"bool"}`,
	} {
		all(body, `{}`)
	}
}

func references() {
	for _, ref := range []string{"#", "#/", "#/a", "#/properties/a", "#/properties/b", "#/definitions/x~1y", "#/definitions/x%2Fy", "#/%", "#x", "#named", "x.json", "values.schema.json", "values.schema.json#/definitions/n", "/x.json", "file:///nowhere/x.json", "file:///values.schema.json#/definitions/n", "urn:a:b", "urn:a:b#/c", "ftp://a/b", "http://a/b", "http://a/b#/definitions/q", "nested", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-04/schema#/definitions/positiveInteger", "http://json-schema.org/nothing", ":", "#/definitions/n/0", "#/list/1", "#/list/01", "#/list/x", "?a", "#/$defs/0", "//host"} {
		if strings.HasPrefix(ref, "http://a/b") || ref == "//host" {
			// Only what is in the document.
			record(`{"definitions":{"e":{"$id":"http://a/b","definitions":{"q":{"type":"string"}},"type":"number"}},"properties":{"a":{"$ref":"`+strings.Replace(ref, "//host", "http://a/b#", 1)+`"}}}`, `{"a":true}`)
			continue
		}
		body := `{"properties":{"a":{"$ref":"` + ref + `"},"b":{"type":"string"}},"definitions":{"x/y":{"type":"number"},"n":{"type":"string"},"m":{"$id":"nested","type":"array"}},"list":[{},{"type":"boolean","minimum":2}]}`
		all(body, `{"a":true}`, `{"a":-5}`)
	}
	all(`{"$defs":{"n":{"$anchor":"named","type":"string"},"o":{"$id":"#old","type":"string"}},"properties":{"a":{"$ref":"#named"},"b":{"$ref":"#old"}}}`, `{"a":1}`)
	all(`{"definitions":{"o":{"$id":"#old","type":"string"}},"properties":{"b":{"$ref":"#old"}}}`, `{"b":1}`)
	all(`{"definitions":{"o":{"id":"#old","type":"string"}},"properties":{"b":{"$ref":"#old"}}}`, `{"b":1}`)
	all(`{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}`, `{}`)
	all(`{"allOf":[{"$ref":"#"}]}`, `{}`)
	all(`{"anyOf":[{"$ref":"#/anyOf/0"},{}]}`, `{}`)
	all(`{"$id":"http://x/base/root.json","properties":{"a":{"$ref":"root.json#/definitions/n"},"b":{"$ref":"item.json"}},"definitions":{"n":{"type":"string"},"i":{"$id":"item.json","type":"string"}}}`, `{"a":1}`, `{"b":1}`)
	all(`{"$id":"urn:uuid:1","properties":{"a":{"$ref":"#/definitions/n"},"b":{"$ref":"urn:uuid:1#/definitions/n"}},"definitions":{"n":{"type":"string"}}}`, `{"a":1}`, `{"b":1}`)
	all(`{"$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#"}},"required":["r"]}`, `{"r":1,"a":{}}`)
	all(`{"$id":"http://x/tree","$dynamicAnchor":"node","properties":{"a":{"$dynamicRef":"#node"}},"required":["r"]}`, `{"r":1,"a":{}}`)
	all(`{"$id":"http://x/strict","$dynamicAnchor":"node","$ref":"tree","unevaluatedProperties":false,"$defs":{"t":{"$id":"tree","$dynamicAnchor":"node","properties":{"d":{},"c":{"items":{"$dynamicRef":"#node"}}}}}}`, `{"c":[{"d":1}]}`, `{"c":[{"e":1}]}`)
	all(`{"$ref":"#/properties/a","properties":{"a":{"type":"string"}}}`, `{"a":1}`)
	all(`{"properties":{"a":{"$ref":"#/x/y"}},"x":{"y":{"type":5}}}`, `{"a":1}`)
	all(`{"properties":{"a":{"$ref":"#/x/y"}},"x":{"y":{"pattern":"("}}}`, `{"a":1}`)
	all(`{"properties":{"a":{"$ref":"#/x/y"}},"x":{"y":5}}`, `{"a":1}`)
}
