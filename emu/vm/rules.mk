# SPDX-License-Identifier: MIT
vm_init := $(addprefix $(B)/vm/,init.o command.o config.o finder.o gcov.o leak.o log.o modinfo.o module.o root.o stream.o)

USER_TARGETS += $(B)/vm/init $(B)/vm/watch

# Pid 1 of the virtual machine has no libraries around it.
$(B)/vm/init: $(vm_init)
	$(CC) $(CFLAGS) -static -o $@ $^

$(B)/vm/watch: $(B)/vm/watch.o
	$(CC) $(CFLAGS) -o $@ $^

$(B)/vm/%.o: emu/vm/init/%.c | $(B)/vm
	$(CC) $(CFLAGS) -MMD -MP -c -o $@ $<

$(B)/vm:
	mkdir -p $@

# The arm64 machine's programs: $(B)/arm64/X is $(B)/X compiled for it.
ARM64 := B=$(B)/arm64 CC=aarch64-linux-gnu-gcc AR=aarch64-linux-gnu-ar
ARM64_TARGETS := vm/init emu/libnvidia-ml.so.1 bin/demo bin/examples/tegra \
	$(patsubst test/vm/tegra/%.c,bin/vm/%,$(wildcard test/vm/tegra/t_*.c))

arm64:
	+@$(MAKE) --no-print-directory $(ARM64) $(addprefix $(B)/arm64/,$(ARM64_TARGETS))

$(B)/arm64/%: arm64-look
	+@$(MAKE) --no-print-directory $(ARM64) $@

arm64-look:

.PHONY: arm64 arm64-look

-include $(wildcard $(B)/vm/*.d)
