// SPDX-License-Identifier: MIT
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "tool/machine/root.h"
#include "tool/tool.h"
#include "tree_maker.h"
#include "tool/machine/unpack.h"

/** struct packing - an archive that is being written, and its directory */
struct packing {
	char *dir;
	char file[64];
	struct archive *tar;
};

static int set_up(void **state)
{
	static struct packing p;

	p.dir = make_tree();
	setenv("TMPDIR", p.dir, 1);
	snprintf(p.file, sizeof(p.file), "%s/machine.tar", p.dir);
	p.tar = archive_write_new();
	archive_write_set_format_pax_restricted(p.tar);
	assert_int_equal(archive_write_open_filename(p.tar, p.file), ARCHIVE_OK);
	*state = &p;
	return 0;
}

static int tear_down(void **state)
{
	struct packing *p = *state;

	archive_write_free(p->tar);
	remove_tree(p->dir);
	return 0;
}

/* @data: contents of a file, or target of a link */
static void put(struct packing *p, unsigned int type, unsigned int mode, const char *path, const char *data)
{
	struct archive_entry *e = archive_entry_new();

	archive_entry_set_pathname(e, path);
	archive_entry_set_filetype(e, type);
	archive_entry_set_perm(e, mode);
	if (type == AE_IFLNK)
		archive_entry_set_symlink(e, data);
	else if (type == AE_IFREG)
		archive_entry_set_size(e, (la_int64_t)strlen(data));
	assert_in_range(archive_write_header(p->tar, e) + 100, ARCHIVE_WARN + 100, ARCHIVE_OK + 100);
	if (type == AE_IFREG)
		archive_write_data(p->tar, data, strlen(data));
	archive_entry_free(e);
}

static int open_it(struct packing *p, struct root *root)
{
	assert_int_equal(archive_write_close(p->tar), ARCHIVE_OK);
	return root_open(p->file, root);
}

static unsigned int nr_files;

static int count_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)path;
	(void)st;
	(void)type;
	(void)at;
	nr_files++;
	return 0;
}

/* Number of files, directories and links left in @dir by unpacking. The archive and @dir itself do not count. */
static unsigned int left_behind(const struct packing *p)
{
	nr_files = 0;
	assert_int_equal(nftw(p->dir, count_one, 8, FTW_PHYS), 0);
	return nr_files - 2;
}

static void is_refused(struct packing *p)
{
	struct root root;

	assert_int_equal(open_it(p, &root), EXIT_FAILED);
	assert_int_equal(left_behind(p), 0);
}

static void text_is(const struct root *root, const char *path, const char *wanted)
{
	char text[64];

	assert_int_equal(tree_line(root->tree, path, text, sizeof(text)), 0);
	assert_string_equal(text, wanted);
}

static void archive_entries_are_unpacked(void **state)
{
	struct packing *p = *state;
	struct root root;

	put(p, AE_IFDIR, 0755, "./", NULL);
	put(p, AE_IFDIR, 0755, "sys/", NULL);
	put(p, AE_IFREG, 0644, "./sys/devices/a/vendor", "0x10de\n");
	put(p, AE_IFLNK, 0777, "sys/bus/a", "../devices/a");
	put(p, AE_IFLNK, 0777, "sys/bus/absolute", "/sys/devices/a");
	put(p, AE_IFDIR, 0000, "sys/empty", NULL);
	assert_int_equal(open_it(p, &root), 0);
	text_is(&root, "sys/bus/a/vendor", "0x10de");
	text_is(&root, "sys/bus/absolute/vendor", "0x10de");
	assert_true(tree_exists(root.tree, "sys/empty"));
	assert_false(tree_is_live(root.tree));
	root_close(&root);
	assert_int_equal(left_behind(p), 0);
}

