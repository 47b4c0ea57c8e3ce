/* SPDX-License-Identifier: MIT */
/* What the tool's --json prints most. */
#ifndef JSON_H
#define JSON_H

#include <json-c/json.h>
#include <stdint.h>

/* A string, in which U+FFFD stands for each byte that is no UTF-8, for that would be no JSON. */
struct json_object *json_text(const char *text);

void json_add_u64(struct json_object *o, const char *key, uint64_t value);
void json_add_text(struct json_object *o, const char *key, const char *text);

/* Print @o and give it up. */
void json_print(struct json_object *o);

#endif
