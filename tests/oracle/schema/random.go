package main

import (
	"encoding/json"
	"math/rand"
	"strconv"
)

// Schemas and values put together by chance, always the same.
func random(count int) {
	g := &generator{rand.New(rand.NewSource(7))}
	for range count {
		schema := g.schema(3)
		if object, ok := schema.(map[string]any); ok {
			object["definitions"] = map[string]any{"p": g.schema(2), "q": g.schema(1)}
			if g.chance(2) {
				object["$schema"] = headers[1+g.Intn(len(headers)-1)]
			}
		}
		values := map[string]any{}
		for range g.Intn(4) {
			values[g.name()] = g.value(2)
		}
		record(text(schema), text(values))
	}
}

type generator struct{ *rand.Rand }

func text(value any) string {
	bytes, err := json.Marshal(value)
	must(err)
	return string(bytes)
}

func (g *generator) chance(of int) bool { return g.Intn(of) == 0 }

func (g *generator) name() string { return []string{"a", "b", "c", "d/e"}[g.Intn(4)] }

func (g *generator) number() any {
	return []any{0, 1, 2, -1, 1.5, 10, 0.1, 1000000, 3}[g.Intn(9)]
}

func (g *generator) value(depth int) any {
	switch kind := g.Intn(8); {
	case kind == 0 && depth > 0:
		list := []any{}
		for range g.Intn(4) {
			list = append(list, g.value(depth-1))
		}
		return list
	case kind < 3 && depth > 0:
		object := map[string]any{}
		for range g.Intn(3) {
			object[g.name()] = g.value(depth - 1)
		}
		return object
	case kind < 5:
		return g.number()
	case kind == 5:
		return []any{"", "x", "xyz", "2020-01-01", "10.0.0.1"}[g.Intn(5)]
	case kind == 6:
		return g.chance(2)
	}
	return nil
}

func (g *generator) list(depth int) []any {
	list := []any{g.schema(depth)}
	for range g.Intn(2) {
		list = append(list, g.schema(depth))
	}
	return list
}

func (g *generator) keyed(depth int, key func() string) map[string]any {
	object := map[string]any{}
	for range 1 + g.Intn(2) {
		object[key()] = g.schema(depth)
	}
	return object
}

var types = []any{"string", "number", "integer", "object", "array", "boolean", "null"}

func (g *generator) schema(depth int) any {
	if g.chance(12) {
		return g.chance(2)
	}
	object := map[string]any{}
	for range 1 + g.Intn(3) {
		g.keyword(object, depth)
	}
	return object
}

func (g *generator) keyword(object map[string]any, depth int) {
	pattern := func() string { return []string{"^a", "b$", "[cd]"}[g.Intn(3)] }
	plain := []func(){
		func() { object["type"] = types[g.Intn(len(types))] },
		func() { object["type"] = []any{types[g.Intn(3)], types[3+g.Intn(4)]} },
		func() { object["enum"] = []any{g.value(0), "only " + strconv.Itoa(g.Intn(9))} },
		func() { object["const"] = g.value(1) },
		func() { object["minimum"] = g.number() },
		func() { object["exclusiveMaximum"] = g.number() },
		func() { object["multipleOf"] = []any{2, 0.1, 1.5}[g.Intn(3)] },
		func() { object["minLength"] = g.Intn(3) },
		func() { object["maxLength"] = g.Intn(3) },
		func() { object["pattern"] = pattern() },
		func() { object["minItems"] = g.Intn(3) },
		func() { object["maxItems"] = g.Intn(3) },
		func() { object["uniqueItems"] = g.chance(2) },
		func() { object["required"] = []any{g.name()} },
		func() { object["minProperties"] = g.Intn(3) },
		func() { object["maxProperties"] = g.Intn(3) },
		func() { object["format"] = []any{"date", "ipv4", "uri", "email"}[g.Intn(4)] },
		func() { object["dependentRequired"] = map[string]any{g.name(): []any{g.name()}} },
		func() { object["$ref"] = []any{"#/definitions/p", "#/definitions/q", "#"}[g.Intn(3)] },
	}
	if depth == 0 {
		plain[g.Intn(len(plain))]()
		return
	}
	nested := []func(){
		func() { object["properties"] = g.keyed(depth-1, g.name) },
		func() { object["properties"] = g.keyed(depth-1, g.name) },
		func() { object["patternProperties"] = g.keyed(depth-1, pattern) },
		func() { object["additionalProperties"] = g.schema(depth - 1) },
		// No propertyNames: Helm's library places their faults by chance.
		func() { object["items"] = g.schema(depth - 1) },
		func() { object["items"] = g.list(depth - 1) },
		func() { object["additionalItems"] = g.schema(depth - 1) },
		func() { object["prefixItems"] = g.list(depth - 1) },
		func() { object["contains"] = g.schema(depth - 1) },
		func() { object["minContains"] = g.Intn(3) },
		func() { object["maxContains"] = g.Intn(3) },
		func() { object["not"] = g.schema(depth - 1) },
		func() { object["allOf"] = g.list(depth - 1) },
		func() { object["anyOf"] = g.list(depth - 1) },
		func() { object["oneOf"] = g.list(depth - 1) },
		func() { object["if"] = g.schema(depth - 1) },
		func() { object["then"] = g.schema(depth - 1) },
		func() { object["else"] = g.schema(depth - 1) },
		func() { object["dependencies"] = g.keyed(depth-1, g.name) },
		func() { object["dependentSchemas"] = g.keyed(depth-1, g.name) },
		func() { object["unevaluatedProperties"] = g.schema(depth - 1) },
		func() { object["unevaluatedItems"] = g.schema(depth - 1) },
	}
	if pick := g.Intn(len(plain) + len(nested)*2); pick < len(plain) {
		plain[pick]()
	} else {
		nested[(pick-len(plain))/2]()
	}
}
