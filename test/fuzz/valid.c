// SPDX-License-Identifier: MIT
#include <json-c/json.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "valid.h"

void must(int condition, const char *what, const char *about)
{
	if (condition)
		return;
	dprintf(2, "==ERROR: check failed: %s: %s\n", what, about);
	abort();
}

/* Check UTF-8 here: json-c checks only the first bits of each byte. */
static bool is_utf8(const unsigned char *c)
{
	static const unsigned int least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned int value, n, i;

	for (; *c; c += n) {
		n = *c < 0x80 ? 1 : *c >> 5 == 6 ? 2 : *c >> 4 == 14 ? 3 : *c >> 3 == 30 ? 4 : 0;
		if (!n)
			return false;
		value = n == 1 ? *c : *c & 0x7f >> n;
		for (i = 1; i < n; i++) {
			if (c[i] >> 6 != 2)
				return false;
			value = value << 6 | (c[i] & 0x3f);
		}
		if (value < least[n] || value > 0x10ffff || value >> 11 == 27)
			return false;
	}
	return true;
}

void must_be_json(const char *text, size_t size)
{
	struct json_tokener *t = json_tokener_new();
	struct json_object *o;
	size_t end;

	json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8 | JSON_TOKENER_ALLOW_TRAILING_CHARS);
	o = json_tokener_parse_ex(t, text, (int)size);
	must(is_utf8((const unsigned char *)text), "it is UTF-8", text);
	must(!!o, json_tokener_error_desc(json_tokener_get_error(t)), text);
	end = json_tokener_get_parse_end(t);
	must(end + strspn(text + end, " \n") == size, "nothing is behind it", text);
	json_object_put(o);
	json_tokener_free(t);
}

void must_be_plain(const char *text)
{
	const char *at;

	for (at = text; *at; at++)
		must((unsigned char)*at >= ' ' || *at == '\n', "no control character is in it", text);
	must(!strchr(text, 0x7f), "no control character is in it", text);
}

static bool is_known(const char *name, size_t length)
{
	static const char *const names[] = {
		"!DOCTYPE", "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "table", "tr", "th", "td",
		"a", "pre",
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strlen(names[i]) == length && !strncmp(names[i], name, length))
			return true;
	return false;
}

void must_be_html(const char *text)
{
	const char *at = text;

	while ((at = strchr(at, '<'))) {
		at += 1 + (at[1] == '/');
		must(is_known(at, strcspn(at, " >")), "an element of the report", at);
	}
}
