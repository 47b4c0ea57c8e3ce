/* SPDX-License-Identifier: MIT */
/* Helpers for the output of --json. */
#ifndef JSON_H
#define JSON_H

#include <json-c/json.h>
#include <stdint.h>

/*
 * Makes the object of a command's --json, with the member "schema": the name of a file in tool/schema/. A member that is
 * added keeps the name; a change that breaks programs which read the output needs a new one.
 */
struct json_object *json_output(const char *schema);

/* Makes a JSON string. JSON needs valid UTF-8, so U+FFFD replaces each invalid byte. */
struct json_object *json_text(const char *text);

void json_add_u64(struct json_object *o, const char *key, uint64_t value);
void json_add_text(struct json_object *o, const char *key, const char *text);

/* Prints @o and drops the caller's reference. */
void json_print(struct json_object *o);

#endif
