#!/usr/bin/env python3
"""Makes tests/data/jinja/cases.json: small templates over every construct, with the output of Jinja2 with the settings
of Hugging Face's apply_chat_template. Needs python3-jinja2. Usage: tests/jinja_oracle.py >
tests/data/jinja/cases.json"""
import json

import jinja2
import jinja2.ext
import jinja2.sandbox

VARIABLES = {
    "n": 7, "f": 2.5, "neg": -3, "t": True, "none": None, "s": "Hello, Wörld 🙂", "e": "", "blank": "  a b  ",
    "l": [3, 1, 2], "words": ["banana", "Apple", "cherry"], "d": {"b": 2, "a": 1, "items": "x"}, "nested": {"a": {"b": [10, 20]}},
    "people": [{"name": "Ann", "age": 30, "city": "Oslo"}, {"name": "bob", "age": 25, "city": "Rome"}, {"name": "Cy", "age": 30, "city": "Oslo"}],
    "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U1"}, {"role": "assistant", "content": "A1"}, {"role": "user", "content": "U2"}],
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"x": {"type": "integer"}}}}}],
    "html": "<a href=\"x\">b & c</a>", "lines": "one\ntwo\n\nthree", "big": 12345678901234, "small": 1e-07, "huge": 1e22,
}

EXPRESSIONS = """
1 + 2 * 3 | 1; (1 + 2) * 3; 7 // 2; -7 // 2; 7 % 3; -7 % 3; 7 / 2; 4 / 2; 2 ** 10; 2 ** -1; -2 ** 2; 2 ** 3 ** 2; 7.5 // 2; 7.5 % 2; 1e3; 1_000
n + f; n * f; n - neg; -n; +n; not n; not e; n > 3 and f < 3; n or f; e or 'x'; e and 'x'; none or none; 1 < 2 < 3; 1 < 3 < 2; n == 7.0; true == 1; 'a' < 'b'; [1, 2] < [1, 3]; 1 != 2
'a' ~ 1 ~ none ~ true ~ 2.0; 'a' + 'b'; [1] + [2]; (1,) + (2,); 'ab' * 3; [0] * 3; 3 * 'x'; '%s is %d' % ('x', 5); '%05.2f' % f; '%-5s|' % 'ab'; '%x' % 255; '%5d|' % 42; '%r' % 'q'; '100%%' % ()
s[0]; s[-1]; s[1:4]; s[::-1]; s[:-2]; s[7:]; l[0]; l[-1]; l[5]; l[::2]; l[::-1]; messages[1:]; messages[-1].content; messages[::-1][0].role; d.a; d['b']; d['items']; d.missing; d['missing']; nested.a.b[1]; nested['a']['b'][0]; nested.a.b.1
s | length; l | length; d | length; s | upper; s | lower; s | title; s | capitalize; blank | trim; 'xxaxx' | trim('x'); s | replace('l', 'L'); s | replace('l', 'L', 1); s | reverse; l | reverse | list; s | first; s | last; l | first; l | last; s | list
l | sort; l | sort(reverse=true); words | sort; words | sort(case_sensitive=true); people | sort(attribute='age') | map(attribute='name') | list; people | sort(attribute='city,name') | map(attribute='name') | join(','); d | dictsort; d | dictsort(by='value'); d | dictsort(reverse=true)
l | join; l | join(', '); people | join('/', attribute='name'); people | map(attribute='name') | map('upper') | list; people | map(attribute='nope', default='-') | list; words | map('length') | list; people | selectattr('age', 'equalto', 30) | list | length; people | rejectattr('age', 'gt', 26) | map(attribute='name') | list; people | selectattr('name') | list | length; l | select('odd') | list; l | reject('odd') | list; l | select('in', [1, 2]) | list; [0, 1, '', 'x'] | select | list
people | groupby('city'); people | groupby('age') | map('first') | list; [1, 1, 2, 'a', 'A'] | unique | list; l | sum; people | sum(attribute='age'); l | min; l | max; words | max; [] | max; people | max(attribute='age')
l | batch(2) | list; l | batch(2, 'x') | list; [1,2,3,4,5] | slice(2) | list; [1,2,3,4,5] | slice(3, 'x') | list; d | items | list; d.items() | list; d.keys() | list; d.values() | list; d.get('a'); d.get('z'); d.get('z', 5); d | list; d
none | default('x'); missing | default('x'); e | default('x'); e | default('x', true); missing | d; missing; missing | length; missing | upper; missing | list; missing ~ 'a'; missing or 'y'
'42' | int; '4x' | int; '4x' | int(-1); '3.7' | int; 3.9 | int; ' 12 ' | int; '1010' | int(base=2); 'ff' | int(0, 16); '2.5' | float; 'x' | float; 'x' | float(1.5); 3 | float; neg | abs; -2.5 | abs; 2.5 | round; 3.5 | round; 2.567 | round(2); 2.1 | round(method='ceil'); 2.9 | round(0, 'floor'); 42 | string; none | string; l | string
d | tojson; l | tojson; s | tojson; none | tojson; true | tojson; f | tojson; 1.0 | tojson; huge | tojson; small | tojson; tools | tojson; tools | tojson(indent=2); d | tojson(indent=4); d | tojson(sort_keys=true); d | tojson(separators=(',', ':')); html | tojson; "a\\"b\\\\c\\n\\t" | tojson; [] | tojson(indent=2); {} | tojson; {'a': []} | tojson(indent=2); s | tojson(ensure_ascii=true); {1: 2, none: 3, true: 4} | tojson
lines | indent; lines | indent(2, true); lines | indent(width=1, blank=true); lines | indent('> '); lines.splitlines(); lines | wordcount; 'a b  c' | wordcount; 'a-b c_d é ½ x\u0301y' | wordcount; [1, 2, 'a b'] | wordcount; d | wordcount; '' | wordcount; 'the quick brown fox' | truncate(10); 'the quick brown fox' | truncate(10, true); 'the quick brown fox' | truncate(17); 'x' | center(5) ; html | escape; html | e | length; html | safe; html | striptags; 'a b/c?ü' | urlencode; d | urlencode; {} | urlencode; {'a b': 'c/d&é', 1: [2]} | urlencode; [('a', 1), ['b', 'c d']] | urlencode; [1, 2] | urlencode; ['ab'] | urlencode; ['abc'] | urlencode; 3 | urlencode; '%s-%s' | format('a', 1); '%(x)s' | format(x=3)
s.upper(); s.lower(); s.title(); s.capitalize(); blank.strip(); blank.lstrip(); blank.rstrip(); 'xyx'.strip('x'); 'abc'.lstrip('ba'); 'a,b,c'.split(','); 'a,b,c'.split(',', 1); 'a,b,c'.rsplit(',', 1); ' a  b '.split(); ' a  b c '.split(none, 1); ' a  b c '.rsplit(none, 1); 'a\\nb\\r\\nc'.splitlines(); 'a\\nb'.splitlines(true); '<x>'.startswith('<'); '<x>'.startswith(('a', '<')); 'ab'.endswith('b'); 'ab'.removeprefix('a'); 'ab'.removesuffix('b'); 'hello'.find('l'); 'hello'.rfind('l'); 'hello'.find('z'); 'hello'.index('e'); 'hello'.count('l'); ','.join(['a', 'b']); '{} {} {x}'.format(1, 'b', x=3); '{0}{1}{0}'.format('a', 'b'); '{:.2f}'.format(3.14159); '12'.isdigit(); 'a1'.isalnum(); 'ab'.isalpha(); ' '.isspace(); 'AB'.isupper(); '7'.zfill(3); '-7'.zfill(4); 'a'.ljust(3) ~ '|'; 'a'.rjust(3); 'a'.center(4) ~ '|'; 'a=b=c'.partition('='); 'a=b=c'.rpartition('='); 'aXbX'.replace('X', ''); 'ab'.replace('', '-')
l.index(1); l.count(2); [1, [2, (3,)], {'a': none, 'b': 1.5}]; (1, 2); (1,); (); [] ; {}; {'k': 'it\\'s'}; ["a'b", 'a"b', 'a\\'"b']; 'é' ; ['é\\n\\x01']; true; false; none; 1.0; 1e16; 1e15; 123456.789; 0.1; 1e-5; 0.0001; huge; small; big; -0.0
n is defined; zz is defined; zz is undefined; none is none; n is number; f is float; n is integer; t is boolean; t is true; t is integer; s is string; d is mapping; l is sequence; l is iterable; n is iterable; s is iterable; n is odd; n is even; n is divisibleby 7; n is divisibleby(2); n is eq 7; n is gt 3; n is ge(8); n is lt 8; 'a' is in ['a']; 'x' is lower; 'X' is upper; n is sameas n; none is not none; s is not string; range is callable; 'upper' is filter; 'odd' is test
1 in l; 9 in l; 9 not in l; 'a' in d; 'z' in d; 'ell' in 'hello'; 'x' not in 'abc'; 'a' if t else 'b'; 'a' if e else 'b'; 'a' if e; ('a' if n > 10 else 'b' if n > 5 else 'c'); n if n is defined and n else 0
range(3) | list; range(1, 4) | list; range(5, 0, -2) | list; dict(a=1, b=2); dict({'x': 1}, y=2); namespace(a=1).a; [1, 2, 3][1:] | join; 'a' 'b'; "\\u00e9\\x41\\t|"; strftime_now('%Y-%m-%d %H:%M'); strftime_now('%d %b %Y'); (l | sort)[0]; l | map('string') | join('-'); {'a': 1}.a; [[1, 2], [3]] | map('last') | list; [[1, 2], [3]] | sum(start=[]); 'abc' | batch(2) | map('join') | list; 'b' ~ ('c' | upper) ~ 1 + 2; not 1 == 2; 10 - 2 - 3; 2 * 3 % 4; (n, f) | list; people[0].name.upper()[0]; messages | map(attribute='role') | unique | list
raise_exception('x'); nope.a; nope(); 1 + 'a'; 'a' + 1; n.foo.bar; l.append(1); d.update({}); 1 / 0; 1 // 0; [1] < ['a']; 'a' | nope; 'a' is nope; d.__class__; ''.__class__; none | length; 5 | length; none.x.y; 5 | join; missing + 1; missing < 1; none + 1; 'x' in 5; 'abc'.split(''); 'abc'.index('z'); '%d' % 'x'; '%s %s' % 'x'; 5(); [1, 2] | map('nope') | list; range(); 'a' | int + 'b'
"""