static void unreadable_file_stays_unreadable(void **state)
{
	struct packing *p = *state;
	struct root root;
	char text[8];

	put(p, AE_IFREG, 0000, "sys/secret", "");
	assert_int_equal(open_it(p, &root), 0);
	assert_int_equal(tree_line(root.tree, "sys/secret", text, sizeof(text)), -EACCES);
	root_close(&root);
	assert_int_equal(left_behind(p), 0);
}

static void no_link_leads_out_when_read(void **state)
{
	struct packing *p = *state;
	struct root root;
	char text[8];

	put(p, AE_IFLNK, 0777, "up", "../../../../../../../../../../etc/passwd");
	put(p, AE_IFLNK, 0777, "absolute", "/etc/passwd");
	put(p, AE_IFLNK, 0777, "itself", "itself");
	assert_int_equal(open_it(p, &root), 0);
	assert_int_equal(tree_line(root.tree, "up", text, sizeof(text)), -ENOENT);
	assert_int_equal(tree_line(root.tree, "absolute", text, sizeof(text)), -ENOENT);
	assert_int_equal(tree_line(root.tree, "itself", text, sizeof(text)), -ELOOP);
	root_close(&root);
}

static void escaping_names_are_refused(void **state)
{
	static const char *const names[] = { "../x", "a/../../x", "/tmp/x", "a//x", "a/./x", "..", "a/..", "//x" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (i)
			set_up(state);
		put(*state, AE_IFREG, 0644, names[i], "x");
		is_refused(*state);
		if (i + 1 < sizeof(names) / sizeof(*names))
			tear_down(state);
	}
}

static void path_through_link_is_refused(void **state)
{
	struct packing *p = *state;

	put(p, AE_IFLNK, 0777, "way", "..");
	put(p, AE_IFREG, 0644, "way/out", "x");
	is_refused(p);
}

static void file_over_link_is_refused(void **state)
{
	struct packing *p = *state;

	put(p, AE_IFLNK, 0777, "file", "../out");
	put(p, AE_IFREG, 0644, "file", "x");
	is_refused(p);
}

static void special_files_are_refused(void **state)
{
	put(*state, AE_IFIFO, 0644, "pipe", NULL);
	is_refused(*state);
	tear_down(state);
	set_up(state);
	put(*state, AE_IFCHR, 0644, "device", NULL);
	is_refused(*state);
}

static void hard_link_is_refused(void **state)
{
	struct packing *p = *state;
	struct archive_entry *e = archive_entry_new();

	put(p, AE_IFREG, 0644, "file", "x");
	archive_entry_set_pathname(e, "second");
	archive_entry_set_filetype(e, AE_IFREG);
	archive_entry_set_perm(e, 0644);
	archive_entry_set_hardlink(e, "/etc/passwd");
	assert_int_equal(archive_write_header(p->tar, e), ARCHIVE_OK);
	archive_entry_free(e);
	is_refused(p);
}

static void oversized_archive_is_refused(void **state)
{
	struct packing *p = *state;
	size_t size = UNPACK_MAX_BYTES / 2 + 1;
	char *text = malloc(size + 1);

	assert_non_null(text);
	memset(text, 'x', size);
	text[size] = '\0';
	put(p, AE_IFREG, 0644, "a", text);
	put(p, AE_IFREG, 0644, "b", text);
	free(text);
	is_refused(p);
}

/* The directories of a path count as files, because a few deep names would create many. */
static void too_deep_path_is_refused(void **state)
{
	char name[UNPACK_MAX_PATH] = "a";
	int i;

	for (i = 0; i < UNPACK_MAX_DEPTH; i++)
		strcat(name, "/a");
	put(*state, AE_IFREG, 0644, name, "x");
	is_refused(*state);
}

static void deepest_allowed_path_is_read(void **state)
{
	char name[UNPACK_MAX_PATH] = "a";
	struct root root;
	int i;

	for (i = 1; i < UNPACK_MAX_DEPTH; i++)
		strcat(name, "/a");
	put(*state, AE_IFREG, 0644, name, "x");
	assert_int_equal(open_it(*state, &root), 0);
	text_is(&root, name, "x");
	root_close(&root);
}

