// SPDX-License-Identifier: MIT
#include "tool/machine/pci_config.h"
#include "tool/capture/scrub.h"
#include "tree_maker.h"

static void becomes(size_t (*scrub)(char *text, size_t length), const char *text, const char *wanted)
{
	size_t length = strlen(text);
	char *copy = malloc(length + 1);

	assert_non_null(copy);
	memcpy(copy, text, length + 1);
	length = scrub(copy, length);
	assert_in_range(length, 0, strlen(text));
	copy[length] = '\0';
	assert_string_equal(copy, wanted);
	free(copy);
}

static void cmdline_keeps_iommu_options_only(void **state)
{
	(void)state;
	becomes(scrub_cmdline, "", "");
	becomes(scrub_cmdline, "root=UUID=12345678 host=secret\n", "");
	becomes(scrub_cmdline, "BOOT_IMAGE=/vmlinuz intel_iommu=on quiet iommu=pt ip=10.0.0.1\n",
		"intel_iommu=on iommu=pt\n");
	becomes(scrub_cmdline, "pci=disable_acs_redir=pci:8086:1901 password=pci=x\n",
		"pci=disable_acs_redir=pci:8086:1901\n");
	becomes(scrub_cmdline, "iommu=pt", "iommu=pt");
}

static void cpuinfo_keeps_first_cpu_only(void **state)
{
	(void)state;
	becomes(scrub_cpuinfo,
		"processor\t: 0\nmodel name\t: X\ncpu MHz\t\t: 2000.1\nflags\t\t: serialize b\n\nprocessor\t: 1\n\n",
		"processor\t: 0\nmodel name\t: X\nflags\t\t: serialize b\n");
	becomes(scrub_cpuinfo, "processor\t: 0\nSerial\t\t: 0123\n", "processor\t: 0\n");
	becomes(scrub_cpuinfo, "", "");
}

static void release_keeps_version_only(void **state)
{
	(void)state;
	becomes(scrub_release, "6.18.44-our-cloud-v7\n", "6.18.44");
	becomes(scrub_release, "unknown\n", "");
}

static void cgroup_loses_names(void **state)
{
	(void)state;
	becomes(scrub_cgroup, "0::/\n", "0::/\n");
	becomes(scrub_cgroup, "0::/system.slice/docker-0123456789abcdef0123456789abcdef.scope\n", "0::/docker/\n");
	becomes(scrub_cgroup, "1:name=systemd:/user.slice/user-alice.slice\n", "0::/\n");
	becomes(scrub_cgroup, "", "");
}

static void module_addresses_are_zeroed(void **state)
{
	(void)state;
	becomes(scrub_modules, "nvidia 10 2 nvidia_uvm, Live 0xffffffffc0de0000 (OE)\nx 1 0 - Live 0xffffFFFF\n",
		"nvidia 10 2 nvidia_uvm, Live 0x0000000000000000 (OE)\nx 1 0 - Live 0x00000000\n");
}

static void builder_name_is_removed(void **state)
{
	(void)state;
	becomes(scrub_builder, "Kernel Module  580.1  (root@myhost.example)  Tue\nGCC version:  gcc (Debian 12) 12.2\n",
		"Kernel Module  580.1  (@)  Tue\nGCC version:  gcc (Debian 12) 12.2\n");
	becomes(scrub_builder, "(a@b)(c@d) (@", "(@)(@) (@");
	becomes(scrub_builder, "(me@here", "(@");
}

static void gpu_uuid_is_removed(void **state)
{
	(void)state;
	becomes(scrub_information, "Model: \t\t H200\nGPU UUID: \t GPU-0011\nSerial: 5\nDevice Minor: \t 3\nIRQ: 7\n",
		"Model: \t\t H200\nDevice Minor: \t 3\n");
}

static void scrub_all_empties_the_file(void **state)
{
	(void)state;
	becomes(scrub_all, "name=\"box\"\n", "");
}

/* ---- configuration space ---------------------------------------------------------- */

