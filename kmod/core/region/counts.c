// SPDX-License-Identifier: GPL-2.0
#include <linux/seq_file.h>
#include "counts.h"

DEFINE_PER_CPU(struct pp_counts, pp_counts);

void pp_counts_show(struct seq_file *m)
{
	struct pp_counts sum = {};
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct pp_counts *c = per_cpu_ptr(&pp_counts, cpu);

		sum.regions += READ_ONCE(c->regions);
		sum.pins += READ_ONCE(c->pins);
		sum.refused += READ_ONCE(c->refused);
		sum.revoked += READ_ONCE(c->revoked);
		sum.timeouts += READ_ONCE(c->timeouts);
		sum.overstays += READ_ONCE(c->overstays);
		sum.watches += READ_ONCE(c->watches);
		sum.watches_changed += READ_ONCE(c->watches_changed);
	}
	seq_printf(m, "regions %llu\npins %llu\nrefused %llu\nrevoked %llu\ntimeouts %llu\noverstays %llu\n",
		   sum.regions, sum.pins, sum.refused, sum.revoked, sum.timeouts, sum.overstays);
	seq_printf(m, "watches %llu\nwatches_changed %llu\n", sum.watches, sum.watches_changed);
}