STATEMENTS = [
    "{% if n > 5 %}big{% elif n > 3 %}mid{% else %}small{% endif %}",
    "{% for x in l %}{{ x }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% for x in [] %}x{% else %}none{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }} {% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}",
    "{% for k in d %}{{ k }}{% endfor %}",
    "{% for a, b in [(1, 2), (3, 4)] %}{{ a + b }} {% endfor %}",
    "{% for x in l %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}|{% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %}",
    "{% set ns = namespace() %}{% for x in l %}{% set ns.f = loop.cycle %}{% endfor %}{{ ns.f('a', 'b') }}",
    "{% set ns = namespace() %}{% for x in l %}{% set ns.f = loop.changed %}{% endfor %}{{ ns.f(1) }}{{ ns.f(1) }}",
    "{% set ns = namespace() %}{% for x in l recursive %}{% set ns.f = loop %}<{{ x }}>{% endfor %}{{ ns.f([7]) }}",
    "{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{% endfor %}",
    "{% for x in l %}{% for y in l %}{{ loop.depth }}{% endfor %}{{ loop.depth0 }}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in [[1, [2]], [3]] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% endfor %}",
    "{% set x = 1 %}{% for i in l %}{% set x = i %}{% endfor %}{{ x }}",
    "{% set ns = namespace(x=0) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}", "{% set (a, b) = (1, 2) %}{{ b }}", "{% set x = 1, 2 %}{{ x }}",
    "{% set x %}a {{ n }} b{% endset %}[{{ x }}]", "{% set x | upper | trim %} ab {% endset %}[{{ x }}]",
    "{% if t %}{% set y = 5 %}{% endif %}{{ y }}",
    "{% macro m(a, b=2, c='x') %}{{ a }}-{{ b }}-{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, c=3) }} {{ m(1, 2, 3) }}",
    "{% macro m(a) %}{{ a }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, k=4) }}",
    "{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}in{% endcall %}",
    "{% macro m() %}{{ caller('x') }}{% endmacro %}{% call(y) m() %}<{{ y }}>{% endcall %}",
    "{% macro outer(x) %}{% macro inner(y) %}{{ x }}{{ y }}{% endmacro %}{{ inner(2) }}{% endmacro %}{{ outer(1) }}",
    "{% macro fact(k) %}{% if k <= 1 %}1{% else %}{{ k * (fact(k - 1) | int) }}{% endif %}{% endmacro %}{{ fact(6) }}",
    "{% set v = 9 %}{% macro m() %}{{ v }}{% endmacro %}{{ m() }}", "{% macro m(a) %}{{ a is defined }}{% endmacro %}{{ m() }}{{ m(1) }}",
    "{% with x = 1, y = n %}{{ x + y }}{% endwith %}{{ x }}", "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q }}",
    "{% filter upper %}abc {{ s }}{% endfilter %}", "{% filter replace('a', 'b') | trim %} aa {% endfilter %}|",
    "{% raw %}{{ not }} {% a %}{% endraw %}", "{%- raw -%} {{ x }} {%- endraw -%} z", "a{# comment {{ x }} #}b", "a {#- c -#} b",
    "  {% if t %}\n  x\n  {% endif %}\ny", "{% if t -%}\n  x\n{%- endif %}\ny", "a\n  {%- if t %} b {% endif -%}  \nc", "a  {%+ if t %}b{% endif %}", "{% if t +%}\nb{% endif %}",
    "a\n\n{{ n }}\n\nb\n", "{{- n -}} x", " {{- n }} ", "{{ n -}}\n\n x", "x\n", "x\n\n", "\r\na\r\nb\r\n", "{% set x = 1 %}\n{% set y = 2 %}\n{{ x }}{{ y }}",
    "   {# c #}\nx", "a {# c #}\nx", "\t{% set a = 1 %}\tb", "{{ '{{' }}{{ '%}' }}{{ \"}}\" }}", "{{ {'a': {'b': 1}}['a']['b'] }}", "{{ {'a': 1}.a }}}",
    "{% for m in messages %}{% if m.role == 'user' %}U:{{ m.content }}{% elif m['role'] == 'assistant' %}A:{{ m['content'] }}{% endif %}{{ '\\n' if not loop.last }}{% endfor %}",
    "{% for m in messages[1:] %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alternate') }}{% endif %}{{ m.content }}{% endfor %}",
    "{%- set sys = messages[0]['content'] if messages[0]['role'] == 'system' else '' -%}{{ sys }}",
    "{%- set ns = namespace(last=-1) -%}{%- for m in messages[::-1] -%}{%- set i = (messages | length - 1) - loop.index0 -%}{%- if ns.last < 0 and m.role == 'user' -%}{%- set ns.last = i -%}{%- endif -%}{%- endfor -%}{{ ns.last }}",
    "{% for t in tools %}{{ t.function.name }}({% for p, v in t.function.parameters.properties.items() %}{{ p }}: {{ v.type }}{% endfor %}){% endfor %}",
    "{% generation %}x{% endgeneration %}", "{% do l.append(1) %}", "{% include 'x' %}", "{% nope %}", "{{ }}", "{% if %}x{% endif %}", "{{ 1 2 }}", "{% for x in %}{% endfor %}", "{{ 'abc }}", "{% endif %}", "{{ a.b.c }}", "{% break %}", "{# open", "{{ (1 }}", "{% set 1 = 2 %}", "{% set n.x = 2 %}",
    "{% set j = joiner('|') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}",
    "{{ loop is defined }}", "{% for x in 'añb' %}{{ x }}.{% endfor %}", "{% for x in range(3) %}{{ x }}{% endfor %}", "{% for x in none %}{% endfor %}", "{% for x in 5 %}{% endfor %}", "{% for a, b in [(1,)] %}{% endfor %}",
    "{% if missing %}a{% else %}b{% endif %}", "{% if missing.x %}a{% endif %}", "{{ x if x is defined else 'none' }}", "{{ messages | selectattr('role', 'equalto', 'user') | map(attribute='content') | list | tojson }}",
    "{% set content = 'a</think>b' %}{% set r = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}{{ r }}{{ content.split('</think>')[-1] }}",
    "{{ 'x' if 'role' in messages[0] and messages[0].role is string }}", "{{ messages[0].get('tool_calls', []) | length }}", "{{ (messages | last).content }}", "{{ messages | map(attribute='role') | join(',') }}",
    "{% macro p(x, d=0) %}{% if x is mapping %}{{ '{' }}{% for k, v in x | dictsort %}{{ k }}:{{ p(v, d + 1) }}{% endfor %}{{ '}' }}{% elif x is sequence and x is not string %}[{% for v in x %}{{ p(v) }},{% endfor %}]{% else %}{{ x }}{% endif %}{% endmacro %}{{ p(nested) }}{{ p(tools) }}",
]

