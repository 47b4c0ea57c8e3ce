/* SPDX-License-Identifier: GPL-2.0 */
/* An account: the pinned and watched memory of one process, and its limits. */
#ifndef _PEERPIN_ACCOUNT_H
#define _PEERPIN_ACCOUNT_H

#include <linux/types.h>

struct pid;
struct pp_account;
struct pp_why;
struct seq_file;

/**
 * pp_account_get() - the account of a process
 * @owner: pid of the thread group
 *
 * Context: process. Return: the account with a reference, or NULL if out of memory.
 */
struct pp_account *pp_account_get(struct pid *owner);

/* take another reference */
struct pp_account *pp_account_hold(struct pp_account *account);

/* pid of the process; valid as long as the account */
struct pid *pp_account_owner(const struct pp_account *account);

/* drop a reference; any context */
void pp_account_put(struct pp_account *account);

/**
 * pp_account_charge() - count another region and its @bytes
 *
 * Takes no lock. Return: 0, or -EDQUOT with @why filled in.
 */
int pp_account_charge(struct pp_account *account, u64 bytes,
		      struct pp_why *why);

/* stop counting a region whose pages were given back; @bytes 0: no effect. Any context */
void pp_account_uncharge(struct pp_account *account, u64 bytes);

/**
 * pp_account_watch() - count watched bytes
 *
 * Takes no lock. Return: 0, or -EDQUOT with @why filled in.
 */
int pp_account_watch(struct pp_account *account, u64 bytes, struct pp_why *why);

/* stop counting watched bytes. Any context */
void pp_account_unwatch(struct pp_account *account, u64 bytes);

/* bytes charged to all accounts. Any context */
u64 pp_account_total_bytes(void);

/* count a region that has become live; count a live region that was revoked. Any context */
void pp_account_count_pin(struct pp_account *account);
void pp_account_count_revoked(struct pp_account *account);

/**
 * struct pp_account_counts - the account's numbers for readers
 * @pins, @revoked: counts since the account was made
 * @watched: bytes watched now
 */
struct pp_account_counts {
	u64 pins;
	u64 revoked;
	u64 watched;
};

struct pp_account_counts pp_account_counts(const struct pp_account *account);

/*
 * Print "PID BYTES REGIONS PINS REVOKED WATCHED" of each account, then "all BYTES - - - -". Process
 * context
 */
void pp_accounts_show(struct seq_file *m);

#endif
