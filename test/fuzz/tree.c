// SPDX-License-Identifier: MIT
/* doctor and topo read a machine with hostile files. Any output is right, but neither may crash or hang. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mutation.h"
#include "output.h"
#include "place.h"
#include "target.h"
#include "tool/tool.h"
#include "valid.h"

/* Inputs of the corpus select a machine by its index here: add machines at the end only. */
static const char *const names[] = { "server", "vm-two-sockets", "h200-x2" };

enum {
	NR_MACHINES = sizeof(names) / sizeof(*names),
};

static struct entries machines[NR_MACHINES];

const unsigned int target_forms = NR_FORMS;

/* Discard the output about the machines. Sanitizers print to stderr. */
static void be_quiet(void)
{
	int null = open("/dev/null", O_WRONLY);

	if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
		abort();
	close(null);
}

/* Fail at the start if there is no place: every input would be refused and nothing tested. */
static void must_have_place(const struct entries *e)
{
	struct placed placed;

	if (!place(e, &placed)) {
		fprintf(stderr, "/dev/shm: a machine cannot be written and unpacked; free some room there\n");
		exit(1);
	}
	displace(&placed);
}

/* In the source directory, or beside the program, where test/fuzz/build.sh copies the machines */
static bool read_machine(const char *name, const char *program, struct entries *machine)
{
	const char *slash = strrchr(program, '/');
	char file[4096];

	snprintf(file, sizeof(file), "test/machines/%s.tar.gz", name);
	if (!access(file, R_OK) || !slash)
		return entries_read(file, machine);
	snprintf(file, sizeof(file), "%.*s/machines_of_tests/%s.tar.gz", (int)(slash - program), program, name);
	return entries_read(file, machine);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	size_t i;

	(void)argc;
	for (i = 0; i < NR_MACHINES; i++) {
		if (!read_machine(names[i], (*argv)[0], &machines[i])) {
			fprintf(stderr, "%s.tar.gz: cannot be read; start this program in the source directory\n", names[i]);
			exit(1);
		}
		must_have_place(&machines[i]);
	}
	be_quiet();
	return 0;
}

static void run(const struct command *command, const char *dir, const char *form, const char *file)
{
	char *argv[] = { (char *)command->name, "--root", (char *)dir, (char *)form, (char *)file, NULL };
	int argc = form ? file ? 5 : 4 : 3;

	command->run(argc, argv);
	fflush(stdout);
}

/* The output must be JSON; only a refused machine gives no output. */
static void run_json(const struct command *command, const char *dir)
{
	struct output out;

	output_begin(&out, &stdout);
	run(command, dir, "--json", NULL);
	output_end(&out);
	if (out.size)
		must_be_json(out.text, out.size);
	free(out.text);
}

static void look_at(const char *dir, unsigned int form)
{
	switch (form % NR_FORMS) {
	case 0:
		run(&doctor_command, dir, NULL, NULL);
		run(&topo_command, dir, NULL, NULL);
		break;
	case 1:
		run_json(&doctor_command, dir);
		run_json(&topo_command, dir);
		break;
	default:
		run(&doctor_command, dir, "--capture", "/dev/null");
		run(&topo_command, dir, "--svg", "/dev/null");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct entries entries;
	struct placed placed;

	mutate(machines, NR_MACHINES, bytes, size, &entries);
	if (place(&entries, &placed)) {
		look_at(placed.root, size ? bytes[0] >> FORM_SHIFT : 0);
		displace(&placed);
	}
	entries_free(&entries);
	return 0;
}
