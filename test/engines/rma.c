// SPDX-License-Identifier: MIT
/*
 * Node 1 serves a buffer. Node 2 writes into it and reads it back by libfabric, from and into memory that it frees by a
 * raw system call after each round. A registration that libfabric did not make anew moves the bytes of an earlier round.
 * The connection is made as in examples/fabric_example.c (msg) or examples/fabric_rxm_example.c (rdm). No code is
 * shared, because an example must be readable, and compile, by itself.
 *
 *	rma msg|rdm                     the server, for one client
 *	rma msg|rdm ADDRESS ROUNDS      the client
 *
 * msg is a connected endpoint of the provider verbs, rdm an unconnected one of "verbs;ofi_rxm".
 */
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 256 << 10, ACCESS = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE };

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct fid_eq *events;
static struct fid_cq *completions;
static struct fid_ep *ep;
static fi_addr_t peer;	/* ignored by connected endpoints */
static unsigned char window[SIZE];

/* The kernel gives these addresses to no other mapping. */
static unsigned char *const from = (unsigned char *)0x600000000000, *const into = (unsigned char *)0x610000000000;

static void need(ssize_t err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "rma: %s: %s\n", what, err < 0 ? fi_strerror((int)-err) : "failed");
	exit(1);
}

static struct fi_eq_cm_entry *await(uint32_t kind, const char *what)
{
	static uint64_t entry[64];
	uint32_t happened = 0;

	need(fi_eq_sread(events, &happened, entry, sizeof(entry), -1, 0) < 0 || happened != kind, what);
	return (void *)entry;
}