# The results of every builtin for missing values.
NOTHINGS = ["none", "missing", "d.missing"]
LAZY_FILTERS = """batch(2); items; map('upper'); map(attribute='x'); reject; reject('odd'); rejectattr('x'); reverse; select; select('odd'); selectattr('x');
selectattr('x', 'equalto', 1); slice(2); unique"""
FILTERS = """abs; attr('x'); capitalize; center(5); count; d(1); default('x'); default('x', true); dictsort; e; escape; first; float; format(1); groupby('a'); indent; int; join;
join(','); last; length; list; lower; max; min; replace('a', 'b'); round; safe; sort; string; striptags; sum; title; tojson; trim; truncate; upper; urlencode; wordcount; pprint"""
TESTS = """boolean; callable; defined; divisibleby(2); eq(1); equalto(none); even; escaped; false; filter; float; ge(1); gt(1); in([none]); integer; iterable; le(1); lower;
lt(1); mapping; ne(1); none; number; odd; sameas(none); sequence; string; test; true; undefined; upper"""
OPERATIONS = """X + 1; X ~ 'a'; X == none; X == missing; X != none; X in [none]; 1 in X; X < 1; not X; -X; X[0]; X['a']; X.a; X[1:]; X and 1; X or 1; X(); X * 2; '%s' % X; X == '';
X.upper(); range(X) | list; dict(a=X).a; [X]; {'a': X}; (X,); 'x'.join([X]); 'x' + X; ('a' if X); X.get('a'); X.items(); 'a'.replace('a', X); 'a' in X; X.a.b; X is defined and X.a;
[X] | join(','); [X] | tojson; [X, 1] | select | list; [X] | map(attribute='a') | list; [X] | map('upper') | list; [X, 1] | sort; [X] | unique | list; [X] | sum; [X] | first; d.get(X);
d[X]; l[X]; 'yes' if X | select; 'yes' if X | selectattr('a') else 'no'"""
LAZY_TRUTH = """'yes' if [] | select; 'yes' if l | select('gt', 9) else 'no'; 'yes' if people | selectattr('age', 'gt', 99); 'yes' if [] | map('upper') else 'no'; [] | unique | default('x', true) is string;
'yes' if people | rejectattr('name') | list else 'no'; 0 | select | list; false | selectattr('x') | list; '' | map('upper') | list; 0 | round; 7 | round(1); 1234 | round(-2); 5[1:] is defined"""


