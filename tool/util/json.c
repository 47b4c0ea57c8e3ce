// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "json.h"
#include "tool/tool.h"
#include "utf8.h"

/* U+FFFD, the Unicode replacement character */
#define REPLACEMENT "\xef\xbf\xbd"

static void copy_valid(char *to, const char *text)
{
	size_t length;

	while (*text) {
		length = utf8_length(text);
		to = mempcpy(to, length ? text : REPLACEMENT, length ? length : strlen(REPLACEMENT));
		text += length ? length : 1;
	}
	*to = '\0';
}

struct json_object *json_text(const char *text)
{
	char *valid = malloc(strlen(text) * strlen(REPLACEMENT) + 1);
	struct json_object *o;

	if (!valid)
		no_memory();
	copy_valid(valid, text);
	o = json_object_new_string(valid);
	free(valid);
	return o;
}

struct json_object *json_output(const char *schema)
{
	struct json_object *o = json_object_new_object();

	json_add_text(o, "schema", schema);
	return o;
}

void json_add_u64(struct json_object *o, const char *key, uint64_t value)
{
	json_object_object_add(o, key, json_object_new_uint64(value));
}

void json_add_text(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, json_text(text));
}

void json_print(struct json_object *o)
{
	puts(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY));
	json_object_put(o);
}
