// SPDX-License-Identifier: MIT
/*
 * A cache of registrations that another driver made, checked by watches. After the memory was unmapped and other memory
 * was mapped at its address, the cache registers again; otherwise a look-up returns the old registration.
 */
#include <libpeerpin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 65536 };

/** struct registration - an entry of the cache; the cache of this example has one */
static struct registration {
	struct pp_watched watched;
	int key;	/* 0: no registration */
} cached;

static struct pp_ctx *ctx;

static void need(int ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "watch: %s: %s\n", what, why);
	exit(1);
}

/* Stands for ibv_reg_mr(), which pins the pages that are mapped now. */
static int driver_register(void)
{
	static int last;

	return ++last;
}

/* Stands for ibv_dereg_mr(). */
static void driver_deregister(int key)
{
	printf("registration %d ends\n", key);
}

/* First the watch, then the registration: a page that is replaced in between changes the watch. */
static void make(void *at)
{
	struct pp_why why;
	char text[256];
	int ret = pp_watch(ctx, at, SIZE, &cached.watched, &why);

	if (ret) {
		pp_explain(text, sizeof(text), ret, &why);
		need(0, "pp_watch", text);
	}
	cached.key = driver_register();
}

/* Returns the key of a registration of the memory that is mapped at @at now. */
static int look_up(void *at)
{
	if (cached.key && pp_watch_valid(ctx, &cached.watched))
		return cached.key;
	if (cached.key) {
		driver_deregister(cached.key);
		need(!pp_unwatch(ctx, &cached.watched), "pp_unwatch", "no such watch");
	}
	make(at);
	return cached.key;
}

static void expect(const char *what, int key, int wanted)
{
	printf("%s: registration %d\n", what, key);
	need(key == wanted, what, "another registration was expected");
}

static void *map(void *at)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | (at ? MAP_FIXED_NOREPLACE : 0);
	void *p = mmap(at, SIZE, PROT_READ | PROT_WRITE, flags, -1, 0);

	need(p != MAP_FAILED && (!at || p == at), "mmap", "no memory at the address");
	return p;
}

int main(void)
{
	int ret = pp_open(&ctx);
	char *at;

	need(!ret, "pp_open", strerror(-ret));
	at = map(NULL);
	expect("new memory", look_up(at), 1);
	memset(at, 1, SIZE);
	expect("the same memory, written", look_up(at), 1);

	/* a raw system call, which no interception of munmap() sees */
	need(!syscall(SYS_munmap, at, (size_t)SIZE), "munmap", "failed");
	map(at);
	expect("other memory at the address", look_up(at), 2);
	expect("the same memory", look_up(at), 2);

	need(!madvise(at + SIZE / 2, 4096, MADV_DONTNEED), "madvise", "failed");
	expect("one page discarded", look_up(at), 3);
	driver_deregister(cached.key);
	pp_close(ctx);		/* ends the watch */
	puts("watch: OK");
	return 0;
}