def listed(text):
    return [e.strip() for e in text.split(";") if e.strip()]


def of_nothings():
    for x in NOTHINGS:
        yield from (f"{x} | {f} | list" for f in listed(LAZY_FILTERS))
        yield from (f"{x} | {f}" for f in listed(FILTERS))
        yield from (f"{x} is {t}" for t in listed(TESTS))
        yield from (o.replace("X", x) for o in listed(OPERATIONS))


def environment():
    class Generation(jinja2.ext.Extension):
        tags = {"generation"}

        def parse(self, parser):
            lineno = next(parser.stream).lineno
            body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
            return jinja2.nodes.CallBlock(self.call_method("_keep"), [], [], body).set_lineno(lineno)

        def _keep(self, caller):
            return caller()

    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    import datetime
    clock = datetime.datetime(2026, 7, 26, 12, 0, 0)
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = clock.strftime
    return env


def main():
    env = environment()
    expressions = [e for line in EXPRESSIONS.strip().splitlines() for e in listed(line)]
    templates = ["{{ " + e + " }}" for e in [*expressions, *of_nothings(), *listed(LAZY_TRUTH)]]
    cases = []
    for template in templates + STATEMENTS:
        case = {"template": template}
        try:
            case["expected"] = env.from_string(template).render(**VARIABLES)
        except Exception as error:  # anything that Jinja2 or Python raises is an error for a template's user
            case["error"] = str(error)
        cases.append(case)
    print(json.dumps({"variables": VARIABLES, "cases": cases}, ensure_ascii=False, indent=0))


if __name__ == "__main__":
    main()
