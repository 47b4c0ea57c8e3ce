/* SPDX-License-Identifier: MIT */
/* doctor's report as JSON. */
#ifndef DOCTOR_JSON_H
#define DOCTOR_JSON_H

#include <json-c/json.h>
#include "tool/doctor/checks/checks.h"
#include "pair.h"

/* The caller owns the object. */
struct json_object *doctor_json(const struct view *v, const struct report *r, const struct pairs *pairs, int status);

#endif
