/* SPDX-License-Identifier: MIT */
/* The two kinds of member that the tool's --json prints most. */
#ifndef JSON_H
#define JSON_H

#include <json-c/json.h>
#include <stdint.h>

void json_add_u64(struct json_object *o, const char *key, uint64_t value);
void json_add_text(struct json_object *o, const char *key, const char *text);

/* Print @o and give it up. */
void json_print(struct json_object *o);

#endif
