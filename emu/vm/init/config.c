// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

static char text[CONFIG_MAX + 1];

/* Reads /config to text, and adds its size to *length, which the caller sets to 0. */
static int read_text(size_t *length)
{
	ssize_t got = 1;
	int fd;

	fd = open("/config", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (; got > 0; *length += (size_t)got)
		got = read(fd, text + *length, CONFIG_MAX - *length);
	close(fd);
	if (got < 0)
		return -EIO;
	return *length < CONFIG_MAX ? 0 : -E2BIG;
}

static size_t count_strings(size_t length)
{
	size_t i, count = 0;

	for (i = 0; i < length; i++)
		count += text[i] == '\0';
	return count;
}

static int add_share(struct config *config, const char *dir)
{
	if (config->nr_shares == CONFIG_LIST_MAX)
		return -E2BIG;
	config->share[config->nr_shares++] = dir;
	return 0;
}

/* All commands share one array of arguments. A NULL ends the arguments of each command. */
static int add_command(struct config *config, const char *name, char **argv)
{
	if (config->nr_commands == CONFIG_COMMANDS_MAX)
		return -E2BIG;
	config->command[config->nr_commands].name = name;
	config->command[config->nr_commands++].argv = argv;
	return 0;
}

static int add_modprobe(struct config_command *command, const char *module)
{
	if (!command)
		return -EINVAL;
	if (command->nr_modprobes == CONFIG_LIST_MAX)
		return -E2BIG;
	command->modprobe[command->nr_modprobes++] = module;
	return 0;
}

static int add_insmod(struct config_command *command, const char *file)
{
	if (!command)
		return -EINVAL;
	if (command->nr_insmods == CONFIG_LIST_MAX)
		return -E2BIG;
	command->insmod[command->nr_insmods++] = (struct config_module){ file, "" };
	return 0;
}

static int set_params(struct config_command *command, const char *params)
{
	if (!command || !command->nr_insmods)
		return -EINVAL;
	command->insmod[command->nr_insmods - 1].params = params;
	return 0;
}

static int set_string(const char **field, const char *value)
{
	*field = value;
	return 0;
}

/* *argv is the slot of the next argument. This slot and all later slots are NULL. */
static int add_arg(struct config_command *command, char ***argv, char *value)
{
	if (!command)
		return -EINVAL;
	*(*argv)++ = value;
	return 0;
}

static int take(struct config *config, char ***argv, char *entry)
{
	struct config_command *last = config->nr_commands ? &config->command[config->nr_commands - 1] : NULL;
	char *value = strchr(entry, '=');

	if (!value)
		return -EINVAL;
	*value++ = '\0';
	if (!strcmp(entry, "command"))
		return add_command(config, value, last ? ++*argv : *argv);
	if (!strcmp(entry, "arg"))
		return add_arg(last, argv, value);
	if (!strcmp(entry, "modprobe"))
		return add_modprobe(last, value);
	if (!strcmp(entry, "insmod"))
		return add_insmod(last, value);
	if (!strcmp(entry, "params"))
		return set_params(last, value);
	if (!strcmp(entry, "share"))
		return add_share(config, value);
	if (!strcmp(entry, "cwd"))
		return set_string(&config->cwd, value);
	if (!strcmp(entry, "path"))
		return set_string(&config->path, value);
	if (!strcmp(entry, "library_path"))
		return set_string(&config->library_path, value);
	if (!strcmp(entry, "modules"))
		return set_string(&config->modules, value);
	if (!strcmp(entry, "gcov"))
		return set_string(&config->gcov, value);
	return -EINVAL;
}

static int check_commands(const struct config *config)
{
	size_t i;

	for (i = 0; i < config->nr_commands; i++)
		if (!config->command[i].argv[0])
			return -EINVAL;
	return config->nr_commands ? 0 : -EINVAL;
}

int config_read(struct config *config)
{
	size_t length = 0, at, next;
	char **argv;
	int ret;

	ret = read_text(&length);
	if (ret)
		return ret;
	argv = calloc(count_strings(length) + 1, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	for (at = 0; at < length && !ret; at = next) {
		next = at + strlen(text + at) + 1;
		ret = take(config, &argv, text + at);
	}
	return ret ?: check_commands(config);
}
