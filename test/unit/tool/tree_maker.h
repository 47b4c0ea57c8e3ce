/* SPDX-License-Identifier: MIT */
/*
 * Makes the files of a mock machine in a temporary directory:
 *
 *	char *root = make_tree();
 *
 *	make_device(root, &(struct made_device) {
 *		.name = "0000:00:01.0", .above = "pci0000:00", .class_code = 0x060400, .port = PORT_ROOT,
 *	});
 *	make_device(root, &(struct made_device) {
 *		.name = "0000:01:00.0", .above = "pci0000:00/0000:00:01.0", .vendor = 0x10de, .class_code = 0x030200,
 *		.port = PORT_ENDPOINT, .driver = "nvidia", .speed = "16.0 GT/s PCIe", .width = 16,
 *	});
 *	make_file(root, "proc/modules", "nvidia 1 0 - Live 0x0\n");
 *	...
 *	remove_tree(root);
 */
#ifndef TREE_MAKER_H
#define TREE_MAKER_H

#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tool/machine/machine.h"
#include "tool/machine/pci_config.h"
#include "test/unit/unit.h"

/* Make an empty tree. The caller passes the result to remove_tree(). */
static inline char *make_tree(void)
{
	char *root = strdup("/tmp/peerpin-tree-XXXXXX");

	assert_non_null(root);
	assert_non_null(mkdtemp(root));
	return root;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static inline void remove_tree(char *root)
{
	assert_int_equal(nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(root);
}

/* Make the directories of @path; returns the whole path. */
static inline char *make_way(const char *root, const char *path)
{
	char *whole, *slash;

	assert_true(asprintf(&whole, "%s/%s", root, path) > 0);
	for (slash = whole + strlen(root); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(whole, 0755);
		*slash = '/';
	}
	return whole;
}

static inline void make_bytes(const char *root, const char *path, const void *bytes, size_t size)
{
	char *whole = make_way(root, path);
	FILE *f = fopen(whole, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
	free(whole);
}

__attribute__((format(printf, 3, 4)))
static inline void make_file(const char *root, const char *path, const char *format, ...)
{
	char *text;
	va_list args;

	va_start(args, format);
	assert_true(vasprintf(&text, format, args) >= 0);
	va_end(args);
	make_bytes(root, path, text, strlen(text));
	free(text);
}

static inline void make_link(const char *root, const char *path, const char *target)
{
	char *whole = make_way(root, path);

	assert_int_equal(symlink(target, whole), 0);
	free(whole);
}

/* ---- configuration space -------------------------------------------------------- */

static inline void put_u16(uint8_t *config, unsigned int at, unsigned int value)
{
	config[at] = (uint8_t)value;
	config[at + 1] = (uint8_t)(value >> 8);
}

static inline void put_u32(uint8_t *config, unsigned int at, uint32_t value)
{
	put_u16(config, at, value & 0xffff);
	put_u16(config, at + 2, value >> 16);
}

/* Append to the list a capability at offset @at. The first capability must be at 0x100. */
static inline void put_extended(uint8_t *config, unsigned int at, unsigned int id)
{
	unsigned int last = PCI_AT_EXTENDED;

	while (config[last + 3])
		last = (config[last + 3] << 4 | config[last + 2] >> 4) & 0xffc;
	if (at != PCI_AT_EXTENDED)
		put_u16(config, last + 2, at << 4 | (config[last + 2] & 0xf));
	put_u16(config, at, id);
	put_u16(config, at + 2, 1);
}

enum {
	MADE_EXPRESS_AT = 0x40,
};

static inline void put_express(uint8_t *config, enum port_type port)
{
	static const uint8_t types[] = {
		[PORT_ENDPOINT] = 0x0,
		[PORT_ROOT] = 0x4,
		[PORT_UPSTREAM] = 0x5,
		[PORT_DOWNSTREAM] = 0x6,
		[PORT_TO_PCI] = 0x7,
		[PORT_IN_ROOT_COMPLEX] = 0x9,
	};

	put_u16(config, PCI_AT_STATUS, PCI_STATUS_CAPABILITIES);
	config[PCI_AT_CAPABILITIES] = MADE_EXPRESS_AT;
	config[MADE_EXPRESS_AT] = PCI_CAP_EXPRESS;
	put_u16(config, MADE_EXPRESS_AT + 2, (unsigned int)types[port] << 4 | 2);
}

/* ---- devices -------------------------------------------------------------------- */

/**
 * struct made_device - a device; no file is made for a member that is 0 or NULL, except @numa_node
 * @above: directories between sys/devices and the directory of the device
 * @port: port type; PORT_CONVENTIONAL and PORT_UNKNOWN give no PCI Express capability
 * @acs_cap: if not 0, adds an ACS capability at 0x100 with @acs_ctrl
 * @ats: adds an ATS capability at 0x120, enabled if @ats_on
 * @rebar: sizes of BAR 1, at 0x140, as in struct device
 * @config_size: readable bytes of the configuration space; 0: all
 * @group: number of the IOMMU group; used if @iommu_type is set
 */
struct made_device {
	const char *name;
	const char *above;
	uint16_t vendor;
	uint16_t device;
	uint32_t class_code;
	const char *driver;
	const char *rdma;
	int numa_node;
	enum port_type port;
	bool master;
	const char *speed;		/* like "16.0 GT/s PCIe" */
	unsigned int width;
	const char *max_speed;
	unsigned int max_width;
	uint16_t acs_cap;
	uint16_t acs_ctrl;
	bool ats;
	bool ats_on;
	uint64_t rebar;
	uint64_t bars[PCI_NR_BARS];
	size_t config_size;
	const char *iommu_type;
	int group;
};

static inline void make_config(uint8_t config[PCI_CONFIG_SIZE], const struct made_device *d)
{
	memset(config, 0, PCI_CONFIG_SIZE);
	put_u16(config, 0, d->vendor);
	put_u16(config, 2, d->device);
	put_u32(config, 8, d->class_code << 8);
	put_u16(config, PCI_AT_COMMAND, d->master ? PCI_COMMAND_MASTER : 0);
	config[PCI_AT_HEADER_TYPE] = d->class_code >> 8 == 0x0604;
	if (d->port > PORT_CONVENTIONAL)
		put_express(config, d->port);
	put_extended(config, PCI_AT_EXTENDED, d->acs_cap ? PCI_EXT_ACS : 0xb);
	put_u16(config, PCI_AT_EXTENDED + 4, d->acs_cap);
	put_u16(config, PCI_AT_EXTENDED + 6, d->acs_ctrl);
	if (d->ats) {
		put_extended(config, 0x120, PCI_EXT_ATS);
		put_u16(config, 0x126, d->ats_on ? 1 << 15 : 0);
	}
	if (d->rebar) {
		put_extended(config, 0x140, PCI_EXT_REBAR);
		put_u32(config, 0x144, (uint32_t)(d->rebar << 4));
		put_u32(config, 0x148, (uint32_t)(d->rebar >> 28 << 16 | 1 << 5 | 1));
	}
}

/* Path of @path below the device's directory. */
static inline struct tree_path made_path(const struct made_device *d, const char *path)
{
	return tree_path("sys/devices/%s/%s/%s", d->above, d->name, path);
}

static inline void make_resource(const char *root, const struct made_device *d)
{
	char text[PCI_NR_BARS * 64] = "";
	size_t n = 0;
	int i;

	for (i = 0; i < PCI_NR_BARS; i++) {
		unsigned long long at = d->bars[i] ? 0x100000000000ull * (unsigned long long)(i + 1) : 0;

		n += (size_t)snprintf(text + n, sizeof(text) - n, "0x%016llx 0x%016llx 0x%016llx\n", at,
				      at ? at + d->bars[i] - 1 : 0, at ? 0x14220cull : 0);
	}
	make_file(root, made_path(d, "resource").at, "%s", text);
}

static inline void make_links(const char *root, const struct made_device *d)
{
	if (d->speed) {
		make_file(root, made_path(d, "current_link_speed").at, "%s\n", d->speed);
		make_file(root, made_path(d, "max_link_speed").at, "%s\n", d->max_speed ? d->max_speed : d->speed);
	}
	if (d->width) {
		make_file(root, made_path(d, "current_link_width").at, "%u\n", d->width);
		make_file(root, made_path(d, "max_link_width").at, "%u\n", d->max_width ? d->max_width : d->width);
	}
}

static inline void make_iommu(const char *root, const struct made_device *d)
{
	if (!d->iommu_type)
		return;
	make_link(root, made_path(d, "iommu_group").at, tree_path("/sys/kernel/iommu_groups/%d", d->group).at);
	make_file(root, tree_path("sys/kernel/iommu_groups/%d/type", d->group).at, "%s\n", d->iommu_type);
}

static inline void make_ids(const char *root, const struct made_device *d)
{
	make_file(root, made_path(d, "vendor").at, "0x%04x\n", d->vendor);
	make_file(root, made_path(d, "device").at, "0x%04x\n", d->device);
	make_file(root, made_path(d, "class").at, "0x%06x\n", d->class_code);
	make_file(root, made_path(d, "numa_node").at, "%d\n", d->numa_node);
}

static inline void make_device(const char *root, const struct made_device *d)
{
	uint8_t config[PCI_CONFIG_SIZE];

	make_ids(root, d);
	make_config(config, d);
	make_bytes(root, made_path(d, "config").at, config, d->config_size ? d->config_size : sizeof(config));
	make_resource(root, d);
	make_links(root, d);
	make_iommu(root, d);
	if (d->driver)
		make_link(root, made_path(d, "driver").at, tree_path("/sys/bus/pci/drivers/%s", d->driver).at);
	if (d->rdma)
		make_file(root, made_path(d, tree_path("infiniband/%s/node_type", d->rdma).at).at, "1: CA\n");
	make_link(root, tree_path("sys/bus/pci/devices/%s", d->name).at,
		  tree_path("../../../devices/%s/%s", d->above, d->name).at);
}

/* @package: package of the node's first processor; this processor has the number 10 * @id. */
static inline void make_node(const char *root, int id, int package)
{
	make_file(root, tree_path("sys/devices/system/node/node%d/cpulist", id).at, "%d-%d\n", 10 * id, 10 * id + 9);
	make_file(root, tree_path("sys/devices/system/cpu/cpu%d/topology/physical_package_id", 10 * id).at, "%d\n",
		  package);
}

#endif
