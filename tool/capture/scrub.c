// SPDX-License-Identifier: MIT
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "scrub.h"

size_t scrub_all(char *text, size_t length)
{
	(void)text;
	(void)length;
	return 0;
}

/* ---- lines ---------------------------------------------------------------------- */

/* Keeps the lines for which @keep returns true. */
static size_t filter_lines(char *text, size_t length, bool (*keep)(const char *line))
{
	char *rest = text, *out = text, *line;

	text[length] = '\0';
	while ((line = strsep(&rest, "\n"))) {
		size_t n = strlen(line);

		if ((!n && !rest) || !keep(line))
			continue;
		memmove(out, line, n);
		out += n;
		if (rest)
			*out++ = '\n';
	}
	return (size_t)(out - text);
}

static bool is_lasting(const char *line)
{
	return strncmp(line, "cpu MHz", 7) && strncmp(line, "clock\t", 6) && strncmp(line, "Serial", 6);
}

size_t scrub_cpuinfo(char *text, size_t length)
{
	char *end;

	text[length] = '\0';
	end = strstr(text, "\n\n");
	return filter_lines(text, end ? (size_t)(end + 1 - text) : length, is_lasting);
}

static bool is_model_or_minor(const char *line)
{
	return !strncmp(line, "Model:", 6) || !strncmp(line, "Device Minor:", 13);
}

size_t scrub_information(char *text, size_t length)
{
	return filter_lines(text, length, is_model_or_minor);
}

/* ---- words ---------------------------------------------------------------------- */

static bool begins_with_one_of(const char *word, const char *const *starts)
{
	for (; *starts; starts++)
		if (!strncmp(word, *starts, strlen(*starts)))
			return true;
	return false;
}

size_t scrub_cmdline(char *text, size_t length)
{
	static const char *const starts[] = {
		"iommu", "intel_iommu", "amd_iommu", "arm-smmu", "pci=", "pci_", "pcie_", "vfio", "swiotlb", "lockdown",
		"module.", "modprobe.", "module_blacklist", "nvidia", "NVreg_", "nouveau", "nv_peer_mem", "peerpin",
		"emugpu", "rd.driver", NULL,
	};
	char *rest = text, *out = text, *word;

	text[length] = '\0';
	while ((word = strsep(&rest, " \n"))) {
		size_t n = strlen(word);

		if (!begins_with_one_of(word, starts))
			continue;
		memmove(out, word, n);
		out += n;
		*out++ = ' ';
	}
	if (out > text)
		out[-1] = '\n';
	return (size_t)(out - text) > length ? length : (size_t)(out - text);
}

size_t scrub_release(char *text, size_t length)
{
	text[length] = '\0';
	return strspn(text, "0123456789.");
}

size_t scrub_cgroup(char *text, size_t length)
{
	static const char *const words[] = {
		"docker", "containerd", "kubepods", "lxc", "libpod", "podman", "crio", "buildkit", "garden", "ecs",
	};
	char kept[160] = "0::/";
	size_t i;

	text[length] = '\0';
	for (i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(text, words[i])) {
			strcat(kept, words[i]);
			strcat(kept, "/");
		}
	strcat(kept, "\n");
	snprintf(text, length + 1, "%s", kept);
	return strlen(text);
}

/* ---- digits --------------------------------------------------------------------- */

size_t scrub_modules(char *text, size_t length)
{
	char *at = text;

	text[length] = '\0';
	while ((at = strstr(at, " 0x")))
		for (at += 3; isxdigit((unsigned char)*at); at++)
			*at = '0';
	return length;
}

size_t scrub_builder(char *text, size_t length)
{
	char *close, *at = text;

	text[length] = '\0';
	while ((at = strchr(at, '('))) {
		at++;
		close = at + strcspn(at, ")\n");
		if (!memchr(at, '@', (size_t)(close - at)))
			continue;
		*at = '@';
		memmove(at + 1, close, strlen(close) + 1);
	}
	return strlen(text);
}
