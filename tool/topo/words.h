/* SPDX-License-Identifier: MIT */
/* Texts for the parts of a topology. */
#ifndef TOPO_WORDS_H
#define TOPO_WORDS_H

#include "tool/machine/machine.h"

/** struct topo_words - a text, returned by value */
struct topo_words {
	char at[96];
};

/* "16 GT/s" */
struct topo_words words_of_speed(unsigned int mts);

/* "x16 at 16 GT/s (could be x16 at 32 GT/s)"; "" if the link is unknown or does not exist. */
struct topo_words words_of_link(const struct machine *m, int device);

/* "NUMA node 0, processor 0" */
struct topo_words words_of_node(const struct machine *m, int node);

const char *words_of_port(enum port_type port);		/* for the text output: "switch" */
const char *name_of_port(enum port_type port);		/* for the JSON output: "upstream" */

#endif
