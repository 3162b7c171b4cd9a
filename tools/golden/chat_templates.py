#!/usr/bin/env python3
"""Writes tests/golden/chat_templates.json: templates, conversations and what transformers makes of them.

The whole templates are short forms, written here, of the styles in common use; the snippets cover the language piece by
piece. An entry has "expected", or "error" where transformers raises.

Usage: chat_templates.py MODEL_DIR OUTPUT
"""
import json
import pathlib
import sys

from gguf import GGUFReader
from transformers.utils.chat_template_utils import render_jinja_template

USER = {"role": "user", "content": "Hello, who are you?"}
SYSTEM = {"role": "system", "content": "  You are terse.\n"}
ASSISTANT = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nA tile. \u2603"}
MORE = {"role": "user", "content": " And {{ braces }} {% tags %}? "}
CHATS = [[USER], [SYSTEM, USER], [USER, ASSISTANT, MORE], [SYSTEM, USER, ASSISTANT, MORE]]

CHATML = ("{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}"
          "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")

LLAMA3 = """{{- bos_token }}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}
    {%- set messages = messages[1:] %}
{%- else %}
    {%- set system_message = "" %}
{%- endif %}
{#- The system turn always comes #}
{{- "<|start_header_id|>system<|end_header_id|>\\n\\n" }}
{%- if tools is not none %}{{- "Environment: ipython\\n" }}{% endif %}
{{- system_message }}
{{- "<|eot_id|>" }}
{%- for message in messages %}
    {%- if not (message.role == 'ipython' or message.role == 'tool' or 'tool_calls' in message) %}
        {{- '<|start_header_id|>' + message['role'] + '<|end_header_id|>\\n\\n'+ message['content'] | trim + '<|eot_id|>' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}
{%- endif %}
"""

