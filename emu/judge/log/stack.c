// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "stack.h"

enum { FUNCTIONS_MAX = 4 };

/* Adds the function of a line "[<0>] function+0x1/0x2 [module]". */
static void add(char *line, char *out, size_t size)
{
	char *function = strchr(line, ']');
	size_t length = strlen(out);

	line[strcspn(line, "\n")] = '\0';
	if (function && length < size)
		snprintf(out + length, size - length, "%s%s", length ? " < " : "", function + 2);
}

static void add_thread(const char *pid, const char *tid, char *out, size_t size)
{
	char path[600], line[256];
	FILE *file;
	int nr = 0;

	snprintf(path, sizeof(path), "/proc/%s/task/%s/stack", pid, tid);
	file = fopen(path, "re");
	while (file && nr < FUNCTIONS_MAX && fgets(line, sizeof(line), file)) {
		if (!strchr(strchr(line, ']') ? strchr(line, ']') + 1 : "", '['))
			continue;
		add(line, out, size);
		nr++;
	}
	if (file)
		fclose(file);
}

void stack_of(pid_t pid, char *out, size_t size)
{
	char path[64], number[16];
	struct dirent *entry;
	DIR *dir;

	*out = '\0';
	snprintf(number, sizeof(number), "%d", pid);
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add_thread(number, entry->d_name, out, size);
	if (dir)
		closedir(dir);
}
