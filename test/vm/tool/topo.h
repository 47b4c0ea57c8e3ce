/* SPDX-License-Identifier: MIT */
/* The JSON of peerpin topo and peerpin doctor, and the VM's devices as sysfs shows them. */
#ifndef TOPO_H
#define TOPO_H

#include <dirent.h>
#include <glob.h>
#include <stdbool.h>
#include <unistd.h>

#include <json-c/json.h>
#include "test/vm/harness/vmtest.h"

enum {
	MAX_DEVICES = 8,
	ADDRESS = 12,		/* number of characters of "0000:3b:00.0" */
};

static const char *const gpus_are = "/sys/bus/pci/drivers/emugpu/0*";
static const char *const peers_are = "/sys/bus/pci/drivers/peerpin_lsi/0*";

/* ---- the VM ------------------------------------------------------------------ */

/** struct places - sysfs paths of devices, "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0" */
struct places {
	size_t count;
	char at[MAX_DEVICES][256];
};

static inline void places_find(const char *pattern, struct places *out)
{
	char path[4096];
	glob_t found;
	size_t i;

	out->count = 0;
	if (glob(pattern, 0, NULL, &found))
		return;
	for (i = 0; i < found.gl_pathc && i < MAX_DEVICES; i++)
		if (realpath(found.gl_pathv[i], path))
			snprintf(out->at[out->count++], sizeof(out->at[0]), "%.255s", path);
	globfree(&found);
}

static inline const char *address_of(const char *place)
{
	return place + strlen(place) - ADDRESS;
}

static inline bool booted_with(const char *word)
{
	char line[2048] = "";
	FILE *file = fopen("/proc/cmdline", "re");

	if (!file)
		return false;
	if (!fgets(line, sizeof(line), file))
		line[0] = '\0';
	fclose(file);
	return strstr(line, word) != NULL;
}

/* True if an IOMMU translates. iommu.passthrough=1 wins over intel_iommu=on. */
static inline bool iommu_translates(void)
{
	return booted_with("intel_iommu=on") && !booted_with("iommu.passthrough=1");
}

/* ---- JSON ------------------------------------------------------------------------- */

/* The JSON that a command prints; NULL: the output is no JSON. */
static inline struct json_object *said_by(const char *command, int *status)
{
	struct json_tokener *tokener = json_tokener_new();
	struct json_object *said = NULL;
	char text[16384];
	FILE *file = popen(command, "re");
	size_t length;

	while (file && (length = fread(text, 1, sizeof(text), file)) > 0)
		said = json_tokener_parse_ex(tokener, text, (int)length);
	*status = file ? pclose(file) : -1;
	json_tokener_free(tokener);
	return said;
}

/* The text of @key; "" if @o has no such key. */
static inline const char *text_of(struct json_object *o, const char *key)
{
	const char *text = json_object_get_string(json_object_object_get(o, key));

	return text ? text : "";
}

static inline bool has_text(struct json_object *o, const char *key, const char *text)
{
	return !strcmp(text_of(o, key), text);
}

/* Length of the array @list of @o; 0: no array. */
static inline size_t length_of(struct json_object *o, const char *list)
{
	struct json_object *array = json_object_object_get(o, list);

	return array ? json_object_array_length(array) : 0;
}

static inline struct json_object *element_of(struct json_object *o, const char *list, size_t i)
{
	return json_object_array_get_idx(json_object_object_get(o, list), i);
}

/* The element of the array @list of @o whose two keys have these values; NULL: no such element. */
static inline struct json_object *find_in(struct json_object *o, const char *list, const char *key, const char *value,
					  const char *key2, const char *value2)
{
	struct json_object *element;
	size_t i;

	for (i = 0; i < length_of(o, list); i++) {
		element = element_of(o, list, i);
		if (has_text(element, key, value) && has_text(element, key2, value2))
			return element;
	}
	return NULL;
}

/* doctor's verdict of @check on @subject; "": no verdict. */
static inline const char *verdict_of(struct json_object *doctor, const char *check, const char *subject)
{
	return text_of(find_in(doctor, "checks", "check", check, "subject", subject), "verdict");
}

static inline size_t count_of(struct json_object *doctor, const char *check, const char *verdict)
{
	struct json_object *element;
	size_t i, n = 0;

	for (i = 0; i < length_of(doctor, "checks"); i++) {
		element = element_of(doctor, "checks", i);
		n += has_text(element, "check", check) && has_text(element, "verdict", verdict);
	}
	return n;
}

#endif