/* With a file size limit of 20000 bytes, the second write is short. */
static void full_disk_is_reported(void **state)
{
	struct packing *p = *state;
	struct rlimit before, limit;
	char why[256] = "", text[40000];
	int dir, file;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	put(p, AE_IFREG, 0644, "a", text);
	assert_int_equal(archive_write_close(p->tar), ARCHIVE_OK);
	file = open(p->file, O_RDONLY);
	dir = open(p->dir, O_RDONLY | O_DIRECTORY);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = (struct rlimit){ 20000, before.rlim_max };
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	errno = ENOENT;
	assert_false(unpack(file, -1, dir, why, sizeof(why)));
	setrlimit(RLIMIT_FSIZE, &before);
	close(dir);
	close(file);
	assert_string_equal(why, "a: File too large");
}

static void overlong_name_is_refused(void **state)
{
	char name[UNPACK_MAX_PATH + 1];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	put(*state, AE_IFREG, 0644, name, "x");
	is_refused(*state);
}

static void non_archive_is_refused(void **state)
{
	struct packing *p = *state;
	struct root root;

	assert_int_equal(root_open("/nonexistent", &root), EXIT_FAILED);
	assert_int_equal(root_open("/dev/null", &root), EXIT_FAILED);
	assert_int_equal(archive_write_close(p->tar), ARCHIVE_OK);
	make_file(p->dir, "machine.tar", "this is no archive, but a text that says so");
	assert_int_equal(root_open(p->file, &root), EXIT_FAILED);
	assert_int_equal(left_behind(p), 0);
}

/* The download of the archive broke off. */
static void truncated_archive_is_refused(void **state)
{
	struct packing *p = *state;
	struct root root;

	put(p, AE_IFREG, 0644, "a", "text");
	put(p, AE_IFREG, 0644, "b", "text");
	assert_int_equal(archive_write_close(p->tar), ARCHIVE_OK);
	assert_int_equal(truncate(p->file, 512 + 2), 0);
	assert_int_equal(root_open(p->file, &root), EXIT_FAILED);
	assert_int_equal(left_behind(p), 0);
}

static void directory_is_used_directly(void **state)
{
	struct packing *p = *state;
	struct root root;

	make_file(p->dir, "proc/x", "y\n");
	assert_int_equal(root_open(p->dir, &root), 0);
	text_is(&root, "proc/x", "y");
	root_close(&root);
	assert_int_equal(left_behind(p), 2);
	assert_int_equal(root_open(NULL, &root), 0);
	assert_true(tree_is_live(root.tree));
	root_close(&root);
}

static void missing_tmpdir_fails(void **state)
{
	struct packing *p = *state;
	struct root root;

	put(p, AE_IFREG, 0644, "a", "text");
	setenv("TMPDIR", "/nonexistent", 1);
	assert_int_equal(open_it(p, &root), EXIT_FAILED);
}

/* Compare the message of root_open() on stderr. */
static void overlong_tmpdir_is_reported(void **state)
{
	struct packing *p = *state;
	char place[300], said[1024] = "";
	int err = dup(STDERR_FILENO), ends[2];

	memset(place, 'x', sizeof(place) - 1);
	place[sizeof(place) - 1] = '\0';
	setenv("TMPDIR", place, 1);
	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	errno = ENOENT;
	assert_int_equal(open_it(p, &(struct root){ 0 }), EXIT_FAILED);
	dup2(err, STDERR_FILENO);
	assert_true(read(ends[0], said, sizeof(said) - 1) > 0);
	close(ends[0]);
	close(ends[1]);
	close(err);
	assert_non_null(strstr(said, strerror(ENAMETOOLONG)));
}

/* ---- ends of the process --------------------------------------------------------- */

static void end_by_signal(struct root *root, int number)
{
	raise(number);
	root_close(root);
	_exit(0);
}

