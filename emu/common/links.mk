# SPDX-License-Identifier: GPL-2.0
#
# Included by the Kbuild file of each emulated GPU. Kbuild compiles the sources of
# emu/common/ through links in the directory of the GPU, so that an #include of gpu.h,
# dma.h and so on finds the header of this GPU.
common_sources := $(wildcard $(src)/../common/*/*.c)
common_links := $(addprefix $(obj)/,$(notdir $(common_sources)))
common_objects := $(patsubst %.c,%.o,$(notdir $(common_sources)))
clean-files += $(notdir $(common_sources))
# Newer kernels have flags for each exported symbol, older kernels have a table for GPL modules.
ccflags-y += $(if $(shell grep flagstab $(srctree)/include/linux/module.h),-DEMUGPU_FLAGSTAB)
ccflags-y += -I$(src) -I$(src)/../common/node -I$(src)/../common/memory

$(foreach s,$(common_sources),$(eval $(obj)/$(notdir $(s)): $(s)))
$(common_links):
	$(Q)ln -sf $(abspath $<) $@
