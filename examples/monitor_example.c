// SPDX-License-Identifier: MIT
/*
 * A program on libfabric that frees memory by a raw system call. With the imported monitor, libfabric registers the
 * next memory at the address anew; its own monitors would return the old registration.
 */
#include <libpeerpin-fi.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 65536 };

static struct fid_domain *domain;

static void need(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "monitor: %s: %s\n", what, fi_strerror(-err));
	exit(1);
}

static void open_domain(const char *address)
{
	struct fi_info *hints = fi_allocinfo(), *info;
	struct fid_fabric *fabric;

	hints->fabric_attr->prov_name = strdup("verbs");
	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG | FI_RMA;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
	need(fi_getinfo(FI_VERSION(1, 14), address, "7471", FI_SOURCE, hints, &info), "fi_getinfo");
	need(pp_fi_import(), "pp_fi_import");	/* after fi_getinfo(), before fi_domain() */
	need(fi_fabric(info->fabric_attr, &fabric, NULL), "fi_fabric");
	need(fi_domain(fabric, info, &domain, NULL), "fi_domain");
}

/* Registers memory for one transfer. fi_close() leaves the registration in libfabric's cache. */
static uint64_t transfer(void *at)
{
	struct fid_mr *mr;
	uint64_t key;

	need(fi_mr_reg(domain, at, SIZE, FI_READ | FI_WRITE, 0, 0, 0, &mr, NULL), "fi_mr_reg");
	key = fi_mr_key(mr);
	need(fi_close(&mr->fid), "fi_close");
	return key;
}

static void *map(void *at)
{
	return mmap(at, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0), -1, 0);
}

int main(int argc, char **argv)
{
	uint64_t first, second, third;
	void *at;

	if (argc != 2) {
		fputs("usage: monitor ADDRESS-OF-THE-ADAPTER\n", stderr);
		return 2;
	}
	open_domain(argv[1]);
	at = map(NULL);
	first = transfer(at);
	second = transfer(at);
	syscall(SYS_munmap, at, (size_t)SIZE);
	map(at);
	third = transfer(at);
	printf("same memory: %s; other memory at the address: %s\n", second == first ? "cached" : "registered again",
	       third == first ? "STALE" : "registered again");
	if (second != first || third == first)
		return 1;
	puts("monitor_example: OK");
	return 0;
}