static void open_connected(void)
{
	need(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	need(fi_cq_open(domain, &(struct fi_cq_attr){ .wait_obj = FI_WAIT_UNSPEC }, &completions, NULL), "fi_cq_open");
	need(fi_endpoint(domain, info, &ep, NULL) ?: fi_ep_bind(ep, &events->fid, 0) ?:
	     fi_ep_bind(ep, &completions->fid, FI_TRANSMIT | FI_RECV) ?: fi_enable(ep), "fi_endpoint");
}

static void map(unsigned char *at, int byte)
{
	need(mmap(at, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != at, "mmap");
	memset(at, byte, SIZE);
}

static void unmap(unsigned char *at)
{
	need(syscall(SYS_munmap, at, (size_t)SIZE), "munmap");
}

static struct fid_mr *reg(void *at)
{
	struct fid_mr *mr;

	need(fi_mr_reg(domain, at, SIZE, ACCESS, 0, 0, 0, &mr, NULL), "fi_mr_reg");
	return mr;
}

static void finish(ssize_t posted, struct fid_mr *mr, const char *what)
{
	struct fi_cq_entry done;

	need(posted ?: fi_cq_sread(completions, &done, 1, NULL, -1) - 1, what);
	need(fi_close(&mr->fid), "fi_close");
}

/* Returns whether other bytes came back. */
static int round_is_wrong(const struct fi_rma_iov *there, int byte)
{
	struct fid_mr *mr;
	int i, wrong = 0;

	map(from, byte);
	mr = reg(from);
	finish(fi_write(ep, from, SIZE, fi_mr_desc(mr), peer, there->addr, there->key, NULL), mr, "fi_write");
	unmap(from);
	map(into, 0);
	mr = reg(into);
	finish(fi_read(ep, into, SIZE, fi_mr_desc(mr), peer, there->addr, there->key, NULL), mr, "fi_read");
	for (i = 0; i < SIZE; i++)
		wrong |= into[i] != byte;
	unmap(into);
	return wrong;
}

static void make_rounds(const struct fi_rma_iov *there, int rounds)
{
	int i, wrong = 0;

	for (i = 0; i < rounds; i++)
		wrong += round_is_wrong(there, i % 255 + 1);
	printf("%d wrong of %d\n", wrong, rounds);
}

/* ---- connected ------------------------------------------------------------------------------- */

static void msg_client(int rounds)
{
	struct fi_rma_iov there;

	open_connected();
	need(fi_connect(ep, info->dest_addr, NULL, 0), "fi_connect");
	memcpy(&there, await(FI_CONNECTED, "connection")->data, sizeof(there));
	make_rounds(&there, rounds);
	fi_shutdown(ep, 0);
}

static void msg_server(void)
{
	struct fid_pep *listener;
	struct fid_mr *mr;

	need(fi_passive_ep(fabric, info, &listener, NULL), "fi_passive_ep");
	need(fi_pep_bind(listener, &events->fid, 0) ?: fi_listen(listener), "fi_listen");
	info = await(FI_CONNREQ, "request of a client")->info;
	open_connected();
	mr = reg(window);
	need(fi_accept(ep, &(struct fi_rma_iov){ (uintptr_t)window, SIZE, fi_mr_key(mr) }, sizeof(struct fi_rma_iov)), "fi_accept");
	await(FI_CONNECTED, "connection");
	await(FI_SHUTDOWN, "end of the client");
	fi_shutdown(ep, 0);
}

/* ---- unconnected ----------------------------------------------------------------------------- */

/** struct message - @name: the client's endpoint; @there: the server's buffer */
static struct message {
	char name[64];
	struct fi_rma_iov there;
} message;

static struct fid_av *peers;
static struct fid_mr *message_mr;

static void open_unconnected(void)
{
	need(fi_domain(fabric, info, &domain, NULL), "fi_domain");
	need(fi_cq_open(domain, &(struct fi_cq_attr){ .wait_obj = FI_WAIT_UNSPEC }, &completions, NULL), "fi_cq_open");
	need(fi_av_open(domain, &(struct fi_av_attr){ .type = FI_AV_TABLE }, &peers, NULL), "fi_av_open");
	need(fi_endpoint(domain, info, &ep, NULL) ?: fi_ep_bind(ep, &completions->fid, FI_TRANSMIT | FI_RECV) ?:
	     fi_ep_bind(ep, &peers->fid, 0) ?: fi_enable(ep), "fi_endpoint");
	need(fi_mr_reg(domain, &message, sizeof(message), FI_SEND | FI_RECV, 0, 1, 0, &message_mr, NULL), "fi_mr_reg");
}

static void await_completion(ssize_t posted, const char *what)
{
	struct fi_cq_entry done;

	need(posted ?: fi_cq_sread(completions, &done, 1, NULL, -1) - 1, what);
}

static void receive_message(void)
{
	await_completion(fi_recv(ep, &message, sizeof(message), fi_mr_desc(message_mr), FI_ADDR_UNSPEC, NULL), "fi_recv");
}

/* The first send connects. Until there is a connection, fi_send() answers EAGAIN, and fi_cq_read() makes progress. */
static void send_message(void)
{
	ssize_t posted;

	while ((posted = fi_send(ep, &message, sizeof(message), fi_mr_desc(message_mr), peer, NULL)) == -FI_EAGAIN)
		fi_cq_read(completions, NULL, 0);
	await_completion(posted, "fi_send");
}

static void rdm_client(int rounds)
{
	open_unconnected();
	need(fi_av_insert(peers, info->dest_addr, 1, &peer, 0, NULL) != 1, "address of the server");
	need(fi_getname(&ep->fid, message.name, &(size_t){ sizeof(message.name) }), "fi_getname");
	send_message();
	receive_message();
	make_rounds(&message.there, rounds);
	send_message();
}

static void rdm_server(void)
{
	open_unconnected();
	receive_message();
	need(fi_av_insert(peers, message.name, 1, &peer, 0, NULL) != 1, "address of the client");
	message.there = (struct fi_rma_iov){ (uintptr_t)window, SIZE, fi_mr_key(reg(window)) };
	send_message();
	receive_message();
}

int main(int argc, char **argv)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_info *hints = fi_allocinfo();
	int is_rdm = argc > 1 && !strcmp(argv[1], "rdm");

	need((argc != 2 && argc != 4) || (!is_rdm && strcmp(argv[1], "msg")), "usage: rma msg|rdm [ADDRESS ROUNDS]");
	hints->fabric_attr->prov_name = strdup(is_rdm ? "verbs;ofi_rxm" : "verbs");
	hints->ep_attr->type = is_rdm ? FI_EP_RDM : FI_EP_MSG;
	hints->caps = FI_MSG | FI_RMA;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_VIRT_ADDR;
	need(fi_getinfo(FI_VERSION(1, 14), argc > 2 ? argv[2] : getenv("NODE_ADDRESS"), "7471", argc > 2 ? 0 : FI_SOURCE, hints, &info),
	     "address");
	need(fi_fabric(info->fabric_attr, &fabric, NULL) ?: fi_eq_open(fabric, &attr, &events, NULL), "fi_fabric");
	if (argc > 2)
		(is_rdm ? rdm_client : msg_client)(atoi(argv[3]));
	else
		(is_rdm ? rdm_server : msg_server)();
	return 0;
}
