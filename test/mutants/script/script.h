/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A script of an LSI 53C895A: a list of moves that the chip runs. Shared by the drivers direct and importer:
 * test/mutants/build copies these files beside the sources of each driver.
 */
#ifndef _MUTANTS_SCRIPT_H
#define _MUTANTS_SCRIPT_H

#include <linux/types.h>

struct pci_dev;

enum { SCRIPT_MOVE_MAX = 4 << 10 };	/* bytes of one move */

/* @n: number of moves in @words. The caller serialises all functions. */
struct script {
	void __iomem *regs;
	__le32 *words;
	dma_addr_t bus;
	unsigned int n;
};

/* Resets the chip. -ENOMEM: no memory, or the registers cannot be mapped. The PCI core releases both after remove. */
int script_setup(struct script *s, struct pci_dev *pdev);

/* Removes all moves. */
void script_clear(struct script *s);

bool script_has_room(const struct script *s);

/* Adds a move of @length bytes, at most SCRIPT_MOVE_MAX, between two bus addresses. There must be room. */
void script_add(struct script *s, u32 to, u32 from, u32 length);

/* Runs the script and waits for its end. Returns 0 or -EIO. */
int script_run(struct script *s);

#endif