/* When memory runs out, the tool calls exit(). */
static void end_by_exit(struct root *root, int status)
{
	(void)root;
	exit(status);
}

/* Wait status of a process that opens an archive and then calls @end. */
static int end_with_it(struct packing *p, void (*end)(struct root *root, int how), int how)
{
	struct root root;
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (root_open(p->file, &root))
			_exit(100);
		end(&root, how);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void no_exit_leaves_files_behind(void **state)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
	struct packing *p = *state;
	size_t i;

	put(p, AE_IFREG, 0644, "a/b", "text");
	assert_int_equal(archive_write_close(p->tar), ARCHIVE_OK);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		assert_int_equal(WTERMSIG(end_with_it(p, end_by_signal, signals[i])), signals[i]);
		assert_int_equal(left_behind(p), 0);
	}
	assert_int_equal(WEXITSTATUS(end_with_it(p, end_by_exit, 1)), 1);
	assert_int_equal(left_behind(p), 0);
}

/* Wait for @pid and return its wait status. After five seconds, kill the process. */
static int wait_briefly(pid_t pid)
{
	int status = 0, tries;

	for (tries = 0; tries < 500; tries++) {
		if (waitpid(pid, &status, WNOHANG) == pid)
			return status;
		usleep(10000);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return status;
}

/*
 * Send an ignored signal and @signo to a process that reads the pipe @file. @unpacked: first wait
 * for the directory for unpacking.
 */
static int end_in_pipe(struct packing *p, const char *file, bool unpacked, int signo)
{
	int pipe = -1, status, ignored = signo == SIGINT ? SIGHUP : SIGINT;
	struct root root;
	pid_t pid;

	signal(ignored, SIG_IGN);
	pid = fork();
	if (!pid) {
		root_open(file, &root);
		_exit(0);
	}
	signal(ignored, SIG_DFL);
	if (unpacked)
		pipe = open(file, O_WRONLY);
	while (unpacked && left_behind(p) < 1)
		usleep(1000);
	kill(pid, ignored);
	usleep(20000);
	kill(pid, signo);
	status = wait_briefly(pid);
	if (unpacked)
		close(pipe);
	return status;
}

/* Like `curl ... | peerpin doctor --root /dev/stdin`. An ignored signal, as under nohup, must not end the read. */
static void signals_end_read_of_pipe(void **state)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
	struct packing *p = *state;
	char file[64];
	size_t i;

	assert_int_equal(archive_write_close(p->tar), ARCHIVE_OK);
	unlink(p->file);
	snprintf(file, sizeof(file), "%s/pipe", p->dir);
	assert_int_equal(mkfifo(file, 0600), 0);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		assert_int_equal(WTERMSIG(end_in_pipe(p, file, true, signals[i])), signals[i]);
		assert_int_equal(left_behind(p), 0);
		assert_int_equal(WTERMSIG(end_in_pipe(p, file, false, signals[i])), signals[i]);
		assert_int_equal(left_behind(p), 0);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(archive_entries_are_unpacked),
		CASE(unreadable_file_stays_unreadable),
		CASE(no_link_leads_out_when_read),
		CASE(escaping_names_are_refused),
		CASE(path_through_link_is_refused),
		CASE(file_over_link_is_refused),
		CASE(special_files_are_refused),
		CASE(hard_link_is_refused),
		CASE(oversized_archive_is_refused),
		CASE(too_deep_path_is_refused),
		CASE(deepest_allowed_path_is_read),
		CASE(full_disk_is_reported),
		CASE(overlong_name_is_refused),
		CASE(non_archive_is_refused),
		CASE(truncated_archive_is_refused),
		CASE(directory_is_used_directly),
		CASE(missing_tmpdir_fails),
		CASE(overlong_tmpdir_is_reported),
		CASE(signals_end_read_of_pipe),
		CASE(no_exit_leaves_files_behind),
	};

	/* nohup, or a shell that starts this program in the background, ignores these signals. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