enum {
	VPD_AT = 0x60,
	OTHER_AT = 0x70,
	SERIAL_AT = 0x200,
	SECRET = 0x5ec2e700,
};

static void make_secretive(uint8_t *config)
{
	make_config(config, &(struct made_device){ .vendor = 0x10de, .device = 0x2335, .class_code = 0x030200,
						    .port = PORT_ENDPOINT, .acs_cap = 0x5f, .acs_ctrl = 0x1d, .ats = true,
						    .ats_on = true, .rebar = 0x1f });
	config[MADE_EXPRESS_AT + 1] = VPD_AT;
	put_u16(config, VPD_AT, PCI_CAP_VPD | OTHER_AT << 8);
	put_u32(config, VPD_AT + 4, SECRET);
	put_u16(config, OTHER_AT, 0x09);
	put_u32(config, OTHER_AT + 4, SECRET);
	put_extended(config, SERIAL_AT, PCI_EXT_SERIAL);
	put_u32(config, SERIAL_AT + 4, SECRET);
	put_u32(config, SERIAL_AT + 8, SECRET);
	put_u32(config, 0xf0, SECRET);
	put_u32(config, 0xf00, SECRET);
}

static bool has_secret(const uint8_t *config, size_t size)
{
	uint8_t secret[4];

	put_u32(secret, 0, SECRET);
	return memmem(config, size, secret, sizeof(secret));
}

static void config_space_loses_serial_numbers(void **state)
{
	static struct pci_config c, before;
	char bytes[PCI_CONFIG_SIZE + 1];

	(void)state;
	make_secretive(before.at);
	before.size = sizeof(before.at);
	assert_true(has_secret(before.at, sizeof(before.at)));
	memcpy(bytes, before.at, sizeof(before.at));
	c.size = scrub_config(bytes, PCI_CONFIG_SIZE);
	memcpy(c.at, bytes, PCI_CONFIG_SIZE);
	assert_int_equal(c.size, PCI_CONFIG_SIZE);
	assert_false(has_secret(c.at, c.size));
	assert_memory_equal(c.at, before.at, 64);
	assert_int_equal(config_capability(&c, PCI_CAP_EXPRESS), MADE_EXPRESS_AT);
	assert_int_equal(config_capability(&c, PCI_CAP_VPD), VPD_AT);
	assert_int_equal(config_capability(&c, 0x09), OTHER_AT);
	assert_memory_equal(c.at + 0x100, before.at + 0x100, 8);
	assert_memory_equal(c.at + 0x120, before.at + 0x120, 8);
	assert_memory_equal(c.at + 0x140, before.at + 0x140, 12);
	assert_int_equal(config_extended(&c, PCI_EXT_SERIAL), SERIAL_AT);
}

/* Scrub each length of configuration space, with capability pointers that lead everywhere. */
static void any_config_space_is_safe(void **state)
{
	char bytes[PCI_CONFIG_SIZE + 1];
	size_t length, i;

	(void)state;
	for (length = 0; length <= PCI_CONFIG_SIZE; length += length < 300 ? 1 : 61) {
		for (i = 0; i < length; i++)
			bytes[i] = (char)(i * 7 + length);
		if (length > 7)
			bytes[PCI_AT_STATUS] = PCI_STATUS_CAPABILITIES;
		assert_int_equal(scrub_config(bytes, length), length);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cmdline_keeps_iommu_options_only),
		cmocka_unit_test(cpuinfo_keeps_first_cpu_only),
		cmocka_unit_test(release_keeps_version_only),
		cmocka_unit_test(cgroup_loses_names),
		cmocka_unit_test(module_addresses_are_zeroed),
		cmocka_unit_test(builder_name_is_removed),
		cmocka_unit_test(gpu_uuid_is_removed),
		cmocka_unit_test(scrub_all_empties_the_file),
		cmocka_unit_test(config_space_loses_serial_numbers),
		cmocka_unit_test(any_config_space_is_safe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
