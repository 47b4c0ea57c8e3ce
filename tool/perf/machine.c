// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "machine.h"
#include "tool/copy/gpu.h"
#include "tool/util/units.h"

static bool read_line(const char *path, char *out, size_t room)
{
	FILE *f = fopen(path, "re");
	bool ok = f && fgets(out, (int)room, f);

	if (f)
		fclose(f);
	out[ok ? strcspn(out, "\n") : 0] = '\0';
	return ok;
}

static void add_date(struct perf_result *out)
{
	time_t now = time(NULL);
	struct tm tm;
	char text[40];

	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &tm));
	perf_add_fact(out, "date", "%s", text);
}

/* The model of the first processor; on arm64 /proc/cpuinfo has none. */
static void cpu_model(char *out, size_t room)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256], *value;

	snprintf(out, room, "processors");
	while (f && fgets(line, sizeof(line), f)) {
		value = strncmp(line, "model name", 10) ? NULL : strchr(line, ':');
		if (!value)
			continue;
		snprintf(out, room, "%.*s", (int)strcspn(value + 2, "\n"), value + 2);
		break;
	}
	if (f)
		fclose(f);
}

static const char *iommu(void)
{
	static const char path[] = "/sys/class/iommu";
	DIR *dir = opendir(path);
	struct dirent *entry;
	bool found = false;

	while (dir && (entry = readdir(dir)))
		found |= entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return found ? "an IOMMU" : "no IOMMU";
}

static void add_machine(struct perf_result *out)
{
	char vendor[48], model[64], cpu[96];
	struct sysinfo info;
	struct utsname u;

	read_line("/sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor));
	read_line("/sys/class/dmi/id/product_name", model, sizeof(model));
	cpu_model(cpu, sizeof(cpu));
	sysinfo(&info);
	uname(&u);
	perf_add_fact(out, "machine", "%s%s%s%s%ld x %s, %s", vendor, *vendor ? " " : "", model, *model ? ", " : "",
		      sysconf(_SC_NPROCESSORS_ONLN), cpu, text_bytes((uint64_t)info.totalram * info.mem_unit).at);
	perf_add_fact(out, "kernel", "%s %s %s, %s", u.sysname, u.release, u.machine, iommu());
}

/* Version of a module, "loaded", or "not loaded" */
static const char *module_version(const char *name, char *out, size_t room)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/module/%s/version", name);
	if (read_line(path, out, room))
		return out;
	snprintf(path, sizeof(path), "/sys/module/%s", name);
	snprintf(out, room, access(path, F_OK) ? "not loaded" : "loaded");
	return out;
}

/* The emulated GPU has a driver of another name. */
static const char *gpu_driver(char *out, size_t room)
{
	const char *version = module_version("emugpu", out, room);

	return strcmp(version, "not loaded") ? version : module_version("nvidia", out, room);
}

static void add_gpu(struct perf_result *out)
{
	char why[128], name[80] = "?", driver[64];
	struct pp_bar1 bar1 = { 0 };
	int version = 0;

	if (gpu_try_open(why, sizeof(why)) != GPU_OPEN) {
		perf_add_fact(out, "GPU", "%s", why);
		return;
	}
	gpu_name(name, sizeof(name));
	gpu_cuda_version(&version);
	pp_bar1(0, &bar1);
	perf_add_fact(out, "GPU", "%s, BAR1 %s, driver %s, CUDA %d.%d", name, bar1.total ? text_bytes(bar1.total).at : "?",
		      gpu_driver(driver, sizeof(driver)), version / 1000, version % 1000 / 10);
}

static void add_adapters(struct perf_result *out)
{
	DIR *dir = opendir("/sys/class/infiniband");
	struct dirent *entry;
	char names[128] = "";
	size_t at = 0;
	int n;

	while (dir && at < sizeof(names) && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		n = snprintf(names + at, sizeof(names) - at, "%s%s", at ? " " : "", entry->d_name);
		at += (size_t)n;
	}
	if (dir)
		closedir(dir);
	perf_add_fact(out, "RDMA", "%s", *names ? names : "no adapter");
}

static void add_options(const struct perf_args *args, struct perf_result *out)
{
	perf_add_fact(out, "options", "%s to %s, at most %" PRIu64 " samples or %g s each, in %" PRIu64 " pass%s",
		      text_bytes(args->sizes[0]).at, text_bytes(args->sizes[args->nr_sizes - 1]).at, args->repeat,
		      args->seconds, args->passes, args->passes == 1 ? "" : "es");
}

void perf_add_machine(const struct perf_args *args, struct perf_result *out)
{
	char module[64], nv[64];

	add_date(out);
	perf_add_fact(out, "peerpin", "%s; modules: peerpin %s, peerpin_nv %s", PP_VERSION,
		      module_version("peerpin", module, sizeof(module)), module_version("peerpin_nv", nv, sizeof(nv)));
	add_machine(out);
	add_gpu(out);
	add_adapters(out);
	add_options(args, out);
}
