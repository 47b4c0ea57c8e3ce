// SPDX-License-Identifier: GPL-2.0
/*
 * The PCI bus calls the notifier twice. Each call revokes all regions in a BAR of the device:
 *	- before a driver is unbound, while the driver still works and the memory exists;
 *	- after the driver was unbound: regions that were pinned in between.
 * A region that is being pinned, and a mapping that a provider is making, are not found, because
 * their addresses are not known yet. So each call raises @unplugs first, and the thread that pins or
 * maps fails if @unplugs has changed (pp_unplug_count()).
 * Two kinds of memory are never found: memory behind no BAR (of integrated and coherent GPUs), and
 * a dma-buf that no device has mapped. The next map of such a dma-buf asks its exporter.
 */
#include <linux/atomic.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include "../dma/attach.h"
#include "cookie.h"
#include "region.h"
#include "revoke.h"
#include "unplug.h"

static atomic_t unplugs = ATOMIC_INIT(0);

unsigned int pp_unplug_count(void)
{
	return atomic_read_acquire(&unplugs);
}

/* Memory that the core must revoke, because no callback does: persistent pins, and mappings of providers */
static bool unplug_revokes(const struct pp_provider *provider)
{
	return provider->map || (provider->lasting && !provider->page_backed && provider->extents);
}

bool pp_unplug_missed(const struct peerpin_region *r, unsigned int count)
{
	lockdep_assert_held(&r->lock);
	/*
	 * Fully ordered: the notifier raises the count before it looks for regions, so it finds a region that was
	 * put into the table before this.
	 */
	return unplug_revokes(r->provider) && (unsigned int)atomic_add_return(0, &unplugs) != count;
}

/*
 * The address of a closed region that is still pinned for DMA or an importer, else 0. DMA and
 * importers need a mapping, so the extents are listed. A revoked region is not revoked again.
 */
static phys_addr_t unplug_listed_extent(struct peerpin_region *r)
{
	phys_addr_t phys = 0;

	spin_lock_irq(&r->lock);
	if (r->state > PP_LIVE && r->state < PP_ENDED && r->cause == PP_CLOSED && r->extents.at)
		phys = r->extents.at->phys;
	spin_unlock_irq(&r->lock);
	return phys;
}

/* The first extent is enough, because an allocation lies in one device. */
static phys_addr_t unplug_first_extent(struct peerpin_region *r)
{
	struct pp_extent first = {};
	struct pp_extents x = { .at = &first, .room = 1 };

	if (pp_region_enter(r))
		return unplug_listed_extent(r);
	r->provider->extents(r->priv, &x);
	pp_region_leave(r);
	return first.phys;
}

/* The physical address of memory that the core must revoke; 0: not known, or not to be revoked */
static phys_addr_t unplug_phys(struct peerpin_region *r)
{
	if (!unplug_revokes(r->provider))
		return 0;
	return r->provider->map ? pp_attach_phys(r) : unplug_first_extent(r);
}

static bool unplug_holds(struct pci_dev *pdev, phys_addr_t phys)
{
	int bar;

	for (bar = 0; bar < PCI_STD_NUM_BARS; bar++)
		if (pci_resource_flags(pdev, bar) & IORESOURCE_MEM &&
		    phys >= pci_resource_start(pdev, bar) &&
		    phys <= pci_resource_end(pdev, bar))
			return true;
	return false;
}

static void unplug_find(struct pci_dev *pdev, struct list_head *going)
{
	struct peerpin_region *r;
	phys_addr_t phys;
	u64 place = 0;

	for (; (r = pp_cookie_next(&place)); cond_resched()) {
		phys = unplug_phys(r);
		if (!phys || !unplug_holds(pdev, phys) || !pp_region_list_going(r, going))
			pp_region_put(r);
	}
}

static void unplug_all(struct pci_dev *pdev)
{
	LIST_HEAD(going);

	atomic_inc_return(&unplugs);	/* fully ordered: pairs with pp_unplug_count() */
	unplug_find(pdev, &going);
	if (!pp_region_withdraw_all(&going))
		pci_warn(pdev, "peerpin: goes while a device still has a mapping of its memory; unregister that memory with the device's driver\n");
}

static int unplug_event(struct notifier_block *nb, unsigned long event,
			void *dev)
{
	if (event == BUS_NOTIFY_UNBIND_DRIVER ||
	    event == BUS_NOTIFY_UNBOUND_DRIVER)
		unplug_all(to_pci_dev(dev));
	return NOTIFY_DONE;
}

static struct notifier_block unplug_notifier = {
	.notifier_call = unplug_event,
};

int pp_unplug_init(void)
{
	return bus_register_notifier(&pci_bus_type, &unplug_notifier);
}

void pp_unplug_exit(void)
{
	bus_unregister_notifier(&pci_bus_type, &unplug_notifier);
}