GEMMA = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}
{%- for message in messages %}
    {%- if (message['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Conversation roles must alternate user/assistant/user/assistant/...") }}
    {%- endif -%}
    {%- if (message['role'] == 'assistant') -%}
        {%- set role = "model" -%}
    {%- else -%}
        {%- set role = message['role'] -%}
    {%- endif -%}
    {{ '<start_of_turn>' + role + '\\n' }}
    {%- if message['content'] is string -%}
        {{ message['content'] | trim }}
    {%- elif message['content'] is iterable -%}
        {%- for item in message['content'] -%}{{ item['text'] | trim }}{%- endfor -%}
    {%- endif -%}
    {{ '<end_of_turn>\\n' }}
{%- endfor -%}
{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}
"""

ZEPHYR = """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}
"""

THINKING = """{%- set ns = namespace(multi_step=true, last_query=messages|length - 1) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages|length - 1) - loop.index0 %}
    {%- if ns.multi_step and message.role == "user" and message.content is string and not(message.content.startswith('<tool_response>') and message.content.endswith('</tool_response>')) %}
        {%- set ns.multi_step = false %}
        {%- set ns.last_query = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) %}
        {{- '<|im_start|>' + message.role + '\\n' + content + '<|im_end|>' + '\\n' }}
    {%- elif message.role == "assistant" %}
        {%- set reasoning = '' %}
        {%- if '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {%- if loop.index0 > ns.last_query and (loop.last or reasoning) %}
            {{- '<|im_start|>' + message.role + '\\n<think>\\n' + reasoning.strip('\\n') + '\\n</think>\\n\\n' + content.lstrip('\\n') }}
        {%- else %}
            {{- '<|im_start|>' + message.role + '\\n' + content }}
        {%- endif %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}"""

INST = """{%- if messages[0]["role"] == "system" %}
    {%- set system_message = messages[0]["content"] %}
    {%- set loop_messages = messages[1:] %}
{%- else %}
    {%- set loop_messages = messages %}
{%- endif %}
{%- set user_messages = loop_messages | selectattr("role", "equalto", "user") | list %}
{{- bos_token }}
{%- for message in loop_messages %}
    {%- if message["role"] == "user" %}
        {%- if system_message is defined and message == user_messages[-1] %}
            {{- "[INST] " + system_message + "\\n\\n" + message["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " ~ message["content"] ~ "[/INST]" }}
        {%- endif %}
    {%- elif message["role"] == "assistant" %}
        {% generation %}{{- " " + message["content"]|trim + eos_token}}{% endgeneration %}
    {%- else %}
        {{- raise_exception("Only user and assistant roles are supported!") }}
    {%- endif %}
{%- endfor %}
"""

SNIPPETS = [
    # white space
    "a\n", "a\n\n", "\r\na\r\nb\r\n", "  {{ 1 }}  ", "x\n  {% if true %}\n  y\n  {% endif %}\nz", "x\n  {%+ if true %}\n y{%+ endif +%}\nz",
    "x  {%- if true -%}  y  {%- endif -%}  z", "  {# c #}\na{#- d -#}  b", "a\n\t{# c #}\n\tb", "a {{- 1 -}} b", "{%- if true %}a{% endif -%}\n\n b",
    "{% if true %}\n\n  a\n{% endif %}\n\n", "{% set x = 1 %}  \n  {% set y = 2 %}\n{{ x }}{{ y }}", "{{ 'a' }}\n{{ 'b' }}\n", "{% if true %} \n{% endif %}x", "{#-#}a{##}b",
    "{{ '}}' }}{{ '%}' }}{{ {'a': {'b': 1}} }}", "\u2003{%- if true %}x{% endif %}",
    # constants and printing
    "{{ 1 }} {{ -3 }} {{ true }} {{ False }} {{ none }} {{ None }} {{ missing }}|", "{{ [1, 'a', none, true, [2]] }} {{ {} }}",
    "{{ {'a': 1, \"b\": [1, {'c': 'd'}]} }}", "{{ ['it\\'s', 'q\"q', 'n\\nn\\t', 'b\\\\s', '\u00e9'] }}", "{{ 'a' 'b' \"c\" }}", "{{ '\\x41\\u00e9\\n\\'\\\"' }}",
    "{{ {'a': 1, 'a': 2} }}",
    # arithmetic
    "{{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 7 % -3 }}", "{{ 'ab' * 3 }} {{ 3 * 'x' }} {{ 'x' * -1 }}|",
    "{{ 'a' ~ 1 ~ none ~ true ~ missing }}", "{{ 'a' + 'b' }} {{ [1] + [2, 3] }}", "{{ 1 ~ 2 + 3 }}", "{{ - 2 * - 3 }} {{ true + 1 }} {{ 2 - 1 - 1 }}", "{{ -1|string + '!' }}",
    # comparison and logic
    "{{ 1 < 2 }} {{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ 1 == 1.__class__ }}", "{{ 1 < 2 < 2 }} {{ 'a' < 'b' }} {{ 'a' == 'a' != 'b' }} {{ 1 == true }} {{ 1 == '1' }}",
    "{{ none == none }} {{ none == false }} {{ missing == none }} {{ [] == [] }} {{ {'a': 1} == {'a': 1} }}", "{{ 'a' in 'abc' }} {{ 'd' not in 'abc' }} {{ 1 in [1, 2] }} {{ 'k' in {'k': 1} }} {{ 3 in {'k': 1} }}",
    "{{ true and 'x' }} {{ '' or 'y' }} {{ 0 and 1 }} {{ not 0 }} {{ not (1 and 0) }} {{ none or missing or 'z' }}", "{{ not 1 == 2 }} {{ not 'a' in 'b' }}", "{{ 1 if true else 2 }} {{ 1 if false else 2 }} {{ 1 if false }}|",
    "{{ 'a' if 0 else 'b' if 0 else 'c' }}", "{{ 1 is defined and 2 is defined }}", "{{ 'x' in missing }}",
    # tests
    "{{ x is defined }} {{ x is not defined }} {{ x is undefined }} {{ messages is defined }}", "{{ none is none }} {{ 1 is none }} {{ 'a' is string }} {{ 1 is string }} {{ {} is mapping }} {{ [] is mapping }}",
    "{{ [] is iterable }} {{ 'a' is iterable }} {{ 1 is iterable }} {{ missing is iterable }} {{ missing is sequence }} {{ {} is sequence }}", "{{ true is boolean }} {{ 1 is boolean }} {{ 1 is number }} {{ true is number }} {{ 1 is integer }} {{ true is integer }}",
    "{{ true is true }} {{ 1 is true }} {{ false is false }} {{ 0 is false }} {{ 3 is odd }} {{ 4 is even }} {{ 4 is odd }}", "{{ 6 is divisibleby 3 }} {{ 6 is divisibleby(4) }} {{ 1 is eq 1 }} {{ 1 is equalto 2 }} {{ 1 is in [1] }} {{ 2 is gt 1 }}",
    "{{ tools is none }} {{ tools is defined }} {{ tools }} {{ documents is none }}", "{{ not missing is defined }}", "{{ 1 is not none and 2 }}",
    # members, subscripts, slices
    "{{ messages[0].role }} {{ messages[0]['content'] }} {{ messages[-1].role }} {{ messages[9] }}|{{ messages[0].none_such }}|", "{{ 'abc'[1] }} {{ 'abc'[-1] }} {{ 'abc'[7] }}|{{ '\u00e9\u2603\U0001f600'[1] }}",
    "{{ 'abcdef'[1:3] }} {{ 'abcdef'[:2] }} {{ 'abcdef'[2:] }} {{ 'abcdef'[::-1] }} {{ 'abcdef'[::2] }} {{ 'abcdef'[-2:] }} {{ 'abcdef'[4:1:-1] }} {{ 'abcdef'[9:] }}|",
    "{{ [1,2,3,4][1:] }} {{ [1,2,3,4][:-1] }} {{ [1,2,3,4][::-1] }} {{ [1,2,3,4][-3:-1] }} {{ [1,2,3][none:2] }} {{ [1,2,3][5:1:-1] }} {{ [1,2,3][::-2] }} {{ [][::-1] }}", "{{ {'a': {'b': [5]}}.a.b[0] }} {{ {'a': 1}['a'] }} {{ {'a': 1}['z'] }}|",
    # filters
    "{{ '  a b\\n'|trim }}|{{ 'xxaxx'|trim('x') }}|{{ ' a '|upper|trim }}", "{{ 'abc'|length }} {{ [1,2]|length }} {{ {'a':1}|count }} {{ '\u00e9\u2603'|length }} {{ missing|length }}", "{{ 'aBc \u00e9\u00c9'|upper }} {{ 'aBc \u00e9\u00c9'|lower }} {{ 'hello World'|capitalize }} {{ 'hello wORLD'|title }}",
    "{{ [1,2,3]|join(', ') }} {{ ['a','b']|join }} {{ 'abc'|join('-') }}", "{{ [1,2,3]|first }} {{ [1,2,3]|last }} {{ 'abc'|first }} {{ []|first }}|", "{{ missing|default('d') }} {{ ''|default('d') }}|{{ ''|default('d', true) }} {{ none|d('x') }} {{ missing|default }}|",
    "{{ 'a-b-c'|replace('-', '+') }} {{ 'aaa'|replace('a', 'b', 2) }}", "{{ '42'|int }} {{ 'x'|int }} {{ 'x'|int(7) }} {{ '-5'|int }} {{ true|int }}", "{{ 5|string }} {{ 5|string + 'x' }} {{ '<a>'|safe }}", "{{ 'abc'|list }} {{ {'a':1,'b':2}|list }} {{ [1,2]|reverse|list }}",
    "{{ {'a': [1, 'x\\n\u00e9', none, true], 'b': {}}|tojson }} {{ 'q\"/\\\\'|tojson }} {{ []|tojson }}", "{{ {'a': [1, {'b': 2}], 'c': [], 'd': {}}|tojson(indent=2) }}", "{{ messages|selectattr('role', 'equalto', 'user')|list|length }} {{ messages|rejectattr('role', 'equalto', 'user')|map(attribute='role')|join(',') }}",
    "{{ messages|map(attribute='role')|list }} {{ ['a','b']|map('upper')|join }}", "{% for k, v in {'a': 1, 'b': 2}|items %}{{ k }}{{ v }}{% endfor %}", "{{ messages|tojson }}",
    # methods
    "{{ ' a '.strip() }}|{{ 'xaxx'.strip('x') }}|{{ '\\n\\na\\n'.lstrip('\\n') }}|{{ '\\na\\n\\n'.rstrip('\\n') }}|{{ 'abcba'.strip('ab') }}", "{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ ''.split(',') }} {{ ''.split() }}",
    "{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith('bc') }} {{ 'abc'.startswith(('x', 'a')) }} {{ 'abc'.endswith('') }}", "{{ 'aBc'.upper() }} {{ 'aBc'.lower() }} {{ 'abc def'.title() }} {{ 'aBC'.capitalize() }} {{ 'aXbX'.replace('X', '') }}",
    "{% for k, v in {'a': 1, 'b': 2}.items() %}{{ k }}={{ v }};{% endfor %} {{ {'a': 1}.get('a') }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 5) }} {{ {'a': 1}.keys()|list }} {{ {'a': 1}.values()|list }}",
    # loops
    "{% for x in [1,2,3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }} {% endfor %}", "{% for x in [] %}a{% else %}empty{% endfor %}{% for x in [1] %}a{% else %}empty{% endfor %}",
    "{% for x in [1,2,3,4] if x % 2 == 0 %}{{ x }}/{{ loop.length }} {% endfor %}", "{% for x in 'a\u00e9' %}[{{ x }}]{% endfor %}{% for k in {'p': 1, 'q': 2} %}{{ k }}{% endfor %}{% for x in missing %}no{% endfor %}", "{% for x in [1,2,3,4] %}{% if x == 3 %}{% break %}{% endif %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}",
    "{% for a, b in [[1, 2], [3, 4]] %}{{ a }}{{ b }}{% endfor %}{% for (a, b) in [(5, 6)] %}{{ a }}{{ b }}{% endfor %}", "{% for x in [1,2] %}{% for y in [3,4] %}{{ loop.index }}{{ x }}{{ y }} {% endfor %}{{ loop.index }}{% endfor %}", "{% for x in [1,2,3] %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}",
    "{% for i in range(3) %}{{ i }}{% endfor %} {% for i in range(5, 1, -2) %}{{ i }}{% endfor %} {{ range(2, 4)|list }}", "{% for m in messages[1:] %}{{ m.role }}{% endfor %}", "{% for x in [3] %}{{ x }}{% endfor %}{{ x }}|",
    # scopes and set
    "{% set x = 1 %}{% for i in [1,2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", "{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}", "{% set ns = namespace(n=0, t='') %}{% for i in [1,2,3] %}{% set ns.n = ns.n + i %}{% set ns.t = ns.t ~ i %}{% endfor %}{{ ns.n }}{{ ns.t }}{{ ns.zz }}|",
    "{% set a, b = 1, 2 %}", "{% set a, b = (1, 2) %}{{ a }}{{ b }}", "{% set block %}a{{ 1 }}\n b{% endset %}[{{ block }}]{{ block|length }}", "{% set x = 'a' if false else 'b' %}{{ x }}", "{% set messages = messages[1:] %}{{ messages|length }}",
    # if
    "{% if 0 %}a{% elif '' %}b{% elif [] %}c{% elif 'x' %}d{% else %}e{% endif %}", "{% if messages and messages[0].role == 'system' %}s{% else %}n{% endif %}", "{% if not add_generation_prompt %}x{% endif %}{% if missing %}y{% endif %}z",
    "{{ dict(a=1, b='x') }} {{ dict(a=1).a }}", "{% generation %}a{% endgeneration %}b",
    # errors
    "{{ raise_exception('no: ' ~ 1) }}", "{{ missing.a }}", "{{ missing['a'] }}", "{{ missing + 'a' }}", "{{ 'a' + 1 }}", "{{ none < 1 }}", "{% if %}x{% endif %}", "{{ 1 ", "{% for x in 3 %}{% endfor %}", "{% endif %}", "{{ ) }}", "{{ 'a }}",
    "{% if 1 %}", "{% for x in [1] %}{% endif %}", "{{ 1 // 0 }}", "{% set x.y = 1 %}", "{{ none[0:1] }}", "{{ 1|length }}", "{{ none_such_function() }}", "{{ messages|no_such_filter }}", "{{ 1 is no_such_test }}", "{{ missing.upper() }}", "{# open", "{{ [1, }}",
]


def render(template, chat, prompt, flags):
    kwargs = dict(bos_token="<s>", eos_token="</s>", **flags)
    texts, _ = render_jinja_template([chat], chat_template=template, add_generation_prompt=prompt, **kwargs)
    return texts[0]


def case(name, template, chat, prompt, flags, keep_template=True):
    entry = {"name": name, "messages": [[m["role"], m["content"]] for m in chat], "prompt": prompt, "flags": flags}
    if keep_template:
        entry["template"] = template
    try:
        entry["expected"] = render(template, chat, prompt, flags)
    except Exception as error:  # whatever it raises, ours must fail too
        entry["error"] = f"{type(error).__name__}: {error}"
    return entry


def whole(name, template, flags=None, keep_template=True):
    for chat in CHATS:
        for prompt in (True, False):
            yield case(name, template, chat, prompt, flags or {}, keep_template)


def main():
    model = pathlib.Path(sys.argv[1]) / "smollm2-135m-instruct-q4_1.gguf"
    smollm2 = GGUFReader(model).fields["tokenizer.chat_template"].contents()
    cases = [case(f"snippet {i}", s, CHATS[3], False, {}) for i, s in enumerate(SNIPPETS)]
    for name, template in (("chatml", CHATML), ("llama3", LLAMA3), ("gemma", GEMMA), ("zephyr", ZEPHYR), ("thinking", THINKING), ("inst", INST)):
        cases += whole(name, template)
    cases += whole("thinking off", THINKING, {"enable_thinking": False})
    golden = {"cases": cases, "smollm2": list(whole("smollm2", smollm2, keep_template=False))}
    with open(sys.argv[2], "w") as out:
        json.dump(golden, out, ensure_ascii=False, indent=0)
        out.write("\n")


if __name__ == "__main__":
    main()
