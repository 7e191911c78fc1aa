package main

const valueTexts = `1
0
-0
+1
-17
1_000
1__0
_1
1_
01
00
-01
+0
0x1F
0xdead_beef
0x
0xG
+0x1
0o17
0o8
0b101
0b2
9223372036854775807
9223372036854775808
-9223372036854775808
-9223372036854775809
0xFFFFFFFFFFFFFFFF
1.0
1.5
-0.0
+1.5
.5
5.
1.e2
1e3
1E3
1e+3
1e-3
1.5e300
1e400
1_0.0_1
1._0
1.0_
inf
+inf
-inf
nan
-nan
+nan
infinity
Inf
true
false
True
yes
null
abc
""
"a"
"a\tb\n\r\b\f\"\\"
"\e\x41"
"\x4"
"\u00e9"
"\U0001F600"
"\uD800"
"\U00110000"
"\u12"
"\q"
"\ "
"a	b"
"unclosed
'a'
'a\nb'
'it''s'
''
'unclosed
"""a"""
"""a "b" c"""
"""a""b"""
"""""a"""""
""""""
""""a"""
"""\"""""
'''a'''
'''a'b'''
''''a''''
''''''
"a" "b"
1979-05-27T07:32:00Z
1979-05-27t07:32:00z
1979-05-27 07:32:00Z
1979-05-27T07:32:00+02:00
1979-05-27T07:32:00-00:00
1979-05-27T00:32:00.999999-07:00
1979-05-27T00:32:00.123456789123Z
1979-05-27T07:32:00
1979-05-27T07:32
1979-05-27T07:32Z
1979-05-27 07:32:00.5
1979-05-27
1979-5-27
1979-13-01
1979-02-30
2000-02-29
1900-02-29
07:32:00
07:32
07:32:00.999
7:32:00
24:00:00
23:59:60
1979-05-27T
1979-05-27T25:00:00Z
1979-05-27T07:32:00+24:00
0000-01-01
9999-12-31
1979-05-27 # comment
1979-05-27 x
[]
[1,2]
[1,2,]
[,]
[1,,2]
[1 2]
[1,
[ 1 , "a", true, [2], {a=1} ]
[[1],[2,[3]]]
[{a=1},{a=2}]
[{a=1}, 2]
{}
{a=1}
{a=1,}
{,}
{a=1,,b=2}
{a=1 b=2}
{a=1,b={c=[1,{d=2}]}}
{a.b=1,a.c=2}
{a=1,a=2}
{a={b=1},a.c=2}
{"a b"=1,'c'=2,""=3}
{ a = 1 , # c
{
[1]]
{a=1}}
1 # comment
1 2
=1
# comment`

var texts = []string{
	"", "\n", "# only\n", "a=1", "a=1\n", "a = 1\nb = 2\n", "a=1\r\nb=2\r\n", "a=1\rb=2", "a=1 b=2", "a=1\na=2\n", "a.b=1\na.c=2\n", "a.b=1\na=2\n", "a=1\na.b=2\n", "a.b.c=1\na.b.d.e=2\n",
	"\"a\"=1\n'b'=2\n\"\"=3\n", "\"a.b\"=1\n", "a.\"b.c\".d=1\n", "a . b = 1\n", "1=2\n1.5=3\n", "é=1", "a b=1", "=1", ".a=1", "a.=1", "a..b=1", "a", "a=", "a =\n1", "[a", "[a]\n", "[]", "[ ]", "[a]]", "[a.]", "[.a]", "[a..b]", "[a b]", "[ a . b ]\nc=1\n", "['a'.\"b\"]\nc=1\n",
	"[a]\nb=1\n[a]\nc=2\n", "[a]\nb=1\n[a.b]\nc=2\n", "[a.b]\nc=1\n[a]\nd=2\n", "[a.b]\nc=1\n[a]\nb=2\n", "[a]\nb.c=1\n[a.b]\nd=2\n", "a.b=1\n[a]\nc=2\n", "a.b=1\n[a.c]\nd=2\n", "[a]\nb.c=1\nb.d=2\n", "a={b=1}\n[a.c]\nd=1\n", "a={b=1}\na.c=2\n", "a={b=1}\n[a]\nc=2\n", "a=[]\n[[a]]\nb=1\n", "a=[1]\n[a]\n", "a=1\n[a.b]\nc=1\n",
	"[[a]]\nb=1\n[[a]]\nb=2\n", "[[a]]\n", "[[a]]\n[[a]]\n", "[[a]]\nb=1\n[a.c]\nd=1\n[[a]]\nb=2\n", "[[a]]\n[[a.b]]\nc=1\n[[a.b]]\nc=2\n[[a]]\n[[a.b]]\nc=3\n", "[[a.b]]\nc=1\n", "[a]\n[[a.b]]\nc=1\n[[a.b]]\nc=2\n", "[[a]]\nb=1\n[a]\nc=1\n", "[a]\nb=1\n[[a]]\nc=1\n", "[[a]\n", "[[a]]]\n", "[[]]\n", "[ [a] ]\n", "[[ a ]]\nb=1", "[[a.b]]\n[a]\nc=1\n",
	"a = \"\"\"\nfirst\n second \\\n   third\n\"\"\"\n", "a = \"\"\"\\\n  x\\\n\n  y\"\"\"", "a = '''\nfirst\n second \\\n'''\n", "a = \"\"\"x\\  \n y\"\"\"", "a = \"\"\"x\\ y\"\"\"", "a = \"\"\"\r\nx\r\ny\"\"\"", "a = \"x\ny\"", "a = 'x\ny'", "a = \"\"\"x", "a = '''x", "a=\"\"\"a\\\\\\\n b\"\"\"",
	"a = [ # c\n 1, # d\n 2 # e\n, # f\n] # g\n", "a = [\n\n1\n,\n2\n,\n]", "a = {\n b = 1,\n c = 2,\n}\n", "a = { b = 1, # x\n c = 2 }\n", "a = [\n {x = 1},\n {x = 2},\n]\n",
	"title = \"x\"\n\n[owner]\nname = \"T\"\ndob = 1979-05-27T07:32:00-08:00\n\n[database]\nserver = \"192.168.1.1\"\nports = [ 8000, 8001 ]\nenabled = true\n\n[servers]\n\n  [servers.alpha]\n  ip = \"10.0.0.1\"\n\n  [servers.beta]\n  ip = \"10.0.0.2\"\n\n[clients]\ndata = [ [\"gamma\", \"delta\"], [1, 2] ]\nhosts = [\n  \"alpha\",\n  \"omega\"\n]\n",
	"[agent]\n  interval = \"10s\"\n  round_interval = true\n[[outputs.influxdb]]\n  urls = [\"http://x:8086\"]\n[[inputs.cpu]]\n  percpu = true\n  [inputs.cpu.tagpass]\n    cpu = [\"cpu0\"]\n[[inputs.disk]]\n",
	"version = 2\n[plugins.\"io.containerd.grpc.v1.cri\".registry.mirrors.\"docker.io\"]\n  endpoint = [\"https://x\"]\n", "\ufeffa=1", "a=1\x00", "a=\"\x01\"", "a=\"\x7f\"", "# \x01\na=1", "# c\ra=1", "\ta\t=\t1\t\n", "a=1#c", "a=[[[[[[[[[[1]]]]]]]]]]",
	"dates = [1979-05-27, 07:32:00, 1979-05-27T07:32:00, 1979-05-27T07:32:00Z]\n", "a = 1979-05-27\n[b]\nc = 07:32:00.25\n",
}
